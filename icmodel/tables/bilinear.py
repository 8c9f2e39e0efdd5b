"""Compile the curves of one metric: coefficients for each interval of payload and of load.

Payloads fall into *cells* between knots, and loads into *slots* between levels.  The last slot is the
unlimited load.  Each pair of cell and slot holds the coefficients of

    v = c0 + c1·dp + c2·dp² + (c3 + c4·dp + c5·dp²)·dr,    dp = payload − left knot,  dr = load − left level

With these coefficients, linear interpolation over payload and load (IC2012 §7.1.1–7.1.3) takes four look-ups for a
whole array.  At a benchmarked point, the result equals the point exactly.  Between two points, an interval is wider than
at either point, so its low and high also have quadratic terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, Ints
from icmodel.estimate import BASES
from icmodel.tables.curves import HIGH, LOW, VALUE, Curve, left_knots

Below = Literal["held", "proportion", "one", "nothing"]
"""Rule for a metric below the lowest measured load.

``held`` keeps the curve of the lowest load and widens its interval.  ``proportion`` makes value and low proportional to
the load.  ``one`` is for ratios, which approach 1 as the load approaches 0.  ``nothing`` gives no value.
"""
INTERPOLATED = BASES.index("interpolated")
EXTRAPOLATED = BASES.index("extrapolated")
EXTRAPOLATED_WIDENING = 3.0
EXTRAPOLATED_MORE = 0.3
"""Factors that widen an interval outside the measured payloads of a curve (assumed).

`EXTRAPOLATED_WIDENING` triples the half-width.  `EXTRAPOLATED_MORE` then adds 30 % of the value to the half-width.

