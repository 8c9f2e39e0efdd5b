"""Fit one metric by a weighted blend of two kinds of predictors.

Predictors of the first kind are Gaussian processes around a cost model, such as a time per frame plus
a time per byte.  Those of the second kind follow a single measured curve: the rows that differ only in
payload.

A fit works in *log time*.  For a rate, this is the natural logarithm of the time per frame.  For any
other metric, it is the logarithm of the value (`icmodel.fits.observations.Quantity`).

A metric is fitted directly, or as a multiple of another quantity.  The hyperparameters of a process
maximise the likelihood of the rows.  The blend weights its candidates (alternative predictors) by
their leave-one-out errors.  For a Gaussian process these errors have a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset
from icmodel.fits import SHIPPED, Constants
from icmodel.fits.blend import LEAST_ERROR, Blend, Widths, blend, widths
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
from icmodel.fits.likelihood import Hyperparameters, Kernels, likeliest, piece_of, rounded
from icmodel.fits.mechanism import CONSTANT, Mechanism, possible_kinds
from icmodel.fits.observations import (
    FLOWS,
    LIMITED,
    NO_PAYLOAD,
    OVERLOAD,
    PACKETS,
    Carrier,
    Observations,
    Quantity,
    Sites,
    observations,
    quantity,
    unlimited,
)
from icmodel.fits.process import (
    REST,
    Part,
    ProtocolProcesses,
    half_width,
    parts_of,
    process,
    scale_of,
    whole,
)
from icmodel.fits.store import KeptMetric

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KINDS = ("latency_", "rtt_", "cpu_", "packets_")
"""Prefixes of metric names, one for each kind of metric; all other rates (b/s or 1/s) are one more kind.

Metrics of one kind depend similarly on payload, load and options.  So the search for the kernels of
one metric starts from the kernels of another metric of its kind.
"""
MAXIMUM = "_max_"
"""Part of the name of every metric that is the greatest latency of a run."""
MEDIAN, MEAN = "_p50_s", "_mean_s"
MULTIPLES = (MEAN, "_p99_s")
"""Suffixes of latency metrics that are fitted as multiples of their median.

Minima and standard deviations depend on stalls, and are fitted directly.
"""
PAYLOAD, REGIME = -2, -1
"""Negative indices of two label columns: whether a row has a payload, and the regime of its load.

