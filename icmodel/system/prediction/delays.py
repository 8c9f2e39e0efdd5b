"""Delays that path and queues of a system add to the latency from a dataset, or from devices that state it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from icmodel import units
from icmodel.arrays import Floats
from icmodel.estimate import Estimate, absent
from icmodel.system.network import Switch, System
from icmodel.system.prediction.buffers import Buffers
from icmodel.system.prediction.path_times import PathTimes
from icmodel.system.prediction.queues import longest_closed_s
from icmodel.system.prediction.resources import PORT
from icmodel.system.prediction.result import derived
from icmodel.system.prediction.throughput import Throughput
from icmodel.system.sharing import SAME
from icmodel.system.sharing.waiting import SHORTEST_S, quantile_s

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
MEDIAN = 0.5
RUNS = 0.95
"""Quantile of the waits that is used as the upper limit of a stream's mean wait in a run.

Each run has its own phases. In 5 % of runs, the mean wait exceeds this quantile.
"""
ANYWHERE = 0.45
"""Half-width of an interval: the mean fill level of a full port's buffer is one half, plus or minus this fraction.

The interval covers 90 % of all levels from empty to full.
"""
NOT_FULL = 0.1
"""Greatest empty fraction of an overloaded port's buffer (assumed); such a buffer counts as full."""
BUNCHED = 0.25
"""Least range of a delay that may bunch frames, as a fraction of the time from one frame to the next (assumed)."""
RULES = ("derived", "assumed")
"""Bases (kinds of evidence) of a latency after times of path or queues are added."""


