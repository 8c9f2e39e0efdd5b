"""Requirement and Verdict: a limit on one metric, and whether a prediction meets it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.documents import json_of
from icmodel.errors import UseCaseError
from icmodel.estimate import Estimate, estimated, interval, quantity, shortened
from icmodel.frozen import NanEqual
from icmodel.table import Coloured, html_table

MET = "met"
NOT_MET = "not met"
UNDECIDED = "undecided"
OUTCOMES = (MET, UNDECIDED, NOT_MET)
"""All outcomes of a requirement, the best first; the outcome of several requirements is the worst one."""
EXIT_CODES = {MET: 0, NOT_MET: 1, UNDECIDED: 3}
"""Outcome -> exit code of the command line."""
ROUNDING = 1e-9
"""Relative difference up to which a goodput counts as equal to the rate at which data is produced."""
SIGNS = {MET: "✓", NOT_MET: "✗", UNDECIDED: "?"}
"""Sign of each outcome of a requirement, so that colour is never the only mark of an outcome."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """Requirement that a metric is at least, or at most, a limit.

    Parameters
    ----------
    name : str
        Name of the requirement, in words.
    metric : str
        Name of the metric, whose suffix gives the SI unit of the limit.
    at_least, at_most : float, optional
        The limit; exactly one of the two is given.
    kind : str
        ``hard``, ``firm`` or ``soft``: how bad it is to miss the limit. In a system, a ``hard`` limit on the greatest
        latency is judged by a worst-case bound.
    source : str
        Source of the requirement, such as a document.

    Raises
    ------
    UseCaseError
        If not exactly one limit is given, or the limit is not finite.
    """

    name: str
    metric: str
    at_least: float | None = None
    at_most: float | None = None
    kind: str = "soft"
    source: str = ""

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise UseCaseError(
                f"requirement {self.name!r} needs exactly one of at_least and at_most: give one"
            )
        if not math.isfinite(self.limit):
            raise UseCaseError(
                f"requirement {self.name!r} has the limit {self.limit}: give a finite number"
            )

    @property
    def sign(self) -> str:
        """Sign of the required limit: ``≥`` or ``≤``."""
        return "≤" if self.at_least is None else "≥"

    @property
    def limit(self) -> float:
        """Value of the required limit: ``at_least`` or ``at_most``, whichever is given."""
        return float(self.at_least if self.at_least is not None else self.at_most or 0.0)

    def to_dict(self) -> dict[str, object]:
        """Convert this requirement to its JSON form, a dictionary."""
        return json_of(self)


@dataclass(frozen=True, slots=True, eq=False)
class Verdict(NanEqual):
    """Verdict on an estimate: whether it meets a requirement.

    ``margin`` is the distance from the limit, positive if met.  It is relative to the limit; if the limit is 0, it is
    the distance itself [SI].  ``limiting`` names the bottleneck, ``why`` gives a reason.
    """

    requirement: Requirement
    outcome: str
    estimate: Estimate
    margin: float
    limiting: str
    why: str = ""

    def __repr__(self) -> str:
        need = self.requirement
        limit = f"{need.metric} {need.sign} {quantity(need.metric, need.limit)}"
        found = estimated(need.metric, self.estimate)
        return f"Verdict({self.outcome}: {shortened(need.name, 80)}, {limit}, predicted {found})"

    def _repr_html_(self) -> str:
        """Return the verdict as a table for a notebook."""
        return html_table(
            self.requirement.name, VERDICT_COLUMNS, [verdict_cells(self)], filter(None, [self.why])
        )

    def to_dict(self) -> dict[str, object]:
        """Convert this verdict to its JSON form, a dictionary."""
        return json_of(self)


VERDICT_COLUMNS = ("requirement", "metric", "#predicted", "#interval", "basis", "#limit", "verdict")
"""Columns of `verdict_cells`."""


def verdict_cells(verdict: Verdict, where: str = "") -> tuple[str | Coloured, ...]:
    """Return the cells of a verdict's row in a printed table; ``where`` is the name of the stream or of the device."""
    need, found = verdict.requirement, verdict.estimate
    limit = f"{need.sign} {quantity(need.metric, need.limit)}"
    name = f"{need.name}, {where}" if where else need.name
    text = Coloured(outcome_text(verdict.outcome), verdict.outcome)
    value, ends = estimated(need.metric, found), interval(need.metric, found)
    return name, need.metric, value, ends, found.basis, limit, text


