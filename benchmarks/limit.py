"""Limit: look-ups in the tables alone, without the laws, compiled if numba is installed.

icmodel itself does not need numba. The figure shows how far numpy is from compiled code that reads
the same tables.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.questions import Columns
from icmodel.laws import Fitting, TableRequest, law_of
from icmodel.laws.corrected_tables import BEST
from icmodel.model import Model
from icmodel.scenario import NO_OPTIONS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

INSTALLED = find_spec("numba") is not None


class Packed(NamedTuple):
    """Tables as plain arrays, the input of `fill`."""

    coefficients: Floats
    cell_of: Ints
    left: Floats
    loads: Floats
    floors: Floats
    first_cell: Ints
    cells: int
    best: int
    tables: Ints


def fill(
    packed: Packed,
    payload_bytes: Ints,
    rate_fps: Floats,
    config: Ints,
    out: Floats,
    start: int,
    stop: int,
) -> None:
    """Write one row of ``out`` for each of ``packed.tables``; a row without a table is the goodput."""
    last = len(packed.loads) + 1
    for i in range(start, stop):
        payload = payload_bytes[i]
        cell = packed.cell_of[payload]
        knot = payload - packed.left[cell]
        request = rate_fps[i] * payload * 8
        place = packed.first_cell[packed.best, config[i]] + cell + last * packed.cells
        c = packed.coefficients
        best = c[0, place] + c[1, place] * knot
        slot = last
        if request <= best:
            slot = 0
            for level in packed.loads:
                slot += request >= level
        above = request - packed.floors[slot]
        for k in range(len(packed.tables)):
            table = packed.tables[k]
            if table < 0:
                out[k, i] = min(request, best)
                continue
            place = packed.first_cell[table, config[i]] + cell + slot * packed.cells
            of_load = (c[2, place] + c[3, place] * knot) * above
            out[k, i] = of_load + c[1, place] * knot + c[0, place]


class Limit:
    """Answers by `fill` to the questions of one protocol, in threads, compiled on request."""

    def __init__(self, model: Model, asked: Columns, metrics: tuple[str, ...]) -> None:
        protocol = model.data.protocols[int(asked["protocol"][0])]
        law = law_of(model.variant, model.data, Fitting())
        prepared = law.prepare(TableRequest(NO_OPTIONS, (protocol,)))
        assert prepared is not None  # there are rows
        tables = prepared.tables
        _, cores, switch_counts = tables.axes.shape
        switches = np.minimum(asked["switches"], switch_counts - 1)
        nearest = np.searchsorted(tables.axes.cores, asked["cores"]).clip(0, cores - 1)
        self.packed = Packed(
            tables.packed.coefficients,
            tables.dense_cells.astype(np.int64),
            tables.left,
            tables.axes.loads,
            tables.floors,
            tables.first_cell,
            tables.packed.cells,
            tables.index[BEST],
            np.array([tables.index.get(name, -1) for name in metrics]),
        )
        self.columns = (
            asked["payload_bytes"],
            asked["rate_fps"],
            nearest * switch_counts + switches,
        )
        self.fill: Callable[..., None] = fill

    def compiled(self) -> Limit:
        """Use `fill` as compiled by numba."""
        numba: Any = importlib.import_module("numba")
        self.fill = numba.njit(nogil=True)(fill)
        return self

    def whole(self, threads: int | None = None) -> Floats:
        """Answer all questions, by default in as many threads as the machine has processors."""
        size, count = len(self.columns[0]), threads or os.cpu_count() or 1
        out = np.empty((len(self.packed.tables), size))
        ends = np.linspace(0, size, count + 1).astype(int).tolist()
        with ThreadPoolExecutor(count) as pool:
            parts = [
                pool.submit(self.fill, self.packed, *self.columns, out, *part)
                for part in pairwise(ends)
            ]
            for part in parts:
                part.result()
        return out
