"""Frames that come packet by packet: against a port that is worked through packet by packet."""

from __future__ import annotations

import numpy as np
import pytest

from icmodel.system.sharing.waiting import Arrivals, spread, waits


def entries(
    loads: list[float], packets: list[int], priorities: list[int] | None = None
) -> Arrivals:
    """Streams over links of their own, whose packets each take 1 s at one port."""
    count = len(loads)
    return Arrivals(
        port=np.zeros(count, dtype=np.int64),
        source=np.arange(count),
        priority=np.array(priorities or [0] * count),
        load=np.array(loads),
        burst_s=np.array(packets, dtype=float),
        packet_s=np.ones(count),
    )


def later(at: Arrivals, ratio: float = 1.0) -> tuple[float, float]:
    """Mean wait of the first entry with links ``ratio`` times as fast as the port, and at one moment [s]."""
    coming_s = (at.burst_s - at.packet_s) / ratio
    over = spread(at, coming_s, coming_s, np.zeros(len(at.load), dtype=bool))
    mean = waits(at).mean_s
    return float((mean + over.later_s)[0]), float(mean[0])


def worked_through(packets: list[int], periods: list[float], ratio: float, runs: int) -> float:
    """Mean wait of the last packet of a frame of the first stream for all others, over phases [s]."""
    rng = np.random.default_rng(7)
    own = np.arange(packets[0]) / ratio
    alone = _last_served(np.sort(own), own[-1])
    total = 0.0
    for _ in range(runs):
        times = [own]
        for count, period in zip(packets[1:], periods[1:], strict=True):
            first = rng.uniform(0, period) - period * 30
            starts = first + period * np.arange(40)
            times.append((starts[:, None] + np.arange(count) / ratio).ravel())
        total += _last_served(np.concatenate(times), own[-1]) - alone
    return total / runs


def _last_served(arrivals: np.ndarray[tuple[int], np.dtype[np.float64]], mine: float) -> float:
    """When the packet that comes at ``mine`` is served by a port that takes 1 s for each.

    The port is busy from one of the arrivals on, with that packet and all that come after it.
    """
    before = np.sort(arrivals[arrivals <= mine])
    return float(np.max(before + np.arange(len(before), 0, -1)))


@pytest.mark.parametrize(
    ("packets", "loads", "ratio"),
    [
        ([12, 12], [0.2, 0.4], 1.0),
        ([46, 12], [0.3, 0.3], 1.0),
        ([12, 46], [0.2, 0.4], 1.0),
        ([12, 12], [0.2, 0.4], 4.0),
        ([12, 12, 12, 12], [0.15, 0.2, 0.2, 0.2], 1.0),
    ],
)
def test_the_mean_is_that_of_a_port_worked_through_packet_by_packet(
    packets: list[int], loads: list[float], ratio: float
) -> None:
    periods = [count / load for count, load in zip(packets, loads, strict=True)]
    truth = worked_through(packets, periods, ratio, 4000)
    found, _ = later(entries(loads, packets), ratio)
    assert found == pytest.approx(truth, rel=0.07, abs=0.15)


def test_over_an_endlessly_fast_link_a_frame_comes_at_one_moment() -> None:
    found, at_once = later(entries([0.2, 0.4, 0.1], [12, 46, 1]), 1e9)
    assert found == pytest.approx(at_once, rel=1e-6)


def test_frames_of_one_packet_change_nothing() -> None:
    at = entries([0.2, 0.4], [1, 1])
    over = spread(at, np.zeros(2), np.zeros(2), np.zeros(2, dtype=bool))
    assert not over.later_s.any()
    assert not over.meanwhile_s.any()
    assert over.variance_ratio.tolist() == [1.0, 1.0]


def test_of_less_urgent_classes_one_packet_slips_between() -> None:
    """Unless one is on the wire when the frame comes (a half), and where a packet of it is late (a half)."""
    at = entries([0.2, 0.5], [12, 12], [5, 0])
    coming_s = np.array([11.0, 11.0])
    over = spread(at, coming_s, coming_s, np.array([False, False]))
    slips = 0.5 * 0.5 * (0.5 + 11 * 0.5 / 12)
    assert over.later_s[0] == pytest.approx(slips)
    assert over.variance_s2[0] == pytest.approx(slips**2)
    assert over.meanwhile_s.tolist() == pytest.approx([0.0, 11 * 0.2])


def test_behind_a_more_urgent_frame_half_of_those_wait_for_packets_still_to_come() -> None:
    """Of a frame that comes as fast as it is sent; with pauses in it, none do."""
    at = entries([0.2, 0.01], [12, 1], [5, 0])
    over = [
        spread(at, np.array([11.0, 0.0]), np.zeros(2), np.array([paused, False])).later_s[1]
        for paused in (False, True)
    ]
    assert over == pytest.approx([-0.2 * 11 / 4, -0.2 * 11 / 2])
