"""Plot a metric along one axis, with the dataset rows used, as a Vega-Lite specification."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from icmodel.dataset import Point
from icmodel.documents import number_or_none
from icmodel.errors import OutOfDomain, ReportError, ScenarioError
from icmodel.estimate import (
    EXTRAPOLATED,
    Estimate,
    Prediction,
    estimated,
    interval,
    metric_name,
    plural,
    quantity,
)
from icmodel.laws.substitution import Rows
from icmodel.model import Model
from icmodel.plotting import Spec
from icmodel.report.vega import (
    HERE,
    LIMIT,
    OTHERS,
    PREDICTED,
    REQUESTED,
    THEORY,
    Row,
    Title,
    is_small,
    spec,
)
from icmodel.requirement import Requirement
from icmodel.scenario import Scenario

FASTEST = ("goodput_bps", "sent_bps", "frames_per_s")
"""Metrics plotted at unlimited offered load. The requested goodput is a separate line."""
BORROWED = "never measured with these options: the points have similar ones"
"""Subtitle of a plot if its dataset rows have other options than the scenario."""


def metric_plot(
    model: Model,
    metric: str,
    over: str,
    scenario: Scenario,
    *,
    requirement: Requirement | None = None,
) -> Spec:
    """Make the Vega-Lite specification of one metric along an axis.

    All other parameters keep the values of the scenario. The plot shows the predicted line with its 90 % interval, and
    the benchmarked points (dataset rows) behind it. The shape of a point shows its basis (kind of evidence). Further
    marks are the bound by theory, the requested goodput, and the scenario.

    Parameters
    ----------
    model : Model
        Model that predicts.
    metric : str
        Metric to plot, for example ``goodput_bps`` or ``latency_mean_s``.
    over : "payload", "load" or "cores"
        Horizontal axis. Along ``payload``, all points request the same goodput, not the same frame rate. Goodput, sent
        rate and frame rate are plotted at unlimited load, unless the axis is ``load``.
    scenario : Scenario
        Scenario of the plot.
    requirement : Requirement, optional
        Requirement on this metric; its limit is drawn.

    Raises
    ------
    ReportError
        If the axis is unknown, or the metric has no values along the axis.
    OutOfDomain, ScenarioError
        If the dataset cannot answer the scenario.

    Examples
    --------
    >>> import icmodel
    >>> model = icmodel.Model(icmodel.load("ethernet-10g-2012"))
    >>> plot = metric_plot(model, "goodput_bps", "cores", icmodel.Scenario("tcp", 1448))
    >>> plot["title"]["text"]
    'Greatest goodput over cores'
    """
    walk = profile(model, scenario, over, fastest=is_fastest(metric, over))
    return profile_plot(walk, metric, requirement)


def is_fastest(metric: str, over: str) -> bool:
    """Whether a plot shows values at unlimited offered load: true for goodput and rates, unless the x axis is the load."""
    return metric in FASTEST and over != "load"


# --- a profile: predictions along an axis -----------------------------------------------------

AXES = {"payload": "payload_bytes", "load": "requested_goodput_bps", "cores": "cores"}
"""Axis of a plot -> scenario field that varies along the axis."""
STEPS = 48
"""Number of evenly spaced points along the x axis of a plot, in addition to the benchmarked points."""
OVERLOAD_START = 1.0005
"""Ratio of the first plotted load in overload to the greatest achieved load.

A ratio close to 1 shows the start of overload as a jump.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One point on the x axis of a plot: its position, the scenario there, and the prediction."""

    x: float
    scenario: Scenario
    prediction: Prediction


@dataclass(frozen=True)
class Profile:
    """Predictions of ``scenario`` along one axis; ``here`` is the prediction of the scenario itself."""

    model: Model
    over: str
    scenario: Scenario
    here: Prediction
    steps: tuple[Step, ...]

    @property
    def field(self) -> str:
        """Field of the scenario that varies along the axis."""
        return AXES[self.over]

    @property
    def substituted(self) -> str:
        """Reason why dataset rows with other options than the scenario's are used; empty if none are used."""
        return answering_rows(self.model, self.scenario).substituted

    def answering(self, metric: str) -> tuple[Step, ...]:
        """Return the points of the x axis at which the prediction has a value of the metric."""
        return tuple(step for step in self.steps if known(step.prediction, metric))

    def points(self, metric: str) -> tuple[Point, ...]:
        """Return the dataset rows from which a metric was predicted along the axis, in the dataset's order."""
        lines = {
            row.line for step in self.steps for row in step.prediction.rows if row.metric == metric
        }
        return tuple(point for point in self.model.data.points if point.line in lines)


