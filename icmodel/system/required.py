"""Requirements of a system: its own, and those of its use case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from icmodel.errors import NetworkError
from icmodel.system.document import Streams, SystemDocument
from icmodel.system.network import Wanted
from icmodel.system.produced import producer
from icmodel.usecase.derivation import Derivation, derive
from icmodel.usecase.document import Limit, UseCase
from icmodel.usecase.limits import requirements


def wanted(document: SystemDocument, usecase: UseCase | None) -> tuple[Wanted, ...]:
    """The use case's requirements and the document's own, limits in SI.

    A limit is a quantity with its unit, or the name of a number derived from the use case or from the producer of a
    stream: ``picture.goodput_bps``, ``picture.period_s``, ``picture.message_bytes``.

    Raises
    ------
    NetworkError
        If a requirement has no stream and there are several.
    UseCaseError, UnitError
        If a limit names no derived number, or is of another kind than its metric.
    """
    made = _produced(document.streams)
    shared: tuple[Wanted, ...] = ()
    if usecase is not None:
        derived = derive(usecase)
        shared = _wanted(
            usecase.requirements, map(usecase.stream_of, usecase.requirements), derived
        )
        made = {**derived, **made}
    streams = (_stream_of(limit, document) for limit in document.requirements)
    return (*shared, *_wanted(document.requirements, streams, made))


def _wanted(
    limits: tuple[Limit, ...], streams: Iterable[str], made: Mapping[str, Derivation]
) -> tuple[Wanted, ...]:
    found = zip(requirements(limits, made), streams, limits, strict=True)
    return tuple(Wanted(one, stream, limit.device) for one, stream, limit in found)


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
