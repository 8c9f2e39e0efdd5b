"""Plots as Vega-Lite specifications: a metric along one axis, with the points used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from icmodel.dataset import Point
from icmodel.errors import ReportError
from icmodel.estimate import (
    EXTRAPOLATED,
    Estimate,
    estimated,
    interval,
    metric_name,
    number_or_none,
    plural,
    quantity,
)
from icmodel.files import write
from icmodel.model import Model
from icmodel.report.drawing import (
    HERE,
    LIMIT,
    OTHERS,
    PREDICTED,
    REQUESTED,
    THEORY,
    Row,
    Spec,
    Title,
    spec,
)
from icmodel.report.profile import Profile, Step, known, profile
from icmodel.requirement import Requirement
from icmodel.scenario import Scenario

if TYPE_CHECKING:
    from types import ModuleType

VEGA_LITE = "5.20"
ENDINGS = (".svg", ".png")
EXTRA = "install icmodel[report], which brings vl-convert-python"
FASTEST = ("goodput_bps", "sent_bps", "frames_per_s")
"""Metrics that are plotted for the unlimited load, with the request as a separate line."""
BORROWED = "never measured so: the points are of the options most alike"
"""Note on a plot with rows of other options."""


def metric_plot(
    model: Model,
    metric: str,
    over: str,
    scenario: Scenario,
    *,
    requirement: Requirement | None = None,
) -> Spec:
    """A Vega-Lite specification of one metric along an axis, everything else as in the scenario.

    It has the predicted line with its 90 % interval, the benchmarked points used (shape: basis),
    theory's bound, the request, and the scenario itself as one marked point.

    Parameters
    ----------
    metric : str
        Such as ``goodput_bps`` or ``latency_mean_s``.
    over : "payload", "load" or "cores"
        Over ``payload`` the requested goodput is constant; goodput over ``payload`` or
        ``cores`` is drawn for the unlimited load.
    requirement : Requirement, optional
        Its limit is drawn, if it is about this metric.

    Raises
    ------
    ReportError
        If there is no such axis, or nothing to draw along it.
    OutOfDomain, ScenarioError
        If the dataset cannot answer the scenario.
    """
    walk = profile(model, scenario, over, fastest=is_fastest(metric, over))
    return profile_plot(walk, metric, requirement)


def is_fastest(metric: str, over: str) -> bool:
    """Whether a plot shows the unlimited load instead of the request."""
    return metric in FASTEST and over != "load"


def profile_plot(walk: Profile, metric: str, requirement: Requirement | None = None) -> Spec:
    """The specification of one metric of a profile; see `metric_plot`.

    Raises
    ------
    ReportError
        If no step of the profile has the metric.
    """
    if not walk.answering(metric):
        why = walk.here.metrics[metric].why if metric in walk.here.metrics else ""
        have = ", ".join(name for name in walk.here.metrics if walk.answering(name))
        raise ReportError(
            f"{walk.model.data.id} gives no {metric} here{f' ({why})' if why else ''}: "
            f"{f'plot one of {have}' if have else 'ask at parameters it has rows for'}"
        )
    data = datasets(walk, metric, requirement)
    return spec(walk.field, metric, data, _title(walk, metric))


def _title(walk: Profile, metric: str) -> Title:
    axis = {"payload": "payload", "load": "requested goodput", "cores": "cores"}[walk.over]
    name, fastest = metric_name(metric), is_fastest(metric, walk.over)
    value = f"greatest {name}" if fastest else name
    text = f"{value[0].upper()}{value[1:]} over {axis}"
    here = ""
    if known(walk.here, metric):
        here = f" This scenario: {quantity(metric, walk.here.metrics[metric].value)}."
    data = f"{walk.model.data.id}, {walk.model.variant}"
    asked = f"{data}: {describe(walk.here.scenario, walk.field, fastest=fastest)}"
    return Title(
        text=text,
        subtitle=(asked, BORROWED) if walk.substituted else (asked,),
        value=value,
        description=f"Line plot: {text[0].lower()}{text[1:]}, predicted on {data}.{here}",
    )


def describe(asked: Scenario, varied: str, *, fastest: bool = False) -> str:
    """The constant parameters while one field is varied, as text."""
    held = {
        "payload_bytes": quantity("payload_bytes", asked.payload_bytes),
        "requested_goodput_bps": f"{quantity('goodput_bps', asked.requested_goodput_bps)} asked",
        "cores": "" if asked.cores is None else plural(asked.cores, "core"),
        "switches": plural(asked.switches, "switch") if asked.switches else "",
        "endpoints": plural(asked.endpoints, "endpoint") if asked.endpoints > 1 else "",
    }
    if fastest or asked.rate_fps is None:
        held["requested_goodput_bps"] = "as fast as it goes"
    named = [text for field, text in held.items() if field != varied and text]
    return ", ".join([asked.protocol, *named, *(f"{a} = {v}" for a, v in asked.options.items())])


# --- the numbers of a plot --------------------------------------------------------------------


def datasets(
    walk: Profile, metric: str, requirement: Requirement | None = None
) -> dict[str, list[Row]]:
    """The numbers of a plot in SI, by layer; a layer without numbers is empty."""
    limit: list[Row] = []
    if requirement is not None and requirement.metric == metric:
        limit = [{metric: requirement.limit, "line": LIMIT, "said": requirement.name}]
    return {
        "predicted": list(_predicted(walk, metric)),
        "theory": list(_theory(walk, metric)),
        "requested": list(_requested(walk, metric)),
        "limit": limit,
        "benchmarked": _benchmarks(walk, metric),
        "here": list(_here(walk, metric)),
    }


def _predicted(walk: Profile, metric: str) -> Iterator[Row]:
    """Steps in pieces that are all extrapolated or all not; neighbours share the step between."""
    steps = walk.answering(metric)
    piece, before = 0, None
    for left, right in zip(steps, steps[1:] or steps, strict=False):
        bases = [step.prediction.metrics[metric].basis for step in (left, right)]
        extrapolated = EXTRAPOLATED in bases
        if extrapolated != before:
            piece += 1
            yield _step(left, walk, metric, piece, extrapolated)
        before = extrapolated
        yield _step(right, walk, metric, piece, extrapolated)


def _step(step: Step, walk: Profile, metric: str, piece: int, extrapolated: bool) -> Row:
    return {
        **_estimate(step.x, step.prediction.metrics[metric], walk, metric),
        "line": PREDICTED,
        "piece": piece,
        "extrapolated": extrapolated,
    }


def _estimate(x: float, estimate: Estimate, walk: Profile, metric: str) -> Row:
    return {
        walk.field: x,
        metric: estimate.value,
        "low": number_or_none(estimate.low),
        "high": number_or_none(estimate.high),
        "basis": estimate.basis,
        "at": quantity(walk.field, x),
        "said": f"{estimated(metric, estimate)} ({interval(metric, estimate)})",
    }


def _theory(walk: Profile, metric: str) -> Iterator[Row]:
    for step in walk.answering(metric):
        bound = theory_bound(walk.model, step.scenario, metric)
        if bound is not None:
            yield _line(walk, metric, THEORY, step.x, bound)


def _line(walk: Profile, metric: str, name: str, x: float, value: float) -> Row:
    said = {"at": quantity(walk.field, x), "said": quantity(metric, value)}
    return {walk.field: x, metric: value, "line": name, **said}


def theory_bound(model: Model, scenario: Scenario, metric: str) -> float | None:
    """Theory's bound of a metric for a scenario: greatest goodput, least one-way latency."""
    if metric == "goodput_bps":
        return model.greatest_goodput_bps(scenario)
    if metric.startswith("latency_") and metric != "latency_std_s":
        return model.least_latency_s(scenario)
    return None


