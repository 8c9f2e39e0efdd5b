"""Drawing of a plot: encodings, axes and layers of its Vega-Lite specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from icmodel.estimate import BASES
from icmodel.report.profile import is_small

Spec = dict[str, Any]
Row = dict[str, object]
Data = Mapping[str, list[Row]]

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH, HEIGHT = 360, 230
SUBTITLE = 68
"""Characters of a subtitle's line, about as wide as a plot with its axis."""

PREDICTED, THEORY, REQUESTED, LIMIT, HERE = (
    "predicted",
    "theory bound",
    "requested",
    "limit",
    "this scenario",
)
COLOURS = {
    PREDICTED: "#0b5cad",
    THEORY: "#6a737d",
    REQUESTED: "#8f5a00",
    LIMIT: "#b3261f",
    HERE: "#c2410c",
}
"""Colours that can be distinguished with any colour vision; each line also has its own dash."""
DASHES = {PREDICTED: [1, 0], THEORY: [2, 3], REQUESTED: [6, 3], LIMIT: [8, 2, 2, 2]}
INK, QUIET, GRID, PAPER = "#24292f", "#57606a", "#e3e6ea", "#ffffff"
SHADES = (PAPER, "#c3cad2", "#7d8793")
"""Fill of a benchmarked point: of the plot's own payload, of a smaller one, of a greater one."""
OTHERS = len(SHADES) - 1
"""Greatest number of other payloads that can be distinguished."""
SHAPES = {
    "measured": "circle",
    "tabulated": "square",
    "stated": "diamond",
    "theory": "cross",
    "derived": "triangle-up",
    "assumed": "triangle-down",
    HERE: "circle",
}
"""Shape of a benchmarked point by its basis; the scenario itself is a filled circle."""

_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
CONFIG: Spec = {
    "font": _FONT,
    "view": {"stroke": None},
    "title": {"color": INK, "subtitleColor": QUIET, "fontSize": 13, "subtitlePadding": 4},
    "axis": {
        "labelColor": QUIET,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "titleFontSize": 13,
        "labelFontSize": 12,
        "gridColor": GRID,
        "domainColor": QUIET,
        "tickColor": QUIET,
        "tickSize": 4,
        "titlePadding": 8,
    },
    "axisY": {"domain": False, "ticks": False},
    "legend": {
        "orient": "bottom",
        "direction": "horizontal",
        "title": None,
        "labelColor": INK,
        "labelFontSize": 12,
        "columnPadding": 14,
        "rowPadding": 3,
        "offset": 10,
        "layout": {"bottom": {"direction": "vertical", "anchor": "start", "margin": 4}},
    },
}
BYTE_LABELS = (
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + ' Mi' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~r') + ' Ki' : format(datum.value, '~r')"
)

UNLABELLED: Spec = {"condition": {"test": "datum.label === ''", "value": 0}, "value": 1}
"""Opacity of the lines of a grid, of which those without a label are not drawn."""
SI_LABELS = "datum.label ? replace(datum.label, /([0-9])([^0-9]?)$/, '$1 $2') + '{unit}' : ''"
"""A tick's label with a prefix, such as 20µ, made 20 µs; one that Vega leaves out stays empty."""


@dataclass(frozen=True, slots=True)
class Title:
    """Texts around a plot: title, axis title, and alternative text."""

    text: str
    subtitle: tuple[str, ...]
    value: str
    description: str


def spec(field: str, metric: str, data: Data, title: Title) -> Spec:
    """The whole specification of a metric over the field of a scenario."""
    here = _Plot(field, metric, data)
    return {
        "$schema": SCHEMA,
        "description": title.description,
        "title": {
            "text": title.text,
            "subtitle": list(_lines(title.subtitle)),
            "anchor": "start",
            "offset": 14,
        },
        "width": WIDTH,
        "height": HEIGHT,
        "background": None,
        "config": CONFIG,
        "datasets": {name: rows for name, rows in data.items() if rows},
        "encoding": {"x": here.x, "y": here.y | {"title": title.value}},
        "layer": list(_layers(here)),
    }


def _lines(texts: tuple[str, ...]) -> Iterator[str]:
    """Texts in lines as wide as a plot; an option stays beside its value."""
    for text in texts:
        yield from wrap(text.replace(" = ", "\u00a0=\u00a0"), SUBTITLE)


