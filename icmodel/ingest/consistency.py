"""Consistency checks of a result: in itself, with the wire, with repeats, and with other files.

A result that contradicts itself or the line rate is refused.  A file that differs from the others gets a
remark only, since the others may be wrong and real curves have steps.  Many contradictions are mistaken
units, so messages name the likeliest one.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from statistics import median, median_high, median_low
from typing import NamedTuple

from icmodel import units
from icmodel.dataset import RATIOS, Interconnect
from icmodel.errors import ScenarioError
from icmodel.ingest.result import Printed, Result, printed_of
from icmodel.theory import ethernet

QUANTILES = ("min", "p50", "p90", "p99", "p999", "max")
LATENCIES = ("latency", "rtt_half", "rtt")
LEAST = {
    "payload_bytes": 1,
    "load_bps": 0,
    "cores": 1,
    "switches": 0,
    "endpoints": 1,
    "other_goodput_bps": 0,
    "host_cores": 1,
}
"""Least possible value of each label."""
WHOLE = 4 / 3
"""Least ratio of a round trip to the one-way latency, since the way back takes time too."""
OVERSHOOT = 1.5
"""Greatest ratio of goodput to offered load: more means that the sender had no rate limit."""
PRODUCT = 0.03
"""Relative tolerance between payload × rate and goodput, which may have different windows."""
REPEATS = 2.0
"""Greatest ratio between repeats of one point."""
ROUNDING = 1.005
"""Greatest ratio to a bound without a remark, since frames partly outside a window may count in full."""
CLOCK = 1.02
"""Greatest ratio to a bound with a remark: the tool's clock may cause it, but a wrong unit cannot."""

_rate_text = partial(units.format_bps, digits=6)
_time_text = partial(units.format_seconds, digits=6)


def _text(metric: object, value: float) -> str:
    return units.format_quantity(str(metric), value, 6)


# --- one result -------------------------------------------------------------------------------


def problems(result: Result, link: Interconnect | None) -> Iterator[str]:
    """A sentence for each contradiction in one result, the most obvious first."""
    yield from label_problems(result)
    yield from number_problems(result)
    yield from rate_problems(result)
    yield from latency_problems(result)
    yield from wire_problems(result, link)


def label_problems(result: Result) -> Iterator[str]:
    """Check the labels: one sentence for each label that no row can have."""
    for name, least in LEAST.items():
        value = getattr(result.labels, name)
        if value is not None and not value >= least:
            yield f"{name} is {value:g}, and the least there can be is {least}"
    for word in (result.labels.protocol or "", *result.labels.options.values()):
        if word != word.lower() or "," in word or not word.isprintable():
            yield f"{word!r} is no name for a protocol or option: lower case without commas"


def number_problems(result: Result) -> Iterator[str]:
    """Check the numbers: one sentence for each value that no measurement can have."""
    most_cores = result.limits.most_cores
    for number in result.numbers:
        metric, value, least = number.metric, number.value, number.printed.low
        low = value if number.low is None else number.low
        high = value if number.high is None else number.high
        if number.printed.high < low or least > high:
            yield (
                f"{metric} {_text(metric, value)} is not between its low "
                f"{_text(metric, low)} and high {_text(metric, high)}"
            )
        if number.n is not None and number.n < 1:
            yield f"{metric} is of {number.n} runs, and one is the least"
        if not math.isfinite(value) or value < 0:
            yield f"{metric} is {value:g}, and no such number can be below 0"
        elif (metric in RATIOS or metric.endswith("_host")) and least > 1:
            yield (
                f"{metric} is {value:g}, more than the whole: per cent taken for a "
                "share, or busy cores for a utilisation"
            )
        elif number.cpu_scope == "process" and most_cores is not None and least > most_cores:
            yield (
                f"{metric} is {value:.4g} busy cores, and {result.origin.tool} has threads "
                f"for {most_cores:.2g}: its CPU is wrong in short or broken runs"
            )


def rate_problems(result: Result) -> Iterator[str]:
    """Check the goodput against the frames per second, the sent rate and the offered load."""
    goodput, sent = _positive(result, "goodput_bps"), _positive(result, "sent_bps")
    frames, payload = _positive(result, "frames_per_s"), result.labels.payload_bytes
    if goodput and frames and payload:
        product = frames * (8 * payload)
        if not goodput.overlaps(product, PRODUCT):
            yield (
                f"{frames.value:.6g} frames/s of {payload} B are {_rate_text(product.value)}, and it says a "
                f"goodput of {_rate_text(goodput.value)}{hint(goodput.value, product.value, 'goodput_bps')}"
            )
    if goodput and sent and goodput.low > result.limits.windows * sent.high:
        yield (
            f"{_rate_text(goodput.value)} arrived and only {_rate_text(sent.value)} were sent: sender and "
            "receiver are swapped, or one of them is in another unit"
        )
    load = result.labels.load_bps or math.inf
    for metric, rate in (("goodput_bps", goodput), ("sent_bps", sent)):
        if rate and rate.low > OVERSHOOT * load:
            yield (
                f"{metric} {_rate_text(rate.value)} is above the load of {_rate_text(load)} that limited it"
                f"{hint(rate.value, load, metric)}"
            )


