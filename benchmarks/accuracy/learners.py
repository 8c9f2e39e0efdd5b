"""Predictors of scikit-learn, per protocol and metric: Gaussian process and gradient boosting.

Both learn the logarithm of the value if all values are positive. The Gaussian process tunes its
kernel on the training rows of each fold: from three starts in the first fold, and in a few steps
from that result in the others. With more than 300 rows, which would take minutes per fold, it keeps
the kernel of the first fold.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.accuracy.features import Features, features
from benchmarks.accuracy.predictor import Answerer, Floats, Unanswerable, guess, one_by_one
from icmodel.dataset import Dataset, Point
from icmodel.estimate import Estimate
from icmodel.statistics import NORMAL
from icmodel.validate.folds import Fold, scored

SEED = 1
FEWEST = 5
"""Least number of rows to learn from."""
MOST_TUNED = 300
"""Greatest number of rows with which each fold tunes the kernel: time grows with the cube."""

STEPS = 5
"""Steps of the optimiser in every fold after the first."""

Kind = tuple[str, str]
"""Protocol and metric."""


@dataclass(frozen=True, slots=True)
class Target:
    """Learned quantity: the value, or its logarithm if all values are positive."""

    logarithmic: bool

    def of(self, points: Sequence[Point]) -> Floats:
        """Return the numbers to learn."""
        values = np.array([p.value for p in points])
        return np.log(values) if self.logarithmic else values

    def back(self, number: float) -> float:
        """Convert a learned number to a value; on overflow to infinity, which is no answer."""
        if not self.logarithmic:
            return number
        return math.exp(number) if number < 700 else math.inf


@dataclass(frozen=True, slots=True)
class Task:
    """One protocol and metric of a dataset, prepared for learning."""

    columns: Features
    target: Target
    rows: tuple[Point, ...]


def task(data: Dataset, kind: Kind) -> Task:
    """Make the columns and the target of one protocol and metric, from all its rows."""
    rows = tuple(p for p in (*scored(data), *data.held_out) if (p.protocol, p.metric) == kind)
    return Task(features(data, rows), Target(min(p.value for p in rows) > 0), rows)


def training_rows(fold: Fold, kind: Kind) -> list[Point]:
    """Return the rows of a fold from which one protocol and metric is learned.

    Raises
    ------
    Unanswerable
        If there are fewer than five rows.
    """
    rows = [p for p in fold.train.points if (p.protocol, p.metric) == kind]
    if len(rows) < FEWEST:
        raise Unanswerable("fewer than five rows to learn from")
    return rows


def gaussian_process(data: Dataset) -> Answerer:
    """Make a Gaussian process: Matérn 3/2 with a length scale for each column, and noise."""
    tasks: dict[Kind, Task] = {}
    kernels: dict[Kind, Any] = {}
    fitted: dict[Kind, tuple[Fold, Any]] = {}

    def answer(fold: Fold, point: Point) -> Estimate:
        kind = (point.protocol, point.metric)
        rows = training_rows(fold, kind)
        if kind not in tasks:
            tasks[kind] = task(data, kind)
        one = tasks[kind]
        if kind not in fitted or fitted[kind][0] is not fold:
            process = _fitted(one, rows, kernels.get(kind))
            kernels.setdefault(kind, process.kernel_)
            fitted[kind] = (fold, process)
        mean, std = fitted[kind][1].predict(one.columns.of([point]), return_std=True)
        ends = (mean[0] + side * NORMAL * std[0] for side in (0, -1, 1))
        return guess(*(one.target.back(float(end)) for end in ends))

    return one_by_one(answer)


def _fitted(one: Task, rows: Sequence[Point], kernel: Any) -> Any:
    """Fit a process to some rows; if no kernel is known yet, tune it from several starts."""
    columns = one.columns.of(rows)
    if kernel is None:
        process = _process(_start(columns.shape[1]), tune=True, restarts=2)
    else:
        process = _process(kernel, tune=len(rows) <= MOST_TUNED, restarts=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a parameter at its bound is no failure
        process.fit(columns, one.target.of(rows))
    return process


def _start(columns: int) -> Any:
    from sklearn.gaussian_process import kernels  # type: ignore[import-untyped]

    lengths = kernels.Matern(np.ones(columns), (1e-2, 1e3), nu=1.5)
    amplitude = kernels.ConstantKernel(1.0, (1e-3, 1e4))
    return amplitude * lengths + kernels.WhiteKernel(1e-3, (1e-8, 1.0))


def _near(objective: Any, start: Floats, bounds: Any) -> tuple[Floats, float]:
    """Optimise in a few steps from a good start: one row less moves an optimum little."""
    from scipy.optimize import minimize

    found = minimize(
        objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": STEPS}
    )
    return np.asarray(found.x, dtype=np.float64), float(found.fun)


def _process(kernel: Any, *, tune: bool, restarts: int) -> Any:
    from sklearn.gaussian_process import (
        GaussianProcessRegressor,
    )

    return GaussianProcessRegressor(
        kernel,
        normalize_y=True,
        optimizer=("fmin_l_bfgs_b" if restarts else _near) if tune else None,
        n_restarts_optimizer=restarts,
        random_state=SEED,
    )


def boosting(data: Dataset) -> Answerer:
    """Make a gradient-boosting predictor: 200 trees of depth 4, learning rate 0.1."""
    tasks: dict[Kind, Task] = {}
    fitted: dict[Kind, tuple[Fold, Any]] = {}

    def answer(fold: Fold, point: Point) -> Estimate:
        from sklearn.ensemble import GradientBoostingRegressor  # type: ignore[import-untyped]

        kind = (point.protocol, point.metric)
        rows = training_rows(fold, kind)
        if kind not in tasks:
            tasks[kind] = task(data, kind)
        one = tasks[kind]
        if kind not in fitted or fitted[kind][0] is not fold:
            trees = GradientBoostingRegressor(
                n_estimators=200, max_depth=4, learning_rate=0.1, random_state=SEED
            )
            trees.fit(one.columns.of(rows), one.target.of(rows))
            fitted[kind] = (fold, trees)
        value = fitted[kind][1].predict(one.columns.of([point]))[0]
        return guess(one.target.back(float(value)))

    return one_by_one(answer)
