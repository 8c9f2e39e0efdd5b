"""Vega-Lite specification of a plot: encodings, axes and layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from icmodel.estimate import BASES
from icmodel.plotting import (
    BYTE_LABELS,
    CONFIG,
    HEIGHT,
    INK,
    PAPER,
    QUIET,
    SCHEMA,
    UNLABELLED,
    WIDTH,
    Spec,
    ticks,
)

Row = dict[str, object]
"""Data of one plotted point by field: values in SI units, and texts of its tooltip."""
Data = Mapping[str, list[Row]]
"""Data of a plot: name of a layer -> its points."""

SUBTITLE = 68
"""Maximum number of characters in a line of the subtitle. 68 characters are about as wide as a plot."""

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
"""Colour of each line of a plot. Any colour vision can tell the colours apart. Each line also has its own dash."""
DASHES = {PREDICTED: [1, 0], THEORY: [2, 3], REQUESTED: [6, 3], LIMIT: [8, 2, 2, 2]}
SHADES = (PAPER, "#c3cad2", "#7d8793")
"""Fill colours of plotted dataset rows: white for the scenario's payload, two greys for other payloads."""
OTHERS = len(SHADES) - 1
"""Maximum number of other payloads with a fill colour of their own. More payloads share one colour."""
SHAPES = {
    "measured": "circle",
    "tabulated": "square",
    "stated": "diamond",
    "theory": "cross",
    "derived": "triangle-up",
    "assumed": "triangle-down",
    HERE: "circle",
}
"""Symbol of a plotted dataset row by its basis (kind of evidence). The scenario is a filled circle."""


@dataclass(frozen=True, slots=True)
class Title:
    """Texts around a plot: title, subtitle, title of the y axis, and alternative text."""

    text: str
    subtitle: tuple[str, ...]
    value: str
    description: str


def spec(field: str, metric: str, data: Data, title: Title) -> Spec:
    """Make the Vega-Lite specification of a plot: a metric over one field of the scenario.

    Parameters
    ----------
    field, metric : str
        Fields of the data on the x and the y axis.
    data : mapping of str to list of dict
        Data by layer: ``predicted``, ``theory``, ``requested``, ``limit``, ``benchmarked`` and ``here`` (the scenario).
    title : Title
        Texts around the plot.
    """
    plot = _Plot(field, metric, data)
    subtitle = [  # no-break spaces keep an option and its value on one line
        line
        for text in title.subtitle
        for line in wrap(text.replace(" = ", "\u00a0=\u00a0"), SUBTITLE)
    ]
    return {
        "$schema": SCHEMA,
        "description": title.description,
        "title": {
            "text": title.text,
            "subtitle": subtitle,
            "anchor": "start",
            "offset": 14,
        },
        "width": WIDTH,
        "height": HEIGHT,
        "background": None,
        "config": CONFIG,
        "datasets": {name: rows for name, rows in data.items() if rows},
        "encoding": {"x": plot.x, "y": plot.y | {"title": title.value}},
        "layer": list(layers(plot)),
    }


