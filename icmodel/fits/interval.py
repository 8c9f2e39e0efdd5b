"""How wide an interval is: conformal scores of leaving out one row at a time.

The rank of split conformal prediction is taken of |error| / scale.  The scale is how far off rows
nearby were and how far apart the candidates are at the site, times how much farther it lies from known rows than
those do from each other.  A new row of the same kind is then covered with 90 %, whatever the distribution
of the errors.  Where a break is hidden between two rows, all is smooth nearby, but candidates differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.blend import LEAST_ERROR, Blend
from icmodel.statistics import COVERAGE, LONE_WIDTH, NORMAL

Floats = NDArray[np.float64]

WIDEST = 20.0
"""Half of the widest interval, in log time: nothing is known, and its ends are still numbers."""
MOST_CORRECTION = 2.5
"""Errors of rows that helped to choose the fit are too small: at most by this factor; assumed."""


@dataclass(frozen=True, slots=True)
class Widths:
    """Half-widths at any site: a conformal factor on a local scale, and the spread of one run."""

    blend: Blend
    deviations: Floats
    factor: float
    spread: Floats
    chosen: int

    def of_mean(self, nearness: Floats, deviation: Floats, apart: Floats) -> Floats:
        """Half of the 90 % interval for the mean of many runs, in log time.

        Parameters
        ----------
        nearness : array (n, rows)
            How much each known row counts at each site.
        deviation : array
            The standard deviation that the process expects there.
        apart : array
            How far apart the candidates are there.
        """
        rows = np.stack([self.deviations, np.abs(self.blend.errors)], axis=1)
        usual, off = (nearness @ rows).T
        off = off + LEAST_ERROR + self.blend.constants.doubt * apart
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
        The standard deviation expected at each row when it is left out: says how much farther one site
        lies from known rows than another.
    spread : array
        Relative standard deviation of a new run at each row, beyond what the row's error has of it.
    chosen : int
        How many numbers were fitted to the rows.
    """
    usual = blended.nearby_left_out(deviations)
    off = blended.nearby_left_out(np.abs(blended.errors)) + LEAST_ERROR
    off = off + blended.constants.doubt * blended.apart
    scores = np.sort(np.abs(blended.errors) / (off * deviations / usual))
    count = len(scores)
    correction = min(count / max(count - chosen, 1), MOST_CORRECTION)
    rank = int(np.ceil(COVERAGE * (count + 1)))
    factor = float(scores[min(rank, count) - 1]) * correction
    if rank > count:  # too few to say: what is assumed of a lone point
        factor = max(factor, LONE_WIDTH / float(np.median(off)))
    return Widths(blended, deviations, factor, spread, chosen)
