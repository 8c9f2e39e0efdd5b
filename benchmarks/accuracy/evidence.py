"""Evidence by which constants are chosen: predictions of left-out rows by the candidates of fits.

The predictions of the candidates do not depend on the constants of the blend. So one fit per fold
serves any number of settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.accuracy.predictor import Floats
from icmodel.dataset import Dataset
from icmodel.dataset.rows import ABSOLUTE, kind
from icmodel.fits import Constants
from icmodel.fits.blend import Blend, blend, widths
from icmodel.fits.fit import Candidates, Fit
from icmodel.fits.fits import Fits, one_thread
from icmodel.fits.kernel import MeasuredSites
from icmodel.fits.observations import DIRECT, LIMITED, label, regimes_of, sites
from icmodel.tables.wire import frames_on_wire
from icmodel.validate.folds import (
    LEAST_ROWS,
    Fold,
    counts,
    leave_break_sizes_out,
    leave_one_out,
    scored,
)

MOST = 25
"""Maximum number of leave-one-out folds of a dataset."""
MOST_ROWS = 5000
"""Greatest number of rows of a dataset that takes part in a choice; folds of others take too long.

Larger datasets are unseen by every choice.
"""
MOST_BREAKS = 12
"""Maximum number of folds at breaks of a dataset."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Predictions of a metric's fit at the rows that a fold left out, independent of the constants.

    ``measured`` are the fit's own rows, and ``errors`` (candidates, rows) the errors at them, each
    left out in turn. ``predicted`` are the candidates' predictions at the n left-out rows, and
    ``truth`` (n,) the true log times. ``scales`` (n,) converts a relative change of a value into
    the kind of its error. ``sign`` is 1 if the metric rises with the log time, otherwise -1.
    """

    measured: MeasuredSites
    errors: Floats
    predicted: Candidates
    truth: Floats
    scales: Floats
    sign: int
    is_maximum: bool = False

    def blend(self, constants: Constants) -> Blend:
        """Return the blend of the fit's candidates."""
        distances = self.measured.distances(self.measured.sites)
        return blend(distances, self.errors, is_maximum=self.is_maximum, constants=constants)

    def off(self, constants: Constants) -> Floats:
        """Return the errors of the blend at the left-out rows, as the benchmark counts them."""
        blended = self.blend(constants)
        row_weights = blended.row_weights(self.predicted.distances)
        log_time, _ = blended.at(self.predicted.log_time, row_weights)
        return np.asarray(self.scales * np.abs(np.expm1(self.sign * (log_time - self.truth))))


@dataclass(frozen=True, slots=True)
class Beside:
    """Evidence at rows beside a break, left out on all curves, with the parts of an interval."""

    evidence: Evidence
    deviations: Floats
    spread: Floats
    chosen: int

    def off_and_half(self, constants: Constants) -> tuple[Floats, Floats]:
        """Return errors of the blend at the rows, and half-widths of its intervals, in log time."""
        own, predicted = self.evidence, self.evidence.predicted
        blended = own.blend(constants)
        width = widths(blended, self.deviations, self.spread, self.chosen)
        row_weights = blended.row_weights(predicted.distances)
        log_time, disagreement = blended.at(predicted.log_time, row_weights)
        half = width.of_run(
            width.of_mean(row_weights, predicted.deviation, disagreement), row_weights
        )
        return np.abs(log_time - own.truth), half


@dataclass(frozen=True, slots=True)
class Evidences:
    """Evidence of a dataset: of leave-one-out folds by metric, and of folds at breaks."""

    points: Mapping[str, Sequence[Evidence]]
    breaks: Sequence[Beside]


def evidences(data: Dataset) -> Evidences:
    """Gather the evidence of each metric with enough rows.

    A dataset with no such metric, or with too many rows, has none.
    """
    metrics = [metric for metric, n in counts(scored(data)).items() if n >= LEAST_ROWS]
    points: dict[str, list[Evidence]] = {}
    if not metrics or len(data.points) > MOST_ROWS:
        return Evidences({}, ())
    for fold in leave_one_out(data, *metrics, most=MOST):
        fits = Fits(fold.train, partial(frames_on_wire, fold.train))
        for metric in metrics:
            if found := _evidence(fits, metric, fold):
                points.setdefault(metric, []).append(found[0])
    breaks = []
    for metric in metrics:
        for fold in leave_break_sizes_out(data, metric, most=MOST_BREAKS // len(metrics)):
            fits = Fits(fold.train, partial(frames_on_wire, fold.train))
            if found := _evidence(fits, metric, fold):
                one, fit = found
                width = fit.widths
                breaks.append(Beside(one, width.deviations, width.spread, width.chosen))
    return Evidences(points, breaks)


def _evidence(fits: Fits, metric: str, fold: Fold) -> tuple[Evidence, Fit] | None:
    """Return the evidence at the rows of a fold, and the fit.

    Goodputs at limited loads and rows without payload are not fitted.
    """
    regimes = zip(fold.test, regimes_of(fits.data, fold.test), strict=True)
    rows = [
        (point, regime)
        for point, regime in regimes
        if point.metric == metric and point.payload_bytes is not None
        if metric != "goodput_bps" or regime != LIMITED
    ]
    fitted = fits.fitted_metric(metric) if rows else None
    if fitted is None:
        return None
    values = np.array([point.value for point, _ in rows])
    payload = np.array([float(point.payload_bytes or 1) for point, _ in rows])
    load_bps = np.array([np.nan if p.load_bps is None else p.load_bps for p, _ in rows])
    labels = [label(fits.data, point, regime) for point, regime in rows]
    with one_thread(), np.errstate(divide="ignore"):
        where = fits.flowing(metric, sites(fits.data, fits.carrier, payload, load_bps, labels))
        truth = fitted.log_time(values, where)
        predicted = fitted.fit.candidates(where)
    size = values + fitted.quantity.shift
    if kind(metric) != ABSOLUTE:
        size = np.divide(size, values, out=np.full_like(size, np.nan), where=values > 0)
    sign = 1 if fitted.quantity.kind == DIRECT else -1
    fit = fitted.fit
    blended = fit.blend
    one = Evidence(
        fit.measured, blended.candidates, predicted, truth, size, sign, blended.is_maximum
    )
    return one, fit
