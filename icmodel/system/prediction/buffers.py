"""Stated buffers of switches: frames dropped where bursts meet, and the longest wait of a frame.

A stream without back-pressure loses the frames that do not fit into a buffer. The low end of its loss assumes
that no two bursts meet. The high end assumes that all bursts arrive together, and that this stream loses the
whole excess: among periodic streams, one stream may always come last. The value is the expected loss for
independent, uniform phases. A TCP stream reduces its rate and sends lost packets again, so it has no loss
rate. A buffer is assumed to hold all frames of its port, in one queue, until they are sent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from icmodel.arrays import Floats
from icmodel.estimate import BOTTLENECKS
from icmodel.system import bounds
from icmodel.system.network import Port, Stream, System
from icmodel.system.prediction.bounding import WorstCase
from icmodel.system.prediction.path_times import PathTimes
from icmodel.system.prediction.queues import Queues
from icmodel.system.prediction.resources import (
    INTERFACE,
    PORT,
    SharedResources,
    is_elastic,
)
from icmodel.system.prediction.throughput import Throughput
from icmodel.system.schedulers import Fifo, Gates, StrictPriority, greatest_rate_bps
from icmodel.system.sharing import FULL, SAME
from icmodel.system.sharing.loss import NOWHERE, Curve, expected_lost_fraction, greatest_queue_bits
from icmodel.system.traffic import Packing

BUFFERS = "stated buffers"
"""Name of the method for a bound that adds up the sizes of stated buffers."""
ARRIVING = "frames that arrive"
SENT_AGAIN = "the buffer of {} may overflow, and TCP sends dropped frames again after a timeout"
BUNCHED_S = 1.0
"""Least time between two bunches of frames [s]. If a host holds frames back
for its greatest latency, it then sends them in a bunch. A dataset measures the greatest latency over a
whole run, which takes at least a second (assumed).
"""


@dataclass(frozen=True, slots=True)
class BufferLoss:
    """Share of a stream's frames that full buffers drop: value, low and high; and the port that drops most."""

    value: float
    low: float
    high: float
    at: str


@dataclass(frozen=True, slots=True)
class Buffers:
    """Effects of stated buffers on the streams and ports of a system.

    Parameters
    ----------
    losses : mapping
        Index of a stream -> loss of the stream; only streams that may lose frames.
    slowed : mapping
        Index of a TCP stream -> port whose full buffer may slow the stream to 0 b/s.
    sent_again : mapping
        Index of a TCP stream -> reason why it may wait for retransmissions.
    overflowing : frozenset of str
        Ports whose queue may exceed their buffer.
    queues : Queues
        Queues, each limited to the size of its buffer.
    bounds : WorstCase
        Bounds, limited to the time that the buffers allow. TCP streams that a full buffer may delay
        have no bound.
    sizes_bits : mapping
        Sizes of the stated buffers by port [b].
    """

    losses: Mapping[int, BufferLoss]
    slowed: Mapping[int, str]
    sent_again: Mapping[int, str]
    overflowing: frozenset[str]
    queues: Queues
    bounds: WorstCase
    sizes_bits: Mapping[str, float]


