"""Piecewise-linear curves over payload and load; vectorised; knows its domain.

A *curve* is one metric over payload at one load.  A *surface* is several curves of one metric,
compiled on knots shared with other metrics: payloads fall into cells between knots, loads into
slots between levels, and a cell and slot hold the coefficients of

    v = c0 + c1·dp + c2·dp² + (c3 + c4·dp + c5·dp²)·dr,    dp = payload − left knot,  dr = load − left level

so that linear interpolation in payload and between load curves (IC2012 §7.1.1–7.1.3) is four
look-ups for a whole array, and a benchmarked point comes back exactly.  The squares are of the ends
alone, which part between two points farther than the lines that join the points' own ends.
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
"""Relative half-width where too few rows can be left out to tell one; assumed."""
EXTRAPOLATED_WIDENING = 3.0
EXTRAPOLATED_MORE = 0.3
"""Outside the payloads of a curve its half-width is tripled, and 30 % of the value more; assumed.

Below the lowest load it grows to that, in proportion to the distance, towards a load of nothing."""

# Two-sided 90 % quantiles of Student's t for 1..30 degrees of freedom (0.95 one-sided).
_STUDENT = (
    6.313752, 2.919986, 2.353363, 2.131847, 2.015048, 1.943180, 1.894579, 1.859548, 1.833113, 1.812461,
    1.795885, 1.782288, 1.770933, 1.761310, 1.753050, 1.745884, 1.739607, 1.734064, 1.729133, 1.724718,
    1.720743, 1.717144, 1.713872, 1.710882, 1.708141, 1.705618, 1.703288, 1.701131, 1.699127, 1.697261,
)  # fmt: skip
NORMAL = 1.644854
"""Normal quantile of a two-sided 90 % interval."""


def spread_half_width(std: float, n: int | None) -> float:
    """Half of a 90 % prediction interval for one new run, from the spread of ``n`` runs.

    Student's t times std·√(1 + 1/n); the normal quantile when ``n`` is not said.
    """
    if n is None or n < 2:
        return NORMAL * std
    return float(student(n - 1) * std * np.sqrt(1 + 1 / n))


def student(degrees: int) -> float:
    """The 95 % quantile of Student's t; of many degrees of freedom by its expansion.

    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 1964, 26.7.5, two terms.
    """
    if degrees <= len(_STUDENT):
        return _STUDENT[degrees - 1]
    z = NORMAL
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric over payload at one load.

    ``load_bps`` is ``inf`` for unlimited and NaN where the source does not say.  ``ends`` has the
    shape (3, n): value, low, high.  ``rows`` are indices of dataset rows.  A single number without
    a payload is a curve of one point that holds everywhere (``anywhere``), as ``extrapolated``: its
    payload is not said.  Where points were put between benchmarked ones, ``rows`` is the benchmarked
    one before and ``next_rows`` the one behind; where they go beyond, ``domain`` is where it ended.

    ``between``, of n − 1, is how far a number in the middle of two points may be off the line that joins
    them, beyond what the points themselves may be off; none of a curve without it.  No end crosses
    ``limits`` for it.
    """

    load_bps: float
    payload_bytes: Floats
    ends: Floats
    basis: Codes
    rows: Ints
    anywhere: bool = False
    next_rows: Ints | None = None
    domain: tuple[float, float] | None = None
    between: Floats | None = None
    limits: tuple[float, float] = (-np.inf, np.inf)

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
        told = np.stack([np.interp(payload_bytes, self.payload_bytes, end) for end in self.ends])
        if self.between is None or len(self.payload_bytes) == 1:
            return told
        own, gap = self.payload_bytes, self.gap_of(payload_bytes)
        share = np.clip((payload_bytes - own[gap]) / (own[gap + 1] - own[gap]), 0.0, 1.0)
        told[1:] += self.bulges()[:, gap] * (4 * share * (1 - share))
        return told

    def gap_of(self, payload_bytes: Floats) -> Ints:
        """Between which two points each payload lies: the first of them; the outer gaps beyond."""
        own = self.payload_bytes
        return np.clip(np.searchsorted(own, payload_bytes, side="right") - 1, 0, len(own) - 2)

    def bulges(self) -> Floats:
        """What is added to low and high in the middle of each gap, shape (2, n − 1).

        What a number between two points may be off adds in quadrature to what these may be off.  The
        rest of a gap follows a parabola, 4·t·(1 − t) of it at the part t of the way, which leaves a
        limit free at distances a and b from the points while it is at most (√a + √b)² / 4.
        """
        value, middle = self.ends[VALUE], (self.ends[:, :-1] + self.ends[:, 1:]) / 2
        error = np.zeros(len(value) - 1) if self.between is None else self.between
        found = np.empty((2, len(error)))
        for part, limit, sign in ((LOW, self.limits[0], -1.0), (HIGH, self.limits[1], 1.0)):
            half = sign * (middle[part] - middle[VALUE])
            room = np.sqrt(np.maximum(sign * (limit - self.ends[part]), 0.0))
            most = (room[:-1] + room[1:]) ** 2 / 4
            found[part - 1] = sign * np.minimum(np.hypot(half, error) - half, most)
        return found


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

    ``coefficients`` has the shape (3, 6, cells, slots); ``basis`` (2, 2, cells, slots): off and on
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

    terms: Floats  # (3, 3, cells): at the left knot, slope there, of the square
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
        return _Cells(terms, unsaid, rows, np.ones(len(left), dtype=bool))
    on = np.where(own[before] == left, curve.basis[before], off)
    inside = (left >= own[0]) & (left <= own[-1])
    inside[0] = False
    behind_rows = curve.rows[behind] if curve.next_rows is None else curve.next_rows[before]
    return _Cells(
        terms,
        np.stack([off, on]).astype(np.int8),
        np.stack([curve.rows[before], behind_rows]),
        inside,
    )


