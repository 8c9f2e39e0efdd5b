"""Requirement and Verdict: a limit on one metric, and whether a prediction meets it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.documents import json_of
from icmodel.errors import UseCaseError
from icmodel.estimate import Estimate

MET = "met"
NOT_MET = "not met"
UNDECIDED = "undecided"
OUTCOMES = (MET, UNDECIDED, NOT_MET)
"""All outcomes, the best first; of several requirements the worst outcome counts."""
ROUNDING = 1e-9
"""Relative difference up to which a goodput equals the produced rate."""
SIGNS = {MET: "✓", NOT_MET: "✗", UNDECIDED: "?"}
"""A sign for each outcome, so that colour is never the only mark."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A metric must be at least, or at most, a limit.

    Parameters
    ----------
    name : str
        What must hold, in words.
    metric : str
        Name of the metric, whose suffix gives the SI unit of the limit.
    at_least, at_most : float, optional
        The limit; exactly one of the two is given.
    kind : str
        ``soft`` or ``hard``.
    source : str
        Where the requirement comes from.

    Raises
    ------
    UseCaseError
        If not exactly one limit is given, or it is not finite.
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
                f"requirement {self.name!r} needs exactly one of at_least and at_most"
            )
        if not math.isfinite(self.limit):
            raise UseCaseError(
                f"requirement {self.name!r} has the limit {self.limit}: give a finite number"
            )

    @property
    def sign(self) -> str:
        """``≥`` or ``≤``."""
        return "≤" if self.at_least is None else "≥"

    @property
    def limit(self) -> float:
        """The limit, on either side."""
        return float(self.at_least if self.at_least is not None else self.at_most or 0.0)

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return json_of(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an estimate meets a requirement.

    ``margin`` is the distance from the limit relative to the limit, positive if met; if the limit is 0, the distance
    itself [SI].  ``limiting`` names the bottleneck, ``why`` gives a reason.
    """

    requirement: Requirement
    outcome: str
    estimate: Estimate
    margin: float
    limiting: str
    why: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return json_of(self)


def judge(requirement: Requirement, estimate: Estimate, limiting: str = "") -> Verdict:
    """Compare the interval of an estimate with a requirement.

    It is *met* if the whole interval is on the required side of the limit, and *not met* if no part of it is.
    Otherwise, or without an interval, it is *undecided*.

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
    margin = (margin / abs(limit) if limit else margin) or 0.0  # no negative zero
    return Verdict(requirement, outcome, estimate, margin, limiting, estimate.why)


def worst_outcome(outcomes: Sequence[str]) -> str:
    """The outcome of several requirements together: the worst of them, *undecided* if there is none."""
    return max(outcomes, key=OUTCOMES.index) if outcomes else UNDECIDED


def outcome_text(outcome: str) -> str:
    """An outcome with its sign: ``✓ met``."""
    return f"{SIGNS[outcome]} {outcome}"


def while_all_passes(latency: Estimate, goodput: Estimate, produced_bps: float) -> Estimate:
    """A latency that holds only if all produced data passes.

    If the goodput is less than the produced rate, the queue grows without limit: the latency is infinite and has no
    value.  If the goodput's interval leaves that open, the latency has no upper end.  A queue with a load above 1
    has no steady state: L. Kleinrock, Queueing Systems, vol. 1, 1975.

    Parameters
    ----------
    latency : Estimate
        Latency [s] if all produced data passes.
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
        why = f"at most {passes} of the {produced} that are produced pass: what waits grows without limit, or is lost"
        bases = goodput.bases or (goodput.basis,)
        return Estimate(math.nan, math.inf, math.inf, goodput.basis, why, bases)
    if goodput.absent or latency.absent:
        return latency
    why = f"less than the {produced} that are produced may pass: what waits may grow without limit, or be lost"
    return replace(latency, high=math.inf, why="; ".join(filter(None, (latency.why, why))))
