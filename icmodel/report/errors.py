"""The errors of a validation as a Vega-Lite specification: over the payload, metric by metric."""

from __future__ import annotations

from collections.abc import Iterator

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
    told_apart,
)
from icmodel.validate import Trial, Validation
from icmodel.wording import metric_name, plural, quantity

HEIGHT = 150
LEAST = 1e-4
"""Errors below this are drawn on the lower edge: a logarithm has no place for 0."""
FEW_SIZES = 6
"""Up to this many payloads are labelled one by one; more by powers of two."""
SCALE: Spec = {"type": "log", "nice": False, "padding": 8}
"""Of both axes, with room around the data [px]."""
_LOWEST = f"datum.label === '' ? '' : (datum.value < {1.01 * LEAST} ? '≤ ' : '')"
PERCENT = f"{_LOWEST} + format(datum.value * 100, '~r')"
SHARES = f"{_LOWEST} + format(datum.value, '~r')"
"""Vega expressions of the labels of an error's axis; what lies below the lowest stands on it."""
HELD, MISSED, NONE = "interval holds it", "interval misses it", "no interval"
MARKS = {HELD: COLOURS[PREDICTED], MISSED: COLOURS[LIMIT], NONE: QUIET}
SHAPES = {HELD: "circle", MISSED: "cross", NONE: "square"}
"""Colour and shape of the answers whose interval does so."""
NOISE, MEDIAN = "noise of one run", "median error"
DASHES = {MEDIAN: [1, 0], NOISE: [4, 3]}


def error_plot(found: Validation) -> Spec:
    """Every error over the payload; the median and the noise of one run are lines.

    Raises
    ------
    ReportError
        If nothing with a payload was answered.
    """
    drawn = [
        (trial, metric, rows)
        for trial in found.trials
        for metric in trial.metrics
        if (rows := list(_rows(trial, metric)))
    ]
    if not drawn:
        raise ReportError(
            f"{found.data.id} has no scored answers to draw: a metric needs 30 measured or "
            "tabulated rows with payloads"
        )
    met = {str(row["interval"]) for *_, rows in drawn for row in rows}
    noisy = any(metric in found.noise for _, metric, _ in drawn)
    keys = (
        told_apart("interval", [mark for mark in MARKS if mark in met], color=MARKS, shape=SHAPES),
        told_apart("line", [MEDIAN, NOISE] if noisy else [MEDIAN], strokeDash=DASHES),
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
        "concat": [_plot(found, *one, keys) for one in drawn],
        "config": CONFIG,
    }


def _plot(
    found: Validation, trial: Trial, metric: str, rows: list[Row], keys: tuple[Spec, Spec]
) -> Spec:
    score, (marks, dashes) = trial.metrics[metric].score, keys
    lines: list[Row] = [{"line": MEDIAN, "error": max(score.errors.median, LEAST)}]
    if metric in found.noise:
        lines.append({"line": NOISE, "error": max(found.noise[metric].run, LEAST)})
    return {
        "title": {
            "text": metric_name(metric),
            "subtitle": f"{trial.kind}, {plural(score.n, 'row')}",
            "anchor": "start",
            "frame": "group",
        },
        "width": WIDTH,
        "height": HEIGHT,
        "encoding": {
            "y": {
                "field": "error",
                "type": "quantitative",
                "scale": SCALE,
                "axis": _error_axis(score.kind == ABSOLUTE),
            }
        },
        "layer": [
            {
                "data": {"values": rows},
                "mark": {"type": "point", "size": 24},
                "encoding": {
                    "x": {
                        "field": "payload_bytes",
                        "type": "quantitative",
                        "scale": SCALE | {"base": 2},
                        "axis": _payload_axis(rows),
                    },
                    "tooltip": [{"field": "said", "title": metric}, {"field": "source"}],
                    **marks,
                },
            },
            {"data": {"values": lines}, "mark": "rule", "encoding": dashes},
        ],
    }


def _error_axis(absolute: bool) -> Spec:
    title, labels = ("absolute error", SHARES) if absolute else ("relative error [%]", PERCENT)
    axis = {"title": title, "format": "~r", "labelExpr": labels, "tickCount": 5}
    return axis | {"gridOpacity": UNLABELLED}


def _payload_axis(rows: list[Row]) -> Spec:
    sizes = {int(str(row["payload_bytes"])) for row in rows}
    axis: Spec = {"title": "payload [B]", "labelExpr": BYTE_LABELS, "grid": False}
    if len(sizes) <= FEW_SIZES:
        return axis | {"values": sorted(sizes)}
    return axis | {"tickCount": 6}


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
