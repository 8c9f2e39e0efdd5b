"""SystemPrediction: what every stream, link and device of a system gets; frozen, and its JSON form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from icmodel.documents import json_form, json_of
from icmodel.estimate import Estimate, absent, weakest
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED, Verdict, worst_outcome
from icmodel.system.network import Stream, System
from icmodel.system.prediction.arrival import Arrival

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
    """A latency [s] that no frame exceeds, how it was found, and the features of the system it covers.

    ``whole``: no whole message exceeds it either, since its frames are sent at once. ``network_s`` is the part of it
    that the network alone has [s].
    """

    value_s: float
    method: str
    covers: tuple[str, ...]
    whole: bool = False
    network_s: float = math.nan

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {"value": self.value_s, **json_of(self, "method", "covers", "whole", "network_s")}


@dataclass(frozen=True, slots=True)
class StreamPrediction:
    """What one stream gets.

    ``terms`` are what its mean latency has beside its dataset's part [s]; ``bottleneck_at`` the lane that
    limits it, empty where none does; ``no_bound`` why there is no bound on its latency. ``arrival`` says whether
    what it produces arrives; ``message_times`` are the latencies of whole messages of several frames, under the
    names of a frame's.
    """

    stream: Stream
    metrics: Mapping[str, Estimate]
    bottleneck: str
    bottleneck_at: str
    terms: Mapping[str, float]
    latency_bound: LatencyBound | None = None
    no_bound: str = ""
    notes: tuple[str, ...] = ()
    arrival: Arrival = field(default_factory=Arrival)
    message_times: Mapping[str, Estimate] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Estimate:
        """A metric by its name."""
        try:
            return self.metrics[name]
        except KeyError:
            raise AttributeError(name) from None

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        told = {name: self.metrics.get(name, absent("not predicted")) for name in TOLD}
        return {
            **json_of(self.stream, "group", "path"),
            **{name: one.to_dict() for name, one in {**told, **self.metrics}.items()},
            "latency_bound_s": json_form(self.latency_bound),
            **json_of(self, "no_bound", "bottleneck", "bottleneck_at", "terms", "notes"),
            "allowed_shortfall_ratio": self.stream.allowed_shortfall_ratio,
            **json_of(self, "arrival", "message_times"),
        }


@dataclass(frozen=True, slots=True)
class PortPrediction:
    """One direction of a link: what passes of its rate, what its streams ask of it, and the bytes that queue.

    ``asked_ratio`` has all that is produced, whether or not it comes so far. Queues are those of what passes; there is
    no bound where more is asked than the port carries, unless a buffer is stated.
    """

    load_ratio: float
    asked_ratio: float
    backlog_mean_bytes: Estimate
    backlog_bound_bytes: float | None = None

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        names = ("load_ratio", "asked_ratio", "backlog_mean_bytes", "backlog_bound_bytes")
        return json_of(self, *names)


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
        return json_of(self, "load_ratio", "backlog_bound_bytes", "ports")


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
        return json_of(self, "cpu", "cpu_cores", "by_core")


@dataclass(frozen=True, slots=True)
class Judged:
    """A requirement judged for one stream or device.

    ``of``: whether a time is that of a whole ``message`` of several frames, or of a single ``frame`` of it; empty
    where there is no difference.
    """

    verdict: Verdict
    stream: str
    device: str = ""
    by_bound: bool = False
    of: str = ""

    @property
    def badness(self) -> tuple[int, float]:
        """Sort key, greater is worse: the outcome, then the margin; without a margin worst."""
        margin = self.verdict.margin
        outcome = OUTCOMES.index(self.verdict.outcome)
        return outcome, math.inf if math.isnan(margin) else -margin

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {**self.verdict.to_dict(), **json_of(self, "stream", "device", "by_bound", "of")}


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
    """What a whole system does: its streams, links and devices by name, and the requirements judged.

    ``asked`` are the dataset, the variant and the treatment of cycles that were asked for, where they are not those
    of the system.
    """

    system: System
    datasets: Mapping[str, str]
    variants: tuple[str, ...]
    streams: Mapping[str, StreamPrediction]
    links: Mapping[str, LinkPrediction]
    devices: Mapping[str, DevicePrediction]
    judged: tuple[Judged, ...] = ()
    notes: tuple[str, ...] = field(default=())
    asked: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"SystemPrediction({self.system.name!r}, {len(self.streams)} streams: {self.verdict})"
        )

    @property
    def verdict(self) -> str:
        """The worst of all that was judged."""
        return worst_outcome([one.verdict.outcome for one in self.judged])

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
            **json_of(self, "datasets", "variants", "streams", "links", "devices"),
            "requirements": json_form(self.judged),
            **json_of(self, "verdict", "notes", "asked"),
        }


def derived(own: Estimate, made: Iterable[float], bases: tuple[str, ...], *why: str) -> Estimate:
    """What a rule makes of an estimate.

    Parameters
    ----------
    made : iterable of three floats
        Value, low and high.
    bases : tuple of str
        What the rule rests on, besides what the estimate does.
    why : str
        What is told besides its own reason; empty where there is nothing.
    """
    rests = (*(own.bases or (own.basis,)), *bases)
    value, low, high = made
    said = "; ".join(filter(None, (own.why, *why)))
    return Estimate(value, low, high, weakest(rests), said, rests)
