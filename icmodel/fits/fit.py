"""Fit one metric by a blend of Gaussian processes over cost models, and of single curves.

The hyperparameters of a process maximise the likelihood of the rows.  Candidates are weighted by
their leave-one-out errors; for a Gaussian process these have a closed form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.blend import Blend, Widths, blend, widths
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.fits.curves import METHODS, Curves
from icmodel.fits.kernel import (
    JOINED,
    NUMBERS,
    PRODUCT,
    Distances,
    Group,
    Kernel,
    MeasuredSites,
    groups_of,
)
from icmodel.fits.likelihood import Hyperparameters, Kernels, likeliest, piece_of
from icmodel.fits.mechanism import CONSTANT, Mechanism, possible_kinds
from icmodel.fits.observations import Observations, Sites
from icmodel.fits.process import (
    REST,
    Part,
    ProtocolProcesses,
    parts_of,
    process,
    scale_of,
    whole,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Design:
    """Design of a Gaussian process: the cost model that it corrects, and the form of its kernel.

    If ``constant``, the cost model is a constant.  Otherwise it is the metric's best cost model.
    If ``per_protocol``, each protocol with enough rows has an independent process with separate
    hyperparameters.
    """

    constant: bool
    form: str
    per_protocol: bool = False


DESIGNS = (
    Design(constant=False, form=PRODUCT, per_protocol=True),
    Design(constant=True, form=PRODUCT),
    Design(constant=True, form=JOINED),
)
"""Designs of the Gaussian processes in a fit, which differ so that their errors differ."""
CANDIDATES = (
    "own process",
    "process over a constant",
    "joined process over a constant",
    *METHODS,
)
"""Names of the candidate predictors of a fit.

First come the Gaussian processes in the order of the designs, then the methods for single curves.
"""
FREEDOM = 3.0
"""Degrees of freedom of Student's distribution for the noise of a measured row (assumed)."""
MOST_ROWS = 96
"""Greatest number of rows in one piece of the likelihood; the time grows with its cube."""
MOST_PIECES = 3
"""Greatest number of pieces in the likelihood; more take longer and change the result little."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Predictions of all candidates at n sites (combinations of payload, load and labels).

    ``log_time`` (candidates, n) is NaN if a candidate makes no prediction.  ``deviation`` (n,) is
    the standard deviation of the first process, a measure of the distance of a site from the rows.
    """

    distances: Distances
    log_time: Floats
    deviation: Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """Fit of a metric in log time: candidate predictors, their blend, and its intervals."""

    measured: MeasuredSites
    processes: tuple[ProtocolProcesses, ...]
    plain: ProtocolProcesses
    """The first Gaussian process of the fit, before outliers lose weight.

    Its standard deviation measures the distance of a site from the rows.  Cost model, kernels and
    covariances equal those of ``processes[0]``.
    """
    curves: Curves
    blend: Blend
    widths: Widths

    @property
    def sites(self) -> Sites:
        """Sites (payload, load and labels) of the measured rows."""
        return self.measured.sites

    @property
    def mechanism(self) -> Mechanism:
        """Cost model whose residual has the least leave-one-out errors."""
        return self.processes[0].mechanism

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Kind of the fit's cost model, and the kernels of its Gaussian processes."""
        return Hyperparameters(self.mechanism.kind, tuple(one.kernels for one in self.processes))

    def at(self, sites: Sites) -> tuple[Floats, Floats]:
        """Predict the log time at n sites, and its 90 % half-width for one new run."""
        log_time, half, row_weights = self._at(sites)
        return log_time, self.widths.of_run(half, row_weights)

    def mean_at(self, sites: Sites) -> tuple[Floats, Floats]:
        """Predict the log time at n sites, and its 90 % half-width for the mean of many runs."""
        log_time, half, _ = self._at(sites)
        return log_time, half

    def candidates(self, sites: Sites) -> Candidates:
        """Predict the log time at n sites by each candidate."""
        distances = self.measured.distances(sites)
        modelled = {one: one.at(sites) for one in {each.mechanism for each in self.processes}}
        physics = modelled[self.mechanism]
        crosses = [one.crosses(sites, modelled[one.mechanism], distances) for one in self.processes]
        predicted = [one.log_time(own) for one, own in zip(self.processes, crosses, strict=True)]
        predicted += [*self.curves.log_time(sites, physics.log_time)]
        return Candidates(distances, np.stack(predicted), self.plain.deviation(crosses[0]))

    def _at(self, sites: Sites) -> tuple[Floats, Floats, Floats]:
        """Predict log time (n,), half-width for the mean (n,), and row weights (n, rows)."""
        found = self.candidates(sites)
        row_weights = self.blend.row_weights(found.distances)
        usual = row_weights @ self.widths.deviations
        unsure = np.minimum(found.deviation / usual, 1.0)
        log_time, disagreement = self.blend.at(found.log_time, row_weights, unsure)
        return (
            log_time,
            self.widths.of_mean(row_weights, found.deviation, disagreement),
            row_weights,
        )


