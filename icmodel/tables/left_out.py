"""Interpolation error of one metric, from leaving out each row in turn.

Each row between two others is left out and compared with the line through its neighbours.  The part of the
error that the rows' own half-widths do not explain is divided by a local scale: how much the rows there deviate
from such lines, and the typical error.  The rank of split conformal prediction over all curves of the
metric gives the multiple of that scale that covers a new row with 90 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import RATIOS, Dataset, Point
from icmodel.statistics import COVERAGE, LONE_WIDTH, NORMAL, median, spread_half_width, student

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

OF_MEDIAN = NORMAL / 0.6745
"""Half of a 90 % interval over the median absolute error, for normal errors."""
NEAREST = 0.1
"""Least value of the parabola over a gap: errors close to a point say nothing of the middle of the gap."""


class Misses(NamedTuple):
    """Half-widths at the rows and in the gaps of any curve of one metric.

    Errors are relative to the value, for ratios absolute: ``median`` is the median error, ``typical``
    the same or, where most errors are 0, the mean; ``factor`` is the conformal multiple of the local scale.
    ``enough`` is false where fewer than nine rows can be left out.
    """

    relative: bool
    median: float
    typical: float
    factor: float
    enough: bool

    def of_rows(self, points: Sequence[Point]) -> Floats:
        """Half-widths below and above the rows of a curve, (2, n)."""
        half = _own(points)
        value = np.array([p.value for p in points])
        if self.enough:
            fallback = OF_MEDIAN * self.median * self._level(value)
        else:
            fallback = self._assumed(value)
        return np.where(np.isnan(half), fallback, half)

    def between(self, payload_bytes: Floats, value: Floats) -> Floats:
        """Half-width of the interpolation error in the middle of each gap, (n − 1,)."""
        level = (self._level(value)[:-1] + self._level(value)[1:]) / 2
        error = self.factor * (self.typical * level + _bend(payload_bytes, value))
        if self.enough:
            return error
        assumed = self._assumed(value)
        return np.maximum(error, np.maximum(assumed[:-1], assumed[1:]))

    def _level(self, value: Floats) -> Floats:
        """The value by which an error is divided."""
        return np.abs(value) if self.relative else np.ones_like(value)

    def _assumed(self, value: Floats) -> Floats:
        level = np.abs(value)
        return LONE_WIDTH * (level if self.relative else np.full_like(level, level.max()))


def misses(data: Dataset, metric: str) -> Misses:
    """Leave-one-out interpolation errors of a metric over all curves of a dataset."""
    relative = metric not in RATIOS
    left_out = _left_out(data.of_metric(metric))
    if left_out is None:
        return Misses(relative, 0.0, 0.0, 0.0, enough=False)
    median, typical, scores = left_out.scores(relative=relative)
    count = len(scores)
    rank = math.ceil(COVERAGE * (count + 1))
    factor = float(np.sort(scores)[min(rank, count) - 1])
    return Misses(relative, median, typical, factor, enough=rank <= count)


class _LeftOut(NamedTuple):
    """Rows that were left out, with their neighbours on the curve.

    ``rows`` (left, row, right) are indices into ``payload_bytes``, ``value`` and ``half`` (2, all); ``bend``
    is the local deviation from straight lines without the row.
    """

    payload_bytes: Floats
    value: Floats
    half: Floats
    rows: tuple[Ints, Ints, Ints]
    bend: Floats

    def scores(self, *, relative: bool) -> tuple[float, float, Floats]:
        """Median and typical error, and each error beyond the rows' own half-widths in units of its local scale."""
        left, row, right = self.rows
        x, y = self.payload_bytes, self.value
        share = (x[row] - x[left]) / (x[right] - x[left])
        line = y[left] + share * (y[right] - y[left])
        miss = y[row] - line
        of = np.abs(line) if relative else np.ones_like(line)
        share_off = np.divide(np.abs(miss), of, out=np.zeros_like(miss), where=of > 0)
        middle_miss = median(share_off.tolist())
        typical = middle_miss or float(np.mean(share_off))
        width = np.abs(y) if relative else np.ones_like(y)
        half = np.where(np.isnan(self.half), OF_MEDIAN * middle_miss * width, self.half)
        half = half[(miss > 0).astype(int)[:, None], np.stack([left, right], axis=1)].T
        beyond = np.maximum(np.abs(miss) - (half[0] + share * (half[1] - half[0])), 0.0)
        beyond /= np.maximum(4 * share * (1 - share), NEAREST)
        middle = half.mean(axis=0)
        error = np.sqrt((middle + beyond) ** 2 - middle**2)
        scale = typical * (width[left] + width[right]) / 2 + self.bend
        scores = np.divide(error, scale, out=np.zeros_like(error), where=scale > 0)
        return middle_miss, typical, scores


