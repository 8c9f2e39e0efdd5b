"""Arena: runs that may be bought, their records, and the truth to compare a model with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from benchmarks.chooser.replay import Replay
from benchmarks.chooser.synthetic import Noise, Synthetic, Truth
from icmodel.calibrate.runs import Record, Run, candidates, ends, loads, payload_limit, run_of
from icmodel.calibrate.settings import METRICS, Settings
from icmodel.calibrate.testbed import Refused
from icmodel.fold.records import spoilers

REPEATS = 3
"""Repeats of each run in the full grid of a synthetic system."""
TESTS = 240
"""Number of questions to a synthetic system, drawn log-uniformly in the payload."""

Turn = tuple[Run, int]
Values = Mapping[str, float]


@dataclass(frozen=True)
class Arena:
    """One system for one seed: the full grid as turns, the record of each, and the questions.

    ``beside`` is the number of times that a run outside the grid may be bought.
    """

    name: str
    settings: Settings
    turns: tuple[Turn, ...]
    first: tuple[Turn, ...]
    answer: Callable[[Run, int], Record]
    questions: tuple[tuple[Run, Values], ...]
    beside: int = 0

    @property
    def runs(self) -> tuple[Run, ...]:
        """Each run of the grid once, sorted."""
        return tuple(sorted({run for run, _ in self.turns}))


def made_up(truth: Truth, seed: int, noise: float = 1.0) -> Arena:
    """Make the arena of a synthetic system; noise and questions follow from the seed.

    ``noise`` is a factor of the default noise.
    """
    settings = Settings.of(
        system=truth.name, mtu_bytes=truth.mtu_bytes, line_rate_bps=truth.line_rate_bps
    )
    system = Synthetic(truth, seed, Noise().times(noise))
    grid = candidates(settings, truth.line_rate_bps)
    return Arena(
        name=truth.name,
        settings=settings,
        turns=tuple((run, repeat) for run in grid for repeat in range(REPEATS)),
        first=tuple((run, 0) for run in ends(grid)),
        answer=lambda run, repeat: _record(system.measure(run, repeat)),
        questions=tuple((run, truth.result(run)) for run in _places(settings, seed)),
        beside=REPEATS,
    )


def recorded(records: Iterable[Record], settings: Settings, seed: int) -> Arena:
    """Make the arena of a measured campaign: its full grid, with its held-out points as questions.

    The seed determines the order of the repeats of a run. The truth of a question is the mean of
    its repeats, which has less noise than one run.
    """
    told = [one for one in records if _is_plain(one)]
    held: dict[Run, list[Record]] = {}
    for one in told:
        if _held_out(one):
            held.setdefault(run_of(one), []).append(one)
    grid = [one for one in told if not _held_out(one)]
    order = np.random.default_rng([seed, 13]).permutation(len(grid))
    replay = Replay(grid[index] for index in order)
    runs = replay.runs
    return Arena(
        name=settings.system,
        settings=settings,
        turns=tuple((run, repeat) for run in runs for repeat in range(replay.repeats(run))),
        first=tuple((run, 0) for run in ends(runs)),
        answer=lambda run, repeat: _record(replay.measure(run, repeat)),
        questions=tuple((run, _means(repeats)) for run, repeats in sorted(held.items())),
    )


def _held_out(record: Record) -> bool:
    """Whether the plan holds a run out of every fit."""
    return bool((record.get("plan") or {}).get("held_out"))


PLAIN = {
    "pattern": "stream",
    "switches": 0,
    "endpoints": 1,
    "cores": 1,
    "nagle": True,
    "waiting": "blocking",
    "batch_frames": 1,
    "io_threads": 1,
    "zeromq_socket": "push-pull",
}
"""Settings of the calibration loop's runs; icprobe's defaults for what the loop does not set."""


def _is_plain(record: Record) -> bool:
    """Whether the loop could choose a run: no options are set, and it is no reference run."""
    point, plan = record["point"], record.get("plan") or {}
    plain = all(point.get(name, value) == value for name, value in PLAIN.items())
    return plain and plan.get("kind", "grid") != "reference"


def _places(settings: Settings, seed: int) -> list[Run]:
    draw = np.random.default_rng([seed, 7])
    known = loads(settings, settings.setup.line_rate_bps or 1.0)
    found = []
    for index in range(TESTS):
        protocol = settings.grid.protocols[index % len(settings.grid.protocols)]
        least, most = settings.grid.least_payload_bytes, payload_limit(protocol, settings)
        size = round(math.exp(draw.uniform(math.log(least), math.log(most))))
        found.append(Run(protocol, size, known[draw.integers(len(known))], settings.setup.cores))
    return found


def _record(answer: Record | Refused) -> Record:
    if isinstance(answer, Refused):
        raise LookupError(answer.why)
    return answer


def _means(repeats: Sequence[Record]) -> dict[str, float]:
    """Return the mean of each metric over the repeats whose flags do not spoil it."""
    found = {}
    for metric in METRICS:
        kept = [one["result"] for one in repeats if not spoilers(one["flags"], metric, (), ())]
        values = [result[metric] for result in kept if metric in result]
        if values:
            found[metric] = fmean(values)
    return found
