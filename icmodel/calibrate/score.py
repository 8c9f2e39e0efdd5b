"""Scores of a calibrated model: its errors on measured runs, by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from icmodel.dataset import Dataset
from icmodel.dataset.repeats import Noise, noise
from icmodel.validate.folds import Fold, Key, curve, in_order, place
from icmodel.validate.questions import answers
from icmodel.validate.scores import Outcome, by_metric, outcome, score

FOLDS = 8
"""Number of parts into which cross-validation divides the measured runs; each part is left out once."""
NORMAL_MEDIAN = 0.6745
"""Median absolute deviation of a normal distribution, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of the model in one metric at left-out runs: absolute for ratios (0…1), relative for other metrics.

    ``middle`` is the median error, ``p95`` the 95th percentile.  ``noise`` is the median
    deviation of one repeat from the mean of all repeats of a run, absolute or relative like the errors. It is NaN if no
    run was repeated.
    """

    metric: str
    count: int
    middle: float
    p95: float
    noise: float


def scores(data: Dataset, variant: str, metrics: Sequence[str]) -> tuple[Score, ...]:
    """Errors of a model variant in each metric on left-out runs, by eightfold cross-validation.

    The least and greatest payloads of every curve are never left out, since the model would have to extrapolate. Only
    the given metrics are predicted.
    """
    outcomes = by_metric(
        outcome(fold.name, point, estimate)
        for fold in _folds(data, metrics)
        for point, estimate in zip(fold.test, answers(fold, variant, metrics), strict=True)
    )
    repeated = noise(data.points)
    return tuple(
        _score(metric, outcomes.get(metric, ()), repeated.get(metric)) for metric in metrics
    )


def _folds(data: Dataset, metrics: Sequence[str]) -> Iterator[Fold]:
    places = [place(data, point) for point in data.points]
    inner = _inner(data)
    for number in range(FOLDS):
        left = frozenset(inner[number::FOLDS])
        if left:
            rows = list(zip(data.points, places, strict=True))
            train = tuple(point for point, at in rows if at not in left)
            test = tuple(point for point, at in rows if at in left and point.metric in metrics)
            yield Fold(f"part {number}", replace(data, points=train), test)


def _inner(data: Dataset) -> list[Key]:
    """Keys of the measured points between the least and the greatest payload of their curve.

    Only these points are left out in the cross-validation.
    """
    curves: dict[Key, set[Key]] = {}
    for point in data.points:
        curves.setdefault(curve(data, point), set()).add(place(data, point))
    return [at for key in in_order(curves) for at in sorted(curves[key])[1:-1]]


def _score(metric: str, outcomes: Sequence[Outcome], repeated: Noise | None) -> Score:
    deviation = NORMAL_MEDIAN * repeated.run if repeated else math.nan
    if not outcomes:
        return Score(metric, 0, math.nan, math.nan, deviation)
    found = score(outcomes)
    return Score(metric, found.n, found.errors.median, found.errors.p95, deviation)


def worst(found: Sequence[Score]) -> float:
    """Greatest of all metrics' median errors, which is compared with the target error; NaN without scores."""
    return max((one.middle for one in found if one.count), default=math.nan)
