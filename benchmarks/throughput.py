"""Speed of predict_many on random scenarios, against look-ups in one grid and copies of memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks import limit
from benchmarks.checking import WrongAnswerError, check
from benchmarks.pairs import (
    Document,
    Rounds,
    TimedCall,
    cpus_used,
    interleave,
    points_per_s,
    speed_ratio,
)
from benchmarks.questions import DATASET, Columns, answer, questions
from benchmarks.rivals import METRIC, PROTOCOL, Copy, Grid, Scipy, Xarray, grid
from icmodel.dataset import load
from icmodel.model import Model

ALL, ONE = "predict_many", f"{METRIC} alone"
OURS: dict[str, tuple[int | None, tuple[str, ...] | None]] = {
    ALL: (None, None),
    f"{ALL} threads=1": (1, None),
    ONE: (None, (METRIC,)),
    f"{ONE} threads=1": (1, (METRIC,)),
}
"""Threads and metrics of each of our calls; ``None`` means all."""
RIVALS = (
    "RegularGridInterpolator",
    "RegularGridInterpolator in blocks",
    "xarray.interp",
    "np.copyto of the same bytes",
)
LIMIT = "tables alone, by numba"
LIMITS = (LIMIT,) if limit.INSTALLED else ()
"""Compiled tables, timed for questions of one protocol."""
RATIO_TARGET, SPEED_TARGET = 10.0, 15e6
"""Targets for questions of one protocol.

The first is points per second of one metric over those of RegularGridInterpolator, the second is
points per second of all metrics.
"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of points and of repeats."""

    points: int = 10_000_000
    one_protocol_points: int = 2_000_000
    repeat_points: int = 1_000_000
    repeats: int = 7
    full_repeats: int = 3
    checked: int = 10_000
    xarray_points: int = 1_000_000


def throughput(sizes: Sizes) -> Document:
    """Run interleaved repeats on fewer points for the spread, and the full run."""
    model = Model(load(DATASET))
    on = grid(model)
    parts = {}
    kinds: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
        ("repeats", sizes.repeat_points, sizes.repeats, ()),
        ("one_protocol", sizes.one_protocol_points, sizes.repeats, (PROTOCOL,)),
        ("full", sizes.points, sizes.full_repeats, ()),
    )
    for part, points, repeats, protocols in kinds:
        asked = questions(model.data, min(points, sizes.points), protocols=protocols)
        names = list(protocols or model.data.protocols)
        parts[part] = {"protocols": names, **_race(model, on, asked, repeats, sizes)}
    return {
        "dataset": model.data.id,
        "variant": model.variant,
        "grid": {"protocol": PROTOCOL, "metric": METRIC, "shape": list(on.values.shape)},
        "targets": {"ratio": RATIO_TARGET, "points_per_s": SPEED_TARGET},
        **parts,
    }


def _race(model: Model, on: Grid, asked: Columns, repeats: int, sizes: Sizes) -> Document:
    answers, points = answer(model, asked), len(asked["protocol"])
    checked = check(model, asked, answers, min(sizes.checked, points))
    alone = answer(model, asked, metrics=(METRIC,))[METRIC]
    if not alone.equals(answers[METRIC]):
        raise WrongAnswerError(f"{METRIC} alone differs from {METRIC} among all metrics")
    copy = Copy(answers)
    scipy = Scipy(on, asked)
    labelled = Xarray(on, asked, min(sizes.xarray_points, points))
    calls = {
        name: TimedCall(partial(answer, model, asked, threads, metrics), points)
        for name, (threads, metrics) in OURS.items()
    }
    runs: tuple[Callable[[], object], ...] = (
        scipy.whole,
        scipy.in_blocks,
        labelled.whole,
        copy.whole,
    )
    for name, run in zip(RIVALS, runs, strict=True):
        size = min(sizes.xarray_points, points) if name == "xarray.interp" else points
        calls[name] = TimedCall(run, size)
    if len(np.unique(asked["protocol"])) == 1:
        for name in LIMITS:
            columns = tuple(str(name) for name in answers if name != "bottleneck")
            compiled = limit.Limit(model, asked, columns).compiled()
            calls[name] = TimedCall(compiled.whole, points)
    rounds = interleave(calls, repeats, f"{points} points")
    return {
        "points": points,
        "xarray_points": min(sizes.xarray_points, points),
        "checked": checked,
        "metrics": len(answers) - 1,
        "bytes": copy.nbytes,
        **_ratios(rounds),
    }


def _ratios(rounds: Rounds) -> Document:
    """Return ratios of points per second, and of points per CPU second, each with its spread."""
    return {
        kind: {
            ours: {
                rival: speed_ratio(rounds, ours, rival, cpu=kind == "cpu_ratios").to_dict()
                for rival in rounds.keys() - OURS.keys()
            }
            for ours in OURS
        }
        for kind in ("ratios", "cpu_ratios")
    } | {
        "points_per_s": {name: points_per_s(turns).to_dict() for name, turns in rounds.items()},
        "cpus": {name: cpus_used(turns).to_dict() for name, turns in rounds.items()},
    }
