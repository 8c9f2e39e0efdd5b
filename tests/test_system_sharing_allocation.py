"""Classes of ports, streams without back-pressure, and all that share at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.system.sharing.allocation import (
    Allocation,
    Classes,
    Discipline,
    Flows,
    Resources,
    allocate,
    differentiated,
    gated,
    shaped,
    strict_priority,
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


def test_what_is_offered_beyond_the_rate_is_lost_in_proportion_and_once() -> None:
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


def test_streams_that_give_way_divide_what_the_others_leave() -> None:
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
def test_no_port_carries_more_than_its_rate_nor_a_stream_more_than_it_asks(
    streams: list[tuple[float, bool, int]], rule: str
) -> None:
    offered, elastic, priority = ([one[k] for one in streams] for k in range(3))
    found = shared(offered, elastic, priority, RULES[rule])  # type: ignore[arg-type]
    assert found.rate_bps.sum() <= 10 * (1 + 1e-6)
    assert (found.rate_bps <= np.array(offered) * (1 + 1e-12)).all()
    if sum(offered) >= 10 and rule != "credit":
        assert found.rate_bps.sum() == pytest.approx(10, rel=1e-6)  # nothing is left while one asks