def stated_buffers(
    system: System,
    packets: Packing,
    rates: Throughput,
    queues: Queues,
    worst: WorstCase,
    paths: Sequence[PathTimes],
) -> Buffers:
    """Compute the loss at switches whose buffer size is stated, and limit the queues and bounds there to this size."""
    sizes_bits = system.stated_buffers_bits()
    if not sizes_bits:
        return Buffers({}, {}, {}, frozenset(), queues, worst, sizes_bits)

    drops: dict[int, list[BufferLoss]] = {}
    overflowing = set()
    meetings = _meetings(system, packets, rates, sizes_bits)
    for name, meeting in meetings.items():
        bound_bits = worst.backlog_bytes.get(name, math.inf) * 8
        fits = (
            bool(worst.why) or bound_bits <= meeting.buffer_bits
        )  # without bounds, the queue is assumed to fit into the buffer
        if meeting.full or meeting.beyond[0] or not fits:
            overflowing.add(name)
        for index, loss in meeting.losses(queues, bound_bits):
            drops.setdefault(index, []).append(loss)
    beside, slowed = _losses_beside(system, packets, rates, meetings)
    overflowing.update(slowed.values())
    for index, loss in beside:
        overflowing.add(loss.at)
        drops.setdefault(index, []).append(loss)
    losses = {}
    for index, some in drops.items():
        # low: all ports drop the same frames; high: each port drops different frames
        low, high = max(loss.low for loss in some), min(math.fsum(loss.high for loss in some), 1.0)
        value = 1 - math.prod(1 - loss.value for loss in some)
        at = max(some, key=lambda loss: loss.high).at
        losses[index] = BufferLoss(min(max(value, low), high), low, high, at)

    sent_again = {}
    for index, stream in enumerate(system.streams.values()):
        full = next((port for port in stream.path if port in overflowing), None)
        if full is not None and is_elastic(stream):
            sent_again[index] = SENT_AGAIN.format(full)

    ports = _buffered_ports(system, packets, sizes_bits)
    return Buffers(
        losses=losses,
        slowed=slowed,
        sent_again=sent_again,
        overflowing=frozenset(overflowing),
        queues=_limited_queues(rates.resources, ports, queues),
        bounds=_limited_bounds(system, worst, ports, overflowing, paths),
        sizes_bits=sizes_bits,
    )


# --- loss -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Drain:
    """Rate at which a port empties the queue of one traffic class.

    If every class may use the full rate of the port, all classes together count as one class.

    Parameters
    ----------
    priority : int
        Priority of the class; 0 if all classes count as one.
    rate_bps, alone_bps : float
        Rate while the other classes send too, and greatest rate while they do not [b/s].
    closed_s : float
        Greatest time until the gate of the class opens [s]; 0 without gates.
    """

    priority: int
    rate_bps: float
    alone_bps: float
    closed_s: float


@dataclass(frozen=True, slots=True)
class _Burst:
    """Bursts of one stream at one port.

    A message is cut into frames, and a frame into packets. If the frames of a message are sent together, the
    message is a burst. Otherwise each frame is a burst.

    Parameters
    ----------
    stream, hop : int
        Index of the stream, and index of the port on its path.
    elastic : bool
        Whether the stream reduces its rate upon loss (TCP).
    curve : Curve
        Size and average rate of the bursts, and the line over which they come to the port.
    drain : _Drain
        Rate at which the port empties the queue of the stream's class.
    slowest_bps : float
        Least mean rate at which a burst comes to the port [b/s]. It is the least of three rates: the least rate at
        which the previous ports send it (`_least_rates_bps`), the stream's goodput alone at an unlimited rate, and the
        rate set at the sender.
    frames, packets : int
        Number of frames of a burst, and number of packets of a frame.
    full_ratio : float
        Fraction of the bursts that have full size. It is below 1 if each frame is a burst and the last frame of a
        message is short.
    packet_bits : float
        Size of the longest packet [b].
    copies : list of int
        Indices of the other streams of the same multicast set, which share these packets.
    """

    stream: int
    hop: int
    elastic: bool
    curve: Curve
    drain: _Drain
    slowest_bps: float
    frames: int
    packets: int
    full_ratio: float
    packet_bits: float
    copies: list[int]


