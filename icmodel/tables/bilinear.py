"""Compile the curves of one metric: coefficients for each interval of payload and of load.

Payloads fall into *cells* between knots, loads into *slots* between levels, the last slot being the
unlimited load.  A cell and slot hold the coefficients of

    v = c0 + c1·dp + c2·dp² + (c3 + c4·dp + c5·dp²)·dr,    dp = payload − left knot,  dr = load − left level

so that linear interpolation in payload and between load curves (IC2012 §7.1.1–7.1.3) is four
look-ups for a whole array, and a benchmarked point is reproduced exactly.  Only the low and high ends have
quadratic terms: between two points an interval is wider than at either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, Ints
from icmodel.estimate import BASES
from icmodel.tables.curves import HIGH, LOW, VALUE, Curve, left_knots

Below = Literal["held", "proportion", "one", "nothing"]
"""Rule below the lowest load: that load's curve with widening ends (``held``), value and low end in proportion to the
load (``proportion``), a ratio that tends to 1 as the load tends to 0 (``one``), or no answer (``nothing``)."""

EXTRAPOLATED_WIDENING = 3.0
EXTRAPOLATED_MORE = 0.3
"""Outside the payloads of a curve its half-width is tripled and 30 % of the value added; assumed.

Below the lowest load the interval widens in proportion to the distance, to the same width at load 0.
"""


class Surfaces(NamedTuple):
    """One metric of several configurations on shared knots and load levels: a surface for each.

    ``coefficients`` has the shape (6, 3, slots, surfaces, cells): c0 to c5, for value, low and high; ``basis``
    (2, 2, slots, surfaces, cells): off and on a payload knot, off and on a load level; ``rows`` (4, slots, surfaces,
    cells): left and right row of the lower curve, then of the upper one, −1 for none.  ``top_load`` (surfaces, cells)
    is the highest limited load with a curve [b/s]: 0 where only the unlimited curve answers, infinite where no
    limited load exists.  ``first`` and ``last`` (surfaces,) are the least and the greatest payload [B].
    """

    coefficients: Floats
    basis: Codes
    rows: Ints
    top_load: Floats
    first: Floats
    last: Floats


def no_surfaces(count: int, cells: int, slots: int) -> Surfaces:
    """Surfaces without answers."""
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
    """Compile the curves of one metric on shared knots and loads.

    Parameters
    ----------
    configurations : sequence of sequences of Curve
        The curves of each configuration, at least one; distinct loads.
    knots : array, shape (k,)
        Payload knots [B], including every curve's own (:func:`~icmodel.tables.curves.payload_knots`).
    loads : array, shape (l,)
        Load levels [b/s], increasing and finite, including every finite load of the curves.
    usable : for each configuration array of bool, shape (finite curves by load, k + 1), or ``None``, optional
        In which cells a load curve may be used.
    extend : array, shape (configurations, 2), optional
        Answer outside the curves' payloads too: the edge is held, its interval widened within these limits and
        the basis ``extrapolated``.
    """
    found = no_surfaces(len(configurations), len(knots) + 1, len(loads) + 2)
    if not configurations:
        return found
    cells = on_cells([curve for curves in configurations for curve in curves], knots)
    sides, start = _no_sides(found), 0
    for k, curves in enumerate(configurations):
        found.first[k] = min(curve.first for curve in curves)
        found.last[k] = max(curve.last for curve in curves)
        own = np.arange(start, start + len(curves))
        start += len(curves)
        may = None if usable is None else usable[k]
        found.top_load[k] = _choose(sides.of(k), cells, own, may, loads)
    floors = np.concatenate([[0.0], loads, [np.nan]])
    _hold(found, cells, sides, floors)
    _fill_between(found, cells, sides, floors)
    _fill_below(found, cells, sides, floors, below)
    if extend is not None:
        _extend(found, *extend.T)
    return found


# --- which curves answer ------------------------------------------------------------------------


class _Sides(NamedTuple):
    """The curves below and above each place, as indices, −1 for none; all are (slots, surfaces, cells).

    Where ``own`` holds, the basis at every load is that of the curve below.
    """

    lower: Ints
    upper: Ints
    own: Bools

    def of(self, surface: int) -> _Sides:
        """Views on those of one surface, (slots, cells)."""
        return _Sides(self.lower[:, surface], self.upper[:, surface], self.own[:, surface])


def _no_sides(found: Surfaces) -> _Sides:
    size = found.rows.shape[1:]
    return _Sides(np.full(size, -1), np.full(size, -1), np.zeros(size, dtype=bool))


def _choose(
    sides: _Sides, cells: Cells, curves: Ints, usable: Bools | None, loads: Floats
) -> Floats:
    """Choose among the curves of one surface, and return its highest limited loads (cells,)."""
    load = cells.load_bps[curves]
    limited = curves[np.isfinite(load)]
    limited = limited[np.argsort(cells.load_bps[limited])]
    may = cells.inside[limited]
    if usable is not None:
        may &= usable
    known = may.any(axis=0)
    top_load = np.full(may.shape[1], np.inf)
    if len(limited):
        lower, upper = _beside(cells.load_bps[limited], may, loads)
        sides.lower[:-1], sides.upper[:-1] = np.append(limited, -1)[np.stack([lower, upper])]
        top_load[known] = cells.load_bps[sides.lower[-2, known]]
    unlimited = curves[np.isinf(load)]
    unsaid = curves[np.isnan(load)]
    held = _choose_unlimited(sides, cells, unsaid, unlimited, np.asarray(known))
    top_load[held] = 0.0
    return top_load


def _beside(load: Floats, may: Bools, loads: Floats) -> tuple[Ints, Ints]:
    """The usable curve below and the one above each limited slot and cell, (slots, cells); −1 for none.

    The curves (n,) are in the order of their loads; ``may`` (n, cells) is where they may be used.
    """
    rank, none = np.arange(len(load))[:, None], np.full((1, may.shape[1]), -1)
    highest = np.maximum.accumulate(np.where(may, rank, -1))
    lowest = np.minimum.accumulate(np.where(may, rank, len(load))[::-1])[::-1]
    below = np.concatenate([none, highest])[load.searchsorted(loads, side="right")]
    above = np.concatenate([lowest, none])[load.searchsorted(loads, side="left")]
    above[above == len(load)] = -1
    return np.concatenate([none, below]), np.concatenate([above, none])


def _choose_unlimited(
    sides: _Sides, cells: Cells, unsaid: Ints, unlimited: Ints, known: Bools
) -> Bools:
    """Choose curves without a finite load: the unlimited one, or one whose load the source does not state.

    The unlimited curve answers in the last slot.  Where no limited load is usable (``known`` is
    False) a curve without a stated load answers in every slot; without such a curve the unlimited one is
    held for limited requests, marked ``extrapolated``: at the cells (cells,) that are returned.
    """
    held = np.zeros_like(known)
    for curve in unlimited:
        sides.lower[-1, cells.inside[curve]] = curve
        sides.own[-1, cells.inside[curve]] = True
    for curve in unsaid:
        where = cells.inside[curve] & ~known
        slots = slice(-1 if len(unlimited) else None)
        sides.lower[slots, where] = curve
        sides.own[slots, where] = True
        known = known | where
    for curve in unlimited:
        held = cells.inside[curve] & ~known
        sides.lower[:-1, held] = curve
    return held


# --- what they answer ---------------------------------------------------------------------------


def _hold(found: Surfaces, cells: Cells, sides: _Sides, floors: Floats) -> None:
    """Fill places with a curve below alone: constant over the load."""
    places = _Places.where((sides.lower >= 0) & (sides.upper < 0), floors)
    lower = places.of(cells, sides.lower)
    own = sides.own.reshape(-1)[places.at]
    on_level = own | (lower.load_bps == places.floor)
    basis = np.where(np.stack([own, on_level]), lower.basis[:, None], EXTRAPOLATED)
    places.fill(found, lower.terms, np.zeros_like(lower.terms), basis, lower.rows)


def _fill_between(found: Surfaces, cells: Cells, sides: _Sides, floors: Floats) -> None:
    """Fill places between two curves: interpolated."""
    places = _Places.where((sides.lower >= 0) & (sides.upper >= 0), floors)
    lower, upper = places.of(cells, sides.lower), places.of(cells, sides.upper)
    rise, span = upper.terms - lower.terms, upper.load_bps - lower.load_bps
    weight = (places.floor - lower.load_bps) / span
    mixed = np.maximum(np.maximum(lower.basis, upper.basis), INTERPOLATED)
    on_level = np.where(lower.load_bps == places.floor, lower.basis, mixed)
    basis = np.stack([mixed, on_level], axis=1)
    rows = np.concatenate([lower.rows, upper.rows])
    places.fill(found, lower.terms + weight * rise, rise / span, basis, rows)


def _fill_below(found: Surfaces, cells: Cells, sides: _Sides, floors: Floats, below: Below) -> None:
    """Fill places below the lowest curve by their rule."""
    if below == "nothing":
        return
    places = _Places.where((sides.lower < 0) & (sides.upper >= 0), floors)
    upper = places.of(cells, sides.upper)
    here, load = upper.terms, upper.load_bps
    if below == "proportion":  # the curve itself stays the upper end
        change = here / load
        constant = change * places.floor
        change[:, HIGH], constant[:, HIGH] = 0.0, here[:, HIGH]
    else:
        change = (here - (_wider(here) if below == "held" else _one(here))) / load
        constant = here - (load - places.floor) * change
    places.fill(found, constant, change, EXTRAPOLATED, upper.rows)


class _Places(NamedTuple):
    """Some places (n,) among (slots, surfaces, cells): where they are, their cells, and levels left of their slots [b/s]."""

    at: Ints
    cell: Ints
    floor: Floats

    @classmethod
    def where(cls, wanted: Bools, floors: Floats) -> _Places:
        """Those that are wanted, (slots, surfaces, cells)."""
        index = np.flatnonzero(wanted)
        _, surfaces, cells = wanted.shape
        return cls(index, index % cells, floors[index // (surfaces * cells)])

    def of(self, cells: Cells, curves: Ints) -> Cells:
        """The curves that are chosen at these places, evaluated there."""
        return cells.at(curves.reshape(-1)[self.at], self.cell)

    def fill(
        self, found: Surfaces, constant: Floats, change: Floats, basis: Codes | int, rows: Ints
    ) -> None:
        """Write coefficients without and with the load, (3, 3, n), bases (2, 2, n) and rows (2 or 4, n)."""
        coefficients = found.coefficients.reshape(6, 3, -1)
        coefficients[:3, :, self.at] = constant
        coefficients[3:, :, self.at] = change
        found.basis.reshape(2, 2, -1)[..., self.at] = basis
        found.rows.reshape(4, -1)[: len(rows), self.at] = rows


# --- beyond the payloads ------------------------------------------------------------------------


def _extend(found: Surfaces, least: Floats, most: Floats) -> None:
    """Hold the edge values beyond the payloads of each slot, widened within limits (surfaces,) and marked."""
    known = ~np.isnan(found.coefficients[0, VALUE])
    cell = np.arange(known.shape[-1])
    first = known.argmax(axis=-1)[..., None]
    last = cell[-1] - known[..., ::-1].argmax(axis=-1)[..., None]
    some = known.any(axis=-1)[..., None]
    for edge, outside in ((first, some & (cell < first)), (last, some & (cell > last))):
        held = _widened(np.take_along_axis(found.coefficients, edge[None, None], axis=-1))
        value, low, high = held[0, ..., 0]
        flat = ~held[3, ..., 0].any(axis=0)  # no slope over the load
        low[flat] = np.maximum(low, np.minimum(least, value))[flat]
        high[flat] = np.minimum(high, np.maximum(most, value))[flat]
        np.copyto(found.coefficients, held, where=outside)
        np.copyto(found.rows, np.take_along_axis(found.rows, edge[None], axis=-1), where=outside)
        np.copyto(found.basis, EXTRAPOLATED, where=outside)
        top_load = np.take_along_axis(found.top_load, edge[0], axis=-1)
        np.copyto(found.top_load, top_load, where=outside[0])


def _widened(coefficients: Floats) -> Floats:
    """The coefficients at payload edges, shape (6, 3, ...), without slope and with wider ends."""
    held = coefficients.copy()
    held[[1, 2, 4, 5]] = 0.0
    return _wider(held)


def _one(terms: Floats) -> Floats:
    """The value 1 with the same distances to its ends, or the curve's own ends where these lie farther out."""
    found: Floats = terms - terms[:, [VALUE]]
    found[0] += 1.0
    below, above = terms[0, LOW] < found[0, LOW], terms[0, HIGH] > found[0, HIGH]
    found[:, LOW] = np.where(below, terms[:, LOW], found[:, LOW])
    found[:, HIGH] = np.where(above, terms[:, HIGH], found[:, HIGH])
    return found


def _wider(terms: Floats) -> Floats:
    """Terms of value, low and high, shape (terms, 3, ...), with wider ends."""
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
