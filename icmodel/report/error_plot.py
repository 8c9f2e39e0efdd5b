"""Plot the prediction errors of a validation: the error of every left-out dataset row, over the payload."""

from __future__ import annotations

from icmodel.dataset.rows import ABSOLUTE
from icmodel.errors import ReportError
from icmodel.estimate import metric_name, plural, quantity
from icmodel.plotting import BYTE_LABELS, CONFIG, QUIET, SCHEMA, UNLABELLED, WIDTH, Spec
from icmodel.report.drawing import COLOURS, LIMIT, PREDICTED, Row, nominal_channels
from icmodel.validate import Trial, Validation

HEIGHT = 150
LEAST = 1e-4
"""Least error on the logarithmic axis; smaller errors are drawn at this value."""
FEW_SIZES = 6
"""Maximum number of payloads that are all labelled on the axis; with more, powers of two are labelled."""
SCALE: Spec = {"type": "log", "nice": False, "padding": 8}
"""Vega-Lite scale of both axes of an error plot: logarithmic, with 8 px padding."""
_LOWEST = f"datum.label === '' ? '' : (datum.value < {1.01 * LEAST} ? '≤ ' : '')"
PERCENT = f"{_LOWEST} + format(datum.value * 100, '~r')"
SHARES = f"{_LOWEST} + format(datum.value, '~r')"
"""Vega expressions for the labels of an error axis; the lowest label begins with ``≤``."""
HELD, MISSED, NONE = "interval holds it", "interval misses it", "no interval"
MARKS = {HELD: COLOURS[PREDICTED], MISSED: COLOURS[LIMIT], NONE: QUIET}
SHAPES = {HELD: "circle", MISSED: "cross", NONE: "square"}
"""Shape of a point in an error plot (colour: ``MARKS``).

It shows whether the predicted interval contains the measured value, misses it, or is unknown.
"""
NOISE, MEDIAN = "noise of one run", "median error"
DASHES = {MEDIAN: [1, 0], NOISE: [4, 3]}


def error_plot(found: Validation) -> Spec:
    """Make the Vega-Lite specification of a validation: one plot for each metric, with errors over the payload.

    Horizontal lines show the median error and the noise of one run.

    Raises
    ------
    ReportError
        If no metric with payloads was scored.
    """
    drawn = [
        (trial, metric, rows)
        for trial in found.trials
        for metric in trial.metrics
        if (rows := error_rows(trial, metric))
    ]
    if not drawn:
        raise ReportError(
            f"{found.data.id} has no errors to draw: scoring needs a metric with 30 measured or "
            "tabulated rows with payloads"
        )
    used = {str(row["interval"]) for *_, rows in drawn for row in rows}
    noisy = any(metric in found.noise for _, metric, _ in drawn)
    marks = nominal_channels(
        "interval", [mark for mark in MARKS if mark in used], color=MARKS, shape=SHAPES
    )
    dashes = nominal_channels("line", [MEDIAN, NOISE] if noisy else [MEDIAN], strokeDash=DASHES)
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
        "concat": [_plot(found, *one, marks, dashes) for one in drawn],
        "config": CONFIG,
    }


def _plot(
    found: Validation, trial: Trial, metric: str, rows: list[Row], marks: Spec, dashes: Spec
) -> Spec:
    """Make the error plot of one metric for one trial (kind of cross-validation fold)."""
    score = trial.metrics[metric].score
    lines: list[Row] = [{"line": MEDIAN, "error": max(score.errors.median, LEAST)}]
    if metric in found.noise:
        lines.append({"line": NOISE, "error": max(found.noise[metric].run, LEAST)})
    title, labels = ("relative error [%]", PERCENT)
    if score.kind == ABSOLUTE:
        title, labels = ("absolute error", SHARES)
    sizes = sorted({int(str(row["payload_bytes"])) for row in rows})
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
                "axis": {
                    "title": title,
                    "format": "~r",
                    "labelExpr": labels,
                    "tickCount": 5,
                    "gridOpacity": UNLABELLED,
                },
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
                        "axis": {
                            "title": "payload [B]",
                            "labelExpr": BYTE_LABELS,
                            "grid": False,
                            **({"values": sizes} if len(sizes) <= FEW_SIZES else {"tickCount": 6}),
                        },
                    },
                    "tooltip": [{"field": "said", "title": metric}, {"field": "source"}],
                    **marks,
                },
            },
            {"data": {"values": lines}, "mark": "rule", "encoding": dashes},
        ],
    }


def error_rows(trial: Trial, metric: str) -> list[Row]:
    """Return the points of an error plot: one for each left-out dataset row with a payload and a prediction."""
    rows: list[Row] = []
    for one in trial.outcomes:
        if one.point.metric != metric or one.estimate.absent or one.point.payload_bytes is None:
            continue
        predicted, measured = (quantity(metric, n) for n in (one.estimate.value, one.point.value))
        rows.append(
            {
                "payload_bytes": one.point.payload_bytes,
                "error": max(one.error, LEAST),
                "interval": NONE if one.covered is None else HELD if one.covered else MISSED,
                "said": f"{predicted}, measured {measured}",
                "source": one.point.source,
            }
        )
    return rows
