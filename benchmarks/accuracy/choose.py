"""Choose the constants of `hybrid` without the dataset that they are scored on.

``python -m benchmarks.accuracy.choose`` prints the constants chosen on all datasets, which are
shipped. For each dataset it prints the constants chosen on all others, by which it is scored
(`benchmarks.accuracy`).

A candidate's prediction of a left-out row does not depend on the constants, which only blend the
candidates. So each metric is fitted once per fold. The predictions of the left-out rows and the
errors at the other rows are kept, and any number of settings is scored from them. (One fit of all
rows does not suffice: a row is part of the errors of its neighbours, by which it would be blended.)

The loss of a setting on a dataset is the mean, over its metrics, of the mean log error and of the
log of the tails (90 and 95 %). All datasets have the same weight. The search varies one constant
after another, from the middle of a coarse grid, until no step gains 2 %. Then the constant that
widens intervals is chosen, so that intervals hold nine in ten rows beside breaks.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.evidence import Beside, Evidence, Evidences, evidences
from benchmarks.pairs import say
from icmodel.dataset import Dataset, catalogue, load
from icmodel.documents import replacing
from icmodel.estimate.statistics import COVERAGE
from icmodel.fits import SHIPPED, Constants
from icmodel.fits.store import seal_of
from icmodel.validate.folds import scored
from icmodel.validate.scores import FAR

Grid = dict[str, tuple[float, ...]]
"""Values to try of each constant."""
BLEND: Grid = {
    "octaves": (0.7, 1.5, 3.0),
    "other_label": (0.1, 0.3, 1.0),
    "other_end": (0.01, 0.05, 1.0),
    "everywhere": (0.02, 0.1, 0.3),
    "root": (0.25, 0.5, 1.0),
    "power": (3.0, 5.0, 10.0),
}
INTERVALS: Grid = {"doubt": (0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0)}
GAIN = 0.02
"""Least gain of a step of the search (2 %); a smaller gain may be chance."""
LEAST_ERROR, LEAST_TAIL = 1e-3, 1e-4
"""Offset added to an error before its logarithm is averaged, and least tail that counts."""
TAILS = (0.9, 0.95)
SEAL = 16
"""Number of characters of a seal in a file name."""
SHARED = 0.1
"""Datasets that share more than this part of their rows count as editions of one dataset."""


Chosen = Callable[[Dataset], Constants]
"""Function from a dataset to its constants."""
Loss = Callable[[Constants, str], float]
"""Function from a setting and a dataset's name to the loss."""


def loss_of_points(gathered: Mapping[str, Evidences]) -> Loss:
    """Return the loss function of the blend, with cached values."""

    @cache
    def loss(constants: Constants, name: str) -> float:
        return float(np.mean([_loss(ones, constants) for ones in gathered[name].points.values()]))

    return loss


def _loss(ones: Sequence[Evidence], constants: Constants) -> float:
    errors = np.concatenate([one.off(constants) for one in ones])
    known = errors[~np.isnan(errors)]
    tails = np.log(np.maximum(np.quantile(known, TAILS), LEAST_TAIL))
    return float((np.log(known + LEAST_ERROR).mean() + tails.mean()) / 2)


def loss_of_intervals(gathered: Mapping[str, Evidences]) -> Loss:
    """Return the loss function of intervals, with cached values.

    The loss is the difference between the coverage beside breaks and its target; 0 without breaks.
    """

    @cache
    def loss(constants: Constants, name: str) -> float:
        inside, _, n = held(gathered[name].breaks, constants)
        return abs(inside / n - COVERAGE) if n else 0.0

    return loss


def chosen(
    loss: Loss, names: Sequence[str], grid: Grid, start: Constants, gain: float = 0.0
) -> Constants:
    """Find the setting with the least mean loss over some datasets, one constant after another.

    A step that gains less than ``gain`` is not taken.
    """

    def mean(constants: Constants) -> float:
        return float(np.mean([loss(constants, name) for name in names]))

    best = start
    while True:
        before = best
        for constant, values in grid.items():
            found = min((replace(best, **{constant: value}) for value in values), key=mean)
            if mean(found) < mean(best) - gain:
                best = found
        if best == before:
            return best


