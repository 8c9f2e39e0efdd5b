"""Choose the next runs of a calibration, from surfaces fitted to the values measured so far.

The domain is the set of runs at which errors are judged.  By default, the gain of a candidate run is the reduction of
the expected error over the domain.  With a use case, the gain is the expected number of undecided requirements that the
run would decide.  Both gains have a closed form, since the variance of a Gaussian process does not depend on the
measured value.  The runs of a batch are chosen one by one; each choice treats the runs chosen before as measured.

A surface predicts one metric at any run.  It has two parts, both from `icmodel.fits`: the costs per frame, byte and
packet, and a Gaussian process over the differences between measured values and costs.  Surfaces serve only to choose
runs; the predictions and errors that a user sees come from the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from icmodel.arrays import Floats
from icmodel.calibrate.runs import GOODPUT, Observed, Run, curves, packets
from icmodel.dataset.rows import RATIOS
from icmodel.estimate.statistics import NORMAL
from icmodel.fits.kernel import LABEL_DISTANCE, Covariance, Group, Kernel, MeasuredSites, variance
from icmodel.fits.likelihood import likeliest, piece_of
from icmodel.fits.mechanism import CONSTANT, COSTS, QUEUE, Mechanism
from icmodel.fits.observations import (
    LIMITED,
    OVERLOAD,
    SHORT,
    UNLIMITED,
    Observations,
    Sites,
    flowing,
)
from icmodel.fits.process import Process, process, scale_of

TINY = 1e-15


@dataclass(frozen=True, slots=True)
class Decision:
    """Undecided requirement of a use case: the metric may be above or below the required limit in the run ``run``.

    ``limit`` is the logarithm of the limit in SI units; for ratios (0…1), it is the limit itself.
    """

    run: Run
    metric: str
    limit: float


@dataclass(frozen=True, slots=True)
class Purpose:
    """Aim by which the next runs of a calibration are chosen.

    If there are undecided requirements, in ``decisions``, the aim is to decide them. Otherwise it is a low error of the
    predictions at the runs in ``domain``.
    """

    domain: tuple[Run, ...]
    decisions: tuple[Decision, ...] = ()


def choose(
    surfaces: Mapping[str, Surface], candidates: Sequence[Run], purpose: Purpose, count: int
) -> tuple[Run, ...]:
    """Choose the next runs to measure, the best run first.

    Parameters
    ----------
    surfaces : mapping of metric to surface
        The surface fitted to the measured values of each metric.
    candidates : sequence of runs
        Runs to choose from; a run that was measured may be repeated.
    purpose : Purpose
        Requirements to decide, or runs at which the model's errors should become low.
    count : int
        Greatest number of runs.
    """
    states = [_State(one, candidates, purpose) for one in surfaces.values()]
    limited = [state for state in states if state.is_limited] or states
    chosen: list[Run] = []
    for _ in range(min(count, len(candidates)) if states else 0):
        gains = np.sum([state.decided() for state in states], axis=0)
        if float(np.max(gains)) <= TINY:
            gains = np.sum([state.gains() for state in limited], axis=0)
        best = int(np.argmax(gains))
        chosen.append(candidates[best])
        for state in states:
            state.measure(best)
    return tuple(chosen)


class _State:
    """Posterior of one metric's surface (a Gaussian process), as if the runs chosen so far were already measured."""

    def __init__(self, surface: Surface, candidates: Sequence[Run], purpose: Purpose) -> None:
        asked = tuple(one for one in purpose.decisions if one.metric == surface.seen.metric)
        places = [one.run for one in asked] or list(purpose.domain)
        informs = surface.informs(candidates)
        self._limits = np.array([one.limit for one in asked])
        self._noise = surface.noise
        self._means, spread = surface.predict(places)
        self._variance = spread**2
        self._weights = np.ones(len(asked)) if asked else surface.error_weights(places)
        self._among = surface.covariance(candidates, candidates) * np.outer(informs, informs)
        self._cross = surface.covariance(places, candidates) * informs

    @property
    def is_limited(self) -> bool:
        """Whether at least one undecided requirement sets a limit for this metric."""
        return len(self._limits) > 0

    def _variances(self) -> tuple[Floats, Floats]:
        """Return the variances of predictions at n runs, and their reductions if one of m candidate runs is measured.

        The arrays have the shapes (n,) and (n, m). The n runs are those with an undecided requirement on the metric. If
        there are none, they are the runs at which predictions should be accurate (``Purpose.domain``).
        """
        less = self._cross**2 / (np.maximum(np.diag(self._among), 0.0) + self._noise)
        return np.maximum(self._variance, 0.0), less

    def gains(self) -> Floats:
        """Return, for each candidate run, how much measuring it would reduce the metric's expected error, 0…1.

        The reduction is a fraction of the present error, so a metric with greater errors does not outweigh the others.
        """
        variance, less = self._variances()
        now = np.sqrt(variance)
        after = np.sqrt(np.maximum(variance[:, None] - less, 0.0))
        whole = float(self._weights @ now)
        fall = self._weights @ (now[:, None] - after)
        return np.asarray(fall / whole if whole > 0 else fall)

    def decided(self) -> Floats:
        """For each candidate run, the expected number of requirements that its measurement would decide."""
        variance, less = self._variances()
        if not self.is_limited:
            return np.zeros(less.shape[1])
        left = np.sqrt(np.maximum(variance[:, None] - less, 0.0) + self._noise)
        moved = np.sqrt(np.maximum(less, TINY))
        distance = (self._means - self._limits)[:, None]
        above = ndtr((distance - NORMAL * left) / moved)
        below = ndtr((-distance - NORMAL * left) / moved)
        now = np.abs(distance) > NORMAL * np.sqrt(variance + self._noise)[:, None]
        return np.asarray(np.sum(np.where(now, 0.0, above + below), axis=0))

    def measure(self, index: int) -> None:
        """Update the posterior as if the candidate run with the given index had been measured."""
        scale = math.sqrt(max(float(self._among[index, index]), 0.0) + self._noise)
        column, reach = self._among[:, index] / scale, self._cross[:, index] / scale
        self._among = self._among - np.outer(column, column)
        self._cross = self._cross - np.outer(reach, column)
        self._variance = self._variance - reach**2


