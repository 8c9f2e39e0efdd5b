"""Consistency between files: a remark on a file whose numbers suggest a mistaken unit.

Each number is compared with a line through those of the other files over the payload, on log axes.
If most numbers of one kind in a file differ by a factor such as 8 or 1000, the unit may be mistaken.
Nothing is refused for it, since the other files may be wrong and real curves have steps.
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


class Slip(NamedTuple):
    """A typical mistake: its factor, and its description."""

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
"""Family of metrics -> the mistakes possible for it, such as bits for bytes for a data rate."""
NEAR = math.log(1.6)
"""Greatest log distance of a ratio from a slip's factor, as measured values scatter."""


def family(metric: str) -> str:
    """The family of a metric, which decides its possible slips: bits, time or a count."""
    if metric.endswith("_bps"):
        return BITS
    return COUNT if metric.endswith("_per_s") else TIME


def known(ratio: float, of: str) -> Slip | None:
    """The slip whose factor is near the ratio of a value to its expectation, if any."""
    if not 0 < ratio < math.inf:
        return None
    size = abs(math.log(ratio))
    nearest = min(SLIPS[of], key=lambda slip: abs(size - math.log(slip.factor)))
    off = abs(size - math.log(nearest.factor))
    return nearest if off < min(NEAR, math.log(nearest.factor) / 3) else None


def is_rare_trip(metric: str, ratio: float) -> bool:
    """Whether a time is off by a factor of 2 in the direction of a rare mistake.

    The usual mistake confuses half and whole round trips: halves are too long, wholes too short.  The
    opposite takes somebody who halves or doubles twice.
    """
    return (ratio > 1) is not _is_half(metric)


def _is_half(metric: str) -> bool:
    return metric.startswith(("rtt_half_", "latency_"))


def words(slip: Slip, metric: str, ratio: float) -> str:
    """A description of the mistake of a value that is ``ratio`` times what it should be."""
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
    """The end of a sentence, which names the likeliest unit mistake of a value beyond a limit."""
    ratio = value / limit
    slip = known(ratio, family(metric))
    if slip is not None:
        return f"; it is {ratio:.3g} times what it should be: {words(slip, metric, ratio)}"
    return "; look at its unit (b or B, k or Ki, us or ms) and at the labels"


ROUNDING = 1.005
"""Ratio to a bound accepted silently: frames partly outside a short window may count in full."""
CLOCK = 1.02
"""Ratio to a bound accepted with a remark: the tool's clock may cause it, a wrong unit cannot."""


SPEED = re.compile(r"^[ \t]*Speed: (\d+)Mb/s[ \t]*$", re.M)
"""The line rate as ethtool prints it."""
PORT_RATE = re.compile(
    r"^[ \t]*(?:Rate: (\d+)[ \t]*$|rate:[ \t]+(\d+) Gb/sec|active_speed: .*\((\d+)\)[ \t]*$)", re.M
)
"""The line rate as ibstat and ibstatus print it [Gb/s]."""

_rate, _time = partial(units.format_bps, digits=6), partial(units.format_seconds, digits=6)


def stated_link(text: str, link: Interconnect | None) -> Interconnect | None:
    """The interconnect that a person states, with the line rate that a text states if the person gives none."""
    if link is not None and link.line_rate_bps is not None:
        return link
    rates = [1e6 * float(mb) for mb in SPEED.findall(text)]
    rates += [1e9 * float(next(filter(None, found))) for found in PORT_RATE.findall(text)]
    if not rates:
        return link
    kind = "" if link is None else link.kind
    return replace(link or Interconnect(kind=kind), line_rate_bps=max(rates))


def beyond_wire(result: Result, link: Interconnect | None) -> Iterator[str]:
    """A sentence for each number that is impossible at this line rate."""
    for metric, value, bound, said in _above(result, link, CLOCK):
        yield f"{said}{hint(value, bound, metric)}"
    yield from _too_fast(result, link)


def just_above(result: Result, link: Interconnect | None) -> Iterator[str]:
    """A remark on each number that is accepted although slightly above the line rate."""
    for *_, said in _above(result, link, ROUNDING):
        yield (
            f"{said}: up to {CLOCK - 1:.0%} may be the clock of the tool, so it is taken; look at "
            "how long the run was"
        )


