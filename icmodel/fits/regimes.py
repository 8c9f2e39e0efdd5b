"""Regimes of measured rows: unlimited load, load below capacity, overload, or load not stated."""

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
"""Ratio of limited load to best goodput at its payload, above which a row is in overload (E14)."""
SHORT = 1.1
"""Ratio of limited load to the goodput reached at it, above which a row is also in overload.

The margin allows for frames lost or still queued at the end of a run (assumed).  A limited load
is close to capacity if the best goodput is at most this multiple of the load.
"""
LEAST_LIMITED_RUNS = 10
"""Least number of limited runs from which a protocol's ratio of goodput to load is estimated.

With fewer runs, the ratio is 1.
"""
Place = tuple[str, tuple[str, ...], int | None]
"""Key of rows whose goodputs are compared: protocol, options and payload."""


def regimes_of(data: Dataset, points: Sequence[Point]) -> list[str]:
    """Classify each row as ``unlimited``, ``limited``, ``overload`` or ``unsaid`` (unknown load).

    A limited load is compared with the goodput reached at that load, and with the best goodput at
    any load.
    """
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
    """Mark the rows measured in overload, and one row at the next payload on each side of them.

    At the next payload, the row of the greatest limited load is marked if that load is close to
    capacity.  Otherwise the unlimited row is marked.  Without an unlimited row, the greatest
    limited load is marked at any distance from capacity.
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
    """Index of the row with the load closest to capacity, by curve and payload.

    This row has the greatest limited load.  If all limited loads are far below capacity, it is the
    unlimited row, if there is one.
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
    """Best measured goodput [b/s] of each protocol, options and payload, over all rows."""
    found: dict[Place, float] = {}
    for p in data.of_metric("goodput_bps"):
        found[_place(p)] = max(p.value, found.get(_place(p), 0.0))
    return found


def regime_of(load_bps: float) -> str:
    """Classify an offered load [b/s] as unlimited (inf), not stated (NaN) or limited.

    >>> regime_of(float("inf")), regime_of(1e9)
    ('unlimited', 'limited')
    """
    if math.isnan(load_bps):
        return UNSAID
    return UNLIMITED if math.isinf(load_bps) else LIMITED


def achieved_shares(data: Dataset, protocols: Sequence[str]) -> Floats:
    """Ratio of goodput to offered load below capacity: value, low and high, (3, protocols).

    The value is the median, at most 1.  Low and high are the order statistics of split conformal
    prediction for 90 %.  A protocol with fewer than `LEAST_LIMITED_RUNS` limited runs has the ratio 1.

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
        if count >= LEAST_LIMITED_RUNS:
            beyond = math.floor(round((1 - COVERAGE) / 2 * (count + 1), 9))  # 0.05 is inexact
            low = ordered[max(beyond - 1, 0)]
            high = ordered[min(count + 1 - beyond, count) - 1]
            value = min(median(ordered), 1.0)
            found[:, k] = value, min(low, value), max(high, value)
    return found
