"""Checks of one result for contradictions and impossible numbers.

Each check gives a sentence for every problem; any problem refuses the file.  Numbers are compared as
the intervals they may have been rounded from.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from icmodel import units
from icmodel.dataset import RATIOS, Interconnect
from icmodel.ingest.printed import Printed
from icmodel.ingest.result import Result, printed_of
from icmodel.ingest.slips import hint
from icmodel.ingest.wire import beyond_wire

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
"""The least possible value of each label."""
WHOLE = 4 / 3
"""Least ratio of a round trip to the one-way latency, since the way back takes time too."""
OVERSHOOT = 1.5
"""Greatest ratio of goodput to offered load: more means that the sender was not paced."""
PRODUCT = 0.03
"""Relative tolerance of payload × rate against goodput: they may have different windows."""
REPEATS = 2.0
"""Greatest ratio between repeats of one point."""


_rate, _time = partial(units.format_bps, digits=6), partial(units.format_seconds, digits=6)


def _said(metric: object, value: float) -> str:
    return units.format_quantity(str(metric), value, 6)


def problems(result: Result, link: Interconnect | None) -> Iterator[str]:
    """A sentence for each problem of one result, the most obvious first."""
    yield from _no_point(result)
    yield from _impossible(result)
    yield from _product(result)
    yield from _ends(result)
    yield from _load(result)
    yield from _order(result)
    yield from _trips(result)
    yield from beyond_wire(result, link)


def _no_point(result: Result) -> Iterator[str]:
    """Problems of labels and ranges that no row can have."""
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
        if number.printed.high < low or number.printed.low > high:
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
        elif (
            number.metric in RATIOS or number.metric.endswith("_host")
        ) and number.printed.low > 1:
            yield (
                f"{number.metric} is {number.value:g}, more than the whole: per cent taken for a "
                "share, or busy cores for a utilisation"
            )
        elif (
            number.cpu_scope == "process"
            and result.limits.most_cores is not None
            and number.printed.low > result.limits.most_cores
        ):
            yield (
                f"{number.metric} is {number.value:.4g} busy cores, and {result.origin.tool} has threads "
                f"for {result.limits.most_cores:.2g}: its CPU is wrong in short or broken runs"
            )


def _product(result: Result) -> Iterator[str]:
    """Frames per second times payload must be the goodput."""
    goodput, rate = _known(result, "goodput_bps"), _known(result, "frames_per_s")
    payload = result.labels.payload_bytes
    if goodput is None or rate is None or not payload:
        return
    product = rate * (8 * payload)
    if not goodput.meets(product, PRODUCT):
        yield (
            f"{rate.value:.6g} frames/s of {payload} B are {_rate(product.value)}, and it says a "
            f"goodput of {_rate(goodput.value)}{hint(goodput.value, product.value, 'goodput_bps')}"
        )


def _ends(result: Result) -> Iterator[str]:
    goodput, sent = _known(result, "goodput_bps"), _known(result, "sent_bps")
    if goodput and sent and goodput.low > result.limits.windows * sent.high:
        yield (
            f"{_rate(goodput.value)} arrived and only {_rate(sent.value)} were sent: sender and "
            "receiver are swapped, or one of them is in another unit"
        )


def _known(result: Result, metric: str) -> Printed | None:
    """A metric of a result; none if it is missing or 0."""
    number = printed_of(result.numbers, metric)
    return number if number is not None and number.value > 0 else None


def _load(result: Result) -> Iterator[str]:
    """Sent and received rates must not exceed the offered load."""
    load = result.labels.load_bps
    if not load or math.isinf(load):
        return
    for metric in ("goodput_bps", "sent_bps"):
        flow = _known(result, metric)
        if flow is not None and flow.low > OVERSHOOT * load:
            yield (
                f"{metric} {_rate(flow.value)} is above the load of {_rate(load)} it was held to"
                f"{hint(flow.value, load, metric)}"
            )


def _order(result: Result) -> Iterator[str]:
    """Quantiles must ascend, and the mean must lie between minimum and maximum."""
    for family in FAMILIES:
        values = {
            name: printed_of(result.numbers, f"{family}_{name}_s") for name in (*QUANTILES, "mean")
        }
        known = [(name, value) for name in QUANTILES if (value := values[name]) is not None]
        for (low, a), (high, b) in pairwise(known):
            if a.low > b.high:
                yield (
                    f"{family}_{low}_s {_time(a.value)} is above {family}_{high}_s "
                    f"{_time(b.value)}: the columns are swapped, or one is in another unit"
                )
        mean = values["mean"]
        for name, above in (("min", False), ("max", True)):
            edge = values[name]
            if mean is None or edge is None:
                continue
            less, more = (edge, mean) if above else (mean, edge)
            if more.low > less.high:
                yield (
                    f"{family}_mean_s {_time(mean.value)} is {'above' if above else 'below'} "
                    f"{family}_{name}_s {_time(edge.value)}: one of them is in another unit or "
                    "swapped"
                )


def _trips(result: Result) -> Iterator[str]:
    """One-way latency and half round trips must be clearly shorter than round trips."""
    for family in ("rtt_half", "latency"):
        for name in ("mean", "min", "p50"):
            part = _known(result, f"{family}_{name}_s")
            whole = _known(result, f"rtt_{name}_s")
            if part and whole and whole.high < WHOLE * part.low:
                yield (
                    f"{family}_{name}_s {_time(part.value)} is as long as the round trip "
                    f"rtt_{name}_s {_time(whole.value)}: a round trip is labelled as half of one or one-way, or the "
                    "labels are swapped"
                )


def point_of(result: Result) -> tuple[object, ...]:
    """The key of a result's point: all axes, without the metric."""
    kinds = tuple(sorted({number.metric for number in result.numbers}))
    return (*result.labels.place, result.streams, *result.hosts, kinds)


def unlike(results: Sequence[Result]) -> Iterator[str]:
    """A sentence for each metric whose repeats at one point of a file differ by more than ``REPEATS``."""
    points: dict[tuple[object, ...], list[Printed]] = defaultdict(list)
    for result in results:
        for number in result.numbers:
            if number.metric.endswith(("goodput_bps", "sent_bps", "frames_per_s", "_mean_s")):
                points[(*point_of(result), number.metric)].append(number.printed)
    for key, values in points.items():
        least, most = min(one.high for one in values), max(one.low for one in values)
        if most > REPEATS * least:
            known = [one.value for one in values]
            yield (
                f"{key[-1]} of one point runs from {_said(key[-1], min(known))} to "
                f"{_said(key[-1], max(known))} in it: "
                "its results are no repeats but streams at the same time, or runs of different "
                "kinds, so keep each kind in a file of its own with its labels, or label its runs "
                '(["FILE#1"], ["FILE#2"])'
            )
