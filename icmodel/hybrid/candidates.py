"""Ways to answer a fitted metric between its rows, each with its error of leaving out one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from icmodel.hybrid.kernel import Distances, Kernel
from icmodel.hybrid.mechanism import Mechanism, configurations
from icmodel.hybrid.observations import Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_POINTS = 2
"""Points from which a line can be drawn."""


class Candidate(Protocol):
    """A prediction of log time anywhere."""

    @property
    def errors(self) -> Floats:
        """Error at each row when that row is left out."""

    def log_time(self, sites: Sites, apart: Distances) -> Floats:
        """Log of the time at some sites, so far from the known ones; NaN where it says none."""


@dataclass(frozen=True, slots=True)
class Process:
    """The mechanism and a Gaussian process over its residual."""

    mechanism: Mechanism
    kernel: Kernel
    inverse: Floats
    weights: Floats

    @property
    def errors(self) -> Floats:
        """In closed form: weight over precision."""
        return np.asarray(self.weights / np.diag(self.inverse))

    @property
    def deviations(self) -> Floats:
        """Standard deviation expected at each row when that row is left out."""
        return np.asarray(1 / np.sqrt(np.diag(self.inverse)))

    def log_time(self, sites: Sites, apart: Distances) -> Floats:
        """Log of the time at some sites, so far from the known ones."""
        return self.mechanism.log_time(sites) + apart.covariance(self.kernel) @ self.weights

    def deviation(self, apart: Distances) -> Floats:
        """Standard deviation expected of a new row so far from the known ones."""
        cross = apart.covariance(self.kernel)
        known = np.sum((cross @ self.inverse) * cross, axis=1)
        variance = self.kernel.level + 1.0 - known
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) + self.kernel.noise))


class Lines:
    """Straight lines between a curve's own rows, on log axes; beyond its ends the mechanism."""

    def __init__(self, mechanism: Mechanism, sites: Sites, log_time: Floats, like: Floats) -> None:
        self.mechanism = mechanism
        self._curves = {
            key: _Curve(sites.payload_bytes[rows], log_time[rows], mechanism, sites.take(rows))
            for key, rows in _curves(sites).items()
        }
        self.errors = np.array(like, dtype=np.float64)
        for key, rows in _curves(sites).items():
            own = self._curves[key].errors()
            known = ~np.isnan(own)
            self.errors[rows[known]] = own[known]

    def log_time(self, sites: Sites, apart: Distances) -> Floats:
        """Log of the time at some sites; NaN where no curve of two points is."""
        found = np.full(len(sites), np.nan)
        for key, rows in _curves(sites).items():
            curve = self._curves.get(key)
            if curve is not None and len(curve.logs) >= LEAST_POINTS:
                found[rows] = curve.at(sites.take(rows))
        return found


class _Curve:
    """One curve's rows by payload, rows of the same payload averaged."""

    def __init__(
        self, payload_bytes: Floats, log_time: Floats, mechanism: Mechanism, sites: Sites
    ) -> None:
        self.mechanism = mechanism
        logs, first, self._group = np.unique(
            np.log(payload_bytes), return_index=True, return_inverse=True
        )
        count = np.bincount(self._group)
        self.logs: Floats = logs
        self.values = np.bincount(self._group, weights=log_time) / count
        self.modelled = mechanism.log_time(sites)[first]
        self._log_time = log_time

    def at(self, sites: Sites) -> Floats:
        """Log of the time at some sites of this curve."""
        return self._line(
            np.log(sites.payload_bytes), self.mechanism.log_time(sites), np.arange(len(self.logs))
        )

    def errors(self) -> Floats:
        """The error at each row when its payload is left out; NaN where none is left."""
        found = np.full(len(self.logs), np.nan)
        if len(self.logs) > LEAST_POINTS:
            for k in range(len(self.logs)):
                rest = np.delete(np.arange(len(self.logs)), k)
                told = self._line(self.logs[k : k + 1], self.modelled[k : k + 1], rest)
                found[k] = self.values[k] - told[0]
        return np.asarray(found[self._group] + (self._log_time - self.values[self._group]))

    def _line(self, logs: Floats, modelled: Floats, rows: Ints) -> Floats:
        x, y, model = self.logs[rows], self.values[rows], self.modelled[rows]
        inside = np.interp(logs, x, y)
        held = np.interp(logs, x, y - model)
        return np.where((logs < x[0]) | (logs > x[-1]), modelled + held, inside)


def _curves(sites: Sites) -> dict[tuple[tuple[str, ...], float], Ints]:
    """The sites of each curve: same labels and load."""
    found: dict[tuple[tuple[str, ...], float], Ints] = {}
    for labels, members in configurations(sites).items():
        loads = sites.load_bps[members]
        for load in np.unique(loads).tolist():
            found[labels, load] = members[loads == load]
    return found
