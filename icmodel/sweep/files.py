"""Write the result of a sweep to a file: CSV or Parquet with a row for each point, or netCDF."""

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

CSV, NETCDF, PARQUET, ZARR, XLSX = ".csv", ".nc", ".parquet", ".zarr", ".xlsx"
EXTRAS = {
    NETCDF: ("netcdf", ("h5netcdf", "h5py")),
    PARQUET: ("parquet", ("pyarrow",)),
    ZARR: ("zarr", ("zarr",)),
    XLSX: ("xlsx", ("xlsxwriter",)),
}
"""File extension -> optional dependency group (extra) of icmodel for this format, and the modules it installs."""
BLOCK = 4096
"""Number of points of a sweep that are written to a file at once."""
PARTS = ("_low", "_high", "_basis")

Column = NDArray[Any]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Columns:
    """Result of a sweep as a table with a row for each point.

    ``fixed`` has the constant parameters, ``swept`` the values of each swept parameter, and ``answers`` a value for
    each point. The points are all combinations of the swept values; the last parameter varies fastest. Without a
    swept parameter there is one point. ``sha256`` is the hash of the dataset's rows.
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
        """Names of all columns, in the order of the file."""
        return [*self.fixed, *self.swept, *self.answers]

    def blocks(self, progress: Progress | None) -> Iterator[list[Column]]:
        """Yield the columns of the sweep in blocks of `BLOCK` points.

        Before each block, ``progress`` is called with the number of points done and the total number.
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
    """Convert the result of a sweep to columns: metrics with intervals and bases, and the bottleneck."""
    names = [name + part for name in metrics for part in ("", *PARTS)] + ["bottleneck"]
    names = [name for name in names if name in answers]
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
    """Write the result of a sweep as CSV; see `csv_lines`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(csv_lines(columns, progress=progress))


def csv_lines(
    columns: Columns, *, header: bool = True, progress: Progress | None = None
) -> Iterator[str]:
    """Yield the lines of a sweep's CSV file.

    Unknown numbers are empty cells. Integer codes are written as names. A grid without points has no header.
    """
    if header and len(columns):
        line = StringIO()
        csv.writer(line, lineterminator="\n").writerow(columns.names)
        yield line.getvalue()
    for block in columns.blocks(progress):
        cells = map(csv_cells, columns.names, block)
        yield from (f"{','.join(row)}\n" for row in zip(*cells, strict=True))


def write_parquet(columns: Columns, path: Path, progress: Progress | None = None) -> None:
    """Write the result of a sweep as Parquet; see `parquet_bytes`.

    The file is written at once, so that a full disk leaves no partial file.
    """
    path.write_bytes(parquet_bytes(columns, progress))


def parquet_bytes(columns: Columns, progress: Progress | None = None) -> bytes:
    """Return the result of a sweep as Parquet.

    Unknown numbers are null. Integer codes become dictionary-encoded names.

    The metadata of each column hold its unit and long name. The metadata of the schema hold the hash of the dataset's
    rows.
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
    content = BytesIO()
    with pq.ParquetWriter(content, schema) as writer:
        for arrays in chain([first], blocks):
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return content.getvalue()


def write_netcdf(answers: xarray.Dataset, path: Path) -> None:
    """Write the result of a sweep as netCDF.

    The file is built in memory first, since HDF5 crashes if the disk becomes full.
    """
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


def code_names(name: str) -> tuple[str, ...] | None:
    """Return the names for the integer codes of a column, or None for a column of numbers."""
    if name == "bottleneck":
        return BOTTLENECKS
    return BASES if name.endswith("_basis") else None


def csv_cells(name: str, column: Column) -> list[str]:
    """Return the CSV cells of a column; unknown numbers and unlimited rates are empty.

    Each distinct value is formatted once, since many columns have few distinct values.
    """
    names = code_names(name)
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
    names = code_names(name)
    if names is not None:
        codes = pa.array(column.astype(np.int8), mask=column < 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array(names))
    if column.dtype.kind == "f":
        return pa.array(column, mask=~np.isfinite(column))
    return pa.array(column.tolist())
