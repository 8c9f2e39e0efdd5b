"""Requirement and Verdict: a limit on one metric, and whether a prediction meets it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.documents import by_field
from icmodel.errors import UseCaseError
from icmodel.estimate import Estimate

MET = "met"
NOT_MET = "not met"
UNDECIDED = "undecided"
OUTCOMES = (MET, UNDECIDED, NOT_MET)
"""Best first; the worst of several stands for all."""
ROUNDING = 1e-9
"""Relative difference up to which a goodput is what is produced."""
SIGNS = {MET: "✓", NOT_MET: "✗", UNDECIDED: "?"}
"""A sign beside each outcome, so that none is told by its colour alone."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A metric must be at least, or at most, a limit (SI units as the metric's suffix says)."""

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
        """The limit, whichever side it bounds."""
        return float(self.at_least if self.at_least is not None else self.at_most or 0.0)

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return by_field(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a requirement is met; ``margin`` is relative to the limit, positive when met."""

    requirement: Requirement
    outcome: str
    estimate: Estimate
    margin: float
    limiting: str
    why: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return by_field(self)


def judge(requirement: Requirement, estimate: Estimate, limiting: str = "") -> Verdict:
    """Met when the whole interval is on the right side, not met when none of it is.

    An interval that straddles the limit, or no value at all, is *undecided*.
    """
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return Verdict(requirement, UNDECIDED, estimate, math.nan, limiting, estimate.why)
    if requirement.at_least is not None:
        met, failed = estimate.low >= requirement.limit, estimate.high < requirement.limit
    else:
        met, failed = estimate.high <= requirement.limit, estimate.low > requirement.limit
    outcome = MET if met else NOT_MET if failed else UNDECIDED
    return Verdict(
        requirement, outcome, estimate, _margin(requirement, estimate.value), limiting, estimate.why
    )


def _margin(requirement: Requirement, value: float) -> float:
    if math.isnan(value):
        return math.nan
    distance = value - requirement.limit
    if requirement.at_most is not None:
        distance = -distance
    return (distance / abs(requirement.limit) if requirement.limit else distance) or 0.0


def worst(outcomes: list[str]) -> str:
    """The outcome of all together: one *not met* decides, else one *undecided*."""
    return max(outcomes, key=OUTCOMES.index) if outcomes else UNDECIDED


def while_all_passes(latency: Estimate, goodput: Estimate, produced_bps: float) -> Estimate:
    """A latency of what is produced, held to what passes.

    Where less passes than is produced, what waits grows without limit (a queue with a load above 1 has no steady
    state: L. Kleinrock, Queueing Systems, vol. 1, 1975): infinite, without a value.  Where the interval of
    the goodput leaves that open, the latency has no upper end.
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