def latency_problems(result: Result) -> Iterator[str]:
    """Check that quantiles ascend, means lie within the extremes, and round trips exceed one-way latencies."""
    for name in LATENCIES:
        times = {
            part: printed_of(result.numbers, f"{name}_{part}_s") for part in (*QUANTILES, "mean")
        }
        ascending = [(part, time) for part in QUANTILES if (time := times[part]) is not None]
        for (low, a), (high, b) in pairwise(ascending):
            if a.low > b.high:
                yield (
                    f"{name}_{low}_s {_time_text(a.value)} is above {name}_{high}_s "
                    f"{_time_text(b.value)}: the columns are swapped, or one is in another unit"
                )
        mean, least, most = times["mean"], times["min"], times["max"]
        if mean and least and least.low > mean.high:
            yield _beyond(name, mean, "below", "min", least)
        if mean and most and mean.low > most.high:
            yield _beyond(name, mean, "above", "max", most)
    for name in ("rtt_half", "latency"):
        for part in ("mean", "min", "p50"):
            one_way = _positive(result, f"{name}_{part}_s")
            whole = _positive(result, f"rtt_{part}_s")
            if one_way and whole and whole.high < WHOLE * one_way.low:
                yield (
                    f"{name}_{part}_s {_time_text(one_way.value)} is as long as the round trip "
                    f"rtt_{part}_s {_time_text(whole.value)}: a round trip is labelled as half of one or one-way, or the "
                    "labels are swapped"
                )


def _beyond(name: str, mean: Printed, where: str, part: str, extreme: Printed) -> str:
    return (
        f"{name}_mean_s {_time_text(mean.value)} is {where} {name}_{part}_s {_time_text(extreme.value)}: "
        "one of them is in another unit or swapped"
    )


def _positive(result: Result, metric: str) -> Printed | None:
    """A metric of a result; ``None`` if it is missing or 0."""
    number = printed_of(result.numbers, metric)
    return number if number is not None and number.value > 0 else None


# --- wire -------------------------------------------------------------------------------------

_SPEED = re.compile(r"^[ \t]*Speed: (\d+)Mb/s[ \t]*$", re.M)
"""Pattern of the line rate in the output of ethtool."""
_PORT_RATE = re.compile(
    r"^[ \t]*(?:Rate: (\d+)[ \t]*$|rate:[ \t]+(\d+) Gb/sec|active_speed: .*\((\d+)\)[ \t]*$)", re.M
)
"""Pattern of the line rate [Gb/s] in the output of ibstat and ibstatus."""


def stated_link(text: str, link: Interconnect | None) -> Interconnect | None:
    """Interconnect stated by the user; if its line rate is missing, the rate is read from ``text``."""
    if link is not None and link.line_rate_bps is not None:
        return link
    rates = [1e6 * float(mb) for mb in _SPEED.findall(text)]
    rates += [1e9 * float(next(filter(None, groups))) for groups in _PORT_RATE.findall(text)]
    if not rates:
        return link
    return replace(link or Interconnect(kind=""), line_rate_bps=max(rates))


def wire_problems(result: Result, link: Interconnect | None) -> Iterator[str]:
    """Rates above the line rate, and latencies below the transmission time of the payload."""
    for metric, value, bound, sentence in _above(result, link, CLOCK):
        yield f"{sentence}{hint(value, bound, metric)}"
    payload = result.labels.payload_bytes
    if link is None or link.line_rate_bps is None or payload is None:
        return
    _, least_s = _bounds(result, link, link.line_rate_bps)
    for name, trips in (("latency", 1), ("rtt_half", 1), ("rtt", 2)):
        for part in ("min", "p50", "mean"):
            metric, bound_s = f"{name}_{part}_s", trips * least_s
            time = printed_of(result.numbers, metric)
            if time is not None and time.high < bound_s / ROUNDING:
                yield (
                    f"{metric} {_time_text(time.value)} is below the {_time_text(bound_s)} that "
                    f"{payload} B take on the wire{hint(time.value, bound_s, metric)}"
                )
                break


