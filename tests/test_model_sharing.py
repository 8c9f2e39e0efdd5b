"""Several senders of a protocol that loses frames: what counts is what they offer in all, not their number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fits_case import dataset, row
from icmodel.dataset import Dataset, load
from icmodel.model import Model
from search import times

RECEIVED_BPS, LOSS = 4e9, 0.5
"""What a lone unlimited sender has of the 8 Gb/s it offers."""
CARRIED_BPS = 7e9
"""What arrives whole of a limited sender."""
CENTRAL = load("ethernet-10g-2012")
MODELS = [Model(CENTRAL, variant) for variant in ("corrected", "hybrid")]


def overloadable() -> Dataset:
    """A receiver that carries 7 Gb/s, but takes only 4 of 8 that are offered."""
    points = []
    for payload in (4000, 60_000):
        for load_bps, metric, value in (
            (math.inf, "goodput_bps", RECEIVED_BPS),
            (CARRIED_BPS, "goodput_bps", CARRIED_BPS),
            (math.inf, "loss_rate", LOSS),
        ):
            points.append(row("udp", payload, load_bps, metric, np.array([value])))
    return dataset(points)


ALONE = Model(overloadable(), "corrected")


def goodput(model: Model, own_bps: float | None, others_bps: float, endpoints: int) -> float:
    question: dict[str, Any] = {"protocol": "udp", "payload_bytes": 50_000}
    question |= {} if own_bps is None else {"requested_goodput_bps": own_bps}
    told = model.predict(**question, other_goodput_bps=others_bps, endpoints=endpoints)
    return told.goodput_bps.value


def test_two_unlimited_senders_deliver_less_in_sum_than_one() -> None:
    """IC2012 §6.5.3.1: 19 Gb/s are offered, and the loss comes once more."""
    each = goodput(ALONE, None, 8e9, 2)
    assert 2 * each == pytest.approx(RECEIVED_BPS * (1 - LOSS))


@pytest.mark.parametrize("endpoints", [3, 5, 8])
def test_more_than_two_unlimited_senders_deliver_in_sum_what_two_do(endpoints: int) -> None:
    each = goodput(ALONE, None, 8e9 * (endpoints - 1), endpoints)
    assert endpoints * each == pytest.approx(RECEIVED_BPS * (1 - LOSS))


@pytest.mark.parametrize("endpoints", [2, 3, 5, 8])
def test_the_same_load_in_all_gives_the_same_whatever_the_number_of_senders(endpoints: int) -> None:
    """2 of 10 Gb/s: the receiver takes 4 / (1 + 1/4) Gb/s of these, of each sender its part."""
    assert goodput(ALONE, 2e9, 8e9, endpoints) == pytest.approx(2 / 10 * 4e9 / 1.25)


def test_what_is_carried_is_carried_whoever_sends_it() -> None:
    assert goodput(ALONE, 2e9, 4.9e9, 3) == pytest.approx(2e9)
    assert goodput(ALONE, 2e9, 5.1e9, 3) < 1.2e9


def test_a_rule_that_was_assumed_is_named() -> None:
    told = ALONE.predict(
        protocol="udp",
        payload_bytes=50_000,
        requested_goodput_bps=2e9,
        endpoints=5,
        other_goodput_bps=8e9,
    )
    assert told.goodput_bps.basis == "assumed"
    assert told.bottleneck == "receiver"
    assert any("is assumed" in note for note in told.notes)


def test_others_who_are_not_said_to_send_are_said_to_be_idle() -> None:
    told = ALONE.predict(protocol="udp", payload_bytes=50_000, endpoints=5)
    assert any("taken as idle" in note for note in told.notes)
    alone = ALONE.predict(protocol="udp", payload_bytes=50_000)
    assert not any("idle" in note for note in alone.notes)


@settings(max_examples=times(25))
@given(
    st.sampled_from([ALONE, *MODELS]),
    st.integers(1000, 65_507),
    st.floats(0.01, 20),
    st.integers(2, 500),
    st.lists(st.floats(0, 400), min_size=2, max_size=6),
)
def test_the_more_is_offered_in_all_the_less_one_gets_and_never_nothing(
    model: Model, payload: int, own: float, endpoints: int, others: list[float]
) -> None:
    payload = min(max(payload, 4000), 60_000) if model is ALONE else payload
    loads = np.sort(others) * 1e9
    told = model.predict_many(
        protocol="udp",
        payload_bytes=payload,
        requested_goodput_bps=own * 1e9,
        endpoints=endpoints,
        other_goodput_bps=loads,
        metrics=["goodput_bps", "loss_rate"],
    )
    for end in ("", "_low", "_high"):
        one = told["goodput_bps" + end].values
        assert (np.diff(one) <= 1e-6 * one[:-1]).all()
    few = told.goodput_bps.values
    assert (few > 1e-3 * min(own * 1e9, 1e8) / endpoints).all()
    more = model.predict_many(
        protocol="udp",
        payload_bytes=payload,
        requested_goodput_bps=own * 1e9,
        endpoints=endpoints + 3,
        other_goodput_bps=loads,
        metrics=["goodput_bps"],
    )
    assert (more.goodput_bps.values <= few * (1 + 1e-9)).all()


@pytest.mark.parametrize("variant", ["appendix-h", "corrected", "hybrid"])
def test_times_are_unknown_where_all_senders_together_overload_the_line(variant: str) -> None:
    """A TCP stream has its share of a full line, but its frames wait among those of the others."""
    model = Model(CENTRAL, variant)
    question: dict[str, Any] = {
        "payload": "1448 B",
        "requested_goodput": "500 Mb/s",
        "endpoints": 3,
    }
    free = model.predict(**question, other_goodput="5 Gb/s")
    full = model.predict(**question, other_goodput="9.8 Gb/s")
    assert (free.bottleneck, full.bottleneck) == ("request", "request")
    assert free["latency_mean_s"].value > 0
    times = [name for name in full if name.startswith(("latency_", "rtt_"))]
    assert "latency_max_s" in times
    assert all(full[name].absent for name in times)
    because = "all senders together request more than the receiving interface carries"
    assert full["latency_mean_s"].why == because
    assert f"{because}: the latency is unknown" in full.notes


@pytest.mark.parametrize("variant", ["appendix-h", "corrected", "hybrid"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("requested", ["5 Gb/s", "unlimited"])
def test_no_benchmark_of_one_sender_gives_the_times_of_a_stream_held_back(
    variant: str, protocol: str, requested: str
) -> None:
    """A lone sender fills its own queue; here three senders fill that of the receiver's line."""
    question: dict[str, Any] = {"payload": "1448 B", "protocol": protocol, "endpoints": 3}
    if requested != "unlimited":
        question["requested_goodput"] = requested
    model = Model(CENTRAL, variant)
    alone = model.predict(**question)
    full = model.predict(**question, other_goodput="8 Gb/s")
    times = [name for name in full if name.startswith(("latency_", "rtt_"))]
    assert alone["latency_mean_s"].value > 0
    assert full["goodput_bps"].value < 5e9
    assert all(full[name].absent for name in times)
    assert not [note for note in full.notes if "unlimited benchmark" in note]


def test_a_lone_sender_above_the_line_keeps_the_times_of_the_benchmark() -> None:
    told = Model(CENTRAL).predict(payload="1448 B", requested_goodput="20 Gb/s")
    assert told["latency_mean_s"].value > 0
