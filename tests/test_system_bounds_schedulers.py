"""Service curves of each scheduler, by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from icmodel.system.bounds import RateLatency, rate_latency, service_curve, token_bucket
from icmodel.system.bounds.curves import ArrivalCurve
from icmodel.system.bounds.schedulers import ClassTraffic, class_services
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Fifo,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)

LINE = rate_latency(100.0)


def traffic(burst: float, rate: float, longest: float, shortest: float) -> ClassTraffic:
    return ClassTraffic(token_bucket(burst, rate), longest, shortest)


def by_bits(quanta_bits: Mapping[int, float]) -> DeficitRoundRobin:
    """Turns of so many bits."""
    quanta: Any = {name: bits / 8 for name, bits in quanta_bits.items()}
    return DeficitRoundRobin.model_construct(quanta_bytes=quanta)


def opening(*windows: tuple[float, tuple[int, ...]]) -> Gates:
    """Gates that open for so many seconds and such classes, one window after the other."""
    return Gates(
        windows=tuple(Window.model_construct(duration_s=one[0], open=one[1]) for one in windows)
    )


THREE = {
    2: traffic(30.0, 10.0, 15.0, 15.0),
    1: traffic(40.0, 20.0, 20.0, 10.0),
    0: traffic(25.0, 30.0, 25.0, 5.0),
}


def test_fifo_leaves_the_line_to_all() -> None:
    assert class_services(Fifo(), LINE, 1, THREE) == (LINE,)


@pytest.mark.parametrize(
    ("own", "rate", "latency"),
    [
        (2, 100.0, 25.0 / 100.0),
        (1, 90.0, (30.0 + 25.0) / 90.0),
        (0, 70.0, (30.0 + 40.0) / 70.0),
    ],
)
def test_strict_priority_waits_for_greater_classes_and_one_lesser_packet(
    own: int, rate: float, latency: float
) -> None:
    """R_k = C - sum r_j, T_k = (sum b_j + l) / (C - sum r_j)."""
    (left,) = class_services(StrictPriority(), LINE, own, THREE)
    (piece,) = left.pieces
    assert (piece.rate_bps, piece.latency_s) == pytest.approx((rate, latency))


def test_weighted_round_robin_gives_a_share_of_packets_or_what_others_leave() -> None:
    """q = 2 * 10, Q = 1 * 15 + 3 * 25: R = C q/(q + Q), T = Q/C."""
    found = class_services(WeightedRoundRobin(weights={2: 1, 1: 2, 0: 3}), LINE, 1, THREE)
    (share,), (rest,) = found[0].pieces, found[1].pieces
    assert (share.rate_bps, share.latency_s) == pytest.approx((100.0 * 20 / 110, 90.0 / 100.0))
    assert (rest.rate_bps, rest.latency_s) == pytest.approx((60.0, 55.0 / 60.0))


def test_weighted_round_robin_uses_the_packet_curve() -> None:
    """Packets of 30 and 10 b in turn: n in a row have 20 n - 10 b; q = 2 * 20, Q = 90, e = 10."""
    mixed = ClassTraffic(token_bucket(40.0, 20.0), 30.0, 10.0, 20.0, 10.0)
    found = class_services(
        WeightedRoundRobin(weights={2: 1, 1: 2, 0: 3}), LINE, 1, {**THREE, 1: mixed}
    )
    assert len(found) == 3
    (share,) = found[1].pieces
    right = 100.0 * 40 / 130, 90.0 * (1 + 10 / 40) / 100.0
    assert (share.rate_bps, share.latency_s) == pytest.approx(right)
    for first in (30.0, 10.0):
        served, sent = 0.0, 0.0
        for _ in range(
            60
        ):  # a turn of the others, then two packets; the curve lies below at each end
            sent += 90.0
            assert share.at(sent / 100.0) <= served + 1e-9
            for packet in (first, 40.0 - first):
                served, sent = served + packet, sent + packet
                assert share.at(sent / 100.0) <= served + 1e-9


def test_weighted_round_robin_promises_no_share_to_packets_of_any_size() -> None:
    fluid = {1: traffic(40.0, 20.0, 20.0, 0.0), 0: THREE[0]}
    share, rest = class_services(WeightedRoundRobin(weights={1: 2, 0: 3}), LINE, 1, fluid)
    assert share.pieces == ()
    assert rest.rate_bps == pytest.approx(70.0)
    (alone, _) = class_services(WeightedRoundRobin(weights={1: 2}), LINE, 1, {1: fluid[1]})
    assert alone == LINE


def test_deficit_round_robin_is_the_curve_of_boyer_stea_and_sofack() -> None:
    """Q/F * [beta - ...]: rate C Q/F, latency ((F - Q)(1 + d/Q) + L - d)/C, for long backlogs.

    Written as in their theorem: (Q (L - l) + (F - Q)(Q + l)) / F bits less.
    """
    quanta = {2: 50.0, 1: 40.0, 0: 60.0}
    (share, _) = class_services(by_bits(quanta), LINE, 1, THREE)
    whole, packets, quantum, longest = 150.0, 60.0, 40.0, 20.0
    less = (quantum * (packets - longest) + (whole - quantum) * (quantum + longest)) / whole
    last = share.pieces[-1]
    assert last.rate_bps == pytest.approx(100.0 * quantum / whole)
    assert last.rate_bps * last.latency_s == pytest.approx(less)


def test_deficit_round_robin_starts_after_one_turn_of_the_others() -> None:
    """First bit after 50 + 60 + 15 + 25 bits of others; the first turn sends 40 - 20 bits."""
    (share, _) = class_services(by_bits({2: 50.0, 1: 40.0, 0: 60.0}), LINE, 1, THREE)
    first = share.pieces[0]
    assert first.latency_s == pytest.approx(150.0 / 100.0)
    assert first.rate_bps == pytest.approx(100.0 * 20.0 / (20.0 + 110.0))
    second_turn_bits = 20.0
    assert share.time_of(second_turn_bits) == pytest.approx((150.0 + 20.0 + 110.0) / 100.0)


def test_a_quantum_below_a_packet_needs_several_turns() -> None:
    """With Q = 8 and a packet of 20, two turns may pass in which nothing is sent."""
    (share, _) = class_services(by_bits({2: 50.0, 1: 8.0, 0: 60.0}), LINE, 1, THREE)
    assert share.latency_s == pytest.approx((3 * 110.0 + 40.0) / 100.0)


SHAPED = CreditBased(idle_slopes_bps={2: 30.0, 1: 25.0})


def test_the_first_shaped_class_waits_for_one_lesser_packet() -> None:
    """c_max = idleSlope * l / C, so T = l / C (802.1Q annex L has the same credit)."""
    (left,) = class_services(SHAPED, LINE, 2, THREE)
    assert left == service_curve([RateLatency(30.0, 25.0 / 100.0)])


def test_the_second_shaped_class_waits_for_the_first_ones_debt_too() -> None:
    """c_min of class 2 is -(1 - 0.3) * 15; c_max/I of class 1 is (25 + 10.5)/(100 - 30)."""
    (left,) = class_services(SHAPED, LINE, 1, THREE)
    (piece,) = left.pieces
    assert (piece.rate_bps, piece.latency_s) == pytest.approx((25.0, 35.5 / 70.0))


def test_a_class_without_a_shaper_gets_what_credits_leave() -> None:
    """Class 2 sends at most 30 t + c_max - c_min, with c_max = 30 * 25/100, c_min = -10.5."""
    (left,) = class_services(SHAPED, LINE, 0, THREE)
    credit = {2: 30.0 * 0.25 + 10.5, 1: 25.0 * 35.5 / 70.0 + (1 - 0.25) * 20.0}
    (piece,) = left.pieces
    assert piece.rate_bps == pytest.approx(45.0)
    assert piece.latency_s == pytest.approx((credit[1] + credit[2]) / 45.0)


def test_greater_classes_without_a_shaper_add_their_burst_and_take_their_rate() -> None:
    """c_max = I (l + b)/(C - r): class 2 free, class 1 shaped."""
    (left,) = class_services(CreditBased(idle_slopes_bps={1: 25.0}), LINE, 1, THREE)
    (piece,) = left.pieces
    assert piece.latency_s == pytest.approx((25.0 + 30.0) / 90.0)


def test_a_shaper_has_no_curve_if_higher_classes_take_the_line() -> None:
    (left,) = class_services(CreditBased(idle_slopes_bps={2: 80.0, 1: 25.0}), LINE, 1, THREE)
    assert left.pieces == ()


def test_a_gate_is_open_for_its_windows_less_a_packet_each() -> None:
    """4 of 10 s open, 0.2 s lost to a packet of 20 bits: 38 %, after 6.2 s."""
    gates = opening((4.0, (1,)), (6.0, (0,)))
    (left,) = class_services(gates, LINE, 1, THREE)
    (piece,) = left.pieces
    assert (piece.rate_bps, piece.latency_s) == pytest.approx((38.0, 6.2))


def test_the_worst_moment_of_several_windows_is_found() -> None:
    """By its definition: from any moment, open time within t is at least share * (t - T)."""
    gates = opening((1.0, (1,)), (2.0, (0,)), (3.0, (1,)), (0.5, ()), (2.5, (0,)))
    (left,) = class_services(gates, LINE, 1, THREE)
    (piece,) = left.pieces
    share, lost = 3.6 / 9.0, 0.2
    assert piece.rate_bps == pytest.approx(100.0 * share)
    starts = [(0.0, 1.0 - lost), (3.0, 6.0 - lost)]

    def cyclic_fixed_point(until: float) -> float:
        cycles, rest = divmod(until, 9.0)
        return cycles * 3.6 + sum(max(0.0, min(rest, end) - begin) for begin, end in starts)

    waits = [
        time / 20
        - (cyclic_fixed_point(begin / 20 + time / 20) - cyclic_fixed_point(begin / 20)) / share
        for begin in range(180)
        for time in range(0, 400, 4)
    ]
    assert max(waits) <= piece.latency_s + 1e-9
    assert max(waits) == pytest.approx(piece.latency_s, abs=0.25)


def test_a_window_shorter_than_a_packet_is_none() -> None:
    gates = opening((0.1, (1,)), (9.9, (0,)))
    assert gates.serves(1)
    assert not gates.serves(2)
    assert class_services(gates, LINE, 1, THREE)[0].pieces == ()


def test_a_gate_that_never_closes_is_strict_priority() -> None:
    gates = opening((4.0, (1,)), (6.0, (1, 0)))
    assert class_services(gates, LINE, 1, THREE) == (rate_latency(100.0, 0.25),)


def test_classes_that_are_open_together_go_by_priority() -> None:
    """Class 0 has 6 s of 10 less a packet of its own, after 4.25 s; class 1 sends 20 t + 45 b, by hand."""
    gates = opening((4.0, (1,)), (6.0, (1, 0)))
    (left,) = class_services(gates, LINE, 0, THREE)
    (piece,) = left.pieces
    rate = 57.5 - 20.0
    assert piece.rate_bps == pytest.approx(rate)
    assert piece.latency_s == pytest.approx((57.5 * 4.25 + 40.0 + 20.0 * 0.25) / rate)


def test_a_lesser_packet_may_be_on_the_line_when_a_gate_opens() -> None:
    """Class 1 loses 0.25 s to it at the beginning and 0.2 s at the end, and waits for one at first."""
    gates = opening((4.0, (0,)), (6.0, (1, 0)))
    (left,) = class_services(gates, LINE, 1, THREE)
    (piece,) = left.pieces
    assert piece.rate_bps == pytest.approx(55.5)
    assert piece.latency_s == pytest.approx(4.45 + 25.0 / 55.5)


def test_what_comes_without_bound_leaves_nothing_to_lesser_classes() -> None:
    anything = {**THREE, 2: ClassTraffic(ArrivalCurve(()), 15.0, 15.0)}
    (left,) = class_services(StrictPriority(), LINE, 1, anything)
    assert left.latency_s == math.inf