def known(prediction: Prediction, metric: str) -> bool:
    """Whether a prediction contains a known value of the given metric."""
    return metric in prediction.metrics and not prediction.metrics[metric].absent


def profile(model: Model, scenario: Scenario, over: str, *, fastest: bool = False) -> Profile:
    """Predict a scenario at every benchmarked point of an axis, and at evenly spaced points between them.

    Along ``payload``, the requested goodput is constant, so the frame rate changes. If ``fastest`` is true, the load is
    unlimited at all points. Points that the dataset cannot answer are left out.

    Raises
    ------
    ReportError
        If the axis is unknown, or the dataset has no rows along the axis.
    OutOfDomain, ScenarioError
        If the dataset cannot answer the scenario itself.
    """
    if over not in AXES:
        raise ReportError(f"the axis {over!r} is unknown: use one of {', '.join(AXES)}")
    here = model.predict(scenario)
    base = replace(here.scenario, rate_fps=None) if fastest else here.scenario
    if over == "payload":
        xs = _payloads(model, here.scenario)
    elif over == "load":
        xs = _loads(model, here)
    else:
        rows = answering_rows(model, here.scenario).points
        xs = sorted({float(row.cores) for row in rows if row.cores is not None})
    steps = []
    for x in xs:
        scenario_there = _scenario_at(base, over, x)
        try:
            steps.append(Step(x, scenario_there, model.predict(scenario_there)))
        except (OutOfDomain, ScenarioError):
            continue
    if not steps:
        raise ReportError(
            f"{model.data.id} has no rows of {scenario.protocol} along {over}: plot over "
            f"{' or '.join(name for name in AXES if name != over)}"
        )
    return Profile(model, over, here.scenario, here, tuple(steps))


def _scenario_at(base: Scenario, over: str, x: float) -> Scenario:
    """Return the scenario at the position ``x`` of a plot's x axis, for example with ``x`` cores.

    If the axis is the payload, the rate changes as well, so that the requested goodput stays the same.
    """
    if over == "cores":
        return replace(base, cores=int(x))
    if over == "load":
        return replace(base, rate_fps=x / (base.payload_bytes * 8))
    rate = None if base.rate_fps is None else base.requested_goodput_bps / (x * 8)
    return replace(base, payload_bytes=int(x), rate_fps=rate)


def answering_rows(model: Model, scenario: Scenario) -> Rows:
    """Return the dataset rows from which a scenario is predicted.

    If the dataset has no rows at the scenario's options, rows at other options are returned. The result's field
    ``substituted`` then states the reason; otherwise it is empty.
    """
    return model.rows(scenario.protocol, dict(scenario.options))


def _payloads(model: Model, scenario: Scenario) -> list[float]:
    """Return the payloads to plot [B]: of dataset rows, of the scenario, and evenly spaced ones (log scale)."""
    rows = answering_rows(model, scenario).points
    sizes = {row.payload_bytes for row in rows if row.payload_bytes is not None}
    if not sizes:
        return []
    first, last = min(sizes), max(sizes)
    ratio = (last / first) ** (1 / STEPS)
    between = {round(first * ratio**step) for step in range(STEPS)}
    return [float(size) for size in sorted(sizes | between | {scenario.payload_bytes})]