LABELS: tuple[Group, ...] = ((0, ""), (1, ""))
"""Labels by which a surface's kernel compares two runs: first the protocol, second the regime of the load."""
PRIOR = Kernel(label_distances=dict.fromkeys(LABELS, LABEL_DISTANCE))
WITHIN = 0.98
"""Greatest ratio of load to capacity at which a run counts as within capacity."""
CLEAR_OVERLOAD = SHORT
"""Ratio of load to capacity above which a run counts as clear overload, as in the model."""
MOST_ROWS = 96
"""Greatest number of measured runs in the fit of a surface's kernel; the time of the fit grows with its cube."""


@dataclass(frozen=True, slots=True)
class Axes:
    """Conversion of runs to the coordinates of a Gaussian process.

    Parameters
    ----------
    mtu_bytes : int
        MTU of the path.
    capacity : Surface, optional
        Surface of the goodput at unlimited load (the capacity).  A run whose load clearly exceeds the capacity is in
        overload.  ``None`` while the surface of the capacity itself is fitted: all runs then count as runs at
        unlimited load.
    """

    mtu_bytes: int
    capacity: Surface | None = None

    def sites(self, runs: Sequence[Run]) -> Sites:
        """Convert runs to their coordinates in a Gaussian process.

        The coordinates are the payload, the load, the packets per frame, the frames per second, and the regime of the
        load: unlimited, limited or overload.
        """
        full = np.array([run.unlimited or self.capacity is None for run in runs])
        load = np.where(full, 1.0, [run.load_bps for run in runs])
        regimes = np.where(full, UNLIMITED, LIMITED)
        able = None if self.capacity is None else self.capacity.goodput_bps(runs)
        if able is not None:
            regimes = np.where(~full & (load > CLEAR_OVERLOAD * able), OVERLOAD, regimes)
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
    """Surface of one metric: a Gaussian process over runs, fitted to the metric's measured values."""

    seen: Observed
    axes: Axes
    process: Process
    sites: Sites

    @property
    def noise(self) -> float:
        """Variance of the metric's logarithm between repeats of one run; for ratios, variance of the metric itself."""
        return self.process.scale**2 * self.process.kernel.noise

    def predict(self, runs: Sequence[Run]) -> tuple[Floats, Floats]:
        """Predict the metric at n runs: mean and standard deviation of its logarithm, as two arrays (n,).

        If the metric is a ratio, such as a loss rate, the mean and the standard deviation are those of the ratio
        itself, not of its logarithm (see `icmodel.calibrate.runs.scaled`).
        """
        sites = self.axes.sites(runs)
        modelled = self.process.mechanism.at(sites)
        cross = self._covariance(sites, self.sites)
        known = np.sum((cross @ self.process.inverse) * cross, axis=1)
        unknown = np.maximum(variance(self.process.kernel, modelled.shares) - known, 0.0)
        mean = _value(self.seen.metric, self.process.log_time(modelled, cross), sites)
        return mean, self.process.scale * np.sqrt(unknown)

    def covariance(self, first: Sequence[Run], second: Sequence[Run]) -> Floats:
        """Posterior covariance of the metric between n runs and m other runs: array (n, m)."""
        here, there = self.axes.sites(first), self.axes.sites(second)
        to_first, to_second = (self._covariance(one, self.sites) for one in (here, there))
        left = self._covariance(here, there) - to_first @ self.process.inverse @ to_second.T
        return np.asarray(self.process.scale**2 * left)

    def _covariance(self, left: Sites, right: Sites) -> Floats:
        first, second = (self.process.mechanism.at(sites).shares for sites in (left, right))
        distances = MeasuredSites(right, LABELS).distances(left)
        return Covariance(self.process.kernel, distances, first @ second.T).values

    def goodput_bps(self, runs: Sequence[Run]) -> Floats:
        """Predict the capacity [b/s] at the payload of each run; only for the surface of goodput."""
        return np.asarray(np.exp(self.predict(runs)[0]))

    def load_ratios(self, runs: Sequence[Run]) -> Floats:
        """Return each run's offered load divided by its predicted capacity; only the surface of goodput can do this."""
        return np.array([run.load_bps for run in runs]) / self.goodput_bps(runs)

    def error_weights(self, runs: Sequence[Run]) -> Floats:
        """Return the weight of each run, 0 or 1, in the expected error of this surface (the fit of one metric).

        The surface of goodput predicts the capacity, so only runs that saturate the capacity count (weight 1). For the
        surfaces of other metrics, all runs count.
        """
        if self.axes.capacity is not None:
            return np.ones(len(runs))
        return np.where(self.load_ratios(runs) > WITHIN, 1.0, 0.0)

    def informs(self, runs: Sequence[Run]) -> Floats:
        """Return 1 for each run whose measurement improves this surface (the fit of one metric), and 0 for other runs.

        The surface of goodput predicts the capacity, so only runs at unlimited load improve it. Every run improves the
        surfaces of other metrics.
        """
        if self.axes.capacity is not None:
            return np.ones(len(runs))
        return np.array([float(run.unlimited) for run in runs])


