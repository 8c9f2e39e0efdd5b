"""Checks of one result: what contradicts itself, the wire, or what a number can be.

Each check gives a sentence for what is wrong, or nothing. What is found refuses the file.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from icmodel import units
from icmodel.dataset import AXES, RATIOS, Interconnect
from icmodel.errors import ScenarioError
from icmodel.ingest.result import Result, value_of
from icmodel.ingest.slips import hint
from icmodel.theory import ethernet

QUANTILES = ("min", "p50", "p90", "p99", "p999", "max")
FAMILIES = ("latency", "rtt_half", "rtt")
LEAST = {
    "payload_bytes": 1,
    "load_bps": 0,
    "cores": 1,
    "switches": 0,
    "endpoints": 1,
    "other_goodput_bps": 0,
    "host_cores": 1,
}
"""The least value each label can have."""
WHOLE = 4 / 3
"""A round trip is at least this much longer than the way there: the way back takes time too."""
ROUNDING = 1.005
"""A count over a short window may lie that much over a bound: its ends are not frames' ends."""
OVERSHOOT = 1.5
"""Pacing keeps a mean rate: what is that far above its load was not held to it."""
PRODUCT = 0.03
"""How far payload x rate may lie from the goodput: both are rounded, and three digits round most."""
REPEATS = 2.0
"""Repeats of one point that lie further apart than this are not of one point."""


_rate, _time = partial(units.format_bps, digits=6), partial(units.format_seconds, digits=6)


def _said(metric: object, value: float) -> str:
    return units.format_quantity(str(metric), value, 6)


def problems(result: Result, link: Interconnect | None) -> Iterator[str]:
    """A sentence for each contradiction of one result, the plainest first."""
    yield from _no_point(result)
    yield from _impossible(result)
    yield from _product(result)
    yield from _ends(result)
    yield from _load(result)
    yield from _order(result)
    yield from _trips(result)
    if link is not None and link.line_rate_bps is not None:
        yield from _wire(result, link, link.line_rate_bps)


def _no_point(result: Result) -> Iterator[str]:
    """Labels and ranges that no row can have."""
    for name, least in LEAST.items():
        value = getattr(result.labels, name)
        if value is not None and not value >= least:
            yield f"{name} is {value:g}, and the least there can be is {least}"
    protocol = result.labels.protocol or ""
    for word in (protocol, *result.labels.options.values()):
        if word != word.lower() or "," in word or not word.isprintable():
            yield f"{word!r} is no name for a protocol or option: lower case without commas"
    for number in result.numbers:
        low = number.value if number.low is None else number.low
        high = number.value if number.high is None else number.high
        if number.value < low or number.value > high:
            yield (
                f"{number.metric} {_said(number.metric, number.value)} is not between its low "
                f"{_said(number.metric, low)} and high {_said(number.metric, high)}"
            )
        if number.n is not None and number.n < 1:
            yield f"{number.metric} is of {number.n} runs, and one is the least"


def _impossible(result: Result) -> Iterator[str]:
    for number in result.numbers:
        if not math.isfinite(number.value) or number.value < 0:
            yield f"{number.metric} is {number.value:g}, and no such number can be below 0"
        elif (number.metric in RATIOS or number.metric.endswith("_host")) and number.value > 1:
            yield (
                f"{number.metric} is {number.value:g}, more than the whole: per cent taken for a "
                "share, or busy cores for a utilisation"
            )
        elif (
            number.cpu_scope == "process"
            and result.most_cores is not None
            and number.value > result.most_cores
        ):
            yield (
                f"{number.metric} is {number.value:.4g} busy cores, and {result.tool} has threads "
                f"for {result.most_cores:.2g}: its CPU is wrong in short or broken runs"
            )


def _product(result: Result) -> Iterator[str]:
    """Frames per second times their size must be the goodput."""
    goodput, rate = (
        value_of(result.numbers, "goodput_bps"),
        value_of(result.numbers, "frames_per_s"),
    )
    payload = result.labels.payload_bytes
    if not goodput or not rate or not payload:
        return
    product = 8 * payload * rate
    if abs(goodput / product - 1) > PRODUCT:
        yield (
            f"{rate:.6g} frames/s of {payload} B are {_rate(product)}, and it says a goodput of "
            f"{_rate(goodput)}{hint(goodput, product, 'goodput_bps')}"
        )


def _ends(result: Result) -> Iterator[str]:
    goodput, sent = value_of(result.numbers, "goodput_bps"), value_of(result.numbers, "sent_bps")
    if goodput and sent and goodput > result.windows * sent:
        yield (
            f"{_rate(goodput)} arrived and only {_rate(sent)} were sent: sender and receiver are "
            "swapped, or one of them is in another unit"
        )


def _load(result: Result) -> Iterator[str]:
    """What was sent or arrived is not above the load the run was held to."""
    load = result.labels.load_bps
    if not load or math.isinf(load):
        return
    yield from _above(result, load, OVERSHOOT, f"the load of {_rate(load)} it was held to")


def _above(result: Result, most_bps: float, slack: float, what: str) -> Iterator[str]:
    """A sentence for what was sent or arrived above ``slack`` times the most there can be."""
    for metric in ("goodput_bps", "sent_bps"):
        value = value_of(result.numbers, metric)
        if value is not None and value > slack * most_bps:
            yield f"{metric} {_rate(value)} is above {what}{hint(value, most_bps, metric)}"