def middle(grid: Grid) -> Constants:
    """Return the start of a search: the middle of the values to try of each constant."""
    return replace(SHIPPED, **{name: values[len(values) // 2] for name, values in grid.items()})


@dataclass(frozen=True, slots=True)
class Choice:
    """Constants chosen on all datasets, and those chosen without each dataset and its editions.

    ``beside`` counts, for each dataset, rows beside breaks under the latter constants: rows inside
    their intervals, rows beyond three half-widths, and all rows.
    """

    every: Constants
    without: Mapping[str, Constants]
    beside: Mapping[str, tuple[int, int, int]]

    def unseen(self, data: Dataset) -> Constants:
        """Return the constants chosen without a dataset; those chosen on all if it took no part."""
        return self.without.get(data.id, self.every)


def choose(names: Sequence[str], folder: Path | None = None) -> Choice:
    """Choose constants on some datasets; ``folder`` caches the evidence of each and the choice."""
    datasets = {one.id: one for one in map(load, names)}
    seals = [f"{name}-{seal_of(one)[:SEAL]}" for name, one in datasets.items()]
    together = hashlib.sha256(" ".join(seals).encode()).hexdigest()[:SEAL]

    def of_all() -> Choice:
        gathered = {}
        for (name, one), seal in zip(datasets.items(), seals, strict=True):
            if (found := _kept(folder, seal, partial(_gathered, one))).points:
                gathered[name] = found
        return _chosen_by(datasets, gathered)

    choice: Choice = _kept(folder, f"choice-{together}", of_all)
    return choice


def _gathered(data: Dataset) -> Evidences:
    say(f"{data.id}: evidence to choose constants by")
    return evidences(data)


def _chosen_by(datasets: Mapping[str, Dataset], gathered: Mapping[str, Evidences]) -> Choice:
    """Choose the blend by leave-one-out folds, then the intervals by folds at breaks."""
    points, intervals = loss_of_points(gathered), loss_of_intervals(gathered)

    def best(known: Sequence[str]) -> Constants:
        start = middle(BLEND | INTERVALS)
        blend_ = chosen(points, known, BLEND, start, GAIN) if known else start
        return chosen(intervals, known, INTERVALS, blend_) if known else start

    without = {
        name: best([other for other in gathered if not _related(datasets[name], datasets[other])])
        for name in gathered
    }
    beside = {name: held(gathered[name].breaks, one) for name, one in without.items()}
    return Choice(best(list(gathered)), without, beside)


def _kept(folder: Path | None, name: str, make: Callable[[], Any]) -> Any:
    """Load a value from its file in ``folder``; make and store it if there is no file."""
    if folder is None:
        return make()
    path = folder / f"{name}.pickle"
    if path.is_file():
        return pickle.loads(path.read_bytes())
    found = make()
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(path) as beside:
        beside.write_bytes(pickle.dumps(found))
    return found


def held(breaks: Sequence[Beside], constants: Constants) -> tuple[int, int, int]:
    """Count rows beside breaks: inside their intervals, far outside, and all."""
    found = [one.off_and_half(constants) for one in breaks]
    off, half = np.concatenate([np.empty((2, 0)), *(np.stack(one) for one in found)], axis=1)
    known = np.isfinite(off)
    return int((off <= half)[known].sum()), int((off > FAR * half)[known].sum()), int(known.sum())


class Unseen:
    """Constants for a dataset, chosen on first use without the dataset and its editions."""

    def __init__(self, folder: Path | None) -> None:
        self._choice = lru_cache(maxsize=1)(partial(choose, tuple(catalogue()), folder))

    def __call__(self, data: Dataset) -> Constants:
        """Return the constants for a dataset; the shipped ones if it is not bundled."""
        return self._choice().unseen(data) if data.id in catalogue() else SHIPPED


def _related(one: Dataset, other: Dataset) -> bool:
    """Whether two datasets are the same, or editions that share rows."""
    rows = [{(p.metric, p.payload_bytes, p.value) for p in scored(data)} for data in (one, other)]
    return len(rows[0] & rows[1]) > SHARED * min(map(len, rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Choose and print the constants, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy.choose", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "--only", action="append", metavar="DATASET", help="dataset; can be repeated"
    )
    parser.add_argument("--evidence", type=Path, help="folder that stores the evidence")
    asked = parser.parse_args(arguments)
    sys.stdout.write(text(choose(asked.only or catalogue(), asked.evidence)))
    return 0


def text(choice: Choice) -> str:
    """Return a table of constants: chosen on all datasets, shipped, and chosen without each."""
    names = [one.name for one in fields(Constants)]
    rows = {"on all": choice.every, "ships": SHIPPED}
    rows |= {f"without {name}": one for name, one in choice.without.items()}
    lines = [f"{'chosen':<36}" + "".join(f"{name:>14}" for name in names)]
    lines += [
        f"{title:<36}" + "".join(f"{getattr(one, name):>14g}" for name in names)
        for title, one in rows.items()
    ]
    lines += ["", f"{'rows beside breaks':<36}{'rows':>14}{'covered':>14}{'far out':>14}"]
    total = tuple(map(sum, zip(*choice.beside.values(), strict=True)))
    for name, (inside, far, n) in {**choice.beside, "all": total}.items():
        if n:
            lines.append(f"{name:<36}{n:>14}{100 * inside / n:>12.1f} %{100 * far / n:>12.1f} %")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    # Imported by name, so that pickles name this module instead of __main__.
    from benchmarks.accuracy import choose as module

    raise SystemExit(module.main())
