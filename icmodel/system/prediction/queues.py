"""Queueing delay of streams at the ports of a system, and mean queue of each port."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.system.network import Port, Stream, System
from icmodel.system.packing import AT_ONCE, Packed, Packets, Packing
from icmodel.system.prediction.resources import INTERFACE, PORT
from icmodel.system.prediction.throughput import Throughput
from icmodel.system.schedulers import PRIORITIES, CreditBased, Fifo, Gates, StrictPriority
from icmodel.system.sharing import FULL
from icmodel.system.sharing.loss import NOWHERE, behind_buckets
from icmodel.system.sharing.waiting import LEAST, Arrivals, Waits, all_bursts_once_s, spread, waits

ONE_SERVER = (Fifo, StrictPriority)
"""Schedulers whose priority classes wait for one another. Other schedulers give each class a rate."""


@dataclass(frozen=True, slots=True)
class Queues:
    """Waits of each stream at each hop, and mean queues of ports.

    Waits that the dataset's latency already includes are not counted. Arrays are (streams, hops):
    infinite if a queue grows without limit, 0 at hops that are no ports.

    Parameters
    ----------
    mean_s, variance_s2 : arrays
        Mean [s] and variance [s²] of the wait of the first frame that a stream sends in a burst.
    last_mean_s, last_variance_s2 : arrays
        Mean [s] and variance [s²] of the wait of the last packet of the burst.
    burst_s : array
        Time that the port needs to send one burst of each other stream [s].
    meanwhile_s : array
        Time in which the port sends packets of other streams while one frame arrives [s].
    backlog_bytes : mapping
        Name of a port -> mean queue [B].
    """

    mean_s: Floats
    variance_s2: Floats
    last_mean_s: Floats
    last_variance_s2: Floats
    burst_s: Floats
    meanwhile_s: Floats
    backlog_bytes: Mapping[str, float]


def port_queues(system: System, packets: Packing, rates: Throughput) -> Queues:
    """Compute the waits of streams at ports, and the queues of ports, from loads and bursts."""
    shape = rates.resources.flows.path.shape
    crossings = list(_crossings(system, packets, rates))
    if not crossings:
        none = np.zeros(shape)
        return Queues(none, none, none, none, none, none, {})
    rate = np.array([crossing.rate_bps for crossing in crossings])
    entries = Arrivals(
        port=_numbered([crossing.server for crossing in crossings]),
        source=_numbered([crossing.source for crossing in crossings]),
        priority=np.array([crossing.priority for crossing in crossings], dtype=np.int64),
        load=np.array([crossing.wire_bps for crossing in crossings]) / rate,
        burst_s=np.array([crossing.burst.sum_bits for crossing in crossings]) / rate,
        packet_s=np.array([crossing.burst.longest_bits for crossing in crossings]) / rate,
    )
    bursts_at_once = waits(entries)
    blocked = np.array([crossing.gate_wait for crossing in crossings]) + _waits_for_packet(
        crossings
    )
    first, last = (
        _waits_of(packets_of, crossings, entries, bursts_at_once, blocked)
        for packets_of in (
            [crossing.frame for crossing in crossings],
            [crossing.burst for crossing in crossings],
        )
    )
    once_s = (
        all_bursts_once_s(entries)
        + blocked[:, 2]
        + np.array([crossing.shaped_s(crossing.frame) for crossing in crossings])
        + np.where(np.isfinite(first.mean_s), first.bucket_s, 0.0)
    )

    backlog_bytes: dict[str, float] = {}  # Little's law: bytes that arrive during the mean wait
    for crossing, wait_s in zip(
        crossings, ((first.mean_s + last.mean_s) / 2).tolist(), strict=True
    ):
        waiting = crossing.wire_bps * wait_s / 8 if crossing.wire_bps > 0 else 0.0
        backlog_bytes[crossing.port.name] = backlog_bytes.get(crossing.port.name, 0.0) + waiting

    place = {
        (crossing.port.name, crossing.stream.multicast_key): k
        for k, crossing in enumerate(crossings)
    }
    entry = np.full(shape, NOWHERE)
    for k, stream in enumerate(system.streams.values()):
        for hop, port in rates.resources.ports(k):
            entry[k, hop] = place[port, stream.multicast_key]

    def by_hop(values: Floats) -> Floats:
        return np.where(entry == NOWHERE, 0.0, values[entry])

    return Queues(
        mean_s=by_hop(first.mean_s),
        variance_s2=by_hop(first.variance_s2),
        last_mean_s=by_hop(last.mean_s),
        last_variance_s2=by_hop(last.variance_s2),
        burst_s=by_hop(once_s),
        meanwhile_s=by_hop(first.meanwhile_s + first.bucket_s),
        backlog_bytes=backlog_bytes,
    )


def _numbered(names: Sequence[Hashable]) -> Ints:
    """Replace each distinct name by a number from 0, in the order of first use."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