def _order(result: Result) -> Iterator[str]:
    """Quantiles rise, and the mean lies between least and greatest."""
    for family in FAMILIES:
        values = {
            name: value_of(result.numbers, f"{family}_{name}_s") for name in (*QUANTILES, "mean")
        }
        known = [(name, values[name]) for name in QUANTILES if values[name] is not None]
        for (low, a), (high, b) in pairwise(known):
            if a is not None and b is not None and a > b:
                yield (
                    f"{family}_{low}_s {_time(a)} is above {family}_{high}_s {_time(b)}: the columns "
                    "are swapped, or one is in another unit"
                )
        mean = values["mean"]
        for name, above in (("min", False), ("max", True)):
            edge = values[name]
            if mean is not None and edge is not None and (mean > edge) is above and mean != edge:
                yield (
                    f"{family}_mean_s {_time(mean)} is {'above' if above else 'below'} "
                    f"{family}_{name}_s {_time(edge)}: one of them is in another unit or swapped"
                )


def _trips(result: Result) -> Iterator[str]:
    """One way, or half a round trip, is not as long as the whole."""
    for family in ("rtt_half", "latency"):
        for name in ("mean", "min", "p50"):
            part = value_of(result.numbers, f"{family}_{name}_s")
            whole = value_of(result.numbers, f"rtt_{name}_s")
            if part and whole and whole < WHOLE * part:
                yield (
                    f"{family}_{name}_s {_time(part)} is as long as the round trip rtt_{name}_s "
                    f"{_time(whole)}: a round trip is labelled as half of one or one-way, or the "
                    "labels are swapped"
                )


def point_of(result: Result) -> tuple[object, ...]:
    """All that tells one point from another, but the metric."""
    axes = (getattr(result.labels, name) for name in AXES)
    options = tuple(sorted(result.labels.options.items()))
    ends = (result.sender, result.receiver)
    kinds = tuple(sorted({number.metric for number in result.numbers}))
    return (*axes, options, result.streams, *ends, kinds)


def unlike(results: Sequence[Result]) -> Iterator[str]:
    """A sentence for results of one file that share a point and lie too far apart for repeats."""
    points: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for result in results:
        for number in result.numbers:
            if number.metric.endswith(("goodput_bps", "sent_bps", "frames_per_s", "_mean_s")):
                points[(*point_of(result), number.metric)].append(number.value)
    for key, values in points.items():
        if max(values) > REPEATS * min(values):
            yield (
                f"{key[-1]} of one point runs from {_said(key[-1], min(values))} to "
                f"{_said(key[-1], max(values))} in it: "
                "its results are no repeats but streams at the same time, or runs of different "
                "kinds, so keep each kind in a file of its own with its labels"
            )


# --- the wire ---------------------------------------------------------------------------------


def _wire(result: Result, link: Interconnect, line_rate_bps: float) -> Iterator[str]:
    payload, protocol = result.labels.payload_bytes, result.labels.protocol
    bound = _goodput_bound(link, protocol, payload, line_rate_bps)
    line = f"a line of {_rate(line_rate_bps)} carries of {protocol}"
    yield from _above(result, bound, ROUNDING, f"the {_rate(bound)} that {line}")
    if payload is None:
        return
    least = _latency_bound(link, protocol, payload, line_rate_bps)
    for family, trips in (("latency", 1), ("rtt_half", 1), ("rtt", 2)):
        for name in ("min", "p50", "mean"):
            value = value_of(result.numbers, f"{family}_{name}_s")
            if value is not None and value < trips * least / ROUNDING:
                yield (
                    f"{family}_{name}_s {_time(value)} is below the {_time(trips * least)} that "
                    f"{payload} B take on the wire{hint(value, trips * least, f'{family}_{name}_s')}"
                )
                break


def _framing(link: Interconnect, protocol: str | None) -> ethernet.Framing | None:
    """How the protocol is framed on Ethernet; none where this is no such pair.

    Where no MTU is said the largest stands, so that the bound is none too low.
    """
    if link.kind not in ("", "ethernet") or protocol not in ("tcp", "udp", "ethernet"):
        return None
    mtu = link.mtu_bytes or ethernet.MAX_MTU_BYTES
    try:
        return ethernet.Framing(
            protocol, mtu, ip_version=link.ip_version, timestamps=link.tcp_timestamps
        )
    except ScenarioError:
        return None


def _goodput_bound(
    link: Interconnect, protocol: str | None, payload: int | None, line_rate_bps: float
) -> float:
    framing = _framing(link, protocol)
    if framing is None:
        return line_rate_bps
    if payload is None or framing.protocol == "tcp":
        return ethernet.stream_goodput_bps(framing, line_rate_bps)
    try:
        return float(ethernet.max_goodput_bps(payload, framing, line_rate_bps))
    except ScenarioError:
        return ethernet.stream_goodput_bps(framing, line_rate_bps)


def _latency_bound(
    link: Interconnect, protocol: str | None, payload: int, line_rate_bps: float
) -> float:
    framing = _framing(link, protocol)
    if framing is not None:
        try:
            return float(ethernet.min_latency_s(payload, framing, line_rate_bps))
        except ScenarioError:
            pass
    return 8 * payload / line_rate_bps
