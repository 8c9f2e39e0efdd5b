"""Files of a sweep: written as a whole (CSV, Parquet, netCDF), or block by block (CSV, Parquet parts, Zarr).

Blocks are written in order. Until the last block is written, ``NAME.partial`` has the content, and ``NAME.progress``
the number of finished blocks. A continued sweep first removes any content after the finished blocks. So an interruption
loses at most one block, and no reader sees an incomplete file.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO, StringIO
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from icmodel import documents
from icmodel.documents import harmless, json_form, json_value
from icmodel.errors import ReportError, unwritable
from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.sweep.grid import Block, Grid

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
"""Number of points of a sweep that are written to a file together."""
PARTS = ("_low", "_high", "_basis")
EVERY_CHUNK = {"array.write_empty_chunks": True}
"""Configuration of Zarr: also write chunks of only NaN or only zeros. So a missing file means a lost chunk."""

Column = NDArray[Any]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Columns:
    """Result of a sweep as a table with a row for each point.

    Parameters
    ----------
    fixed : mapping
        Values of the constant parameters.
    swept : mapping
        Values of each swept parameter. The points are all combinations of these values; the last parameter varies
        fastest. Without a swept parameter there is one point.
    answers : mapping
        Columns with a value for each point.
    shape : tuple of int
        Number of values of each swept parameter.
    sha256 : str
        Hash of the dataset's rows.
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
    """Convert the result of a sweep to columns of a table.

    Each metric has four columns: value, low, high and basis. A further column has the bottleneck.
    """
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

    The file is written in one step, so that a full disk leaves no partial file.
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


if TYPE_CHECKING:
    import xarray

    Content = bytes | xarray.Dataset
    """Content of one block of a sweep: bytes of a file, or labelled answers."""


