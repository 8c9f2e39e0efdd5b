"""Goodput by the rules of the README: value, low, high, basis and source of each point.

Modules of other metrics ask here whether a load is carried (below capacity) at a payload.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from ethernet_10g_2012.rows import (
    CARRIED,
    GBPS,
    UDP_ALIGNED,
    UNLIMITED,
    figures,
    floor_figures,
    octaves,
    place,
    rounding,
    rule,
    stated,
)
from ethernet_10g_2012.wire import expected_goodput_bps, packets
from points import transcription

TCP_LINE_END = 256
TCP_ONE_CORE_LINE_END = 4096
UDP_LINE_END = 1024
FULL_PACKET, TWO_PACKETS, RECOVERED = 1472, 1473, 7392
LARGEST_ALIGNED, LARGEST_UDP = 65112, 65507
UDP_OVERLOADED_BPS = Decimal("4.5E9")
UDP_ONE_CORE_LARGEST_BPS = Decimal("4.6E9")
MOST_CORES = 4


@dataclass(frozen=True)
class Goodput:
    """Goodput point [b/s]."""

    value: Decimal
    low: Decimal | None
    high: Decimal | None
    basis: str
    source: str


def plateau(key: str, source: str = "") -> Goodput:
    """Return a plateau stated in the thesis, with the range of its rounding."""
    return Goodput(stated(key), *rounding(key), "stated", source or place(key))


# --- TCP --------------------------------------------------------------------------------------


def tcp_four_cores(payload: int) -> Goodput:
    """Return goodput by README rule R1 below 256 B, and the stated plateau from 256 B on."""
    if payload >= TCP_LINE_END:
        return plateau("tcp plateau", "IC2012 §6.6.1, §6.1.1")
    share = Decimal(payload) / TCP_LINE_END
    low, _ = rounding("tcp plateau")
    last = TCP_LINE_END // 2
    high = floor_figures(expected_goodput_bps("tcp", last) * payload / last)
    value = stated("tcp plateau") * share
    return Goodput(value, floor_figures(low * share), high, "derived", rule(1, "IC2012 §6.1.1"))


def tcp_one_core(payload: int) -> Goodput:
    """Return goodput by README rule R2 below 4096 B, and the stated plateau from 4096 B on."""
    if payload >= TCP_ONE_CORE_LINE_END:
        return plateau("tcp plateau", "IC2012 §6.1.1")
    value = floor_figures(stated("tcp plateau") * payload / TCP_ONE_CORE_LINE_END)
    high = tcp_four_cores(payload).high or value
    bound = min(high, stated("tcp plateau"), expected_goodput_bps("tcp", payload))
    return Goodput(value, value / 2, floor_figures(bound), "assumed", rule(2, "IC2012 §6.1.1"))


def tcp_without_nagle(payload: int) -> Goodput:
    """Return goodput by README rule R10: less than with Nagle up to 256 B, then the plateau.

    The reduction falls from its most at 1 B to its least at 256 B.
    """
    on = tcp_four_cores(payload)
    least, most = stated("nagle off least less"), stated("nagle off most less")
    source = rule(10, "IC2012 §6.4.1")
    if payload > TCP_LINE_END:
        contested = payload < 1024
        low = figures(on.value * (1 - least), 4) if contested else on.low
        return Goodput(on.value, low, on.high, "assumed", source)
    less = most - (most - least) * octaves(payload) / octaves(TCP_LINE_END)
    value = figures(on.value * (1 - less), 4)
    low, high = figures(on.value * (1 - most), 4), figures(on.value * (1 - least), 4)
    return Goodput(value, min(low, value), max(high, value), "assumed", source)


# --- UDP --------------------------------------------------------------------------------------


def udp_four_cores(payload: int) -> Goodput:
    """Return goodput with 10 Gb/s offered in sum: README rules R4 to R7, and the stated plateau."""
    if payload <= UDP_LINE_END:
        return _udp_line(payload)
    if payload in (LARGEST_ALIGNED, LARGEST_UDP):
        low = UDP_OVERLOADED_BPS / 2
        high, _ = rounding("tcp plateau")
        return Goodput(UDP_OVERLOADED_BPS, low, high, "assumed", rule(7, "IC2012 §6.1.2"))
    if FULL_PACKET < payload < RECOVERED:
        return _udp_fragmented(payload)
    if payload in UDP_ALIGNED:
        return plateau("udp plateau", "IC2012 §6.1.2.1, §6.6.1")
    bound = floor_figures(expected_goodput_bps("udp", payload))
    low, _ = rounding("tcp plateau")
    middle = floor_figures((stated("tcp plateau") + bound) / 2)
    return Goodput(middle, low, bound, "assumed", rule(6, "IC2012 §6.6.4"))


def _udp_line(payload: int) -> Goodput:
    """Return goodput by README rule R4: a line from the origin to theory's maximum at 1024 B."""
    top = expected_goodput_bps("udp", UDP_LINE_END)
    value = floor_figures(top * payload / UDP_LINE_END)
    packet_limited = stated("packet rate") * payload * 8
    high = floor_figures(min(packet_limited, expected_goodput_bps("udp", payload)))
    low = figures(value * Decimal("0.95"), 4)
    return Goodput(value, low, high, "derived", rule(4, "IC2012 §6.1.4, §6.6.1"))


