"""Cold start: time of a command of the installed wheel, against importing numpy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.pairs import Document, TimedCall, interleave, say, seconds, time_ratio

ROOT = Path(__file__).resolve().parent.parent
BUILT_FROM = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "MANIFEST.in",
    "icmodel",
    "data",
    "usecases",
)
PREDICT = ("predict", "--protocol", "tcp", "--payload", "1448 B")
LAB = (*PREDICT, "--dataset", "lab-1g-2026")
TARGETS = ((PREDICT, 2.5), (LAB, 4.0))
"""Commands, and targets of their cold start over that of ``python -c "import numpy"``."""
RIVALS = ("import numpy", "python")


class CommandError(RuntimeError):
    """A command to be timed failed, or did something else."""


@contextmanager
def installed() -> Iterator[Path]:
    """Install the wheel with its requirements and bytecode in a temporary environment.

    Yields the folder of the programs.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        say("building the wheel and installing it into a new environment")
        built = wheel(folder)
        venv.create(folder / "venv", with_pip=False)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        constraints = ("--constraint", ROOT / "constraints.txt")
        _pip(folder, "--python", programs / "python", "install", "--compile", *constraints, built)
        yield programs


def wheel(folder: Path) -> Path:
    """Build the wheel in ``folder`` from a copy of the sources, since building changes them."""
    source = folder / "source"
    source.mkdir()
    for name in BUILT_FROM:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(path, source / name)
    alone = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    _pip(folder, "wheel", *alone, source)
    return next(folder.glob("*.whl"))


def _pip(folder: Path, *words: str | Path) -> None:
    quiet = ("--disable-pip-version-check", "--quiet")
    run((sys.executable, "-m", "pip", *quiet, *words), folder, (0,))


def environment() -> dict[str, str]:
    """Return the environment without variables that change how Python starts."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }


def run(command: Sequence[str | Path], folder: Path, codes: Sequence[int]) -> str:
    """Run a command and return its output.

    Raises
    ------
    CommandError
        If its exit code is not in ``codes``.
    """
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in codes:
        told = done.stderr.strip() or done.stdout.strip()
        raise CommandError(f"{' '.join(map(str, command))}: exit {done.returncode}: {told}")
    return done.stdout


def cold_start(programs: Path, repeats: int) -> Document:
    """Time ``icmodel predict`` against ``import numpy`` and against Python alone, interleaved.

    Raises
    ------
    CommandError
        If a command fails, or the package was installed without bytecode.
    """
    with TemporaryDirectory() as name:
        elsewhere = Path(name)
        ours = {" ".join(("icmodel", *words)): words for words, _ in TARGETS}
        commands: dict[str, Sequence[str | Path]] = {
            **{name: (programs / "icmodel", *words) for name, words in ours.items()},
            "import numpy": (programs / "python", "-c", "import numpy"),
            "python": (programs / "python", "-c", "pass"),
        }
        for name in ours:
            printed = run(commands[name], elsewhere, (0,))
            if "b/s" not in printed:
                raise CommandError(f"{name} printed no goodput: {printed}")
        _expect_bytecode(programs, elsewhere)
        rounds = interleave(
            {n: TimedCall(partial(run, c, elsewhere, (0,))) for n, c in commands.items()},
            repeats,
            "cold start",
        )
    return {
        "targets": {name: target for name, (_, target) in zip(ours, TARGETS, strict=True)},
        "ratios": {
            name: {rival: time_ratio(rounds, name, rival).to_dict() for rival in RIVALS}
            for name in ours
        },
        "seconds": {name: seconds(turns).to_dict() for name, turns in rounds.items()},
    }


def _expect_bytecode(programs: Path, elsewhere: Path) -> None:
    where = "import icmodel.model as m; print(m.__file__, m.__cached__)"
    file, cached = run((programs / "python", "-c", where), elsewhere, (0,)).split()
    if Path(file).is_relative_to(ROOT) or not Path(cached).exists():
        raise CommandError(f"{file} is not an installed copy with bytecode, which is to be timed")
