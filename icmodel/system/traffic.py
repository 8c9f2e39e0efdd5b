"""Traffic of a system: packets of its messages on links, the loads of its ports, and ports too slow for their load.

A message is cut into frames, and each frame into packets. The last packet of a frame may be short. TCP, and
protocols over TCP, may merge frames that a producer hands over together, or that wait together at the sender.
Merged frames are one stream of bytes, cut into full packets and a short last packet. Whether TCP merges
frames is unknown, so both cases are described.

The sender cuts packets once, for the least MTU of all links with the same interconnect on the path (path MTU
discovery, RFC 1191). Switches do not fragment. Sizes are bits on the line, with gap and preamble.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import numpy as np

from icmodel import theory, units
from icmodel.dataset import Interconnect
from icmodel.system.network import Link, Port, Stream, System
from icmodel.system.schedulers import greatest_rate_bps
from icmodel.tables.wire import ZEROMQ, Wire
from icmodel.theory import AnyFraming, Train, ethernet

TOLERANCE = 1e-9
"""Relative tolerance for rounding errors when sums of rates are compared."""


@dataclass(frozen=True, slots=True)
class Packets:
    """Consecutive packets: their number, and their bits on the line.

    Parameters
    ----------
    sum_bits : float
        Sum of the sizes of all packets [b].
    longest_bits, shortest_bits, last_bits : float
        Sizes of the longest, shortest and last packet [b].
    """

    number: int
    sum_bits: float
    longest_bits: float
    shortest_bits: float
    last_bits: float

    @property
    def mean_bits(self) -> float:
        """Mean size of a packet [b]."""
        return self.sum_bits / self.number

    def repeated(self, times: int) -> Packets:
        """Repeat the packets a number of times, one after the other."""
        return replace(self, number=times * self.number, sum_bits=times * self.sum_bits)

    @property
    def behind_bits(self) -> float:
        """Sum of the sizes of all packets except the longest [b]."""
        return self.sum_bits - self.longest_bits


@dataclass(frozen=True, slots=True)
class Sizes:
    """Limits of packet sizes [b]: for a single packet, and for n consecutive packets together.

    Parameters
    ----------
    longest_bits, shortest_bits : float
        Greatest and least size of a single packet [b].
    mean_bits, lacking_bits : float
        Any n consecutive packets have at least ``n * mean_bits - lacking_bits`` bits together. The second
        term is needed since up to two short packets may follow one another: the last packet of a frame (or
        of a run of merged frames) and the last packet of a message. All other packets are full.
    """

    longest_bits: float
    shortest_bits: float
    mean_bits: float
    lacking_bits: float


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Packets of a stream on a link; streams and links with the same packets share one object.

    Parameters
    ----------
    ratio : float
        Least number of bits on the line for each useful bit, in the long run. If frames may be merged, this is
        the ratio of full packets. Otherwise it is the ratio of a message, whose last frame may be short.
    gap_bits : float
        Gap at the end of each packet, after which the next packet may begin [b]. The packet has arrived
        before the gap. So the gap counts in loads and rates, but not in a delay.
    frame : Packets
        Packets of a single frame: a full frame, or the only frame of a shorter message.
    message : Packets
        Packets of a message if each frame is cut separately. No other way of cutting gives more packets.
    merged : Packets
        Packets of a message that is cut as one stream of bytes; equal to ``message`` if frames are not
        merged.
    apart, waiting : Sizes
        Limits of packet sizes. ``apart``: only frames that a producer hands over together may be merged.
        ``waiting``: frames that wait together at the sender may be merged too.
    """

    ratio: float
    gap_bits: float
    frame: Packets
    message: Packets
    merged: Packets
    apart: Sizes
    waiting: Sizes

    @property
    def packet_bits(self) -> float:
        """Size of the longest packet of a single frame, with headers and gap [b]."""
        return self.frame.longest_bits


