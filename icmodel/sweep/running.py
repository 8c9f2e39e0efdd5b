"""Sweeps of any size into files: threads, worker processes or a Dask cluster predict the blocks.

Only a few blocks are in progress at a time, so memory does not grow with the number of points. Blocks and their order
do not depend on the kind of worker. So threads, processes and clusters write the same bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from icmodel import __version__
from icmodel.dataset import catalogue, find, load
from icmodel.errors import ClusterError, OutOfDomain, ReportError
from icmodel.files import alone, check_place
from icmodel.keywords import lists_keywords
from icmodel.model import Model
from icmodel.scenario import ScenarioArrays
from icmodel.sweep.files import check_installed
from icmodel.sweep.grid import Grid, grid_of
from icmodel.sweep.targets import TARGETS

if TYPE_CHECKING:
    from icmodel.sweep.targets import Content

BLOCK_POINTS = 131_072
"""Greatest number of points in one block of a sweep. A block of 60 columns has 60 MB; its Zarr chunks have 1 MB."""
WAIT_S = 10
"""Greatest time to wait for a Dask scheduler or for its first worker [s]."""
AHEAD = 2
"""Number of blocks that are submitted ahead for each worker. More would only need memory."""


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
    """Predict every combination of some parameters' values into a file, with little memory.

    The extension selects the format: ``.csv``, ``.parquet`` (a folder with a file for each block), or ``.zarr`` (xarray
    opens it). If an interrupted sweep is called again with the same question, it continues after the last finished
    block.

    Parameters
    ----------
    model : Model
        Model that predicts. Workers load its dataset by name or folder, and check its hash.
    path : str or Path
        File or folder to write; an earlier sweep at this place is replaced.
    outside, metrics, intervals, **ranges
        As in `icmodel.sweep`.
    workers : int, optional
        Number of worker processes; by default, the threads of this process work.
    client : distributed.Client, optional
        Client of a Dask cluster whose workers answer the blocks, in place of ``workers``.
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
    job = Job.of(model, grid, path.suffix.lower())
    target = kind(path, grid, BLOCK_POINTS, job.sweep_id)
    check_place(target.journal)
    with alone(path):
        done = target.begin()
        try:
            with _pool(job, model, workers, client) as pool:
                for number, content in pool.contents(range(done, len(target.blocks))):
                    block = target.blocks[number]
                    target.write(block, content)
                    done = block.number + 1
                    if progress is not None:
                        progress(block.stop, len(grid))
        except BaseException as error:
            if not done or isinstance(error, OutOfDomain):  # a repeat would fail at the same point
                target.discard()
            raise
        target.finish()
    return path


# --- a block of a job -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """Description of a sweep, from which any process can predict its blocks.

    Parameters
    ----------
    version : str
        Version of icmodel.
    dataset, sha256, variant : str
        Name or folder of the dataset, hash of its rows, and variant of the model.
    grid : Grid
    format : str
        File extension of the target.
    most : int
        Greatest number of points of a block.
    """

    version: str
    dataset: str
    sha256: str
    variant: str
    grid: Grid
    format: str
    most: int

    @classmethod
    def of(cls, model: Model, grid: Grid, extension: str) -> Job:
        """Make the description of a sweep by a model."""
        data = model.data
        # An edited copy of a bundled dataset may keep its id.
        bundled = data.id in catalogue() and find(data.id).samefile(data.folder)
        return cls(
            version=__version__,
            dataset=data.id if bundled else str(data.folder.absolute()),
            sha256=data.sha256,
            variant=model.variant,
            grid=grid,
            format=extension,
            most=BLOCK_POINTS,
        )

    @property
    def sweep_id(self) -> str:
        """Hash of everything that determines the bytes of the sweep's file."""
        decisive = repr(replace(self, dataset=""))  # the same dataset may lie elsewhere
        return hashlib.sha256(decisive.encode()).hexdigest()


def answer_block(job: Job, number: int) -> Content:
    """Predict one block of a sweep, and convert it to the content of the file.

    Raises
    ------
    ClusterError
        If this process has another version of icmodel or of the dataset than the job.
    OutOfDomain
        If a point is refused.
    """
    if job.version != __version__:
        raise ClusterError(
            f"a worker has icmodel {__version__}, and the sweep needs {job.version}: install the same "
            "version on all workers"
        )
    model = _model(job.dataset, job.variant)
    if model.data.sha256 != job.sha256:
        raise ClusterError(
            f"a worker has another dataset {job.dataset} (sha256 {model.data.sha256[:12]}…, and the "
            f"sweep needs {job.sha256[:12]}…): copy the dataset to all workers"
        )
    return _content(job, model, number)


