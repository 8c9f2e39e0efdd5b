"""Check ingested results for contradictions: within a result, with the line rate, among repeats, and between files.

A result that contradicts itself or the line rate is refused.  A file that differs from the others only gets a remark:
the others may be wrong, and real curves have steps.  Many contradictions come from mistaken units, so messages
name the likeliest unit mistake.
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
from icmodel.ranges import MOST
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
"""Least possible value of each label (condition of a run, such as its payload)."""
WHOLE = 4 / 3
"""Least plausible ratio of round-trip time to one-way latency, since the way back takes time too."""
OVERSHOOT = 1.5
"""Greatest plausible ratio of goodput to offered load; above it, the sender had no rate limit."""
PRODUCT = 0.03
"""Relative tolerance between payload × frame rate and goodput, which may be measured over different times."""
REPEATS = 2.0
"""Greatest plausible ratio between two repeats of one measured point."""
ROUNDING = 1.005
"""Greatest ratio of a value to its bound that is accepted without a remark.

It may exceed 1 a little, since frames that lie partly outside a measurement window may count in full.
"""
CLOCK = 1.02
"""Greatest ratio of a value to its bound that is accepted with a remark.

The tool's clock may cause such a ratio, but a wrong unit cannot.
"""

_rate_text = partial(units.format_bps, digits=6)
_time_text = partial(units.format_seconds, digits=6)


def _text(metric: object, value: float) -> str:
    return units.format_quantity(str(metric), value, 6)


# --- one result -------------------------------------------------------------------------------


def problems(result: Result, link: Interconnect | None) -> Iterator[str]:
    """Check one result for contradictions: yield one sentence for each.

    Sentences on impossible labels and numbers come first, then those on numbers that contradict each other, last those
    on numbers that contradict the line rate.
    """
    yield from label_problems(result)
    yield from number_problems(result)
    yield from rate_problems(result)
    yield from latency_problems(result)
    yield from wire_problems(result, link)


def label_problems(result: Result) -> Iterator[str]:
    """Check the labels of a result: yield one sentence for each label with an impossible value."""
    for name, least in LEAST.items():
        value = getattr(result.labels, name)
        if value is not None and not value >= least:
            yield f"{name} is {value:g}, but its least possible value is {least}"
        elif value is not None and not name.endswith("_bps") and value > MOST:
            yield f"{name} is {value:g}, but its greatest possible value is {MOST}"
    for word in (result.labels.protocol or "", *result.labels.options.values()):
        if word != word.lower() or "," in word or not word.isprintable():
            yield f"{word!r} is not a valid protocol or option: use lower case without commas"


def number_problems(result: Result) -> Iterator[str]:
    """Check each number of a result by itself: yield one sentence for each impossible value, such as a loss above 1."""
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
            yield f"{metric} states {number.n} runs, but at least 1 run is needed"
        elif number.n is not None and number.n > MOST:
            yield f"{metric} states {number.n:g} runs, but at most {MOST} runs are possible"
        if not math.isfinite(value) or value < 0:
            yield f"{metric} is {value:g}, but it must be a finite number of at least 0"
        elif (metric in RATIOS or metric.endswith("_host")) and least > 1:
            yield (
                f"{metric} is {value:g}, more than 1: per cent was taken for a "
                "share, or busy cores for a utilisation"
            )
        elif number.cpu_scope == "process" and most_cores is not None and least > most_cores:
            yield (
                f"{metric} is {value:.4g} busy cores, but {result.origin.tool} has threads "
                f"for only {most_cores:.2g}: its CPU time is wrong in short or broken runs"
            )


def rate_problems(result: Result) -> Iterator[str]:
    """Check the goodput of a result: yield one sentence for each contradiction.

    The goodput must be frames per second × payload, and must not exceed the sent rate. Goodput and sent rate must not
    exceed the offered load.
    """
    goodput, sent = _positive(result, "goodput_bps"), _positive(result, "sent_bps")
    frames, payload = _positive(result, "frames_per_s"), result.labels.payload_bytes
    if goodput and frames and payload:
        product = frames * (8 * payload)
        if not goodput.overlaps(product, PRODUCT):
            yield (
                f"{frames.value:.6g} frames/s of {payload} B are {_rate_text(product.value)}, but the stated "
                f"goodput is {_rate_text(goodput.value)}{hint(goodput.value, product.value, 'goodput_bps')}"
            )
    if goodput and sent and goodput.low > result.limits.most_goodput_ratio * sent.high:
        yield (
            f"{_rate_text(goodput.value)} arrived, but only {_rate_text(sent.value)} were sent: sender and "
            "receiver are swapped, or one rate is in another unit"
        )
    load = result.labels.load_bps or math.inf
    for metric, rate in (("goodput_bps", goodput), ("sent_bps", sent)):
        if rate and rate.low > OVERSHOOT * load:
            yield (
                f"{metric} {_rate_text(rate.value)} is above the load of {_rate_text(load)} that limited it"
                f"{hint(rate.value, load, metric)}"
            )


def latency_problems(result: Result) -> Iterator[str]:
    """Check the latencies of a result: yield one sentence for each contradiction.

    Quantiles must ascend, means must lie within the extremes, and round trips must exceed one-way latencies.
    """
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
                    f"rtt_{part}_s {_time_text(whole.value)}: a whole round trip is labelled as half or as one-way, or "
                    "the labels are swapped"
                )


def _beyond(name: str, mean: Printed, where: str, part: str, extreme: Printed) -> str:
    return (
        f"{name}_mean_s {_time_text(mean.value)} is {where} {name}_{part}_s {_time_text(extreme.value)}: "
        "one of them is in another unit or swapped"
    )


def _positive(result: Result, metric: str) -> Printed | None:
    """Look up a metric of a result, with its rounding interval; ``None`` if it is missing or 0."""
    number = printed_of(result.numbers, metric)
    return number if number is not None and number.value > 0 else None


# --- wire -------------------------------------------------------------------------------------

_SPEED = re.compile(r"^[ \t]*Speed: (\d+)Mb/s[ \t]*$", re.M)
"""Pattern of the line rate [Mb/s] in the output of ethtool."""
_PORT_RATE = re.compile(
    r"^[ \t]*(?:Rate: (\d+)[ \t]*$|rate:[ \t]+(\d+) Gb/sec|active_speed: .*\((\d+)\)[ \t]*$)", re.M
)
"""Pattern of the line rate [Gb/s] in the output of ibstat and ibstatus."""


def stated_link(text: str, link: Interconnect | None) -> Interconnect | None:
    """Return the interconnect that the user states, with a line rate if one is known.

    If the user states no line rate, it is read from ``text``, the text of a result file. Such a file may also have the
    output of ethtool, ibstat or ibstatus; the greatest link speed in this output is the line rate.
    """
    if link is not None and link.line_rate_bps is not None:
        return link
    rates = [1e6 * float(mb) for mb in _SPEED.findall(text)]
    rates += [1e9 * float(next(filter(None, groups))) for groups in _PORT_RATE.findall(text)]
    if not rates:
        return link
    return replace(link or Interconnect(kind=""), line_rate_bps=max(rates))


def wire_problems(result: Result, link: Interconnect | None) -> Iterator[str]:
    """Check a result against the wire: yield one sentence for each contradiction.

    Rates must not exceed the line rate, and latencies must not be below the transmission time of the payload.
    """
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
    """Yield a remark on each rate of a result that slightly exceeds the line rate; such rates are accepted."""
    for *_, sentence in _above(result, link, ROUNDING):
        yield (
            f"{sentence}: the clock of the tool may be off by up to {CLOCK - 1:.0%}, so the rate is used; "
            "check how long the run was"
        )


def _above(
    result: Result, link: Interconnect | None, slack: float
) -> Iterator[tuple[str, float, float, str]]:
    """Find goodputs and sent rates of a result that exceed ``slack`` × the greatest goodput at the line rate.

    Yields four values for each such rate: its metric, the rate [b/s], the greatest goodput [b/s], and an error message.
    """
    if link is None or link.line_rate_bps is None:
        return
    bound, _ = _bounds(result, link, link.line_rate_bps)
    line = f"a line of {_rate_text(link.line_rate_bps)} carries with {result.labels.protocol}"
    for metric in ("goodput_bps", "sent_bps"):
        rate = printed_of(result.numbers, metric)
        if rate is not None and rate.low > slack * bound:
            sentence = (
                f"{metric} {_rate_text(rate.value)} is above the {_rate_text(bound)} that {line}"
            )
            yield metric, rate.value, bound, sentence


def _bounds(result: Result, link: Interconnect, line_rate_bps: float) -> tuple[float, float]:
    """Theory's greatest goodput [b/s] and least latency [s] for the payload of a result.

    Headers of TCP, UDP and Ethernet frames are counted on Ethernet, and on a link of unknown kind. Otherwise the line
    is taken to carry only payload. If the MTU is unknown, the largest one is assumed: it needs the fewest headers, so
    no possible goodput exceeds the returned one.
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
    """Return a key of a result: labels, number of streams, hosts, metrics. Results with equal keys are repeats."""
    kinds = tuple(sorted({number.metric for number in result.numbers}))
    return (*result.labels.place, result.streams, *result.hosts, kinds)


