"""Piecewise-linear curves over payload and load; vectorised; knows its domain.

A *curve* is one metric over payload at one load.  A *surface* is several curves of one metric,
compiled on knots shared with other metrics: payloads fall into cells between knots, loads into
slots between levels, and a cell and slot hold the coefficients of

    v = c0 + c1·dp + (c2 + c3·dp)·dr,    dp = payload − left knot,  dr = load − left level

so that linear interpolation in payload and between load curves (IC2012 §7.1.1–7.1.3) is four
look-ups for a whole array, and a benchmarked point comes back exactly.
No formula of networks and no dataset is known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from icmodel.estimate import BASES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int8]
Bools = NDArray[np.bool_]

INTERPOLATED = BASES.index("interpolated")
ASSUMED = BASES.index("assumed")
EXTRAPOLATED = BASES.index("extrapolated")
VALUE, LOW, HIGH = 0, 1, 2
Below = Literal["held", "proportion", "one", "nothing"]

COVERAGE = 0.9
LONE_WIDTH = 0.2
"""Relative half-width where a curve has neither a spread nor three points; assumed."""
EXTRAPOLATED_WIDENING = 3.0
EXTRAPOLATED_MORE = 0.3
"""Outside the payloads of a curve its half-width is tripled, and 30 % of the value more; assumed.

Below the lowest load it grows to that, in proportion to the distance, towards a load of nothing."""

# Two-sided 90 % quantiles of Student's t for 1..30 degrees of freedom (0.95 one-sided).
_STUDENT = (
    6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
    1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725,
    1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697,
)  # fmt: skip
_NORMAL = 1.645


def spread_half_width(std: float, n: int | None) -> float:
    """Half of a 90 % prediction interval for one new run, from the spread of ``n`` runs.

    Student's t times std·√(1 + 1/n); the normal quantile when ``n`` is not said.
    """
    if n is None or n < 2:
        return _NORMAL * std
    quantile = _STUDENT[n - 2] if n - 2 < len(_STUDENT) else _NORMAL
    return float(quantile * std * np.sqrt(1 + 1 / n))


def leave_one_out_half_width(x: Floats, y: Floats, *, relative: bool) -> float:
    """Half-width from leaving each inner point out and interpolating its neighbours.

    The ⌈0.9·(m+1)⌉-th smallest of the m residuals (split-conformal rank, so that a new point of
    the same kind is covered with 90 %); of fewer than three points the assumed ``LONE_WIDTH``.

    Parameters
    ----------
    x, y : arrays, shape (n,)
        Payloads [B], increasing, and values.
    relative : bool
        Residuals as a share of the value (then the width is a share too) or in its unit.
    """
    if len(x) < 3:
        return LONE_WIDTH if relative else LONE_WIDTH * float(np.max(np.abs(y), initial=0.0))
    weight = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    residual = np.abs(y[1:-1] - (y[:-2] + weight * (y[2:] - y[:-2])))
    if relative:
        inner = np.abs(y[1:-1])
        residual = np.divide(residual, inner, out=np.zeros_like(residual), where=inner > 0)
    rank = min(int(np.ceil(COVERAGE * (len(residual) + 1))), len(residual))
    return float(np.sort(residual)[rank - 1])


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric over payload at one load.

    ``load_bps`` is ``inf`` for unlimited and NaN where the source does not say.  ``ends`` has the
    shape (3, n): value, low, high.  ``rows`` are indices of dataset rows.  A single number without
    a payload is a curve of one point that holds everywhere (``anywhere``), as ``extrapolated``: its
    payload is not said.  Where points were put between benchmarked ones, ``rows`` is the benchmarked
    one before and ``next_rows`` the one behind; where they go beyond, ``domain`` is where it ended.
    """

    load_bps: float
    payload_bytes: Floats
    ends: Floats
    basis: Codes
    rows: Ints
    anywhere: bool = False
    next_rows: Ints | None = None
    domain: tuple[float, float] | None = None

    @property
    def first(self) -> float:
        """Least payload [B]."""
        if self.domain is not None:
            return self.domain[0]
        return 1.0 if self.anywhere else float(self.payload_bytes[0])

    @property
    def last(self) -> float:
        """Greatest payload [B]."""
        if self.domain is not None:
            return self.domain[1]
        return float("inf") if self.anywhere else float(self.payload_bytes[-1])

    def at(self, payload_bytes: Floats) -> Floats:
        """Value, low and high at some payloads, held beyond the ends; shape (3, n)."""
        return np.stack([np.interp(payload_bytes, self.payload_bytes, end) for end in self.ends])


def payload_knots(curves: Iterable[Iterable[float]], extra: Iterable[float] = ()) -> Floats:
    """The union of all curves' payloads, each curve's end closed by a knot one byte further."""
    knots = set(extra)
    for payloads in map(set, curves):
        knots |= payloads
        if payloads:
            knots.add(max(payloads) + 1)
    return np.array(sorted(knots) or [1.0])


