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
from icmodel.fits.blend import blend, blended, nearness, widths
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

    ``errors`` (candidates, rows) are those at the fit's own rows, each left out in turn; ``predicted`` is of the rows
    that the fold left out, ``truth`` (n,) what they say: log times.  ``scales`` (n,) is what a relative change of
    their values is in the kind of their errors, ``sign`` whether a longer time is a greater value.
    """

    errors: Floats
    predicted: Candidates
    truth: Floats
    scales: Floats
    sign: int

    def off(self, constants: Constants) -> Floats:
        """The errors of the blend at the rows, as the benchmark counts them."""
        near = nearness(self.predicted.distances, constants)
        log_time, _ = blended(self.predicted.log_time, self.errors, near, constants)
        return np.asarray(self.scales * np.abs(np.expm1(self.sign * (log_time - self.truth))))


@dataclass(frozen=True, slots=True)
class Beside:
    """The same of rows beside a break that left on all curves, with what an interval is made of."""

    evidence: Evidence
    known: Known
    deviations: Floats
    spread: Floats
    chosen: int

    def off_and_half(self, constants: Constants) -> tuple[Floats, Floats]:
        """How far the blend is off at the rows, and the half-widths of its intervals there, in log time."""
        own, predicted = self.evidence, self.evidence.predicted
        blend_ = blend(self.known.distances(self.known.sites), own.errors, constants)
        width = widths(blend_, self.deviations, self.spread, self.chosen)
        near = blend_.nearness(predicted.distances)
        log_time, disagreement = blend_.at(predicted.log_time, near)
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
                breaks.append(Beside(one, fit.known, width.deviations, width.spread, width.chosen))
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
    return Evidence(fitted.fit.blend.candidates, told, truth, size, sign), fitted.fit