@dataclass(frozen=True, slots=True)
class Packing:
    """Packets of all streams: ``known[stream][interconnect]`` has those of a stream on links with this interconnect."""

    known: Mapping[str, Mapping[str, Packed]]

    def of(self, stream: Stream, link: Link) -> Packed:
        """Packets of a stream on a link of the stream's path."""
        return self.known[stream.name][link.interconnect]


def packing(system: System) -> Packing:
    """Cut the messages of all streams into packets, on every link of their paths.

    Examples
    --------
    >>> from icmodel.system import load
    >>> system = load("imaging")
    >>> stream = system.streams["picture-1"]
    >>> packed = packing(system).of(stream, system.links_of(stream)[0])
    >>> packed.message.number, packed.message.longest_bits
    (10351, 12304.0)
    """
    kinds: dict[_StreamOnLink, Packed] = {}
    packed: dict[str, Mapping[str, Packed]] = {}
    for copies in system.multicast_sets().values():
        links: dict[str, list[Link]] = {}
        for copy in copies:
            for link in system.links_of(copy):
                links.setdefault(link.interconnect, []).append(link)
        producer, frame = copies[0].producer, copies[0].payload_bytes
        message = float(frame) if producer is None else producer.message_bytes
        on: dict[str, Packed] = {}
        for interconnect, alike in links.items():
            mtu = min(link.mtu_bytes for link in alike)
            protocol = copies[0].protocol
            kind = _StreamOnLink(
                protocol, frame, message, copies[0].sent_at_once, interconnect, mtu
            )
            if kind not in kinds:
                kinds[kind] = _packed(kind, replace(alike[0], mtu_bytes=mtu))
            on[interconnect] = kinds[kind]
        packed |= dict.fromkeys((copy.name for copy in copies), on)
    return Packing(packed)


@dataclass(frozen=True, slots=True)
class _StreamOnLink:
    """Properties of a stream and a link that determine the packets; equal properties give equal packets."""

    protocol: str
    payload_bytes: int
    message_bytes: float
    at_once: bool
    interconnect: str
    mtu_bytes: int


def _packed(kind: _StreamOnLink, link: Link) -> Packed:
    on = wire(kind.protocol, link)
    whole, rest = divmod(math.ceil(kind.message_bytes), kind.payload_bytes)
    frame, last = kind.payload_bytes, rest
    if kind.protocol == ZEROMQ:  # ZeroMQ adds its own header to each frame
        frame, last = (int(ethernet.framed_bytes(size)) if size else 0 for size in (frame, last))
    single = _cut(on.framing, link, [(frame, 1)])
    message = merged = _cut(on.framing, link, [(frame, whole), (last, 1)])

    # Merged frames (a whole message, or any run of waiting frames) are cut into full packets and a remainder.
    apart, waiting = [single, message], [single, message]
    if on.framing is not None and on.merges:
        full = int(on.framing.aligned_payloads(link.mtu_bytes)[0])
        least = _cut(on.framing, link, [(_least_rest_bytes(frame, last, full), 1)])
        waiting += [least, _cut(on.framing, link, [(full, 1)])]
        if kind.at_once and whole + (rest > 0) > 1:
            packets, remainder = divmod(frame * whole + last, full)
            merged = _cut(on.framing, link, [(full, packets), (remainder, 1)])
            apart += [least, merged]

    if on.merges:
        ratio = wire_ratio(kind.protocol, kind.payload_bytes, link)
    else:
        ratio = message.sum_bits / (8 * kind.message_bytes)
    mean_bits = min(single.mean_bits, message.mean_bits)
    return Packed(
        ratio=ratio,
        gap_bits=8.0 * on.framing.gap_bytes if on.framing else 0.0,
        frame=single,
        message=message,
        merged=merged,
        apart=_sizes(apart, mean_bits, 2 if rest else 1),
        waiting=_sizes(waiting, mean_bits, 2 if rest else 1),
    )