@dataclass(frozen=True)
class _Meeting:
    """Bursts that meet at a port with a buffer; multicast copies count once."""

    port: Port
    buffer_bits: float
    bursts: list[_Burst]

    def demand_bps(self, drain: _Drain) -> float:
        """Average rate at which all streams of one traffic class together arrive at the port [b/s]."""
        return sum(burst.curve.rate_bps for burst in self.bursts if burst.drain == drain)

    @property
    def full(self) -> bool:
        """Whether the average arrival rate reaches the rate of the port or of one of its traffic classes."""
        drains = {burst.drain for burst in self.bursts}
        return any(self.demand_bps(drain) >= FULL * drain.rate_bps for drain in drains)

    @cached_property
    def beyond(self) -> tuple[float, float]:
        """Excess of the port's greatest queue over its buffer, and data that have arrived when it is greatest, both [b].

        All classes share the buffer. In the worst case, all bursts come at once, and the queues of all classes are
        greatest at the same time. One incomplete packet of each incoming link, and the packet that is being sent, also
        take space in the buffer. The excess is 0 if the queue fits into the rest of the buffer.
        """
        longest: dict[str, float] = {}
        classes: dict[_Drain, list[Curve]] = {}
        for burst in self.bursts:
            link = burst.curve.link
            longest[link] = max(longest.get(link, 0.0), burst.packet_bits)
            classes.setdefault(burst.drain, []).append(burst.curve)
        room = self.buffer_bits - sum(longest.values()) - max(longest.values(), default=0.0)
        queues = [
            greatest_queue_bits(curves, drain.rate_bps, drain.closed_s)
            for drain, curves in classes.items()
        ]
        queue, arrived = (sum(bits) for bits in zip(*queues, strict=True)) if queues else (0.0, 0.0)
        return max(queue - room, 0.0), arrived

    def losses(self, queues: Queues, bound_bits: float) -> Iterator[tuple[int, BufferLoss]]:
        """Yield the index and the loss of each stream without back-pressure (every protocol except TCP).

        Loss by overload is left out, since the shares of the streams already include it. The buffer may drop frames in
        two cases:

        - It is too small for all bursts at the same time.
        - It is large enough for them, but hosts may hold frames back and send them in bunches. At most once per
          `BUNCHED_S`, the buffer then drops the part of the worst-case queue ``bound_bits`` that exceeds its size.

        If one packet of a frame is lost, the whole frame counts as lost.
        """
        excess, arrived = self.beyond
        all_bits = sum(burst.curve.burst_bits for burst in self.bursts)
        bunched = not excess and math.isfinite(bound_bits)
        if bunched:
            excess = max(bound_bits - self.buffer_bits, 0.0)
        for burst in self.bursts:
            if excess <= 0 or burst.elastic:
                continue
            # low: a single burst of the stream alone
            drain = burst.drain
            overloaded = self.demand_bps(drain) > drain.rate_bps * (2 - FULL)
            slow = replace(burst.curve, peak_bps=burst.slowest_bps, rate_bps=0.0)
            queue, _ = greatest_queue_bits([slow], drain.alone_bps)
            # A class with credit is one packet ahead of its idle slope.
            ahead = burst.packet_bits if drain.alone_bps < self.port.rate_bps else 0.0
            own = max(queue - self.buffer_bits - ahead, 0.0)
            packets = math.floor(own / burst.packet_bits / FULL)
            frames = math.ceil(packets / burst.packets)
            low = min(frames / burst.frames, 1.0) * burst.full_ratio if not overloaded else 0.0
            # high: all streams at once, and this stream loses the excess of all
            own_bits = arrived * burst.curve.burst_bits / all_bits if all_bits > 0 else 0.0
            if bunched:
                own_bits = max(burst.curve.burst_bits, burst.curve.rate_bps * BUNCHED_S)
            share = min(burst.packets * excess / own_bits, 1.0) if own_bits > 0 else 1.0
            if not bunched:
                share = math.ceil(share * burst.frames * FULL) / burst.frames
                # incomplete frames may fill the host's memory for them, see `in_whole_frames`
                share = 1.0 if burst.packets > 1 else share
            high = max(share, low)
            # value: independent phases; at most the loss of each stream if all streams share the excess evenly
            mean_s = float(queues.last_mean_s[burst.stream, burst.hop])
            variance_s2 = float(queues.last_variance_s2[burst.stream, burst.hop])
            room_s = max(self.buffer_bits - own, 0.0) / drain.rate_bps
            burst_s = burst.curve.burst_bits / drain.rate_bps
            expected = burst.packets * expected_lost_fraction(mean_s, variance_s2, room_s, burst_s)
            even = burst.packets * excess / arrived if arrived > 0 else 1.0
            value = low if bunched else min(max(min(expected, even), low), high)
            loss = BufferLoss(value, low, high, self.port.name)
            yield from ((stream, loss) for stream in (burst.stream, *burst.copies))