The columns before the regime identify the configuration.
"""
ALL = 1 - 1e-9
"""Least ratio of throughput to offered load that counts as carrying the whole load; below 1 for rounding."""


@dataclass(frozen=True, slots=True)
class TheoryPackets:
    """Theoretical packet rate of streams: frames per second times packets per frame.

    A stream below its capacity does not put two frames into one packet, so a frame has the packets of
    a lone frame.  A stream at its limit fills its packets, so a frame has the least number of packets.
    The frames per second of a stream at its limit follow from the fitted goodput.
    """

    goodput: FittedMetric

    def per_s(self, sites: Sites) -> Floats:
        """Theoretical packets per second at n sites (payload, load and labels), (n,)."""
        full = sites.at_limit
        frame_s = np.exp(self.goodput.at(_at_own_limit(sites))[0])
        frames = np.where(full, 1 / frame_s, sites.frames_per_s)
        return frames * np.where(full, sites.least_packets, sites.packets)

    def half(self, sites: Sites) -> Floats:
        """Half-width of the 90 % interval of ln(packet rate) at n sites (payload, load and labels), (n,).

        It is 0 at sites where the whole offered load is carried, since the load then determines the
        packet rate.  At other sites, it is the half-width of ln(goodput).
        """
        flows_bps = 8 * sites.payload_bytes * sites.frames_per_s
        limited = sites.labels[:, REGIME] == LIMITED
        _, half = self.goodput.fit.mean_at(_at_own_limit(sites))
        return np.where(limited & (flows_bps >= ALL * sites.load_bps), 0.0, half)


def _at_own_limit(sites: Sites) -> Sites:
    """Copy sites (payload, load and labels) with the unlimited load, at which the fitted goodput is the capacity.

    Sites in overload keep their load, since the goodput in overload is fitted too.
    """
    full = unlimited(sites)
    over = sites.labels[:, REGIME] == OVERLOAD
    labels = np.where(over[:, None], sites.labels, full.labels)
    return replace(full, labels=labels, load_bps=np.where(over, sites.load_bps, full.load_bps))


@dataclass(frozen=True, slots=True)
class FittedMetric:
    """Fit of a metric in log time, with the steps that convert values of the metric to log time and back.

    Log time is a natural logarithm: of the time per frame [s] if the metric is a rate, otherwise of
    the value of the metric.
    """

    fit: Fit
    quantity: Quantity
    over: FittedMetric | None = None
    """Metric by which this metric is divided before its fit; ``None`` if it is fitted directly."""
    packets: TheoryPackets | None = None
    """Theoretical packet rate by which this metric is divided before its fit, or ``None``."""
    mean: FittedMetric | None = None
    """Mean latency that is subtracted from a greatest latency before its fit, or ``None``."""

    def at(self, sites: Sites) -> tuple[Floats, Floats]:
        """Predict the log time at n sites (payload, load and labels) for one new run.

        Log time is the natural logarithm of the time per frame for a rate, and of the value for any
        other metric.  The result is the log time (n,), and the half-width (n,) of its 90 % interval.
        """
        log_time, half = self.fit.at(sites)
        if self.packets is not None:
            half = np.hypot(half, self.packets.half(sites))
        if self.mean is not None:
            mean, beside = self.mean.at(sites)
            greatest = np.logaddexp(mean, log_time)
            return greatest, np.logaddexp(mean + beside, log_time + half) - greatest
        if self.over is None:
            return log_time, half
        other, beside = self.over.fit.mean_at(sites)
        return log_time + other, np.hypot(half, beside)

    def log_time(self, values: Floats, sites: Sites) -> Floats:
        """Convert values of the metric at n sites (payload, load and labels) to the log times (n,) that are fitted.

        Log time is the natural logarithm of the time per frame for a rate, and of the value for any
        other metric.  A metric that is divided by another one is fitted as the log of the ratio.  A
        greatest latency is fitted as the log of the stall: the greatest minus the mean latency.
        """
        if self.packets is not None:
            values = values / self.packets.per_s(sites)
        log_time = self.quantity.log_time(values, sites.payload_bytes)
        if self.mean is not None:
            return stall(log_time, self.mean, sites)
        return log_time if self.over is None else log_time - self.over.at(sites)[0]

    def value(self, sites: Sites) -> Floats:
        """Predict the metric at n sites (payload, load and labels), array (n,).

        The result has the unit of the metric.  Only a packet rate is predicted as a ratio: its value
        divided by the theoretical packet rate.
        """
        return self.quantity.value(self.at(sites)[0], sites.payload_bytes)

    def unmeasured_half_width(self) -> float:
        """Further half-width of an interval for a configuration without measured rows, as a natural logarithm.

        A configuration is a protocol with its options and counts.  The caller combines this
        half-width with that of `at`: the root of the sum of both squares.
        """
        own = half_width(self.fit.processes[0], self.fit.sites.labels[:, :REGIME])
        beside = (self.over or self.mean) if self.packets is None else self.packets.goodput
        return own if beside is None else math.hypot(own, beside.unmeasured_half_width())


def stall(log_time: Floats, mean: FittedMetric, sites: Sites) -> Floats:
    """Natural logarithm of the stall [s] at each of n sites (payload, load and labels), (n,).

    The stall is the greatest latency of a run minus the predicted mean latency.  If the difference is
    smaller than the uncertainty of the mean (high end of its interval minus the mean), the stall is
    set to this uncertainty.

    Parameters
    ----------
    log_time : array (n,)
        Natural logarithm of the greatest latency [s].
    mean : FittedMetric
        Fit of the mean latency.
    sites : Sites
        Sites of the greatest latencies.
    """
    mean_log, half = mean.at(sites)
    above = np.expm1(np.maximum(log_time - mean_log, 0.0))
    return mean_log + np.log(np.maximum(above, np.maximum(np.expm1(half), LEAST_ERROR)))


@dataclass(frozen=True, slots=True)
class Fitter:
    """Fitter of the metrics of one dataset; a metric's fit may use the fits of other metrics.

    Parameters
    ----------
    data : Dataset
        The dataset.
    carrier : callable
        Function that computes packets and wire times of frames, see `Carrier`.
    fitted_metric : callable
        Function that returns the fit of a metric, given its name; ``None`` if the metric has too
        few rows.
    flowing : callable
        Function that returns a copy of sites (points of payload, load and labels) with their
        throughput, given a metric's name and the sites.  The throughput stays unknown at sites
        where it nearly equals the metric, since a metric must not be predicted from itself.
    constants : Constants
        Constants of every fit.
    """

    data: Dataset
    carrier: Carrier
    fitted_metric: Callable[[str], FittedMetric | None]
    flowing: Callable[[str, Sites], Sites]
    constants: Constants = SHIPPED

    def fit_metric(self, metric: str, kept: KeptMetric | None) -> FittedMetric | None:
        """Fit a metric; ``None`` if the metric has too few rows.

        If a stored fit ``kept`` is given, its hyperparameters are used; otherwise, they are searched.
        """
        observed = observations(self.data, metric, self.carrier)
        if observed is None:
            return None
        observed = replace(observed, sites=self.flowing(metric, observed.sites))
        values, theory = observed.values, self._packets(metric, observed.sites)
        if theory is not None:
            values = values / theory.per_s(observed.sites)
        measure = quantity(metric, values)
        first = self._first_of_kind(metric)
        over = None
        if first.endswith(MEDIAN) and metric.endswith(MULTIPLES):
            median = self.fitted_metric(first)
            over = median if median is not None and median.quantity == measure else None
        log_time = measure.log_time(values, observed.sites.payload_bytes)
        mean = self._mean_of(metric, measure)
        if mean is not None:
            greatest, log_time = log_time, stall(log_time, mean, observed.sites)
            ratio = np.exp(greatest - log_time)  # relative error of the stall / of the maximum
            observed = replace(
                observed, variance=observed.variance * ratio**2, spread=observed.spread * ratio
            )
        elif over is not None:
            log_time = log_time - over.at(observed.sites)[0]
        similar = None if kept else self._similar_fit(metric, over, len(observed.sites))
        numbers = kept.hyperparameters if kept else None
        found = fit(
            observed, log_time, similar, numbers,
            is_maximum=MAXIMUM in metric, constants=self.constants,
        )  # fmt: skip
        return FittedMetric(found, measure, over, theory, mean)

    def _mean_of(self, metric: str, measure: Quantity) -> FittedMetric | None:
        """Fit of the mean latency, for the fit of a greatest latency; ``None`` for all other metrics.

        With this result, the greatest latency minus the mean latency is fitted.  The result is also
        ``None`` if the dataset has no mean latency, or if the two latencies are converted to
        logarithms differently (see `Quantity`).  The greatest latency itself is then fitted.
        """
        if MAXIMUM not in metric:
            return None
        name = metric.replace(MAXIMUM, "_mean_")
        mean = self.fitted_metric(name) if name in self.data.metrics else None
        return mean if mean is not None and mean.quantity == measure else None

    def _packets(self, metric: str, sites: Sites) -> TheoryPackets | None:
        """Theoretical packet rate by which a packet metric is divided before its fit, or ``None``.

        ``None`` means that the metric itself is fitted.  This is so if it counts no packets, if a
        row has no payload or load, or if the goodput of a protocol is unknown.
        """
        if not metric.startswith(PACKETS):
            return None
        goodput = self.fitted_metric("goodput_bps")
        complete = sites.frames_per_s.all() and (sites.labels[:, PAYLOAD] != NO_PAYLOAD).all()
        if goodput is None or not complete:
            return None
        unknown = sites.by_protocol.keys() - goodput.fit.sites.by_protocol.keys()
        return None if unknown else TheoryPackets(goodput)

    def _similar_fit(self, metric: str, over: FittedMetric | None, rows: int) -> Fit | None:
        """Find the fit of a similar metric, whose kernels are the start of the search for this metric's kernels.

        The similar metric is the first of the metric's kind (`_first_of_kind`), such as the median
        latency.  If the metric is fitted as a multiple of this median (``over``), the similar metric
        is the mean latency.

        The result is ``None`` if this metric is itself the similar one.  It is also ``None`` if the
        similar metric has too few rows to help: fewer than this metric (``rows``), and fewer than
        ``MOST_ROWS``.
        """
        first = self._first_of_kind(metric)
        if over is not None:
            first = first.removesuffix(MEDIAN) + MEAN
        similar = None if first == metric else self.fitted_metric(first)
        if similar is None or len(similar.fit.sites) < min(rows, MOST_ROWS):
            return None  # more rows determine the kernels better
        return similar.fit

    def _first_of_kind(self, metric: str) -> str:
        """Name of the metric to fit first among all metrics of the same kind, such as all latencies.

        It is the goodput for rates (b/s or 1/s), and the median for other kinds.  Without a median it
        is the mean, and without a mean the first metric by name.  The median comes before the mean,
        since stalls in a run do not change it.
        """
        kind = next((kind for kind in KINDS if metric.startswith(kind)), None)
        if kind is None and metric.endswith(FLOWS):
            alike = [name for name in self.data.metrics if name.endswith(FLOWS)]
            return "goodput_bps" if "goodput_bps" in alike else alike[0]
        alike = [name for name in self.data.metrics if name.startswith(kind or metric)]
        steady = [name for end in (MEDIAN, MEAN) for name in alike if name.endswith(end)]
        return next(iter(steady), alike[0])


def kept_metric(fitted: FittedMetric) -> KeptMetric:
    """Extract the parts of a metric's fit that are stored.

    They are the hyperparameters, the costs of each protocol, and the mean weight of each candidate
    (alternative predictor).
    """
    found = fitted.fit
    costs = {
        name: [rounded(cost) for cost in found.mechanism.costs(name)]
        for name in found.sites.by_protocol
    }
    weights = dict(
        zip(CANDIDATES, map(rounded, found.blend.mean_candidate_weights().tolist()), strict=True)
    )
    return KeptMetric(found.hyperparameters, fitted.packets is not None, costs, weights)


# --- one fit in log time ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Design:
    """Design of a Gaussian process: the cost model that it corrects, and the form of its kernel.

    If ``constant``, the cost model is a constant.  Otherwise it is the metric's best cost model.  If
    ``per_protocol``, each protocol with enough rows has a process and hyperparameters of its own.
    """

    constant: bool
    form: str
    per_protocol: bool = False


DESIGNS = (
    Design(constant=False, form=PRODUCT, per_protocol=True),
    Design(constant=True, form=PRODUCT),
    Design(constant=True, form=JOINED),
)
"""Designs of the Gaussian processes in a fit; different designs have different errors."""
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
"""Greatest number n of rows in one piece of the likelihood; the computing time grows with n³."""
MOST_PIECES = 3
"""Greatest number of pieces in the likelihood; more pieces take longer and change the result little."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Predictions of all candidates (alternative predictors) at n sites.

    A site is a combination of payload, load and labels.  ``distances`` are the distances of the sites
    from the rows.  ``log_time`` (candidates, n) is NaN if a candidate makes no prediction.
    ``deviation`` (n,) is the standard deviation of the first Gaussian process, which grows with the
    distance of a site from the rows.
    """

    distances: Distances
    log_time: Floats
    deviation: Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """Fit of a metric in log time: candidates (alternative predictors), their blend, and its intervals.

    Log time is the natural logarithm of the time per frame for a rate, and of the value for any
    other metric.
    """

    measured: MeasuredSites
    processes: tuple[ProtocolProcesses, ...]
    plain: ProtocolProcesses
    """The first Gaussian process of the fit, before outliers lose weight.

    Its standard deviation grows with the distance of a site from the rows.  Its cost model, kernels
    and covariances equal those of ``processes[0]``.
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
        """Cost model of the fit: of all cost models, the one with the least leave-one-out error.

        To find this error, each row is left out in turn.  The cost model, together with a Gaussian
        process over its residual, predicts the row from the other rows.
        """
        return self.processes[0].mechanism

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Kind of the fit's cost model, and the kernels of its Gaussian processes."""
        return Hyperparameters(self.mechanism.kind, tuple(one.kernels for one in self.processes))

    def at(self, sites: Sites) -> tuple[Floats, Floats]:
        """Predict the log time at n sites (payload, load and labels) for one new run.

        Log time is the natural logarithm of the time per frame for a rate, and of the value for any
        other metric.  The result is the log time (n,), and the half-width (n,) of its 90 % interval.
        """
        log_time, half, row_weights = self._at(sites)
        return log_time, self.widths.of_run(half, row_weights)

    def mean_at(self, sites: Sites) -> tuple[Floats, Floats]:
        """Predict the metric's mean over many runs at n sites (payload, load and labels), as a logarithm.

        The logarithm is ln(time per frame [s]) for a rate such as goodput, and ln(value) for any other
        metric.  The result is its mean (n,), and the half-width (n,) of the mean's 90 % interval.  The
        interval of a single run is wider: see `at`.
        """
        log_time, half, _ = self._at(sites)
        return log_time, half

    def candidates(self, sites: Sites) -> Candidates:
        """Predict the metric at n sites (payload, load and labels) by each candidate (alternative predictor).

        The result has the log times (candidates, n).  Log time is a natural logarithm: of the time per
        frame [s] if the metric is a rate, otherwise of the value of the metric.
        """
        distances = self.measured.distances(sites)
        modelled = {one: one.at(sites) for one in {each.mechanism for each in self.processes}}
        physics = modelled[self.mechanism]
        crosses = [one.crosses(sites, modelled[one.mechanism], distances) for one in self.processes]
        predicted = [one.log_time(own) for one, own in zip(self.processes, crosses, strict=True)]
        predicted += [*self.curves.log_time(sites, physics.log_time)]
        return Candidates(distances, np.stack(predicted), self.plain.deviation(crosses[0]))

    def _at(self, sites: Sites) -> tuple[Floats, Floats, Floats]:
        """Predict the metric at n sites (points of payload, load and labels).

        The result is the log time (n,), the half-width (n,) of its 90 % interval for the mean over many
        runs, and the weight of each row in each prediction (n, rows).  Log time is the natural
        logarithm of the time per frame for a rate, and of the value for any other metric.
        """
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
    similar: Fit | None = None,
    hyperparameters: Hyperparameters | None = None,
    *,
    is_maximum: bool = False,
    constants: Constants = SHIPPED,
) -> Fit:
    """Fit all candidate predictors to the rows of a metric, and blend them.

    Parameters
    ----------
    observed : Observations
        Rows of the metric.
    log_time : array (rows,)
        Natural logarithm of the fitted time [s] at each row: the time per frame for a rate, otherwise the value.
        For a metric that is fitted as a multiple of another metric, the difference of their logarithms.
    similar : Fit, optional
        Fit of a similar metric.  The search for hyperparameters starts from its kernels, which
        saves steps.  If there are at most ``MOST_ROWS`` rows, ``similar`` is ignored.
    hyperparameters : Hyperparameters, optional
        Hyperparameters that a former search found for the same rows; they replace the search.
    is_maximum : bool
        Whether the metric is the greatest latency of a run, or a stall: the greatest minus the mean
        latency.  If so, the blend lowers its predictions, uncertain ones more than others.
    constants : Constants
        Constants of the blend and of the intervals.
    """
    if len(log_time) <= MOST_ROWS:
        similar = None  # a search is fast with few rows
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
        near = similar.processes[number].kernels if similar else {}
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
        """Condition Gaussian processes on the residual at the rows: log time minus the cost model's log time.

        Log time is ln(time per frame) for a rate, and ln(value) for any other metric.
        ``kernels`` holds the kernel of each process, by the part of the rows that it uses: one
        protocol, or all rows.
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
        """Choose the cost model whose residual a Gaussian process predicts with the least mean error.

        The error is the leave-one-out error: the process predicts the residual of each measured row
        from the other rows.
        """

        def error(one: Mechanism) -> float:
            found = self.through(one, {REST: Kernel()})
            return float(np.mean(np.minimum(np.abs(found.errors), 1.0)))

        return mechanisms[0] if len(mechanisms) == 1 else min(mechanisms, key=error)

    def likeliest(self, mechanism: Mechanism, design: Design, near: Kernels) -> Kernels:
        """Find the most likely kernel for each part of the rows, by name of the part.

        A part has the rows of one protocol, or all rows.  If ``near`` has a kernel for a part, the
        search starts from it.
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
        """Copy these rows, and give outliers a greater variance (`robust_variance`), so that they count less."""
        variance = robust_variance(found, self.observed.variance)
        return replace(self, observed=replace(self.observed, variance=variance))


