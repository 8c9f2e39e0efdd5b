"""Fit one metric of a dataset, directly or as a multiple of another quantity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset
from icmodel.fits.blend import LEAST_ERROR
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.fits.fit import CANDIDATES, MOST_ROWS, Fit, fit
from icmodel.fits.likelihood import rounded
from icmodel.fits.observations import (
    FLOWS,
    LIMITED,
    NO_PAYLOAD,
    OVERLOAD,
    PACKETS,
    Carrier,
    Quantity,
    Sites,
    observations,
    quantity,
    unlimited,
)
from icmodel.fits.process import half_width
from icmodel.fits.store import KeptMetric

Floats = NDArray[np.float64]

KINDS = ("latency_", "rtt_", "cpu_", "packets_")
"""Prefixes of metric names, one for each kind; all other rates (b/s or 1/s) are another kind.

Metrics of one kind vary similarly with payload, load and options.  So the search for the kernels of
one metric starts from the kernels of another metric of its kind.
"""
MAXIMUM = "_max_"
"""Substring in the name of every metric that is a run's greatest latency."""
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
"""Least ratio of throughput to offered load at which the load counts as carried in full.

The margin to 1 allows for rounding.
"""


@dataclass(frozen=True, slots=True)
class TheoryPackets:
    """Theoretical packet rate at the fitted goodput.

    Below capacity, no packet holds data of two frames.  A stream at its limit fills its packets.
    """

    goodput: FittedMetric

    def per_s(self, where: Sites) -> Floats:
        """Theoretical packets per second at n sites, (n,)."""
        full = where.at_limit
        frame_s = np.exp(self.goodput.at(_at_own_limit(where))[0])
        frames = np.where(full, 1 / frame_s, where.frames_per_s)
        return frames * np.where(full, where.least_packets, where.packets)

    def half(self, where: Sites) -> Floats:
        """Half-width (n,) of the 90 % interval of the log packet rate at n sites.

        If the whole offered load is carried, the half-width is 0, since the load then determines
        the packet rate.
        """
        flows_bps = 8 * where.payload_bytes * where.frames_per_s
        limited = where.labels[:, REGIME] == LIMITED
        _, half = self.goodput.fit.mean_at(_at_own_limit(where))
        return np.where(limited & (flows_bps >= ALL * where.load_bps), 0.0, half)


def _at_own_limit(where: Sites) -> Sites:
    """Copy sites, and set their load to unlimited, at which goodput is fitted. Sites in overload keep their load."""
    full = unlimited(where)
    over = where.labels[:, REGIME] == OVERLOAD
    labels = np.where(over[:, None], where.labels, full.labels)
    return replace(full, labels=labels, load_bps=np.where(over, where.load_bps, full.load_bps))


@dataclass(frozen=True, slots=True)
class FittedMetric:
    """Fit of a metric, and the conversion of the metric's values to log time."""

    fit: Fit
    quantity: Quantity
    over: FittedMetric | None = None
    """Metric by which this metric is divided before its fit; ``None`` if it is fitted directly."""
    packets: TheoryPackets | None = None
    """Theoretical packet rate by which this metric is divided before its fit, or ``None``."""
    mean: FittedMetric | None = None
    """Mean latency that is subtracted from a greatest latency before its fit, or ``None``."""

    def at(self, where: Sites) -> tuple[Floats, Floats]:
        """Predict the log time at n sites, and its 90 % half-width for one new run."""
        log_time, half = self.fit.at(where)
        if self.packets is not None:
            half = np.hypot(half, self.packets.half(where))
        if self.mean is not None:
            mean, beside = self.mean.at(where)
            greatest = np.logaddexp(mean, log_time)
            return greatest, np.logaddexp(mean + beside, log_time + half) - greatest
        if self.over is None:
            return log_time, half
        other, beside = self.over.fit.mean_at(where)
        return log_time + other, np.hypot(half, beside)

    def log_time(self, values: Floats, where: Sites) -> Floats:
        """Convert values of the metric at n sites to the fitted log time."""
        if self.packets is not None:
            values = values / self.packets.per_s(where)
        log_time = self.quantity.log_time(values, where.payload_bytes)
        if self.mean is not None:
            return stall(log_time, self.mean, where)
        return log_time if self.over is None else log_time - self.over.at(where)[0]

    def value(self, where: Sites) -> Floats:
        """Predict the metric at n sites; for a packet rate, its ratio to the theoretical rate."""
        return self.quantity.value(self.at(where)[0], where.payload_bytes)

    def elsewhere(self) -> float:
        """Log half-width by which intervals grow for a configuration without measured rows."""
        own = half_width(self.fit.processes[0], self.fit.sites.labels[:, :REGIME])
        beside = (self.over or self.mean) if self.packets is None else self.packets.goodput
        return own if beside is None else math.hypot(own, beside.elsewhere())


