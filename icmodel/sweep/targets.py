"""Files that a sweep fills block by block: CSV, a folder of Parquet parts, or a Zarr store.

Blocks are written in order. Until the last block is written, ``NAME.partial`` has the content, and ``NAME.progress``
the number of finished blocks. A continued sweep first removes any content after the finished blocks. So an interruption
loses at most the block being written, and no reader sees an incomplete file.
"""

from __future__ import annotations

import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from icmodel import files
from icmodel.documents import json_form, json_value
from icmodel.errors import ReportError, unwritable
from icmodel.sweep.files import (
    CSV,
    PARQUET,
    PARTS,
    ZARR,
    Columns,
    columns_of,
    csv_lines,
    parquet_bytes,
)
from icmodel.sweep.grid import Block, Grid

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

        It may run in a worker process.
        """

    @abstractmethod
    def append(self, block: Block, content: Content) -> int:
        """Append a block to the partial file and flush it to the disk; return the size of the file [B]."""

    @abstractmethod
    def truncate(self, blocks: int, size_bytes: int) -> None:
        """Remove all content after the finished blocks from the partial file."""

    def begin(self) -> int:
        """Return the number of blocks that an interrupted sweep has finished; 0 if there was none.

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
            if not counts or not 0 <= blocks <= len(self.blocks) or size_bytes < 0:
                raise ValueError(f"{blocks} blocks of {size_bytes} B")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ReportError(f"{self.journal} is damaged: remove it to start again") from error
        if sweep_id != self.sweep_id:
            raise ReportError(
                f"{self.partial} belongs to another sweep (another question, dataset or version): "
                f"choose another name, or remove {self.journal} to start again"
            )
        if not self.partial.exists():
            return 0
        if self.partial.is_file() and self.partial.stat().st_size < size_bytes:
            raise ReportError(
                f"{self.partial} is shorter than the {size_bytes} B that were written: remove "
                f"{self.journal} to start again"
            )
        self.truncate(blocks, size_bytes)
        return int(blocks)

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
        files.write(self.journal, json.dumps(progress).encode())

    def finish(self) -> None:
        """Move the complete file from its partial name to its final path.

        An earlier folder is renamed before its files are removed, so no reader sees a part of it.
        """
        replaced = self.path.with_name(f"{self.path.name}.replaced")
        try:
            if self.partial.is_dir():
                manifest = {"schema_version": 1, "sweep": self.sweep_id, "points": len(self.grid)}
                files.write(self.partial / MANIFEST, json.dumps(manifest).encode())
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
        """Write a block as a Parquet file of its own."""
        assert isinstance(content, bytes)
        self.partial.mkdir(exist_ok=True)
        files.write(self.partial / _part_name(block.number), content)
        return 0

    def truncate(self, blocks: int, size_bytes: int) -> None:
        """Remove all files of the folder that do not belong to finished blocks."""
        finished = {_part_name(number) for number in range(blocks)}
        for file in self.partial.iterdir():
            if file.name not in finished:
                file.unlink()


class ZarrStore(Target):
    """Target of a sweep: a Zarr store; each block is one chunk of each variable.

    It uses Zarr format 2, which every Zarr library reads; format 3 has no standard for texts yet.
    """

    @staticmethod
    def encode(block: Block, answers: xarray.Dataset) -> xarray.Dataset:
        """Return the answers of a block unchanged, since the Zarr store compresses them."""
        return answers

    def append(self, block: Block, content: Content) -> int:
        """Write one chunk of each variable to the Zarr store. The first block creates the store."""
        import zarr

        assert not isinstance(content, bytes)
        if not block.number:
            self._create(content)
        swept = [not axis.fixed for axis in self.grid.axes]
        corner = [k for k, there in zip(block.corner, swept, strict=True) if there]
        sizes = [len(axis.values) for axis in block.axes if not axis.fixed]
        place = tuple(slice(k, k + size) for k, size in zip(corner, sizes, strict=True))
        chunk = [k // step for k, step in zip(corner, self._chunks(), strict=True)] or [0]
        for name, column in content.data_vars.items():
            array = zarr.open_array(self.partial / str(name), mode="r+")
            array[place] = column.to_numpy()
            stored = self.partial / str(name) / ".".join(map(str, chunk))
            with suppress(FileNotFoundError), stored.open("rb") as file:  # no file if empty
                os.fsync(file.fileno())
        return 0

    def truncate(self, blocks: int, size_bytes: int) -> None:
        """Do nothing: the next block overwrites the chunks of an unfinished block."""

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
    """Return the columns of a block: fixed parameters, swept ones, and answers."""
    fixed = {axis.name: json_form(axis.values[0]) for axis in block.axes if axis.fixed}
    names = (str(name) for name in answers.data_vars)
    metrics = [name for name in names if name != "bottleneck" and not name.endswith(PARTS)]
    return columns_of(answers, metrics, fixed)


def _part_name(number: int) -> str:
    return f"part-{number:06}.parquet"
