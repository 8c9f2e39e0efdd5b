"""Inverse of a symmetric positive definite matrix by its Cholesky factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def inverted(matrix: Floats) -> tuple[Floats, float]:
    """Inverse of a covariance (n, n), of which the lower triangle is read, and half the log of its determinant.

    It takes a third of the time of a general inverse (LAPACK's potrf and potri).

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    """
    from scipy.linalg.lapack import dpotrf, dpotri  # half a second to import, needed by fits alone

    root, failed = dpotrf(matrix, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance is not positive definite")
    half, _ = dpotri(root, lower=1)
    inverse = half + half.T
    np.fill_diagonal(inverse, np.diag(half))
    return inverse, float(np.sum(np.log(np.diag(root))))