Below the lowest load, the interval widens in proportion to the distance from that load, up to the full factors at
load 0.
"""


class Surfaces(NamedTuple):
    """Surfaces of one metric: piecewise polynomials over payload and load, one per configuration.

    A configuration is a protocol, core count and switch count.  All surfaces share payload knots and load levels.
    Cells are the intervals between knots, and slots the intervals between levels.  ``coefficients`` (6, 3, slots,
    surfaces, cells) are c0 to c5 of the polynomial in the module's docstring, each for value, low and high.

    ``basis`` (2, 2, slots, surfaces, cells) is the basis (kind of evidence), as an index into ``BASES``.  Index 0 of the
    first axis is for payloads between knots, and index 1 for payloads on a knot.  The second axis is likewise for loads
    between levels and on a level.  ``rows`` (4, slots, surfaces, cells) are dataset rows: those to the left and right on
    the curve of lower load, then on the curve of higher load; −1 means no row.

    ``top_load`` (surfaces, cells) is the highest limited load with a curve [b/s].  It is 0 if only the unlimited curve
    is known, and infinite if the rows state no load.  ``first`` and ``last`` (surfaces,) are the least and the greatest
    payload [B].
    """

    coefficients: Floats
    basis: Codes
    rows: Ints
    top_load: Floats
    first: Floats
    last: Floats


def no_surfaces(count: int, cells: int, slots: int) -> Surfaces:
    """Make surfaces without a value at any payload and load."""
    size = slots, count, cells
    return Surfaces(
        np.full((6, 3, *size), np.nan),
        np.full((2, 2, *size), EXTRAPOLATED, dtype=np.int8),
        np.full((4, *size), -1, dtype=np.int64),
        np.full((count, cells), np.inf),
        np.full(count, np.inf),
        np.full(count, -np.inf),
    )


def compile_surfaces(
    configurations: Sequence[Sequence[Curve]],
    knots: Floats,
    loads: Floats,
    *,
    usable: Sequence[Bools | None] | None = None,
    below: Below = "held",
    extend: Floats | None = None,
) -> Surfaces:
    """Compile the curves of one metric into surfaces (coefficients) on shared payload knots and load levels.

    Parameters
    ----------
    configurations : sequence of sequences of Curve
        Curves of each configuration: at least one curve each, at distinct loads.
    knots : array, shape (k,)
        Payload knots [B], with the knots of every curve (:func:`~icmodel.tables.curves.payload_knots`).
    loads : array, shape (l,)
        Load levels [b/s], increasing and finite, with every finite load of the curves.
    usable : sequence of arrays of bool, shape (curves at limited loads, k + 1), or of ``None``, optional
        For each configuration, a mask: whether the curve of a limited load (first axis, in ascending order of load)
        may be used in a payload cell (second axis).  ``None``: every curve may be used in all cells.
    below : "held", "proportion", "one" or "nothing"
        Rule for loads below the lowest load of the curves.  ``held``: the value of the lowest load, with an interval
        that widens towards load 0.  ``proportion``: proportional to the load, with the high of the lowest load.
        ``one``: a straight line to the value 1 at load 0.  ``nothing``: no value.
    extend : array, shape (configurations, 2), optional
        Least and greatest possible values of the metric.  If given, the surfaces also have values outside the payloads
        of the curves.  Such a value is the value at the edge; its interval is widened within the limits, and its basis
        is ``extrapolated``.
    """
    found = no_surfaces(len(configurations), len(knots) + 1, len(loads) + 2)
    if not configurations:
        return found
    cells = on_cells([curve for curves in configurations for curve in curves], knots)
    size, start = found.rows.shape[1:], 0
    sides = Sides(np.full(size, -1), np.full(size, -1), np.zeros(size, dtype=bool))
    for k, curves in enumerate(configurations):
        found.first[k] = min(curve.first for curve in curves)
        found.last[k] = max(curve.last for curve in curves)
        own = np.arange(start, start + len(curves))
        start += len(curves)
        may = None if usable is None else usable[k]
        surface = Sides(sides.lower[:, k], sides.upper[:, k], sides.own[:, k])
        found.top_load[k] = _choose_curves(surface, cells, own, may, loads)
    floors = np.concatenate([[0.0], loads, [np.nan]])
    _fill_surfaces(found, cells, sides, floors, below)
    if extend is not None:
        _extend_payloads(found, *extend.T)
    return found


# --- choice of the curves that answer -------------------------------------------------------------


class Sides(NamedTuple):
    """Indices of the two curves that enclose each slot (load interval), in each cell (payload interval).

    ``lower`` is the curve of the next lower load, and ``upper`` the curve of the next higher load; −1 means no curve.
    ``own`` is true if answers at every load of the slot keep the basis (kind of evidence) of the lower curve.
    Otherwise an answer above the curve's load counts as extrapolated.  ``own`` is true for the curve of unlimited
    senders in the last slot, and for a curve of unstated load.  The arrays have the shape (slots, surfaces, cells), or (slots,
    cells) for a single surface.
    """

    lower: Ints
    upper: Ints
    own: Bools


def _choose_curves(
    sides: Sides, cells: Cells, curves: Ints, usable: Bools | None, loads: Floats
) -> Floats:
    """Choose the two measured curves from which a surface is interpolated, and write their indices to ``sides``.

    A surface is a metric over payload and load.  The choice is made for each payload interval (cell) and load interval
    (slot).  The curves are usually those of the next lower and the next higher limited load.

    The last slot, for unlimited requests, uses the unlimited curve.  If a cell has no usable limited load, all its
    slots use a curve of unstated load.  If there is no such curve, they use the unlimited curve, marked
    ``extrapolated`` for limited requests.

    The result is the highest limited load in each payload cell (cells,); 0 if only the unlimited curve is known.
    """
    load = cells.load_bps[curves]
    limited = curves[np.isfinite(load)]
    limited = limited[np.argsort(cells.load_bps[limited])]
    may = cells.inside[limited]
    if usable is not None:
        may &= usable
    known = may.any(axis=0)
    top_load = np.full(may.shape[1], np.inf)
    if len(limited):
        lower, upper = _curves_beside(cells.load_bps[limited], may, loads)
        sides.lower[:-1], sides.upper[:-1] = np.append(limited, -1)[np.stack([lower, upper])]
        top_load[known] = cells.load_bps[sides.lower[-2, known]]
    unlimited, unstated = curves[np.isinf(load)], curves[np.isnan(load)]
    for curve in unlimited:
        sides.lower[-1, cells.inside[curve]] = curve
        sides.own[-1, cells.inside[curve]] = True
    for curve in unstated:
        where = cells.inside[curve] & ~known
        slots = slice(-1 if len(unlimited) else None)
        sides.lower[slots, where] = curve
        sides.own[slots, where] = True
        known = known | where
    for curve in unlimited:
        held = cells.inside[curve] & ~known
        sides.lower[:-1, held] = curve
        top_load[held] = 0.0
    return top_load


def _curves_beside(load: Floats, may: Bools, loads: Floats) -> tuple[Ints, Ints]:
    """Find the usable curves of the next lower and next higher load for each slot (load interval).

    The result holds two arrays of indices (slots, cells); −1 means no curve.  The n curves ascend in load.  ``may``
    (n, cells) marks the usable cells of each curve.
    """
    rank, none = np.arange(len(load))[:, None], np.full((1, may.shape[1]), -1)
    highest = np.maximum.accumulate(np.where(may, rank, -1))
    lowest = np.minimum.accumulate(np.where(may, rank, len(load))[::-1])[::-1]
    below = np.concatenate([none, highest])[load.searchsorted(loads, side="right")]
    above = np.concatenate([lowest, none])[load.searchsorted(loads, side="left")]
    above[above == len(load)] = -1
    return np.concatenate([none, below]), np.concatenate([above, none])


# --- coefficients ---------------------------------------------------------------------------------


class Places(NamedTuple):
    """Positions of n selected elements in the arrays of `Surfaces`, whose last axes are (slots, surfaces, cells).

    Slots are the intervals between load levels, and cells the intervals between payload knots.  ``at`` (n,) holds flat
    indices over these three axes.  ``cell`` (n,) is the index of each element's cell, and ``floor`` (n,) the load level
    at which its slot begins [b/s].
    """

    at: Ints
    cell: Ints
    floor: Floats

    @classmethod
    def where(cls, wanted: Bools, floors: Floats) -> Places:
        """Select the elements that the mask ``wanted`` (slots, surfaces, cells) marks as true.

        Slots are load intervals, and cells are payload intervals.  ``floors`` (slots,) is the lower level [b/s] of each
        load interval.
        """
        index = np.flatnonzero(wanted)
        _, surfaces, cells = wanted.shape
        return cls(index, index % cells, floors[index // (surfaces * cells)])

    def of(self, cells: Cells, curves: Ints) -> Cells:
        """Select the polynomial terms for each element, from the curve of the element.

        ``curves`` (slots, surfaces, cells) holds the indices of the curves.
        """
        return cells.at(curves.reshape(-1)[self.at], self.cell)

    def fill(
        self, found: Surfaces, constant: Floats, change: Floats, basis: Codes | int, rows: Ints
    ) -> None:
        """Write coefficients, bases and dataset rows into the n selected elements of the surfaces ``found``.

        An element is one interval of payload and of load, on one surface.  There the metric is ``constant + change *
        dr``, where ``dr`` is the load minus the load level below it.  ``constant`` and ``change`` (3, 3, n) are the
        three polynomial coefficients in payload, each for value, low and high.  ``basis`` (2, 2, n) is the kind of
        evidence, with the axes of `Surfaces.basis`.  ``rows`` has the shape (2, n) if one curve gives the elements, and
        (4, n) if two curves do.
        """
        coefficients = found.coefficients.reshape(6, 3, -1)
        coefficients[:3, :, self.at] = constant
        coefficients[3:, :, self.at] = change
        found.basis.reshape(2, 2, -1)[..., self.at] = basis
        found.rows.reshape(4, -1)[: len(rows), self.at] = rows


def _fill_surfaces(
    found: Surfaces, cells: Cells, sides: Sides, floors: Floats, below: Below
) -> None:
    """Compute the coefficients of all surfaces from the curves chosen in ``sides``.

    For each load interval (slot), ``sides`` has the curve of the next lower load and that of the next higher load.  If
    both exist, the surface is interpolated between them.  If only the lower exists, the surface does not depend on the
    load.  If only the higher exists, the rule ``below`` applies.
    """
    has_lower, has_upper = sides.lower >= 0, sides.upper >= 0
    # Only a curve of lower load: constant over the load.
    places = Places.where(has_lower & ~has_upper, floors)
    lower = places.of(cells, sides.lower)
    own = sides.own.reshape(-1)[places.at]
    on_level = own | (lower.load_bps == places.floor)
    basis = np.where(np.stack([own, on_level]), lower.basis[:, None], EXTRAPOLATED)
    places.fill(found, lower.terms, np.zeros_like(lower.terms), basis, lower.rows)
    # Curves of lower and higher load: interpolated over the load.
    places = Places.where(has_lower & has_upper, floors)
    lower, upper = places.of(cells, sides.lower), places.of(cells, sides.upper)
    rise, span = upper.terms - lower.terms, upper.load_bps - lower.load_bps
    weight = (places.floor - lower.load_bps) / span
    mixed = np.maximum(np.maximum(lower.basis, upper.basis), INTERPOLATED)
    at_level = np.where(lower.load_bps == places.floor, lower.basis, mixed)
    basis = np.stack([mixed, at_level], axis=1)
    rows = np.concatenate([lower.rows, upper.rows])
    places.fill(found, lower.terms + weight * rise, rise / span, basis, rows)
    # Only a curve of higher load: use the rule for loads below the lowest.
    if below == "nothing":
        return
    places = Places.where(~has_lower & has_upper, floors)
    upper = places.of(cells, sides.upper)
    here, load = upper.terms, upper.load_bps
    if below == "proportion":  # the high end stays as in the curve
        change = here / load
        constant = change * places.floor
        change[:, HIGH], constant[:, HIGH] = 0.0, here[:, HIGH]
    else:
        change = (here - (wider(here) if below == "held" else _around_one(here))) / load
        constant = here - (load - places.floor) * change
    places.fill(found, constant, change, EXTRAPOLATED, upper.rows)


def _extend_payloads(found: Surfaces, least: Floats, most: Floats) -> None:
    """Extend surfaces beyond the measured payloads: hold the value at the edge, and widen its interval.

    Intervals stay within ``least`` and ``most`` (surfaces,).
    """
    known = ~np.isnan(found.coefficients[0, VALUE])
    cell = np.arange(known.shape[-1])
    first = known.argmax(axis=-1)[..., None]
    last = cell[-1] - known[..., ::-1].argmax(axis=-1)[..., None]
    some = known.any(axis=-1)[..., None]
    for edge, outside in ((first, some & (cell < first)), (last, some & (cell > last))):
        held = np.take_along_axis(found.coefficients, edge[None, None], axis=-1)
        held[[1, 2, 4, 5]] = 0.0  # no slope over the payload
        held = wider(held)
        value, low, high = held[0, ..., 0]
        flat = ~held[3, ..., 0].any(axis=0)  # no slope over the load
        low[flat] = np.maximum(low, np.minimum(least, value))[flat]
        high[flat] = np.minimum(high, np.maximum(most, value))[flat]
        np.copyto(found.coefficients, held, where=outside)
        np.copyto(found.rows, np.take_along_axis(found.rows, edge[None], axis=-1), where=outside)
        np.copyto(found.basis, EXTRAPOLATED, where=outside)
        top_load = np.take_along_axis(found.top_load, edge[0], axis=-1)
        np.copyto(found.top_load, top_load, where=outside[0])


def _around_one(terms: Floats) -> Floats:
    """Polynomial terms at load 0 for a ratio, which approaches 1 as the load approaches 0 (rule ``one``).

    They are made from ``terms``, those at the lowest measured load.  The value becomes 1, and low and high are shifted by
    the same amount.  If this narrows the interval on one side, the low or high of the lowest load is kept.
    """
    found: Floats = terms - terms[:, [VALUE]]
    found[0] += 1.0
    below, above = terms[0, LOW] < found[0, LOW], terms[0, HIGH] > found[0, HIGH]
    found[:, LOW] = np.where(below, terms[:, LOW], found[:, LOW])
    found[:, HIGH] = np.where(above, terms[:, HIGH], found[:, HIGH])
    return found


def wider(terms: Floats) -> Floats:
    """Widen the intervals of polynomial terms (terms, 3, ...) for extrapolation; axis 1 is value, low and high."""
    value, low, high = terms[:, VALUE], terms[:, LOW], terms[:, HIGH]
    more = EXTRAPOLATED_MORE * value
    return np.stack(
        [
            value,
            value - EXTRAPOLATED_WIDENING * (value - low) - more,
            value + EXTRAPOLATED_WIDENING * (high - value) + more,
        ],
        axis=1,
    )


# --- curves on cells ------------------------------------------------------------------------------


class Cells(NamedTuple):
    """Curves of a metric, evaluated on shared cells: the payload intervals between knots.

    ``load_bps`` has the shape (curves,).  ``terms`` (3, 3, curves, cells) are the polynomial terms in each cell: the
    number at the left knot, the slope at this knot and the quadratic coefficient.  The second axis is value, low and
    high.  ``basis`` (2, curves, cells) is the kind of evidence, as an index into ``BASES``: ``basis[0]`` for payloads
    between the curve's own points, and ``basis[1]`` for payloads at such a point.  ``rows`` (2, curves, cells) are the
    dataset rows to the left and to the right.  ``inside`` (curves, cells) marks the cells within the payloads of the
    curve.
    """

    load_bps: Floats
    terms: Floats
    basis: Codes
    rows: Ints
    inside: Bools

    def at(self, curve: Ints, cell: Ints) -> Cells:
        """Select the polynomial terms of n pairs: a curve, and a payload interval (cell).

        ``curve`` and ``cell`` (n,) are the indices of each pair.  The arrays of the result have one axis of length n in
        place of the two axes of curves and cells.
        """
        place = curve * self.inside.shape[1] + cell
        terms = self.terms.reshape(3, 3, -1).take(place, axis=2)
        basis, rows = (part.reshape(2, -1).take(place, axis=1) for part in (self.basis, self.rows))
        return Cells(self.load_bps[curve], terms, basis, rows, self.inside.take(place))


def on_cells(curves: Sequence[Curve], knots: Floats) -> Cells:
    """Evaluate curves on cells: the payload intervals between ``knots`` [B], which include every curve's payloads."""
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
    # Basis between the curve's own knots and on such a knot, from the points around each cell.
    own = np.concatenate([curve.basis for curve in curves])
    behind = np.minimum(before + 1, last[:, None])
    off_knot = np.maximum(np.maximum(own[before], own[behind]), INTERPOLATED)
    on_knot = np.where(payload[before] == left, own[before], off_knot)
    basis = np.stack([off_knot, on_knot])
    basis[:, anywhere] = EXTRAPOLATED
    return Cells(
        np.array([curve.load_bps for curve in curves]),
        _cell_terms(curves, knots),
        basis.astype(np.int8, copy=False),
        np.stack([rows[before], behind_rows[before]]),
        inside,
    )


def _cell_terms(curves: Sequence[Curve], knots: Floats) -> Floats:
    """Polynomials of curves in the payload, for each cell (interval between payload knots): (3, 3, curves, cells).

    Along the first axis: the number at the left knot, the slope there, and the quadratic coefficient.  Along the second
    axis: value, low and high.
    """
    at_knots = np.stack([curve.at(knots) for curve in curves], axis=1)
    value = np.concatenate([at_knots[..., :1], at_knots], axis=-1)
    after = np.concatenate([at_knots, at_knots[..., -1:]], axis=-1)
    width = np.concatenate([[0.0], np.diff(knots), [0.0]])
    slope = np.divide(after - value, width, out=np.zeros_like(value), where=width > 0)
    square = np.zeros_like(value)
    for k, curve in enumerate(curves):
        if curve.between is not None and len(curve.payload_bytes) > 1:
            square[1:, k] = curve.bends(left_knots(knots))
            square[1:, k, width == 0] = 0.0
    slope -= square * width
    return np.stack([value, slope, square])
