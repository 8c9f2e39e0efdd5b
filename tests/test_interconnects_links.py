"""Links: which are compared at which rates, and which datasets were measured on them."""

from __future__ import annotations

import pytest

from icmodel.dataset import catalogue, load
from icmodel.interconnects.links import Carrier, Link, carriers, compared_links

KNOWN = tuple(one for name in catalogue() for one in carriers(load(name)))


def measured_at(link: Link) -> set[str]:
    """The datasets that were measured on a link."""
    return {one.data.id for one in KNOWN if one.at(link)}


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
    own = {one.data.id for one in KNOWN if one.own}
    assert own == {"lab-1g-2026"}


def test_an_unknown_kind_of_link_has_no_row() -> None:
    loopback: list[Carrier] = [one for one in KNOWN if one.link.kind == "loopback"]
    assert loopback
    assert compared_links(loopback) == compared_links(())
