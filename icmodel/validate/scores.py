"""Scores: errors of predictions, their spread, and the coverage of their intervals.

The error of a prediction is relative, |prediction − row| / row.  For ratios (``loss_rate``,
``cpu_send``, ``cpu_recv`` and their parts by mode) it is absolute, |prediction − row|, since a
relative error means little near an idle core or a lossless link.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel.dataset import Point
from icmodel.dataset_rows import POINT
from icmodel.estimate import Estimate, absent
from icmodel.grouping import together
from icmodel.repeats import ABSOLUTE, kind

CLOSE = 1e-9
"""Relative tolerance at an interval's ends, so that rounding puts no row on an end outside."""
FAR = 3.0
NORMAL_95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
TRUTH_IS_ZERO = "the row is 0, and a relative error needs another number"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test row, its prediction, and the prediction's error.

    ``bias`` is the signed error.  Both are NaN where the estimate is absent, with the reason in
    ``estimate.why``.  ``covered`` is whether the interval holds the row, ``None`` without interval.
    """

    fold: str
    point: Point
    estimate: Estimate
    error: float
    bias: float
    covered: bool | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """The share of rows that their 90 % interval held, with the share's 95 % interval (Wilson).

    ``far`` rows lie more than three times as far from the value as the interval's end on their side.
    """

    inside: int
    n: int
    share: float
    low: float
    high: float
    far: int = 0


@dataclass(frozen=True, slots=True)
class Errors:
    """Quantiles of the errors of some answers, and their median bias; NaN if there are none."""

    median: float
    p25: float
    p75: float
    p95: float
    greatest: float
    bias: float


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of one metric over many rows, and the coverage of its intervals.

    ``n`` counts the answered rows, ``points`` the different points among them: runs of one point
    share the model's error, so they tell less than runs of different points.  ``half_width`` is the
    median of half the interval's width, relative or absolute as the errors are (``kind``).
    """

    metric: str
    kind: str
    n: int
    points: int
    errors: Errors
    half_width: float
    coverage: Coverage | None
    unanswered: int
    reasons: Mapping[str, int]


def outcome(fold: str, point: Point, estimate: Estimate) -> Outcome:
    """The outcome of a row and its prediction; absent for a relative error of a row that is 0."""
    scale = _scale(point)
    if scale == 0 and not estimate.absent:
        estimate = absent(TRUTH_IS_ZERO)
    if estimate.absent:
        return Outcome(fold, point, estimate, math.nan, math.nan, None)
    bias = (estimate.value - point.value) / scale
    return Outcome(fold, point, estimate, abs(bias), bias, covers(estimate, point.value))


def covers(estimate: Estimate, value: float) -> bool | None:
    """Whether an answer's interval holds a value; ``None`` where it has no interval."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return None
    slack = CLOSE * abs(value)
    return estimate.low - slack <= value <= estimate.high + slack


def by_metric(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes by metric, sorted by the metric's name."""
    return dict(sorted(together((one.point.metric, one) for one in outcomes).items()))


def score(outcomes: Sequence[Outcome]) -> Score:
    """The score of at least one outcome, all of one metric."""
    metric = outcomes[0].point.metric
    answered = [one for one in outcomes if not one.estimate.absent]
    reasons = Counter(one.estimate.why for one in outcomes if one.estimate.absent)
    return Score(
        metric=metric,
        kind=kind(metric),
        n=len(answered),
        points=len({one.point[POINT] for one in answered}),
        errors=_errors(answered),
        half_width=_half_width(answered),
        coverage=_coverage(answered),
        unanswered=len(outcomes) - len(answered),
        reasons=dict(reasons.most_common()),
    )


def _errors(answered: Sequence[Outcome]) -> Errors:
    if not answered:
        return Errors(*(math.nan,) * 6)
    errors = [one.error for one in answered]
    median, p25, p75, p95, most = np.quantile(errors, [0.5, 0.25, 0.75, 0.95, 1.0]).tolist()
    return Errors(median, p25, p75, p95, most, float(np.median([one.bias for one in answered])))


def _coverage(answered: Sequence[Outcome]) -> Coverage | None:
    """Of the answers that have an interval."""
    found = coverage([one.covered for one in answered if one.covered is not None])
    if found is None:
        return None
    return replace(found, far=sum(is_far(one.estimate, one.point.value) for one in answered))


def is_far(estimate: Estimate, value: float) -> bool:
    """Whether a value lies farther than ``FAR`` times from the answer to the interval's end on its side."""
    end = estimate.high if value > estimate.value else estimate.low
    beyond = abs(value - estimate.value) > FAR * abs(end - estimate.value)
    return beyond and covers(estimate, value) is False


def _half_width(answered: Sequence[Outcome]) -> float:
    """The median half width of the intervals, scaled as the errors are; NaN without intervals."""
    given = [one for one in answered if one.covered is not None]
    halves = [(one.estimate.high - one.estimate.low) / 2 / _scale(one.point) for one in given]
    return float(np.median(halves)) if halves else math.nan


def _scale(point: Point) -> float:
    """The number that errors of a row are divided by."""
    return 1.0 if kind(point.metric) == ABSOLUTE else point.value


def coverage(covered: Sequence[bool]) -> Coverage | None:
    """The share of intervals that held their row; ``None`` if there are none."""
    n, inside = len(covered), sum(covered)
    if not n:
        return None
    low, high = wilson(inside, n)
    return Coverage(inside, n, inside / n, low, high)


def wilson(inside: int, n: int) -> tuple[float, float]:
    """The 95 % interval of the probability of an event seen ``inside`` times in ``n`` trials.

    E. B. Wilson, Journal of the American Statistical Association 22, 1927.
    """
    z2 = NORMAL_95**2
    share = inside / n
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL_95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low = 0.0 if inside == 0 else middle - half
    high = 1.0 if inside == n else middle + half
    return low, high


def worst(outcomes: Iterable[Outcome], count: int) -> list[Outcome]:
    """The ``count`` greatest errors, greatest first, one for each point; ties keep their order."""
    answered = [one for one in outcomes if not one.estimate.absent]
    points: dict[object, Outcome] = {}
    for one in sorted(answered, key=lambda one: -one.error):
        points.setdefault(one.point[POINT], one)
    return list(points.values())[:count]