def _losses_beside(
    system: System,
    packets: Packing,
    rates: Throughput,
    meetings: Mapping[str, _Meeting],
) -> tuple[list[tuple[int, BufferLoss]], dict[int, str]]:
    """Losses of streams at buffers that other traffic keeps full, and the TCP streams that such buffers slow down.

    The classes (priorities) of a port share its buffer. If one class is overloaded, or a TCP stream fills the buffer,
    packets of the other classes are dropped too. The high end of a stream's loss assumes that all packets that do not
    fit are its own, since its frames may always come when the buffer is full. The value assumes that each class has
    its own part of the buffer, as in the lab, so that overload of another class causes no loss.

    Returns
    -------
    losses : list of tuple
        Index of a stream without back-pressure, and its loss at one port.
    slowed : dict
        Index of a TCP stream -> port whose full buffer drops its packets, so that it may send almost nothing.
    """
    by_tcp = _losses_by_tcp(system, packets, rates, meetings)
    excess = rates.resources.excess_of_others(rates.allocation)
    most_excess = rates.most_resources.excess_of_others(rates.most_allocation)
    losses: list[tuple[int, BufferLoss]] = []
    slowed: dict[int, str] = {}
    for name, meeting in meetings.items():
        for burst in meeting.bursts:
            place = name, burst.stream
            greatest = max(excess.get(place, 0.0), most_excess.get(place, 0.0))
            if burst.elastic:
                if greatest > 0:
                    slowed[burst.stream] = name
                continue
            value, high = by_tcp.get(name, (0.0, 0.0))
            high = max(high, greatest)
            if high > 0:
                # incomplete frames may fill the host's memory for them, see `in_whole_frames`
                high = 1.0 if burst.packets > 1 else min(high, 1.0)
                value = min(1 - (1 - value) ** burst.packets, high)
                loss = BufferLoss(value, 0.0, high, name)
                losses += [(stream, loss) for stream in (burst.stream, *burst.copies)]
    return losses, slowed


def _losses_by_tcp(
    system: System, packets: Packing, rates: Throughput, meetings: Mapping[str, _Meeting]
) -> dict[str, tuple[float, float]]:
    """Expected and greatest fraction of packets that a buffer drops because TCP fills it, by name of the port.

    The connections are assumed to be in congestion avoidance (M. Mathis et al., ACM Computer Communication Review
    27(3), 1997). The window of a connection grows from W/2 to W packets, by one packet a round trip. In these 1 + W/2
    round trips, the connection sends 3 W (W + 2) / 8 packets. It then loses one packet. During the last round trip, the
    buffer is full. W is the part of the buffer that the connection fills, at least 2 packets (assumed).

    The expected fraction is the mean of 1 / (packets sent) over all connections. The greatest fraction is the sum of
    1 / (round trips) over all connections, the fraction of time in which the buffer is full: another stream may send
    all its packets in this time. If all TCP windows are stated and together fit into the buffer, no packet is dropped.
    """
    streams, resources = list(system.streams.values()), rates.resources
    by_wire = rates.alone.fastest.bottleneck == BOTTLENECKS.index("wire")
    filling: dict[str, list[int]] = {}
    for index, resource in enumerate(rates.allocation.limiting.tolist()):
        key = None if resource == NOWHERE else resources.keys[resource]
        waits = key is not None and (key.kind == PORT or (key.kind == INTERFACE and by_wire[index]))
        sends = is_elastic(streams[index]) and rates.allocation.rate_bps[index] > 0
        if key is not None and waits and sends and key.place in meetings:
            filling.setdefault(key.place, []).append(index)
    found = {}
    for name, indices in filling.items():
        port, buffer_bits = system.ports[name], meetings[name].buffer_bits
        in_flight_bits, packets_lost, full = 0.0, [], 0.0
        for index in indices:
            stream = streams[index]
            packed = packets.of(stream, system.links[port.link])
            in_flight_bits += 8 * (stream.window_bytes or math.inf) * packed.ratio
            part = float(rates.allocation.rate_bps[index]) * packed.ratio / port.rate_bps
            window = max(part * buffer_bits / packed.packet_bits, 2.0)
            packets_lost.append(8 / (3 * window * (window + 2)))
            full += 2 / (window + 2)
        if in_flight_bits > buffer_bits:
            value = sum(packets_lost) / len(packets_lost)
            found[name] = min(value, full, 1.0), min(full, 1.0)
    return found


