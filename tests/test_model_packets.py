"""Packets a second: theory's of the frames that flow, times the share that a sender leaves of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import icmodel
from fits_case import (
    LINE_RATE_BPS,
    LOADS_BPS,
    PAYLOADS,
    REPEATS,
    dataset,
    lab,
    packets,
    row,
    truth,
)
from icmodel.dataset import Dataset, Point
from icmodel.estimate import Prediction
from icmodel.model import Model

NOISE = 0.002
FULL = 1448
"""Bytes of a stream in a full packet."""
Merging = Callable[[float, float], float]
"""Frames a second and bytes of each to the share of packets that is sent."""


METRICS = ("goodput_bps", "frames_per_s", "packets_sent_per_s")


def told(model: Model, protocol: str, payload: int, load: float) -> Prediction:
    """What a model says of a load."""
    rate = None if math.isinf(load) else load / 8 / payload
    return model.predict(protocol=protocol, payload_bytes=payload, rate_fps=rate, metrics=METRICS)


def every_frame(frames_per_s: float, payload: float) -> float:
    return 1.0


def merging(frames_per_s: float, payload: float) -> float:
    """Short frames wait for each other, the more of them the faster they come."""
    return 1.0 if payload >= FULL else 1 / (1 + frames_per_s / 1e6)


def rows(protocol: str, merged: Merging) -> list[Point]:
    """Packets of a sender at all payloads and loads of the simulated lab."""
    random = np.random.default_rng(7)
    found = []
    for payload in PAYLOADS:
        for load in LOADS_BPS:
            mean = sent(protocol, payload, load, merged)
            runs = mean * np.exp(NOISE * random.standard_normal(REPEATS))
            found.append(row(protocol, payload, load, "packets_sent_per_s", runs))
    return found


def sent(protocol: str, payload: float, load_bps: float, merged: Merging) -> float:
    """The truth: packets a second."""
    goodput = truth(protocol, payload, load_bps)["goodput_bps"]
    frames = goodput / 8 / payload
    if protocol == "tcp" and goodput < load_bps * (1 - 1e-9):
        return goodput / 8 / FULL  # a sender that always has more fills its packets
    each = float(packets(np.array([float(payload)]), protocol)[0])
    return frames * each * merged(frames, payload)


def measured(protocol: str, merged: Merging) -> Dataset:
    """The simulated lab with its packets counted."""
    return dataset([*lab(noise=NOISE).points, *rows(protocol, merged)])


UDP = Model(measured("udp", every_frame), "hybrid")
MEASURED = Model(icmodel.load("lab-1g-2026"), "hybrid")
TCP = Model(measured("tcp", merging), "hybrid")


@pytest.mark.parametrize(
    "payload", [40, 1000, 1472, 1473, 1800, 2952, 2953, 12_000, 14_000, 50_000]
)
@pytest.mark.parametrize("load", [20e6, 0.1e9, 0.5e9, 2e9, math.inf])
def test_every_frame_has_its_packets_wherever_it_is_cut(payload: int, load: float) -> None:
    """Between the payloads and loads measured, below them, and beside breaks that no row knows."""
    expected = sent("udp", payload, load, every_frame)
    carried = truth("udp", payload, load)["goodput_bps"] >= load
    found = told(UDP, "udp", payload, load).packets_sent_per_s
    assert found.value == pytest.approx(expected, rel=0.01 if carried else 0.05)
    if carried:  # there no fit of a goodput stands between
        assert found.low <= expected * (1 + 1e-3)
        assert found.high >= expected * (1 - 1e-3)


@pytest.mark.parametrize("payload", [1448, 1449, 3000, 20_000])
def test_a_stream_at_its_limit_fills_its_packets_and_below_it_every_frame_has_its_own(
    payload: int,
) -> None:
    full, paced = (told(TCP, "tcp", payload, load) for load in (math.inf, 0.5e9))
    assert full.packets_sent_per_s.value == pytest.approx(
        full.goodput_bps.value / 8 / FULL, rel=0.03
    )
    each = math.ceil(payload / FULL)
    assert paced.packets_sent_per_s.value == pytest.approx(0.5e9 / 8 / payload * each, rel=0.03)


def test_what_a_sender_merges_is_learned() -> None:
    for payload in (128, 700):
        found = told(TCP, "tcp", payload, 0.1e9).packets_sent_per_s
        assert found.value == pytest.approx(sent("tcp", payload, 0.1e9, merging), rel=0.1)


@pytest.mark.parametrize(("model", "protocol"), [(TCP, "tcp"), (UDP, "udp")])
def test_who_throttles_sends_less_where_others_share_and_who_loses_does_not(
    model: Model, protocol: str
) -> None:
    alone, shared = (
        model.predict(
            protocol=protocol, payload_bytes=1472, endpoints=endpoints, other_goodput_bps=others
        )
        for endpoints, others in ((1, 0.0), (2, 9e9))
    )
    ratio = shared.goodput_bps.value / alone.goodput_bps.value
    assert ratio < 0.9
    found = shared.packets_sent_per_s.value / alone.packets_sent_per_s.value
    assert found == pytest.approx(ratio if protocol == "tcp" else 1.0, rel=1e-6)


def test_of_what_others_crowd_out_fewer_packets_arrive() -> None:
    received = [
        point._replace(metric="packets_received_per_s") for point in rows("udp", every_frame)
    ]
    model = Model(dataset([*lab(noise=NOISE).points, *received]), "hybrid")
    asked: dict[str, Any] = {"protocol": "udp", "payload_bytes": 1472, "rate_fps": 5e9 / 8 / 1472}
    shared = model.predict(endpoints=2, other_goodput_bps=8e9, **asked)
    frames = shared.goodput_bps.value / 8 / 1472
    assert frames < 0.99 * asked["rate_fps"]
    assert shared.packets_received_per_s.value == pytest.approx(frames, rel=0.02)


def test_where_only_the_unlimited_run_is_known_a_slow_stream_is_not_that_merged() -> None:
    at_limit = [p for p in rows("tcp", merging) if p.load_bps == math.inf]
    model = Model(dataset([*lab(noise=NOISE).points, *at_limit]), "hybrid")
    most = truth("tcp", 64, math.inf)["goodput_bps"]
    for share in (0.001, 0.1, 0.5, 0.9):
        found = told(model, "tcp", 64, share * most)
        frames, packets_ = found.frames_per_s.value, found.packets_sent_per_s
        assert packets_.value == pytest.approx(frames * (1 - share * (1 - 64 / FULL)), rel=0.05)
        assert packets_.high >= 0.999 * frames
        assert packets_.low <= frames * 64 / FULL * 1.05
        assert packets_.basis == "extrapolated"


def test_below_the_lowest_load_frames_come_to_stand_alone() -> None:
    shares = []
    for load in (1e4, 5e6, 20e6, 0.05e9):
        found = told(TCP, "tcp", 16, load)
        frames = found.frames_per_s.value
        shares.append(found.packets_sent_per_s.value / frames)
        assert found.packets_sent_per_s.high > 0.99 * found.packets_sent_per_s.value
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(1.0, abs=1e-3)
    assert shares[-1] == pytest.approx(merging(0.05e9 / 8 / 16, 16), rel=0.1)


def test_no_more_packets_are_told_than_the_wire_has_time_for() -> None:
    """One byte more than two packets: at full speed there is no time for the third one's header."""
    bits = 8 * 2897
    header = 8 * (1538 - FULL)
    most = told(TCP, "tcp", 2897, math.inf).goodput_bps.value
    assert 3 * header + bits > bits / most * LINE_RATE_BPS
    for share in (0.9, 0.97, 0.99, 0.9999):
        found = told(TCP, "tcp", 2897, share * most).packets_sent_per_s
        assert share * most + found.value * header <= LINE_RATE_BPS * 1.001
    assert share * most + found.high * header <= LINE_RATE_BPS * 1.001
    merged = share * most / 8 / FULL
    assert found.low == pytest.approx(merged, rel=0.01)
    assert found.value > found.low


