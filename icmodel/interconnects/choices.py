"""Choices: candidates for a use case that rules generate from a dataset, such as payloads and core counts.

- Samples go in frames of one connection's payload, and a stream with a stated goodput in frames of the use case's
  default candidate. Pictures go in frames of each size that `payloads` gives.
- Frames have the rate that the stream needs. They go over the use case's greatest distance, through as many switches
  as the default candidate has.
- Core counts are the least and the greatest measured one, and the measured count with the greatest goodput.
- Each protocol of the dataset is used, and each mixture of protocols of the streams.
- The number of endpoints follows from the devices, as in every evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from icmodel.dataset import Point
from icmodel.estimate import plural
from icmodel.interconnects.links import Carrier
from icmodel.tables.wire import Wire
from icmodel.theory import AnyFraming
from icmodel.usecase import UseCase
from icmodel.usecase.derivation import Derivations
from icmodel.usecase.document import Candidate, Question, SampleStream

MOST_BYTES = 65507
"""Largest payload of a frame to try if a dataset states no payload [B]: the limit of UDP over IPv4."""
Sizes = Mapping[str, Sequence[int]]
"""Payloads to try [B], by protocol; all protocols have the same number of payloads."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameters that all generated candidates for one link share: options, line rate [b/s] and dataset."""

    options: tuple[tuple[str, str], ...] = ()
    line_rate_bps: float | None = None
    dataset: str = ""


def measured_choices(
    case: UseCase,
    derived: Derivations,
    carrier: Carrier,
    protocols: Sequence[str],
    line_rate_bps: float | None = None,
) -> tuple[Candidate, ...]:
    """Generate candidates for a use case from the protocols, payloads and core counts that a dataset measured.

    ``line_rate_bps`` is set if the dataset is extrapolated to another line rate [b/s].
    """
    setting = Setting(carrier.options, line_rate_bps, carrier.data.id)
    rows = {name: carrier.data.select(name, dict(carrier.options)) for name in protocols}
    sizes = {name: payloads(rows[name], Wire(name, carrier.link).framing) for name in protocols}
    flowing = [
        (point.value, point.cores)
        for points in rows.values()
        for point in points
        if point.metric == "goodput_bps" and point.cores is not None
    ]
    counts: tuple[int | None, ...] = (None,)
    if flowing:
        cores = [count for _, count in flowing]
        fastest = max(flowing, key=lambda row: row[0])[1]
        counts = tuple(dict.fromkeys((min(cores), fastest, max(cores))))
    return _candidates(case, derived, sizes, counts, setting)


def theory_choices(
    case: UseCase, derived: Derivations, protocol: str, framing: AnyFraming
) -> tuple[Candidate, ...]:
    """Generate candidates for a link without a dataset.

    Frames have two sizes: one full packet, and the largest frame that consists of full packets.
    """
    full = framing.aligned_payloads(MOST_BYTES)
    sizes = {protocol: (int(full[0]), int(full[-1]))}
    return _candidates(case, derived, sizes, (None,), Setting())


def payloads(points: Iterable[Point], framing: AnyFraming | None) -> tuple[int, int, int, int]:
    """Choose four payloads [B] to try, from the rows of a dataset.

    They are the largest payload, the largest that fills its packets, the payload of one full packet, and the payload
    with the greatest goodput. If one of the four does not exist, the largest takes its place. If the rows state no payload, the limit is
    `MOST_BYTES`.
    """
    rows = [(point.payload_bytes, point) for point in points if point.payload_bytes is not None]
    flowing = [(size, point) for size, point in rows if point.metric == "goodput_bps"]
    sizes = [size for size, _ in flowing or rows] or [1, MOST_BYTES]
    least, most = min(sizes), max(sizes)
    full = (
        []
        if framing is None
        else [int(size) for size in framing.aligned_payloads(most) if size >= least]
    )
    fastest = max(flowing, key=lambda row: row[1].value)[0] if flowing else most
    return most, full[-1] if full else most, full[0] if full else most, fastest


def _candidates(
    case: UseCase,
    derived: Derivations,
    sizes: Sizes,
    counts: Sequence[int | None],
    setting: Setting,
) -> tuple[Candidate, ...]:
    """Generate a candidate for each combination of protocols, payload and core count."""
    default = next(
        candidate for candidate in case.candidates if candidate.name == case.default_candidate
    )
    number_of_sizes = len(next(iter(sizes.values())))
    mixtures: dict[tuple[tuple[str, int], ...], None] = {}
    for protocols, at in product(product(sizes, repeat=len(case.streams)), range(number_of_sizes)):
        frames = []
        for stream, protocol in zip(case.streams, protocols, strict=True):
            stated = default.scenarios.get(stream.name)
            payload_bytes = sizes[protocol][at]
            if isinstance(stream, SampleStream):
                payload_bytes = int(derived[f"{stream.name}.payload_bytes"].value)
            elif stream.kind == "goodput" and stated is not None:
                payload_bytes = stated.payload_bytes
            frames.append((protocol, payload_bytes))
        mixtures[tuple(frames)] = None

    candidates = []
    for number, (mixture, cores) in enumerate(product(mixtures, counts), 1):
        scenarios, parts = {}, []
        for stream, (protocol, payload_bytes) in zip(case.streams, mixture, strict=True):
            stated = default.scenarios.get(stream.name)
            parts.append(f"{stream.name} by {protocol} in {payload_bytes} B")
            scenarios[stream.name] = Question(
                protocol=protocol,
                payload_bytes=payload_bytes,
                cores=cores,
                switches=0 if stated is None else stated.switches,
                distance_m=None if case.medium is None else case.medium.distance_m,
                line_rate_bps=setting.line_rate_bps,
                options=dict(setting.options),
            )
        parts += [] if cores is None else [plural(cores, "core")]
        parts += [f"{axis} = {value}" for axis, value in setting.options]
        candidates.append(
            Candidate(
                name=f"choice-{number}",
                description=", ".join(parts),
                dataset=setting.dataset,
                scenarios=scenarios,
            )
        )
    return tuple(candidates)