def _requested(walk: Profile, metric: str) -> Iterator[Row]:
    """The line of the request; over the load it is the diagonal."""
    asked = walk.here.scenario
    if metric != "goodput_bps" or (asked.rate_fps is None and walk.over != "load"):
        return
    steps = walk.answering(metric)
    for step in (steps[0], steps[-1]):
        goodput = step.x if walk.over == "load" else asked.requested_goodput_bps
        yield _line(walk, metric, REQUESTED, step.x, goodput)


def _benchmarks(walk: Profile, metric: str) -> list[Row]:
    """The rows of the dataset, each with the group it is drawn and named in."""
    points = walk.points(metric)
    others = _other_payloads(points, walk)
    return [{**_benchmarked(point, walk, metric), **_group(point, others)} for point in points]


def _other_payloads(points: Iterable[Point], walk: Profile) -> list[int]:
    """Payloads [B] of points that differ from the plot's own, in order; over payload there are none."""
    if walk.over == "payload":
        return []
    sizes = {point.payload_bytes for point in points} - {None, walk.scenario.payload_bytes}
    return sorted(size for size in sizes if size is not None)


def _group(point: Point, others: list[int]) -> Row:
    """Name of a point in the legend, and its shade: 0 for the plot's own payload."""
    if point.payload_bytes not in others:
        return {"group": point.basis, "shade": 0}
    if len(others) > OTHERS:
        return {"group": f"{point.basis}, other payloads", "shade": 1}
    size = quantity("payload_bytes", float(point.payload_bytes))
    return {"group": f"{point.basis}, {size}", "shade": 1 + others.index(point.payload_bytes)}


