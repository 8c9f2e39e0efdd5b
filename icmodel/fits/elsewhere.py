"""Interval of a configuration without rows: from the errors when whole configurations are left out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.by_protocol import ProtocolProcesses
from icmodel.fits.process import Process
from icmodel.statistics import COVERAGE, LONE_WIDTH

Floats = NDArray[np.float64]


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

    The conformal rank of the errors of left-out configurations; with too few of them for that rank the
    greatest error, and at least what is assumed of a single point.
    """
    parts = found.parts.values()
    errors = np.sort(
        np.concatenate([left_out_together(part.process, names[part.rows]) for part in parts])
    )
    rank = math.ceil(COVERAGE * (len(errors) + 1))
    if rank > len(errors):
        return max(float(errors[-1]), LONE_WIDTH)
    return float(errors[rank - 1])