def repeat_problems(results: Sequence[Result]) -> Iterator[str]:
    """Check the repeats in one file: yield a sentence for each metric whose repeated values differ too much.

    Results under the same conditions are repeats. The greatest value of a metric may be up to ``REPEATS`` times the
    least.
    """
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
                f"the repeats of {key[-1]} at one point range from {_text(key[-1], min(values))} to "
                f"{_text(key[-1], max(values))}: "
                "they are not repeats, but ran at the same time or are of different kinds; keep each kind in a "
                'file of its own, or label each run (["FILE#1"], ["FILE#2"])'
            )


# --- files ------------------------------------------------------------------------------------

RATES = ("goodput_bps", "sent_bps", "frames_per_s")
TIMES = ("_mean_s", "_p50_s", "_min_s")
"""Endings of the latency metrics that are compared between files; higher quantiles scatter too much."""
NEAREST = 5
"""A number is compared with a line through this many payloads of other files: those nearest to its own payload."""
REACH = 4.0
"""The line through other files is used from (their least payload) / REACH to (their greatest payload) × REACH."""
LEAST_PAYLOADS = 3
"""Least number of payloads for a line through other files; with fewer, only runs of equal payload are compared."""
CLEAR = 3.0
"""Ratio of a file's deviation to the median deviation of the other files, above which the file gets a remark.

Deviations are absolute values of logarithms of ratios.
"""
SCATTER_FILES = 3
"""The scatter of a metric is estimated only from at least this many other files."""
AGREE = 0.75
"""A file gets a remark only if at least this share of its numbers of one kind deviates by the same factor."""