def surface(seen: Observed, axes: Axes, kernel: Kernel | None = None) -> Surface:
    """Fit a surface (Gaussian process) to a metric's measured values; by default with the most likely kernel."""
    sites = axes.sites(seen.runs)
    log_time = _value(seen.metric, seen.values, sites)

    # Ratios have a constant cost. Goodput has costs per frame, byte and packet, other metrics also a queueing delay.
    kind = CONSTANT if seen.metric in RATIOS else COSTS if seen.metric == GOODPUT else QUEUE
    mechanism = Mechanism(kind, sites, log_time)

    # The most likely kernel is found on at most `MOST_ROWS` evenly spaced rows.
    if kernel is None:
        some = np.unique(
            np.linspace(0, len(sites) - 1, min(len(sites), MOST_ROWS)).astype(np.int64)
        )
        part = sites.take(some)
        modelled = mechanism.at(part)
        residual = log_time[some] - modelled.log_time
        between = MeasuredSites(part, LABELS).distances(part)
        noiseless = np.zeros(len(some))
        rows = piece_of(between, modelled.shares, residual / scale_of(residual), noiseless)
        kernel = likeliest(PRIOR, [rows])

    nothing = np.zeros(len(sites))
    observed = Observations(sites, seen.values, nothing, nothing)
    apart = MeasuredSites(sites, LABELS).distances(sites)
    return Surface(seen, axes, process(mechanism, kernel, observed, apart, log_time), sites)


