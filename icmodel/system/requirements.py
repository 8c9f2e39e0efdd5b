"""Requirements of a system: from its file, and from the use case that the file names.

A limit may be a fixed value, or the name of a number of a stream, such as ``picture.period_s``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from icmodel.errors import Fault, Mistakes
from icmodel.frozen import FrozenMapping
from icmodel.reading import is_reference
from icmodel.system.document import Streams, SystemDocument
from icmodel.system.network import MESSAGE, StreamRequirement
from icmodel.system.traffic_sources import Image, Samples
from icmodel.usecase.derivation import (
    OF_DEVICES,
    Derivation,
    Derivations,
    checked_requirement,
    derive,
)
from icmodel.usecase.document import (
    GoodputStream,
    ImageStream,
    SampleStream,
    Stream,
    UseCase,
)

NOTHING: Derivations = FrozenMapping({})


def derive_for_system(usecase: UseCase, document: SystemDocument) -> Derivations:
    """Derive the numbers of a use case, such as the goodput of a stream, from the streams of a system.

    If a stream of the use case has no stream of the same name in the system, its numbers follow from the use case
    alone. If use case and system give a stream different kinds of traffic source, such as pictures and bursts, the
    numbers of this stream are left out. `stream_requirements` then adds a mistake for each limit that names such a
    number.
    """
    tables = {table.name: table for table in document.streams}
    updated = {
        stream.name: _with_source(stream, tables[stream.name])
        for stream in usecase.streams
        if stream.name in tables
    }
    streams = tuple(updated.get(stream.name) or stream for stream in usecase.streams)
    derived = derive(usecase.model_copy(update={"streams": streams}))
    other_kinds = {name for name, stream in updated.items() if stream is None}
    if not other_kinds:
        return derived
    kept = {
        name: number
        for name, number in derived.items()
        if name.partition(".")[0] not in other_kinds and number.quantity not in OF_DEVICES
    }
    return FrozenMapping(kept)


def _with_source(stream: Stream, table: Streams) -> Stream | None:
    """Copy a stream of a use case, with the numbers of the traffic source in a ``[[streams]]`` table of the system.

    The numbers are, for example, the size and the rate of pictures. The result is ``None`` if use case and system have
    different kinds of source, such as pictures and bursts.
    """
    source = table.produces
    update: dict[str, object]
    match stream:
        case ImageStream() if isinstance(source, Image):
            names = ("width_px", "height_px", "depth_bits", "rate_hz")
            update = {name: getattr(source, name) for name in names}
        case SampleStream() if isinstance(source, Samples):
            update = {"size_bits": source.size_bits}
            if stream.cycle_hz is not None:
                update["cycle_hz"] = source.cycle_hz
            elif source.within_s is not None:
                update["within_s"] = source.within_s
        case GoodputStream() if (own := source.producer(table.payload_bytes)) is not None:
            update = {"goodput_bps": own.goodput_bps}
        case _:
            return None
    return stream.model_copy(update=update)


def stream_requirements(
    document: SystemDocument,
    usecase: UseCase | None,
    derived: Derivations,
    mistakes: Mistakes,
) -> tuple[StreamRequirement, ...]:
    """Requirements of a system: those of its use case, then those of its document; all limits in SI units.

    A limit is a quantity with its unit, or the name of a derived number. Such a number follows from the use case or
    from the traffic source of a stream: ``picture.goodput_bps``, ``picture.period_s`` or ``picture.message_bytes``.

    Parameters
    ----------
    derived : mapping
        Numbers of the use case from `derive_for_system`; empty without a use case.
    mistakes : Mistakes
        Collection to which mistakes are added. A requirement without a stream is a mistake if the system
        has several groups of streams. A limit with an unknown number or a wrong unit is also a mistake.
    """
    numbers = {**derived, **_numbers_of_sources(document.streams)}
    made: list[StreamRequirement] = []
    if usecase is not None:
        _check_references(usecase, document, numbers, mistakes)
        for limit in usecase.requirements:
            found = checked_requirement(limit, ("usecase", limit.name), numbers, mistakes)
            stream = usecase.stream_of(limit)
            made.append(StreamRequirement(found, stream, limit.device, MESSAGE))

    # A requirement without a stream applies to the only group of streams.
    names = [table.name for table in document.streams]
    for number, own in enumerate(document.requirements):
        place = ("requirements", number)
        if own.stream is None and len(names) != 1:
            text = f"the requirement {own.name!r} needs a stream: name one of {', '.join(names) or 'none'}"
            mistakes.add(Fault(text, (*place, "stream"), (("streams", None, "name"),)))
            continue
        found = checked_requirement(own, place, numbers, mistakes)
        made.append(StreamRequirement(found, own.stream or names[0], own.device, own.of))
    return tuple(made)


def _check_references(
    usecase: UseCase,
    document: SystemDocument,
    numbers: Mapping[str, Derivation],
    mistakes: Mistakes,
) -> None:
    """Add a mistake for each requirement of the use case whose limit refers to a missing number of a stream.

    An example is the limit ``picture.period_s``. The number is missing if the system gives the stream another kind of
    traffic source than the use case does, such as one without a period.
    """
    kinds = {table.name: table.produces.kind for table in document.streams}
    for limit in usecase.requirements:
        for text in filter(None, (limit.at_least, limit.at_most)):
            name = text.partition(".")[0]
            if not is_reference(text) or text in numbers or name not in kinds:
                continue
            sentence = (
                f"the requirement {limit.name!r} of the use case {usecase.name} has the limit {text}, but "
                f"the stream {name} is of kind {kinds[name]} in the system and of kind "
                f"{usecase.stream(name).kind} in the use case: use one kind in both, or give the system "
                "its own requirements"
            )
            mistakes.add(Fault(sentence, ("streams", name, "produces")))


def _numbers_of_sources(tables: Iterable[Streams]) -> Mapping[str, Derivation]:
    """Numbers that a requirement may name as its limit: goodput, period and message size of a stream, for each table.

    All streams of a ``[[streams]]`` table have the same numbers. Keys are the names of the numbers, such as
    ``picture.period_s`` for the table ``picture``.
    """
    numbers: dict[str, Derivation] = {}
    for table in tables:
        producer = table.produces.producer(table.payload_bytes)
        if producer is None:
            continue
        values = {
            "goodput_bps": producer.needed_bps,
            "period_s": producer.period_s,
            "message_bytes": producer.message_bytes,
        }
        for key, value in values.items():
            name = f"{table.name}.{key}"
            numbers[name] = Derivation(name, value, "as produced", "of one stream")
    return numbers
