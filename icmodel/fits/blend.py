"""Blend the candidates (alternative predictors) of a fit, and compute 90 % intervals.

No candidate is best everywhere.  Linear interpolation is exact on a plateau.  Above some payloads, a
frame needs one more packet, and its time jumps.  A Gaussian process learns this jump from rows with
similar options.  At each site (payload, load and labels), a candidate with larger leave-one-out
errors at nearby rows has a smaller weight.  Rows far away count little.

The greatest latency of a run is caused by a stall.  Stalls differ from row to row, and no candidate
predicts them.  A predicted maximum can be at most 100 % too low, but much more than 100 % too high.
So a rather low prediction has the smaller mean error, and the blend lowers its prediction of a
maximum.  The half-width of the interval of a maximum is at most the greatest leave-one-out error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.estimate.statistics import COVERAGE, LONE_WIDTH, NORMAL
from icmodel.fits import SHIPPED, Constants
from icmodel.fits.kernel import Distances

Floats = NDArray[np.float64]

TINY = 1e-300
LEAST_ERROR = 1e-5
"""Least error of a predicted natural logarithm; smaller errors are rounding errors."""
PER_TYPICAL = 1.5
"""Ratio of the standard deviation of errors to the power mean (order 1/2) of their absolute values.

For normally distributed errors, the ratio is 1.48.
"""
WIDEST = 20.0
"""Largest half-width of an interval, as a natural logarithm; it keeps low and high finite."""
MOST_CORRECTION = 2.5
"""Greatest factor by which intervals are widened, since parameters were fitted to the same rows (assumed)."""


@dataclass(frozen=True, slots=True)
class Blend:
    """Blend of candidates (alternative predictors), weighted by their leave-one-out errors.

    An error is the log time of a row minus the log time predicted from the other rows.  Log time is
    the natural logarithm of the time per frame for a rate, and of the value for any other metric.

    Parameters
    ----------
    candidates : array (candidates, rows)
        Errors of each candidate; NaN if the candidate makes no prediction.
    plain, errors : array (rows,)
        Errors of the blend.  If the metric is a maximum, the blended prediction is lowered, the more
        the less certain it is.  ``plain`` has the errors before this step, and ``errors`` after it.
    disagreement : array (rows,)
        Mean distance of the candidates' predictions from the blend, as a difference of log times.
    left_out_row_weights : array (rows, rows)
        Weights in the prediction of each left-out row: one line for each left-out row, one column
        for each row from which it is predicted.  Each line sums to 1.
    is_maximum : bool
        Whether the metric is the greatest latency of a run, fitted directly or as a stall.  A stall
        is the greatest minus the mean latency.
    constants : Constants
        Constants of the weights.
    """

    candidates: Floats
    plain: Floats
    errors: Floats
    disagreement: Floats
    left_out_row_weights: Floats
    is_maximum: bool = False
    constants: Constants = SHIPPED

    def at(
        self, predicted: Floats, row_weights: Floats, unsure: Floats | float = 1.0
    ) -> tuple[Floats, Floats]:
        """Blend the predictions of all candidates (alternative predictors) at n sites.

        A site is a combination of payload, load and labels.

        Parameters
        ----------
        predicted : array (candidates, n)
            Log time predicted by each candidate; NaN if a candidate makes no prediction.
        row_weights : array (n, rows)
            Weight of each known row at each site.
        unsure : array (n,)
            Uncertainty at each site, divided by the usual uncertainty at a left-out row; 0 at a
            measured row without noise.  It is only used if the metric is a maximum: the more
            uncertain the site, the further its prediction is lowered below the weighted mean of
            the candidates.

        Returns
        -------
        (array (n,), array (n,))
            The blended log time, and the candidates' mean distance from their weighted mean.
        """
        weights = _candidate_weights(row_weights, self.candidates, self.constants)
        log_time, apart = _mixed(predicted, weights)
        if self.is_maximum:
            log_time = log_time - _lean(row_weights, self.plain, unsure, self.constants)
        return log_time, apart

    def row_weights(self, distances: Distances) -> Floats:
        """Weight of each fitted dataset row in a prediction at n sites, array (n, rows).

        A site is a combination of payload, load and labels.  Rows near a site have large weights; the
        weights of one site sum to 1.
        """
        raw = _raw_row_weights(distances, self.constants)
        return _normalised(raw, 1.0 / raw.shape[1], self.constants)

    def mean_candidate_weights(self) -> Floats:
        """Mean weight of each candidate (alternative predictor) over all left-out rows, (candidates,); the sum is 1."""
        weights = _candidate_weights(self.left_out_row_weights, self.candidates, self.constants)
        known = np.where(np.isnan(self.candidates), 0.0, weights)
        return np.asarray((known / known.sum(axis=0)).mean(axis=1))

    def nearby_left_out(self, rows: Floats) -> Floats:
        """Mean of a quantity at all rows but one, for each row left out in turn, (rows,).

        ``rows`` (rows,) is the quantity at each row.  Rows near the left-out row have large weights.
        """
        return np.asarray(self.left_out_row_weights @ rows)


def blend(
    distances: Distances,
    candidates: Floats,
    *,
    is_maximum: bool = False,
    constants: Constants = SHIPPED,
) -> Blend:
    """Make the blend of candidates (alternative predictors) from their leave-one-out errors.

    Parameters
    ----------
    distances : Distances
        Distances between the rows.
    candidates : array (candidates, rows)
        Errors of each candidate; NaN if a candidate makes no prediction.  The first candidate
        predicts every row.
    is_maximum : bool
        Whether the metric is the greatest latency of a run, or a stall: the greatest minus the mean
        latency.  If so, the blend lowers its predictions: the greater the errors at nearby rows,
        the more.
    constants : Constants
        Constants of the weights.
    """
    raw = _raw_row_weights(distances, constants)
    np.fill_diagonal(raw, 0.0)
    left_out = _normalised(raw, 1.0 / max(len(raw) - 1, 1), constants)
    np.fill_diagonal(left_out, 0.0)
    weights = _candidate_weights(left_out, candidates, constants)
    plain, disagreement = _mixed(candidates, weights)
    errors = plain + _lean(left_out, plain, 1.0, constants) if is_maximum else plain
    return Blend(candidates, plain, errors, disagreement, left_out, is_maximum, constants)


def _raw_row_weights(distances: Distances, constants: Constants) -> Floats:
    """Weights of all rows at each of n sites, (n, rows), before they are scaled to a sum of 1.

    A site is a combination of payload, load and labels.  The weight of a row falls with its distance
    from the site in payload and load.  For each label that differs between row and site, the weight
    is multiplied by ``constants.other_label``.  If the position differs, the weight is multiplied by
    ``constants.other_end``.  A position is below, between or above the measured payloads of a curve.
    """
    payload = distances.along(-np.abs(distances.payload) / constants.octaves)
    weights = np.exp(payload - distances.offered)
    for (_, label), differs in distances.differ.items():
        if not label:
            weights *= np.where(differs, constants.other_label, 1.0)
    return np.asarray(weights * np.where(distances.positions_differ, constants.other_end, 1.0))


def _normalised(raw: Floats, equal: float, constants: Constants) -> Floats:
    """Scale the weights of rows to a sum of 1 at each site, and mix them with equal weights.

    A site is a point of payload, load and labels.  ``raw`` (n, rows) has the weights at n sites.
    ``equal`` is the weight of each row if all are equal: 1 / number of rows, not counting a left-out
    row.  The result (n, rows) is (1 − share) × scaled weight + share × ``equal``, where the share is
    the constant `Constants.everywhere`.  So no weight is 0.
    """
    total, share = np.maximum(raw.sum(axis=1, keepdims=True), TINY), constants.everywhere
    return np.asarray((1.0 - share) * (raw / total) + share * equal)


def _candidate_weights(row_weights: Floats, errors: Floats, constants: Constants) -> Floats:
    """Unscaled weight of each candidate at n sites, (candidates, n): 1 for the best candidate at a site, else less.

    Candidates are alternative predictors.  A site is a combination of payload, load and labels.
    """
    typical = _typical(row_weights, np.abs(errors), constants.root) + LEAST_ERROR
    best = np.minimum(typical.min(axis=1, keepdims=True), 1 / TINY)
    return np.asarray(((typical / best) ** -constants.power).T)


def _typical(row_weights: Floats, sizes: Floats, root: float) -> Floats:
    """Typical error of each candidate (alternative predictor) at each of n sites, (n, candidates).

    It is a power mean of the candidate's absolute errors e at the rows: mean(e^root)^(1/root).
    Rows near the site have large weights in the mean: ``row_weights`` (n, rows).  ``sizes``
    (candidates, rows) holds the absolute errors; NaN marks rows that the candidate does not
    predict.  If it predicts no row, its typical error is infinite.
    """
    known = ~np.isnan(sizes)
    roots = row_weights @ (np.where(known, sizes, 0.0) ** root).T
    weight = row_weights @ known.astype(np.float64).T
    mean = np.where(weight > TINY, roots / np.maximum(weight, TINY), np.inf)
    return np.asarray(mean ** (1 / root))


def _mixed(predicted: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weighted mean of the candidates' predictions at n sites, and their mean distance from this mean.

    Candidates are alternative predictors, and a site is a combination of payload, load and labels.
    Both results have the shape (n,), and the distance is weighted like the mean.  ``predicted`` and
    ``weights`` have the shape (candidates, n).  Predictions that are NaN are left out.
    """
    weights = np.where(np.isnan(predicted), 0.0, weights)
    weights /= weights.sum(axis=0)
    known = np.nan_to_num(predicted)
    mean = (weights * known).sum(axis=0)
    return mean, (weights * np.abs(known - mean)).sum(axis=0)


