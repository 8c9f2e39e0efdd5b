"""Waits at ports: closed forms against known answers, and against queues that are played."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from icmodel.arrays import Floats
from icmodel.system.sharing.transfer import Run, pipelined_s
from icmodel.system.sharing.waiting import Arrivals, quantile_s, waits
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
    seen = played(others, 6000)
    assert found.mean_s[-1] == pytest.approx(seen.mean(), rel=tolerance)
    square = found.variance_s2[-1] + found.mean_s[-1] ** 2
    assert square == pytest.approx((seen**2).mean(), rel=2 * tolerance)


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


def test_what_comes_over_one_link_does_not_wait_for_itself() -> None:
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


def test_a_port_that_is_asked_for_all_it_has_is_waited_for_without_end() -> None:
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
