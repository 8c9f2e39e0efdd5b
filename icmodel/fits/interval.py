"""Width of intervals: conformal prediction from leave-one-out errors, scaled locally.

Split conformal prediction takes the 90 % rank of |error| / scale over the rows.  The scale is the mean error of
rows nearby plus the weighted disagreement of the candidates, times the distance of the site from the rows
relative to theirs from each other.  So a new row of the same kind is covered with 90 %, whatever the
distribution of errors.  Between two rows that hide a packet break all errors nearby are small, but the
candidates disagree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.blend import LEAST_ERROR, Blend
from icmodel.statistics import COVERAGE, LONE_WIDTH, NORMAL

Floats = NDArray[np.float64]

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
