"""No bound is below what a simulation shows: a sample here, 10 000 in ``benchmarks.bounds``."""

from __future__ import annotations

import random

import pytest

from bounds_systems import KINDS, conforming, held, large, sources, system
from icmodel.system.bounds import backlogs_bits, bounds, network, propagation
from icmodel.system.bounds.network import Flow
from icmodel.system.schedulers import Fifo, StrictPriority
from search import times

SAMPLE = times(20)


@pytest.mark.sampled
def test_no_bound_is_below_a_simulated_maximum() -> None:
    found = [held(50_000 + seed) for seed in range(SAMPLE)]
    assert [sentence for one in found for sentence in one.broken] == []
    assert {one.kind for one in found} == set(KINDS)
    least = [ratio for one in found for ratio in one.ratios["least"]]
    assert min(least) < 1.0001, "no worst case was met: the sources are too tame"
    assert sorted(least)[len(least) // 2] < 2.0


def test_sources_keep_to_their_arrival_curves() -> None:
    for seed in range(24):
        net = system(seed).network
        for name, packets in sources(net, seed).items():
            flow = next(one for one in net.flows.values() if name in (one.multicast, one.name))
            assert_conforming(flow, list(packets))


def assert_conforming(flow: Flow, packets: list[tuple[float, float]]) -> None:
    for first, (begin, _) in enumerate(packets):
        bits = 0.0
        for end, length in packets[first:]:
            bits += length
            assert bits <= flow.arrival.at(end - begin) * (1 + 1e-9)
            assert flow.min_packet_bits <= length <= flow.max_packet_bits


def test_a_greedy_source_uses_all_it_may() -> None:
    flow = next(iter(system(0).network.flows.values()))
    packets = list(conforming(random.Random(1), flow, 0.0, 30, loose=False))
    sent = sum(bits for _, bits in packets)
    assert sent == pytest.approx(flow.arrival.at(packets[-1][0]), rel=0.01)


@pytest.mark.parametrize("scheduler", [Fifo(), StrictPriority()], ids=lambda one: one.name)
def test_a_hundred_flows_over_twenty_switches_have_bounds(scheduler: Fifo | StrictPriority) -> None:
    found = bounds(large(100, 60, scheduler))
    assert all(0.0 < bound.value_s < 0.01 for bound in found.values())


def test_output_curves_by_bits_that_large_networks_leave_out_change_no_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(propagation, "_LOOK_BACK", ())  # every network counts as large

    def delays_s() -> list[float]:
        nets = (system(seed).network for seed in range(SAMPLE))
        return [bound.value_s for net in nets for bound in bounds(net, ("total flow",)).values()]

    some = delays_s()
    monkeypatch.setattr(propagation, "_is_least", lambda *_: False)
    assert delays_s() == pytest.approx(some, rel=1e-12)


@pytest.mark.sampled
def test_one_more_flow_never_lowers_a_bound() -> None:
    """Of no scheduler, copies and backlogs included; the solver keeps to a millionth."""
    for seed in range(70_000, 70_000 + SAMPLE):
        more = system(seed).network
        gone = random.Random(seed).choice(list(more.flows))
        flows = [flow for name, flow in more.flows.items() if name != gone]
        less = network(more.servers.values(), flows)
        found, before = bounds(less), bounds(more)
        assert all(found[one].value_s <= before[one].value_s * (1 + 3e-6) for one in found), seed
        waiting, most = backlogs_bits(less), backlogs_bits(more)
        assert all(waiting[one] <= most[one] * (1 + 1e-9) for one in waiting), seed
