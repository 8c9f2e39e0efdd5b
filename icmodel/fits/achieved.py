"""Achieved share: goodput over offered load while a stream is below its capacity; it varies from run to run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset
from icmodel.fits.regimes import LIMITED, regimes_of
from icmodel.statistics import COVERAGE, median

Floats = NDArray[np.float64]

LEAST_ROWS = 10
"""Least limited runs of a protocol from which the spread is estimated; with fewer the share is exactly 1."""


def achieved_shares(data: Dataset, protocols: Sequence[str]) -> Floats:
    """Goodput over offered load below capacity: value, low and high, shape (3, protocols).

    The value is the median, at most 1; the ends are the order statistics that split conformal prediction
    takes for 90 %.
    """
    points = [p for p in data.of_metric("goodput_bps") if p.payload_bytes is not None]
    shares: dict[str, list[float]] = {}
    for point, regime in zip(points, regimes_of(data, points), strict=True):
        if regime == LIMITED and point.load_bps:
            shares.setdefault(point.protocol, []).append(point.value / point.load_bps)
    return np.array([_ends(shares.get(protocol, [])) for protocol in protocols]).T


def _ends(shares: list[float]) -> tuple[float, float, float]:
    count = len(shares)
    if count < LEAST_ROWS:
        return 1.0, 1.0, 1.0
    ordered = sorted(shares)
    beyond = math.floor(
        round((1 - COVERAGE) / 2 * (count + 1), 9)
    )  # at either end; 0.05 is no binary number
    low = ordered[max(beyond - 1, 0)]
    high = ordered[min(count + 1 - beyond, count) - 1]
    value = min(median(ordered), 1.0)
    return value, min(low, value), max(high, value)
