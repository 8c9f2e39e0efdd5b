"""Interval of one new run around a row, from the spread or range that the row states."""

from __future__ import annotations

import math

from icmodel.dataset import Point
from icmodel.statistics import spread_half_width, student

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