@dataclass(frozen=True)
class _Plot:
    """One plot: its x field, metric and data, with the Vega-Lite encodings shared by its layers."""

    field: str
    metric: str
    data: Data

    @property
    def x(self) -> Spec:
        """Vega-Lite encoding of the x axis.

        A payload axis is logarithmic. A load axis is logarithmic if the requested load is too small for a linear axis.
        """
        layers = ("predicted", "benchmarked")
        xs = [x for layer in layers for x in _numbers(self.field, self.data[layer])]
        first, last = min(xs), max(xs)
        scale: Spec
        if self.field == "payload_bytes":
            title, scale = "payload [B]", {"type": "log", "base": 2}
            scale["domain"] = [first / 1.3, last * 1.3]
            axis: Spec = {"labelExpr": BYTE_LABELS, "tickCount": 7}
        elif self.field == "cores":
            title, scale = "cores", {"domain": [first - 0.5, last + 0.5]}
            axis = {"values": sorted(set(xs)), "format": "d"}
        else:
            title, scale = "requested goodput", {"domain": [0, last]}
            axis = ticks("goodput_bps") | {"tickCount": 5}
            here = _numbers(self.field, self.data["here"])
            if here and is_small(here[0], last):
                start = min(x for x in (*xs, here[0] / 3) if x > 0)
                scale = {"type": "log", "domain": [start, last], "clamp": True}
        return {
            "field": self.field,
            "type": "quantitative",
            "title": title,
            "scale": scale | {"nice": False},
            "axis": axis | {"grid": False},
        }

    @property
    def y(self) -> Spec:
        """Vega-Lite encoding of the y axis.

        A time axis is logarithmic if the times span a factor above 30. A rate axis [b/s] is logarithmic if the
        prediction or the limit is too small for a linear axis.
        """
        metric = self.metric
        drawn = [number for rows in self.data.values() for number in _numbers(metric, rows)]
        ends = [number for rows in self.data.values() for number in _numbers("high", rows)]
        top = max((*drawn, *ends))
        least = min((value for value in drawn if value > 0), default=0.0)
        marked = [
            value for name in ("here", "limit") for value in _numbers(metric, self.data[name])
        ]
        logarithmic = False
        if metric.endswith("_bps"):
            logarithmic = any(is_small(value, top) for value in marked)
        elif metric.endswith("_s") and not metric.endswith("_per_s"):
            logarithmic = top > 30 * least
        scale: Spec = {"domain": [0, top or 1.0], "nice": True}
        if least and logarithmic:
            scale = {"type": "log", "domain": [0.8 * least, 1.25 * top], "clamp": True}
        return {
            "field": metric,
            "type": "quantitative",
            "scale": scale,
            "axis": ticks(metric) | {"tickCount": 5, "gridOpacity": UNLABELLED},
        }

    @property
    def lines(self) -> Spec:
        """Vega-Lite encodings of the lines: colour and dash of each line."""
        drawn = [row.get("line") for rows in self.data.values() for row in rows]
        names = [name for name in DASHES if name in drawn]
        channels = nominal_channels("line", names, color=COLOURS, strokeDash=DASHES)
        legend = {"columns": 4, "symbolType": "stroke", "symbolSize": 400}
        return {name: channel | {"legend": legend} for name, channel in channels.items()}

    @property
    def groups(self) -> dict[str, Row]:
        """One plotted dataset row for each legend entry, in the order of the legend.

        The entries are sorted by basis (kind of evidence), the strongest first. Entries of equal basis are sorted by
        shade (index of the fill colour), ascending.
        """

        def strength(row: Row) -> tuple[int, int]:
            return BASES.index(str(row["basis"])), int(str(row["shade"]))

        rows = sorted(self.data["benchmarked"], key=strength)
        return {str(row["group"]): row for row in rows}

    @property
    def shape(self) -> Spec:
        """Vega-Lite encoding of the shapes of points, with their legend."""
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
                "columns": 4 if self.is_unshaded else 3,
                "symbolSize": 60,
                "symbolStrokeWidth": 1.25,
                "encoding": {"symbols": {"fill": self.fill("value", marked), "stroke": stroke}},
            },
        }

    @property
    def is_unshaded(self) -> bool:
        """Whether no dataset row in the plot is filled with a colour.

        A fill colour marks rows whose payload differs from the scenario's.
        """
        return not any(row["shade"] for row in self.data["benchmarked"])

    def fill(self, field: str, *first: Spec) -> Spec:
        """Return the Vega-Lite fill colour of points, by their entry in the legend.

        Parameters
        ----------
        field : str
            Data field with the name of a point's legend entry.
        *first : dict
            Conditions to test first, before the legend entries.
        """
        shaded = [
            {"test": f"datum.{field} === '{name}'", "value": SHADES[int(str(row["shade"]))]}
            for name, row in self.groups.items()
            if row["shade"]
        ]
        conditions = [*first, *shaded]
        return {"condition": conditions, "value": PAPER} if conditions else {"value": PAPER}

    def tooltip(self, *more: str) -> list[Spec]:
        """Return the Vega-Lite tooltip of a point: position on the x axis, value, and further fields."""
        names = {"at": self.field, "said": self.metric}
        fields = ("at", "said", *more)
        return [{"field": f, "type": "nominal", "title": names.get(f, f)} for f in fields]


def is_small(value: float, axis_end: float) -> bool:
    """Whether a value is positive, but too small to see on a linear axis from 0 to ``axis_end``."""
    return 0 < value < axis_end / 50


def _numbers(field: str, rows: list[Row]) -> list[float]:
    """Return the values of one field, without the rows that lack it."""
    return [float(str(row[field])) for row in rows if row.get(field) is not None]


# --- layers -----------------------------------------------------------------------------------


def nominal_channels(field: str, names: list[str], **channels: Mapping[str, object]) -> Spec:
    """Return Vega-Lite channels, such as colour and shape. A channel maps each name in a data field to a value.

    Parameters
    ----------
    field : str
        Data field with the names.
    names : list of str
        Names, in the order of the legend.
    **channels
        Channel -> mapping of names to values, such as colours.
    """
    return {
        channel: {
            "field": field,
            "type": "nominal",
            "scale": {"domain": names, "range": [values[name] for name in names]},
        }
        for channel, values in channels.items()
    }


def point_plot(
    points: Sequence[Mapping[str, object]], axes: Spec, channels: Spec, **layout: object
) -> Spec:
    """Make the Vega-Lite specification of a plot of points.

    Parameters
    ----------
    points : sequence of mappings
        Data of the points; the field ``said`` is the tooltip.
    axes, channels : dict
        Encodings of the position, and of colour and shape.
    **layout
        Further properties of the plot, such as its height.
    """
    return {
        "$schema": SCHEMA,
        "background": None,
        "width": 420,
        **layout,
        "data": {"values": list(points)},
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
        "encoding": {**axes, "tooltip": [{"field": "said"}], **channels},
        "config": CONFIG,
    }


def layers(plot: _Plot) -> Iterator[Spec]:
    """Yield the Vega-Lite layers of a plot from back to front: from the interval to the point of the scenario."""
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
    """Make one Vega-Lite layer of a plot. ``name`` is its dataset. ``kind`` and ``style`` define its mark."""
    mark = {"type": kind, "aria": False, **style}
    return {"data": {"name": name}, "mark": mark, "encoding": encoding}
