"""Compile the curves of one metric into polynomials, one for each interval of payload and of load.

A *cell* is the interval between two payload knots, and a *slot* the interval between two load levels.  The last slot is
the unlimited load.  In each pair of cell and slot, the metric is the polynomial

    v = c0 + c1·dp + c2·dp² + (c3 + c4·dp + c5·dp²)·dr,    dp = payload − left knot,  dr = load − lower level

Its coefficients c0, c1, c3 and c4 interpolate linearly over payload and load (IC2012 §7.1.1–7.1.3).  At a benchmarked
point, the polynomial equals the point exactly.  Between two points, an interval is wider than at either point, so its
low and high also have the quadratic coefficients c2 and c5.
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
    """Surfaces of one metric: one piecewise polynomial over payload and load for each configuration.

    A configuration is a protocol, core count and switch count.  A cell is the interval between two payload knots, and a
    slot the interval between two load levels.  All surfaces share knots and levels.

    Parameters
    ----------
    coefficients : array (6, 3, slots, surfaces, cells)
        Coefficients of c0 + c1·dp + c2·dp² + (c3 + c4·dp + c5·dp²)·dr, each for value, low and high.  Here dp is the
        payload minus that at which the cell begins, and dr the load minus that at which the slot begins.
    basis : array (2, 2, slots, surfaces, cells)
        Basis (kind of evidence), as an index into ``BASES``.  First axis: payload between two knots, payload on a knot.
        Second axis: load between two levels, load on a level.
    rows : array (4, slots, surfaces, cells)
        Indices of dataset rows: those to the left and right on the curve of lower load, then those on the curve of
        higher load; −1 means no row.
    top_load : array (surfaces, cells)
        Highest limited load with a curve [b/s]; 0 if only unlimited senders were measured, and infinite if the rows
        state no load.
    first, last : arrays (surfaces,)
        Least and greatest measured payload [B].
    """

    coefficients: Floats
    basis: Codes
    rows: Ints
    top_load: Floats
    first: Floats
    last: Floats


def no_surfaces(count: int, cells: int, slots: int) -> Surfaces:
    """Make surfaces that have no value (NaN) at any payload or load."""
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
    """Compile the curves of one metric into surfaces (piecewise polynomials) on shared payload knots and load levels.

    Parameters
    ----------
    configurations : sequence of sequences of Curve
        Curves of each configuration: at least one curve each, at distinct loads.
    knots : array, shape (k,)
        Payload knots [B], with the knots of every curve (:func:`~icmodel.tables.curves.payload_knots`).
    loads : array, shape (l,)
        Load levels [b/s], increasing and finite, with every finite load of the curves.
    usable : sequence of (array of bool or ``None``), optional
        One mask for each configuration: whether a curve may be used in a cell, one of the k + 1 payload intervals.  The
        shape is (curves, k + 1), for the curves at limited loads, in ascending order of load.  ``None``: every curve
        may be used in all cells.
    below : "held", "proportion", "one" or "nothing"
        Rule for loads below the lowest load of the curves.  ``held``: the value of the lowest load, with an interval
        that widens towards load 0.  ``proportion``: proportional to the load, with the high of the lowest load.
        ``one``: a straight line to the value 1 at load 0.  ``nothing``: no value.
    extend : array, shape (configurations, 2), optional
        Least and greatest possible values of the metric.  If given, the surfaces also have values at payloads outside
        the curves.  Such a value equals the value at the nearest payload of the curve.  Its interval is wider, but
        stays within the possible values, and its basis is ``extrapolated``.
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
        surface = Sides(sides.lower[:, k], sides.upper[:, k], sides.keeps_basis[:, k])
        found.top_load[k] = _choose_curves(surface, cells, own, may, loads)
    floors = np.concatenate([[0.0], loads, [np.nan]])
    _fill_surfaces(found, cells, sides, floors, below)
    if extend is not None:
        _extend_payloads(found, *extend.T)
    return found


# --- choice of the curves that answer -------------------------------------------------------------


class Sides(NamedTuple):
    """Curves used in each slot (load interval) and cell (payload interval), as indices into a list of curves.

    ``lower`` is the curve of the next lower load, and ``upper`` the curve of the next higher load; −1 means no curve.
    If a slot has only a lower curve, the numbers of this curve hold for all loads of the slot.  ``keeps_basis`` sets
    their basis (kind of evidence).  If it is true, it is the basis of the curve.  If it is false, it is
    ``extrapolated`` at every load above that of the curve.  ``keeps_basis`` is true in two cases: for the curve of
    unlimited senders in the last slot (unlimited load), and for a curve whose load is not stated.

    The arrays have the shape (slots, surfaces, cells), or (slots, cells) for a single surface.
    """

    lower: Ints
    upper: Ints
    keeps_basis: Bools


