"""Blend candidates by how well each did nearby, and say how far off the blend was there.

No candidate is best everywhere: a straight line is exact on a plateau, a Gaussian process knows the
break that a sister configuration has.  At each site the weight of a candidate falls with its errors
of leaving out one row, near rows counting most and all of them a little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.constants import SHIPPED, Constants
from icmodel.fits.distances import Distances

Floats = NDArray[np.float64]

TINY = 1e-300
LEAST_ERROR = 1e-5
"""An error below this is none: it comes of rounding."""


@dataclass(frozen=True, slots=True)
class Blend:
    """Errors of each candidate (candidates, rows) at known sites, and of their blend (rows).

    ``apart`` (rows,) is how far apart the candidates are there, ``others`` (rows, rows) how much each other
    row counts at each.
    """

    candidates: Floats
    errors: Floats
    apart: Floats
    others: Floats
    constants: Constants = SHIPPED

    def at(self, told: Floats, nearness: Floats) -> tuple[Floats, Floats]:
        """The blend of what candidates tell (candidates, n) of sites, and how far apart they are there.

        NaN tells nothing; ``nearness`` (n, rows) is how much each known row counts at each site.
        """
        return blended(told, self.candidates, nearness, self.constants)

    def nearness(self, apart: Distances) -> Floats:
        """How much each known row counts at each site, (n, rows); of a site all sum to 1."""
        return nearness(apart, self.constants)

    def usual_weights(self) -> Floats:
        """What each candidate counts at the rows, each left out, on average; all sum to 1."""
        known = np.where(
            np.isnan(self.candidates), 0.0, _weights(self.others, self.candidates, self.constants)
        )
        return np.asarray((known / known.sum(axis=0)).mean(axis=1))

    def nearby_left_out(self, rows: Floats) -> Floats:
        """The mean of something each row has, at the rows themselves, each left out."""
        return np.asarray(self.others @ rows)


def blend(apart: Distances, candidates: Floats, constants: Constants = SHIPPED) -> Blend:
    """The blend of candidates from their errors (candidates, rows) of leaving out each row.

    ``apart`` is between the rows.  An error is NaN where a candidate has no answer; the first
    always has one.
    """
    others = _others(apart, constants)
    off, apart_there = blended(candidates, candidates, others, constants)
    return Blend(candidates, off, apart_there, others, constants)


def nearness(apart: Distances, constants: Constants) -> Floats:
    """How much each known row counts at each site, (n, rows); of a site all sum to 1."""
    near = _near(apart, constants)
    return _counted(near, np.ones_like(near), constants)


def blended(
    told: Floats, errors: Floats, nearness: Floats, constants: Constants
) -> tuple[Floats, Floats]:
    """What candidates tell (candidates, n) of sites, blended by their errors (candidates, rows) nearby.

    And how far they are apart: their mean distance from the blend, by the same weights.
    """
    weights = np.where(np.isnan(told), 0.0, _weights(nearness, errors, constants))
    weights /= weights.sum(axis=0)
    known = np.nan_to_num(told)
    mean = (weights * known).sum(axis=0)
    return mean, (weights * np.abs(known - mean)).sum(axis=0)


def _near(apart: Distances, constants: Constants) -> Floats:
    near = np.exp(-np.abs(apart.payload) / constants.octaves - apart.asked)
    for (_, label), differs in apart.differ.items():
        if not label:
            near *= np.where(differs, constants.other_label, 1.0)
    return np.asarray(near * np.where(apart.ends, constants.other_end, 1.0))


def _others(apart: Distances, constants: Constants) -> Floats:
    near, far = _near(apart, constants), np.ones_like(apart.payload)
    np.fill_diagonal(near, 0.0)
    np.fill_diagonal(far, 0.0)
    return _counted(near, far, constants)


def _counted(near: Floats, far: Floats, constants: Constants) -> Floats:
    everywhere = constants.everywhere
    return np.asarray((1.0 - everywhere) * _normal(near) + everywhere * _normal(far))


def _normal(near: Floats) -> Floats:
    return np.asarray(near / np.maximum(near.sum(axis=1, keepdims=True), TINY))


def _weights(nearness: Floats, errors: Floats, constants: Constants) -> Floats:
    """Weight of each candidate at each site, (candidates, n), the best nearby having 1."""
    known = ~np.isnan(errors)
    root = constants.root
    roots = nearness @ (np.abs(np.where(known, errors, 0.0)) ** root).T
    counted = nearness @ known.astype(np.float64).T
    mean = np.where(counted > TINY, roots / np.maximum(counted, TINY), np.inf)
    typical = mean ** (1 / root) + LEAST_ERROR
    best = np.minimum(typical.min(axis=1, keepdims=True), 1 / TINY)
    return np.asarray(((typical / best) ** -constants.power).T)
