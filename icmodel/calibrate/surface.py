"""Surface: a Gaussian process through one metric, that knows where it knows little.

It decides which run is next and judges the error meanwhile; predictions are the model's. Places
have these coordinates, and the kernel is the product of Matérn kernels (order 3/2) over them:
payload and packets a frame (both as logarithms to the base 2, so that a frame of one packet more
lies apart from its neighbour of one byte less), the load (logarithm), and how far the load is
above what the path carries (between 0 and 1, steep at 1). Protocols share the kernel and half
of the variance. Scales are those of the greatest marginal likelihood on a small grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.calibrate.grid import curves, packets
from icmodel.calibrate.observed import Observed
from icmodel.calibrate.run import Run
from icmodel.fits.regimes import SHORT

Floats = NDArray[np.float64]
SCALES: tuple[tuple[float, ...], ...] = (
    (2.0, 4.0, 8.0, 16.0),
    (0.7, 2.0, 6.0, 18.0),
    (1.5, 4.0, 12.0),
    (0.3, 1.0, 3.0, 9.0),
)
"""Length scales that are tried: payload, packets, load, saturation."""
AMPLITUDES = (0.1, 0.3, 1.0, 3.0)
NOISES = (0.003, 0.01, 0.03, 0.1, 0.3)
START = (4.0, 2.0, 4.0, 1.0)
SHARED = 0.5
"""Correlation of two protocols at the same place."""
TREND = 4.0
"""Variance of the constant and of the slope over the payload, in units of the amplitude's."""
ROUNDS = 2
OVER = 1.5
"""A load without limit counts as so many times what the path carries."""
STEEP = 0.15
JITTER = 1e-8
MOST_ROWS = 96
"""Rows that the scales are chosen by: the time it takes grows with their cube."""
GOODPUT = "goodput_bps"
CARRIED = 0.98
"""Up to this share of what the path is thought to carry a load counts as carried."""
SCANNED = 100
"""Payloads, at equal ratios, among which the edge of what is carried is looked for."""
CLEARLY = SHORT
"""From so many times what the path is thought to carry a load clearly asks too much, as the model
says of a paced sender."""
FEW = 3
"""Up to so many runs that ask too much are bought, all of them; a few of many would mislead."""
INSIDE = 1.1
"""The second run at an edge has so many times the payload of the first."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """How alike two places are: amplitude, length scales, and the noise of one run."""

    amplitude: float
    scales: tuple[float, ...]
    noise: float

    def between(self, first: Floats, second: Floats, same: Floats) -> Floats:
        """Covariance of every place of the first with every one of the second."""
        value = np.ones(same.shape)
        for axis, scale in enumerate(self.scales):
            value *= _matern(first[:, axis], second[:, axis], scale)
        return self.amplitude**2 * same * (value + _trend(first, second))


def _matern(first: Floats, second: Floats, scale: float) -> Floats:
    step = np.abs(first[:, None] - second[None, :]) * (math.sqrt(3.0) / scale)
    return np.asarray((1.0 + step) * np.exp(-step))


def _trend(first: Floats, second: Floats) -> Floats:
    return TREND * (1.0 + first[:, 0, None] * second[None, :, 0] / 64.0)


class Surface:
    """The process of one metric.

    Parameters
    ----------
    seen : Observed
        What it goes through.
    mtu_bytes : int
        Where packets end.
    capacity : Surface or None
        That of the goodput at full load, which says where a load is above the path's; None for
        the capacity itself, to which a load is nothing.
    kernel : Kernel or None
        Without one the best of the grid is taken.
    level : float or None
        What it falls back to; the mean of what it goes through by default.
    """

    def __init__(
        self,
        seen: Observed,
        mtu_bytes: int,
        capacity: Surface | None = None,
        kernel: Kernel | None = None,
        level: float | None = None,
    ) -> None:
        self.seen = seen
        self._mtu_bytes = mtu_bytes
        self.capacity = capacity
        self.level = float(np.mean(seen.values)) if level is None else level
        self._places = self.places(seen.runs)
        self._same = _same(seen.runs, seen.runs)
        self._centred = seen.values - self.level
        self._factors: dict[tuple[int, float], Floats] = {}
        self._slopes = _trend(self._places, self._places)
        self.kernel = kernel or self._best()
        self._whole = self._covariance(self.kernel)
        self._inverse = np.linalg.inv(self._whole)
        self._weights = self._inverse @ self._centred
        self._factors.clear()

    # --- places -------------------------------------------------------------------------------

    def places(self, runs: Sequence[Run]) -> Floats:
        """The coordinates of runs, one a row."""
        sizes = np.log2([float(run.payload_bytes) for run in runs])
        needed = np.log2(packets(runs, self._mtu_bytes))
        if self.capacity is None:
            flat = np.zeros(len(runs))
            return np.stack([sizes - 10.0, needed, flat, flat], axis=1)
        share = np.log(np.minimum(self.capacity.shares(runs), OVER))
        above = 1.0 / (1.0 + np.exp(-share / STEEP))
        return np.stack([sizes - 10.0, needed, np.minimum(share, 0.0), above], axis=1)

    def shares(self, runs: Sequence[Run]) -> Floats:
        """Of a capacity: what runs ask for over what the path carries at their payload."""
        carried, _ = self.predict(runs)
        return np.array([run.load_bps for run in runs]) / np.exp(carried)

    def counts(self, runs: Sequence[Run]) -> Floats:
        """How much an error counts at runs: that of a capacity only where it limits."""
        if self.capacity is not None:
            return np.ones(len(runs))
        return np.where(self.shares(runs) > CARRIED, 1.0, 0.0)

    def tells(self, runs: Sequence[Run]) -> Floats:
        """1 where a run says something: of a capacity only what is as fast as it goes."""
        if self.capacity is not None:
            return np.ones(len(runs))
        return np.array([float(run.unlimited) for run in runs])

    # --- fitting ------------------------------------------------------------------------------

    def _covariance(self, kernel: Kernel) -> Floats:
        value = np.ones(self._same.shape)
        for axis, scale in enumerate(kernel.scales):
            value *= self._factor(axis, scale)
        whole = kernel.amplitude**2 * self._same * (value + self._slopes)
        noise = kernel.noise**2 / self.seen.repeats + JITTER * kernel.amplitude**2
        whole[np.diag_indices_from(whole)] += noise
        return whole

    def _factor(self, axis: int, scale: float) -> Floats:
        """The part of one axis between its own places; the search asks for each again and again."""
        if (axis, scale) not in self._factors:
            own = self._places[:, axis]
            self._factors[axis, scale] = _matern(own, own, scale)
        return self._factors[axis, scale]

    def _best(self) -> Kernel:
        """Coordinate by coordinate the value of the greatest likelihood; of many rows by some."""
        count = len(self.seen.runs)
        if count > MOST_ROWS:
            some = np.unique(np.linspace(0, count - 1, MOST_ROWS).astype(int)).tolist()
            thinned = _part(self.seen, some)
            return Surface(thinned, self._mtu_bytes, self.capacity, level=self.level).kernel
        spread = float(np.std(self._centred)) or 1.0
        known = self.seen.spread if math.isfinite(self.seen.spread) else 0.0
        kernel = Kernel(spread, START, max(known, NOISES[0] * spread, 1e-4))
        for _ in range(ROUNDS):
            for axis, choices in enumerate(SCALES):
                if np.ptp(self._places[:, axis]) > 0:
                    kernel = self._better(
                        [replace(kernel, scales=_put(kernel.scales, axis, one)) for one in choices]
                    )
            kernel = self._better([replace(kernel, amplitude=one * spread) for one in AMPLITUDES])
            kernel = self._better(
                [kernel, *(replace(kernel, noise=max(one * spread, 1e-4)) for one in NOISES)]
            )
        return kernel

    def _better(self, kernels: Sequence[Kernel]) -> Kernel:
        return max(kernels, key=self._likelihood)

    def _likelihood(self, kernel: Kernel) -> float:
        """Logarithm of the marginal likelihood, with what repeats say of the noise."""
        try:
            root = np.linalg.cholesky(self._covariance(kernel))
        except np.linalg.LinAlgError:
            return -math.inf
        half = np.linalg.solve(root, self._centred)
        fit = -0.5 * float(half @ half) - float(np.sum(np.log(np.diag(root))))
        freedom = float(np.sum(self.seen.repeats - 1.0))
        if not freedom or not math.isfinite(self.seen.spread):
            return fit
        ratio = self.seen.spread / kernel.noise
        return fit - freedom * (math.log(kernel.noise) + 0.5 * ratio**2)

    # --- asking -------------------------------------------------------------------------------

    def predict(self, runs: Sequence[Run]) -> tuple[Floats, Floats]:
        """Mean and standard deviation at some runs, where a difference is an error."""
        cross = self.kernel.between(self.places(runs), self._places, _same(runs, self.seen.runs))
        own = self._prior(self.places(runs))
        variance = own - np.sum((cross @ self._inverse) * cross, axis=1)
        return self.level + cross @ self._weights, np.sqrt(np.maximum(variance, 0.0))

    def covariance(self, first: Sequence[Run], second: Sequence[Run]) -> Floats:
        """What is still unknown together at runs of the first and of the second."""
        here, there = self.places(first), self.places(second)
        to_first = self.kernel.between(here, self._places, _same(first, self.seen.runs))
        to_second = self.kernel.between(there, self._places, _same(second, self.seen.runs))
        prior = self.kernel.between(here, there, _same(first, second))
        return prior - to_first @ self._inverse @ to_second.T

    def _prior(self, places: Floats) -> Floats:
        slope = places[:, 0] ** 2 / 64.0
        return self.kernel.amplitude**2 * (1.0 + TREND * (1.0 + slope))


def _same(first: Sequence[Run], second: Sequence[Run]) -> Floats:
    mine = np.array([run.protocol for run in first])
    theirs = np.array([run.protocol for run in second])
    return np.where(mine[:, None] == theirs[None, :], 1.0, SHARED)


def _put(scales: tuple[float, ...], axis: int, one: float) -> tuple[float, ...]:
    return (*scales[:axis], one, *scales[axis + 1 :])


def surfaces(seen: dict[str, Observed], mtu_bytes: int) -> dict[str, Surface]:
    """A surface of each metric; empty before anything was measured at full load.

    That of the goodput is the capacity: what is carried is what was asked.
    """
    goodput = seen.get(GOODPUT)
    if goodput is None:
        return {}
    full = [index for index, run in enumerate(goodput.runs) if run.unlimited]
    if len(full) < 2:
        return {}
    capacity = Surface(_part(goodput, full), mtu_bytes)
    return {
        metric: capacity if metric == GOODPUT else Surface(one, mtu_bytes, capacity)
        for metric, one in seen.items()
    }


def carried(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """The runs the path carries, and those as fast as it goes.

    A run that asks for more tells nothing that the one at full load does not tell.
    """
    if GOODPUT not in known or not runs:
        return list(runs)
    over = known[GOODPUT].shares(runs) > CARRIED
    return [run for run, much in zip(runs, over, strict=True) if run.unlimited or not much]


def edges(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """Two runs on each curve just inside of what the path carries, of any payload.

    Waiting times and processor shares are steepest there, between two payloads of the grid. The
    edge is the least payload from which on all of the curve is carried.
    """
    if GOODPUT not in known:
        return []
    found = []
    for curve in curves([run for run in runs if not run.unlimited]):
        most = curve[-1].payload_bytes
        scan = np.geomspace(curve[0].payload_bytes, most, SCANNED)
        sizes = np.unique(np.round(scan).astype(int)).tolist()
        asked = [replace(curve[0], payload_bytes=size) for size in sizes]
        over = np.flatnonzero(known[GOODPUT].shares(asked) > CARRIED)
        if len(over) and over[-1] + 1 < len(asked):
            first = asked[over[-1] + 1]
            second = min(round(INSIDE * first.payload_bytes), most)
            found += list(dict.fromkeys((first, replace(first, payload_bytes=second))))
    return found


def overloaded(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """The runs of the greatest load that clearly ask too much, of protocols with few such runs.

    A paced sender may reach less than one that goes as fast as it goes. The model tells requests of
    too much from such runs where there are any, so there must be all of them or none.
    """
    paced = [run for run in runs if not run.unlimited]
    if GOODPUT not in known or not paced:
        return []
    most = max(run.load_bps for run in paced)
    asked = [run for run in paced if run.load_bps == most]
    over = known[GOODPUT].shares(asked) > CLEARLY
    found = curves([run for run, much in zip(asked, over, strict=True) if much])
    return [run for curve in found if len(curve) <= FEW for run in curve]


def _part(seen: Observed, indices: Sequence[int]) -> Observed:
    runs = tuple(seen.runs[index] for index in indices)
    return replace(seen, runs=runs, values=seen.values[indices], repeats=seen.repeats[indices])
