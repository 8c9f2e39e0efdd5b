"""Blend candidates by how well each did nearby, and say how far off the blend was there.

No candidate is best everywhere: a straight line is exact on a plateau, a Gaussian process knows the
break that a sister configuration has.  At each site the weight of a candidate falls with its errors
of leaving out one row, near rows counting most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.hybrid.kernel import Distances, distances
from icmodel.hybrid.observations import Sites

Floats = NDArray[np.float64]

OCTAVES = 1.5
"""Octaves of payload over which an error says something of its neighbour."""
OTHER_LABEL = 0.3
"""What an error counts where one label differs."""
POWER = 3.0
"""Weights fall with this power of the mean error nearby."""
TINY = 1e-300
LEAST_ERROR = 1e-5
"""An error below this is none: it comes of rounding."""


@dataclass(frozen=True, slots=True)
class Blend:
    """Errors of each candidate (candidates, rows) at known sites, and of their blend (rows)."""

    sites: Sites
    columns: tuple[int, ...]
    candidates: Floats
    errors: Floats

    def weights(self, apart: Distances) -> Floats:
        """Weight of each candidate at sites so far away, (candidates, n); they sum to 1."""
        return _weights(_nearness(apart), self.candidates)

    def nearby(self, apart: Distances, rows: Floats) -> Floats:
        """The mean of something each row has, near rows counting most."""
        return np.asarray(_nearness(apart) @ rows)

    def nearby_left_out(self, rows: Floats) -> Floats:
        """The same at the rows themselves, each left out."""
        return np.asarray(_others(self.sites, self.columns) @ rows)


def blend(sites: Sites, columns: tuple[int, ...], candidates: Floats) -> Blend:
    """The blend of candidates from their errors (candidates, rows) of leaving out each row."""
    weights = _weights(_others(sites, columns), candidates)
    return Blend(sites, columns, candidates, (weights * candidates).sum(axis=0))


def _nearness(apart: Distances) -> Floats:
    """How much each known row counts at each site; rows sum to 1."""
    near = np.exp(-np.abs(apart.payload) / OCTAVES - apart.load)
    for differs in apart.differs.values():
        near *= np.where(differs, OTHER_LABEL, 1.0)
    return np.asarray(near / np.maximum(near.sum(axis=1, keepdims=True), TINY))


def _others(sites: Sites, columns: tuple[int, ...]) -> Floats:
    near = _nearness(distances(sites, sites, columns))
    np.fill_diagonal(near, 0.0)
    return np.asarray(near / np.maximum(near.sum(axis=1, keepdims=True), TINY))


def _weights(nearness: Floats, candidates: Floats) -> Floats:
    typical = nearness @ np.abs(candidates).T + LEAST_ERROR
    weights = (typical / typical.min(axis=1, keepdims=True)) ** -POWER
    return np.asarray((weights / weights.sum(axis=1, keepdims=True)).T)
