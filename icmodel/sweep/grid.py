"""Grids of a sweep: every combination of some parameters' values, answered in blocks of consecutive points."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from icmodel import scenario as words
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.keywords import lists_keywords
from icmodel.model import Model
from icmodel.scenario import Scenario, ScenarioArrays
from icmodel.sweep.ranges import Axis, Value, axes_of
from icmodel.units import unit_of

if TYPE_CHECKING:
    import xarray

LARGEST_SWEEP = 100_000_000
"""Greatest number of points of a sweep in memory. A sweep by `icmodel.sweep.sweep_to_file` has no such limit."""
BLOCK = 8_192
"""Number of points in one block of a sweep in memory; ``progress`` is called after each block."""
MOST_TRIED = 1000
"""Greatest number of points that are predicted one by one to find the first refused point."""


@lists_keywords(ScenarioArrays)
def sweep(
    model: Model,
    *,
    outside: str = "refuse",
    metrics: tuple[str, ...] | list[str] | None = None,
    intervals: bool = True,
    progress: Callable[[int, int], None] | None = None,
    **ranges: Unpack[ScenarioArrays],
) -> xarray.Dataset:
    """Predict every combination of some parameters' values.

    A name without a unit suffix takes a range as text (``payload="64 B..1448 B"``, ``cores="1..4"``).
    A name with a unit suffix takes one or several numbers in SI (``payload_bytes=[64, 1448]``).

    Parameters
    ----------
    model : Model
        Model that predicts.
    outside : "refuse", "nan" or "extrapolate"
        Treatment of points outside the dataset: "refuse" raises OutOfDomain, "nan" answers NaN, "extrapolate" marks
        the answer ``extrapolated``.
    metrics : sequence of str, optional
        Metrics to predict; all by default.
    intervals : bool
        Whether to add ``<metric>_low``, ``<metric>_high`` and ``<metric>_basis``.
    progress : callable, optional
        Called after every block with the number of answered points and the total number of points.
    protocol : str or list of str
        One or several protocols; a text may list several, separated by commas. If left out, the dataset's default
        protocol.
    payload, payload_bytes : range, or numbers [B]
        Useful bytes per frame.
    rate, rate_fps : range, or numbers [frames/s]
        Requested rate; unlimited by default.
    requested_goodput, requested_goodput_bps : range, or numbers [b/s]
        Requested goodput, in place of a rate.
    cores, switches, endpoints : range, or whole numbers
        Parallel processes, switches on the path, and endpoints that send to the receiving interface.
    other_goodput, other_goodput_bps : range, or numbers [b/s]
        Sum of the goodputs that the other endpoints request.
    distance, distance_m : range, or numbers [m]
        Cable length.
    line_rate, line_rate_bps : range, or numbers [b/s]
        Rate of the link (variant hybrid only).
    cpu_clock, cpu_clock_ratio : range, or numbers
        Clock of the hosts relative to the dataset's (variant hybrid only).
    app_send, app_send_s, app_recv, app_recv_s : range, or numbers [s]
        Time that the application adds per frame (variant hybrid only).
    app_send_per_byte, app_send_s_per_byte, app_recv_per_byte, app_recv_s_per_byte : range, or numbers [s/B]
        Time that the application adds per byte of payload (variant hybrid only).
    options : mapping
        Values on the dataset's own axes, e.g. ``{"nagle": "on, off"}``.

    Returns
    -------
    xarray.Dataset
        The predictions. Each parameter with several values is a dimension, with coordinates in SI. Each other
        parameter is a scalar coordinate.

    Raises
    ------
    UnitError, ScenarioError
        If a range cannot be read, or a value is impossible for every dataset.
    OutOfDomain
        If this dataset cannot answer a point and ``outside`` is "refuse".

    Examples
    --------
    >>> from icmodel import Model, sweep
    >>> model = Model("ethernet-10g-2012", "corrected")
    >>> grid = sweep(model, protocol="tcp", payload="64 B, 1448 B", switches="0..1")
    >>> dict(grid["goodput_bps"].sizes)
    {'payload_bytes': 2, 'switches': 2}
    """
    grid = grid_of(model, ranges, outside, metrics, intervals=intervals)
    total = len(grid)
    if total > LARGEST_SWEEP:
        raise ScenarioError(
            f"the sweep has {total} points: request at most {LARGEST_SWEEP}, or write it to a file with "
            "sweep_to_file (on the command line: -o grid.zarr, .parquet or .csv)"
        )
    # Columns are allocated in full once, so that a sweep needs little more memory than its result.
    columns: dict[str, Any] = {}
    for block in grid.blocks(BLOCK):
        answers = block.answer(model, grid)
        for name, column in answers.data_vars.items():
            whole = columns.setdefault(str(name), np.empty(total, column.dtype))
            whole[block.start : block.stop] = column.to_numpy().reshape(-1)
        if progress is not None:
            progress(block.stop, total)
    return grid.labelled(columns, answers)


@dataclass(frozen=True, slots=True)
class Grid:
    """Grid of a sweep: its points, and the settings for their prediction.

    Parameters
    ----------
    axes : tuple of Axis
        Parameters; the values of the last axis vary fastest.
    outside : "refuse", "nan" or "extrapolate"
        Treatment of points outside the dataset.
    metrics : tuple of str, optional
        Metrics to predict; all by default.
    intervals : bool
        Whether metrics have columns for low, high and basis.
    """

    axes: tuple[Axis, ...]
    outside: str = "refuse"
    metrics: tuple[str, ...] | None = None
    intervals: bool = True

    def __len__(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the parameters with several values, which become dimensions of the result."""
        return tuple(axis.name for axis in self.axes if not axis.fixed)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each parameter that becomes a dimension."""
        return tuple(len(axis.values) for axis in self.axes if not axis.fixed)

    def blocks(self, most: int) -> Blocks:
        """Cut the grid into blocks of at most ``most`` consecutive points."""
        return Blocks(self.axes, most)

    def labelled(self, columns: Mapping[str, Any], like: xarray.Dataset) -> xarray.Dataset:
        """Reshape flat columns (a value for each point) into an xarray dataset with labels and units.

        The attributes of the columns are copied from the dataset ``like``.
        """
        import xarray as xr  # not needed to read a range

        variables = {
            name: (self.dims, column.reshape(self.shape), like[name].attrs)
            for name, column in columns.items()
        }
        whole = xr.Dataset(variables, attrs=like.attrs).assign_coords(self.labels().coords)
        for name, variable in whole.data_vars.items():
            if variable.dtype.kind in "fiu" and "flag_values" not in variable.attrs:
                whole[name].attrs["units"] = unit_of(str(name))
        return whole

    def labels(self) -> xarray.Dataset:
        """Return a dataset with coordinates only: values of the axes in SI, with units."""
        import xarray as xr  # not needed to read a range

        found = xr.Dataset(
            coords={
                axis.name: axis.values[0] if axis.fixed else (axis.name, np.array(axis.values))
                for axis in self.axes
            }
        )
        for name, label in found.coords.items():
            if label.dtype.kind in "fiu":
                found[name].attrs["units"] = unit_of(str(name))
        return found


def grid_of(
    model: Model,
    ranges: Mapping[str, Any],
    outside: str,
    metrics: Sequence[str] | None,
    *,
    intervals: bool,
) -> Grid:
    """Make the grid of a sweep from the ranges of its parameters, and check the values.

    Raises
    ------
    UnitError, ScenarioError
        If a range cannot be read, or a value is impossible for every dataset.
    OutOfDomain
        If the dataset has no axis or rule for a parameter.
    """
    asked = model.question(ranges, ("outside", "metrics", "intervals", "progress"))
    axes = axes_of(model, words.with_options(asked))

    # Refuse impossible values, and values without an axis or rule. For a numeric axis, checking both ends suffices.
    ends = [
        axis.values if axis.textual else dict.fromkeys((min(axis.values), max(axis.values)))
        for axis in axes
    ]
    for corner in product(*ends):
        model.complete(_scenario(axes, corner))
    return Grid(axes, outside, None if metrics is None else tuple(metrics), intervals)


def _scenario(axes: Sequence[Axis], values: Sequence[Value]) -> Scenario:
    """Make the scenario of one point; an unlimited rate becomes ``None``."""
    question = {axis.name: value for axis, value in zip(axes, values, strict=True)}
    options = {name: question.pop(name) for name in list(question) if name not in words.SI_NAMES}
    numbers = {name: None if value == math.inf else value for name, value in question.items()}
    return words.from_keywords({**numbers, "options": options})


# --- blocks -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Blocks(Sequence["Block"]):
    """Blocks of at most ``most`` consecutive points of a grid; each block is a grid itself.

    The last axis varies fastest. From right to left, a block takes whole axes as long as ``most`` allows. The first
    axis that does not fit is cut into pieces, of which a block takes one. Of each axis further left, a block takes one
    value. In the example, the payloads are cut into pieces of at most two, and each block has one core count.

    Examples
    --------
    >>> axes = (Axis("cores", (1, 4)), Axis("payload_bytes", (64, 256, 1448)))
    >>> [(block.start, block.stop) for block in Blocks(axes, most=2)]
    [(0, 2), (2, 3), (3, 5), (5, 6)]
    """

    axes: tuple[Axis, ...]
    most: int

    @property
    def block_shape(self) -> tuple[int, ...]:
        """Number of values of each axis in a block; the last block along an axis may have fewer."""
        shape, room = [1] * len(self.axes), max(self.most, 1)
        for place in reversed(range(len(self.axes))):
            count = len(self.axes[place].values)
            shape[place] = min(count, room)
            room //= shape[place]
            if shape[place] < count or not room:
                break
        return tuple(shape)

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of blocks along each axis of the grid."""
        sizes = (len(axis.values) for axis in self.axes)
        return tuple(-(-size // step) for size, step in zip(sizes, self.block_shape, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def __getitem__(self, number: int) -> Block:  # type: ignore[override]
        if not 0 <= number < len(self):
            raise IndexError(number)
        sizes = [len(axis.values) for axis in self.axes]
        places = np.unravel_index(number, self.counts) if self.counts else ()
        first = [int(k) * step for k, step in zip(places, self.block_shape, strict=True)]
        part = tuple(
            replace(axis, values=axis.values[k : k + step])
            for axis, k, step in zip(self.axes, first, self.block_shape, strict=True)
        )
        start = int(np.ravel_multi_index(first, sizes)) if sizes else 0
        return Block(number, start, part, tuple(first))


@dataclass(frozen=True, slots=True)
class Block:
    """Block of consecutive points of a sweep.

    ``start`` is the index of its first point in the grid, and ``first_indices`` the index of this point along each
    axis.
    """

    number: int
    start: int
    axes: tuple[Axis, ...]
    first_indices: tuple[int, ...]

    @property
    def stop(self) -> int:
        """Index of the first point after the block."""
        return self.start + math.prod(len(axis.values) for axis in self.axes)

    def answer(self, model: Model, grid: Grid, threads: int | None = None) -> xarray.Dataset:
        """Predict all points of the block; the result has no coordinates, which `labelled` adds.

        Raises
        ------
        OutOfDomain
            If a point is refused; the message names the first refused point of the block.
        """
        import xarray as xr  # not needed to read a range

        data = model.data
        question: dict[str, Any] = {}
        for axis in self.axes:
            if axis.fixed:
                question[axis.name] = axis.values[0]
                continue
            values: Any = np.array(axis.values)
            if axis.textual:  # predict_many takes texts as indices
                is_protocol = axis.name == "protocol"
                names = data.protocols if is_protocol else data.option_values(axis.name)
                values = [names.index(str(value)) for value in axis.values]
            question[axis.name] = xr.DataArray(values, dims=axis.name)
        try:
            return model.predict_many(
                **question,
                outside=grid.outside,
                metrics=grid.metrics,
                intervals=grid.intervals,
                threads=threads,
            )
        except OutOfDomain as refusal:
            raise _first_refusal(model, self.axes, question, grid) or refusal from None

    def labelled(self, answers: xarray.Dataset) -> xarray.Dataset:
        """Add the coordinates of the block's axes, and the units of its metrics, to the answers of a block."""
        columns = {str(name): one.to_numpy().reshape(-1) for name, one in answers.data_vars.items()}
        return Grid(self.axes).labelled(columns, answers)


def _first_refusal(
    model: Model, axes: tuple[Axis, ...], question: dict[str, Any], grid: Grid
) -> OutOfDomain | None:
    """Find the first refused point of a block, and return the error that `Model.predict` raises for it.

    Only the first `MOST_TRIED` points without a goodput are tried; the result is None if none of them is refused.
    """
    metrics = tuple(dict.fromkeys((*(grid.metrics or ()), "goodput_bps")))
    answered = model.predict_many(**question, outside="nan", metrics=metrics, intervals=False)
    outside = "extrapolate" if grid.outside == "extrapolate" else "refuse"
    missing = np.flatnonzero(np.isnan(answered["goodput_bps"].to_numpy().reshape(-1)))
    shape = tuple(len(axis.values) for axis in axes)
    for flat in missing[:MOST_TRIED]:
        places = np.unravel_index(flat, shape)
        point = [axis.values[int(k)] for axis, k in zip(axes, places, strict=True)]
        try:
            model.predict(_scenario(axes, point), outside=outside)
        except OutOfDomain as error:
            return OutOfDomain(f"{error} (this is the first such point of the sweep)")
    return None
