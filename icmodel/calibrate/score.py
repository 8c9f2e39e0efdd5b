"""Scores of the model on measured runs, by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from icmodel.calibrate.observed import ABSOLUTE
from icmodel.dataset import Dataset, Point
from icmodel.errors import DatasetError, OutOfDomain, ScenarioError
from icmodel.model import Model

FOLDS = 8
"""Number of parts into which the measured runs are divided; each is left out once."""
REFUSALS = (OutOfDomain, ScenarioError, DatasetError)

Place = tuple[str, int, float, int]
"""Protocol, payload, load and cores of a measured run."""


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of one metric at left-out runs: absolute for ratios (0…1), relative for others.

    ``middle`` is the median error, ``p95`` the 95th percentile.  ``noise`` is the median deviation of
    one repeat from the mean of its run, in the same kind, NaN if no run was repeated.
    """

    metric: str
    count: int
    middle: float
    p95: float
    noise: float


def scores(data: Dataset, variant: str, metrics: Sequence[str]) -> tuple[Score, ...]:
    """Errors of each metric on left-out runs, by eightfold cross-validation.

    The ends of every curve are never left out, since the model would have to extrapolate there.
    Only the metrics given are predicted, since a record has many more.
    """
    inner = _inner(data.points)
    errors: dict[str, list[float]] = {metric: [] for metric in metrics}
    for fold in range(FOLDS):
        left = frozenset(inner[fold::FOLDS])
        if left:
            _add(errors, data, left, variant)
    return tuple(_score(metric, found, data) for metric, found in errors.items())


def _place(point: Point) -> Place:
    load = math.inf if point.load_bps is None else point.load_bps
    return (point.protocol, point.payload_bytes or 0, load, point.cores or 1)


def _inner(points: Sequence[Point]) -> list[Place]:
    """Places between the least and the greatest payload of their curve."""
    curves: dict[tuple[str, float, int], list[int]] = {}
    for protocol, payload, load, cores in {_place(point) for point in points}:
        curves.setdefault((protocol, load, cores), []).append(payload)
    return [
        (protocol, payload, load, cores)
        for (protocol, load, cores), payloads in sorted(curves.items())
        for payload in sorted(payloads)[1:-1]
    ]


def _add(
    errors: Mapping[str, list[float]], data: Dataset, left: frozenset[Place], variant: str
) -> None:
    """Append the errors at the places left out, by a model fitted to the rest."""
    shown = tuple(point for point in data.points if _place(point) not in left)
    model = Model(replace(data, points=shown), variant, cache=False)
    truth: dict[Place, dict[str, float]] = {}
    for point in data.points:
        if _place(point) in left and point.metric in errors:
            truth.setdefault(_place(point), {})[point.metric] = point.value
    asked = tuple(metric for metric in errors if metric in model.data.metrics)
    for place, values in truth.items():
        for metric, error in _errors(model, place, values, asked):
            errors[metric].append(error)


def _errors(
    model: Model, place: Place, values: Mapping[str, float], asked: tuple[str, ...]
) -> list[tuple[str, float]]:
    protocol, payload, load, cores = place
    rate = None if math.isinf(load) else load / 8 / payload
    try:
        answer = model.predict(
            protocol=protocol, payload_bytes=payload, rate_fps=rate, cores=cores, metrics=asked
        ).metrics
    except REFUSALS:
        return []
    return [
        (metric, _error(metric, answer[metric].value, value))
        for metric, value in values.items()
        if metric in answer and not answer[metric].absent and (value > 0 or metric in ABSOLUTE)
    ]


def _error(metric: str, predicted: float, measured: float) -> float:
    difference = abs(predicted - measured)
    return difference if metric in ABSOLUTE else difference / measured


def _score(metric: str, errors: Sequence[float], data: Dataset) -> Score:
    noise = [
        0.6745 * (point.std if metric in ABSOLUTE else point.std / point.value)
        for point in data.points
        if point.metric == metric and point.std is not None and point.value > 0
    ]
    ordered = sorted(errors)
    if not ordered:
        return Score(metric, 0, math.nan, math.nan, median(noise) if noise else math.nan)
    p95 = ordered[min(math.ceil(0.95 * len(ordered)), len(ordered)) - 1]
    return Score(metric, len(ordered), median(ordered), p95, median(noise) if noise else math.nan)


def worst(found: Sequence[Score]) -> float:
    """The greatest median error, which is compared with the target error; NaN without scores."""
    return max((one.middle for one in found if one.count), default=math.nan)
