"""The constants of a fit that nothing derives: chosen on left-out rows, all in one place.

They go by hand from whoever makes a fit down to the line that uses them, so that another choice can be
tried beside what ships.  ``python -m benchmarks.accuracy.choose`` makes the choice: of each dataset without
having seen it for the score that is told, of all for what ships.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constants:
    """How candidates are blended and how wide an interval is.

    Parameters
    ----------
    octaves : float
        Octaves of payload over which an error says something of its neighbour.
    other_label : float
        What an error counts where one label differs.
    other_end : float
        What an error of a row between others of its curve counts for a site beyond them, and the other
        way round: to go on beyond a curve's ends is another task than to draw it between its rows.
    everywhere : float
        What all rows together count at each site, near or far: how a candidate does as a rule.
    root : float
        The typical error nearby is a power mean of this exponent: below 1 a wild row does not decide.
    power : float
        A candidate's weight falls with this power of its typical error nearby.
    doubt : float
        What a distance between the candidates counts in an interval's scale, beside the errors nearby.
    """

    octaves: float = 1.5
    other_label: float = 0.3
    other_end: float = 0.05
    everywhere: float = 0.1
    root: float = 0.5
    power: float = 5.0
    doubt: float = 12.0


SHIPPED = Constants()
"""Chosen on all datasets."""
