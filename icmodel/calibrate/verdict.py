"""Evaluate a use case on the runs so far, and convert its undecided requirements to limits for single runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from icmodel.calibrate.choose import Decision
from icmodel.calibrate.runs import Run, payload_limit, scaled
from icmodel.calibrate.settings import PROTOCOLS, Settings
from icmodel.dataset import Dataset
from icmodel.errors import CalibrationError
from icmodel.requirement import UNDECIDED
from icmodel.scenario import Scenario
from icmodel.usecase import UseCase, evaluate, load_usecase
from icmodel.usecase.document import Candidate


@dataclass(frozen=True, slots=True)
class Standing:
    """Verdict of a use case from the runs measured so far, and its undecided requirements.

    ``requirements`` has the outcome of each requirement by name.
    """

    verdict: str
    decisions: tuple[Decision, ...]
    requirements: Mapping[str, str]

    @property
    def decided(self) -> bool:
        """Whether the use case's verdict is no longer undecided."""
        return self.verdict != UNDECIDED


def required_metrics(usecase: str | None) -> tuple[str, ...]:
    """Names of the metrics that a use case limits by requirements, sorted; empty without a use case."""
    if usecase is None:
        return ()
    return tuple(sorted({limit.metric for limit in load_usecase(usecase).requirements}))


def refuse_undecidable(case: UseCase, settings: Settings) -> None:
    """Raise CalibrationError if runs under these settings cannot decide the verdict of the default candidate.

    Raises
    ------
    CalibrationError
        If the planned runs cannot predict any stream of the candidate.
    """
    streams: dict[str, list[str]] = {}
    for name, asked in _default(case).scenarios.items():
        streams.setdefault(", and ".join(_obstacles(asked.scenario(), settings)), []).append(name)
    if "" not in streams:
        reasons = "; ".join(f"{' and '.join(names)}: {why}" for why, names in streams.items())
        raise CalibrationError(
            f"no run can decide the use case {case.name} with its default candidate "
            f"{case.default_candidate} ({reasons}): change these settings, or leave the use case out"
        )


def _obstacles(scenario: Scenario, settings: Settings) -> Iterator[str]:
    """Reasons why a dataset measured with these settings cannot predict a scenario.

    Switches are not an obstacle: if a dataset has no switches, `evaluate` adds a note.
    """
    if scenario.protocol not in settings.grid.protocols:
        yield f"{scenario.protocol} is not measured, {_protocol_hint(scenario)}"
    if scenario.cores not in (None, settings.setup.cores):
        yield f"{scenario.cores} cores are needed, so give Setup(cores={scenario.cores})"
    if not _is_payload(scenario, settings):
        yield f"frames of {scenario.payload_bytes} B are outside the range of measured payloads"


def _is_payload(scenario: Scenario, settings: Settings) -> bool:
    """Whether the payload of a scenario is within the range of payloads that a calibration measures."""
    limit = payload_limit(scenario.protocol, settings)
    return settings.grid.least_payload_bytes <= scenario.payload_bytes <= limit


def _protocol_hint(scenario: Scenario) -> str:
    if scenario.protocol in PROTOCOLS:
        return f'so give Grid(protocols=("{scenario.protocol}",))'
    return f"and can only be {', '.join(PROTOCOLS)}"


def _default(case: UseCase) -> Candidate:
    return next(one for one in case.candidates if one.name == case.default_candidate)


def own_runs(case: UseCase, settings: Settings) -> tuple[Run, ...]:
    """Runs that measure the streams of a use case's default candidate; streams that cannot be measured are left out."""
    scenarios = _default(case).scenarios.values()
    runs = (_run(asked.scenario(), settings) for asked in scenarios)
    return tuple(sorted({run for run in runs if run is not None}))


def standing(case: UseCase, data: Dataset, variant: str, settings: Settings) -> Standing:
    """Evaluate a use case on the dataset so far, and collect the undecided requirements of its chosen candidate."""
    evaluation = evaluate(case, data, variant)
    asked = {answer.stream: answer.scenario for answer in evaluation.chosen.answers}
    found = []
    for finding in evaluation.chosen.findings:
        run = _run(asked.get(finding.stream), settings)
        if finding.outcome == UNDECIDED and run is not None:
            requirement = finding.verdict.requirement
            limit = requirement.limit / finding.streams
            found.append(Decision(run, requirement.metric, scaled(requirement.metric, limit)))
    outcomes = {one.verdict.requirement.name: one.outcome for one in evaluation.chosen.findings}
    return Standing(evaluation.verdict, tuple(found), outcomes)


def asked_runs(decisions: Iterable[Decision]) -> tuple[Run, ...]:
    """Return the runs of all undecided requirements, sorted, without duplicates."""
    return tuple(sorted({decision.run for decision in decisions}))


def _run(scenario: Scenario | None, settings: Settings) -> Run | None:
    """Run that measures a scenario; None if the calibration does not measure its protocol or payload."""
    if scenario is None or scenario.protocol not in settings.grid.protocols:
        return None
    if not _is_payload(scenario, settings):
        return None
    return Run(
        scenario.protocol,
        scenario.payload_bytes,
        scenario.requested_goodput_bps,
        settings.setup.cores,
    )
