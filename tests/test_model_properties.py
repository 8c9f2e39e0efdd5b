"""What must always hold of ``corrected``, over generated scenarios on bundled and generated datasets.

Which of these ``appendix-h`` breaks, with an example of each, stands in ``test_model_errata.py``.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import generated
from generated import Plan
from icmodel.dataset import Dataset, Point, catalogue, load
from icmodel.errors import OutOfDomain
from icmodel.estimate import BASES, Estimate, Prediction, weakest
from icmodel.model import PUBLISHED, Model
from icmodel.scenario import Scenario
from search import times

CLOSE = 1e-9
SEEDS = st.integers(0, 10_000)
NAMES = st.sampled_from([*catalogue(), *["ethernet-10g-2012"] * 6])


@cache
def bundled(name: str) -> Model:
    """One model a dataset, since compiling its tables takes longest.

    In a variant that is made of the rows themselves: `hybrid` has tests of its own.
    """
    data = load(name)
    return Model(data, "corrected" if data.default_variant == "hybrid" else None)


MODELS = st.one_of(NAMES.map(bundled), generated.datasets.map(Model))


def scenario_of(model: Model, seed: int, *, beyond: bool = False) -> Scenario:
    return generated.Asker(model.data, seed, beyond=beyond).scenarios(1)[0]


def at_most(a: float, b: float) -> bool:
    """Whether a is at most b, but for the rounding of a product."""
    return a <= b * (1 + CLOSE) or math.isnan(a)


def present(told: Prediction) -> dict[str, Estimate]:
    return {name: found for name, found in told.metrics.items() if not found.absent}


# --- physics --------------------------------------------------------------------------------------


@settings(max_examples=times(25))
@given(MODELS, SEEDS, st.booleans())
def test_what_is_told_is_possible(model: Model, seed: int, beyond: bool) -> None:
    scenario = scenario_of(model, seed, beyond=beyond)
    told = model.predict(scenario, outside="extrapolate" if beyond else "refuse")
    every_interval_holds_its_value_and_stays_possible(told)
    goodput_is_at_most_what_is_asked_and_not_lost_and_what_the_wire_allows(model, scenario, told)
    latency_is_at_least_propagation_and_serialisation(model, scenario, told)


def every_interval_holds_its_value_and_stays_possible(told: Prediction) -> None:
    for name, found in present(told).items():
        assert 0 <= found.low <= found.value <= found.high, name
        if name in ("loss_rate", "cpu_send", "cpu_recv"):
            assert found.high <= 1, name
        assert not math.isinf(found.high) or found.value == found.high, name


def goodput_is_at_most_what_is_asked_and_not_lost_and_what_the_wire_allows(
    model: Model, scenario: Scenario, told: Prediction
) -> None:
    goodput, requested = told.goodput_bps, scenario.requested_goodput_bps
    bound = model.greatest_goodput_bps(scenario) or math.inf
    assert at_most(goodput.value, bound)
    assert at_most(goodput.high, bound)
    assert at_most(goodput.high, requested)
    if not told.loss_rate.absent and told.loss_rate.value < 1:
        assert at_most(goodput.value, requested * (1 - told.loss_rate.value))
        assert at_most(goodput.value, told.sent_bps.value)
        assert goodput.value == pytest.approx(told.sent_bps.value * (1 - told.loss_rate.value))
    if not told.sent_bps.absent:
        assert at_most(told.sent_bps.high, requested)
        assert at_most(goodput.low, told.sent_bps.low)
    if not told.shortfall_bps.absent and not math.isinf(requested):
        assert told.shortfall_bps.value == pytest.approx(requested - told.sent_bps.value, abs=1e-3)


def latency_is_at_least_propagation_and_serialisation(
    model: Model, scenario: Scenario, told: Prediction
) -> None:
    least = model.least_latency_s(scenario) or 0.0
    for name, found in present(told).items():
        if name.startswith("latency_") and not name.endswith("_std_s"):
            assert at_most(least, found.low), name


@settings(max_examples=times(20))
@given(MODELS, SEEDS, st.floats(1, 4))
def test_goodput_does_not_fall_with_more_requested_load_unless_the_data_show_overload(
    model: Model, seed: int, more: float
) -> None:
    scenario = scenario_of(model, seed)
    assume(scenario.rate_fps is not None)
    assert scenario.rate_fps is not None
    less = model.predict(scenario)
    greater = model.predict(replace(scenario, rate_fps=scenario.rate_fps * more))
    unlimited = model.predict(replace(scenario, rate_fps=None))
    assume(not less.goodput_bps.absent)
    if not shows_overload(model.data, scenario):
        assert at_most(less.goodput_bps.value, greater.goodput_bps.value)
        assert at_most(greater.goodput_bps.value, unlimited.goodput_bps.value)


def shows_overload(data: Dataset, scenario: Scenario) -> bool:
    """Whether any row says that offering more may deliver less."""
    return any(
        (point.metric == "goodput_bps" and point.load_bps not in (None, math.inf))
        or (point.metric == "loss_rate" and point.value > 0)
        for point in data.points
        if point.protocol == scenario.protocol
    )


@settings(max_examples=times(20))
@given(MODELS, SEEDS, st.integers(1, 3))
@example(Model(generated.dataset(Plan(1, protocols=("udp",)))), 3, 1)
def test_goodput_does_not_rise_with_more_endpoints(model: Model, seed: int, more: int) -> None:
    scenario = scenario_of(model, seed)
    shared = {p.endpoints for p in model.data.points if (p.endpoints or 1) > 1}
    assume(not shared and any(p.metric == "goodput_bps" for p in model.data.points))
    few = replace(scenario, endpoints=max(scenario.endpoints, 2))
    many = replace(few, endpoints=few.endpoints + more)
    told, lower = answer(model, few), answer(model, many)
    assume(told is not None)
    assert told is not None
    assert lower is not None
    assert at_most(lower.goodput_bps.value, told.goodput_bps.value)
    alone = answer(model, replace(few, endpoints=1, other_goodput_bps=0.0))
    assert alone is not None
    assert at_most(told.goodput_bps.value, alone.goodput_bps.value)


def answer(model: Model, scenario: Scenario) -> Prediction | None:
    """A prediction; none where the protocol has no goodput to share."""
    try:
        return model.predict(scenario)
    except OutOfDomain:
        return None


@settings(max_examples=times(16))
@given(MODELS, SEEDS)
def test_terms_sum_to_the_latency_and_the_least_bound_is_the_goodput(
    model: Model, seed: int
) -> None:
    told = model.predict(scenario_of(model, seed))
    why = told.explain()
    if told.latency_mean_s.absent:
        assert why.latency_terms == {}
    else:
        assert sum(why.latency_terms.values()) == pytest.approx(told.latency_mean_s.value)
        assert all(term >= -1e-15 for term in why.latency_terms.values())
    if not told.goodput_bps.absent:
        least = min(bound for bound in why.goodput_bounds.values() if not math.isnan(bound))
        assert at_most(told.goodput_bps.value, least)
        if told.loss_rate.absent or told.loss_rate.value == 0:
            assert told.goodput_bps.value == pytest.approx(least)


# --- the benchmarked points -----------------------------------------------------------------------


def points_to_ask(model: Model) -> list[Point]:
    """Rows of a lone stream at the default options whose load can be asked for."""
    rows = [
        point
        for protocol in model.data.protocols
        for point in model.data.select(protocol, {})
        if point.endpoints in (None, 1) and not point.other_goodput_bps and point.payload_bytes
    ]
    said = {(point.protocol, point.metric) for point in rows if point.load_bps is not None}
    return [p for p in rows if p.load_bps is not None or (p.protocol, p.metric) not in said]


def question_of(point: Point) -> Scenario:
    """The question whose answer a row is."""
    rate = None
    assert point.payload_bytes is not None
    if point.load_bps is not None and math.isfinite(point.load_bps):
        rate = point.load_bps / (point.payload_bytes * 8)
    return Scenario(
        point.protocol,
        point.payload_bytes,
        rate_fps=rate,
        cores=point.cores,
        switches=point.switches or 0,
    )


def bounded(model: Model, point: Point, told: Prediction) -> float:
    """A row's value, or theory's bound or an inner statistic of its time where it lies beyond that."""
    if point.metric == "goodput_bps":
        return min(point.value, model.greatest_goodput_bps(told.scenario) or math.inf)
    if point.metric.startswith("latency_") and not point.metric.endswith("_std_s"):
        link = model.data.interconnect
        switches = told.scenario.switches * (link.switch_latency_s or 0.0)
        value = max(point.value, (model.least_latency_s(told.scenario) or 0.0) - switches)
        return inside(point.metric, value, told)
    if point.metric.endswith("_process_cores"):  # seconds a run were rounded
        return min(point.value, point.cores or math.inf)
    return inside(point.metric, point.value, told)


def inside(metric: str, value: float, told: Prediction) -> float:
    """A statistic of a time, no nearer to the middle than those that must lie inside of it."""
    time, _, which = metric.removesuffix("_s").rpartition("_")
    others = ("mean", "p50", "p90", "p99", "p999", *(("max",) if which == "min" else ()))
    names = [f"{time}_{name}_s" for name in others]
    inner = [told.metrics[name].value for name in names if name in told.metrics]
    known = [number for number in inner if not math.isnan(number)]
    if which == "max":
        return max([value, *known])
    return min([value, *known]) if which == "min" else value


def stands(point: Point, told: Prediction) -> bool:
    """Whether the model promises the row itself: the request is carried, and no erratum speaks."""
    if point.load_bps is not None and math.isfinite(point.load_bps):
        reached = told.bounds["benchmark"]
        if told.scenario.requested_goodput_bps > reached * (1 + CLOSE):
            return False  # overload, which has a curve of its own
        if point.metric == "goodput_bps" and told.loss_rate.value > 0:
            return False  # generated goodput and loss contradict each other
        if point.metric == "goodput_bps" and point.value != point.load_bps:
            return False  # what is carried is met, whatever arrived in a window
    switched_receiver = point.metric == "cpu_recv" and point.switches and point.protocol == "udp"
    follows = point.metric in ("sent_bps", "shortfall_bps", "frames_per_s") or (
        point.metric.startswith("packets_")
    )  # from goodput and loss, and packets from the frames that flow
    lossless = point.metric == "loss_rate" and point.protocol == "tcp"
    return not (switched_receiver or follows or lossless)


@settings(max_examples=times(20))
@given(MODELS, st.data())
def test_at_a_benchmarked_point_the_prediction_is_that_point_or_the_bound(
    model: Model, data: st.DataObject
) -> None:
    points = points_to_ask(model)
    assume(points)
    point = data.draw(st.sampled_from(points))
    told = answer(model, question_of(point))
    assume(told is not None)
    assert told is not None
    assume(stands(point, told))
    found = told.metrics[point.metric]
    value = bounded(model, point, told)
    assert found.value == pytest.approx(value, rel=1e-9, abs=1e-12)
    if value == point.value and point.metric not in ("goodput_bps", "loss_rate"):
        assert found.basis == point.basis


def test_every_row_of_the_central_dataset_comes_back() -> None:
    model = bundled("ethernet-10g-2012")
    predict, compared = cache(model.predict), 0
    for point in points_to_ask(model):
        told = predict(question_of(point))
        if stands(point, told):
            value = bounded(model, point, told)
            assert told.metrics[point.metric].value == pytest.approx(value, rel=1e-9, abs=1e-12)
            compared += 1
    assert compared > 1000


@settings(max_examples=times(20))
@given(MODELS, SEEDS, st.floats(0, 1))
def test_between_two_payloads_a_prediction_lies_between_them(
    model: Model, seed: int, weight: float
) -> None:
    scenario = replace(scenario_of(model, seed), rate_fps=None, endpoints=1, other_goodput_bps=0.0)
    for metric in ("goodput_bps", "latency_mean_s", "cpu_send", "rtt_half_mean_s", "loss_rate"):
        knots = payloads_with(model.data, metric, scenario)
        neighbours = [pair for pair in itertools.pairwise(knots) if pair[1] - pair[0] > 1]
        if not neighbours:
            continue
        left, right = neighbours[seed % len(neighbours)]
        inside = left + 1 + round(weight * (right - left - 2))
        ends = [answer(model, replace(scenario, payload_bytes=p)) for p in (left, right)]
        told = answer(model, replace(scenario, payload_bytes=inside))
        if told is None or None in ends or told.metrics[metric].absent:
            continue
        found = [end.metrics[metric] for end in (*ends, told) if end is not None]
        if any("theory" in each.bases for each in found):
            continue  # a bound stands in for a benchmark, and may bend between two sizes
        value, values = told.metrics[metric].value, [each.value for each in found[:2]]
        assert min(values) * (1 - CLOSE) <= value <= max(values) * (1 + CLOSE) + 1e-12, metric


def payloads_with(data: Dataset, metric: str, scenario: Scenario) -> list[int]:
    """Payloads with a row of a metric, or of the goodput that decides it, at the asked options."""
    deciding = {metric, "goodput_bps"} if metric == "loss_rate" else {metric}
    rows = data.select(scenario.protocol, dict(scenario.options))
    return sorted({p.payload_bytes for p in rows if p.metric in deciding and p.payload_bytes})


LOADED = st.one_of(st.just("ethernet-10g-2012").map(bundled), generated.datasets.map(Model))


@settings(max_examples=times(20))
@given(LOADED, SEEDS, st.floats(0.01, 0.99))
def test_between_two_loads_a_prediction_lies_between_them(
    model: Model, seed: int, weight: float
) -> None:
    scenario = replace(scenario_of(model, seed), endpoints=1, other_goodput_bps=0.0)
    rows = model.data.select(scenario.protocol, dict(scenario.options))
    finite = {p.load_bps for p in rows if p.load_bps is not None and math.isfinite(p.load_bps)}
    reached = model.predict(replace(scenario, rate_fps=None)).bounds["benchmark"]
    levels = sorted(load for load in finite if load <= reached)
    if len(levels) < 2:
        return
    k = seed % (len(levels) - 1)
    loads = [levels[k], levels[k] + weight * (levels[k + 1] - levels[k]), levels[k + 1]]
    told = [model.predict(at_load(scenario, load)) for load in loads]
    for metric in ("latency_mean_s", "latency_std_s", "cpu_send", "cpu_recv"):
        below, value, above = (p.metrics[metric].value for p in told)
        if not any(map(math.isnan, (below, value, above))):
            low, high = min(below, above), max(below, above)
            assert low * (1 - CLOSE) <= value <= high * (1 + CLOSE), metric


def at_load(scenario: Scenario, load_bps: float) -> Scenario:
    return replace(scenario, rate_fps=load_bps / (scenario.payload_bytes * 8))


# --- the domain -----------------------------------------------------------------------------------


@settings(max_examples=times(20))
@given(MODELS, SEEDS)
def test_what_is_extrapolated_says_so_and_on_which_axis(model: Model, seed: int) -> None:
    scenario = scenario_of(model, seed, beyond=True)
    told = model.predict(scenario, outside="extrapolate")
    for name, found in present(told).items():
        if found.basis == "extrapolated":
            assert re.match(r"extrapolated on (payload( at [^:]+)?|cores|load): ", found.why), name
        else:
            assert not found.why.startswith("extrapolated"), name
    payloads = payloads_with(model.data, "goodput_bps", scenario)
    if payloads and not payloads[0] <= scenario.payload_bytes <= payloads[-1]:
        assert told.goodput_bps.absent or "on payload" in told.goodput_bps.why
        assert told.goodput_bps.absent or told.goodput_bps.basis == "extrapolated"


@settings(max_examples=times(20))
@given(MODELS, SEEDS)
def test_inside_the_domain_goodput_and_loss_are_never_extrapolated(model: Model, seed: int) -> None:
    scenario = scenario_of(model, seed)
    rows = model.data.select(scenario.protocol, dict(scenario.options))
    assume(all(p.payload_bytes for p in rows if p.metric == "goodput_bps"))
    told = model.predict(scenario)
    if not told.goodput_bps.absent:
        assert told.goodput_bps.basis != "extrapolated"


@settings(max_examples=times(16))
@given(MODELS, SEEDS)
def test_what_is_outside_is_refused_and_only_then(model: Model, seed: int) -> None:
    scenario = scenario_of(model, seed, beyond=True)
    payloads = payloads_with(model.data, "goodput_bps", scenario)
    refused = answer(model, scenario) is None
    if payloads and not payloads[0] <= scenario.payload_bytes <= payloads[-1]:
        assert refused
    assert answer(model, scenario_of(model, seed)) is not None


# --- what it rests on -----------------------------------------------------------------------------


@settings(max_examples=times(20))
@given(MODELS, SEEDS, st.sampled_from(PUBLISHED), st.booleans())
def test_the_basis_is_the_weakest_of_what_was_used(
    model: Model, seed: int, variant: str, beyond: bool
) -> None:
    model = model if variant == model.variant else Model(model.data, variant)
    scenario = scenario_of(model, seed, beyond=beyond)
    try:
        told = model.predict(scenario, outside="extrapolate" if beyond else "refuse")
    except OutOfDomain:
        assume(False)
    for name, found in present(told).items():
        assert found.basis == weakest(found.bases), name
        assert list(found.bases) == sorted(found.bases, key=BASES.index), name
        for row in told.rows:
            if row.metric == name:
                assert row.basis in found.bases, (name, row)
                assert BASES.index(row.basis) <= BASES.index(found.basis), (name, row)


@settings(max_examples=times(16))
@given(MODELS, SEEDS)
def test_an_interpolated_value_says_so(model: Model, seed: int) -> None:
    told = model.predict(scenario_of(model, seed))
    by_metric: dict[str, set[int]] = {}
    for row in told.rows:
        by_metric.setdefault(row.metric, set()).add(row.line)
    for name, lines in by_metric.items():
        if len(lines) > 1 and name in ("latency_mean_s", "cpu_send", "rtt_half_mean_s"):
            assert "interpolated" in told.metrics[name].bases, name


@settings(max_examples=times(8))
@given(MODELS, SEEDS, st.sampled_from(PUBLISHED))
def test_the_same_question_gives_the_same_bytes(model: Model, seed: int, variant: str) -> None:
    asker = generated.Asker(model.data, seed)
    scenarios = asker.scenarios(4)
    first, second = Model(model.data, variant), Model(model.data, variant)

    def tell(told_by: Model, scenario: Scenario) -> str:
        told = answer(told_by, scenario)
        return "" if told is None else json.dumps(told.to_dict(), allow_nan=False)

    once = [tell(first, scenario) for scenario in scenarios]
    second.predict_many(protocol=model.data.protocols[0], payload_bytes=[1], outside="nan")
    again = [tell(second, scenario) for scenario in reversed(scenarios)]
    assert once == again[::-1]
