"""Requirements of a system: its own, and those of its use case, whose limits follow from what this system produces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from icmodel.errors import NetworkError
from icmodel.reading import is_reference
from icmodel.system.document import Image, Samples, Streams, SystemDocument, SystemLimit, producer
from icmodel.system.network import MESSAGE, Wanted
from icmodel.usecase.derivation import Derivation, Derivations, derive
from icmodel.usecase.document import (
    GoodputStream,
    ImageStream,
    Limit,
    SampleStream,
    Stream,
    UseCase,
)
from icmodel.usecase.limits import requirements

HANDLED = ("received_goodput_bps", "sent_goodput_bps")
"""Derived numbers of a device, which follow from all its streams."""


NOTHING: Derivations = MappingProxyType({})


def derived_anew(usecase: UseCase, document: SystemDocument) -> Derivations:
    """Numbers of a use case, derived from what the system's streams of the same names produce.

    If the two describe a stream by different kinds, the numbers that follow from the use case's kind are left
    out; a limit that names one is then refused by `wanted`.
    """
    tables = {table.name: table for table in document.streams}
    streams = {
        one.name: _as_produced(one, tables[one.name])
        for one in usecase.streams
        if one.name in tables
    }
    told = tuple(streams.get(one.name) or one for one in usecase.streams)
    made = derive(usecase.model_copy(update={"streams": told}))
    other = {name for name, one in streams.items() if one is None}
    if not other:
        return made
    kept = {
        name: one
        for name, one in made.items()
        if name.partition(".")[0] not in other and one.quantity not in HANDLED
    }
    return MappingProxyType(kept)


def _as_produced(stream: Stream, table: Streams) -> Stream | None:
    """A use case's stream with what the system's table produces; ``None`` if their kinds differ."""
    made = table.produces
    match stream:
        case ImageStream() if isinstance(made, Image):
            names = ("width_px", "height_px", "depth_bits", "rate_hz")
            return stream.model_copy(update={name: getattr(made, name) for name in names})
        case SampleStream() if isinstance(made, Samples):
            update: dict[str, object] = {"size_bits": made.size_bits}
            if stream.cycle_hz is not None:
                update["cycle_hz"] = made.cycle_hz
            elif made.within_s is not None:
                update["within_s"] = made.within_s
            return stream.model_copy(update=update)
        case GoodputStream():
            own = producer(made, table.payload_bytes)
            if own is not None:
                return stream.model_copy(update={"goodput_bps": own.goodput_bps})
    return None


def wanted(
    document: SystemDocument, usecase: UseCase | None, derived: Derivations = NOTHING
) -> tuple[Wanted, ...]:
    """The use case's requirements and the document's own, limits in SI.

    A limit is a quantity with its unit, or the name of a number derived from the use case or from the producer of a
    stream: ``picture.goodput_bps``, ``picture.period_s``, ``picture.message_bytes``.

    Parameters
    ----------
    derived : mapping
        Numbers of the use case, by `derived_anew`; empty without one.

    Raises
    ------
    NetworkError
        If a requirement has no stream and there are several, or one of the use case names a number that does
        not follow from what this system produces.
    UseCaseError, UnitError
        If a limit names no derived number, or is of another kind than its metric.
    """
    made = {**derived, **_produced(document.streams)}
    shared: tuple[Wanted, ...] = ()
    if usecase is not None:
        _check_references(usecase, document, made)
        shared = _wanted(usecase.requirements, map(usecase.stream_of, usecase.requirements), made)
    streams = (_stream_of(limit, document) for limit in document.requirements)
    return (*shared, *_wanted(document.requirements, streams, made))


def _check_references(usecase: UseCase, document: SystemDocument, made: Derivations) -> None:
    """Refuse limits of the use case that name numbers which this system's streams do not have."""
    kinds = {table.name: table.produces.kind for table in document.streams}
    for limit in usecase.requirements:
        for text in filter(None, (limit.at_least, limit.at_most)):
            name = text.partition(".")[0]
            if not is_reference(text) or text in made or name not in kinds:
                continue
            raise NetworkError(
                f"the requirement {limit.name!r} of the use case {usecase.name} is limited by {text}, and "
                f"the stream {name} is of kind {kinds[name]} here and {usecase.stream(name).kind} there: "
                "give it the same kind, or the system requirements of its own"
            )


def _wanted(
    limits: tuple[Limit, ...], streams: Iterable[str], made: Mapping[str, Derivation]
) -> tuple[Wanted, ...]:
    found = zip(requirements(limits, made), streams, limits, strict=True)
    return tuple(
        Wanted(one, stream, limit.device, limit.of if isinstance(limit, SystemLimit) else MESSAGE)
        for one, stream, limit in found
    )


def _stream_of(limit: Limit, document: SystemDocument) -> str:
    """The stream of a requirement, else the only group of streams."""
    if limit.stream is not None:
        return limit.stream
    names = [table.name for table in document.streams]
    if len(names) != 1:
        raise NetworkError(
            f"the requirement {limit.name!r} needs a stream: name one of {', '.join(names) or 'none'}"
        )
    return names[0]


def _produced(tables: Iterable[Streams]) -> Mapping[str, Derivation]:
    """Goodput, period and message of each group of streams, as numbers that a limit can name."""
    found: dict[str, Derivation] = {}
    for table in tables:
        made = producer(table.produces, table.payload_bytes)
        if made is not None:
            numbers = {
                "goodput_bps": made.needed_bps,
                "period_s": made.period_s,
                "message_bytes": made.message_bytes,
            }
            for key, value in numbers.items():
                name = f"{table.name}.{key}"
                found[name] = Derivation(name, value, "as produced", "of one stream")
    return found
