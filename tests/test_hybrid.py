"""The hybrid variant as a whole: how near and how sure it is, and what must hold of its answers."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import icmodel
from fits_case import (
    LINE_RATE_BPS,
    LOADS_BPS,
    NOISE,
    dataset,
    lab,
    row,
    sites,
    truth,
)
from icmodel.dataset import RATIOS, Point
from icmodel.errors import OutOfDomain, UnitError
from icmodel.fits.fits import Fits
from icmodel.fits.hosts import ON_WIRE, frame_times
from icmodel.fits.observations import observations, quantity
from icmodel.fits.refine import Refiner
from icmodel.laws import hybrid
from icmodel.model import Model
from icmodel.scenario import Hosts, Where
from icmodel.tables import Row
from icmodel.tables.curves import alone, curves_of
from icmodel.tables.wire import frames_on_wire
from search import mostly_long, times

LAB = lab()
MODEL = Model(LAB, "hybrid")
CORRECTED = Model(LAB, "corrected")
MPI = icmodel.load("mpi-infiniband-roce")


def carrier(protocol: str, options: object, payload_bytes: np.ndarray) -> object:
    return frames_on_wire(LAB, protocol, {}, payload_bytes)


# --- rows and quantities ----------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["goodput_bps", "frames_per_s", "cpu_send", "rtt_mean_s"])
def test_a_quantity_goes_there_and_back(metric: str) -> None:
    values, payload = np.array([0.2, 0.7, 0.0 if metric == "cpu_send" else 0.1]), np.full(3, 99.0)
    measure = quantity(metric, values)
    assert measure.value(measure.log_time(values, payload), payload) == pytest.approx(values)


@pytest.mark.parametrize(
    ("name", "metric", "fitted"),
    [("rmi-1g-2009", "rtt_mean_s", True), ("zeromq-1g-2007", "frames_per_s", False)],
)
def test_a_kept_fit_names_metrics_without_a_curve(name: str, metric: str, fitted: bool) -> None:
    data = icmodel.load(name)
    kept = hybrid.fit(data).metrics
    assert set(data.metrics) <= kept.keys()
    assert (kept[metric] is not None) == fitted


def test_of_fewer_than_three_rows_nothing_is_fitted() -> None:
    few = dataset([row("tcp", 64, math.inf, "goodput_bps", np.array([1e9]))] * 2)
    assert observations(few, "goodput_bps", carrier) is None  # type: ignore[arg-type]
    assert Model(few, "hybrid").predict(protocol="tcp", payload_bytes=64).goodput_bps.value == 1e9


def test_both_sides_of_each_break_are_knots() -> None:
    knots = Refiner(Fits(LAB, carrier)).knots(("tcp", "udp"), {})  # type: ignore[arg-type]
    assert {1448, 1449, 2896, 2897, 1472, 1473} <= set(knots)


# --- accuracy on known truth ------------------------------------------------------------------


@pytest.mark.parametrize("payload", [300, 800])
def test_above_the_greatest_carried_load_cpu_goes_on_to_the_unlimited_run(payload: int) -> None:
    capacity = truth("udp", payload, math.inf)["goodput_bps"]
    highest = max(load for load in LOADS_BPS if load < capacity)
    assert 1.2 * highest < capacity

    def told(model: Model, load_bps: float | None) -> Any:
        rate = None if load_bps is None else load_bps / 8 / payload
        return model.predict(protocol="udp", payload_bytes=payload, rate_fps=rate).cpu_recv

    most = told(MODEL, None).value
    before = told(MODEL, highest).value
    for load in np.linspace(1.02 * highest, 0.98 * capacity, 5).tolist():
        here = told(MODEL, load)
        assert here.value == pytest.approx(truth("udp", payload, load)["cpu_recv"], rel=0.05)
        assert before < here.value <= most
        assert here.low <= here.value <= here.high
        assert here.basis == "extrapolated"
        before = here.value
    held = told(CORRECTED, 0.98 * capacity)
    assert held.value == pytest.approx(told(CORRECTED, highest).value)


@pytest.mark.parametrize("protocol", mostly_long(["tcp", "udp"], ["tcp"]))
def test_beside_the_edge_of_a_load_the_load_itself_answers(protocol: str) -> None:
    """Not the next lower one: within a piece of the curve it had bent the answer towards that."""
    load, sizes = 6e9, np.arange(600, 8192)
    reached = [truth(protocol, size, math.inf)["goodput_bps"] for size in sizes.tolist()]
    edge = int(sizes[np.flatnonzero(np.array(reached) < load)[-1]])
    quiet = Model(lab(noise=0.001), "hybrid")
    for payload in np.linspace(1.03 * edge, 1.3 * edge, 9).astype(int).tolist():
        told = quiet.predict(
            protocol=protocol,
            payload_bytes=payload,
            requested_goodput_bps=load,
            metrics=["goodput_bps", "cpu_send", "cpu_recv"],
        )
        assert told.goodput_bps.value == pytest.approx(load, rel=0.01)
        for metric in ("cpu_send", "cpu_recv"):
            expected = truth(protocol, payload, load)[metric]
            assert told.metrics[metric].value == pytest.approx(expected, rel=0.08), payload


def test_a_load_answers_from_where_it_is_carried_and_not_from_its_first_row() -> None:
    load, first = 3e9, 4096
    quiet = lab(noise=0.001)
    rest = [p for p in quiet.points if p.load_bps != load or (p.payload_bytes or 0) >= first]
    model = Model(replace(quiet, points=tuple(rest)), "hybrid")
    told = model.predict(
        protocol="udp",
        payload_bytes=2048,
        requested_goodput_bps=load,
        metrics=["cpu_recv", "latency_mean_s"],
    )
    expected = truth("udp", 2048, load)
    assert told.cpu_recv.value == pytest.approx(expected["cpu_recv"], rel=0.1)
    assert told.latency_mean_s.value == pytest.approx(expected["latency_mean_s"], rel=0.1)
    assert told.latency_mean_s.basis == "extrapolated"
    assert told.latency_mean_s.why == "extrapolated on payload at 3 Gb/s: 2048 B beyond 4096 B"
    with pytest.raises(OutOfDomain):
        model.predict(protocol="udp", payload_bytes=8, requested_goodput_bps=1e6)


def test_the_latency_of_a_load_does_not_bend_towards_the_overload_of_a_higher_one() -> None:
    """At 276 B and less 2.5 Gb/s are too much, with milliseconds; 1 Gb/s are carried with ease."""
    model = Model(icmodel.load("ethernet-10g-2012"), "hybrid")
    question: dict[str, Any] = {"protocol": "udp", "cores": 4, "requested_goodput_bps": 1e9}
    told = [
        model.predict(payload_bytes=payload, **question).latency_mean_s.value
        for payload in (264, 276, 278, 284, 290, 304)
    ]
    assert max(told) < 1.5 * max(told[0], told[-1])


def slow_receiver(load_bps: float, payload: int) -> dict[str, float]:
    """A sender that needs 1 µs a frame, and a receiver that needs 2."""
    asked = load_bps / (8 * payload)
    sent, received = min(asked, 1e6), min(asked, 5e5)
    bits = 8 * payload
    return {
        "goodput_bps": received * bits,
        "sent_bps": sent * bits,
        "loss_rate": 1 - received / sent,
        "latency_mean_s": 1e-5 if asked <= 5e5 else 1e-3,
        "cpu_send": sent * 1e-6,
        "cpu_recv": received * 2e-6,
    }


def test_where_less_arrives_the_sender_works_for_what_it_sends() -> None:
    loads = (1e6, 1e7, 1e8, math.inf)
    points = [
        row("udp", payload, load, metric, np.array([value]))
        for payload in (64, 128, 256, 512, 1024)
        for load in loads
        if load == math.inf or load <= 8 * payload * 5e5
        for metric, value in slow_receiver(load, payload).items()
    ]
    model = Model(dataset(points), "hybrid")
    for share in (1.1, 1.5, 1.9, 3.0):
        load = share * 8 * 300 * 5e5
        told = model.predict(protocol="udp", payload_bytes=300, requested_goodput_bps=load)
        expected = slow_receiver(load, 300)
        for metric in ("cpu_send", "cpu_recv", "loss_rate"):
            assert told.metrics[metric].value == pytest.approx(expected[metric], rel=0.02), share
        assert told.cpu_send.low <= told.cpu_send.value <= told.cpu_send.high


def held_out(seed: int, count: int = 40) -> list[Point]:
    """Single runs at payloads and loads that the lab has not measured together."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        protocol = str(random.choice(("tcp", "udp")))
        payload, load = int(2 ** random.uniform(4, 15.9)), float(random.choice(LOADS_BPS))
        for metric in ("latency_mean_s", "cpu_send", "cpu_recv"):
            run = truth(protocol, payload, load)[metric] * np.exp(NOISE * random.normal())
            rows.append(row(protocol, payload, load, metric, np.array([min(run, 1.0)])))
    return rows


