"""Cycles of flows: a fixed point by hand, against simulations, and refused where there is none."""

from __future__ import annotations

import math

import pytest

from bounds_systems import cyclic, sources, system
from icmodel.errors import BoundsError
from icmodel.system.bounds import (
    FeedForward,
    Flow,
    Network,
    Server,
    backlogs_bits,
    bounds,
    cyclic_fixed_point,
    network,
    port,
    rate_latency,
    token_bucket,
)
from icmodel.system.bounds.bound import CYCLES_CUT
from icmodel.system.schedulers import Fifo
from packet_simulation import simulate
from search import times

RATE, LATENCY, DELAY, BURST = 1e6, 1e-3, 1e-6, 1e4


def ring(count: int, hops: int, rate_bps: float) -> tuple[list[Server], list[Flow]]:
    """Servers in a ring, at each of which a flow begins that goes over some of them."""
    servers = [
        Server(f"s{index}", rate_latency(RATE, LATENCY), delay_s=DELAY) for index in range(count)
    ]
    flows = [
        Flow(
            f"f{index}",
            tuple(f"s{(index + hop) % count}" for hop in range(hops)),
            token_bucket(BURST, rate_bps),
        )
        for index in range(count)
    ]
    return servers, flows


@pytest.mark.parametrize("rate_bps", [1e4, 1e5, 4e5])
def test_two_servers_that_wait_for_each_other_by_hand(rate_bps: float) -> None:
    """One link is cut, behind which f1 is late by its wait W before.

    At the one server ``T + (2 b + r W)/R`` is waited, behind which f0 has the burst ``b + r (T + (b + r W)/R)``;
    so at the other ``W = T + (2 b + r T + r (b + r W)/R)/R``.
    """
    part = rate_bps / RATE
    alone = LATENCY + (2 * BURST + rate_bps * LATENCY + part * BURST) / RATE
    late = alone / (1 - part**2)
    whole = late + LATENCY + (2 * BURST + rate_bps * late) / RATE + 2 * DELAY
    for bound in cyclic_fixed_point(*ring(2, 2, rate_bps)).bounds(["total flow"]).values():
        assert bound.value_s == pytest.approx(whole, rel=1e-4)
        assert bound.value_s >= whole
        assert CYCLES_CUT in bound.covers


def test_jitters_that_diverge_are_refused_with_their_numbers() -> None:
    with pytest.raises(
        BoundsError, match=r"cut at s7 -> s0.* jitter of f\d from s0 on, .* still grows"
    ):
        cyclic_fixed_point(*ring(8, 8, 0.12 * RATE))
    assert all(
        bound.value_s < 1.0
        for bound in cyclic_fixed_point(*ring(8, 8, 0.02 * RATE)).bounds().values()
    )


def test_an_overload_in_a_cycle_has_no_bound_and_other_flows_keep_theirs() -> None:
    servers, flows = ring(3, 2, 0.6 * RATE)
    apart = Flow("apart", ("t",), token_bucket(BURST, 1.0))
    found = cyclic_fixed_point(
        [*servers, Server("t", rate_latency(RATE))], [*flows, apart]
    ).bounds()
    assert found.pop("apart").value_s == pytest.approx(BURST / RATE, rel=1e-5)
    assert {bound.value_s for bound in found.values()} == {math.inf}


def test_without_a_cycle_bounds_are_those_of_the_feed_forward_network() -> None:
    net = system(8).network
    found = cyclic_fixed_point(net.servers.values(), net.flows.values())
    assert found.bounds() == bounds(net)


def test_a_flow_through_two_cycles_is_cut_in_both() -> None:
    """A flow that sends next to nothing waits at each server for what the others of that cycle wait."""
    servers = [Server(name, rate_latency(RATE, LATENCY), delay_s=DELAY) for name in "abcd"]
    around = [
        Flow(path, tuple(path), token_bucket(BURST, 1e5)) for path in ("ab", "ba", "cd", "dc")
    ]
    long = Flow("long", tuple("badc"), token_bucket(1e-3, 1e-6))
    found = cyclic_fixed_point(servers, [*around, long]).bounds(["total flow"])
    assert found.keys() == {"ab", "ba", "cd", "dc", "long"}
    both = found["ba"].value_s + found["dc"].value_s
    assert found["long"].value_s == pytest.approx(both, rel=1e-4)


def test_a_packet_whose_first_bit_is_passed_on_needs_a_delay_in_a_cycle() -> None:
    def ring(delay_s: float) -> FeedForward:
        servers = [port(name, RATE, header_bits=0.0, delay_s=delay_s) for name in "ab"]
        flows = [
            Flow(path, tuple(path), token_bucket(1e3, 1e3), 0, 1e3, 1e3) for path in ("ab", "ba")
        ]
        return cyclic_fixed_point(servers, flows)

    assert ring(1e-6).bounds()["ab"].value_s < math.inf
    with pytest.raises(BoundsError, match="the least delay of this server is 0 s"):
        ring(0.0)


def test_a_packet_that_passes_a_cut_in_no_time_is_refused() -> None:
    servers = [Server(name, rate_latency(RATE)) for name in "ab"]
    flows = [Flow(path, tuple(path), token_bucket(1e3, 1e3)) for path in ("ab", "ba")]
    with pytest.raises(
        BoundsError, match="the least delay of this server is 0 s; give the server a delay"
    ):
        cyclic_fixed_point(servers, flows)


@pytest.mark.sampled
def test_no_bound_of_a_cycle_is_below_a_simulated_maximum() -> None:
    """All schedulers, cut-through and copies among them; four runs each."""
    around = least = compared = 0
    count = times(30)
    for seed in range(count):
        servers, flows = cyclic(seed)
        try:
            found = cyclic_fixed_point(servers, flows)
        except BoundsError:
            continue
        around += found.features != found.network.features
        whole = Network(
            {one.name: one for one in servers},
            {one.name: one for one in flows},
            tuple(one.name for one in servers),
        )
        most, backlogs = found.bounds(), backlogs_bits(found.network)
        for run in range(4):
            seen = simulate(whole, sources(whole, 4 * seed + run), flows[run % len(flows)].name)
            for name, delay_s in seen.greatest_s.items():
                assert delay_s <= most[name].value_s * (1 + 1e-9), (seed, name)
                least += delay_s > 0.5 * most[name].value_s
                compared += most[name].value_s < math.inf
            for name, bits in seen.backlogs_bits.items():
                assert bits <= backlogs[name] * (1 + 1e-9), (seed, name)
    assert around > count / 3
    assert least > 0.2 * compared


def test_a_ring_of_ports_is_bounded_as_packets() -> None:
    """Three ports, two hops a flow: no looser than each port's burst of all and one packet."""
    servers = [port(f"p{index}", 1e8, Fifo(), delay_s=1e-6) for index in range(3)]
    flows = [
        Flow(f"f{k}", (f"p{k}", f"p{(k + 1) % 3}"), token_bucket(12304.0, 1e6), 0, 12304.0, 12304.0)
        for k in range(3)
    ]
    with pytest.raises(BoundsError, match="bound its delay by a fixed point"):
        network(servers, flows)
    packet_s = 12304.0 / 1e8
    for bound in cyclic_fixed_point(servers, flows).bounds().values():
        assert 3 * packet_s <= bound.value_s <= 4.1 * packet_s + 2e-6