@pytest.mark.parametrize("rate", [70e6 / 512, 81e6 / 512, None])
def test_on_a_slow_line_no_packets_overrun_it(rate: float | None) -> None:
    """The lab's sender loses half of its small frames on the way, so that it sends twice what arrives."""
    told = MEASURED.predict(
        protocol="ethernet",
        payload_bytes=64,
        rate_fps=rate,
        line_rate_bps=1e8,
        metrics=["packets_sent_per_s"],
    )
    assert told.packets_sent_per_s.high * 8 * (64 + 38) <= 1e8 * 1.001


def test_over_the_edge_of_what_is_carried_there_is_no_spike() -> None:
    """Overloaded runs answer there, and a request may lie below what these reached."""
    sizes = np.full(200, 500)
    rates = np.linspace(8.4e8, 8.8e8, 200) / 8 / 500
    found = MEASURED.predict_many(
        protocol="zeromq", payload_bytes=sizes, rate_fps=rates, metrics=["packets_sent_per_s"]
    ).packets_sent_per_s.values
    assert found.max() < 1.1 * found.min()


def test_on_another_line_packets_go_with_the_frames() -> None:
    here, there = (
        UDP.predict(protocol="udp", payload_bytes=8192, line_rate_bps=rate)
        for rate in (LINE_RATE_BPS, LINE_RATE_BPS / 10)
    )
    ratio = there.goodput_bps.value / here.goodput_bps.value
    assert ratio < 0.2
    found = there.packets_sent_per_s.value / here.packets_sent_per_s.value
    assert found == pytest.approx(ratio, rel=1e-3)
    own = here.packets_sent_per_s
    wider = there.packets_sent_per_s
    assert wider.low / wider.value < own.low / own.value


