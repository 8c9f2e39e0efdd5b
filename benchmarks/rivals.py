"""Alternatives to icmodel: SciPy and xarray on one grid over the parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator

from benchmarks.questions import Columns, payload_ranges
from icmodel.laws import Fitting, TableRequest, law_of
from icmodel.model import Model
from icmodel.scenario import NO_OPTIONS

Floats = NDArray[np.float64]

METRIC = "latency_mean_s"
PROTOCOL = "tcp"
AXES = ("payload_bytes", "requested_goodput_bps", "cores", "switches", "endpoints")
CORES, SWITCHES, ENDPOINTS = (1.0, 2.0, 3.0, 4.0), (0.0, 1.0, 2.0), (1.0, 2.0, 3.0, 4.0)
IN_BLOCKS = 65_536


@dataclass(frozen=True, slots=True)
class Grid:
    """One metric on a 5-D grid; ``values`` has the lengths of ``axes`` as its shape."""

    axes: tuple[Floats, ...]
    values: Floats


def grid(model: Model) -> Grid:
    """Tabulate the model's mean latency of TCP at the model's own payload knots and load levels.

    The unlimited load is one more level, at twice the greatest, so that interpolation reaches it.
    Each other endpoint sends as much as the stream of the scenario. Points without an answer are 0.
    """
    payloads, loads = knots(model)
    unlimited = 2 * loads[-1]
    axes = (
        payloads,
        np.append(loads, unlimited),
        np.array(CORES),
        np.array(SWITCHES),
        np.array(ENDPOINTS),
    )
    payload, load, cores, switches, endpoints = np.meshgrid(*axes, indexing="ij")
    answers = model.predict_many(
        protocol=PROTOCOL,
        payload_bytes=payload,
        requested_goodput_bps=np.where(load == unlimited, np.inf, load),
        cores=cores,
        switches=switches,
        endpoints=endpoints,
        other_goodput_bps=np.minimum(load, loads[-1]) * (endpoints - 1),
        metrics=[METRIC],
        intervals=False,
    )
    return Grid(axes, np.nan_to_num(answers[METRIC].to_numpy()))


def knots(model: Model) -> tuple[Floats, Floats]:
    """Return payload knots within the protocol's payloads [B], and finite load levels [b/s]."""
    least, most = payload_ranges(model.data)[model.data.protocols.index(PROTOCOL)]
    law = law_of(model.variant, model.data, Fitting())
    prepared = law.prepare(TableRequest(NO_OPTIONS, model.data.protocols))
    assert prepared is not None  # there are rows
    axes = prepared.tables.axes
    inside = (axes.knots >= least) & (axes.knots <= most)
    return axes.knots[inside], axes.loads


def places(on: Grid, asked: Columns) -> Floats:
    """Return the scenarios as grid coordinates, shape (n, 5), clipped to the edges of the grid."""
    load = asked["rate_fps"] * asked["payload_bytes"] * 8
    columns = (asked["payload_bytes"], load, *(asked[name] for name in AXES[2:]))
    found = np.empty((len(load), len(AXES)))
    for k, (column, axis) in enumerate(zip(columns, on.axes, strict=True)):
        np.clip(column, axis[0], axis[-1], out=found[:, k])
    return found


class Scipy:
    """Linear interpolation by RegularGridInterpolator."""

    def __init__(self, on: Grid, asked: Columns) -> None:
        self.interpolator = RegularGridInterpolator(on.axes, on.values, method="linear")
        self.places = places(on, asked)

    def whole(self) -> Floats:
        """Interpolate all points in one call, as in SciPy's manual."""
        return np.asarray(self.interpolator(self.places))

    def in_blocks(self, block: int = IN_BLOCKS) -> Floats:
        """Interpolate in blocks that stay in the CPU cache, the fastest way to use it."""
        out = np.empty(len(self.places))
        for start in range(0, len(out), block):
            here = slice(start, start + block)
            out[here] = self.interpolator(self.places[here])
        return out


class Xarray:
    """Interpolation by DataArray.interp at the first ``points`` scenarios."""

    def __init__(self, on: Grid, asked: Columns, points: int) -> None:
        self.array = xr.DataArray(on.values, dict(zip(AXES, on.axes, strict=True)), AXES)
        found = places(on, {name: column[:points] for name, column in asked.items()})
        self.places = {
            name: xr.DataArray(np.ascontiguousarray(found[:, k]), dims="point")
            for k, name in enumerate(AXES)
        }

    def whole(self) -> xr.DataArray:
        """Interpolate all points in one call."""
        return self.array.interp(self.places)


class Copy:
    """Copy of as many bytes as the answers have, by np.copyto between existing arrays."""

    def __init__(self, answers: xr.Dataset) -> None:
        self.source = [answers[str(name)].to_numpy() for name in answers]
        self.target = [array.copy() for array in self.source]

    @property
    def nbytes(self) -> int:
        """Number of copied bytes."""
        return sum(array.nbytes for array in self.source)

    def whole(self) -> None:
        """Copy all columns."""
        for source, target in zip(self.source, self.target, strict=True):
            np.copyto(target, source)
