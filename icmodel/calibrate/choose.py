"""Choose: the runs that are next, from what was measured so far and nothing else.

Of every candidate is known how much the surfaces would know more with it, in closed form: by
default how much the expected error over the domain falls, for a use case how likely it decides
what is undecided. Several at a time are chosen one after another, each as if those before had
been measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.calibrate.between import Between
from icmodel.calibrate.run import Run
from icmodel.calibrate.surface import Surface

Floats = NDArray[np.float64]
SURPRISES = (0.5, 3.0)
"""How far a place may count more or less, by how wrong the surface was beside it."""
NEAR = 1.0
"""How far a surprise reaches, in the length scales of the surface."""
MEAN_TO_DEVIATION = math.sqrt(2.0 / math.pi)
TINY = 1e-15
NINETY_PERCENT = 1.6448536269514722
"""Standard deviations that 90 % lie within."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A requirement that is undecided: a metric of a run must be above or below a limit.

    ``limit`` is on the scale of the surface of its metric.
    """

    run: Run
    metric: str
    limit: float


@dataclass(frozen=True, slots=True)
class Purpose:
    """What runs are chosen for: the error over a domain, and decisions before it if there are."""

    domain: tuple[Run, ...]
    decisions: tuple[Decision, ...] = ()


def choose(
    surfaces: Mapping[str, Surface], candidates: Sequence[Run], purpose: Purpose, count: int
) -> tuple[Run, ...]:
    """The next runs, best first.

    Parameters
    ----------
    surfaces : mapping of metric to surface
        What is known.
    candidates : sequence of runs
        What may be asked; one that was measured may be asked again.
    purpose : Purpose
        What for.
    count : int
        How many.
    """
    states = [_State(one, candidates, purpose) for one in surfaces.values()]
    chosen: list[Run] = []
    for _ in range(min(count, len(candidates)) if states else 0):
        gains = np.sum([state.decided() for state in states], axis=0)
        if float(np.max(gains)) <= TINY:
            gains = np.sum([state.gains() for state in states], axis=0)
        best = int(np.argmax(gains))
        chosen.append(candidates[best])
        for state in states:
            state.measure(best)
    return tuple(chosen)


class _State:
    """What one surface would know after the runs chosen so far."""

    def __init__(self, surface: Surface, candidates: Sequence[Run], purpose: Purpose) -> None:
        asked = tuple(one for one in purpose.decisions if one.metric == surface.seen.metric)
        self._places = [one.run for one in asked] or list(purpose.domain)
        self._candidates = candidates
        self._surface = surface
        self._limits = np.array([one.limit for one in asked])
        self._noise = surface.kernel.noise**2
        self._means, spread = surface.predict(self._places)
        self._variance = spread**2
        self._own = surface.predict(candidates)[1] ** 2
        self._cross = surface.covariance(self._places, candidates)
        self._taken: list[Floats] = []
        self._weights = np.ones(len(self._places)) if asked else _surprise(surface, self._places)
        self._weights /= np.sum(self._weights)
        self._between = None if asked else Between(surface, candidates, purpose.domain)

    def _shares(self) -> tuple[Floats, Floats]:
        """Variance at the places, and by how much each candidate would lessen it."""
        less = self._cross**2 / (np.maximum(self._own, 0.0) + self._noise)
        return np.maximum(self._variance, 0.0), less

    def gains(self) -> Floats:
        """By how much the expected error falls with each candidate."""
        if self._between is not None:
            return self._between.gains(np.sqrt(np.maximum(self._variance, 0.0)))
        variance, less = self._shares()
        after = np.sqrt(np.maximum(variance[:, None] - less, 0.0))
        fall = MEAN_TO_DEVIATION * (np.sqrt(variance)[:, None] - after)
        return np.asarray(self._weights @ fall)

    def decided(self) -> Floats:
        """How many undecided limits each candidate is likely to decide."""
        variance, less = self._shares()
        if not len(self._limits):
            return np.zeros(less.shape[1])
        left = np.sqrt(np.maximum(variance[:, None] - less, 0.0) + self._noise)
        moved = np.sqrt(np.maximum(less, TINY))
        distance = (self._means - self._limits)[:, None]
        above = _normal((distance - NINETY_PERCENT * left) / moved)
        below = _normal((-distance - NINETY_PERCENT * left) / moved)
        now = np.abs(distance) > NINETY_PERCENT * np.sqrt(variance + self._noise)[:, None]
        return np.asarray(np.sum(np.where(now, 0.0, above + below), axis=0))

    def measure(self, index: int) -> None:
        """Take a candidate as measured."""
        if self._between is not None:
            self._between.measure(index)
        chosen = [self._candidates[index]]
        among = self._surface.covariance(self._candidates, chosen)[:, 0]
        for before in self._taken:
            among = among - before * before[index]
        scale = math.sqrt(max(float(among[index]), 0.0) + self._noise)
        column, reach = among / scale, self._cross[:, index] / scale
        self._taken.append(column)
        self._cross = self._cross - np.outer(reach, column)
        self._own = self._own - column**2
        self._variance = self._variance - reach**2


def _surprise(surface: Surface, places: Sequence[Run]) -> Floats:
    """How wrong the surface was beside each place, against what it said itself."""
    here, there = surface.places(places), surface.places(surface.seen.runs)
    scales = np.array(surface.kernel.scales)
    steps = np.abs(here[:, None, :] - there[None, :, :]) / scales
    nearness = np.exp(-np.sum(steps, axis=2) / NEAR)
    scores = np.minimum(np.abs(surface.left_out_scores()), 2.0 * SURPRISES[1])
    prior = 0.5
    local = (nearness @ scores + prior * MEAN_TO_DEVIATION) / (nearness.sum(axis=1) + prior)
    return np.asarray(np.clip(local / MEAN_TO_DEVIATION, *SURPRISES))


def _normal(value: Floats) -> Floats:
    """The distribution function of the normal distribution."""
    return np.asarray(0.5 * np.vectorize(math.erfc)(-value / math.sqrt(2.0)), dtype=np.float64)