def _choose_curves(
    sides: Sides, cells: Cells, curves: Ints, usable: Bools | None, loads: Floats
) -> Floats:
    """Choose the measured curves of one surface for each slot (load interval) and cell (payload interval).

    A surface is a metric over payload and load for one protocol, core count and switch count.

    The indices of these curves are written to ``sides``:

    - in the last slot, for unlimited requests: the curve of unlimited senders
    - in every other slot: two curves, of the nearest limited load below the slot and of the nearest above it
    - in a cell without a curve at a limited load, instead of these two: the curve whose load is not stated. Without
      such a curve, it is that of unlimited senders, marked ``extrapolated`` for limited requests. Without unlimited
      senders, the curve whose load is not stated also serves the last slot.

    Returns
    -------
    array (cells,)
        Highest limited load in each cell [b/s]; 0 if only unlimited senders were measured, and infinite if the rows
        state no load.
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
        sides.keeps_basis[-1, cells.inside[curve]] = True
    for curve in unstated:
        where = cells.inside[curve] & ~known
        slots = slice(-1 if len(unlimited) else None)
        sides.lower[slots, where] = curve
        sides.keeps_basis[slots, where] = True
        known = known | where
    for curve in unlimited:
        held = cells.inside[curve] & ~known
        sides.lower[:-1, held] = curve
        top_load[held] = 0.0
    return top_load


def _curves_beside(load: Floats, usable: Bools, loads: Floats) -> tuple[Ints, Ints]:
    """Find the two curves between which each element is interpolated: those of the next lower and next higher load.

    An element is a slot (load interval) in a cell (payload interval).  ``load`` (n,) holds the loads of n curves, and
    ``loads`` the limits between the slots, both ascending.  The mask ``usable`` (n, cells) is true if a curve may be
    used in a cell.  The result is two arrays (slots, cells) of curve indices, −1 for no curve: first the curves of lower
    load, then those of higher load.
    """
    rank, none = np.arange(len(load))[:, None], np.full((1, usable.shape[1]), -1)
    highest = np.maximum.accumulate(np.where(usable, rank, -1))
    lowest = np.minimum.accumulate(np.where(usable, rank, len(load))[::-1])[::-1]
    below = np.concatenate([none, highest])[load.searchsorted(loads, side="right")]
    above = np.concatenate([lowest, none])[load.searchsorted(loads, side="left")]
    above[above == len(load)] = -1
    return np.concatenate([none, below]), np.concatenate([above, none])


# --- coefficients ---------------------------------------------------------------------------------


class Places(NamedTuple):
    """Positions of n selected elements in the arrays of `Surfaces`.

    An element is the polynomial of one slot (load interval) and cell (payload interval) on one surface.  ``at`` (n,) is
    its flat index over the last three axes of the arrays: slots, surfaces, cells.  ``cell`` (n,) is the index of its
    cell, and ``floor`` (n,) the load at which its slot begins [b/s].
    """

    at: Ints
    cell: Ints
    floor: Floats

    @classmethod
    def selected(cls, wanted: Bools, floors: Floats) -> Places:
        """Return the positions of the polynomials that the mask ``wanted`` (slots, surfaces, cells) marks.

        Each surface has a polynomial for each load interval (slot) and payload interval (cell).  ``floors``
        (slots,) is the load at which each slot begins [b/s].
        """
        index = np.flatnonzero(wanted)
        _, surfaces, cells = wanted.shape
        return cls(index, index % cells, floors[index // (surfaces * cells)])

    def terms_of(self, cells: Cells, curves: Ints) -> Cells:
        """Look up the polynomial terms for each of the n selected elements of the surfaces.

        An element is one load interval (slot) and one payload interval (cell) of one surface.  ``curves`` (slots,
        surfaces, cells) holds for each element the index of the curve that has its terms.
        """
        return cells.at(curves.reshape(-1)[self.at], self.cell)

    def fill(
        self, found: Surfaces, constant: Floats, change: Floats, basis: Codes | int, rows: Ints
    ) -> None:
        """Write coefficients, bases and dataset rows into the n selected elements of the surfaces ``found``.

        An element is one payload interval and load interval on one surface.  There the metric is ``constant + change *
        dr``, where ``dr`` is the load minus the load at which the interval begins.

        Parameters
        ----------
        found : Surfaces
            Surfaces, changed in place.
        constant, change : array (3, 3, n)
            Polynomial coefficients in payload: constant, linear and quadratic; each for value, low and high.
        basis : array (2, 2, n) or int
            Kind of evidence, with the axes of ``Surfaces.basis``.
        rows : array (2, n) or (4, n)
            Indices of the dataset rows at the lower and at the higher payload. Two indices come from a single curve;
            four come from the curve of lower load (first two) and the curve of higher load (last two).
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
    load.  If only the higher exists, ``below`` is the rule, such as "proportion" (see `compile_surfaces`).
    """
    has_lower, has_upper = sides.lower >= 0, sides.upper >= 0
    # Only a curve of lower load: constant over the load.
    places = Places.selected(has_lower & ~has_upper, floors)
    lower = places.terms_of(cells, sides.lower)
    own = sides.keeps_basis.reshape(-1)[places.at]
    on_level = own | (lower.load_bps == places.floor)
    basis = np.where(np.stack([own, on_level]), lower.basis[:, None], EXTRAPOLATED)
    places.fill(found, lower.terms, np.zeros_like(lower.terms), basis, lower.rows)
    # Curves of lower and higher load: interpolated over the load.
    places = Places.selected(has_lower & has_upper, floors)
    lower, upper = places.terms_of(cells, sides.lower), places.terms_of(cells, sides.upper)
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
    places = Places.selected(~has_lower & has_upper, floors)
    upper = places.terms_of(cells, sides.upper)
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

    Intervals stay within the possible values of the metric, from ``least`` to ``most`` (surfaces,).
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
    """Polynomial terms at load 0 of a ratio that approaches 1 as the load approaches 0 (rule ``one``).

    ``terms`` are the polynomial terms at the lowest measured load.  At load 0, the value is 1, and low and high have
    the same distances from it as in ``terms``.  But the interval at load 0 also covers that of ``terms``: if its low is
    lower, or its high is higher, it is kept.
    """
    found: Floats = terms - terms[:, [VALUE]]
    found[0] += 1.0
    below, above = terms[0, LOW] < found[0, LOW], terms[0, HIGH] > found[0, HIGH]
    found[:, LOW] = np.where(below, terms[:, LOW], found[:, LOW])
    found[:, HIGH] = np.where(above, terms[:, HIGH], found[:, HIGH])
    return found


def wider(terms: Floats) -> Floats:
    """Widen intervals for extrapolation: multiply each half-width, and add a fraction of the value.

    ``terms`` (terms, 3, ...) are polynomial terms; the second axis holds value, low and high.  The factor and the
    fraction are assumed.
    """
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

    Parameters
    ----------
    load_bps : array (curves,)
        Load of each curve [b/s].
    terms : array (3, 3, curves, cells)
        Polynomial terms. Axis 0: number at the left knot of the cell, slope there, quadratic coefficient. Axis 1:
        value, low, high.
    basis : array (2, curves, cells)
        Kind of evidence, as an index into ``BASES``. Axis 0: of a payload between two points of the curve, of a payload
        at a point.
    rows : array (2, curves, cells)
        Indices of dataset rows. Axis 0: row at the nearest point to the left of the cell, row at the nearest to the
        right.
    inside : array of bool (curves, cells)
        Whether the cell lies within the payloads of the curve.
    """

    load_bps: Floats
    terms: Floats
    basis: Codes
    rows: Ints
    inside: Bools

    def at(self, curve: Ints, cell: Ints) -> Cells:
        """Select the polynomial terms of n pairs of a curve and a payload interval (cell).

        ``curve`` and ``cell`` (n,) are the indices of each pair.  The arrays of the result have one axis of length n in
        place of the two axes of curves and cells.
        """
        place = curve * self.inside.shape[1] + cell
        terms = self.terms.reshape(3, 3, -1).take(place, axis=2)
        basis, rows = (part.reshape(2, -1).take(place, axis=1) for part in (self.basis, self.rows))
        return Cells(self.load_bps[curve], terms, basis, rows, self.inside.take(place))


def on_cells(curves: Sequence[Curve], knots: Floats) -> Cells:
    """Divide curves into cells, the payload intervals between ``knots`` [B]; the result has a polynomial per cell.

    The knots must include the payloads of all curves.
    """
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
    behind_rows = np.concatenate([curve.next_measured_rows() for curve in curves])
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
    """Polynomial terms of curves in each payload interval between two knots (cell): array (3, 3, curves, cells).

    The first axis holds the number at the left knot, the slope there, and the quadratic coefficient.  The second axis
    holds value, low and high.
    """
    at_knots = np.stack([curve.at(knots) for curve in curves], axis=1)
    value = np.concatenate([at_knots[..., :1], at_knots], axis=-1)
    after = np.concatenate([at_knots, at_knots[..., -1:]], axis=-1)
    width = np.concatenate([[0.0], np.diff(knots), [0.0]])
    slope = np.divide(after - value, width, out=np.zeros_like(value), where=width > 0)
    square = np.zeros_like(value)
    for k, curve in enumerate(curves):
        if curve.between is not None and len(curve.payload_bytes) > 1:
            square[1:, k] = curve.half_curvature(left_knots(knots))
            square[1:, k, width == 0] = 0.0
    slope -= square * width
    return np.stack([value, slope, square])
