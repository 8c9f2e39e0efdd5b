"""Predictors of scikit-learn, per protocol and metric: Gaussian process and gradient boosting.

Both learn the logarithm of the value if all values are positive. The Gaussian process tunes its
kernel on the training rows of each fold: from three starts in the first fold, and in a few steps
from that result in the others. With more than 300 rows, which would take minutes per fold, it keeps
the kernel of the first fold.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.accuracy.features import Features, features
from benchmarks.accuracy.predictor import Answerer, Floats, Unanswerable, guess, one_by_one
from icmodel.dataset import Dataset, Point
from icmodel.estimate import Estimate
from icmodel.estimate.statistics import NORMAL
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


@dataclass(eq=False)
class Learner(ABC):
    """Learner of a fold by protocol and metric; what it learned is kept for the other rows of the fold."""

    data: Dataset
    folds: Sequence[Fold]
    tasks: dict[Kind, Task] = field(default_factory=dict, init=False)
    learned: dict[Kind, tuple[Fold, Any]] = field(default_factory=dict, init=False)

    def __call__(self, fold: Fold, point: Point) -> Estimate:
        """Answer one row.

        Raises
        ------
        Unanswerable
            If there are too few rows to learn from.
        """
        kind = (point.protocol, point.metric)
        rows = training_rows(fold, kind)
        known = self.learned.get(kind)
        if known is None or known[0] is not fold:
            known = self.learned[kind] = (fold, self.learn(kind, fold, rows))
        return self.answer(self.task(kind), known[1], point)

    def task(self, kind: Kind) -> Task:
        """Return a protocol and metric, prepared for learning."""
        if kind not in self.tasks:
            self.tasks[kind] = task(self.data, kind)
        return self.tasks[kind]

    @abstractmethod
    def learn(self, kind: Kind, fold: Fold, rows: Sequence[Point]) -> Any:
        """Learn from the training rows of a fold."""

    @abstractmethod
    def answer(self, one: Task, learned: Any, point: Point) -> Estimate:
        """Predict a row."""


def gaussian_process(data: Dataset, folds: Sequence[Fold]) -> Answerer:
    """Make a Gaussian process: Matérn 3/2 with a length scale for each column, and noise."""
    return one_by_one(GaussianProcess(data, folds))


@dataclass(eq=False)
class GaussianProcess(Learner):
    """Gaussian process; its kernel starts from that of the first fold with the protocol and metric."""

    firsts: dict[Kind, tuple[Fold, Any]] = field(default_factory=dict, init=False)

    def learn(self, kind: Kind, fold: Fold, rows: Sequence[Point]) -> Any:
        """Fit the process to the rows of a fold."""
        first, process = self.first(kind)
        return process if first is fold else _fitted(self.task(kind), rows, process.kernel_)

    def first(self, kind: Kind) -> tuple[Fold, Any]:
        """Return the first fold of a protocol and metric, in the order of all folds, and its process."""
        if kind not in self.firsts:
            fold, rows = next(first_rows(self.folds, kind))
            self.firsts[kind] = (fold, _fitted(self.task(kind), rows, None))
        return self.firsts[kind]

    def answer(self, one: Task, learned: Any, point: Point) -> Estimate:
        """Predict the mean, with the interval of a normal distribution."""
        mean, std = learned.predict(one.columns.of([point]), return_std=True)
        ends = (mean[0] + side * NORMAL * std[0] for side in (0, -1, 1))
        return guess(*(one.target.back(float(end)) for end in ends))


def first_rows(folds: Sequence[Fold], kind: Kind) -> Iterator[tuple[Fold, Sequence[Point]]]:
    """Yield the folds that test a protocol and metric and have enough training rows, with these rows."""
    for fold in folds:
        if any((point.protocol, point.metric) == kind for point in fold.test):
            with suppress(Unanswerable):
                yield fold, training_rows(fold, kind)


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


def boosting(data: Dataset, folds: Sequence[Fold]) -> Answerer:
    """Make a gradient-boosting predictor: 200 trees of depth 4, learning rate 0.1."""
    return one_by_one(Boosting(data, folds))


class Boosting(Learner):
    """Gradient boosting of scikit-learn."""

    def learn(self, kind: Kind, fold: Fold, rows: Sequence[Point]) -> Any:
        """Fit trees to the rows of a fold."""
        from sklearn.ensemble import GradientBoostingRegressor  # type: ignore[import-untyped]

        del fold
        one = self.task(kind)
        trees = GradientBoostingRegressor(
            n_estimators=200, max_depth=4, learning_rate=0.1, random_state=SEED
        )
        return trees.fit(one.columns.of(rows), one.target.of(rows))

    def answer(self, one: Task, learned: Any, point: Point) -> Estimate:
        """Predict by the sum of the trees."""
        return guess(one.target.back(float(learned.predict(one.columns.of([point]))[0])))