@dataclass(frozen=True)
class AddedLatency:
    """Times on the path and in queues, which are added to the latency that a dataset predicts for a stream.

    Parameters
    ----------
    shifts_s : mapping
        Fixed times by cause [s], as in `PathTimes.shifts_s`.
    queues_s : mapping
        Mean wait by port [s].
    mean_s, std_s : float
        Mean and standard deviation of the wait in all queues together [s].
    once_s : float
        Wait if every other stream sends a single burst, all at the same moment [s].
    quantiles_s : mapping
        Fraction of frames -> wait that this fraction does not exceed [s].
    worst_s : float
        Wait that no frame exceeds, from the bound of the network [s]; infinite without a bound.
    between_s : float
        Time to drain the buffers of full ports whose fill level may be anywhere between empty and full [s].
    stays_full_s : float
        Time to drain the buffers of overloaded ports, which stay full [s].
    meanwhile_s : float
        Time that full ports spend on packets of other streams while the frame's own packets arrive [s].
    floor_s : float
        Least time that any frame takes on its path [s].
    bunched : bool
        Whether frames may come in bunches at a port of the path, so that waits may be as long as the worst case.
    together : int
        Number of TCP streams that get less than they request because of the resource that limits this stream.
    why : str
        Reason why the wait is unknown; empty if the wait is known.
    """

    shifts_s: Mapping[str, float]
    queues_s: Mapping[str, float]
    mean_s: float
    std_s: float
    once_s: float
    quantiles_s: Mapping[float, float]
    worst_s: float = math.inf
    between_s: float = 0.0
    stays_full_s: float = 0.0
    meanwhile_s: float = 0.0
    floor_s: float = 0.0
    bunched: bool = False
    together: int = 0
    why: str = ""

    @property
    def full_s(self) -> float:
        """Time to drain the buffers of all full ports [s]; 0 if none is full."""
        return self.between_s or self.stays_full_s

    @property
    def nothing(self) -> bool:
        """Whether path and queues add no time, so that the latency is that of the dataset."""
        bunched = self.bunched and self.worst_s > SHORTEST_S
        added = self.mean_s or self.full_s or self.why or bunched
        return not (added or any(self.shifts_s.values()))

    def wait_s(self, statistic: str) -> float:
        """Wait in queues [s] that is added to a statistic of the latency: a mean, a quantile or the maximum."""
        if statistic == "mean":
            return self.mean_s
        return self.quantiles_s[QUANTILES[statistic]] if statistic in QUANTILES else self.once_s

    def applied(self, name: str, metric: Estimate, mean: Estimate) -> Estimate:
        """Add the times of path and queues to one latency metric from the dataset.

        Parameters
        ----------
        name : str
            Name of the metric.
        metric, mean : Estimate
            Metric of this name, and mean latency, both from the dataset [s].
        """
        if metric.absent:
            return metric
        statistic = name.removeprefix("latency_").removesuffix("_s")
        if self.nothing:
            floor_s = -math.inf if statistic == "std" else self.floor_s
            value, low, high = (max(end, floor_s) for end in metric.ends)
            return replace(metric, value=value, low=low, high=high)
        if statistic == "std":
            if self.why:
                return absent(self.why)
            return self._with_reasons(metric, (math.hypot(end, self.std_s) for end in metric.ends))
        shift = math.fsum(self.shifts_s.values())
        value, low, high = (max(end + shift, self.floor_s) for end in metric.ends)
        if self.why:  # the wait is unknown: it may add any time
            return replace(metric, value=math.nan, low=low, high=math.inf, why=self.why)
        if statistic == "min":
            return self._with_reasons(metric, (value, low, high))
        if statistic == "max":
            full = self.between_s + self.stays_full_s + self.meanwhile_s
            known = math.isfinite(self.worst_s) or self.bunched
            worst = max(self.once_s, self.worst_s) if known else self.once_s
            return self._with_reasons(
                metric, (value + self.once_s + full, low, high + worst + full)
            )
        wait = self.wait_s(statistic)
        if statistic != "mean" and not mean.absent:
            # the squares of the deviations from both means add up (assumed)
            host, queue = metric.value - mean.value, wait - self.mean_s
            beyond = max(math.hypot(host, queue) - abs(host), 0.0)
            wait = self.mean_s + beyond * math.copysign(1, queue)
        wait += self.meanwhile_s
        value = value + wait + self.between_s / 2 + self.stays_full_s
        unsure = ANYWHERE * self.between_s + NOT_FULL * self.stays_full_s
        below = math.hypot(metric.value - metric.low, wait + unsure)
        most_s = self.worst_s if self.bunched else self.quantiles_s[RUNS]
        more = max(most_s - self.mean_s, 0.0)
        above = math.hypot(metric.high - metric.value, more + unsure)
        return self._with_reasons(metric, (value, value - below, value + above))

    def _with_reasons(self, own: Estimate, ends: Iterable[float]) -> Estimate:
        """Make a latency with the given value, low and high, whose reason lists the added times."""
        return derived(own, ends, RULES, *self.reasons)

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Times that were added to a latency, as texts for its reason, such as the wait in queues."""
        reasons = []
        if self.queues_s:
            where = max(self.queues_s, key=lambda port: self.queues_s[port])
            wait = units.format_seconds(self.mean_s, 3)
            reasons.append(f"queues {wait}, mostly at {where}")
        if self.between_s:
            reasons.append("buffers of full ports between empty and full")
        if self.stays_full_s:
            reasons.append("buffers that stay full")
        shifts = ((cause, time) for cause, time in self.shifts_s.items() if time)
        reasons += [f"{cause} {units.format_seconds(time, 3)}" for cause, time in shifts]
        return tuple(reasons)


def added_latencies(
    system: System, rates: Throughput, buffers: Buffers, paths: Sequence[PathTimes]
) -> list[AddedLatency]:
    """Add up the times that path and queues add to the latency of each stream.

    The wait of a frame depends on the phases of the streams: the moments at which each stream sends in its period.
    Means and quantiles of waits are computed for independent random phases. Waits at the ports of a path are added up
    as if the ports were independent, so the sum may be too large. Therefore the mean wait is at most the worst-case
    bound, and each quantile is at most the wait if every other stream sends one burst at the same moment. Phases stay
    the same over a run, so all frames of a run may wait equally long. Therefore each quantile above the median is at
    least the mean.

    A TCP stream that gets less than it requests fills a queue at its own sender. No time is added for this queue: the
    dataset's latency at a request that is not achieved already includes it.
    """
    queues, worst = buffers.queues, buffers.bounds
    worst_s = np.array(
        [
            max(worst.network[name].value_s - path.least_s, 0.0) + path.bucket_s
            if name in worst.network
            else math.inf
            for name, path in zip(system.streams, paths, strict=True)
        ]
    )
    endless = np.isinf(queues.mean_s)
    mean = np.minimum(np.where(endless, 0.0, queues.mean_s).sum(axis=1), worst_s)
    variance = np.where(endless, 0.0, queues.variance_s2).sum(axis=1)
    once = np.clip(queues.burst_s.sum(axis=1), mean, worst_s)
    std = np.minimum(np.sqrt(variance), once).tolist()
    quantiles = {
        share: np.clip(quantile_s(mean, variance, share), mean * (share > MEDIAN), once).tolist()
        for share in (*QUANTILES.values(), RUNS)
    }
    shared, added = rates.resources, []
    limiting = rates.allocation.limiting
    gives_way = rates.held_back & shared.flows.elastic
    together = np.bincount(limiting[gives_way] + 1, minlength=len(shared.keys) + 1)
    bunched = bunched_ports(system, worst_s)
    for k, (stream, path) in enumerate(zip(system.streams.values(), paths, strict=True)):
        held_back = rates.held_back[k]
        resources = shared.flows.path[k, np.flatnonzero(endless[k])].tolist()
        full = [
            resource
            for resource in resources
            if not held_back or (rates.overloaded[resource] and not gives_way[k])
        ]
        sender_too = not held_back or k in rates.alone.refused
        between_s, stays_full_s, why = _drain_s(system, rates, full, sender_too=sender_too)
        added.append(
            AddedLatency(
                shifts_s=path.shifts_s,
                queues_s={
                    port: float(queues.mean_s[k, hop])
                    for hop, port in shared.ports(k)
                    if 0 < queues.mean_s[k, hop] < np.inf
                },
                mean_s=float(mean[k]),
                std_s=std[k],
                once_s=float(once[k]),
                quantiles_s={share: of[k] for share, of in quantiles.items()},
                worst_s=float(worst_s[k]),
                between_s=between_s,
                stays_full_s=stays_full_s,
                meanwhile_s=float(queues.meanwhile_s[k, endless[k]].sum()) if full else 0.0,
                floor_s=path.floor_s,
                bunched=not bunched.isdisjoint(stream.path),
                together=int(together[limiting[k] + 1]),
                why=why,
            )
        )
    return added


def bunched_ports(system: System, worst_s: Floats) -> set[str]:
    """Ports at which frames of a stream may come in bunches: much closer together than they were sent.

    A frame comes closer to the frame before it if it is delayed less. Waits at ports are computed for frames that keep
    their distance, so these waits do not hold at the returned ports. A port is returned if a delay before it may differ
    between frames by at least the fraction `BUNCHED` of their distance. The delay has one of three causes:

    - the sender states a least and a greatest latency: the difference counts, and all ports of the stream are returned
    - a gate is closed for a time: this time counts, and the ports behind the gate are returned
    - the stream meets bunches of another stream at a port: its longest wait counts, and this port and all later ports
      on its path are returned

    Parameters
    ----------
    worst_s : array (streams,)
        Longest wait of each stream [s].
    """
    ports: set[str] = set()
    closer = []
    for stream, wait_s in zip(system.streams.values(), worst_s.tolist(), strict=True):
        if stream.producer is None:
            continue
        frames = 1 if stream.sent_at_once else stream.frames_a_message
        least_s = BUNCHED * stream.producer.period_s / frames
        closed_s = [longest_closed_s(system.ports[name], stream) for name in stream.path]
        gates = (hop for hop, time_s in enumerate(closed_s) if time_s >= least_s)
        ports |= set(stream.path[next(gates, len(stream.path)) + 1 :])
        latency_s = system.devices[stream.source].latency_s or (0.0, 0.0)
        if latency_s[1] - latency_s[0] >= least_s:
            ports |= set(stream.path)
        elif wait_s >= least_s:
            closer.append(stream.path)
    found = -1
    while found < len(ports):
        found = len(ports)
        for path in closer:
            behind = next((hop for hop, port in enumerate(path) if port in ports), len(path))
            ports |= set(path[behind:])
    return ports


def _drain_s(
    system: System, rates: Throughput, full: Sequence[int], *, sender_too: bool
) -> tuple[float, float, str]:
    """Return the time to drain the switch buffers of a path's full ports [s], in two parts, and a reason.

    The first part is for ports at their limit without overload, whose buffers may be anywhere between empty and full.
    The second part is for overloaded ports, whose buffers stay full. The reason tells why the times are unknown; it is
    empty if they are known. A buffer drains at the rate that the port's scheduler leaves to the stream's traffic class;
    if the receiving interface is full, at the rate of the port.

    Parameters
    ----------
    full : sequence of int
        Indices of the full resources on the path of the stream.
    sender_too : bool
        Whether to count the sender's own port. It does not count if the dataset's latency already includes its
        queue, as is usual if the stream does not achieve its request.
    """
    drains_s: dict[str, float] = {}
    stay_full = set()
    for resource in full:
        kind, name, _ = rates.resources.keys[resource]
        port = system.ports[name]
        node = system.node(port.node)
        if not isinstance(node, Switch) and not sender_too:
            continue
        buffer = node.buffer_bytes if isinstance(node, Switch) else None
        if buffer is None:
            why = f"{name} is full, and the wait there depends on its buffer: give buffer"
            return 0.0, 0.0, why
        rate_bps = port.rate_bps
        if kind == PORT:  # a finite time, even if the class gets no rate
            rate_bps = max(float(rates.allocation.available[resource]), SAME * rate_bps)
        drains_s[name] = max(drains_s.get(name, 0.0), buffer * 8 / rate_bps)
        if rates.overloaded[resource]:
            stay_full.add(name)
    stays_full_s = math.fsum(time for name, time in drains_s.items() if name in stay_full)
    return math.fsum(drains_s.values()) - stays_full_s, stays_full_s, ""
