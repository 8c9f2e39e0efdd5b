"""Blend the candidates' predictions by their leave-one-out errors nearby.

No candidate is best everywhere: linear interpolation is exact on a plateau, a Gaussian process knows a packet
break from a similar configuration.  At each site the weight of a candidate falls with its leave-one-out
errors; near rows count most, and all rows together count a little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.constants import SHIPPED, Constants
from icmodel.fits.kernel import Distances
from icmodel.statistics import COVERAGE, LONE_WIDTH, NORMAL

Floats = NDArray[np.float64]

TINY = 1e-300
LEAST_ERROR = 1e-5
"""Errors in log time below this are rounding."""


@dataclass(frozen=True, slots=True)
class Blend:
    """Leave-one-out errors at the rows: of each candidate (candidates, rows), and of their blend (rows,).

    ``disagreement`` (rows,) is the candidates' mean distance from the blend there, ``others`` (rows, rows) the
    weight of each other row at each row.
    """

    candidates: Floats
    errors: Floats
    disagreement: Floats
    others: Floats
    constants: Constants = SHIPPED

    def at(self, predicted: Floats, nearness: Floats) -> tuple[Floats, Floats]:
        """Blend predictions (candidates, n) at n sites; also the candidates' mean distance from the blend.

        NaN stands for no prediction; ``nearness`` (n, rows) is the weight of each known row at each site.
        """
        return blended(predicted, self.candidates, nearness, self.constants)

    def nearness(self, distances: Distances) -> Floats:
        """Weight of each known row at each site, (n, rows); the weights of a site sum to 1."""
        return nearness(distances, self.constants)

    def usual_weights(self) -> Floats:
        """Mean weight of each candidate over the rows, each row left out; all sum to 1."""
        known = np.where(
            np.isnan(self.candidates), 0.0, _weights(self.others, self.candidates, self.constants)
        )
        return np.asarray((known / known.sum(axis=0)).mean(axis=1))

    def nearby_left_out(self, rows: Floats) -> Floats:
        """Weighted mean of a quantity (rows,) around each row, without the row itself."""
        return np.asarray(self.others @ rows)


def blend(distances: Distances, candidates: Floats, constants: Constants = SHIPPED) -> Blend:
    """Make the blend from the candidates' leave-one-out errors (candidates, rows).

    ``distances`` are those between the rows.  An error is NaN where a candidate makes no prediction; the first
    candidate makes one everywhere.
    """
    others = _others(distances, constants)
    off, disagreement = blended(candidates, candidates, others, constants)
    return Blend(candidates, off, disagreement, others, constants)


def nearness(distances: Distances, constants: Constants) -> Floats:
    """Weight of each known row at each site, (n, rows); the weights of a site sum to 1."""
    near = _near(distances, constants)
    return _counted(near, 1.0 / near.shape[1], constants)


def blended(
    predicted: Floats, errors: Floats, nearness: Floats, constants: Constants
) -> tuple[Floats, Floats]:
    """Blend predictions (candidates, n) by the candidates' errors (candidates, rows) near each site.

    Returns
    -------
    (array (n,), array (n,))
        The weighted mean, and the weighted mean distance of the candidates from it.
    """
    weights = np.where(np.isnan(predicted), 0.0, _weights(nearness, errors, constants))
    weights /= weights.sum(axis=0)
    known = np.nan_to_num(predicted)
    mean = (weights * known).sum(axis=0)
    return mean, (weights * np.abs(known - mean)).sum(axis=0)


def _near(distances: Distances, constants: Constants) -> Floats:
    payload = distances.along(-np.abs(distances.payload) / constants.octaves)
    near = np.exp(payload - distances.asked)
    for (_, label), differs in distances.differ.items():
        if not label:
            near *= np.where(differs, constants.other_label, 1.0)
    return np.asarray(near * np.where(distances.ends, constants.other_end, 1.0))


def _others(distances: Distances, constants: Constants) -> Floats:
    near = _near(distances, constants)
    np.fill_diagonal(near, 0.0)
    found = _counted(near, 1.0 / max(len(near) - 1, 1), constants)
    np.fill_diagonal(found, 0.0)
    return found


def _counted(near: Floats, equal: float, constants: Constants) -> Floats:
    """Weights by nearness (n, rows), and a little of ``equal``, the weight of a row if all count alike."""
    total, share = np.maximum(near.sum(axis=1, keepdims=True), TINY), constants.everywhere
    return np.asarray((1.0 - share) * (near / total) + share * equal)


def _weights(nearness: Floats, errors: Floats, constants: Constants) -> Floats:
    """Weight of each candidate at each site, (candidates, n); that of the best is 1."""
    known = ~np.isnan(errors)
    root = constants.root
    roots = nearness @ (np.abs(np.where(known, errors, 0.0)) ** root).T
    counted = nearness @ known.astype(np.float64).T
    mean = np.where(counted > TINY, roots / np.maximum(counted, TINY), np.inf)
    typical = mean ** (1 / root) + LEAST_ERROR
    best = np.minimum(typical.min(axis=1, keepdims=True), 1 / TINY)
    return np.asarray(((typical / best) ** -constants.power).T)


WIDEST = 20.0
"""Largest half-width, in log time: nothing is known then, and both ends stay finite."""
MOST_CORRECTION = 2.5
"""Leave-one-out errors are too small, since the rows also chose the hyperparameters: greatest correction; assumed."""


@dataclass(frozen=True, slots=True)
class Widths:
    """Half-widths at any site: a conformal factor times a local scale, and the spread of one run."""

    blend: Blend
    deviations: Floats
    factor: float
    spread: Floats
    chosen: int

    def of_mean(self, nearness: Floats, deviation: Floats, disagreement: Floats) -> Floats:
        """Half of the 90 % interval for the mean of many runs, in log time.

        Parameters
        ----------
        nearness : array (n, rows)
            Weight of each known row at each site.
        deviation : array
            Standard deviation of the first process there.
        disagreement : array
            Mean distance of the candidates from the blend there.
        """
        rows = np.stack([self.deviations, np.abs(self.blend.errors)], axis=1)
        usual, off = (nearness @ rows).T
        off = off + LEAST_ERROR + self.blend.constants.doubt * disagreement
        half = self.factor * (off * deviation / usual)
        return np.asarray(np.minimum(half, WIDEST))

    def of_run(self, of_mean: Floats, nearness: Floats) -> Floats:
        """The same for one new run, from that for the mean of many."""
        return np.hypot(of_mean, NORMAL * (nearness @ self.spread))


def widths(blended: Blend, deviations: Floats, spread: Floats, chosen: int) -> Widths:
    """The widths of a blend.

    Parameters
    ----------
    deviations : array
        Leave-one-out standard deviation at each row: compares the distance of sites from known rows.
    spread : array
        Relative standard deviation of a new run at each row, less the part that the row's error contains.
    chosen : int
        How many numbers were fitted to the rows.
    """
    usual = blended.nearby_left_out(deviations)
    off = blended.nearby_left_out(np.abs(blended.errors)) + LEAST_ERROR
    off = off + blended.constants.doubt * blended.disagreement
    scores = np.sort(np.abs(blended.errors) / (off * deviations / usual))
    count = len(scores)
    correction = min(count / max(count - chosen, 1), MOST_CORRECTION)
    rank = int(np.ceil(COVERAGE * (count + 1)))
    factor = float(scores[min(rank, count) - 1]) * correction
    if rank > count:  # too few rows for that rank: at least what is assumed of a single point
        factor = max(factor, LONE_WIDTH / float(np.median(off)))
    return Widths(blended, deviations, factor, spread, chosen)
