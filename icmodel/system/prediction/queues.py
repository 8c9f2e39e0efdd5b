"""What streams wait for each other at the ports of a system, and what queues there on average."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.system.network import Port, Stream, System
from icmodel.system.packing import AT_ONCE, Packed, Packets, Packing
from icmodel.system.prediction.lanes import INTERFACE, PORT, Shared
from icmodel.system.schedulers import PRIORITIES, CreditBased, Fifo, Gates, StrictPriority
from icmodel.system.sharing.allocation import FULL, Allocation
from icmodel.system.sharing.loss import NOWHERE, behind_buckets
from icmodel.system.sharing.waiting import Arrivals, Waits, spread, waits

WHOLE_PORT = (Fifo, StrictPriority)
"""Schedulers whose classes wait for one another; of others each class has a rate of its own."""
LEAST = 1e-9
"""Of a port's rate, what a class has at least, so that its times stay finite."""


@dataclass(frozen=True, slots=True)
class Queues:
    """What each stream waits at each hop beside what its dataset measured, and what queues at ports.

    Arrays are (streams, hops), infinite where a queue grows without end, 0 at hops that are no ports.  ``mean_s`` and
    ``variance_s2`` are of the first frame of what a stream sends at once, ``last_mean_s`` and ``last_variance_s2`` of its
    last packet; ``burst_s`` is what all others of the port send at once, each once, and ``meanwhile_s`` what they send
    while the packets of a frame come. ``backlog_bytes`` is by port.
    """

    mean_s: Floats
    variance_s2: Floats
    last_mean_s: Floats
    last_variance_s2: Floats
    burst_s: Floats
    meanwhile_s: Floats
    backlog_bytes: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Crossing:
    """A stream at a port: from which port it comes, its packets there, and what the port sends of it.

    ``could_bps`` is what its class could have of the port; ``came_bps`` how fast packets of one frame come, which
    is that of the slowest line and shaper before; ``bucket_bits`` what passes the port at once, and every one before.
    """

    stream: Stream
    port: Port
    before: Port | None
    packed: Packed
    wire_bps: float
    could_bps: float
    came_bps: float
    bucket_bits: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether all classes of the port wait for one another."""
        return isinstance(self.port.scheduler, WHOLE_PORT)

    @property
    def rate_bps(self) -> float:
        """The rate it is served at: that of the port, or what the turns of other classes leave."""
        return self.port.rate_bps if self.whole else max(self.could_bps, LEAST * self.port.rate_bps)

    @property
    def server(self) -> tuple[str, int]:
        """What it waits at: the port, or its class."""
        return self.port.name, NOWHERE if self.whole else self.stream.priority

    @property
    def source(self) -> tuple[str, int, str]:
        """What comes one after the other: streams over one link that is no faster, else the stream."""
        if self.before is None or paced_bps(self.before, self.stream) > self.rate_bps:
            return *self.server, self.stream.name
        return *self.server, self.before.name

    @property
    def burst(self) -> Packets:
        """What the stream sends at once, for which others wait: frames of a message merged where they may be."""
        return self.packed.merged if sent_at_once(self.stream) else self.packed.frame

    @property
    def frame(self) -> Packets:
        """The first frame of it, which never waits for its own stream."""
        return min(self.burst, self.packed.frame, key=lambda one: one.sum_bits)

    @property
    def burst_comes_s(self) -> float:
        """From the first packet of what others wait for to its last [s]; 0 at the port of its own host.

        Behind a slower line or a shaper it comes packet by packet with pauses, so that nobody waits for more of it than if
        it came as fast as it is sent.
        """
        if self.before is None:
            return 0.0
        return self._behind_bits(self.burst) / max(self.came_bps, self.rate_bps)

    def works_s(self, packets: Packets) -> float:
        """From the first of some packets to the last [s], where the port works on them without a pause; else 0."""
        if self.before is None or self.came_bps < self.rate_bps:
            return 0.0
        return self._behind_bits(packets) / self.came_bps

    def _behind_bits(self, packets: Packets) -> float:
        """What comes behind the first packet, or behind what passes at once [b]."""
        return min(packets.behind_bits, max(packets.sum_bits - self.bucket_bits, 0.0))

    def spare_s(self, packets: Packets) -> float:
        """What some packets leave of the port's full bucket, as time of its rate [s]."""
        return max(self.bucket_bits - packets.sum_bits, 0.0) / self.rate_bps

    def at_once_s(self, packets: Packets) -> float:
        """What a full bucket lets pass of some packets at once, as time of the port's rate [s]."""
        return min(self.bucket_bits, packets.sum_bits) / self.rate_bps

    @property
    def priority(self) -> int:
        """Its class, where classes wait for one another."""
        return (
            0 if isinstance(self.port.scheduler, Fifo) or not self.whole else self.stream.priority
        )