def _above(
    result: Result, link: Interconnect | None, slack: float
) -> Iterator[tuple[str, float, float, str]]:
    """Metric, value and bound [b/s] of each rate above ``slack`` times its bound, and a sentence."""
    if link is None or link.line_rate_bps is None:
        return
    bound, _ = _bounds(result, link, link.line_rate_bps)
    line = f"a line of {_rate(link.line_rate_bps)} carries of {result.labels.protocol}"
    for metric in ("goodput_bps", "sent_bps"):
        flow = printed_of(result.numbers, metric)
        if flow is not None and flow.low > slack * bound:
            said = f"{metric} {_rate(flow.value)} is above the {_rate(bound)} that {line}"
            yield metric, flow.value, bound, said


def _too_fast(result: Result, link: Interconnect | None) -> Iterator[str]:
    """A sentence for each latency below the transmission time of the payload."""
    payload = result.labels.payload_bytes
    if link is None or link.line_rate_bps is None or payload is None:
        return
    _, least = _bounds(result, link, link.line_rate_bps)
    for family, trips in (("latency", 1), ("rtt_half", 1), ("rtt", 2)):
        for name in ("min", "p50", "mean"):
            metric = f"{family}_{name}_s"
            trip = printed_of(result.numbers, metric)
            if trip is not None and trip.high < trips * least / ROUNDING:
                yield (
                    f"{metric} {_time(trip.value)} is below the {_time(trips * least)} that "
                    f"{payload} B take on the wire{hint(trip.value, trips * least, metric)}"
                )
                break


def _framing(link: Interconnect, protocol: str | None) -> ethernet.Framing | None:
    """The framing of a protocol on Ethernet; none for other links or protocols.

    Without a known MTU the largest is taken, so that the bound is not too low.
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


def _bounds(result: Result, link: Interconnect, line_rate_bps: float) -> tuple[float, float]:
    """The greatest goodput [b/s] and the least latency [s] of a result's payload."""
    payload, framing = result.labels.payload_bytes, _framing(link, result.labels.protocol)
    bits_alone_s = 8 * (payload or 0) / line_rate_bps
    if framing is None:
        return line_rate_bps, bits_alone_s
    most = ethernet.stream_goodput_bps(framing, line_rate_bps)
    if payload is None:
        return most, 0.0
    try:
        if framing.protocol != "tcp":
            most = float(ethernet.max_goodput_bps(payload, framing, line_rate_bps))
        return most, float(ethernet.min_latency_s(payload, framing, line_rate_bps))
    except ScenarioError:
        return most, bits_alone_s


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


FLOWS = ("goodput_bps", "sent_bps", "frames_per_s")
TIMES = ("_mean_s", "_p50_s", "_min_s")
"""Endings of the latencies compared; higher quantiles scatter too much."""
NEAREST = 5
"""Number of nearest payloads of the other files that the line goes through."""
REACH = 4.0
"""Greatest ratio of payloads by which the line is extrapolated."""
LEAST_PAYLOADS = 3
"""Payloads that a line needs; with fewer, only runs of the same payload are compared."""
CLEAR = 3.0
"""Factor by which a log ratio must exceed the scatter of the other files."""
TELLING = 3
"""Other files needed to estimate the scatter of a metric."""
AGREE = 0.75
"""Share of a file's numbers of one kind that must differ by the same factor."""

Curve = tuple[object, ...]
"""Key of a curve over the payload: metric, protocol and the other axes."""
Logs = Mapping[int, Mapping[str, float]]
"""Payload [B] -> file -> logarithm of its value."""


class Clue(NamedTuple):
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
        """The number over the expected value."""
        return self.value / self.expected

    @property
    def off(self) -> float:
        """The absolute log ratio of the number to the expected value."""
        return abs(math.log(self.ratio))


def remarks(results: Mapping[str, Sequence[Result]]) -> tuple[str, ...]:
    """A sentence on each file that differs from the others by the factor of a mistaken unit.

    With two files only, both are named, since either may be right.
    """
    kinds: dict[tuple[str, str], list[Clue]] = defaultdict(list)
    scatter: dict[tuple[str, object], list[Clue]] = defaultdict(list)
    for clue in _clues(results):
        kinds[clue.file, family(clue.metric)].append(clue)
        scatter[clue.metric, clue.protocol].append(clue)
    found = []
    for (_, of), clues in kinds.items():
        steady = [clue for clue in clues if known(clue.ratio, of) and _stands_out(clue, scatter)]
        if slip := _agreed(clues, steady, of):
            found.append(_clue_text(steady[0], slip))
    return tuple(found)


