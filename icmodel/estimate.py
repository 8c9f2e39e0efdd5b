"""What the model answers: an Estimate a metric, and the Prediction of one scenario."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

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
