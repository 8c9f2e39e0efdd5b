"""Queueing delay of streams at the ports of a system, and mean queue of each port."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.system.network import Port, Stream, System
from icmodel.system.prediction.resources import INTERFACE, PORT
from icmodel.system.prediction.throughput import Throughput
from icmodel.system.schedulers import PRIORITIES, CreditBased, Fifo, Gates, StrictPriority
from icmodel.system.sharing import FULL, SAME
from icmodel.system.sharing.loss import NOWHERE
from icmodel.system.sharing.waiting import (
    LEAST,
    Arrivals,
    Waits,
    all_bursts_once_s,
    behind_buckets,
    spread,
    waits,
)
from icmodel.system.traffic import Packets, Packing

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
        Wait if all other streams send one burst at the same moment [s], including waits for gates, shapers and token
        buckets.
    meanwhile_s : array
        Time that the port spends on packets of other streams between the arrivals of the first and the last packet of
        one frame [s].
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
    """Compute how long streams wait at ports, and how many bits wait there, from the streams' loads and bursts."""
    crossings, entry = _crossings(system, packets, rates)
    if not crossings:
        none = np.zeros(entry.shape)
        return Queues(none, none, none, none, none, none, {})
    at = _Columns.of(crossings)
    frames = _Sizes.of([crossing.frame for crossing in crossings])
    bursts = _Sizes.of([crossing.burst for crossing in crossings])
    bunches = _Sizes.of([crossing.bunch for crossing in crossings])
    entries = Arrivals(
        port=_numbered([crossing.server for crossing in crossings]),
        source=_numbered([crossing.source for crossing in crossings]),
        priority=np.array([crossing.priority for crossing in crossings], dtype=np.int64),
        load=at.wire_bps / at.rate_bps,
        burst_s=bunches.sum_bits / at.rate_bps,
        packet_s=bursts.longest_bits / at.rate_bps,
    )
    bursts_at_once = waits(entries)
    gates = np.array([crossing.gate_wait for crossing in crossings])
    blocked = gates + _waits_for_packet(crossings)
    arrives_s = at.burst_arrives_s(bunches)
    first = _waits_of(frames, at, arrives_s, entries, bursts_at_once, blocked)
    last = _waits_of(bursts, at, arrives_s, entries, bursts_at_once, blocked)
    once_s = (
        all_bursts_once_s(entries)
        + blocked[:, 2]
        + at.shaped_s(frames)
        + np.where(np.isfinite(first.mean_s), first.bucket_s, 0.0)
    )

    # Little's law: bytes that arrive during the mean wait
    waiting = np.zeros(len(crossings))
    sent = at.wire_bps > 0
    waiting[sent] = at.wire_bps[sent] * ((first.mean_s + last.mean_s) / 2)[sent] / 8
    names = [crossing.port.name for crossing in crossings]
    sums = np.bincount(_numbered(names), waiting).tolist()

    def by_hop(values: Floats) -> Floats:
        return np.where(entry == NOWHERE, 0.0, values[entry])

    return Queues(
        mean_s=by_hop(first.mean_s),
        variance_s2=by_hop(first.variance_s2),
        last_mean_s=by_hop(last.mean_s),
        last_variance_s2=by_hop(last.variance_s2),
        burst_s=by_hop(once_s),
        meanwhile_s=by_hop(first.meanwhile_s + first.bucket_s),
        backlog_bytes=dict(zip(dict.fromkeys(names), sums, strict=True)),
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
    one_server : bool
        Whether all priority classes of the port share its whole rate, so that each class can delay the others.
    at_sender : bool
        Whether the port belongs to the host that sends the stream.
    burst, frame : Packets
        ``burst`` has the packets that the stream sends together, merged if its protocol may merge frames. ``frame`` has
        the packets of the burst's first frame. This frame never waits for its own stream.
    bunch : Packets
        Packets that come to the port together: a burst, or all bursts that a gate before the port held back.
    source : tuple
        Key of the origin of the stream's packets; packets of one origin never arrive at the same time. The
        origin is the previous line if it is no faster than this port, since its packets come one after the other.
        Otherwise the origin is the stream itself.
    wire_bps : float
        Rate at which the port sends the stream [b/s].
    rate_bps : float
        Service rate of the stream: the port's rate, or the rate that other classes leave [b/s].
    arrival_bps : float
        Rate at which packets of one frame arrive [b/s]: the rate of the slowest line or shaper before the port.
    bucket_bits : float
        Size of the link's token bucket [b].
    """

    stream: Stream
    port: Port
    one_server: bool
    at_sender: bool
    burst: Packets
    frame: Packets
    bunch: Packets
    source: tuple[str, int, str]
    wire_bps: float
    rate_bps: float
    arrival_bps: float
    bucket_bits: float

    @property
    def server(self) -> tuple[str, int]:
        """Key of the queueing server for which the stream waits: a port, or one priority class of a port."""
        return self.source[:2]

    @property
    def priority(self) -> int:
        """Priority of the stream at the port; 0 if the port serves all streams in one queue, whatever their priority."""
        one_queue = isinstance(self.port.scheduler, Fifo) or not self.one_server
        return 0 if one_queue else self.stream.priority

    @property
    def gate_wait(self) -> tuple[float, float, float]:
        """Mean [s], variance [s²] and greatest [s] wait for a gate to open, from a random moment of its cycle.

        A packet that would not end before the gate closes waits as well (IEEE 802.1Q-2022 §8.6.8.4). If the
        packets of a frame do not fit into one opening, the remaining packets wait for later openings.
        """
        port, priority = self.port, self.stream.priority
        if not isinstance(port.scheduler, Gates):
            return 0.0, 0.0, 0.0
        guard_s = self.frame.longest_bits / port.rate_bps
        closings_s = port.scheduler.closed_s(priority, guard_s * (1 - SAME))
        waits_s = [closed_s + guard_s for closed_s in closings_s]
        if math.inf in waits_s:
            return np.inf, np.inf, np.inf
        cycle_s = port.scheduler.cycle_s
        mean = sum(wait**2 for wait in waits_s) / (2 * cycle_s)
        variance = max(sum(wait**3 for wait in waits_s) / (3 * cycle_s) - mean**2, 0.0)
        further_s = 0.0
        if closings_s and self.frame.number > 1:
            openings = len(closings_s)
            open_s = (cycle_s - sum(closings_s)) / openings
            fitting = max(math.floor(open_s / guard_s * (1 + SAME)), 1)
            closed_s = cycle_s / openings - fitting * guard_s
            further_s = max(math.ceil(self.frame.number / fitting) - 1, 0) * max(closed_s, 0.0)
        return mean + further_s, variance, max(waits_s, default=0.0) + further_s


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes of consecutive packets at each crossing (one stream at one port), as arrays (crossings,).

    The fields are those of `Packets`: sum of the sizes, longest packet and last packet [b].
    """

    sum_bits: Floats
    longest_bits: Floats
    last_bits: Floats

    @classmethod
    def of(cls, packets: Sequence[Packets]) -> _Sizes:
        columns = [(one.sum_bits, one.longest_bits, one.last_bits) for one in packets]
        return cls(*np.array(columns).T)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Properties of all crossings (streams at ports) as arrays (crossings,), see `_Crossing`.

    Parameters
    ----------
    slope_bps : array
        Idle slope of the stream's class at a credit-based shaper [b/s]; NaN at other ports.
    """

    at_sender: Bools
    wire_bps: Floats
    rate_bps: Floats
    arrival_bps: Floats
    bucket_bits: Floats
    line_bps: Floats
    slope_bps: Floats

    @classmethod
    def of(cls, crossings: Sequence[_Crossing]) -> _Columns:
        slopes_bps = [
            crossing.port.paced_bps(crossing.stream.priority)
            if isinstance(crossing.port.scheduler, CreditBased)
            else math.nan
            for crossing in crossings
        ]
        return cls(
            at_sender=np.array([crossing.at_sender for crossing in crossings]),
            wire_bps=np.array([crossing.wire_bps for crossing in crossings]),
            rate_bps=np.array([crossing.rate_bps for crossing in crossings]),
            arrival_bps=np.array([crossing.arrival_bps for crossing in crossings]),
            bucket_bits=np.array([crossing.bucket_bits for crossing in crossings]),
            line_bps=np.array([crossing.port.rate_bps for crossing in crossings]),
            slope_bps=np.array(slopes_bps),
        )

    def burst_arrives_s(self, bursts: _Sizes) -> Floats:
        """Time from the first to the last packet of the stream's burst [s], as far as it delays other streams.

        At the port of the sending host, it is 0, since the whole burst is there at once. Behind a slower line or a
        shaper, packets arrive with pauses. The pauses delay no other stream, since the port then sends packets of other
        streams. So the result leaves pauses out: it is the time that the burst takes at the rate of the port.
        """
        arrives = self._behind_bits(bursts) / np.maximum(self.arrival_bps, self.rate_bps)
        return np.where(self.at_sender, 0.0, arrives)

    def works_s(self, packets: _Sizes) -> Floats:
        """Time between the arrivals of the first and the last of a stream's packets at a port [s].

        It is 0 in two cases:

        - The port belongs to the sending host, so all packets are there at once.
        - The packets arrive more slowly than the port sends, so none of them waits for its predecessor.
        """
        pause = self.at_sender | (self.arrival_bps < self.rate_bps)
        return np.where(pause, 0.0, self._behind_bits(packets) / self.arrival_bps)

    def _behind_bits(self, packets: _Sizes) -> Floats:
        """Bits of the given packets that arrive after the first packet [b].

        A full token bucket may pass more bits at once than the first packet has. All these bits count as
        part of the first packet.
        """
        behind = packets.sum_bits - packets.longest_bits
        return np.minimum(behind, np.maximum(packets.sum_bits - self.bucket_bits, 0.0))

    def spare_s(self, packets: _Sizes) -> Floats:
        """Tokens that a full token bucket still has after the given packets, as the time to send that many bits [s]."""
        return np.asarray(np.maximum(self.bucket_bits - packets.sum_bits, 0.0) / self.rate_bps)

    def bucket_s(self, packets: _Sizes) -> Floats:
        """Time to send the bits that a full token bucket passes at once, at most the bits of all given packets [s]."""
        return np.asarray(np.minimum(self.bucket_bits, packets.sum_bits) / self.rate_bps)

    def shaped_s(self, packets: _Sizes) -> Floats:
        """Delay of the last packet of a frame or message at a credit-based shaper [s]; 0 at other ports.

        The delay counts from the arrival of this packet until the shaper sends it. The packets arrive back to back, at
        the rate of the slowest line or shaper before the port. The shaper sends the last one as soon as the credit for
        all packets before it has grown. If this is earlier than its arrival, the delay is 0. A last packet that is
        shorter than the others has arrived earlier, so it waits longer.
        """
        arrival_bps = np.minimum(self.arrival_bps, self.line_bps)
        credit_s = (packets.sum_bits - packets.last_bits) / self.slope_bps
        arrives_s = (packets.sum_bits - packets.longest_bits) / arrival_bps
        return np.where(np.isnan(self.slope_bps), 0.0, np.maximum(credit_s - arrives_s, 0.0))


def _crossings(system: System, packets: Packing, rates: Throughput) -> tuple[list[_Crossing], Ints]:
    """Return all crossings (a crossing is one stream at one port), and the index of each hop's crossing.

    The index is an array (streams, hops) with `NOWHERE` at hops that are no ports. Copies of a multicast set share one
    crossing at a port.
    """
    shared, allocation = rates.resources, rates.allocation
    # if a receiver limits elastic streams, they fill the port before the receiver, up to the port's rate
    load = shared.sum_over_classes(allocation.load)
    keyed = zip(shared.keys, shared.resources.capacity.tolist(), strict=True)
    capacity = {(key.kind, key.place): value for key, value in keyed}
    filled = {
        place: max(capacity[PORT, place] / load[PORT, place], 1.0)
        for kind, place in load
        if kind == INTERFACE and load[kind, place] >= FULL * capacity[kind, place]
    }
    path, available = shared.flows.path, allocation.available
    found: list[_Crossing] = []
    entry = np.full(path.shape, NOWHERE)
    of_set: dict[tuple[str, tuple[str, str]], int] = {}
    for k, stream in enumerate(system.streams.values()):
        before: Port | None = None
        paced = arrival_bps = math.inf
        frame_bits = packets.of(stream, system.links_of(stream)[0]).frame.sum_bits
        held = 1
        for hop, name in shared.ports(k):
            port, usage = system.ports[name], float(shared.flows.usage[k, hop])
            if stream.multicast is not None:
                entry[k, hop] = of_set.setdefault((name, stream.multicast_key), len(found))
            if usage > 0:
                entry[k, hop] = len(found)
                link = system.links[port.link]
                packed = packets.of(stream, link)
                burst = packed.merged if stream.sent_at_once else packed.frame
                one_server = isinstance(port.scheduler, ONE_SERVER)
                rate_bps = port.rate_bps
                if not one_server:
                    rate_bps = max(float(available[path[k, hop]]), LEAST * port.rate_bps)
                server = (name, NOWHERE if one_server else stream.priority)
                faster = before is None or paced > rate_bps
                came_from = stream.name if before is None or faster else before.name
                wire_bps = float(allocation.arriving_bps[k, hop]) * usage * filled.get(name, 1.0)
                found.append(
                    _Crossing(
                        stream=stream,
                        port=port,
                        one_server=one_server,
                        at_sender=before is None,
                        burst=burst,
                        frame=min(burst, packed.frame, key=lambda some: some.sum_bits),
                        bunch=burst if held == 1 else burst.repeated(held),
                        source=(*server, came_from),
                        wire_bps=wire_bps,
                        rate_bps=rate_bps,
                        arrival_bps=arrival_bps,
                        bucket_bits=8 * link.burst_bytes,
                    )
                )
            before, paced = port, port.paced_bps(stream.priority)
            arrival_bps = min(arrival_bps, paced, stream.spaced_fps * frame_bits)
            closed_s = longest_closed_s(port, stream)
            if 0 < closed_s < math.inf and stream.interval_s:
                held = max(held, 1 + math.floor(closed_s / stream.interval_s))
    return found, entry


def longest_closed_s(port: Port, stream: Stream) -> float:
    """Longest time for which a port's gate is closed for a stream [s]; 0 without gates."""
    if not isinstance(port.scheduler, Gates):
        return 0.0
    return max(port.scheduler.closed_s(stream.priority), default=0.0)


# --- waits ------------------------------------------------------------------------------------


class _Waits(NamedTuple):
    """Waits of streams at ports, arrays (crossings,); a crossing is one stream at one port.

    Parameters
    ----------
    mean_s, variance_s2 : arrays
        Mean [s] and variance [s²] of the wait.
    meanwhile_s : array
        Time that the port spends on packets of other streams between the arrivals of the first and the last packet
        of the stream's frame [s].
    bucket_s : array
        Delay of the packets by an empty token bucket [s]; a part of ``mean_s``.
    """

    mean_s: Floats
    variance_s2: Floats
    meanwhile_s: Floats
    bucket_s: Floats


def _waits_of(
    packets: _Sizes,
    at: _Columns,
    burst_arrives_s: Floats,
    entries: Arrivals,
    at_once: Waits,
    blocked: Floats,
) -> _Waits:
    """Wait of the last packet of a frame or burst at each crossing (one stream at one port).

    Parameters
    ----------
    packets : _Sizes
        Packets of the frame or burst at each crossing.
    burst_arrives_s : array (crossings,)
        Time from the first to the last packet of each stream's burst, as far as it delays the other streams [s].
    at_once : Waits
        Waits as if all packets of a burst arrived at the same moment; the function corrects them for the time in which
        the burst arrives.
    blocked : array (crossings, 3)
        Further wait to add, for gates and for packets of other classes: mean [s], variance [s²] and greatest value [s].
    """
    over_time = spread(entries, burst_arrives_s, at.works_s(packets), at.arrival_bps < at.rate_bps)
    never_rests = np.bincount(entries.port, entries.load)[entries.port] >= FULL
    mean, variance = behind_buckets(
        np.maximum(at_once.mean_s + over_time.later_s, 0.0),
        at_once.variance_s2 * over_time.variance_ratio + over_time.variance_s2,
        np.where(never_rests, 0.0, at.spare_s(packets)),
    )
    bucket_s = np.where(never_rests, at.bucket_s(packets), 0.0)
    mean = mean + blocked[:, 0] + at.shaped_s(packets) + bucket_s
    return _Waits(mean, variance + blocked[:, 1], over_time.meanwhile_s, bucket_s)


def _waits_for_packet(crossings: Sequence[_Crossing]) -> Floats:
    """Time that a frame waits for packets of other priority classes, which the port is sending when the frame arrives.

    The result is an array (crossings, 3): mean [s], variance [s²] and greatest wait [s]. A crossing is one
    stream at one port. The wait is 0 at FIFO and strict-priority ports: there, all classes share one rate, and
    `icmodel.system.sharing.waiting.waits` includes the packets of other classes.

    The frame usually waits for one packet of another class. It waits for a whole burst of a more urgent class in two
    cases: at a port with gates; and at a credit-based shaper, if the more urgent class has no idle slope. At gates,
    only classes whose gates are open at the same time count.
    """
    apart = [not one.one_server for one in crossings]
    packets: dict[tuple[str, int], Floats] = {}
    bursts: dict[tuple[str, int], Floats] = {}
    for crossing in compress(crossings, apart):
        at = crossing.port.name, crossing.stream.priority
        load = crossing.wire_bps / crossing.port.rate_bps
        packet_s = crossing.burst.longest_bits / crossing.port.rate_bps
        burst_s = crossing.burst.sum_bits / crossing.port.rate_bps
        for sizes, time_s in ((packets, packet_s), (bursts, burst_s)):
            here = sizes.setdefault(at, np.zeros(3))
            here[:2] += load * time_s / 2, load * time_s**2 / 3
            here[2] = max(here[2], time_s)
    blocked = np.zeros((len(crossings), 3))
    for k, crossing in compress(enumerate(crossings), apart):
        row, port, own = blocked[k], crossing.port, crossing.stream.priority
        gates = port.scheduler if isinstance(port.scheduler, Gates) else None
        shaped = port.scheduler.idle_slopes_bps if isinstance(port.scheduler, CreditBased) else {}
        unspaced = {other for other in PRIORITIES if other > own and other not in shaped}
        ahead = unspaced if gates or shaped else set()
        others = [
            (bursts if other in ahead else packets).get((port.name, other), row)
            for other in PRIORITIES
            if other != own and (gates is None or gates.open_together(own, other))
        ]
        if others:
            mean, square, longest = np.array(others).T
            row[:] = mean.sum(), max(square.sum() - mean.sum() ** 2, 0.0), longest.max()
    return blocked
