"""Goodput of streams that share a port or a host: whole frames, and loss in the host's own queue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from icmodel.dataset import load
from icmodel.model import Model
from icmodel.requirement import MET
from icmodel.system import DeficitRoundRobin, SystemPrediction, predict
from icmodel.system.packing import packing
from system_case import ETHERNET, Chain
from system_simulation import Play, simulate

TRUNK_BPS = 1e9


def over_a_trunk(payload: int, times: float, *, allowed: float = 0.0) -> SystemPrediction:
    """One UDP stream that offers a multiple of what a trunk of 1 Gb/s carries, without a dataset."""
    chain = Chain((1, 1), trunk_bps=TRUNK_BPS, dataset=None)
    lone = chain.stream("s", "h0", "h1", 1.0, "udp", payload)
    system = chain.system([lone])
    ratio = packing(system).of(lone, system.links["s0<->s1"]).ratio
    rate_fps = times * TRUNK_BPS / ratio / (8 * payload)
    stream = chain.stream("s", "h0", "h1", rate_fps, "udp", payload)
    return predict(chain.system([replace(stream, allowed_shortfall_ratio=allowed)]))


def test_a_frame_of_one_packet_passes_a_port_of_half_its_rate_every_second_time() -> None:
    goodput = over_a_trunk(1472, 2.0).streams["s"].metrics["goodput_bps"]
    assert goodput.value == pytest.approx(TRUNK_BPS * 1472 / 1538, rel=1e-6)


@pytest.mark.parametrize(("packets", "times"), [(2, 1.1), (2, 2.0), (5, 1.5), (44, 1.01)])
def test_a_frame_is_lost_with_any_of_its_packets(packets: int, times: float) -> None:
    """Of the packets 1/times arrive, and of the frames at most as many; where drops are independent, a power of it."""
    payload = 1480 * packets - 8
    one = over_a_trunk(payload, times).streams["s"]
    asked, goodput = one.stream.requested_goodput_bps, one.metrics["goodput_bps"]
    assert goodput.value / asked == pytest.approx(times**-packets, rel=1e-6)
    assert goodput.high / asked == pytest.approx(1 / times, rel=1e-6)
    assert goodput.low == 0.0


def test_incomplete_frames_may_fill_the_memory_of_a_host() -> None:
    """Measured in the lab, frames of two packets at 1.24 times a line's rate: 40 % lost, and all in another pass."""
    chain = Chain((3,), dataset="lab-1g-2026", rate_bps=1e9)
    streams = [chain.stream(f"f{k}", f"h{k}", "h2", 2.6e4, "udp", 2952) for k in (0, 1)]
    for one in predict(chain.system(streams), Model(load("lab-1g-2026"))).streams.values():
        loss = one.metrics["loss_rate"]
        assert (loss.high, one.metrics["goodput_bps"].low) == (1.0, 0.0)
        assert 0.3 < loss.value < 0.5


def test_a_simulated_port_at_twice_its_rate_passes_hardly_a_whole_frame() -> None:
    chain = Chain((1, 1), trunk_bps=TRUNK_BPS, dataset=None, buffer_bytes=20_000)
    stream = chain.stream("s", "h0", "h1", 2 * TRUNK_BPS / (8 * 65_000), "udp", 65_000)
    system = chain.system([stream])
    told = predict(system).streams["s"].metrics
    seen = simulate(system, Play(drops=True, most_packets=20_000)).streams["s"]
    kept = 1 - seen.frames_lost / seen.frames_sent
    asked = stream.requested_goodput_bps
    assert told["goodput_bps"].low <= kept * asked <= told["goodput_bps"].high
    assert kept < 0.1
    assert told["goodput_bps"].value < 0.1 * asked


def test_an_allowed_loss_is_not_met_by_the_packets_that_arrive() -> None:
    """Half of the packets pass and 60 % of the data may be lost: of frames of 44 packets none need arrive."""
    assert over_a_trunk(65_000, 2.0, allowed=0.6).verdict != MET


def test_the_scheduler_of_a_switch_does_not_serve_the_queue_of_a_host() -> None:
    """Two streams of small frames on a tenth of the wire, together more than the host takes: both lose."""
    quanta = DeficitRoundRobin(quanta_bytes={6: 1538, 0: 64})
    chain = Chain((3,), scheduler=quanta)
    streams = [
        replace(chain.stream(name, source, "h2", 3.7e5, "udp", 64), priority=priority)
        for name, source, priority in (("a", "h0", 6), ("b", "h1", 0))
    ]
    found = predict(chain.system(streams), Model(ETHERNET)).streams
    losses = [found[name].metrics["loss_rate"] for name in "ab"]
    assert losses[0].value == pytest.approx(losses[1].value)
    assert losses[0].value > 0.1
