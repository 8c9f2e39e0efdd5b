"""Scatter of repeated runs of one point.

Errors of ratios (``loss_rate``, ``cpu_send``, ``cpu_recv`` and their parts by mode) are absolute: a relative error
means little for an idle core or a lossless link.  Errors of other metrics are relative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, median, stdev

from icmodel.dataset.rows import POINT, RATIOS, Point

RELATIVE, ABSOLUTE = "relative", "absolute"


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise of one metric between repeats: medians over ``rows`` rows that have at least two repeats.

    ``run`` is the standard deviation of one run.  ``mean`` is the standard deviation of a row's mean, std / √n.  For
    normally distributed runs an unbiased prediction has a median error of 0.67 times ``run``.
    """

    rows: int
    run: float
    mean: float


@dataclass(frozen=True, slots=True)
class Repeats:
    """Scatter of single runs of the same points, for one metric.

    ``run`` is the standard deviation of one run, as the median over the points.  ``error`` is a leave-one-out
    error: the mean of the other runs of a point predicts each run.  It is the median over ``runs``, and the error to
    expect at a point that was measured before.
    """

    points: int
    runs: int
    run: float
    error: float


def kind(metric: str) -> str:
    """Return whether errors of a metric are ``relative`` or ``absolute``."""
    return ABSOLUTE if metric in RATIOS else RELATIVE


def noise(points: Iterable[Point]) -> dict[str, Noise]:
    """Return the noise between repeats of each metric that has rows with at least two repeats."""
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
    """Return the scatter of single runs of the same points, for each metric with two or more runs of a point.

    Parameters
    ----------
    points : iterable of Point
        Rows of one run each, such as held-out runs.
    """
    runs_of: dict[str, dict[tuple[object, ...], list[float]]] = {}
    for point in points:
        by_point = runs_of.setdefault(point.metric, {})
        by_point.setdefault(tuple(point)[POINT], []).append(point.value)

    scatter = {}
    for metric, by_point in sorted(runs_of.items()):
        spreads, errors = [], []
        absolute = kind(metric) == ABSOLUTE
        for runs in by_point.values():
            if len(runs) < 2:
                continue
            total = math.fsum(runs)
            if absolute or total > 0:
                spreads.append(stdev(runs) / (1.0 if absolute else fmean(runs)))
            errors += [
                abs((total - run) / (len(runs) - 1) - run) / (1.0 if absolute else run)
                for run in runs
                if absolute or run > 0
            ]
        if spreads:
            scatter[metric] = Repeats(len(spreads), len(errors), median(spreads), median(errors))
    return scatter
