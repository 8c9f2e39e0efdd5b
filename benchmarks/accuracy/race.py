"""Race: scores of every predictor on the same folds of every dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmarks.accuracy.predictor import Contestant
from benchmarks.journal import Journal
from icmodel.dataset import Dataset
from icmodel.estimate import Estimate, absent
from icmodel.validate.folds import (
    LEAST_ROWS,
    Fold,
    counts,
    held_out,
    leave_a_break_out,
    leave_a_curve_out,
    leave_break_sizes_out,
    leave_one_out,
    scored,
)
from icmodel.validate.scores import Coverage, Errors, Score, by_metric, outcome, score
from icmodel.validate.validation import HELD_OUT, LEAVE_BREAK, LEAVE_CURVE, LEAVE_ONE, LEAVE_SIZES

Say = Callable[[str], None]
NOTHING_KEPT = Journal(None)
TENTHS = 10


@dataclass(frozen=True, slots=True)
class Race:
    """Result for one dataset: the score of each predictor and metric, on the same rows."""

    dataset: str
    folds: int
    scores: Mapping[str, Mapping[str, Score]]


@dataclass(frozen=True, slots=True)
class Lap:
    """Folds of one dataset of a race."""

    data: Dataset
    folds: Sequence[Fold]


def metrics_with_enough_rows(datasets: Sequence[Dataset]) -> tuple[str, ...]:
    """Return the scored metrics: those with at least 30 measured or tabulated rows in all."""
    rows = [point for data in datasets for point in scored(data)]
    return tuple(m for m, n in counts(rows).items() if n >= LEAST_ROWS)


def race(
    data: Dataset,
    predictors: Mapping[str, Contestant],
    *,
    kind: str,
    most: int | None,
    say: Say,
    journal: Journal = NOTHING_KEPT,
) -> Race:
    """Score every predictor on the folds of one dataset; scores in the journal are reused."""
    return race_together(
        data.id, [data], predictors, kind=kind, most=most, say=say, journal=journal
    )


def race_together(
    name: str,
    datasets: Sequence[Dataset],
    predictors: Mapping[str, Contestant],
    *,
    kind: str,
    most: int | None,
    say: Say,
    journal: Journal = NOTHING_KEPT,
) -> Race:
    """Score every predictor on several datasets that count as one, with ``most`` folds of each."""
    metrics = metrics_with_enough_rows(datasets)
    laps = [Lap(data, _folds(data, kind, metrics, most)) for data in datasets] if metrics else []
    folds = sum(len(lap.folds) for lap in laps)
    scores = {}
    for predictor, contestant in predictors.items():
        key = [name, *(data.sha256 for data in datasets), kind, most, predictor]
        known = journal.known(key)
        if not isinstance(known, dict):
            say(f"{name}: {predictor}, {folds} folds")
            progress = _Progress(say, f"{name}: {predictor}", folds)
            found = _run(laps, contestant, metrics, progress)
            known = {metric: asdict(one) for metric, one in found.items()}
            if any(one.n for one in found.values()):  # a missing package may be installed next time
                journal.keep(key, known)
        scores[predictor] = {metric: _score(said) for metric, said in known.items()}
    return Race(name, folds, scores)


class _Progress:
    """Progress of a predictor, printed after every tenth of its folds."""

    def __init__(self, say: Say, who: str, folds: int) -> None:
        self._say, self._who, self._folds, self._done = say, who, folds, 0

    def __call__(self) -> None:
        """Count one more fold."""
        self._done += 1
        done, folds = self._done, self._folds
        if done * TENTHS // folds > (done - 1) * TENTHS // folds and done < folds:
            self._say(f"{self._who}, {done} of {folds}")


def _score(said: Mapping[str, object]) -> Score:
    """Make a score from its form in the journal."""
    coverage = said["coverage"]
    held = Coverage(**coverage) if isinstance(coverage, dict) else None
    errors = Errors(**said["errors"])  # type: ignore[arg-type]
    return Score(**{**said, "coverage": held, "errors": errors})  # type: ignore[arg-type]


def _folds(data: Dataset, kind: str, metrics: Sequence[str], most: int | None) -> list[Fold]:
    if kind == LEAVE_ONE:
        return list(leave_one_out(data, most=most))
    if kind == LEAVE_CURVE:
        return list(leave_a_curve_out(data, most=most))
    if kind == LEAVE_BREAK:
        return [fold for metric in metrics for fold in leave_a_break_out(data, metric, most=most)]
    if kind == LEAVE_SIZES:
        every = (leave_break_sizes_out(data, metric, most=most) for metric in metrics)
        return [fold for folds in every for fold in folds]
    if kind == HELD_OUT:
        return list(held_out(data))
    raise ValueError(f"there is no kind of fold {kind!r}")


def _run(
    laps: Sequence[Lap], contestant: Contestant, metrics: Sequence[str], told: Callable[[], None]
) -> dict[str, Score]:
    """Return the scores of one predictor, by metric."""
    outcomes = by_metric(
        outcome(fold.name, point, one)
        for lap in laps
        for fold, ones in _answers(lap, contestant, told)
        for point, one in zip(fold.test, ones, strict=True)
        if point.metric in metrics
    )
    return {metric: score(rows) for metric, rows in outcomes.items()}


def _answers(
    lap: Lap, contestant: Contestant, told: Callable[[], None]
) -> Iterator[tuple[Fold, Sequence[Estimate]]]:
    """Yield each fold with its estimates; without the predictor's package they are all absent."""
    try:
        answerer = contestant(lap.data)
    except ImportError as error:
        why = f"needs {error.name}, which is not installed"
        for fold in lap.folds:
            yield fold, [absent(why)] * len(fold.test)
        return
    for fold in lap.folds:
        yield fold, answerer(fold)
        told()


def document(races: Sequence[Race]) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    """Return ``{dataset: {predictor: {metric: {...}}}}``: errors are ratios, unknown ones None."""
    return {
        one.dataset: {
            predictor: {metric: _entry(found) for metric, found in metrics.items()}
            for predictor, metrics in one.scores.items()
        }
        for one in races
        if one.folds
    }


def _entry(found: Score) -> dict[str, object]:
    return {
        "n": found.n,
        "median": found.errors.median if found.n else None,
        "p95": found.errors.p95 if found.n else None,
        "coverage": None if found.coverage is None else found.coverage.share,
        "error": found.kind,
        "unanswered": found.unanswered,
        "reasons": dict(list(found.reasons.items())[:3]),
    }
