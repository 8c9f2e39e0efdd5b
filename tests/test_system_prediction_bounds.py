"""Bounds of whole systems: above what is predicted and what is played, and honest about what they cover."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from icmodel.errors import BoundsError
from icmodel.model import Model
from icmodel.requirement import MET, UNDECIDED, Requirement
from icmodel.system import (
    Gates,
    Producer,
    StreamRequirement,
    StrictPriority,
    SystemPrediction,
    Window,
    load,
)
from icmodel.system import predict as predicted
from icmodel.system.network import Link, Port, System
from icmodel.system.prediction.bounding import MEASURED, NETWORK
from system_case import ETHERNET, Chain, frozen

MODEL = Model(ETHERNET)
PAIR = Chain((3,))


def predict(system: System) -> SystemPrediction:
    return predicted(system, MODEL)


def test_two_bursts_that_meet_are_bounded_by_both_and_a_packet() -> None:
    """Without hosts, by hand: 100 packets and 50 packets of 1538 B meet at a port; a packet is stored before."""
    chain = Chain((3,), dataset=None)
    big, small = (
        replace(
            chain.stream(name, source, "h2", None, "udp", 1472),
            producer=Producer("burst", 0.1, 1472 * packets),
        )
        for name, source, packets in (("big", "h0", 100), ("small", "h1", 50))
    )
    found = predicted(chain.system([big, small])).streams
    packet = 1538 * 8 / 1e10
    bound = found["big"].latency_bound
    assert bound is not None
    assert NETWORK in bound.covers
    # The last packet of the big burst is behind all of the small one, and is stored once on its way.
    least = (150 + 1) * packet + 5.9e-6
    assert least <= bound.value_s <= 1.02 * least


def test_a_bound_with_hosts_rests_on_their_greatest_latency() -> None:
    stream = PAIR.stream("a", "h0", "h2", 5000.0)
    found = predict(PAIR.system([stream])).streams["a"]
    bound, measured = found.latency_bound, found.metrics["latency_max_s"]
    assert bound is not None
    assert MEASURED in bound.covers
    wire = 65535 * 8 * 1538 / 1448 / 1e10
    assert measured.high <= bound.value_s <= measured.high + wire


@pytest.mark.parametrize("name", ["imaging", "motion-control"])
def test_no_prediction_is_above_its_bound(name: str) -> None:
    found = predict(load(name))
    bounded = [one for one in found.streams.values() if one.latency_bound is not None]
    assert bounded
    for one in bounded:
        assert one.latency_bound is not None
        if MEASURED in one.latency_bound.covers:
            for metric in ("latency_mean_s", "latency_max_s"):
                assert one.metrics[metric].value <= one.latency_bound.value_s
    for link in found.links.values():
        for port in link.ports.values():
            mean, most = port.backlog_mean_bytes, port.backlog_bound_bytes
            assert mean.absent or most is None or mean.value <= most


def test_what_may_come_faster_than_it_is_sent_has_no_bound() -> None:
    streams = [PAIR.stream("a", "h0", "h2"), PAIR.stream("b", "h1", "h2", 100.0)]
    found = predict(PAIR.system(streams)).streams["b"]
    assert found.latency_bound is None
    assert "more may come" in found.no_bound


def test_an_urgent_stream_is_bounded_beside_one_without_limit() -> None:
    chain = Chain((3,), scheduler=StrictPriority())
    streams = [
        chain.stream("late", "h0", "h2"),
        chain.stream("urgent", "h1", "h2", 100.0, "tcp", 1448, priority=7),
    ]
    found = predict(chain.system(streams)).streams
    assert found["late"].latency_bound is None
    assert found["urgent"].latency_bound is not None


def test_gates_that_are_always_open_bound_as_strict_priority_does() -> None:
    found = []
    for scheduler in (Gates(windows=(Window(duration_s=1e-3, open=(0, 7)),)), StrictPriority()):
        chain = Chain((3,), dataset=None, scheduler=scheduler)
        streams = [
            chain.stream("late", "h0", "h2", 100.0, "udp", 1472),
            chain.stream("urgent", "h1", "h2", 100.0, "udp", 1472, priority=7),
        ]
        bound = predicted(chain.system(streams)).streams["urgent"].latency_bound
        assert bound is not None
        found.append(bound.value_s)
    assert found[0] == pytest.approx(found[1])


def ring() -> System:
    """Three switches in a ring, a host at each; each stream goes over two of the ring's links."""
    line = Chain((1, 1, 1), dataset=None)
    link = Link("s0<->s2", ("s0", "s2"), 1e10)
    streams = [
        replace(
            line.stream(name, f"h{a}", f"h{c}", 1000.0, "udp", 1472),
            path=(f"h{a}->s{a}", f"s{a}->s{b}", f"s{b}->s{c}", f"s{c}->h{c}"),
        )
        for name, (a, b, c) in {"f": (0, 1, 2), "g": (1, 2, 0), "h": (2, 0, 1)}.items()
    ]
    made = line.system([])
    ports = [Port(f"{a}->{b}", link.name, a, b, 1e10) for a, b in (("s0", "s2"), ("s2", "s0"))]
    return replace(
        made,
        links=frozen({**made.links, link.name: link}),
        ports=frozen({**made.ports, **{port.name: port for port in ports}}),
        streams=frozen({one.name: one for one in streams}),
    )


def test_a_ring_has_no_bound_unless_a_fixed_point_is_asked_for() -> None:
    refused = predicted(ring()).streams["f"]
    assert refused.latency_bound is None
    assert "ask for cycles by a fixed point" in refused.no_bound
    packet = 1538 * 8 / 1e10
    for one in predicted(ring(), cycles="fixed-point").streams.values():
        bound = one.latency_bound
        assert bound is not None
        assert "cycles by a fixed point" in bound.covers
        # Its packet is sent four times; at one port of the ring, or at both, another stands before it.
        least = 5 * packet + 3 * 5.9e-6
        assert least <= bound.value_s <= 1.01 * (least + packet)
    with pytest.raises(BoundsError, match="take one of refuse, fixed-point"):
        predicted(ring(), cycles="cut")


def test_hard_requirements_are_judged_by_a_bound_that_has_the_hosts_in_it() -> None:
    hard = Requirement("in time", "latency_max_s", at_most=0.01, kind="hard")
    stream = PAIR.stream("a", "h0", "h2", 5000.0, kind="hard")
    judged = predict(PAIR.system([stream], (StreamRequirement(hard, "a"),))).judged[0]
    assert (judged.verdict.outcome, judged.by_bound) == (MET, True)
    blind = Chain((3,), dataset=None)
    unknown = predicted(blind.system([stream], (StreamRequirement(hard, "a"),))).judged[0]
    assert (unknown.verdict.outcome, unknown.by_bound) == (UNDECIDED, False)
    assert not math.isnan(unknown.verdict.estimate.low)