def queues(system: System, packed: Packing, found: Shared, allocation: Allocation) -> Queues:
    """What streams wait at ports, by the load there and by what each sends at once."""
    full = _full_interfaces(found, allocation)
    crossings = list(_crossings(system, packed, found, allocation, full))
    if not crossings:
        none = np.zeros(found.flows.path.shape)
        return Queues(none, none, none, none, none, none, {})
    at = _arrivals(crossings)
    besides = np.array([_closed(one) for one in crossings]) + _blocked(crossings)
    waited = waits(at)
    first, last = (
        _waits(crossings, at, waited, besides, some)
        for some in ([one.frame for one in crossings], [one.burst for one in crossings])
    )
    shaped_s = np.array([_shaped_s(one, one.frame) for one in crossings])
    once = (
        _once(at)
        + besides[:, 2]
        + shaped_s
        + np.where(np.isfinite(first.mean_s), first.whole_s, 0.0)
    )
    place = {(one.port.name, one.stream.multicast_key): k for k, one in enumerate(crossings)}
    entry = np.full(found.flows.path.shape, NOWHERE)
    for k, stream in enumerate(system.streams.values()):
        for hop, port in _ports(found, k):
            entry[k, hop] = place[port, stream.multicast_key]

    def hops(of: Floats) -> Floats:
        return np.where(entry == NOWHERE, 0.0, of[entry])

    return Queues(
        mean_s=hops(first.mean_s),
        variance_s2=hops(first.variance_s2),
        last_mean_s=hops(last.mean_s),
        last_variance_s2=hops(last.variance_s2),
        burst_s=hops(once),
        meanwhile_s=hops(first.meanwhile_s + first.whole_s),
        backlog_bytes=_backlogs(crossings, (first.mean_s + last.mean_s) / 2),
    )


class _Waits(NamedTuple):
    """Mean [s] and variance [s²] of waits, what others send meanwhile, and what empty buckets add [s], (crossings,)."""

    mean_s: Floats
    variance_s2: Floats
    meanwhile_s: Floats
    whole_s: Floats


def _waits(
    crossings: Sequence[_Crossing],
    at: Arrivals,
    waited: Waits,
    besides: Floats,
    some: Sequence[Packets],
) -> _Waits:
    """Waits of the last of some packets of each crossing, given those for bursts at one moment and for all else."""
    over = spread(
        at,
        np.array([one.burst_comes_s for one in crossings]),
        np.array([one.works_s(packets) for one, packets in zip(crossings, some, strict=True)]),
        np.array([one.came_bps < one.rate_bps for one in crossings]),
    )
    shaped_s = [_shaped_s(one, packets) for one, packets in zip(crossings, some, strict=True)]
    each = list(zip(crossings, some, strict=True))
    empty = np.bincount(at.port, at.load)[at.port] >= FULL  # buckets of ports that never rest
    mean, variance = behind_buckets(
        np.maximum(waited.mean_s + over.later_s, 0.0),
        waited.variance_s2 * over.variance_ratio + over.variance_s2,
        np.where(empty, 0.0, [one.spare_s(packets) for one, packets in each]),
    )
    whole_s = np.where(empty, [one.at_once_s(packets) for one, packets in each], 0.0)
    mean, variance = mean + besides[:, 0] + shaped_s + whole_s, variance + besides[:, 1]
    return _Waits(mean, variance, over.meanwhile_s, whole_s)