def _meetings(
    system: System, packets: Packing, rates: Throughput, sizes_bits: Mapping[str, float]
) -> dict[str, _Meeting]:
    """Collect the bursts that arrive at each port with a stated buffer, by name of the port."""
    flows, arriving_bps = rates.resources.flows, rates.allocation.arriving_bps
    least = _least_rates_bps(system, packets)
    by_port = system.streams_by_port()
    classes: dict[str, dict[int, float]] = {}  # longest packet of each class
    for name in sizes_bits:
        longest = classes.setdefault(name, {})
        for stream in by_port[name]:
            bits = packets.of(stream, system.links[system.ports[name].link]).packet_bits
            longest[stream.priority] = max(longest.get(stream.priority, 0.0), bits)
    copies: dict[tuple[str, tuple[str, str]], list[int]] = {}
    found = {name: _Meeting(system.ports[name], bits, []) for name, bits in sizes_bits.items()}
    for index, stream in enumerate(system.streams.values()):
        for hop, name in rates.resources.ports(index):
            if name not in sizes_bits:
                continue
            same = copies.setdefault((name, stream.multicast_key), [])
            if flows.usage[index, hop] <= 0:
                same.append(index)
                continue
            packed = packets.of(stream, system.links[system.ports[name].link])
            before = stream.path[: stream.path.index(name)]
            line = system.ports[before[-1]]
            burst_bits = 8 * _burst_bytes(stream) * packed.ratio
            fastest = rates.alone.fastest.estimate("goodput_bps", index)
            at_once, made = _burst_bytes(stream) > stream.payload_bytes, stream.producer
            full = 1.0
            if made is not None and not at_once and made.message_bytes > stream.payload_bytes:
                full = made.message_bytes // stream.payload_bytes / stream.frames_a_message
            rate_bps = float(arriving_bps[index, hop] * flows.usage[index, hop])
            available_bps = float(rates.allocation.available[flows.path[index, hop]])
            of_frame = 8 * stream.payload_bytes * packed.ratio / packed.packet_bits
            found[name].bursts.append(
                _Burst(
                    stream=index,
                    hop=hop,
                    elastic=is_elastic(stream),
                    curve=Curve(line.name, line.rate_bps, burst_bits, rate_bps),
                    drain=_drain(system.ports[name], classes[name], stream.priority, available_bps),
                    slowest_bps=min(
                        *(least[port, stream.multicast_key] for port in before),
                        math.inf if fastest.absent else fastest.low * packed.ratio,
                        stream.spaced_fps * packed.frame.sum_bits,
                    ),
                    frames=stream.frames_a_message if at_once else 1,
                    packets=math.ceil(of_frame * FULL),
                    full_ratio=full,
                    packet_bits=packed.packet_bits,
                    copies=same,
                )
            )
    return found


def _burst_bytes(stream: Stream) -> float:
    """Bytes of a stream's burst [B]: a message if its frames are sent together, otherwise a frame.

    A message that is shorter than the payload is one short frame.
    """
    if stream.producer is None:
        return float(stream.payload_bytes)
    message_bytes = stream.producer.message_bytes
    return message_bytes if stream.sent_at_once else min(message_bytes, float(stream.payload_bytes))