def _lean(
    row_weights: Floats, plain: Floats, unsure: Floats | float, constants: Constants
) -> Floats:
    """Log of the divisor that lowers predictions of a greatest latency, at n sites, (n,).

    A site is a combination of payload, load and labels.

    The divisor is cosh(e), where e is the standard error of log predictions at nearby rows.  The
    true value is assumed to be a factor exp(e) above or below the prediction, with equal
    probability.  The harmonic mean of both cases is 1 / cosh(e) times the prediction.  Errors of 10
    % lower a value by 0.5 %, and errors of a factor of 3 lower it by 40 %.
    """
    typical = _typical(row_weights, np.abs(plain)[None], constants.root)[:, 0]
    error = PER_TYPICAL * typical * unsure
    return np.asarray(np.logaddexp(error, -error) - np.log(2.0))


@dataclass(frozen=True, slots=True)
class Widths:
    """Half-widths of 90 % intervals, by conformal prediction from leave-one-out errors.

    The half-width at a site (combination of payload, load and labels) is ``factor`` times a local
    scale.  The scale is the mean error of nearby rows plus the weighted disagreement of the candidates
    (alternative predictors).  It grows with the distance of the site from the rows.

    Parameters
    ----------
    blend : Blend
        Blend with the errors of the rows.
    deviations : array (rows,)
        Leave-one-out standard deviation of the fit's first Gaussian process at each row.
    factor : float
        Ratio of error to scale that 90 % of the rows do not exceed (conformal quantile).
    spread : array (rows,)
        Relative standard deviation of one new run, without the part that the row's leave-one-out
        error already contains.
    chosen : int
        Number of parameters that were fitted to the rows.  With more parameters, leave-one-out
        errors are too small, and so ``factor`` is increased.
    widest : float
        Greatest half-width.
    """

    blend: Blend
    deviations: Floats
    factor: float
    spread: Floats
    chosen: int
    widest: float = WIDEST

    def of_mean(self, row_weights: Floats, deviation: Floats, disagreement: Floats) -> Floats:
        """Half-width (n,) of the 90 % interval for the mean of many runs at n sites.

        Half-width and deviations are differences of natural logarithms: 0.1 is about 10 %.  A site is a
        combination of payload, load and labels.

        Parameters
        ----------
        row_weights : array (n, rows)
            Weight of each known row at each site.
        deviation : array (n,)
            Standard deviation of the fit's first Gaussian process at each site.
        disagreement : array (n,)
            Mean distance of the candidates (alternative predictors) from the blend at each site.
        """
        rows = np.stack([self.deviations, np.abs(self.blend.errors)], axis=1)
        usual, off = (row_weights @ rows).T
        off = off + LEAST_ERROR + self.blend.constants.doubt * disagreement
        half = self.factor * (off * deviation / usual)
        return np.asarray(np.minimum(half, self.widest))

    def of_run(self, of_mean: Floats, row_weights: Floats) -> Floats:
        """Half-width (n,) of the 90 % interval for one new run, in units of the natural logarithm.

        It is the root of the sum of squares of two half-widths: that for the mean of many runs
        (``of_mean``), and that of single runs around their mean.
        """
        return np.hypot(of_mean, NORMAL * (row_weights @ self.spread))


