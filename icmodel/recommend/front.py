"""Pareto fronts: the points that no other dominates; less is better in every column."""

from __future__ import annotations

import numpy as np

from icmodel.arrays import Floats, Ints


def front(points: Floats) -> Ints:
    """Indices of the points that none dominates, in lexicographic order; of equal ones the first.

    A point dominates another if it is nowhere greater and somewhere less.

    Parameters
    ----------
    points : array (points, columns)
        No NaN: unknown numbers are infinite.
    """
    left = np.lexsort(points.T[::-1])  # stable: of equal points the first stays ahead
    found = []
    while len(left):
        best, rest = left[0], left[1:]
        found.append(best)
        left = rest[(points[rest] < points[best]).any(axis=1)]
    return np.array(found, dtype=np.int64)


def spread(points: Floats, most: int) -> Ints:
    """At most a number of points: the best of each column, then evenly over the order of the first.

    Returns their indices in the order in which they are taken.
    """
    if len(points) <= most:
        return np.argsort(points[:, 0], kind="stable")
    best = points.argmin(axis=0).tolist()
    order = np.argsort(points[:, 0], kind="stable")
    evenly = order[np.linspace(0, len(order) - 1, most).astype(np.int64)]
    return np.array(list(dict.fromkeys([*best, *evenly.tolist()]))[:most], dtype=np.int64)
