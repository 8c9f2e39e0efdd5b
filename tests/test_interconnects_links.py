"""Links to compare, their rates, and the datasets measured on them."""

from __future__ import annotations

import pytest

from icmodel.dataset import Interconnect, catalogue, load
from icmodel.interconnects.links import (
    Link,
    MeasuredLink,
    compared_links,
    measured_choices,
    measured_links,
    payloads,
    theory_choices,
)
from icmodel.tables.wire import Wire
from icmodel.theory import ethernet
from icmodel.usecase import derive, load_usecase

KNOWN = tuple(one for name in catalogue() for one in measured_links(load(name)))


def measured_at(link: Link) -> set[str]:
    """The datasets that were measured on a link."""
    return {one.data.id for one in KNOWN if one.matches(link)}


@pytest.mark.parametrize(
    ("link", "names"),
    [
        (Link("ethernet", 10e9, "udp"), {"ethernet-10g-2012"}),
        (Link("ethernet", 10e9, "tcp"), {"ethernet-10g-2012", "infiniband-qdr-connectx2"}),
        (Link("ethernet", 100e9, "zeromq"), {"zeromq-100g-2019"}),
        (Link("ethernet", None, "tcp"), {"tcp-connectx7"}),
        (Link("ethernet", 40e9, "tcp"), set()),
        (Link("roce", 25e9, ""), {"mpi-infiniband-roce"}),
        (Link("roce", 50e9, ""), {"mpi-csd3"}),
        (Link("infiniband", 100e9, ""), {"mpi-infiniband-roce", "mpi-csd3"}),
        (Link("rapidio", 16e9, ""), {"rapidio-tsi721"}),
    ],
)
def test_a_dataset_answers_for_its_kind_rate_and_protocol(link: Link, names: set[str]) -> None:
    assert measured_at(link) == names


def test_a_fabric_is_a_link_with_the_protocols_that_have_rows() -> None:
    of = [one for one in KNOWN if one.data.id == "infiniband-qdr-connectx2"]
    protocols = {dict(one.options).get("fabric", "qdr"): one.protocols for one in of}
    assert "rdma-write" in protocols["qdr"]
    assert protocols["10gbe"] == ("tcp",)
    assert {one.link.kind for one in of} == {"infiniband", "roce", "ethernet"}


def test_standard_and_measured_rates_are_rows() -> None:
    links = compared_links(KNOWN)
    for protocol in ("tcp", "udp", "zeromq"):
        rates = [one.line_rate_bps for one in links if one.protocol == protocol]
        assert rates[:6] == [1e9, 10e9, 25e9, 40e9, 100e9, 200e9]
    assert len(set(links)) == len(links)
    assert Link("roce", 50e9, "") in links
    assert Link("rapidio", 16e9, "") in links
    assert {one.kind for one in compared_links(())} == {"ethernet", "roce", "infiniband", "rapidio"}


def test_measurements_of_icprobe_are_own() -> None:
    own = {one.data.id for one in KNOWN if one.by_icprobe}
    assert own == {"lab-1g-2026"}


def test_an_unknown_kind_of_link_has_no_row() -> None:
    loopback: list[MeasuredLink] = [one for one in KNOWN if one.link.kind == "loopback"]
    assert loopback
    assert compared_links(loopback) == compared_links(())


# --- choices: the candidates that nobody has to write follow the rule that is told ----------------


def measured_link(name: str) -> MeasuredLink:
    """Link of a dataset at its default options."""
    return next(measured_links(load(name)))


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
    found = measured_choices(case, derive(case), measured_link("ethernet-10g-2012"), ("tcp",))
    for one in found:
        assert one.scenarios["sample"].payload_bytes == 800
        assert one.scenarios["set-point"].payload_bytes == 8
        assert one.scenarios["sample"].distance_m == 50
        assert one.scenarios["sample"].rate_fps is None
    assert {one.scenarios["sample"].cores for one in found} == {1, 4}


def test_a_stated_goodput_and_the_switches_are_those_of_the_default_candidate() -> None:
    case = load_usecase("imaging")
    found = measured_choices(case, derive(case), measured_link("ethernet-10g-2012"), ("tcp",))
    assert {one.scenarios["control"].payload_bytes for one in found} == {64}
    assert {one.scenarios["picture"].switches for one in found} == {1}
    assert {one.scenarios["picture"].payload_bytes for one in found} >= {65535, 1448}


def test_each_mixture_of_protocols_is_a_choice() -> None:
    case = load_usecase("motion-control")
    found = measured_choices(
        case, derive(case), measured_link("rapidio-tsi721"), ("dma-write", "window-read")
    )
    mixtures = {tuple(one.protocol for one in c.scenarios.values()) for c in found}
    assert len(mixtures) == 4
    assert len({one.name for one in found}) == len(found)


def test_another_line_rate_applies_to_every_stream() -> None:
    case = load_usecase("imaging")
    found = measured_choices(case, derive(case), measured_link("ethernet-10g-2012"), ("udp",), 25e9)
    rates = {one.scenario().line_rate_bps for c in found for one in c.scenarios.values()}
    assert rates == {25e9}


def test_theory_has_choices_of_one_full_packet_and_of_most_full_packets() -> None:
    case = load_usecase("cameras")
    one, other = theory_choices(
        case, derive(case), Wire("tcp", Interconnect("ethernet", 10e9, 9000))
    )
    assert one.scenarios["picture"].payload_bytes == 9000 - 52
    assert other.scenarios["picture"].payload_bytes == 7 * (9000 - 52)
