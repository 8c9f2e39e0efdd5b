"""Bounds of systems against values worked out by hand, a simulation that shares no line with them, and predictions."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise, permutations

import pytest

from drawn_systems import document, system_of
from icmodel.errors import BoundsError
from icmodel.estimate import Estimate, absent
from icmodel.model import Model
from icmodel.requirement import MET, UNDECIDED, Requirement
from icmodel.system import (
    Device,
    Fifo,
    Gates,
    Link,
    Port,
    Producer,
    Scheduler,
    Stream,
    StreamRequirement,
    StrictPriority,
    Switch,
    System,
    SystemPrediction,
    WeightedRoundRobin,
    Window,
    load,
)
from icmodel.system import predict as predicted
from icmodel.system.prediction.bounding import (
    MEASURED,
    NETWORK,
    HostTimes,
    WorstCase,
    host_latency_s,
    worst_case,
)
from icmodel.system.traffic import packing
from search import times
from system_case import ETHERNET, Chain, frozen
from system_simulation import Play, worst_of

US = 1e-6
FULL = (1538 - 12) * 8
"""Bits of a full packet without its gap, as a delay has them."""


def line(
    *nodes: str | Switch,
    streams: Sequence[Stream],
    rates_bps: Sequence[float] = (),
    scheduler: Scheduler | None = None,
) -> System:
    """Nodes in a row, joined by links of 1 Gb/s or of some rates; switches have a scheduler at each port."""
    switches = {one.name: one for one in nodes if isinstance(one, Switch)}
    names = [one if isinstance(one, str) else one.name for one in nodes]
    return joined(
        list(pairwise(names)), switches, streams, rates_bps or [1e9] * (len(nodes) - 1), scheduler
    )


def star(*streams: Stream, rate_bps: float = 1e8, scheduler: Scheduler | None = None) -> System:
    """Devices a, b and c at a switch that stores."""
    ends = [("a", "s"), ("b", "s"), ("c", "s")]
    return joined(ends, {"s": Switch("s", "s")}, streams, [rate_bps] * 3, scheduler)


def joined(
    ends: Sequence[tuple[str, str]],
    switches: dict[str, Switch],
    streams: Sequence[Stream],
    rates_bps: Sequence[float],
    scheduler: Scheduler | None,
) -> System:
    links, ports = {}, {}
    for (a, b), rate in zip(ends, rates_bps, strict=True):
        name = f"{a}<->{b}"
        links[name] = Link(name, (a, b), rate)
        for node, peer in ((a, b), (b, a)):
            served = scheduler if scheduler and node in switches else Fifo()
            ports[f"{node}->{peer}"] = Port(f"{node}->{peer}", name, node, peer, rate, served)
    devices = {name: Device(name, name) for pair in ends for name in pair if name not in switches}
    return System(
        "x", "", frozen(devices), frozen(switches), frozen(links), frozen(ports),
        frozen({one.name: one for one in streams}),
    )  # fmt: skip


def sent(
    name: str, way: str, protocol: str, payload: int, frames: float = 1, priority: int = 0
) -> Stream:
    """Frames at once every 100 ms, over nodes in a row."""
    nodes = way.split()
    made = Producer("burst", 0.1, frames * payload)
    path = tuple(f"{a}->{b}" for a, b in pairwise(nodes))
    return Stream(name, name, nodes[0], nodes[-1], made, protocol, payload, path, priority=priority)


def bounds_s(system: System, late_s: dict[str, float] | None = None) -> dict[str, float]:
    late = late_s or {}
    found = worst_case(system, packing(system), HostTimes(late, late))
    assert not found.why
    return {name: bound.value_s for name, bound in found.network.items()}


# --- by hand ------------------------------------------------------------------------------------
# Links of 100 Mb/s, so 0.08 us a byte. A delay ends before the gap of 12 B, at each hop; what waits for a packet
# waits for its gap too. The table has some gaps in: its values stand beside.

MERGING = sent("c", "c s b", "tcp", 100, 100)
BY_HAND = {
    # 72 B twice, behind one merged packet of 1538 B; 136.5 with gaps
    "a merged packet blocks": (
        star(MERGING, sent("a", "a s b", "udp", 18, priority=7), scheduler=StrictPriority()),
        "a",
        2 * 72 * 0.08 + 1538 * 0.08,
        1.0,
    ),
    # a packet a frame: 100 of 190 B, and the last one again; 1535 with gaps, merged 972.5
    "a packet a frame": (star(MERGING), "c", (19_000 - 12 + 190 - 12) * 0.08, 1.08),
    # packets of 1538 and 84 B: the short one waits until the long one is sent again; 251.8
    "one byte more than a packet": (
        star(replace(sent("a", "a s b", "udp", 1472), producer=Producer("burst", 0.1, 1473))),
        "a",
        (1538 - 12 + 1538 + 84 - 12) * 0.08,
        1.0,
    ),
    # 1448 and 552 B; 296.5
    "a lone frame of TCP": (
        star(sent("a", "a s b", "tcp", 2000)),
        "a",
        (1538 - 12 + 1538 + 642 - 12) * 0.08,
        1.0,
    ),
    # each of 40 packets waits for one of 1538 B; 7638
    "turns count packets": (
        star(
            sent("a", "a s b", "udp", 1473, 20),
            sent("c", "c s b", "udp", 1472, 60, priority=1),
            scheduler=WeightedRoundRobin(weights={0: 1, 1: 1}),
        ),
        "a",
        (1538 - 12 + 40 * 1538 + 20 * (1538 + 84) - 12) * 0.08,
        1.03,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_a_bound_is_at_least_the_exact_value_and_close_to_it(case: str) -> None:
    system, name, right_us, loose = BY_HAND[case]
    found = bounds_s(system)[name]
    assert right_us * US * (1 - 1e-9) <= found <= right_us * US * (loose + 1e-6)
    simulated = worst_of(system, 1, 12).streams[name].packets.greatest_s
    assert simulated <= found * (1 + 1e-9)


STORES, CUTS = "store-and-forward", "cut-through"
WAYS = [
    *((order, FULL * 2 / 1e3 + 6) for order in set(permutations((STORES, CUTS)))),
    *((order, FULL * 2 / 1e3 + 9) for order in set(permutations((STORES, CUTS, CUTS)))),
    *((order, FULL * 3 / 1e3 + 9) for order in set(permutations((STORES, STORES, CUTS)))),
    ((CUTS, CUTS), FULL / 1e3 + 6),
]


@pytest.mark.parametrize(("kinds", "right_us"), WAYS)
def test_a_single_frame_needs_the_time_of_its_links_and_switches(
    kinds: tuple[str, ...], right_us: float
) -> None:
    """30.416, 33.416 and 45.624 us over 1 Gb/s and switches of 3 us; with gaps 30.608, 33.608 and 45.912."""
    switches = [Switch(f"s{k}", "s", kind, 3e-6) for k, kind in enumerate(kinds)]
    way = " ".join(("a", *(one.name for one in switches), "b"))
    for protocol, payload in (("udp", 1472), ("tcp", 1448), ("ethernet", 1500)):
        lone = sent("x", way, protocol, payload)
        found = bounds_s(line("a", *switches, "b", streams=[lone]))["x"]
        assert found == pytest.approx(right_us * US, rel=1e-9)


@pytest.mark.parametrize(("rates_bps", "sent_times"), [((1e9, 1e8), 1), ((1e8, 1e9), 2)])
def test_a_switch_cuts_through_to_no_faster_line(
    rates_bps: tuple[float, float], sent_times: int
) -> None:
    """To a slower line the last line's time counts alone; for a faster one the packet is stored."""
    lone = sent("x", "a s b", "udp", 1472)
    system = line("a", Switch("s", "s", CUTS), "b", streams=[lone], rates_bps=rates_bps)
    right = sum(FULL / rate for rate in rates_bps[-sent_times:])
    assert bounds_s(system)["x"] == pytest.approx(right, rel=1e-9)


