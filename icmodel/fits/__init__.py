"""Fits of the model variant `hybrid`: dense curves with 90 % intervals from measured rows.

A fit uses all rows of a metric, over all options and counts.  Its candidates (alternative
predictors) are of two types: Gaussian processes over the residuals of cost models, and
predictors from a single curve.  A cost model sums a time per frame, per byte and per packet.
A blend weights the candidates by their leave-one-out errors at nearby rows.

No formula gives the `Constants` of a fit.  ``python -m benchmarks.accuracy.choose`` chooses them by
their errors on left-out rows.  To score a dataset, the benchmark uses constants chosen on all other
datasets.  The shipped constants are chosen on all datasets.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants of a fit: weights of the candidate predictors, and width of the intervals.

    Parameters
    ----------
    octaves : float
        Distance in payload, in octaves, over which the weight of an error falls by a factor e.
    other_label : float
        Factor on the weight of a row for each label (protocol, option or count) that differs from
        the site's label.
    other_end : float
        Factor on the weight of a row if its position on its curve differs from the site's position.
        The positions are below, inside and above the measured payloads.  Extrapolation and
        interpolation have different errors.
    everywhere : float
        Share of the total weight that all rows get in equal parts, whatever their distance.
    root : float
        Exponent of the power mean of nearby errors.  With an exponent below 1, a single outlier
        does not decide.
    power : float
        Exponent p; a candidate's weight is its mean nearby error to the power −p.
    doubt : float
        Weight of the candidates' disagreement in the scale of an interval; the errors nearby have
        weight 1.
    """

    octaves: float = 1.5
    other_label: float = 0.3
    other_end: float = 0.05
    everywhere: float = 0.1
    root: float = 0.5
    power: float = 5.0
    doubt: float = 12.0


SHIPPED = Constants()
"""Default constants of fits, chosen on all datasets."""