def _ports(found: Shared, stream: int) -> Iterator[tuple[int, str]]:
    """The hops of a stream that are ports, and which."""
    for hop, lane in enumerate(found.flows.path[stream].tolist()):
        if lane != NOWHERE and found.keys[lane][0] == PORT:
            yield hop, found.keys[lane][1]


def _full_interfaces(found: Shared, allocation: Allocation) -> dict[str, float]:
    """Ports whose receiver takes no more: by how much what they carry is short of their rate.

    What gives way asks for more until such a port is full, too.
    """
    carried = found.by_place(allocation.carried)
    whole = {key[:2]: float(of) for key, of in zip(found.keys, found.lanes.capacity, strict=True)}
    return {
        where: max(whole[PORT, where] / carried[PORT, where], 1.0)
        for kind, where in carried
        if kind == INTERFACE and carried[kind, where] >= FULL * whole[kind, where]
    }


def _crossings(
    system: System,
    packed: Packing,
    found: Shared,
    allocation: Allocation,
    full: Mapping[str, float],
) -> Iterator[_Crossing]:
    """Every stream at every port that sends it; of copies only the first."""
    for k, stream in enumerate(system.streams.values()):
        before: Port | None = None
        came_bps = math.inf
        for hop, name in _ports(found, k):
            port, usage = system.ports[name], float(found.flows.usage[k, hop])
            if usage > 0:
                yield _Crossing(
                    stream,
                    port,
                    before,
                    packed.of(stream, system.links[port.link]),
                    wire_bps=float(allocation.entering_bps[k, hop]) * usage * full.get(name, 1.0),
                    could_bps=float(allocation.could[found.flows.path[k, hop]]),
                    came_bps=came_bps,
                    bucket_bits=8 * system.links[port.link].burst_bytes,
                )
            before, came_bps = port, min(came_bps, paced_bps(port, stream))


def sent_at_once(stream: Stream) -> bool:
    """Whether a stream sends its whole message at once, and not frame by frame."""
    return stream.producer is not None and stream.producer.kind in AT_ONCE


def burst_bytes(stream: Stream) -> float:
    """What a stream sends at once [B]: its message where that is produced at once, else a frame."""
    if stream.producer is None or not sent_at_once(stream):
        return float(stream.payload_bytes)
    return max(stream.producer.message_bytes, float(stream.payload_bytes))


def _blocked(crossings: Sequence[_Crossing]) -> Floats:
    """Mean [s], variance [s²] and most [s] of the wait for a packet of another class on the wire, (crossings, 3).

    Where each class has a rate of its own; in gates that are open for some, it is in the wait for them.
    """
    found: dict[tuple[str, int], Floats] = {}
    for one in crossings:
        packet_s = one.burst.longest_bits / one.port.rate_bps
        load = one.wire_bps / one.port.rate_bps
        here = found.setdefault((one.port.name, one.stream.priority), np.zeros(3))
        here[:2] += load * packet_s / 2, load * packet_s**2 / 3
        here[2] = max(here[2], packet_s)
    blocked = np.zeros((len(crossings), 3))
    for row, one in zip(blocked, crossings, strict=True):
        if one.whole or isinstance(one.port.scheduler, Gates):
            continue
        own = one.stream.priority
        classes = [found.get((one.port.name, k), row) for k in PRIORITIES if k != own]
        mean, square, longest = np.array(classes).T
        row[:] = mean.sum(), max(square.sum() - mean.sum() ** 2, 0.0), longest.max()
    return blocked


