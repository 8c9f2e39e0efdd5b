"""Curves by themselves: lines and cubic pieces between a curve's own rows, or its own costs.

They know nothing of other curves, and need not: where a curve is smooth and densely measured
nothing is closer.  All work on log axes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from icmodel.hybrid.mechanism import SHORTEST_S, Mechanism, configurations
from icmodel.hybrid.observations import Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Between = Callable[[Floats, Floats, Floats], Floats]
"""Values at some places from x (ascending, at least two) and y."""

LEAST_POINTS = 2
"""Points from which a line can be drawn."""


def straight(x: Floats, y: Floats, at: Floats) -> Floats:
    """On the straight between two neighbours."""
    return np.interp(at, x, y)


def monotone(x: Floats, y: Floats, at: Floats) -> Floats:
    """Cubic pieces that do not overshoot (Fritsch and Butland, SIAM J. Sci. Stat. Comput. 5, 1984)."""
    if len(x) == LEAST_POINTS:
        return straight(x, y, at)
    step, slope = np.diff(x), np.diff(y) / np.diff(x)
    before, behind = slope[:-1], slope[1:]
    more, less = 2 * step[1:] + step[:-1], step[1:] + 2 * step[:-1]
    same = before * behind > 0
    safe = np.where(same, before, 1.0), np.where(same, behind, 1.0)
    inner = np.where(same, (more + less) / (more / safe[0] + less / safe[1]), 0.0)
    first = _end_slope(step[0], step[1], slope[0], slope[1])
    last = _end_slope(step[-1], step[-2], slope[-1], slope[-2])
    return _hermite(x, y, np.array([first, *inner, last]), at)


def _end_slope(near: float, far: float, slope: float, next_slope: float) -> float:
    """Of the parabola through three points, kept from overshooting."""
    found = ((2 * near + far) * slope - near * next_slope) / (near + far)
    if found * slope <= 0:
        return 0.0
    if slope * next_slope <= 0 and abs(found) > 3 * abs(slope):
        return 3 * slope
    return float(found)


def local(x: Floats, y: Floats, at: Floats) -> Floats:
    """Cubic pieces whose slopes follow the straighter side (H. Akima, J. ACM 17, 1970).

    Weights are the modified ones known as makima, with the mean of both slopes in them, so that flat
    pieces stay flat.
    """
    if len(x) == LEAST_POINTS:
        return straight(x, y, at)
    slope = np.diff(y) / np.diff(x)
    left = 2 * slope[0] - slope[1]
    right = 2 * slope[-1] - slope[-2]
    wide = np.array([2 * left - slope[0], left, *slope, right, 2 * right - slope[-1]])
    change = np.abs(np.diff(wide)) + np.abs(wide[1:] + wide[:-1]) / 2
    before, behind = change[:-2], change[2:]
    sum_ = before + behind
    flat = sum_ <= 1e-9 * max(float(sum_.max()), SHORTEST_S)
    safe = np.where(flat, 1.0, sum_)
    mean = (behind * wide[1:-2] + before * wide[2:-1]) / safe
    return _hermite(x, y, np.where(flat, (wide[1:-2] + wide[2:-1]) / 2, mean), at)


def _hermite(x: Floats, y: Floats, slope: Floats, at: Floats) -> Floats:
    """Cubic pieces with given slopes at their ends."""
    k = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    step = x[k + 1] - x[k]
    t = (at - x[k]) / step
    from_left = (1 + 2 * t) * (1 - t) ** 2 * y[k] + t * (1 - t) ** 2 * step * slope[k]
    from_right = t**2 * (3 - 2 * t) * y[k + 1] + t**2 * (t - 1) * step * slope[k + 1]
    return np.asarray(from_left + from_right)


class Curves:
    """Every curve by itself; beyond its ends as the mechanism goes on, or not at all.

    Parameters
    ----------
    between : callable or None
        How to go between rows; ``None``: the time is affine in the payload, also beyond the ends.
    mechanism : Mechanism or None
        What goes on beyond the ends.
    """

    def __init__(
        self,
        between: Between | None,
        mechanism: Mechanism | None,
        sites: Sites,
        log_time: Floats,
    ) -> None:
        self._curves = {}
        self.errors = np.full(len(sites), np.nan)
        """Error at each row when all rows of its payload are left out; NaN where too few are left."""
        for key, rows in curves_of(sites).items():
            curve = _Curve(between, mechanism, sites.take(rows), log_time[rows])
            self._curves[key] = curve
            self.errors[rows] = curve.errors(log_time[rows])

    def log_time(self, sites: Sites) -> Floats:
        """Log of the time at some sites; NaN where no curve of two points says it."""
        found = np.full(len(sites), np.nan)
        for key, rows in curves_of(sites).items():
            curve = self._curves.get(key)
            if curve is not None:
                found[rows] = curve.at(sites.take(rows))
        return found


class _Curve:
    """One curve's rows by payload, rows of the same payload averaged."""

    def __init__(
        self,
        between: Between | None,
        mechanism: Mechanism | None,
        sites: Sites,
        log_time: Floats,
    ) -> None:
        self._between = between
        self._mechanism = mechanism
        logs, first, self._group = np.unique(
            np.log(sites.payload_bytes), return_index=True, return_inverse=True
        )
        self.logs: Floats = logs
        self.values = np.bincount(self._group, weights=log_time) / np.bincount(self._group)
        self._modelled = self._model(sites)[first]

    def _model(self, sites: Sites) -> Floats:
        nothing = np.full(len(sites), np.nan)
        return nothing if self._mechanism is None else self._mechanism.log_time(sites)

    def at(self, sites: Sites) -> Floats:
        """Log of the time at some sites of this curve."""
        rows = np.arange(len(self.logs))
        return self._told(np.log(sites.payload_bytes), self._model(sites), rows)

    def errors(self, log_time: Floats) -> Floats:
        """The error at each row when its payload is left out."""
        found = np.full(len(self.logs), np.nan)
        for k in range(len(self.logs)):
            rest = np.delete(np.arange(len(self.logs)), k)
            told = self._told(self.logs[k : k + 1], self._modelled[k : k + 1], rest)
            found[k] = self.values[k] - told[0]
        return np.asarray(found[self._group] + (log_time - self.values[self._group]))

    def _told(self, at: Floats, modelled: Floats, rows: Ints) -> Floats:
        if len(rows) < LEAST_POINTS:
            return np.full(len(at), np.nan)
        x, y = self.logs[rows], self.values[rows]
        if self._between is None:
            return _affine(x, y, at)
        held = modelled + np.interp(at, x, y - self._modelled[rows])
        return np.where((at < x[0]) | (at > x[-1]), held, self._between(x, y, at))


def _affine(x: Floats, y: Floats, at: Floats) -> Floats:
    """Time = so much a frame + so much a byte, with the least squares of relative errors.

    R. W. Hockney, Parallel Computing 20, 1994; NaN where that time is not above 0.
    """
    design = np.column_stack([np.ones_like(x), np.exp(x)]) / np.exp(y)[:, None]
    costs = np.linalg.lstsq(design, np.ones_like(y), rcond=None)[0]
    time = costs[0] + costs[1] * np.exp(at)
    return np.where(time > 0, np.log(np.maximum(time, SHORTEST_S)), np.nan)


def curves_of(sites: Sites) -> dict[tuple[tuple[str, ...], float], Ints]:
    """The sites of each curve: same labels and load."""
    found: dict[tuple[tuple[str, ...], float], Ints] = {}
    for labels, members in configurations(sites).items():
        loads = sites.load_bps[members]
        for load in np.unique(loads).tolist():
            found[labels, load] = members[loads == load]
    return found
