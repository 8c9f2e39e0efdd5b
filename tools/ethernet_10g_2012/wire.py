"""Limits of the wire, exactly as the original computed them (IC2012 §6, tables 6-1 and 6-3).

Frames are not padded: the original ignores Ethernet's least payload of 46 B.
"""

from __future__ import annotations

from decimal import Decimal

LINE_RATE_BPS = 10**10
CABLE_S = Decimal("4.27E-9")
ETHERNET_BYTES = 38
IP_BYTES = 20
UDP_BYTES = 8
TCP_BYTES = 32
"""Header of 20 B, and the timestamp option of 12 B."""
UDP_FRAGMENT_BYTES = 1480
TCP_SEGMENT_BYTES = 1448


def packets(protocol: str, payload_bytes: int) -> int:
    """Return the packets of a frame: §6.1.2.1 for UDP, §6.1.1 for TCP, one for direct Ethernet."""
    if protocol == "udp":
        return -(-(payload_bytes + UDP_BYTES) // UDP_FRAGMENT_BYTES)
    if protocol == "tcp":
        return -(-payload_bytes // TCP_SEGMENT_BYTES)
    return 1


def wire_bytes(protocol: str, payload_bytes: int) -> int:
    """Return the bytes of a frame on the wire, headers, preamble and gap included."""
    count = packets(protocol, payload_bytes)
    if protocol == "udp":
        return payload_bytes + UDP_BYTES + count * (ETHERNET_BYTES + IP_BYTES)
    if protocol == "tcp":
        return payload_bytes + count * (ETHERNET_BYTES + IP_BYTES + TCP_BYTES)
    return payload_bytes + ETHERNET_BYTES


def expected_goodput_bps(protocol: str, payload_bytes: int) -> Decimal:
    """Return the original's expected maximum: line rate × payload / wire bytes (§6.1)."""
    return Decimal(LINE_RATE_BPS) * payload_bytes / wire_bytes(protocol, payload_bytes)


def minimum_latency_s(protocol: str, payload_bytes: int) -> Decimal:
    """Return the original's minimum: 1 m of cable, and the frame's bits at 0.1 ns each (§6.2)."""
    bits = wire_bytes(protocol, payload_bytes) * 8
    return CABLE_S + Decimal(bits) / LINE_RATE_BPS
