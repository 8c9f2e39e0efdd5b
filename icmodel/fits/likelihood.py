"""Choose a kernel's numbers: those under which the rows are likeliest, with a weak prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.distances import Distances
from icmodel.fits.kernel import NUMBERS, Covariance, Kernel

Floats = NDArray[np.float64]

LOWEST = {"costs": 1e-4, "level": 1e-4, "residual": 1e-4, "noise": 1e-8, "jump": 1e-3}
HIGHEST = {"noise": 1.0, "length": 60.0, "load_length": 60.0, "jump": 8.0}
LEAST_LENGTH, LEAST_APART, MOST_APART, MOST_VARIANCE = 0.3, 1e-3, 20.0, 100.0
STEPS = 40
"""Steps of the search at most: what more of them change is less than rows are sure."""
FEW_STEPS = 10
"""And from numbers that were likeliest for rows of the same kind."""
NOISE = NUMBERS.index("noise")
NOT_POSITIVE = 1e10
"""What counts for a covariance that is none, so that the search turns back."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows whose likelihood is taken together: time grows with the cube of their number.

    ``residual`` and ``variance`` are in units of the residual's root mean square and its square.
    """

    apart: Distances
    shares: Floats
    residual: Floats
    variance: Floats


def likeliest(
    prior: Kernel, pieces: Sequence[Piece], looseness: float, start: Kernel | None = None
) -> Kernel:
    """The kernel with the numbers under which some rows are likeliest.

    Parameters
    ----------
    prior : Kernel
        What the prior is centred at, and where the search begins.
    looseness : float
        Standard deviation of the prior of the log of each number.
    start : Kernel, optional
        Where the search begins instead, to take few steps.
    """
    from scipy.optimize import minimize  # half a second that only fitting pays

    centre = np.log(prior.numbers())
    first = centre if start is None else np.log(start.numbers())
    steps = STEPS if start is None else FEW_STEPS
    limits = _limits(prior)

    def unlikely(logs: Floats) -> tuple[float, Floats]:
        kernel = prior.with_numbers(np.exp(logs))
        off = (logs - centre) / looseness
        value, slopes = 0.5 * float(off @ off), off / looseness
        for piece in pieces:
            more, by = negative_log_likelihood(kernel, piece)
            value, slopes = value + more, slopes + by
        return value, slopes

    found = minimize(
        unlikely, first, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": steps}
    )
    return prior.with_numbers(np.exp(np.asarray(found.x, dtype=np.float64)))


def negative_log_likelihood(kernel: Kernel, piece: Piece) -> tuple[float, Floats]:
    """Minus the log of the marginal likelihood but for a constant, and its slopes.

    The slopes are over the logs of the kernel's numbers: ½ Σ (K⁻¹ − w wᵀ) ∘ dK, w = K⁻¹ r
    (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, eq. 5.9).
    """
    covariance = Covariance(kernel, piece.apart, piece.shares, piece.shares)
    noisy = covariance.values + np.diag(kernel.noise + piece.variance)
    try:
        root = np.linalg.cholesky(noisy)
    except np.linalg.LinAlgError:
        return NOT_POSITIVE, np.zeros(len(kernel.numbers()))
    half = np.linalg.inv(root)
    inverse = half.T @ half
    weights = inverse @ piece.residual
    outer = 0.5 * (inverse - np.outer(weights, weights))
    slopes = covariance.slopes(outer)
    slopes[NOISE] = kernel.noise * float(np.trace(outer))
    value = 0.5 * float(piece.residual @ weights) + float(np.sum(np.log(np.diag(root))))
    return value, slopes


def _limits(kernel: Kernel) -> list[tuple[float, float]]:
    ends = [(LOWEST.get(name, LEAST_LENGTH), HIGHEST.get(name, MOST_VARIANCE)) for name in NUMBERS]
    ends += [(LEAST_APART, MOST_APART)] * len(kernel.apart)
    return [(float(np.log(low)), float(np.log(high))) for low, high in ends]
