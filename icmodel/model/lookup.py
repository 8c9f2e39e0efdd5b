"""Look-up tables: one metric for any protocol, core count and switch count.

Rows at the asked count stand in place of a rule; where there are none the nearest measured count
serves and the rules of the metric (IC2012 §7.1) do the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset
from icmodel.interpolation import (
    EXTRAPOLATED,
    VALUE,
    Below,
    Curve,
    Stack,
    Surface,
    compile_surface,
    left_knots,
    stack,
)
from icmodel.model.shelf import Count, Curves, Place, stated_range

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LOAD_TOLERANCE = 1.005
"""A load curve counts as carried where its load is at most this times the goodput there (E14)."""
GROWING = ("cpu_", "packets_")
"""Metrics that go with the load below the lowest measured one: without frames there is nothing."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """One metric's surfaces, and which of them answers which protocol, cores and switches.

    ``group``, ``cores`` and ``switches`` have the shape (protocols · core counts · switch counts):
    the surface (0 answers nothing), and the counts it was measured at (0: not said).
    ``unlimited_only`` (groups · cells) marks where only the unlimited load answers and ``highest``
    is the highest limited one that does, infinite where none does; ``scale`` is measured over
    counted cores, 1 where either is not said.
    """

    stack: Stack
    group: Ints
    cores: Floats
    switches: Floats
    first: Floats
    last: Floats
    unlimited_only: Bools
    highest: Floats
    scale: Floats

    @property
    def empty(self) -> bool:
        """Whether the metric has no rows at all."""
        return len(self.first) == 1

    def zero_filled(self) -> Lookup:
        """The same table with 0 where nothing is known."""
        filled = replace(self.stack, coefficients=np.nan_to_num(self.stack.coefficients))
        return replace(self, stack=filled)


@dataclass(frozen=True, slots=True)
class Press:
    """Compiles the curves of metrics on one set of knots, loads, protocols and counts.

    ``lent`` are the core counts of protocols that have rows, but none of the goodput: there the
    nearest count answers for every metric without own rows.  ``fitted`` curves were drawn from fits.
    """

    data: Dataset
    protocols: tuple[str, ...]
    cores: tuple[int, ...]
    switch_counts: int
    knots: Floats
    loads: Floats
    extend: bool
    lent: frozenset[tuple[str, int]] = frozenset()
    fitted: bool = False

    def lookup(
        self,
        metric: str,
        curves: Curves,
        *,
        nearest_cores: bool = False,
        below: Below = "held",
        carried: Curves | None = None,
    ) -> Lookup:
        """The look-up table of one metric; group 0 answers nothing."""
        places = sorted(curves, key=lambda place: (place[0], place[1] or 0, place[2]))
        surfaces = [self._nothing()]
        for place in places:
            surfaces.append(
                compile_surface(
                    self._carried_only(metric, curves[place], carried, place[0]),
                    self.knots,
                    self.loads,
                    usable=self._usable(curves[place], carried, place[0]),
                    below=below,
                    extend=stated_range(self.data, metric, place[0]) if self.extend else None,
                )
            )
        shape = (len(self.protocols), max(len(self.cores), 1), self.switch_counts)
        group = np.zeros(shape, dtype=np.int64)
        for index in np.ndindex(shape):
            protocol = self.protocols[index[0]]
            asked = self.cores[index[1]] if self.cores else None
            own = [p for p in places if p[0] == protocol and p[2] <= index[2]]
            if asked is not None and (protocol, asked) in self.lent:
                found = _closest(own, asked)
            else:
                found = _standing_in(own, asked, nearest_cores=nearest_cores)
            group[index] = 0 if found is None else 1 + places.index(found)
        counts = [(0, 0), *((place[1] or 0, place[2]) for place in places)]
        flat = group.reshape(-1)
        measured = np.array([c for c, _ in counts], dtype=float)[flat]
        counted = np.broadcast_to(np.array(self.cores or (0,), dtype=float)[:, None], shape)
        return Lookup(
            stack(surfaces),
            flat,
            measured,
            np.array([s for _, s in counts], dtype=float)[flat],
            np.array([s.first for s in surfaces]),
            np.array([s.last for s in surfaces]),
            np.concatenate([s.unlimited_only for s in surfaces]),
            np.concatenate([s.highest for s in surfaces]),
            np.where(
                (measured > 0) & (counted.reshape(-1) > 0),
                measured / np.maximum(counted.reshape(-1), 1),
                1.0,
            ),
        )

    def limits(self, metric: str) -> tuple[Floats, Floats]:
        """Least and greatest possible value of a metric, by protocol."""
        ranges = np.array(
            [stated_range(self.data, metric, protocol) for protocol in self.protocols]
        )
        return ranges[:, 0], ranges[:, 1]

    def _nothing(self) -> Surface:
        cells, slots = len(self.knots) + 1, len(self.loads) + 2
        return Surface(
            np.full((3, 6, cells, slots), np.nan),
            np.zeros((2, 2, cells, slots), dtype=np.int8),
            np.full((4, cells, slots), -1, dtype=np.int64),
            np.zeros(cells, dtype=bool),
            np.full(cells, np.inf),
            np.inf,
            -np.inf,
        )

    def _carried_only(
        self, metric: str, curves: list[Curve], carried: Curves | None, protocol: str
    ) -> list[Curve]:
        """Curves in which rows taken in overload give way to the next lower curve, held (E14).

        Else a line between a carried and an overloaded payload would bend towards overload.  Of fitted
        curves those that grow with the load do not, and stay; the others are held from the edge on.
        """
        capacity = None if carried is None else carried.get(most_measured(carried, protocol))
        if capacity is None or (self.fitted and metric.startswith(GROWING)):
            return curves
        mended: list[Curve] = []
        for curve in sorted(_finite(curves), key=lambda c: c.load_bps):
            over = curve.load_bps > LOAD_TOLERANCE * capacity[0].at(curve.payload_bytes)[VALUE]
            if self.fitted:
                mended.append(_held_from_edge(curve, over))
            else:
                mended.append(_held(curve, over, mended[-1]) if mended and over.any() else curve)
        return [*mended, *(c for c in curves if not np.isfinite(c.load_bps))]

    def _usable(self, curves: list[Curve], carried: Curves | None, protocol: str) -> Bools | None:
        """E14: at each payload only curves whose load the benchmarked goodput carries there."""
        if carried is None:
            return None
        capacity = carried.get(most_measured(carried, protocol))
        if capacity is None:
            return None
        there = capacity[0].at(left_knots(self.knots))[VALUE]
        loads = sorted(c.load_bps for c in _finite(curves))
        return np.array([load <= LOAD_TOLERANCE * there for load in loads], dtype=bool).reshape(
            len(loads), len(there)
        )


def _finite(curves: Iterable[Curve]) -> list[Curve]:
    return [curve for curve in curves if np.isfinite(curve.load_bps)]


def _held_from_edge(curve: Curve, over: Bools) -> Curve:
    """The curve with some of its points taken from the nearest of the others, marked ``extrapolated``."""
    if over.all() or not over.any():
        return curve
    logs, known = np.log(curve.payload_bytes), np.flatnonzero(~over)
    nearest = known[np.abs(logs[:, None] - logs[known]).argmin(axis=1)]
    return replace(
        curve,
        ends=curve.ends[:, nearest],
        basis=np.where(over, EXTRAPOLATED, curve.basis).astype(np.int8),
        rows=curve.rows[nearest],
        next_rows=None if curve.next_rows is None else curve.next_rows[nearest],
    )


def _held(curve: Curve, over: Bools, lower: Curve) -> Curve:
    """The curve with some of its points taken from a lower curve, marked ``extrapolated``."""
    nearest = np.searchsorted(lower.payload_bytes, curve.payload_bytes, side="right") - 1
    nearest = np.clip(nearest, 0, len(lower.payload_bytes) - 1)
    return replace(
        curve,
        ends=np.where(over, lower.at(curve.payload_bytes), curve.ends),
        basis=np.where(over, EXTRAPOLATED, curve.basis).astype(np.int8),
        rows=np.where(over, lower.rows[nearest], curve.rows),
    )


def most_measured(curves: Curves, protocol: str) -> Place:
    """The place of a protocol with the most cores and no switch, where load curves were run."""
    places = [place for place in curves if place[0] == protocol]
    if not places:
        return protocol, None, -1
    return max(places, key=lambda place: (-place[2], place[1] or 0))


def _closest(own: list[Place], cores: int) -> Place | None:
    """The place of the closest core count, the lower of two, with the most switches."""
    return min(
        own, key=lambda p: (abs((p[1] or cores) - cores), p[1] or cores, -p[2]), default=None
    )


def _standing_in(own: list[Place], cores: Count, *, nearest_cores: bool) -> Place | None:
    """The place that answers: its own cores (or the most measured), with the most switches."""
    exact = [p for p in own if p[1] == cores or p[1] is None]
    if exact:
        return max(exact, key=lambda p: p[2])
    if not nearest_cores or not own:
        return None
    most = max(p[1] or 0 for p in own)
    return max((p for p in own if p[1] == most), key=lambda p: p[2])


def crossings(capacities: Iterable[list[Curve]], loads: Floats) -> tuple[float, ...]:
    """Whole payloads beside each point where a goodput curve crosses a load (E14)."""
    found: set[float] = set()
    for curve in (c for curves in capacities for c in curves):
        x, y = curve.payload_bytes, curve.ends[0]
        for load in loads / LOAD_TOLERANCE:
            for k in np.flatnonzero(((y[:-1] - load) * (y[1:] - load) <= 0) & (y[:-1] != y[1:])):
                where = x[k] + (load - y[k]) / (y[k + 1] - y[k]) * (x[k + 1] - x[k])
                found.update((float(np.floor(where)), float(np.floor(where)) + 1))
    return tuple(sorted(found))