def stall(log_time: Floats, mean: FittedMetric, where: Sites) -> Floats:
    """Log of the stall in each greatest latency, (n,).

    A stall is the difference between the greatest latency of a run and its mean.  Its least value is the half-width of
    the predicted mean; smaller differences are uncertain.

    Parameters
    ----------
    log_time : array (n,)
        Natural logarithm of the greatest latency [s].
    mean : FittedMetric
        Fit of the mean latency.
    where : Sites
        Sites of the greatest latencies.
    """
    mean_log, half = mean.at(where)
    above = np.expm1(np.maximum(log_time - mean_log, 0.0))
    return mean_log + np.log(np.maximum(above, np.maximum(np.expm1(half), LEAST_ERROR)))


@dataclass(frozen=True, slots=True)
class Fitter:
    """Fitter of the metrics of one dataset; a metric's fit may use the fits of other metrics.

    Parameters
    ----------
    fitted_metric : callable
        Function from the name of a metric to its fit; ``None`` if the metric has too few rows.
    flowing : callable
        Function of a metric's name and sites that adds the throughput, if the metric's fit may use
        it.
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

        If ``kept`` is given, its hyperparameters replace the search.
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
        like = None if kept else self._like(metric, over, len(observed.sites))
        numbers = kept.hyperparameters if kept else None
        found = fit(
            observed, log_time, like, numbers,
            is_maximum=MAXIMUM in metric, constants=self.constants,
        )  # fmt: skip
        return FittedMetric(found, measure, over, theory, mean)

    def _mean_of(self, metric: str, measure: Quantity) -> FittedMetric | None:
        """Fit of the mean latency, if the metric is a greatest latency; otherwise ``None``."""
        if MAXIMUM not in metric:
            return None
        name = metric.replace(MAXIMUM, "_mean_")
        mean = self.fitted_metric(name) if name in self.data.metrics else None
        return mean if mean is not None and mean.quantity == measure else None

    def _packets(self, metric: str, where: Sites) -> TheoryPackets | None:
        """Theoretical packet rate, if the metric is fitted as a multiple of it; otherwise ``None``.

        The metric is fitted directly if a row has no payload or load, or if a protocol has no
        goodput.
        """
        if not metric.startswith(PACKETS):
            return None
        goodput = self.fitted_metric("goodput_bps")
        complete = where.frames_per_s.all() and (where.labels[:, PAYLOAD] != NO_PAYLOAD).all()
        if goodput is None or not complete:
            return None
        unknown = where.by_protocol.keys() - goodput.fit.sites.by_protocol.keys()
        return None if unknown else TheoryPackets(goodput)

    def _like(self, metric: str, over: FittedMetric | None, rows: int) -> Fit | None:
        """Find the fit of a similar metric, from whose kernels the search starts, or ``None``.

        For a multiple of the median, this is the fit of the mean.  Otherwise it is the fit of the
        first metric of the same kind.  A fit is not used if it has fewer rows than this metric.
        """
        first = self._first_of_kind(metric)
        if over is not None:
            first = first.removesuffix(MEDIAN) + MEAN
        like = None if first == metric else self.fitted_metric(first)
        if like is None or len(like.fit.sites) < min(rows, MOST_ROWS):
            return None  # more rows determine the kernels better
        return like.fit

    def _first_of_kind(self, metric: str) -> str:
        """Name of the first metric of the same kind: median, mean, or first by name.

        For rates, it is the goodput.  Mean and 99 % quantile are fitted as multiples of the median,
        since stalls in a run do not change the median.
        """
        kind = next((kind for kind in KINDS if metric.startswith(kind)), None)
        if kind is None and metric.endswith(FLOWS):
            alike = [name for name in self.data.metrics if name.endswith(FLOWS)]
            return "goodput_bps" if "goodput_bps" in alike else alike[0]
        alike = [name for name in self.data.metrics if name.startswith(kind or metric)]
        steady = [name for end in (MEDIAN, MEAN) for name in alike if name.endswith(end)]
        return next(iter(steady), alike[0])


def kept_metric(fitted: FittedMetric) -> KeptMetric:
    """Extract the stored form of a metric's fit: hyperparameters, costs and mean weights."""
    found = fitted.fit
    costs = {
        name: [rounded(cost) for cost in found.mechanism.costs(name)]
        for name in found.sites.by_protocol
    }
    weights = dict(
        zip(CANDIDATES, map(rounded, found.blend.mean_candidate_weights().tolist()), strict=True)
    )
    return KeptMetric(found.hyperparameters, fitted.packets is not None, costs, weights)