def _sizes(possible: list[Packets], mean_bits: float, short: int) -> Sizes:
    """Find limits of packet sizes that hold for each of the ways in which messages may be cut into packets.

    ``possible`` has one element for each way: the packets that result. ``mean_bits`` is the mean size of a packet [b],
    the least of all ways. ``short`` is the greatest number of short packets in a row, without a full packet between.
    """
    shortest = min(packets.shortest_bits for packets in possible)
    longest = max(packets.longest_bits for packets in possible)
    return Sizes(longest, shortest, mean_bits, short * max(mean_bits - shortest, 0.0))


def _least_rest_bytes(frame_bytes: int, rest_bytes: int, full_bytes: int) -> int:
    """Size of the smallest packet that can result from merged frames [B].

    The sender merges waiting frames of ``frame_bytes`` each. The last one may be the end of a message, with only
    ``rest_bytes``. The merged bytes are cut into packets of ``full_bytes`` and a remainder. The result is the least
    remainder over all counts of merged frames. Counts below ``full_bytes`` are tried, since the remainders of greater
    counts are the same. If no count leaves a remainder, the result is ``full_bytes``.
    """
    runs = frame_bytes % full_bytes * np.arange(full_bytes, dtype=np.int64)
    rests = np.concatenate((runs, runs + rest_bytes)) % full_bytes
    return int(min(rests[rests > 0], default=full_bytes))