def surfaces(seen: Mapping[str, Observed], mtu_bytes: int) -> dict[str, Surface]:
    """Fit a surface (Gaussian process) to each metric; empty until two different runs at unlimited load were measured.

    Below saturation, goodput equals the offered load.  So the surface of goodput is fitted only to runs at unlimited
    load, and predicts the capacity.
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


def _value(metric: str, log_time: Floats, sites: Sites) -> Floats:
    """Convert log(time per frame) to log(goodput), or back; values of other metrics are returned unchanged.

    Since goodput = bits per frame / time per frame, one formula serves both directions: log(bits per frame) minus the
    given logarithm.
    """
    return np.log(8 * sites.payload_bytes) - log_time if metric == GOODPUT else log_time


SCANNED = 100
"""Number of geometrically spaced payloads of a curve among which the least payload within capacity is sought."""
FEW = 3
"""Overload runs are measured only on curves with at most this many overload runs."""
INSIDE = 1.1
"""Ratio of the two payloads that are measured on a curve next to saturation."""


def within_capacity(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """Select the runs at unlimited load, and the runs whose limited load is within the capacity.

    Runs whose limited load exceeds the capacity are left out: they give the same result as a run at unlimited load.
    """
    if GOODPUT not in known or not runs:
        return list(runs)
    over = known[GOODPUT].load_ratios(runs) > WITHIN
    return [run for run, much in zip(runs, over, strict=True) if run.unlimited or not much]


def near_saturation(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """Choose two runs just below saturation on each curve, where latency and CPU utilisation are steepest.

    A curve has runs of equal limited load and different payloads.  Small payloads saturate the hosts.  The first chosen
    payload is the least one such that neither it nor any greater payload of the curve saturates them.  The second is
    `INSIDE` times as large, or the curve's greatest payload if this is smaller.  Neither needs to be in the grid.
    """
    if GOODPUT not in known:
        return []
    found = []
    for curve in curves([run for run in runs if not run.unlimited]):
        most = curve[-1].payload_bytes
        scan = np.geomspace(curve[0].payload_bytes, most, SCANNED)
        sizes = np.unique(np.round(scan).astype(int)).tolist()
        asked = [replace(curve[0], payload_bytes=size) for size in sizes]
        over = np.flatnonzero(known[GOODPUT].load_ratios(asked) > WITHIN)
        if len(over) and over[-1] + 1 < len(asked):
            first = asked[over[-1] + 1]
            second = min(round(INSIDE * first.payload_bytes), most)
            found += list(dict.fromkeys((first, replace(first, payload_bytes=second))))
    return found


def overloaded(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """Select overload runs: those of the greatest limited load, at payloads where it clearly exceeds the capacity.

    They are measured since a paced sender in overload may reach less goodput than an unlimited sender.  If a dataset
    has overload runs, the model predicts overload from them alone.  So a curve (equal load, different payloads) needs
    either all of its overload runs or none.  With at most `FEW` overload runs, it gets all of them, otherwise none.
    """
    paced = [run for run in runs if not run.unlimited]
    if GOODPUT not in known or not paced:
        return []
    most = max(run.load_bps for run in paced)
    asked = [run for run in paced if run.load_bps == most]
    over = known[GOODPUT].load_ratios(asked) > CLEAR_OVERLOAD
    found = curves([run for run, much in zip(asked, over, strict=True) if much])
    return [run for curve in found if len(curve) <= FEW for run in curve]