def line_rate_remarks(result: Result, link: Interconnect | None) -> Iterator[str]:
    """A remark on each rate that is accepted although slightly above the line rate."""
    for *_, sentence in _above(result, link, ROUNDING):
        yield (
            f"{sentence}: up to {CLOCK - 1:.0%} may be the clock of the tool, so it is taken; look at "
            "how long the run was"
        )


def _above(
    result: Result, link: Interconnect | None, slack: float
) -> Iterator[tuple[str, float, float, str]]:
    """Metric, value and bound [b/s], and a sentence, for each rate above ``slack`` times the bound."""
    if link is None or link.line_rate_bps is None:
        return
    bound, _ = _bounds(result, link, link.line_rate_bps)
    line = f"a line of {_rate_text(link.line_rate_bps)} carries of {result.labels.protocol}"
    for metric in ("goodput_bps", "sent_bps"):
        rate = printed_of(result.numbers, metric)
        if rate is not None and rate.low > slack * bound:
            sentence = (
                f"{metric} {_rate_text(rate.value)} is above the {_rate_text(bound)} that {line}"
            )
            yield metric, rate.value, bound, sentence


def _bounds(result: Result, link: Interconnect, line_rate_bps: float) -> tuple[float, float]:
    """The greatest goodput [b/s] and the least latency [s] of a result's payload.

    Framing is known for Ethernet only. If the MTU is unknown, the largest MTU is assumed, so that the bound is not too
    low.
    """
    protocol, payload = result.labels.protocol, result.labels.payload_bytes
    bits_alone_s = 8 * (payload or 0) / line_rate_bps
    if link.kind not in ("", "ethernet") or protocol not in ("tcp", "udp", "ethernet"):
        return line_rate_bps, bits_alone_s
    mtu = link.mtu_bytes or ethernet.MAX_MTU_BYTES
    try:
        framing = ethernet.Framing(
            protocol, mtu, ip_version=link.ip_version, timestamps=link.tcp_timestamps
        )
    except ScenarioError:
        return line_rate_bps, bits_alone_s
    most = ethernet.stream_goodput_bps(framing, line_rate_bps)
    if payload is None:
        return most, 0.0
    try:
        if protocol != "tcp":
            most = float(ethernet.max_goodput_bps(payload, framing, line_rate_bps))
        return most, float(ethernet.min_latency_s(payload, framing, line_rate_bps))
    except ScenarioError:
        return most, bits_alone_s


# --- repeats ----------------------------------------------------------------------------------


def point_of(result: Result) -> tuple[object, ...]:
    """Key of a result's point: all axes, and the metrics that the result has."""
    kinds = tuple(sorted({number.metric for number in result.numbers}))
    return (*result.labels.place, result.streams, *result.hosts, kinds)


def repeat_problems(results: Sequence[Result]) -> Iterator[str]:
    """A sentence for each metric whose repeats at one point of a file differ by more than ``REPEATS``."""
    points: dict[tuple[object, ...], list[Printed]] = defaultdict(list)
    for result in results:
        for number in result.numbers:
            if number.metric.endswith(("goodput_bps", "sent_bps", "frames_per_s", "_mean_s")):
                points[(*point_of(result), number.metric)].append(number.printed)
    for key, numbers in points.items():
        least, most = min(one.high for one in numbers), max(one.low for one in numbers)
        if most > REPEATS * least:
            values = [one.value for one in numbers]
            yield (
                f"{key[-1]} of one point runs from {_text(key[-1], min(values))} to "
                f"{_text(key[-1], max(values))} in it: "
                "its results are no repeats but streams at the same time, or runs of different "
                "kinds, so keep each kind in a file of its own with its labels, or label its runs "
                '(["FILE#1"], ["FILE#2"])'
            )


# --- files ------------------------------------------------------------------------------------

RATES = ("goodput_bps", "sent_bps", "frames_per_s")
TIMES = ("_mean_s", "_p50_s", "_min_s")
"""Endings of the latency metrics that are compared; higher quantiles scatter too much."""
NEAREST = 5
"""Number of nearest payloads of the other files through which the line is fitted."""
REACH = 4.0
"""Greatest ratio of payloads by which the line is extrapolated."""
LEAST_PAYLOADS = 3
"""Least number of payloads for a line; with fewer payloads, only runs of the same payload are compared."""
CLEAR = 3.0
"""Factor by which a log ratio must exceed the scatter of the other files."""
SCATTER_FILES = 3
"""Least number of other files for estimating the scatter of a metric."""
AGREE = 0.75
"""Share of a file's numbers of one kind that must differ by the same factor."""

