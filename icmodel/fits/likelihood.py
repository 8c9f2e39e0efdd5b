"""Choose the parameters of a kernel by maximum likelihood with a weak prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.kernel import NUMBERS, Covariance, Distances, Kernel, inverted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Kernels = Mapping[str, Kernel]
"""Kernels of one design (`icmodel.fits.fit.Design`), by part of the rows.

A part is a protocol, or all protocols without a part of their own.
"""

LOWEST = {"costs": 1e-4, "level": 1e-4, "residual": 1e-4, "noise": 1e-8, "jump": 1e-3}
HIGHEST = {"noise": 1.0, "length": 60.0, "load_length": 60.0, "jump": 8.0}
LEAST_LENGTH, LEAST_LABEL_DISTANCE, MOST_LABEL_DISTANCE, MOST_VARIANCE = 0.3, 1e-3, 20.0, 100.0
"""Bounds of label distances, and of parameters missing in ``LOWEST`` or ``HIGHEST``."""
LOOSENESS = 2.0
"""Standard deviation of the prior on the log of each kernel parameter.

Without a prior, different parameters can have almost the same likelihood.
"""
STEPS = 1000
"""Greatest number of steps in a search; most searches take a tenth of them."""
DIGITS = 4
"""Significant digits of stored kernel parameters.

Further digits would depend on the linear algebra library.
"""
GAIN = 1e-5
"""Least relative improvement of the log likelihood in one step; with less, the search ends."""
NOISE = NUMBERS.index("noise")
NOT_POSITIVE = 1e10
"""Objective value for a covariance matrix that is not positive definite, so that the search avoids it."""


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Hyperparameters of a fit: the kind of its cost model, and the kernels of its Gaussian processes.

    A fit has several Gaussian processes of different design: cost model, and form of the kernel.
    ``kernels`` holds one mapping for each design (`icmodel.fits.fit.DESIGNS`).  It maps a part of the
    rows (one protocol, or all rows) to the kernel of the process for this part.
    """

    mechanism: str
    kernels: tuple[Kernels, ...]

    def to_dict(self) -> dict[str, Any]:
        """Convert the hyperparameters to their JSON form, a dictionary."""

        def written(kernel: Kernel) -> dict[str, Any]:
            numbers = {name: getattr(kernel, name) for name in NUMBERS}
            distances = {
                f"{column} {label}".rstrip(): distance
                for (column, label), distance in kernel.label_distances.items()
            }
            return {"form": kernel.form, **numbers, "label_distances": distances}

        kernels = [{part: written(one) for part, one in each.items()} for each in self.kernels]
        return {"mechanism": self.mechanism, "kernels": kernels}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Hyperparameters:
        """Read hyperparameters from their JSON form.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the document does not have this form.
        """

        def read(kernel: Mapping[str, Any]) -> Kernel:
            numbers = {name: float(kernel[name]) for name in NUMBERS}
            distances = {}
            for group, distance in kernel["label_distances"].items():
                column, _, label = group.partition(" ")
                distances[int(column), label] = float(distance)
            return Kernel(str(kernel["form"]), **numbers, label_distances=distances)

        kernels = tuple(
            {str(part): read(one) for part, one in each.items()} for each in document["kernels"]
        )
        return cls(str(document["mechanism"]), kernels)


class Piece(NamedTuple):
    """Group of n rows whose likelihood is computed together, in a time that grows with n³.

    The piece holds m pairs of rows.  Since a covariance is symmetric, each pair occurs once.

    Parameters
    ----------
    places : array of int (m,)
        Index of each pair in a flattened matrix (n, n).
    diagonal : array of int (n,)
        Among the m pairs, the indices of the pairs of a row with itself.
    distances : Distances (m,)
        Distances between the two rows of each pair.
    shares : array (m,)
        For each pair, the dot product of the cost shares of its two rows.  The cost shares of a row
        are the fractions of its modelled time that are due to each cost.
    residual, variance : arrays (n,)
        Residual of each row, in units of the residuals' root mean square, and its variance, in units
        of their mean square.
    """

    places: Ints
    diagonal: Ints
    distances: Distances
    shares: Floats
    residual: Floats
    variance: Floats