@dataclass(frozen=True)
class _Plot:
    """What every layer of one plot shares."""

    field: str
    metric: str
    data: Data

    @property
    def x(self) -> Spec:
        names = ("predicted", "benchmarked")
        xs = [x for name in names for x in _numbers(self.field, self.data[name])]
        here = _numbers(self.field, self.data["here"])
        return {"field": self.field, "type": "quantitative", **_x_axis(self.field, xs, here)}

    @property
    def y(self) -> Spec:
        return {
            "field": self.metric,
            "type": "quantitative",
            "scale": _y_scale(self.metric, self.data),
            "axis": ticks(self.metric) | {"tickCount": 5, "gridOpacity": UNLABELLED},
        }

    @property
    def lines(self) -> Spec:
        """Colour and dash of each line."""
        drawn = [row.get("line") for rows in self.data.values() for row in rows]
        names = [name for name in DASHES if name in drawn]
        channels = told_apart("line", names, color=COLOURS, strokeDash=DASHES)
        legend = {"columns": 4, "symbolType": "stroke", "symbolSize": 400}
        return {name: channel | {"legend": legend} for name, channel in channels.items()}

    @property
    def groups(self) -> dict[str, Row]:
        """A benchmarked row of each group the legend names, what it rests on strongest first."""
        rows = sorted(self.data["benchmarked"], key=_strength)
        return {str(row["group"]): row for row in rows}

    @property
    def shape(self) -> Spec:
        shapes = {name: SHAPES[str(row["basis"])] for name, row in self.groups.items()}
        if self.data["here"]:
            shapes[HERE] = SHAPES[HERE]
        here = f"datum.value === '{HERE}'"
        marked = {"test": here, "value": COLOURS[HERE]}
        stroke = {"condition": {"test": here, "value": PAPER}, "value": INK}
        return {
            "type": "nominal",
            "scale": {"domain": list(shapes), "range": list(shapes.values())},
            "legend": {
                "columns": 4 if self.own else 3,
                "symbolSize": 60,
                "symbolStrokeWidth": 1.25,
                "encoding": {"symbols": {"fill": self.fill("value", marked), "stroke": stroke}},
            },
        }

    @property
    def own(self) -> bool:
        """Whether every benchmarked point is of the plot's own payload."""
        return not any(row["shade"] for row in self.data["benchmarked"])

    def fill(self, field: str, *first: Spec) -> Spec:
        """The filling of a point by the group that a field names."""
        shaded = [
            {"test": f"datum.{field} === '{name}'", "value": SHADES[int(str(row["shade"]))]}
            for name, row in self.groups.items()
            if row["shade"]
        ]
        conditions = [*first, *shaded]
        return {"condition": conditions, "value": PAPER} if conditions else {"value": PAPER}

    def tooltip(self, *more: str) -> list[Spec]:
        names = {"at": self.field, "said": self.metric}
        fields = ("at", "said", *more)
        return [{"field": f, "type": "nominal", "title": names.get(f, f)} for f in fields]


def _strength(row: Row) -> tuple[int, int]:
    """Order of the legend: by basis, then the plot's own payload first."""
    return BASES.index(str(row["basis"])), int(str(row["shade"]))


# --- axes -------------------------------------------------------------------------------------


def _numbers(field: str, rows: list[Row]) -> list[float]:
    """The numbers of one field; rows without it are left out."""
    return [float(str(row[field])) for row in rows if row.get(field) is not None]


def ticks(metric: str) -> Spec:
    """Labels of a metric's axis: with the prefix and unit of each tick, or per cent."""
    if metric.endswith("_cores"):
        return {"format": "~r"}
    if not metric.endswith(("_s", "_bps")):
        return {"format": "~%", "labelExpr": "replace(datum.label, '%', ' %')"}
    unit = "b/s" if metric.endswith("_bps") else "/s" if metric.endswith("_per_s") else "s"
    return {"format": "~s", "labelExpr": SI_LABELS.format(unit=unit)}


def _x_axis(field: str, xs: list[float], here: list[float]) -> Spec:
    first, last = min(xs), max(xs)
    if field == "payload_bytes":
        scale: Spec = {"type": "log", "base": 2, "domain": [first / 1.3, last * 1.3]}
        return _axis("payload [B]", scale, {"labelExpr": BYTE_LABELS, "tickCount": 7})
    if field == "cores":
        scale = {"domain": [first - 0.5, last + 0.5]}
        return _axis("cores", scale, {"values": sorted(set(xs)), "format": "d"})
    scale = {"domain": [0, last]}
    if here and is_small(here[0], last):
        start = min(x for x in (*xs, here[0] / 3) if x > 0)
        scale = {"type": "log", "domain": [start, last], "clamp": True}
    return _axis("requested goodput", scale, ticks("goodput_bps") | {"tickCount": 5})