class Target(ABC):
    """Base class of the targets of a sweep: a file or folder that is written block by block.

    Parameters
    ----------
    path : Path
        Final path of the file or folder.
    grid : Grid
        Grid of the sweep.
    most : int
        Greatest number of points of a block.
    sweep_id : str
        Hash of the sweep; a partial file with another hash is not continued.
    """

    def __init__(self, path: Path, grid: Grid, most: int, sweep_id: str) -> None:
        self.path, self.grid, self.blocks, self.sweep_id = path, grid, grid.blocks(most), sweep_id
        self.partial = path.with_name(f"{path.name}.partial")
        self.journal = path.with_name(f"{path.name}.progress")

    @staticmethod
    @abstractmethod
    def encode(block: Block, answers: xarray.Dataset) -> Content:
        """Convert the labelled answers of a block to the content that `append` writes.

        This method may run in a worker process.
        """

    @abstractmethod
    def append(self, block: Block, content: Content) -> int:
        """Append a block to the partial file and flush it to the disk; return the size of the file [B]."""

    @abstractmethod
    def truncate(self, blocks: int, size_bytes: int) -> None:
        """Remove all content after the first ``blocks`` blocks from the partial file.

        ``size_bytes`` is the size of these blocks. A target with a single file is cut to this size; other targets do
        not need the size.
        """

    def begin(self) -> int:
        """Prepare the partial file, and return the number of blocks that an interrupted sweep finished.

        Content after the finished blocks is removed.

        Raises
        ------
        ReportError
            If the path is a folder that no sweep wrote, or the partial file belongs to another sweep.
        """
        if self.path.is_dir() and not (self.path / MANIFEST).is_file():
            raise ReportError(
                f"{self.path} is a folder not written by icmodel sweep: choose another name, or remove it"
            )
        if not self.journal.exists():
            self.discard()
            return 0
        try:
            progress: Any = json_value(self.journal.read_bytes())
            sweep_id, blocks, size_bytes = (progress[name] for name in ("sweep", "blocks", "bytes"))
            counts = isinstance(blocks, int) and isinstance(size_bytes, int)
            if sweep_id != self.sweep_id:
                raise ReportError(
                    f"{self.partial} belongs to another sweep (another question, dataset or version): "
                    f"choose another name, or remove {self.journal} to start again"
                )
            if not counts or not 0 <= blocks <= len(self.blocks) or size_bytes < 0:
                raise ValueError(
                    f"it states {blocks} finished blocks with {size_bytes} B, but the sweep has "
                    f"{len(self.blocks)} blocks"
                )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ReportError(f"{self.journal} is damaged: remove it to start again") from error
        if not self.partial.exists():
            return 0
        if self.partial.is_file() and self.partial.stat().st_size < size_bytes:
            raise ReportError(
                f"{self.partial} is shorter than the {size_bytes} B that were written: remove "
                f"{self.journal} to start again"
            )
        self.truncate(blocks, size_bytes)
        return int(blocks)

    def refuse_missing(self, name: str) -> NoReturn:
        """Raise ReportError: the file ``name`` of a finished block is missing."""
        raise ReportError(
            f"{self.partial} lacks the file {name} of a finished block: remove {self.journal} to start the "
            "sweep again"
        )

    def write(self, block: Block, content: Content) -> None:
        """Write the next block, then record that it is finished.

        Raises
        ------
        ReportError
            If the disk is full or not writable; finished blocks are kept.
        """
        try:
            size_bytes = self.append(block, content)
        except OSError as error:
            raise ReportError(
                f"{unwritable(self.partial, error)}; {block.number} of {len(self.blocks)} blocks "
                "are kept: repeat the command to continue"
            ) from error
        progress = {"sweep": self.sweep_id, "blocks": block.number + 1, "bytes": size_bytes}
        documents.write(self.journal, json.dumps(progress).encode())

    def finish(self) -> None:
        """Move the complete file from its partial name to its final path.

        An earlier folder is renamed before its files are removed, so no reader sees an incomplete folder.
        """
        replaced = self.path.with_name(f"{self.path.name}.replaced")
        try:
            if self.partial.is_dir():
                manifest = {"schema_version": 1, "sweep": self.sweep_id, "points": len(self.grid)}
                documents.write(self.partial / MANIFEST, json.dumps(manifest).encode())
                if self.path.is_file():
                    self.path.unlink()
            shutil.rmtree(replaced, ignore_errors=True)
            if self.path.is_dir():
                self.path.rename(replaced)
            self.partial.replace(self.path)
            shutil.rmtree(replaced, ignore_errors=True)
            self.journal.unlink(missing_ok=True)
        except OSError as error:
            raise ReportError(unwritable(self.path, error)) from error

    def discard(self) -> None:
        """Remove the partial file of a sweep, and the record of its finished blocks."""
        with suppress(OSError):
            if self.partial.is_dir():
                shutil.rmtree(self.partial)
            self.partial.unlink(missing_ok=True)
            self.journal.unlink(missing_ok=True)


MANIFEST = "_icmodel.json"
"""File that marks a folder as a complete sweep; readers of Parquet folders skip names that start with ``_``."""


class CsvFile(Target):
    """Target of a sweep: one CSV file, to which each block is appended."""

    @staticmethod
    def encode(block: Block, answers: xarray.Dataset) -> bytes:
        """Return the CSV lines of a block. The first block also has the header."""
        columns = block_columns(block, answers)
        text = StringIO(newline="")
        text.writelines(csv_lines(columns, header=not block.number))
        return text.getvalue().encode("utf-8")

    def append(self, block: Block, content: Content) -> int:
        """Append the CSV lines of a block to the file."""
        assert isinstance(content, bytes)
        with self.partial.open("ab") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            return file.tell()

    def truncate(self, blocks: int, size_bytes: int) -> None:
        """Cut an incomplete block off the end of the CSV file."""
        os.truncate(self.partial, size_bytes)


class ParquetFolder(Target):
    """Target of a sweep: a folder with one Parquet file for each block."""

    @staticmethod
    def encode(block: Block, answers: xarray.Dataset) -> bytes:
        """Return a block as the bytes of a Parquet file."""
        return parquet_bytes(block_columns(block, answers))

    def append(self, block: Block, content: Content) -> int:
        """Write the Parquet file of a block into the folder."""
        assert isinstance(content, bytes)
        self.partial.mkdir(exist_ok=True)
        documents.write(self.partial / _part_name(block.number), content)
        return 0

    def truncate(self, blocks: int, size_bytes: int) -> None:
        """Remove all files of the folder that do not belong to finished blocks."""
        finished = {_part_name(number) for number in range(blocks)}
        there = {file.name for file in self.partial.iterdir()}
        if lost := sorted(finished - there):
            self.refuse_missing(lost[0])
        for name in there - finished:
            (self.partial / name).unlink()


