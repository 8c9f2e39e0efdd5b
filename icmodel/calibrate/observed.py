"""Observed: what the records say of each metric, as numbers a surface can be laid through."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.calibrate.run import Record, Run, run_of
from icmodel.fold.flags import spoilers

Floats = NDArray[np.float64]
ABSOLUTE = ("cpu_send", "cpu_recv", "loss_rate")
"""Metrics from 0 to 1, whose error is a difference; that of others is relative."""
LEAST = 1e-12
"""Below it a relative error means nothing."""


@dataclass(frozen=True, slots=True)
class Observed:
    """One metric at the runs it was measured at: mean of the repeats, and how many.

    ``values`` are logarithms, but those of a share from 0 to 1 are as they are: a difference of
    two of them is an error. ``spread`` is the standard deviation of one repeat, pooled; NaN
    where nothing was repeated.
    """

    metric: str
    runs: tuple[Run, ...]
    values: Floats
    repeats: Floats
    spread: float


def scaled(metric: str, value: float) -> float:
    """A value where a difference is an error."""
    return value if metric in ABSOLUTE else math.log(max(value, LEAST))


def observed(records: Iterable[Record], metrics: Sequence[str]) -> dict[str, Observed]:
    """Every metric that was measured at two runs or more."""
    found: dict[str, dict[Run, list[float]]] = {metric: {} for metric in metrics}
    for record in records:
        run, result = run_of(record), record.get("result", {})
        for metric in metrics:
            value = _number(result, metric)
            spoilt = spoilers(record.get("flags", ()), metric, (), ())
            if value is not None and not spoilt:
                found[metric].setdefault(run, []).append(scaled(metric, value))
    return {metric: _pooled(metric, by_run) for metric, by_run in found.items() if len(by_run) > 1}


def stolen(record: Record) -> float:
    """The share of its time that the hypervisor took from the core in use that lost most."""
    used, modes = record.get("cores", {}), record.get("cpu_modes", {})
    lost = [
        core.get("steal", 0.0)
        for end, cores in used.items()
        for core in modes.get(end, {}).get("cores", ())
        if core["core"] in cores
    ]
    return float(max(lost, default=0.0))


def is_disturbed(record: Record, most_steal: float | None) -> bool:
    """Whether the hypervisor took more of a core in use than may be; no limit is never passed."""
    return most_steal is not None and stolen(record) > most_steal


def is_spoilt(record: Record) -> bool:
    """Whether the flags of a record leave nothing of it."""
    flags = record.get("flags", ())
    return all(spoilers(flags, metric, (), ()) for metric in record.get("result", {}))


def _number(result: Mapping[str, object], metric: str) -> float | None:
    value = result.get(metric)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if metric in ABSOLUTE or value > 0 else None


def _pooled(metric: str, by_run: Mapping[Run, Sequence[float]]) -> Observed:
    runs = tuple(sorted(by_run))
    groups = [np.array(by_run[run]) for run in runs]
    freedom = sum(len(group) - 1 for group in groups)
    square = sum(float(np.sum((group - group.mean()) ** 2)) for group in groups)
    return Observed(
        metric=metric,
        runs=runs,
        values=np.array([group.mean() for group in groups]),
        repeats=np.array([float(len(group)) for group in groups]),
        spread=math.sqrt(square / freedom) if freedom else math.nan,
    )