def _axis(title: str, scale: Spec, axis: Spec) -> Spec:
    return {"title": title, "scale": scale | {"nice": False}, "axis": axis | {"grid": False}}


def _y_scale(metric: str, data: Data) -> Spec:
    drawn = [number for rows in data.values() for number in _numbers(metric, rows)]
    ends = [number for rows in data.values() for number in _numbers("high", rows)]
    top = max((*drawn, *ends))
    least = min((value for value in drawn if value > 0), default=0.0)
    marked = [value for name in ("here", "limit") for value in _numbers(metric, data[name])]
    if least and _is_logarithmic(metric, least, top, marked):
        return {"type": "log", "domain": [0.8 * least, 1.25 * top], "clamp": True}
    return {"domain": [0, top or 1.0], "nice": True}


def _is_logarithmic(metric: str, least: float, top: float, marked: list[float]) -> bool:
    """Whether an axis is logarithmic: for times over a wide range, and goodputs with values too small to see."""
    if metric.endswith("_per_s") or not metric.endswith(("_s", "_bps")):
        return False
    if metric.endswith("_s"):
        return top > 30 * least
    return any(is_small(value, top) for value in marked)


# --- layers -----------------------------------------------------------------------------------


def told_apart(field: str, names: list[str], **channels: Mapping[str, object]) -> Spec:
    """Channels such as colour and shape, of which each name of a field has its own value."""
    return {
        channel: {
            "field": field,
            "type": "nominal",
            "scale": {"domain": names, "range": [values[name] for name in names]},
        }
        for channel, values in channels.items()
    }


def _layers(plot: _Plot) -> Iterator[Spec]:
    """From back to front: interval, theory, request, limit, prediction, points, the scenario."""
    ends: Spec = {"y": {"field": "low"}, "y2": {"field": "high"}}
    pieces: Spec = {"detail": {"field": "piece"}}
    pale = {"condition": {"test": "datum.extrapolated", "value": 0.45}, "value": 1}
    payload = () if plot.field == "payload_bytes" else ("payload",)
    blue, orange = COLOURS[PREDICTED], COLOURS[HERE]
    line, thin = plot.lines | {"tooltip": plot.tooltip()}, {"strokeWidth": 1.5}
    yield _layer("predicted", "area", {"fill": blue, "fillOpacity": 0.14}, ends | pieces)
    for name in ("theory", "requested"):
        if plot.data[name]:
            yield _layer(name, "line", thin, line)
    if plot.data["limit"]:
        yield _layer("limit", "rule", thin, line | {"x": None, "tooltip": plot.tooltip()[1:]})
    predicted = line | pieces | {"opacity": pale, "tooltip": plot.tooltip("basis")}
    yield _layer("predicted", "line", {"strokeWidth": 2.25}, predicted)
    if plot.data["benchmarked"]:
        yield _layer(
            "benchmarked", "rule", {"stroke": QUIET, "strokeWidth": 1, "opacity": 0.8}, ends
        )
        style = {"size": 34, "stroke": INK, "strokeWidth": 1.25, "opacity": 1}
        shown: Spec = {"shape": plot.shape | {"field": "group"}, "fill": plot.fill("group")}
        tooltip = plot.tooltip(*payload, "load", "basis", "source")
        yield _layer("benchmarked", "point", style, shown | {"tooltip": tooltip})
    if plot.data["here"]:
        yield _layer("here", "rule", {"stroke": orange, "strokeWidth": 2.5, "opacity": 0.8}, ends)
        style = {"size": 110, "fill": orange, "stroke": PAPER, "strokeWidth": 1.5, "opacity": 1}
        shown = {"shape": plot.shape | {"field": "line"}, "tooltip": plot.tooltip("basis")}
        yield _layer("here", "point", style, shown)


def _layer(name: str, kind: str, style: Spec, encoding: Spec) -> Spec:
    """One layer: the rows it draws, how, and its encoding besides what all layers share."""
    mark = {"type": kind, "aria": False, **style}
    return {"data": {"name": name}, "mark": mark, "encoding": encoding}
