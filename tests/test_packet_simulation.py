"""The packet simulation against closed forms; against CoRE4INET in test_system_bounds_known.py."""

from __future__ import annotations

import random
from typing import Any

import pytest

from icmodel.system.bounds import (
    Arbitrary,
    Flow,
    Network,
    Scheduler,
    network,
    port,
    token_bucket,
)
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)
from packet_simulation import simulate

RATE = 1e6


def flow(name: str, traffic_class: int = 0, path: str = "out", copy: str | None = None) -> Flow:
    ways = tuple(path.split())
    return Flow(name, ways, token_bucket(1e4, 1e3), traffic_class, 1e4, 1.0, copy)


def one_port(scheduler: Scheduler | None, *flows: Flow) -> Network:
    return network([port("out", RATE, scheduler)], flows)


def order(scheduler: Scheduler, sent: dict[str, list[tuple[float, float]]], last: str = "") -> str:
    """Names of single-letter flows in the order in which their packets end; class by letter."""
    flows = [flow(name, "abc".index(name)) for name in sent]
    seen = simulate(one_port(scheduler, *flows), sent, last)
    ends = sorted(
        (made + delay, name)
        for name, packets in sent.items()
        for (made, _), delay in zip(packets, seen.delays_s[name], strict=True)
    )
    return "".join(name for _, name in ends)


def test_a_packet_alone_takes_its_time_on_each_line_and_the_delays() -> None:
    """Store-and-forward: k times L/C; cut-through: headers, and one L/C."""
    for header, expected in ((None, 3 * 1e-3), (100.0, 2 * 1e-4 + 1e-3)):
        ports = [port(name, RATE, delay_s=5e-6, header_bits=header) for name in "xyz"]
        seen = simulate(network(ports, [flow("f", path="x y z")]), {"f": [(0.0, 1e3)]})
        assert seen.greatest_s["f"] == pytest.approx(expected + 15e-6)


def test_regular_packets_below_the_rate_never_wait() -> None:
    """D/D/1: no wait at any load up to 1."""
    sent = {"f": [(index * 1.25e-3, 1e3) for index in range(200)]}
    seen = simulate(one_port(None, flow("f")), sent)
    assert seen.delays_s["f"] == pytest.approx([1e-3] * 200)
    assert seen.backlogs_bits["out"] == 1e3


def test_regular_packets_above_the_rate_wait_as_the_line_falls_behind() -> None:
    """Packet k waits k (S - P)."""
    sent = {"f": [(index * 0.8e-3, 1e3) for index in range(100)]}
    seen = simulate(one_port(None, flow("f")), sent)
    assert seen.delays_s["f"] == pytest.approx([1e-3 + k * 0.2e-3 for k in range(100)])


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_poisson_arrivals_wait_as_pollaczek_and_khinchine_say(load: float) -> None:
    """M/D/1: mean wait rho S / (2 (1 - rho)); 40 000 packets, a seed that was not looked for."""
    draw, now, sent = random.Random(7), 0.0, []
    for _ in range(40_000):
        now += draw.expovariate(load / 1e-3)
        sent.append((now, 1e3))
    seen = simulate(one_port(None, flow("f")), {"f": sent})
    wait = sum(seen.delays_s["f"]) / len(sent) - 1e-3
    assert wait == pytest.approx(load * 1e-3 / (2 * (1 - load)), rel=0.06)


def test_the_greater_class_goes_first_and_a_packet_is_never_interrupted() -> None:
    sent = {"a": [(0.0, 1e3), (0.0, 1e3)], "b": [(1e-4, 1e3)], "c": [(2e-4, 1e3)]}
    assert order(StrictPriority(), sent) == "acba"


def test_round_robin_by_packets_and_by_bits() -> None:
    sent = {"a": [(0.0, 1e3)] * 4, "b": [(0.0, 1e3)] * 4}
    assert order(WeightedRoundRobin(weights={0: 1, 1: 3}), sent) == "abbbabaa"
    assert order(DeficitRoundRobin(quanta_bytes={0: 125, 1: 250}), sent) == "abbabbaa"
    half: Any = {0: 62.5, 1: 125}  # in bytes, of which tables of files have whole ones
    assert order(DeficitRoundRobin.model_construct(quanta_bytes=half), sent) == "babbabaa"


def test_where_no_order_is_known_one_goes_last() -> None:
    sent = {"a": [(0.0, 1e3)] * 2, "b": [(0.0, 1e3)] * 2}
    assert order(Arbitrary(), sent) == "bbaa"
    assert order(Arbitrary(), sent, last="b") == "aabb"


def test_a_shaped_class_sends_no_faster_than_its_idle_slope() -> None:
    """Credit of a packet of L bits at sendSlope I - C is back after L/I: a packet every L/I."""
    sent = {"b": [(0.0, 1e3)] * 5}
    seen = simulate(one_port(CreditBased(idle_slopes_bps={1: 2.5e5}), flow("b", 1)), sent)
    assert seen.delays_s["b"] == pytest.approx([1e-3 + k * 4e-3 for k in range(5)])


def test_credit_that_was_earned_while_waiting_lets_two_packets_follow_each_other() -> None:
    """3 ms behind another packet earn 750 bits, which one packet costs; then 3 ms bring them back."""
    sent = {"a": [(0.0, 4e3)], "b": [(1e-3, 1e3)] * 3}
    seen = simulate(
        one_port(CreditBased(idle_slopes_bps={1: 2.5e5}), flow("a"), flow("b", 1)), sent
    )
    assert seen.delays_s["b"] == pytest.approx([4e-3, 5e-3, 9e-3])


def test_a_packet_waits_for_a_window_that_holds_it() -> None:
    """Windows of 2 ms in 10 ms: of two packets of 1.5 ms each, one a window."""
    sent = {"b": [(0.0, 1.5e3), (0.0, 1.5e3)]}
    gates = Gates(windows=(Window(duration_s=2e-3, open=(1,)), Window(duration_s=8e-3, open=(0,))))
    seen = simulate(one_port(gates, flow("b", 1)), sent)
    assert seen.delays_s["b"] == pytest.approx([1.5e-3, 11.5e-3])


def test_copies_are_one_packet_until_they_part() -> None:
    ports = [port(name, RATE) for name in "xyz"]
    flows = [flow("f", path="x y", copy="m"), flow("g", path="x z", copy="m"), flow("h", path="x")]
    seen = simulate(network(ports, flows), {"m": [(0.0, 1e3)], "h": [(0.0, 1e3)]})
    assert seen.greatest_s == pytest.approx({"f": 2e-3, "g": 2e-3, "h": 2e-3})
    assert seen.backlogs_bits == {"x": 2e3, "y": 1e3, "z": 1e3}


def test_a_gate_that_is_open_for_two_lets_the_greater_go_first() -> None:
    """Class 0 alone until 4 ms, then both: its packet, begun at 3.9 ms, is sent out before class 1's."""
    scheduler = Gates(
        windows=(Window(duration_s=4e-3, open=(0,)), Window(duration_s=6e-3, open=(0, 1)))
    )
    sent = {"low": [(3.9e-3, 1e3), (3.95e-3, 1e3)], "high": [(0.0, 1e3)]}
    seen = simulate(one_port(scheduler, flow("low", 0), flow("high", 1)), sent)
    assert seen.delays_s["high"] == pytest.approx([5.9e-3])
    assert seen.delays_s["low"] == pytest.approx([1e-3, 2.95e-3])
