"""Allocation of shared resources: classes of ports, lossy and elastic flows, max-min shares, windows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.arrays import Floats
from icmodel.system.sharing.allocation import (
    Allocation,
    Classes,
    Crossings,
    Discipline,
    Flows,
    Resources,
    Shares,
    Windows,
    allocate,
    differentiated,
    gated,
    max_min,
    shaped,
    share,
    standing_queue_s,
    strict_priority,
    usable_windows,
    weighted,
)
from icmodel.system.sharing.loss import NOWHERE, passing

INF = math.inf

# --- classes of a port ---------------------------------------------------------------------------


def test_the_more_urgent_first() -> None:
    assert strict_priority(10.0, {7: 4.0, 3: 9.0, 0: INF}) == {7: 10.0, 3: 6.0, 0: 0.0}


def test_credit_holds_a_class_at_its_slope_and_leaves_the_rest_to_others() -> None:
    assert shaped(10.0, {6: INF, 0: INF}, {6: 3.0}) == {6: 3.0, 0: 7.0}


def test_turns_divide_by_weight_and_hand_on_what_is_not_asked_for() -> None:
    weights = {2: 3.0, 1: 2.0, 0: 1.0}
    assert weighted(12.0, dict.fromkeys(weights, INF), weights) == pytest.approx({2: 6, 1: 4, 0: 2})
    assert weighted(12.0, {2: 1.5, 1: INF, 0: INF}, weights) == pytest.approx({2: 6, 1: 7, 0: 3.5})
    assert weighted(12.0, {2: INF, 5: INF}, {2: 1.0}) == {2: 12.0, 5: 0.0}


def test_a_gate_gives_a_class_the_part_of_the_cycle_it_is_open() -> None:
    windows = [(3e-4, (7,)), (7e-4, (7, 0))]
    assert gated(10.0, {7: 0.0, 0: INF}, windows) == pytest.approx({7: 10.0, 0: 7.0})
    assert gated(10.0, {7: 5.0, 0: INF}, windows) == pytest.approx({7: 10.0, 0: 3.5})


def test_a_window_of_three_packets_holds_three_packets() -> None:
    """0.3 / 0.1 is 2.9999999999999996 in binary numbers."""
    assert usable_windows([(0.3, (7,)), (0.7, ())], {7: (0.1, 0.1)}) == [(0.3, (7,)), (0.7, ())]


def test_dscp_as_the_source_measured_it() -> None:
    """IC2012 §6.5.3: AF41 against AF11 7 and 2.4 Gb/s; EF at most 5.5 Gb/s, and the other goes on."""
    both = differentiated(9.4, {5: INF, 1: INF}, {5: "af4", 1: "af1"})
    assert both == pytest.approx({5: 7.0, 1: 2.4})
    assert differentiated(9.4, {5: INF, 1: INF}, {5: "ef"}) == pytest.approx({5: 5.5, 1: 3.9})
    alike = differentiated(
        9.4, {5: INF, 1: INF}, {5: "af4", 1: "af4"}
    )  # AF41 and AF43: drops aside
    assert alike == pytest.approx({5: 4.7, 1: 4.7})


# --- overload ------------------------------------------------------------------------------------


def test_the_excess_is_lost_in_proportion_and_once() -> None:
    """Two streams of 6 and 12 over a port of 9, then one of them over a port of 5."""
    path = np.array([[0, 1], [0, NOWHERE]])
    part, arriving = passing(np.array([6.0, 12.0]), path, np.ones((2, 2)), np.array([9.0, 5.0]))
    assert part == pytest.approx([0.5, 1.0])
    assert arriving[:, -1] == pytest.approx([3.0, 6.0])


def test_a_loss_upstream_relieves_what_comes_after() -> None:
    path = np.array([[0, 1], [1, NOWHERE]])
    part, arriving = passing(np.array([8.0, 2.0]), path, np.ones((2, 2)), np.array([4.0, 6.0]))
    assert part == pytest.approx([0.5, 1.0])
    assert arriving[:, -1] == pytest.approx([4.0, 2.0])


def test_paths_in_a_circle_settle() -> None:
    """Each of two ports has what the other passes and a stream of its own: both pass the same part."""
    path = np.array([[0, 1], [1, 0]])
    part, arriving = passing(np.array([8.0, 8.0]), path, np.ones((2, 2)), np.array([6.0, 6.0]))
    assert part[0] == pytest.approx(part[1])
    assert (8 + 8 * part[0]) * part[0] == pytest.approx(6)
    assert arriving[:, -1] == pytest.approx([8 * part[0] ** 2] * 2)


# --- all at once ---------------------------------------------------------------------------------


def shared(
    offered: list[float],
    elastic: list[bool],
    priority: list[int],
    discipline: Discipline | None = None,
) -> Allocation:
    """Streams from hosts of their own over one port of 10."""
    classes = sorted(set(priority))
    apart = discipline is not None
    resource = [classes.index(one) if apart else 0 for one in priority]
    count = len(classes) if apart else 1
    resources = Resources(
        capacity=np.full(count, 10.0),
        port=np.zeros(count, dtype=np.int64),
        priority=np.array(classes[:count]),
        disciplines={} if discipline is None else {0: discipline},
    )
    flows = len(offered)
    return allocate(
        Flows(
            offered_bps=np.array(offered),
            weights=np.ones(flows),
            elastic=np.array(elastic),
            path=np.array(resource)[:, None],
            usage=np.ones((flows, 1)),
            origin=0,
            sent_with=np.arange(flows),
        ),
        resources,
    )


def by_turns(rate_bps: float, asked: Classes) -> dict[int, float]:
    return weighted(rate_bps, asked, {0: 1.0, 1: 3.0, 2: 5.0, 3: 2.0})


def by_credit(rate_bps: float, asked: Classes) -> dict[int, float]:
    return shaped(rate_bps, asked, {3: 2.0, 2: 1.0})


def test_elastic_flows_divide_what_lossy_flows_leave() -> None:
    found = shared([4.0, INF, INF], [False, True, True], [0, 0, 0])
    assert found.rate_bps == pytest.approx([4.0, 3.0, 3.0])
    assert shared([12.0, INF], [False, True], [0, 0]).rate_bps == pytest.approx([10.0, 0.0])


def test_a_more_urgent_class_is_carried_whatever_the_other_offers() -> None:
    found = shared([20.0, 4.0], [False, True], [0, 7], strict_priority)
    assert found.rate_bps == pytest.approx([6.0, 4.0])
    assert found.limiting.tolist() == [0, -1]


def test_turns_share_by_class_and_not_by_stream() -> None:
    found = shared([INF] * 4, [True] * 4, [1, 0, 0, 0], by_turns)
    assert found.rate_bps == pytest.approx([7.5, 2.5 / 3, 2.5 / 3, 2.5 / 3])
    assert shared([2.0, INF], [True, True], [1, 0], by_turns).rate_bps == pytest.approx([2.0, 8.0])


def test_a_sender_waits_for_its_own_interface_and_loses_nothing_there() -> None:
    resources = Resources(np.array([10.0]), np.array([0]), np.array([0]), {})
    flows = Flows(
        offered_bps=np.array([9.0, 9.0]),
        weights=np.ones(2),
        elastic=np.zeros(2, dtype=bool),
        path=np.zeros((2, 1), dtype=np.int64),
        usage=np.ones((2, 1)),
        origin=1,
        sent_with=np.arange(2),
    )
    found = allocate(flows, resources)
    assert found.sent_bps == pytest.approx([5.0, 5.0])
    assert found.rate_bps == pytest.approx([5.0, 5.0])


STREAMS = st.lists(
    st.tuples(st.floats(0.01, 30), st.booleans(), st.integers(0, 3)), min_size=1, max_size=8
)
RULES = {"one queue": None, "strict": strict_priority, "turns": by_turns, "credit": by_credit}


@given(STREAMS, st.sampled_from(sorted(RULES)))
def test_no_port_exceeds_its_rate_and_no_flow_its_request(
    streams: list[tuple[float, bool, int]], rule: str
) -> None:
    offered, elastic, priority = ([one[k] for one in streams] for k in range(3))
    found = shared(offered, elastic, priority, RULES[rule])  # type: ignore[arg-type]
    assert found.rate_bps.sum() <= 10 * (1 + 1e-6)
    assert (found.rate_bps <= np.array(offered) * (1 + 1e-12)).all()
    if sum(offered) >= 10 and rule != "credit":
        assert found.rate_bps.sum() == pytest.approx(10, rel=1e-6)  # nothing is left while one asks


def test_classes_whose_shares_never_settle_still_fit_their_port() -> None:
    turns = iter(range(10_000))

    def in_turn(rate_bps: float, asked: Classes) -> dict[int, float]:
        first = next(turns) % 2
        return {0: rate_bps if first else 0.0, 7: 0.0 if first else rate_bps}

    found = shared([8.0, 9.0], [False, False], [0, 7], in_turn)
    assert found.rate_bps.sum() <= 10 * (1 + 1e-9)
    assert found.load.sum() == pytest.approx(found.rate_bps.sum())


# --- max-min shares ------------------------------------------------------------------------------

CASES = json.loads((Path(__file__).parent / "cases" / "sharing" / "max_min.json").read_text())


def crossings(usage: list[list[float]]) -> Crossings:
    matrix = np.array(usage, dtype=np.float64)
    link, flow = np.nonzero(matrix)
    return Crossings(flow, link, matrix[link, flow])


def shares(case: dict[str, Any], weights: Floats) -> Shares:
    requests = [math.inf if r is None else r for r in case.get("request", [None] * len(weights))]
    capacity = np.array(case["capacity"], dtype=np.float64)
    return max_min(capacity, crossings(case["usage"]), np.array(requests), weights)


@pytest.mark.parametrize("case", CASES["max_min"], ids=lambda case: str(case["name"]))
def test_simgrids_shares_are_met(case: dict[str, Any]) -> None:
    found = shares(case, 1 / np.array(case["penalty"], dtype=np.float64))
    assert found.rate_bps == pytest.approx(case["rate"], rel=1e-12)


def test_max_min_levels_rates_where_bottleneck_max_fairness_levels_what_links_carry() -> None:
    """By max-min the third flow, which takes 5 % of the first link, is held at the others' rate there; by BMF
    it is limited only where nobody uses more of the link than it does, and gets twice as much."""
    apart, alike = CASES["bottleneck_max_fairness"]
    ours = shares(apart, np.ones(3)).rate_bps
    assert ours == pytest.approx([0.4878048780487805] * 3)
    assert apart["rate"][2] == pytest.approx(1.95 * ours[2], rel=2e-3)
    assert shares(alike, np.ones(2)).rate_bps == pytest.approx(alike["rate"])


def test_a_flow_limited_by_its_own_request_names_no_link() -> None:
    found = max_min(np.array([10.0]), crossings([[1, 1]]), np.array([1.0, math.inf]), np.ones(2))
    assert found.rate_bps.tolist() == [1.0, 9.0]
    assert found.limiting.tolist() == [-1, 0]


@st.composite
def networks(draw: st.DrawFn) -> tuple[Floats, Crossings, Floats, Floats]:
    links, flows = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    usage = np.where(random.random((links, flows)) < 0.5, random.uniform(0.1, 2, (links, flows)), 0)
    usage[random.integers(0, links, flows), np.arange(flows)] = 1.0  # each crosses one at least
    requests = np.where(random.random(flows) < 0.5, random.uniform(0, 5, flows), np.inf)
    return (
        random.uniform(0, 9, links),
        crossings(usage.tolist()),
        requests,
        random.uniform(0.2, 4, flows),
    )


@given(networks())
def test_each_flow_has_its_request_or_a_full_link_where_none_has_more(
    network: tuple[Floats, Crossings, Floats, Floats],
) -> None:
    capacity, over, requests, weights = network
    found = max_min(capacity, over, requests, weights)
    carried = over.per_link(found.rate_bps, len(capacity))
    assert (carried <= capacity * (1 + 1e-9) + 1e-9).all()
    level = found.rate_bps / weights
    for flow, link in enumerate(found.limiting.tolist()):
        if link < 0:
            assert found.rate_bps[flow] == requests[flow]
        else:
            assert carried[link] == pytest.approx(capacity[link], rel=1e-9, abs=1e-9)
            assert level[over.flow[over.link == link]].max() <= level[flow] * (1 + 1e-9)


@given(networks(), st.randoms())
def test_the_order_of_the_entries_changes_nothing(
    network: tuple[Floats, Crossings, Floats, Floats], random: Any
) -> None:
    capacity, over, requests, weights = network
    order = list(range(len(over.flow)))
    random.shuffle(order)
    turned = Crossings(over.flow[order], over.link[order], over.usage[order])
    one, other = (max_min(capacity, each, requests, weights) for each in (over, turned))
    assert one.rate_bps == pytest.approx(other.rate_bps, rel=1e-9)


# --- windows -------------------------------------------------------------------------------------

NONE = np.array([0])


def one_resource(bits: list[float], trips_s: list[float], offered: float = math.inf) -> list[float]:
    """What flows get of one resource of 1 Gb/s, by their windows."""
    count = len(bits)
    windows = Windows(np.array(bits), np.array(trips_s))
    flows = Flows(
        offered_bps=np.minimum(np.full(count, offered), windows.limit_bps),
        weights=np.ones(count),
        elastic=np.ones(count, dtype=bool),
        path=np.zeros((count, 1), dtype=np.int64),
        usage=np.ones((count, 1)),
        origin=0,
        sent_with=np.arange(count),
    )
    resources = Resources(np.array([1e9]), NONE - 1, NONE, {})
    return [float(rate) for rate in share(flows, resources, windows).rate_bps]


def test_windows_that_do_not_fill_a_resource_limit_each_flow() -> None:
    assert one_resource([1e4, 4e4], [1e-4, 2e-4]) == pytest.approx([1e8, 2e8])


def test_flows_that_differ_in_their_windows_share_in_proportion() -> None:
    assert one_resource([1e6, 3e6], [1e-3, 1e-3]) == pytest.approx([2.5e8, 7.5e8])


def test_at_a_long_queue_the_round_trip_without_it_hardly_counts() -> None:
    """1 ms and 2 ms; with 20 Mb on their way the queue takes about 18.5 ms: 10/19.5 and 10/20.5 of 1 Gb/s."""
    near, far = one_resource([1e7, 1e7], [1e-3, 2e-3])
    queue = 1e7 / near - 1e-3
    assert queue == pytest.approx(1e7 / far - 2e-3, rel=1e-6)
    assert near + far == pytest.approx(1e9)
    assert queue == pytest.approx(18.5e-3, rel=1e-2)
    assert near / far == pytest.approx(20.5 / 19.5, rel=1e-2)


def test_no_queue_stands_at_a_rate_of_0() -> None:
    assert standing_queue_s(np.array([1e5]), np.array([1e-3]), 0.0) == 0.0


def test_beside_one_without_a_window_shares_are_even() -> None:
    assert one_resource([1e6, math.inf], [1e-3, 1e-3]) == pytest.approx([5e8, 5e8])
    assert one_resource([1e5, math.inf], [1e-3, 1e-3]) == pytest.approx([1e8, 9e8])


flows = st.lists(st.tuples(st.floats(1e5, 1e8), st.floats(1e-5, 1e-1)), min_size=1, max_size=6)


@given(flows)
def test_bytes_in_flight_equal_the_windows(made: list[tuple[float, float]]) -> None:
    bits, trips_s = (np.array(column) for column in zip(*made, strict=True))
    rates = np.array(one_resource(bits.tolist(), trips_s.tolist()))
    assert rates.sum() <= 1e9 * (1 + 1e-9)
    if (bits / trips_s).sum() > 1e9:
        queue = standing_queue_s(bits, trips_s, 1e9)
        assert rates.sum() == pytest.approx(1e9)
        assert rates * (trips_s + queue) == pytest.approx(bits, rel=1e-6)
    else:
        assert rates == pytest.approx(bits / trips_s)
