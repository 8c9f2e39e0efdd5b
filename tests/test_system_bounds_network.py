"""What a network refuses, and what bounds of one account for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from bounds_systems import bounds_by_method
from icmodel.errors import BoundsError
from icmodel.system.bounds import (
    METHODS,
    Arbitrary,
    Flow,
    Network,
    Server,
    backlogs_bits,
    bounds,
    network,
    port,
    rate_latency,
    token_bucket,
)
from icmodel.system.bounds.propagation import propagate
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    StrictPriority,
    WeightedRoundRobin,
)

PACKET = 1e3
LINE = 1e6


def flow(name: str, path: str, **other: Any) -> Flow:
    given = {"max_packet_bits": PACKET, "min_packet_bits": PACKET, **other}
    return Flow(name, tuple(path.split()), token_bucket(2 * PACKET, 1e5), **given)


def ports(names: str, **other: Any) -> list[Server]:
    return [port(name, LINE, **other) for name in names.split()]


def best(net: Network) -> dict[str, float]:
    return {name: bound.value_s for name, bound in bounds(net).items()}


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a server of no name known": (
        lambda: network(ports("x"), [flow("f", "x y")]),
        "flow 'f' passes 'y', which is not a server",
    ),
    "a server twice": (lambda: network(ports("x x"), []), "server 'x' occurs twice"),
    "a flow twice": (
        lambda: network(ports("x"), [flow("f", "x"), flow("f", "x")]),
        "flow 'f' occurs twice",
    ),
    "no path": (lambda: flow("f", ""), "path (empty)"),
    "a path in a ring": (lambda: flow("f", "x y x"), "none twice"),
    "a packet that fits no burst": (
        lambda: flow("f", "x", max_packet_bits=3 * PACKET),
        "bursts of 2000 b",
    ),
    "a shortest packet above the longest": (
        lambda: flow("f", "x", min_packet_bits=2 * PACKET),
        "packets of 2000 to 1000 b",
    ),
    "a line slower than the service": (
        lambda: Server("x", rate_latency(LINE), line_rate_bps=LINE / 2),
        "server 'x' has a service of 1e+06 b/s, more than its line of 500000 b/s",
    ),
    "a shaper on less than its line": (
        lambda: Server(
            "x", rate_latency(LINE / 2), CreditBased(idle_slopes_bps={0: 1e5}), line_rate_bps=LINE
        ),
        "server 'x' has a credit-based shaper, which must serve at the line rate",
    ),
    "a cycle": (
        lambda: network(ports("x y z"), [flow("f", "x y"), flow("g", "y z"), flow("h", "z x")]),
        "cycle of servers",
    ),
    "copies that differ": (
        lambda: network(
            ports("x"),
            [flow("f", "x", multicast="m"), flow("g", "x", multicast="m", traffic_class=1)],
        ),
        "copies of 'm' and differ",
    ),
    "no weight": (
        lambda: network(ports("x", scheduler=WeightedRoundRobin(weights={1: 1})), [flow("f", "x")]),
        "weighted round robin does not serve that class",
    ),
    "no quantum": (
        lambda: network(
            ports("x", scheduler=DeficitRoundRobin(quanta_bytes={1: 1})), [flow("f", "x")]
        ),
        "deficit round robin does not serve that class",
    ),
    "no such analysis": (
        lambda: bounds(network(ports("x"), [flow("f", "x")]), ["magic"]),
        "the analysis 'magic' is unknown; use one of total flow",
    ),
    "a gap longer than a packet": (
        lambda: network(ports("x", gap_bits=2 * PACKET), [flow("f", "x")]),
        "packets of 1000 b including their gap, but the gap at 'x' alone has 2000 b",
    ),
    "no analysis": (
        lambda: bounds(network(ports("x"), [flow("f", "x")]), []),
        "is unknown",
    ),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_wrong_network_is_refused_in_one_sentence(wrong: str) -> None:
    make, sentence = REFUSED[wrong]
    with pytest.raises(BoundsError) as caught:
        make()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cycle_is_named_in_the_direction_of_its_flows() -> None:
    flows = [flow("f", "x y"), flow("g", "y z"), flow("h", "z x"), flow("i", "w x")]
    with pytest.raises(BoundsError) as caught:
        network(ports("w x y z"), flows)
    ring = str(caught.value).split(", ")[1].split(" -> ")
    assert len(ring) == 4
    assert ring[0] == ring[-1]
    assert {"x y", "y z", "z x"} == {f"{a} {b}" for a, b in pairwise(ring)}


def test_the_bound_of_a_lone_packet_is_its_transmission_time() -> None:
    """Store-and-forward: L/C a hop and the delays between; cut-through: headers, then L/C."""
    alone = Flow("f", ("x", "y", "z"), token_bucket(PACKET, 1.0), 0, PACKET, PACKET)
    for header, expected in ((None, 3e-3), (100.0, 1.2e-3)):
        net = network(ports("x y z", delay_s=5e-6, header_bits=header), [alone])
        found = bounds_by_method(net, ["total flow"])["total flow"]["f"]
        assert found.value_s == pytest.approx(expected + 15e-6, rel=1e-3)
        assert ("cut-through" in found.covers) == (header is not None)


def test_a_packet_is_cut_through_from_link_to_link_and_its_gap_delays_nobody() -> None:
    """Begun behind x at once to a line that is no faster, stored for one that is; each way less a gap of 100 b."""
    made = [
        port("x", LINE, header_bits=0.0, gap_bits=100.0),
        port("slower", LINE / 2, gap_bits=100.0),
        port("faster", 2 * LINE, gap_bits=100.0),
    ]
    for last, expected in (("slower", 1.8e-3), ("faster", 0.9e-3 + 0.45e-3)):
        alone = Flow("f", ("x", last), token_bucket(PACKET, 1.0), 0, PACKET, PACKET)
        for method, each in bounds_by_method(network(made, [alone])).items():
            assert each["f"].value_s == pytest.approx(expected, rel=1e-3), method
    both = [
        Flow(name, ("x", name), token_bucket(PACKET, 1.0), 0, PACKET, PACKET)
        for name in ("slower", "faster")
    ]
    found = best(network(made, both))
    assert found["slower"] == pytest.approx(1e-3 + 1.8e-3, rel=1e-3)  # behind a packet and its gap
    assert found["faster"] == pytest.approx(1e-3 + 1.35e-3, rel=1e-3)


def test_release_jitter_delays_other_flows_alone() -> None:
    """Its own bound counts from its latest coming; a lesser class waits for what comes at once by then."""
    late = flow("late", "x", traffic_class=1, release_jitter_s=0.05)
    for scheduler in (None, StrictPriority()):
        made = ports("x", scheduler=scheduler)
        apart = best(network(made, [replace(late, release_jitter_s=0.0), flow("f", "x")]))
        found = best(network(made, [late, flow("f", "x")]))
        assert found["late"] == pytest.approx(apart["late"])
        assert found["f"] > apart["f"] + 0.9 * 0.05 * 1e5 / LINE


def test_copies_count_once_where_they_are_together_and_twice_where_they_meet_again() -> None:
    single = [flow("f", "x y"), flow("h", "x")]
    copied = [flow("f", "x y", multicast="m"), flow("g", "x z", multicast="m"), flow("h", "x")]
    assert best(network(ports("x y z"), copied))["h"] == best(network(ports("x y z"), single))["h"]
    apart = [replace(one, multicast=None) for one in copied]
    assert best(network(ports("x y z"), apart))["h"] > best(network(ports("x y z"), copied))["h"]
    again = [flow("f", "x y w", multicast="m"), flow("g", "x z w", multicast="m")]
    backlog = backlogs_bits(network(ports("x y z w"), again))
    assert backlog["x"] == pytest.approx(3 * PACKET)
    assert backlog["w"] > 4 * PACKET


def test_an_overloaded_class_has_no_bound_and_higher_classes_keep_theirs() -> None:
    greedy = Flow("low", ("x", "y"), token_bucket(PACKET, 2 * LINE), 0, PACKET, PACKET)
    net = network(
        ports("x y", scheduler=StrictPriority()), [greedy, flow("high", "x y", traffic_class=1)]
    )
    for found in bounds_by_method(net).values():
        assert found["low"].value_s == math.inf
        assert found["high"].value_s < 0.01
    assert backlogs_bits(net)["x"] == math.inf


def test_behind_an_overload_the_line_still_limits_what_comes() -> None:
    """The flow on y is bounded: no more than LINE comes over x's line, and y is faster."""
    greedy = Flow("low", ("x", "y"), token_bucket(PACKET, 2 * LINE), 0, PACKET, PACKET)
    net = network([port("x", LINE), port("y", 10 * LINE)], [greedy, flow("f", "y")])
    assert best(net)["f"] < 0.01
    assert best(net)["low"] == math.inf


