"""Candidate predictors that use the rows of a single curve: they interpolate it, or fit two costs to it.

These candidates ignore all other curves.  They are the most accurate candidates on smooth, densely
measured curves.  All functions take log payloads and log times, as arrays (..., points).  The last
axis holds the points of one curve, and the axes before it hold several curves of equal length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.mechanism import SHORTEST_S
from icmodel.fits.observations import Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

METHODS = ("straight", "affine", "monotone", "monotone a byte", "local on", "costs")
"""Names of the candidates: predictors that use the points of a single curve.

- ``straight``: linear on log axes; beyond the curve, parallel to the cost model.
- ``affine``: time = a + b × payload between two points; the outer pieces continue beyond the curve.
- ``monotone``: monotone cubic pieces of the time per frame; no prediction beyond the curve.
- ``monotone a byte``: as ``monotone``, for the time per byte, which is constant at constant goodput.
- ``local on``: modified Akima pieces; linear on log axes beyond the curve.
- ``costs``: a cost per frame and a cost per byte, fitted to all points.
"""
LEAST_POINTS = 2
"""Least number of points of a curve from which the candidates can predict."""


class Curves:
    """Measured curves of a metric, from which each method of `METHODS` predicts log times.

    A site is a point of payload, load and labels.  A method predicts it only from rows of its own curve:
    rows with the same load and labels.

    Parameters
    ----------
    sites : Sites
        Sites of the rows.
    log_time : array (rows,)
        Log time at the rows: ln(time per frame) for a rate, and ln(value) for any other metric.
    modelled : array (rows,)
        Log time of the cost model at the rows.  Beyond the outer points of a curve, the method
        ``straight`` runs parallel to the cost model.
    """

    def __init__(self, sites: Sites, log_time: Floats, modelled: Floats) -> None:
        logs = np.log(sites.payload_bytes)
        self._curves: dict[object, _Curve] = {}
        for key, rows in sites.by_curve.items():
            payload, first, point = np.unique(logs[rows], return_index=True, return_inverse=True)
            mean = np.bincount(point, weights=log_time[rows]) / np.bincount(point)
            points = np.stack([payload, mean, modelled[rows][first]])
            self._curves[key] = _Curve(rows, point, points)
        self.errors = _left_out([*self._curves.values()], log_time)
        """Leave-one-out error of each method at each row, (methods, rows).

        Each row is predicted without the rows of the same payload.  The error is NaN if too few
        points remain.
        """

    def log_time(self, sites: Sites, modelled: Floats) -> Floats:
        """Predict the natural logarithm of a time [s] at n sites by each method of `METHODS`, (methods, n).

        A site is a combination of payload, load and labels.  For a rate, the time is that of a frame;
        for another metric, its value.  ``modelled`` (n,) is the cost model's prediction of the same
        logarithm.  The result is NaN if a method makes no prediction, such as on a curve of one point.
        """
        found = np.full((len(METHODS), len(sites)), np.nan)
        logs = np.log(sites.payload_bytes)
        for key, rows in sites.by_curve.items():
            curve = self._curves.get(key)
            if curve is not None and curve.points.shape[-1] >= LEAST_POINTS:
                found[:, rows] = _predicted(curve.points, logs[rows], modelled[rows])
        return found


@dataclass(frozen=True, slots=True)
class _Curve:
    """One measured curve over the payload; rows of equal payload are averaged to one point.

    ``rows`` are the indices of the measured rows.  ``point`` has, for each of these rows, the index
    of its point.  ``points`` (3, n) holds natural logarithms; axis 0: payload, measured time, time by
    the cost model.  The payloads are ascending.
    """

    rows: Ints
    point: Ints
    points: Floats


def _left_out(curves: Sequence[_Curve], log_time: Floats) -> Floats:
    """Leave-one-out errors of interpolation: an array (methods, rows), with the methods of `METHODS`.

    Each row is predicted from the other points of its curve.  Curves of equal length are computed
    together, which is ten times as fast.
    """
    found = np.full((len(METHODS), len(log_time)), np.nan)
    for count in {curve.points.shape[-1] for curve in curves}:
        if count <= LEAST_POINTS:
            continue
        alike = [curve for curve in curves if curve.points.shape[-1] == count]
        points = np.stack([curve.points for curve in alike], axis=1)
        rest = np.array([np.delete(np.arange(count), k) for k in range(count)])
        at, _, modelled = points[..., None]
        off = points[1] - _predicted(points[..., rest], at, modelled)[..., 0]
        for k, curve in enumerate(alike):
            above_mean = log_time[curve.rows] - points[1, k, curve.point]
            found[:, curve.rows] = off[:, k, curve.point] + above_mean
    return found


def _predicted(points: Floats, at: Floats, modelled: Floats) -> Floats:
    """Predict log times at the log payloads ``at`` (..., payloads) by each method of `METHODS`.

    Log time is ln(time per frame) for a rate, and ln(value) for any other metric.  The axes ``...``
    are the curves.  The result has the shape (methods, ..., payloads).

    Parameters
    ----------
    points : array (3, ..., n)
        The n points of each curve.  Axis 0: log payload, log time, and the cost model's log time.
    modelled : array (..., payloads)
        The cost model's log time at the log payloads ``at``.
    """
    x, y, own = points
    off, where = y - own, place(x, at)
    below, above = at < x[..., :1], at > x[..., -1:]
    held = modelled + np.where(below, off[..., :1], off[..., -1:])
    outside = below | above
    return np.stack(
        [
            np.where(outside, held, straight(x, y, where)),
            affine_pieces(x, y, where),
            np.where(outside, np.nan, monotone(x, y, where)),
            np.where(outside, np.nan, monotone(x, y - x, where) + at),
            np.where(outside, extrapolated(x, y, at), akima(x, y, where)),
            affine(x, y, at),
        ]
    )


class Place(NamedTuple):
    """Positions on the x axis, and for each position the interval between two points around it.

    A position beyond all points belongs to the outer interval.  ``at`` are the positions.  ``left``
    is the index of the point at which the interval begins.  ``beyond`` is the distance of the
    position from this point, and ``step`` is the length of the interval.  ``cubic`` holds the weights
    of both values and both slopes of a cubic Hermite piece.
    """

    at: Floats
    left: Ints
    beyond: Floats
    step: Floats
    cubic: tuple[Floats, Floats, Floats, Floats]


def place(x: Floats, at: Floats) -> Place:
    """Find, for each position in ``at``, the two neighbouring points in the ascending ``x``.

    A position beyond all points gets the two outermost points on its side.
    """
    passed: Ints = (x[..., None, :] <= at[..., :, None]).sum(axis=-1)
    left = np.clip(passed - 1, 0, x.shape[-1] - 2)
    first = _take(x, left)
    beyond, step = at - first, _take(x, left + 1) - first
    t = beyond / step
    before, behind = (1 - t) ** 2, t**2
    values = (1 + 2 * t) * before, behind * (3 - 2 * t)
    slopes = t * before * step, behind * (t - 1) * step
    return Place(at, left, beyond, step, values + slopes)


def straight(x: Floats, y: Floats, where: Place) -> Floats:
    """Interpolate linearly between two neighbours; beyond the outer points, hold their values.

    >>> import numpy as np
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 3.0, 5.0])
    >>> straight(x, y, place(x, np.array([0.5, 9.0]))).tolist()
    [1.5, 5.0]
    """
    at, first = where.at, _take(y, where.left)
    slope = (_take(y, where.left + 1) - first) / where.step
    inside = slope * where.beyond + first
    return np.where(at >= x[..., -1:], y[..., -1:], np.where(at < x[..., :1], y[..., :1], inside))


def monotone(x: Floats, y: Floats, where: Place) -> Floats:
    """Interpolate by monotone cubic pieces, which do not overshoot the points.

    F. N. Fritsch and J. Butland, SIAM J. Sci. Stat. Comput. 5, 1984.
    """
    if x.shape[-1] == LEAST_POINTS:
        return straight(x, y, where)
    step = np.diff(x)
    slope = np.diff(y) / step
    before, behind = slope[..., :-1], slope[..., 1:]
    more, less = 2 * step[..., 1:] + step[..., :-1], step[..., 1:] + 2 * step[..., :-1]
    same = before * behind > 0
    safe = np.where(same, before, 1.0), np.where(same, behind, 1.0)
    inner = np.where(same, (more + less) / (more / safe[0] + less / safe[1]), 0.0)
    first = _end_slope(step[..., :2], slope[..., :2])
    last = _end_slope(step[..., :-3:-1], slope[..., :-3:-1])
    return _cubic(y, np.concatenate([first, inner, last], axis=-1), where)


def _end_slope(step: Floats, slope: Floats) -> Floats:
    """Slope of a monotone cubic at the first point, from the parabola through three points.

    The slope is limited, to prevent overshoot.
    """
    near, far = step[..., :1], step[..., 1:]
    own, other = slope[..., :1], slope[..., 1:]
    found = ((2 * near + far) * own - near * other) / (near + far)
    overshoots = (own * other <= 0) & (np.abs(found) > 3 * np.abs(own))
    return np.where(found * own <= 0, 0.0, np.where(overshoots, 3 * own, found))


def affine_pieces(x: Floats, y: Floats, where: Place) -> Floats:
    """Interpolate by straight pieces of time over payload: time = cost per frame + payload × cost per byte.

    The two neighbouring points determine both costs.  Payloads and times are logarithms.  If the time
    is not positive, the result is NaN.
    """
    payload, time, site_bytes = np.exp(x), np.exp(y), np.exp(where.at)
    first, rise = _take(payload, where.left), np.diff(time) / np.diff(payload)
    found = _take(time, where.left) + (site_bytes - first) * _take(rise, where.left)
    return np.where(found > 0, np.log(np.maximum(found, SHORTEST_S)), np.nan)


def extrapolated(x: Floats, y: Floats, at: Floats) -> Floats:
    """Extrapolate curves to positions beyond their first or last point.

    The line through the first two points gives the values to the left of the curve.  The line through
    the last two points gives the values to the right.
    """
    below = at < x[..., :1]
    near, far = (np.where(below, v[..., :1], v[..., -1:]) for v in (x, y))
    step = np.where(below, x[..., 1:2] - x[..., :1], x[..., -1:] - x[..., -2:-1])
    rise = np.where(below, y[..., 1:2] - y[..., :1], y[..., -1:] - y[..., -2:-1])
    return np.asarray(far + (at - near) * rise / step)


def akima(x: Floats, y: Floats, where: Place) -> Floats:
    """Interpolate by modified Akima cubic pieces (makima).

    The slope at a point is a weighted mean of the slopes to its left and to its right.  The side on
    which the slope changes less has more weight (H. Akima, J. ACM 17, 1970).  The modification adds
    the mean of both slopes to the weights, so that flat pieces stay flat.
    """
    if x.shape[-1] == LEAST_POINTS:
        return straight(x, y, where)
    slope = np.diff(y) / np.diff(x)
    first, last = slope[..., :1], slope[..., -1:]
    left, right = 2 * first - slope[..., 1:2], 2 * last - slope[..., -2:-1]
    wide = np.concatenate([2 * left - first, left, slope, right, 2 * right - last], axis=-1)
    change = np.abs(np.diff(wide)) + np.abs(wide[..., 1:] + wide[..., :-1]) / 2
    before, behind = change[..., :-2], change[..., 2:]
    sum_ = before + behind
    flat = sum_ <= 1e-9 * np.maximum(sum_.max(axis=-1, keepdims=True), SHORTEST_S)
    safe = np.where(flat, 1.0, sum_)
    one, other = wide[..., 1:-2], wide[..., 2:-1]
    mean = (behind * one + before * other) / safe
    return _cubic(y, np.where(flat, (one + other) / 2, mean), where)


def _cubic(y: Floats, slope: Floats, where: Place) -> Floats:
    """Evaluate a piecewise cubic Hermite curve with the given values and slopes at its points."""
    left, right = where.left, where.left + 1
    value_left, value_right, slope_left, slope_right = where.cubic
    from_left = value_left * _take(y, left)
    from_left += slope_left * _take(slope, left)
    from_right = value_right * _take(y, right)
    from_right += slope_right * _take(slope, right)
    return np.asarray(from_left + from_right)


def _take(values: Floats, where: Ints) -> Floats:
    if values.ndim == 1:  # ten times faster than take_along_axis
        return values.take(where)
    return np.take_along_axis(values, where, axis=-1)


def affine(x: Floats, y: Floats, at: Floats) -> Floats:
    """Fit time = cost per frame + payload × cost per byte to all points, and predict times at the payloads ``at``.

    The fit minimises the squared relative errors (R. W. Hockney, Parallel Computing 20, 1994).
    Payloads (``x``, ``at``), times (``y``) and the result are natural logarithms.  If a predicted
    time is not positive, the result is NaN.
    """
    design = np.stack([np.ones_like(x), np.exp(x)], axis=-1) / np.exp(y)[..., None]
    ones = np.ones(x.shape[-1])
    costs = np.empty((*x.shape[:-1], 2))
    for curve in np.ndindex(x.shape[:-1]):
        costs[curve] = np.linalg.lstsq(design[curve], ones, rcond=None)[0]
    time = costs[..., :1] + costs[..., 1:] * np.exp(at)
    return np.where(time > 0, np.log(np.maximum(time, SHORTEST_S)), np.nan)
