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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.accuracy.predictor import (
    Answerer,
    Contestant,
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
MICRO = 1e-6
"""Extra-P treats numbers far below 1 as noise, so times are passed in microseconds."""


@contextmanager
def extra_p() -> Iterator[Contestant]:
    """Yield Extra-P as a contestant, in a temporary environment.

    Raises
    ------
    CommandError
        If the environment cannot be made, for example without a network.
    """
    with TemporaryDirectory() as name:
        say("installing Extra-P into an environment of its own")
        python = _environment(Path(name))
        with subprocess.Popen(
            [python, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            text=True,
        ) as worker:
            _read(worker)  # wait until it is ready; raises CommandError if it ended
            yield contestant(worker)
            worker.terminate()


def _environment(folder: Path) -> Path:
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    quiet = ("--disable-pip-version-check", "--quiet")
    pip = (sys.executable, "-m", "pip", "--python", python, *quiet)
    run((*pip, "install", "--no-deps", "--requirement", PINS), folder, (0,))
    return python


def contestant(worker: subprocess.Popen[str]) -> Contestant:
    """Make a predictor that asks a running worker."""

    def answer(fold: Fold, point: Point) -> Estimate:
        line = along_payload(fold, point)
        timed = is_time_or_rate(point.metric) and bool((line.y > 0).all())
        y = to_time(point.metric, line.x, line.y) / MICRO if timed else line.y
        value = _ask(worker, {"x": line.x.tolist(), "y": y.tolist(), "at": line.at})
        return guess(from_time(point.metric, line.at, value * MICRO) if timed else value)

    def answerer(data: Dataset) -> Answerer:
        del data
        return one_by_one(answer)

    return answerer


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