def _cut(framing: AnyFraming | None, link: Link, pieces: list[tuple[int, int]]) -> Packets:
    """Cut pieces of data into packets, each piece separately.

    ``pieces`` has pairs: the size of a piece [B], and the number of such pieces. Empty pieces are left out.
    """
    trains: list[tuple[Train, int]] = []
    for size_bytes, number in pieces:
        if not (size_bytes and number):
            continue
        if framing is not None:
            trains.append((framing.train(size_bytes), number))
            continue
        # A plain link has no headers: cut the bytes at the MTU.
        size, mtu = np.array(size_bytes, dtype=np.int64), link.mtu_bytes
        last = (size - 1) % mtu + 1
        train = Train(size, -(-size // mtu), size, np.asarray(last == mtu), mtu, last)
        trains.append((train, number))
    return Packets(
        sum(int(train.packets) * number for train, number in trains),
        8.0 * sum(int(train.wire_bytes) * number for train, number in trains),
        8.0 * max(int(train.longest_packet_bytes) for train, _ in trains),
        8.0 * min(int(train.shortest_packet_bytes) for train, _ in trains),
        8.0 * int(trains[-1][0].last_packet_bytes),
    )


def wire(protocol: str, link: Link) -> Wire:
    """Headers and goodput limit of a protocol on a link, as a `Wire`.

    A link whose ``interconnect`` is ``plain`` has no headers, and its `Wire` has no goodput limit.
    """
    rate_bps = None if link.interconnect == "plain" else link.rate_bps
    return Wire(protocol, Interconnect(link.interconnect, rate_bps, link.mtu_bytes))


def wire_ratio(protocol: str, payload_bytes: int, link: Link) -> float:
    """Least number of bits on the wire for each useful bit, headers included.

    >>> ethernet = Link("a<->b", ("a", "b"), 1e9)
    >>> wire_ratio("udp", 1472, ethernet) == 1538 / 1472
    True
    """
    on = wire(protocol, link)
    if on.framing is None:
        return 1.0
    payload = np.array(float(payload_bytes))
    bound = on.goodput_bound_bps(payload, on.serialisation_s(payload))
    own = theory.wire_bits(payload_bytes, on.framing) / (8 * payload_bytes)
    return float(min(link.rate_bps / bound, own) if on.merges else own)


# --- loads of ports ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PortLoad:
    """Load of a port: the rates that its streams request on average, and the rate that deadlines need.

    Parameters
    ----------
    streams : tuple of Stream
        Streams that request a rate; unlimited streams are left out.
    rates_bps : tuple of float
        Average rate of each stream on the line [b/s].
    mean_bps : float
        Sum of the average rates [b/s].
    due_bps, due_s : float
        Greatest rate that any deadline needs if all streams send a message at the same moment [b/s], and the
        time from this moment to that deadline [s]. If no deadline needs more than the average rate, they are
        the average rate and 0 s.
    """

    port: Port
    streams: tuple[Stream, ...]
    rates_bps: tuple[float, ...]
    mean_bps: float
    due_bps: float
    due_s: float

    @property
    def ratio(self) -> float:
        """Average load, as a fraction of the port's rate."""
        return self.mean_bps / self.port.rate_bps


def port_loads(system: System, packets: Packing | None = None) -> Iterator[PortLoad]:
    """Load of each port that sends streams, in the file's order.

    ``packets`` are the packets of the system's streams, if already computed. The load counts the
    fewest bits that theory allows. TCP, and protocols over TCP, may merge frames into full packets. Such
    frames count as merged (thesis IC2012, §6.1.1).

    Examples
    --------
    >>> from icmodel.system import load
    >>> busiest = max(port_loads(load("imaging")), key=lambda one: one.ratio)
    >>> busiest.port.name, round(busiest.ratio, 2)
    ('switch->qfhd-display#1', 0.75)
    """
    packed = packing(system) if packets is None else packets
    for name, streams in system.streams_by_port().items():
        port = system.ports[name]
        asking = tuple(stream for stream in streams if math.isfinite(stream.requested_goodput_bps))
        if asking:
            link = system.links[port.link]
            rates = [
                stream.requested_goodput_bps * packed.of(stream, link).ratio for stream in asking
            ]
            mean = sum(rates)
            messages = [_Message.of(*each) for each in zip(asking, rates, strict=True)]
            # Demand bound function at a deadline, divided by the deadline (S. K. Baruah, A. K. Mok and L. E. Rosier,
            # Preemptively scheduling hard-real-time sporadic tasks on one processor, IEEE Real-Time Systems
            # Symposium, 1990). At a lower rate, no order of sending meets all deadlines. It exceeds the average
            # only if a deadline is shorter than the period of its stream.
            due = {message.due_s for message in messages if message.due_s < message.period_s}
            needed = [(sum(one.due_bits(time) for one in messages) / time, time) for time in due]
            yield PortLoad(port, asking, tuple(rates), mean, *max([(mean, 0.0), *needed]))


@dataclass(frozen=True, slots=True)
class _Message:
    """Messages of one stream at a port: average rate on the line [b/s], period [s], and deadline [s].

    The deadline of a message counts from its arrival.
    """

    rate_bps: float
    period_s: float
    due_s: float

    @classmethod
    def of(cls, stream: Stream, rate_bps: float) -> _Message:
        if stream.producer is None:  # frames at the rate that the sender is set to
            period = stream.payload_bytes * 8 / stream.requested_goodput_bps
            return cls(rate_bps, period, period)
        return cls(rate_bps, stream.producer.period_s, stream.producer.due_s)

    def due_bits(self, within_s: float) -> float:
        """Bits of all messages whose deadline is at most ``within_s`` seconds after the first message arrives [b]."""
        if within_s < self.due_s:
            return 0.0
        count = math.floor((within_s - self.due_s) / self.period_s) + 1
        return count * self.rate_bps * self.period_s


@dataclass(frozen=True, slots=True)
class Overload:
    """A port whose load exceeds its rate.

    Parameters
    ----------
    load : PortLoad
        Load of all streams of the port, or of the streams of one priority.
    asked_bps, most_bps : float
        Load of the port or of the priority, and the greatest rate at which the port can send this load [b/s].
    within_s : float
        Deadline of the messages [s], if the average load fits but the port is too slow to send all messages
        within their deadline. 0 if the average load is too high.
    priority : int, optional
        Priority whose load exceeds its share of the port; ``None`` if the load of all priorities exceeds the port.
    """

    load: PortLoad
    asked_bps: float
    most_bps: float
    within_s: float = 0.0
    priority: int | None = None

    @property
    def ratio(self) -> float:
        """Load of the overloaded port or priority, divided by the greatest rate at which the port can send it."""
        return self.asked_bps / self.most_bps

    @property
    def beyond_allowed(self) -> bool:
        """Whether the average load exceeds ``most_bps`` even if each stream loses as much of its data as the file allows."""
        shares = zip(self.load.streams, self.load.rates_bps, strict=True)
        must = sum(rate * (1 - stream.allowed_shortfall_ratio) for stream, rate in shares)
        return _exceeds(must, self.most_bps)

    @property
    def when(self) -> str:
        """Part of the sentence on the overload: the overloaded priority, or the deadline that the port cannot meet.

        An example is `` at the priority 5``. The part is empty if the average load of the whole port is too high.
        """
        if self.within_s:
            time = units.format_seconds(self.within_s, 4)
            return f" within {time} if all messages come at once"
        return "" if self.priority is None else f" at the priority {self.priority}"

    def sentence(self, system: System) -> str:
        """Describe the overload in one sentence, with the port, its load, its rate and a fix."""
        port, streams = self.load.port, self.load.streams
        interface = port.node in system.devices or port.peer in system.devices
        device = port.node if port.node in system.devices else port.peer
        at = f"the interface of {device} at {port.name}" if interface else f"the link {port.name}"
        more = f" and {len(streams) - 1} more" if streams[1:] else ""
        return (
            f"{at} must carry {units.format_bps(self.asked_bps, 4)}, more than its "
            f"{units.format_bps(self.most_bps, 4)}{self.when}, for the stream {streams[0].name}{more}: "
            "give it a higher rate, or the streams less data"
        )


def overloads(at_ports: Iterable[PortLoad]) -> Iterator[Overload]:
    """Yield the overloads of all ports, given the load of each port.

    Each port has three checks in this order: the average rate, the rate that deadlines need, and the
    rates of single priorities. Only the first check that fails is reported.
    """
    for load in at_ports:
        rate = load.port.rate_bps
        if _exceeds(load.mean_bps, rate):
            yield Overload(load, load.mean_bps, rate)
        elif _exceeds(load.due_bps, rate):
            yield Overload(load, load.due_bps, rate, within_s=load.due_s)
        else:
            yield from _priority_overloads(load)


def _priority_overloads(load: PortLoad) -> Iterator[Overload]:
    """Yield an overload for each priority whose load exceeds the rate that the scheduler leaves to it."""
    port = load.port
    for priority in sorted({stream.priority for stream in load.streams}):
        most = greatest_rate_bps(port.scheduler, priority, port.rate_bps)
        if not 0 < most < port.rate_bps:
            continue
        asked = zip(load.streams, load.rates_bps, strict=True)
        here = [(stream, rate) for stream, rate in asked if stream.priority == priority]
        streams, rates = zip(*here, strict=True)
        own = replace(load, streams=streams, rates_bps=rates, mean_bps=sum(rates))
        if _exceeds(own.mean_bps, most):
            yield Overload(own, own.mean_bps, most, priority=priority)


def _exceeds(asked_bps: float, most_bps: float) -> bool:
    return asked_bps > most_bps * (1 + TOLERANCE)


def port_cycle(streams: Iterable[Stream]) -> tuple[str, ...]:
    """Names of ports that form a routing cycle, in which streams wait for each other; empty if there is no cycle."""
    waiting: TopologicalSorter[str] = TopologicalSorter()
    for stream in streams:
        for here, there in pairwise(stream.path):
            waiting.add(here)
            waiting.add(there, here)
    try:
        waiting.prepare()
    except CycleError as error:
        return tuple(error.args[1][:-1])
    return ()
