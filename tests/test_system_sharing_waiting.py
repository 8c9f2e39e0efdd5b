"""Waits at ports and token buckets, against formulas, queues that are played, and simulators."""

from __future__ import annotations

import csv
import math
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.arrays import Floats
from icmodel.system.prediction.path_times import Run, pipelined_s
from icmodel.system.sharing import waiting
from icmodel.system.sharing.waiting import (
    STEP,
    Arrivals,
    all_bursts_once_s,
    behind_buckets,
    quantile_s,
    spread,
    waits,
)
from queueing import Service, of_frames, priorities, random_arrivals

CASES = Path(__file__).parent / "cases" / "sharing"


def rows(name: str) -> list[dict[str, str]]:
    with (CASES / name).open(newline="") as file:
        return list(csv.DictReader(file))


def service(row: dict[str, str]) -> Service:
    """The service of a row: fixed, exponential, or of the moments it gives."""
    mean = float(row["service_us"])
    square = {"M/D/1": mean**2, "M/M/1": 2 * mean**2}.get(row["model"])
    return Service(float(row["load"]) / mean, mean, square or float(row["square_us2"]), 6 * mean**3)


@pytest.mark.parametrize(
    "row", rows("waiting.csv"), ids=lambda row: f"{row['model']} {row['load']}"
)
def test_mean_waits_are_those_of_the_formulas(row: dict[str, str]) -> None:
    of = service(row)
    found = random_arrivals(of).mean_s
    assert found == pytest.approx(float(row["wait_us"]), rel=1e-9)
    if row["sojourn_p99_us"]:
        sojourn = np.array([found + of.mean_s])
        late = quantile_s(sojourn, sojourn**2, 0.99)  # exponential: as variable as it is long
        assert late == pytest.approx(float(row["sojourn_p99_us"]), rel=1e-9)


def test_cobhams_two_classes() -> None:
    """Two classes at 10 Gb/s, worked out independently: 0.5597 and 4.4278 µs."""
    rates, times = np.array([1e6, 487646.2938881665]), np.array([0.2736e-6, 1.2304e-6])
    high, low = priorities([of_frames(rates[k : k + 1], times[k : k + 1]) for k in (0, 1)])
    assert high.mean_s == pytest.approx(0.5596757709251101e-6, rel=1e-9)
    assert low.mean_s == pytest.approx(4.42781464339486e-6, rel=1e-9)


def test_blocks_of_ports_give_the_same_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    count = 500
    port = draw.integers(0, 40, count)
    at = Arrivals(
        port=port,
        source=port * 8 + draw.integers(0, 8, count),
        priority=draw.integers(0, 3, count),
        load=draw.uniform(0.0, 0.06, count),
        burst_s=draw.uniform(1e-6, 1e-5, count),
        packet_s=np.full(count, 1e-6),
    )
    arrival_s, own_s = draw.uniform(0.0, 1e-5, count), draw.uniform(0.0, 1e-5, count)
    paused = draw.random(count) < 0.5

    def found() -> tuple[Floats, ...]:
        return (*astuple(waits(at)), *astuple(spread(at, arrival_s, own_s, paused)))

    whole = found()
    monkeypatch.setattr(waiting, "BLOCK", 30)
    assert len(list(at.blocks())) > 10
    assert all(map(np.array_equal, found(), whole))


def test_one_class_alone_waits_as_without_classes() -> None:
    of = of_frames(np.array([0.3, 0.1]), np.array([1.0, 3.0]))
    (found,), alone = priorities([of]), random_arrivals(of)
    assert found.mean_s == alone.mean_s
    assert found.variance_s2 == pytest.approx(alone.variance_s2)


def test_a_full_port_leaves_the_less_urgent_waiting_for_ever() -> None:
    urgent, late = (of_frames(np.array([rate]), np.array([1.0])) for rate in (0.5, 0.8))
    first, last = priorities([urgent, late])
    assert first.mean_s == pytest.approx(
        (0.25 + 0.25) / 0.5
    )  # what is served of the other holds it up
    assert math.isinf(last.mean_s)
    assert math.isinf(random_arrivals(of_frames(np.array([1.0]), np.array([1.0]))).mean_s)


# --- periodic bursts -----------------------------------------------------------------------------


def periodic(streams: list[tuple[float, float]], priority: list[int] | None = None) -> Arrivals:
    """Streams of (period, burst) at one port, each from a source of its own."""
    count = len(streams)
    period, burst = (np.array(column) for column in zip(*streams, strict=True))
    urgent = np.array(priority or [0] * count)
    none = np.zeros(count, dtype=np.int64)
    return Arrivals(none, np.arange(count), urgent, burst / period, burst, burst)