def test_one_slow_link_elsewhere_does_not_make_a_switch_store() -> None:
    lone, other = sent("x", "a s b", "udp", 1472), sent("y", "a s c", "udp", 1472)
    ends = [("a", "s"), ("s", "b"), ("s", "c")]
    switch = {"s": Switch("s", "s", CUTS)}
    found = bounds_s(joined(ends, switch, [lone], [1e9, 1e9, 1e8], None))
    assert found["x"] == pytest.approx(FULL / 1e9, rel=1e-9)
    both = bounds_s(joined(ends, switch, [lone, other], [1e9, 1e9, 1e8], None))
    assert both["x"] == pytest.approx(FULL / 1e9 + 1538 * 8 / 1e9, rel=1e-3)


def test_a_second_stream_does_not_lower_a_bound_of_round_robin() -> None:
    """A burst of 226 B waits for three packets of a class of weight 3, not for its whole frame (71.9 us)."""
    few = sent("a", "a s b", "udp", 226)
    right = (3 * 1538 + 2 * (226 + 66 - 12)) * 8 / 1e9
    for count in (1, 2, 3):
        others = [sent(f"c{k}", "c s b", "tcp", 8192, priority=6) for k in range(count)]
        turns = WeightedRoundRobin(weights={0: 1, 6: 3})
        found = bounds_s(star(few, *others, rate_bps=1e9, scheduler=turns))
        assert found["a"] == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("payload", [1, 99, 1000, 1448, 1449, 65_000])