def asked(point: Point) -> dict[str, Any]:
    load = point.load_bps or math.inf
    wish = {} if math.isinf(load) else {"requested_goodput_bps": load}
    return {"protocol": point.protocol, "payload_bytes": point.payload_bytes, **wish}


def test_held_out_runs_are_met_within_the_noise_and_mostly_covered() -> None:
    rows = held_out(5)
    told = [MODEL.predict(**asked(point)).metrics[point.metric] for point in rows]
    errors = np.array([abs(e.value / p.value - 1) for e, p in zip(told, rows, strict=True)])
    assert np.median(errors) < 1.25 * NOISE
    inside = np.mean([e.low <= p.value <= e.high for e, p in zip(told, rows, strict=True)])
    assert inside >= 0.8


def test_the_points_beside_the_break_are_told_by_the_others() -> None:
    quiet = lab(noise=0.001)
    out = (1024, 1448, 1449, 2048)
    rest = replace(quiet, points=tuple(p for p in quiet.points if p.payload_bytes not in out))
    model = Model(rest, "hybrid")
    for point in quiet.points:
        beside = point.payload_bytes in (1024, 2048) and point.load_bps == LOADS_BPS[0]
        if beside and point.metric == "latency_mean_s":
            told = model.predict(**asked(point)).latency_mean_s
            assert told.value == pytest.approx(point.value, rel=0.1)


