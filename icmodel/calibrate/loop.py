"""Carry out a calibration: plan, measure, fold, fit and choose until a stop condition holds.

The runs of a step depend only on the settings and the records of earlier steps. So after an interruption the same step
is planned again, and only its missing runs are measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from icmodel.calibrate.planner import Planner, Score, StepPlan, refuse_undecidable, worst
from icmodel.calibrate.runs import Record, Run, is_disturbed, is_spoilt
from icmodel.calibrate.settings import MOST_MTU, Settings
from icmodel.calibrate.state import Done, Folder, opened, write
from icmodel.calibrate.testbed import Hosts, LabPair, Link, Pair, Refused, SshPair, Testbed
from icmodel.dataset.write import id_of
from icmodel.documents import number_or_none
from icmodel.errors import CalibrationError, MeasurementFailed
from icmodel.usecase import load_usecase

SCHEMA_VERSION = 1
DIGITS = 6
"""Number of decimal places of times [s] in the JSON document of a calibration."""


@dataclass(frozen=True, slots=True)
class Request:
    """Request for a calibration: the folder, the hosts or lab, and the settings that the user gave.

    Parameters
    ----------
    folder : Path
        Folder for the records and the dataset.
    hosts : tuple of str, optional
        Two host names for ssh; without them a lab with ``topology`` is built.
    topology : str
        Name or file of the lab's topology.
    address : str, optional
        Address of the second host on the measured network.
    words : mapping
        Fields of `Settings` by name. A field that is missing or ``None`` gets the value that the lab's topology states,
        otherwise its default.

    Raises
    ------
    CalibrationError
        If the settings are impossible, or runs under them cannot decide the verdict of the use case.
    UseCaseError
        If the use case does not exist.
    DatasetError
        If the folder's name cannot be a dataset's id.
    """

    folder: Path
    hosts: tuple[str, str] | None = None
    topology: str = "direct-1g"
    address: str | None = None
    words: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        id_of(self.folder)
        settings = self.settings("", Link(mtu_bytes=MOST_MTU))  # the lab's MTU is not known yet
        if settings.aim.usecase is not None:
            refuse_undecidable(load_usecase(settings.aim.usecase), settings)

    def settings(self, system: str, link: Link) -> Settings:
        """Make the settings of the calibration; ``system`` describes the measured hosts.

        Each setting is that of the user (``words``). If the user gave none, it is taken from ``link``, the known
        properties of the path between the hosts. If ``link`` has none either, it has its default.
        """
        return Settings.of(system=system, **{**_given(asdict(link)), **_given(self.words)})


@dataclass(frozen=True, slots=True)
class Calibration:
    """Result of a calibration: the reason for its end, and the written dataset."""

    system: str
    folder: Path
    dataset: str
    sha256: str
    variant: str
    result: Result

    def __repr__(self) -> str:
        return f"Calibration({self.system!r}: {self.dataset!r}, variant={self.variant!r})"

    @property
    def spoilt(self) -> int:
        """Number of measured runs without a usable metric, because of icprobe's flags (warnings) in their records."""
        return sum(map(is_spoilt, self.result.records))

    @property
    def flags(self) -> Counter[str]:
        """Unusable runs (no metric is usable) by flag: for each flag (warning) of icprobe, the number of these runs."""
        return Counter(
            flag
            for one in self.result.records
            if is_spoilt(one)
            for flag in sorted(set(one.get("flags", ())))
        )

    def to_dict(self) -> dict[str, object]:
        """Convert this result to the JSON document that ``icmodel calibrate --json`` prints."""
        stand = self.result.progress
        return {
            "schema_version": SCHEMA_VERSION,
            "system": self.system,
            "folder": str(self.folder),
            "dataset": {"id": self.dataset, "sha256": self.sha256},
            "variant": self.variant,
            "reason": self.result.reason,
            "runs": stand.runs,
            "disturbed": stand.disturbed,
            "spoilt": {"runs": self.spoilt, "flags": dict(sorted(self.flags.items()))},
            "refused": [
                {"point": one.run.identity, "words": list(one.run.words()), "why": one.why}
                for one in self.result.refused
            ],
            "spent_s": round(stand.spent_s, DIGITS),
            "budget_s": stand.budget_s,
            "error": number_or_none(stand.error),
            "metrics": {
                one.metric: {
                    "n": one.count,
                    "median": number_or_none(one.middle),
                    "p95": number_or_none(one.p95),
                    "noise": number_or_none(one.noise),
                }
                for one in stand.scores
            },
            "verdict": stand.verdict or None,
            "requirements": dict(stand.requirements),
        }


def carry_out(probe: Path, request: Request, watch: Watch | None = None) -> Calibration:
    """Carry out a calibration: measure until the target error or the budget is reached, and write the dataset.

    Raises
    ------
    CalibrationError
        If the folder holds another calibration, hosts cannot be reached, or nothing was measured.
    """
    pair: Pair
    if request.hosts is None:
        pair = LabPair(probe, request.topology, request.folder)
    else:
        pair = SshPair(probe, *request.hosts, address=request.address)
    settings = request.settings(pair.description, pair.link())
    result = calibrate(
        Hosts(probe, pair, settings, request.folder), settings, request.folder, watch
    )
    data = write(request.folder, settings)
    return Calibration(
        system=pair.description,
        folder=request.folder,
        dataset=data.id,
        sha256=data.sha256,
        variant=settings.aim.variant,
        result=result,
    )


