"""Files of a sweep: CSV and Parquet, written block by block with a row for each point; and netCDF."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO, StringIO
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from icmodel.documents import harmless
from icmodel.errors import ReportError
from icmodel.estimate import BASES, BOTTLENECKS

if TYPE_CHECKING:
    import xarray

    from icmodel.sheets import Chart

NETCDF, PARQUET, XLSX = ".nc", ".parquet", ".xlsx"
EXTRAS = {
    NETCDF: ("netcdf", ("h5netcdf", "h5py")),
    PARQUET: ("parquet", ("pyarrow",)),
    XLSX: ("xlsx", ("xlsxwriter",)),
}
"""File format -> extra of icmodel that installs its writer, and the modules of the writer."""
BLOCK = 4096
"""Number of points in one written block."""
PARTS = ("_low", "_high", "_basis")
CHARTED = ("goodput_bps", "cpu_send", "cpu_recv")
"""Metrics with a chart in an XLSX file, besides means of times."""
WIDE = 50
"""Ratio of the greatest to the least swept value from which the axis of a chart is logarithmic."""

Column = NDArray[Any]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Columns:
    """A grid as columns with a row for each point: constant parameters, swept ones, and answers.

    Values of ``swept`` repeat over the points, the last parameter fastest. Without a swept parameter
    there is one point. ``sha256`` is the hash of the dataset's rows.
    """

    fixed: Mapping[str, object]
    swept: Mapping[str, Column]
    answers: Mapping[str, Column]
    shape: tuple[int, ...]
    sha256: str = ""

    def __len__(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [*self.fixed, *self.swept, *self.answers]

    def blocks(self, progress: Progress | None) -> Iterator[list[Column]]:
        """Yield the columns in blocks of `BLOCK` points.

        ``progress`` is called with the number of points done and the number of all points.
        """
        for start in range(0, len(self), BLOCK):
            if progress is not None:
                progress(start, len(self))
            stop = min(start + BLOCK, len(self))
            places = np.unravel_index(np.arange(start, stop), self.shape) if self.shape else ()
            fixed = [np.full(stop - start, value, dtype=object) for value in self.fixed.values()]
            swept = [v[at] for v, at in zip(self.swept.values(), places, strict=True)]
            yield [*fixed, *swept, *(column[start:stop] for column in self.answers.values())]


def columns_of(answers: xarray.Dataset, metrics: list[str], fixed: Mapping[str, object]) -> Columns:
    """Return the columns of a grid: metrics with intervals and bases, and the bottleneck."""
    names = [*(name + part for name in metrics for part in ("", *PARTS)), "bottleneck"]
    source = {"dataset": answers.attrs["dataset"], "variant": answers.attrs["variant"]}
    swept = [str(name) for name in answers.sizes]
    return Columns(
        {**source, **fixed},
        {name: answers[name].to_numpy() for name in swept},
        {name: answers[name].to_numpy().reshape(-1) for name in names},
        tuple(answers.sizes.values()),
        str(answers.attrs["sha256"]),
    )


def write_grid_csv(columns: Columns, path: Path, progress: Progress | None = None) -> None:
    """Write a grid as CSV: unknown numbers are empty cells, codes are written as names."""
    if not len(columns):
        path.write_bytes(b"")
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(columns.names)
        for block in columns.blocks(progress):
            cells = map(csv_cells, columns.names, block)
            file.writelines(f"{','.join(row)}\n" for row in zip(*cells, strict=True))


def write_parquet(columns: Columns, path: Path, progress: Progress | None = None) -> None:
    """Write a grid as Parquet: unknown numbers are null, codes are dictionary-encoded names.

    The metadata of a column hold the column's unit and long name. The metadata of the schema hold
    the hash of the dataset's rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from icmodel.estimate import long_name
    from icmodel.units import unit_of

    names = columns.names
    blocks = (
        [arrow_array(pa, name, part) for name, part in zip(names, block, strict=True)]
        for block in columns.blocks(progress)
    )
    first = next(blocks, [pa.nulls(0) for _ in names])
    fields = [
        pa.field(name, array.type, metadata={"units": unit_of(name), "long_name": long_name(name)})
        for name, array in zip(names, first, strict=True)
    ]
    schema = pa.schema(fields, metadata={"sha256": columns.sha256})
    content = BytesIO()  # written at once, so that a full disk leaves nothing half written
    with pq.ParquetWriter(content, schema) as writer:
        for arrays in chain([first], blocks):
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    path.write_bytes(content.getbuffer())


