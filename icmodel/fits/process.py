"""A cost model with a Gaussian process over its residual: one candidate for a fitted metric."""

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
Ints = NDArray[np.int64]
LEAST_SCALE = 1e-6
"""A residual below this is rounding."""


@dataclass(frozen=True, slots=True)
class Process:
    """A cost model and a Gaussian process over its residual, conditioned on some rows.

    ``scale`` is the residual's root mean square, the process' unit; ``shares`` are the shares of each cost at the
    rows.  ``twins`` are groups of rows at one point, which are left out together.
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
        """Leave-one-out error at each row, its twins left out too, in closed form.

        For a single row its weight over its diagonal element of the precision matrix; for twins their block of
        that matrix, solved for their weights (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
        Learning, 2006, eq. 5.12 for one row).
        """
        found = self.weights / np.diag(self.inverse)
        for rows in self.twins:
            found[rows] = np.linalg.solve(self.inverse[np.ix_(rows, rows)], self.weights[rows])
        return np.asarray(self.scale * found)

    @property
    def deviations(self) -> Floats:
        """Leave-one-out standard deviation at each row, its twins left out too."""
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
    """The root mean square of a residual."""
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
