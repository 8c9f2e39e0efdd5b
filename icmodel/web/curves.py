"""Form and curves of the what-if page: parameter ranges of a dataset, and a metric along one parameter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from icmodel.dataset import VARIANTS, Point
from icmodel.documents import number_or_none
from icmodel.errors import IcmodelError, OutOfDomain, ScenarioError
from icmodel.estimate import metric_name, quantity
from icmodel.model import Model
from icmodel.scenario import Scenario, scenario
from icmodel.web.bodies import Body, in_keys
from icmodel.web.whatif import MOST_QUESTIONS, SHORT, Question
from icmodel.web.work import warm_model

STEPS = 80
"""Number of steps along a curve, besides the benchmarked points."""
Axis = Literal["payload", "load", "cores"]
FIELDS = {"payload": "payload_bytes", "load": "requested_goodput_bps", "cores": "cores"}
"""Axis of a curve -> parameter that varies along the axis."""


# --- the form ---------------------------------------------------------------------------------


class Range(BaseModel):
    """Range of a slider in the what-if form.

    ``least`` and ``greatest`` are in SI units, and ``log`` tells whether the scale is logarithmic. ``text`` is shown
    beside the slider, such as the measured range.
    """

    name: str
    least: float
    greatest: float
    log: bool
    text: str
    works: bool = Field(
        description="Whether the dataset and the variant of the model have a rule for the parameter."
    )


class OptionAxis(BaseModel):
    """Option axis of a dataset (such as nagle): its values, default and meaning."""

    axis: str
    values: list[str]
    default: str
    meaning: str


class Form(BaseModel):
    """Contents of the what-if form: choices and ranges of a dataset for one protocol and variant."""

    dataset: str
    title: str
    variants: list[str]
    default_variant: str
    protocols: list[str]
    protocol: str
    ranges: list[Range]
    options: list[OptionAxis]
    metrics: list[str]
    words: dict[str, str] = Field(description="Metric -> its name in words.")
    whose: str


def form(dataset: str, variant: str, protocol: str) -> Form:
    """Return the contents of the what-if form for a bundled dataset.

    An empty ``variant`` or ``protocol`` stands for the default of the dataset.

    Raises
    ------
    ScenarioError
        If the dataset has no such protocol.
    """
    model = warm_model(dataset, variant or None).model
    data, chosen = model.data, protocol or model.data.default_protocol
    if chosen not in data.protocols:
        known = ", ".join(data.protocols)
        raise ScenarioError(f"{data.id} has no protocol {chosen!r}: its protocols are {known}")
    axes: Any = data.document.get("axes", {})
    rows = [point for point in data.points if point.protocol == chosen]
    metrics = sorted({point.metric for point in rows})
    options = []
    for at, axis in enumerate(data.option_axes):
        default = data.option_defaults[axis]
        values = sorted({row.options[at] for row in rows if row.options[at]} | {default})
        if len(values) > 1:
            meaning = str(axes[axis]["meaning"])
            options.append(OptionAxis(axis=axis, values=values, default=default, meaning=meaning))
    return Form(
        dataset=data.id,
        title=data.title,
        variants=list(VARIANTS),
        default_variant=data.default_variant,
        protocols=list(data.protocols),
        protocol=chosen,
        ranges=list(_ranges(model, rows)),
        options=options,
        metrics=metrics,
        words={name: metric_name(name) for name in metrics},
        whose=data.whose,
    )


def _ranges(model: Model, rows: Sequence[Point]) -> Iterable[Range]:
    """Yield the range of each parameter in the what-if form.

    Parameters of faster or slower hosts, and an application's time per frame, only work with the variant ``hybrid``.
    """
    data, hybrid = model.data, model.variant == "hybrid"
    link = data.interconnect

    def measured(name: str) -> list[float]:
        values = {getattr(row, name) for row in rows}
        return sorted(value for value in values if value is not None and math.isfinite(value))

    def benchmarked(name: str) -> str:
        values = measured(name)
        if not values:
            return "not benchmarked"
        ends = [quantity(name, end) for end in (values[0], values[-1])]
        return ends[0] if values[0] == values[-1] else f"{ends[0]} … {ends[1]}"

    sizes = measured("payload_bytes") or [1.0, 65535.0]
    goodputs = [row.value for row in rows if row.metric == "goodput_bps"]
    most_bps = link.line_rate_bps or max((*goodputs, *measured("load_bps")), default=1e9)
    own = quantity("line_rate_bps", link.line_rate_bps or math.nan)
    cable = quantity("distance_m", link.cable_length_m or 0.0)
    counts = {name: [*measured(name), 1.0] for name in ("cores", "switches", "endpoints")}
    only = "hybrid only" if not hybrid else "a frame"
    made: tuple[tuple[str, float, float, bool, str, bool], ...] = (
        ("payload", min(sizes), max(sizes), True, benchmarked("payload_bytes"), True),
        ("rate", 1.0, max(most_bps / (8 * min(sizes)), 10.0), True, "", True),
        ("requested_goodput", most_bps / 1e4, 1.2 * most_bps, True, "", True),
        ("cores", 1, max(counts["cores"]), False, benchmarked("cores"), max(counts["cores"]) > 1),
        ("switches", 0, max(4, *counts["switches"]), False, benchmarked("switches"), True),
        ("endpoints", 1, max(8, *counts["endpoints"]), False, benchmarked("endpoints"), True),
        ("other_goodput", most_bps / 1e4, most_bps, True, "in sum", True),
        ("distance", 0.1, 10_000, True, f"dataset: {cable}", link.propagation_s_per_m is not None),
        ("line_rate", most_bps / 10, most_bps * 40, True, f"dataset: {own}" if hybrid else "hybrid only", hybrid),
        ("cpu_clock", 0.25, 4, True, "times the hosts'" if hybrid else only, hybrid),
        ("app_send", 1e-7, 1e-3, True, only, hybrid),
        ("app_recv", 1e-7, 1e-3, True, only, hybrid),
        ("app_send_per_byte", 1e-12, 1e-8, True, "a byte" if hybrid else only, hybrid),
        ("app_recv_per_byte", 1e-12, 1e-8, True, "a byte" if hybrid else only, hybrid),
    )  # fmt: skip
    for name, least, greatest, log, text, works in made:
        yield Range(name=name, least=least, greatest=greatest, log=log, text=text, works=works)


# --- curves -----------------------------------------------------------------------------------


class Dot(BaseModel):
    """Benchmarked point (dataset row) beside a curve: position, value and interval in SI units, text with source."""

    x: float
    y: float
    low: float | None
    high: float | None
    text: str
    other: bool = Field(
        description="Whether the point was measured at another load than the requested one."
    )


class Curve(BaseModel):
    """Curve of a metric along an axis in SI units: values, intervals, bases (kinds of evidence), benchmarked points."""

    error: str = ""
    x: list[float] = Field(default_factory=list)
    value: list[float | None] = Field(default_factory=list)
    low: list[float | None] = Field(default_factory=list)
    high: list[float | None] = Field(default_factory=list)
    basis: list[str] = Field(default_factory=list)
    points: list[Dot] = Field(default_factory=list)


class CurvesBody(Body):
    """Request for curves: questions, a metric, and the parameter along which it is drawn."""

    questions: list[Question] = Field(min_length=1, max_length=MOST_QUESTIONS)
    over: Axis
    metric: str = SHORT
    beyond: bool = Field(False, description="Whether to add payloads beyond the benchmarked ones.")


class Curves(BaseModel):
    """Curves in the order of their questions."""

    curves: list[Curve]


def curve(question: Question, over: Axis, metric: str, beyond: bool = False) -> Curve:
    """Predict a metric along an axis. If the question has no answer, return the reason."""
    outside = "extrapolate" if question.extrapolate else "nan"
    try:
        warm = warm_model(question.dataset, question.variant or None)
        keywords = question.keywords(warm.model.data, question.values())
        with warm.lock:
            return predict_curve(warm.model, keywords, over, metric, outside, beyond=beyond)
    except IcmodelError as error:
        return Curve(error=in_keys(str(error)))


def predict_curve(
    model: Model,
    keywords: Mapping[str, object],
    over: Axis,
    metric: str,
    outside: str,
    *,
    beyond: bool,
) -> Curve:
    """Predict a metric along an axis, at even steps and at every benchmarked point.

    Parameters
    ----------
    keywords : mapping
        Arguments of `icmodel.scenario.scenario` in SI units. The parameter on the axis may be missing.
    outside : "nan" or "extrapolate"
        Treatment of points outside the measured range: value NaN (a gap in the curve), or an extrapolated value.
    beyond : bool
        Whether the curve extends beyond the benchmarked payloads.

    Raises
    ------
    IcmodelError
        If the question is invalid, or this dataset cannot answer it.
    """
    here = scenario(**({"payload_bytes": 1, **keywords} if over == "payload" else keywords))
    rows = model.rows(here.protocol, here.options).points
    counts = model.core_counts(here.protocol, here.options)
    if here.cores is None and counts:
        here = replace(here, cores=max(counts))
    xs = _positions(model, here, rows, over, beyond=beyond)
    replaced = {FIELDS[over], "rate_fps"} if over == "load" else {FIELDS[over]}
    varied = {name: keywords[name] for name in keywords.keys() - replaced}
    arrays: Any = {"payload_bytes": here.payload_bytes, **varied, FIELDS[over]: xs}
    try:
        grid = model.predict_many(outside=outside, metrics=(metric,), **arrays)
    except OutOfDomain:
        if not beyond:
            # The error message for a single point is plainer.
            first = replace(here, payload_bytes=int(xs[0])) if over == "payload" else here
            model.predict(first, outside="refuse" if outside == "nan" else outside)
            raise
        # The protocol cannot carry the payloads beyond the benchmarked ones, so they are left out.
        return predict_curve(model, keywords, over, metric, outside, beyond=False)

    def numbers(name: str) -> list[float | None]:
        return [number_or_none(value) for value in grid[name].values.tolist()]

    bases = grid[f"{metric}_basis"]
    words = dict(zip(bases.attrs["flag_values"], bases.attrs["flag_meanings"].split(), strict=True))
    return Curve(
        x=[float(x) for x in xs],
        value=numbers(metric),
        low=numbers(f"{metric}_low"),
        high=numbers(f"{metric}_high"),
        basis=[words.get(code, "") for code in bases.values.tolist()],
        points=list(_dots(rows, here, over, metric)),
    )


def _positions(
    model: Model, here: Scenario, rows: Iterable[Point], over: Axis, *, beyond: bool
) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return the positions of a curve along its axis: even steps (logarithmic for payloads) and benchmarked points."""
    if over == "cores":
        return np.arange(1, 1 + max((*(row.cores or 1 for row in rows), here.cores or 1)))
    if over == "payload":
        sizes = {row.payload_bytes for row in rows if row.payload_bytes} or {1, 65535}
        wider = 4 if beyond else 1
        steps = np.rint(np.geomspace(max(min(sizes) / wider, 1), max(sizes) * wider, STEPS))
        return np.unique([*sizes, *steps]).astype(np.int64)
    loads = {row.load_bps for row in rows if row.load_bps and math.isfinite(row.load_bps)}
    most = 1.1 * max(model.greatest_goodput_bps(here) or 0.0, *loads, 1e6)
    request = here.requested_goodput_bps
    most = max(most, 1.1 * request) if math.isfinite(request) else most
    return np.unique([*loads, *np.linspace(most / STEPS, most, STEPS), most / 1000, most / 300])


