"""The errors of a validation as a Vega-Lite specification: over the payload, metric by metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from icmodel.errors import ReportError
from icmodel.repeats import ABSOLUTE
from icmodel.report.drawing import (
    BYTE_LABELS,
    COLOURS,
    CONFIG,
    LIMIT,
    PREDICTED,
    QUIET,
    SCHEMA,
    UNLABELLED,
    WIDTH,
    Row,
    Spec,
)
from icmodel.validate import Trial, Validation
from icmodel.wording import metric_name, plural, quantity

HEIGHT = 150
LEAST = 1e-4
"""Errors below this are drawn on the lower edge: a logarithm has no place for 0."""
FEW_SIZES = 6
"""Up to this many payloads are labelled one by one; more by powers of two."""
PADDING_PX = 8
_LOWEST = f"datum.label === '' ? '' : (datum.value < {1.01 * LEAST} ? '≤ ' : '')"
PERCENT = f"{_LOWEST} + format(datum.value * 100, '~r')"
SHARES = f"{_LOWEST} + format(datum.value, '~r')"
"""Vega expressions of the labels of an error's axis; what lies below the lowest stands on it."""
HELD, MISSED, NONE = "interval holds it", "interval misses it", "no interval"
MARKS = {
    HELD: (COLOURS[PREDICTED], "circle"),
    MISSED: (COLOURS[LIMIT], "cross"),
    NONE: (QUIET, "square"),
}
"""Colour and shape of the answers whose interval does so."""
NOISE, MEDIAN = "noise of one run", "median error"


@dataclass(frozen=True, slots=True)
class _Key:
    """Entries of the legend: only those that are drawn."""

    intervals: list[str]
    lines: list[str]


def error_plot(found: Validation) -> Spec:
    """Every error over the payload; the median and the noise of one run are lines.

    Raises
    ------
    ReportError
        If nothing with a payload was answered.
    """
    drawn = {
        (trial.kind, metric): rows
        for trial in found.trials
        for metric in trial.metrics
        if (rows := list(_rows(trial, metric)))
    }
    met = {str(row["interval"]) for rows in drawn.values() for row in rows}
    key = _Key(
        [mark for mark in MARKS if mark in met],
        [MEDIAN, *([NOISE] if _noise_known(found) else [])],
    )
    plots = [
        _plot(found, trial, metric, drawn[trial.kind, metric], key)
        for trial in found.trials
        for metric in trial.metrics
        if (trial.kind, metric) in drawn
    ]
    if not plots:
        raise ReportError(
            f"{found.data.id} has no scored answers to draw: a metric needs 30 measured or "
            "tabulated rows with payloads"
        )
    return {
        "$schema": SCHEMA,
        "title": {
            "text": f"Errors of {found.variant} on rows kept from it",
            "subtitle": found.data.id,
            "anchor": "start",
            "fontSize": 15,
            "offset": 12,
        },
        "columns": 2,
        "concat": plots,
        "config": CONFIG,
    }


def _noise_known(found: Validation) -> bool:
    return any(metric in found.noise for trial in found.trials for metric in trial.metrics)


def _plot(found: Validation, trial: Trial, metric: str, rows: list[Row], key: _Key) -> Spec:
    score = trial.metrics[metric].score
    lines: list[Row] = [{"line": MEDIAN, "error": max(score.errors.median, LEAST)}]
    if metric in found.noise:
        lines.append({"line": NOISE, "error": max(found.noise[metric].run, LEAST)})
    absolute = score.kind == ABSOLUTE
    return {
        "title": {
            "text": metric_name(metric),
            "subtitle": f"{trial.kind}, {plural(score.n, 'row')}",
            "anchor": "start",
            "frame": "group",
        },
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [
            _dots(metric, rows, lines, key.intervals, absolute=absolute),
            _rules(lines, key.lines),
        ],
    }


def _dots(
    metric: str, rows: list[Row], lines: list[Row], shown: list[str], *, absolute: bool
) -> Spec:
    errors = [float(str(row["error"])) for row in (*rows, *lines)]
    low, high = 0.8 * min(errors), 1.25 * max(errors)
    axis: Spec = {"title": "absolute error" if absolute else "relative error [%]"}
    axis |= {"format": "~r", "labelExpr": SHARES if absolute else PERCENT, "tickCount": 5}
    axis |= {"gridOpacity": UNLABELLED}
    colours, shapes = ([MARKS[name][part] for name in shown] for part in (0, 1))
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "size": 24},
        "encoding": {
            "x": {
                "field": "payload_bytes",
                "type": "quantitative",
                "scale": {"type": "log", "base": 2, "nice": False, "padding": PADDING_PX},
                "axis": _payload_axis(rows),
            },
            "y": {
                "field": "error",
                "type": "quantitative",
                "scale": {"type": "log", "domain": [low, high], "nice": False},
                "axis": axis,
            },
            "color": {
                "field": "interval",
                "type": "nominal",
                "scale": {"domain": shown, "range": colours},
                "legend": {"title": None, "orient": "bottom"},
            },
            "shape": {
                "field": "interval",
                "type": "nominal",
                "scale": {"domain": shown, "range": shapes},
            },
            "tooltip": [{"field": "said", "title": metric}, {"field": "source"}],
        },
    }


def _payload_axis(rows: list[Row]) -> Spec:
    sizes = {int(str(row["payload_bytes"])) for row in rows}
    axis: Spec = {"title": "payload [B]", "labelExpr": BYTE_LABELS, "grid": False}
    if len(sizes) <= FEW_SIZES:
        return axis | {"values": sorted(sizes)}
    return axis | {"tickCount": 6}


def _rules(lines: list[Row], known: list[str]) -> Spec:
    return {
        "data": {"values": lines},
        "mark": {"type": "rule"},
        "encoding": {
            "y": {"field": "error", "type": "quantitative"},
            "strokeDash": {
                "field": "line",
                "type": "nominal",
                "scale": {"domain": known, "range": [[1, 0], [4, 3]][: len(known)]},
                "legend": {"title": None, "orient": "bottom"},
            },
        },
    }


def _rows(trial: Trial, metric: str) -> Iterator[Row]:
    for one in trial.outcomes:
        if one.point.metric != metric or one.estimate.absent or one.point.payload_bytes is None:
            continue
        interval = NONE if one.covered is None else HELD if one.covered else MISSED
        measured, said = (quantity(metric, n) for n in (one.point.value, one.estimate.value))
        yield {
            "payload_bytes": one.point.payload_bytes,
            "error": max(one.error, LEAST),
            "interval": interval,
            "said": f"{said}, measured {measured}",
            "source": one.point.source,
        }
