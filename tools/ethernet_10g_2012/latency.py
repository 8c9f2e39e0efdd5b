"""Rows of one-way latency: mean, deviation, minimum and maximum by load (rules R14 to R24)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from ethernet_10g_2012 import prediction, tables
from ethernet_10g_2012.capacity import LARGEST_ALIGNED, LARGEST_UDP, carried
from ethernet_10g_2012.rows import (
    LATENCY_LOADS,
    LEAST_LATENCY_PAYLOAD,
    TCP,
    UDP,
    UNLIMITED,
    rounding,
    rule,
    stated,
    to_step,
)
from ethernet_10g_2012.wire import minimum_latency_s
from points import Row

MEAN, STD, MIN, MAX = "latency_mean_s", "latency_std_s", "latency_min_s", "latency_max_s"
METRICS = (MEAN, STD, MIN, MAX)
LOWEST_LOAD, HIGHEST_LOAD = Decimal("0.1E9"), Decimal("9.4E9")
TABLE_LOAD = tables.LATENCY_LOAD
PREDICTED_LOADS = (Decimal("2.5E9"), Decimal("5E9"))
OVERLOAD_LOADS = (Decimal("10E9"), UNLIMITED)
LARGEST_TCP = 65535
DROP = (63000, 64000)
"""Payloads between which the overload mean of TCP drops (§6.2.1)."""
STEP = "1E-8"
MS, US = Decimal("1E-3"), Decimal("1E-6")
NONBLOCKING = {"read": "nonblocking"}


@dataclass(frozen=True)
class Spread:
    """One latency number [s], its range and the rule that gives it."""

    value: Decimal
    low: Decimal
    high: Decimal
    source: str
    basis: str = "assumed"


def latency_rows() -> Iterator[Row]:
    """Yield all latency curves over payload, for every load that the thesis lists."""
    for load in sorted([*LATENCY_LOADS, TABLE_LOAD, UNLIMITED]):
        for payload in _tcp_payloads(load):
            yield from _rows("tcp", payload, load, tcp(payload, load))
    for load in [*LATENCY_LOADS, UNLIMITED]:
        for payload in _udp_payloads(load):
            yield from _rows("udp", payload, load, udp(payload, load))
    for load in (LOWEST_LOAD, HIGHEST_LOAD, UNLIMITED):
        for payload in _tcp_payloads(LOWEST_LOAD):
            mean = {MEAN: tcp_without_nagle(payload, load)}
            yield from _rows("tcp", payload, load, mean, {"nagle": "off"})


def _tcp_payloads(load: Decimal) -> list[int]:
    beside_the_drop = DROP if load in OVERLOAD_LOADS else ()
    return sorted(p for p in [*TCP, *beside_the_drop] if p >= LEAST_LATENCY_PAYLOAD)


def _udp_payloads(load: Decimal) -> list[int]:
    receiver_overloaded = (LARGEST_ALIGNED,) if load in OVERLOAD_LOADS else ()
    return sorted(p for p in [*UDP, *receiver_overloaded] if p >= LEAST_LATENCY_PAYLOAD)


def _rows(
    protocol: str,
    payload: int,
    load: Decimal,
    spreads: Mapping[str, Spread],
    options: Mapping[str, str] | None = None,
) -> Iterator[Row]:
    for metric, spread in spreads.items():
        yield Row(
            protocol=protocol,
            payload_bytes=payload,
            load_bps=load,
            cores=4,
            switches=0,
            endpoints=1,
            options={**NONBLOCKING, **(options or {})},
            metric=metric,
            value=spread.value,
            low=spread.low,
            high=spread.high,
            basis=spread.basis,
            source=spread.source,
        )


def _spread(value: Decimal, low: Decimal, high: Decimal, source: str) -> Spread:
    """Make an assumed number, rounded to 10 ns, with a range that contains it."""
    rounded = to_step(value, STEP)
    return Spread(
        rounded, min(to_step(low, STEP), rounded), max(to_step(high, STEP), rounded), source
    )


def _rise(load: Decimal, least: Decimal, most: Decimal) -> Decimal:
    """Interpolate linearly in the load, from ``least`` at 0.1 Gb/s to ``most`` at 9.4 Gb/s."""
    return least + (most - least) * (load - LOWEST_LOAD) / (HIGHEST_LOAD - LOWEST_LOAD)


# --- TCP --------------------------------------------------------------------------------------


def tcp(payload: int, load: Decimal) -> dict[str, Spread]:
    """Return the four latency metrics of TCP at a payload and load."""
    if not carried("tcp", payload, load):
        return _tcp_overload(payload)
    if payload == LARGEST_TCP and load == TABLE_LOAD:
        return {metric: _from_table(metric) for metric in METRICS}
    spreads = tcp_by_rule(payload, load)
    if payload == LARGEST_TCP and load == PREDICTED_LOADS[0]:
        return {**spreads, MEAN: _predicted_mean(), STD: _predicted_deviation()}
    return spreads


def tcp_by_rule(payload: int, load: Decimal) -> dict[str, Spread]:
    """Return latency metrics of TCP by rules R14 to R17, without tables 4-6 and 8-2."""
    least = minimum_latency_s("tcp", payload)
    offset = _rise(load, stated("tcp least offset"), stated("tcp most offset"))
    above = _rise(load, stated("tcp least minimum offset"), stated("tcp most minimum offset"))
    low = least + stated("tcp least offset in conclusion")
    high = least + stated("tcp most offset")
    if load == HIGHEST_LOAD:
        high = stated("tcp most mean")
    return {
        MEAN: _spread(least + offset, low, high, rule(14, "IC2012 §6.2.1")),
        STD: _deviation(load),
        MIN: _spread(
            least + above, low, least + stated("tcp most minimum offset"), rule(16, "IC2012 §6.2.1")
        ),
        MAX: _maximum(load),
    }


def _deviation(load: Decimal) -> Spread:
    """Return the deviation of both protocols by README rule R15: 5 to 40 µs, linear in the load."""
    value = _rise(load, 5 * US, 40 * US)
    return _spread(value, value / 3, value * 3, rule(15, "IC2012 §6.2.1"))


def _maximum(load: Decimal) -> Spread:
    """Return the maximum by README rule R17, for both protocols.

    It is under 0.6 ms; the conclusion states 1 ms.
    """
    value = _rise(load, MS / 4, stated("tcp most maximum") - MS / 10)
    high = stated("tcp most maximum in conclusion")
    return _spread(value, value / 2, high, rule(17, "IC2012 §6.2.1"))


def _from_table(metric: str) -> Spread:
    """Return a metric by README rule R18: table 4-6 at 65500 B, corrected by theory to 65535 B."""
    longer = minimum_latency_s("tcp", LARGEST_TCP)
    more = longer - minimum_latency_s("tcp", tables.LATENCY_PAYLOAD)
    if metric == STD:
        more = Decimal(0)
    value, low, high = (end + more for end in tables.rule_18_point(metric))
    return Spread(value, low, high, tables.RULE_18, "derived")


def _predicted_mean() -> Spread:
    """Return the mean at 2.5 Gb/s by README rule R19, from table 8-2 and the 5 Gb/s row."""
    upper = tcp_by_rule(LARGEST_TCP, PREDICTED_LOADS[1])[MEAN]
    return _predicted(prediction.mean_latency(), upper)


def _predicted_deviation() -> Spread:
    return _predicted(prediction.deviation(), _deviation(PREDICTED_LOADS[1]))


def _predicted(target: Decimal, upper: Spread) -> Spread:
    """Return the row of the lower load; its range follows from the range of the assumed row."""
    value, low, high = (
        prediction.lower_row(target, end, PREDICTED_LOADS)
        for end in (upper.value, upper.high, upper.low)
    )
    low, high = (to_step(max(end, Decimal(0)), STEP) for end in (low, high))
    return Spread(value, low, high, prediction.SOURCE, "derived")


def _tcp_overload(payload: int) -> dict[str, Spread]:
    """Return latency metrics by README rule R20: full buffers, independent of the load."""
    source = rule(20, "IC2012 §6.2.1")
    least_mean, most_mean = stated("tcp least overload mean"), stated("tcp most overload mean")
    mean, deviation = (least_mean + most_mean) / 2, MS / 2
    low = least_mean
    if payload >= DROP[1]:
        low, most_mean = stated("tcp most mean"), least_mean
        mean, deviation = Decimal("1.2") * MS, Decimal("0.3") * MS
    least = minimum_latency_s("tcp", payload)
    _, most = rounding("tcp overall maximum")
    return {
        MEAN: _spread(mean, low, most_mean, source),
        STD: _spread(deviation, deviation / 5, deviation * 3, source),
        MIN: _spread(
            least + stated("tcp most minimum offset"),
            least + stated("tcp least minimum offset"),
            mean,
            source,
        ),
        MAX: _spread(stated("tcp overall maximum"), mean, most, source),
    }


def tcp_without_nagle(payload: int, load: Decimal) -> Spread:
    """Return the mean latency without Nagle by README rule R24.

    Below capacity the offset is halved. In overload the mean is greater below 1024 B, otherwise
    less.
    """
    source = rule(24, "IC2012 §6.4.2")
    if carried("tcp", payload, load, "off"):
        least = minimum_latency_s("tcp", payload)
        on = tcp_by_rule(payload, load)[MEAN]
        value = least + (on.value - least) / 2
        return _spread(value, max(least, stated("least mean of all")), on.high, source)
    on = _tcp_overload(payload)[MEAN]
    change = Decimal("0.25") * MS
    if payload < 1024:
        return _spread(on.value + change, on.value, stated("tcp overall maximum"), source)
    return _spread(on.value - change, stated("tcp most mean"), on.value, source)


# --- UDP --------------------------------------------------------------------------------------


def udp(payload: int, load: Decimal) -> dict[str, Spread]:
    """Return the four latency metrics of UDP at a payload and load."""
    if payload in (LARGEST_ALIGNED, LARGEST_UDP) and load in OVERLOAD_LOADS:
        source = rule(23, "IC2012 §6.2.2")
        held = udp_by_rule(payload, HIGHEST_LOAD)
        return {
            metric: Spread(spread.value, spread.low, spread.high, source)
            for metric, spread in held.items()
        }
    if not carried("udp", payload, load):
        return _udp_overload(payload)
    return udp_by_rule(payload, load)


def udp_by_rule(payload: int, load: Decimal) -> dict[str, Spread]:
    """Return latency metrics: mean and minimum by rule R21, deviation by R15, maximum by R17."""
    least = minimum_latency_s("udp", payload)
    smallest, greatest = stated("udp least offset"), stated("udp most offset")
    offset = udp_offset(payload, load)
    share = (stated("udp most minimum offset") - smallest) / (greatest - smallest)
    above = smallest + (offset - smallest) * share
    source = rule(21, "IC2012 §6.2.2")
    return {
        MEAN: _spread(least + offset, least + smallest, least + greatest, source),
        STD: _deviation(load),
        MIN: _spread(
            least + above, least + smallest, least + stated("udp most minimum offset"), source
        ),
        MAX: _maximum(load),
    }


def udp_offset(payload: int, load: Decimal) -> Decimal:
    """Return the offset by README rule R21: with it, 65507 B takes 120 µs more than 1472 B."""
    span = LARGEST_UDP - LEAST_LATENCY_PAYLOAD
    theory = minimum_latency_s("udp", LARGEST_UDP) - minimum_latency_s("udp", 1472)
    by_payload = (stated("udp large over small") - theory) * span / (LARGEST_UDP - 1472)
    smallest = stated("udp least offset")
    by_load = _rise(load, smallest, stated("udp most offset") - by_payload)
    return by_load + by_payload * (payload - LEAST_LATENCY_PAYLOAD) / span


def _udp_overload(payload: int) -> dict[str, Spread]:
    """Return latency metrics by README rule R22: the sender's buffers are full."""
    source = rule(22, "IC2012 §6.2.2")
    mean, deviation = stated("udp overload mean"), stated("udp overload deviation")
    least = minimum_latency_s("udp", payload)
    return {
        MEAN: _spread(mean, least + stated("udp most offset"), mean, source),
        STD: _spread(deviation, deviation / 10, deviation * Decimal("1.5"), source),
        MIN: _spread(
            least + stated("udp most minimum offset"),
            least + stated("udp least offset"),
            mean,
            source,
        ),
        MAX: _spread(mean + 5 * deviation, mean, 4 * mean, source),
    }
