"""Planner of a calibration: chooses the runs of each step, and evaluates the model and a use case on the runs so far."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from icmodel.calibrate.choose import (
    Decision,
    Purpose,
    Surface,
    choose,
    near_saturation,
    overloaded,
    surfaces,
    within_capacity,
)
from icmodel.calibrate.runs import (
    Record,
    Run,
    candidates,
    domain,
    ends,
    first_runs,
    is_disturbed,
    is_spoilt,
    observed,
    payload_limit,
    pilot,
    run_of,
    scaled,
)
from icmodel.calibrate.settings import PROTOCOLS, Settings
from icmodel.calibrate.state import Done, table
from icmodel.dataset import Dataset
from icmodel.dataset.rows import noise
from icmodel.errors import CalibrationError
from icmodel.requirement import UNDECIDED
from icmodel.scenario import Scenario
from icmodel.usecase import UseCase, evaluate, load_usecase
from icmodel.usecase.document import Candidate
from icmodel.validate.folds import Fold, Key, answers, curve_key, in_order, point_key
from icmodel.validate.scores import by_metric, outcome, score

MOST_SPOILT = 3
"""A run is not measured again after this many records without a usable metric."""
LAST_OPENING = 3
"""Last step of a calibration whose runs are fixed by rule; runs of later steps are chosen by their gain."""

Turn = tuple[Run, int]
"""One measurement of a plan: a run, and the number of its repeat, counted from 0."""


@dataclass(frozen=True, slots=True)
class StepPlan:
    """Plan of a calibration step: the runs to measure, or the reason to stop.

    ``scores`` are the model's errors before the step; ``standing`` is the present verdict of a use case.
    """

    turns: tuple[Turn, ...] = ()
    reason: str = ""
    scores: tuple[Score, ...] = ()
    standing: Standing | None = None


class Planner:
    """Planner that chooses the runs of each calibration step from the settings and the earlier steps."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.variant = settings.aim.variant
        self.case = None if settings.aim.usecase is None else load_usecase(settings.aim.usecase)
        self.metrics = tuple(
            dict.fromkeys((*settings.aim.metrics, *required_metrics(settings.aim.usecase)))
        )

    def plan_step(self, step: int, before: Sequence[Done]) -> StepPlan:
        """Plan a calibration step from the runs done in earlier steps."""
        if step == 0:
            return StepPlan(((pilot(self.settings), 0),))
        counts = Counter(one.run for one in before)
        most_steal = self.settings.sampling.most_steal
        records = [
            one.record for one in before if one.record and not is_disturbed(one.record, most_steal)
        ]
        # Exclude runs that the hosts refused, and runs with `MOST_SPOILT` records without a usable metric.
        spoilt = Counter(one.run for one in before if one.record and is_spoilt(one.record))
        refused = {run for run, count in spoilt.items() if count >= MOST_SPOILT}
        refused |= {one.run for one in before if one.record is None}
        every = candidates(self.settings, self._reference_bps(before))
        grid = [run for run in every if run not in refused]
        opening = self.opening(step, records, grid)
        if step == 1:
            own = own_runs(self.case, self.settings) if self.case else ()
            first = dict.fromkeys(run for run in (*own, *opening) if run not in refused)
            repeats = range(self.settings.sampling.repeats)
            opening = [run for repeat in repeats for run in first if repeat >= counts[run]]
        if opening:
            random.Random(self.settings.sampling.seed).shuffle(opening)
            return StepPlan(_turns(opening, counts))
        return self._next(records, counts, grid, refused)

    def opening(self, step: int, records: Sequence[Record], grid: Sequence[Run]) -> list[Run]:
        """Choose the runs that are fixed by rule; each step of a calibration has its own rule.

        Step 1 measures the capacity.  Step 2 measures the least and the greatest payload of every curve, without runs
        whose load exceeds the capacity.  Step 3 measures runs next to saturation and in overload, unless the
        calibration has a use case: then step 3 has no fixed runs, since from then on runs are chosen to decide the use
        case.  If disturbed records are excluded, each later step also repeats the runs of step 1 that have only
        disturbed records.
        """
        if step == 1:
            return first_runs(grid, self.settings)
        have = {run_of(record) for record in records}
        found = [] if self.settings.sampling.most_steal is None else first_runs(grid, self.settings)
        if step < LAST_OPENING:
            found += ends(within_capacity(self._known(records), grid))
        elif step == LAST_OPENING and not self.case:
            known = self._known(records)
            found += [*near_saturation(known, grid), *overloaded(known, grid)]
        return [run for run in dict.fromkeys(found) if run not in have]

    def _next(
        self,
        records: Sequence[Record],
        counts: Counter[Run],
        grid: Sequence[Run],
        refused: set[Run],
    ) -> StepPlan:
        """Plan the next step: the runs that would improve the model most, or may decide the use case.

        If the aim is reached or no run is left to choose, the plan has no runs, but a reason to stop.
        """
        data = table(records, self.settings)
        judged = scores(data, self.variant, self.settings.aim.metrics)
        stand = (
            None if self.case is None else standing(self.case, data, self.variant, self.settings)
        )
        if stand is not None and stand.decided:
            return StepPlan((), "verdict", judged, stand)
        limit, error = self.settings.aim.error_ratio, worst(judged)
        every = all(one.count for one in judged)
        if limit is not None and every and not math.isnan(error) and error <= limit:
            return StepPlan((), "error", judged, stand)
        undecided = stand.decisions if stand else ()
        wanted = sorted({*grid, *undecided_runs(undecided)} - refused)
        chosen = self.choose(records, wanted, Purpose(domain(grid), undecided))
        return StepPlan(_turns(chosen, counts), "" if chosen else "exhausted", judged, stand)

    def choose(
        self, records: Sequence[Record], wanted: Sequence[Run], purpose: Purpose
    ) -> tuple[Run, ...]:
        """Choose the next runs. Candidates are runs within capacity, and runs that may decide a requirement."""
        known = self._known(records)
        asked = {one.run for one in purpose.decisions}
        able = asked | set(within_capacity(known, wanted))
        return choose(
            known, [one for one in wanted if one in able], purpose, self.settings.sampling.batch
        )

    def _known(self, records: Sequence[Record]) -> dict[str, Surface]:
        return surfaces(observed(records, self.metrics), self.settings.setup.mtu_bytes)

    def _reference_bps(self, before: Sequence[Done]) -> float:
        """Return the reference rate [b/s]; the settings give loads as fractions of it, such as 0.5.

        It is the line rate, or if this is unknown the goodput of the first record.
        """
        if self.settings.setup.line_rate_bps is not None:
            return self.settings.setup.line_rate_bps
        for one in before:
            if one.record is not None and "goodput_bps" in one.record["result"]:
                return float(f"{one.record['result']['goodput_bps']:.1e}")
        raise CalibrationError(
            "the line rate is unknown, and no run gave a goodput in its place "
            f"({before[0].why if before else 'no run was made'}): choose protocols and cores that both "
            "hosts have, or give the line rate"
        )