def _loads(model: Model, here: Prediction) -> list[float]:
    """Return the loads to plot [b/s]. They are evenly spaced up to the right end of the axis.

    The loads of the dataset rows, the request, and the load at which overload starts are added. If the request is too
    small for a linear axis, loads on a log scale are added as well, from a third of the request on.
    """
    last = greatest_load_bps(model, here)
    loads = {last * (step + 1) / STEPS for step in range(STEPS)} | {last / (8 * STEPS)}
    loads |= {row.load_bps or 0.0 for row in answering_rows(model, here.scenario).points}
    greatest_bps = _greatest_achieved_bps(model, here.scenario)
    loads |= {greatest_bps, greatest_bps * OVERLOAD_START} if greatest_bps else set()
    if here.scenario.rate_fps is not None:
        request_bps = here.scenario.requested_goodput_bps
        loads.add(request_bps)
        if is_small(request_bps, last):
            first = request_bps / 3
            loads |= {first * (last / first) ** (2 * step / STEPS) for step in range(STEPS // 2)}
    return [load for load in sorted(loads) if 0 < load <= last]


def _greatest_achieved_bps(model: Model, scenario: Scenario) -> float:
    """Return the goodput of this scenario at an unlimited load [b/s]; 0 if unknown."""
    fastest = model.predict(replace(scenario, rate_fps=None))
    return fastest.metrics["goodput_bps"].value if known(fastest, "goodput_bps") else 0.0


def greatest_load_bps(model: Model, here: Prediction) -> float:
    """Return the right end of the load axis of a plot [b/s].

    The axis ends 10 % above the greatest of four rates: the request, the goodput at unlimited load, the goodput limit
    by theory, and the greatest load of a dataset row.
    """
    request_bps = here.scenario.requested_goodput_bps
    ends = [
        request_bps if math.isfinite(request_bps) else 0.0,
        _greatest_achieved_bps(model, here.scenario),
        model.greatest_goodput_bps(here.scenario) or 0.0,
    ]
    end = 1.1 * max(ends)
    try:
        rows = model.predict(_scenario_at(here.scenario, "load", end)).rows
    except (OutOfDomain, ScenarioError):
        return end
    loads = [row.load_bps for row in rows if row.load_bps is not None]
    return max(end, 1.1 * max((load for load in loads if math.isfinite(load)), default=0.0))


# --- the plot of a profile --------------------------------------------------------------------


def profile_plot(walk: Profile, metric: str, requirement: Requirement | None = None) -> Spec:
    """Make the plot of one metric from a profile (predictions along an axis); see `metric_plot`.

    Raises
    ------
    ReportError
        If the metric has no value at any point of the profile.
    """
    if not walk.answering(metric):
        why = walk.here.metrics[metric].why if metric in walk.here.metrics else ""
        have = ", ".join(name for name in walk.here.metrics if walk.answering(name))
        raise ReportError(
            f"{walk.model.data.id} gives no {metric} here{f' ({why})' if why else ''}: "
            f"{f'plot one of {have}' if have else 'choose parameters for which it has rows'}"
        )
    name, fastest = metric_name(metric), is_fastest(metric, walk.over)
    value = f"greatest {name}" if fastest else name
    axis = {"payload": "payload", "load": "requested goodput", "cores": "cores"}[walk.over]
    text = f"{value[0].upper()}{value[1:]} over {axis}"
    model = f"{walk.model.data.id}, {walk.model.variant}"
    question = f"{model}: {describe(walk.here.scenario, walk.field, fastest=fastest)}"
    here = ""
    if known(walk.here, metric):
        here = f" This scenario: {quantity(metric, walk.here.metrics[metric].value)}."
    title = Title(
        text=text,
        subtitle=(question, BORROWED) if walk.substituted else (question,),
        value=value,
        description=f"Line plot: {text[0].lower()}{text[1:]}, predicted on {model}.{here}",
    )
    return spec(walk.field, metric, datasets(walk, metric, requirement), title)


def describe(asked: Scenario, varied: str, *, fastest: bool = False) -> str:
    """Return the constant parameters of a plot's scenario as text: all but the parameter on the x axis."""
    held = {
        "payload_bytes": quantity("payload_bytes", asked.payload_bytes),
        "requested_goodput_bps": f"{quantity('goodput_bps', asked.requested_goodput_bps)} requested",
        "cores": "" if asked.cores is None else plural(asked.cores, "core"),
        "switches": plural(asked.switches, "switch") if asked.switches else "",
        "endpoints": plural(asked.endpoints, "endpoint") if asked.endpoints > 1 else "",
    }
    if fastest or asked.rate_fps is None:
        held["requested_goodput_bps"] = "unlimited rate"
    named = [text for field, text in held.items() if field != varied and text]
    return ", ".join([asked.protocol, *named, *(f"{a} = {v}" for a, v in asked.options.items())])


# --- the numbers of a plot --------------------------------------------------------------------


def datasets(
    walk: Profile, metric: str, requirement: Requirement | None = None
) -> dict[str, list[Row]]:
    """Return the data of a plot in SI units: name of a layer -> rows of numbers; a layer may be empty.

    The layers are the predicted line, the bound by theory, the request, the limit of the requirement, the benchmarked
    points, and the scenario itself (``here``).
    """
    steps, asked = walk.answering(metric), walk.here.scenario
    limit: list[Row] = []
    if requirement is not None and requirement.metric == metric:
        limit.append({metric: requirement.limit, "line": LIMIT, "said": requirement.name})

    theory = [
        _line(walk, metric, THEORY, step.x, bound)
        for step in steps
        if (bound := theory_bound(walk.model, step.scenario, metric)) is not None
    ]

    requested: list[Row] = []  # a diagonal line if the x axis is the load
    if metric == "goodput_bps" and (asked.rate_fps is not None or walk.over == "load"):
        for x in (steps[0].x, steps[-1].x):
            goodput = x if walk.over == "load" else asked.requested_goodput_bps
            requested.append(_line(walk, metric, REQUESTED, x, goodput))

    here: list[Row] = []
    at = {
        "payload": asked.payload_bytes,
        "load": min(asked.requested_goodput_bps, walk.steps[-1].x),
        "cores": asked.cores,
    }[walk.over]
    if at is not None and known(walk.here, metric):
        here.append({**_estimate(at, walk.here.metrics[metric], walk, metric), "line": HERE})

    return {
        "predicted": list(predicted_line(walk, metric)),
        "theory": theory,
        "requested": requested,
        "limit": limit,
        "benchmarked": list(benchmarked_points(walk, metric)),
        "here": here,
    }


def predicted_line(walk: Profile, metric: str) -> Iterator[Row]:
    """Yield the points of the predicted line, in pieces. A piece ends where extrapolation begins or ends.

    Neighbouring pieces share a point.
    """
    steps = walk.answering(metric)
    piece, before = 0, None
    for left, right in zip(steps, steps[1:] or steps, strict=False):
        bases = [step.prediction.metrics[metric].basis for step in (left, right)]
        extrapolated = EXTRAPOLATED in bases
        begins = extrapolated != before
        piece, before = piece + begins, extrapolated
        for step in (left, right) if begins else (right,):
            yield {
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


def _line(walk: Profile, metric: str, name: str, x: float, value: float) -> Row:
    texts = {"at": quantity(walk.field, x), "said": quantity(metric, value)}
    return {walk.field: x, metric: value, "line": name, **texts}


def theory_bound(model: Model, scenario: Scenario, metric: str) -> float | None:
    """Return the bound of a metric by theory: greatest goodput [b/s] or least one-way latency [s].

    Other metrics have no bound; the result is then None.
    """
    if metric == "goodput_bps":
        return model.greatest_goodput_bps(scenario)
    if metric.startswith("latency_") and metric != "latency_std_s":
        return model.least_latency_s(scenario)
    return None


def benchmarked_points(walk: Profile, metric: str) -> Iterator[Row]:
    """Yield the dataset rows of a plot as points, each with its legend entry and its shade.

    The shade is the index of the fill colour, which shows the payload of a point: 0 for the payload of the scenario. If
    the x axis is the payload, all points have the shade 0. On a load axis, a point of unlimited load is at the right
    end.
    """

    def text(name: str, value: float | None) -> str:
        return "not stated" if value is None else quantity(name, value)

    points = walk.points(metric)
    others: list[int] = []
    if walk.over != "payload":
        sizes = {point.payload_bytes for point in points} - {None, walk.scenario.payload_bytes}
        others = sorted(size for size in sizes if size is not None)
    for point in points:
        load, size = point.load_bps, point.payload_bytes
        at = {"payload": size, "load": load, "cores": point.cores}[walk.over]
        group, shade = point.basis, 0
        if size in others and len(others) > OTHERS:
            group, shade = f"{point.basis}, other payloads", 1
        elif size in others:
            group, shade = f"{point.basis}, {text('payload_bytes', size)}", 1 + others.index(size)
        yield {
            walk.field: walk.steps[-1].x if at is None or math.isinf(at) else at,
            metric: point.value,
            "low": point.value if point.low is None else point.low,
            "high": point.value if point.high is None else point.high,
            "basis": point.basis,
            "load": text("load_bps", load),
            "payload": text("payload_bytes", size),
            "at": text(walk.field, at),
            "said": quantity(metric, point.value),
            "source": point.source,
            "group": group,
            "shade": shade,
        }
