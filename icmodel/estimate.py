"""What the model answers: an Estimate a metric, and the Prediction of one scenario."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from icmodel import units
from icmodel.errors import UnitError
from icmodel.scenario import Scenario

BASES = (
    "measured",
    "tabulated",
    "stated",
    "theory",
    "derived",
    "interpolated",
    "assumed",
    "extrapolated",
)
"""What a number can rest on, strongest first."""

BOTTLENECKS = ("request", "cpu", "packet-rate", "wire", "share", "receiver", "unknown")
"""What can limit a stream's goodput."""


def weakest(bases: tuple[str, ...] | list[str]) -> str:
    """The weakest of some bases; ``theory`` of none, since nothing measured was used."""
    return max(bases, key=BASES.index) if bases else "theory"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One metric: value, the 90 % interval for one new run, and what it rests on.

    SI units as the metric's suffix says.  An absent metric has NaN in all three numbers and
    the reason in ``why``.
    """

    value: float
    low: float
    high: float
    basis: str
    why: str = ""
    bases: tuple[str, ...] = ()

    @property
    def absent(self) -> bool:
        """Whether the dataset gives no value."""
        return math.isnan(self.value)

    @property
    def ends(self) -> tuple[float, float, float]:
        """Value, low and high."""
        return self.value, self.low, self.high

    def __repr__(self) -> str:
        if self.absent:
            return f"Estimate(absent, {shortened(self.why)})"
        return f"Estimate({self.value!r}, low={self.low!r}, high={self.high!r}, {self.basis})"

    def to_dict(self) -> dict[str, object]:
        """JSON form; unknown numbers become ``None``."""
        return {
            "value": number_or_none(self.value),
            "low": number_or_none(self.low),
            "high": number_or_none(self.high),
            "basis": self.basis,
            "bases": list(self.bases),
            "why": self.why,
        }


def absent(why: str) -> Estimate:
    """An Estimate without a value, saying why."""
    return Estimate(math.nan, math.nan, math.nan, "", why)


def shortened(text: str, most: int = 200) -> str:
    """A text in one line of at most so many characters, as a ``repr`` shows it."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def number_or_none(value: float) -> float | None:
    """A number as JSON knows it: NaN and infinities become ``None``."""
    return value if math.isfinite(value) else None