# --- streams at ports -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Crossing:
    """One stream at one port of its path, where its packets may wait.

    Parameters
    ----------
    before : Port, optional
        Previous port on the stream's path; ``None`` at the sender.
    packed : Packed
        Packets of the stream on the port's link.
    wire_bps : float
        Rate at which the port sends the stream [b/s].
    available_bps : float
        Rate available to the stream's class [b/s].
    came_bps : float
        Rate at which packets of one frame arrive: that of the slowest line or shaper before the port
        [b/s].
    bucket_bits : float
        Size of the link's token bucket [b].
    """

    stream: Stream
    port: Port
    before: Port | None
    packed: Packed
    wire_bps: float
    available_bps: float
    came_bps: float
    bucket_bits: float = 0.0

    @property
    def one_server(self) -> bool:
        """Whether all priority classes of the port share its whole rate, so that each can delay any other."""
        return isinstance(self.port.scheduler, ONE_SERVER)

    @property
    def rate_bps(self) -> float:
        """Service rate of the stream: the port's rate, or the rate that other classes leave [b/s]."""
        if self.one_server:
            return self.port.rate_bps
        return max(self.available_bps, LEAST * self.port.rate_bps)

    @property
    def server(self) -> tuple[str, int]:
        """Key of the queueing server for which the stream waits: a port, or one priority class of a port."""
        return self.port.name, NOWHERE if self.one_server else self.stream.priority

    @property
    def source(self) -> tuple[str, int, str]:
        """Key of the origin of the stream's packets; packets of one origin never arrive at the same time.

        The origin is the previous line if the line is no faster than this port. Otherwise it is the stream.
        """
        if self.before is None or paced_bps(self.before, self.stream) > self.rate_bps:
            return *self.server, self.stream.name
        return *self.server, self.before.name

    @property
    def priority(self) -> int:
        """Priority of the stream at the port; 0 if priorities do not decide who waits."""
        one_queue = isinstance(self.port.scheduler, Fifo) or not self.one_server
        return 0 if one_queue else self.stream.priority

    @property
    def burst(self) -> Packets:
        """Packets that the stream sends at once; merged if its protocol may merge frames."""
        return self.packed.merged if sent_at_once(self.stream) else self.packed.frame

    @property
    def frame(self) -> Packets:
        """Packets of the first frame of a burst, which never waits for its own stream."""
        return min(self.burst, self.packed.frame, key=lambda packets: packets.sum_bits)

    @property
    def burst_arrives_s(self) -> float:
        """Time from the first packet of the stream's burst to the last [s]; 0 at the port of its own host.

        Behind a slower line or a shaper, packets arrive with pauses. Other streams then wait for no more
        of these packets than if the packets arrived at the rate of the port.
        """
        if self.before is None:
            return 0.0
        return self._behind_bits(self.burst) / max(self.came_bps, self.rate_bps)

    def works_s(self, packets: Packets) -> float:
        """Time from the first of the given packets to the last [s], if they arrive without a pause.

        0 if they arrive more slowly than the port sends, or if the port belongs to the sender.
        """
        if self.before is None or self.came_bps < self.rate_bps:
            return 0.0
        return self._behind_bits(packets) / self.came_bps

    def _behind_bits(self, packets: Packets) -> float:
        """Bits of the given packets that arrive later than the first [b].

        The first is a packet, or all bits that a full token bucket passes at once.
        """
        return min(packets.behind_bits, max(packets.sum_bits - self.bucket_bits, 0.0))

    def spare_s(self, packets: Packets) -> float:
        """Tokens that are left in the port's full bucket after the packets, as time at the port's rate [s]."""
        return max(self.bucket_bits - packets.sum_bits, 0.0) / self.rate_bps

    def bucket_s(self, packets: Packets) -> float:
        """Part of the packets that a full token bucket passes at once, as time at the port's rate [s]."""
        return min(self.bucket_bits, packets.sum_bits) / self.rate_bps

    def shaped_s(self, packets: Packets) -> float:
        """Delay of the last of the packets at a credit-based shaper [s].

        Packets that have already passed a shaper or a slower line arrive at most at its rate.
        """
        if not isinstance(self.port.scheduler, CreditBased):
            return 0.0
        bits = packets.sum_bits - packets.last_bits  # the last packet waits for those before it
        came_bps = min(self.came_bps, self.port.rate_bps)
        return bits * max(1 / paced_bps(self.port, self.stream) - 1 / came_bps, 0.0)

    @property
    def gate_wait(self) -> tuple[float, float, float]:
        """Mean [s], variance [s²] and greatest [s] wait for a gate to open, from a random moment of its cycle.

        A packet that would not end before the gate closes waits as well (IEEE 802.1Q-2022 §8.6.8.4).
        """
        port, priority = self.port, self.stream.priority
        if not isinstance(port.scheduler, Gates):
            return 0.0, 0.0, 0.0
        guard_s = self.frame.longest_bits / port.rate_bps
        waits_s = [closed_s + guard_s for closed_s in port.scheduler.closed_s(priority)]
        if math.inf in waits_s:
            return np.inf, np.inf, np.inf
        cycle_s = port.scheduler.cycle_s
        mean = sum(wait**2 for wait in waits_s) / (2 * cycle_s)
        variance = sum(wait**3 for wait in waits_s) / (3 * cycle_s) - mean**2
        return mean, variance, max(waits_s, default=0.0)


