"""Sweeps: predictions for every combination of some parameters' values, in memory or in files.

Threads, worker processes or a Dask cluster predict the blocks of a file. Only a few blocks are in progress at a time, so
memory does not grow with the number of points. The bytes of a file do not depend on the number or kind of workers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from icmodel import __version__
from icmodel.documents import check_place, write_lock
from icmodel.errors import OutOfDomain, ReportError
from icmodel.keywords import lists_keywords
from icmodel.model import Model
from icmodel.scenario import ScenarioArrays
from icmodel.sweep.files import TARGETS, check_installed
from icmodel.sweep.grid import LARGEST_SWEEP, Grid, grid_of, sweep
from icmodel.sweep.ranges import COUNTS, Axis, axes_of, is_textual, range_values
from icmodel.workers import Work, pool

if TYPE_CHECKING:
    from icmodel.sweep.files import Content

__all__ = [
    "COUNTS",
    "LARGEST_SWEEP",
    "Axis",
    "Grid",
    "axes_of",
    "grid_of",
    "is_textual",
    "range_values",
    "sweep",
    "sweep_to_file",
]

BLOCK_POINTS = 131_072
"""Greatest number of points in one block of a sweep. A block takes 1 MB per column, e.g. 60 MB for 60 columns."""
SWEEP = Work("sweep", "block", "repeat the command to continue after the finished blocks")


@lists_keywords(ScenarioArrays)
def sweep_to_file(
    model: Model,
    path: str | Path,
    *,
    outside: str = "refuse",
    metrics: tuple[str, ...] | list[str] | None = None,
    intervals: bool = True,
    workers: int | None = None,
    client: Any = None,
    progress: Callable[[int, int], None] | None = None,
    **ranges: Unpack[ScenarioArrays],
) -> Path:
    """Predict every combination of some parameters' values, and write the predictions to a file block by block.

    The extension selects the format: ``.csv``, ``.parquet`` (a folder with a file for each block), or ``.zarr`` (xarray
    opens it). After an interruption, the same call continues the sweep after the last finished block.

    Parameters
    ----------
    model : Model
        Model that predicts. Workers load its dataset by name or folder, and check its hash.
    path : str or Path
        File or folder to write; an earlier sweep at this path is replaced.
    outside, metrics, intervals, **ranges
        As in `icmodel.sweep`.
    workers : int, optional
        Number of worker processes; by default, the threads of this process work.
    client : distributed.Client, optional
        Client of a Dask cluster. Its workers predict the blocks instead of worker processes of this machine.
    progress : callable, optional
        Called after every block with the number of answered points and the total number of points.

    Returns
    -------
    Path
        The file or folder.

    Raises
    ------
    UnitError, ScenarioError, OutOfDomain
        As in `icmodel.sweep`.
    ReportError
        If the file cannot be written, a partial file belongs to another sweep, or another process writes the file.
    ClusterError
        If a worker ends, or has another version of icmodel or of the dataset.

    Examples
    --------
    >>> import tempfile
    >>> from icmodel import Model, sweep_to_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = sweep_to_file(
    ...         Model("ethernet-10g-2012"), f"{folder}/grid.csv", protocol="tcp", payload="64 B, 1448 B"
    ...     )
    ...     len(path.read_text().splitlines())
    3
    """
    path = Path(path)
    kind = TARGETS.get(path.suffix.lower())
    if kind is None:
        raise ReportError(
            f"unsupported file extension for a large sweep in {str(path)!r}: use {', '.join(sorted(TARGETS))}"
        )
    check_installed(path)
    grid = grid_of(model, ranges, outside, metrics, intervals=intervals)
    extension, most = path.suffix.lower(), BLOCK_POINTS
    content_decided_by = (__version__, model.data.sha256, model.variant, grid, extension, most)
    target = kind(path, grid, most, sweep_id(*content_decided_by))
    check_place(target.journal)
    with write_lock(path):
        done = target.begin()
        try:
            with pool(SWEEP, workers, client, threads=os.cpu_count() or 1) as team:
                contents = team.job(block_contents, model, grid, extension, most)
                numbers = range(done, len(target.blocks))
                for number, content in zip(numbers, contents(numbers), strict=True):
                    block = target.blocks[number]
                    target.write(block, content)
                    done = block.number + 1
                    if progress is not None:
                        progress(block.stop, len(grid))
        except BaseException as error:
            # There is nothing to continue: no block is finished, or a repeat would fail at the same point.
            if not done or isinstance(error, OutOfDomain):
                target.discard()
            raise
        target.finish()
    return path


# --- blocks -----------------------------------------------------------------------------------


def sweep_id(version: str, sha256: str, variant: str, grid: Grid, extension: str, most: int) -> str:
    """Return a hash of everything that determines the bytes of a sweep's file.

    Parameters
    ----------
    version : str
        Version of icmodel.
    sha256, variant : str
        Hash of the dataset's rows, and variant of the model.
    grid : Grid
        Points of the sweep, and the settings for their prediction.
    extension : str
        File extension of the target.
    most : int
        Greatest number of points of a block.
    """
    decisive = repr((version, sha256, variant, grid, extension, most))
    return hashlib.sha256(decisive.encode()).hexdigest()


def block_contents(model: Model, grid: Grid, extension: str, most: int) -> Callable[[int], Content]:
    """Make a function that predicts one block of the grid, and returns the answers in the encoding of the file.

    The argument of the function is the number of the block. The function uses one thread. It raises OutOfDomain if a
    point is refused.
    """
    blocks, encode = grid.blocks(most), TARGETS[extension].encode

    def content(number: int) -> Content:
        block = blocks[number]
        return encode(block, block.labelled(block.answer(model, grid, threads=1)))

    return content