def _turns(runs: Sequence[Run], counts: Counter[Run]) -> tuple[Turn, ...]:
    """Pair each run with its repeat number: 0 for the first measurement of the run, 1 for the second, and so on.

    ``counts`` has the number of measurements in earlier steps.
    """
    seen = Counter(counts)
    turns = []
    for run in runs:
        turns.append((run, seen[run]))
        seen[run] += 1
    return tuple(turns)


FOLDS = 8
"""Number of parts into which cross-validation divides the measured runs; each part is left out once."""
NORMAL_MEDIAN = 0.6745
"""Median absolute deviation of a normal distribution, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of the model in one metric at left-out runs: absolute for ratios (0…1), relative for other metrics.

    ``middle`` is the median error, ``p95`` the 95th percentile.  ``noise`` is the median deviation of a repeat from the
    mean of all repeats of its run, absolute or relative like the errors; NaN if no run was repeated.
    """

    metric: str
    count: int
    middle: float
    p95: float
    noise: float


def scores(data: Dataset, variant: str, metrics: Sequence[str]) -> tuple[Score, ...]:
    """Compute the errors of a model variant in each metric on left-out runs, by eightfold cross-validation.

    The least and greatest payloads of every curve are never left out, since the model would have to extrapolate. Only
    the given metrics are predicted.
    """
    outcomes = by_metric(
        outcome(fold.name, point, estimate)
        for fold in _folds(data, metrics)
        for point, estimate in zip(fold.test, answers(fold, variant, metrics), strict=True)
    )
    repeats = noise(data.points)
    found = []
    for metric in metrics:
        deviation = NORMAL_MEDIAN * repeats[metric].run if metric in repeats else math.nan
        if some := outcomes.get(metric, ()):
            errors = score(some).errors
            found.append(Score(metric, len(some), errors.median, errors.p95, deviation))
        else:
            found.append(Score(metric, 0, math.nan, math.nan, deviation))
    return tuple(found)


