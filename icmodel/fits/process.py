"""A cost model with a Gaussian process over its residual: one candidate for a fitted metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.kernel import Covariance, Distances, Kernel, inverted, variance
from icmodel.fits.mechanism import Mechanism, Modelled
from icmodel.fits.observations import Observations, Sites
from icmodel.statistics import COVERAGE, LONE_WIDTH

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_SCALE = 1e-6
"""A residual below this counts as rounding error."""
REST = ""
"""Name of the part with the rows of all protocols that have no separate process."""
OWN_ROWS = 20
"""Least number of rows for a separate process of a protocol; fewer rows do not determine its parameters."""


@dataclass(frozen=True, slots=True)
class Process:
    """A cost model and a Gaussian process over its residual, conditioned on some rows.

    ``scale`` is the root mean square of the residual, the unit of the process.  ``shares`` are the shares of each cost
    in the times at the rows.  ``twins`` are groups of rows at one point, which are left out together.
    """

    mechanism: Mechanism
    kernel: Kernel
    scale: float
    shares: Floats
    inverse: Floats
    weights: Floats
    twins: tuple[Ints, ...] = ()

    @property
    def errors(self) -> Floats:
        """Leave-one-out error at each row in closed form; the twins of the row are left out too.

        For a single row it is its weight over its diagonal element of the precision matrix.  For twins their block of
        that matrix is solved for their weights (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
        Learning, 2006, eq. 5.12 for one row).
        """
        found = self.weights / np.diag(self.inverse)
        for rows in self.twins:
            found[rows] = np.linalg.solve(self.inverse[np.ix_(rows, rows)], self.weights[rows])
        return np.asarray(self.scale * found)

    @property
    def deviations(self) -> Floats:
        """Leave-one-out standard deviation at each row; the twins of the row are left out too."""
        found = 1.0 / np.diag(self.inverse)
        for rows in self.twins:
            found[rows] = np.diag(np.linalg.inv(self.inverse[np.ix_(rows, rows)]))
        return np.asarray(self.scale * np.sqrt(found))

    def covariance(self, modelled: Modelled, distances: Distances) -> Floats:
        """Covariance of sites with the rows, from the cost model's prediction there and the distances."""
        return Covariance(self.kernel, distances, modelled.shares @ self.shares.T).values

    def log_time(self, modelled: Modelled, cross: Floats) -> Floats:
        """Log time at sites with a given covariance with the rows."""
        return np.asarray(modelled.log_time + self.scale * (cross @ self.weights))

    def deviation(self, modelled: Modelled, cross: Floats) -> Floats:
        """Standard deviation of a new row at such sites."""
        known = np.sum((cross @ self.inverse) * cross, axis=1)
        unknown = variance(self.kernel, modelled.shares) - known
        return np.asarray(self.scale * np.sqrt(np.maximum(unknown, 0.0) + self.kernel.noise))


def scale_of(residual: Floats) -> float:
    """Root mean square of a residual."""
    return max(float(np.sqrt(np.mean(residual**2))), LEAST_SCALE)


def process(
    mechanism: Mechanism,
    kernel: Kernel,
    observed: Observations,
    distances: Distances,
    log_time: Floats,
) -> Process:
    """Condition a process on some rows.

    Parameters
    ----------
    observed : Observations
        The rows, with the relative variance of each.
    distances : Distances
        Between the rows.
    log_time : array
        Log time at each row.
    """
    modelled = mechanism.at(observed.sites)
    residual = log_time - modelled.log_time
    scale = scale_of(residual)
    shares = modelled.shares
    covariance = Covariance(kernel, distances, shares @ shares.T).values
    noisy = covariance + np.diag(kernel.noise + observed.variance / scale**2)
    inverse, _ = inverted(noisy)
    weights = inverse @ residual / scale
    return Process(mechanism, kernel, scale, shares, inverse, weights, observed.sites.twins)


def parts_of(sites: Sites) -> dict[str, Ints]:
    """Split rows into parts: one per protocol with enough rows, and one for all other protocols together."""
    every = sites.by_protocol
    own = {name: rows for name, rows in every.items() if len(rows) >= OWN_ROWS}
    rest = [rows for name, rows in every.items() if name not in own]
    return own | ({REST: np.sort(np.concatenate(rest))} if rest else {})