def _least_rates_bps(
    system: System, packets: Packing
) -> Mapping[tuple[str, tuple[str, str]], float]:
    """Least mean rate at which a burst of each stream leaves each port [b/s].

    The keys are the port's name and the stream's `multicast_key`: a port sends the copies of a multicast set once.

    Let R be the rate of the port. Let B and r be the sums of the bursts and rates of the other streams at the
    port. Then a burst of b bits takes at most ``(b + B) / (R - r)`` (leftover service: Le Boudec and Thiran,
    theorem 6.2.1). So its least rate is ``b (R - r) / (b + B)``. The least rate is 0 behind gates, and beside
    streams with back-pressure, since the size of their bursts is unknown.
    """
    found = {}
    for name, streams in system.streams_by_port().items():
        port = system.ports[name]
        ratios = [packets.of(one, system.links[port.link]).ratio for one in streams]
        bursts = [8 * _burst_bytes(one) * ratio for one, ratio in zip(streams, ratios, strict=True)]
        rates = [
            (one.produced_bps or math.inf) * ratio
            for one, ratio in zip(streams, ratios, strict=True)
        ]
        elastic = sum(map(is_elastic, streams))
        for stream, burst, rate in zip(streams, bursts, rates, strict=True):
            known = not isinstance(port.scheduler, Gates) and elastic == is_elastic(stream)
            left_bps = port.paced_bps(stream.priority) - (math.fsum(rates) - rate)
            slowed = left_bps * burst / math.fsum(bursts)
            found[name, stream.multicast_key] = slowed if known and left_bps > 0 else 0.0
    return found


def _drain(port: Port, classes: Mapping[int, float], priority: int, available_bps: float) -> _Drain:
    """Rates at which a port empties the queue of one priority class.

    If the scheduler lets every class use the full rate of the port, all classes count as one queue.

    Parameters
    ----------
    classes : mapping
        Longest packet of each priority class at the port [b], by priority.
    available_bps : float
        Rate that the other classes leave to this class [b/s].
    """
    rate_bps, scheduler = port.rate_bps, port.scheduler
    if all(greatest_rate_bps(scheduler, k, rate_bps) >= rate_bps for k in classes):
        return _Drain(0, rate_bps, rate_bps, 0.0)
    available_bps = max(
        available_bps, SAME * rate_bps
    )  # finite times, even if the class gets no rate
    if isinstance(scheduler, Gates):  # a burst that comes with the opening leaves at the full rate
        packet_s = classes[priority] / rate_bps * (1 - SAME)
        closed_s = max(scheduler.closed_s(priority, packet_s), default=0.0)
        closed_s = min(closed_s, scheduler.cycle_s)  # `closed_s` is infinite if no packet passes
        return _Drain(priority, available_bps, rate_bps, closed_s)
    return _Drain(priority, available_bps, greatest_rate_bps(scheduler, priority, rate_bps), 0.0)


# --- queues and bounds ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _BufferedPort:
    """A port with its buffer size [b], its longest packet [b], and the most urgent priority of its streams."""

    port: Port
    buffer_bits: float
    packet_bits: float
    urgent: int

    def drain_bps(self, priority: int) -> float | None:
        """Rate at which the port sends the frames ahead of a new frame [b/s].

        ``None`` if frames of other priorities may overtake the new frame.
        """
        if isinstance(self.port.scheduler, Fifo):
            return self.port.rate_bps
        first = isinstance(self.port.scheduler, StrictPriority) and priority == self.urgent
        return self.port.rate_bps if first else None

    def wait_s(self, priority: int, bound_bits: float) -> float:
        """Greatest wait of an arriving frame [s]; infinite if unknown.

        The frame waits for the queue ahead and for one packet on the wire.

        Parameters
        ----------
        bound_bits : float
            Bound of the queue [b]; infinite without one.
        """
        rate_bps, waiting = self.drain_bps(priority), min(bound_bits, self.buffer_bits)
        return math.inf if rate_bps is None else (waiting + self.packet_bits) / rate_bps


def _buffered_ports(
    system: System, packets: Packing, sizes_bits: Mapping[str, float]
) -> dict[str, _BufferedPort]:
    """Buffer, longest packet and most urgent priority of every port that sends a stream, by port name.

    A port without a stated buffer has an infinite buffer.
    """
    found = {}
    for name, streams in system.streams_by_port().items():
        port = system.ports[name]
        longest = [packets.of(stream, system.links[port.link]).packet_bits for stream in streams]
        urgent = max((stream.priority for stream in streams), default=0)
        bits = sizes_bits.get(name, math.inf)
        found[name] = _BufferedPort(port, bits, max(longest, default=0.0), urgent)
    return found


