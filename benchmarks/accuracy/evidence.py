"""Evidence: what fits say of rows that were left out, by which constants are chosen.

What the candidates of a fit say of such rows does not depend on the constants of the blend: one fit a fold serves
for any number of settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.accuracy.predictor import Floats
from icmodel.dataset import Dataset
from icmodel.dataset.repeats import ABSOLUTE, kind
from icmodel.fits.blend import Blend, blend, widths
from icmodel.fits.constants import Constants
from icmodel.fits.fit import Candidates, Fit
from icmodel.fits.fits import Fits
from icmodel.fits.kernel import Known
from icmodel.fits.observations import DIRECT, label, sites
from icmodel.fits.regimes import LIMITED, regimes_of
from icmodel.fits.threads import one_thread
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
"""Folds of one point of a dataset."""
MOST_ROWS = 5000
"""A dataset with more rows has no part in a choice: its folds take too long, and it is unseen by all."""
MOST_BREAKS = 12
"""Folds of breaks of a dataset."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the fit of a metric says of rows that a fold left out, whatever the constants.

    ``known`` are the fit's own rows, ``errors`` (candidates, rows) those at them, each left out in turn.  ``predicted``
    is of the rows that the fold left out, ``truth`` (n,) their log times.  ``scales`` (n,) turns a relative change of
    their values into the kind of their errors; ``sign`` is 1 if the metric rises with the log time, otherwise -1.
    """

    known: Known
    errors: Floats
    predicted: Candidates
    truth: Floats
    scales: Floats
    sign: int
    is_maximum: bool = False

    def blend(self, constants: Constants) -> Blend:
        """The blend of the fit's candidates."""
        distances = self.known.distances(self.known.sites)
        return blend(distances, self.errors, is_maximum=self.is_maximum, constants=constants)

    def off(self, constants: Constants) -> Floats:
        """The errors of the blend at the rows, as the benchmark counts them."""
        blended = self.blend(constants)
        near = blended.nearness(self.predicted.distances)
        log_time, _ = blended.at(self.predicted.log_time, near)
        return np.asarray(self.scales * np.abs(np.expm1(self.sign * (log_time - self.truth))))


@dataclass(frozen=True, slots=True)
class Beside:
    """The same of rows beside a break that left on all curves, with what an interval is made of."""

    evidence: Evidence
    deviations: Floats
    spread: Floats
    chosen: int

    def off_and_half(self, constants: Constants) -> tuple[Floats, Floats]:
        """How far the blend is off at the rows, and the half-widths of its intervals there, in log time."""
        own, predicted = self.evidence, self.evidence.predicted
        blended = own.blend(constants)
        width = widths(blended, self.deviations, self.spread, self.chosen)
        near = blended.nearness(predicted.distances)
        log_time, disagreement = blended.at(predicted.log_time, near)
        half = width.of_run(width.of_mean(near, predicted.deviation, disagreement), near)
        return np.abs(log_time - own.truth), half


@dataclass(frozen=True, slots=True)
class Evidences:
    """Of a dataset: by metric what folds of one point say, and what folds of breaks say."""

    points: Mapping[str, Sequence[Evidence]]
    breaks: Sequence[Beside]


def evidences(data: Dataset) -> Evidences:
    """Those of each metric with enough rows; none of a dataset without any."""
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
    """Of the rows of a fold; of carried goodputs, and rows without payload, nothing is fitted."""
    regimes = zip(fold.test, regimes_of(fits.data, fold.test), strict=True)
    rows = [
        (point, regime)
        for point, regime in regimes
        if point.metric == metric and point.payload_bytes is not None
        if metric != "goodput_bps" or regime != LIMITED
    ]
    fitted = fits.of(metric) if rows else None
    if fitted is None:
        return None
    values = np.array([point.value for point, _ in rows])
    payload = np.array([float(point.payload_bytes or 1) for point, _ in rows])
    load_bps = np.array([np.nan if p.load_bps is None else p.load_bps for p, _ in rows])
    labels = [label(fits.data, point, regime) for point, regime in rows]
    with one_thread(), np.errstate(divide="ignore"):
        where = fits.flowing(metric, sites(fits.data, fits.carrier, payload, load_bps, labels))
        truth = fitted.log_time(values, where)
        told = fitted.fit.candidates(where)
    size = values + fitted.quantity.shift
    if kind(metric) != ABSOLUTE:
        size = np.divide(size, values, out=np.full_like(size, np.nan), where=values > 0)
    sign = 1 if fitted.quantity.kind == DIRECT else -1
    fit = fitted.fit
    blended = fit.blend
    one = Evidence(fit.known, blended.candidates, told, truth, size, sign, blended.is_maximum)
    return one, fit