def test_rows_that_say_no_payload_stand_as_they_are() -> None:
    counted = [
        p._replace(payload_bytes=None) for p in rows("udp", every_frame) if p.payload_bytes == 8192
    ]
    data = dataset([*lab(noise=NOISE).points, *counted])
    found = told(Model(data, "hybrid"), "udp", 500, 1e9).packets_sent_per_s
    at_load = next(p for p in counted if p.load_bps == 1e9)
    assert found.value == pytest.approx(at_load.value)


def test_without_a_goodput_packets_are_what_was_counted() -> None:
    data = replace(UDP.data, points=tuple(rows("udp", every_frame)))
    found = told(Model(data, "hybrid"), "udp", 2048, 1e9).packets_sent_per_s
    assert found.value == pytest.approx(1e9 / 8 / 2048 * 2, rel=0.02)


def test_a_protocol_without_goodput_leaves_all_packets_as_they_were_counted() -> None:
    goodputs = [p for p in lab(noise=NOISE).points if p.protocol == "tcp"]
    data = dataset([*goodputs, *rows("tcp", every_frame), *rows("udp", every_frame)])
    found = told(Model(data, "hybrid"), "udp", 2048, 1e9).packets_sent_per_s
    assert found.value == pytest.approx(1e9 / 8 / 2048 * 2, rel=0.02)


def test_many_questions_are_answered_as_one_is() -> None:
    sizes = np.array([64, 1473, 20_000])
    rates = np.array([1e4, 5e4, 1e9])
    many = UDP.predict_many(protocol="udp", payload_bytes=sizes, rate_fps=rates)
    for k, (size, rate) in enumerate(zip(sizes.tolist(), rates.tolist(), strict=True)):
        one = UDP.predict(protocol="udp", payload_bytes=size, rate_fps=rate).packets_sent_per_s
        assert float(many.packets_sent_per_s[k]) == one.value
        assert float(many.packets_sent_per_s_low[k]) == one.low
        assert float(many.packets_sent_per_s_high[k]) == one.high


PUBLISHED = [Model("ethernet-10g-2012", variant) for variant in ("corrected", "hybrid")]
COUNTED = ("packets_sent_per_s", "packets_received_per_s")
CORRECTED = Model(icmodel.load("lab-1g-2026"), "corrected")


@pytest.mark.parametrize("payload", [1, 64, 300, 512, 1024, 1500])
@pytest.mark.parametrize("rate", [1.0, 1000.0, 100_000.0])
def test_a_direct_frame_that_is_carried_is_one_packet_in_every_variant(
    payload: int, rate: float
) -> None:
    for model in PUBLISHED:
        told = model.predict(
            protocol="ethernet", payload_bytes=payload, rate_fps=rate, metrics=COUNTED
        )
        for found in (told.packets_sent_per_s, told.packets_received_per_s):
            assert found.low <= rate * (1 + 1e-9)
            assert found.high >= rate * (1 - 1e-9)
            assert found.value == pytest.approx(rate, rel=0.003)


def test_where_a_protocol_has_no_rows_of_packets_none_are_told() -> None:
    for model in PUBLISHED:
        told = model.predict_many(
            protocol=[1, 2], payload_bytes=512, rate_fps=1000.0, metrics=COUNTED
        )
        for name in COUNTED:
            assert np.isnan(told[name]).all()
            assert (told[f"{name}_basis"] == -1).all()


@pytest.mark.parametrize("protocol", ["udp", "ethernet"])
def test_corrected_has_theorys_packets_between_the_rows(protocol: str) -> None:
    """Every frame is cut by itself: within 0.5 % at payloads and loads between those measured."""
    payload = np.array([90.0, 300, 1100, 1472, 1473, 3000, 5000, 40_000])
    payload = payload[payload <= (1500 if protocol == "ethernet" else 65_507)]
    for load in (50e6, 200e6, 450e6):
        told = CORRECTED.predict_many(
            protocol=protocol, payload_bytes=payload, requested_goodput_bps=load
        )
        each = packets(payload, "udp") if protocol == "udp" else np.ones_like(payload)
        carried = told.goodput_bps.values > 0.999 * load
        assert carried.sum() >= 3
        found = told.packets_sent_per_s.values / (load / 8 / payload * each)
        np.testing.assert_allclose(found[carried], 1, rtol=5e-3)
