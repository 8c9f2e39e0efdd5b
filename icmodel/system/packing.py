"""How a producer's messages become packets on links: the one description that loads, queues, times and bounds share.

A message is cut into frames, and each frame into packets of its own, the last of which may be short. TCP, and what
runs over it, may instead merge frames that are handed over at once or wait together: then a run of them is one stream of
bytes, cut into full packets and a rest. What it does is not known, so both are described.

Packets are cut once, at the sender, for the least MTU of the stream's links of one kind (path MTU discovery,
RFC 1191): switches do not fragment. Bits are those on the line, gap and preamble included.
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
from icmodel.theory import AnyFraming, Train, zmtp

AT_ONCE = ("burst", "samples")
"""What is produced and handed over at once; a picture or a plain goodput is sent frame by frame, evenly."""


@dataclass(frozen=True, slots=True)
class Packets:
    """Packets one after the other: their number, and their bits on the line.

    Parameters
    ----------
    sum_bits : float
        Of all together.
    longest_bits, shortest_bits, last_bits : float
        Of single packets.
    """

    number: int
    sum_bits: float
    longest_bits: float
    shortest_bits: float
    last_bits: float

    @property
    def mean_bits(self) -> float:
        """Of a packet on average."""
        return self.sum_bits / self.number

    @property
    def behind_bits(self) -> float:
        """Of all packets but one, the longest."""
        return self.sum_bits - self.longest_bits


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is sure of packets that come one by one and in a row, in bits on the line.

    Parameters
    ----------
    longest_bits, shortest_bits : float
        Of single packets.
    mean_bits, lacking_bits : float
        Any n packets in a row have at least ``n * mean - lacking`` bits: only the last of a frame, or of a run of
        merged frames, is short, and so are at most one such and a message's last one in a row that no full packets
        make up for.
    """

    longest_bits: float
    shortest_bits: float
    mean_bits: float
    lacking_bits: float