Curve = tuple[object, ...]
"""Key of a curve over payload: the metric, the protocol and the other axes of its results."""
Logs = Mapping[int, Mapping[str, float]]
"""Logarithms of the values of a curve, by payload [B] and then by file."""


class Deviation(NamedTuple):
    """Measured value of one file, and the value to expect at the same payload according to the other files."""

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
        """Measured value divided by the expected value."""
        return self.value / self.expected

    @property
    def size(self) -> float:
        """Size of the deviation: absolute value of log(number / expected value)."""
        return abs(math.log(self.ratio))


def remarks(results: Mapping[str, Sequence[Result]]) -> tuple[str, ...]:
    """Compare the values in several files, and write a sentence on each file that seems to have a wrong unit.

    A file seems to have a wrong unit if its values differ from those in the other files by a typical factor, such as 8
    for bits and bytes. If there are only two files, there is a sentence on each, since either file may be right.
    """
    kinds: dict[tuple[str, str], list[Deviation]] = defaultdict(list)
    scatter: dict[tuple[str, object], list[Deviation]] = defaultdict(list)
    for one in _deviations(results):
        kinds[one.file, family(one.metric)].append(one)
        scatter[one.metric, one.protocol].append(one)
    sentences = []
    for (file, metric_family), own in kinds.items():
        clear = []
        for one in own:
            others = [other for other in scatter[one.metric, one.protocol] if other.file != file]
            is_clear = len({other.file for other in others}) < SCATTER_FILES or (
                one.size > CLEAR * median(other.size for other in others)
            )
            if is_clear and slip_of(one.ratio, metric_family):
                clear.append(one)
        slip = _agreed_slip(own, clear, metric_family)
        if slip is not None:
            one = clear[0]
            mine, theirs = (
                units.format_quantity(one.metric, value, 4) for value in (one.value, one.expected)
            )
            sentences.append(
                f"{file}: its {one.metric} of {mine} at {one.payload_bytes} B is {one.ratio:.3g} "
                f"times the value in the other files (about {theirs}). This looks like "
                f"{slip_words(slip, one.metric, one.ratio)}; the file is used: check it"
            )
    return tuple(sentences)