def write_grid_workbook(columns: Columns, path: Path, progress: Progress | None = None) -> None:
    """Write XLSX: a sheet with the values of the CSV file, and with charts if one parameter was swept.

    Raises
    ------
    ReportError
        If the grid has more points than a sheet has rows.
    """
    from icmodel.sheets import Page, Sheet, write_pages

    rows: list[tuple[str | float | None, ...]] = []
    for block in columns.blocks(progress):
        cells = [_sheet_cells(name, part) for name, part in zip(columns.names, block, strict=True)]
        rows += zip(*cells, strict=True)
    write_pages([Page("answers", Sheet(tuple(columns.names), tuple(rows)), _chart(columns))], path)


def _chart(columns: Columns) -> Chart | None:
    """Charts of goodput, mean times and CPU over the swept parameter; none for a grid of several or of names."""
    from icmodel.sheets import Chart

    numeric = [name for name, values in columns.swept.items() if values.dtype.kind in "if"]
    if len(columns.swept) != 1 or not numeric or len(columns) < 2:
        return None
    values, names = columns.swept[numeric[0]], columns.names
    wide = bool(values.min() > 0 and values.max() / values.min() >= WIDE)
    shown = [name for name in names if name in CHARTED or name.endswith("_mean_s")]
    groups = [[names.index(name + ending) for ending in ("", "_low", "_high")] for name in shown]
    return Chart(names.index(numeric[0]), wide, tuple(map(tuple, groups)))


def _sheet_cells(name: str, column: Column) -> list[str | float | None]:
    """Cells of a column: numbers, texts, or None for an empty cell."""
    codes = _code_names(name)
    if codes is not None:
        return [codes[code] if code >= 0 else None for code in column.tolist()]
    if column.dtype.kind in "if":
        return [number if isfinite(number) else None for number in column.tolist()]
    return [None if value is None else str(value) for value in column.tolist()]


def write_netcdf(answers: xarray.Dataset, path: Path) -> None:
    """Write a grid as netCDF, built in memory, since HDF5 crashes if the disk becomes full."""
    content = BytesIO()
    answers.to_netcdf(content, engine="h5netcdf")
    path.write_bytes(content.getbuffer())


def check_installed(path: Path) -> None:
    """Raise ReportError if the modules that write this file format are not installed."""
    extra, modules = EXTRAS.get(path.suffix.lower(), ("", ()))
    if any(find_spec(module) is None for module in modules):
        verb = "is" if len(modules) == 1 else "are"
        raise ReportError(
            f"{path} needs {' and '.join(modules)}, which {verb} not installed: run pip install "
            f"'icmodel[{extra}]', or write .csv or .json"
        )


def _code_names(name: str) -> tuple[str, ...] | None:
    """Return the names of a column's codes, or None for a column of numbers."""
    if name == "bottleneck":
        return BOTTLENECKS
    return BASES if name.endswith("_basis") else None


def csv_cells(name: str, column: Column) -> list[str]:
    """Return the CSV cells of a column; unknown numbers and unlimited rates are empty.

    Each distinct value is formatted once, since many columns have few distinct values.
    """
    names = _code_names(name)
    if names is not None:
        return [names[code] if code >= 0 else "" for code in column.tolist()]
    if column.dtype.kind == "f":
        bits, places = np.unique(column.view(np.int64), return_inverse=True)
        texts = [repr(v) if isfinite(v) else "" for v in bits.view(np.float64).tolist()]
    else:
        values, places = np.unique(column.astype(str), return_inverse=True)
        texts = []
        for text in values.tolist():
            cell = StringIO()
            if text != "None":
                csv.writer(cell, lineterminator="").writerow([harmless(text)])
            texts.append(cell.getvalue())
    return [texts[place] for place in places.tolist()]


def arrow_array(pa: Any, name: str, column: Column) -> Any:
    """Return a column as an array of pyarrow; ``pa`` is the module pyarrow."""
    names = _code_names(name)
    if names is not None:
        codes = pa.array(column.astype(np.int8), mask=column < 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array(names))
    if column.dtype.kind == "f":
        return pa.array(column, mask=~np.isfinite(column))
    return pa.array(column.tolist())