def test_every_bound_covers_the_same_and_the_least_is_taken() -> None:
    net = network(ports("x y"), [flow("f", "x y", multicast="m"), flow("g", "x y")])
    every = bounds_by_method(net)
    covers = {bound.covers for found in every.values() for bound in found.values()}
    assert covers == {("packetised", "non-preemptive", "line shaping", "multicast", "FIFO")}
    for name, bound in bounds(net).items():
        assert bound.value_s == min(found[name].value_s for found in every.values())
        assert bound == every[bound.method][name]
    assert tuple(every) == METHODS


def test_a_fluid_network_says_that_it_has_no_packets() -> None:
    fluid = Flow("f", ("x",), token_bucket(10.0, 1.0))
    net = network([Server("x", rate_latency(5.0, 1.0), Arbitrary())], [fluid])
    assert bounds(net)["f"].covers == ("arbitrary multiplexing",)


def test_the_backlog_of_a_port_is_all_bursts_and_the_packet_on_the_line() -> None:
    flows = [flow("f", "x"), flow("g", "x", traffic_class=1)]
    for scheduler in (None, StrictPriority()):
        found = backlogs_bits(network(ports("x unused", scheduler=scheduler), flows))
        assert found == {"x": pytest.approx(5 * PACKET), "unused": 0.0}