def _agreed_slip(
    deviations: Sequence[Deviation], clear: Sequence[Deviation], metric_family: str
) -> Slip | None:
    """Find the typical unit mistake that explains the deviations of a file; ``None`` if no mistake explains them.

    Each deviation has a ratio: a number in the file, divided by the value expected from the other files. The median
    ratio of the ``clear`` deviations is compared with the factors of typical mistakes. A mistake is only returned if at
    least the share `AGREE` of all ``deviations`` have about this median ratio.

    Latencies that deviate by a factor of 2 may be a mistake: half and whole round trips were confused. But the run may
    also be twice as slow. The factor counts as a mistake only under two conditions. The other files have the same
    payloads. And each latency deviates in the usual direction: one labelled as half a round trip is too long, and one
    labelled as a whole round trip is too short (see `is_rare_trip`).

    Parameters
    ----------
    deviations
        Deviations of all numbers in the file whose metrics belong to one family: bits, time or count.
    clear
        Deviations, taken from ``deviations``, that exceed the scatter of the other files and fit some unit mistake.
    metric_family
        Family of the metrics: bits, time or count.
    """
    if not clear:
        return None
    middle = math.exp(median(math.log(one.ratio) for one in clear))
    slip = slip_of(middle, metric_family)
    if slip is None or (
        slip is ROUND_TRIP
        and not all(one.repeated and not is_rare_trip(one.metric, one.ratio) for one in deviations)
    ):
        return None
    near = math.log(slip.factor) / 3
    agreeing = [one for one in deviations if abs(math.log(one.ratio / middle)) < near]
    return slip if len(agreeing) >= AGREE * len(deviations) else None


