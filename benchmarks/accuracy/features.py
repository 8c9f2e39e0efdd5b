"""Rows as numbers, for predictors that learn from features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.predictor import Floats
from icmodel.dataset import Dataset, Point

UNLIMITED = 2.0
"""Where an unlimited load stands among the limited ones: at so many times the greatest."""


@dataclass(frozen=True, slots=True)
class Features:
    """Columns of one protocol and metric: logarithms of sizes and loads, counts, options by value.

    Only what differs within the dataset is a column, scaled to a spread of 1.
    """

    levels: tuple[tuple[int, str], ...]
    full_bps: float
    centre: Floats
    spread: Floats

    def of(self, points: Sequence[Point]) -> Floats:
        """A row of numbers a point."""
        raw = _raw(points, self.levels, self.full_bps)
        varying = self.spread > 0
        scaled: Floats = (raw[:, varying] - self.centre[varying]) / self.spread[varying]
        return scaled


def features(data: Dataset, points: Sequence[Point]) -> Features:
    """The columns that some rows of a dataset differ in."""
    limited = [p.load_bps for p in points if p.load_bps and math.isfinite(p.load_bps)]
    full = UNLIMITED * max(limited, default=1.0)
    levels = tuple(
        (axis, value)
        for axis in range(len(data.option_axes))
        for value in sorted({p.options[axis] for p in points})
    )
    raw = _raw(points, levels, full)
    return Features(levels, full, raw.mean(axis=0), raw.std(axis=0))


def _raw(points: Sequence[Point], levels: Sequence[tuple[int, str]], full_bps: float) -> Floats:
    return np.array([_numbers(p, levels, full_bps) for p in points], dtype=float)


def _numbers(point: Point, levels: Sequence[tuple[int, str]], full_bps: float) -> list[float]:
    limited = point.load_bps is not None and 0 < point.load_bps < math.inf
    load = point.load_bps if limited and point.load_bps else full_bps
    return [
        math.log(point.payload_bytes or 1),
        math.log(load),
        float(limited),
        float(point.cores or 0),
        float(point.switches or 0),
        float(point.endpoints or 1),
        (point.other_goodput_bps or 0.0) / full_bps,
        *(float(point.options[axis] == value) for axis, value in levels),
    ]
