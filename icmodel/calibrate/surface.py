"""Surface: what runs say of one metric, and how sure that is anywhere else.

It decides which run is next and judges the error meanwhile; predictions are the model's. A surface is one
process of `fits`: costs a frame, byte and packet, and a Gaussian process over what they leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Floats
from icmodel.calibrate.grid import packets
from icmodel.calibrate.observed import ABSOLUTE, GOODPUT, Observed
from icmodel.calibrate.run import Run
from icmodel.fits.distances import Group, Known
from icmodel.fits.kernel import APART, Covariance, Kernel, variance
from icmodel.fits.likelihood import Piece, likeliest
from icmodel.fits.mechanism import CONSTANT, COSTS, QUEUE, Mechanism
from icmodel.fits.observations import Observations, Sites, flowing
from icmodel.fits.process import Process, process, scale_of
from icmodel.fits.regimes import LIMITED, OVERLOAD, SHORT, UNLIMITED

LABELS: tuple[Group, ...] = ((0, ""), (1, ""))
"""What parts two runs beside payload and load: protocol, and whether the load is too much."""
PRIOR = Kernel(apart=dict.fromkeys(LABELS, APART))
CARRIED = 0.98
"""Up to this share of the capacity a load counts as carried."""
CLEARLY = SHORT
"""From so many times the capacity a load clearly asks too much, as the model says of a paced sender."""
MOST_ROWS = 96
"""Rows that the kernel's numbers are chosen by: the time it takes grows with their cube."""


@dataclass(frozen=True, slots=True)
class Axes:
    """Where runs stand for a process.

    Parameters
    ----------
    mtu_bytes : int
        Where packets end [B].
    capacity : Surface, optional
        That of the goodput at full load, which says what flows of a load; ``None`` for itself.
    """

    mtu_bytes: int
    capacity: Surface | None = None

    def sites(self, runs: Sequence[Run]) -> Sites:
        """The runs with the frames that flow in each."""
        full = np.array([run.unlimited or self.capacity is None for run in runs])
        load = np.where(full, 1.0, [run.load_bps for run in runs])
        regimes = np.where(full, UNLIMITED, LIMITED)
        able = None if self.capacity is None else self.capacity.goodput_bps(runs)
        if able is not None:
            regimes = np.where(~full & (load > CLEARLY * able), OVERLOAD, regimes)
        protocols = np.array([run.protocol for run in runs])
        needed, nothing = packets(runs, self.mtu_bytes).astype(np.float64), np.zeros(len(runs))
        where = Sites(
            payload_bytes=np.array([float(run.payload_bytes) for run in runs]),
            load_bps=load,
            packets=needed,
            least_packets=needed,
            wire_s=nothing,
            least_s=nothing,
            labels=np.stack([protocols, regimes], axis=1),
            frames_per_s=nothing,
            queue=nothing,
        )
        return where if able is None else flowing(where, able)


