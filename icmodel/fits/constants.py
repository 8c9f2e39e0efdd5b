"""Constants of a fit that are chosen by their errors on left-out rows, since no formula gives them.

The caller of a fit passes the constants, so that other values can be compared with the shipped values.  ``python -m
benchmarks.accuracy.choose`` chooses the constants.  For the score of a dataset in the benchmark, it uses all other
datasets; for shipping, it uses all datasets.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants of a fit: they set the weights of its candidate predictors and the width of its intervals.

    Parameters
    ----------
    octaves : float
        Distance in payload, in octaves, over which the weight of an error falls by a factor e.
    other_label : float
        Factor on the weight of a row for each label (protocol, option or count) in which it differs.
    other_end : float
        Factor on the weight of a row inside its curve for a site beyond the curve, and the reverse.  Extrapolation and
        interpolation have different errors.
    everywhere : float
        Share of the total weight that is distributed equally over all rows, near or far.
    root : float
        Exponent of the power mean of errors nearby; below 1, a single outlier does not decide.
    power : float
        Power of the mean error nearby with which the weight of a candidate falls.
    steep : float
        Steepness of the loss for maxima: a candidate that is typically too high by x in log has the loss
        (exp(steep x) - 1) / steep.
    doubt : float
        Weight of the candidates' disagreement in the scale of an interval; the errors nearby have weight 1.
    """

    octaves: float = 1.5
    other_label: float = 0.3
    other_end: float = 0.05
    everywhere: float = 0.1
    root: float = 0.5
    power: float = 5.0
    steep: float = 16.0
    doubt: float = 12.0


SHIPPED = Constants()
"""Constants of fits in use by default, chosen on all datasets."""
