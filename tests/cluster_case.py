"""A Dask cluster of processes of this machine, as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import checkout
from icmodel.errors import ClusterError
from icmodel.workers import connect


@contextmanager
def cluster(
    workers: int, path: Path = checkout.ROOT
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and workers, each a process of its own; yields the address and the workers.

    They import icmodel from the folder ``path``.
    """
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = (sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:])
        process = subprocess.Popen(
            command,
            cwd=path,
            env={**os.environ, "PYTHONPATH": str(path)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    port = 18_786 + os.getpid() % 10_000
    address = f"tcp://127.0.0.1:{port}"
    try:
        start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        flags = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1")
        yield address, [start("worker", address, *flags) for _ in range(workers)]
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def connected(address: str, workers: int) -> Any:
    """A client, as soon as scheduler and workers are there."""
    for _ in range(30):
        try:
            client = connect(address)
            break
        except ClusterError:
            time.sleep(1)
    client.wait_for_workers(workers, timeout=60)
    return client
