"""Scores: errors of predictions, their spread, and the coverage of their intervals.

The error of a prediction is relative: |prediction − row| / row. For ratios (``loss_rate``, ``cpu_send``, ``cpu_recv``
and their parts by CPU mode) it is absolute: |prediction − row|. Near an idle core or a lossless link, a relative error
means little.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel.dataset import Dataset, Point
from icmodel.dataset.rows import ABSOLUTE, POINT, kind
from icmodel.documents import group_by_key
from icmodel.estimate import Estimate, absent
from icmodel.validate.folds import Key, point_key

CLOSE = 1e-9
"""Relative tolerance for rounding, by which intervals are widened before a row is tested."""
FAR = 3.0
"""A value is far outside its interval if it is more than this many times as far from the predicted value as the end."""
NORMAL_95 = 1.959963984540054
"""Quantile of the normal distribution at 97.5 %, for two-sided 95 % intervals."""
TRUTH_IS_ZERO = "the value of the row is 0, so it has no relative error"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test row with its prediction and the error of the prediction.

    ``bias`` is the signed error. If the estimate is absent, error and bias are NaN, and ``estimate.why`` is the reason.
    ``covered`` is true if the interval contains the row's value; it is ``None`` without an interval.
    """

    fold: str
    point: Point
    estimate: Estimate
    error: float
    bias: float
    covered: bool | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """Share of test rows inside their predicted 90 % intervals.

    ``inside`` of ``n`` rows lie inside; ``low`` and ``high`` are the 95 % interval of this share (Wilson). ``far`` rows
    lie far outside their intervals; see `is_far`.
    """

    inside: int
    n: int
    share: float
    low: float
    high: float
    far: int = 0


@dataclass(frozen=True, slots=True)
class Errors:
    """Quantiles of a metric's absolute prediction errors, and the median of its signed errors (``bias``).

    All are NaN if there are no predictions.
    """

    median: float
    p25: float
    p75: float
    p95: float
    greatest: float
    bias: float


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of one metric over many rows, and the coverage of its intervals.

    Parameters
    ----------
    kind : str
        Whether errors and half-widths are relative or absolute.
    n, points : int
        Number of predicted rows, and number of different points among them. Runs of one point share the error of the
        model, so they test the model less than runs of different points.
    half_width : float
        Median half-width of the intervals.
    unanswered, reasons : int, mapping
        Number of rows without a prediction, and their number by reason.
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
    """Compare a test row with its prediction.

    If the error is relative and the row's value is 0, there is no error. The outcome then gets an estimate without a
    value, which states this reason.
    """
    scale = _scale(point)
    if scale == 0 and not estimate.absent:
        estimate = absent(TRUTH_IS_ZERO)
    if estimate.absent:
        return Outcome(fold, point, estimate, math.nan, math.nan, None)
    bias = (estimate.value - point.value) / scale
    return Outcome(fold, point, estimate, abs(bias), bias, covers(estimate, point.value))


def covers(estimate: Estimate, value: float) -> bool | None:
    """Whether a prediction's interval contains a value; ``None`` without an interval."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return None
    slack = CLOSE * abs(value)
    return estimate.low - slack <= value <= estimate.high + slack


def by_metric(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Group outcomes of test rows by metric, sorted by the metric's name."""
    return dict(sorted(group_by_key((one.point.metric, one) for one in outcomes).items()))


def score(outcomes: Sequence[Outcome]) -> Score:
    """Compute the score of a metric from the outcomes of its test rows; at least one outcome is needed."""
    metric = outcomes[0].point.metric
    answered = [one for one in outcomes if not one.estimate.absent]
    reasons = Counter(one.estimate.why for one in outcomes if one.estimate.absent)
    errors = Errors(*(math.nan,) * 6)
    if answered:
        found = np.quantile([one.error for one in answered], [0.5, 0.25, 0.75, 0.95, 1.0])
        median, p25, p75, p95, greatest = found.tolist()
        bias = float(np.median([one.bias for one in answered]))
        errors = Errors(median, p25, p75, p95, greatest, bias)
    given = [one for one in answered if one.covered is not None]
    halves = [(one.estimate.high - one.estimate.low) / 2 / _scale(one.point) for one in given]
    covering = coverage([one.covered is True for one in given])
    if covering is not None:
        far = sum(is_far(one.estimate, one.point.value) for one in answered)
        covering = replace(covering, far=far)
    return Score(
        metric=metric,
        kind=kind(metric),
        n=len(answered),
        points=len({one.point[POINT] for one in answered}),
        errors=errors,
        half_width=float(np.median(halves)) if halves else math.nan,
        coverage=covering,
        unanswered=len(outcomes) - len(answered),
        reasons=dict(reasons.most_common()),
    )


