"""The loop of a calibration: plan, measure, fold, fit and choose until a stop condition holds.

The runs of a step depend only on the settings and the records of earlier steps. So after an interruption the same
step is planned again, and only the missing runs are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from icmodel.calibrate.planner import Decided, Planner, Turn
from icmodel.calibrate.runs import Record, Run, is_disturbed
from icmodel.calibrate.score import Score, worst
from icmodel.calibrate.settings import Settings
from icmodel.calibrate.state import Done, Folder, opened
from icmodel.calibrate.testbed import Refused, Testbed
from icmodel.errors import CalibrationError, MeasurementFailed

MOST_REFUSED = 3
"""Number of refused runs after which a calibration without any record fails."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a calibration after a run or a step; only the progress after a step has scores.

    ``disturbed`` is the number of runs excluded because the hypervisor took too much of a core;
    ``requirements`` has the outcome of each requirement of the use case.
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
        """Error that is compared with the target error: the greatest of all metrics' median errors."""
        return worst(self.scores)


Watch = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of a calibration's measurements: records, refused runs, and the reason why they ended.

    ``reason`` is error, verdict, budget or exhausted.
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
        System to measure; its description must equal the description in the settings.
    settings : Settings
        What to measure, how, and when to stop.
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
            decided = self.plan.decide(step, before)
            if decided.scores:
                self.watch(self._progress(step, decided=decided))
            if decided.reason:
                return self._result(decided.reason, step, decided)
            if not self._measure(step, decided.turns):
                return self._result("budget", step, decided)
            step += 1

    def _measure(self, step: int, turns: Sequence[Turn]) -> bool:
        """Measure the missing runs of a step; returns False if the time budget does not suffice."""
        have = {(one.run, one.repeat) for one in self.done if one.step == step}
        for run, repeat in turns:
            if (run, repeat) in have:
                continue
            if self.spent_s + self.settings.timing.cost_s > self.settings.aim.budget_s:
                return False
            try:
                answer = self.system.measure(run, repeat)
            except MeasurementFailed:  # try the run a second time
                answer = self.system.measure(run, repeat)
            self.done.append(self._stored(step, run, repeat, answer))
            self.watch(self._progress(step, run))
        return True

    def _stored(self, step: int, run: Run, repeat: int, answer: Record | Refused) -> Done:
        """Store the record of a run, or its refusal; raise CalibrationError if the hosts refuse every run."""
        if not isinstance(answer, Refused):
            return self.folder.keep(step, run, repeat, answer)
        if not any(one.record for one in self.done) and len(self.done) + 1 >= MOST_REFUSED:
            raise CalibrationError(
                f"the hosts refuse every run ({answer.why}): remove the cause and start again"
            )
        return self.folder.refuse(step, run, repeat, answer.why)

    @property
    def spent_s(self) -> float:
        """Measuring time that the calibration has spent so far [s]."""
        return self.settings.timing.cost_s * len(self._records)

    def _progress(
        self, step: int, last: Run | None = None, decided: Decided | None = None
    ) -> Progress:
        stand = decided.standing if decided else None
        return Progress(
            step=step,
            runs=len(self._records),
            disturbed=sum(
                is_disturbed(one, self.settings.sampling.most_steal) for one in self._records
            ),
            spent_s=self.spent_s,
            budget_s=self.settings.aim.budget_s,
            last=last,
            scores=decided.scores if decided else (),
            verdict=stand.verdict if stand else "",
            requirements=stand.requirements if stand else {},
        )

    @property
    def _records(self) -> tuple[Record, ...]:
        return tuple(one.record for one in self.done if one.record is not None)

    def _result(self, reason: str, step: int, decided: Decided) -> Result:
        if not self._records:
            raise CalibrationError(
                f"the budget of {self.settings.aim.budget_s:g} s is too short for one run, which takes "
                f"{self.settings.timing.cost_s:g} s: give a larger budget"
            )
        refused = tuple(one for one in self.done if one.record is None)
        return Result(reason, self._records, refused, self._progress(step, decided=decided))
