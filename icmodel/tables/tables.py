"""Look-up tables of a dataset: every metric by payload, load, protocol, core and switch count.

Rows at the requested count take precedence over a rule; without them the nearest measured count
answers and the rules of the metric (IC2012 §7.1) scale it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, Ints
from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.tables.bilinear import Below, Surfaces, compile_surfaces, no_surfaces
from icmodel.tables.curves import LOW, Configuration, Curves, left_knots, stated_range
from icmodel.tables.wire import Wire

FEW, DENSE = 1000, 1 << 17
"""From this many questions on, cells of payloads below this size [B] are looked up rather than searched."""

Usable = Callable[[Configuration], Bools | None]
"""Where each limited curve of a configuration may be used, shape (curves by load, cells); ``None``: everywhere."""


class Axes(NamedTuple):
    """Axes that all tables of one dataset and choice of options share."""

    protocols: tuple[str, ...]
    cores: tuple[int, ...]
    switch_counts: int
    knots: Floats
    loads: Floats

    @property
    def shape(self) -> tuple[int, int, int]:
        """Counts of protocols, core counts and switch counts."""
        return len(self.protocols), max(len(self.cores), 1), self.switch_counts

    @property
    def cells(self) -> int:
        """Number of payload cells."""
        return len(self.knots) + 1

    @property
    def slots(self) -> int:
        """Number of load slots, the last for the unlimited load."""
        return len(self.loads) + 2


class MetricTable(NamedTuple):
    """One metric's surfaces, and which of them answers for each protocol, core and switch count.

    ``group`` (protocols · core counts · switch counts) is the surface that answers, 0 for none and 1 for the first;
    ``cores`` and ``switches`` are the counts it was measured at (0: not stated), ``payloads`` (2, ...) its least and
    greatest payload [B].  ``limits`` (2, protocols) are the least and greatest possible values of the metric.
    """

    surfaces: Surfaces
    group: Ints
    cores: Floats
    switches: Floats
    payloads: Floats
    limits: Floats


class Compiler(NamedTuple):
    """Compiles the curves of metrics on shared axes.

    With ``extend`` tables answer beyond the payloads of the curves, too.  ``without_goodput`` are the pairs of protocol
    and core count that have rows but no goodput; there the nearest core count answers for every metric.
    """

    data: Dataset
    axes: Axes
    extend: bool
    without_goodput: frozenset[tuple[str, int]] = frozenset()

    def table(
        self,
        metric: str,
        curves: Curves,
        *,
        any_cores: bool = False,
        below: Below = "held",
        usable: Usable | None = None,
    ) -> MetricTable:
        """The table of one metric.

        Parameters
        ----------
        any_cores : bool
            Whether rows at the greatest measured core count answer for counts without rows.
        """
        keys = sorted(curves, key=lambda key: (key.protocol, key.cores or 0, key.switches))
        limits = {name: stated_range(self.data, metric, name) for name in self.axes.protocols}
        surfaces = compile_surfaces(
            [curves[key] for key in keys],
            self.axes.knots,
            self.axes.loads,
            usable=None if usable is None else [usable(key) for key in keys],
            below=below,
            extend=np.array([limits[key.protocol] for key in keys]) if self.extend else None,
        )
        group = self._groups(keys, any_cores=any_cores)
        counts = [(0, 0), *((key.cores or 0, key.switches) for key in keys)]
        cores, switches = np.array(counts, dtype=float)[group].T
        payloads = np.array([surfaces.first, surfaces.last])
        none = np.array([[np.inf], [-np.inf]])
        return MetricTable(
            surfaces,
            group,
            cores,
            switches,
            np.concatenate([none, payloads], axis=1)[:, group],
            np.array(list(limits.values())).T,
        )

    def _groups(self, keys: Sequence[Configuration], *, any_cores: bool) -> Ints:
        """Which configuration answers for each protocol, core count and switch count; 0 is none."""
        group = np.zeros(self.axes.shape, dtype=np.int64)
        for index in np.ndindex(self.axes.shape):
            protocol = self.axes.protocols[index[0]]
            cores = self.axes.cores[index[1]] if self.axes.cores else None
            own = [key for key in keys if key.protocol == protocol and key.switches <= index[2]]
            if cores is not None and (protocol, cores) in self.without_goodput:
                found = _nearest(own, cores)
            else:
                found = _answering(own, cores, any_cores=any_cores)
            group[index] = 0 if found is None else 1 + keys.index(found)
        return group.reshape(-1)


def _nearest(own: Sequence[Configuration], cores: int) -> Configuration | None:
    """The configuration of the nearest core count, the lower one of two, with the most switches."""
    return min(
        own,
        key=lambda key: (abs((key.cores or cores) - cores), key.cores or cores, -key.switches),
        default=None,
    )


def _answering(
    own: Sequence[Configuration], cores: int | None, *, any_cores: bool
) -> Configuration | None:
    """The configuration of the requested core count (or of the greatest measured one), with the most switches."""
    exact = [key for key in own if key.cores in (cores, None)]
    if not exact and any_cores:
        most = max((key.cores or 0 for key in own), default=0)
        exact = [key for key in own if key.cores == most]
    return max(exact, key=lambda key: key.switches, default=None)


def without_goodput(points: Sequence[Point]) -> frozenset[tuple[str, int]]:
    """Pairs of protocol and core count with rows but no goodput, where the goodput was measured at other counts."""
    every = {(p.protocol, p.cores) for p in points if p.cores is not None}
    measured = {(p.protocol, p.cores) for p in points if p.metric == "goodput_bps"}
    protocols = {protocol for protocol, cores in measured if cores is not None}
    return frozenset((name, cores) for name, cores in every - measured if name in protocols)


class Packed(NamedTuple):
    """The surfaces of all tables one after another, so that one look-up reads many metrics; the first has no answers.

    ``coefficients`` (4, 3 · places) are c0, c1, c3 and c4, for value, low and high; ``squares`` (2, 2 · places) are
    c2 and c5 of the ends, empty if all are 0.  ``unlimited`` (2, 3 · cells) and ``unlimited_squares`` (1, 2 · cells)
    are c0, c1 and c2 of the last slot, all that the unlimited load needs.  ``basis`` and ``rows`` are (4, places), the
    basis the strongest where there is no row.
    There is a place for each slot, surface and cell, the cells being contiguous; ``cells`` is surfaces times cells, as
    many as the numbers of ``top_load``.
    """

    coefficients: Floats
    squares: Floats
    unlimited: Floats
    unlimited_squares: Floats
    basis: Codes
    rows: Ints
    top_load: Floats
    places: int
    cells: int


class Chosen(NamedTuple):
    """Some of the tables: their indices, and the limits of their metrics.

    ``limits`` are (2, tables, protocols), or (2, tables, 1) where they are the same for every protocol.
    """

    indices: Ints
    limits: Floats


class Tables:
    """Every metric's table on common axes, with the link and the rows.

    Besides those of metrics there may be tables under other names, which a law makes for itself.

    ``group``, ``first_cell``, ``cores``, ``switches`` and ``core_ratio`` have the shape (tables, configurations):
    the surface that answers, its first cell among those of all surfaces, the counts it was measured at (0: not
    stated), and measured over requested cores (1 where either is not stated).  ``limits`` (2, tables, protocols) are
    the least and greatest possible values of a metric.  ``with_headers`` is passed to the wires.
    """

    def __init__(
        self,
        compiler: Compiler,
        metrics: Mapping[str, MetricTable],
        link: Interconnect,
        *,
        with_headers: bool = False,
    ) -> None:
        self.data, self.axes, self.link = compiler.data, compiler.axes, link
        self.extend, self.without_goodput = compiler.extend, compiler.without_goodput
        self.metrics = dict(metrics)
        self.index = {name: k for k, name in enumerate(self.metrics)}
        self.wires = tuple(Wire(name, link, with_headers) for name in self.axes.protocols)
        self.left = left_knots(self.axes.knots)
        self.floors = np.concatenate([[0.0], self.axes.loads, [0.0]])
        tables = list(self.metrics.values())
        self.packed = _packed([table.surfaces for table in tables], self.axes)
        self.group = np.stack([table.group for table in tables])
        counts = [len(table.surfaces.first) for table in tables]
        before = np.cumsum([0, *counts[:-1]])[:, None]
        self.first_cell = np.where(self.group > 0, self.group + before, 0) * self.axes.cells
        self.cores = np.stack([table.cores for table in tables])
        self.switches = np.stack([table.switches for table in tables])
        self.limits = np.stack([table.limits for table in tables], axis=1)
        self.core_ratio = _over_asked(self.cores, self.axes)
        self._chosen: dict[tuple[str, ...], Chosen] = {}

    def chosen(self, names: tuple[str, ...]) -> Chosen:
        """Some of the tables by name; every question of a kind asks for the same ones, so they are kept."""
        found = self._chosen.get(names)
        if found is None:
            index = np.array([self.index[name] for name in names], dtype=np.int64)
            limits = self.limits[:, index]
            alike = (limits == limits[:, :, :1]).all()
            found = self._chosen[names] = Chosen(index, limits[:, :, :1] if alike else limits)
        return found

    def cells(self, payload_bytes: Floats) -> Ints:
        """The payload cell of each payload: 0 below the first knot, k from the k-th knot on."""
        if len(payload_bytes) < FEW or payload_bytes.max() >= DENSE:
            return np.searchsorted(self.axes.knots, payload_bytes, side="right")
        return self._dense_cells.take(payload_bytes.astype(np.int64))

    @cached_property
    def _dense_cells(self) -> Ints:
        """The cell of every whole payload up to a limit."""
        return np.searchsorted(self.axes.knots, np.arange(DENSE), side="right")

    @property
    def has_rows(self) -> bool:
        """Whether any table has rows."""
        return bool((self.packed.rows >= 0).any())


def _over_asked(measured: Floats, axes: Axes) -> Floats:
    """Measured over requested cores by table and configuration."""
    asked = np.array(axes.cores or (0,), dtype=float)[:, None]
    asked = np.broadcast_to(asked, axes.shape).reshape(-1)
    return np.where((measured > 0) & (asked > 0), measured / np.maximum(asked, 1), 1.0)


def _packed(surfaces: Sequence[Surfaces], axes: Axes) -> Packed:
    """The surfaces of some tables, one after another."""
    every = [no_surfaces(1, axes.cells, axes.slots), *surfaces]
    count = sum(len(one.top_load) for one in every)
    linear = np.empty((4, 3, axes.slots, count, axes.cells))
    for to, k in enumerate((0, 1, 3, 4)):
        np.concatenate([one.coefficients[k] for one in every], axis=2, out=linear[to])
    bent = any((np.abs(one.coefficients[[2, 5], LOW:]) > 0).any() for one in every)
    squares = np.empty((2, 2 if bent else 0, axes.slots, count, axes.cells))
    for to, k in enumerate((2, 5) if bent else ()):
        np.concatenate([one.coefficients[k, LOW:] for one in every], axis=2, out=squares[to])
    rows = np.concatenate([one.rows for one in every], axis=2).reshape(4, -1)
    basis = np.concatenate([one.basis for one in every], axis=3).reshape(4, -1)
    basis *= rows[0] >= 0
    return Packed(
        linear.reshape(4, -1),
        squares.reshape(2, -1),
        linear[:2, :, -1].reshape(2, -1),
        squares[:1, :, -1].reshape(1, -1),
        basis,
        rows,
        np.concatenate([one.top_load for one in every]).reshape(-1),
        axes.slots * count * axes.cells,
        count * axes.cells,
    )
