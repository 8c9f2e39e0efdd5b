"""Remedy: the rate that would bring a stream's goodput, where the one that was asked does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.errors import DatasetError, OutOfDomain, ScenarioError
from icmodel.estimate import Estimate
from icmodel.model import Model
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Requirement, judge
from icmodel.scenario import Scenario
from icmodel.usecase.derivation import least_rate_fps
from icmodel.usecase.result import Finding

REFUSALS = (OutOfDomain, ScenarioError, DatasetError)
"""What a model says to a question its dataset cannot answer."""
Goodput = Callable[[float | None], Estimate | None]
"""The goodput [b/s] at a rate [1/s], or as fast as it goes; none where it is not known."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A goodput that is required, of frames of a size, and what the model says to a rate."""

    requirement: Requirement
    payload_bytes: int
    goodput: Goodput

    def outcome(self, rate_fps: float | None) -> str:
        """The verdict at a rate; *undecided* where the goodput is not known."""
        found = self.goodput(rate_fps)
        return UNDECIDED if found is None else judge(self.requirement, found).outcome

    @property
    def least_fps(self) -> int:
        """The least whole rate that asks for enough."""
        return least_rate_fps(self.requirement.limit, self.payload_bytes)

    @property
    def greatest_fps(self) -> int:
        """The greatest whole rate that is carried; 0 where that is not known."""
        found = self.goodput(None)
        if found is None or found.absent:
            return 0
        return int(found.value / (8 * self.payload_bytes))


def with_remedy(finding: Finding, scenario: Scenario, model: Model) -> Finding:
    """A finding about goodput that is not met, with the least rate that would do, if one does."""
    trial = Trial(finding.verdict.requirement, scenario.payload_bytes, _asking(scenario, model))
    rate = least_met_fps(trial)
    if rate is None:
        return replace(finding, remedy=no_rate(trial))
    remedy = f"{rate} frames/s is the least rate that does"
    return replace(finding, remedy=remedy, least_rate_fps=rate)


def _asking(scenario: Scenario, model: Model) -> Goodput:
    def goodput(rate_fps: float | None) -> Estimate | None:
        try:
            return model.predict(replace(scenario, rate_fps=rate_fps)).metrics.get("goodput_bps")
        except REFUSALS:
            return None

    return goodput


def least_met_fps(trial: Trial) -> int | None:
    """The least whole rate whose whole interval is enough; none where no rate tried is met.

    It may lie above the least that asks for enough, since the lower end of an interval can lie
    below the request.  Rates are tried upwards in growing steps as far as frames are carried, and
    halved back from the first that is met: what is met stays met at a greater rate.
    """
    short = trial.least_fps - 1
    for rate in _upwards(trial.least_fps, trial.greatest_fps):
        if trial.outcome(rate) == MET:
            return _halved(trial, short, rate)
        short = rate
    return None


def _upwards(least: int, greatest: int) -> Iterator[int]:
    """The least rate, others at steps that double, and the greatest."""
    yield least
    step = 1
    while least + step < greatest:
        yield least + step
        step *= 2
    if least < greatest:
        yield greatest


def _halved(trial: Trial, short: int, met: int) -> int:
    """The least rate that is met, between one that is not and one that is."""
    while met - short > 1:
        middle = (short + met) // 2
        if trial.outcome(middle) == MET:
            met = middle
        else:
            short = middle
    return met


def no_rate(trial: Trial) -> str:
    """What is said where no limited rate is met: whether that is certain, and what is carried."""
    frames = f"with frames of {trial.payload_bytes} B"
    greatest = trial.goodput(None)
    if greatest is None or greatest.absent:
        return f"no rate is known to do {frames}"
    carried = f"which carries {units.format_bps(greatest.value)} at most"
    outcomes = {trial.outcome(rate) for rate in (trial.least_fps, trial.greatest_fps, None)}
    if outcomes == {NOT_MET}:
        return f"no rate does {frames}, {carried}"
    low, high = units.format_bps(greatest.low, 4), units.format_bps(greatest.high, 4)
    unlimited = "; as fast as it goes, without a rate, does" if MET in outcomes else ""
    return f"no rate surely does {frames}, {carried} ({low} – {high}){unlimited}"
