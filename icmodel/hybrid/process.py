"""A mechanism and a Gaussian process over what it leaves: one way to answer a fitted metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.hybrid.kernel import Covariance, Distances, Kernel, variance
from icmodel.hybrid.mechanism import Mechanism
from icmodel.hybrid.observations import Sites

Floats = NDArray[np.float64]
LEAST_SCALE = 1e-6
"""A residual below this is rounding."""


@dataclass(frozen=True, slots=True)
class Process:
    """The mechanism and a Gaussian process over its residual, known at some rows.

    ``scale`` is the residual's root mean square, in which the process counts; ``shares`` are those
    of the rows' costs.
    """

    mechanism: Mechanism
    kernel: Kernel
    scale: float
    shares: Floats
    inverse: Floats
    weights: Floats

    @property
    def errors(self) -> Floats:
        """Error at each row when that row is left out, in closed form: weight over precision."""
        return np.asarray(self.scale * self.weights / np.diag(self.inverse))

    @property
    def deviations(self) -> Floats:
        """Standard deviation expected at each row when that row is left out."""
        return np.asarray(self.scale / np.sqrt(np.diag(self.inverse)))

    def log_time(self, sites: Sites, apart: Distances) -> Floats:
        """Log of the time at some sites, so far from the known ones."""
        cross = self._cross(sites, apart)
        return np.asarray(self.mechanism.log_time(sites) + self.scale * (cross @ self.weights))

    def deviation(self, sites: Sites, apart: Distances) -> Floats:
        """Standard deviation expected of a new row at some sites."""
        cross = self._cross(sites, apart)
        known = np.sum((cross @ self.inverse) * cross, axis=1)
        unknown = variance(self.kernel, self.mechanism.shares(sites)) - known
        return np.asarray(self.scale * np.sqrt(np.maximum(unknown, 0.0) + self.kernel.noise))

    def _cross(self, sites: Sites, apart: Distances) -> Floats:
        return Covariance(self.kernel, apart, self.mechanism.shares(sites), self.shares).values


def scale_of(residual: Floats) -> float:
    """The root mean square of a residual."""
    return max(float(np.sqrt(np.mean(residual**2))), LEAST_SCALE)


def process(
    mechanism: Mechanism,
    kernel: Kernel,
    sites: Sites,
    apart: Distances,
    residual: Floats,
    row_variance: Floats,
) -> Process:
    """The process through some rows.

    Parameters
    ----------
    apart : Distances
        Between the rows.
    residual : array
        Log time less the mechanism's.
    row_variance : array
        Relative variance that is said of each row.
    """
    scale = scale_of(residual)
    shares = mechanism.shares(sites)
    covariance = Covariance(kernel, apart, shares, shares).values
    noisy = covariance + np.diag(kernel.noise + row_variance / scale**2)
    inverse: Floats = np.asarray(np.linalg.inv(noisy), dtype=np.float64)
    return Process(mechanism, kernel, scale, shares, inverse, inverse @ residual / scale)
