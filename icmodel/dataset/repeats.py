"""Repeats: how much runs of one point differ, relative or absolute as the errors of the metric are.

Errors are absolute for ratios (``loss_rate``, ``cpu_send``, ``cpu_recv`` and their parts by mode),
since a relative error means little near an idle core or a lossless link.  Others are relative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from icmodel.dataset.rows import POINT, RATIOS, Point

RELATIVE, ABSOLUTE = "relative", "absolute"


@dataclass(frozen=True, slots=True)
class Noise:
    """Repeat-to-repeat noise of one metric, relative or absolute as its errors are.

    Both are medians over ``rows`` rows of at least two repeats: ``run`` is the standard deviation of
    one run, ``mean`` that of the row's mean, std / √n.  For normally distributed runs an unbiased
    prediction has a median error of 0.67 times ``run``.
    """

    rows: int
    run: float
    mean: float


@dataclass(frozen=True, slots=True)
class Repeats:
    """Scatter of single runs of the same points, relative or absolute as the metric's errors are.

    ``run`` is the standard deviation of one run, as the median over the points.  ``error`` is the
    median error over ``runs`` when each run is predicted by the mean of its point's other runs, which
    is the error of somebody who has measured the point before.
    """

    points: int
    runs: int
    run: float
    error: float


def kind(metric: str) -> str:
    """Whether errors of a metric are relative or absolute."""
    return ABSOLUTE if metric in RATIOS else RELATIVE


def noise(points: Iterable[Point]) -> dict[str, Noise]:
    """The noise of each metric with rows of at least two repeats."""
    spreads: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        scale = 1.0 if kind(point.metric) == ABSOLUTE else point.value
        if point.std is not None and (point.n or 0) >= 2 and scale > 0:
            run = point.std / scale
            spreads.setdefault(point.metric, []).append((run, run / math.sqrt(point.n or 1)))
    return {
        metric: Noise(len(pairs), *(median(column) for column in zip(*pairs, strict=True)))
        for metric, pairs in sorted(spreads.items())
    }


def repeats(points: Iterable[Point]) -> dict[str, Repeats]:
    """The scatter of single runs, for each metric with two or more runs of a point.

    Parameters
    ----------
    points : iterable of Point
        Rows of one run each, such as held-out runs.
    """
    groups: dict[str, dict[tuple[object, ...], list[float]]] = {}
    for point in points:
        places = groups.setdefault(point.metric, {})
        places.setdefault(tuple(point)[POINT], []).append(point.value)
    found = {metric: _repeats(metric, places.values()) for metric, places in groups.items()}
    return {metric: one for metric, one in sorted(found.items()) if one is not None}


def _repeats(metric: str, places: Iterable[Sequence[float]]) -> Repeats | None:
    spreads, errors = [], []
    absolute = kind(metric) == ABSOLUTE
    for values in (runs for runs in places if len(runs) > 1):
        total = math.fsum(values)
        if absolute or total > 0:
            spreads.append(stdev(values) / (1.0 if absolute else fmean(values)))
        errors += [
            abs((total - value) / (len(values) - 1) - value) / (1.0 if absolute else value)
            for value in values
            if absolute or value > 0
        ]
    if not spreads:
        return None
    return Repeats(len(spreads), len(errors), median(spreads), median(errors))
