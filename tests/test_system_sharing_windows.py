"""Windows: Little's law at one full queue, and shares where none or not all have one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.system.sharing.allocation import Flows, Resources, Windows, share, standing_queue_s

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


def test_a_resource_that_windows_do_not_fill_lets_each_pass() -> None:
    assert one_resource([1e4, 4e4], [1e-4, 2e-4]) == pytest.approx([1e8, 2e8])


def test_alike_but_for_their_windows_flows_share_by_these() -> None:
    assert one_resource([1e6, 3e6], [1e-3, 1e-3]) == pytest.approx([2.5e8, 7.5e8])


def test_at_a_long_queue_the_round_trip_without_it_hardly_counts() -> None:
    """1 ms and 2 ms; with 20 Mb on their way the queue takes about 18.5 ms: 10/19.5 and 10/20.5 of 1 Gb/s."""
    near, far = one_resource([1e7, 1e7], [1e-3, 2e-3])
    queue = 1e7 / near - 1e-3
    assert queue == pytest.approx(1e7 / far - 2e-3, rel=1e-6)
    assert near + far == pytest.approx(1e9)
    assert queue == pytest.approx(18.5e-3, rel=1e-2)
    assert near / far == pytest.approx(20.5 / 19.5, rel=1e-2)


def test_where_nothing_is_let_through_nothing_stands() -> None:
    assert standing_queue_s(np.array([1e5]), np.array([1e-3]), 0.0) == 0.0


def test_beside_one_without_a_window_shares_are_even() -> None:
    assert one_resource([1e6, math.inf], [1e-3, 1e-3]) == pytest.approx([5e8, 5e8])
    assert one_resource([1e5, math.inf], [1e-3, 1e-3]) == pytest.approx([1e8, 9e8])


flows = st.lists(st.tuples(st.floats(1e5, 1e8), st.floats(1e-5, 1e-1)), min_size=1, max_size=6)


@given(flows)
def test_bytes_on_the_way_are_the_windows(made: list[tuple[float, float]]) -> None:
    bits, trips_s = (np.array(column) for column in zip(*made, strict=True))
    rates = np.array(one_resource(bits.tolist(), trips_s.tolist()))
    assert rates.sum() <= 1e9 * (1 + 1e-9)
    if (bits / trips_s).sum() > 1e9:
        queue = standing_queue_s(bits, trips_s, 1e9)
        assert rates.sum() == pytest.approx(1e9)
        assert rates * (trips_s + queue) == pytest.approx(bits, rel=1e-6)
    else:
        assert rates == pytest.approx(bits / trips_s)