def robust_variance(found: ProtocolProcesses, variance: Floats) -> Floats:
    """Increase the variance (rows,) of outliers: rows whose leave-one-out error e exceeds its deviation σ.

    The spread of a few runs is uncertain, and some runs are disturbed.  So the noise is assumed to
    have Student's distribution with ν degrees of freedom.  It gives an outlier the weight
    (ν + 1) / (ν + e²/σ²) < 1 (K. L. Lange, R. J. A. Little and J. M. G. Taylor, J. Am. Stat.
    Assoc. 84, 1989), and its noise variance is divided by this weight.  A row without a known spread
    has the variance 0, and keeps it.
    """
    scores = (found.errors / found.deviations) ** 2
    less_sure = np.maximum((FREEDOM + scores) / (FREEDOM + 1.0), 1.0) - 1.0
    noise = variance + found.noise
    return np.where(variance > 0, variance + less_sure * noise, 0.0)


def _pieces(sites: Sites) -> list[Ints]:
    """Split the rows of a fit into pieces of at most ``MOST_ROWS`` rows, as arrays of row indices.

    The likelihood is computed for each piece, since its time grows with the cube of the number of rows.
    Rows with equal labels stay in one piece.  If there are more than ``MOST_ROWS`` such rows, they are
    cut into k parts, each with every k-th row.  If there are more than ``MOST_PIECES`` pieces, only
    ``MOST_PIECES`` of them, evenly spaced, are used.
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