def test_a_sister_configuration_lends_its_break() -> None:
    """One suite of mpi-infiniband-roce knows what the other left out."""
    out = [p for p in MPI.points if p.payload_bytes in (8192, 16384) and "imb" in p.options]
    rest = replace(MPI, points=tuple(p for p in MPI.points if p not in out))
    model = Model(rest, "hybrid")
    for point in out:
        told = model.predict(
            protocol="mpi", payload_bytes=point.payload_bytes or 0,
            options={"partition": point.options[0], "suite": "imb"},
        )  # fmt: skip
        assert told.rtt_half_mean_s.value == pytest.approx(point.value, rel=0.1)


# --- what must always hold --------------------------------------------------------------------

QUESTIONS = st.fixed_dictionaries(
    {
        "protocol": st.sampled_from(("tcp", "udp")),
        "payload_bytes": st.integers(16, 65_000),
        "requested_goodput_bps": st.floats(1e6, 2e10),
    }
)


@settings(max_examples=times(60))
@given(QUESTIONS)
def test_physics_holds(question: dict[str, Any]) -> None:
    told = MODEL.predict(**question)
    request = question["requested_goodput_bps"]
    loss = told.loss_rate.value
    assert 0 <= loss <= 1
    assert told.goodput_bps.value <= request * (1 - loss) * (1 + 1e-9)
    assert told.goodput_bps.high <= told.bounds["wire"] * (1 + 1e-9)
    assert told.latency_mean_s.low >= (MODEL.least_latency_s(told.scenario) or 0.0) * (1 - 1e-9)
    for estimate in told.metrics.values():
        if not estimate.absent:
            assert estimate.low <= estimate.value <= estimate.high
    assert max(told.cpu_send.value, told.cpu_recv.value) <= 1


@settings(max_examples=times(30))
@given(QUESTIONS, st.floats(1, 10))
def test_goodput_does_not_fall_with_the_request_nor_rise_with_endpoints(
    question: dict[str, Any], more: float
) -> None:
    question["protocol"] = "tcp"
    less = MODEL.predict(**question).goodput_bps.value
    question["requested_goodput_bps"] *= more
    assert MODEL.predict(**question).goodput_bps.value >= less * (1 - 0.05)
    shared = MODEL.predict(**question, endpoints=2, other_goodput_bps=3e9)
    assert shared.goodput_bps.value <= MODEL.predict(**question).goodput_bps.value * (1 + 1e-9)


def test_every_measured_point_lies_in_its_interval() -> None:
    for point in LAB.points[::7]:
        if point.metric in ("latency_mean_s", "cpu_send", "cpu_recv"):
            told = MODEL.predict(**asked(point)).metrics[point.metric]
            best = truth(point.protocol, point.payload_bytes or 1, math.inf)["goodput_bps"]
            load = point.load_bps or math.inf
            carried = math.isinf(load) or load <= best
            if carried:
                assert told.low * (1 - 1e-9) <= point.value <= told.high * (1 + 1e-9)