def is_far(estimate: Estimate, value: float) -> bool:
    """Whether a measured value lies far outside the interval of its prediction.

    This is so if |value − predicted value| > ``FAR`` × |end − predicted value|, where end is the low for a value below
    the predicted value, and the high for a value above it.
    """
    end = estimate.high if value > estimate.value else estimate.low
    beyond = abs(value - estimate.value) > FAR * abs(end - estimate.value)
    return beyond and covers(estimate, value) is False


def _scale(point: Point) -> float:
    """Return the divisor of the error of a row's prediction: 1 for ratios, otherwise the row's value."""
    return 1.0 if kind(point.metric) == ABSOLUTE else point.value


def coverage(covered: Sequence[bool]) -> Coverage | None:
    """Compute the coverage: the share of test rows inside their predicted intervals.

    ``covered`` has an entry for each test row with an interval: true if the measured value lies inside. Without
    entries, the result is ``None``.
    """
    n, inside = len(covered), sum(covered)
    if not n:
        return None
    low, high = wilson(inside, n)
    return Coverage(inside, n, inside / n, low, high)


def wilson(inside: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of an event's probability, from ``inside`` occurrences in ``n`` trials.

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
    """Select the ``count`` outcomes with the greatest prediction errors, greatest first, at most one per point."""
    answered = [one for one in outcomes if not one.estimate.absent]
    points: dict[object, Outcome] = {}
    for one in sorted(answered, key=lambda one: -one.error):
        points.setdefault(one.point[POINT], one)
    return list(points.values())[:count]


EXTRAPOLATED = "extrapolated"
DEFAULT_MTU_BYTES = 1500
"""MTU for datasets that state none: the usual MTU of Ethernet [B]."""
BANDS = ((1 / 3, "load up to a third"), (2 / 3, "load up to two thirds"), (math.inf, "load above"))
"""Bands of limited loads that are scored separately: upper end, as a fraction of the line rate, and name."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Rules that divide test rows into regions (such as a protocol or a band of loads), which are scored separately.

    Parameters
    ----------
    next_to_break : mapping
        Keys of the points next to a packet break (where a frame needs one more packet), by metric.
    trained : collection of Key, optional
        Keys of the training points, only given if the test rows are held-out runs. Held-out runs at these points
        form one region, and those at other points another.
    full_bps : float
        Rate [b/s] by which loads are divided to find their band: the line rate, or the dataset's greatest limited load
        if the line rate is unknown.
    """

    data: Dataset
    next_to_break: Mapping[str, Collection[Key]]
    trained: Collection[Key] | None
    full_bps: float


def partition(
    data: Dataset,
    next_to_break: Mapping[str, Collection[Key]],
    trained: Collection[Key] | None = None,
) -> Partition:
    """Make the rules that divide a dataset's test rows into regions; see `Partition`."""
    limited = [p.load_bps for p in data.points if p.load_bps and math.isfinite(p.load_bps)]
    full = data.interconnect.line_rate_bps or max(limited, default=math.inf)
    return Partition(data, next_to_break, trained, full)


def regions(parts: Partition, outcome: Outcome) -> Iterator[str]:
    """Yield the names of the regions in which a test row lies, such as ``protocol tcp`` or ``load not limited``.

    Each rule of `Partition` that applies to the row gives one name.
    """
    data, point = parts.data, outcome.point
    if len(data.protocols) > 1:
        yield f"protocol {point.protocol}"

    link = data.link(data.options_of(point))
    mtu = link.mtu_bytes or (DEFAULT_MTU_BYTES if link.kind == "ethernet" else None)
    if mtu is not None and point.payload_bytes is not None:
        yield "payload up to the MTU" if point.payload_bytes <= mtu else "payload above the MTU"

    if point.load_bps == math.inf:
        yield "load not limited"
    elif point.load_bps is not None:
        part = point.load_bps / parts.full_bps
        yield next(name for limit, name in BANDS if part <= limit)

    at = point_key(data, point)
    if at in parts.next_to_break.get(point.metric, ()):
        yield "beside a break"
    if parts.trained is not None:
        yield "at a point learned from" if at in parts.trained else "at a new point"
    if not outcome.estimate.absent:
        beyond = EXTRAPOLATED in (outcome.estimate.basis, *outcome.estimate.bases)
        yield EXTRAPOLATED if beyond else "inside what was learned from"
