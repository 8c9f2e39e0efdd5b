"""The linear programme of a path: closed forms, the other analyses, and what it does not bound."""

from __future__ import annotations

import math

import pytest

from bounds_systems import bounds_by_method, system
from icmodel.system.bounds import (
    Arbitrary,
    Flow,
    Network,
    Scheduler,
    Server,
    network,
    port,
    rate_latency,
    token_bucket,
)
from icmodel.system.bounds.analyses import path_aggregates
from icmodel.system.bounds.linear_programme import MOST_DATES, MOST_STAGES, TOLERANCE, lp_dates
from icmodel.system.bounds.propagation import propagate
from icmodel.system.schedulers import Fifo

METHOD = "linear programme"
RAISED = 2 * TOLERANCE


def tandem(hops: int, scheduler: Scheduler | None = None) -> Network:
    """A flow over some hops of 1 Mb/s after 1 ms; at each a flow enters that leaves at the end."""
    names = [f"s{index}" for index in range(hops)]
    servers = [Server(name, rate_latency(1e6, 1e-3), scheduler or Fifo()) for name in names]
    flows = [
        Flow(f"f{index}", tuple(names[index:]), token_bucket(1e4 * (index + 1), 1e5 / hops))
        for index in range(hops)
    ]
    return network(servers, flows)


@pytest.mark.parametrize("hops", [1, 2, 3, 4, 5])
def test_a_sink_tree_of_equal_servers_delays_by_its_latencies_and_its_bursts(hops: int) -> None:
    """The worst case of a sink tree in order is known, and every other analysis is above it.

    Sum of T + b/CR: while a burst b passes a server, flows of rate r that enter at the next add r b/R to
    it, and so on (Lenzini, Martorini, Mingozzi, Stea, Performance Evaluation 63, 2006). From four hops on not
    all dates have a start, which costs 1 % here.
    """
    every = bounds_by_method(tandem(hops))
    grows = 1.0 + 1e5 / hops / 1e6
    bursts = sum(1e4 * (index + 1) * grows ** (hops - 1 - index) for index in range(hops))
    worst = hops * 1e-3 + bursts / 1e6
    found = every.pop(METHOD)["f0"].value_s
    if hops <= 3:
        assert found == pytest.approx(worst, rel=RAISED)
    assert worst <= found <= 1.015 * worst
    if hops > 1:
        assert found < min(other["f0"].value_s for other in every.values())


def test_the_linear_programme_is_never_above_total_flow_and_rarely_above_another() -> None:
    count, tighter, looser = 0, 0, 0
    for seed in range(0, 240, 3):
        every = bounds_by_method(system(seed).network)
        for name, bound in every.pop(METHOD).items():
            least = min(found[name].value_s for found in every.values())
            if bound.value_s < math.inf:
                assert bound.value_s <= every["total flow"][name].value_s * (1 + RAISED)
                count += 1
                looser += bound.value_s > 1.02 * least
                tighter += bound.value_s < 0.98 * least
    assert tighter > 50
    assert looser <= 0.02 * count  # over four hops and more, where not all dates have a start


def test_dates_grow_with_the_length_of_a_path_and_no_faster() -> None:
    path = max(path_aggregates(propagate(tandem(12))), key=lambda one: len(one.queues))
    inputs = [len(node.fifo) + len(node.starts) for node in lp_dates(path).upstream()]
    assert inputs == [2, 4, 8, *range(10, 28, 2)]
    assert inputs[2] == MOST_DATES


def test_arbitrary_multiplexing_has_no_linear_programme() -> None:
    found = bounds_by_method(tandem(3, Arbitrary()))
    assert found[METHOD]["f0"].value_s == math.inf
    assert found["separate flow"]["f0"].value_s < math.inf


def test_a_large_network_has_no_linear_programme() -> None:
    many = MOST_STAGES + 1
    flows = [Flow(f"f{index}", (f"s{index}",), token_bucket(1e3, 1.0)) for index in range(many)]
    made = network([port(f"s{index}", 1e6) for index in range(many)], flows)
    found = bounds_by_method(made)
    assert {bound.value_s for bound in found[METHOD].values()} == {math.inf}
    assert found["total flow"]["f0"].value_s == pytest.approx(1e-3)