@dataclass(frozen=True, slots=True)
class Packed:
    """The packets of a stream on a link.

    Parameters
    ----------
    ratio : float
        Least bits on the line for each useful bit, in the long run: of full packets if frames may be merged, else of
        messages or, where their bytes may come as one stream, of full frames.
    gap_bits : float
        The end of each packet's bits, after which the next one may begin. The packet has arrived before it: it
        counts in loads and rates, not in a delay.
    frame : Packets
        A frame by itself: a full one, or the only one of a message that is less.
    message : Packets
        All frames of a message, each in packets of its own: the most that a message becomes.
    merged : Packets
        The message as one stream of bytes; the same as ``message`` where its frames are not merged.
    apart, waiting : Sizes
        Of all that may come, where frames that are not handed over at once do not wait together, and where they do.
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
        """Longest packet of a frame by itself."""
        return self.frame.longest_bits


@dataclass(frozen=True, slots=True)
class _Kind:
    """All that the packets of a stream on a link depend on."""

    protocol: str
    payload_bytes: int
    message_bytes: float
    at_once: bool
    interconnect: str
    mtu_bytes: int


@dataclass(frozen=True, slots=True)
class Packing:
    """The packets of every stream on every link of its path."""

    known: Mapping[tuple[str, str], Packed]

    def of(self, stream: Stream, link: Link) -> Packed:
        """The packets of a stream on a link of its path."""
        return self.known[stream.name, link.name]


def packing(system: System) -> Packing:
    """Work out the packets of all streams; those of one kind once."""
    kinds: dict[_Kind, Packed] = {}
    found: dict[tuple[str, str], Packed] = {}
    for copies in system.copies().values():
        links = dict.fromkeys(link for one in copies for link in system.links_of(one))
        for link in links:
            like = (other.mtu_bytes for other in links if other.interconnect == link.interconnect)
            kind = _kind(copies[0], link.interconnect, min(like))
            if kind not in kinds:
                kinds[kind] = _packed(kind, replace(link, mtu_bytes=kind.mtu_bytes))
            found |= {(one.name, link.name): kinds[kind] for one in copies}
    return Packing(found)


def _kind(stream: Stream, interconnect: str, mtu_bytes: int) -> _Kind:
    made, frame = stream.producer, stream.payload_bytes
    message = float(frame) if made is None else made.message_bytes
    at_once = made is not None and made.kind in AT_ONCE
    if at_once:
        frame = min(frame, math.ceil(message))
    return _Kind(stream.protocol, frame, message, at_once, interconnect, mtu_bytes)


def _packed(kind: _Kind, link: Link) -> Packed:
    on = wire(kind.protocol, link)
    whole, rest = divmod(math.ceil(kind.message_bytes), kind.payload_bytes)
    frame, last = (_carried(kind.protocol, size) for size in (kind.payload_bytes, rest))
    one = _cut(on.framing, link, [(frame, 1)])
    message = merged = _cut(on.framing, link, [(frame, whole), (last, 1)])
    apart, waiting = [one, message], [one, message]
    if on.framing is not None and on.merges:
        full = int(on.framing.aligned_payloads(link.mtu_bytes)[0])
        least = _cut(on.framing, link, [(_least_rest(frame, last, full), 1)])
        waiting += [least, _cut(on.framing, link, [(full, 1)])]
        if kind.at_once and whole + (rest > 0) > 1:
            merged = _cut(on.framing, link, _pieces(frame * whole + last, full))
            apart += [least, merged]
    return Packed(
        ratio=_ratio(kind, link, one, message),
        gap_bits=8.0 * on.framing.gap_bytes if on.framing else 0.0,
        frame=one,
        message=message,
        merged=merged,
        apart=_sizes(apart, min(one.mean_bits, message.mean_bits), 2 if rest else 1),
        waiting=_sizes(waiting, min(one.mean_bits, message.mean_bits), 2 if rest else 1),
    )


def _sizes(every: list[Packets], mean_bits: float, short: int) -> Sizes:
    """Sizes of all packets that may come, of which so many in a row may be short without full ones to make up."""
    shortest = min(one.shortest_bits for one in every)
    longest = max(one.longest_bits for one in every)
    return Sizes(longest, shortest, mean_bits, short * max(mean_bits - shortest, 0.0))


def _ratio(kind: _Kind, link: Link, frame: Packets, message: Packets) -> float:
    """Least bits on the line for each useful bit, see `Packed`."""
    if wire(kind.protocol, link).merges:
        return wire_ratio(kind.protocol, kind.payload_bytes, link)
    of_messages = message.sum_bits / (8 * kind.message_bytes)
    of_frames = frame.sum_bits / (8 * kind.payload_bytes)
    return of_messages if kind.at_once else min(of_messages, of_frames)


def _pieces(total_bytes: int, piece_bytes: int) -> list[tuple[int, int]]:
    """Sizes of pieces [B] and their numbers: all alike, and a rest."""
    whole, rest = divmod(total_bytes, piece_bytes)
    return [(piece_bytes, whole), (rest, 1)]


def _least_rest(frame_bytes: int, rest_bytes: int, full_bytes: int) -> int:
    """Fewest bytes of a packet, whatever frames are merged: what runs of frames leave behind full packets [B].

    Runs repeat after so many frames as a full packet has bytes; the last frame may end any of them.
    """
    runs = frame_bytes % full_bytes * np.arange(full_bytes, dtype=np.int64)
    rests = np.concatenate((runs, runs + rest_bytes)) % full_bytes
    return int(min(rests[rests > 0], default=full_bytes))


def _carried(protocol: str, payload_bytes: int) -> int:
    """Bytes of a frame with its own header [B]; of none 0."""
    if protocol != ZEROMQ or payload_bytes == 0:
        return payload_bytes
    return int(zmtp.framed_bytes(payload_bytes))


def _cut(framing: AnyFraming | None, link: Link, pieces: list[tuple[int, int]]) -> Packets:
    """The packets of pieces that are each cut by themselves, given their sizes [B] and numbers."""
    there = [(size, number) for size, number in pieces if size and number]
    trains = [(_train(framing, link, size), number) for size, number in there]
    return Packets(
        sum(int(train.packets) * number for train, number in trains),
        8.0 * sum(int(train.wire_bytes) * number for train, number in trains),
        8.0 * max(int(train.longest_packet_bytes) for train, _ in trains),
        8.0 * min(int(train.shortest_packet_bytes) for train, _ in trains),
        8.0 * int(trains[-1][0].last_packet_bytes),
    )


def _train(framing: AnyFraming | None, link: Link, payload_bytes: int) -> Train:
    """The packets of a frame; on a plain link its bytes alone, cut at the MTU."""
    if framing is not None:
        return framing.train(payload_bytes)
    size, mtu = np.array(payload_bytes, dtype=np.int64), link.mtu_bytes
    last = (size - 1) % mtu + 1
    return Train(size, -(-size // mtu), size, np.asarray(last == mtu), mtu, last)


def wire(protocol: str, link: Link) -> Wire:
    """The wire of a protocol on a link; a plain one has no theory."""
    if link.interconnect == "plain":
        return Wire(protocol, Interconnect("plain", None, link.mtu_bytes))
    return Wire(protocol, Interconnect(link.interconnect, link.rate_bps, link.mtu_bytes))


def wire_ratio(protocol: str, payload_bytes: int, link: Link) -> float:
    """Least number of bits on the wire for each useful bit."""
    on = wire(protocol, link)
    if on.framing is None:
        return 1.0
    payload = np.array(float(payload_bytes))
    bound = on.goodput_bound_bps(payload, on.serialisation_s(payload))
    own = theory.wire_bits(payload_bytes, on.framing) / (8 * payload_bytes)
    return float(min(link.rate_bps / bound, own) if on.merges else own)


def arrival(
    stream: Stream, packed: Sequence[Packed], longest_bits: float, line_bps: float
) -> bounds.ArrivalCurve:
    """What a stream hands over within a time, in bits on the line, whatever is merged.

    What is produced at once comes as a message a period. Else frames come evenly: those of a message a period,
    the last of which may be short, or the bytes as full frames. With n frames of f bits of which the last has
    r, no more than ``f + (n - 2)(f - r)/n`` come before the message's own rate. What knows no limit comes at the
    rate of the first link.

    Parameters
    ----------
    packed : sequence of Packed
        The stream on its links.
    longest_bits : float
        Of its packets, which may be more than a frame where several are merged.
    line_bps : float
        Rate of its first link [b/s].
    """
    frame = max(on.frame.sum_bits for on in packed)
    message = max(on.message.sum_bits for on in packed)
    made = stream.producer
    at_once = made is not None and made.kind in AT_ONCE
    burst = max(message if at_once else frame, longest_bits)
    paced = 0.0 if stream.paced_fps is None else frame * stream.paced_fps
    if made is None:
        return bounds.token_bucket(burst, paced or line_bps)
    if at_once:
        return bounds.token_bucket(burst, max(message / made.period_s, paced))
    if paced:
        return bounds.token_bucket(burst, paced)
    frames = made.message_bytes / stream.payload_bytes
    number = math.ceil(frames)
    before = max(number - 2, 0) * (number * frame - message) / number
    steady = max(message, frame * frames) / made.period_s
    return bounds.arrival_curve(
        (
            bounds.TokenBucket(burst, number * frame / made.period_s),
            bounds.TokenBucket(burst + before, steady),
        )
    )


def interval_s(stream: Stream) -> float:
    """Least time from one handing over to the next [s]: of messages at once, else of frames; 0 without limit."""
    made = stream.producer
    if made is not None and made.kind in AT_ONCE:
        return made.period_s
    if stream.paced_fps is not None:
        return 1 / stream.paced_fps
    if made is None:
        return 0.0
    return made.period_s / math.ceil(made.message_bytes / stream.payload_bytes)
