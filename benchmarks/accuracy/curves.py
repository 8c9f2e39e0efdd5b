"""Predictors of one curve at a time: interpolation, one Hockney line, SimGrid-style factors.

Each gets its best chance. Interpolation uses log axes if all numbers are positive. It runs along
the payload, or along the load if only there rows stand on both sides. Beyond the rows it
extrapolates the line through the last two. Hockney and SimGrid model the time of one message with
relative weights, so that microseconds count as much as milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.interpolate import Akima1DInterpolator, PchipInterpolator

from benchmarks.accuracy.predictor import (
    Answerer,
    Floats,
    Line,
    Predictor,
    Unanswerable,
    along_load,
    along_payload,
    from_time,
    guess,
    is_time_or_rate,
    one_by_one,
    to_time,
)
from icmodel.dataset import Dataset, Point
from icmodel.estimate import Estimate
from icmodel.validate.folds import Fold

Between = Callable[[Floats, Floats, float], float]
"""Function that returns the value at a place between the first and the last x."""


# --- interpolation ------------------------------------------------------------------------------


def linear(x: Floats, y: Floats, at: float) -> float:
    """Interpolate linearly between two neighbours."""
    return float(np.interp(at, x, y))


def pchip(x: Floats, y: Floats, at: float) -> float:
    """Interpolate by monotone cubic pieces (Fritsch and Carlson)."""
    return float(PchipInterpolator(x, y)(at))


def akima(x: Floats, y: Floats, at: float) -> float:
    """Interpolate by Akima's cubic pieces, modified so that they do not overshoot at steps."""
    if len(x) < 3:
        return linear(x, y, at)
    return float(Akima1DInterpolator(x, y, method="makima")(at))


def interpolated(between: Between) -> Predictor:
    """Make a predictor that interpolates each curve by one method."""

    def predictor(data: Dataset, folds: Sequence[Fold]) -> Answerer:
        del data, folds
        return one_by_one(partial(_interpolate, between))

    return predictor


def _interpolate(between: Between, fold: Fold, point: Point) -> Estimate:
    line, load = along_payload(fold, point), along_load(fold, point)
    if load.inside and not line.inside:
        line = load
    if len(line.x) < 2:
        raise Unanswerable("fewer than two other points on the curve")
    return guess(_on_log_axes(line, between))


def _on_log_axes(line: Line, between: Between) -> float:
    positive = bool((line.y > 0).all())
    y = np.log(line.y) if positive else line.y
    value = _anywhere(np.log(line.x), y, float(np.log(line.at)), between)
    return float(np.exp(value)) if positive else value


def _anywhere(x: Floats, y: Floats, at: float, between: Between) -> float:
    if x[0] <= at <= x[-1]:
        return between(x, y, at)
    near, far = (0, 1) if at < x[0] else (-1, -2)
    return float(y[near] + (at - x[near]) * (y[near] - y[far]) / (x[near] - x[far]))


# --- Hockney ------------------------------------------------------------------------------------


def hockney(data: Dataset, folds: Sequence[Fold]) -> Answerer:
    """Make a predictor with time of a message = α + β · size, one line per curve (Hockney 1994)."""
    del data, folds
    return one_by_one(_hockney)


def _hockney(fold: Fold, point: Point) -> Estimate:
    line = _times(fold, point, "Hockney's line")
    if len(line.x) < 2:
        raise Unanswerable("fewer than two other points on the curve")
    alpha, beta = affine(line.x, line.y)
    return guess(from_time(point.metric, line.at, alpha + beta * line.at))


def _times(fold: Fold, point: Point, model: str) -> Line:
    if not is_time_or_rate(point.metric):
        raise Unanswerable(f"{model} is about times and rates, not about {point.metric}")
    line = along_payload(fold, point)
    if (line.y <= 0).any():
        raise Unanswerable("a row of the curve has the rate 0, so its time is infinite")
    return Line(line.x, to_time(point.metric, line.x, line.y), line.at)


def affine(x: Floats, y: Floats) -> tuple[float, float]:
    """Return intercept and slope with the least sum of squared relative errors."""
    design = np.column_stack([np.ones_like(x), x]) / y[:, None]
    solution = np.linalg.lstsq(design, np.ones_like(y), rcond=None)[0]
    return float(solution[0]), float(solution[1])


# --- SimGrid-style factors ----------------------------------------------------------------------

FEWEST = 3
"""Least number of points of a segment: a line fits two points exactly, whatever their errors."""


def simgrid_factors(data: Dataset, folds: Sequence[Fold]) -> Answerer:
    """Make a predictor with an affine time in each size segment, like SimGrid's calibration.

    The segments are the cut with the least Bayesian information criterion (BIC). A size between two
    segments belongs to the lower one, as in SimGrid's factor tables.
    """
    del data, folds
    return one_by_one(_simgrid_factors)


def _simgrid_factors(fold: Fold, point: Point) -> Estimate:
    line = _times(fold, point, "SimGrid's factors")
    if len(line.x) < FEWEST:
        raise Unanswerable("fewer than three other points on the curve")
    starts = segments(line.x, line.y)
    which = max(0, int(np.searchsorted(line.x[starts[:-1]], line.at, side="right")) - 1)
    here = slice(starts[which], starts[which + 1])
    alpha, beta = affine(line.x[here], line.y[here])
    return guess(from_time(point.metric, line.at, alpha + beta * line.at))


def segments(x: Floats, y: Floats) -> list[int]:
    """Return the start of each segment and the end, for the cut with exactly the least BIC."""
    n = len(x)
    cost = {(i, j): _squares(x[i:j], y[i:j]) for i in range(n) for j in range(i + FEWEST, n + 1)}
    best: dict[tuple[int, int], tuple[float, list[int]]] = {(0, 0): (0.0, [0])}
    for count in range(1, n // FEWEST + 1):
        for j in range(FEWEST * count, n + 1):
            ways = [
                (best[count - 1, i][0] + cost[i, j], [*best[count - 1, i][1], j])
                for i in range(FEWEST * (count - 1), j - FEWEST + 1)
                if (count - 1, i) in best
            ]
            if ways:
                best[count, j] = min(ways)
    whole = [(count, *best[count, n]) for count in range(1, n // FEWEST + 1) if (count, n) in best]
    return min(whole, key=lambda found: _bic(found[1], n, found[0]))[2]


def _squares(x: Floats, y: Floats) -> float:
    alpha, beta = affine(x, y)
    return float(np.sum(((alpha + beta * x) / y - 1) ** 2))


def _bic(squares: float, n: int, count: int) -> float:
    """Return the BIC of a cut: each segment has two numbers and an end.

    Errors have a floor of 0.1 %, since no time is known better.
    """
    return float(n * np.log(squares / n + 1e-6) + (3 * count - 1) * np.log(n))