def _limited_queues(
    shared: SharedResources, ports: Mapping[str, _BufferedPort], queues: Queues
) -> Queues:
    """Limit the waits and queue lengths of ports to the sizes of their buffers.

    Waits and queues that grow without limit stay infinite: `added_latencies` replaces such a wait by the time to drain
    the full buffer.
    """
    drained_s = np.full(len(shared.keys) + 1, np.inf)  # the last entry, `NOWHERE`, has no limit
    for resource, (kind, name, priority) in enumerate(shared.keys):
        rate_bps = ports[name].drain_bps(priority) if kind == PORT else None
        if rate_bps is not None:
            drained_s[resource] = ports[name].buffer_bits / rate_bps
    most_s = drained_s[shared.flows.path]
    endless = np.isinf(queues.mean_s)

    def limited(mean_s: Floats, variance_s2: Floats) -> tuple[Floats, Floats]:
        """Limit mean and variance of waits, given that a wait is between 0 and the time to drain the buffer.

        The variance is at most mean × (greatest − mean) (Bhatia and Davis, 2000).
        """
        mean_s = np.where(endless, np.inf, np.minimum(mean_s, most_s))
        known = np.isfinite(most_s) & np.isfinite(mean_s)
        with np.errstate(invalid="ignore"):
            greatest = np.where(known, mean_s * (most_s - mean_s), np.inf)
        return mean_s, np.where(endless, np.inf, np.minimum(variance_s2, greatest))

    mean_s, variance_s2 = limited(queues.mean_s, queues.variance_s2)
    last_mean_s, last_variance_s2 = limited(queues.last_mean_s, queues.last_variance_s2)
    full = endless & np.isfinite(most_s)  # the buffer also holds the bursts of the other streams
    return replace(
        queues,
        mean_s=mean_s,
        variance_s2=variance_s2,
        last_mean_s=last_mean_s,
        last_variance_s2=last_variance_s2,
        burst_s=np.where(full, 0.0, np.minimum(queues.burst_s, most_s)),
        backlog_bytes={
            name: waiting if math.isinf(waiting) else min(waiting, ports[name].buffer_bits / 8)
            for name, waiting in queues.backlog_bytes.items()
        },
    )


def _limited_bounds(
    system: System,
    worst: WorstCase,
    ports: Mapping[str, _BufferedPort],
    overflowing: set[str],
    paths: Sequence[PathTimes],
) -> WorstCase:
    """Limit worst-case latencies and backlogs to those of full buffers.

    A TCP stream has no latency bound if a buffer on its path may overflow. The bounds of other streams then hold only
    for frames that arrive.
    """
    if worst.why:
        return worst
    network = dict(worst.network)
    for (name, stream), path in zip(system.streams.items(), paths, strict=True):
        overflows = not overflowing.isdisjoint(stream.path)
        if is_elastic(stream):
            if overflows:
                network.pop(name, None)
            continue
        known, buffered_s = network.get(name), math.inf
        if any(math.isfinite(ports[port].buffer_bits) for port in stream.path):
            buffered_s = path.least_s
            for port in stream.path:
                bound_bits = 8 * worst.backlog_bytes.get(port, math.inf)
                buffered_s += ports[port].wait_s(stream.priority, bound_bits)
        covers = (*(known.covers if known else ()), ARRIVING)
        if buffered_s < (known.value_s if known else math.inf):
            network[name] = bounds.Bound(buffered_s, BUFFERS, covers)
        elif known is not None and overflows:
            network[name] = replace(known, covers=covers)
    backlog_bytes = {
        name: most
        for name, port in ports.items()
        if math.isfinite(most := min(worst.backlog_bytes.get(name, math.inf), port.buffer_bits / 8))
    }
    backlog_bytes = {**worst.backlog_bytes, **backlog_bytes}
    return replace(worst, network=network, backlog_bytes=backlog_bytes)
