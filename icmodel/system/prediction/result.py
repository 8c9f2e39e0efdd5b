"""SystemPrediction: what every stream, link and device of a system gets; frozen, and its JSON form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from icmodel.estimate import Estimate, absent, number_or_none
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED, Verdict, worst
from icmodel.system.network import Stream, System

SCHEMA_VERSION = 1
TOLD = (
    "goodput_bps",
    "latency_mean_s",
    "latency_std_s",
    "latency_p50_s",
    "latency_p99_s",
    "latency_max_s",
    "message_latency_s",
    "loss_rate",
)
"""Metrics of a stream that every document has, absent ones with the reason."""


@dataclass(frozen=True, slots=True)
class LatencyBound:
    """A latency [s] that no frame exceeds, how it was found, and the features of the system it covers."""

    value_s: float
    method: str
    covers: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {"value": self.value_s, "method": self.method, "covers": list(self.covers)}


@dataclass(frozen=True, slots=True)
class StreamPrediction:
    """What one stream gets.

    ``terms`` are what its mean latency has beside its dataset's part [s]; ``bottleneck_at`` the lane that
    limits it, empty where none does; ``no_bound`` why there is no bound on its latency.
    """

    stream: Stream
    metrics: Mapping[str, Estimate]
    bottleneck: str
    bottleneck_at: str
    terms: Mapping[str, float]
    latency_bound: LatencyBound | None = None
    no_bound: str = ""
    notes: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Estimate:
        """A metric by its name."""
        try:
            return self.metrics[name]
        except KeyError:
            raise AttributeError(name) from None

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        bound = None if self.latency_bound is None else self.latency_bound.to_dict()
        told = {name: self.metrics.get(name, absent("not predicted")) for name in TOLD}
        return {
            "group": self.stream.group,
            "path": list(self.stream.path),
            **{name: one.to_dict() for name, one in {**told, **self.metrics}.items()},
            "latency_bound_s": bound,
            "no_bound": self.no_bound,
            "bottleneck": self.bottleneck,
            "bottleneck_at": self.bottleneck_at,
            "terms": {name: number_or_none(value) for name, value in self.terms.items()},
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class PortPrediction:
    """One direction of a link: what it carries and is asked to, of its rate; the bytes that queue."""

    load_ratio: float
    asked_ratio: float
    backlog_mean_bytes: Estimate
    backlog_bound_bytes: float | None = None

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "load_ratio": self.load_ratio,
            "asked_ratio": self.asked_ratio,
            "backlog_mean_bytes": self.backlog_mean_bytes.to_dict(),
            "backlog_bound_bytes": self.backlog_bound_bytes,
        }


@dataclass(frozen=True, slots=True)
class LinkPrediction:
    """A link by its two directions."""

    ports: Mapping[str, PortPrediction]

    @property
    def load_ratio(self) -> float:
        """Of the direction that carries more."""
        return max((port.load_ratio for port in self.ports.values()), default=0.0)

    @property
    def backlog_bound_bytes(self) -> float | None:
        """The greater of both directions; ``None`` where one is not bounded."""
        bounds = [port.backlog_bound_bytes for port in self.ports.values()]
        known = [bound for bound in bounds if bound is not None]
        return max(known) if known and len(known) == len(bounds) else None

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "load_ratio": self.load_ratio,
            "backlog_bound_bytes": self.backlog_bound_bytes,
            "ports": {name: port.to_dict() for name, port in self.ports.items()},
        }


@dataclass(frozen=True, slots=True)
class DevicePrediction:
    """A host: utilisation of its cores, how many are busy, and each by itself.

    ``by_core`` is how busy each core is if the streams' processes are dealt over them, the busiest to the
    idlest cores; empty where nobody says how many there are.
    """

    cpu: Estimate
    cpu_cores: Estimate
    by_core: tuple[float, ...]

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "cpu": self.cpu.to_dict(),
            "cpu_cores": self.cpu_cores.to_dict(),
            "by_core": list(self.by_core),
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """A requirement judged for one stream or device."""

    verdict: Verdict
    stream: str
    device: str = ""
    by_bound: bool = False

    @property
    def badness(self) -> tuple[int, float]:
        """Sort key, greater is worse: the outcome, then the margin; without a margin worst."""
        margin = self.verdict.margin
        outcome = OUTCOMES.index(self.verdict.outcome)
        return outcome, math.inf if math.isnan(margin) else -margin

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            **self.verdict.to_dict(),
            "stream": self.stream,
            "device": self.device,
            "by_bound": self.by_bound,
        }


def by_requirement(judged: Iterable[Judged]) -> dict[str, list[Judged]]:
    """What was judged by requirement, the worst first; requirements by their worst, worst first."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(one.verdict.requirement.name, []).append(one)
    for some in groups.values():
        some.sort(key=lambda one: one.badness, reverse=True)
    return dict(sorted(groups.items(), key=lambda pair: pair[1][0].badness, reverse=True))


@dataclass(frozen=True, slots=True)
class SystemPrediction:
    """What a whole system does: its streams, links and devices by name, and the requirements judged."""

    system: System
    datasets: Mapping[str, str]
    variants: tuple[str, ...]
    streams: Mapping[str, StreamPrediction]
    links: Mapping[str, LinkPrediction]
    devices: Mapping[str, DevicePrediction]
    judged: tuple[Judged, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        return (
            f"SystemPrediction({self.system.name!r}, {len(self.streams)} streams: {self.verdict})"
        )

    @property
    def verdict(self) -> str:
        """The worst of all that was judged."""
        return worst([one.verdict.outcome for one in self.judged])

    @property
    def exit_code(self) -> int:
        """0 met, 1 not met, 3 undecided."""
        return {MET: 0, NOT_MET: 1, UNDECIDED: 3}[self.verdict]

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "schema_version": SCHEMA_VERSION,
            "system": self.system.name,
            "title": self.system.title,
            "datasets": dict(self.datasets),
            "variants": list(self.variants),
            "streams": {name: one.to_dict() for name, one in self.streams.items()},
            "links": {name: one.to_dict() for name, one in self.links.items()},
            "devices": {name: one.to_dict() for name, one in self.devices.items()},
            "requirements": [one.to_dict() for one in self.judged],
            "verdict": self.verdict,
            "notes": list(self.notes),
        }
