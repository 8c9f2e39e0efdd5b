"""Packets of a producer's messages on links, as used by loads, queues, path times and bounds.

A message is cut into frames, and each frame into packets. The last packet of a frame may be short. TCP, and
protocols over TCP, may merge frames that a producer hands over together, or that wait together at the sender.
Merged frames are one stream of bytes, cut into full packets and a short last packet. Whether TCP merges
frames is unknown, so both cases are described.

The sender cuts packets once, for the least MTU of all links with the same interconnect on the path (path MTU
discovery, RFC 1191). Switches do not fragment. Sizes are bits on the line, with gap and preamble.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel import theory
from icmodel.dataset import Interconnect
from icmodel.system import bounds
from icmodel.system.network import Link, Stream, System
from icmodel.tables.wire import ZEROMQ, Wire
from icmodel.theory import AnyFraming, Train, ethernet

AT_ONCE = ("burst", "samples")
"""Kinds of producers that hand over all frames of a message together; other kinds hand over frame by frame."""


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
        Any n consecutive packets have at least ``n * mean - lacking`` bits. Only the last packet of a
        frame, or of a run of merged frames, is short. So at most two short packets follow one another
        without full packets between them: the last packet of a frame and the last packet of a message.
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
        Least bits on the line for each useful bit, in the long run. If frames may be merged, this is the
        ratio of full packets. Otherwise it is the ratio of a message, whose last frame may be short.
    gap_bits : float
        Gap at the end of each packet, after which the next packet may begin [b]. The packet has arrived
        before the gap. So the gap counts in loads and rates, but not in a delay.
    frame : Packets
        Packets of a single frame: a full frame, or the only frame of a shorter message.
    message : Packets
        All frames of a message, each frame cut separately. No other way of cutting gives more packets.
    merged : Packets
        Packets of a message that is cut as one stream of bytes; equal to ``message`` if frames are not
        merged.
    apart, waiting : Sizes
        Sizes of all possible packets. In ``apart``, only frames handed over together may be merged. In
        ``waiting``, frames may also wait together and be merged.
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
    """Packets of all streams: by name of the stream, then by interconnect of a link on its path."""

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
        at_once = producer is not None and producer.kind in AT_ONCE
        on: dict[str, Packed] = {}
        for interconnect, alike in links.items():
            mtu = min(link.mtu_bytes for link in alike)
            protocol = copies[0].protocol
            kind = _StreamOnLink(protocol, frame, message, at_once, interconnect, mtu)
            if kind not in kinds:
                kinds[kind] = _packed(kind, replace(alike[0], mtu_bytes=mtu))
            on[interconnect] = kinds[kind]
        packed |= dict.fromkeys((copy.name for copy in copies), on)
    return Packing(packed)


@dataclass(frozen=True, slots=True)
class _StreamOnLink:
    """Properties of a stream and a link that determine the packets; streams with equal properties share them."""

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

    # Merged frames are cut into full packets and a remainder: of the message, or of any run of waiting frames.
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
    """Limits of packet sizes that hold however messages are cut into packets.

    At most ``short`` short packets follow one another without a full packet between them.
    """
    shortest = min(packets.shortest_bits for packets in possible)
    longest = max(packets.longest_bits for packets in possible)
    return Sizes(longest, shortest, mean_bits, short * max(mean_bits - shortest, 0.0))


def _least_rest_bytes(frame_bytes: int, rest_bytes: int, full_bytes: int) -> int:
    """Size of the smallest packet that can result from merged frames [B].

    A run of merged frames is cut into full packets and a remainder. The result is the least remainder of
    any run. The remainders repeat every ``full_bytes`` frames. A run may end with a message's last frame.
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
    """Headers and goodput limit of a protocol on a link, as a `Wire`; on a plain link there are no headers."""
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


def stream_arrival_curve(
    stream: Stream, packed: Sequence[Packed], longest_bits: float, line_bps: float
) -> bounds.ArrivalCurve:
    """Arrival curve of a stream at its first port, in bits on the line; valid with and without merged frames.

    A source that hands over whole messages sends one burst per period. Other sources send evenly spaced
    frames, cut in one of two ways. Either each message has its own frames, and its last frame may be short.
    Or the messages are one stream of bytes in full frames. Let a message have n frames of f bits, the last of
    r bits. Then at most ``f + (n - 2)(f - r)/n`` bits exceed the message's average rate. An unlimited stream
    arrives at the rate of the first link.

    Parameters
    ----------
    packed : sequence of Packed
        Packets of the stream on each of its links.
    longest_bits : float
        Longest packet of the stream [b]; longer than a frame if several frames are merged.
    line_bps : float
        Rate of the stream's first link [b/s].
    """
    frame = max(on.frame.sum_bits for on in packed)
    message = max(on.message.sum_bits for on in packed)
    producer = stream.producer
    at_once = producer is not None and producer.kind in AT_ONCE
    burst = max(message if at_once else frame, longest_bits)
    paced = 0.0 if stream.paced_fps is None else frame * stream.paced_fps
    if producer is None:
        return bounds.token_bucket(burst, paced or line_bps)
    if at_once:
        return bounds.token_bucket(burst, message / producer.period_s)
    frames = producer.message_bytes / stream.payload_bytes
    number = math.ceil(frames)
    if 0 < paced < number * frame / producer.period_s:
        return bounds.token_bucket(burst, paced)
    before = max(number - 2, 0) * (number * frame - message) / number
    steady = max(message, frame * frames) / producer.period_s
    return bounds.arrival_curve(
        (
            bounds.TokenBucket(burst, number * frame / producer.period_s),
            bounds.TokenBucket(burst + before, steady),
        )
    )


def interval_s(stream: Stream) -> float:
    """Least time between two hand-overs of data by a stream's producer [s].

    The producer hands over whole messages or single frames. The time is 0 for an unlimited stream.
    """
    producer = stream.producer
    if producer is not None and producer.kind in AT_ONCE:
        return producer.period_s
    if stream.paced_fps is not None:
        return 1 / stream.paced_fps
    if producer is None:
        return 0.0
    return producer.period_s / math.ceil(producer.message_bytes / stream.payload_bytes)
