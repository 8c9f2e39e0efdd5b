"""Estimate: a predicted metric with its value, its 90 % interval and its basis; and its text for people."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from icmodel import units
from icmodel.documents import number_or_none
from icmodel.errors import UnitError
from icmodel.frozen import Late, NanEqual

EXTRAPOLATED = "extrapolated"
"""Basis of an estimate outside the measured range."""
BASES = (
    "measured",
    "tabulated",
    "stated",
    "theory",
    "derived",
    "interpolated",
    "assumed",
    EXTRAPOLATED,
)
"""Every basis (kind of evidence) of a number, the strongest first."""
BOTTLENECKS = ("request", "cpu", "packet-rate", "wire", "share", "receiver", "unknown")
"""Names of the bottlenecks that can limit a stream's goodput."""


def weakest(bases: Sequence[str]) -> str:
    """Return the weakest of several bases (kinds of evidence); ``theory`` if the sequence is empty."""
    return max(bases, key=BASES.index) if bases else "theory"


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(NanEqual, Late):
    """One metric: a value, the 90 % interval for one new run, and the basis.

    Parameters
    ----------
    value, low, high : float
        Value and interval, in the SI unit of the metric's suffix.  If the metric is absent, all three are NaN.
    basis : str
        Weakest kind of evidence used for the number, one of `BASES`.
    why : str
        Reason why the metric is absent or extrapolated; otherwise empty.
    bases : tuple of str
        All kinds of evidence used for the number.

    Examples
    --------
    >>> import icmodel
    >>> model = icmodel.Model(icmodel.load("ethernet-10g-2012"))
    >>> answer = model.predict(protocol="tcp", payload_bytes=1448, rate_fps=None)
    >>> answer.goodput_bps.basis, answer.goodput_bps.value
    ('tabulated', 9410600000.0)
    >>> float(answer.goodput_bps)
    9410600000.0
    >>> answer.cpu_recv
    Estimate(0.5875, low=0.2938, high=0.75, assumed)
    """

    value: float
    low: float
    high: float
    basis: str
    why: str = ""
    bases: tuple[str, ...] = ()

    @property
    def absent(self) -> bool:
        """Whether the estimate has no value; ``why`` gives the reason."""
        return math.isnan(self.value)

    @property
    def ends(self) -> tuple[float, float, float]:
        """Value, low and high of the estimate, in this order."""
        return self.value, self.low, self.high

    def __float__(self) -> float:
        """Return the value of the estimate in SI; NaN if the estimate is absent."""
        return self.value

    def __repr__(self) -> str:
        if self.absent:
            return f"Estimate(absent, {shortened(self.why)})"
        return f"Estimate({self.value!r}, low={self.low!r}, high={self.high!r}, {self.basis})"

    def to_dict(self) -> dict[str, object]:
        """Convert the estimate to a dict for JSON; unknown numbers become ``None``."""
        return {
            "value": number_or_none(self.value),
            "low": number_or_none(self.low),
            "high": number_or_none(self.high),
            "basis": self.basis,
            "bases": list(self.bases),
            "why": self.why,
        }


def absent(why: str) -> Estimate:
    """Make an Estimate without a value, from the reason.

    >>> absent("not measured")
    Estimate(absent, not measured)
    """
    return Estimate(math.nan, math.nan, math.nan, "", why)


