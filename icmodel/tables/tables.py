"""Compiled look-up tables of a dataset: one table per metric on common axes, packed for joint look-ups.

A table uses rows at the requested core or switch count.  If there are no such rows, it uses rows at the nearest
measured count, and the rules of the metric (IC2012 §7.1) scale the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from icmodel.arrays import Bools, Codes, Floats, Ints
from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.tables.bilinear import Below, Surfaces, compile_surfaces, no_surfaces
from icmodel.tables.curves import LOW, Configuration, Curves, left_knots, stated_range
from icmodel.tables.wire import Wire

Number = TypeVar("Number", np.float64, np.int64)
FEW, DENSE = 1000, 1 << 17
"""Limits of the look-up of payload intervals in a precomputed list, which replaces a binary search.

The list is used for at least `FEW` requests with payloads below `DENSE` [B].
"""

Usable = Callable[[Configuration], Bools | None]
"""Type of a function that marks the usable payloads of a configuration's curves at limited loads.

The function returns a boolean mask of shape (curves, cells), or ``None`` if all cells are usable.  The curves ascend in
load, and a cell is a payload interval.
"""


class Axes(NamedTuple):
    """Axes shared by all look-up tables that belong to one dataset and one choice of its options.

    ``knots`` are the payloads [B] and ``loads`` the load levels [b/s] between which the tables interpolate.
    """

    protocols: tuple[str, ...]
    cores: tuple[int, ...]
    switch_counts: int
    knots: Floats
    loads: Floats

    @property
    def shape(self) -> tuple[int, int, int]:
        """Lengths of the axes of protocols, core counts and switch counts."""
        return len(self.protocols), max(len(self.cores), 1), self.switch_counts

    @property
    def cells(self) -> int:
        """Number of cells (payload intervals): between two knots, below the first knot, and above the last knot."""
        return len(self.knots) + 1

    @property
    def slots(self) -> int:
        """Number of slots (load intervals): below, between and above the load levels, and one for unlimited load."""
        return len(self.loads) + 2


class MetricTable(NamedTuple):
    """Look-up table of one metric: surfaces over payload and load, and the surface to use for each request.

    A configuration is a requested protocol, core count and switch count.

    Parameters
    ----------
    surfaces : Surfaces
        Surfaces of the measured configurations.
    group : array (configurations,)
        Number of the surface to use, counted from 1; 0 means no surface.
    cores, switches : arrays (configurations,)
        Core and switch count at which the rows of this surface were measured; 0 if not stated.
    payloads : array (2, configurations)
        Least and greatest payload of this surface [B].
    limits : array (2, protocols)
        Least and greatest possible values of the metric.
    """

    surfaces: Surfaces
    group: Ints
    cores: Floats
    switches: Floats
    payloads: Floats
    limits: Floats


class Compiler(NamedTuple):
    """Compiler that turns curves of metrics into look-up tables on shared axes.

    If ``extend`` is true, tables also have values beyond the payloads of the curves.

    ``without_goodput`` holds pairs of protocol and core count for which the dataset has rows, but no goodput.  For such
    a pair, the tables of all metrics use the rows of the protocol at another core count: the nearest one that has a
    goodput.
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
        """Compile the look-up table of one metric from its curves.

        Parameters
        ----------
        metric : str
            Name of the metric.
        curves : mapping
            Curves of the metric, by configuration (protocol, core count and switch count).
        any_cores : bool
            Whether a core count without rows uses the rows at the greatest measured core count.
        below : "held", "proportion", "one" or "nothing"
            Rule for loads below the lowest load of the curves: see :func:`~icmodel.tables.bilinear.compile_surfaces`.
        usable : callable, optional
            Function that marks the usable payloads of each curve at a limited load; all payloads by default.
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
        shape = np.zeros(self.axes.shape, dtype=np.int64)
        for place in np.ndindex(self.axes.shape):
            protocol = self.axes.protocols[place[0]]
            cores = self.axes.cores[place[1]] if self.axes.cores else None
            own = [key for key in keys if key.protocol == protocol and key.switches <= place[2]]
            if cores is not None and (protocol, cores) in self.without_goodput:
                answering = nearest_configuration(own, cores)
            else:
                answering = answering_configuration(own, cores, any_cores=any_cores)
            shape[place] = 0 if answering is None else 1 + keys.index(answering)
        group = shape.reshape(-1)
        counts = [(0, 0), *((key.cores or 0, key.switches) for key in keys)]
        row_cores, row_switches = np.array(counts, dtype=float)[group].T
        payloads = np.array([surfaces.first, surfaces.last])
        none = np.array([[np.inf], [-np.inf]])
        return MetricTable(
            surfaces,
            group,
            row_cores,
            row_switches,
            np.concatenate([none, payloads], axis=1)[:, group],
            np.array(list(limits.values())).T,
        )


def nearest_configuration(own: Sequence[Configuration], cores: int) -> Configuration | None:
    """Choose the configuration with the nearest core count; among those, the one with the most network switches.

    If two core counts are equally near to ``cores``, the lower one is used.
    """
    return min(
        own,
        key=lambda key: (abs((key.cores or cores) - cores), key.cores or cores, -key.switches),
        default=None,
    )


def answering_configuration(
    own: Sequence[Configuration], cores: int | None, *, any_cores: bool
) -> Configuration | None:
    """Choose the configuration that has the requested core count, or that states no core count.

    If there is no such configuration and ``any_cores`` is true, the greatest measured core count is used instead.  Of
    several configurations that fit, the one measured over the most network switches is chosen.
    """
    exact = [key for key in own if key.cores in (cores, None)]
    if not exact and any_cores:
        most = max((key.cores or 0 for key in own), default=0)
        exact = [key for key in own if key.cores == most]
    return max(exact, key=lambda key: key.switches, default=None)


def without_goodput(points: Sequence[Point]) -> frozenset[tuple[str, int]]:
    """Find each pair of protocol and core count that has rows, but no goodput row.

    Only protocols with a goodput at another core count are included.
    """
    every = {(p.protocol, p.cores) for p in points if p.cores is not None}
    measured = {(p.protocol, p.cores) for p in points if p.metric == "goodput_bps"}
    protocols = {protocol for protocol, cores in measured if cores is not None}
    return frozenset((name, cores) for name, cores in every - measured if name in protocols)


class Packed(NamedTuple):
    """Coefficients of all tables, joined in arrays so that one look-up reads many metrics.

    A surface belongs to one configuration of one metric; the first surface is empty.  It has cells (payload intervals)
    and slots (load intervals).  A place is one slot and one cell of one surface.  It has the polynomial
    c0 + c1·dp + c2·dp² + (c3 + c4·dp + c5·dp²)·dr.  Here dp is the payload minus that at which the cell begins, and dr
    the load minus that at which the slot begins.  Value, low and high of a metric have coefficients of their own.

    Parameters
    ----------
    coefficients : array (4, 3 · places)
        Rows: c0, c1, c3 and c4.  Columns: all places for the value, then for the low, then for the high.
    squares : array (2, 3 · places)
        Rows: c2 and c5, with the same columns; empty if all are 0.
    unlimited, unlimited_squares : arrays (2, 3 · cells) and (1, 3 · cells)
        Coefficients of the last slot (unlimited load): c0 and c1 in ``unlimited``, c2 in ``unlimited_squares``.  The
        latter is empty if ``squares`` is empty.
    basis : array (4, places)
        Basis as an index into ``BASES``; 0 at a place without a row.  The first axis has four cases: payload between
        knots and load between levels; load on a level; payload on a knot; payload on a knot and load on a level.
    rows : array (4, places)
        Dataset rows: those to the left and right on the curve of lower load, then on the curve of higher load.
    top_load : array (cells,)
        Highest limited load with a curve [b/s].
    places, cells : int
        Number of places, and number of cells, of all surfaces together.
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

    @classmethod
    def of(cls, surfaces: Sequence[Surfaces], axes: Axes) -> Packed:
        """Join the coefficients of several look-up tables (``surfaces``, one element per table) in the given order."""
        every = [no_surfaces(1, axes.cells, axes.slots), *surfaces]
        count = sum(len(one.top_load) for one in every)
        linear = np.empty((4, 3, axes.slots, count, axes.cells))
        for to, k in enumerate((0, 1, 3, 4)):
            np.concatenate([one.coefficients[k] for one in every], axis=2, out=linear[to])
        bent = any((np.abs(one.coefficients[[2, 5], LOW:]) > 0).any() for one in every)
        squares = np.empty((2, 3 if bent else 0, axes.slots, count, axes.cells))
        for to, k in enumerate((2, 5) if bent else ()):
            np.concatenate([one.coefficients[k] for one in every], axis=2, out=squares[to])
        rows = np.concatenate([one.rows for one in every], axis=2).reshape(4, -1)
        basis = np.concatenate([one.basis for one in every], axis=3).reshape(4, -1)
        basis *= rows[0] >= 0
        return cls(
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


class Chosen(NamedTuple):
    """Selected look-up tables, in the order in which they were named.

    A configuration is a requested protocol, core count and switch count.  An axis of protocols or configurations has
    the length 1 if all numbers along it are equal.  So has the axis of tables in ``cores``, ``switches`` and
    ``core_ratio``.

    Parameters
    ----------
    limits : array (2, tables, protocols)
        Least and greatest possible value of each table's metric, along the first axis.
    first_cell : array (patterns, configurations)
        Index of the first payload interval (cell) of each configuration, counted within its table.  The cells of all
        tables lie one after another in joint arrays; add ``offset`` to get the index there.  Tables with equal indices
        share one row (a pattern), such as those of metrics that were measured in the same configurations.
    pattern : array (tables,)
        Index of each table's row in ``first_cell``.
    offset : array (tables, 1, 1)
        Least index in the table's row of ``Tables.first_cell``.
    cores, switches, core_ratio : array (tables, configurations)
        Numbers of the selected tables, as in `Tables`.
    """

    limits: Floats
    first_cell: Ints
    pattern: Ints
    offset: Ints
    cores: Floats
    switches: Floats
    core_ratio: Floats


def once(numbers: NDArray[Number], axis: int) -> NDArray[Number]:
    """Shorten an axis to length 1 if all slices along it are equal; otherwise return the array unchanged."""
    first = numbers.take([0], axis) if numbers.shape[axis] else numbers
    return first if (numbers == first).all() else numbers


class Tables:
    """Look-up tables of all metrics on common axes, with the link and the rows of the dataset.

    A table holds surfaces of one metric over payload and load.  A law may add private tables, whose names begin with
    ``_``.

    Five arrays have the shape (tables, configurations); a configuration is a requested protocol, core count and switch
    count:

    - ``group``: number of the surface that answers, counted from 1 in each table; 0 without a surface
    - ``first_cell``: index of this surface's first cell (payload interval) among the cells of all surfaces
    - ``cores`` and ``switches``: core count and switch count at which the surface's rows were measured; 0 if not stated
    - ``core_ratio``: this core count divided by the requested one; 1 if either is not stated

    ``limits`` (2, tables, protocols) are the least and greatest possible values of each metric.

    Parameters
    ----------
    compiler : Compiler
        Compiler that made the tables, with their dataset and axes.
    metrics : mapping of str to MetricTable
        Look-up tables by name.
    link : Interconnect
        Link of the dataset.
    with_headers : bool
        Whether theory of the wire counts ZeroMQ's message header; see `Wire`.
    unmeasured_loss : array (3, protocols), optional
        Loss rate at loads below capacity, for protocols without a measured loss there: value, low and high; 0 by
        default.
    """

    def __init__(
        self,
        compiler: Compiler,
        metrics: Mapping[str, MetricTable],
        link: Interconnect,
        *,
        with_headers: bool = False,
        unmeasured_loss: Floats | None = None,
    ) -> None:
        unknown = np.zeros((3, len(compiler.axes.protocols)))
        self.unmeasured_loss = unknown if unmeasured_loss is None else unmeasured_loss
        self.data, self.axes, self.link = compiler.data, compiler.axes, link
        self.extend, self.without_goodput = compiler.extend, compiler.without_goodput
        self.metrics = dict(metrics)
        self.index = {name: k for k, name in enumerate(self.metrics)}
        self.wires = tuple(Wire(name, link, with_headers) for name in self.axes.protocols)
        self.left = left_knots(self.axes.knots)
        self.floors = np.concatenate([[0.0], self.axes.loads, [0.0]])
        tables = list(self.metrics.values())
        self.packed = Packed.of([table.surfaces for table in tables], self.axes)
        self.group = np.stack([table.group for table in tables])
        counts = [len(table.surfaces.first) for table in tables]
        before = np.cumsum([0, *counts[:-1]])[:, None]
        self.first_cell = np.where(self.group > 0, self.group + before, 0) * self.axes.cells
        self.cores = np.stack([table.cores for table in tables])
        self.switches = np.stack([table.switches for table in tables])
        self.limits = np.stack([table.limits for table in tables], axis=1)
        requested = np.array(self.axes.cores or (0,), dtype=float)[:, None]
        requested = np.broadcast_to(requested, self.axes.shape).reshape(-1)
        stated = (self.cores > 0) & (requested > 0)
        self.core_ratio = np.where(stated, self.cores / np.maximum(requested, 1), 1.0)
        self._chosen: dict[tuple[str, ...], Chosen] = {}

    def chosen(self, names: tuple[str, ...]) -> Chosen:
        """Select look-up tables by name; the selection is cached, since many requests use the same tables."""
        found = self._chosen.get(names)
        if found is None:
            index = np.array([self.index[name] for name in names], dtype=np.int64)
            first = self.first_cell[index]
            offset = first.min(axis=1, keepdims=True)
            patterns, pattern = np.unique(first - offset, axis=0, return_inverse=True)
            found = self._chosen[names] = Chosen(
                once(self.limits[:, index], 2),
                once(patterns, 1),
                pattern.reshape(-1),
                offset[:, :, None],
                *(
                    once(once(numbers[index], 0), 1)
                    for numbers in (self.cores, self.switches, self.core_ratio)
                ),
            )
        return found

    def cells(self, payload_bytes: Floats) -> Ints:
        """Index of the payload interval (cell) of each payload: 0 below the first knot, k from the k-th knot on."""
        if len(payload_bytes) < FEW or payload_bytes.max() >= DENSE:
            return np.searchsorted(self.axes.knots, payload_bytes, side="right")
        return self.dense_cells.take(payload_bytes.astype(np.int64)).astype(np.int64)

    @cached_property
    def dense_cells(self) -> NDArray[np.unsignedinteger]:
        """Index of the payload interval (cell) of every whole payload below `DENSE` [B].

        Its small type keeps the array in the processor's cache.
        """
        cells = np.searchsorted(self.axes.knots, np.arange(DENSE), side="right")
        return cells.astype(np.min_scalar_type(self.axes.cells))

    @property
    def has_rows(self) -> bool:
        """Whether at least one look-up table was made from dataset rows; otherwise nothing can be predicted."""
        return bool((self.packed.rows >= 0).any())
