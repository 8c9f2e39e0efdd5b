"""Rows of CPU utilisation: 1 − virtual idle over four cores, both sides (rules R25 to R31)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from ethernet_10g_2012 import prediction
from ethernet_10g_2012.capacity import capacity_bps, carried
from ethernet_10g_2012.rows import (
    CPU_LOADS,
    TCP,
    UDP,
    UNLIMITED,
    octaves,
    rule,
    stated,
    to_step,
)
from points import Row

SEND, RECV = "cpu_send", "cpu_recv"
SIDES = {SEND: "Sending", RECV: "Receiving"}
LOW_LOAD, HALF_LOAD, HIGH_LOAD = CPU_LOADS
PREDICTED_LOADS = (LOW_LOAD, HALF_LOAD)
PEAK, LARGEST_TCP, LARGEST_UDP = 256, 65535, 65507
AT_1_B = {SEND: Decimal("0.60"), RECV: Decimal("0.40")}
AT_128_B = {SEND: Decimal("0.75"), RECV: Decimal("0.65")}
AT_PEAK = {SEND: Decimal("0.85"), RECV: Decimal("0.75")}
AT_LARGEST = {SEND: Decimal("0.17"), RECV: Decimal("0.23")}
UNLIMITED_SHARE = {SEND: Decimal("0.8"), RECV: Decimal(1)}
LESS_AT_HALF = {SEND: Decimal("0.075"), RECV: Decimal("0.02")}
IDLE = {SEND: Decimal("0.01"), RECV: Decimal("0.02")}
UDP_UNLIMITED = {
    SEND: {1472: "0.32", 1473: "0.40", 2048: "0.40", 4096: "0.39", 8192: "0.37", 16384: "0.36",
           32768: "0.35", 65507: "0.34"},
    RECV: {1472: "0.45", 1473: "0.35", 2048: "0.36", 4096: "0.38", 8192: "0.40", 16384: "0.34",
           32768: "0.27", 65507: "0.15"},
}  # fmt: skip
UDP_UNLIMITED_RANGE = {
    SEND: ("udp least unlimited sending cpu", "udp most unlimited sending cpu"),
    RECV: ("udp least unlimited receiving cpu", "udp most unlimited receiving cpu"),
}
SMALL_END = 512
SWITCHED_MORE = Decimal("0.05")
STEP = "1E-4"


def cpu_rows() -> Iterator[Row]:
    """Yield all CPU curves over payload, for every load that the thesis lists."""
    for load in [*CPU_LOADS, UNLIMITED]:
        for metric in SIDES:
            for payload in TCP:
                yield _tcp(metric, payload, load)
            for payload in UDP:
                yield _udp(metric, payload, load)
                yield _switched(metric, payload, load)
    for load in (HIGH_LOAD, UNLIMITED):
        for metric in SIDES:
            for payload in TCP:
                yield _without_nagle(metric, payload, load)


def _most(protocol: str, metric: str) -> Decimal:
    if protocol == "udp":
        return stated("udp most unlimited receiving cpu" if metric == RECV else "udp most cpu")
    return stated(f"tcp most {SIDES[metric].lower()} cpu")


def _row(
    protocol: str,
    payload: int,
    load: Decimal,
    metric: str,
    value: Decimal,
    source: str,
    *,
    basis: str = "assumed",
    ends: tuple[Decimal, Decimal] | None = None,
    switches: int = 0,
    options: Mapping[str, str] | None = None,
) -> Row:
    rounded = to_step(value, STEP) if basis == "assumed" else value
    low, high = ends or _wide(protocol, metric, rounded)
    return Row(
        protocol=protocol,
        payload_bytes=payload,
        load_bps=load,
        cores=4,
        switches=switches,
        endpoints=1,
        options=options or {},
        metric=metric,
        value=rounded,
        low=low,
        high=high,
        basis=basis,
        source=source,
    )


def _wide(protocol: str, metric: str, value: Decimal) -> tuple[Decimal, Decimal]:
    """Return the range from half the value to 1.5 times it plus 0.05, up to the stated limit."""
    high = min(value * Decimal("1.5") + Decimal("0.05"), _most(protocol, metric))
    return to_step(value / 2, STEP), max(to_step(high, STEP), value)


# --- TCP --------------------------------------------------------------------------------------


def _along(payload: int, first: int, last: int, start: Decimal, end: Decimal) -> Decimal:
    """Interpolate linearly in log2 of the payload, the axis of the figures."""
    share = (octaves(payload) - octaves(first)) / (octaves(last) - octaves(first))
    return start + share * (end - start)


def tcp_by_rule(metric: str, payload: int, load: Decimal) -> Decimal:
    """Return CPU utilisation of TCP by README rules R25 to R27, without table 8-2."""
    if payload < PEAK:
        unlimited = _along(payload, 1, PEAK // 2, AT_1_B[metric], AT_128_B[metric])
        paced = unlimited
    else:
        paced = _along(payload, PEAK, LARGEST_TCP, AT_PEAK[metric], AT_LARGEST[metric])
        unlimited = paced * UNLIMITED_SHARE[metric]
    if not carried("tcp", payload, load):
        return unlimited
    if load == LOW_LOAD:
        share = (load / capacity_bps("tcp", payload)).sqrt()
        return IDLE[metric] + (unlimited - IDLE[metric]) * share
    return paced - (LESS_AT_HALF[metric] if load == HALF_LOAD else 0)


def _tcp(metric: str, payload: int, load: Decimal) -> Row:
    if payload == LARGEST_TCP and load == HALF_LOAD:
        return _predicted(metric)
    number = 27 if load == LOW_LOAD else 25 if metric == SEND else 26
    value = tcp_by_rule(metric, payload, load)
    return _row("tcp", payload, load, metric, value, rule(number, "IC2012 §6.3.1"))


def _predicted(metric: str) -> Row:
    """Make the 5 Gb/s row by README rule R19, from table 8-2 and the 0.1 Gb/s row."""
    below = _tcp(metric, LARGEST_TCP, LOW_LOAD)
    target = prediction.cpu(SIDES[metric])
    value, high, low = (
        prediction.upper_row(target, Decimal(end or 0), PREDICTED_LOADS)
        for end in (below.value, below.low, below.high)
    )
    ends = to_step(max(low, Decimal(0)), STEP), to_step(high, STEP)
    source = prediction.SOURCE
    return _row("tcp", LARGEST_TCP, HALF_LOAD, metric, value, source, basis="derived", ends=ends)


def _without_nagle(metric: str, payload: int, load: Decimal) -> Row:
    """Make a row by README rule R31: at 9.4 Gb/s more for small sizes, less for 128 to 4096 B."""
    value = tcp_by_rule(metric, payload, load)
    changed = load == HIGH_LOAD or not carried("tcp", payload, HIGH_LOAD, "off")
    if changed and payload < 128:
        value *= Decimal("1.1")
    elif changed and payload <= 4096:
        value *= Decimal("0.9")
    source = rule(31, "IC2012 §6.4.3")
    return _row("tcp", payload, load, metric, value, source, options={"nagle": "off"})


# --- UDP --------------------------------------------------------------------------------------


def udp_unlimited(metric: str, payload: int) -> Decimal:
    """Return CPU utilisation of UDP at unlimited load, by README rule R28."""
    at = UDP_UNLIMITED[metric].get(payload)
    if at is not None:
        return Decimal(at)
    if metric == SEND:
        return Decimal("0.38")
    least, most = stated("udp least unlimited receiving cpu"), stated("udp most cpu")
    return _along(payload, 1, 1024, least, most)


def udp_by_rule(metric: str, payload: int, load: Decimal) -> Decimal:
    """Return CPU utilisation of UDP by README rules R28 and R29."""
    unlimited = udp_unlimited(metric, payload)
    if load == UNLIMITED:
        return unlimited
    if not carried("udp", payload, load):
        return unlimited * Decimal("0.97")
    scaled = Decimal("0.3") + Decimal("0.65") * min(load / capacity_bps("udp", payload), Decimal(1))
    nearest = {1472: 1448, 1473: 1449, LARGEST_UDP: LARGEST_TCP}.get(payload, payload)
    below_tcp = Decimal("0.85") * tcp_by_rule(metric, nearest, load)
    return min(unlimited * scaled, below_tcp)


def _udp(metric: str, payload: int, load: Decimal) -> Row:
    value = udp_by_rule(metric, payload, load)
    if load != UNLIMITED:
        return _row("udp", payload, load, metric, value, rule(29, "IC2012 §6.3.2"))
    least, most = (stated(key) for key in UDP_UNLIMITED_RANGE[metric])
    return _row("udp", payload, load, metric, value, rule(28, "IC2012 §6.3.2"), ends=(least, most))


def _switched(metric: str, payload: int, load: Decimal) -> Row:
    """Make a row by README rule R30: more CPU of the sender if it sends more than arrives."""
    value = udp_by_rule(metric, payload, load)
    more = metric == SEND and payload <= SMALL_END and not carried("udp", payload, load)
    if more:
        value += SWITCHED_MORE
    source = rule(30, "IC2012 §6.5.1.3")
    if more or load != UNLIMITED:
        return _row("udp", payload, load, metric, value, source, switches=1)
    least, most = (stated(key) for key in UDP_UNLIMITED_RANGE[metric])
    return _row("udp", payload, load, metric, value, source, ends=(least, most), switches=1)
