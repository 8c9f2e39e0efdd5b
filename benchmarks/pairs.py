"""Paired runs: contestants take turns, and each turn is compared with the others of its round.

On a shared machine the speed of everything drifts; contestants that run one after the other
(A B C A B C ...) drift together, so the ratio of one round holds where seconds do not.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

Document = dict[str, Any]
"""What --json prints: dicts, lists, texts and numbers."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, least and greatest of some repeats."""

    median: float
    least: float
    greatest: float
    repeats: int

    def to_dict(self) -> dict[str, float]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Turn:
    """One timed run: wall and CPU seconds of this process for a number of points."""

    wall_s: float
    cpu_s: float
    points: int = 1


@dataclass(frozen=True, slots=True)
class Contestant:
    """What is timed: a call whose result is thrown away, and how many points it answers."""

    run: Callable[[], object]
    points: int = 1


Rounds = Mapping[str, Sequence[Turn]]
"""The turns of each contestant; the k-th of all belong to one round."""


def spread(values: Sequence[float]) -> Spread:
    """The spread of some values.

    Raises
    ------
    ValueError
        If there are none.
    """
    if not values:
        raise ValueError("no repeats: run at least one")
    return Spread(statistics.median(values), min(values), max(values), len(values))


def interleave(contestants: Mapping[str, Contestant], repeats: int, what: str) -> Rounds:
    """Let the contestants take turns; one round before the first is not counted."""
    rounds: dict[str, list[Turn]] = {name: [] for name in contestants}
    for k in range(repeats + 1):
        say(f"{what}: " + (f"repeat {k} of {repeats}" if k else "warming up"))
        for name, contestant in contestants.items():
            turn = timed(contestant)
            if k:
                rounds[name].append(turn)
    return rounds


def timed(contestant: Contestant) -> Turn:
    """Run once; what it returns is freed before the next begins, but not within the time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = contestant.run()
    turn = Turn(time.perf_counter() - wall, time.process_time() - cpu, contestant.points)
    del result
    return turn


def speed_ratio(rounds: Rounds, ours: str, theirs: str, *, cpu: bool = False) -> Spread:
    """How many times the points per (CPU) second of ``theirs`` are those of ``ours``."""
    pairs = zip(rounds[ours], rounds[theirs], strict=True)
    return spread([_per_point(their, cpu) / _per_point(our, cpu) for our, their in pairs])


def time_ratio(rounds: Rounds, ours: str, theirs: str) -> Spread:
    """How many times as long ``ours`` takes as ``theirs``, a run each."""
    pairs = zip(rounds[ours], rounds[theirs], strict=True)
    return spread([our.wall_s / their.wall_s for our, their in pairs])


def points_per_s(turns: Sequence[Turn]) -> Spread:
    """Points per second of wall time."""
    return spread([1 / _per_point(turn, cpu=False) for turn in turns])


def cpus_used(turns: Sequence[Turn]) -> Spread:
    """CPUs that worked for a run: threads count only where the machine had a CPU left for them."""
    return spread([turn.cpu_s / turn.wall_s for turn in turns])


def seconds(turns: Sequence[Turn]) -> Spread:
    """Wall seconds of a run."""
    return spread([turn.wall_s for turn in turns])


def _per_point(turn: Turn, cpu: bool) -> float:
    return (turn.cpu_s if cpu else turn.wall_s) / turn.points


def say(words: str) -> None:
    """Progress, to standard error."""
    print(words, file=sys.stderr, flush=True)
