"""Choices: candidates of a use case for a dataset, made by rule.

The rule: samples go in frames of one connection's payload; a stream with a known goodput in
those of the use case's default candidate; pictures in each of up to four sizes that `payloads` gives.
Frames have the rate that the stream needs, over the use case's greatest distance, through as many
switches as its default candidate has, on the least and the greatest measured core count and on that
with the greatest goodput.  Each protocol of the dataset is used, and each mixture where streams can have
different ones.  The number of endpoints follows from the devices, as in every evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from icmodel.dataset import Point
from icmodel.interconnects.links import Carrier
from icmodel.tables.wire import Wire
from icmodel.theory import AnyFraming
from icmodel.usecase import UseCase, derive
from icmodel.usecase.derivation import Derivations
from icmodel.usecase.document import Candidate, Question, SampleStream, Stream
from icmodel.wording import plural

MOST_BYTES = 65507
"""Greatest frame [B] where none was measured: the greatest of UDP over IPv4."""
Sizes = Mapping[str, Sequence[int]]
"""Payloads [B] by protocol, as many of each."""
Carried = dict[str, tuple[str, int]]
"""Protocol and payload [B] of each stream."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all candidates of a link share."""

    options: tuple[tuple[str, str], ...] = ()
    line_rate_bps: float | None = None
    dataset: str = ""


def measured_choices(
    case: UseCase, carrier: Carrier, protocols: Sequence[str], line_rate_bps: float | None = None
) -> tuple[Candidate, ...]:
    """The candidates that are asked of a dataset, at its own line rate or at another."""
    setting = Setting(carrier.options, line_rate_bps, carrier.data.id)
    rows = {name: carrier.data.select(name, dict(carrier.options)) for name in protocols}
    sizes = {name: payloads(rows[name], Wire(name, carrier.link).framing) for name in protocols}
    counts = _cores([point for points in rows.values() for point in points])
    return _candidates(case, sizes, counts, setting)


def theory_choices(case: UseCase, protocol: str, framing: AnyFraming) -> tuple[Candidate, ...]:
    """The candidates of a link that nobody measured: one full packet, and the largest frame of full ones."""
    full = framing.aligned_payloads(MOST_BYTES)
    return _candidates(case, {protocol: (int(full[0]), int(full[-1]))}, (None,), Setting())


def payloads(points: Iterable[Point], framing: AnyFraming | None) -> tuple[int, int, int, int]:
    """Payloads [B] of some rows: the largest, the largest that fills its packets, one packet, the fastest.

    As far as they were measured; where one does not exist the largest stands in its place. Where the
    source says no size, up to `MOST_BYTES`.
    """
    rows = [(point.payload_bytes, point) for point in points if point.payload_bytes is not None]
    flowing = [(size, point) for size, point in rows if point.metric == "goodput_bps"]
    sizes = [size for size, _ in flowing or rows] or [1, MOST_BYTES]
    least, most = min(sizes), max(sizes)
    full = (
        []
        if framing is None
        else [int(one) for one in framing.aligned_payloads(most) if one >= least]
    )
    fastest = max(flowing, key=lambda one: one[1].value)[0] if flowing else most
    return most, full[-1] if full else most, full[0] if full else most, fastest


def _cores(points: Sequence[Point]) -> tuple[int | None, ...]:
    """The least and the most cores with a goodput, and those of the greatest; none where nobody says."""
    flowing = [p for p in points if p.metric == "goodput_bps" and p.cores is not None]
    if not flowing:
        return (None,)
    counts = [point.cores for point in flowing if point.cores is not None]
    fastest = max(flowing, key=lambda point: point.value).cores
    return tuple(dict.fromkeys((min(counts), fastest, max(counts))))


def _candidates(
    case: UseCase, sizes: Sizes, counts: Sequence[int | None], setting: Setting
) -> tuple[Candidate, ...]:
    made = derive(case)
    carried = dict.fromkeys(tuple(one.items()) for one in _carried(case, sizes, made))
    return tuple(
        _candidate(case, (number, dict(one)), cores, setting)
        for number, (one, cores) in enumerate(product(carried, counts), 1)
    )


def _carried(case: UseCase, sizes: Sizes, made: Derivations) -> Iterator[Carried]:
    """Each mixture of protocols, each with its first sizes, then its second, and so on."""
    for protocols in product(sizes, repeat=len(case.streams)):
        for at in range(len(next(iter(sizes.values())))):
            yield {
                stream.name: (protocol, _payload(case, stream, sizes[protocol][at], made))
                for stream, protocol in zip(case.streams, protocols, strict=True)
            }


def _payload(case: UseCase, stream: Stream, size: int, made: Derivations) -> int:
    if isinstance(stream, SampleStream):
        return int(made[f"{stream.name}.payload_bytes"].value)
    said = _default(case, stream)
    return said.payload_bytes if stream.kind == "goodput" and said is not None else size


def _default(case: UseCase, stream: Stream) -> Question | None:
    """What the default candidate asks of a stream."""
    default = next(one for one in case.candidates if one.name == case.default_candidate)
    return default.scenarios.get(stream.name)


def _candidate(
    case: UseCase, numbered: tuple[int, Carried], cores: int | None, setting: Setting
) -> Candidate:
    number, carried = numbered
    parts = [f"{name} by {one[0]} in {one[1]} B" for name, one in carried.items()]
    parts += [] if cores is None else [plural(cores, "core")]
    parts += [f"{axis} = {value}" for axis, value in setting.options]
    scenarios = {
        stream.name: _question(case, stream, carried[stream.name], cores, setting)
        for stream in case.streams
    }
    return Candidate(
        name=f"choice-{number}",
        description=", ".join(parts),
        dataset=setting.dataset,
        scenarios=scenarios,
    )


def _question(
    case: UseCase, stream: Stream, carried: tuple[str, int], cores: int | None, setting: Setting
) -> Question:
    said = _default(case, stream)
    protocol, payload = carried
    return Question(
        protocol=protocol,
        payload_bytes=payload,
        cores=cores,
        switches=0 if said is None else said.switches,
        distance_m=None if case.medium is None else case.medium.distance_m,
        line_rate_bps=setting.line_rate_bps,
        options=dict(setting.options),
    )