def _deviations(results: Mapping[str, Sequence[Result]]) -> Iterator[Deviation]:
    """Yield each number of each file with the value that is expected from the other files.

    There are up to two estimates of this value: the median of the other files' values at the same payload, and a line
    through their values at payloads nearby. The estimate that is nearer to the number is used, so that a number only
    stands out if it contradicts both.
    """
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
    """Collect the values that are compared between files: curve -> payload -> file -> logarithm of the value.

    A curve has the values of one metric, a rate or a time, in results that differ only in payload and file. If the
    files name several pairs of hosts, each pair has curves of its own.
    """
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
    """Predict the value of a file at a payload from the other files.

    The prediction lies on a robust line through the nearest payloads of the other files, on log axes. The slope of the
    line is the median slope over all pairs of points (Theil, 1950; Sen, 1968). The result is a tuple with the log of
    the prediction; it is empty if the other files have too few payloads nearby.
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
    """Typical mistake in a unit: the factor by which it changes a value, and its description."""

    factor: float
    words: str


_PREFIX = Slip(1e3, "one unit prefix off, such as ms for us")
_TWO = Slip(1e6, "two unit prefixes off, such as s for us")
_THREE = Slip(1e9, "three unit prefixes off, such as s for ns")
ROUND_TRIP = Slip(2.0, "a whole round trip labelled as half or as one-way")
BITS = "bits"
TIME = "time"
COUNT = "count"
SLIPS: Mapping[str, tuple[Slip, ...]] = {
    BITS: (
        Slip(8.0, "bits taken for bytes or bytes for bits"),
        Slip(125.0, "bytes for bits, and one unit prefix off in the opposite direction"),
        _PREFIX,
        Slip(8e3, "bits for bytes, and a wrong prefix"),
        _TWO,
        Slip(8e6, "bits for bytes, and two unit prefixes off"),
        _THREE,
    ),
    TIME: (ROUND_TRIP, _PREFIX, _TWO, _THREE),
    COUNT: (_PREFIX, _TWO),
}
"""Typical unit mistakes for each family of metrics (bits, time, count)."""
NEAR = math.log(1.6)
"""A mistake explains a deviation only if the logs of the deviation and of the mistake's factor differ by less."""


def family(metric: str) -> str:
    """Return the family of a metric (bits, time or count), by which typical unit mistakes are chosen."""
    if metric.endswith("_bps"):
        return BITS
    return COUNT if metric.endswith("_per_s") else TIME


def slip_of(ratio: float, metric_family: str) -> Slip | None:
    """Find the typical unit mistake that explains a wrong value; ``None`` if no mistake explains it.

    ``ratio`` is the wrong value divided by the expected value. ``metric_family`` is bits, time or count.

    >>> slip_of(7.9, BITS).words
    'bits taken for bytes or bytes for bits'
    """
    if not 0 < ratio < math.inf:
        return None
    size = abs(math.log(ratio))
    nearest = min(SLIPS[metric_family], key=lambda slip: abs(size - math.log(slip.factor)))
    distance = abs(size - math.log(nearest.factor))
    return nearest if distance < min(NEAR, math.log(nearest.factor) / 3) else None


def is_rare_trip(metric: str, ratio: float) -> bool:
    """Whether a latency deviates by a factor of 2 in the direction that no usual mistake explains.

    The usual mistake confuses half and whole round trips. It makes a latency labelled as one-way or as half a round
    trip too long, and a latency labelled as a whole round trip too short. So the result is true for a half that is too
    short, and for a whole that is too long. ``ratio`` is the latency divided by the expected latency.
    """
    return (ratio > 1) is not _is_half(metric)


def _is_half(metric: str) -> bool:
    return metric.startswith(("rtt_half_", "latency_"))


def slip_words(slip: Slip, metric: str, ratio: float) -> str:
    """Describe the unit mistake of a value that is ``ratio`` times the correct value."""
    if slip is not ROUND_TRIP:
        return slip.words
    if _is_half(metric):
        return slip.words if ratio > 1 else "half a round trip, or a one-way time, halved again"
    return (
        "a whole round trip doubled" if ratio > 1 else "half a round trip labelled as a whole one"
    )


def hint(value: float, limit: float, metric: str) -> str:
    """Write the end of an error message on a value above a limit: the likeliest unit mistake, such as ms for us.

    If no typical mistake fits, the text advises to check unit and labels.
    """
    ratio = value / limit
    slip = slip_of(ratio, family(metric))
    if slip is not None:
        return f"; it is {ratio:.3g} times what it should be: {slip_words(slip, metric, ratio)}"
    return "; check its unit (b or B, k or Ki, us or ms) and the labels"
