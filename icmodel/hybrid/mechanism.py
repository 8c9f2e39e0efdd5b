"""What a frame costs: so much itself, so much a byte, so much a packet it becomes.

The costs of each configuration are fitted by least squares of the relative error and are never
negative, so that they can be read and extrapolated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.hybrid.observations import Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_ROWS = 4
"""Rows from which a configuration has costs of its own; others share those of all."""
CONSTANT, COSTS, QUEUE, WORK = "constant", "costs", "queue", "work"
KINDS = (CONSTANT, COSTS, QUEUE, WORK)
"""What a time may be made of: nothing but itself; costs; costs and what waits before them (a latency);
costs times the frames that flow (processing time, by the utilisation law)."""


class Mechanism:
    """log(time) of each site from its configuration's costs, or its configuration's mean."""

    def __init__(self, kind: str, sites: Sites, log_time: Floats) -> None:
        self.kind = kind
        self._of: dict[tuple[str, ...], Floats] = {}
        fitted = _fit(kind, sites, log_time)
        self._common = fitted
        for labels, members in configurations(sites).items():
            least = 1 if kind == CONSTANT else LEAST_ROWS
            if len(members) >= least:
                self._of[labels] = _fit(kind, sites.take(members), log_time[members])

    @property
    def parameters(self) -> int:
        """How many costs were fitted: those above 0."""
        return sum(int((costs > 0).sum()) for costs in self._of.values())

    def costs(self, labels: tuple[str, ...]) -> Floats:
        """Costs a frame [s], a byte [s/B] and a packet [s] of one configuration."""
        return self._of.get(labels, self._common)

    def log_time(self, sites: Sites) -> Floats:
        """Log of the time at some sites."""
        found = np.empty(len(sites))
        for labels, members in configurations(sites).items():
            time = _features(self.kind, sites.take(members)) @ self.costs(labels)
            found[members] = np.log(np.maximum(time, 1e-300))
        return found


def configurations(sites: Sites) -> dict[tuple[str, ...], Ints]:
    """The sites of each configuration: all that have the same labels."""
    unique, inverse = np.unique(sites.labels, axis=0, return_inverse=True)
    flat = inverse.reshape(-1)
    return {tuple(row): np.flatnonzero(flat == k) for k, row in enumerate(unique.tolist())}


def _features(kind: str, sites: Sites) -> Floats:
    ones = np.ones(len(sites))
    if kind == CONSTANT:
        return ones[:, None]
    costs = np.stack([ones, sites.payload_bytes, sites.packets], axis=1)
    if kind == COSTS:
        return costs
    if kind == QUEUE:
        return np.column_stack([costs, sites.queue, sites.queue * sites.payload_bytes])
    return np.column_stack([ones, costs * sites.frames_per_s[:, None]])


def possible_kinds(sites: Sites) -> tuple[str, ...]:
    """The kinds that say something of some sites."""
    known = {QUEUE: bool(sites.queue.any()), WORK: bool(sites.frames_per_s.any())}
    return tuple(kind for kind in KINDS if known.get(kind, True))


def _fit(kind: str, sites: Sites, log_time: Floats) -> Floats:
    if kind == CONSTANT:
        return np.array([np.exp(log_time.mean())])
    relative = _features(kind, sites) / np.exp(log_time)[:, None]
    scale = np.linalg.norm(relative, axis=0)
    scale[scale == 0] = 1.0
    found: Floats = non_negative(relative / scale, np.ones(len(sites))) / scale
    return found


def non_negative(matrix: Floats, target: Floats) -> Floats:
    """The x ≥ 0 that minimises |matrix·x − target| (Lawson and Hanson's active set)."""
    count = matrix.shape[1]
    active = np.zeros(count, dtype=bool)
    x = np.zeros(count)
    for _ in range(3 * count):
        gradient = matrix.T @ (target - matrix @ x)
        if active.all() or gradient[~active].max() <= 1e-12:
            break
        free = np.flatnonzero(~active)
        active[free[np.argmax(gradient[free])]] = True
        while active.any():
            solved = np.zeros(count)
            solved[active] = np.linalg.lstsq(matrix[:, active], target, rcond=None)[0]
            if solved[active].min() > 0:
                x = solved
                break
            falling = active & (solved <= 0)
            step = float((x[falling] / (x[falling] - solved[falling])).min())
            x = x + step * (solved - x)
            active &= x > 1e-15
    return x