def verdict_record(verdict: Verdict) -> dict[str, object]:
    """Return a verdict as a record for a data frame, with numbers in SI."""
    need, found = verdict.requirement, verdict.estimate
    return {
        "requirement": need.name,
        "kind": need.kind,
        "metric": need.metric,
        "unit": units.unit_of(need.metric),
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "basis": found.basis,
        "at_least": math.nan if need.at_least is None else need.at_least,
        "at_most": math.nan if need.at_most is None else need.at_most,
        "outcome": verdict.outcome,
        "margin": verdict.margin,
        "limiting": verdict.limiting,
        "why": verdict.why,
    }


def judge(requirement: Requirement, estimate: Estimate, limiting: str = "") -> Verdict:
    """Compare the interval of an estimate with a requirement.

    The requirement is *met* if the whole interval is on the required side of the limit.  It is *not met* if the whole
    interval is on the other side.  Otherwise, or without an interval, it is *undecided*.

    Examples
    --------
    >>> from icmodel.estimate import Estimate
    >>> in_time = Requirement("pictures arrive in time", "latency_max_s", at_most=0.017)
    >>> verdict = judge(in_time, Estimate(0.012, 0.010, 0.014, "measured"))
    >>> verdict.outcome, round(verdict.margin, 2)
    ('met', 0.29)
    """
    limit = requirement.limit
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return Verdict(requirement, UNDECIDED, estimate, math.nan, limiting, estimate.why)
    if requirement.at_least is not None:
        met, failed = estimate.low >= limit, estimate.high < limit
        margin = estimate.value - limit
    else:
        met, failed = estimate.high <= limit, estimate.low > limit
        margin = limit - estimate.value
    outcome = MET if met else NOT_MET if failed else UNDECIDED
    margin = (
        margin / abs(limit) if limit else margin
    ) or 0.0  # `or 0.0` turns a negative zero into 0
    return Verdict(requirement, outcome, estimate, margin, limiting, estimate.why)


def worst_outcome(outcomes: Sequence[str]) -> str:
    """Return the worst of several outcomes, which is the outcome of all requirements together.

    Without requirements the outcome is *undecided*.
    """
    return max(outcomes, key=OUTCOMES.index) if outcomes else UNDECIDED


def outcome_text(outcome: str) -> str:
    """Return the text of an outcome with its sign, such as ``✓ met``."""
    return f"{SIGNS[outcome]} {outcome}"


def while_all_passes(latency: Estimate, goodput: Estimate, produced_bps: float) -> Estimate:
    """Correct the latency of a stream whose goodput is, or may be, less than the rate at which its data is produced.

    If the whole interval of the goodput is below the produced rate, the queue grows without limit.  Then low and high
    of the latency are infinite, and its value is NaN.  If only the low of the goodput is below the produced rate, the
    high of the latency is infinite.  Otherwise the latency stays unchanged.  A queue with a load above 1 has no steady
    state: L. Kleinrock, Queueing Systems, vol. 1, 1975.

    Parameters
    ----------
    latency : Estimate
        Latency [s] on condition that all produced data passes.
    goodput : Estimate
        Goodput [b/s] of the stream.
    produced_bps : float
        Rate at which data is produced [b/s].
    """
    least_bps = produced_bps * (1 - ROUNDING)
    if not goodput.low < least_bps:
        return latency
    produced = units.format_bps(produced_bps)
    if goodput.high < least_bps:
        passes = units.format_bps(goodput.high)
        why = f"at most {passes} of the produced {produced} pass: the queue grows without limit, or data is lost"
        bases = goodput.bases or (goodput.basis,)
        return Estimate(math.nan, math.inf, math.inf, goodput.basis, why, bases)
    if goodput.absent or latency.absent:
        return latency
    why = f"possibly not all of the produced {produced} pass: the queue may grow without limit, or data may be lost"
    return replace(latency, high=math.inf, why="; ".join(filter(None, (latency.why, why))))
