"""The race: every predictor on the same folds of every dataset, and who was closest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from benchmarks.accuracy.predictor import Answerer, Contestant
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
from icmodel.validate.scores import Coverage, Score, by_metric, outcome, score
from icmodel.validate.validation import HELD_OUT, LEAVE_BREAK, LEAVE_CURVE, LEAVE_ONE, LEAVE_SIZES

Say = Callable[[str], None]
NOTHING_KEPT = Journal(None)
TENTHS = 10


@dataclass(frozen=True, slots=True)
class Race:
    """What came of one dataset: the score of each predictor and metric, of the same rows."""

    dataset: str
    folds: int
    scores: Mapping[str, Mapping[str, Score]]


def metrics_with_enough_rows(data: Dataset) -> tuple[str, ...]:
    """The metrics that are scored: at least 30 measured or tabulated rows."""
    return tuple(m for m, n in counts(scored(data)).items() if n >= LEAST_ROWS)


def race(
    data: Dataset,
    predictors: Mapping[str, Contestant],
    *,
    kind: str,
    most: int | None,
    say: Say,
    journal: Journal = NOTHING_KEPT,
) -> Race:
    """Every predictor on the folds of one dataset; whose scores a journal has does not run again."""
    metrics = metrics_with_enough_rows(data)
    folds = _folds(data, kind, metrics, most) if metrics else []
    scores = {}
    for name, contestant in predictors.items():
        key = [data.id, data.sha256, kind, most, name]
        known = journal.known(key)
        if not isinstance(known, dict):
            say(f"{data.id}: {name}, {len(folds)} folds")
            told = partial(_say_fold, say, f"{data.id}: {name}", len(folds))
            found = _run(data, contestant, folds, metrics, told)
            known = {metric: asdict(one) for metric, one in found.items()}
            if any(one.n for one in found.values()):  # a missing package may be there next time
                journal.keep(key, known)
        scores[name] = {metric: _score(said) for metric, said in known.items()}
    return Race(data.id, len(folds), scores)


def _say_fold(say: Say, who: str, folds: int, done: int) -> None:
    """How far a predictor is, at every tenth of its folds."""
    if done * TENTHS // folds > (done - 1) * TENTHS // folds and done < folds:
        say(f"{who}, {done} of {folds}")


def _score(said: Mapping[str, object]) -> Score:
    """A score as a journal keeps it."""
    coverage = said["coverage"]
    held = Coverage(**coverage) if isinstance(coverage, dict) else None
    return Score(**{**said, "coverage": held})  # type: ignore[arg-type]


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
    data: Dataset,
    contestant: Contestant,
    folds: Sequence[Fold],
    metrics: Sequence[str],
    told: Callable[[int], None],
) -> dict[str, Score]:
    """The scores of one predictor; one that is not there answers nothing, and says so."""
    try:
        answerer = contestant(data)
    except ImportError as error:
        why = f"needs {error.name}, which is not installed"
        said = [(fold, [absent(why)] * len(fold.test)) for fold in folds]
    else:
        said = list(_answers(answerer, folds, told))
    outcomes = by_metric(
        outcome(fold.name, point, one)
        for fold, ones in said
        for point, one in zip(fold.test, ones, strict=True)
        if point.metric in metrics
    )
    return {metric: score(rows) for metric, rows in outcomes.items()}


def _answers(
    answerer: Answerer, folds: Sequence[Fold], told: Callable[[int], None]
) -> Iterator[tuple[Fold, list[Estimate]]]:
    for done, fold in enumerate(folds, 1):
        yield fold, list(answerer(fold))
        told(done)


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
