"""Choices: the candidates that nobody has to write follow the rule that is told."""

from __future__ import annotations

from icmodel.dataset import load
from icmodel.interconnects.links import (
    Carrier,
    carriers,
    measured_choices,
    payloads,
    theory_choices,
)
from icmodel.theory import ethernet
from icmodel.usecase import derive, load_usecase


def carrier(name: str) -> Carrier:
    """The link of a dataset's defaults."""
    return next(carriers(load(name)))


def test_payloads_are_the_largest_the_largest_aligned_one_packet_and_the_fastest() -> None:
    rows = load("ethernet-10g-2012").select("udp", {})
    sizes = payloads(rows, ethernet.Framing("udp"))
    assert sizes[:3] == (65507, 65112, 1472)
    flowing = [row for row in rows if row.metric == "goodput_bps"]
    assert sizes[3] == max(flowing, key=lambda row: row.value).payload_bytes


def test_without_measured_sizes_payloads_range_up_to_the_greatest_of_udp() -> None:
    assert payloads((), ethernet.Framing("tcp")) == (65507, 1448 * 45, 1448, 65507)


def test_samples_go_in_frames_of_one_connection_and_at_the_distance_of_the_use_case() -> None:
    case = load_usecase("motion-control")
    found = measured_choices(case, derive(case), carrier("ethernet-10g-2012"), ("tcp",))
    for one in found:
        assert one.scenarios["sample"].payload_bytes == 800
        assert one.scenarios["set-point"].payload_bytes == 8
        assert one.scenarios["sample"].distance_m == 50
        assert one.scenarios["sample"].rate_fps is None
    assert {one.scenarios["sample"].cores for one in found} == {1, 4}


def test_a_stated_goodput_and_the_switches_are_those_of_the_default_candidate() -> None:
    case = load_usecase("imaging")
    found = measured_choices(case, derive(case), carrier("ethernet-10g-2012"), ("tcp",))
    assert {one.scenarios["control"].payload_bytes for one in found} == {64}
    assert {one.scenarios["picture"].switches for one in found} == {1}
    assert {one.scenarios["picture"].payload_bytes for one in found} >= {65535, 1448}


def test_each_mixture_of_protocols_is_a_choice() -> None:
    case = load_usecase("motion-control")
    found = measured_choices(
        case, derive(case), carrier("rapidio-tsi721"), ("dma-write", "window-read")
    )
    mixtures = {tuple(one.protocol for one in c.scenarios.values()) for c in found}
    assert len(mixtures) == 4
    assert len({one.name for one in found}) == len(found)


def test_another_line_rate_applies_to_every_stream() -> None:
    case = load_usecase("imaging")
    found = measured_choices(case, derive(case), carrier("ethernet-10g-2012"), ("udp",), 25e9)
    rates = {one.scenario().line_rate_bps for c in found for one in c.scenarios.values()}
    assert rates == {25e9}


def test_theory_has_choices_of_one_full_packet_and_of_most_full_packets() -> None:
    case = load_usecase("cameras")
    one, other = theory_choices(case, derive(case), "tcp", ethernet.Framing("tcp", 9000))
    assert one.scenarios["picture"].payload_bytes == 9000 - 52
    assert other.scenarios["picture"].payload_bytes == 7 * (9000 - 52)
