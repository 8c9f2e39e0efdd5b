"""What of a wait is left at a port whose rate is a token bucket's, which lets a burst pass at once."""

from __future__ import annotations

import numpy as np

from icmodel.arrays import Floats

SELDOM = 1e-9
"""Waits that fewer frames than this part have count as none."""
SHORTEST_S = 1e-15
"""Shorter mean waits are left as they are [s]."""


def behind_buckets(mean_s: Floats, variance_s2: Floats, spare_s: Floats) -> tuple[Floats, Floats]:
    """Mean [s] and variance [s²] of the waits at ports that are token buckets, (n,).

    A bucket of depth b delays by what a link of its rate would queue, less b, where that is more: the backlog of a
    greedy shaper (J.-Y. Le Boudec, P. Thiran, Network Calculus, 2001, §1.5).  The wait at the link is taken to be
    0 with some probability and exponential else, or a fixed time and an exponential one, as mean and variance
    say (assumed).

    Parameters
    ----------
    mean_s, variance_s2 : array
        Of the wait at a link of the same rate.
    spare_s : array
        Time in which the rate fills what the frame leaves of the bucket [s]; 0 for a link.
    """
    found_mean, found_variance = mean_s.copy(), variance_s2.copy()
    here = np.flatnonzero((spare_s > 0) & (mean_s > SHORTEST_S) & np.isfinite(mean_s))
    mean, variance, spare = mean_s[here], variance_s2[here], spare_s[here]
    std = np.sqrt(variance)
    chance = np.minimum(2 * mean**2 / (variance + mean**2), 1.0)
    scale = np.where(std >= mean, mean / chance, std)
    fixed = np.where(std >= mean, 0.0, mean - std)
    gap = np.maximum(fixed - spare, 0.0)
    over = chance * np.exp(-np.maximum(spare - fixed, 0.0) / np.maximum(scale, SELDOM * mean))
    over = np.where(over < SELDOM, 0.0, over)
    found_mean[here] = over * (gap + scale)
    square = over * (gap**2 + 2 * gap * scale + 2 * scale**2)
    found_variance[here] = np.maximum(square - found_mean[here] ** 2, 0.0)
    return found_mean, found_variance
