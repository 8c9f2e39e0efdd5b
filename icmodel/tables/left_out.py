"""Interpolation error of one metric, estimated by leaving out each row in turn (cross-validation).

Each row between two other rows is compared with the straight line through these neighbours.  A part of the difference
is due to the uncertainty of the neighbours, and is subtracted.  The rest is divided by a local scale: the typical error
of the metric, plus the deviation of nearby rows from a straight line.  The half-width of an interpolated number is a
multiple of this scale.  Split conformal prediction chooses the multiple so that the errors of 90 % of new rows lie
within the half-width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.dataset import RATIOS, Dataset, Point
from icmodel.estimate.statistics import (
    COVERAGE,
    LONE_WIDTH,
    NORMAL,
    median,
    spread_half_width,
    student,
)

OF_MEDIAN = NORMAL / 0.6745
"""Ratio of the half-width of a 90 % interval to the median absolute error, for normally distributed errors."""
NEAREST = 0.1
"""Least divisor by which an error within a gap between points is scaled to the middle of the gap.

The divisor is the parabola 4·t·(1 − t) at the fraction t of the gap.  It is limited, since an error close to a point
tells nothing about the error in the middle.
"""


class InterpolationErrors(NamedTuple):
    """Interpolation errors of one metric, from which the half-widths of 90 % intervals are computed.

    Parameters
    ----------
    relative : bool
        Whether errors are divided by the value; errors of ratios, such as loss, are not.
    median : float
        Median error.
    typical : float
        Median error, or the mean error if the median is 0.
    factor : float
        Half-width of the interval in the middle of a gap between two points, divided by a local scale.  It is chosen so
        that 90 % of the errors at left-out rows are smaller than the half-width (conformal prediction).  The local
        scale is ``typical`` (times the value if ``relative``) plus a bend: how far the curve at the ends of the gap
        deviates from a straight line.
    enough : bool
        Whether enough rows can be left out to estimate errors (at least nine).
    """

    relative: bool
    median: float
    typical: float
    factor: float
    enough: bool

    def of_rows(self, points: Sequence[Point]) -> Floats:
        """Half-widths of the 90 % intervals of the rows of a curve, as an array with two axes.

        Axis 0: below the value, above the value.  Axis 1: row.  The half-widths of a row follow from its stated spread, or from its least and greatest run.  If the row states
        neither, they follow from the metric's median interpolation error.
        """
        half = row_half_widths(points)
        value = np.array([p.value for p in points])
        if self.enough:
            fallback = OF_MEDIAN * self.median * self._unit(value)
        else:
            fallback = self._assumed(value)
        return np.where(np.isnan(half), fallback, half)

    def between(self, payload_bytes: Floats, value: Floats) -> Floats:
        """Half-widths of the 90 % intervals for interpolation halfway between neighbouring points, array (n − 1,).

        ``payload_bytes`` and ``value`` (n,) are the payloads and the values of the points of a curve.
        """
        x, y = payload_bytes, value
        level = (self._unit(y)[:-1] + self._unit(y)[1:]) / 2
        if len(x) < 3:
            bend = np.abs(np.diff(y))
        else:  # each gap takes the greater of its two end points' deviations from straight lines
            off = off_line(x, y, slice(0, -2), slice(1, -1), slice(2, None))
            inner = np.concatenate([[0.0], off, [0.0]])
            bend = np.maximum(inner[:-1], inner[1:])
        error = self.factor * (self.typical * level + bend)
        if self.enough:
            return error
        assumed = self._assumed(y)
        return np.maximum(error, np.maximum(assumed[:-1], assumed[1:]))

    def _unit(self, value: Floats) -> Floats:
        """Divisor of the error at each row: the row's absolute value for a relative error, 1 for an absolute error."""
        return np.abs(value) if self.relative else np.ones_like(value)

    def _assumed(self, value: Floats) -> Floats:
        """Assumed half-width at each row of a curve, used if there are too few rows to estimate errors.

        It is a fixed fraction (`LONE_WIDTH`) of the row's value; for ratios, of the greatest value of the curve.
        """
        level = np.abs(value)
        return LONE_WIDTH * (level if self.relative else np.full_like(level, level.max()))


def interpolation_errors(data: Dataset, metric: str) -> InterpolationErrors:
    """Estimate the interpolation errors of a metric by leaving out each row of all its curves in turn."""
    relative = metric not in RATIOS
    curves = [curve for curve in _curves_over_payload(data.of_metric(metric)) if len(curve) > 2]
    if not curves:
        return InterpolationErrors(relative, 0.0, 0.0, 0.0, enough=False)
    middle, typical, scores = _leave_each_out(curves, relative=relative)
    count = len(scores)
    rank = math.ceil(COVERAGE * (count + 1))
    factor = float(np.sort(scores)[min(rank, count) - 1])
    return InterpolationErrors(relative, middle, typical, factor, enough=rank <= count)


def _curves_over_payload(points: Sequence[Point]) -> list[list[Point]]:
    """Group rows of one metric by curve, ascending in payload.

    For the goodput, only unlimited rows are used, if there are any.  At a load below capacity, the goodput equals the
    rate limit, and so says nothing about interpolation.
    """
    known = [p for p in points if p.payload_bytes and p.endpoints in (None, 1)]
    if known and known[0].metric == "goodput_bps":
        unlimited = [p for p in known if p.load_bps is None or math.isinf(p.load_bps)]
        known = unlimited or known
    groups: dict[tuple[object, ...], dict[int, Point]] = {}
    for p in known:
        key = p.protocol, p.options, p.cores, p.switches, p.other_goodput_bps, p.load_bps
        groups.setdefault(key, {})[p.payload_bytes or 1] = p
    return [[curve[size] for size in sorted(curve)] for curve in groups.values()]