def _crossings(system: System, packets: Packing, rates: Throughput) -> Iterator[_Crossing]:
    """Yield every stream at every port of its path; copies of a multicast set count once at a port."""
    shared, allocation = rates.resources, rates.allocation
    # if a receiver limits elastic streams, they fill its port until the port itself is full
    load = shared.by_place(allocation.load)
    keyed = zip(shared.keys, shared.resources.capacity, strict=True)
    capacity = {(key.kind, key.place): float(value) for key, value in keyed}
    filled = {
        place: max(capacity[PORT, place] / load[PORT, place], 1.0)
        for kind, place in load
        if kind == INTERFACE and load[kind, place] >= FULL * capacity[kind, place]
    }
    for k, stream in enumerate(system.streams.values()):
        before: Port | None = None
        came_bps = math.inf
        for hop, name in shared.ports(k):
            port, usage = system.ports[name], float(shared.flows.usage[k, hop])
            if usage > 0:
                link = system.links[port.link]
                yield _Crossing(
                    stream,
                    port,
                    before,
                    packets.of(stream, link),
                    wire_bps=float(allocation.arriving_bps[k, hop]) * usage * filled.get(name, 1.0),
                    available_bps=float(allocation.available[shared.flows.path[k, hop]]),
                    came_bps=came_bps,
                    bucket_bits=8 * link.burst_bytes,
                )
            before, came_bps = port, min(came_bps, paced_bps(port, stream))


def sent_at_once(stream: Stream) -> bool:
    """Whether a stream sends its whole message at once, and not frame by frame."""
    return stream.producer is not None and stream.producer.kind in AT_ONCE


