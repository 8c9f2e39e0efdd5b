"""Blend the candidates of a fit by their leave-one-out errors, and give 90 % intervals.

No candidate is best everywhere: linear interpolation is exact on a plateau, a Gaussian process knows a packet
break from a similar configuration.  At each site the weight of a candidate falls with its errors at rows nearby;
all rows together count a little.

The greatest latency of a run is made by a stall: neighbouring rows differ by factors, and no candidate knows why.
Relative errors are bounded below the true value and unbounded above it.  For such maxima candidates that are
typically too high by a factor lose weight steeply, the value leans low, and the greatest leave-one-out error bounds
the interval.
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
MOST_LOSS = 50.0
"""Largest exponent in the loss of a maximum, so that it stays finite."""
PER_TYPICAL = 1.5
"""Standard deviation over the power mean of order 1/2 of normally distributed errors: 1.48."""
WIDEST = 20.0
"""Largest half-width, in log time: nothing is known then, and both ends stay finite."""
MOST_CORRECTION = 2.5
"""Greatest factor that widens intervals because the rows also chose the hyperparameters; assumed."""


@dataclass(frozen=True, slots=True)
class Blend:
    """Leave-one-out errors at the rows of a fit, from which new sites are blended.

    Errors are the log time of a row less its prediction without the row.

    Parameters
    ----------
    candidates : array (candidates, rows)
        Errors of each candidate; NaN if it makes no prediction.
    plain, errors : array (rows,)
        Errors of the blend before and after it leans low; both are the same unless the metric is a maximum.
    disagreement : array (rows,)
        Mean distance of the candidates from the blend.
    others : array (rows, rows)
        Weight of each other row at each row; rows sum to 1.
    is_maximum : bool
        Whether the metric is the greatest latency of a run.
    """

    candidates: Floats
    plain: Floats
    errors: Floats
    disagreement: Floats
    others: Floats
    is_maximum: bool = False
    constants: Constants = SHIPPED

    def at(
        self, predicted: Floats, nearness: Floats, unsure: Floats | float = 1.0
    ) -> tuple[Floats, Floats]:
        """Blend predictions at n sites.

        Parameters
        ----------
        predicted : array (candidates, n)
            NaN if a candidate makes no prediction.
        nearness : array (n, rows)
            Weight of each known row at each site.
        unsure : array (n,)
            Distance of each site from the rows, from 0 at a row without noise to 1 at the distance of a left-out row.

        Returns
        -------
        (array (n,), array (n,))
            The blended log time, and the candidates' mean distance from their weighted mean.
        """
        weights = _weights(nearness, self.candidates, self.constants, self.is_maximum)
        log_time, apart = _mixed(predicted, weights)
        if self.is_maximum:
            log_time = log_time - _lean(nearness, self.plain, unsure, self.constants)
        return log_time, apart

    def nearness(self, distances: Distances) -> Floats:
        """Weight of each known row at each site, (n, rows); the weights of a site sum to 1."""
        near = _near(distances, self.constants)
        return _normalised(near, 1.0 / near.shape[1], self.constants)

    def usual_weights(self) -> Floats:
        """Mean weight of each candidate over the rows, each row left out; all sum to 1."""
        weights = _weights(self.others, self.candidates, self.constants, self.is_maximum)
        known = np.where(np.isnan(self.candidates), 0.0, weights)
        return np.asarray((known / known.sum(axis=0)).mean(axis=1))

    def nearby_left_out(self, rows: Floats) -> Floats:
        """Weighted mean of a quantity (rows,) around each row, without the row itself."""
        return np.asarray(self.others @ rows)


def blend(
    distances: Distances,
    candidates: Floats,
    *,
    is_maximum: bool = False,
    constants: Constants = SHIPPED,
) -> Blend:
    """Make the blend from the candidates' leave-one-out errors.

    Parameters
    ----------
    distances : Distances
        Between the rows.
    candidates : array (candidates, rows)
        NaN if a candidate makes no prediction; the first candidate makes one at every row.
    is_maximum : bool
        Whether the metric is the greatest latency of a run.
    """
    near = _near(distances, constants)
    np.fill_diagonal(near, 0.0)
    others = _normalised(near, 1.0 / max(len(near) - 1, 1), constants)
    np.fill_diagonal(others, 0.0)
    weights = _weights(others, candidates, constants, is_maximum)
    plain, disagreement = _mixed(candidates, weights)
    errors = plain + _lean(others, plain, 1.0, constants) if is_maximum else plain
    return Blend(candidates, plain, errors, disagreement, others, is_maximum, constants)


def _near(distances: Distances, constants: Constants) -> Floats:
    """Weight of rows by their distance alone: payload, load, labels, and whether both lie beyond a curve's ends."""
    payload = distances.along(-np.abs(distances.payload) / constants.octaves)
    near = np.exp(payload - distances.offered)
    for (_, label), differs in distances.differ.items():
        if not label:
            near *= np.where(differs, constants.other_label, 1.0)
    return np.asarray(near * np.where(distances.ends, constants.other_end, 1.0))


def _normalised(near: Floats, equal: float, constants: Constants) -> Floats:
    """Weights by nearness (n, rows) that sum to 1, and a little of ``equal``, the weight of a row if all count alike."""
    total, share = np.maximum(near.sum(axis=1, keepdims=True), TINY), constants.everywhere
    return np.asarray((1.0 - share) * (near / total) + share * equal)


