"""Other line rates: what fills is counted in bytes, hosts stay as they are, the wire's part is theory's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import icmodel
from fits_case import lab
from icmodel import Model, Prediction
from icmodel.theory import ethernet, send_interval_s
from search import mostly_long, times

LAB = Model(icmodel.load("lab-1g-2026"), "hybrid")
MADE_UP = Model(lab(), "hybrid")
OWN_BPS = 1e9


def asked(
    protocol: str, payload: int, rate_bps: float, share: float | None = None, model: Model = LAB
) -> Prediction:
    goodput = None if share is None else share * rate_bps
    return model.predict(
        protocol=protocol,
        payload_bytes=payload,
        line_rate_bps=rate_bps,
        requested_goodput_bps=goodput,
    )


# --- saturated --------------------------------------------------------------------------------


@pytest.mark.parametrize(("payload", "memory"), [(512, 1280), (1472, 2304)])
def test_saturated_datagrams_wait_for_three_quarters_of_the_socket(
    payload: int, memory: int
) -> None:
    """Little's law on 212 992 B of `wmem_default`, and one and three quarters of a frame on the way."""
    held = (0.75 * 212_992 / memory + 1.75) * payload
    for rate_bps in (1e8, 5e7, 1e7):
        told = asked("udp", payload, rate_bps)
        assert told.latency_mean_s.value == pytest.approx(
            8 * held / told.goodput_bps.value, rel=0.02
        )
        assert told.latency_mean_s.low < told.latency_mean_s.value < told.latency_mean_s.high


@pytest.mark.parametrize("payload", [1448, 16_384, 65_535])
def test_a_saturated_byte_stream_takes_as_many_times_longer_as_the_wire_is_slower(
    payload: int,
) -> None:
    one, other = (asked("tcp", payload, rate) for rate in (1e8, 2e7))
    assert other.latency_mean_s.value == pytest.approx(5 * one.latency_mean_s.value, rel=0.01)
    assert other.metrics["latency_p99_s"].value == pytest.approx(
        5 * one.metrics["latency_p99_s"].value, rel=0.05
    )


def test_nothing_is_lost_at_a_receiver_that_gets_less_than_it_can_take() -> None:
    assert LAB.predict(protocol="udp", payload_bytes=64).loss_rate.value > 0.03
    there = asked("udp", 64, 1e8).loss_rate
    assert there.value == 0
    assert there.high > 0


# --- below capacity ---------------------------------------------------------------------------


def test_hosts_take_as_long_for_a_packet_as_before() -> None:
    """Packets that a bucket lets pass at once meet no wire at either rate."""
    for protocol in ("tcp", "udp"):
        here, there = (
            LAB.predict(
                protocol=protocol,
                payload_bytes=1000,
                requested_goodput_bps=4e7,
                line_rate_bps=rate_bps,
            )
            for rate_bps in (OWN_BPS, 1e8)
        )
        assert there.latency_mean_s.value == pytest.approx(here.latency_mean_s.value)
        assert there.metrics["cpu_send"].value == pytest.approx(here.metrics["cpu_send"].value)


def test_a_lone_frame_takes_longer_by_its_serialisation_less_a_millisecond_of_bucket() -> None:
    """While the wire is busy hosts work on the frame's other packets, all but one."""
    payload, rate_bps = 60_000, 1e8
    framing = ethernet.Framing("udp", 1500)
    packets = math.ceil((payload + 8) / 1480)
    wire_s = float(send_interval_s(np.array(payload), framing, rate_bps)) - 1e-3
    here = LAB.predict(protocol="udp", payload_bytes=payload, requested_goodput_bps=4e7)
    there = asked("udp", payload, rate_bps, 0.4)
    host_s = here.latency_mean_s.value
    assert there.latency_mean_s.value == pytest.approx(wire_s + host_s / packets, rel=1e-3)
    assert there.latency_mean_s.high >= wire_s + host_s