def _folds(data: Dataset, metrics: Sequence[str]) -> Iterator[Fold]:
    """Divide points into folds; points at the least or greatest payload of a curve stay in every training set."""
    places = [point_key(data, point) for point in data.points]
    by_curve: dict[Key, set[Key]] = {}
    for point, at in zip(data.points, places, strict=True):
        by_curve.setdefault(curve_key(data, point), set()).add(at)
    inner = [at for key in in_order(by_curve) for at in sorted(by_curve[key])[1:-1]]
    for number in range(FOLDS):
        left = frozenset(inner[number::FOLDS])
        if left:
            rows = list(zip(data.points, places, strict=True))
            train = tuple(point for point, at in rows if at not in left)
            test = tuple(point for point, at in rows if at in left and point.metric in metrics)
            yield Fold(f"part {number}", replace(data, points=train), test)


def worst(found: Sequence[Score]) -> float:
    """Greatest of the metrics' median errors, to be compared with the target error; NaN without scores."""
    return max((one.middle for one in found if one.count), default=math.nan)


# --- verdict of a use case from the runs so far ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """Verdict of a use case from the runs measured so far.

    ``decisions`` has the undecided requirements that a further run can decide. ``requirements`` maps the name of each
    requirement to its outcome.
    """

    verdict: str
    decisions: tuple[Decision, ...]
    requirements: Mapping[str, str]

    @property
    def decided(self) -> bool:
        """Whether the verdict on the use case is certain: met or not met, instead of undecided."""
        return self.verdict != UNDECIDED


def required_metrics(usecase: str | None) -> tuple[str, ...]:
    """Names of the metrics that a use case limits by requirements, sorted; empty without a use case."""
    if usecase is None:
        return ()
    return tuple(sorted({limit.metric for limit in load_usecase(usecase).requirements}))


def refuse_undecidable(case: UseCase, settings: Settings) -> None:
    """Raise CalibrationError if runs under these settings cannot decide the verdict of a use case.

    Only the use case's default candidate is considered.

    Raises
    ------
    CalibrationError
        If no stream of the candidate could be predicted from these runs.
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
    """Yield reasons why a dataset measured with these settings cannot predict a scenario.

    Switches of the scenario are no reason: a dataset without switches can still predict it, with a note.
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
    """Runs that measure the streams of a use case, with the settings of its default candidate.

    Streams that cannot be measured are left out.
    """
    scenarios = _default(case).scenarios.values()
    runs = (_run(asked.scenario(), settings) for asked in scenarios)
    return tuple(sorted({run for run in runs if run is not None}))


def standing(case: UseCase, data: Dataset, variant: str, settings: Settings) -> Standing:
    """Evaluate a use case on the runs measured so far: verdict, undecided requirements, and outcome by requirement.

    Only the use case's default candidate (choice of protocol, frames and cores) counts.
    """
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


def undecided_runs(decisions: Iterable[Decision]) -> tuple[Run, ...]:
    """Return the runs at which a requirement is undecided, sorted, without duplicates."""
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
