"""Plots of an evaluation: four for each stream of the judged candidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial

from icmodel.dataset.repeats import ABSOLUTE
from icmodel.errors import OutOfDomain, ReportError
from icmodel.estimate import metric_name, plural, quantity
from icmodel.model import Model
from icmodel.report.blocks import Block, Cell, Figure, Figures, Heading, Table, Text
from icmodel.report.drawing import (
    BYTE_LABELS,
    COLOURS,
    CONFIG,
    HERE,
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
from icmodel.report.plots import BORROWED, describe, is_fastest, profile_plot
from icmodel.report.profile import Profile, profile
from icmodel.requirement import Requirement
from icmodel.usecase import Answer, CandidateResult, Evaluation
from icmodel.validate import Trial, Validation

LATENCIES = ("latency_mean_s", "rtt_half_mean_s", "rtt_mean_s")
CPUS = ("cpu_recv", "cpu_send", "cpu_recv_cores", "cpu_send_cores")
"""CPU metrics to plot, the first that exists."""


def figures(evaluation: Evaluation) -> Iterator[Block]:
    """The plots of the judged candidate, stream by stream."""
    chosen = evaluation.chosen
    yield Text(
        "Points are rows of the dataset, their shape what they rest on, thin lines the range their "
        "source gives; the line is predicted, the shaded band its 90 % interval, pale where it is "
        "extrapolated."
    )
    for answer in chosen.answers:
        yield Heading(f"{chosen.name}: {answer.stream}")
        made = tuple(_of_stream(evaluation.model, chosen, answer))
        if made:
            yield Figures(made)
        else:
            yield Text(f"Nothing to plot: {answer.why or 'the dataset has no curve of it'}.")


def _of_stream(model: Model, candidate: CandidateResult, answer: Answer) -> Iterator[Figure]:
    if answer.prediction is None:
        return
    limits = {
        finding.verdict.requirement.metric: finding.verdict.requirement
        for finding in candidate.findings
        if finding.stream == answer.stream and not finding.device
    }
    walked = cache(partial(profile, model, answer.scenario))
    for metric, over in _wanted(model, answer, limits):
        try:
            walk = walked(over, fastest=is_fastest(metric, over))
            yield _figure(walk, metric, limits.get(metric))
        except (OutOfDomain, ReportError):
            continue


def _wanted(
    model: Model, answer: Answer, limits: Mapping[str, Requirement]
) -> Iterator[tuple[str, str]]:
    """The plots to make: a metric, and what it is drawn over."""
    metrics = {} if answer.prediction is None else answer.prediction.metrics
    known = [name for name, estimate in metrics.items() if not estimate.absent]
    if "goodput_bps" in known:
        yield "goodput_bps", "payload"
    times = [name for name in (*limits, *LATENCIES) if name in known and name.endswith("_s")]
    if times:
        if _has_loads(model, times[0], answer):
            yield times[0], "load"
        yield times[0], "payload"
    cpus = [name for name in (*limits, *CPUS) if name in known and name.startswith("cpu_")]
    if cpus:
        yield cpus[0], "load" if _has_loads(model, cpus[0], answer) else "payload"


def _has_loads(model: Model, metric: str, answer: Answer) -> bool:
    """Whether the dataset has a metric at two loads or more, so that a curve is useful."""
    loads = {
        point.load_bps
        for point in model.data.points
        if point.metric == metric and point.protocol == answer.scenario.protocol
    }
    return len(loads) > 1


def _figure(walk: Profile, metric: str, requirement: Requirement | None) -> Figure:
    spec = profile_plot(walk, metric, requirement)
    title = spec["title"]["text"]
    fastest = is_fastest(metric, walk.over)
    caption = f"{title}: {describe(walk.here.scenario, walk.field, fastest=fastest)}."
    if walk.substituted:
        caption += f" {BORROWED.capitalize()}."
    if walk.over == "payload" and not fastest:
        caption += " The requested goodput stays as it is, cut into other frames."
    if walk.over == "load":
        caption += " Points without a load limit stand at the right end."
    if any(row["shade"] for row in spec["datasets"].get("benchmarked", ())):
        caption += " Grey points are of other payloads."
    if metric == "goodput_bps" and walk.here.scenario.endpoints > 1:
        caption += " The points are of one stream alone, the line is this stream's share."
    return Figure(title, caption, spec["description"], spec, _numbers(spec, walk, metric))


def _numbers(spec: Spec, walk: Profile, metric: str) -> Table:
    """The numbers of a plot at its benchmarked points and at the scenario itself."""
    data: dict[str, list[Row]] = spec["datasets"]
    points = data.get("benchmarked", [])
    theory = {row[walk.field]: str(row["said"]) for row in data.get("theory", [])}
    steps = {row[walk.field]: row for row in data["predicted"]}
    columns = [f"#{walk.over}", "#predicted", "rests on", "benchmarked"]
    rows = []
    for x in sorted({row[walk.field] for row in points} & steps.keys(), key=_number):
        found = "; ".join(_point(point) for point in points if point[walk.field] == x)
        rows.append((steps[x]["at"], steps[x]["said"], steps[x]["basis"], found, theory.get(x, "")))
    for row in data.get("here", []):
        at = f"{row['at']}, {HERE}"
        rows.append((at, row["said"], row["basis"], "", theory.get(row[walk.field], "")))
    if theory:
        columns.append("#theory bound")
    cells = tuple(tuple(Cell(str(cell)) for cell in row[: len(columns)]) for row in rows)
    return Table(f"Numbers of the plot: {metric_name(metric)}", tuple(columns), cells)


def _number(value: object) -> float:
    return float(str(value))


def _point(point: Row) -> str:
    said = {"not said": "", "unlimited": ", as fast as it goes"}
    load = said.get(str(point["load"]), f" at {point['load']}")
    return f"{point['said']}{load} ({point['group']})"


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