def test_behind_a_server_a_flow_has_the_lesser_of_two_bursts() -> None:
    """As bits b + r T and a packet, or as packets b + r W, with W = T + (b - l)/R.

    10 packets at half the rate: 10 + 0.5 T R/l + 1 against 10 + 0.5 (T R/l + 9). At a hundredth:
    the second.
    """
    pause = 0.1
    for share, grown in ((0.5, pause * 0.5 * LINE + PACKET), (0.01, 0.01 * LINE * (pause + 9e-3))):
        big = Flow("f", ("x", "y"), token_bucket(10 * PACKET, share * LINE), 0, PACKET, PACKET)
        found = propagate(network([port("x", LINE, pause_s=pause), port("y", LINE)], [big]))
        behind = found.queues["y"][0].arrival.buckets[-1]
        assert behind.burst_bits == pytest.approx(10 * PACKET + grown)


def test_a_bound_rises_with_every_burden() -> None:
    """More burst, more rate, longer lower packets, slower lines, longer delays."""
    high = flow("high", "x y", traffic_class=1)

    def bound(*others: Flow, line: float = LINE, delay: float = 0.0) -> float:
        made = [port(name, line, StrictPriority(), delay_s=delay) for name in "xy"]
        return best(network(made, [high, *others]))["high"]

    alone = bound()
    assert bound(flow("low", "y")) == pytest.approx(alone + PACKET / LINE)
    assert bound(flow("peer", "y", traffic_class=1)) > alone
    assert bound(line=LINE / 2) > alone
    assert bound(delay=1e-3) == pytest.approx(alone + 2e-3)
