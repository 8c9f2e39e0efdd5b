"""Texts for people: names of metrics, values with units, intervals."""

from __future__ import annotations

import math
import re
from textwrap import wrap

from icmodel import units
from icmodel.errors import UnitError
from icmodel.estimate import Estimate

GROWS = "grows without limit"
"""What a latency does where less passes than is produced."""
EXTRAPOLATED = "extrapolated"
"""The basis of estimates outside the data."""

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


def metric_name(metric: str) -> str:
    """The name of a metric: ``mean latency`` of ``latency_mean_s``; unknown ones keep the field name."""
    if metric in _NAMES:
        return _NAMES[metric]
    if (time := _TIMES.fullmatch(metric)) is not None:
        return f"{_STATISTICS.get(time[2], time[2])} {_TIME_NAMES[time[1]]}"
    if (cpu := _CPU.fullmatch(metric)) is not None:
        mode = f", {cpu[2]} time" if cpu[2] else ""
        process = " of the process" if cpu[3] else ""
        return f"{_SIDES[cpu[1]]}{process}{mode}{' in cores' if cpu[4] else ''}"
    return metric


_LIMITS = {
    "request": "the request",
    "cpu": "the CPU",
    "packet-rate": "the packet rate",
    "wire": "the wire",
    "share": "the share of the interface",
    "receiver": "the receiver",
    "benchmark": "what the benchmarks reached",
    "application_send": "the sender's application",
    "application_recv": "the receiver's application",
    "switches": "the switches",
    "propagation": "the cable",
    "stack": "the software stack",
    "unknown": "",
}


def limit_name(limiting: str) -> str:
    """The name of a bottleneck: ``the CPU`` of ``cpu``; empty if it is not known."""
    return _LIMITS.get(limiting, limiting)


def quantity(name: str, value: float, digits: int = 7) -> str:
    """A value with the unit of its field name; a name without a unit is a count."""
    try:
        return units.format_quantity(name, value, digits)
    except UnitError:
        return units.format_count(value, digits)


EXACT_DIGITS = 7
"""Digits of a number that is known exactly."""
LEAST_DIGITS, OF_HALF_WIDTH = 2, 2
"""Least digits of a number, and digits of the half-width, which limit the number's last digit."""


def estimated(metric: str, estimate: Estimate) -> str:
    """A value rounded to the digits that its interval supports; an exact one has all digits."""
    if estimate.absent:
        return "unknown"
    return quantity(metric, estimate.value, _digits(estimate.value, estimate))


def compared(metric: str, estimate: Estimate, limit: float) -> str:
    """A value with the digits that its interval supports, and those that tell it from a limit of `EXACT_DIGITS`."""
    value = estimate.value
    if estimate.absent or not math.isfinite(value):
        return estimated(metric, estimate)
    digits, shown = _digits(value, estimate), _rounded(limit, EXACT_DIGITS)
    side = 0.0 if math.isclose(value, limit, rel_tol=1e-9) else math.copysign(1.0, value - limit)
    while digits < EXACT_DIGITS and side != _side(_rounded(value, digits), shown):
        digits += 1
    return quantity(metric, value, digits)


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def _side(value: float, limit: float) -> float:
    return 0.0 if value == limit else math.copysign(1.0, value - limit)


def interval(metric: str, estimate: Estimate) -> str:
    """The 90 % interval; ``exact`` if both ends are equal, empty if there is none.

    Without an upper end it reads ``at least 8.5 ns``.
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
    """Significant digits of a value or an end, down to the second digit of the half-width."""
    half = (estimate.high - estimate.low) / 2
    if not math.isfinite(half):
        return 4
    if not half or not value or not math.isfinite(value):
        return EXACT_DIGITS
    finest = math.floor(math.log10(half)) - OF_HALF_WIDTH + 1
    return min(max(math.floor(math.log10(abs(value))) - finest + 1, LEAST_DIGITS), EXACT_DIGITS)


def percent(share: float) -> str:
    """A share in percent with two significant digits, above 100 % with more."""
    digits = 2 if abs(share) < 1 else 3
    text = units.format_ratio(abs(share), digits)
    return f"−{text}" if share < 0 else text


WIDTH = 100
"""Most characters of a line for people."""


def wrapped(text: str, first: str = "", then: str = "", width: int = WIDTH) -> list[str]:
    """A text in lines of at most a width, with indents of the first line and of the others."""
    return wrap(text, width, initial_indent=first, subsequent_indent=then, break_on_hyphens=False)


def plural(count: int, noun: str) -> str:
    """``1 row``, ``2 rows``, ``2 switches``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}{'es' if noun.endswith('ch') else 's'}"
