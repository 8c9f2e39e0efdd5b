"""What the model answers: an Estimate a metric, and the Prediction of one scenario."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

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


def number_or_none(value: float) -> float | None:
    """A number as JSON knows it: NaN and infinities become ``None``."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a prediction is what it is.

    ``latency_terms`` (s) sum to the mean latency; the least of ``goodput_bounds`` (b/s) is the
    goodput.
    """

    latency_terms: Mapping[str, float]
    goodput_bounds: Mapping[str, float]
    bottleneck: str


@dataclass(frozen=True, slots=True)
class UsedRow:
    """A dataset row a prediction rests on."""

    line: int
    metric: str
    payload_bytes: int | None
    load_bps: float | None
    value: float
    basis: str
    source: str

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


@dataclass(frozen=True)
class Prediction:
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

    def __getattr__(self, name: str) -> Estimate:
        metrics: Mapping[str, Estimate] = self.__dict__.get("metrics", {})
        if name in metrics:
            return metrics[name]
        if name.startswith("__"):
            raise AttributeError(name)
        known = ", ".join(sorted(metrics))
        raise AttributeError(f"a prediction has no metric {name!r}; this one has {known}")

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
