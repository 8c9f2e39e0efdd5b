"""The evidence behind a verdict: its weakest basis, and the measurement that would replace it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.documents import by_field
from icmodel.estimate import Estimate, Prediction, UsedRow
from icmodel.requirement import Requirement
from icmodel.scenario import Scenario

WEAK = ("assumed", "extrapolated")
"""Bases on which ``--strict`` counts no requirement as met."""
RULE = re.compile(r"\brule (R[0-9]+)\b")
MOST_SOURCES = 3
FLOWS = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate", "frames_per_s")
"""Metrics that follow from rows of the goodput and the loss."""


@dataclass(frozen=True, slots=True)
class RestsOn:
    """The evidence behind a verdict: its weakest basis, all bases, and the sources of the weakest.

    ``settle`` is the measurement that would replace the weakest, or why a stream is refused and what would answer
    it; empty unless it is weaker than interpolated.
    """

    basis: str
    bases: tuple[str, ...]
    sources: tuple[str, ...]
    settle: str

    @property
    def weak(self) -> bool:
        """Whether ``--strict`` rejects this basis."""
        return self.basis in WEAK

    @property
    def rule(self) -> str:
        """The rules of the dataset's README that made the weakest rows: ``R3, R19``; else empty."""
        found = dict.fromkeys(name for source in self.sources for name in RULE.findall(source))
        return ", ".join(found)

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return by_field(self)


NOTHING = RestsOn("", (), (), "")
"""The evidence if nothing was predicted."""


def rests_on(
    metric: str, estimate: Estimate, prediction: Prediction | None, refusal: str = ""
) -> RestsOn:
    """The evidence behind the estimate by which a requirement was judged.

    Of a stream that is refused it is theory's at most, and the refusal says what would answer.
    """
    if prediction is None:
        return RestsOn(estimate.basis, estimate.bases or (estimate.basis,), (), refusal)
    if not estimate.basis:
        return NOTHING
    rows = [row for row in prediction.rows if _behind(row, metric) and row.basis == estimate.basis]
    sources = tuple(dict.fromkeys(row.source for row in rows))[:MOST_SOURCES]
    settle = settling(metric, prediction.scenario) if estimate.basis in WEAK else ""
    return RestsOn(estimate.basis, estimate.bases or (estimate.basis,), sources, settle)


def _behind(row: UsedRow, metric: str) -> bool:
    """Whether a metric was predicted from a row: of the metric, of a latency, or of a flow."""
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
    """A sentence on rows at other options whose latency exceeds a requirement's limit; else empty.

    The rows are of the same protocol, at any payload and load, and of the same metric or the maximum
    latency.  They do not bear on the scenario asked, but warn of other choices of options.
    """
    if not requirement.metric.startswith("latency_") or requirement.at_most is None:
        return ""
    metrics = {requirement.metric, "latency_max_s"}
    asked_options = data.changed_options(dict(asked.options))
    beyond = []
    for point in data.points:
        if point.metric not in metrics or point.protocol != asked.protocol:
            continue
        changed = data.changed_options(data.options_of(point))
        if changed and changed != asked_options and point.value > requirement.limit:
            beyond.append((point, changed))
    if not beyond:
        return ""
    worst, options = max(beyond, key=lambda one: one[0].value)
    where = ", ".join(f"{axis} = {value}" for axis, value in options.items())
    value = units.format_quantity(worst.metric, worst.value, 4)
    return (
        f"with {where} the dataset has {worst.metric} of {value} ({worst.source}), beyond the limit"
    )
