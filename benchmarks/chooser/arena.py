"""Arena: runs that may be bought, what they answer, and the truth a model of them is held against."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.chooser.synthetic import Synthetic, Truth
from icmodel.calibrate.grid import candidates, first_runs, loads, payload_limit
from icmodel.calibrate.replay import Replay
from icmodel.calibrate.run import Record, Run, run_of
from icmodel.calibrate.settings import METRICS, Settings
from icmodel.calibrate.system import Refused

REPEATS = 2
"""Of each run in the full grid of a made-up system."""
TESTS = 240
"""Places where a made-up system's truth is asked, drawn over the domain by payload's logarithm."""

Turn = tuple[Run, int]
Values = Mapping[str, float]


@dataclass(frozen=True)
class Arena:
    """One system for one seed: the full grid as turns, what each answers, and the questions."""

    name: str
    settings: Settings
    turns: tuple[Turn, ...]
    first: tuple[Turn, ...]
    answer: Callable[[Run, int], Record]
    questions: tuple[tuple[Run, Values], ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """Each run of the grid once, sorted."""
        return tuple(sorted({run for run, _ in self.turns}))


def made_up(truth: Truth, seed: int) -> Arena:
    """A made-up system: its noise and the places of the questions follow from the seed."""
    settings = Settings(
        system=truth.name, mtu_bytes=truth.mtu_bytes, line_rate_bps=truth.line_rate_bps
    )
    system = Synthetic(truth, seed)
    grid = candidates(settings, truth.line_rate_bps)
    first = first_runs(settings, truth.line_rate_bps)
    return Arena(
        name=truth.name,
        settings=settings,
        turns=tuple((run, repeat) for run in grid for repeat in range(REPEATS)),
        first=tuple((run, 0) for run in first),
        answer=lambda run, repeat: _record(system.measure(run, repeat)),
        questions=tuple((run, truth.result(run)) for run in _places(settings, seed)),
    )


def recorded(records: Iterable[Record], name: str, mtu_bytes: int) -> Arena:
    """A campaign that was carried out: held-out runs are the questions, the others the grid."""
    told = list(records)
    held = [one for one in told if one.get("plan", {}).get("held_out")]
    replay = Replay(
        one for one in told if not one.get("plan", {}).get("held_out") and _is_grid(one)
    )
    runs = replay.runs
    settings = Settings(
        system=name,
        protocols=tuple(sorted({run.protocol for run in runs})),
        mtu_bytes=mtu_bytes,
        cores=runs[0].cores,
    )
    return Arena(
        name=name,
        settings=settings,
        turns=tuple((run, repeat) for run in runs for repeat in range(replay.repeats(run))),
        first=tuple((run, 0) for run in _ends(runs)),
        answer=lambda run, repeat: _record(replay.measure(run, repeat)),
        questions=tuple((run_of(one), _values(one)) for one in held),
    )


def _is_grid(record: Record) -> bool:
    """Two hosts, a stream, one core, nothing else: what a run of the loop can ask."""
    point = record["point"]
    plain = (
        point.get("pattern", "stream") == "stream"
        and point.get("switches", 0) == 0
        and point.get("endpoints", 1) == 1
    )
    return bool(plain and record.get("plan", {}).get("kind", "grid") == "grid")


def _ends(runs: Sequence[Run]) -> list[Run]:
    """The least and the greatest payload of every curve."""
    curves: dict[tuple[str, float, int], list[Run]] = {}
    for run in runs:
        curves.setdefault((run.protocol, run.load_bps, run.cores), []).append(run)
    return [run for curve in curves.values() for run in (curve[0], curve[-1])]


def _places(settings: Settings, seed: int) -> list[Run]:
    draw = np.random.default_rng([seed, 7])
    known = loads(settings, settings.line_rate_bps or 1.0)
    found = []
    for index in range(TESTS):
        protocol = settings.protocols[index % len(settings.protocols)]
        least, most = settings.least_payload_bytes, payload_limit(protocol, settings)
        size = round(math.exp(draw.uniform(math.log(least), math.log(most))))
        found.append(Run(protocol, size, known[draw.integers(len(known))], settings.cores))
    return found


def _record(answer: Record | Refused) -> Record:
    if isinstance(answer, Refused):
        raise LookupError(answer.why)
    return answer


def _values(record: Record) -> dict[str, float]:
    return {metric: record["result"][metric] for metric in METRICS if metric in record["result"]}
