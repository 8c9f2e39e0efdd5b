"""Strategies: which turns of the grid are bought for a budget of so many runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from benchmarks.chooser.arena import Arena, Turn
from icmodel.calibrate.choose import Purpose
from icmodel.calibrate.grid import domain
from icmodel.calibrate.planner import Planner
from icmodel.calibrate.run import Record, Run

Strategy = Callable[[Arena, int, int], list[Turn]]
"""From arena, budget in runs and seed to the turns that are bought."""


def chosen(arena: Arena, budget: int, seed: int) -> list[Turn]:
    """As `icmodel calibrate` chooses, after the first round."""
    planner = Planner(arena.settings)
    left = Counter(run for run, _ in arena.turns)
    bought: list[Turn] = []
    records: list[Record] = []
    purpose = Purpose(_domain(arena))
    wanted = [run for run, _ in arena.first]
    while len(bought) < budget and wanted:
        for run in wanted[: budget - len(bought)]:
            if left[run]:
                repeat = sum(1 for one, _ in bought if one == run)
                bought.append((run, repeat))
                records.append(arena.answer(run, repeat))
                left[run] -= 1
        wanted = list(planner.choose(records, [run for run in arena.runs if left[run]], purpose))
    return bought


def _domain(arena: Arena) -> tuple[Run, ...]:
    """Payloads at equal ratios at every load of the grid."""
    if arena.settings.line_rate_bps is not None:
        return domain(arena.settings, arena.settings.line_rate_bps)
    return arena.runs


def at_random(arena: Arena, budget: int, seed: int) -> list[Turn]:
    """By lot, after the same first round."""
    first = list(arena.first)[:budget]
    rest = sorted(set(arena.turns) - set(first))
    order = np.random.default_rng([seed, 11]).permutation(len(rest))
    return [*first, *(rest[index] for index in order[: budget - len(first)])]


def even_grid(arena: Arena, budget: int, seed: int) -> list[Turn]:
    """A coarser grid: every so many payloads of each curve, both ends among them, once each."""
    curves: dict[tuple[str, float], list[Run]] = {}
    for run in arena.runs:
        curves.setdefault((run.protocol, run.load_bps), []).append(run)
    share, spare = divmod(budget, len(curves))
    bought = []
    for index, curve in enumerate(curves.values()):
        count = min(share + (index < spare), len(curve))
        places = np.unique(np.round(np.linspace(0, len(curve) - 1, count)).astype(int))
        bought += [(curve[place], 0) for place in places]
    return bought


STRATEGIES: dict[str, Strategy] = {"chosen": chosen, "random": at_random, "grid": even_grid}
