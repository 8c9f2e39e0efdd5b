"""Race: scores of every predictor on the same folds of every dataset."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from benchmarks.accuracy.predictor import Answerer, Predictor
from benchmarks.journal import Journal
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
from icmodel.validate.scores import Coverage, Errors, Outcome, Score, by_metric, outcome, score
from icmodel.validate.validation import HELD_OUT, LEAVE_BREAK, LEAVE_CURVE, LEAVE_ONE, LEAVE_SIZES
from icmodel.workers import Pool, Work, pool

Say = Callable[[str], None]
NOTHING_KEPT = Journal(None)
TENTHS = 10
RACE = Work("race", "fold")


@dataclass(frozen=True, slots=True)
class Race:
    """Result for one dataset: the score of each predictor and metric, on the same rows."""

    dataset: str
    folds: int
    scores: Mapping[str, Mapping[str, Score]]


@dataclass(frozen=True)
class Lap(Sequence[Fold]):
    """Folds of one dataset of a race. A pickled lap has no folds: another process makes them again."""

    data: Dataset
    kind: str
    metrics: tuple[str, ...]
    most: int | None

    def __len__(self) -> int:
        return len(self.folds)

    def __getitem__(self, number: int) -> Fold:  # type: ignore[override]
        return self.folds[number]

    def __reduce__(self) -> tuple[object, ...]:
        return Lap, (self.data, self.kind, self.metrics, self.most)

    @cached_property
    def folds(self) -> Sequence[Fold]:
        """All folds, each made once."""
        data, kind, most = self.data, self.kind, self.most
        if kind == LEAVE_ONE:
            return list(leave_one_out(data, most=most))
        if kind == LEAVE_CURVE:
            return list(leave_a_curve_out(data, most=most))
        if kind in (LEAVE_BREAK, LEAVE_SIZES):
            leave = leave_a_break_out if kind == LEAVE_BREAK else leave_break_sizes_out
            return [fold for metric in self.metrics for fold in leave(data, metric, most=most)]
        if kind == HELD_OUT:
            return held_out(data)
        raise ValueError(f"there is no kind of fold {kind!r}")


def metrics_with_enough_rows(datasets: Sequence[Dataset]) -> tuple[str, ...]:
    """Return the scored metrics: those with at least 30 measured or tabulated rows in all."""
    rows = [point for data in datasets for point in scored(data)]
    return tuple(m for m, n in counts(rows).items() if n >= LEAST_ROWS)


def race(
    data: Dataset,
    predictors: Mapping[str, Predictor],
    *,
    kind: str,
    most: int | None,
    say: Say,
    journal: Journal = NOTHING_KEPT,
    workers: int | None = None,
    client: Any = None,
) -> Race:
    """Score every predictor on the folds of one dataset; scores in the journal are reused."""
    return race_together(
        data.id, [data], predictors,
        kind=kind, most=most, say=say, journal=journal, workers=workers, client=client,
    )  # fmt: skip


def race_together(
    name: str,
    datasets: Sequence[Dataset],
    predictors: Mapping[str, Predictor],
    *,
    kind: str,
    most: int | None,
    say: Say,
    journal: Journal = NOTHING_KEPT,
    workers: int | None = None,
    client: Any = None,
) -> Race:
    """Score every predictor on several datasets that count as one, with ``most`` folds of each.

    ``workers`` processes, or those of a Dask cluster (``client``), may answer the folds; the scores are the same.
    """
    metrics = metrics_with_enough_rows(datasets)
    laps = [Lap(data, kind, metrics, most) for data in datasets] if metrics else []
    folds = sum(map(len, laps))
    scores = {}
    with pool(RACE, workers, client) as team:
        for label, predictor in predictors.items():
            key = [name, *(data.sha256 for data in datasets), kind, most, label]
            known = journal.known(key)
            if not isinstance(known, dict):
                say(f"{name}: {label}, {folds} folds")
                progress = _Progress(say, f"{name}: {label}", folds)
                outcomes = by_metric(
                    one for lap in laps for one in _outcomes(team, lap, predictor, progress)
                )
                found = {metric: score(rows) for metric, rows in outcomes.items()}
                known = {metric: asdict(one) for metric, one in found.items()}
                if any(
                    one.n for one in found.values()
                ):  # a missing package may be installed next time
                    journal.keep(key, known)
            scores[label] = {metric: _score(said) for metric, said in known.items()}
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


def _outcomes(
    team: Pool, lap: Lap, predictor: Predictor, told: Callable[[], None]
) -> Iterator[Outcome]:
    """Yield the outcomes of all folds; without the predictor's package all estimates are absent."""
    try:
        answerer = predictor(lap.data, lap)
    except ImportError as error:
        why = absent(f"needs {error.name}, which is not installed")
        tests = ((fold, point) for fold in lap for point in fold.test)
        yield from (outcome(f.name, p, why) for f, p in tests if p.metric in lap.metrics)
        return
    for found in team.job(runner, lap, answerer)(range(len(lap))):
        yield from found
        told()


def runner(lap: Lap, answerer: Answerer) -> Callable[[int], list[Outcome]]:
    """Make the function that answers a fold, by number, and compares the answers."""

    def outcomes(number: int) -> list[Outcome]:
        fold = lap[number]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rivals warn of their own fits
            said = answerer(fold)
        return [
            outcome(fold.name, point, one)
            for point, one in zip(fold.test, said, strict=True)
            if point.metric in lap.metrics
        ]

    return outcomes


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