def piece_of(distances: Distances, shares: Floats, residual: Floats, variance: Floats) -> Piece:
    """Make a piece from n rows: a group of rows whose likelihood is computed together.

    ``distances`` (n, n) are the distances between the rows.  ``shares`` (n, costs) holds, for each
    row, the fractions of its time that are due to each cost.  ``residual`` (n,) is the natural
    logarithm of each row's time minus that of the cost model's time, divided by the root mean square of
    these differences.  ``variance`` (n,) is the variance of each residual, in the same unit squared.
    """
    rows, columns = np.tril_indices(len(residual))
    places, diagonal = rows * len(residual) + columns, np.flatnonzero(rows == columns)
    together = (shares @ shares.T).take(places)
    pairs = distances.of_pairs(rows, columns)
    return Piece(places, diagonal, pairs, together, residual, variance)


def likeliest(prior: Kernel, pieces: Sequence[Piece], start: Kernel | None = None) -> Kernel:
    """Find the kernel parameters of greatest likelihood, with a weak prior.

    Parameters
    ----------
    prior : Kernel
        Centre of the prior, and start of the search.
    pieces : sequence of Piece
        Groups of rows, whose log likelihoods are added.
    start : Kernel, optional
        Start of the search instead of the prior; a good start saves most steps.

    Returns
    -------
    Kernel
        Copy of ``prior`` with the found parameters, rounded to `DIGITS` digits.
    """
    from scipy.optimize import minimize  # takes half a second to import

    centre = np.log(prior.numbers())
    first = centre if start is None else np.log(start.numbers())
    ends = [(LOWEST.get(name, LEAST_LENGTH), HIGHEST.get(name, MOST_VARIANCE)) for name in NUMBERS]
    ends += [(LEAST_LABEL_DISTANCE, MOST_LABEL_DISTANCE)] * len(prior.label_distances)
    limits = [(float(np.log(low)), float(np.log(high))) for low, high in ends]

    def unlikely(logs: Floats) -> tuple[float, Floats]:
        kernel = prior.with_numbers(np.exp(logs))
        off = (logs - centre) / LOOSENESS
        value, slopes = 0.5 * float(off @ off), off / LOOSENESS
        for piece in pieces:
            more, by = negative_log_likelihood(kernel, piece)
            value, slopes = value + more, slopes + by
        return value, slopes

    found = minimize(
        unlikely,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        options={"maxiter": STEPS, "ftol": GAIN},
    )
    return prior.with_numbers(np.array([rounded(number) for number in np.exp(found.x).tolist()]))


def rounded(number: float) -> float:
    """Round a number to `DIGITS` significant digits.

    Measured rows do not determine a kernel parameter to more digits.
    """
    return float(f"{number:.{DIGITS}g}")


def negative_log_likelihood(kernel: Kernel, piece: Piece) -> tuple[float, Floats]:
    """Negative log marginal likelihood of a piece, without the constant term, and its gradient.

    A piece is a group of rows with its own covariance matrix K, noise included; r are the rows'
    residuals.  The gradient (parameters,) is taken by the log of each kernel parameter.  It is the sum
    of all elements of ½ (K⁻¹ − w wᵀ) ∘ dK, with w = K⁻¹ r, the derivative dK of K, and the
    element-wise product ∘ (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
    Learning, 2006, eq. 5.9).
    """
    count = len(piece.residual)
    covariance = Covariance(kernel, piece.distances, piece.shares)
    noisy = np.zeros(count**2)
    noisy[piece.places] = covariance.values
    noisy[piece.places[piece.diagonal]] += kernel.noise + piece.variance
    try:
        inverse, log_root = inverted(noisy.reshape(count, count))
    except np.linalg.LinAlgError:
        return NOT_POSITIVE, np.zeros(len(kernel.numbers()))
    weights = inverse @ piece.residual
    outer = (inverse - np.outer(weights, weights)).take(piece.places)
    outer[piece.diagonal] *= 0.5  # each other pair stands for two matrix elements
    slopes = covariance.slopes(outer)
    slopes[NOISE] = kernel.noise * float(outer[piece.diagonal].sum())
    value = 0.5 * float(piece.residual @ weights) + log_root
    return value, slopes