# --- everywhere -------------------------------------------------------------------------------

MODELS = {"lab-1g-2026": LAB, "made-up": MADE_UP}
EACH = pytest.mark.parametrize("model", mostly_long(MODELS.values(), [MADE_UP]), ids=MODELS.keys())
QUESTIONS = {
    "of": st.integers(0, 99),
    "size": st.floats(0.0, 1.0),
    "share": st.one_of(st.none(), st.floats(0.05, 1.5)),
}


def drawn(model: Model, of: int, size: float) -> tuple[str, int, float]:
    """A protocol of a dataset, a payload between 64 B and its greatest, and the line rate."""
    protocol = model.data.protocols[of % len(model.data.protocols)]
    rate_bps = model.data.interconnect.line_rate_bps
    assert rate_bps is not None
    rows = model.data.of_metric("goodput_bps")
    most = max(row.payload_bytes or 0 for row in rows if row.protocol == protocol)
    return protocol, round(64 * (most / 64) ** size), rate_bps


@EACH
@settings(max_examples=times(7))
@given(**QUESTIONS, ratio=st.floats(0.01, 1.0))
def test_no_goodput_is_above_the_line_and_ends_are_in_order(
    model: Model, of: int, size: float, share: float | None, ratio: float
) -> None:
    protocol, payload, own_bps = drawn(model, of, size)
    told = asked(protocol, payload, ratio * own_bps, share, model)
    assert told.goodput_bps.high <= ratio * own_bps
    for one in told.metrics.values():
        assert one.absent or one.low <= one.value <= one.high


@EACH
@settings(max_examples=times(7))
@given(**QUESTIONS)
def test_the_own_rate_and_one_hardly_below_give_the_same(
    model: Model, of: int, size: float, share: float | None
) -> None:
    protocol, payload, own_bps = drawn(model, of, size)
    plain = model.predict(
        protocol=protocol,
        payload_bytes=payload,
        requested_goodput_bps=None if share is None else share * own_bps,
    )
    same = asked(protocol, payload, own_bps, share, model)
    assert same.metrics == plain.metrics
    if plain.bottleneck == "request" or share is None:  # overload has runs at the own rate alone
        near = asked(protocol, payload, own_bps * (1 - 1e-7), share, model)
        names = ["goodput_bps", "latency_mean_s"]
        if near.bottleneck != plain.bottleneck:  # at the edge of capacity 2 % of it decide
            names.remove("latency_mean_s")
        for name in names:
            assert near.metrics[name].value == pytest.approx(plain.metrics[name].value, rel=0.02)


@EACH
@settings(max_examples=times(5))
@given(**QUESTIONS, ratio=st.floats(0.01, 0.9), slower=st.floats(0.2, 0.99))
def test_a_slower_wire_never_makes_a_saturated_stream_or_a_lone_frame_faster(
    model: Model, of: int, size: float, share: float | None, ratio: float, slower: float
) -> None:
    protocol, payload, own_bps = drawn(model, of, size)
    rates = (ratio * own_bps, ratio * own_bps * slower)
    shares = (
        (None, None) if share is None else (0.04 * min(share, 1.0) * slower, 0.04 * min(share, 1.0))
    )
    one, other = (
        asked(protocol, payload, rate, part, model)
        for rate, part in zip(rates, shares, strict=True)
    )
    if one.bottleneck == "receiver":  # a queue at the receiver goes away as the wire is slower
        return
    assert other.goodput_bps.value <= one.goodput_bps.value * (1 + 1e-9)
    most = asked(protocol, payload, own_bps, None, model).goodput_bps.value
    if share is None and one.goodput_bps.value > 0.7 * most:
        # Where the wire begins to limit, what queued between the hosts queues at its socket instead.
        assert other.latency_mean_s.high >= one.latency_mean_s.low
    else:
        assert other.latency_mean_s.value >= one.latency_mean_s.value * (1 - 1e-6)
