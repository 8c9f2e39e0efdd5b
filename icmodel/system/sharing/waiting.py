"""The wait that a share of frames does not exceed, from mean and variance of all."""

from __future__ import annotations

import math

import numpy as np

from icmodel.arrays import Floats


def quantile_s(mean_s: Floats, variance_s2: Floats, share: float) -> Floats:
    """The time [s] that this share of the waits does not exceed, from mean and variance; (n,).

    A wait of 0 with some probability and an exponential one else, if it varies more than an exponential;
    else a fixed time and an exponential one.  Exact for M/M/1.
    """
    tail = math.log(1 / (1 - share))
    std = np.sqrt(variance_s2)
    some = np.divide(
        2 * mean_s**2, variance_s2 + mean_s**2, out=np.ones_like(mean_s), where=mean_s > 0
    )
    waited = np.minimum(some, 1.0)
    varied = np.maximum(mean_s / waited * (tail + np.log(waited)), 0.0)
    return np.where(std >= mean_s, varied, mean_s - std + std * tail)
