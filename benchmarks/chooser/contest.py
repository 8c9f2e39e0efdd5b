"""Contest: error of each strategy with the same budget, over the error of the full grid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from benchmarks.chooser.arena import Arena, Turn
from benchmarks.chooser.strategies import STRATEGIES
from icmodel.calibrate.runs import Run
from icmodel.calibrate.settings import METRICS
from icmodel.calibrate.state import table
from icmodel.dataset.rows import RATIOS
from icmodel.model import Model
from icmodel.solve import REFUSALS

QUARTER = 0.25
MOST_ERROR = 1.0
"""Greatest error that counts (100 %), also for a refused question."""
LEAST_ERROR = 1e-4
"""Least error that counts, since ratios of rounding errors mean nothing."""

Errors = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StrategyScore:
    """Result of one strategy on one arena: bought runs, and the mean error of each metric."""

    strategy: str
    share: float
    runs: int
    errors: Errors
    ratio: float


def contest(arena: Arena, seed: int, shares: Sequence[float] = (QUARTER,)) -> list[StrategyScore]:
    """Score every strategy at every share of the full grid's runs, and the full grid itself."""
    whole = errors(arena, arena.turns)
    found = [StrategyScore("full grid", 1.0, len(arena.turns), whole, 1.0)]
    for share in shares:
        budget = round(share * len(arena.turns))
        for name, strategy in STRATEGIES.items():
            bought = strategy(arena, budget, seed)
            mine = errors(arena, bought)
            found.append(StrategyScore(name, share, len(bought), mine, ratio(mine, whole)))
    return found


def errors(arena: Arena, turns: Iterable[Turn]) -> dict[str, float]:
    """Return the mean error, by metric, of a model of some turns at the arena's questions."""
    data = table([_named(arena, run, repeat) for run, repeat in turns], arena.settings)
    model = Model(data, arena.settings.aim.variant)
    found: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for run, truth in arena.questions:
        for metric, error in _at(model, run, truth).items():
            found[metric].append(error)
    return {metric: max(fmean(some), LEAST_ERROR) for metric, some in found.items() if some}


def _named(arena: Arena, run: Run, repeat: int) -> Mapping[str, object]:
    """Return a record without its ``plan``, since here the strategy is the plan."""
    record = arena.answer(run, repeat)
    return {key: value for key, value in record.items() if key != "plan"}


def _at(model: Model, run: Run, truth: Mapping[str, float]) -> dict[str, float]:
    rate = None if run.unlimited else run.load_bps / 8 / run.payload_bytes
    wanted = [metric for metric in METRICS if metric in truth]
    try:
        predicted = model.predict(
            protocol=run.protocol,
            payload_bytes=run.payload_bytes,
            rate_fps=rate,
            cores=run.cores,
            outside="extrapolate",
            metrics=[metric for metric in METRICS if metric in model.data.metrics],
        ).metrics
    except REFUSALS:
        return dict.fromkeys(wanted, MOST_ERROR)
    return {metric: _error(metric, predicted[metric].value, truth[metric]) for metric in wanted}


def _error(metric: str, value: float, truth: float) -> float:
    if math.isnan(value):
        return MOST_ERROR
    difference = abs(value - truth)
    return min(difference if metric in RATIOS else difference / truth, MOST_ERROR)


def ratio(mine: Errors, whole: Errors) -> float:
    """Return the geometric mean, over the metrics, of the ratio of two errors."""
    return math.exp(fmean(math.log(mine[name] / whole[name]) for name in whole))


def spread(ratios: Sequence[float]) -> dict[str, float]:
    """Return median and quartiles over the seeds, and how many seeds reach the full grid."""
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    reached = sum(one <= 1.0 for one in ratios)
    return {
        "median": float(middle),
        "p25": float(low),
        "p75": float(high),
        "n": len(ratios),
        "reached": reached,
    }
