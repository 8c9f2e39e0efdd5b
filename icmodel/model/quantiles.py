"""Quantiles of one run in their order: a 99 % quantile is not below the median.

Each is fitted by itself, so that the answers may cross where runs are few.  They are put in ascending
order, which brings no answer farther from the truth as a whole (V. Chernozhukov, I. Fernández-Val and
A. Galichon, Econometrica 78, 2010: rearrangement).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ENDINGS = ("_min_s", "_p50_s", "_p90_s", "_p99_s", "_p999_s", "_max_s")
"""How the names of quantiles of one time end, the least first."""


def beside(metrics: Collection[str]) -> frozenset[str]:
    """Some metrics, and every quantile of a time of which they have one."""
    return frozenset(metrics) | {time + end for time in _times(metrics) for end in ENDINGS}


def in_order(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Values (n) by metric, the known quantiles of each time ascending; NaN stays where it is."""
    found = dict(values)
    for time in _times(values):
        names = [time + end for end in ENDINGS if time + end in values]
        told = np.stack([values[name] for name in names])
        known_first = np.argsort(np.isnan(told), axis=0, kind="stable")
        ordered = np.empty_like(told)
        np.put_along_axis(ordered, known_first, np.sort(told, axis=0), axis=0)  # NaN is sorted last
        found |= zip(names, ordered, strict=True)
    return found


def _times(metrics: Collection[str]) -> set[str]:
    """The times of which some metrics are quantiles."""
    return {name.removesuffix(end) for name in metrics for end in ENDINGS if name.endswith(end)}