def test_one_question_and_many_give_the_same_numbers() -> None:
    payload = np.array([16, 100, 1448, 1449, 5000, 65_000])
    many = MODEL.predict_many(protocol="udp", payload_bytes=payload, requested_goodput_bps=2e8)
    for k, size in enumerate(payload.tolist()):
        one = MODEL.predict(protocol="udp", payload_bytes=size, requested_goodput_bps=2e8)
        for name in ("goodput_bps", "latency_mean_s", "cpu_recv", "loss_rate"):
            assert many[name].values[k] == one.metrics[name].value
            assert many[f"{name}_low"].values[k] == one.metrics[name].low


def test_asked_for_some_metrics_it_fits_no_others_and_answers_alike() -> None:
    data = icmodel.load("ethernet-1g-2010")
    fitted: list[tuple[int, int]] = []
    some = Model(data, "hybrid", lambda done, of: fitted.append((done, of)), cache=False)
    question: dict[str, Any] = {"protocol": "tcp", "payload_bytes": 3000}
    asked = some.predict(metrics=["cpu_send"], **question)
    assert "rtt_half_mean_s" not in asked.metrics
    many = some.predict_many(metrics=["cpu_send"], **question)
    few = len(fitted)
    every = some.predict(**question)
    assert 0 < few < len(fitted)
    assert "rtt_half_mean_s" in every.metrics
    assert asked.metrics == {name: every.metrics[name] for name in asked.metrics}
    assert float(many.cpu_send) == every.cpu_send.value


def test_the_same_question_gives_the_same_bytes() -> None:
    question: dict[str, Any] = {"protocol": "tcp", "payload_bytes": 3000}
    again = Model(lab(), "hybrid", cache=False).predict(**question)
    assert again.to_dict() == MODEL.predict(**question).to_dict()


def test_outside_the_payloads_it_refuses_or_says_so() -> None:
    with pytest.raises(OutOfDomain, match="outside simulated"):
        MODEL.predict(protocol="tcp", payload_bytes=4)
    told = MODEL.predict(protocol="tcp", payload_bytes=4, outside="extrapolate")
    assert told.goodput_bps.basis == "extrapolated"
    assert "12 B beyond 16 B" in told.goodput_bps.why
    expected = truth("tcp", 4, math.inf)["goodput_bps"]
    assert told.goodput_bps.low <= expected <= told.goodput_bps.high


def test_far_beyond_the_payloads_no_part_of_a_core_exceeds_the_whole() -> None:
    lab_1g = icmodel.load("lab-1g-2026")
    told = Model(lab_1g, "hybrid").predict(
        protocol="zeromq",
        payload_bytes=2_514_479,
        cores=1,
        outside="extrapolate",
        metrics=[name for name in lab_1g.metrics if name in RATIOS],
    )
    parts = [name for name in told.metrics if name in RATIOS and not told.metrics[name].absent]
    assert "cpu_recv_softirq" in parts
    assert all(told.metrics[name].high <= 1 for name in parts)


def test_a_prediction_names_the_rows_on_both_sides() -> None:
    told = MODEL.predict(protocol="tcp", payload_bytes=3000)
    payloads = {used.payload_bytes for used in told.rows if used.metric == "goodput_bps"}
    assert payloads == {2048, 4096}
    assert told.variant == "hybrid"
    assert told.goodput_bps.basis == "interpolated"


# --- other hosts ------------------------------------------------------------------------------


def test_a_slower_line_limits_and_says_that_it_is_extrapolated() -> None:
    told = MODEL.predict(protocol="tcp", payload_bytes=65_000, line_rate="1 Gb/s")
    assert told.goodput_bps.value == pytest.approx(told.bounds["wire"])
    assert told.goodput_bps.value < 1e9
    assert told.bottleneck == "wire"
    assert told.goodput_bps.basis == "extrapolated"
    assert told.goodput_bps.why == "extrapolated on line rate: 1 Gb/s, measured at 10 Gb/s"


def test_a_faster_line_helps_a_host_that_waits_for_it_and_no_other() -> None:
    for payload, helps in ((65_000, True), (64, False)):
        here = MODEL.predict(protocol="tcp", payload_bytes=payload).goodput_bps.value
        there = MODEL.predict(protocol="tcp", payload_bytes=payload, line_rate_bps=25e9)
        assert (there.goodput_bps.value > 1.1 * here) == helps