def widths(blended: Blend, deviations: Floats, spread: Floats, chosen: int) -> Widths:
    """Fit the half-widths of a blend's 90 % intervals; for the parameters, see `Widths`.

    A blend is a weighted mean of alternative predictors.  A half-width is a factor times a local
    scale.  This function finds the factor: the ratio of error to scale that 90 % of the rows do not
    exceed.
    """
    errors = np.abs(blended.errors)
    usual = blended.nearby_left_out(deviations)
    off = blended.nearby_left_out(errors) + LEAST_ERROR
    off = off + blended.constants.doubt * blended.disagreement
    scores = np.sort(errors / (off * deviations / usual))
    count = len(scores)
    correction = min(count / max(count - chosen, 1), MOST_CORRECTION)
    rank = int(np.ceil(COVERAGE * (count + 1)))
    factor = float(scores[min(rank, count) - 1]) * correction
    if rank > count:  # too few rows: at least the width of a single point
        factor = max(factor, LONE_WIDTH / float(np.median(off)))
    widest = WIDEST
    if blended.is_maximum:
        # Stalls do not depend on the site, so no interval needs to exceed the greatest error.
        widest = min(widest, max(float(errors.max()) * correction, LONE_WIDTH))
    return Widths(blended, deviations, factor, spread, chosen, widest)