def _given(words: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a mapping without the keys whose value is ``None``."""
    return {name: value for name, value in words.items() if value is not None}


MOST_REFUSED = 3
"""If this many runs were refused and no run has a record, the calibration fails."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a calibration, reported after each run and after each step.

    ``scores`` are the errors of the model, which are only known after a step. ``disturbed`` is the number of runs
    excluded because the hypervisor took too much of a core. ``requirements`` has the outcome of each requirement of the
    use case.
    """

    step: int
    runs: int
    disturbed: int
    spent_s: float
    budget_s: float
    last: Run | None
    scores: tuple[Score, ...] = ()
    verdict: str = ""
    requirements: Mapping[str, str] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """Median prediction error of the worst metric; the calibration ends when it reaches the target error."""
        return worst(self.scores)


Watch = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of a calibration's measurements: records, refused runs, and the reason why measuring ended.

    ``reason`` is ``error`` (target error reached), ``verdict`` (use case decided), ``budget`` (time used up) or
    ``exhausted`` (no run left to choose).
    """

    reason: str
    records: tuple[Record, ...]
    refused: tuple[Done, ...]
    progress: Progress


def calibrate(
    system: Testbed, settings: Settings, folder: Path, watch: Watch | None = None
) -> Result:
    """Measure a system until the target error or the budget is reached.

    A calibration that was interrupted is continued.

    Parameters
    ----------
    system : Testbed
        System to measure; its description must equal ``settings.system``.
    settings : Settings
        Grid of runs, times and stop conditions.
    folder : Path
        Folder of the records; if the folder holds a calibration, it is continued.
    watch : callable, optional
        Called with the progress after every run and every step.

    Raises
    ------
    CalibrationError
        If the folder holds another calibration, another process uses it, or nothing can be measured.
    MeasurementFailed
        If a run fails twice.
    """
    if system.description != settings.system:
        raise CalibrationError(
            f"the folder holds a calibration of {settings.system!r}, but {system.description!r} was "
            "given: use another folder"
        )
    plan = Planner(settings)
    with opened(folder, settings) as place, system:
        return _Loop(system, plan, place, watch or (lambda _: None)).go()


class _Loop:
    """Running calibration loop: its testbed, planner, folder and the runs done so far."""

    def __init__(self, system: Testbed, plan: Planner, folder: Folder, watch: Watch) -> None:
        self.system = system
        self.settings = plan.settings
        self.folder = folder
        self.watch = watch
        self.done = folder.done()
        self.plan = plan

    def go(self) -> Result:
        """Run the calibration: plan and measure step by step, beginning with the interrupted step, if any."""
        step = max((one.step for one in self.done), default=0)
        while True:
            before = [one for one in self.done if one.step < step]
            planned = self.plan.plan_step(step, before)
            if planned.scores:
                self.watch(self._progress(step, planned=planned))
            if planned.reason:
                return self._result(planned.reason, step, planned)
            if not self._measure(step, planned):
                return self._result("budget", step, planned)
            step += 1

    def _measure(self, step: int, planned: StepPlan) -> bool:
        """Measure the missing runs of a step; return False if the time budget does not suffice."""
        have = {(one.run, one.repeat) for one in self.done if one.step == step}
        for run, repeat in planned.turns:
            if (run, repeat) in have:
                continue
            if self.spent_s + self.settings.timing.cost_s > self.settings.aim.budget_s:
                return False
            try:
                answer = self.system.measure(run, repeat)
            except MeasurementFailed:  # try the run a second time
                answer = self.system.measure(run, repeat)
            if not isinstance(answer, Refused):
                self.done.append(self.folder.keep(step, run, repeat, answer))
            elif not any(one.record for one in self.done) and len(self.done) + 1 >= MOST_REFUSED:
                raise CalibrationError(
                    f"the hosts refuse every run ({answer.why}): remove the cause and start again"
                )
            else:
                self.done.append(self.folder.refuse(step, run, repeat, answer.why))
            self.watch(self._progress(step, run))
        return True

    @property
    def spent_s(self) -> float:
        """Measuring time that the calibration has spent so far [s]."""
        return self.settings.timing.cost_s * len(self._records)

    def _progress(
        self, step: int, last: Run | None = None, planned: StepPlan | None = None
    ) -> Progress:
        stand = planned.standing if planned else None
        return Progress(
            step=step,
            runs=len(self._records),
            disturbed=sum(
                is_disturbed(one, self.settings.sampling.most_steal) for one in self._records
            ),
            spent_s=self.spent_s,
            budget_s=self.settings.aim.budget_s,
            last=last,
            scores=planned.scores if planned else (),
            verdict=stand.verdict if stand else "",
            requirements=stand.requirements if stand else {},
        )

    @property
    def _records(self) -> tuple[Record, ...]:
        return tuple(one.record for one in self.done if one.record is not None)

    def _result(self, reason: str, step: int, planned: StepPlan) -> Result:
        if not self._records:
            raise CalibrationError(
                f"the budget of {self.settings.aim.budget_s:g} s is too short for one run, which takes "
                f"{self.settings.timing.cost_s:g} s: give a larger budget"
            )
        refused = tuple(one for one in self.done if one.record is None)
        return Result(reason, self._records, refused, self._progress(step, planned=planned))