class ZarrStore(Target):
    """Target of a sweep: a Zarr store; each block is one chunk of each variable.

    The store has Zarr format 2, which every Zarr library reads; format 3 has no standard for texts yet.
    """

    @staticmethod
    def encode(block: Block, answers: xarray.Dataset) -> xarray.Dataset:
        """Return the answers of a block unchanged; zarr encodes and compresses them in `append`."""
        return answers

    def append(self, block: Block, content: Content) -> int:
        """Write a block to the Zarr store, as one chunk of each variable. The first block creates the store."""
        import zarr

        assert not isinstance(content, bytes)
        if not block.number:
            self._create(content)
        swept = [not axis.fixed for axis in self.grid.axes]
        first = [k for k, there in zip(block.first_indices, swept, strict=True) if there]
        sizes = [len(axis.values) for axis in block.axes if not axis.fixed]
        place = tuple(slice(k, k + size) for k, size in zip(first, sizes, strict=True))
        chunk = self._chunk_name(block)
        for name, column in content.data_vars.items():
            with zarr.config.set(EVERY_CHUNK):
                array = zarr.open_array(self.partial / str(name), mode="r+")
            array[place] = column.to_numpy()
            stored = self.partial / str(name) / chunk
            with stored.open("rb") as file:
                os.fsync(file.fileno())
        return 0

    def truncate(self, blocks: int, size_bytes: int) -> None:
        """Check that no chunk of a finished block is missing.

        The chunks of an unfinished block stay, and are overwritten when the sweep continues.
        """
        names = [folder.parent.name for folder in sorted(self.partial.glob("*/.zarray"))]
        labels = self.grid.labels().coords
        swept = [name for name in names if name not in labels]
        for number in range(blocks):
            chunk = self._chunk_name(self.blocks[number])
            for name in swept:
                if not (self.partial / name / chunk).is_file():
                    self.refuse_missing(f"{name}/{chunk}")

    def _chunk_name(self, block: Block) -> str:
        """Return the file name of a block's chunk; it is the same in the folder of each variable."""
        axes = zip(block.first_indices, self.grid.axes, strict=True)
        swept = (k for k, axis in axes if not axis.fixed)
        chunk = [k // step for k, step in zip(swept, self._chunks(), strict=True)]
        return ".".join(map(str, chunk or [0]))

    def _chunks(self) -> tuple[int, ...]:
        steps = zip(self.blocks.block_shape, self.grid.axes, strict=True)
        return tuple(step for step, axis in steps if not axis.fixed)

    def _create(self, answers: xarray.Dataset) -> None:
        """Create the Zarr store with empty arrays for all points, and with the labels of the axes."""
        import zarr

        group = zarr.open_group(self.partial, mode="w", zarr_format=2)
        for name, column in answers.data_vars.items():
            group.create_array(
                str(name),
                shape=self.grid.shape,
                chunks=self._chunks(),
                dtype=column.dtype,
                fill_value=np.nan if column.dtype.kind == "f" else None,
                attributes={**column.attrs, "_ARRAY_DIMENSIONS": list(self.grid.dims)},
            )
        labels = self.grid.labels().assign_attrs(answers.attrs)
        labels.to_zarr(self.partial, mode="a", zarr_format=2, consolidated=True)


TARGETS: Mapping[str, type[Target]] = {CSV: CsvFile, PARQUET: ParquetFolder, ZARR: ZarrStore}
"""File extension -> class that writes a sweep block by block."""


def block_columns(block: Block, answers: xarray.Dataset) -> Columns:
    """Return the columns of a block: fixed parameters, swept parameters and answers."""
    fixed = {axis.name: json_form(axis.values[0]) for axis in block.axes if axis.fixed}
    names = (str(name) for name in answers.data_vars)
    metrics = [name for name in names if name != "bottleneck" and not name.endswith(PARTS)]
    return columns_of(answers, metrics, fixed)


def _part_name(number: int) -> str:
    return f"part-{number:06}.parquet"