def played(streams: list[tuple[float, float]], runs: int) -> Floats:
    """What a port's queue holds at random times, in units of time: the greatest backlog of any start."""
    random = np.random.default_rng(1)
    found = np.empty(runs)
    span = 40 * max(period for period, _ in streams)
    for run in range(runs):
        times = [np.arange(random.uniform(0, period), span, period) for period, _ in streams]
        work = [np.full(len(t), burst) for t, (_, burst) in zip(times, streams, strict=True)]
        at = np.concatenate(times)
        order = np.argsort(at)
        behind = np.cumsum(np.concatenate(work)[order][::-1])[::-1]
        found[run] = max(0.0, float((behind - (span - at[order])).max()))
    return found


OTHERS = {
    "one": ([(10.0, 2.0)], 0.05),
    "two": ([(10.0, 3.0)] * 2, 0.05),
    "ten": ([(10.0, 0.95)] * 10, 0.05),
    "unequal bursts": ([(10.0, 1.0), (10.0, 2.0), (10.0, 3.0), (10.0, 2.0)], 0.05),
    "unequal periods": ([(10.0, 2.0), (20.0, 6.0), (30.0, 5.0), (7.0, 1.0)], 0.12),
}


@pytest.mark.parametrize("name", OTHERS)
def test_periodic_waits_are_those_of_queues_that_are_played(name: str) -> None:
    others, tolerance = OTHERS[name]
    found = waits(periodic([*others, (1e9, 1e-9)]))
    played_s = played(others, 6000)
    assert found.mean_s[-1] == pytest.approx(played_s.mean(), rel=tolerance)
    square = found.variance_s2[-1] + found.mean_s[-1] ** 2
    assert square == pytest.approx((played_s**2).mean(), rel=2 * tolerance)


def test_equal_streams_have_the_closed_form_of_the_nd_d_1_queue() -> None:
    n, period, burst = 7, 10.0, 1.2
    terms = [math.perm(n, k) * (burst / period) ** k for k in range(1, n + 1)]
    found = waits(periodic([(period, burst)] * (n + 1))).mean_s
    assert found == pytest.approx(np.full(n + 1, burst / 2 * sum(terms)), rel=1e-9)


def test_many_small_streams_are_random_arrivals() -> None:
    streams = [(1e4, 1.0)] * 4000 + [(1e4, 2.5)] * 1000
    found = waits(periodic([*streams, (1e9, 1e-9)], [1] * 4000 + [0] * 1001))
    period, burst = np.array(streams).T
    urgent, late = (of_frames(1 / period[burst == b], burst[burst == b]) for b in (1.0, 2.5))
    expected = priorities([urgent, late])
    for of, one in zip((0, -1), expected, strict=True):
        assert found.mean_s[of] == pytest.approx(one.mean_s, rel=2e-2)
        assert found.variance_s2[of] == pytest.approx(one.variance_s2, rel=5e-2)


def test_streams_over_one_link_do_not_wait_for_each_other() -> None:
    one_link = periodic([(10.0, 3.0), (10.0, 3.0)])
    together = Arrivals(
        one_link.port,
        np.zeros(2, int),
        one_link.priority,
        one_link.load,
        one_link.burst_s,
        one_link.packet_s,
    )
    assert waits(together).mean_s.tolist() == [0.0, 0.0]
    assert waits(one_link).mean_s == pytest.approx([0.45, 0.45])


def test_a_port_at_full_load_has_an_infinite_wait() -> None:
    assert np.isinf(waits(periodic([(10.0, 5.0), (10.0, 5.0)])).mean_s).all()


def test_four_flows_of_tsn_wait_as_two_simulators_say() -> None:
    """INET asks of its own simulation 7 % of the mean and 30 % of the deviation; so do we of a formula."""
    flows = rows("tsn_medium_network.csv")
    wire_us = [(int(row["frame_bytes"]) + 20) * 8 / 100 for row in flows]  # 100 Mb/s; preamble, gap
    streams = [(float(row["period_us"]), wire) for row, wire in zip(flows, wire_us, strict=True)]
    found = waits(periodic(streams, [int(row["priority"]) for row in flows]))
    for k, row in enumerate(flows[:3]):
        for simulator in ("core4inet", "inet"):
            mean = float(row["alone_us"]) + found.mean_s[k]
            assert mean == pytest.approx(float(row[f"{simulator}_mean_us"]), rel=0.07)
            std = math.sqrt(found.variance_s2[k])
            assert std == pytest.approx(float(row[f"{simulator}_std_us"]), rel=0.30)
    assert math.isinf(found.mean_s[3])  # best effort is offered more than what is left