def cell_of(payload_bytes: Floats, knots: Floats) -> Ints:
    """The cell each payload falls into: 0 below the first knot, k from the k-th knot on."""
    return np.searchsorted(knots, payload_bytes, side="right")


def left_knots(knots: Floats) -> Floats:
    """The left knot of each cell, shape (len(knots) + 1,); the lowest cell takes the first."""
    return np.concatenate([knots[:1], knots])


@dataclass(frozen=True, slots=True)
class Surface:
    """A metric on shared knots and loads.

    ``coefficients`` has the shape (3, 4, cells, slots); ``basis`` (2, 2, cells, slots): off and on
    a payload knot, off and on a load level; ``rows`` (4, cells, slots): left and right row of the
    lower curve, then of the upper one, −1 for none; ``highest`` (cells,) is the highest load that
    answers, infinite where none does; ``unlimited_only`` (cells,) marks where limited
    requests are answered from the unlimited curve.  Slot s < len(loads) + 1 counts the loads not
    above the request; the last slot is the unlimited curve.
    """

    coefficients: Floats
    basis: Codes
    rows: Ints
    unlimited_only: Bools
    highest: Floats
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class _Cells:
    """One curve evaluated on the shared cells."""

    value: Floats  # (3, cells), at the left knot
    slope: Floats  # (3, cells)
    basis: Codes  # (2, cells), off and on an own knot
    rows: Ints  # (2, cells)
    inside: Bools  # (cells,)


