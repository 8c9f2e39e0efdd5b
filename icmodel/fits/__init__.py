"""Fits of the model variant `hybrid`: dense curves with 90 % intervals from measured rows.

A fit predicts one metric from all its measured rows.  The rows may differ in protocol, options and
counts (of cores, switches and endpoints).  A fit has several candidates (alternative predictors).
Some are Gaussian processes, which predict the errors of a cost model.  A cost model sums a time per
frame, per byte and per packet.  Other candidates interpolate a single curve: rows that differ only
in payload.  The fit blends its candidates by their leave-one-out errors at nearby rows.

``python -m benchmarks.accuracy.choose`` chooses the `Constants` of fits by their errors on left-out
rows.  To score a dataset, the benchmark uses constants chosen on all other datasets.  The shipped
constants are chosen on all datasets.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants of a fit: weights of the candidate predictors, and width of the intervals.

    A site is a combination of payload, load and labels at which the fit predicts.  A label is a
    protocol, an option or a count.

    Parameters
    ----------
    octaves : float
        Distance between the payloads of row and site [octaves], over which the weight of the row
        falls by a factor e.
    other_label : float
        Factor on the weight of a row for each label that row and site do not share.
    other_end : float
        Factor on the weight of a row whose position differs from that of the site.  A position is
        below, between or above the measured payloads of a curve.  Errors of interpolation thus say
        little about extrapolation, whose errors are larger.
    everywhere : float
        Share of the total weight that is divided equally among all rows, at any distance.
    root : float
        Exponent of the power mean of nearby errors.  An exponent below 1 limits the effect of a
        single outlier.
    power : float
        Exponent p in the weight of a candidate: (mean error nearby)^−p.
    doubt : float
        Weight of the candidates' disagreement in the width of an interval.  The width is
        proportional to: mean error of nearby rows + ``doubt`` × disagreement.
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
