"""Commands in processes that end by SIGKILL before a chosen operation on files, or after a chosen time."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import calibrate_case
from fold_case import GOLDEN
from icmodel.calibrate import calibrate
from icmodel.calibrate.state import write
from icmodel.cli import main
from icmodel.verify.folder import opened
from icmodel.verify.running import RunResult
from ingest_cases import CASES
from small_case import small_dataset

CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"}
"""Audit events of operations that change a folder, besides opening a file to write it."""
SAID = ".said"
"""File with what a command printed."""
DONE = (0, 1, 3)
"""Exit codes of a command that answered."""
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "pytest",
        "crash_case",
        "icmodel.report.html",
        "icmodel.sheets",
        "icmodel.system.prediction",
        "zarr",
    ]
)
"""Processes forked from one that has imported icmodel, so that each starts within milliseconds."""


def line(words: str) -> Callable[[], object]:
    """A command line as a function."""
    return partial(main, shlex.split(words))


def calibrated(budget_s: float) -> None:
    """Calibrate a made-up system, and write its dataset."""
    asked = calibrate_case.settings(budget_s=budget_s)
    calibrate(calibrate_case.Simulated(), asked, Path("own"))
    write(Path("own"), asked)


def verified() -> None:
    """Keep two passes of a verification, as far as they are not kept already."""
    with opened(Path("own"), {"schema_version": 1}, "") as folder:
        stored = folder.prediction({"streams": {"s": {}}})
        for number in range(len(folder.passes(stored, ("s",))) + 1, 3):
            folder.keep(number, RunResult({"s": {"run": f"{number}"}}, 1.0), stored)


def small() -> None:
    """Write a dataset of few rows."""
    small_dataset(Path())


def nothing() -> None:
    """Write nothing."""


@dataclass(frozen=True)
class Command:
    """A command that writes ``made``, and what was run before it.

    ``grows`` if it keeps parts of its result; ``once`` if it refuses to replace its whole result.
    """

    run: Callable[[], object]
    made: tuple[str, ...]
    before: Callable[[], object] = nothing
    grows: bool = False
    once: bool = False


RECORDS = GOLDEN / "tcp-unlimited.jsonl"
RESULTS = CASES / "libzmq"
QUESTION = "sweep --payload '64 B..1448 B:5'"
ONE_METRIC = "--metric goodput_bps"
"""Of Zarr, 196 operations on files instead of 1316: each kind of operation, on 10 arrays instead of 66."""
COMMANDS = {
    "sweep.csv": Command(
        line(f"{QUESTION} -o x.csv"), ("x.csv",), line("sweep --payload '64 B' -o x.csv")
    ),
    "sweep.nc": Command(line(f"{QUESTION} -o x.nc"), ("x.nc",)),
    "sweep.zarr": Command(
        line(f"{QUESTION} {ONE_METRIC} -o x.zarr"),
        ("x.zarr",),
        line(f"sweep --payload '64 B' {ONE_METRIC} -o x.zarr"),
    ),
    "report.html": Command(
        line("evaluate motion-control -o x.html"), ("x.html",), line("evaluate imaging -o x.html")
    ),
    "report.pdf": Command(line("evaluate motion-control -o x.pdf"), ("x.pdf",)),
    "report.xlsx": Command(line("evaluate motion-control -o x.xlsx"), ("x.xlsx",)),
    "report.md": Command(
        line("system lab-direct -o x.md"), ("x.md", "x.svg"), line("system lab-switch -o x.md")
    ),
    "new": Command(line("usecases new camera -o x.toml"), ("x.toml",), once=True),
    "fit": Command(line("fit small-1g"), ("small-1g",), small),
    "seal": Command(line("datasets check small-1g --seal"), ("small-1g",), small),
    "ingest": Command(line(f"ingest {RESULTS / 'local_thr.txt'} -o own"), ("own",)),
    "ingest.again": Command(
        line(f"ingest {RESULTS / 'local_thr.txt'} -o own"),
        ("own",),
        line(f"ingest {RESULTS / 'local_thr_64.txt'} -o own"),
    ),
    "fold": Command(line(f"fold {RECORDS} -o own"), ("own",), once=True),
    "rebuild": Command(line("fold own"), ("own",), line(f"fold {RECORDS} -o own")),
    "calibrate": Command(partial(calibrated, 8.0), ("own",), grows=True),
    "verify": Command(verified, ("own",), grows=True),
}
"""Commands by name; calibrations and verifications of a made-up system."""


def _run(function: Callable[[], object], folder: Path, moment: int, counted: Any) -> None:
    """Run a function in a folder; at its operation number ``moment`` on files, counted from 0, end by SIGKILL."""
    os.chdir(folder)
    os.environ["ICMODEL_CACHE"] = ""
    os.dup2(os.open(SAID, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.dup2(1, 2)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE
        if not writes and event not in CHANGES:
            return
        place = str(arguments[0])
        if place.startswith("/") and not place.startswith(str(folder)):
            return
        if counted.value == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        counted.value += 1

    sys.addaudithook(watch)
    code = function()
    os._exit(code if isinstance(code, int) else 0)


def started(function: Callable[[], object], folder: Path, moment: int = -1) -> tuple[Any, Any]:
    """Start a function in a folder; return its process, and the number of its operations on files so far.

    Hold the number until the process ends: a process that starts can no longer open a released one.
    """
    counted = PROCESSES.Value("i", 0)
    process = PROCESSES.Process(target=_run, args=(function, folder, moment, counted))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # of the first process, which imports
        process.start()
    return process, counted


def run(function: Callable[[], object], folder: Path) -> int:
    """Run a function to its end, which is an answer; return its number of operations on files."""
    process, counted = started(function, folder)
    process.join()
    said = (folder / SAID).read_text(encoding="utf-8", errors="replace")
    assert process.exitcode in DONE, said
    assert "Traceback" not in said
    operations: int = counted.value
    return operations


def content(folder: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """The bytes of files, and of the files of folders, without temporary files."""
    places = [path for name in names for path in ((folder / name), *(folder / name).rglob("*"))]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in places
        if path.is_file() and not path.name.startswith(".")
    }
