"""Packets of frames that a sender hands over at once: bytes of each on the line, and the frames it completes.

Nothing here comes from `icmodel.theory` or from the bounds: it is what both are held against.  Ethernet's preamble,
header, checksum, least size and gap: IEEE 802.3-2022 §3.1.1, §4A.4.2; a tag: IEEE 802.1Q-2022 §9.3; fragments: RFC 791 §3.2;
a segment's headers, with timestamps: RFC 9293 §3.1 and RFC 7323 §3.2.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

PREAMBLE, HEADER, CHECKSUM, GAP, TAG = 8, 14, 4, 12, 4
SHORTEST = 64
"""Least bytes between preamble and gap: header, tags and checksum included."""
IP, UDP, TCP = 20, 8, 20 + 12
APART, MERGED, MIXED = CUTTINGS = ("apart", "merged", "mixed")
"""Which frames TCP sends as one stream of bytes, of those it gets at once: none, all, or some."""


class Packet(NamedTuple):
    """Bytes on the line with the gap, the first and last frame it has bytes of, and how many it completes."""

    line_bytes: int
    first: int
    last: int
    completes: int


def line_bytes(content_bytes: int, tags: int = 0) -> int:
    """Bytes from preamble to gap of a packet with so much behind Ethernet's header."""
    between = max(SHORTEST, HEADER + TAG * tags + content_bytes + CHECKSUM)
    return PREAMBLE + between + GAP


def carrier(protocol: str, interconnect: str) -> str:
    """Whose headers a protocol has on a link: ``udp``, ``tcp``, ``frame`` (Ethernet's alone) or ``plain`` (none)."""
    if interconnect == "plain":
        return "plain"
    if interconnect != "ethernet":
        raise ValueError(f"packets on {interconnect} are not simulated")
    return {"udp": "udp", "ethernet": "frame"}.get(protocol, "tcp")


def cut(data_bytes: int, carried: str, mtu_bytes: int, tags: int = 0) -> list[tuple[int, int]]:
    """Data and bytes on the line of the packets that bytes become, in their order."""
    headers = {"udp": IP, "tcp": IP + TCP}.get(carried, 0)
    most = mtu_bytes - headers
    full = most - most % 8 if carried == "udp" else most
    pieces, rest = [], data_bytes + (UDP if carried == "udp" else 0)
    while rest > most:
        pieces.append(full)
        rest -= full
    sizes = [
        piece if carried == "plain" else line_bytes(headers + piece, tags)
        for piece in (*pieces, rest)
    ]
    return list(zip((*pieces, rest), sizes, strict=True))


def packets(
    frames_bytes: Sequence[int],
    carried: str,
    mtu_bytes: int,
    cutting: str = APART,
    draw: random.Random | None = None,
) -> list[Packet]:
    """Packets of frames that are handed over at once, in their order.

    Parameters
    ----------
    cutting : str
        One of `CUTTINGS`; has an effect on TCP alone.
    draw : Random, optional
        Draws how many frames go together where cutting is ``mixed``.
    """
    made: list[Packet] = []
    first = 0
    for count in _groups(len(frames_bytes), cutting if carried == "tcp" else APART, draw):
        group = frames_bytes[first : first + count]
        ends = list(accumulate(group))
        pieces = cut(ends[-1], carried, mtu_bytes)
        header = UDP if carried == "udp" else 0  # in the first packet, and no frame's
        at = -header
        for piece, line in pieces:
            begun, done = bisect_right(ends, max(at, 0)), bisect_right(ends, at + piece)
            last = bisect_right(ends, max(at + piece - 1, 0))
            made.append(Packet(line, first + begun, first + last, done - begun))
            at += piece
        first += count
    return made


def _groups(frames: int, cutting: str, draw: random.Random | None) -> Iterator[int]:
    """How many frames go as one stream of bytes, group by group."""
    while frames:
        count = frames if cutting == MERGED else 1
        if cutting == MIXED and draw is not None:
            count = min(frames, draw.choice((1, 1, 2, 3, 7)))
        yield count
        frames -= count
