"""Features of rows, for predictors that learn from features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.predictor import Floats
from icmodel.dataset import Dataset, Point

UNLIMITED = 2.0
"""An unlimited load counts as this many times the greatest limited load."""


@dataclass(frozen=True, slots=True)
class Features:
    """Columns of one protocol and metric: log of payload and load, counts, one-hot options.

    Only quantities that differ within the dataset are columns, scaled to a standard deviation of 1.
    """

    levels: tuple[tuple[int, str], ...]
    full_bps: float
    centre: Floats
    spread: Floats

    def of(self, points: Sequence[Point]) -> Floats:
        """Return a row of features for each point."""
        raw = _raw(points, self.levels, self.full_bps)
        varying = self.spread > 0
        scaled: Floats = (raw[:, varying] - self.centre[varying]) / self.spread[varying]
        return scaled


def features(data: Dataset, points: Sequence[Point]) -> Features:
    """Make the columns in which some rows of a dataset differ."""
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
