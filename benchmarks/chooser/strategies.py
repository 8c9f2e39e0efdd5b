"""Strategies that choose the turns of the grid to buy for a budget of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np

from benchmarks.chooser.arena import Arena, Turn
from icmodel.calibrate.choose import Purpose
from icmodel.calibrate.planner import Planner
from icmodel.calibrate.runs import Record, Run, domain

BATCH = 16
"""Number of runs chosen at a time, each as if the runs before it had been measured."""

Strategy = Callable[[Arena, int, int], list[Turn]]
"""Function from arena, budget in runs and seed to the bought turns."""


def chosen(arena: Arena, budget: int, seed: int) -> list[Turn]:
    """Choose like `icmodel calibrate`: its opening, then run by run the most useful one."""
    sampling = replace(arena.settings.sampling, batch=BATCH)
    planner = Planner(replace(arena.settings, sampling=sampling))
    repeats = Counter(run for run, _ in arena.turns)
    bought: list[Turn] = []
    records: list[Record] = []
    purpose = Purpose(domain(arena.runs))
    for step in count(1):
        done = Counter(run for run, _ in bought)
        grid = [run for run in arena.runs if done[run] < repeats[run]]
        wanted = planner.opening(step, records, grid) * (
            arena.settings.sampling.repeats if step == 1 else 1
        )
        wanted = wanted or list(planner.choose(records, grid, purpose))
        for run in wanted[: budget - len(bought)]:
            repeat = sum(1 for one, _ in bought if one == run)
            if repeat < repeats.get(run, arena.beside):
                bought.append((run, repeat))
                records.append(arena.answer(run, repeat))
        if len(bought) == budget or not wanted:
            break
    return bought


def at_random(arena: Arena, budget: int, seed: int) -> list[Turn]:
    """Choose at random, after the same first round."""
    first = list(arena.first)[:budget]
    rest = sorted(set(arena.turns) - set(first))
    order = np.random.default_rng([seed, 11]).permutation(len(rest))
    return [*first, *(rest[index] for index in order[: budget - len(first)])]


def even_grid(arena: Arena, budget: int, seed: int) -> list[Turn]:
    """Choose a coarser grid: evenly spaced payloads of each curve with both ends, once each."""
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
