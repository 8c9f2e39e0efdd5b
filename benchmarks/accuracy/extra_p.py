"""Extra-P 4.2 as a predictor: its own search over sums of powers and logarithms, curve by curve.

It runs in an environment of its own, since it needs another version of numpy. It models the time of
one message, which grows with the size, as its search expects.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from benchmarks.accuracy.predictor import (
    Answerer,
    Predictor,
    Unanswerable,
    along_payload,
    from_time,
    guess,
    is_time_or_rate,
    one_by_one,
    to_time,
)
from benchmarks.pairs import say
from benchmarks.start import CommandError, environment, run
from icmodel.dataset import Dataset, Point
from icmodel.estimate import Estimate
from icmodel.validate.folds import Fold

HERE = Path(__file__).resolve().parent
PINS = HERE / "extra_p.txt"
WORKER = HERE / "extra_p_worker.py"
ONE_AT_A_TIME = Lock()
"""Threads of a Dask worker take turns at the pipes of one Extra-P."""
Command = tuple[str, ...]
MICRO = 1e-6
"""Extra-P treats numbers far below 1 as noise, so times are passed in microseconds."""


@contextmanager
def extra_p() -> Iterator[Predictor]:
    """Yield Extra-P as a predictor, in a temporary environment.

    Raises
    ------
    CommandError
        If the environment cannot be made, for example without a network.
    """
    with TemporaryDirectory() as name:
        say("installing Extra-P into an environment of its own")
        command = (str(_environment(Path(name))), str(WORKER))
        worker = started(command)  # ready, or raises CommandError
        try:
            yield partial(asking_extra_p, command)
        finally:
            worker.terminate()
            worker.communicate()


def _environment(folder: Path) -> Path:
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    quiet = ("--disable-pip-version-check", "--quiet")
    pip = (sys.executable, "-m", "pip", "--python", python, *quiet)
    run((*pip, "install", "--no-deps", "--requirement", PINS), folder, (0,))
    return python


def asking_extra_p(command: Command, data: Dataset, folds: Sequence[Fold]) -> Answerer:
    """Make a predictor that asks Extra-P. Each process starts its own Extra-P by the command."""
    del data, folds
    return one_by_one(partial(_answer, command))


@cache
def started(command: Command) -> subprocess.Popen[str]:
    """Start Extra-P and wait until it is ready. It ends with the process that started it.

    Raises
    ------
    CommandError
        If it cannot be started.
    """
    worker = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        text=True,
    )
    _read(worker)
    return worker


def _answer(command: Command, fold: Fold, point: Point) -> Estimate:
    line = along_payload(fold, point)
    timed = is_time_or_rate(point.metric) and bool((line.y > 0).all())
    y = to_time(point.metric, line.x, line.y) / MICRO if timed else line.y
    with ONE_AT_A_TIME:
        asked = {"x": line.x.tolist(), "y": y.tolist(), "at": line.at}
        value = _ask(started(command), asked)
    return guess(from_time(point.metric, line.at, value * MICRO) if timed else value)


def _ask(worker: subprocess.Popen[str], curve: dict[str, object]) -> float:
    if worker.stdin is None:
        raise CommandError("Extra-P's worker has no pipe")
    worker.stdin.write(json.dumps(curve) + "\n")
    worker.stdin.flush()
    told = _read(worker)
    if "why" in told:
        raise Unanswerable(str(told["why"]))
    return float(str(told["value"]))


def _read(worker: subprocess.Popen[str]) -> dict[str, object]:
    line = "" if worker.stdout is None else worker.stdout.readline()
    if not line:
        raise CommandError("Extra-P's worker ended before its answer")
    told: dict[str, object] = json.loads(line)
    return told