def test_a_faster_clock_shortens_the_hosts_part() -> None:
    here = MODEL.predict(protocol="udp", payload_bytes=64, requested_goodput_bps=2e8)
    there = MODEL.predict(
        protocol="udp", payload_bytes=64, requested_goodput_bps=2e8, cpu_clock="200 %"
    )
    assert there.cpu_send.value == pytest.approx(here.cpu_send.value / 2, rel=1e-6)
    assert there.latency_mean_s.value < here.latency_mean_s.value
    full = MODEL.predict(protocol="udp", payload_bytes=64, cpu_clock_ratio=2.0)
    slow = MODEL.predict(protocol="udp", payload_bytes=64)
    assert full.goodput_bps.value == pytest.approx(2 * slow.goodput_bps.value, rel=1e-6)


def test_intervals_widen_with_the_distance() -> None:
    widths = [
        math.log(told.latency_mean_s.high / told.latency_mean_s.low)
        for clock in (1.0, 1.5, 4.0)
        for told in [MODEL.predict(protocol="tcp", payload_bytes=64, cpu_clock_ratio=clock)]
    ]
    assert widths == sorted(widths)


def test_many_questions_may_ask_of_several_links() -> None:
    rates = np.array([1e9, 25e9, math.nan])
    many = MODEL.predict_many(protocol="tcp", payload_bytes=65_000, line_rate_bps=rates)
    for k, rate in enumerate((1e9, 25e9, None)):
        one = MODEL.predict(protocol="tcp", payload_bytes=65_000, line_rate_bps=rate)
        assert many.goodput_bps.values[k] == one.goodput_bps.value


def test_only_hybrid_answers_for_other_hosts() -> None:
    with pytest.raises(OutOfDomain, match="use the variant hybrid"):
        CORRECTED.predict(protocol="tcp", payload_bytes=64, line_rate="25 Gb/s")
    with pytest.raises(OutOfDomain, match="does not state its line rate"):
        Model(icmodel.load("rdma-connectx7"), "hybrid").predict(
            protocol="rdma-read",
            payload_bytes=64,
            options={"queue_pairs": "1"},
            line_rate="25 Gb/s",
        )
    with pytest.raises(UnitError, match="not a ratio"):
        MODEL.predict(protocol="tcp", payload_bytes=64, cpu_clock="fast")


@pytest.mark.parametrize("other", [{"line_rate_bps": 25e9}, {"cpu_clock_ratio": 2.0}])
def test_no_question_is_fitted_to_hosts_that_its_variant_does_not_know(
    other: dict[str, float],
) -> None:
    wish = replace(icmodel.Scenario("tcp", 64), **other)  # type: ignore[arg-type]
    with pytest.raises(OutOfDomain, match="the variant hybrid"):
        CORRECTED.fit_question(wish)
    assert MODEL.fit_question(wish) == (wish, ())


def test_where_the_wire_hid_the_host_the_busy_share_says_how_fast_it_is() -> None:
    old, new = (replace(sites([1000.0]), least_s=np.array([8000.0 / rate])) for rate in (1e9, 1e11))
    here = old.least_s
    known = frame_times(here, np.array([0.25]), old, new, Hosts(1e11))
    assert known.there_s[0] == pytest.approx(here[0] / 4)
    unknown = frame_times(here, np.array([math.nan]), old, new, Hosts(1e11))
    assert unknown.there_s[0] == pytest.approx(here[0])
    assert unknown.fastest_s[0] == pytest.approx(new.least_s[0])


@pytest.mark.parametrize("data", [LAB, MPI], ids=lambda data: data.id)
def test_hosts_that_hardly_differ_have_curves_that_hardly_differ(data: icmodel.Dataset) -> None:
    """Value and ends, at the rows' payloads too, within what counts as the wire's limit."""
    own = Refiner(Fits(data, partial(frames_on_wire, data)))
    nearly = own.for_hosts(Hosts(None, 1 + 1e-9), partial(frames_on_wire, data))
    knots, checked = own.knots(data.protocols, {}), 0
    rows = alone([Row(k, point) for k, point in enumerate(data.points)])
    for metric in data.metrics:
        for curves in curves_of(data, rows, metric, bare=True).values():
            for curve in curves[:2]:
                here, there = (
                    one.refined(metric, curve, knots, Where()).ends for one in (own, nearly)
                )
                assert there == pytest.approx(here, rel=1.001 * (ON_WIRE - 1))
                checked += own.fits.is_fitted(metric)
    assert checked


def test_the_line_rate_of_the_dataset_itself_changes_nothing() -> None:
    plain = MODEL.predict(protocol="tcp", payload_bytes=999)
    same = MODEL.predict(protocol="tcp", payload_bytes=999, line_rate_bps=LINE_RATE_BPS)
    assert same.metrics == plain.metrics