Curve = tuple[object, ...]
"""Key of a curve over the payload: metric, protocol and the other axes."""
Logs = Mapping[int, Mapping[str, float]]
"""Logarithm of the value, by payload [B] and file."""


class Deviation(NamedTuple):
    """A number of a file, and the value expected from the other files."""

    file: str
    metric: str
    protocol: object
    payload_bytes: int
    value: float
    expected: float
    repeated: bool
    """Whether other files measured the same payload."""

    @property
    def ratio(self) -> float:
        """Number divided by the expected value."""
        return self.value / self.expected

    @property
    def size(self) -> float:
        """The absolute log ratio of the number to the expected value."""
        return abs(math.log(self.ratio))


def remarks(results: Mapping[str, Sequence[Result]]) -> tuple[str, ...]:
    """A sentence on each file that differs from the others by the factor of a mistaken unit.

    With two files only, both are named, since either may be right.
    """
    kinds: dict[tuple[str, str], list[Deviation]] = defaultdict(list)
    scatter: dict[tuple[str, object], list[Deviation]] = defaultdict(list)
    for one in _deviations(results):
        kinds[one.file, family(one.metric)].append(one)
        scatter[one.metric, one.protocol].append(one)
    sentences = []
    for (file, of), own in kinds.items():
        steady = []
        for one in own:
            others = [other for other in scatter[one.metric, one.protocol] if other.file != file]
            is_clear = len({other.file for other in others}) < SCATTER_FILES or (
                one.size > CLEAR * median(other.size for other in others)
            )
            if is_clear and slip_of(one.ratio, of):
                steady.append(one)
        slip = _agreed_slip(own, steady, of)
        if slip is not None:
            one = steady[0]
            mine, theirs = (
                units.format_quantity(one.metric, value, 4) for value in (one.value, one.expected)
            )
            sentences.append(
                f"{file}: its {one.metric} at {one.payload_bytes} B of {mine} is {one.ratio:.3g} "
                f"times what the other files say (about {theirs}), which looks like "
                f"{slip_words(slip, one.metric, one.ratio)}; it is taken: look at it"
            )
    return tuple(sentences)


def _agreed_slip(
    deviations: Sequence[Deviation], steady: Sequence[Deviation], of: str
) -> Slip | None:
    """The known factor by which most numbers of a file are off, if any.

    Round trips are compared only with runs of the same payload, and only in the usual direction of the mistake. So a
    slow
    run, with half and whole round trips twice as long, is not counted as mistaken.
    """
    if not steady:
        return None
    middle = math.exp(median(math.log(one.ratio) for one in steady))
    slip = slip_of(middle, of)
    if slip is None or (
        slip is ROUND_TRIP
        and not all(one.repeated and not is_rare_trip(one.metric, one.ratio) for one in deviations)
    ):
        return None
    near = math.log(slip.factor) / 3
    agreeing = [one for one in deviations if abs(math.log(one.ratio / middle)) < near]
    return slip if len(agreeing) >= AGREE * len(deviations) else None


def _deviations(results: Mapping[str, Sequence[Result]]) -> Iterator[Deviation]:
    """Each number with the value expected from other files, at the same payload or on a fitted line."""
    for curve, logs in _curves(results).items():
        middles = {payload: median(at.values()) for payload, at in logs.items()}
        for payload, at in logs.items():
            for file, mine in at.items():
                repeats = [value for name, value in at.items() if name != file]
                expectations = [*_on_line(file, payload, logs, middles)]
                if repeats:
                    expectations += [median_low(repeats), median_high(repeats)]
                if expectations:
                    expected = min(expectations, key=lambda log: abs(log - mine))
                    values = (math.exp(mine), math.exp(expected))
                    yield Deviation(file, str(curve[0]), curve[1], payload, *values, bool(repeats))


