"""Files of a sweep's grid, written block by block: CSV and Parquet, one row a point."""

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

from icmodel.errors import ReportError
from icmodel.estimate import BASES, BOTTLENECKS

if TYPE_CHECKING:
    import xarray

NETCDF, PARQUET = ".nc", ".parquet"
EXTRAS = {NETCDF: ("netcdf", ("h5netcdf", "h5py")), PARQUET: ("parquet", ("pyarrow",))}
"""The extra that installs the writer of a file format, and its modules."""
BLOCK = 4096
"""Points written at once."""
PARTS = ("_low", "_high", "_basis")

Column = NDArray[Any]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Columns:
    """A grid as columns, one row a point: constant parameters, swept ones, and answers.

    The values of ``swept`` repeat over the points, the last parameter fastest; without any there is one point.  ``sha256`` is of the dataset's rows.
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
        """The header."""
        return [*self.fixed, *self.swept, *self.answers]

    def blocks(self, progress: Progress | None) -> Iterator[list[Column]]:
        """The columns, a number of points at a time."""
        for start in range(0, len(self), BLOCK):
            if progress is not None:
                progress(start, len(self))
            stop = min(start + BLOCK, len(self))
            places = np.unravel_index(np.arange(start, stop), self.shape) if self.shape else ()
            fixed = [np.full(stop - start, value, dtype=object) for value in self.fixed.values()]
            swept = [v[at] for v, at in zip(self.swept.values(), places, strict=True)]
            yield [*fixed, *swept, *(column[start:stop] for column in self.answers.values())]


def columns_of(answers: xarray.Dataset, metrics: list[str], fixed: Mapping[str, object]) -> Columns:
    """The columns of a grid: its metrics with their intervals and bases, and the bottleneck."""
    names = [*(name + part for name in metrics for part in ("", *PARTS)), "bottleneck"]
    told = {"dataset": answers.attrs["dataset"], "variant": answers.attrs["variant"]}
    swept = [str(name) for name in answers.sizes]
    return Columns(
        {**told, **fixed},
        {name: answers[name].to_numpy() for name in swept},
        {name: answers[name].to_numpy().reshape(-1) for name in names},
        tuple(answers.sizes.values()),
        str(answers.attrs["sha256"]),
    )


def write_csv(columns: Columns, path: Path, progress: Progress | None = None) -> None:
    """Write CSV: unknown numbers are empty, codes are their names."""
    if not len(columns):
        path.write_bytes(b"")
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(columns.names)
        for block in columns.blocks(progress):
            cells = map(_cells, columns.names, block)
            file.writelines(f"{','.join(row)}\n" for row in zip(*cells, strict=True))


def write_parquet(columns: Columns, path: Path, progress: Progress | None = None) -> None:
    """Write Parquet: unknown numbers are null, codes are dictionaries of their names.

    A column's metadata has its unit and its name in words, the schema's the hash of the dataset's rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from icmodel.estimate import long_name
    from icmodel.units import unit_of

    names = columns.names
    blocks = (
        [_arrow(pa, name, part) for name, part in zip(names, block, strict=True)]
        for block in columns.blocks(progress)
    )
    first = next(blocks, [pa.nulls(0) for _ in names])
    said = [{"units": unit_of(name), "long_name": long_name(name)} for name in names]
    fields = zip(names, first, said, strict=True)
    schema = pa.schema(
        [pa.field(n, array.type, metadata=of) for n, array, of in fields],
        metadata={"sha256": columns.sha256},
    )
    whole = BytesIO()  # in one go, so that a full disk leaves nothing half written
    with pq.ParquetWriter(whole, schema) as writer:
        for arrays in chain([first], blocks):
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    path.write_bytes(whole.getbuffer())


def write_netcdf(answers: xarray.Dataset, path: Path) -> None:
    """Write netCDF in one go: HDF5 crashes where the disk is full while it writes a file itself."""
    whole = BytesIO()
    answers.to_netcdf(whole, engine="h5netcdf")
    path.write_bytes(whole.getbuffer())


def check_extra(path: Path) -> None:
    """Refuse a file that could not be written, before anything is computed.

    Raises
    ------
    ReportError
        If its writer is not installed.
    """
    extra, modules = EXTRAS.get(path.suffix.lower(), ("", ()))
    if any(find_spec(module) is None for module in modules):
        one = "is" if len(modules) == 1 else "are"
        raise ReportError(
            f"{path} needs {' and '.join(modules)}, which {one} not installed: run pip install "
            f"'icmodel[{extra}]', or end the file in .csv or .json"
        )


def _names_of(name: str) -> tuple[str, ...] | None:
    """Names of a column's codes; ``None`` for numbers."""
    if name == "bottleneck":
        return BOTTLENECKS
    return BASES if name.endswith("_basis") else None


def _cells(name: str, column: Column) -> list[str]:
    """The cells of a column; empty for an unknown number or an unlimited rate.

    Each different value is written once, since many columns have few: the goodput of a small request
    is the request.
    """
    names = _names_of(name)
    if names is not None:
        return [names[code] if code >= 0 else "" for code in column.tolist()]
    if column.dtype.kind == "f":
        bits, places = np.unique(column.view(np.int64), return_inverse=True)
        texts = [repr(v) if isfinite(v) else "" for v in bits.view(np.float64).tolist()]
    else:
        values, places = np.unique(column.astype(str), return_inverse=True)
        texts = [_quoted(text) for text in values.tolist()]
    return [texts[place] for place in places.tolist()]


def _quoted(text: str) -> str:
    """A text as a cell of CSV; empty for ``None``."""
    if text == "None":
        return ""
    cell = StringIO()
    csv.writer(cell, lineterminator="").writerow([text])
    return cell.getvalue()


def _arrow(pa: Any, name: str, column: Column) -> Any:
    """A column in Arrow's format."""
    names = _names_of(name)
    if names is not None:
        codes = pa.array(column.astype(np.int8), mask=column < 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array(names))
    if column.dtype.kind == "f":
        return pa.array(column, mask=~np.isfinite(column))
    return pa.array(column.tolist())
