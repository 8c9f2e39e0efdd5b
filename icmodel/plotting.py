"""Plots of predictions over a parameter, as lines with intervals; style and drawing of all plots.

A plot is a Vega-Lite specification. A notebook shows it without further packages; `Plot.save` draws it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from icmodel.documents import json_text, number_or_none, write
from icmodel.errors import ReportError
from icmodel.estimate import (
    BASES,
    EXTRAPOLATED,
    Estimate,
    estimated,
    interval,
    metric_name,
    quantity,
)
from icmodel.keywords import advice

if TYPE_CHECKING:
    from types import ModuleType

    import xarray

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

VEGA_LITE = "5.20"
ENDINGS = (".svg", ".png")
EXTRA = "install icmodel[report], which brings vl-convert-python"
MIME = "application/vnd.vegalite.v5+json"
SERIES = ("#0b5cad", "#b3261f", "#1a7f37", "#8f5a00", "#6f42c1", "#57606a")
"""Colours of the lines of a plot; each line also has its own dash pattern."""
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [12, 3], [4, 1])
MOST_POINTS = 100_000
"""Greatest number of points of a plot."""
WIDE = 50
"""If the greatest number on an axis is more than this many times the least, the axis may be logarithmic."""


@dataclass(frozen=True)
class Plot:
    """A plot of predictions; notebooks display it, and `save` writes it as a picture.

    Parameters
    ----------
    spec : dict
        Vega-Lite specification of the plot, data included.
    """

    spec: Spec

    def __repr__(self) -> str:
        return f"Plot({self.spec['title']['text']!r})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Spec:
        """Return the specification for a notebook, and a picture if vl-convert is installed."""
        bundle: Spec = {MIME: self.spec, "text/plain": repr(self)}
        return bundle | ({"image/svg+xml": self.svg()} if drawable() else {})

    def svg(self) -> str:
        """Draw the plot as an SVG picture.

        Raises
        ------
        ReportError
            If vl-convert is not installed, or cannot draw the specification.
        """
        return svg(self.spec)

    def save(self, path: str | Path) -> None:
        """Write the plot into a file: SVG, PNG, or the specification as JSON.

        Raises
        ------
        ReportError
            If the extension is unknown, vl-convert is not installed, or the file cannot be written.
        """
        if Path(path).suffix.lower() == ".json":
            write(path, json_text(self.spec).encode())
        else:
            save(self.spec, path)


# --- grids ------------------------------------------------------------------------------------


def grid_plot(grid: xarray.Dataset, metric: str = "goodput_bps", over: str = "") -> Plot:
    """Plot a metric of a grid of predictions over one dimension, as lines with intervals.

    There is one line for each combination of the other dimensions.

    Grids are made by `icmodel.sweep`, `icmodel.Model.predict_many` and `icmodel.Prediction.to_xarray`. Such a grid
    has this function as a method, too: ``grid.icmodel.plot("goodput_bps")``.

    Parameters
    ----------
    grid : xarray.Dataset
        The predictions. At most six combinations of the other dimensions can be plotted; select some by ``grid.sel``.
    metric : str
        Metric to plot.
    over : str, optional
        Dimension of the x axis; by default the numeric dimension with the most values.

    Raises
    ------
    ReportError
        If the grid does not have the metric or the dimension, or has too many lines or points.

    Examples
    --------
    >>> import icmodel
    >>> model = icmodel.Model("ethernet-10g-2012")
    >>> grid = icmodel.sweep(model, payload="64 B..1448 B", cores="1, 4")
    >>> plot = grid.icmodel.plot("goodput_bps")
    >>> plot
    Plot('Goodput over payload')
    >>> plot.save("goodput.svg")
    """
    # Intervals, bases and the bottleneck are variables of the grid, but not metrics.
    metrics = [
        name
        for name in map(str, grid.data_vars)
        if name != "bottleneck" and not name.endswith(("_low", "_high", "_basis"))
    ]
    if metric not in metrics:
        raise ReportError(f"the grid has no metric {metric!r}: {advice(metric, metrics)}")
    column = grid[metric]
    numeric = {str(dim): size for dim, size in column.sizes.items() if _is_numeric(grid, str(dim))}
    if not numeric:
        raise ReportError(
            f"the grid has no dimension of numbers to plot over: predict {metric} for several values of a "
            "parameter, such as payload"
        )
    if over and over not in numeric:
        raise ReportError(f"the grid has no dimension {over!r}: {advice(over, numeric)}")
    over = over or max(numeric, key=lambda dim: numeric[dim])
    others = [str(dim) for dim in column.dims if dim != over]
    lines = math.prod(column.sizes[dim] for dim in others)
    if lines > len(SERIES) or column.size > MOST_POINTS:
        raise ReportError(
            f"the plot would have {lines} lines of {column.sizes[over]} points: select at most {len(SERIES)} lines "
            f"by grid.sel({others[0] if others else over}=...)"
        )
    rows = list(_grid_rows(grid, metric, over, others))
    if not rows:
        raise ReportError(f"the grid has no value of {metric}: plot another metric")
    return Plot(_grid_spec(grid, metric, over, rows))


def _is_numeric(grid: xarray.Dataset, dim: str) -> bool:
    return dim not in grid.coords or grid[dim].dtype.kind in "iuf"


def _grid_rows(
    grid: xarray.Dataset, metric: str, over: str, others: list[str]
) -> Iterator[dict[str, object]]:
    """Yield the points of all lines of a plot as dictionaries of Vega-Lite.

    A point has the name of its line, x, value, low, high and basis. Two texts are for the tooltip: ``at`` has x with
    its unit, and ``said`` the value with its interval.
    """
    dims = [*others, over]
    labels = [
        grid[dim].values if dim in grid.coords else np.arange(grid.sizes[dim]) for dim in dims
    ]
    value = grid[metric].transpose(*dims).values
    ends = [
        grid[name].transpose(*dims).values if name in grid else value
        for name in (f"{metric}_low", f"{metric}_high")
    ]
    codes = np.full(value.shape, -1)
    if f"{metric}_basis" in grid:
        codes = np.nan_to_num(grid[f"{metric}_basis"].transpose(*dims).values, nan=-1).astype(int)
    for place in np.ndindex(value.shape):
        at = [label[k].item() for label, k in zip(labels, place, strict=True)]
        number, low, high = (float(column[place]) for column in (value, *ends))
        if not math.isfinite(number) or not math.isfinite(at[-1]):
            continue
        basis = BASES[codes[place]] if codes[place] >= 0 else ""
        estimate = Estimate(number, low, high, basis)
        names = zip(others, at[:-1], strict=True)
        yield {
            "x": at[-1],
            "value": number,
            "low": number_or_none(low),
            "high": number_or_none(high),
            "line": ", ".join(_parameter(name, label) for name, label in names)
            or metric_name(metric),
            "basis": basis,
            "extrapolated": basis == EXTRAPOLATED,
            "at": quantity(over, at[-1]),
            "said": f"{estimated(metric, estimate)} ({interval(metric, estimate)})",
        }


def _parameter(name: str, value: object) -> str:
    """Return a parameter and its value in words; a protocol, dataset or variant is shown by its value alone."""
    if isinstance(value, str):
        return value if name in ("protocol", "dataset", "variant") else f"{name} = {value}"
    text = quantity(name, float(str(value)))
    return text if name not in COUNTED else f"{text} {name if value != 1 else name[:-1]}"


COUNTED = ("cores", "endpoints")
"""Parameters whose name follows the number in labels, as in ``4 cores``."""


def _grid_spec(grid: xarray.Dataset, metric: str, over: str, rows: list[dict[str, object]]) -> Spec:
    axis_title = re.sub(r"_(bytes|fps|bps|s|m|ratio)$", "", over).replace("_", " ")
    name = metric_name(metric)
    text = f"{name[0].upper()}{name[1:]} over {axis_title}"
    fixed = [
        _parameter(str(key), coordinate.item())
        for key, coordinate in grid.coords.items()
        if coordinate.ndim == 0 and str(key) in IN_SUBTITLE
    ]
    source = [str(grid.attrs[key]) for key in ("dataset", "variant") if key in grid.attrs]
    subtitle = [", ".join([*source, *fixed])] if source or fixed else []
    extrapolated = any(row["extrapolated"] for row in rows)
    subtitle.append(
        "band: 90 % interval" + ("; hollow points: extrapolated" if extrapolated else "")
    )
    lines = list(dict.fromkeys(str(row["line"]) for row in rows))
    several = lines != [name]
    legend = (
        {"columns": 3, "symbolType": "stroke", "symbolSize": 400, "symbolOpacity": 1}
        if several
        else None
    )
    colour: Spec = {
        "field": "line",
        "type": "nominal",
        "scale": {"domain": lines, "range": list(SERIES[: len(lines)])},
        "legend": legend,
    }
    dash = colour | {"scale": {"domain": lines, "range": list(DASHES[: len(lines)])}}
    tooltip = [
        {"field": field, "type": "nominal", "title": title}
        for field, title in (("line", "line"), ("at", over), ("said", metric), ("basis", "basis"))
    ]
    lined: Spec = {"color": colour, "tooltip": tooltip}
    band: Spec = {"color": colour, "y": {"field": "low"}, "y2": {"field": "high"}}
    points: Spec = {"type": "point", "size": 28, "opacity": 1, "aria": False}
    hollow: Spec = {"filled": False, "fill": PAPER, "strokeWidth": 1.5}
    return {
        "$schema": SCHEMA,
        "description": f"Line plot: {text[0].lower()}{text[1:]}, {len(rows)} predicted points",
        "title": {"text": text, "subtitle": subtitle, "anchor": "start", "offset": 14},
        "width": WIDTH,
        "height": HEIGHT,
        "background": None,
        "config": CONFIG,
        "datasets": {"points": rows},
        "data": {"name": "points"},
        "encoding": {
            "x": _grid_x(over, axis_title, [float(str(row["x"])) for row in rows]),
            "y": _grid_y(metric, name, rows),
        },
        "layer": [
            {"mark": {"type": "area", "opacity": 0.14, "aria": False}, "encoding": band},
            {
                "mark": {"type": "line", "strokeWidth": 2.25, "aria": False},
                "encoding": lined | {"strokeDash": dash},
            },
            {
                "mark": points | {"filled": True},
                "transform": [{"filter": "!datum.extrapolated"}],
                "encoding": lined,
            },
            {
                "mark": points | hollow,
                "transform": [{"filter": "datum.extrapolated"}],
                "encoding": lined,
            },
        ],
    }


IN_SUBTITLE = ("protocol", "payload_bytes", "rate_fps", "cores", "switches", "endpoints")
"""Parameters that the subtitle of a plot states if they are the same at all points."""


def _grid_x(over: str, title: str, xs: list[float]) -> Spec:
    first, last = min(xs), max(xs)
    middle = sorted(xs)[(len(xs) - 1) // 2]
    wide = first > 0 and last > WIDE * first and middle < last / 4
    scale: Spec = {"nice": False, "zero": False}
    axis: Spec = {"grid": False, "tickCount": 7}
    if over == "payload_bytes":
        title = f"{title} [B]"
        if wide:
            axis["labelExpr"] = BYTE_LABELS
            scale |= {"type": "log", "base": 2}
    elif wide:
        scale |= {"type": "log"}
    if over.endswith(("_bps", "_fps", "_s")):
        axis |= {"format": "~s", "labelExpr": SI_LABELS.format(unit=X_UNITS[over.rsplit("_")[-1]])}
    elif len(set(xs)) <= 8 and over != "payload_bytes":
        axis |= {"values": sorted(set(xs)), "format": "~r"}
    return {"field": "x", "type": "quantitative", "title": title, "scale": scale, "axis": axis}


X_UNITS = {"bps": "b/s", "fps": "/s", "s": "s"}


def _grid_y(metric: str, title: str, rows: list[dict[str, object]]) -> Spec:
    drawn = [
        float(str(row[end]))
        for row in rows
        for end in ("value", "low", "high")
        if row[end] is not None
    ]
    least, top = min((value for value in drawn if value > 0), default=0.0), max(drawn)
    scale: Spec = {"domain": [min(0.0, *drawn), top or 1.0], "nice": True}
    if metric.endswith("_s") and not metric.endswith("_per_s") and least and top > WIDE * least:
        scale = {"type": "log", "domain": [0.8 * least, 1.25 * top], "clamp": True}
    axis = ticks(metric) | {"tickCount": 5, "gridOpacity": UNLABELLED}
    return {"field": "value", "type": "quantitative", "title": title, "scale": scale, "axis": axis}


class GridPlots:
    """Plots of a grid of predictions, available as the attribute ``icmodel`` of every ``xarray.Dataset``."""

    def __init__(self, grid: xarray.Dataset) -> None:
        self._grid = grid

    def plot(self, metric: str = "goodput_bps", over: str = "") -> Plot:
        """Plot a metric of the grid with its intervals; see `icmodel.plotting.grid_plot`."""
        return grid_plot(self._grid, metric, over)


# --- style of all plots -----------------------------------------------------------------------

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH, HEIGHT = 360, 230
INK, QUIET, GRID, PAPER = "#24292f", "#57606a", "#e3e6ea", "#ffffff"
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
"""Opacity of grid lines; grid lines without a label are invisible."""
SI_LABELS = "datum.label ? replace(datum.label, /([0-9])([^0-9]?)$/, '$1 $2') + '{unit}' : ''"
"""Vega expression that turns the tick label ``20µ`` into ``20 µs``; empty labels stay empty."""


def ticks(metric: str) -> Spec:
    """Return the settings of Vega-Lite for labels on a metric's axis: SI prefix and unit, or per cent, at each tick."""
    if metric.endswith("_cores"):
        return {"format": "~r"}
    if not metric.endswith(("_s", "_bps")):
        return {"format": "~%", "labelExpr": "replace(datum.label, '%', ' %')"}
    unit = "b/s" if metric.endswith("_bps") else "/s" if metric.endswith("_per_s") else "s"
    return {"format": "~s", "labelExpr": SI_LABELS.format(unit=unit)}


# --- pictures ---------------------------------------------------------------------------------


def svg(plot: Spec) -> str:
    """Draw a plot as an SVG picture.

    Raises
    ------
    ReportError
        If vl-convert is not installed, or cannot draw the specification.
    """
    try:
        return str(_converter().vegalite_to_svg(plot, vl_version=VEGA_LITE))
    except ValueError as error:
        raise ReportError(f"the plot cannot be drawn: {error}") from error


def save(plot: Spec, path: str | Path) -> None:
    """Draw a plot into a picture file; the file extension decides between SVG and PNG.

    Raises
    ------
    ReportError
        If the extension is not .svg or .png, vl-convert is not installed, or the file cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ReportError(f"{path} is not a picture file: end the name in {' or '.join(ENDINGS)}")
    opaque = plot | {"background": "white"}
    if ending == ".svg":
        write(path, svg(opaque).encode())
    else:
        write(path, _converter().vegalite_to_png(opaque, vl_version=VEGA_LITE, scale=2))


def drawable() -> bool:
    """Whether vl-convert, which draws plots, is installed."""
    try:
        _converter()
    except ReportError:
        return False
    return True


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ImportError as error:
        raise ReportError(f"plots need vl-convert, which is not installed: {EXTRA}") from error
    return vl_convert