def test_a_picture_is_bounded_as_even_frames_and_as_a_stream_of_bytes(payload: int) -> None:
    picture = sent("x", "a s b", "udp", payload)
    for size in (payload / 2, payload, 1.01 * payload, 9.5 * payload):
        made = Producer("image", size * 1e-6, size)
        system = star(replace(picture, producer=made))
        found = worst_case(system, packing(system), HostTimes()).network["x"].value_s
        simulated = worst_of(system, 3, 8).streams["x"].frames.greatest_s
        if math.isfinite(found):
            assert simulated <= found * (1 + 1e-9)


def test_small_frames_of_tcp_that_come_one_by_one_are_full_packets_only_where_they_wait() -> None:
    """A frame of 100 B needs 28.48 us: every 29 us it is gone before the next comes, every 28 it may not be."""
    small = sent("a", "a s b", "tcp", 100)
    for interval_s, packet_bytes in ((29e-6, 190), (28e-6, 1538)):
        system = star(replace(small, producer=Producer("goodput", interval_s, 100)))
        right = (2 * 8 * packet_bytes - 2 * 96) / 1e8
        assert bounds_s(system)["a"] == pytest.approx(right, rel=1e-6)


# --- hosts ----------------------------------------------------------------------------------------


def test_hosts_add_the_measured_latency_beyond_the_network() -> None:
    greatest = Estimate(300 * US, 200 * US, 400 * US, "measured")
    assert host_latency_s(greatest, 30 * US) == pytest.approx(370 * US)
    assert host_latency_s(greatest, 500 * US) == 0.0
    assert host_latency_s(absent("unknown"), 30 * US) is None


def test_frames_that_a_host_holds_back_come_closer_together() -> None:
    """Three frames of c may come at once, where it holds them back for two of its periods."""
    few, many = (sent(name, f"{name} s b", "udp", 1472) for name in "ac")
    period = 1e-3
    system = star(few, replace(many, producer=Producer("goodput", period, 1472)))
    packet = 1538 * 8 / 1e8
    exact, jittery = (
        bounds_s(system, {"a": 0.0, "c": late_s})["a"] for late_s in (0.0, 2 * period)
    )
    assert exact == pytest.approx(2 * FULL / 1e8 + packet, rel=1e-6)
    assert jittery == pytest.approx(exact + 2 * packet * packet / period, rel=0.2)
    held = worst_of(system, 1, 24, Play(holds_s={"c": 2 * period})).streams["a"].packets.greatest_s
    assert held <= jittery


def test_a_stream_alone_is_delayed_by_its_own_hosts_once() -> None:
    """However late its packets may be, the last one of them is served as if none had been."""
    lone = sent("x", "a s b", "udp", 1472)
    system = star(replace(lone, producer=Producer("goodput", 1e-3, 1472)))
    late = bounds_s(system, {"x": 0.1})["x"]
    assert late == pytest.approx(bounds_s(system)["x"], rel=1e-6)


def test_frames_held_back_for_longer_than_a_period_may_be_merged() -> None:
    """Frames of 100 B every ms that a host holds for up to 2 ms block others as a full packet, else as their own."""
    urgent = sent("a", "a s b", "udp", 18, priority=7)
    small = replace(sent("c", "c s b", "tcp", 100), producer=Producer("goodput", 1e-3, 100))
    for late_s, packet_bytes in ((0.5e-3, 190), (2e-3, 1538)):
        found = bounds_s(star(urgent, small, scheduler=StrictPriority()), {"c": late_s})
        assert found["a"] == pytest.approx((2 * 72 + packet_bytes) * 8 / 1e8)


