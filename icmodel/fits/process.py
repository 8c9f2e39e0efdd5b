"""A mechanism and a Gaussian process over what it leaves: one way to answer a fitted metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.distances import Distances
from icmodel.fits.kernel import Covariance, Kernel, variance
from icmodel.fits.mechanism import Mechanism, Modelled
from icmodel.fits.observations import Observations
from icmodel.fits.positive import inverted

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

    def covariance(self, modelled: Modelled, apart: Distances) -> Floats:
        """With the known rows, of sites so far from them of which its mechanism says that."""
        return Covariance(self.kernel, apart, modelled.shares, self.shares).values

    def log_time(self, modelled: Modelled, cross: Floats) -> Floats:
        """Log of the time at sites of that covariance with the known rows."""
        return np.asarray(modelled.log_time + self.scale * (cross @ self.weights))

    def deviation(self, modelled: Modelled, cross: Floats) -> Floats:
        """Standard deviation expected of a new row at such sites."""
        known = np.sum((cross @ self.inverse) * cross, axis=1)
        unknown = variance(self.kernel, modelled.shares) - known
        return np.asarray(self.scale * np.sqrt(np.maximum(unknown, 0.0) + self.kernel.noise))


def scale_of(residual: Floats) -> float:
    """The root mean square of a residual."""
    return max(float(np.sqrt(np.mean(residual**2))), LEAST_SCALE)


def process(
    mechanism: Mechanism,
    kernel: Kernel,
    observed: Observations,
    apart: Distances,
    log_time: Floats,
) -> Process:
    """The process through some rows.

    Parameters
    ----------
    observed : Observations
        The rows, and the relative variance that is said of each.
    apart : Distances
        Between the rows.
    log_time : array
        Log time at each.
    """
    modelled = mechanism.at(observed.sites)
    residual = log_time - modelled.log_time
    scale = scale_of(residual)
    shares = modelled.shares
    covariance = Covariance(kernel, apart, shares, shares).values
    noisy = covariance + np.diag(kernel.noise + observed.variance / scale**2)
    inverse, _ = inverted(noisy)
    return Process(mechanism, kernel, scale, shares, inverse, inverse @ residual / scale)