def _weights(nearness: Floats, errors: Floats, constants: Constants, is_maximum: bool) -> Floats:
    """Weight of each candidate at each site, (candidates, n); that of the best is 1.

    Of maxima typical errors that are too high count exponentially, like the LINEX loss (A. Zellner, J. Am. Stat.
    Assoc. 81, 1986).  The exponential is taken of the typical error, so that a single wild row does not decide.
    """
    if is_maximum:
        too_high, too_low = (np.maximum(sign * errors, 0.0) for sign in (-1, 1))
        exponent = constants.steep * _typical(nearness, too_high, constants.root)
        typical = np.expm1(np.minimum(exponent, MOST_LOSS)) / constants.steep
        typical = typical + _typical(nearness, too_low, constants.root) + LEAST_ERROR
    else:
        typical = _typical(nearness, np.abs(errors), constants.root) + LEAST_ERROR
    best = np.minimum(typical.min(axis=1, keepdims=True), 1 / TINY)
    return np.asarray(((typical / best) ** -constants.power).T)


def _typical(nearness: Floats, sizes: Floats, root: float) -> Floats:
    """Power mean of the sizes of errors (candidates, rows) near each site, (n, candidates); infinite if all are NaN."""
    known = ~np.isnan(sizes)
    roots = nearness @ (np.where(known, sizes, 0.0) ** root).T
    weight = nearness @ known.astype(np.float64).T
    mean = np.where(weight > TINY, roots / np.maximum(weight, TINY), np.inf)
    return np.asarray(mean ** (1 / root))


def _mixed(predicted: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weighted mean of predictions (candidates, n) that are not NaN, and their mean distance from it."""
    weights = np.where(np.isnan(predicted), 0.0, weights)
    weights /= weights.sum(axis=0)
    known = np.nan_to_num(predicted)
    mean = (weights * known).sum(axis=0)
    return mean, (weights * np.abs(known - mean)).sum(axis=0)


def _lean(nearness: Floats, plain: Floats, unsure: Floats | float, constants: Constants) -> Floats:
    """Log of the factor by which maxima lean low at each site, (n,): ln cosh(e) of the standard error e nearby.

    If the true value is as likely a factor exp(e) above the blend as below it, the harmonic mean of both is
    1 / cosh(e) of the blend.  Errors of 10 % lower a value by 0.5 %, errors of a factor of 3 by 40 %.
    """
    typical = _typical(nearness, np.abs(plain)[None], constants.root)[:, 0]
    error = PER_TYPICAL * typical * unsure
    return np.asarray(np.logaddexp(error, -error) - np.log(2.0))


@dataclass(frozen=True, slots=True)
class Widths:
    """Half-widths of intervals at any site: conformal prediction from leave-one-out errors, scaled locally.

    The scale is the mean error of rows nearby plus the weighted disagreement of the candidates.  It grows as far
    as a site lies farther from the rows than these lie from each other.  ``widest`` bounds the half-width.

    Parameters
    ----------
    deviations : array (rows,)
        Leave-one-out standard deviation of the first process.
    factor : float
        The 90 % rank of error over scale.
    spread : array (rows,)
        Relative standard deviation of one new run, less the part that the row's error contains.
    chosen : int
        Count of numbers that were fitted to the rows.
    """

    blend: Blend
    deviations: Floats
    factor: float
    spread: Floats
    chosen: int
    widest: float = WIDEST

    def of_mean(self, nearness: Floats, deviation: Floats, disagreement: Floats) -> Floats:
        """Half of the 90 % interval for the mean of many runs, in log time.

        Parameters
        ----------
        nearness : array (n, rows)
            Weight of each known row at each site.
        deviation : array (n,)
            Standard deviation of the first process there.
        disagreement : array (n,)
            Mean distance of the candidates from the blend there.
        """
        rows = np.stack([self.deviations, np.abs(self.blend.errors)], axis=1)
        usual, off = (nearness @ rows).T
        off = off + LEAST_ERROR + self.blend.constants.doubt * disagreement
        half = self.factor * (off * deviation / usual)
        return np.asarray(np.minimum(half, self.widest))

    def of_run(self, of_mean: Floats, nearness: Floats) -> Floats:
        """Half of the 90 % interval for one new run, from that for the mean of many."""
        return np.hypot(of_mean, NORMAL * (nearness @ self.spread))


def widths(blended: Blend, deviations: Floats, spread: Floats, chosen: int) -> Widths:
    """Find the conformal factor of a blend; parameters as of `Widths`."""
    errors = np.abs(blended.errors)
    usual = blended.nearby_left_out(deviations)
    off = blended.nearby_left_out(errors) + LEAST_ERROR
    off = off + blended.constants.doubt * blended.disagreement
    scores = np.sort(errors / (off * deviations / usual))
    count = len(scores)
    correction = min(count / max(count - chosen, 1), MOST_CORRECTION)
    rank = int(np.ceil(COVERAGE * (count + 1)))
    factor = float(scores[min(rank, count) - 1]) * correction
    if rank > count:  # too few rows for that rank: at least the width assumed of a single point
        factor = max(factor, LONE_WIDTH / float(np.median(off)))
    widest = WIDEST
    if (
        blended.is_maximum
    ):  # stalls do not depend on the site, so no interval needs to exceed all errors
        widest = min(widest, max(float(errors.max()) * correction, LONE_WIDTH))
    return Widths(blended, deviations, factor, spread, chosen, widest)
