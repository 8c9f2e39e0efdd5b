"""Regimes of rows: the offered load is unlimited, below the capacity, or in overload."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Point
from icmodel.dataset.rows import POINT
from icmodel.statistics import COVERAGE, median

Floats = NDArray[np.float64]

UNLIMITED, UNSAID, LIMITED, OVERLOAD = "unlimited", "unsaid", "limited", "overload"
OVERLOADED = 1.005
"""A limit is in overload above this times the best goodput at its payload (E14)."""
SHORT = 1.1
"""A limit is in overload, too, above this times its own goodput.  The margin is for frames that are lost or still
queued when a run ends; assumed.  A limit at most this factor below the best goodput counts as close to capacity."""
LEAST_ROWS = 10
"""Least number of limited runs of a protocol to estimate the spread; with fewer runs the share is exactly 1."""
Place = tuple[str, tuple[str, ...], int | None]
"""Protocol, options and payload."""


def regimes_of(data: Dataset, points: Sequence[Point]) -> list[str]:
    """Classify each row by its own goodput and the best goodput at any load."""
    best: dict[Place, float] = {}
    own: dict[tuple[object, ...], float] = {}
    if any(p.load_bps is not None and math.isfinite(p.load_bps) for p in points):
        best = _best(data)
        for p in data.of_metric("goodput_bps"):
            here = tuple(p)[POINT]
            own[here] = max(p.value, own.get(here, 0.0))

    def regime(point: Point) -> str:
        load = math.nan if point.load_bps is None else point.load_bps
        if not math.isfinite(load):
            return regime_of(load)
        most, reached = best.get(_place(point)), own.get(tuple(point)[POINT])
        over = most is not None and load > OVERLOADED * most
        short = reached is not None and load > SHORT * reached
        return OVERLOAD if over or short else LIMITED

    return [regime(point) for point in points]


def rows_in_overload(data: Dataset, points: Sequence[Point]) -> list[bool]:
    """Whether each row is in overload, or at the next payload beside such a row.

    At the next payload below and above, the row with the greatest limit counts if that is close to capacity,
    otherwise the unlimited row, if there is one.
    """
    regimes = regimes_of(data, points)
    over = [regime == OVERLOAD for regime in regimes]
    if not any(over):
        return over
    for full in _fullest(data, points, regimes).values():
        sizes = [size for size, k in full.items() if over[k]]
        below = [size for size in full if size < min(sizes, default=0)]
        above = [size for size in full if size > max(sizes, default=math.inf)]
        for size in (*sorted(below)[-1:], *sorted(above)[:1]):
            over[full[size]] = True
    return over


def _fullest(
    data: Dataset, points: Sequence[Point], regimes: Sequence[str]
) -> dict[tuple[object, ...], dict[int, int]]:
    """Index of the row closest to a limit at the capacity, by curve and payload.

    That is the row with the greatest limit.  If all limits are far below capacity it is the unlimited row, if
    there is one.
    """
    best = _best(data)

    def rank(k: int) -> tuple[int, float]:
        load = points[k].load_bps or 0.0
        if regimes[k] == UNLIMITED:
            return 1, load
        near = regimes[k] == OVERLOAD or load * SHORT >= best.get(_place(points[k]), math.inf)
        return (2 if near else 0), load

    found: dict[tuple[object, ...], dict[int, int]] = {}
    for k in sorted((k for k, regime in enumerate(regimes) if regime != UNSAID), key=rank):
        p = points[k]
        if p.payload_bytes is not None:
            counts = (p.cores, p.switches, p.endpoints, p.other_goodput_bps)
            curve = (p.metric, p.protocol, p.options, *counts)
            found.setdefault(curve, {})[p.payload_bytes] = k
    return found


def _place(point: Point) -> Place:
    return point.protocol, point.options, point.payload_bytes


def _best(data: Dataset) -> dict[Place, float]:
    """Best goodput of each protocol, options and payload, at any counts and load [b/s]."""
    found: dict[Place, float] = {}
    for p in data.of_metric("goodput_bps"):
        found[_place(p)] = max(p.value, found.get(_place(p), 0.0))
    return found


def regime_of(load_bps: float) -> str:
    """Classify a load [b/s]: unlimited (inf), not stated (NaN) or a limit.

    >>> regime_of(float("inf")), regime_of(1e9)
    ('unlimited', 'limited')
    """
    if math.isnan(load_bps):
        return UNSAID
    return UNLIMITED if math.isinf(load_bps) else LIMITED


def achieved_shares(data: Dataset, protocols: Sequence[str]) -> Floats:
    """Ratio of goodput to offered load below capacity: value, low and high, shape (3, protocols).

    The value is the median, at most 1; the ends are the order statistics of split conformal prediction for 90 %.

    >>> import icmodel
    >>> shares = achieved_shares(icmodel.load("lab-1g-2026"), ["tcp", "udp"])
    >>> shares.shape, bool((shares[1] <= shares[0]).all())
    ((3, 2), True)
    """
    points = [p for p in data.of_metric("goodput_bps") if p.payload_bytes is not None]
    shares: dict[str, list[float]] = {}
    for point, regime in zip(points, regimes_of(data, points), strict=True):
        if regime == LIMITED and point.load_bps:
            shares.setdefault(point.protocol, []).append(point.value / point.load_bps)
    found = np.ones((3, len(protocols)))
    for k, protocol in enumerate(protocols):
        ordered = sorted(shares.get(protocol, []))
        count = len(ordered)
        if count >= LEAST_ROWS:
            beyond = math.floor(round((1 - COVERAGE) / 2 * (count + 1), 9))  # 0.05 is not binary
            low = ordered[max(beyond - 1, 0)]
            high = ordered[min(count + 1 - beyond, count) - 1]
            value = min(median(ordered), 1.0)
            found[:, k] = value, min(low, value), max(high, value)
    return found
