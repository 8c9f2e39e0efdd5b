"""Stated buffers: what they drop, and what they hold, by hand and against the packet simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from icmodel.estimate import limit_name
from icmodel.frozen import FrozenMapping
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Requirement
from icmodel.system import (
    CreditBased,
    DeficitRoundRobin,
    Fifo,
    Gates,
    Producer,
    Scheduler,
    Stream,
    StreamRequirement,
    StrictPriority,
    System,
    SystemPrediction,
    WeightedRoundRobin,
    Window,
)
from icmodel.system import predict as predicted
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.buffers import ARRIVING, BUFFERS
from icmodel.system.sharing.loss import expected_lost_fraction
from search import times
from system_case import Chain
from system_simulation import Play, phases, simulate

CAMERA = Producer("burst", 0.2, 3425 * 1464)
LOST = Requirement("no packet lost", "loss_rate", at_most=0.0)
PACKET = 1464 + 66


def cameras(
    buffer_bytes: float | None, count: int = 2, protocol: str = "udp", made: Producer = CAMERA
) -> System:
    """Cameras of the lab that send at once through one port of a switch."""
    chain = Chain(
        (count + 1,), rate_bps=1e9, trunk_bps=1e9, dataset="lab-1g-2026", buffer_bytes=buffer_bytes
    )
    streams = [
        replace(chain.stream(f"c{k}", f"h{k}", f"h{count}", None, protocol, 1464), producer=made)
        for k in range(count)
    ]
    return chain.system(streams, tuple(StreamRequirement(LOST, one.name) for one in streams))


@cache
def answer(buffer_bytes: float | None, count: int = 2, protocol: str = "udp") -> SystemPrediction:
    return predicted(cameras(buffer_bytes, count, protocol))


def test_two_cameras_may_lose_up_to_45_percent_and_one_of_them_all_of_it() -> None:
    """5.24 MB of each at 1 Gb/s into 1 Gb/s: 5.24 must wait and 0.51 fit, of 10.48 that come."""
    found = answer(512e3)
    bits = 3425 * PACKET
    one = found.streams["c0"]
    assert one.loss_rate.low == pytest.approx(0.0, abs=1e-12)
    assert one.loss_rate.high == pytest.approx((bits - 512e3) / bits, abs=0.03)
    assert 0 < one.loss_rate.value < one.loss_rate.high / 2
    assert found.verdict == UNDECIDED
    judged = {each.verdict.requirement.name: each.verdict for each in found.judged}
    assert judged["no packet lost"].outcome == UNDECIDED
    assert judged["what is produced arrives"].outcome == UNDECIDED
    assert "buffer of s0->h2" in judged["what is produced arrives"].why


@pytest.mark.parametrize(("rate_bps", "some"), [(1e8, False), (3e8, True), (4.5e8, True)])
def test_if_bursts_fit_only_frames_bunched_by_hosts_may_be_lost(
    rate_bps: float, some: bool
) -> None:
    """No loss is expected of even frames; a worst queue beyond the buffer, once a second at most, leaves some open."""
    made = Producer("goodput", 1464 * 8 / rate_bps, 1464)
    found, endless = (predicted(cameras(size, made=made)) for size in (128e3, None))
    worst_bytes = endless.links["h2<->s0"].ports["s0->h2"].backlog_bound_bytes
    assert worst_bytes is not None
    assert (worst_bytes > 128e3) is some
    own, kept = (one.streams["c0"] for one in (endless, found))
    assert kept.goodput_bps.value == pytest.approx(own.goodput_bps.value)
    assert kept.loss_rate.value == pytest.approx(own.loss_rate.value, abs=1e-4)
    beyond = max(worst_bytes - 128e3, 0.0) / (rate_bps * PACKET / 1464 / 8)
    assert kept.goodput_bps.low == pytest.approx(own.goodput_bps.low * (1 - beyond), rel=1e-4)
    assert (kept.goodput_bps.low < own.goodput_bps.low) is some


def test_queue_latency_and_bound_are_limited_by_the_buffer() -> None:
    """4.1 ms at 1 Gb/s, where 42 would wait without it: queue, greatest latency and bound."""
    found, endless = answer(512e3), answer(None)
    port = found.links["h2<->s0"].ports["s0->h2"]
    assert port.backlog_bound_bytes == 512e3
    assert port.backlog_mean_bytes.value <= 512e3
    one, other = found.streams["c0"], endless.streams["c0"]
    held = 512e3 * 8 / 1e9
    alone = predicted(cameras(512e3, 1)).streams["c0"]
    assert one.latency_max_s.value <= alone.latency_max_s.value + held * 1.001
    assert one.latency_bound is not None
    assert other.latency_bound is not None
    assert one.latency_bound.method == BUFFERS
    assert ARRIVING in one.latency_bound.covers
    assert one.latency_max_s.value <= one.latency_bound.value_s < other.latency_bound.value_s
    assert one.message_latency_s.absent
    assert "may drop frames" in one.message_latency_s.why


def test_a_buffer_that_holds_all_changes_nothing() -> None:
    found, endless = answer(100e6), answer(None)
    for name, one in found.streams.items():
        other = endless.streams[name]
        assert one.loss_rate.high == 0
        assert other.loss_rate.value == 0
        assert other.loss_rate.high > 0.5  # 5 MB wait, and most switches hold less
        assert other.message_latency_s.absent
        assert one.latency_max_s.ends == other.latency_max_s.ends
        assert one.latency_bound is not None
        assert other.latency_bound is not None
        assert one.latency_bound.value_s == other.latency_bound.value_s
        assert one.message_latency_s.value == pytest.approx(2 * 3425 * PACKET * 8 / 1e9, rel=0.15)


@pytest.mark.parametrize("count", [1, 3, 4])
def test_more_cameras_lose_more_and_a_single_one_nothing(count: int) -> None:
    """Of n at once over links as fast as the port, n − 1 of n bursts must wait."""
    loss = answer(512e3, count).streams["c0"].loss_rate
    bits = 3425 * PACKET
    excess = max((count - 1) * bits - 512e3, 0.0)
    assert loss.high == pytest.approx(min(excess / bits, 1.0), abs=0.01)
    assert loss.value <= excess / (count * bits) + 0.01


def test_a_buffer_for_ten_times_as_much_is_ten_times_as_large() -> None:
    """Loss is a share: everything ten times as large, the same."""
    big = Producer("burst", 2.0, 10 * CAMERA.message_bytes)
    found = predicted(cameras(512e4, made=big)).streams["c0"].loss_rate
    assert found.high == pytest.approx(answer(512e3).streams["c0"].loss_rate.high, abs=0.01)


def test_a_burst_from_a_faster_link_is_lost_at_any_phase() -> None:
    """100 packets at 10 Gb/s into 1 Gb/s: 90 of them wait, 10 fit; the rest is surely lost."""
    chain = Chain((1, 1), rate_bps=1e10, trunk_bps=1e9, dataset=None, buffer_bytes=10 * 1538.0)
    stream = replace(
        chain.stream("a", "h0", "h1", None, "udp", 1472), producer=Producer("burst", 0.1, 147200)
    )
    found = predicted(chain.system([stream]))
    assert found.verdict == NOT_MET
    assert found.streams["a"].goodput_bps.high == pytest.approx(147200 * 8 / 0.1 * 0.2, rel=0.01)


@pytest.mark.parametrize(
    ("beside", "sender", "lost"),
    [
        (0, Fifo(), 0.8),
        (100, Fifo(), 0.7),
        (900, Fifo(), 0.0),
        (0, CreditBased(idle_slopes_bps={0: 2e9}), 0.4),
        (0, CreditBased(idle_slopes_bps={0: 1e9}), 0.0),
        (0, Gates(windows=(Window(open=(0,), duration_s=1e-4),)), 0.0),
    ],
)
def test_the_least_loss_takes_a_burst_as_slow_as_it_may_come(
    beside: int, sender: Scheduler, lost: float
) -> None:
    """100 packets into 1 Gb/s, and a buffer of 10; other packets for another host may come between them."""
    chain = Chain((2, 1), rate_bps=1e10, trunk_bps=1e9, dataset=None, buffer_bytes=10 * 1538.0)
    streams = [
        replace(
            chain.stream(name, "h0", sink, None, "udp", 1472),
            producer=Producer("burst", 0.1, count * 1472),
        )
        for name, sink, count in (("a", "h2", 100), ("b", "h1", beside))
        if count
    ]
    system = chain.system(streams)
    first = replace(system.ports["h0->s0"], scheduler=sender)
    found = predicted(replace(system, ports=FrozenMapping({**system.ports, "h0->s0": first})))
    assert found.streams["a"].loss_rate.low == pytest.approx(lost, abs=0.02)


@pytest.mark.parametrize(
    ("scheduler", "lost"),
    [(CreditBased(idle_slopes_bps={0: 5e8}), 0.4), (StrictPriority(), 0.0)],
)
def test_a_shaped_class_loses_what_its_idle_slope_leaves_in_the_buffer(
    scheduler: Scheduler, lost: float
) -> None:
    """200 packets at 1 Gb/s through a class of 500 Mb/s: 100 wait and 20 fit, although the port is fast enough."""
    chain = Chain((2,), rate_bps=1e9, dataset=None, buffer_bytes=20 * 1538.0, scheduler=scheduler)
    stream = replace(
        chain.stream("a", "h0", "h1", None, "udp", 1472),
        producer=Producer("burst", 0.1, 200 * 1472),
    )
    found = predicted(chain.system([stream])).streams["a"]
    asked_bps = 200 * 1472 * 8 / 0.1
    assert found.goodput_bps.value == pytest.approx(asked_bps * (1 - lost), rel=0.03)
    assert found.goodput_bps.high == pytest.approx(asked_bps * (1 - lost), rel=0.03)
    assert found.arrival.outcome == (NOT_MET if lost else UNDECIDED)  # of hosts without a dataset


def test_a_stream_that_a_buffer_cuts_is_limited_by_it_and_one_that_fits_by_its_request() -> None:
    cut, fits = (answer(size).streams["c0"] for size in (512e3, 100e6))
    assert (cut.bottleneck, cut.bottleneck_at) == ("buffer", "s0->h2")
    assert (fits.bottleneck, fits.bottleneck_at) == ("request", "")
    limits = {one.verdict.limiting for one in answer(512e3).judged}
    assert limits == {"buffer"}
    assert limit_name("buffer") == "the buffer"


def test_tcp_at_a_small_buffer_has_no_loss_figure_and_no_bound() -> None:
    one = answer(512e3, 2, "tcp").streams["c0"]
    assert one.loss_rate.high == 0
    assert one.latency_bound is None
    assert "sends dropped frames again" in one.no_bound
    assert one.latency_max_s.high == float("inf")
    hard = Requirement("in time", "latency_max_s", at_most=10.0, kind="hard")
    system = replace(cameras(512e3, 2, "tcp"), requirements=(StreamRequirement(hard, "c0"),))
    late = next(each for each in predicted(system).judged if each.verdict.requirement is hard)
    assert late.verdict.outcome == UNDECIDED


def test_a_port_that_stays_full_bounds_what_arrives_by_its_buffer() -> None:
    """Twice what the port carries, a half of which may be lost: what arrives has waited 100 kB at most."""
    chain = Chain((3,), dataset=None, buffer_bytes=1e5)
    streams = [
        replace(chain.stream(f"f{k}", f"h{k}", "h2", 8e5, "udp", 1472), allowed_shortfall_ratio=0.6)
        for k in (0, 1)
    ]
    found = predicted(chain.system(streams))
    for one in found.streams.values():
        assert not one.arrival.grows
        assert one.latency_bound is not None
        assert 8e-5 <= one.latency_bound.value_s <= 10e-5  # and the way itself
    assert found.links["h2<->s0"].ports["s0->h2"].backlog_bound_bytes == 1e5
    strict = [replace(one, allowed_shortfall_ratio=0.0) for one in streams]
    assert predicted(chain.system(strict)).verdict == NOT_MET


# --- all classes of a port share its buffer ---------------------------------------------------


def beside_bulk(
    urgent: str = "udp", bulk: str = "udp", bulk_fps: float | None = 81000.0, **port: Any
) -> System:
    """An urgent stream of 0.1 Gb/s beside low traffic, at a port of 1 Gb/s with strict priority."""
    made: dict[str, Any] = {"scheduler": StrictPriority(), "buffer_bytes": 1e5, **port}
    chain = Chain((3,), rate_bps=1e9, trunk_bps=1e9, dataset="lab-1g-2026", **made)
    streams = [
        chain.stream("urgent", "h0", "h2", 8000.0, urgent, 1472, priority=5),
        chain.stream("bulk", "h1", "h2", bulk_fps, bulk, 1448 if bulk == "tcp" else 1472),
    ]
    return chain.system(streams)


@pytest.mark.parametrize(
    "scheduler", [StrictPriority(), WeightedRoundRobin(weights={5: 9, 0: 1})], ids=repr
)
def test_an_overloaded_class_may_take_the_buffer_from_an_urgent_one(scheduler: Scheduler) -> None:
    """8 000 and 81 000 packets of 1538 B a second where 81 274 pass: all that is lost may be of either."""
    found = predicted(beside_bulk(scheduler=scheduler))
    excess = 89_000 - 1e9 / 8 / 1538
    urgent, bulk = (found.streams[name].loss_rate for name in ("urgent", "bulk"))
    assert (urgent.low, bulk.low) == pytest.approx((0.0, 0.0), abs=2e-3)
    assert urgent.value == 0.0
    assert urgent.high == pytest.approx(excess / 8_000, rel=0.01)
    assert bulk.high >= excess / 81_000


def test_without_a_stated_buffer_an_urgent_class_loses_nothing() -> None:
    found = predicted(beside_bulk(buffer_bytes=None))
    assert found.streams["urgent"].loss_rate.high <= 1e-9


def test_tcp_beside_an_overloaded_class_may_slow_down_to_nothing() -> None:
    goodput = predicted(beside_bulk(urgent="tcp")).streams["urgent"].goodput_bps
    assert goodput.low == 0.0
    assert goodput.value == pytest.approx(8000 * 1472 * 8, rel=0.01)
    assert "TCP may slow down" in goodput.why


@pytest.mark.parametrize("scheduler", [Fifo(), StrictPriority()], ids=repr)
def test_tcp_that_fills_a_buffer_drops_datagrams_of_all_classes(scheduler: Scheduler) -> None:
    """It fills the nine tenths of 100 kB: its window grows from W/2 to W = 58 packets and loses one."""
    found = predicted(beside_bulk(bulk="tcp", bulk_fps=None, scheduler=scheduler))
    loss = found.streams["urgent"].loss_rate
    window = 0.9 * 1e5 / 1538
    assert loss.low == 0.0
    assert loss.value == pytest.approx(8 / (3 * window * (window + 2)), rel=0.1)
    assert loss.high >= 0.95 * 2 / (window + 2)


def test_windows_that_fit_into_the_buffer_drop_nothing() -> None:
    system = beside_bulk(bulk="tcp", bulk_fps=None)
    bulk = replace(system.streams["bulk"], window_bytes=65536.0)
    system = replace(system, streams={**system.streams, "bulk": bulk})
    assert predicted(system).streams["urgent"].loss_rate.high <= 1e-9


# --- formulas ------------------------------------------------------------------------------------


def test_the_expected_loss_is_between_0_and_1_and_falls_with_the_buffer() -> None:
    assert expected_lost_fraction(0.0, 0.0, 1.0, 1.0) == 0
    assert expected_lost_fraction(1.0, 1.0, 0.0, 1e-9) == pytest.approx(1.0)
    assert expected_lost_fraction(1.0, 0.0, 0.5, 1.0) == 0.5
    shares = [expected_lost_fraction(4e-3, 1e-4, room, 0.04) for room in (0.0, 4e-3, 4e-2, 0.4)]
    assert shares == sorted(shares, reverse=True)
    assert all(0 <= share <= 1 for share in shares)


# --- any bursts in step --------------------------------------------------------------------------


def schedulers(rate_bps: float) -> tuple[Scheduler, ...]:
    """Every kind of scheduler, for the priorities 0 and 1; shapers and gates also leave the line idle."""
    cycle = Window(open=(1,), duration_s=4e-4), Window(open=(0,), duration_s=6e-4)
    return (
        Fifo(),
        StrictPriority(),
        WeightedRoundRobin(weights={1: 3, 0: 1}),
        DeficitRoundRobin(quanta_bytes={1: 3000, 0: 9000}),
        CreditBased(idle_slopes_bps={1: 0.3 * rate_bps}),
        CreditBased(idle_slopes_bps={1: 0.25 * rate_bps, 0: 0.5 * rate_bps}),
        Gates(windows=cycle),
    )


@st.composite
def bursts(draw: st.DrawFn) -> System:
    """Up to four bursts of datagrams in step through one port with a buffer."""
    count = draw(st.integers(1, 4))
    rate_bps = draw(st.sampled_from([1e8, 1e9]))
    chain = Chain(
        (count + 1,),
        rate_bps=rate_bps,
        trunk_bps=1e9,
        dataset=None,
        scheduler=draw(st.sampled_from(schedulers(rate_bps))),
        buffer_bytes=draw(st.sampled_from([4000.0, 16_000.0, 64_000.0])),
    )
    payload = draw(st.sampled_from([100, 1472, 1473, 4000]))
    streams: list[Stream] = []
    for k in range(count):
        made = Producer("burst", 0.05, payload * draw(st.integers(1, 60)))
        stream = chain.stream(
            f"f{k}", f"h{k}", f"h{count}", None, "udp", payload, priority=draw(st.integers(0, 1))
        )
        streams.append(replace(stream, producer=made))
    return chain.system(streams)


def lost(system: System, way: str) -> Mapping[str, float]:
    play = Play(phases_s=phases(system, way, 1), drops=True, most_packets=300)
    simulated = simulate(system, play).streams
    return {name: one.frames_lost / one.frames_sent for name, one in simulated.items()}


ANY = settings(max_examples=times(8), suppress_health_check=[HealthCheck.too_slow])


@ANY
@given(bursts())
def test_the_loss_of_a_simulation_is_within_the_predicted_interval(system: System) -> None:
    """At once no more than the high end in all, spread no less than the low end, and no *met* beside a loss."""
    found = predicted(system)
    at_once, spread = lost(system, "at once"), lost(system, "spread")
    for way in (at_once, spread):
        offered = {name: one.stream.requested_goodput_bps for name, one in found.streams.items()}
        least_bps = sum(one.goodput_bps.low for one in found.streams.values())
        got_bps = sum(offered[name] * (1 - share) for name, share in way.items())
        assert least_bps <= got_bps * (1 + 1e-6)
    for name, one in found.streams.items():
        got, asked = one.goodput_bps, one.stream.requested_goodput_bps
        if at_once[name] > 0 or spread[name] > 0:
            assert one.arrival.outcome != MET
        assert got.high >= asked * (1 - spread[name]) * (1 - 1e-6) or got.high >= asked * (
            1 - at_once[name]
        ) * (1 - 1e-6)
    for name, bound in ((name, one.latency_bound) for name, one in found.streams.items()):
        if bound is None or NETWORK not in bound.covers:
            continue
        play = Play(phases_s=phases(system, "at once", 1), drops=True, most_packets=300)
        greatest = simulate(system, play).streams[name].frames.greatest_s
        if system.streams[name].payload_bytes in (1472, 100):  # packets of one size
            assert greatest <= bound.value_s * (1 + 1e-9)