def _content(job: Job, model: Model, number: int) -> Content:
    """Predict one block of a sweep on one thread, and convert it to the content of the file."""
    block = job.grid.blocks(job.most)[number]
    answers = block.answer(model, job.grid, threads=1)
    return TARGETS[job.format].encode(block, block.labelled(answers))


@lru_cache(maxsize=2)
def _model(dataset: str, variant: str) -> Model:
    """Return the model of a worker process. It is cached, so that its tables are prepared once."""
    return Model(load(dataset), variant)


# --- workers ----------------------------------------------------------------------------------


class Answering(Protocol):
    """Interface of a block that is being predicted.

    Futures of the standard library and of Dask have this interface.
    """

    def result(self) -> Content:
        """Wait for the block, and return its content."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Workers that predict blocks of a sweep.

    ``submit`` starts a block. At most ``ahead`` blocks are in progress at a time.
    """

    submit: Callable[[int], Answering]
    ahead: int

    def contents(self, numbers: Iterable[int]) -> Iterator[tuple[int, Content]]:
        """Predict blocks, and yield their numbers and contents in order."""
        waiting: deque[tuple[int, Answering]] = deque()
        for number in numbers:
            waiting.append((number, self.submit(number)))
            if len(waiting) >= self.ahead:
                first, answering = waiting.popleft()
                yield first, answering.result()
        for number, answering in waiting:
            yield number, answering.result()


@contextmanager
def _pool(job: Job, model: Model, workers: int | None, client: Any) -> Iterator[Pool]:
    """Start threads or worker processes, or use the workers of a Dask cluster.

    Raises
    ------
    ClusterError
        If a worker process ends, or the cluster has no workers or is lost.
    """
    if client is not None:
        yield from _cluster(job, client)
        return
    count = workers or os.cpu_count() or 1
    if workers is None:
        threads = ThreadPoolExecutor(count)
        try:
            yield Pool(lambda k: threads.submit(_content, job, model, k), AHEAD * count)
        finally:
            threads.shutdown(cancel_futures=True)
        return
    from concurrent.futures import ProcessPoolExecutor  # not needed by threads
    from multiprocessing import get_context

    processes = ProcessPoolExecutor(count, get_context("spawn"))
    try:
        yield Pool(lambda k: processes.submit(answer_block, job, k), AHEAD * count)
    except BrokenExecutor as error:
        raise ClusterError(
            "a worker process ended before its answer, perhaps for lack of memory: repeat the command "
            "to continue after the finished blocks"
        ) from error
    finally:
        processes.shutdown(cancel_futures=True)


def _cluster(job: Job, client: Any) -> Iterator[Pool]:
    """Use the workers of a Dask cluster; Dask gives a lost worker's block to another worker."""
    from distributed import KilledWorker

    try:
        client.wait_for_workers(1, timeout=WAIT_S)
        count = sum(client.nthreads().values())
        yield Pool(lambda k: client.submit(answer_block, job, k, pure=False), AHEAD * max(count, 1))
    except TimeoutError as error:
        raise ClusterError(
            f"the Dask cluster has no workers after {WAIT_S} s: start one with `dask worker ADDRESS`"
        ) from error
    except KilledWorker as error:
        raise ClusterError(
            "several workers of the Dask cluster ended at the same block, perhaps for lack of memory: "
            "repeat the command to continue after the finished blocks"
        ) from error
    except (CancelledError, OSError) as error:
        raise ClusterError(
            "the Dask scheduler is lost: repeat the command to continue after the finished blocks"
        ) from error


def connect(address: str) -> Any:
    """Return a client of the Dask scheduler at an address, such as ``tcp://host:8786``.

    Raises
    ------
    ClusterError
        If distributed is not installed, or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(
            "--cluster needs distributed, which is not installed: run pip install 'icmodel[cluster]'"
        ) from error
    answers: Queue[Any] = Queue()

    def ask() -> None:
        try:
            answers.put(Client(address, timeout=WAIT_S))  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            answers.put(error)

    # In a thread, since Dask waits forever if an address accepts connections but never answers.
    Thread(target=ask, daemon=True).start()
    try:
        found = answers.get(timeout=2 * WAIT_S)
    except Empty as error:
        found = error
    if isinstance(found, Exception):
        raise ClusterError(
            f"no Dask scheduler answers at {address}: start one with `dask scheduler`, and give its "
            "address, such as tcp://host:8786"
        ) from found
    return found
