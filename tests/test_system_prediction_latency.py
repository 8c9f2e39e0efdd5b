"""Systems of the lab at other rates than their hosts were measured at: buckets, full ports, what senders hold."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from icmodel.estimate import Estimate
from icmodel.fits.hosts import GROWTH, HELD
from icmodel.system import CreditBased, SystemPrediction, load, predict
from icmodel.system.prediction.latency import congested_latency
from icmodel.verify.lab_system import lab_system
from system_case import Chain


def of_lab(name: str) -> SystemPrediction:
    return predict(lab_system(load(name), slower=1.0, members=None, dataset="lab-1g-2026").system)


def mean(found: SystemPrediction, stream: str) -> Estimate:
    return found.streams[stream].metrics["latency_mean_s"]


def test_a_frame_larger_than_the_bucket_waits_for_others_and_one_within_it_less() -> None:
    """Frames of 16 KiB and a bucket of 12.5 kB: 18 to 23 % of the port each, alone 0.41 ms."""
    found = of_lab("lab-four-senders")
    for stream in found.streams:
        latency = mean(found, stream)
        assert 0.9e-3 < latency.value < 1.3e-3
        assert latency.high / latency.low < 10


def test_at_a_port_that_never_rests_an_urgent_frame_meets_no_full_bucket() -> None:
    """16 384 B are 17 300 B on the wire of 100 Mb/s, and one packet may be under way."""
    latency = mean(of_lab("lab-priorities"), "urgent")
    assert latency.value > 8 * 17_300 / 1e8
    assert latency.value < 8 * (17_300 + 2 * 1538) / 1e8


def test_datagrams_beside_tcp_wait_in_a_buffer_between_empty_and_full() -> None:
    """Of 128 KiB at 100 Mb/s; no matter that a hundredth of a percent of them is lost anyway."""
    found = of_lab("lab-udp-beside-tcp")
    for stream in ("datagrams", "more-datagrams"):
        latency = mean(found, stream)
        assert latency.value == pytest.approx(131_072 * 8 / 1e8 / 2, rel=0.05)
        assert latency.low > 0.04 * latency.value
        assert "buffers of full ports" in latency.why


@pytest.mark.parametrize("rate_bps", [1e8, 5e7])
def test_a_full_buffer_drains_at_the_rate_of_its_class(rate_bps: float) -> None:
    """Datagrams of twice what their class carries, of which nine in ten may be lost, behind 250 kB."""
    scheduler = CreditBased(idle_slopes_bps={3: rate_bps})
    chain = Chain((2,), rate_bps=1e9, dataset="lab-1g-2026", scheduler=scheduler, buffer_bytes=25e4)
    stream = chain.stream("a", "h0", "h1", 2 * rate_bps / 8 / 1472, "udp", 1472, priority=3)
    found = predict(chain.system([replace(stream, allowed_shortfall_ratio=0.9)]))
    assert mean(found, "a").value == pytest.approx(25e4 * 8 / rate_bps, rel=0.05)


def test_datagrams_that_share_their_senders_port_wait_as_those_of_one_unlimited_sender() -> None:
    """Two unlimited streams of one host fill its queue, which its line drains as fast as for one."""
    chain = Chain((3,), rate_bps=1e9, dataset="lab-1g-2026")
    one, other = (
        chain.stream(name, "h0", f"h{k}", None, "udp", 1472) for k, name in ((1, "a"), (2, "b"))
    )
    alone, shared = (
        predict(chain.system([replace(stream, allowed_shortfall_ratio=0.9) for stream in streams]))
        for streams in ([one], [one, other])
    )
    assert shared.streams["a"].metrics["goodput_bps"].value < 5e8
    assert mean(shared, "a").value == pytest.approx(mean(alone, "a").value, rel=0.05)


def test_latency_intervals_of_unequal_senders_span_less_than_tenfold() -> None:
    """Before, 9 to 362 ms, 23 to 475 ms and 3.8 ms to 8.7 s."""
    found = of_lab("lab-unequal")
    greedy = mean(found, "greedy")
    assert greedy.high / greedy.low < 10
    assert greedy.low < 92e-3 < greedy.high
    assert mean(found, "small").high < 20e-3


def test_latency_of_a_congested_sender_scales_with_its_lost_goodput() -> None:
    own = Estimate(0.05, 0.05, 0.05, "derived")
    latency = congested_latency(own, (2.0, 2.0, 2.0))
    assert latency.value == pytest.approx(0.1)
    assert latency.low == pytest.approx(0.1 * (1 - HELD))
    assert latency.high == pytest.approx(0.1 * (1 + HELD))


def test_senders_that_fill_a_port_together_hold_between_all_bytes_and_their_part() -> None:
    own = Estimate(0.05, 0.05, 0.05, "derived")
    alone, four = (
        congested_latency(own, (4.0, 4.0, 4.0)),
        congested_latency(own, (4.0, 4.0, 4.0), 4),
    )
    assert four.value == pytest.approx(alone.value / 4**GROWTH)
    assert four.low == pytest.approx(
        four.value * math.exp(-math.hypot(math.log(1 - HELD), math.log(2)))
    )
    assert four.high == pytest.approx(
        four.value * math.exp(math.hypot(math.log(1 + HELD), math.log(2)))
    )


def test_an_unknown_end_leaves_the_end_open() -> None:
    latency = congested_latency(Estimate(0.05, 0.0, math.inf, "derived"), (2.0, 1.0, 4.0))
    assert latency.value == pytest.approx(0.1)
    assert latency.low < 1e-9
    assert latency.high > 1e9
