"""Rounds in which tools alternate, and the ratio of the judged tool to its best rival."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from benchmarks.pairs import Document, say, spread
from benchmarks.probe_others import Watch

TRIAL_ROUNDS = 5
"""Number of rounds after which hopeless rivals no longer take part."""
HOPELESS = 0.85
"""Least ratio to the best rival's median with which a rival can still become the best."""
CALM_CORES = 0.05
"""Greatest CPU use by other processes in a calm round [cores]."""
MORE_ROUNDS = 0.5
"""Maximum number of extra rounds in place of disturbed ones, over the requested rounds."""
CONFIDENCE = 0.95

Result = TypeVar("Result")
"""Result of one run of a tool."""


@dataclass(frozen=True, slots=True)
class ToolRun(Generic[Result]):
    """Tool with its question: one run, and its preparation while another tool runs."""

    ask: Callable[[], Result]
    prepare: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Round(Generic[Result]):
    """Results of all tools in one round, and cores that other processes used meanwhile."""

    results: Mapping[str, Result]
    others_cores: float


@dataclass(slots=True)
class Contest(Generic[Result]):
    """Rounds in which the tools alternate, in reverse order in every second round.

    If other processes disturb rounds, more rounds are run, and the calmest ones count. This choice
    never depends on the results of the tools.
    """

    tools: Mapping[str, ToolRun[Result]]
    what: str
    watch: Watch = field(default_factory=Watch)

    def rounds(
        self, pairs: int, hopeful: Callable[[Sequence[Round[Result]]], set[str]] | None = None
    ) -> list[Round[Result]]:
        """Run ``pairs`` calm rounds; after `TRIAL_ROUNDS` only ``hopeful`` tools continue."""
        done: list[Round[Result]] = []
        names = list(self.tools)
        most = pairs + math.floor(MORE_ROUNDS * pairs)
        while len(done) < most and sum(map(calm, done)) < pairs:
            if len(done) == TRIAL_ROUNDS and hopeful:
                names = [name for name in names if name in hopeful(done)]
            say(f"{self.what}: round {len(done) + 1}, {sum(map(calm, done))} of {pairs} calm ones")
            done.append(self._round(names if len(done) % 2 == 0 else names[::-1]))
        kept = sorted(range(len(done)), key=lambda k: (not calm(done[k]), done[k].others_cores))
        return [done[k] for k in sorted(kept[:pairs])]

    def _round(self, names: Sequence[str]) -> Round[Result]:
        self.watch.cores()
        results = {}
        for name, following in zip(names, (*names[1:], None), strict=True):
            if following:
                self.tools[following].prepare()
            results[name] = self.tools[name].ask()
        return Round(results, self.watch.cores())


def calm(one: Round[Result]) -> bool:
    """Whether the machine was idle except for the tools."""
    return one.others_cores <= CALM_CORES


def hopeful(rounds: Sequence[Round[float]], judged: str, more_is_better: bool) -> set[str]:
    """Return the judged tool, and the rivals that may still become the best."""
    medians = {
        name: statistics.median(one.results[name] for one in rounds)
        for name in rounds[0].results
        if name != judged
    }
    if more_is_better:
        least = HOPELESS * max(medians.values())
        return {judged} | {name for name, median in medians.items() if median >= least}
    most = min(medians.values()) / HOPELESS
    return {judged} | {name for name, median in medians.items() if median <= most}


def verdict(rounds: Sequence[Round[float]], judged: str, more_is_better: bool) -> Document:
    """Compare the judged tool, round by round, with the rival that has the best median."""
    names = sorted({name for one in rounds for name in one.results})
    values = {n: [one.results[n] for one in rounds if n in one.results] for n in names}
    rivals = [n for n in names if n != judged and len(values[n]) == len(rounds)]
    best = (max if more_is_better else min)(rivals, key=lambda n: statistics.median(values[n]))
    ratios = [our / their for our, their in zip(values[judged], values[best], strict=True)]
    return {
        "best": best,
        "ratio": median_interval(ratios).to_dict(),
        "values": {name: spread(each).to_dict() for name, each in values.items()},
        "rounds": [dict(one.results) for one in rounds],
    }


def disturbance(rounds: Sequence[Round[Result]]) -> Document:
    """Return the number of calm rounds, and the greatest CPU use by other processes."""
    return {
        "calm_rounds": sum(map(calm, rounds)),
        "others_cores_most": max(one.others_cores for one in rounds),
    }


@dataclass(frozen=True, slots=True)
class Interval:
    """Median of a sample of ratios, with the confidence interval of the population median."""

    median: float
    low: float
    high: float
    pairs: int

    def to_dict(self) -> Document:
        """Return the interval for JSON."""
        return {"median": self.median, "low": self.low, "high": self.high, "pairs": self.pairs}


def median_interval(values: Sequence[float]) -> Interval:
    """Return the median with its distribution-free interval between two order statistics.

    The k-th smallest and the k-th greatest of n values enclose the population median with a
    probability of 1 - 2 P(X < k), X binomial with n and 1/2 (David and Nagaraja, Order Statistics,
    section 7.1). k is the greatest that keeps the probability at 95 % or more. Fewer than six
    values do not reach 95 %; their interval runs from the least to the greatest.
    """
    ordered = sorted(values)
    n = len(ordered)
    k, tail = 0, 0.0
    while k < n // 2:
        tail += math.comb(n, k) / 2**n
        if 1 - 2 * tail < CONFIDENCE:
            break
        k += 1
    k = max(k, 1)
    return Interval(statistics.median(ordered), ordered[k - 1], ordered[n - k], n)
