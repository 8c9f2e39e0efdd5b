"""Choose the constants of `hybrid` without having seen what they are scored on.

``python -m benchmarks.accuracy.choose`` prints the constants chosen on all datasets, which are what ships, and
of each dataset those chosen on all others, by which it is scored (`benchmarks.accuracy`).

What a candidate of a fit answers at a row that is left out does not depend on the constants: they only say how
the candidates are blended and how wide an interval is.  So each metric of a dataset is fitted once, on all
rows, the errors of leaving out each row are kept, and any number of settings is scored from them.  The loss of
a setting on a dataset is the mean, over its metrics, of log median and log 95th percentile of the errors of
its blend; datasets count alike.  The search goes along one constant after another until none gains.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, lru_cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.accuracy.predictor import Floats
from benchmarks.journal import Journal
from benchmarks.pairs import say
from icmodel.dataset import Dataset, catalogue, load
from icmodel.fits.blend import blend
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.fits.distances import Distances
from icmodel.fits.fits import Fits
from icmodel.fits.observations import observations
from icmodel.fits.quantity import DIRECT
from icmodel.repeats import ABSOLUTE, kind
from icmodel.tables.wire import frames_on_wire
from icmodel.validate.folds import LEAST_ROWS, counts, scored, training

GRID: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "octaves": (0.7, 1.0, 1.5, 2.0, 3.0, 5.0),
        "other_label": (0.1, 0.2, 0.3, 0.5, 0.7, 1.0),
        "other_end": (0.01, 0.03, 0.1, 0.3, 1.0),
        "everywhere": (0.0, 0.02, 0.05, 0.1, 0.2, 0.4),
        "root": (0.25, 0.5, 0.75, 1.0),
        "power": (3.0, 4.0, 5.0, 7.0, 10.0),
    }
)
"""What is tried of each constant."""
LEAST_ERROR = 1e-4
"""Errors below this count alike: 0.01 % is exact for whoever asks."""
TAIL = 0.95
SHARED = 0.1
"""Datasets that share more than this part of their rows are editions of one: who saw one saw both."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one fit of a metric knows of its rows when each is left out.

    ``errors`` (candidates, rows) are in log time; ``scales`` what a relative change of the value at each
    row is in the kind of its errors, ``sign`` how a longer time changes the value.
    """

    apart: Distances
    errors: Floats
    scales: Floats
    sign: int

    def of(self, constants: Constants) -> Floats:
        """The errors of the blend at each row, as the benchmark counts them."""
        off = blend(self.apart, self.errors, constants).errors
        return np.asarray(self.scales * np.abs(np.expm1(-self.sign * off)))


def evidence(data: Dataset) -> list[Evidence]:
    """That of each metric with enough rows."""
    known = training(data)
    fits = Fits(known, partial(frames_on_wire, known))
    metrics = [metric for metric, n in counts(scored(data)).items() if n >= LEAST_ROWS]
    return [one for metric in metrics if (one := _evidence(fits, metric)) is not None]


def _evidence(fits: Fits, metric: str) -> Evidence | None:
    fitted = fits.of(metric)
    observed = observations(fits.data, metric, fits.carrier)
    if fitted is None or observed is None:
        return None
    size = observed.values + fitted.quantity.shift
    scales = (
        size
        if kind(metric) == ABSOLUTE
        else size / np.where(observed.values, observed.values, np.nan)
    )
    known = fitted.fit.known
    sign = 1 if fitted.quantity.kind == DIRECT else -1
    return Evidence(known.distances(known.sites), fitted.fit.blend.candidates, scales, sign)


Chosen = Callable[[Dataset], Constants]
"""The constants for a dataset."""
Loss = Callable[[Constants, str], float]
"""Of a setting on a dataset."""


def losses(evidences: Mapping[str, Sequence[Evidence]]) -> Loss:
    """The loss of settings on datasets, each worked out once."""

    @cache
    def loss(constants: Constants, name: str) -> float:
        return float(np.mean([_loss(one.of(constants)) for one in evidences[name]]))

    return loss


def _loss(errors: Floats) -> float:
    known = errors[~np.isnan(errors)]
    return float(np.log(np.maximum(np.quantile(known, [0.5, TAIL]), LEAST_ERROR)).mean())


def chosen(loss: Loss, names: Sequence[str]) -> Constants:
    """The setting with the least mean loss over some datasets, from the middle of the grid."""

    def mean(constants: Constants) -> float:
        return float(np.mean([loss(constants, name) for name in names]))

    best = Constants(**{constant: values[len(values) // 2] for constant, values in GRID.items()})
    while True:
        before = mean(best)
        for constant, values in GRID.items():
            best = min((best, *(replace(best, **{constant: value}) for value in values)), key=mean)
        if mean(best) == before:
            return best


@dataclass(frozen=True, slots=True)
class Choice:
    """The constants chosen on all datasets, and those chosen without each and what shares its rows."""

    every: Constants
    without: Mapping[str, Constants]

    def unseen(self, data: Dataset) -> Constants:
        """Constants that did not see a dataset: of one that chose nothing, those chosen on all."""
        return self.without.get(data.id, self.every)


def choose(names: Sequence[str], journal: Journal) -> Choice:
    """Choose on some datasets; what a journal has is not worked out again."""
    datasets = [load(name) for name in names]
    key = ["constants", [one.sha256 for one in datasets]]
    known = journal.known(key)
    if isinstance(known, dict):
        return Choice(*_read(known))
    evidences = {}
    for one in datasets:
        say(f"{one.id}: one fit a metric, to choose constants by")
        if found := evidence(one):
            evidences[one.id] = found
    loss, by_id = losses(evidences), {one.id: one for one in datasets}
    every = chosen(loss, list(evidences))
    without = {}
    for name in evidences:
        others = [other for other in evidences if not _related(by_id[name], by_id[other])]
        without[name] = chosen(loss, others)
    journal.keep(
        key, {"every": asdict(every), "without": {k: asdict(v) for k, v in without.items()}}
    )
    return Choice(every, without)


class Unseen:
    """The constants for a dataset by those that share no row with it; chosen when first asked for."""

    def __init__(self, journal: Journal) -> None:
        self._choice = lru_cache(maxsize=1)(partial(choose, tuple(catalogue()), journal))

    def __call__(self, data: Dataset) -> Constants:
        """Of a dataset that chose nothing those that ship."""
        return self._choice().unseen(data) if data.id in catalogue() else SHIPPED


def _read(known: Mapping[str, Any]) -> tuple[Constants, dict[str, Constants]]:
    without = {name: Constants(**one) for name, one in known["without"].items()}
    return Constants(**known["every"]), without


def _related(one: Dataset, other: Dataset) -> bool:
    """Whether two datasets are one, or editions that share rows."""
    rows = [{(p.metric, p.payload_bytes, p.value) for p in scored(data)} for data in (one, other)]
    return len(rows[0] & rows[1]) > SHARED * min(map(len, rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Choose, print, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy.choose", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--only", action="append", metavar="DATASET", help="can be repeated")
    asked = parser.parse_args(arguments)
    sys.stdout.write(text(choose(asked.only or catalogue(), Journal(None))))
    return 0


def text(choice: Choice) -> str:
    """The constants as a table: chosen on all, what ships, and chosen without each."""
    names = [one.name for one in fields(Constants)]
    rows = {"on all": choice.every, "ships": SHIPPED}
    rows |= {f"without {name}": one for name, one in choice.without.items()}
    lines = [f"{'chosen':<36}" + "".join(f"{name:>14}" for name in names)]
    lines += [
        f"{title:<36}" + "".join(f"{getattr(one, name):>14g}" for name in names)
        for title, one in rows.items()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
