"""A watcher on an interface, a program of its own: what icprobe's frames look like on the wire.

Prints ``ready``, watches until its standard input ends, then prints one JSON list: each frame that
it saw with the fields of its header and the kernel's own time of it, in ns of the monotonic clock.
Told so, it sends more for every N-th frame of a run's window that goes out, up to a number: a copy,
one under another run's name, or one with a number that is not due yet.

    python probe_wire.py INTERFACE [--again N] [--foreign N] [--early N] [--until NUMBER]
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

ETHER_TYPE = 0x88B5
IPV4 = 0x0800
UDP = 17
ETHERNET_BYTES, IP_BYTES, UDP_BYTES = 14, 20, 8
HEADER = struct.Struct("<IHBBQQQ")
VERSION = 1
ALL_PROTOCOLS = 0x0003
OUTGOING = 4
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
WINDOW = 1
HOW = ("again", "foreign", "early")
AHEAD = 3
"""So many numbers before its turn comes a frame that is sent early."""


@dataclass(frozen=True)
class Seen:
    """A frame on the wire."""

    tag: int
    stream: int
    phase: int
    seq: int
    intended_ns: int
    sent_ns: int
    seen_ns: int
    wire_bytes: int
    """With the Ethernet header, without check sequence, preamble and gap."""


def header_at(packet: bytes) -> int | None:
    """Where the header of icprobe's frame begins in a packet."""
    kind = int.from_bytes(packet[12:14], "big")
    if kind == ETHER_TYPE:
        return ETHERNET_BYTES
    if kind == IPV4 and packet[ETHERNET_BYTES + 9] == UDP:
        return ETHERNET_BYTES + IP_BYTES + UDP_BYTES
    return None


def read(packet: bytes, seen_ns: int) -> Seen | None:
    """The frame of a packet, if it carries one."""
    start = header_at(packet)
    if start is None or len(packet) < start + HEADER.size:
        return None
    tag, stream, version, phase, seq, intended_ns, sent_ns = HEADER.unpack_from(packet, start)
    if version != VERSION or phase > WINDOW + 1:
        return None
    return Seen(tag, stream, phase, seq, intended_ns, sent_ns, seen_ns, len(packet))


def changed(packet: bytes, how: str) -> bytes:
    """A packet to send besides: a copy, one of another run, or one that is not due yet."""
    start = header_at(packet) or 0
    before, frame = bytearray(packet[:start]), packet[start:]
    if before[12:14] == IPV4.to_bytes(2, "big"):
        before[-2:] = bytes(2)  # no checksum: the one there was left for the card to make
    tag, stream, version, phase, seq, *times = HEADER.unpack_from(frame)
    if how == "foreign":
        tag ^= 0xFFFFFFFF
    if how == "early":
        seq += AHEAD
    header = HEADER.pack(tag, stream, version, phase, seq, *times)
    return bytes(before) + header + frame[HEADER.size :]


def opened(interface: str) -> socket.socket:
    """A socket that sees and may send everything of an interface."""
    watching = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    watching.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    watching.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    watching.bind((interface, ALL_PROTOCOLS))
    return watching


def wall_clock_ahead_ns() -> int:
    """The wall clock less the monotonic one; both run at one rate, so this stays as it is."""
    tries = []
    for _ in range(100):
        before = time.monotonic_ns()
        wall = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.monotonic_ns()
        tries.append((after - before, wall - (before + after) // 2))
    return min(tries)[1]


def packets(watching: socket.socket) -> Iterator[tuple[bytes, int, bool]]:
    """Each packet until standard input ends, with the kernel's time of it and whether it goes out."""
    ahead_ns = wall_clock_ahead_ns()
    while True:
        ready, _, _ = select.select([watching, sys.stdin], [], [])
        if watching not in ready:
            return
        packet, extra, _, address = watching.recvmsg(1 << 16, 64)
        stamp = next(data for _, kind, data in extra if kind == SO_TIMESTAMPNS)
        seconds, ns = struct.unpack("qq", stamp[:16])
        yield packet, seconds * 10**9 + ns - ahead_ns, address[2] == OUTGOING


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("interface")
    for how in HOW:
        parser.add_argument(f"--{how}", type=int, default=0, metavar="N")
    parser.add_argument("--until", type=int, default=0, metavar="NUMBER")
    asked = parser.parse_args()
    watching = opened(asked.interface)
    print("ready", flush=True)  # noqa: T201
    seen = []
    for packet, seen_ns, outgoing in packets(watching):
        frame = read(packet, seen_ns)
        if frame is None:
            continue
        seen.append(frame)
        if not outgoing or frame.phase != WINDOW or frame.seq >= asked.until:
            continue
        for place, how in enumerate(HOW):
            every = getattr(asked, how)
            if every and frame.seq % every == place:
                watching.send(changed(packet, how))  # this socket does not see what it sends
    print(json.dumps([asdict(frame) for frame in seen]))  # noqa: T201


if __name__ == "__main__":
    main()