def _udp_fragmented(payload: int) -> Goodput:
    """Return goodput by README rule R5: half the packet rate at two packets, a line to 7392 B."""
    per_packet = expected_goodput_bps("udp", UDP_LINE_END) / UDP_LINE_END
    start = per_packet / packets("udp", TWO_PACKETS) * TWO_PACKETS
    along = Decimal(payload - TWO_PACKETS) / (RECOVERED - TWO_PACKETS)
    value = figures(start + along * (stated("udp plateau") - start), 4)
    below_tcp, _ = rounding("tcp plateau")
    high = min(below_tcp, floor_figures(expected_goodput_bps("udp", payload)))
    half = stated("udp plateau") / 2
    return Goodput(value, half, high, "assumed", rule(5, "IC2012 §6.1.2.1, §6.1.2.2"))


def udp_limited(payload: int) -> Goodput:
    """Return goodput with 9.6 Gb/s offered in sum, for aligned sizes and the largest frame."""
    if payload == LARGEST_UDP:
        high = floor_figures(expected_goodput_bps("udp", payload))
        value = stated("udp plateau")
        return Goodput(value, UDP_OVERLOADED_BPS, high, "assumed", rule(8, "IC2012 §6.1.2.2"))
    if FULL_PACKET < payload < RECOVERED:
        held = _udp_fragmented(payload)
        return Goodput(held.value, held.low, held.high, "assumed", rule(8, "IC2012 §6.1.2.2"))
    return plateau("udp plateau", "IC2012 §6.1.2.2")


def udp_one_core(payload: int) -> Goodput:
    """Return goodput by README rule R9, and by R7 at the largest frame."""
    if payload == LARGEST_UDP:
        high = floor_figures(expected_goodput_bps("udp", payload))
        low = stated("udp plateau") / 4
        return Goodput(UDP_ONE_CORE_LARGEST_BPS, low, high, "assumed", rule(7, "IC2012 §6.1.2"))
    return one_core("udp", payload, udp_four_cores(payload))


def udp_one_core_sent_bps() -> Decimal:
    """Return the sent rate of one core at the largest frame [b/s]: half of the plateau, as R9."""
    return stated("udp plateau") / 2


# --- direct Ethernet, and core counts between -------------------------------------------------


def ethernet_four_cores(payload: int) -> Goodput:
    """Return goodput of table 6-2, which is rounded to 1 Mb/s."""
    printed = {
        int(line["Payload size (B)"]): Decimal(line["Benchmarked goodput 4cpus (Gb/s)"]) * GBPS
        for line in transcription("ic2012/table_6_2.csv")
    }
    value, half = printed[payload], Decimal("0.0005") * GBPS
    return Goodput(value, value - half, value + half, "tabulated", "IC2012 table 6-2")


def one_core(protocol: str, payload: int, four: Goodput) -> Goodput:
    """Return goodput by README rule R9: half of four cores, from a quarter to the expectation."""
    bound = min(four.high or four.value, floor_figures(expected_goodput_bps(protocol, payload)))
    low = figures(four.value / 4, 4)
    return Goodput(figures(four.value / 2, 4), low, bound, "assumed", rule(9))


def between(cores: int, one: Goodput, four: Goodput) -> Goodput:
    """Return goodput by README rule R3 (E11): linear from one core to four; both ranges joined."""
    weight = Decimal(cores - 1) / (MOST_CORES - 1)
    value = figures(one.value + weight * (four.value - one.value), 4)
    low = min(one.low or one.value, four.low or four.value)
    high = max(one.high or one.value, four.high or four.value)
    known = one.basis == four.basis == "stated" and one.value == four.value
    return Goodput(value, low, high, "derived" if known else "assumed", rule(3))


# --- capacity, for other metrics --------------------------------------------------------------


@cache
def capacity_bps(protocol: str, payload: int, nagle: str = "on") -> Decimal:
    """Return the greatest goodput of four cores at a payload, over all loads [b/s]."""
    if protocol == "tcp":
        return (tcp_four_cores if nagle == "on" else tcp_without_nagle)(payload).value
    return max(udp_four_cores(payload).value, udp_limited_or_zero(payload))


def udp_limited_or_zero(payload: int) -> Decimal:
    """Return goodput at 9.6 Gb/s offered, or 0 for payloads without such a run."""
    taken = payload in UDP_ALIGNED or payload == LARGEST_UDP
    return udp_limited(payload).value if taken else Decimal(0)


def carried(protocol: str, payload: int, load: Decimal, nagle: str = "on") -> bool:
    """Whether a load is at most the capacity at a payload (E14)."""
    return load != UNLIMITED and load <= CARRIED * capacity_bps(protocol, payload, nagle)
