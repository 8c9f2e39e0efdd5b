"""Fit one metric of a dataset, directly or as a multiple of another quantity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.fits.fit import CANDIDATES, MOST_ROWS, Fit, fit
from icmodel.fits.likelihood import rounded
from icmodel.fits.observations import (
    FLOWS,
    NO_PAYLOAD,
    PACKETS,
    Carrier,
    Quantity,
    Sites,
    observations,
    quantity,
    unlimited,
)
from icmodel.fits.process import half_width
from icmodel.fits.regimes import LIMITED, OVERLOAD
from icmodel.fits.store import KeptMetric

Floats = NDArray[np.float64]

KINDS = ("latency_", "rtt_", "cpu_", "packets_")
"""Metrics of one kind, and all flows, vary alike over payload, load and options: the search for one starts from
the kernels of another."""
MAXIMUM = "_max_"
"""Part of the names of greatest latencies."""
MEDIAN, MEAN = "_p50_s", "_mean_s"
MULTIPLES = (MEAN, "_p99_s")
"""Metrics fitted as multiples of their median; minima, maxima and spreads depend on stalls, so are not."""
PAYLOAD, REGIME = -2, -1
"""Label columns from the end: whether a row has a payload, and its regime.  The columns before the regime identify
the configuration."""
ALL = 1 - 1e-9
"""Share of the offered load from which all of it counts as carried; less by rounding only."""


@dataclass(frozen=True, slots=True)
class TheoryPackets:
    """Theory's packet rate: frames in packets of their own; full packets of a stream at its limit."""

    goodput: FittedMetric

    def per_s(self, where: Sites) -> Floats:
        """Packets per second at some sites."""
        full = where.at_limit
        frame_s = np.exp(self.goodput.at(_at_own_limit(where))[0])
        frames = np.where(full, 1 / frame_s, where.frames_per_s)
        return frames * np.where(full, where.least_packets, where.packets)

    def half(self, where: Sites) -> Floats:
        """Half-width of their logarithm: 0 where the whole offered load is carried."""
        flows_bps = 8 * where.payload_bytes * where.frames_per_s
        limited = where.labels[:, REGIME] == LIMITED
        _, half = self.goodput.fit.mean_at(_at_own_limit(where))
        return np.where(limited & (flows_bps >= ALL * where.load_bps), 0.0, half)


def _at_own_limit(where: Sites) -> Sites:
    """The sites at the unlimited load, as the goodput is fitted there; sites in overload as they are."""
    full = unlimited(where)
    over = where.labels[:, REGIME] == OVERLOAD
    labels = np.where(over[:, None], where.labels, full.labels)
    return replace(full, labels=labels, load_bps=np.where(over, where.load_bps, full.load_bps))


@dataclass(frozen=True, slots=True)
class FittedMetric:
    """A fit, and how its metric turns into log time."""

    fit: Fit
    quantity: Quantity
    over: FittedMetric | None = None
    """The metric of which this one is fitted as a multiple."""
    packets: TheoryPackets | None = None
    """Theory's packets, of which this metric is fitted as a multiple."""

    def at(self, where: Sites) -> tuple[Floats, Floats]:
        """Log time at some sites, and the half-width of a 90 % interval for one new run."""
        log_time, half = self.fit.at(where)
        if self.packets is not None:
            half = np.hypot(half, self.packets.half(where))
        if self.over is None:
            return log_time, half
        other, beside = self.over.fit.mean_at(where)
        return log_time + other, np.hypot(half, beside)

    def log_time(self, values: Floats, where: Sites) -> Floats:
        """Convert values of the metric at some sites to the log time of the fit."""
        if self.packets is not None:
            values = values / self.packets.per_s(where)
        log_time = self.quantity.log_time(values, where.payload_bytes)
        return log_time if self.over is None else log_time - self.over.at(where)[0]

    def value(self, where: Sites) -> Floats:
        """The metric, or its multiple of theory's packets, at some sites."""
        return self.quantity.value(self.at(where)[0], where.payload_bytes)

    def elsewhere(self) -> float:
        """Half-width, in log time, to add for a configuration without rows."""
        own = half_width(self.fit.processes[0], self.fit.sites.labels[:, :REGIME])
        beside = self.over if self.packets is None else self.packets.goodput
        return own if beside is None else math.hypot(own, beside.elsewhere())


