"""Paired runs: calls take turns, and each turn is compared with the others of its round.

The speed of a shared machine drifts. Calls that alternate (A B C A B C ...) drift together,
so the ratio within a round is reliable, unlike seconds.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

Document = dict[str, Any]
"""Document that ``--json`` prints: dicts, lists, texts and numbers."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, least and greatest of some repeats."""

    median: float
    least: float
    greatest: float
    repeats: int

    def to_dict(self) -> dict[str, float]:
        """Return the spread for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Turn:
    """One timed run: wall and CPU seconds of this process for a number of points."""

    wall_s: float
    cpu_s: float
    points: int = 1


@dataclass(frozen=True, slots=True)
class TimedCall:
    """Timed call, whose result is discarded, and the number of points that it answers."""

    run: Callable[[], object]
    points: int = 1


Rounds = Mapping[str, Sequence[Turn]]
"""Turns of each call; the k-th turns of all calls are one round."""


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of some values.

    Raises
    ------
    ValueError
        If there are no values.
    """
    if not values:
        raise ValueError("no repeats: run at least one")
    return Spread(statistics.median(values), min(values), max(values), len(values))


def interleave(calls: Mapping[str, TimedCall], repeats: int, what: str) -> Rounds:
    """Run the calls in turn; one warm-up round is not counted."""
    rounds: dict[str, list[Turn]] = {name: [] for name in calls}
    for k in range(repeats + 1):
        say(f"{what}: " + (f"repeat {k} of {repeats}" if k else "warming up"))
        for name, call in calls.items():
            turn = timed(call)
            if k:
                rounds[name].append(turn)
    return rounds


def timed(call: TimedCall) -> Turn:
    """Time one run; its result is freed before the next run, but outside the measured time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call.run()
    turn = Turn(time.perf_counter() - wall, time.process_time() - cpu, call.points)
    del result
    return turn


def speed_ratio(rounds: Rounds, ours: str, theirs: str, *, cpu: bool = False) -> Spread:
    """Return points per (CPU) second of ``ours`` over those of ``theirs``, in each round."""
    pairs = zip(rounds[ours], rounds[theirs], strict=True)
    return spread([_per_point(their, cpu) / _per_point(our, cpu) for our, their in pairs])


def time_ratio(rounds: Rounds, ours: str, theirs: str) -> Spread:
    """Return the wall time of a run of ``ours`` over that of ``theirs``, in each round."""
    pairs = zip(rounds[ours], rounds[theirs], strict=True)
    return spread([our.wall_s / their.wall_s for our, their in pairs])


def points_per_s(turns: Sequence[Turn]) -> Spread:
    """Return points per second of wall time."""
    return spread([1 / _per_point(turn, cpu=False) for turn in turns])


def cpus_used(turns: Sequence[Turn]) -> Spread:
    """Return CPU time over wall time: threads count only if the machine had a CPU for them."""
    return spread([turn.cpu_s / turn.wall_s for turn in turns])


def seconds(turns: Sequence[Turn]) -> Spread:
    """Return the wall seconds of a run."""
    return spread([turn.wall_s for turn in turns])


def _per_point(turn: Turn, cpu: bool) -> float:
    return (turn.cpu_s if cpu else turn.wall_s) / turn.points


def say(words: str) -> None:
    """Print progress on standard error."""
    print(words, file=sys.stderr, flush=True)
