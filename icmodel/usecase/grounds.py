"""What a verdict stands on: the weakest basis of what decided it, and the measurement that would settle it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.estimate import Estimate, Prediction, UsedRow
from icmodel.requirement import Requirement
from icmodel.scenario import Scenario

WEAK = ("assumed", "extrapolated")
"""Bases on which ``--strict`` takes no requirement as met."""
RULE = re.compile(r"\brule (R[0-9]+)\b")
MOST_SOURCES = 3
FLOWS = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate", "frames_per_s")
"""Metrics that follow from rows of the goodput and the loss."""


@dataclass(frozen=True, slots=True)
class RestsOn:
    """What decided a verdict: its weakest basis and all of them, and whose rows the weakest are.

    ``settle`` is the measurement that would decide it; empty where nothing weaker than an interpolation
    was used.
    """

    basis: str
    bases: tuple[str, ...]
    sources: tuple[str, ...]
    settle: str

    @property
    def weak(self) -> bool:
        """Whether a strict judge takes it for nothing."""
        return self.basis in WEAK

    @property
    def rule(self) -> str:
        """The rules of the dataset's README that made the weakest rows: ``R3, R19``; else empty."""
        found = dict.fromkeys(name for source in self.sources for name in RULE.findall(source))
        return ", ".join(found)

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "basis": self.basis,
            "bases": list(self.bases),
            "sources": list(self.sources),
            "settle": self.settle,
        }


NOTHING = RestsOn("", (), (), "")
"""Where nothing was predicted."""


def rests_on(metric: str, estimate: Estimate, prediction: Prediction) -> RestsOn:
    """What the estimate that a requirement was judged by rests on."""
    if not estimate.basis:
        return NOTHING
    rows = [row for row in prediction.rows if _behind(row, metric) and row.basis == estimate.basis]
    sources = tuple(dict.fromkeys(row.source for row in rows))[:MOST_SOURCES]
    settle = settling(metric, prediction.scenario) if estimate.basis in WEAK else ""
    return RestsOn(estimate.basis, estimate.bases or (estimate.basis,), sources, settle)


def _behind(row: UsedRow, metric: str) -> bool:
    """Whether a metric is answered from a row: of its own, of its time, or of what flows."""
    if metric in FLOWS:
        return row.metric in FLOWS
    if metric.startswith("latency_"):
        return row.metric.startswith(("latency_", "rtt_"))
    return row.metric == metric.removesuffix("_cores") or row.metric == metric


def settling(metric: str, asked: Scenario) -> str:
    """The measurement that gives a metric of a stream a row of its own."""
    load = asked.requested_goodput_bps
    parts = [
        f"{metric} of {asked.protocol} at {asked.payload_bytes} B",
        "as fast as it goes" if asked.rate_fps is None else units.format_bps(load, 3),
        f"cores = {asked.cores}" if asked.cores else "",
        f"switches = {asked.switches}" if asked.switches else "",
        f"endpoints = {asked.endpoints}" if asked.endpoints > 1 else "",
    ]
    return f"measure {', '.join(part for part in parts if part)}"


def others_beyond(data: Dataset, requirement: Requirement, asked: Scenario) -> str:
    """Latencies at other options that lie beyond a requirement's limit, in a sentence; else empty.

    The rows are of the same protocol, and of the same latency or the greatest, which bounds it, at any
    payload and load.  They say nothing of the question as it was asked, but what may become of it
    where an option is chosen otherwise.
    """
    if not requirement.metric.startswith("latency_") or requirement.at_most is None:
        return ""
    told = {requirement.metric, "latency_max_s"}
    said = data.changed_options(dict(asked.options))
    beyond = []
    for point in data.points:
        if point.metric not in told or point.protocol != asked.protocol:
            continue
        own = {a: v for a, v in zip(data.option_axes, point.options, strict=True) if v}
        changed = data.changed_options(own)
        if changed and changed != said and point.value > requirement.limit:
            beyond.append((point, changed))
    if not beyond:
        return ""
    worst, options = max(beyond, key=lambda one: one[0].value)
    where = ", ".join(f"{axis} = {value}" for axis, value in options.items())
    value = units.format_quantity(worst.metric, worst.value, 4)
    return (
        f"with {where} the dataset has {worst.metric} of {value} ({worst.source}), beyond the limit"
    )
