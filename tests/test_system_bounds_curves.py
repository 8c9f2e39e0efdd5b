"""Curves against their definitions: a sup or an inf over a fine grid of times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icmodel.system.bounds import (
    ArrivalCurve,
    RateLatency,
    ServiceCurve,
    TokenBucket,
    arrival_curve,
    rate_latency,
    service_curve,
    token_bucket,
)
from icmodel.system.bounds.curves import (
    aggregate,
    busy_period_s,
    convolve,
    fifo_leftover_service,
    horizontal_deviation_s,
    minimum,
    output_curve,
    vertical_deviation_bits,
)
from search import times

TIMES = np.linspace(0.0, 60.0, 601)
STEP = TIMES[1]
amounts = st.floats(0.0, 20.0)
rates = st.floats(0.1, 5.0)
arrivals = st.lists(st.builds(TokenBucket, amounts, rates), min_size=1, max_size=4).map(
    arrival_curve
)
services = st.lists(
    st.builds(RateLatency, st.floats(0.2, 10.0), st.floats(0.0, 8.0)), min_size=1, max_size=3
).map(service_curve)


def bits(curve: ArrivalCurve | ServiceCurve, times: np.ndarray = TIMES) -> np.ndarray:
    """Bits of a curve at times, by its definition."""
    if isinstance(curve, ArrivalCurve):
        rows = [each.burst_bits + each.rate_bps * times for each in curve.buckets]
        return np.asarray(np.min(rows, axis=0))
    lines = [each.rate_bps * np.maximum(0.0, times - each.latency_s) for each in curve.pieces]
    return np.asarray(np.max([np.zeros_like(times), *lines], axis=0))


@settings(max_examples=times(40))
@given(st.lists(st.builds(TokenBucket, amounts, rates), min_size=1, max_size=5))
def test_an_arrival_curve_is_the_minimum_of_its_buckets(buckets: list[TokenBucket]) -> None:
    curve = arrival_curve(buckets)
    for time in TIMES[::25]:
        assert curve.at(time) == pytest.approx(min(bucket.at(time) for bucket in buckets))
    assert all(
        a.rate_bps > b.rate_bps for a, b in zip(curve.buckets, curve.buckets[1:], strict=False)
    )


@settings(max_examples=times(40))
@given(st.lists(st.builds(RateLatency, rates, amounts), min_size=1, max_size=5))
def test_a_service_curve_is_the_maximum_of_its_pieces(pieces: list[RateLatency]) -> None:
    curve = service_curve(pieces)
    for time in TIMES[::25]:
        assert curve.at(time) == pytest.approx(max(piece.at(time) for piece in pieces))


@settings(max_examples=times(40))
@given(st.lists(arrivals, min_size=1, max_size=4))
def test_the_aggregate_is_the_sum(curves: list[ArrivalCurve]) -> None:
    assert bits(aggregate(curves)) == pytest.approx(sum(bits(curve) for curve in curves))
    assert aggregate(curves).rate_bps == pytest.approx(sum(curve.rate_bps for curve in curves))


@settings(max_examples=times(40))
@given(arrivals, services)
def test_the_backlog_is_the_vertical_deviation(coming: ArrivalCurve, served: ServiceCurve) -> None:
    if coming.rate_bps > served.rate_bps:
        assert vertical_deviation_bits(coming, served) == math.inf
        return
    gaps = bits(coming) - bits(served)
    found = vertical_deviation_bits(coming, served)
    assert found >= gaps.max() - 1e-9
    if gaps.argmax() < len(TIMES) - 1:
        assert found <= gaps.max() + STEP * coming.buckets[0].rate_bps + 1e-9


@settings(max_examples=times(40))
@given(arrivals, services)
def test_the_delay_is_the_horizontal_deviation(coming: ArrivalCurve, served: ServiceCurve) -> None:
    if coming.rate_bps > served.rate_bps:
        assert horizontal_deviation_s(coming, served) == math.inf
        return
    waits = np.array([served.time_of(coming.at(time)) - time for time in TIMES])
    found = horizontal_deviation_s(coming, served)
    assert found >= waits.max() - 1e-9
    if waits.argmax() < len(TIMES) - 1:
        slope = coming.buckets[0].rate_bps / served.pieces[0].rate_bps
        assert found <= waits.max() + STEP * max(slope, 1.0) + 1e-9


@settings(max_examples=times(40))
@given(st.lists(services, min_size=2, max_size=3))
def test_servers_in_series_are_their_convolution(curves: list[ServiceCurve]) -> None:
    times = np.linspace(0.0, 30.0, 301)
    found = bits(curves[0], times)
    for curve in curves[1:]:
        other = bits(curve, times)
        found = np.array([np.min(found[: k + 1] + other[k::-1]) for k in range(len(times))])
    exact = bits(convolve(curves), times)
    step = (times[1] - times[0]) * max(curve.rate_bps for curve in curves)
    assert np.all(exact <= found + 1e-9)
    assert np.all(found <= exact + len(curves) * step)


@settings(max_examples=times(40))
@given(arrivals, services)
def test_leftover_service_is_the_difference_of_the_curves(
    others: ArrivalCurve, served: ServiceCurve
) -> None:
    left = served.leftover_service(others)
    assert bits(left) == pytest.approx(np.maximum(0.0, bits(served) - bits(others)), abs=1e-6)
    assert busy_period_s(others, served) == left.latency_s


@settings(max_examples=times(40))
@given(arrivals, arrivals, services)
def test_fifo_leftover_service_is_one_member_of_its_family(
    others: ArrivalCurve, own: ArrivalCurve, served: ServiceCurve
) -> None:
    """Some theta has ``[beta(t) - alpha(t - theta)]+`` after theta, and no less is left."""
    left = fifo_leftover_service(served, others, own)
    if not left.pieces:
        assert others.rate_bps >= served.rate_bps or left.latency_s == math.inf
        return
    ends = [served.time_of(others.buckets[place].burst_bits) for place in (0, -1)]
    thetas = [*ends, horizontal_deviation_s(others, served)]
    family = []
    for theta in thetas:
        after = TIMES[theta < TIMES]
        curve = bits(served, after) - bits(others, after - theta)
        family.append(np.all(bits(left, after) <= np.maximum(0.0, curve) + 1e-6))
        family[-1] &= left.latency_s >= theta - 1e-9
    assert any(family)


@settings(max_examples=times(40))
@given(arrivals, services)
def test_the_output_curve_is_no_less_than_the_deconvolution(
    coming: ArrivalCurve, served: ServiceCurve
) -> None:
    behind = output_curve(coming, served)
    if coming.rate_bps > served.rate_bps:
        assert behind.buckets == ()
        return
    for time in (1e-9, 0.5, 3.0, 10.0):
        most = max(coming.at(time + past) - served.at(past) for past in TIMES[::10])
        assert behind.at(time) >= most - 1e-9


def test_the_output_burst_of_one_bucket_is_b_plus_r_times_the_latency() -> None:
    """Le Boudec and Thiran, section 1.4: burst b + r T."""
    assert output_curve(token_bucket(10.0, 2.0), rate_latency(5.0, 3.0)) == token_bucket(16.0, 2.0)
    faster = arrival_curve([TokenBucket(1.0, 8.0), TokenBucket(10.0, 2.0)])
    behind = output_curve(faster, rate_latency(5.0))
    assert behind == arrival_curve([TokenBucket(5.5, 5.0), TokenBucket(10.0, 2.0)])


def test_one_bucket_and_one_latency_by_hand() -> None:
    """D = T + b/R and B = b + r T (models of DiscoDNC's S_1SC_1F: 12.5 and 75)."""
    coming, served = token_bucket(25.0, 5.0), rate_latency(10.0, 10.0)
    assert horizontal_deviation_s(coming, served) == 12.5
    assert vertical_deviation_bits(coming, served) == 75.0
    assert fifo_leftover_service(served, coming, coming) == rate_latency(5.0, 12.5)
    assert served.leftover_service(coming) == rate_latency(5.0, 25.0)
    assert busy_period_s(coming, served) == 25.0


def test_an_empty_arrival_curve_is_unbounded_and_an_empty_service_curve_serves_nothing() -> None:
    anything, nothing = ArrivalCurve(()), ServiceCurve(())
    some = token_bucket(1.0, 1.0)
    assert horizontal_deviation_s(anything, rate_latency(1.0)) == math.inf
    assert horizontal_deviation_s(some, nothing) == math.inf
    assert vertical_deviation_bits(some, nothing) == math.inf
    assert aggregate([some, anything]) == anything
    assert minimum(some, anything) == some
    assert rate_latency(1.0).leftover_service(anything) == nothing
    assert convolve([nothing, rate_latency(1.0)]) == nothing
    assert fifo_leftover_service(rate_latency(1.0), anything, some) == nothing
    assert (anything.burst_bits, nothing.time_of(1.0)) == (math.inf, math.inf)


def test_the_delay_is_greatest_where_service_becomes_faster_than_what_comes() -> None:
    """Service of 0.2 t up to 2 bits at t = 10, then of 5; at 0.5 a second the second bit came at t = 4."""
    served = service_curve([RateLatency(0.2, 0.0), RateLatency(5.0, 9.6)])
    assert horizontal_deviation_s(token_bucket(0.0, 0.5), served) == pytest.approx(6.0)


@given(parts=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=12))
def test_a_server_filled_exactly_serves_all_whatever_the_order_of_the_sum(
    parts: list[float],
) -> None:
    """Rates that add up to that of the server, up to rounding; a part more is never served."""
    rates = [1e9 * part / math.fsum(parts) for part in parts]
    served = rate_latency(1e9, latency_s=1e-6)
    for order in (rates, rates[::-1], sorted(rates)):
        coming = aggregate([token_bucket(1e3, rate) for rate in order])
        waited_s = 1e-6 + 1e3 * len(rates) / 1e9
        assert horizontal_deviation_s(coming, served) == pytest.approx(waited_s)
        assert vertical_deviation_bits(coming, served) == pytest.approx(1e9 * waited_s)
        assert output_curve(coming, served).rate_bps == pytest.approx(1e9)
        assert not served.leftover_service(coming).pieces
        more = aggregate([coming, token_bucket(0.0, 10.0)])
        assert horizontal_deviation_s(more, served) == math.inf
        assert vertical_deviation_bits(more, served) == math.inf


def test_a_service_without_latency_begins_at_once() -> None:
    assert RateLatency(1e9).latency_s == 0.0
