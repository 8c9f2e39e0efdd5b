"""Pools of workers that answer the items of a job: this process, threads, worker processes, or a Dask cluster.

A pool returns the answers in the order of the items. So the result does not depend on the kind of workers.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from io import BytesIO
from queue import Empty, Queue
from threading import Thread
from typing import Any, Protocol, TypeVar, TypeVarTuple

from icmodel import __version__
from icmodel.dataset import Dataset, catalogue, find, load
from icmodel.errors import ClusterError, DatasetError
from icmodel.ranges import MOST_WORKERS

WAIT_S = 10
"""Greatest time to wait for a Dask scheduler or for its first worker [s]."""
AHEAD = 2
"""Number of items submitted to each worker before their answers are read. More items would only take memory."""

INTERRUPTED = 130
"""Exit code of a process that Ctrl-C ended, as in a shell."""

Arguments = TypeVarTuple("Arguments")
Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Work:
    """Words with which error messages describe the work of a pool of workers.

    ``whole`` names the whole work, such as ``sweep``; ``piece`` names one item, such as ``block``. ``again`` tells the
    user how to repeat the work.
    """

    whole: str
    piece: str
    again: str = "repeat the command"


class Answering(Protocol):
    """Interface of a pending answer to an item; standard-library futures and Dask futures have this interface."""

    def result(self) -> Any:
        """Wait for the answer, and return it."""


@dataclass(frozen=True, slots=True)
class Later:
    """Answer that is not computed before it is read; the thread that calls `result` computes it."""

    compute: Callable[[], Any]

    def result(self) -> Any:
        """Compute the answer now, by a call of ``compute``, and return it."""
        return self.compute()


@dataclass(frozen=True, slots=True)
class Pool:
    """Workers that answer the items of a job: a function is called once for each item.

    Parameters
    ----------
    work : Work
        Names of the work in error messages.
    submit : callable
        Takes a function and its arguments, starts the call in a worker, and returns the pending answer.
    ahead : int
        Greatest number of items in progress at a time.
    shared : bool
        Whether the workers share the memory of this process, so that jobs are not pickled.
    early : int
        Number of workers that start and prepare a job before the first item.
    """

    work: Work
    submit: Callable[..., Answering]
    ahead: int = 1
    shared: bool = True
    early: int = 0

    def job(
        self,
        make: Callable[[*Arguments], Callable[[Item], Answer]],
        *arguments: *Arguments,
    ) -> Callable[[Iterable[Item]], Iterator[Answer]]:
        """Return a function that sends items to the workers, and yields their answers in the order of the items.

        Parameters
        ----------
        make : callable
            Function that returns another function, which is then called with each item and returns its answer. Each
            process calls ``make`` once, before its first answer. ``make`` must be defined at the top level of a module,
            so that it can be pickled.
        *arguments
            Arguments of ``make``.
        """
        if self.shared:
            return partial(self._answers, partial(self.submit, make(*arguments)))
        whole = self.work.whole
        job = pickled((make, arguments), whole)
        for _ in range(self.early):
            # Nobody reads this result: if `prepare` fails, the first item raises the same error.
            self.submit(prepare, __version__, whole, job)

        def start(item: Item) -> Answering:
            return self.submit(answer, __version__, whole, job, pickled(item, whole))

        return partial(self._answers, start)

    def _answers(
        self, start: Callable[[Item], Answering], items: Iterable[Item]
    ) -> Iterator[Answer]:
        """Let workers compute the answers to up to ``ahead`` items at a time, and yield the answers in order."""
        waiting: deque[Answering] = deque()
        for item in items:
            waiting.append(start(item))
            if len(waiting) >= self.ahead:
                yield waiting.popleft().result()
        for answering in waiting:
            yield answering.result()


@contextmanager
def pool(
    work: Work, workers: int | None = None, client: Any = None, *, threads: int = 1
) -> Iterator[Pool]:
    """Start threads or worker processes, or use the workers of a Dask cluster.

    Parameters
    ----------
    work : Work
        Names of the work in error messages.
    workers : int, optional
        Number of worker processes.
    client : distributed.Client, optional
        Client of a Dask cluster. Its workers answer instead of worker processes of this machine.
    threads : int
        Number of threads of this process, if neither ``workers`` nor ``client`` is given. With ``threads=1``, the
        calling thread computes each answer when it is read.

    Raises
    ------
    ClusterError
        If the number of worker processes is impossible, a worker process ends, or the cluster has no workers or is
        lost.
    """
    if client is not None:
        yield from _cluster(work, client)
    elif workers is not None:
        if not 1 <= workers <= MOST_WORKERS:
            raise ClusterError(
                f"workers {workers} is not a number of processes: give 1 to {MOST_WORKERS}"
            )
        yield from _processes(work, workers)
    elif threads > 1:
        yield from _threads(work, threads)
    else:
        yield Pool(work, lambda compute, item: Later(partial(compute, item)))


def _threads(work: Work, count: int) -> Iterator[Pool]:
    """Start ``count`` threads of this process, and yield them as a pool; they end when the caller leaves the context."""
    from concurrent.futures import ThreadPoolExecutor  # not needed by one thread

    threads = ThreadPoolExecutor(count)
    try:
        yield Pool(work, threads.submit, AHEAD * count)
    finally:
        threads.shutdown(cancel_futures=True)


def _processes(work: Work, count: int) -> Iterator[Pool]:
    """Start worker processes on this machine, and yield their pool."""
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor  # not needed by threads
    from multiprocessing import get_context

    processes = ProcessPoolExecutor(count, get_context("spawn"), begin, gc.get_threshold())

    def submit(*call: Any) -> Answering:
        with interrupts_held():
            return processes.submit(*call)

    try:
        yield Pool(work, submit, AHEAD * count, shared=False, early=count)
    except BrokenExecutor as error:
        raise ClusterError(
            f"a worker process ended before its answer, perhaps for lack of memory: {work.again}"
        ) from error
    finally:
        processes.shutdown(cancel_futures=True)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Block Ctrl-C (SIGINT) in this thread and in processes that it starts; a no-op on Windows."""
    if not hasattr(signal, "pthread_sigmask"):  # as on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin(*thresholds: int) -> None:
    """Initialise a worker process: set the garbage collector's thresholds, and end quietly after Ctrl-C.

    The thresholds are those of the parent process. A terminal sends Ctrl-C to all processes of a command. The worker
    then ends without a traceback.
    """
    gc.set_threshold(*thresholds)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _cluster(work: Work, client: Any) -> Iterator[Pool]:
    """Use the workers of a Dask cluster; Dask gives a lost worker's item to another worker."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        client.wait_for_workers(1, timeout=WAIT_S)
        count = max(sum(client.nthreads().values()), 1)
        yield Pool(work, partial(client.submit, pure=False), AHEAD * count, shared=False)
    except TimeoutError as error:
        raise ClusterError(
            f"the Dask cluster has no workers after {WAIT_S} s: start one with `dask worker ADDRESS`"
        ) from error
    except KilledWorker as error:
        raise ClusterError(
            f"several workers of the Dask cluster ended at the same {work.piece}, perhaps for lack of "
            f"memory: {work.again}"
        ) from error
    except (CancelledError, OSError) as error:
        raise ClusterError(f"the Dask scheduler is lost: {work.again}") from error


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
            "a Dask cluster needs distributed, which is not installed: run pip install 'icmodel[cluster]'"
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


def pickled(value: object, whole: str) -> bytes:
    """Pickle a job or an item for a worker; ``whole`` is the name of the work in error messages.

    A dataset is replaced by its hash and its name or folder. If its folder changed since loading, the whole dataset is
    pickled.
    """
    body = BytesIO()
    JobPickler(body, whole).dump(value)
    return body.getvalue()


def answer(version: str, whole: str, job: bytes, item: bytes) -> Any:
    """Answer one item of a job in a worker.

    Parameters
    ----------
    item : bytes
        The item, pickled by `pickled`. For the other parameters, see `prepare`.
    """
    prepare(version, whole, job)
    return _answering(job)(pickle.loads(item))


def prepare(version: str, whole: str, job: bytes) -> None:
    """Prepare a job in a worker, so that its first answer comes sooner.

    Parameters
    ----------
    version : str
        Version of icmodel that the job needs.
    whole : str
        Name of the work in messages, such as ``sweep``.
    job : bytes
        The function ``make`` and its arguments, as given to `Pool.job`, pickled by `pickled`.

    Raises
    ------
    ClusterError
        If the job needs another version of icmodel or of a dataset than this process has.
    """
    if version != __version__:
        raise ClusterError(
            f"a worker has icmodel {__version__}, and the {whole} needs {version}: install the same "
            "version on all workers"
        )
    _answering(job)


@lru_cache(maxsize=2)
def _answering(job: bytes) -> Callable[[Any], Any]:
    """Unpickle a job, and make the function that computes the answer to an item.

    The function is cached, so a worker makes it once for all items of the job.
    """
    make, arguments = pickle.loads(job)
    answering: Callable[[Any], Any] = make(*arguments)
    return answering


class JobPickler(pickle.Pickler):
    """Pickler that replaces each dataset by two values: its hash, and its name or folder."""

    def __init__(self, body: BytesIO, whole: str) -> None:
        super().__init__(body)
        self.whole = whole

    def reducer_override(self, value: object) -> Any:
        """Reduce a dataset to its name and hash; pickle any other value as usual."""
        if isinstance(value, Dataset) and (name := name_for_workers(value)):
            return same_dataset, (name, value.sha256, self.whole)
        return NotImplemented


def name_for_workers(data: Dataset) -> str | None:
    """Return the bundled name or the folder from which a worker process can load this dataset.

    The result is ``None`` if the loaded dataset would differ from this one, for example since rows were changed in
    memory.
    """
    try:
        # An edited copy of a bundled dataset may keep its id.
        bundled = data.id in catalogue() and find(data.id).samefile(data.folder)
        name = data.id if bundled else str(data.folder.absolute())
        return name if replace(load(name), folder=data.folder) == data else None
    except (DatasetError, OSError):
        return None


def same_dataset(name: str, sha256: str, whole: str) -> Dataset:
    """Load a dataset in a worker, and check its hash.

    Raises
    ------
    ClusterError
        If the hash differs from the expected one (``sha256``).
    """
    data = load(name)
    if data.sha256 != sha256:
        raise ClusterError(
            f"a worker has another dataset {name} (sha256 {data.sha256[:12]}…, and the {whole} needs "
            f"{sha256[:12]}…): copy the dataset to all workers"
        )
    return data
