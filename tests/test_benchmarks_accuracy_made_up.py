"""Made-up datasets: physics holds in them, seeds differ, and what is asked for is in them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.accuracy.made_up import (
    ALONE,
    DENSE,
    MPI,
    RDMA,
    SISTERS,
    SOCKETS,
    SPARSE,
    SYSTEMS,
    Costs,
    Stack,
    System,
    family,
    made_up,
)
from icmodel.dataset import Dataset
from icmodel.tables.wire import Wire


def values(data: Dataset, metric: str) -> dict[int, float]:
    """Rows of the first protocol and stack by size."""
    return {
        p.payload_bytes or 0: p.value
        for p in data.points
        if (p.metric, p.protocol, p.options) == (metric, data.default_protocol, ("first",))
    }


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda one: one.name)
def test_no_goodput_is_above_the_wire_and_large_messages_reach_a_plateau(system: System) -> None:
    data = made_up(system, DENSE, SISTERS, seed=1)
    for point in data.points:
        if point.metric == "goodput_bps":
            size = np.array([float(point.payload_bytes or 0)])
            wire = Wire(point.protocol, system.link)
            bound = wire.goodput_bound_bps(size, wire.serialisation_s(size))[0]
            assert 0 < point.value <= bound * (1 + 1e-12)
        elif point.metric == "cpu_send":
            assert 0 < point.value <= 1
    reached = list(values(data, "goodput_bps").values())
    assert reached[-1] == pytest.approx(reached[-2], rel=0.1)
    assert reached[0] < 0.01 * reached[-1]


def test_a_stack_announces_what_is_larger_than_its_switch() -> None:
    """By hand: 1 us, costs a frame of 0.1 us on both sides, nothing else but the wire."""
    lone, costs = 1e-6, Costs(1e-7, 0.0, 0.0)
    wire, size = Wire("mpi", MPI.link), np.array([4096.0, 4097.0])
    found = Stack(lone, costs, costs, 4096, 0.5).runs(wire, size, np.ones((1, 2)))
    latency = found["rtt_half_mean_s"][0] - wire.serialisation_s(size)
    assert latency == pytest.approx([lone + 2e-7, 3 * lone + 3e-7])


def test_seeds_differ_and_the_same_seed_is_the_same_dataset() -> None:
    one, again, other = (made_up(RDMA, SPARSE, ALONE, seed) for seed in (1, 1, 2))
    assert one == again
    assert one.sha256 != other.sha256
    assert values(one, "rtt_half_mean_s").keys() == values(other, "rtt_half_mean_s").keys()
    assert values(one, "rtt_half_mean_s") != values(other, "rtt_half_mean_s")


def test_the_family_has_sparse_and_dense_ones_alone_and_with_sisters() -> None:
    found = family(seeds=2)
    assert len(found) == 3 * 2 * 2
    for name, datasets in found.items():
        assert len({one.id for one in datasets}) == 2
        stacks = {point.options for one in datasets for point in one.points}
        assert len(stacks) == (3 if name.endswith("-3") else 1)
        sizes = {len(values(one, "goodput_bps")) for one in datasets}
        assert sizes <= ({12} if "-12-" in name else {29, 30})


def test_stalls_are_in_the_greatest_alone_and_differ_by_factors() -> None:
    data = made_up(SOCKETS, DENSE, ALONE, seed=3)
    mean, most = (
        np.array([*values(data, f"rtt_half_{one}_s").values()]) for one in ("mean", "max")
    )
    stalls = np.log((most - mean)[mean < np.median(mean)])
    assert (most > mean).all()
    assert 0.3 < stalls.std() < 2.5
    assert abs(np.corrcoef(stalls[1:], stalls[:-1])[0, 1]) < 0.6


def test_breaks_of_packets_are_in_the_costs_of_sockets() -> None:
    costs = Costs(1e-6, 0.0, 1e-6)
    stack = Stack(0.0, costs, Costs(0.0, 0.0, 0.0), np.inf, 1.0)
    size = np.array([1448.0, 1449.0])
    told = stack.runs(Wire("tcp", SOCKETS.link), size, np.ones((1, 2)))["goodput_bps"][0]
    assert 8 * size / told == pytest.approx([2e-6, 3e-6])