def _curves(results: Mapping[str, Sequence[Result]]) -> dict[Curve, dict[int, dict[str, float]]]:
    """Values to compare, by curve; each pair of hosts has its own curves."""
    pairs = {result.hosts for some in results.values() for result in some}
    apart = len([pair for pair in pairs if all(pair)]) > 1
    curves: dict[Curve, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for file, some in results.items():
        for result in some:
            payload = result.labels.payload_bytes
            any_payload = replace(result.labels, payload_bytes=None)
            where = (*any_payload.place, result.streams, result.hosts if apart else ())
            for number in result.numbers:
                is_time = number.metric.startswith(("latency_", "rtt_"))
                is_compared = number.metric.endswith(RATES) or (
                    is_time and number.metric.endswith(TIMES)
                )
                if payload and number.value > 0 and is_compared:
                    curves[number.metric, *where][payload][file] = math.log(number.value)
    return curves


def _on_line(
    file: str, payload: int, logs: Logs, middles: Mapping[int, float]
) -> tuple[float, ...]:
    """The logarithm expected at a payload from a robust line through the other files' nearest payloads.

    Its slope is the median of the slopes of all pairs (Theil, 1950; Sen, 1968).
    """
    others = {place: middle for place, middle in middles.items() if place != payload}
    for place in [place for place in others if file in logs[place]]:
        rest = [value for name, value in logs[place].items() if name != file]
        if rest:
            others[place] = median(rest)
        else:
            del others[place]
    near = sorted(others, key=lambda place: abs(math.log(place / payload)))[:NEAREST]
    if len(near) < LEAST_PAYLOADS or not min(near) / REACH <= payload <= max(near) * REACH:
        return ()
    slope = median(
        (others[one] - others[two]) / math.log(one / two) for one, two in combinations(near, 2)
    )
    return (median(others[place] + slope * math.log(payload / place) for place in near),)


# --- mistaken units ---------------------------------------------------------------------------


class Slip(NamedTuple):
    """A typical mistake in a unit, with factor and description."""

    factor: float
    words: str


_PREFIX = Slip(1e3, "a prefix too much or too little, such as ms for us")
_TWO = Slip(1e6, "two prefixes too much or too little, such as s for us")
_THREE = Slip(1e9, "three prefixes too much or too little, such as s for ns")
ROUND_TRIP = Slip(2.0, "a whole round trip labelled as half of one, or one-way")
BITS = "bits"
TIME = "time"
COUNT = "count"
SLIPS: Mapping[str, tuple[Slip, ...]] = {
    BITS: (
        Slip(8.0, "bits taken for bytes or bytes for bits"),
        Slip(125.0, "bytes for bits one way and a prefix the other"),
        _PREFIX,
        Slip(8e3, "bits for bytes and a prefix besides"),
        _TWO,
        Slip(8e6, "bits for bytes and two prefixes besides"),
        _THREE,
    ),
    TIME: (ROUND_TRIP, _PREFIX, _TWO, _THREE),
    COUNT: (_PREFIX, _TWO),
}
"""Possible mistakes for each family of metrics."""
NEAR = math.log(1.6)
"""Greatest log distance between a ratio and the factor of a mistake, to allow for scatter."""


def family(metric: str) -> str:
    """Family of a metric (bits, time or count), which determines the possible mistakes."""
    if metric.endswith("_bps"):
        return BITS
    return COUNT if metric.endswith("_per_s") else TIME


def slip_of(ratio: float, of: str) -> Slip | None:
    """The slip of a family whose factor is near the ratio of a value to its expectation, if any.

    >>> slip_of(7.9, BITS).words
    'bits taken for bytes or bytes for bits'
    """
    if not 0 < ratio < math.inf:
        return None
    size = abs(math.log(ratio))
    nearest = min(SLIPS[of], key=lambda slip: abs(size - math.log(slip.factor)))
    distance = abs(size - math.log(nearest.factor))
    return nearest if distance < min(NEAR, math.log(nearest.factor) / 3) else None


def is_rare_trip(metric: str, ratio: float) -> bool:
    """Whether a time is off by a factor of 2 in the direction of a rare mistake.

    The usual mistake confuses half and whole round trips, so that halves are too long and wholes too short. The rare
    mistake halves or doubles a value twice.
    """
    return (ratio > 1) is not _is_half(metric)


def _is_half(metric: str) -> bool:
    return metric.startswith(("rtt_half_", "latency_"))


def slip_words(slip: Slip, metric: str, ratio: float) -> str:
    """A description of the mistake of a value that is ``ratio`` times the right one."""
    if slip is not ROUND_TRIP:
        return slip.words
    if _is_half(metric):
        return slip.words if ratio > 1 else "half of a round trip, or one way, halved once more"
    return (
        "a whole round trip doubled once more"
        if ratio > 1
        else "half of a round trip labelled as a whole one"
    )


def hint(value: float, limit: float, metric: str) -> str:
    """End of a sentence that names the likeliest unit mistake for a value beyond a limit."""
    ratio = value / limit
    slip = slip_of(ratio, family(metric))
    if slip is not None:
        return f"; it is {ratio:.3g} times what it should be: {slip_words(slip, metric, ratio)}"
    return "; look at its unit (b or B, k or Ki, us or ms) and at the labels"
