"""The constants of a fit that no formula gives: chosen on left-out rows, all in one place.

They are passed from the caller of a fit down to the line that uses them, so that other values can be compared
with the shipped ones.  ``python -m benchmarks.accuracy.choose`` chooses them: for the benchmark's scores on all
datasets but the scored one, for shipping on all.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constants:
    """How candidates are weighted and how wide an interval is.

    Parameters
    ----------
    octaves : float
        Distance in payload, in octaves, over which the weight of an error falls by e.
    other_label : float
        Factor of the weight of a row that differs in one label.
    other_end : float
        Factor of the weight of a row inside its curve for a site beyond the curve's ends, and the reverse:
        extrapolation and interpolation err differently.
    everywhere : float
        Share of the weights that all rows have alike, near or far.
    root : float
        Exponent of the power mean of errors nearby: below 1 a single outlier does not decide.
    power : float
        A candidate's weight falls with this power of its mean error nearby.
    steep : float
        Loss of a candidate whose greatest latencies are typically too high by x, in log: (exp(steep x) - 1) / steep.
    doubt : float
        Weight of the candidates' disagreement in an interval's scale; the errors nearby have weight 1.
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
"""Chosen on all datasets."""
