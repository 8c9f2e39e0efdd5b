"""The wire of a dataset: what a frame alone takes, where a token bucket stands for a cable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from icmodel import Model, load
from icmodel.dataset import Interconnect
from icmodel.tables.wire import Wire


def test_a_lone_frame_is_there_with_its_last_bit_and_a_rate_keeps_the_gap() -> None:
    wire = Wire("udp", Interconnect("ethernet", 1e9, 1500))
    payload = np.array([1472.0])
    assert wire.lone_frame_s(payload) == pytest.approx(8 * 1526 / 1e9)
    assert wire.serialisation_s(payload) == pytest.approx(8 * 1538 / 1e9)
    bound = wire.goodput_bound_bps(payload, wire.serialisation_s(payload))
    assert bound == pytest.approx(1472 / 1538 * 1e9)


def test_what_a_bucket_holds_passes_at_once_and_the_rest_at_the_line_rate() -> None:
    bucket = Wire("udp", Interconnect("ethernet", 1e9, 1500, burst_bytes=15_380.0))
    small, great = bucket.lone_frame_s(np.array([1472.0, 65_507.0]))
    assert small == 0.0
    whole = bucket.serialisation_s(np.array([65_507.0]))[0]
    assert great == pytest.approx(whole - 8 * (12 + 15_380) / 1e9)
    assert bucket.goodput_bound_bps(np.array([1472.0]), np.array([8 * 1538e-9])) == pytest.approx(
        1472e9 / 1538
    )


@pytest.mark.parametrize(("protocol", "full"), [("tcp", 1448), ("zeromq", 1500)])
def test_a_merged_stream_has_full_packets_whatever_its_frames(protocol: str, full: int) -> None:
    wire = Wire(protocol, Interconnect("ethernet", 1e9, 1500))
    payload = np.array([64.0, full, 10_000.0])
    assert wire.least_packets(payload) == pytest.approx(payload / full)
    assert wire.packets(payload).tolist() == [1, 1 if protocol == "tcp" else 2, 7]


@pytest.mark.parametrize("protocol", ["udp", "ethernet"])
def test_a_frame_in_packets_of_its_own_has_no_less(protocol: str) -> None:
    wire = Wire(protocol, Interconnect("ethernet", 1e9, 1500))
    payload = np.array([64.0, 1472.0, 1500.0])
    assert wire.least_packets(payload).tolist() == wire.packets(payload).tolist()


def test_the_terms_of_a_latency_take_no_wire_time_of_a_frame_that_passes_at_once() -> None:
    told = Model(load("lab-1g-2026"), "corrected").predict(
        protocol="udp", payload_bytes=65_507, requested_goodput_bps=1e8
    )
    assert told.terms["serialisation"] == 0.0
    assert told.terms["stack"] > 0
    assert sum(told.terms.values()) == pytest.approx(told.latency_mean_s.value)


ETHERNET = Interconnect(kind="ethernet", line_rate_bps=1e9, mtu_bytes=1500)


@pytest.mark.parametrize(
    ("protocol", "link", "most"),
    [
        ("tcp", ETHERNET, 1448),
        ("tcp", replace(ETHERNET, tcp_timestamps=False), 1460),
        ("udp", ETHERNET, 1472),
        ("udp", replace(ETHERNET, ip_version=6), 1452),
        ("udp", replace(ETHERNET, mtu_bytes=9000), 8972),
        ("zeromq", replace(ETHERNET, mtu_bytes=None), 1448),
    ],
)
def test_the_first_break_is_at_the_greatest_payload_of_one_packet(
    protocol: str, link: Interconnect, most: int
) -> None:
    assert Wire(protocol, link).packet_breaks(10_000)[0] == most


LINKS = (
    ETHERNET,
    Interconnect("infiniband", 32e9, 4096),
    Interconnect("roce", 10e9, 1024),
    Interconnect("rapidio", 16e9, None),
    Interconnect("loopback", None, None),
)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.kind)
def test_a_frame_has_one_packet_more_behind_each_break_and_nowhere_else(link: Interconnect) -> None:
    for protocol in ("tcp", "udp", "ethernet"):
        wire = Wire(protocol, link)
        payload = np.arange(1.0, min(wire.greatest_payload_bytes() or 20_000, 20_000) + 1)
        more = np.flatnonzero(np.diff(wire.packets(payload))) + 1
        assert wire.packet_breaks(20_000).tolist() == more.tolist()


def test_zeromq_breaks_where_its_header_no_longer_fits_the_packet() -> None:
    """1448 B of TCP with timestamps less a header of 9 B: the lab measured both sides of 1439 B."""
    own = Wire("zeromq", ETHERNET, with_headers=True)
    assert own.packet_breaks(3000).tolist() == [1439, 2887]
    assert own.packets(np.array([1439.0, 1440.0])).tolist() == [1, 2]
    assert own.least_packets(np.array([1439.0])) == pytest.approx([1.0])
    tcp = Wire("tcp", ETHERNET)
    assert own.serialisation_s(np.array([1000.0])) == tcp.serialisation_s(np.array([1009.0]))
    bound = tcp.goodput_bound_bps(np.array([1.0]), np.zeros(1))
    told = own.goodput_bound_bps(np.array([1.0, 1439.0]), np.zeros(2))
    assert told == pytest.approx(bound * [1 / 3, 1439 / 1448])


@pytest.mark.parametrize("protocol", ["tcp", "udp", "ethernet", "dds"])
def test_others_have_no_header_of_their_own(protocol: str) -> None:
    own, without = (Wire(protocol, ETHERNET, with_headers=one) for one in (True, False))
    payload = np.array([1.0, 300.0, 1400.0])
    assert own.packets(payload).tolist() == without.packets(payload).tolist()
    assert own.serialisation_s(payload).tolist() == without.serialisation_s(payload).tolist()
    assert own.packet_breaks(9000).tolist() == without.packet_breaks(9000).tolist()