def test_frames_of_one_stream_queue_behind_those_before_them() -> None:
    """Beside bursts of 4 every 10, a fluid that takes half the port drains each in 8: 4 · 8 / 2 / 10 on average."""
    found = waits(periodic([(10.0, 4.0), (2e-3, 1e-3)]))
    assert found.mean_s[1] == pytest.approx(1.6, rel=1e-3)


def test_a_frame_queues_behind_the_one_before_if_that_still_waits() -> None:
    """Behind a burst of 4 µs, frames of 1 every 3 wait 4 - u and max(2 - u, 0): 2.5 + 2/3 for 10/3 frames."""
    found = waits(periodic([(10e-6, 4e-6), (3e-6, 1e-6)]))
    assert found.mean_s[1] == pytest.approx(0.95e-6, rel=2e-2)


def test_all_bursts_at_once_are_waited_for_at_the_rate_that_more_urgent_ones_leave() -> None:
    streams = [(10.0, 2.0), (10.0, 3.0)]
    assert all_bursts_once_s(periodic(streams)).tolist() == [3.0, 2.0]
    assert all_bursts_once_s(periodic(streams, [1, 0])) == pytest.approx([3.0, 2.0 / 0.8])


def test_the_longest_packet_below_is_that_of_less_urgent_entries_at_the_port() -> None:
    port, priority = np.array([0, 0, 0, 1, 1]), np.array([2, 1, 0, 0, 2])
    packet_s = np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    at = Arrivals(port, np.arange(5), priority, np.full(5, 0.1), packet_s, packet_s)
    assert at.longest_below_s(2).tolist() == [3.0, 3.0, 3.0, 5.0, 5.0]
    assert at.longest_below_s(1).tolist() == [2.0, 2.0, 2.0, 5.0, 5.0]
    assert at.longest_below_s(0).tolist() == [0.0] * 5


# --- a message alone -----------------------------------------------------------------------------

CHUNK_BITS = 8 * 2**20


@pytest.mark.parametrize("row", rows("transfer_times.csv"), ids=lambda row: str(row["topology"]))
def test_transfer_times_of_astra(row: dict[str, str]) -> None:
    hops, rate = int(row["hops"]), float(row["rate_gib_per_s"]) * 2**30 * 8
    stores = [row["kind"] == "whole-chunks"] * (hops - 1)
    chunk = Run(1, np.full(hops, CHUNK_BITS))
    found = pipelined_s([chunk], [rate] * hops, stores) + hops * float(row["latency_ns"]) * 1e-9
    assert found * 1e9 == pytest.approx(
        float(row["time_ns"]), abs=hops
    )  # each hop is cut to whole ns


def test_an_all_gather_of_astra_is_the_work_of_its_busiest_link() -> None:
    """16 nodes on a ring each send to 15, the shorter way: 1 + ... + 8 chunks over each link of one
    direction, back to back; 704 116 ns by ASTRA (congestion-aware, the same source)."""
    chunk_s = CHUNK_BITS / (50 * 2**30 * 8)
    assert sum(range(1, 9)) * chunk_s + 2 * 500e-9 == pytest.approx(704116e-9, rel=1e-4)


def test_packets_pipeline_over_unequal_hops() -> None:
    """Ten packets of 1 s over hops of 1 s, 2 s and 0.5 s a packet: the slowest sends them in a row."""
    found = pipelined_s([Run(10, np.ones(4))], [1.0, 0.5, 2.0, np.inf], [True] * 3)
    assert found == pytest.approx(20 + 1 + 0.5)


# --- bursts that arrive over a time --------------------------------------------------------------


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
def test_the_mean_wait_equals_that_of_a_port_simulated_packet_by_packet(
    packets: list[int], loads: list[float], ratio: float
) -> None:
    periods = [count / load for count, load in zip(packets, loads, strict=True)]
    truth = worked_through(packets, periods, ratio, 4000)
    found, _ = later(entries(loads, packets), ratio)
    assert found == pytest.approx(truth, rel=0.07, abs=0.15)


def test_over_an_infinitely_fast_link_a_frame_arrives_at_one_moment() -> None:
    found, at_once = later(entries([0.2, 0.4, 0.1], [12, 46, 1]), 1e9)
    assert found == pytest.approx(at_once, rel=1e-6)


