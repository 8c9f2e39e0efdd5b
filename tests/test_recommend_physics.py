"""Physics of motion control, against IC2012's own arithmetic (§1.4.3.2)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from icmodel.recommend.physics import too_late
from icmodel.system import System, load


def faster(system: System, ratio: float) -> System:
    """System with all links faster by a factor."""
    ports = {
        name: replace(one, rate_bps=one.rate_bps * ratio) for name, one in system.ports.items()
    }
    links = {
        name: replace(one, rate_bps=one.rate_bps * ratio) for name, one in system.links.items()
    }
    return replace(system, ports=ports, links=links)


def test_motion_control_is_too_much_for_its_links() -> None:
    """1000 samples of 32 bit in 3 µs are 10.67 Gb/s a board and 21.33 Gb/s of both; 50 m of cable take 213.5 ns."""
    first, *_ = too_late(load("motion-control"))
    assert first.bits == 32_000
    assert first.total_bits == 64_000
    assert first.bits / first.limit_s == pytest.approx(10.667e9, rel=1e-4)
    assert first.total_bits / first.limit_s == pytest.approx(21.333e9, rel=1e-4)
    assert first.cable_s == pytest.approx(50 * 4.27e-9)
    assert first.least_s == pytest.approx(32e3 / 10e9 + 213.5e-9)
    both, own = first.sentences()
    assert "64 kb over one link within 3 µs would need 21.33 Gb/s, more than 10 Gb/s" in both
    assert "50 m of cable take 213.5 ns" in own
    assert "11.48 Gb/s" in own


@pytest.mark.parametrize(
    ("ratio", "late"), [(1.0, True), (1.14, True), (1.16, False), (2.5, False)]
)
def test_links_that_are_fast_enough_are_not_too_late(ratio: float, late: bool) -> None:
    """32 kb in 3 µs less 213.5 ns are 11.48 Gb/s."""
    assert bool(too_late(faster(load("motion-control"), ratio))) == late


def test_pictures_are_not_made_at_once_and_are_not_judged() -> None:
    assert too_late(load("imaging")) == ()


def test_a_smaller_payload_may_meet_a_limit_of_single_frames() -> None:
    system = load("motion-control")
    limits = [one for one in system.requirements if one.requirement.metric == "latency_max_s"]
    whole, frames = (
        too_late(replace(system, requirements=tuple(replace(one, of=of) for one in limits)))
        for of in ("message", "frame")
    )
    assert whole
    assert frames == ()