def _on_cells(curve: Curve, knots: Floats) -> _Cells:
    left = left_knots(knots)
    right = np.concatenate([knots, knots[-1:]])
    value, after = curve.at(left), curve.at(right)
    width = right - left
    inner = (width > 0) & (np.arange(len(left)) > 0)
    slope = np.divide(after - value, width, out=np.zeros_like(value), where=inner)
    own = curve.payload_bytes
    before = np.clip(np.searchsorted(own, left, side="right") - 1, 0, len(own) - 1)
    behind = np.clip(before + 1, 0, len(own) - 1)
    off = np.maximum(np.maximum(curve.basis[before], curve.basis[behind]), INTERPOLATED)
    if curve.anywhere:
        unsaid = np.full((2, len(left)), EXTRAPOLATED, dtype=np.int8)
        rows = np.stack([curve.rows[before]] * 2)
        return _Cells(value, slope, unsaid, rows, np.ones(len(left), dtype=bool))
    on = np.where(own[before] == left, curve.basis[before], off)
    inside = (left >= own[0]) & (left <= own[-1])
    inside[0] = False
    behind_rows = curve.rows[behind] if curve.next_rows is None else curve.next_rows[before]
    return _Cells(
        value,
        slope,
        np.stack([off, on]).astype(np.int8),
        np.stack([curve.rows[before], behind_rows]),
        inside,
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
        Payload knots [B], including every curve's own (:func:`payload_knots`).
    loads : array, shape (l,)
        Load levels [b/s], increasing and finite, including every finite load of the curves.
    usable : array of bool, shape (finite curves by load, k + 1), optional
        Where a load curve may be used at all.
    below : "held", "proportion", "one" or "nothing"
        Below the lowest curve: that curve with ever wider ends, in proportion to the load with that
        curve as upper end, towards 1 at a load of nothing, or no answer.
    extend : (least, most), optional
        Answer outside the curves' payloads too: the edge held, wide but within these limits, and
        marked ``extrapolated``.
    """
    finite = sorted((c for c in curves if np.isfinite(c.load_bps)), key=lambda c: c.load_bps)
    on_cells = [_on_cells(curve, knots) for curve in finite]
    cells, slots = len(knots) + 1, len(loads) + 2
    coefficients = np.full((3, 4, cells, slots), np.nan)
    basis = np.full((2, 2, cells, slots), EXTRAPOLATED, dtype=np.int8)
    rows = np.full((4, cells, slots), -1, dtype=np.int64)
    surface = Surface(
        coefficients,
        basis,
        rows,
        np.zeros(cells, dtype=bool),
        np.full(cells, np.inf),
        min(c.first for c in curves),
        max(c.last for c in curves),
    )
    usable_here = np.array([c.inside for c in on_cells], dtype=bool).reshape(len(finite), cells)
    if usable is not None:
        usable_here &= usable
    for slot in range(slots - 1 if finite else 0):
        _fill_slot(surface, slot, finite, on_cells, loads, usable_here, below)
    for curve, where in zip(finite, usable_here, strict=True):
        surface.highest[where] = curve.load_bps
    _fill_single(surface, curves, knots, np.asarray(usable_here.any(axis=0)))
    if extend is not None:
        _extend(surface, *extend)
    return surface


def _fill_slot(
    surface: Surface,
    slot: int,
    curves: list[Curve],
    on_cells: list[_Cells],
    loads: Floats,
    usable: Bools,
    below_lowest: Below,
) -> None:
    """Fill one load slot: between its two usable curves, or held from the one there is."""
    floor = loads[slot - 1] if slot else 0.0
    ceiling = loads[slot] if slot < len(loads) else np.inf
    cells = usable.shape[1]
    below = np.full(cells, -1)
    above = np.full(cells, -1)
    for j, curve in enumerate(curves):
        if slot and curve.load_bps <= floor:
            below[usable[j]] = j
    for j, curve in reversed(list(enumerate(curves))):
        if curve.load_bps >= ceiling:
            above[usable[j]] = j
    for a, b in set(zip(below.tolist(), above.tolist(), strict=True)):
        where = (below == a) & (above == b)
        if a >= 0 and b >= 0:
            _between(surface, slot, where, curves[a], curves[b], on_cells[a], on_cells[b], floor)
        elif a >= 0:
            _hold(surface, slot, where, on_cells[a], exact=curves[a].load_bps == floor)
        elif b >= 0:
            _below(surface, slot, where, curves[b], on_cells[b], floor, below_lowest)


def _between(
    surface: Surface,
    slot: int,
    where: Bools,
    lower: Curve,
    upper: Curve,
    low_cells: _Cells,
    up_cells: _Cells,
    floor: float,
) -> None:
    span = upper.load_bps - lower.load_bps
    weight = (floor - lower.load_bps) / span
    rise = (up_cells.value - low_cells.value)[:, where]
    tilt = (up_cells.slope - low_cells.slope)[:, where]
    c = surface.coefficients
    c[:, 0, where, slot] = low_cells.value[:, where] + weight * rise
    c[:, 1, where, slot] = low_cells.slope[:, where] + weight * tilt
    c[:, 2, where, slot] = rise / span
    c[:, 3, where, slot] = tilt / span
    mixed = np.maximum(np.maximum(low_cells.basis, up_cells.basis), INTERPOLATED)[:, where]
    surface.basis[:, 0, where, slot] = mixed
    exact = lower.load_bps == floor
    surface.basis[:, 1, where, slot] = low_cells.basis[:, where] if exact else mixed
    surface.rows[0:2, where, slot] = low_cells.rows[:, where]
    surface.rows[2:4, where, slot] = up_cells.rows[:, where]


def _hold(surface: Surface, slot: int, where: Bools, cells: _Cells, *, exact: bool) -> None:
    c = surface.coefficients
    c[:, 0, where, slot] = cells.value[:, where]
    c[:, 1, where, slot] = cells.slope[:, where]
    c[:, 2:, where, slot] = 0.0
    if exact:
        surface.basis[:, 1, where, slot] = cells.basis[:, where]
    surface.rows[0:2, where, slot] = cells.rows[:, where]


def _below(
    surface: Surface,
    slot: int,
    where: Bools,
    curve: Curve,
    cells: _Cells,
    floor: float,
    below_lowest: Below,
) -> None:
    if below_lowest == "nothing":
        return
    _hold(surface, slot, where, cells, exact=False)
    c = surface.coefficients
    if below_lowest in ("held", "one"):
        here = c[:, :2, where, slot]
        at_nothing = _wider(here) if below_lowest == "held" else _one(here)
        change = (here - at_nothing) / curve.load_bps
        c[:, :2, where, slot] = here - (curve.load_bps - floor) * change
        c[:, 2:, where, slot] = change
        return
    for part in (VALUE, LOW):  # the curve itself stays the upper end
        value = cells.value[part, where] / curve.load_bps
        slope = cells.slope[part, where] / curve.load_bps
        c[part, 0, where, slot] = value * floor
        c[part, 1, where, slot] = slope * floor
        c[part, 2, where, slot] = value
        c[part, 3, where, slot] = slope


def _fill_single(surface: Surface, curves: Sequence[Curve], knots: Floats, limited: Bools) -> None:
    """Fill from curves without a finite load: unlimited, or at a load the source does not say.

    The unlimited curve fills the last slot.  Where no limited load is usable (``limited`` is
    False) a curve without a said load answers every slot, and failing that the unlimited curve is
    held for limited requests, marked ``extrapolated``.
    """
    last = surface.coefficients.shape[3] - 1
    unsaid = [_on_cells(c, knots) for c in curves if np.isnan(c.load_bps)]
    unlimited = [_on_cells(c, knots) for c in curves if np.isinf(c.load_bps)]
    for cells in unlimited:
        _set(surface, last, cells, cells.inside, exact=True)
    for cells in unsaid:
        where = cells.inside & ~limited
        for slot in range(last if unlimited else last + 1):
            _set(surface, slot, cells, where, exact=True)
        limited = limited | where
    for cells in unlimited:
        where = cells.inside & ~limited
        surface.unlimited_only[where] = True
        for slot in range(last):
            _set(surface, slot, cells, where, exact=False)


def _set(surface: Surface, slot: int, cells: _Cells, where: Bools, *, exact: bool) -> None:
    _hold(surface, slot, where, cells, exact=exact)
    if exact:
        surface.basis[:, 0, where, slot] = cells.basis[:, where]


def _extend(surface: Surface, lowest: float, highest: float) -> None:
    """Hold the edges beyond the payloads of each slot, wide and marked."""
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
            if not held[:, 2].any():  # no slope over the load
                held[LOW, 0] = max(held[LOW, 0], min(lowest, held[VALUE, 0]))
                held[HIGH, 0] = min(held[HIGH, 0], max(highest, held[VALUE, 0]))
            c[:, :, outside, slot] = held[:, :, None]
            surface.rows[:, outside, slot] = surface.rows[:, edge, slot][:, None]
            surface.basis[:, :, outside, slot] = EXTRAPOLATED
            if slot == 0:
                surface.unlimited_only[outside] = surface.unlimited_only[edge]
                surface.highest[outside] = surface.highest[edge]


def _widened(coefficients: Floats) -> Floats:
    """The coefficients at a payload edge, shape (3, 4), without slope and with wider ends."""
    held = coefficients.copy()
    held[:, 1] = held[:, 3] = 0.0
    return _wider(held)


def _one(ends: Floats) -> Floats:
    """1 with the ends as far off, or those of a curve itself where they lie farther out."""
    found: Floats = ends - ends[VALUE]
    found[:, 0] += 1.0
    found[LOW] = np.where(ends[LOW, 0] < found[LOW, 0], ends[LOW], found[LOW])
    found[HIGH] = np.where(ends[HIGH, 0] > found[HIGH, 0], ends[HIGH], found[HIGH])
    return found


def _wider(ends: Floats) -> Floats:
    """Value, low and high, or what they change by, with wider ends; shape (3, ...)."""
    value, low, high = ends
    more = EXTRAPOLATED_MORE * value
    return np.stack(
        [
            value,
            value - EXTRAPOLATED_WIDENING * (value - low) - more,
            value + EXTRAPOLATED_WIDENING * (high - value) + more,
        ]
    )


@dataclass(frozen=True, slots=True)
class Stack:
    """Several surfaces on the same knots and loads, looked up by group, cell and slot."""

    coefficients: Floats  # (3, 4, groups * cells * slots)
    basis: Codes  # (2, 2, groups * cells * slots)
    rows: Ints  # (4, groups * cells * slots)
    cells: int
    slots: int

    def place(self, group: Ints, cell: Ints, slot: Ints) -> Ints:
        """The index of a group, cell and slot."""
        return (group * self.cells + cell) * self.slots + slot

    def unlimited_values(self) -> Floats:
        """The unlimited curves at the left knots, shape (groups, cells)."""
        values: Floats = self.coefficients[VALUE, 0].reshape(-1, self.cells, self.slots)[:, :, -1]
        return values

    def look_up(self, part: int, place: Ints, dp: Floats, dr: Floats) -> Floats:
        """Values at places; ``dp`` [B] and ``dr`` [b/s] count from the left knot and level."""
        c0, c1, c2, c3 = self.coefficients[part]
        value: Floats = c3.take(place)
        value *= dp
        value += c2.take(place)
        value *= dr
        slope = c1.take(place)
        slope *= dp
        value += slope
        value += c0.take(place)
        return value

    def look_up_payload(self, part: int, place: Ints, dp: Floats) -> Floats:
        """Values of surfaces that do not change with the load."""
        value: Floats = self.coefficients[part, 1].take(place)
        value *= dp
        value += self.coefficients[part, 0].take(place)
        return value

    def basis_at(self, place: Ints, on_knot: Bools, on_level: Bools) -> Codes:
        """Basis codes at places (indices into ``BASES``)."""
        flat = self.basis.reshape(-1)
        width = self.basis.shape[2]
        code: Codes = flat.take((on_knot * 2 + on_level) * width + place)
        return code


def stack(surfaces: Sequence[Surface]) -> Stack:
    """Put surfaces on the same knots and loads into one look-up table."""
    shape = surfaces[0].coefficients.shape
    return Stack(
        np.ascontiguousarray(np.stack([s.coefficients for s in surfaces], 2)).reshape(3, 4, -1),
        np.ascontiguousarray(np.stack([s.basis for s in surfaces], 2)).reshape(2, 2, -1),
        np.ascontiguousarray(np.stack([s.rows for s in surfaces], 1)).reshape(4, -1),
        shape[2],
        shape[3],
    )
