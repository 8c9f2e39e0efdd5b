"""Statistics of prediction intervals that should contain 90 % of new runs: quantiles, half-widths, and the median."""

from __future__ import annotations

import math
from collections.abc import Iterable

COVERAGE = 0.9
"""Fraction of new runs that a predicted interval should contain."""
NORMAL = 1.644854
"""Quantile of the normal distribution for a two-sided 90 % interval.

Its digits are fixed, so that predictions stay equal between versions.
"""
LONE_WIDTH = 0.2
"""Assumed relative half-width of an interval, if the rows are too few to estimate a width by leaving rows out."""

# Two-sided 90 % quantiles of Student's t for 1..30 degrees of freedom (0.95 one-sided).
_STUDENT = (
    6.313752, 2.919986, 2.353363, 2.131847, 2.015048, 1.943180, 1.894579, 1.859548, 1.833113, 1.812461,
    1.795885, 1.782288, 1.770933, 1.761310, 1.753050, 1.745884, 1.739607, 1.734064, 1.729133, 1.724718,
    1.720743, 1.717144, 1.713872, 1.710882, 1.708141, 1.705618, 1.703288, 1.701131, 1.699127, 1.697261,
)  # fmt: skip


def median(numbers: Iterable[float]) -> float:
    """Return the median of one or more numbers.

    Unlike `numpy.median`, it does not import masked arrays, which would slow a short command by a tenth.

    >>> median([3.0, 1.0, 2.0, 4.0])
    2.5
    """
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def spread_half_width(std: float, n: int | None) -> float:
    """Return half the width of a 90 % prediction interval for one new run.

    The half-width is Student's t times std·√(1 + 1/n).  If ``n`` is unknown or 1, it is the normal quantile times std.

    Parameters
    ----------
    std : float
        Standard deviation of the runs.
    n : int or None
        Number of runs.

    >>> round(spread_half_width(1.0, 5), 3)
    2.335
    """
    if n is None or n < 2:
        return NORMAL * std
    return student(n - 1) * std * math.sqrt(1 + 1 / n)


def student(degrees: int) -> float:
    """Return the 95 % quantile of Student's t distribution; above 30 degrees of freedom by an expansion.

    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 1964, 26.7.5, two terms.
    """
    if degrees <= len(_STUDENT):
        return _STUDENT[degrees - 1]
    z = NORMAL
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