def _dots(rows: Iterable[Point], here: Scenario, over: Axis, metric: str) -> Iterator[Dot]:
    """Yield the dataset rows of a metric that are shown as dots beside a curve.

    Apart from the load, only the parameter on the x axis may differ from the question. With the load on the x axis, rows
    of all loads are shown. Otherwise, at most two loads are shown at each x: the greatest load up to the requested one,
    and the least load from the requested one on. Rows without a stated load are also shown.
    """
    places: dict[float, list[Point]] = {}
    for row in rows:
        x = row.load_bps if over == "load" else getattr(row, FIELDS[over])
        alike = (
            row.metric == metric
            and (over == "payload" or row.payload_bytes in (None, here.payload_bytes))
            and (over == "cores" or row.cores in (None, here.cores))
            and (row.switches or 0, row.endpoints or 1) == (here.switches, here.endpoints)
        )
        if alike and x is not None and math.isfinite(x):
            places.setdefault(x, []).append(row)
    for x, some in places.items():
        size = x if over == "payload" else here.payload_bytes
        request = math.inf if here.rate_fps is None else here.rate_fps * size * 8
        loads = {row.load_bps for row in some if row.load_bps is not None}
        beside = {
            max((load for load in loads if load <= request), default=None),
            min((load for load in loads if load >= request), default=None),
        }
        for row in some:
            if over != "load" and row.load_bps not in (None, *beside):
                continue
            load = "" if row.load_bps is None else f" at load {quantity('load_bps', row.load_bps)}"
            yield Dot(
                x=x,
                y=row.value,
                low=row.low,
                high=row.high,
                text=f"{quantity(metric, row.value)}{load}, {row.basis}: {row.source}",
                other=over != "load" and row.load_bps not in (None, request),
            )
