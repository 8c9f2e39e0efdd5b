"""The command ``python -m benchmarks.fuzzing [TARGET...] --minutes N``.

A fault is an error that icmodel does not raise itself, a numeric warning, excessive time or memory
for an input, or a crash of the process. Each fault is stored with its shortest input in
``.cache/fuzzing/TARGET/faults``. Fuzzing then continues.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.fuzzing.mutation import SEPARATOR
from benchmarks.fuzzing.session import COUNTS, FOLDER, opened_counts
from benchmarks.fuzzing.targets import TARGETS, place


def run(name: str, seconds: float, *, blind: bool) -> str:
    """Fuzz a target for some time, and return a line with the result.

    A new process starts after each crash.
    """
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    before = COUNTS.unpack_from(opened_counts(folder))
    with (folder / "log").open("ab") as log:
        while (left_s := seconds - (time.monotonic() - began)) > 1:
            command = [sys.executable, "-m", "benchmarks.fuzzing.session", name, f"{left_s:.0f}"]
            done = subprocess.run(
                [*command, *["blind"] * blind], stdout=log, stderr=log, check=False
            )
            if done.returncode < 0:
                shutil.copy(folder / "last", folder / "faults" / f"signal-{-done.returncode}")
    after = COUNTS.unpack_from(opened_counts(folder))
    executed, refused, spent_s = (new - old for new, old in zip(after, before, strict=True))
    faults = sorted(one.name for one in (folder / "faults").iterdir() if one.suffix != ".txt")
    return (
        f"{name}: {(time.monotonic() - began) / 60:.1f} min, {spent_s / 60:.1f} min of CPU, {executed} executions, "
        f"{refused} refused, {len(faults)} faults {' '.join(faults)}".rstrip()
    )


def repeat(name: str, path: Path) -> None:
    """Run a target on one stored input, without the fuzzer."""
    own = place()
    try:
        TARGETS[name].ask(path.read_bytes().split(SEPARATOR), own)
    finally:
        shutil.rmtree(own)


def main() -> None:
    """Parse the command line, and fuzz the targets one after another."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzzing", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"targets, by default all: {', '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=1.0, help="time of each target")
    parser.add_argument("--blind", action="store_true", help="mutate without atheris and coverage")
    parser.add_argument(
        "--repeat", type=Path, metavar="FILE", help="run a target once, with this input"
    )
    words = parser.parse_args()
    if words.repeat:
        repeat(words.target[0], words.repeat)
        return
    for name in words.target or TARGETS:
        print(run(name, 60 * words.minutes, blind=words.blind), flush=True)


if __name__ == "__main__":
    main()
