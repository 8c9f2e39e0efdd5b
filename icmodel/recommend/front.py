"""Pareto fronts of objectives, all of which are minimised."""

from __future__ import annotations

import math

import numpy as np

from icmodel.arrays import Floats, Ints

SAME_RATIO = 1.02
"""Ratio of two values of an objective that count as nearly equal, so that the designs of a front differ clearly."""


def pareto_front(points: Floats) -> Ints:
    """Return the indices of the points on the Pareto front, in lexicographic order of the points.

    The front has the points that no other point dominates. A point dominates another if no objective is greater and at
    least one is less. Of equal points, only the first is included.

    Parameters
    ----------
    points : array (points, objectives)
        Values of the objectives without NaN; unknown values are infinite.

    Examples
    --------
    >>> import numpy as np
    >>> pareto_front(np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 4.0], [3.0, 1.0]]))
    array([0, 1, 3])
    """
    left = np.lexsort(points.T[::-1])  # stable: equal points keep their order
    found = []
    while len(left):
        best, rest = left[0], left[1:]
        found.append(best)
        left = rest[(points[rest] < points[best]).any(axis=1)]
    return np.array(found, dtype=np.int64)


def spread(points: Floats, most: int) -> Ints:
    """Pick at most ``most`` points of a Pareto front, and return their indices.

    The best point of each objective is picked first, then points evenly along the first objective.
    """
    order = np.argsort(points[:, 0], kind="stable")
    if len(points) <= most:
        return order
    best = points.argmin(axis=0).tolist()
    evenly = order[np.linspace(0, len(order) - 1, most).astype(np.int64)]
    return np.array(list(dict.fromkeys([*best, *evenly.tolist()]))[:most], dtype=np.int64)


def rounded(objectives: Floats) -> Floats:
    """Round objectives to powers of `SAME_RATIO` (their exponents are returned), so that nearly equal values tie."""
    with np.errstate(divide="ignore"):
        return np.where(
            objectives > 0, np.round(np.log(objectives) / math.log(SAME_RATIO)), -np.inf
        )