def whole(sites: Sites) -> dict[str, Ints]:
    """All rows as one part."""
    return {REST: np.arange(len(sites))}


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the rows, in ascending order, and the process through them."""

    rows: Ints
    process: Process


class Cross(NamedTuple):
    """Covariance of a part's rows with the sites it answers, and the cost model's prediction there.

    ``where`` are the sites, ``name`` is the part's.  Processes with equal cost models, parts and kernels share it.
    """

    where: Ints
    name: str
    modelled: Modelled
    covariance: Floats


@dataclass(frozen=True, slots=True)
class ProtocolProcesses:
    """Independent processes over the residual of one cost model, each for a part of the protocols.

    Parameters
    ----------
    parts : mapping of protocol to Part
        ``REST`` answers for protocols without a part; without ``REST`` the largest part does.
    """

    parts: Mapping[str, Part]

    @property
    def mechanism(self) -> Mechanism:
        """Cost model of all processes."""
        return next(iter(self.parts.values())).process.mechanism

    @property
    def kernels(self) -> dict[str, Kernel]:
        """Kernel of each part."""
        return {name: part.process.kernel for name, part in self.parts.items()}

    @property
    def errors(self) -> Floats:
        """Leave-one-out error at each row."""
        return self._by_row(lambda one: one.errors)

    @property
    def deviations(self) -> Floats:
        """Leave-one-out standard deviation at each row."""
        return self._by_row(lambda one: one.deviations)

    @property
    def noise(self) -> Floats:
        """Variance of each row in log time, beyond its stated spread."""
        return self._by_row(lambda one: np.full(len(one.shares), one.kernel.noise * one.scale**2))

    def crosses(self, sites: Sites, modelled: Modelled, distances: Distances) -> list[Cross]:
        """Covariance of each part with the sites that the part answers.

        ``modelled`` is the cost model's prediction at the sites, ``distances`` are those from the rows.
        """
        most = max(self.parts, key=lambda name: len(self.parts[name].rows))
        other = REST if REST in self.parts else most
        answered: dict[str, list[Ints]] = {}
        for protocol, places in sites.by_protocol.items():
            answered.setdefault(protocol if protocol in self.parts else other, []).append(places)
        found: list[Cross] = []
        for name, parts in answered.items():
            where = np.sort(np.concatenate(parts))
            part, own = self.parts[name], modelled.take(where)
            between = distances.part(where, part.rows, part.process.kernel.label_distances)
            covariance = part.process.covariance(own, between)
            found.append(Cross(where, name, own, covariance))
        return found

    def log_time(self, crosses: Sequence[Cross]) -> Floats:
        """Log time at some sites."""
        return self._predicted(Process.log_time, crosses)

    def deviation(self, crosses: Sequence[Cross]) -> Floats:
        """Standard deviation of a new row at such sites."""
        return self._predicted(Process.deviation, crosses)

    def _predicted(
        self, quantity: Callable[[Process, Modelled, Floats], Floats], crosses: Sequence[Cross]
    ) -> Floats:
        """Evaluate a quantity of each part's process at the sites it answers."""
        found = np.empty(sum(len(cross.where) for cross in crosses))
        for cross in crosses:
            process = self.parts[cross.name].process
            found[cross.where] = quantity(process, cross.modelled, cross.covariance)
        return found

    def _by_row(self, value: Callable[[Process], Floats]) -> Floats:
        """Collect a quantity of the processes' rows in the order of all rows."""
        found = np.empty(sum(len(part.rows) for part in self.parts.values()))
        for part in self.parts.values():
            found[part.rows] = value(part.process)
        return found


def left_out_together(process: Process, names: NDArray[np.str_]) -> Floats:
    """Root mean square error in each configuration when all its rows are left out together.

    In closed form: the inverse of their block of the precision matrix times their weights (C. E. Rasmussen
    and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, eq. 5.12 for one row).

    Parameters
    ----------
    names : array (rows, columns)
        The labels that identify a configuration.
    """
    _, inverse = np.unique(names, axis=0, return_inverse=True)
    group = inverse.reshape(-1)
    found = []
    for k in range(int(group.max()) + 1):
        rows = np.flatnonzero(group == k)
        block = process.inverse[np.ix_(rows, rows)]
        errors = process.scale * np.linalg.solve(block, process.weights[rows])
        found.append(float(np.sqrt(np.mean(errors**2))))
    return np.array(found)


def half_width(found: ProtocolProcesses, names: NDArray[np.str_]) -> float:
    """Half of the 90 % interval for a configuration without rows, in log time.

    It is the conformal rank of the errors of left-out configurations.  With too few configurations it is the greatest
    error, and at least the width assumed of a single point.
    """
    parts = found.parts.values()
    errors = np.sort(
        np.concatenate([left_out_together(part.process, names[part.rows]) for part in parts])
    )
    rank = math.ceil(COVERAGE * (len(errors) + 1))
    if rank > len(errors):
        return max(float(errors[-1]), LONE_WIDTH)
    return float(errors[rank - 1])
