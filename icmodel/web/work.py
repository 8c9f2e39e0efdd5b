"""Execution of requests: models in memory, short answers in threads, long ones in worker processes.

A prediction takes milliseconds, so a thread computes it with a model in memory. A thread also computes a grid, if the
number of its points is allowed. An evaluation, a system or a search may take long, and cannot be interrupted. So a worker
process with limited memory computes it, and the server kills the process after `LONGEST_S`.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import TypeVar, TypeVarTuple, Unpack

import anyio
import anyio.to_process
import anyio.to_thread
from anyio import BrokenWorkerProcess, CapacityLimiter

from icmodel.dataset import Dataset, catalogue, check_variant, load
from icmodel.errors import DatasetError, IcmodelError
from icmodel.model import Model
from icmodel.questions.words import DEFAULT_DATASET
from icmodel.web.problems import Problem

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MOST_DATASETS = 32
"""Maximum number of datasets, and of models, in memory."""
LONGEST_S = 60.0
"""Maximum time of a long answer, including the time in the queue [s]. Then the server kills the worker process."""
MOST_MEMORY = 2 * 2**30
"""Maximum memory of a worker process [B]."""


# --- models -----------------------------------------------------------------------------------


@lru_cache(maxsize=MOST_DATASETS)
def dataset(name: str) -> Dataset:
    """Load a bundled dataset; paths are refused.

    Raises
    ------
    DatasetError
        If no bundled dataset has this name.
    """
    check_dataset(name)
    return load(name)


def check_dataset(name: str) -> None:
    """Raise DatasetError if no bundled dataset has this name."""
    if name not in catalogue():
        raise DatasetError(f"there is no dataset {name!r}: use one of {', '.join(catalogue())}")


@dataclass(frozen=True, slots=True)
class WarmModel:
    """Model in memory, and its lock. A thread holds the lock while it uses the model."""

    model: Model
    lock: Lock = field(default_factory=Lock)


def warm_model(name: str, variant: str | None) -> WarmModel:
    """Return the model of a bundled dataset; the first call makes it, and further calls share it.

    Raises
    ------
    DatasetError, ScenarioError
        If there is no such dataset or variant.
    """
    data = dataset(name)
    chosen = variant or data.default_variant
    check_variant(chosen)
    return _warm_model(name, chosen)


@lru_cache(maxsize=MOST_DATASETS)
def _warm_model(name: str, variant: str) -> WarmModel:
    return WarmModel(Model(dataset(name), variant))


# --- threads and worker processes -------------------------------------------------------------


class Executor:
    """Threads and worker processes of a server, each with a bounded queue."""

    def __init__(self, threads: int = 4, processes: int = 2, waiting: int = 64) -> None:
        self.threads, self.processes = CapacityLimiter(threads), CapacityLimiter(processes)
        self.waiting = waiting

    async def quick(self, function: Callable[[Unpack[Ts]], T], *words: *Ts) -> T:
        """Run a function in a thread.

        Raises
        ------
        Problem
            If too many requests wait.
        """
        self.check_queue(self.threads)
        return await anyio.to_thread.run_sync(function, *words, limiter=self.threads)

    async def long(self, function: Callable[[Unpack[Ts]], bytes], *words: *Ts) -> bytes:
        """Run a function in a worker process for at most `LONGEST_S`.

        Raises
        ------
        Problem
            If too many requests wait, or the answer needs too much time or memory.
        """
        self.check_queue(self.processes)
        advice = "ask a smaller question, or use the command line"
        try:
            with anyio.fail_after(LONGEST_S):
                return await anyio.to_process.run_sync(
                    bounded, function, *words, cancellable=True, limiter=self.processes
                )
        except TimeoutError:
            raise Problem(503, f"the answer takes longer than {LONGEST_S:g} s: {advice}") from None
        except (MemoryError, BrokenWorkerProcess, ProcessLookupError):
            # ProcessLookupError: Ctrl-C ended a worker process before it ignored SIGINT.
            memory = f"{MOST_MEMORY // 2**30} GiB"
            raise Problem(503, f"the answer needs more than {memory} of memory: {advice}") from None

    async def warm_up(self) -> None:
        """Import modules, load the default dataset and start a worker process before the first request.

        Errors are ignored here; the first requests report them.
        """
        with suppress(Problem, IcmodelError):
            await self.quick(prepare)
            await self.long(prepare)

    def check_queue(self, limiter: CapacityLimiter) -> None:
        """Refuse a request with status 429 if too many others already wait."""
        if limiter.statistics().tasks_waiting >= self.waiting:
            raise Problem(
                429,
                f"{self.waiting} requests wait already: try again later",
                headers={"Retry-After": "1"},
            )


def prepare() -> bytes:
    """Prepare the process that calls this for a quick first answer: import modules, make the default dataset's model."""
    import icmodel.system.prediction
    import icmodel.usecase  # noqa: F401
    from icmodel.sweep import sweep

    warm = warm_model(DEFAULT_DATASET, None)
    with warm.lock:
        sweep(warm.model, protocol=warm.model.data.default_protocol, payload="64 B, 1448 B")
    return b""


def bounded(function: Callable[[Unpack[Ts]], T], *words: *Ts) -> T:
    """Call a function in a worker process, with a memory limit if the operating system supports limits.

    Ctrl-C in a terminal also reaches worker processes. The processes ignore Ctrl-C, and the server ends them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        import resource

        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    return function(*words)