def _leave_each_out(
    curves: Sequence[Sequence[Point]], *, relative: bool
) -> tuple[float, float, Floats]:
    """Leave out each inner row of a curve, and compare it with the straight line through its two neighbours.

    Each curve has at least three rows.

    Returns
    -------
    median, typical : float
        Median error of these lines, and typical error: the median error, or the mean error if the median is 0.
    scores : array, shape (rows left out,)
        Score of each left-out row: the part of its error beyond the half-widths of the intervals at its two neighbours,
        divided by a local scale.  The scale is the typical error plus the deviation of nearby rows from a straight
        line.
    """
    rows = [point for curve in curves for point in curve]
    x = np.array([float(p.payload_bytes or 1) for p in rows])
    y = np.array([p.value for p in rows])
    place = np.concatenate([np.arange(len(curve)) for curve in curves])
    behind = np.concatenate([np.arange(len(curve))[::-1] for curve in curves])
    row = np.flatnonzero((place > 0) & (behind > 0))
    left, right = row - 1, row + 1
    # Local deviation of the other rows from straight lines.
    before = np.where(place[left] > 0, left - 1, left)
    after = np.where(behind[right] > 0, right + 1, right)
    bend = np.maximum(off_line(x, y, before, left, right), off_line(x, y, left, right, after))
    bend = np.where((before == left) & (after == right), np.abs(y[right] - y[left]), bend)
    # Errors of the line through the neighbours.
    share = (x[row] - x[left]) / (x[right] - x[left])
    line = y[left] + share * (y[right] - y[left])
    miss = y[row] - line
    of = np.abs(line) if relative else np.ones_like(line)
    share_off = np.divide(np.abs(miss), of, out=np.zeros_like(miss), where=of > 0)
    middle_miss = median(share_off.tolist())
    typical = middle_miss or float(np.mean(share_off))
    # Part of the error that the neighbours' half-widths do not explain, scaled to the middle of the gap.
    width = np.abs(y) if relative else np.ones_like(y)
    half = row_half_widths(rows)
    half = np.where(np.isnan(half), OF_MEDIAN * middle_miss * width, half)
    half = half[(miss > 0).astype(int)[:, None], np.stack([left, right], axis=1)].T
    beyond = np.maximum(np.abs(miss) - (half[0] + share * (half[1] - half[0])), 0.0)
    beyond /= np.maximum(4 * share * (1 - share), NEAREST)
    middle = half.mean(axis=0)
    error = np.sqrt((middle + beyond) ** 2 - middle**2)
    scale = typical * (width[left] + width[right]) / 2 + bend
    scores = np.divide(error, scale, out=np.zeros_like(error), where=scale > 0)
    return middle_miss, typical, scores


def off_line(
    x: Floats, y: Floats, left: Ints | slice, at: Ints | slice, right: Ints | slice
) -> Floats:
    """Vertical distance of points ``at`` from the line through the points ``left`` and ``right``.

    If a point equals its left or right point, its distance is 0.
    """
    line = y[left] + (x[at] - x[left]) / (x[right] - x[left]) * (y[right] - y[left])
    return np.asarray(np.abs(y[at] - line))


# --- half-widths of rows --------------------------------------------------------------------------

OF_RUNS = ("measured", "tabulated")
"""Bases of rows whose low and high are the least and greatest run; in other rows, low and high bound an interval."""

_RANGE = (
    (1.414, 1), (1.912, 2), (2.239, 3), (2.481, 4), (2.673, 5),
    (2.830, 5), (2.963, 6), (3.078, 7), (3.179, 8),
)  # fmt: skip
"""Expected difference of the greatest and the least of n normally distributed runs, in standard deviations.

There is one entry for each n from 2 to 10; more than ten runs use the entry of ten runs.  The second number is the
degrees of freedom of a standard deviation that is estimated from this difference (rounded).  Source: A. J. Duncan,
Quality Control and Industrial Statistics, 1974, table D3 (d2* of one sample).
"""


def row_half_widths(points: Sequence[Point]) -> Floats:
    """Compute half-widths (2, n) of the 90 % intervals below and above each row, from its stated spread or range.

    The half-widths of a row without a stated spread or range are NaN.
    """
    return np.array([own_half_widths(point) or (math.nan, math.nan) for point in points]).T


def own_half_widths(point: Point) -> tuple[float, float] | None:
    """Compute the half-widths of a row's 90 % interval for one new run: below and above the value.

    The spread of the runs gives the interval of Student's t.  If the row does not state its spread, it is estimated
    from the least and the greatest run.  If these are unknown too, the row's low and high bound the interval: they are
    rounded or assumed numbers.  An interval from the spread is extended to the row's low and high.

    The result is ``None`` if the row states no spread, no low and no high.
    """
    below = math.nan if point.low is None else point.value - point.low
    above = math.nan if point.high is None else point.high - point.value
    half = None
    if point.std is not None:
        half = spread_half_width(point.std, point.n)
    elif point.low is not None and point.high is not None:
        runs = point.n or 1
        if point.basis in OF_RUNS and runs > 1:
            deviations, degrees = _RANGE[min(runs, len(_RANGE) + 1) - 2]
            spread = (point.high - point.low) / deviations
            half = student(degrees) * spread * math.sqrt(1 + 1 / runs)
    if half is not None:
        return max(half, below), max(half, above)
    if point.low is None and point.high is None:
        return None
    return below, above
