"""Curves of one metric, evaluated on payload cells that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, Ints
from icmodel.estimate import BASES
from icmodel.tables.curve import Curve, left_knots

INTERPOLATED = BASES.index("interpolated")
EXTRAPOLATED = BASES.index("extrapolated")


class Cells(NamedTuple):
    """Some curves on shared payload cells, curve after curve.

    ``load_bps`` has the shape (curves,).  ``terms`` (3, 3, curves, cells) are the value at a cell's left knot, the
    slope there and the quadratic coefficient, each for value, low and high; ``basis`` (2, curves, cells) is that off
    and on an own knot, ``rows`` (2, curves, cells) the left and the right row, ``inside`` (curves, cells) whether a
    cell is within the curve's payloads.
    """

    load_bps: Floats
    terms: Floats
    basis: Codes
    rows: Ints
    inside: Bools

    def at(self, curve: Ints, cell: Ints) -> Cells:
        """Some curves, each at one cell; in place of the axes of curves and of cells there is one of n."""
        place = curve * self.inside.shape[1] + cell
        terms = self.terms.reshape(3, 3, -1).take(place, axis=2)
        basis, rows = (part.reshape(2, -1).take(place, axis=1) for part in (self.basis, self.rows))
        return Cells(self.load_bps[curve], terms, basis, rows, self.inside.take(place))


def on_cells(curves: Sequence[Curve], knots: Floats) -> Cells:
    """Evaluate at least one curve on the cells between knots, which include every curve's own."""
    left = left_knots(knots)
    payload = np.concatenate([curve.payload_bytes for curve in curves])
    last = np.cumsum([len(curve.payload_bytes) for curve in curves]) - 1
    first = np.append(0, last[:-1] + 1)
    anywhere = np.array([curve.anywhere for curve in curves])
    passed = np.stack([curve.payload_bytes.searchsorted(left, side="right") for curve in curves])
    before = first[:, None] + np.maximum(passed - 1, 0)
    inside = (left >= payload[first, None]) & (left <= payload[last, None])
    inside[:, 0] = False
    inside[anywhere] = True
    rows = np.concatenate([curve.rows for curve in curves])
    behind_rows = np.concatenate([curve.rows_behind() for curve in curves])
    return Cells(
        np.array([curve.load_bps for curve in curves]),
        _terms(curves, knots),
        _basis(curves, before, last, payload[before] == left, anywhere),
        np.stack([rows[before], behind_rows[before]]),
        inside,
    )


def _basis(
    curves: Sequence[Curve], before: Ints, last: Ints, on_own: Bools, anywhere: Bools
) -> Codes:
    """The basis off and on an own knot, (2, curves, cells), from the points before each cell."""
    own = np.concatenate([curve.basis for curve in curves])
    behind = np.minimum(before + 1, last[:, None])
    off = np.maximum(np.maximum(own[before], own[behind]), INTERPOLATED)
    found = np.stack([off, np.where(on_own, own[before], off)])
    found[:, anywhere] = EXTRAPOLATED
    return found.astype(np.int8, copy=False)


def _terms(curves: Sequence[Curve], knots: Floats) -> Floats:
    """Value at the left knot, slope and quadratic coefficient of value, low and high; (3, 3, curves, cells)."""
    told = np.stack([curve.at(knots) for curve in curves], axis=1)
    value = np.concatenate([told[..., :1], told], axis=-1)
    after = np.concatenate([told, told[..., -1:]], axis=-1)
    width = np.concatenate([[0.0], np.diff(knots), [0.0]])
    slope = np.divide(after - value, width, out=np.zeros_like(value), where=width > 0)
    square = np.zeros_like(value)
    for k, curve in enumerate(curves):
        if curve.between is not None and len(curve.payload_bytes) > 1:
            square[1:, k] = curve.bends(left_knots(knots))
            square[1:, k, width == 0] = 0.0
    slope -= square * width
    return np.stack([value, slope, square])
