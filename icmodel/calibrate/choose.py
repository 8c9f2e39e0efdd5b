"""Choose the next runs of a calibration, from the surfaces fitted to the values measured so far.

The gain of a candidate run has a closed form, since the variance of a Gaussian process does not depend on the measured
value.  By default the gain is the reduction of the expected error over the domain.  With a use case, it is the expected
number of undecided requirements that the run would decide.  The runs of a batch are chosen one by one.  Each choice
treats the runs chosen before as measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from icmodel.arrays import Floats
from icmodel.calibrate.runs import Run
from icmodel.calibrate.surface import Surface
from icmodel.statistics import NORMAL

TINY = 1e-15


@dataclass(frozen=True, slots=True)
class Decision:
    """Undecided requirement: a metric of a run may lie above or below a limit.

    ``limit`` is on the scale of the metric's surface (`icmodel.calibrate.runs.scaled`).
    """

    run: Run
    metric: str
    limit: float


@dataclass(frozen=True, slots=True)
class Purpose:
    """Aim by which the next runs are chosen: a low error over the runs of ``domain``.

    Undecided requirements (``decisions``), if any, take precedence.
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
        The domain and the undecided requirements.
    count : int
        Greatest number of runs.
    """
    states = [_State(one, candidates, purpose) for one in surfaces.values()]
    asked = [state for state in states if state.asks] or states
    chosen: list[Run] = []
    for _ in range(min(count, len(candidates)) if states else 0):
        gains = np.sum([state.decided() for state in states], axis=0)
        if float(np.max(gains)) <= TINY:
            gains = np.sum([state.gains() for state in asked], axis=0)
        best = int(np.argmax(gains))
        chosen.append(candidates[best])
        for state in states:
            state.measure(best)
    return tuple(chosen)


class _State:
    """Posterior of one metric's surface (its Gaussian process), as if the runs chosen so far had been measured."""

    def __init__(self, surface: Surface, candidates: Sequence[Run], purpose: Purpose) -> None:
        asked = tuple(one for one in purpose.decisions if one.metric == surface.seen.metric)
        places = [one.run for one in asked] or list(purpose.domain)
        tells = surface.tells(candidates)
        self._limits = np.array([one.limit for one in asked])
        self._noise = surface.noise
        self._means, spread = surface.predict(places)
        self._variance = spread**2
        self._weights = np.ones(len(asked)) if asked else surface.counts(places)
        self._among = surface.covariance(candidates, candidates) * np.outer(tells, tells)
        self._cross = surface.covariance(places, candidates) * tells

    @property
    def asks(self) -> bool:
        """Whether at least one undecided requirement limits the metric of this surface."""
        return len(self._limits) > 0

    def _shares(self) -> tuple[Floats, Floats]:
        """Variance of the metric at n runs of interest, and its reduction by measuring each of m candidates.

        The shapes are (n,) and (n, m).
        """
        less = self._cross**2 / (np.maximum(np.diag(self._among), 0.0) + self._noise)
        return np.maximum(self._variance, 0.0), less

    def gains(self) -> Floats:
        """Relative reduction, 0…1, of the metric's expected error by measuring each candidate run.

        The reduction is relative, so that a metric with greater errors does not outweigh the others.
        """
        variance, less = self._shares()
        now = np.sqrt(variance)
        after = np.sqrt(np.maximum(variance[:, None] - less, 0.0))
        whole = float(self._weights @ now)
        fall = self._weights @ (now[:, None] - after)
        return np.asarray(fall / whole if whole > 0 else fall)

    def decided(self) -> Floats:
        """Expected number of undecided requirements that measuring each candidate run would decide."""
        variance, less = self._shares()
        if not self.asks:
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
