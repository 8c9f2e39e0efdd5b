"""The race: every predictor on the same folds of every dataset, and who was closest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.predictor import Contestant
from icmodel.dataset import Dataset
from icmodel.estimate import absent
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
from icmodel.validate.scores import Outcome, Score, by_metric, outcome, score
from icmodel.validate.validation import HELD_OUT, LEAVE_BREAK, LEAVE_CURVE, LEAVE_ONE, LEAVE_SIZES

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Race:
    """What came of one dataset: the outcomes of each predictor by metric, row beside row."""

    dataset: str
    folds: int
    outcomes: Mapping[str, Mapping[str, Sequence[Outcome]]]

    @property
    def scores(self) -> dict[str, dict[str, Score]]:
        """The score of each predictor and metric."""
        return {
            predictor: {metric: score(rows) for metric, rows in metrics.items()}
            for predictor, metrics in self.outcomes.items()
        }


def metrics_with_enough_rows(data: Dataset) -> tuple[str, ...]:
    """The metrics that are scored: at least 30 measured or tabulated rows."""
    return tuple(m for m, n in counts(scored(data)).items() if n >= LEAST_ROWS)


def race(
    data: Dataset, predictors: Mapping[str, Contestant], *, kind: str, most: int | None, say: Say
) -> Race:
    """Every predictor on the folds of one dataset."""
    metrics = metrics_with_enough_rows(data)
    folds = _folds(data, kind, metrics, most) if metrics else []
    outcomes = {}
    for name, contestant in predictors.items():
        say(f"{data.id}: {name}, {len(folds)} folds")
        outcomes[name] = _run(data, contestant, folds, metrics)
    return Race(data.id, len(folds), outcomes)


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
    data: Dataset, contestant: Contestant, folds: Sequence[Fold], metrics: Sequence[str]
) -> dict[str, list[Outcome]]:
    """The outcomes of one predictor; one that is not there answers nothing, and says so."""
    try:
        answerer = contestant(data)
    except ImportError as error:
        why = f"needs {error.name}, which is not installed"
        said = [(fold, [absent(why)] * len(fold.test)) for fold in folds]
    else:
        said = [(fold, list(answerer(fold))) for fold in folds]
    return by_metric(
        outcome(fold.name, point, one)
        for fold, ones in said
        for point, one in zip(fold.test, ones, strict=True)
        if point.metric in metrics
    )


def document(races: Sequence[Race]) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    """``{dataset: {predictor: {metric: {...}}}}``, errors as ratios; unknown numbers ``None``."""
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
        "median": found.median if found.n else None,
        "p95": found.p95 if found.n else None,
        "coverage": None if found.coverage is None else found.coverage.share,
        "error": found.kind,
        "unanswered": found.unanswered,
        "reasons": dict(list(found.reasons.items())[:3]),
    }