def _terms(curve: Curve, knots: Floats) -> Floats:
    """Value, low and high of a curve on each cell: at the left knot, slope, and of the square."""
    left = left_knots(knots)
    right = np.concatenate([knots, knots[-1:]])
    value, after = curve.at(left), curve.at(right)
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
    coefficients = np.full((3, 6, cells, slots), np.nan)
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
    rise = (up_cells.terms - low_cells.terms)[:, :, where]
    c = surface.coefficients
    c[:, :3, where, slot] = low_cells.terms[:, :, where] + weight * rise
    c[:, 3:, where, slot] = rise / span
    mixed = np.maximum(np.maximum(low_cells.basis, up_cells.basis), INTERPOLATED)[:, where]
    surface.basis[:, 0, where, slot] = mixed
    exact = lower.load_bps == floor
    surface.basis[:, 1, where, slot] = low_cells.basis[:, where] if exact else mixed
    surface.rows[0:2, where, slot] = low_cells.rows[:, where]
    surface.rows[2:4, where, slot] = up_cells.rows[:, where]


def _hold(surface: Surface, slot: int, where: Bools, cells: _Cells, *, exact: bool) -> None:
    c = surface.coefficients
    c[:, :3, where, slot] = cells.terms[:, :, where]
    c[:, 3:, where, slot] = 0.0
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
        here = c[:, :3, where, slot]
        at_nothing = _wider(here) if below_lowest == "held" else _one(here)
        change = (here - at_nothing) / curve.load_bps
        c[:, :3, where, slot] = here - (curve.load_bps - floor) * change
        c[:, 3:, where, slot] = change
        return
    for part in (VALUE, LOW):  # the curve itself stays the upper end
        terms = cells.terms[part][:, where] / curve.load_bps
        c[part, :3, where, slot] = (terms * floor).T
        c[part, 3:, where, slot] = terms.T


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
            if not held[:, 3].any():  # no slope over the load
                held[LOW, 0] = max(held[LOW, 0], min(lowest, held[VALUE, 0]))
                held[HIGH, 0] = min(held[HIGH, 0], max(highest, held[VALUE, 0]))
            c[:, :, outside, slot] = held[:, :, None]
            surface.rows[:, outside, slot] = surface.rows[:, edge, slot][:, None]
            surface.basis[:, :, outside, slot] = EXTRAPOLATED
            if slot == 0:
                surface.unlimited_only[outside] = surface.unlimited_only[edge]
                surface.highest[outside] = surface.highest[edge]


def _widened(coefficients: Floats) -> Floats:
    """The coefficients at a payload edge, shape (3, 6), without slope and with wider ends."""
    held = coefficients.copy()
    held[:, [1, 2, 4, 5]] = 0.0
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
    """Several surfaces on the same knots and loads, looked up by group, cell and slot.

    The terms of dp² are left out where all are 0.
    """

    coefficients: Floats  # (3, 6 or 4, groups * cells * slots)
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
        value = self._of_payload(part, self.terms + 1, place, dp)
        value += self.coefficients[part, self.terms].take(place)
        value *= dr
        value += self._of_payload(part, 1, place, dp)
        value += self.coefficients[part, 0].take(place)
        return value

    def look_up_payload(self, part: int, place: Ints, dp: Floats) -> Floats:
        """Values of surfaces that do not change with the load."""
        value = self._of_payload(part, 1, place, dp)
        value += self.coefficients[part, 0].take(place)
        return value

    @property
    def terms(self) -> int:
        """How many coefficients belong to powers of dp; as many more to these times dr."""
        return int(self.coefficients.shape[1] // 2)

    def _of_payload(self, part: int, linear: int, place: Ints, dp: Floats) -> Floats:
        """What changes with ``dp``: the linear term, and the square's behind it, which no value has."""
        value: Floats = self.coefficients[part, linear].take(place)
        if part != VALUE and self.terms > 2:
            square = self.coefficients[part, linear + 1].take(place)
            square *= dp
            value += square
        value *= dp
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
    coefficients = np.stack([s.coefficients for s in surfaces], 2)
    if not np.nan_to_num(coefficients[:, [2, 5]]).any():
        coefficients = coefficients[:, [0, 1, 3, 4]]
    return Stack(
        np.ascontiguousarray(coefficients).reshape(3, coefficients.shape[1], -1),
        np.ascontiguousarray(np.stack([s.basis for s in surfaces], 2)).reshape(2, 2, -1),
        np.ascontiguousarray(np.stack([s.rows for s in surfaces], 1)).reshape(4, -1),
        shape[2],
        shape[3],
    )
