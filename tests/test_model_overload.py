"""Limited requests above what can be had: answered from runs that were asked for too much."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fits_case import dataset, row
from icmodel.dataset import Dataset, Point
from icmodel.model import Model

PAYLOADS = (64, 128, 256, 512, 1024, 2048)
LOADS_BPS = (1e8, 3e8, 6e8, math.inf)
UNLIMITED_S, PACED_S = 2e-6, 2.5e-6
"""Time a frame at full speed, and of a sender that looks at the clock before each."""


def truth(payload_bytes: float, load_bps: float) -> dict[str, float]:
    frame_s = UNLIMITED_S if math.isinf(load_bps) else PACED_S
    able = 8 * payload_bytes / frame_s
    over = load_bps > able
    return {
        "goodput_bps": min(load_bps, able),
        "latency_mean_s": 400e-6 if math.isinf(load_bps) else 50e-6 if over else 10e-6,
        "cpu_send": 0.7 if math.isinf(load_bps) else 0.9 if over else 0.9 * load_bps / able,
    }


def paced() -> Dataset:
    random = np.random.default_rng(1)
    points: list[Point] = []
    for payload in PAYLOADS:
        for load in LOADS_BPS:
            for metric, value in truth(payload, load).items():
                runs = np.minimum(value * np.exp(0.01 * random.standard_normal(3)), load)
                points.append(row("tcp", payload, load, metric, runs))
    return dataset(points)


DATA = paced()
MODEL = Model(DATA, "hybrid")


@pytest.mark.parametrize("payload_bytes", [64, 78, 100])
def test_a_request_above_what_can_be_had_is_answered_from_its_likes(payload_bytes: int) -> None:
    asked: dict[str, Any] = {"protocol": "tcp", "payload_bytes": payload_bytes}
    asked["requested_goodput_bps"] = 5e8
    found = MODEL.predict(**asked)
    true = truth(payload_bytes, 5e8)
    assert found.goodput_bps.value == pytest.approx(true["goodput_bps"], rel=0.05)
    assert found.latency_mean_s.value == pytest.approx(true["latency_mean_s"], rel=0.1)
    assert found.cpu_send.value == pytest.approx(true["cpu_send"], abs=0.05)
    assert any("runs in overload" in note for note in found.notes)
    many = MODEL.predict_many(**asked)
    for name in true:
        for end in ("", "_low", "_high"):
            one = getattr(found.metrics[name], end.removeprefix("_") or "value")
            assert float(many[name + end]) == pytest.approx(one)


@pytest.mark.parametrize(("payload_bytes", "request_bps"), [(64, 2.3e8), (70, 2.5e8), (128, 4.8e8)])
def test_a_paced_request_cannot_have_what_one_at_full_speed_gets(
    payload_bytes: int, request_bps: float
) -> None:
    asked: dict[str, Any] = {"protocol": "tcp", "payload_bytes": payload_bytes}
    true = truth(payload_bytes, request_bps)
    assert true["goodput_bps"] < request_bps < truth(payload_bytes, math.inf)["goodput_bps"]
    found = MODEL.predict(**asked, requested_goodput_bps=request_bps)
    assert found.goodput_bps.value == pytest.approx(true["goodput_bps"], rel=0.05)
    assert found.latency_mean_s.value == pytest.approx(true["latency_mean_s"], rel=0.1)
    many = MODEL.predict_many(**asked, requested_goodput_bps=request_bps)
    assert float(many.goodput_bps) == pytest.approx(found.goodput_bps.value)


def test_unlimited_and_carried_requests_keep_their_own_rows() -> None:
    for load in (1e8, math.inf):
        wish: dict[str, Any] = {} if math.isinf(load) else {"requested_goodput_bps": load}
        found = MODEL.predict(protocol="tcp", payload_bytes=128, **wish)
        for metric, value in truth(128, load).items():
            assert found.metrics[metric].value == pytest.approx(value, rel=0.06), metric


def test_one_array_may_hold_all_kinds_of_requests() -> None:
    loads = np.array([1e8, 5e8, math.inf])
    many = MODEL.predict_many(protocol="tcp", payload_bytes=100, requested_goodput_bps=loads)
    true = [truth(100, load)["latency_mean_s"] for load in loads]
    assert many.latency_mean_s.values == pytest.approx(true, rel=0.1)


def test_beyond_the_payloads_of_such_runs_the_unlimited_ones_answer() -> None:
    found = MODEL.predict(protocol="tcp", payload_bytes=2000, requested_goodput_bps=9e9)
    assert found.goodput_bps.value == pytest.approx(truth(2000, math.inf)["goodput_bps"], rel=0.05)


def test_where_such_runs_lack_a_metric_the_unlimited_ones_answer_all() -> None:
    points = tuple(p for p in DATA.points if p.metric != "cpu_send" or p.load_bps == math.inf)
    model = Model(replace(DATA, points=points), "hybrid")
    found = model.predict(protocol="tcp", payload_bytes=78, requested_goodput_bps=5e8)
    assert found.latency_mean_s.value == pytest.approx(400e-6, rel=0.1)