def _left_out(points: Iterable[Point]) -> _LeftOut | None:
    """Each row between two others of its curve, left out; ``None`` if there is none."""
    curves = [curve for curve in _curves(points) if len(curve) > 2]
    if not curves:
        return None
    rows = [point for curve in curves for point in curve]
    x = np.array([float(p.payload_bytes or 1) for p in rows])
    y = np.array([p.value for p in rows])
    place = np.concatenate([np.arange(len(curve)) for curve in curves])
    behind = np.concatenate([np.arange(len(curve))[::-1] for curve in curves])
    row = np.flatnonzero((place > 0) & (behind > 0))
    left, right = row - 1, row + 1
    before = np.where(place[left] > 0, left - 1, left)
    after = np.where(behind[right] > 0, right + 1, right)
    bend = np.maximum(_off_line(x, y, before, left, right), _off_line(x, y, left, right, after))
    lone = (before == left) & (after == right)
    bend = np.where(lone, np.abs(y[right] - y[left]), bend)
    return _LeftOut(x, y, _own(rows), (left, row, right), bend)


def _curves(points: Iterable[Point]) -> list[list[Point]]:
    """Rows of one metric by curve, ascending in payload; of the goodput the unlimited rows, if there are any.

    A goodput that a limit holds is that limit, and says nothing about interpolation.
    """
    known = [p for p in points if p.payload_bytes and p.endpoints in (None, 1)]
    if known and known[0].metric == "goodput_bps":
        reached = [p for p in known if p.load_bps is None or math.isinf(p.load_bps)]
        known = reached or known
    groups: dict[tuple[object, ...], dict[int, Point]] = {}
    for p in known:
        key = p.protocol, p.options, p.cores, p.switches, p.other_goodput_bps, p.load_bps
        groups.setdefault(key, {})[p.payload_bytes or 1] = p
    return [[curve[size] for size in sorted(curve)] for curve in groups.values()]


def _own(points: Sequence[Point]) -> Floats:
    """Half-widths below and above from the rows' own spread or range, (2, n); NaN where they state none."""
    said = [own_half_widths(point) or (math.nan, math.nan) for point in points]
    return np.array(said).T


def _bend(x: Floats, y: Floats) -> Floats:
    """Deviation from a straight line at the two points of each gap, the greater one; for two points their step."""
    if len(x) < 3:
        return np.abs(np.diff(y))
    line = y[:-2] + (x[1:-1] - x[:-2]) / (x[2:] - x[:-2]) * (y[2:] - y[:-2])
    inner = np.concatenate([[0.0], np.abs(y[1:-1] - line), [0.0]])
    return np.asarray(np.maximum(inner[:-1], inner[1:]))


def _off_line(x: Floats, y: Floats, left: Ints, at: Ints, right: Ints) -> Floats:
    """Distance of points from the line through two others; 0 where a point is one of these."""
    line = y[left] + (x[at] - x[left]) / (x[right] - x[left]) * (y[right] - y[left])
    return np.asarray(np.abs(y[at] - line))


OF_RUNS = ("measured", "tabulated")
"""Bases of rows whose range is that of several runs; other rows state or assume an interval."""

_RANGE = (
    (1.414, 1), (1.912, 2), (2.239, 3), (2.481, 4), (2.673, 5),
    (2.830, 5), (2.963, 6), (3.078, 7), (3.179, 8),
)  # fmt: skip
"""Range of 2 to 10 normal runs in standard deviations, and the degrees of freedom of a standard
deviation estimated from it: A. J. Duncan, Quality Control and Industrial Statistics, 1974, table D3 (d2* of
one sample; degrees rounded).  For more than ten runs the values of ten are used, whose range is narrower."""


def own_half_widths(point: Point) -> tuple[float, float] | None:
    """Half of a 90 % interval for one new run below and above a row; ``None`` if the row states no spread.

    A spread, or one estimated from the range of several runs, gives Student's t interval, which is never
    narrower than that range.  A range that is printed, rounded or assumed is the interval itself.
    """
    below = math.nan if point.low is None else point.value - point.low
    above = math.nan if point.high is None else point.high - point.value
    half = _of_runs(point)
    if half is not None:
        return max(half, below), max(half, above)
    if point.low is None and point.high is None:
        return None
    return below, above


def _of_runs(point: Point) -> float | None:
    """Half-width from the spread or range of the row's runs; ``None`` if it states neither."""
    if point.std is not None:
        return spread_half_width(point.std, point.n)
    if point.basis not in OF_RUNS or point.low is None or point.high is None or (point.n or 1) < 2:
        return None
    deviations, degrees = _RANGE[min(point.n or 2, len(_RANGE) + 1) - 2]
    spread = (point.high - point.low) / deviations
    return student(degrees) * spread * math.sqrt(1 + 1 / (point.n or 2))