def json_form(value: object) -> object:
    """A value as JSON knows it: by its own ``to_dict``, part by part, and numbers by `number_or_none`."""
    to_dict = getattr(value, "to_dict", None)
    if to_dict is not None:
        return to_dict()
    if isinstance(value, Mapping):
        return {name: json_form(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_form(one) for one in value]
    return number_or_none(value) if isinstance(value, float) else value


def json_of(one: object, *names: str) -> dict[str, object]:
    """The JSON form of some attributes, by their names."""
    return {name: json_form(getattr(one, name)) for name in names}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a prediction is what it is.

    ``latency_terms`` (s) sum to the mean latency; the least of ``goodput_bounds`` (b/s) is the
    goodput.
    """

    latency_terms: Mapping[str, float]
    goodput_bounds: Mapping[str, float]
    bottleneck: str

    def __repr__(self) -> str:
        terms, bounds = len(self.latency_terms), len(self.goodput_bounds)
        return f"Explanation({terms} latency terms, {bounds} goodput bounds, {self.bottleneck})"


class UsedRow(NamedTuple):
    """A dataset row a prediction rests on."""

    line: int
    metric: str
    payload_bytes: int | None
    load_bps: float | None
    value: float
    basis: str
    source: str

    def __repr__(self) -> str:
        where = f"{self.metric} at {self.payload_bytes} B and load {self.load_bps}"
        return f"UsedRow(line {self.line}, {where}: {self.value!r}, {self.basis})"

    def to_dict(self) -> dict[str, object]:
        """JSON form; an unlimited load is the text ``inf``."""
        load: object = self.load_bps
        if self.load_bps is not None and math.isinf(self.load_bps):
            load = "inf"
        return {
            "line": self.line,
            "metric": self.metric,
            "payload_bytes": self.payload_bytes,
            "load_bps": load,
            "value": self.value,
            "basis": self.basis,
            "source": self.source,
        }


class Metrics:
    """The metrics that a prediction can have, for type checkers; of others ask ``metrics``."""

    if TYPE_CHECKING:
        goodput_bps: Estimate
        sent_bps: Estimate
        shortfall_bps: Estimate
        loss_rate: Estimate
        frames_per_s: Estimate
        packets_sent_per_s: Estimate
        packets_received_per_s: Estimate
        latency_mean_s: Estimate
        latency_std_s: Estimate
        latency_min_s: Estimate
        latency_p50_s: Estimate
        latency_p90_s: Estimate
        latency_p99_s: Estimate
        latency_p999_s: Estimate
        latency_max_s: Estimate
        rtt_mean_s: Estimate
        rtt_std_s: Estimate
        rtt_min_s: Estimate
        rtt_p50_s: Estimate
        rtt_p90_s: Estimate
        rtt_p99_s: Estimate
        rtt_p999_s: Estimate
        rtt_max_s: Estimate
        rtt_half_mean_s: Estimate
        rtt_half_std_s: Estimate
        rtt_half_min_s: Estimate
        rtt_half_p50_s: Estimate
        rtt_half_p90_s: Estimate
        rtt_half_p99_s: Estimate
        rtt_half_p999_s: Estimate
        rtt_half_max_s: Estimate
        cpu_send: Estimate
        cpu_recv: Estimate
        cpu_send_cores: Estimate
        cpu_recv_cores: Estimate
        cpu_send_process_cores: Estimate
        cpu_recv_process_cores: Estimate
        cpu_send_user: Estimate
        cpu_send_system: Estimate
        cpu_send_irq: Estimate
        cpu_send_softirq: Estimate
        cpu_send_steal: Estimate
        cpu_recv_user: Estimate
        cpu_recv_system: Estimate
        cpu_recv_irq: Estimate
        cpu_recv_softirq: Estimate
        cpu_recv_steal: Estimate


@dataclass(frozen=True)
class Prediction(Metrics):
    """All metrics of one scenario on one dataset; a metric is an attribute, e.g. ``p.goodput_bps``."""

    scenario: Scenario
    dataset: str
    sha256: str
    variant: str
    metrics: Mapping[str, Estimate]
    bottleneck: str
    terms: Mapping[str, float]
    bounds: Mapping[str, float]
    rows: tuple[UsedRow, ...]
    notes: tuple[str, ...] = field(default=())

    if not TYPE_CHECKING:  # a type checker that sees this takes any misspelt name for a metric

        def __getattr__(self, name: str) -> Estimate:
            metrics: Mapping[str, Estimate] = self.__dict__.get("metrics", {})
            if name in metrics:
                return metrics[name]
            if name.startswith("__"):
                raise AttributeError(name)
            known = ", ".join(sorted(metrics))
            raise AttributeError(f"a prediction has no metric {name!r}; this one has {known}")

    def __repr__(self) -> str:
        told = [name for name, one in self.metrics.items() if not one.absent]
        asked = f"{self.scenario.protocol}, {self.scenario.payload_bytes} B"
        return (
            f"Prediction({self.dataset!r}, variant={self.variant!r}, {asked}: {len(told)} metrics, "
            f"limited by {self.bottleneck})"
        )

    def explain(self) -> Explanation:
        """The terms of the mean latency and the bounds of the goodput."""
        return Explanation(self.terms, self.bounds, self.bottleneck)

    def to_dict(self) -> dict[str, object]:
        """The JSON document of ``icmodel predict --json``."""
        document: dict[str, object] = {
            "schema_version": 1,
            "scenario": self.scenario.to_dict(),
            "dataset": {"id": self.dataset, "sha256": self.sha256},
            "variant": self.variant,
        }
        document.update({name: estimate.to_dict() for name, estimate in self.metrics.items()})
        document["bottleneck"] = self.bottleneck
        document["terms"] = {name: number_or_none(value) for name, value in self.terms.items()}
        document["bounds"] = {name: number_or_none(value) for name, value in self.bounds.items()}
        document["rows"] = [row.to_dict() for row in self.rows]
        document["notes"] = list(self.notes)
        return document


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