def _benchmarked(point: Point, walk: Profile, metric: str) -> Row:
    """A row of the dataset; one without a load limit is placed at the right end of a load axis."""
    at = {"payload": point.payload_bytes, "load": point.load_bps, "cores": point.cores}[walk.over]
    load, size = point.load_bps, point.payload_bytes
    return {
        walk.field: walk.steps[-1].x if at is None or math.isinf(at) else at,
        metric: point.value,
        "low": point.value if point.low is None else point.low,
        "high": point.value if point.high is None else point.high,
        "basis": point.basis,
        "load": "not said" if load is None else quantity("load_bps", load),
        "payload": "not said" if size is None else quantity("payload_bytes", size),
        "at": "not said" if at is None else quantity(walk.field, at),
        "said": quantity(metric, point.value),
        "source": point.source,
    }


def _here(walk: Profile, metric: str) -> Iterator[Row]:
    asked = walk.here.scenario
    x = {
        "payload": asked.payload_bytes,
        "load": min(asked.requested_goodput_bps, walk.steps[-1].x),
        "cores": asked.cores,
    }[walk.over]
    if x is not None and known(walk.here, metric):
        yield {**_estimate(x, walk.here.metrics[metric], walk, metric), "line": HERE}


# --- pictures ---------------------------------------------------------------------------------


def svg(plot: Spec) -> str:
    """The plot as an SVG picture.

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
    """Draw a plot into a file, SVG or PNG by its ending.

    Raises
    ------
    ReportError
        If the ending is another, vl-convert is not installed, or the file cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ReportError(f"{path} is no picture: let the name end in {' or '.join(ENDINGS)}")
    if ending == ".svg":
        write(path, svg(plot | {"background": "white"}).encode())
        return
    convert = _converter()
    write(
        path, convert.vegalite_to_png(plot | {"background": "white"}, vl_version=VEGA_LITE, scale=2)
    )


def drawable() -> bool:
    """Whether the extra for drawing is installed."""
    try:
        _converter()
    except ReportError:
        return False
    return True


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ImportError as error:
        raise ReportError(f"plots need vl-convert, which is not here: {EXTRA}") from error
    return vl_convert