# --- whatever is drawn ----------------------------------------------------------------------------

SAMPLE = times(15)


@cache
def drawn(seed: int) -> tuple[System, WorstCase]:
    system = system_of(document(seed, datasets=False))
    return system, worst_case(
        system, packing(system), HostTimes(), ("refuse", "fixed-point")[seed % 2]
    )


@pytest.mark.sampled
def test_no_bound_of_a_drawn_system_is_below_what_is_simulated() -> None:
    compared = 0
    for seed in range(SAMPLE):
        system, found = drawn(seed)
        if found.why:
            continue
        run = worst_of(system, seed, 6)
        for name, bound in found.network.items():
            simulated = run.streams[name].packets.greatest_s
            assert not simulated > bound.value_s * (1 + 1e-9), (seed, name)
            compared += math.isfinite(bound.value_s) and math.isfinite(simulated)
        for name, most in found.backlog_bytes.items():
            assert run.backlogs_bytes[name] <= most * (1 + 1e-9), (seed, name)
    assert compared > 3 * SAMPLE


@pytest.mark.sampled
def test_no_bound_is_below_what_is_simulated_where_hosts_hold_frames_back() -> None:
    for seed in range(1000, 1000 + SAMPLE // 2):
        draw = random.Random(seed)
        system = system_of(document(seed, datasets=False))
        late = {
            name: draw.choice((0.0, 1e-6, 1e-5, 1e-4)) * draw.uniform(0.5, 3)
            for name, one in system.streams.items()
            if one.multicast is None
        }
        found = worst_case(system, packing(system), HostTimes(late, late))
        run = worst_of(system, seed, 6, Play(holds_s=late))
        for name in found.network:
            bound = found.of(name)
            simulated = run.streams[name].packets.greatest_s
            assert bound is None or not simulated > bound.value_s * (1 + 1e-9), (seed, name)


@pytest.mark.sampled
def test_more_traffic_never_lowers_a_bound() -> None:
    """Without one stream no other has a greater bound, and no port a greater backlog."""
    compared = 0
    for seed in range(SAMPLE):
        system, more = drawn(seed)
        if more.why or len(system.streams) < 2:
            continue
        gone = random.Random(seed).choice(list(system.streams))
        rest = {name: one for name, one in system.streams.items() if name != gone}
        fewer = replace(system, streams=frozen(rest), requirements=())
        less = worst_case(fewer, packing(fewer), HostTimes(), "fixed-point")
        for name in rest:
            least, most = less.network[name].value_s, more.network[name].value_s
            assert least <= most * (1 + 3e-6), (seed, gone, name)
            compared += math.isfinite(most)
        for name, most in more.backlog_bytes.items():
            assert less.backlog_bytes[name] <= most * (1 + 1e-9), (seed, gone, name)
    assert compared > SAMPLE


# --- whole systems -------------------------------------------------------------------------------

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
    found = predicted(load(name))
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


def test_a_port_with_more_arrivals_than_its_rate_has_no_bound() -> None:
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
    assert "bound its delay by a fixed point" in refused.no_bound
    packet = 1538 * 8 / 1e10
    for one in predicted(ring(), cycles="fixed-point").streams.values():
        bound = one.latency_bound
        assert bound is not None
        assert "cycles by a fixed point" in bound.covers
        # Its packet is sent four times; at one port of the ring, or at both, another stands before it.
        least = 5 * packet + 3 * 5.9e-6
        assert least <= bound.value_s <= 1.01 * (least + packet)
    with pytest.raises(BoundsError, match="use one of refuse, fixed-point"):
        predicted(ring(), cycles="cut")


def test_hard_requirements_are_judged_by_a_bound_that_includes_hosts() -> None:
    hard = Requirement("in time", "latency_max_s", at_most=0.01, kind="hard")
    stream = PAIR.stream("a", "h0", "h2", 5000.0, kind="hard")
    judged = predict(PAIR.system([stream], (StreamRequirement(hard, "a"),))).judged[0]
    assert (judged.verdict.outcome, judged.by_bound) == (MET, True)
    blind = Chain((3,), dataset=None)
    unknown = predicted(blind.system([stream], (StreamRequirement(hard, "a"),))).judged[0]
    assert (unknown.verdict.outcome, unknown.by_bound) == (UNDECIDED, False)
    assert not math.isnan(unknown.verdict.estimate.low)
