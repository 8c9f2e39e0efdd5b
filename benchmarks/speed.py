"""All speed benchmarks in one run: ``python -m benchmarks.speed``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.checking import WrongAnswerError
from benchmarks.machine import load_average, machine
from benchmarks.memory import memory
from benchmarks.page import page
from benchmarks.pairs import Document
from benchmarks.start import CommandError, cold_start, installed
from benchmarks.tables import text
from benchmarks.throughput import Sizes, throughput

SECTIONS = ("throughput", "memory", "start", "report")
REPEATS, FEW_REPEATS = 7, 3
"""Repeats of quick benchmarks, and of full runs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print the chosen benchmarks; return 1 if an answer was wrong or a command failed."""
    asked = _parser().parse_args(arguments)
    try:
        document = measure(asked.only or SECTIONS, asked.points, asked.repeats)
    except (WrongAnswerError, CommandError, subprocess.CalledProcessError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    print(json.dumps(document, indent=2) if asked.json else text(document), end="")
    return 0


def measure(sections: Sequence[str], points: int, repeats: int) -> Document:
    """Run some sections, and return the document that ``--json`` prints."""
    document: Document = {"schema_version": 1, "machine": machine()}
    if "memory" in sections:
        document["memory"] = memory((max(points // 10, 1), points), min(repeats, FEW_REPEATS))
    if {"start", "report"} & set(sections):
        with installed() as programs:
            if "start" in sections:
                document["start"] = cold_start(programs, 2 * repeats)
            if "report" in sections:
                document["report"] = page(programs, repeats)
    if "throughput" in sections:
        few = min(repeats, FEW_REPEATS)
        document["throughput"] = throughput(Sizes(points, repeats=repeats, full_repeats=few))
    document["load_average_at_end"] = load_average()
    return document


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument(
        "--points", type=_count, default=10_000_000, help="number of points of the full run"
    )
    parser.add_argument(
        "--repeats", type=_count, default=REPEATS, help="number of interleaved repeats"
    )
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="section; can be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser


def _count(word: str) -> int:
    count = int(word)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{word} is not 1 or more")
    return count


if __name__ == "__main__":
    sys.exit(main())
