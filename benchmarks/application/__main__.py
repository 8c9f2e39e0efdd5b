"""Command line: ``python -m benchmarks.application`` predicts the committed runs, or measures anew."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.application.measure import HISTOGRAM_DIGITS, calm_records, measure
from benchmarks.application.predicted import DATASET, record, text
from benchmarks.probe_lab import ToolError, find_icprobe

HERE = Path(__file__).resolve().parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure if asked, predict, print, and return the exit code."""
    asked = _parser().parse_args(arguments)
    folder = asked.folder or HERE
    try:
        if asked.folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            whole = measure(find_icprobe(asked.icprobe), folder, asked.within)
            sys.stderr.write("" if whole else "runs are missing: the same command goes on\n")
            _fold(folder)
        sys.stdout.write(text(*record(folder)))
    except ToolError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _fold(folder: Path) -> None:
    """Make a dataset of icprobe's undisturbed runs."""
    words: list[str | Path] = [
        sys.executable,
        "-m",
        "icmodel",
        "fold",
        calm_records(folder),
        "-o",
        folder / DATASET,
    ]
    words += ["--line-rate", "1 Gb/s", "--variant", "hybrid", "--tolerate", "busy-host"]
    words += ["--histogram-digits", str(HISTOGRAM_DIGITS)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"icmodel fold: {done.stderr.strip()}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.application", description=__doc__, allow_abbrev=False
    )
    parser.add_argument(
        "--measure",
        dest="folder",
        type=Path,
        help="measure into this folder, or continue there; needs root",
    )
    parser.add_argument(
        "--within", type=float, default=240.0, metavar="S", help="time to measure in seconds [240]"
    )
    parser.add_argument("--icprobe", type=Path, help="icprobe binary, if it is not built here")
    return parser


if __name__ == "__main__":
    sys.exit(main())