@dataclass(frozen=True, slots=True)
class Fitter:
    """Fits metrics of one dataset, using the fits of others.

    Parameters
    ----------
    of : callable
        Maps a metric's name to its fit; ``None`` if it has too few rows.
    flowing : callable
        Adds the throughput to sites, as far as a fit of the metric may use it.
    constants : Constants
        Constants of every fit.
    """

    data: Dataset
    carrier: Carrier
    of: Callable[[str], FittedMetric | None]
    flowing: Callable[[str, Sites], Sites]
    constants: Constants = SHIPPED

    def fitted(self, metric: str, known: KeptMetric | None) -> FittedMetric | None:
        """Fit a metric; ``None`` if it has too few rows.

        If ``known`` is given, its hyperparameters are used without a search.
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
            median = self.of(first)
            over = median if median is not None and median.quantity == measure else None
        log_time = measure.log_time(values, observed.sites.payload_bytes)
        if over is not None:
            log_time = log_time - over.at(observed.sites)[0]
        like = None if known else self._like(metric, over, len(observed.sites))
        numbers = known.hyperparameters if known else None
        found = fit(
            observed, log_time, like, numbers,
            is_maximum=MAXIMUM in metric, constants=self.constants,
        )  # fmt: skip
        return FittedMetric(found, measure, over, theory)

    def _packets(self, metric: str, where: Sites) -> TheoryPackets | None:
        """Theory's packets if the metric is fitted as a multiple of them, otherwise ``None``.

        It is fitted by itself if a row has no payload or load, or if a protocol has no goodput.
        """
        if not metric.startswith(PACKETS):
            return None
        goodput = self.of("goodput_bps")
        complete = where.frames_per_s.all() and (where.labels[:, PAYLOAD] != NO_PAYLOAD).all()
        if goodput is None or not complete:
            return None
        unknown = where.by_protocol.keys() - goodput.fit.sites.by_protocol.keys()
        return None if unknown else TheoryPackets(goodput)

    def _like(self, metric: str, over: FittedMetric | None, rows: int) -> Fit | None:
        """Find the fit from whose kernels the search for a metric starts.

        It is that of the first metric of its kind, or of the mean for multiples of a median.
        """
        first = self._first_of_kind(metric)
        if over is not None:
            first = first.removesuffix(MEDIAN) + MEAN
        like = None if first == metric else self.of(first)
        if like is None or len(like.fit.sites) < min(rows, MOST_ROWS):
            return None  # the search of a metric with more rows determines more
        return like.fit

    def _first_of_kind(self, metric: str) -> str:
        """Name of the metric of a kind that is fitted first: its median, its mean, or the first by name.

        Mean and 99 % quantile are fitted as multiples of the median: stalls in a run do not change the median.
        """
        kind = next((kind for kind in KINDS if metric.startswith(kind)), None)
        if kind is None and metric.endswith(FLOWS):
            alike = [name for name in self.data.metrics if name.endswith(FLOWS)]
            return "goodput_bps" if "goodput_bps" in alike else alike[0]
        alike = [name for name in self.data.metrics if name.startswith(kind or metric)]
        steady = [name for end in (MEDIAN, MEAN) for name in alike if name.endswith(end)]
        return next(iter(steady), alike[0])


def kept_metric(fitted: FittedMetric) -> KeptMetric:
    """Extract the part of a metric's fit that is kept."""
    found = fitted.fit
    costs = {
        name: [rounded(cost) for cost in found.mechanism.costs(name).tolist()]
        for name in found.sites.by_protocol
    }
    weights = dict(zip(CANDIDATES, map(rounded, found.blend.usual_weights().tolist()), strict=True))
    return KeptMetric(found.hyperparameters, fitted.packets is not None, costs, weights)
