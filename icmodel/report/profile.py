"""Profile: the predictions of one scenario along an axis, and the benchmarked rows they use."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from icmodel.dataset import Point
from icmodel.errors import OutOfDomain, ReportError, ScenarioError
from icmodel.estimate import Prediction
from icmodel.laws.substitution import Rows
from icmodel.model import Model
from icmodel.scenario import Scenario

AXES = {"payload": "payload_bytes", "load": "requested_goodput_bps", "cores": "cores"}
"""Axis of a plot -> scenario field that varies along the axis."""
STEPS = 48
"""Number of evenly spaced points along the x axis of a plot, in addition to the benchmarked points."""
PAST = 1.0005
"""Ratio of the first plotted load in overload to the greatest achieved load.

It is close to 1, so that the plot shows the start of overload as a jump.
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
        """Reason why dataset rows with other options than the scenario's are used; empty if none are."""
        return answering_rows(self.model, self.scenario).substituted

    def answering(self, metric: str) -> tuple[Step, ...]:
        """Return the points of the profile at which the metric has a predicted value."""
        return tuple(step for step in self.steps if known(step.prediction, metric))

    def points(self, metric: str) -> tuple[Point, ...]:
        """Return the dataset rows of a metric used by the predictions, in the dataset's order."""
        lines = {
            row.line for step in self.steps for row in step.prediction.rows if row.metric == metric
        }
        return tuple(point for point in self.model.data.points if point.line in lines)


def known(prediction: Prediction, metric: str) -> bool:
    """Whether a prediction contains a known value of the given metric."""
    return metric in prediction.metrics and not prediction.metrics[metric].absent


def profile(model: Model, scenario: Scenario, over: str, *, fastest: bool = False) -> Profile:
    """Predict a scenario at every benchmarked point of an axis, and at evenly spaced points between them.

    Over ``payload``, the requested goodput is constant, and the frame rate follows from it. With ``fastest``, the load
    is unlimited at all points. Points that the dataset cannot answer are left out.

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
        scenario_there = _moved(base, over, x)
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


def _moved(base: Scenario, over: str, x: float) -> Scenario:
    """Return the scenario with the value ``x`` of the parameter that the plot's axis varies."""
    if over == "cores":
        return replace(base, cores=int(x))
    if over == "load":
        return replace(base, rate_fps=x / (base.payload_bytes * 8))
    rate = None if base.rate_fps is None else base.requested_goodput_bps / (x * 8)
    return replace(base, payload_bytes=int(x), rate_fps=rate)


def answering_rows(model: Model, scenario: Scenario) -> Rows:
    """Return the dataset rows used for a scenario.

    If no row has the requested options, rows with other options are returned, with the reason.
    """
    return model.rows(scenario.protocol, dict(scenario.options))


def _payloads(model: Model, scenario: Scenario) -> list[float]:
    """Return the payloads to plot [B]: benchmarked ones, the scenario's, and evenly spaced ones on a log scale."""
    rows = answering_rows(model, scenario).points
    sizes = {row.payload_bytes for row in rows if row.payload_bytes is not None}
    if not sizes:
        return []
    first, last = min(sizes), max(sizes)
    ratio = (last / first) ** (1 / STEPS)
    between = {round(first * ratio**step) for step in range(STEPS)}
    return [float(size) for size in sorted(sizes | between | {scenario.payload_bytes})]


def _loads(model: Model, here: Prediction) -> list[float]:
    """Return the loads to plot [b/s]: evenly spaced ones, benchmarked ones, the request, and the greatest achieved one.

    If the request is too small to see on a linear axis, further loads start at a third of the request. They are evenly
    spaced on a log scale.
    """
    last = greatest_load_bps(model, here)
    loads = {last * (step + 1) / STEPS for step in range(STEPS)} | {last / (8 * STEPS)}
    loads |= {row.load_bps or 0.0 for row in answering_rows(model, here.scenario).points}
    greatest_bps = _greatest_achieved_bps(model, here.scenario)
    loads |= {greatest_bps, greatest_bps * PAST} if greatest_bps else set()
    if here.scenario.rate_fps is not None:
        request_bps = here.scenario.requested_goodput_bps
        loads.add(request_bps)
        if is_small(request_bps, last):
            first = request_bps / 3
            loads |= {first * (last / first) ** (2 * step / STEPS) for step in range(STEPS // 2)}
    return [load for load in sorted(loads) if 0 < load <= last]


def is_small(value: float, of: float) -> bool:
    """Whether a value is too small to see on a linear axis that ends at ``of``."""
    return 0 < value < of / 50


def _greatest_achieved_bps(model: Model, scenario: Scenario) -> float:
    """Return the goodput of this scenario at an unlimited load [b/s]; 0 if unknown."""
    fastest = model.predict(replace(scenario, rate_fps=None))
    return fastest.metrics["goodput_bps"].value if known(fastest, "goodput_bps") else 0.0


def greatest_load_bps(model: Model, here: Prediction) -> float:
    """Return the right end of the load axis of a plot [b/s].

    It is 10 % above the greatest of these: the request, the goodput at unlimited load, the goodput limit by theory, and
    the loads of the dataset rows used.
    """
    request_bps = here.scenario.requested_goodput_bps
    ends = [
        request_bps if math.isfinite(request_bps) else 0.0,
        _greatest_achieved_bps(model, here.scenario),
        model.greatest_goodput_bps(here.scenario) or 0.0,
    ]
    end = 1.1 * max(ends)
    try:
        rows = model.predict(_moved(here.scenario, "load", end)).rows
    except (OutOfDomain, ScenarioError):
        return end
    loads = [row.load_bps for row in rows if row.load_bps is not None]
    return max(end, 1.1 * max((load for load in loads if math.isfinite(load)), default=0.0))
