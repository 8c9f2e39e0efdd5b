"""Command line: ``python -m benchmarks.accuracy`` prints a table, ``--json`` a document."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.accuracy.choose import Chosen, Unseen
from benchmarks.accuracy.curves import (
    akima,
    hockney,
    interpolated,
    linear,
    pchip,
    simgrid_factors,
)
from benchmarks.accuracy.extra_p import extra_p
from benchmarks.accuracy.learners import boosting, gaussian_process
from benchmarks.accuracy.made_up import family
from benchmarks.accuracy.models import shipped, variant
from benchmarks.accuracy.predictor import Predictor
from benchmarks.accuracy.race import document, race_together
from benchmarks.accuracy.table import OURS, text
from benchmarks.journal import Journal
from benchmarks.pairs import say
from benchmarks.start import CommandError
from icmodel.dataset import Dataset, catalogue, load
from icmodel.errors import ClusterError
from icmodel.validate.validation import KINDS, LEAVE_ONE
from icmodel.workers import connect

EXTRA_P = "extra-p"
PREDICTORS: Mapping[str, Predictor] = {
    "appendix-h": variant("appendix-h"),
    "corrected": variant("corrected"),
    OURS: variant(OURS),
    "linear": interpolated(linear),
    "pchip": interpolated(pchip),
    "akima": interpolated(akima),
    "gaussian-process": gaussian_process,
    "boosting": boosting,
    "hockney": hockney,
    "simgrid-factors": simgrid_factors,
}
NAMES = (*PREDICTORS, EXTRA_P)
MOST = 400
"""Default maximum number of folds of a dataset, drawn evenly by a fixed seed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print a race, and return the exit code."""
    asked = _parser().parse_args(arguments)
    names = asked.predictor or list(NAMES)
    journal = Journal(asked.journal)
    constants = shipped if asked.shipped else Unseen(asked.evidence)
    entries = _entries(asked.only, made_up=asked.made_up)
    try:
        with ExitStack() as stack:
            client = stack.enter_context(connect(asked.cluster)) if asked.cluster else None
            predictors = stack.enter_context(chosen_predictors(names, constants))
            found = [
                race_together(
                    name, datasets, predictors,
                    kind=asked.folds, most=asked.most, say=say, journal=journal,
                    workers=asked.workers, client=client,
                )
                for name, datasets in entries.items()
            ]  # fmt: skip
    except ClusterError as error:
        raise SystemExit(str(error)) from error
    told = json.dumps(document(found), indent=2) + "\n" if asked.json else text(found, asked.folds)
    sys.stdout.write(told)
    return 0


def _entries(only: Sequence[str] | None, *, made_up: bool) -> dict[str, list[Dataset]]:
    """Return the datasets of the race, by name."""
    if made_up:
        return {name: one for name, one in family().items() if only is None or name in only}
    return {one.id: [one] for one in map(load, only or catalogue())}


@contextmanager
def chosen_predictors(names: Sequence[str], constants: Chosen) -> Iterator[dict[str, Predictor]]:
    """Yield the named predictors in that order; Extra-P only if it can be installed."""
    with ExitStack() as stack:
        found = {}
        for name in names:
            if name != EXTRA_P:
                found[name] = PREDICTORS[name] if name != OURS else variant(OURS, constants)
                continue
            try:
                found[name] = stack.enter_context(extra_p())
            except CommandError as error:
                say(f"{EXTRA_P} is left out: {str(error).splitlines()[0]}")
        yield found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument(
        "--only",
        action="append",
        metavar="DATASET",
        help="name or path of a dataset; can be repeated",
    )
    parser.add_argument(
        "--made-up", action="store_true", help="use the synthetic datasets, which chose no constant"
    )
    parser.add_argument(
        "--evidence",
        type=Path,
        help="folder that stores the evidence for the constants; stored evidence is used again",
    )
    parser.add_argument(
        "--shipped",
        action="store_true",
        help="score hybrid with the shipped constants, which were chosen on every dataset",
    )
    parser.add_argument(
        "--predictor", action="append", choices=NAMES, help="predictor to score; can be repeated"
    )
    parser.add_argument(
        "--folds", choices=KINDS, default=LEAVE_ONE, help="kind of folds (%(default)s)"
    )
    parser.add_argument(
        "--most", type=int, default=MOST, help="maximum number of folds of a dataset (%(default)s)"
    )
    parser.add_argument(
        "--journal",
        type=Path,
        help="file that stores the scores of each predictor; stored scores are used again",
    )
    shared = parser.add_mutually_exclusive_group()
    shared.add_argument("--workers", type=int, metavar="N", help="processes that answer the folds")
    shared.add_argument(
        "--cluster", metavar="ADDRESS", help="a Dask scheduler whose workers answer the folds"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
