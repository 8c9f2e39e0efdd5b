"""Physics: the wire's bounds refute and never prove, and the arithmetic is that of the papers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icmodel.interconnects.comparing import judged_by_physics
from icmodel.interconnects.links import PROTOCOLS, Link
from icmodel.requirement import MET, NOT_MET, UNDECIDED
from icmodel.usecase import CandidateResult, Finding, derive, load_usecase, usecase_names
from search import times

CASES = {name: load_usecase(name) for name in usecase_names()}
DERIVED = {name: derive(case) for name, case in CASES.items()}
PLACES = st.sampled_from(
    [(kind, protocol) for kind, protocols in PROTOCOLS.items() for protocol in protocols]
)
RATES = st.floats(1e8, 1e12)
HOSTS = ("goodput_bps", "latency_", "cpu_", "loss_rate")


def found(result: CandidateResult, stream: str, metric: str) -> Finding:
    """The finding of a result about a metric of a stream."""
    return next(
        one
        for one in result.findings
        if (one.stream, one.verdict.requirement.metric) == (stream, metric)
    )


def judged(name: str, link: Link) -> CandidateResult:
    """What physics says to a use case, by the first choice of frames."""
    return judged_by_physics(CASES[name], DERIVED[name], link)[0]


def test_a_gigabit_carries_800_bytes_of_866_on_the_wire() -> None:
    """IC2012 table 6-3: 800 B + UDP 8 + IP 20 + Ethernet 38 = 866 B; 2.297 Gb/s are needed."""
    goodput = found(judged("motion-control", Link("ethernet", 1e9, "udp")), "sample", "goodput_bps")
    assert goodput.verdict.estimate.high == pytest.approx(1e9 * 800 / 866)
    assert goodput.outcome == NOT_MET
    assert "923.7875 Mb/s" in goodput.verdict.why


def test_a_frame_takes_its_bits_and_fifty_metres_of_cable() -> None:
    latency = found(
        judged("motion-control", Link("ethernet", 10e9, "udp")), "sample", "latency_mean_s"
    )
    assert latency.verdict.estimate.low == pytest.approx((866 - 12) * 8 / 10e9 + 50 * 4.27e-9)
    assert latency.verdict.estimate.high == math.inf
    assert latency.outcome == UNDECIDED


def test_six_cameras_need_72_gigabit_at_one_interface() -> None:
    """6 × 3840 × 2160 × 24 bit × 60 Hz = 71.66 Gb/s: 40 Gb/s cannot, 100 Gb/s may."""
    assert judged("cameras", Link("ethernet", 40e9, "tcp")).outcome == NOT_MET
    at_100 = found(judged("cameras", Link("ethernet", 100e9, "tcp")), "picture", "goodput_bps")
    assert at_100.outcome == UNDECIDED
    others = 5 * 3840 * 2160 * 24 * 60
    alone = 100e9 * 8948 / 9038  # RFC 894 and 793 with timestamps in jumbo packets of 9000 B
    assert at_100.verdict.estimate.high == pytest.approx(alone - others)


def test_rapidio_at_sixteen_gigabit_is_not_refuted() -> None:
    """The thesis' question: the wire alone leaves 800 B four packets, 2.3 Gb/s and 3 us open."""
    result = judged("motion-control", Link("rapidio", 16e9, ""))
    assert result.outcome == UNDECIDED
    assert {one.outcome for one in result.findings} == {UNDECIDED}
    assert found(result, "sample", "latency_mean_s").verdict.estimate.low < 0.7e-6


def test_an_unknown_line_rate_is_not_judged() -> None:
    assert (
        judged_by_physics(CASES["imaging"], DERIVED["imaging"], Link("ethernet", None, "tcp")) == ()
    )


@given(st.sampled_from(sorted(CASES)), PLACES, RATES)
@settings(max_examples=times(60))
def test_theory_alone_never_proves(name: str, place: tuple[str, str], rate: float) -> None:
    for result in judged_by_physics(CASES[name], DERIVED[name], Link(place[0], rate, place[1])):
        for one in result.findings:
            assert one.verdict.requirement.metric.startswith(HOSTS)
            assert one.outcome != MET


@given(st.sampled_from(sorted(CASES)), PLACES, RATES, st.floats(1.0, 100.0))
@settings(max_examples=times(60))
def test_a_greater_rate_does_not_refute_more(
    name: str, place: tuple[str, str], rate: float, times: float
) -> None:
    slow, fast = (
        judged_by_physics(CASES[name], DERIVED[name], Link(place[0], r, place[1]))
        for r in (rate, rate * times)
    )
    for one, other in zip(slow, fast, strict=True):
        assert not (one.outcome == UNDECIDED and other.outcome == NOT_MET)
