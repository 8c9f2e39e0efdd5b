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
from dataclasses import dataclass
from typing import Literal

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, Ints
from icmodel.estimate import BASES
from icmodel.tables.curve import HIGH, LOW, VALUE, Curve, left_knots

INTERPOLATED = BASES.index("interpolated")
EXTRAPOLATED = BASES.index("extrapolated")

Below = Literal["held", "proportion", "one", "nothing"]
"""Rule below the lowest load: that load's curve with widening ends (``held``), value and low end in proportion to the
load (``proportion``), a ratio that tends to 1 as the load tends to 0 (``one``), or no answer (``nothing``)."""

EXTRAPOLATED_WIDENING = 3.0
EXTRAPOLATED_MORE = 0.3
"""Outside the payloads of a curve its half-width is tripled and 30 % of the value added; assumed.

Below the lowest load the interval widens in proportion to the distance, to the same width at load 0.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """One metric of one configuration on shared knots and load levels.

    ``coefficients`` has the shape (3, 6, cells, slots): value, low, high; ``basis`` (2, 2, cells, slots):
    off and on a payload knot, off and on a load level; ``rows`` (4, cells, slots): left and right row
    of the lower curve, then of the upper one, −1 for none.  ``top_load`` (cells,) is the highest limited
    load with a curve [b/s]: 0 where only the unlimited curve answers, infinite where no limited load exists.
    """

    coefficients: Floats
    basis: Codes
    rows: Ints
    top_load: Floats
    first: float
    last: float


def no_surface(cells: int, slots: int) -> Surface:
    """A surface without answers."""
    return Surface(
        np.full((3, 6, cells, slots), np.nan),
        np.full((2, 2, cells, slots), EXTRAPOLATED, dtype=np.int8),
        np.full((4, cells, slots), -1, dtype=np.int64),
        np.full(cells, np.inf),
        np.inf,
        -np.inf,
    )


def compile_surface(
    curves: Sequence[Curve],
    knots: Floats,
    loads: Floats,
    *,
    usable: Bools | None = None,
    below: Below = "held",
    extend: tuple[float, float] | None = None,
) -> Surface:
    """Compile curves of one metric on shared knots and loads.

    Parameters
    ----------
    curves : sequence of Curve
        At least one; distinct loads.
    knots : array, shape (k,)
        Payload knots [B], including every curve's own (:func:`~icmodel.tables.curve.payload_knots`).
    loads : array, shape (l,)
        Load levels [b/s], increasing and finite, including every finite load of the curves.
    usable : array of bool, shape (finite curves by load, k + 1), optional
        In which cells a load curve may be used.
    extend : (least, most), optional
        Answer outside the curves' payloads too: the edge is held, its interval widened within these limits and
        the basis ``extrapolated``.
    """
    finite = sorted((c for c in curves if np.isfinite(c.load_bps)), key=lambda c: c.load_bps)
    limited = [_on_cells(curve, knots) for curve in finite]
    surface = no_surface(len(knots) + 1, len(loads) + 2)
    surface = Surface(
        surface.coefficients,
        surface.basis,
        surface.rows,
        surface.top_load,
        min(c.first for c in curves),
        max(c.last for c in curves),
    )
    may = np.array([c.inside for c in limited], dtype=bool).reshape(len(finite), len(knots) + 1)
    if usable is not None:
        may &= usable
    for slot in range(len(loads) + 1 if finite else 0):
        _fill_slot(surface, slot, limited, loads, may, below)
    for cells, where in zip(limited, may, strict=True):
        surface.top_load[where] = cells.load_bps
    _fill_unlimited(surface, curves, knots, np.asarray(may.any(axis=0)))
    if extend is not None:
        _extend(surface, *extend)
    return surface


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """One curve evaluated on the shared cells."""

    load_bps: float
    terms: Floats  # (3, 3, cells): value at the left knot, slope there, quadratic coefficient
    basis: Codes  # (2, cells), off and on an own knot
    rows: Ints  # (2, cells)
    inside: Bools  # (cells,)


def _on_cells(curve: Curve, knots: Floats) -> _Cells:
    left = left_knots(knots)
    own = curve.payload_bytes
    before = np.clip(np.searchsorted(own, left, side="right") - 1, 0, len(own) - 1)
    behind = np.clip(before + 1, 0, len(own) - 1)
    terms = _terms(curve, knots)
    off = np.maximum(np.maximum(curve.basis[before], curve.basis[behind]), INTERPOLATED)
    if curve.anywhere:
        unsaid = np.full((2, len(left)), EXTRAPOLATED, dtype=np.int8)
        rows = np.stack([curve.rows[before]] * 2)
        return _Cells(curve.load_bps, terms, unsaid, rows, np.ones(len(left), dtype=bool))
    on = np.where(own[before] == left, curve.basis[before], off)
    inside = (left >= own[0]) & (left <= own[-1])
    inside[0] = False
    behind_rows = curve.rows[behind] if curve.next_rows is None else curve.next_rows[before]
    return _Cells(
        curve.load_bps,
        terms,
        np.stack([off, on]).astype(np.int8),
        np.stack([curve.rows[before], behind_rows]),
        inside,
    )


def _terms(curve: Curve, knots: Floats) -> Floats:
    """Value, low and high of a curve in each cell: at the left knot, slope, quadratic coefficient; (3, 3, cells)."""
    left = left_knots(knots)
    right = np.concatenate([knots, knots[-1:]])
    told = curve.at(knots)
    value = np.concatenate([told[:, :1], told], axis=1)
    after = np.concatenate([told, told[:, -1:]], axis=1)
    width = right - left
    inner = (width > 0) & (np.arange(len(left)) > 0)
    slope = np.divide(after - value, width, out=np.zeros_like(value), where=inner)
    square = np.zeros_like(value)
    if curve.between is not None and len(curve.payload_bytes) > 1:
        own, gap = curve.payload_bytes, curve.gap_of(left)
        inner &= (left >= own[0]) & (left < own[-1])
        bent = 4 * curve.bulges()[:, gap] / (own[gap + 1] - own[gap]) ** 2
        square[1:] = np.where(inner, -bent, 0.0)
        slope[1:] -= square[1:] * width
    return np.stack([value, slope, square], axis=1)


def _fill_slot(
    surface: Surface, slot: int, curves: list[_Cells], loads: Floats, usable: Bools, below: Below
) -> None:
    """Fill one load slot: interpolated between its two usable curves, or held where there is one."""
    floor = loads[slot - 1] if slot else 0.0
    ceiling = loads[slot] if slot < len(loads) else np.inf
    lower = np.full(usable.shape[1], -1)
    upper = np.full(usable.shape[1], -1)
    for j, curve in enumerate(curves):
        if slot and curve.load_bps <= floor:
            lower[usable[j]] = j
    for j, curve in reversed(list(enumerate(curves))):
        if curve.load_bps >= ceiling:
            upper[usable[j]] = j
    for a, b in set(zip(lower.tolist(), upper.tolist(), strict=True)):
        where = (lower == a) & (upper == b)
        if a >= 0 and b >= 0:
            _between(surface, slot, where, curves[a], curves[b], floor)
        elif a >= 0:
            _hold(surface, slice(slot, slot + 1), where, curves[a])
            if curves[a].load_bps == floor:
                surface.basis[:, 1, where, slot] = curves[a].basis[:, where]
        elif b >= 0:
            _below(surface, slot, where, curves[b], floor, below)


def _between(
    surface: Surface, slot: int, where: Bools, lower: _Cells, upper: _Cells, floor: float
) -> None:
    span = upper.load_bps - lower.load_bps
    weight = (floor - lower.load_bps) / span
    rise = (upper.terms - lower.terms)[:, :, where]
    c = surface.coefficients
    c[:, :3, where, slot] = lower.terms[:, :, where] + weight * rise
    c[:, 3:, where, slot] = rise / span
    mixed = np.maximum(np.maximum(lower.basis, upper.basis), INTERPOLATED)[:, where]
    surface.basis[:, 0, where, slot] = mixed
    exact = lower.load_bps == floor
    surface.basis[:, 1, where, slot] = lower.basis[:, where] if exact else mixed
    surface.rows[0:2, where, slot] = lower.rows[:, where]
    surface.rows[2:4, where, slot] = upper.rows[:, where]


def _hold(surface: Surface, slots: slice, where: Bools, cells: _Cells) -> None:
    """Fill some slots from one curve, constant over the load."""
    c = surface.coefficients
    c[:, :3, where, slots] = cells.terms[:, :, where, None]
    c[:, 3:, where, slots] = 0.0
    surface.rows[0:2, where, slots] = cells.rows[:, where, None]


def _below(
    surface: Surface, slot: int, where: Bools, cells: _Cells, floor: float, below: Below
) -> None:
    """Fill a slot below the lowest curve."""
    if below == "nothing":
        return
    _hold(surface, slice(slot, slot + 1), where, cells)
    c = surface.coefficients
    if below in ("held", "one"):
        here = c[:, :3, where, slot]
        at_nothing = _wider(here) if below == "held" else _one(here)
        change = (here - at_nothing) / cells.load_bps
        c[:, :3, where, slot] = here - (cells.load_bps - floor) * change
        c[:, 3:, where, slot] = change
        return
    for part in (VALUE, LOW):  # the curve itself stays the upper end
        terms = cells.terms[part][:, where] / cells.load_bps
        c[part, :3, where, slot] = (terms * floor).T
        c[part, 3:, where, slot] = terms.T


def _fill_unlimited(
    surface: Surface, curves: Sequence[Curve], knots: Floats, limited: Bools
) -> None:
    """Fill from curves without a finite load: the unlimited one, or one whose load the source does not state.

    The unlimited curve fills the last slot.  Where no limited load is usable (``limited`` is
    False) a curve without a stated load answers in every slot; without such a curve the unlimited one is
    held for limited requests, marked ``extrapolated``.
    """
    last = surface.coefficients.shape[3] - 1
    unsaid = [_on_cells(c, knots) for c in curves if np.isnan(c.load_bps)]
    unlimited = [_on_cells(c, knots) for c in curves if np.isinf(c.load_bps)]
    for cells in unlimited:
        _set(surface, slice(last, None), cells, cells.inside)
    for cells in unsaid:
        where = cells.inside & ~limited
        _set(surface, slice(last if unlimited else None), cells, where)
        limited = limited | where
    for cells in unlimited:
        where = cells.inside & ~limited
        surface.top_load[where] = 0.0
        _hold(surface, slice(last), where, cells)


def _set(surface: Surface, slots: slice, cells: _Cells, where: Bools) -> None:
    """Fill some slots from one curve, with its own bases."""
    _hold(surface, slots, where, cells)
    surface.basis[:, :, where, slots] = cells.basis[:, None, where, None]


def _extend(surface: Surface, lowest: float, highest: float) -> None:
    """Hold the edge values beyond the payloads of each slot, widened and marked ``extrapolated``."""
    c = surface.coefficients
    for slot in range(c.shape[3]):
        known = np.flatnonzero(~np.isnan(c[VALUE, 0, :, slot]))
        if not len(known):
            continue
        for edge, outside in (
            (known[0], slice(0, known[0])),
            (known[-1], slice(known[-1] + 1, None)),
        ):
            held = _widened(c[:, :, edge, slot])
            if not held[:, 3].any():  # no slope over the load
                held[LOW, 0] = max(held[LOW, 0], min(lowest, held[VALUE, 0]))
                held[HIGH, 0] = min(held[HIGH, 0], max(highest, held[VALUE, 0]))
            c[:, :, outside, slot] = held[:, :, None]
            surface.rows[:, outside, slot] = surface.rows[:, edge, slot][:, None]
            surface.basis[:, :, outside, slot] = EXTRAPOLATED
            if slot == 0:
                surface.top_load[outside] = surface.top_load[edge]


def _widened(coefficients: Floats) -> Floats:
    """The coefficients at a payload edge, shape (3, 6), without slope and with wider ends."""
    held = coefficients.copy()
    held[:, [1, 2, 4, 5]] = 0.0
    return _wider(held)


def _one(ends: Floats) -> Floats:
    """The value 1 with the same distances to its ends, or the curve's own ends where these lie farther out."""
    found: Floats = ends - ends[VALUE]
    found[:, 0] += 1.0
    found[LOW] = np.where(ends[LOW, 0] < found[LOW, 0], ends[LOW], found[LOW])
    found[HIGH] = np.where(ends[HIGH, 0] > found[HIGH, 0], ends[HIGH], found[HIGH])
    return found


def _wider(ends: Floats) -> Floats:
    """Value, low and high, or their coefficients, with wider ends; shape (3, ...)."""
    value, low, high = ends
    more = EXTRAPOLATED_MORE * value
    return np.stack(
        [
            value,
            value - EXTRAPOLATED_WIDENING * (value - low) - more,
            value + EXTRAPOLATED_WIDENING * (high - value) + more,
        ]
    )