def burst_bytes(stream: Stream) -> float:
    """Bytes that a stream sends at once [B]: a message if it is produced at once, otherwise a frame."""
    if stream.producer is None or not sent_at_once(stream):
        return float(stream.payload_bytes)
    return max(stream.producer.message_bytes, float(stream.payload_bytes))


def paced_bps(port: Port, stream: Stream) -> float:
    """Greatest rate at which packets of a stream leave a port [b/s]: the port's rate, or an idle slope.

    A shaped class earns credit only while it waits. So packets that come at once follow each other at
    its idle slope (IEEE 802.1Q-2022 §8.6.8.2).
    """
    if not isinstance(port.scheduler, CreditBased):
        return port.rate_bps
    return min(port.rate_bps, port.scheduler.idle_slopes_bps.get(stream.priority, math.inf))


# --- waits ------------------------------------------------------------------------------------


class _Waits(NamedTuple):
    """Waits of streams at ports, arrays (crossings,); a crossing is one stream at one port.

    Mean [s], variance [s²], time in which other streams are sent meanwhile [s], and delay by empty token
    buckets [s].
    """

    mean_s: Floats
    variance_s2: Floats
    meanwhile_s: Floats
    bucket_s: Floats


def _waits_of(
    packets: Sequence[Packets],
    crossings: Sequence[_Crossing],
    entries: Arrivals,
    at_once: Waits,
    blocked: Floats,
) -> _Waits:
    """Wait of the last of the given packets, for each crossing (one stream at one port).

    Parameters
    ----------
    at_once : Waits
        Waits if all packets of a burst arrive at one moment.
    blocked : array (crossings, 3)
        Mean [s], variance [s²] and greatest wait [s] for gates and for packets of other classes.
    """
    each = list(zip(crossings, packets, strict=True))
    over_time = spread(
        entries,
        np.array([crossing.burst_arrives_s for crossing in crossings]),
        np.array([crossing.works_s(some) for crossing, some in each]),
        np.array([crossing.came_bps < crossing.rate_bps for crossing in crossings]),
    )
    never_rests = np.bincount(entries.port, entries.load)[entries.port] >= FULL
    mean, variance = behind_buckets(
        np.maximum(at_once.mean_s + over_time.later_s, 0.0),
        at_once.variance_s2 * over_time.variance_ratio + over_time.variance_s2,
        np.where(never_rests, 0.0, [crossing.spare_s(some) for crossing, some in each]),
    )
    shaped_s = [crossing.shaped_s(some) for crossing, some in each]
    bucket_s = np.where(never_rests, [crossing.bucket_s(some) for crossing, some in each], 0.0)
    mean, variance = mean + blocked[:, 0] + shaped_s + bucket_s, variance + blocked[:, 1]
    return _Waits(mean, variance, over_time.meanwhile_s, bucket_s)


def _waits_for_packet(crossings: Sequence[_Crossing]) -> Floats:
    """Wait for a packet of another priority class that is being sent when a frame arrives.

    The result is an array (crossings, 3): mean [s], variance [s²] and greatest wait [s]. A crossing is one
    stream at one port. The wait applies if each class has its own rate. At gates, the wait for the gate
    includes it.
    """
    by_class: dict[tuple[str, int], Floats] = {}
    for crossing in crossings:
        packet_s = crossing.burst.longest_bits / crossing.port.rate_bps
        load = crossing.wire_bps / crossing.port.rate_bps
        here = by_class.setdefault((crossing.port.name, crossing.stream.priority), np.zeros(3))
        here[:2] += load * packet_s / 2, load * packet_s**2 / 3
        here[2] = max(here[2], packet_s)
    blocked = np.zeros((len(crossings), 3))
    for row, crossing in zip(blocked, crossings, strict=True):
        if crossing.one_server or isinstance(crossing.port.scheduler, Gates):
            continue
        others = [k for k in PRIORITIES if k != crossing.stream.priority]
        classes = [by_class.get((crossing.port.name, k), row) for k in others]
        mean, square, longest = np.array(classes).T
        row[:] = mean.sum(), max(square.sum() - mean.sum() ** 2, 0.0), longest.max()
    return blocked
