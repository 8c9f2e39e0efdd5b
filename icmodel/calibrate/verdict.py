"""Verdict: what a use case still leaves undecided, as limits on metrics of runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from icmodel.calibrate.choose import Decision
from icmodel.calibrate.grid import payload_limit
from icmodel.calibrate.observed import scaled
from icmodel.calibrate.run import Run
from icmodel.calibrate.settings import Settings
from icmodel.dataset import Dataset
from icmodel.requirement import UNDECIDED
from icmodel.scenario import Scenario
from icmodel.usecase import UseCase, evaluate, load_usecase


@dataclass(frozen=True, slots=True)
class Standing:
    """The verdict of a use case on what was measured so far, and what a run may decide."""

    verdict: str
    decisions: tuple[Decision, ...]

    @property
    def decided(self) -> bool:
        """Whether no requirement is undecided any more."""
        return self.verdict != UNDECIDED


def required_metrics(usecase: str | None) -> tuple[str, ...]:
    """The metrics a use case limits; none without one."""
    if usecase is None:
        return ()
    return tuple(sorted({limit.metric for limit in load_usecase(usecase).requirements}))


def own_runs(case: UseCase, settings: Settings) -> tuple[Run, ...]:
    """The runs that the default candidate of a use case is about, as far as they can be made."""
    candidate = next(one for one in case.candidates if one.name == case.default_candidate)
    runs = (_run(asked.scenario(), settings) for asked in candidate.scenarios.values())
    return tuple(sorted({run for run in runs if run is not None}))


def standing(case: UseCase, data: Dataset, variant: str, settings: Settings) -> Standing:
    """Evaluate a use case, and collect what its chosen candidate leaves undecided."""
    evaluation = evaluate(case, data, variant)
    asked = {answer.stream: answer.scenario for answer in evaluation.chosen.answers}
    found = []
    for finding in evaluation.chosen.findings:
        run = _run(asked.get(finding.stream), settings)
        if finding.outcome == UNDECIDED and run is not None:
            requirement = finding.verdict.requirement
            limit = requirement.limit / finding.streams
            found.append(Decision(run, requirement.metric, scaled(requirement.metric, limit)))
    return Standing(evaluation.verdict, tuple(found))


def asked_runs(decisions: Iterable[Decision]) -> tuple[Run, ...]:
    """The runs that undecided requirements are about, each once."""
    return tuple(sorted({decision.run for decision in decisions}))


def _run(scenario: Scenario | None, settings: Settings) -> Run | None:
    """The run that is most like a scenario; none where its protocol is not measured."""
    if scenario is None or scenario.protocol not in settings.protocols:
        return None
    limit = payload_limit(scenario.protocol, settings)
    if not settings.least_payload_bytes <= scenario.payload_bytes <= limit:
        return None
    return Run(
        scenario.protocol,
        scenario.payload_bytes,
        scenario.requested_goodput_bps,
        settings.cores,
    )
