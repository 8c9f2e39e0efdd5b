"""Merging: the repeats of a point become one row for each metric: mean, spread, number of runs."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from icmodel.dataset_rows import AXES, METRIC_ENDINGS, POINT, RATIOS, Point
from icmodel.errors import RecordError
from icmodel.fold.axes import OptionAxes
from icmodel.fold.flags import spoilers
from icmodel.fold.record import Record
from icmodel.fold.settings import Settings

NOT_METRICS = (
    "window_s",
    "latency_bound_s",
    "latency_steady_mean_s",
    "latency_steady_std_s",
    "longest_stall_s",
)
"""Results that describe the run and not the interconnect; they stay in the records only."""
DIGITS = 9
"""Significant digits of values in rows, more than twice as many as any clock resolves."""

LEAST_SHARE = 1e-9
"""Shares of a core below this are rounding errors and become 0."""

Place = tuple[object, ...]
"""The columns of a row before its metric."""
Runs = Sequence[tuple[Point, Record]]
"""The axes of a run, and its record."""
LeftOut = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Run -> metric that is left out -> the flags that spoil it."""


def place_of(record: Record, axes: OptionAxes) -> Point:
    """A row with the axes of a run and no metric yet.

    Raises
    ------
    RecordError
        If the value of an axis is not a number of the right kind.
    """
    axis = {name: _axis(record, name) for name in AXES[1:]}
    if axis["load_bps"] is None:
        axis["load_bps"] = math.inf  # a run without a load was unlimited
    return Point(
        line=0,
        protocol=str(record.point["protocol"]).lower(),
        **axis,
        options=axes.cells[record.run],
        metric="",
        value=0.0,
        std=None,
        low=None,
        high=None,
        n=None,
        basis="measured",
        source=record.source,
    )


def where(place: Point) -> Place:
    """The axes of a row, which identify its point."""
    return tuple(place)[POINT]


def metrics_of(record: Record) -> dict[str, float]:
    """The metrics of a run that a dataset can hold."""
    return {
        metric: 0.0 if metric.startswith("cpu_") and abs(value) < LEAST_SHARE else value
        for metric, value in record.result.items()
        if metric not in NOT_METRICS and (metric in RATIOS or metric.endswith(METRIC_ENDINGS))
    }


def spoilt_metrics(record: Record, settings: Settings) -> dict[str, tuple[str, ...]]:
    """The metrics of a run that are left out -> the flags that spoil them."""
    found = {
        metric: spoilers(
            record.flags,
            metric,
            settings.tolerate,
            settings.refuse,
            others=record.others,
            same_cores=record.same_cores,
        )
        for metric in metrics_of(record)
    }
    return {metric: flags for metric, flags in found.items() if flags}


def merged(runs: Runs, left_out: LeftOut) -> tuple[Point, ...]:
    """The rows of all runs, without the metrics that are left out."""
    return tuple(row for group in by_point(runs) for row in _rows(group, left_out))


def by_point(runs: Runs) -> list[list[tuple[Point, Record]]]:
    """The runs of each point."""
    groups: dict[Place, list[tuple[Point, Record]]] = {}
    for place, record in runs:
        groups.setdefault(where(place), []).append((place, record))
    return list(groups.values())


def single(place: Point, record: Record, left_out: Container[str]) -> tuple[Point, ...]:
    """The rows of one run on its own, without the metrics that are left out."""
    plan = record.document.plan
    source = f"run {record.run}" if plan is None else f"plan {plan.name}"
    return tuple(
        place._replace(metric=metric, value=rounded(value), n=1, source=source)
        for metric, value in metrics_of(record).items()
        if metric not in left_out
    )


def rounded(value: float) -> float:
    """A number rounded to nine significant digits."""
    return float(f"{value:.{DIGITS}g}")


def _rows(group: Runs, left_out: LeftOut) -> Iterator[Point]:
    by_metric: dict[str, list[tuple[float, str]]] = {}
    for _, record in group:
        for metric, value in metrics_of(record).items():
            if metric not in left_out[record.run]:
                by_metric.setdefault(metric, []).append((value, record.source))
    for metric, found in by_metric.items():
        values = [value for value, _ in found]
        mean = fmean(values)
        yield group[0][0]._replace(
            metric=metric,
            value=rounded(mean),
            std=rounded(stdev(values, mean)) if len(values) > 1 else None,
            n=len(found),
            source="; ".join(dict.fromkeys(source for _, source in found)),
        )


def _axis(record: Record, name: str) -> Any:
    """The value of a numeric axis; ``None`` if the run does not say it."""
    value = record.point.get(name)
    if value is None:
        return None
    whole = not name.endswith("_bps")
    if isinstance(value, (bool, str)) or (whole and not isinstance(value, int)):
        kind = "a whole number" if whole else "a number in SI"
        raise RecordError(f"run {record.run} has {name} {value!r}: it is {kind}")
    return value if whole else rounded(value)