@dataclass(frozen=True, slots=True)
class Surface:
    """The process through what was measured of one metric."""

    seen: Observed
    axes: Axes
    process: Process
    sites: Sites

    @property
    def noise(self) -> float:
        """Variance of one run."""
        return self.process.scale**2 * self.process.kernel.noise

    def predict(self, runs: Sequence[Run]) -> tuple[Floats, Floats]:
        """Mean and standard deviation at some runs, where a difference is an error."""
        sites = self.axes.sites(runs)
        modelled = self.process.mechanism.at(sites)
        cross = self._covariance(sites, self.sites)
        known = np.sum((cross @ self.process.inverse) * cross, axis=1)
        unknown = np.maximum(variance(self.process.kernel, modelled.shares) - known, 0.0)
        mean = _value(self.seen.metric, self.process.log_time(modelled, cross), sites)
        return mean, self.process.scale * np.sqrt(unknown)

    def covariance(self, first: Sequence[Run], second: Sequence[Run]) -> Floats:
        """What is still unknown together at runs of the first and of the second."""
        here, there = self.axes.sites(first), self.axes.sites(second)
        to_first, to_second = (self._covariance(one, self.sites) for one in (here, there))
        left = self._covariance(here, there) - to_first @ self.process.inverse @ to_second.T
        return np.asarray(self.process.scale**2 * left)

    def _covariance(self, left: Sites, right: Sites) -> Floats:
        shares = (self.process.mechanism.at(sites).shares for sites in (left, right))
        return Covariance(self.process.kernel, Known(right, LABELS).distances(left), *shares).values

    def goodput_bps(self, runs: Sequence[Run]) -> Floats:
        """Of a capacity: the goodput at the payloads of some runs at full load [b/s]."""
        return np.asarray(np.exp(self.predict(runs)[0]))

    def shares(self, runs: Sequence[Run]) -> Floats:
        """Of a capacity: what runs ask for over it."""
        return np.array([run.load_bps for run in runs]) / self.goodput_bps(runs)

    def counts(self, runs: Sequence[Run]) -> Floats:
        """How much an error counts at runs: that of a capacity only where it limits."""
        if self.axes.capacity is not None:
            return np.ones(len(runs))
        return np.where(self.shares(runs) > CARRIED, 1.0, 0.0)

    def tells(self, runs: Sequence[Run]) -> Floats:
        """1 where a run says something: of a capacity only what is as fast as it goes."""
        if self.axes.capacity is not None:
            return np.ones(len(runs))
        return np.array([float(run.unlimited) for run in runs])


def surface(seen: Observed, axes: Axes, kernel: Kernel | None = None) -> Surface:
    """The surface through what was measured; without a kernel with the likeliest one."""
    sites = axes.sites(seen.runs)
    log_time = _value(seen.metric, seen.values, sites)
    mechanism = Mechanism(_kind(seen.metric), sites, log_time)
    nothing = np.zeros(len(sites))
    observed = Observations(sites, seen.values, nothing, nothing)
    kernel = kernel or _likeliest(mechanism, sites, log_time)
    apart = Known(sites, LABELS).distances(sites)
    return Surface(seen, axes, process(mechanism, kernel, observed, apart, log_time), sites)


def surfaces(seen: Mapping[str, Observed], mtu_bytes: int) -> dict[str, Surface]:
    """A surface of each metric; empty before anything was measured at full load.

    That of the goodput is the capacity: what is carried is what was asked.
    """
    goodput = seen.get(GOODPUT)
    if goodput is None:
        return {}
    full = [index for index, run in enumerate(goodput.runs) if run.unlimited]
    if len({goodput.runs[index] for index in full}) < 2:
        return {}
    capacity = surface(goodput.part(full), Axes(mtu_bytes))
    above = Axes(mtu_bytes, capacity)
    return {
        metric: capacity if metric == GOODPUT else surface(one, above)
        for metric, one in seen.items()
    }


def _kind(metric: str) -> str:
    """What the time of a metric is made of: costs, costs and a queue; of a share nothing."""
    if metric in ABSOLUTE:
        return CONSTANT
    return COSTS if metric == GOODPUT else QUEUE


def _value(metric: str, log_time: Floats, sites: Sites) -> Floats:
    """From the log of a time to the scale of a metric, and back: a goodput falls with it."""
    return np.log(8 * sites.payload_bytes) - log_time if metric == GOODPUT else log_time


def _likeliest(mechanism: Mechanism, sites: Sites, log_time: Floats) -> Kernel:
    """The likeliest kernel of some rows, evenly drawn where there are many."""
    some = np.unique(np.linspace(0, len(sites) - 1, min(len(sites), MOST_ROWS)).astype(np.int64))
    part = sites.take(some)
    modelled = mechanism.at(part)
    residual = log_time[some] - modelled.log_time
    scale = scale_of(residual)
    apart = Known(part, LABELS).distances(part)
    return likeliest(PRIOR, [Piece(apart, modelled.shares, residual / scale, np.zeros(len(some)))])