def _stands_out(clue: Clue, scatter: Mapping[tuple[str, object], Sequence[Clue]]) -> bool:
    """Whether a number deviates far more than those of the other files."""
    others = [one for one in scatter[clue.metric, clue.protocol] if one.file != clue.file]
    if len({one.file for one in others}) < TELLING:
        return True
    return clue.off > CLEAR * median(one.off for one in others)


def _agreed(clues: Sequence[Clue], steady: Sequence[Clue], of: str) -> Slip | None:
    """The known factor by which most numbers of a file are off; none if there is no such factor.

    A round trip is nearly always mistaken in one direction.  So a slow run, with both its half and
    whole round trips twice as long, is not taken for that mistake.
    """
    if not steady:
        return None
    middle = math.exp(median(math.log(clue.ratio) for clue in steady))
    slip = known(middle, of)
    if slip is None or (slip is ROUND_TRIP and not all(map(_may_be_halved, clues))):
        return None
    agreeing = [
        clue for clue in clues if abs(math.log(clue.ratio / middle)) < math.log(slip.factor) / 3
    ]
    return slip if len(agreeing) >= AGREE * len(clues) else None


def _may_be_halved(clue: Clue) -> bool:
    """Whether a factor of 2 counts: against runs of the same payload, in the usual direction."""
    return clue.repeated and not is_rare_trip(clue.metric, clue.ratio)


def _clue_text(clue: Clue, slip: Slip) -> str:
    mine, theirs = (
        units.format_quantity(clue.metric, value, 4) for value in (clue.value, clue.expected)
    )
    return (
        f"{clue.file}: its {clue.metric} at {clue.payload_bytes} B of {mine} is {clue.ratio:.3g} "
        f"times what the other files say (about {theirs}), which looks like "
        f"{words(slip, clue.metric, clue.ratio)}; it is taken: look at it"
    )


# --- what the others say ----------------------------------------------------------------------


def _clues(results: Mapping[str, Sequence[Result]]) -> Iterator[Clue]:
    for curve, logs in _curves(results).items():
        middles = {payload: median(at.values()) for payload, at in logs.items()}
        for payload, at in logs.items():
            for file, mine in at.items():
                repeats = [value for name, value in at.items() if name != file]
                said = [*_on_line(payload, _line(file, payload, logs, middles))]
                if repeats:
                    said += [median_low(repeats), median_high(repeats)]
                if said:
                    expected = min(said, key=lambda log: abs(log - mine))
                    values = (math.exp(mine), math.exp(expected))
                    yield Clue(file, str(curve[0]), curve[1], payload, *values, bool(repeats))


def _curves(results: Mapping[str, Sequence[Result]]) -> dict[Curve, dict[int, dict[str, float]]]:
    """The values compared, by curve; curves of several pairs of hosts are kept apart."""
    pairs = {r.hosts for some in results.values() for r in some}
    apart = len([pair for pair in pairs if all(pair)]) > 1
    curves: dict[Curve, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for file, some in results.items():
        for result in some:
            payload, any_payload = (
                result.labels.payload_bytes,
                replace(result.labels, payload_bytes=None),
            )
            where = (*any_payload.place, result.streams, result.hosts if apart else ())
            for number in result.numbers:
                if payload and number.value > 0 and _is_compared(number.metric):
                    curves[number.metric, *where][payload][file] = math.log(number.value)
    return curves


def _is_compared(metric: str) -> bool:
    return metric.endswith(FLOWS) or (
        metric.startswith(("latency_", "rtt_")) and metric.endswith(TIMES)
    )


def _line(file: str, payload: int, logs: Logs, middles: Mapping[int, float]) -> dict[int, float]:
    """The median of the other files at each other payload."""
    line = {place: middle for place, middle in middles.items() if place != payload}
    for place in [place for place in line if file in logs[place]]:
        rest = [value for name, value in logs[place].items() if name != file]
        if rest:
            line[place] = median(rest)
        else:
            del line[place]
    return line


def _on_line(payload: int, others: Mapping[int, float]) -> tuple[float, ...]:
    """The logarithm expected at a payload from a robust line through the nearest other payloads.

    Its slope is the median of the slopes of all pairs (Theil, 1950; Sen, 1968).
    """
    near = sorted(others, key=lambda place: abs(math.log(place / payload)))[:NEAREST]
    if len(near) < LEAST_PAYLOADS or not min(near) / REACH <= payload <= max(near) * REACH:
        return ()
    slope = median(
        (others[one] - others[two]) / math.log(one / two) for one, two in combinations(near, 2)
    )
    return (median(others[place] + slope * math.log(payload / place) for place in near),)