def _closed(one: _Crossing) -> tuple[float, float, float]:
    """Mean [s], variance [s²] and most [s] of the wait for a gate to open, at a random moment of its cycle.

    A packet that would not end before the gate closes waits as well (IEEE 802.1Q-2022 §8.6.8.4).
    """
    port, priority = one.port, one.stream.priority
    if not isinstance(port.scheduler, Gates):
        return 0.0, 0.0, 0.0
    guard_s = one.frame.longest_bits / port.rate_bps
    windows = port.scheduler.windows
    first = next((k for k, each in enumerate(windows) if priority in each.open), None)
    if first is None:
        return np.inf, np.inf, np.inf
    gaps, gap = [], 0.0
    for window in (*windows[first:], *windows[:first]):
        gap = 0.0 if priority in window.open else gap + window.duration_s
        gaps.append(gap)
    longest = [
        gap + guard_s
        for gap, after in zip(gaps, (*gaps[1:], 0.0), strict=True)
        if gap > 0 and after == 0
    ]
    cycle = port.scheduler.cycle_s
    mean = sum(gap**2 for gap in longest) / (2 * cycle)
    variance = sum(gap**3 for gap in longest) / (3 * cycle) - mean**2
    return mean, variance, max(longest, default=0.0)


def paced_bps(port: Port, stream: Stream) -> float:
    """The most at which packets of a stream follow each other out of a port [b/s]: its rate, or an idle slope.

    A shaped class earns credit only while it waits, so that packets that come at once follow each other at its idle
    slope (IEEE 802.1Q-2022 §8.6.8.2).
    """
    if not isinstance(port.scheduler, CreditBased):
        return port.rate_bps
    return min(port.rate_bps, port.scheduler.idle_slopes_bps.get(stream.priority, math.inf))


def _shaped_s(one: _Crossing, packets: Packets) -> float:
    """How much later the last of some packets leaves than it came, behind a credit-based shaper [s].

    Behind a shaper or a slower line that they have passed already they come no faster than that sends them.
    """
    if not isinstance(one.port.scheduler, CreditBased):
        return 0.0
    bits = packets.sum_bits - packets.last_bits  # the last packet waits for what is before it
    came_bps = min(one.came_bps, one.port.rate_bps)
    return bits * max(1 / paced_bps(one.port, one.stream) - 1 / came_bps, 0.0)


def _arrivals(crossings: Sequence[_Crossing]) -> Arrivals:
    rate = np.array([one.rate_bps for one in crossings])
    return Arrivals(
        port=_numbered([one.server for one in crossings]),
        source=_numbered([one.source for one in crossings]),
        priority=np.array([one.priority for one in crossings], dtype=np.int64),
        load=np.array([one.wire_bps for one in crossings]) / rate,
        burst_s=np.array([one.burst.sum_bits for one in crossings]) / rate,
        packet_s=np.array([one.burst.longest_bits for one in crossings]) / rate,
    )


def _numbered(names: Sequence[Hashable]) -> Ints:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _once(at: Arrivals) -> Floats:
    """What an entry waits if all others send at once [s]: bursts no less urgent, and one packet that is.

    Those of its own source come one after the other.  More urgent ones that come meanwhile take their part of the
    port (leftover service of strict priority, J.-Y. Le Boudec and P. Thiran, Network Calculus, 2001, §2.4).
    """
    found = np.zeros(len(at.port))
    for priority in np.unique(at.priority):
        bursts = at.others(np.where(at.priority >= priority, at.burst_s, 0.0))
        urgent = at.others(np.where(at.priority > priority, at.load, 0.0))
        here = at.priority == priority
        left = np.maximum(1 - urgent, LEAST)
        found[here] = ((bursts + at.longest_below_s(priority)) / left)[here]
    return found


def _backlogs(crossings: Sequence[_Crossing], waited_s: Floats) -> dict[str, float]:
    """Mean bytes that wait at each port: what arrives in the time it waits (J. D. C. Little, 1961)."""
    found: dict[str, float] = {}
    for one, wait_s in zip(crossings, waited_s.tolist(), strict=True):
        waiting = one.wire_bps * wait_s / 8 if one.wire_bps > 0 else 0.0
        found[one.port.name] = found.get(one.port.name, 0.0) + waiting
    return found