def fit(
    observed: Observations,
    log_time: Floats,
    like: Fit | None = None,
    hyperparameters: Hyperparameters | None = None,
    *,
    is_maximum: bool = False,
    constants: Constants = SHIPPED,
) -> Fit:
    """Fit all candidate predictors to the log times of a metric's rows, and blend them.

    Parameters
    ----------
    observed : Observations
        Rows of the metric.
    log_time : array (rows,)
        Natural logarithm of a time [s], or of the ratio of two times, at each row.
    like : Fit, optional
        Fit of a similar metric; the search for hyperparameters starts from its kernels, and so
        takes few steps.  It is ignored if there are at most ``MOST_ROWS`` rows.
    hyperparameters : Hyperparameters, optional
        Hyperparameters found before for the same rows, which replace the search.
    is_maximum : bool
        Whether the metric is the greatest latency of a run, or the stall in it.
    constants : Constants
        Constants of the blend and of the intervals.
    """
    if len(log_time) <= MOST_ROWS:
        like = None  # a search is fast with few rows
    groups = groups_of(observed.sites)
    measured = MeasuredSites(observed.sites, (*groups[PRODUCT], *groups[JOINED]))
    distances = measured.distances(observed.sites)
    rows = _Rows(observed, log_time, groups, measured, distances, parts_of(observed.sites))
    kinds = (hyperparameters.mechanism,) if hyperparameters else possible_kinds(observed.sites)
    physics = rows.easiest([Mechanism(kind, observed.sites, log_time) for kind in kinds])
    constant = Mechanism(CONSTANT, observed.sites, log_time)
    processes: list[ProtocolProcesses] = []
    for number, design in enumerate(DESIGNS):
        mechanism = constant if design.constant else physics
        near = like.processes[number].kernels if like else {}
        if hyperparameters:
            kernels = hyperparameters.kernels[number]
        else:
            kernels = rows.likeliest(mechanism, design, near)
        if not processes:
            plain = rows.through(mechanism, kernels)
            rows = rows.with_robust_variance(plain)
        processes.append(rows.through(mechanism, kernels))
    curves = Curves(observed.sites, log_time, physics.at(observed.sites).log_time)
    errors = np.stack([one.errors for one in processes] + [*curves.errors])
    blended = blend(rows.distances, errors, is_maximum=is_maximum, constants=constants)
    parameters = physics.parameters + len(NUMBERS) + len(rows.groups[PRODUCT])
    beyond = np.sqrt(np.maximum(observed.spread**2 - observed.variance, 0.0))
    interval_widths = widths(blended, plain.deviations, beyond, parameters)
    return Fit(rows.measured, tuple(processes), plain, curves, blended, interval_widths)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Measured rows of a fit, with distances and label comparisons for all its processes."""

    observed: Observations
    log_time: Floats
    groups: Mapping[str, tuple[Group, ...]]
    measured: MeasuredSites
    distances: Distances
    parts: Mapping[str, Ints]

    def through(self, mechanism: Mechanism, kernels: Kernels) -> ProtocolProcesses:
        """Condition Gaussian processes on the residual of a cost model at the rows.

        Each part of the rows has one process, with the kernel of that part.
        """
        own = kernels.keys() == self.parts.keys()
        parts = {}
        for name, rows in (self.parts if own else whole(self.observed.sites)).items():
            kernel = kernels[name].on(self.groups[kernels[name].form])
            distances = self.distances.part(rows, rows, kernel.label_distances)
            observed, log_time = self.observed.take(rows), self.log_time[rows]
            parts[name] = Part(rows, process(mechanism, kernel, observed, distances, log_time))
        return ProtocolProcesses(parts)

    def easiest(self, mechanisms: Sequence[Mechanism]) -> Mechanism:
        """Choose the cost model whose residual has the least leave-one-out errors."""

        def error(one: Mechanism) -> float:
            found = self.through(one, {REST: Kernel()})
            return float(np.mean(np.minimum(np.abs(found.errors), 1.0)))

        return mechanisms[0] if len(mechanisms) == 1 else min(mechanisms, key=error)

    def likeliest(self, mechanism: Mechanism, design: Design, near: Kernels) -> Kernels:
        """Find the kernel of greatest likelihood for each part of the rows (a protocol, or all).

        If ``near`` has a kernel for a part, the search starts from it.
        """
        groups = self.groups[design.form]
        prior = Kernel(design.form).on(groups)
        found = {}
        for name, rows in (
            self.parts if design.per_protocol else whole(self.observed.sites)
        ).items():
            sites = self.observed.sites.take(rows)
            modelled = mechanism.at(sites)
            residual = self.log_time[rows] - modelled.log_time
            scale = scale_of(residual)
            variance = self.observed.variance[rows] / scale**2
            pieces = []
            for where in _pieces(sites):
                part = sites.take(where)
                distances = MeasuredSites(part, groups).distances(part)
                shares = modelled.shares[where]
                pieces.append(piece_of(distances, shares, residual[where] / scale, variance[where]))
            start = near[name].on(groups) if name in near else None
            found[name] = likeliest(prior, pieces, start)
        return found

    def with_robust_variance(self, found: ProtocolProcesses) -> _Rows:
        """Copy of these rows in which outliers have more variance, by `robust_variance`."""
        variance = robust_variance(found, self.observed.variance)
        return replace(self, observed=replace(self.observed, variance=variance))


def robust_variance(found: ProtocolProcesses, variance: Floats) -> Floats:
    """Increase the variance (rows,) of outliers: rows with large leave-one-out errors.

    An error is large if it exceeds its standard deviation.  The spread of a few runs is uncertain,
    and some runs are disturbed.  So the noise is assumed to follow Student's distribution, with the
    weights (ν + 1) / (ν + e²/σ²) (K. L. Lange, R. J. A. Little and J. M. G. Taylor, J. Am. Stat.
    Assoc. 84, 1989).  A row without a spread keeps variance 0.
    """
    scores = (found.errors / found.deviations) ** 2
    less_sure = np.maximum((FREEDOM + scores) / (FREEDOM + 1.0), 1.0) - 1.0
    noise = variance + found.noise
    return np.where(variance > 0, variance + less_sure * noise, 0.0)


def _pieces(sites: Sites) -> list[Ints]:
    """Split the rows of a fit into pieces of at most ``MOST_ROWS`` rows.

    At most ``MOST_PIECES`` pieces are returned.  A configuration of at most ``MOST_ROWS`` rows
    stays in one piece; a larger configuration is cut into interleaved parts.
    """
    cut: list[list[int]] = [[]]
    for rows in sites.by_configuration.values():
        count = -(-len(rows) // MOST_ROWS)
        for members in (rows[k::count] for k in range(count)):
            if len(cut[-1]) + len(members) > MOST_ROWS and cut[-1]:
                cut.append([])
            cut[-1].extend(members.tolist())
    if len(cut) > MOST_PIECES:
        cut = [cut[k * len(cut) // MOST_PIECES] for k in range(MOST_PIECES)]
    return [np.array(rows, dtype=np.int64) for rows in cut]