def shortened(text: str, most: int = 200) -> str:
    """Shorten a text to one line of at most ``most`` characters, for a ``repr``."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


_NAMES = {
    "goodput_bps": "goodput",
    "sent_bps": "sent",
    "shortfall_bps": "shortfall",
    "frames_per_s": "frames",
    "packets_sent_per_s": "packets sent",
    "packets_received_per_s": "packets received",
    "loss_rate": "loss",
    "message_latency_s": "whole message, sent at once",
    "message_latency_paced_s": "whole message, as captured",
}
_STATISTICS = {"mean": "mean", "min": "least", "max": "greatest", "p50": "median", "std": "σ of"}
_TIMES = re.compile(r"(latency|rtt_half|rtt)_([a-z0-9]+)_s")
_CPU = re.compile(r"cpu_(send|recv)(?:_(user|system|irq|softirq|steal))?(_process)?(_cores)?")
_TIME_NAMES = {"latency": "latency", "rtt_half": "half round trip", "rtt": "round trip"}
_SIDES = {"send": "sending CPU", "recv": "receiving CPU"}
_COLUMNS = {
    "_low": " (low end of the interval)",
    "_high": " (high end of the interval)",
    "_basis": " (weakest basis)",
}
_LIMITS = {
    "request": "the request",
    "cpu": "the CPU",
    "packet-rate": "the packet rate",
    "wire": "the wire",
    "share": "the share of the interface",
    "receiver": "the receiver",
    "buffer": "the buffer",
    "window": "the window",
    "benchmark": "what the benchmarks reached",
    "application_send": "the sender's application",
    "application_recv": "the receiver's application",
    "switches": "the switches",
    "propagation": "the cable",
    "stack": "the software stack",
    "unknown": "",
}


def metric_name(metric: str) -> str:
    """Return the name of a metric in words; an unknown metric keeps its field name.

    >>> metric_name("latency_mean_s"), metric_name("cpu_recv")
    ('mean latency', 'receiving CPU')
    """
    if metric in _NAMES:
        return _NAMES[metric]
    if (time := _TIMES.fullmatch(metric)) is not None:
        return f"{_STATISTICS.get(time[2], time[2])} {_TIME_NAMES[time[1]]}"
    if (cpu := _CPU.fullmatch(metric)) is not None:
        mode = f", {cpu[2]} time" if cpu[2] else ""
        process = " of the process" if cpu[3] else ""
        return f"{_SIDES[cpu[1]]}{process}{mode}{' in cores' if cpu[4] else ''}"
    return metric


def long_name(column: str) -> str:
    """Return the name of a result column in words, for the axes of plots.

    >>> long_name("latency_mean_s_high")
    'mean latency (high end of the interval)'
    """
    for ending, words in _COLUMNS.items():
        if column.endswith(ending):
            return metric_name(column.removesuffix(ending)) + words
    return metric_name(column).replace("_", " ")


def attributes(name: str) -> dict[str, object]:
    """Return the attributes of a result column in xarray, by the name of the column.

    A column of numbers has its unit and long name. A column of integer codes (bases or bottlenecks) has its long name,
    and the meaning of each code.

    >>> attributes("latency_mean_s")
    {'units': 's', 'long_name': 'mean latency'}
    """
    if name != "bottleneck" and not name.endswith("_basis"):
        return {"units": units.unit_of(name), "long_name": long_name(name)}
    meanings = BOTTLENECKS if name == "bottleneck" else BASES
    return {
        "long_name": long_name(name),
        "flag_values": list(range(len(meanings))),
        "flag_meanings": " ".join(meanings),
    }


def limit_name(bottleneck: str) -> str:
    """Return the name of a bottleneck in words, ``the CPU`` for ``cpu``; empty if unknown."""
    return _LIMITS.get(bottleneck, bottleneck)


# --- numbers for people -----------------------------------------------------------------------

GROWS = "grows without limit"
"""Text in place of a latency, if the network carries less data than the stream produces."""
EXACT_DIGITS = 7
"""Number of significant digits of an exact number."""
LEAST_DIGITS, HALF_WIDTH_DIGITS = 2, 2
"""Least number of significant digits of a value, and number of significant digits of its interval's half-width.