@pytest.mark.parametrize("own_s", [0.0, STEP**40, STEP**80])
def test_bursts_that_begin_during_a_frame_wait_whole_in_its_variance(own_s: float) -> None:
    """Campbell: the variance is a rate times b³/3 before a frame, and b² a second while its packets arrive."""
    at = entries([0.2, 0.4, 0.1], [12, 46, 46])
    at_once = np.full(3, 1e-9)
    ratio = spread(at, at_once, np.full(3, own_s), np.zeros(3, dtype=bool)).variance_ratio
    assert ratio[0] == pytest.approx(1 + 3 * own_s / 46, rel=1e-6)


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


def test_a_less_urgent_packet_is_on_the_wire_no_more_often_than_others_leave_it() -> None:
    at = entries([0.2, 0.5, 0.7], [12, 12, 12], [5, 0, 5])
    coming_s = np.full(3, 11.0)
    over = spread(at, coming_s, coming_s, np.zeros(3, dtype=bool))
    assert over.variance_s2[0] == pytest.approx((0.5 * 0.7 * (0.3 + 11 * 0.5 / 12)) ** 2)


def test_behind_a_more_urgent_frame_half_of_those_wait_for_packets_still_to_come() -> None:
    """Of a frame that comes as fast as it is sent; with pauses in it, none do."""
    at = entries([0.2, 0.01], [12, 1], [5, 0])
    over = [
        spread(at, np.array([11.0, 0.0]), np.zeros(2), np.array([paused, False])).later_s[1]
        for paused in (False, True)
    ]
    assert over == pytest.approx([-0.2 * 11 / 4, -0.2 * 11 / 2])


def test_the_correction_of_a_frame_is_that_of_its_own_length() -> None:
    at = entries([0.2, 0.2, 0.3], [12, 6, 20])
    paused = np.zeros(3, dtype=bool)
    coming_s = at.burst_s - at.packet_s
    both, *alike = (
        spread(at, coming_s, np.array([*own_s, 19.0]), paused)
        for own_s in ((11.0, 5.0), (11.0, 11.0), (5.0, 5.0))
    )
    for k, same in enumerate(alike):
        assert both.variance_ratio[k] == same.variance_ratio[k]
    assert both.variance_ratio[0] != both.variance_ratio[1]


def test_a_link_is_a_bucket_without_depth() -> None:
    mean, variance = np.array([0.0, 1e-3, np.inf]), np.array([0.0, 1e-6, np.inf])
    found = behind_buckets(mean, variance, np.zeros(3))
    assert found[0].tolist() == mean.tolist()
    assert found[1].tolist() == variance.tolist()


def test_a_constant_wait_is_shorter_by_the_depth_of_the_bucket() -> None:
    mean, variance = behind_buckets(np.full(2, 3e-3), np.zeros(2), np.array([1e-3, 4e-3]))
    assert mean == pytest.approx([2e-3, 0.0], abs=1e-12)
    assert variance == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("depth", [0.2, 1.0, 4.0])
def test_the_wait_of_random_frames_is_exact(load: float, depth: float) -> None:
    """M/M/1 with mean service 1: waits above t with probability ρ exp(−(1 − ρ) t)."""
    gone = 1 - load
    mean, second = load / gone, 2 * load / gone**2
    beyond = load * np.exp(-gone * depth)
    found, variance = behind_buckets(
        np.array([mean]), np.array([second - mean**2]), np.array([depth])
    )
    assert found[0] == pytest.approx(beyond / gone)
    assert variance[0] == pytest.approx(2 * beyond / gone**2 - (beyond / gone) ** 2)


@given(st.floats(0, 1e3), st.floats(0, 1e6), st.floats(0, 1e3), st.floats(0, 1e3))
def test_a_deeper_bucket_never_lets_wait_longer(
    mean: float, variance: float, depth: float, more: float
) -> None:
    waits_s = [
        behind_buckets(np.array([mean]), np.array([variance]), np.array([one]))[0][0]
        for one in (0.0, depth, depth + more)
    ]
    assert waits_s[0] >= waits_s[1] * (1 - 1e-9)
    assert waits_s[1] >= waits_s[2] * (1 - 1e-9)
    assert waits_s[2] >= 0


def test_waits_of_very_few_frames_count_as_none() -> None:
    mean, variance = behind_buckets(np.array([1e-6]), np.array([1e-12]), np.array([1e-3]))
    assert mean[0] == 0
    assert variance[0] == 0
    assert quantile_s(mean, variance, 0.99)[0] == 0


# --- bursts at full buffers ----------------------------------------------------------------------
