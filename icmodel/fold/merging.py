"""Merging: the repeats of a point become one row for each metric: mean, spread, number of runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from icmodel.dataset_rows import METRIC_ENDINGS, RATIOS, Point
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


def place_of(record: Record, axes: OptionAxes) -> Point:
    """A row with the axes of a run and no metric yet.

    Raises
    ------
    RecordError
        If the value of an axis is not a number of the right kind.
    """
    point = record.point
    return Point(
        line=0,
        protocol=str(point["protocol"]).lower(),
        payload_bytes=_whole(record, "payload_bytes"),
        load_bps=_load(record),
        cores=_whole(record, "cores"),
        switches=_whole(record, "switches"),
        endpoints=_whole(record, "endpoints"),
        other_goodput_bps=_real(record, "other_goodput_bps"),
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
    return tuple(place[1:9])


def metrics_of(record: Record) -> dict[str, float]:
    """The metrics of a run that a dataset can hold."""
    return {
        metric: 0.0 if metric.startswith("cpu_") and abs(value) < LEAST_SHARE else value
        for metric, value in record.result.items()
        if metric not in NOT_METRICS and (metric in RATIOS or metric.endswith(METRIC_ENDINGS))
    }


def merged(
    runs: Sequence[tuple[Point, Record]], settings: Settings
) -> tuple[list[Point], dict[str, dict[str, tuple[str, ...]]]]:
    """The rows of all runs, and run -> left-out metric -> the flags that spoil it."""
    groups: dict[Place, list[tuple[Point, Record]]] = {}
    for place, record in runs:
        groups.setdefault(where(place), []).append((place, record))
    left_out = {record.run: _left_out(record, settings) for _, record in runs}
    rows = [row for group in groups.values() for row in _rows(group, left_out)]
    return rows, {run: metrics for run, metrics in left_out.items() if metrics}


def single(
    place: Point, record: Record, settings: Settings
) -> tuple[list[Point], dict[str, tuple[str, ...]]]:
    """The rows of one run on its own, and its left-out metrics -> the flags that spoil them."""
    left_out = _left_out(record, settings)
    plan = record.document.plan
    source = f"run {record.run}" if plan is None else f"plan {plan.name}"
    rows = [
        place._replace(metric=metric, value=rounded(value), n=1, source=source)
        for metric, value in metrics_of(record).items()
        if metric not in left_out
    ]
    return rows, left_out


def rounded(value: float) -> float:
    """A number rounded to nine significant digits."""
    return float(f"{value:.{DIGITS}g}")


def mean_and_std(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample standard deviation (divided by n − 1), ``None`` for a single value."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def _left_out(record: Record, settings: Settings) -> dict[str, tuple[str, ...]]:
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


def _rows(
    group: Sequence[tuple[Point, Record]], left_out: Mapping[str, Mapping[str, object]]
) -> Iterator[Point]:
    by_metric: dict[str, list[tuple[float, str]]] = {}
    for _, record in group:
        for metric, value in metrics_of(record).items():
            if metric not in left_out[record.run]:
                by_metric.setdefault(metric, []).append((value, record.source))
    for metric, found in by_metric.items():
        mean, std = mean_and_std([value for value, _ in found])
        yield group[0][0]._replace(
            metric=metric,
            value=rounded(mean),
            std=None if std is None else rounded(std),
            n=len(found),
            source="; ".join(dict.fromkeys(source for _, source in found)),
        )


def _whole(record: Record, name: str) -> int | None:
    value = record.point.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise RecordError(f"run {record.run} has {name} {value!r}: it is a whole number")
    return value


def _real(record: Record, name: str) -> float | None:
    value = record.point.get(name)
    if value is None:
        return None
    if isinstance(value, (bool, str)):
        raise RecordError(f"run {record.run} has {name} {value!r}: it is a number in SI")
    return rounded(value)


def _load(record: Record) -> float:
    """The offered load [b/s]; infinite for a run without one, which was unlimited."""
    load = _real(record, "load_bps")
    return math.inf if load is None else load