A value is rounded to the decimal place of the half-width's last significant digit.
"""
WIDTH = 100
"""Maximum number of characters of a printed line."""


def quantity(name: str, value: float, digits: int = EXACT_DIGITS) -> str:
    """Return a value as text with its unit. The suffix of ``name`` tells the unit; a count has none.

    >>> quantity("goodput_bps", 9.4e9), quantity("cores", 4)
    ('9.4 Gb/s', '4')
    """
    try:
        return units.format_quantity(name, value, digits)
    except UnitError:
        return units.format_count(value, digits)


def quantity_text(metric: str, value: float | None) -> str:
    """Return a value of a metric with its unit, or a dash if there is no value.

    Examples
    --------
    >>> quantity_text("latency_mean_s", 1.13e-4)
    '113 µs'
    """
    return "–" if value is None else units.format_quantity(metric, value)


def fixed(number: float, places: int) -> str:
    """Format a number with ``places`` decimals; ``<0.01`` if a positive number rounds to 0.

    Examples
    --------
    >>> fixed(1.239, 2), fixed(0.0001, 2)
    ('1.24', '<0.01')
    """
    least = 10.0**-places
    if 0 < number < least:
        return f"<{least:.{places}f}"
    return f"{number:.{places}f}"


def estimated(metric: str, estimate: Estimate) -> str:
    """Return the value of an estimate as text, rounded to the digits that its interval supports.

    An exact value keeps all its digits.

    >>> estimated("latency_mean_s", Estimate(1.2345e-4, 1.1e-4, 1.4e-4, "measured"))
    '123 µs'
    """
    if estimate.absent:
        return "unknown"
    return quantity(metric, estimate.value, _digits(estimate.value, estimate))


def compared(metric: str, estimate: Estimate, limit: float) -> str:
    """Return the value of an estimate as text, to be shown beside a limit.

    The value has the digits that its interval supports.  If these digits do not show on which side of the limit the
    value lies, more digits follow.
    """
    value = estimate.value
    if estimate.absent or not math.isfinite(value):
        return estimated(metric, estimate)

    def rounded(number: float, digits: int) -> float:
        return float(f"{number:.{digits - 1}e}")

    def side(number: float, of: float) -> int:
        return (number > of) - (number < of)

    digits, shown_limit = _digits(value, estimate), rounded(limit, EXACT_DIGITS)
    true_side = 0 if math.isclose(value, limit, rel_tol=1e-9) else side(value, limit)
    while digits < EXACT_DIGITS and side(rounded(value, digits), shown_limit) != true_side:
        digits += 1
    return quantity(metric, value, digits)


def interval(metric: str, estimate: Estimate) -> str:
    """Return the 90 % interval of an estimate as text.

    The text is ``exact`` if low equals high, and empty if the interval is unknown.

    >>> interval("latency_mean_s", Estimate(1.2345e-4, 1.1e-4, 1.4e-4, "measured"))
    '110 – 140 µs'
    >>> interval("latency_max_s", Estimate(1.2e-4, 8.5e-9, math.inf, "theory"))
    'at least 8.5 ns'
    """
    low, high = estimate.low, estimate.high
    if math.isnan(low) or math.isnan(high):
        return ""
    first, last = (quantity(metric, end, _digits(end, estimate)) for end in (low, high))
    if math.isinf(low):
        return GROWS
    if low == high:
        return "exact"
    if math.isinf(high):
        return f"at least {first}"
    if first == last:
        return f"about {last}"
    number, _, unit = first.partition(" ")
    return f"{number} – {last}" if unit and last.endswith(f" {unit}") else f"{first} – {last}"


def _digits(value: float, estimate: Estimate) -> int:
    """Return the number of significant digits with which to show a value that has an interval.

    Half the width of the interval is rounded to two significant digits, and the value to the same decimal place.  With
    an interval of ±1.7 µs, 123.46 µs is shown as 123.5 µs: four digits.
    """
    half = (estimate.high - estimate.low) / 2
    if not math.isfinite(half):
        return 4
    if not half or not value or not math.isfinite(value):
        return EXACT_DIGITS
    finest = math.floor(math.log10(half)) - HALF_WIDTH_DIGITS + 1
    return min(max(math.floor(math.log10(abs(value))) - finest + 1, LEAST_DIGITS), EXACT_DIGITS)


def percent(share: float) -> str:
    """Return a ratio in per cent with two significant digits; from 100 % on with three digits.

    >>> percent(0.0074), percent(1.234)
    ('0.74 %', '123 %')
    """
    digits = 2 if abs(share) < 1 else 3
    text = units.format_ratio(abs(share), digits)
    return f"−{text}" if share < 0 else text


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 row``, ``2 rows``, ``2 switches``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}{'es' if noun.endswith('ch') else 's'}"


def wrapped(text: str, first: str = "", then: str = "", width: int = WIDTH) -> list[str]:
    """Wrap a text into lines of at most ``width`` characters.

    ``first`` is the indent of the first line, ``then`` the indent of the other lines.
    """
    return wrap(text, width, initial_indent=first, subsequent_indent=then, break_on_hyphens=False)
