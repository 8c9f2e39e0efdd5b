"""Choices: candidates for a use case that rules generate from a dataset, such as payloads and core counts.

- A frame of samples has the payload of one connection. Frames of a stream with a stated goodput have the payload of
  the use case's default candidate. Frames of pictures have each of the sizes that `payloads` returns.
- The frame rate is the rate that the stream needs. The path has the use case's greatest distance, and as many switches
  as the default candidate.
- The core counts are the least and the greatest measured count, and the count with the greatest measured goodput.
- Each stream uses each protocol of the dataset, in all combinations.
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
"""Largest payload to try [B] if a dataset states no payload: the limit of UDP over IPv4."""
Sizes = Mapping[str, Sequence[int]]
"""Payloads to try [B], by protocol; all protocols have the same number of payloads."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameters shared by all generated candidates for one link: options, line rate [b/s] and dataset."""

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
    """Generate candidates for a use case from the protocols, payloads and core counts measured in a dataset.

    ``line_rate_bps`` is the target of an extrapolation to another line rate [b/s]; ``None`` without extrapolation.
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

    Two frame sizes are tried: one full packet, and the largest frame that consists of full packets.
    """
    full = framing.aligned_payloads(MOST_BYTES)
    sizes = {protocol: (int(full[0]), int(full[-1]))}
    return _candidates(case, derived, sizes, (None,), Setting())


def payloads(points: Iterable[Point], framing: AnyFraming | None) -> tuple[int, int, int, int]:
    """Choose four payloads [B] to try, from the rows of a dataset.

    In order: the largest payload, the largest whose packets are all full, that of one full packet, and the one with the
    greatest goodput. A missing one is replaced by the largest payload. If the rows state no payload, the largest is
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
