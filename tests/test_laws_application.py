"""The application's own work in `hybrid`, against a simulated lab whose costs a frame are known."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fits_case
import icmodel
from icmodel.dataset import catalogue
from icmodel.errors import OutOfDomain
from icmodel.model import Model
from icmodel.theory import ethernet
from search import times

MODEL = Model(fits_case.lab(noise=0.005), "hybrid")
SIZES = st.sampled_from(fits_case.PAYLOADS)
WORK = st.one_of(st.just(0.0), st.floats(1e-9, 1e-4))
BUNDLED = ("ethernet-10g-2012", "lab-1g-2026", "mpi-csd3")


@cache
def bundled(name: str) -> Model:
    return Model(name, "hybrid")


def truth_fps(protocol: str, payload_bytes: int, send_s: float, recv_s: float) -> float:
    """Frames a second that the slowest of sender, receiver and wire lets pass."""
    payload = np.array([float(payload_bytes)])
    framing = ethernet.Framing(protocol, 1500)
    wire_s = float(
        ethernet.send_interval_s(payload.astype(np.int64), framing, fits_case.LINE_RATE_BPS)[0]
    )
    if protocol == "tcp":
        stream_bps = ethernet.stream_goodput_bps(framing, fits_case.LINE_RATE_BPS)
        wire_s = 8 * payload_bytes / stream_bps
    sender = float(fits_case.cost_s(payload, protocol, fits_case.SEND)[0]) + send_s
    receiver = float(fits_case.cost_s(payload, protocol, fits_case.RECEIVE)[0]) + recv_s
    return 1 / max(sender, receiver, wire_s)


def works(*said: dict[str, float]) -> tuple[dict[str, Any], ...]:
    """Keywords of a question that say some work."""
    return said


# --- goodput, against the truth -------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("payload", [64, 512, 1448, 4096])
@pytest.mark.parametrize(("send_s", "recv_s"), [(2e-6, 0.0), (0.0, 5e-6), (3e-6, 4e-6), (2e-5, 0)])
def test_the_slowest_stage_limits(
    protocol: str, payload: int, send_s: float, recv_s: float
) -> None:
    told = MODEL.predict(
        protocol=protocol, payload_bytes=payload, app_send_s=send_s, app_recv_s=recv_s
    )
    real_bps = 8 * payload * truth_fps(protocol, payload, send_s, recv_s)
    assert told.goodput_bps.value == pytest.approx(real_bps, rel=0.08)
    assert told.goodput_bps.low <= real_bps * 1.01
    assert told.goodput_bps.high >= real_bps * 0.99


@pytest.mark.parametrize("end", ["app_send", "app_recv"])
def test_no_host_is_faster_than_the_application_on_its_core(end: str) -> None:
    """A frame of 1448 B every millisecond is 11.584 Mb/s, however wide the interval is."""
    asked: dict[str, Any] = {"protocol": "tcp", "payload_bytes": 1448, end: "1 ms"}
    told = MODEL.predict(**asked)
    cores = told.scenario.cores or 1
    assert told.goodput_bps.low < told.goodput_bps.value <= told.goodput_bps.high
    assert told.goodput_bps.high <= cores * 11.584e6 * (1 + 1e-9)
    assert told.goodput_bps.high > cores * 11.4e6


def test_a_sender_with_more_work_is_limited_by_its_cpu_and_all_of_it_is_busy() -> None:
    told = MODEL.predict(protocol="tcp", payload_bytes=64, app_send="5 us")
    assert told.bottleneck == "cpu"
    assert told.cpu_send.value == 1.0
    assert told.bounds["application_send"] == pytest.approx(told.goodput_bps.value, rel=5e-3)


def test_what_a_busy_receiver_leaves_behind_is_lost_or_pushed_back() -> None:
    for protocol in ("tcp", "udp"):
        told = MODEL.predict(protocol=protocol, payload_bytes=64, app_recv="9 us")
        assert told.bottleneck == "receiver"
        assert told.cpu_recv.value == pytest.approx(1.0, abs=0.05)
        lost = told.loss_rate.value
        assert (lost > 0.5) == (protocol == "udp")
        arrives = told.sent_bps.value * (1 - lost)
        assert arrives == pytest.approx(told.goodput_bps.value, rel=1e-6)


def test_a_pushed_back_sender_works_less() -> None:
    free = MODEL.predict(protocol="tcp", payload_bytes=64)
    held = MODEL.predict(protocol="tcp", payload_bytes=64, app_recv="9 us")
    assert held.cpu_send.value < 0.5 * free.cpu_send.value


def test_so_little_work_that_the_wire_limits_changes_no_goodput() -> None:
    for protocol, payload in (("tcp", 16384), ("udp", 32768)):
        free = MODEL.predict(protocol=protocol, payload_bytes=payload)
        told = MODEL.predict(protocol=protocol, payload_bytes=payload, app_send="50 ns")
        assert free.bottleneck == told.bottleneck == "wire"
        assert told.goodput_bps.value == free.goodput_bps.value


# --- a request that is carried --------------------------------------------------------------------


def test_the_work_of_a_carried_request_is_added_to_both_ends() -> None:
    asked: dict[str, Any] = {"protocol": "tcp", "payload_bytes": 1024, "rate_fps": 20_000.0}
    free, told = (
        MODEL.predict(**asked, **work)
        for work in works({}, {"app_send_s": 5e-6, "app_recv_s": 8e-6})
    )
    assert told.goodput_bps == free.goodput_bps
    assert told.cpu_send.value - free.cpu_send.value == pytest.approx(20_000 * 5e-6, rel=5e-3)
    assert told.cpu_recv.value - free.cpu_recv.value == pytest.approx(20_000 * 8e-6, rel=5e-3)
    assert told.cpu_send.basis != "measured"


def test_one_way_latency_holds_no_work_but_waiting_at_its_upper_end() -> None:
    asked: dict[str, Any] = {"protocol": "tcp", "payload_bytes": 1024, "rate_fps": 20_000.0}
    free, told = (MODEL.predict(**asked, **work) for work in works({}, {"app_recv_s": 30e-6}))
    assert told.latency_mean_s.value == free.latency_mean_s.value
    assert told.latency_mean_s.low == free.latency_mean_s.low
    service = 30e-6 + float(fits_case.cost_s(np.array([1024.0]), "tcp", fits_case.RECEIVE)[0])
    rho = 20_000 * service
    waits = rho * service / (2 * (1 - rho))
    assert told.latency_mean_s.high - free.latency_mean_s.high == pytest.approx(waits, rel=0.05)


def test_a_round_trip_holds_the_work_of_the_end_that_answers() -> None:
    model = bundled("mpi-csd3")
    asked: dict[str, Any] = {
        "protocol": model.data.default_protocol,
        "payload_bytes": 1024,
        "rate_fps": 1000.0,
    }
    free, told = (
        model.predict(**asked, **work)
        for work in works({}, {"app_send_s": 2e-6, "app_recv_s": 3e-6})
    )
    trips = [
        name for name in free.metrics if name.startswith("rtt_") and not free.metrics[name].absent
    ]
    assert trips
    for name in trips:
        more = told.metrics[name].value - free.metrics[name].value
        share = 0.5 if name.startswith("rtt_half_") else 1.0
        assert more == pytest.approx(0 if name.endswith("_std_s") else share * 5e-6)


# --- properties -----------------------------------------------------------------------------------


@settings(max_examples=times(25))
@given(payload=SIZES, less=WORK, more=WORK, protocol=st.sampled_from(["tcp", "udp"]))
def test_no_more_is_sent_with_more_work_and_nothing_lossless_gains(
    payload: int, less: float, more: float, protocol: str
) -> None:
    less, more = sorted((less, more))
    for end in ("app_send_s", "app_recv_s"):
        work: dict[str, Any] = {end: np.array([less, more])}
        told = MODEL.predict_many(protocol=protocol, payload_bytes=payload, **work)
        for name in ("sent_bps",) if protocol == "udp" else ("sent_bps", "goodput_bps"):
            assert told[name].values[1] <= told[name].values[0] * (1 + 1e-9)


@settings(max_examples=times(25))
@given(payload=SIZES, less=WORK, more=WORK, share=st.floats(0.01, 0.5))
def test_cpu_never_falls_with_more_work_on_a_carried_request(
    payload: int, less: float, more: float, share: float
) -> None:
    less, more = sorted((less, more))
    able = 8 * payload * truth_fps("tcp", payload, more, more)
    told = MODEL.predict_many(
        protocol="tcp",
        payload_bytes=payload,
        requested_goodput_bps=share * able,
        app_send_s=np.array([less, more]),
        app_recv_s=np.array([less, more]),
    )
    for name in ("cpu_send", "cpu_recv", "cpu_send_low", "cpu_recv_high"):
        assert told[name].values[1] >= told[name].values[0] * (1 - 1e-12)


@settings(max_examples=times(15))
@given(payload=SIZES, send_s=WORK, recv_s=WORK, rate=st.one_of(st.none(), st.floats(1.0, 1e6)))
def test_intervals_hold_their_value_and_many_answer_as_one(
    payload: int, send_s: float, recv_s: float, rate: float | None
) -> None:
    asked: dict[str, Any] = {
        "protocol": "udp",
        "payload_bytes": payload,
        "app_send_s": send_s,
        "app_recv_s": recv_s,
    }
    one = MODEL.predict(**asked, rate_fps=rate)
    many = MODEL.predict_many(
        **{**asked, "app_send_s": np.array([0.0, send_s])},
        rate_fps=math.inf if rate is None else rate,
    )
    for name, told in one.metrics.items():
        if told.absent:
            continue
        assert told.low <= told.value <= told.high
        assert many[name].values[1] == told.value
        assert many[f"{name}_low"].values[1] == told.low
        assert many[f"{name}_high"].values[1] == told.high


@pytest.mark.parametrize("name", catalogue())
def test_no_work_said_aloud_changes_no_bit(name: str) -> None:
    model = bundled(name)
    sizes = sorted({p.payload_bytes for p in model.data.points if p.payload_bytes})
    asked: dict[str, Any] = {
        "protocol": model.data.default_protocol,
        "payload_bytes": np.array(sizes[:: max(len(sizes) // 6, 1)]),
        "outside": "nan",
    }
    plain = model.predict_many(**asked)
    aloud = model.predict_many(**asked, app_send_s=0.0, app_recv_s_per_byte=0.0)
    assert plain.identical(aloud)
    count = len(asked["payload_bytes"])
    beside = model.predict_many(
        **{**asked, "payload_bytes": np.tile(asked["payload_bytes"], 2)},
        app_send_s=np.repeat([0.0, 1e-6], count),
    )
    for variable in plain:
        assert np.array_equal(
            plain[variable].values, beside[variable].values[:count], equal_nan=True
        )


# --- what is said ---------------------------------------------------------------------------------


def test_notes_name_the_rule_and_the_definition() -> None:
    notes = " ".join(MODEL.predict(protocol="tcp", payload_bytes=64, app_send="5 us").notes)
    assert "5 µs at the sender before each write" in notes
    assert "derived from its utilisation" in notes


def test_without_rows_of_utilisation_the_hosts_part_is_assumed() -> None:
    points = [p for p in fits_case.lab().points if not p.metric.startswith("cpu_")]
    model = Model(fits_case.dataset(points), "hybrid")
    told = model.predict(protocol="tcp", payload_bytes=64, app_send="5 us")
    assert told.goodput_bps.basis == "assumed"
    assert "assumed, as no row states its utilisation" in " ".join(told.notes)


def test_work_is_counted_on_other_hosts_too() -> None:
    slow, fast = (
        MODEL.predict(protocol="tcp", payload_bytes=64, app_send="5 us", cpu_clock_ratio=clock)
        for clock in (1.0, 4.0)
    )
    assert slow.goodput_bps.value < fast.goodput_bps.value < 8 * 64 / 5e-6


def test_a_host_time_is_what_the_truth_says() -> None:
    sender, receiver = MODEL.host_times_s(icmodel.Scenario("tcp", 512))
    payload = np.array([512.0])
    for told, costs in ((sender, fits_case.SEND), (receiver, fits_case.RECEIVE)):
        assert told.value == pytest.approx(
            float(fits_case.cost_s(payload, "tcp", costs)[0]), rel=0.1
        )
    with pytest.raises(OutOfDomain, match="the variant hybrid"):
        Model("ethernet-10g-2012").host_times_s(icmodel.Scenario("tcp", 512))


def test_a_host_time_at_a_full_wire_is_at_least_that_of_smaller_frames() -> None:
    """The low is the time of the largest payload that the hosts limit, some 1.5 us."""
    below, above = (MODEL.host_times_s(icmodel.Scenario("tcp", size)) for size in (1448, 65000))
    for small, large in zip(below, above, strict=True):
        assert 0.9 * small.value < large.low < 1.5 * small.value < large.value / 5
