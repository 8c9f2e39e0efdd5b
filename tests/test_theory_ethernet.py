"""Ethernet on the wire: printed numbers, RFC 5180, a slow twin, properties."""

from __future__ import annotations

import csv
import math
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from icmodel import theory
from icmodel.errors import ScenarioError
from icmodel.theory import ethernet, infiniband, rapidio, roce
from icmodel.theory.ethernet import Framing
from pipeline import Hop, lone_frame_s

CASES = Path(__file__).parent / "cases" / "theory"
TEN_G = 10e9


def rows(name: str) -> list[dict[str, str]]:
    with (CASES / name).open(newline="") as file:
        return list(csv.DictReader(file))


def gbps(payload: int, framing: Framing) -> float:
    return float(ethernet.max_goodput_bps(payload, framing, TEN_G)) / 1e9


# Printed numbers of "High speed local area interconnects" (2012), called IC2012 here.


def test_the_fourteen_send_intervals_of_ic2012() -> None:
    printed = rows("goodput_eth_intervals.csv")
    payloads = [int(row["payload_bytes"]) for row in printed]
    framing = Framing("ethernet", padded=False)
    seconds = ethernet.send_interval_s(payloads, framing, TEN_G)
    assert len(printed) == 14
    assert [f"{us:.3f}" for us in 1e6 * seconds] == [r["send_interval_us_printed"] for r in printed]


@pytest.mark.parametrize(
    ("protocol", "payload", "expected"),
    [
        ("ethernet", 1024, 9.642),
        ("ethernet", 1500, 9.753),
        ("udp", 1472, 9.571),
        ("udp", 65112, 9.622),
        ("tcp", 1448, 9.415),
    ],
)
@pytest.mark.parametrize("padded", [True, False])
def test_the_bounds_ic2012_is_held_against(
    protocol: str, payload: int, expected: float, padded: bool
) -> None:
    assert round(gbps(payload, Framing(protocol, padded=padded)), 3) == expected


def test_the_streams_of_ic2012() -> None:
    assert round(ethernet.stream_goodput_bps(Framing("tcp"), TEN_G) / 1e9, 3) == 9.415
    assert ethernet.stream_goodput_bps(Framing("tcp"), TEN_G) == pytest.approx(1e10 * 1448 / 1538)
    assert round(ethernet.stream_goodput_bps(Framing("udp"), TEN_G) / 1e9, 3) == 9.622
    assert round(ethernet.stream_goodput_bps(Framing("ethernet"), TEN_G) / 1e9, 3) == 9.753


def test_a_stream_of_largest_datagrams_can_beat_all_aligned_ones() -> None:
    framing = Framing("udp", mtu_bytes=32780)
    assert ethernet.aligned_payloads(framing, 65507).tolist() == [32752]
    stream = ethernet.stream_goodput_bps(framing, TEN_G)
    assert stream == float(ethernet.max_goodput_bps(65507, framing, TEN_G))
    assert stream > float(ethernet.max_goodput_bps(32752, framing, TEN_G))


def test_the_tcp_minimum_latency_of_table_8_2_is_wire_bits_and_one_metre() -> None:
    original = Framing("tcp", padded=False)
    latency = ethernet.min_latency_s(65535, original, TEN_G, distance_m=1.0)
    assert int(ethernet.packets(65535, Framing("tcp"))) == 46
    assert int(ethernet.wire_bits(65535, Framing("tcp"))) == 557400
    assert float(latency) == pytest.approx(55.74e-6 + 4.27e-9, abs=1e-15)
    assert f"{1e6 * latency:.2f}" == "55.74"
    without_gap = ethernet.min_latency_s(65535, Framing("tcp"), TEN_G, distance_m=1.0)
    assert float(latency - without_gap) == pytest.approx(9.6e-9)


def test_table_6_3_in_bits() -> None:
    bits = ethernet.wire_bits(100, Framing("ethernet")) - 800
    udp = ethernet.wire_bits(100, Framing("udp")) - 800
    tcp = ethernet.wire_bits(100, Framing("tcp")) - 800
    assert [int(bits), int(udp), int(tcp)] == [304, 304 + 160 + 64, 304 + 160 + 256]


def test_aligned_udp_sizes_of_ic2012() -> None:
    named = [1472, 2952, 4432, 7392, 13312, 25152, 48832, 65112]
    listed = ethernet.aligned_payloads(Framing("udp"), 65507)
    assert set(named) <= set(listed.tolist())
    assert np.array_equal(listed, 1472 + 1480 * np.arange(44))
    assert ethernet.aligned(named, Framing("udp")).all()
    assert not ethernet.aligned([1473, 65507, 1], Framing("udp")).any()
    assert ethernet.aligned_payloads(Framing("tcp"), 5000).tolist() == [1448, 2896, 4344]
    assert ethernet.aligned_payloads(Framing("ethernet"), 5000).tolist() == [1500]
    assert ethernet.aligned_payloads(Framing("ethernet"), 100).tolist() == []


def test_one_byte_more_than_a_packet_needs_two() -> None:
    for protocol, payload in [("udp", 1472), ("tcp", 1448)]:
        framing = Framing(protocol)
        assert ethernet.packets([payload, payload + 1], framing).tolist() == [1, 2]


# Known answers of others.


def framing_of(row: dict[str, str]) -> Framing:
    protocol, _, version = row["proto"].partition("/IPv")
    return Framing(
        {"raw Ethernet": "ethernet"}.get(protocol, protocol.lower()),
        mtu_bytes=int(row["mtu"]),
        ip_version=int(version or 4),
        timestamps="no timestamps" not in row["options"],
        vlan_tags=int("802.1Q" in row["options"]),
    )


@pytest.mark.parametrize(
    "row", rows("ethernet_goodput.csv"), ids=lambda r: f"{r['proto']} {r['mtu']} {r['options']}"
)
def test_goodput_table(row: dict[str, str]) -> None:
    framing, payload = framing_of(row), int(row["payload_per_frame"])
    wire = int(ethernet.wire_bits(payload, framing))
    assert int(ethernet.packets(payload, framing)) == 1
    assert bool(ethernet.aligned(payload, framing))
    assert wire == 8 * int(row["wire_bytes_per_frame"])
    assert 8 * payload / wire == pytest.approx(float(row["efficiency"]), abs=5e-7)
    assert gbps(payload, framing) == pytest.approx(float(row["goodput_10G_Gbps"]), abs=5.1e-5)
    rate = 1 / float(ethernet.send_interval_s(payload, framing, TEN_G))
    assert math.floor(rate) == int(row["frames_per_s_10G"])


@pytest.mark.parametrize(
    "row", rows("rfc5180_max_frame_rate.csv"), ids=lambda r: r["frame_bytes_incl_fcs"]
)
def test_rfc_5180_frame_rates(row: dict[str, str]) -> None:
    payload = int(row["frame_bytes_incl_fcs"]) - 18
    framing = Framing("ethernet", mtu_bytes=9198)
    for speed, name in [(1e9, "fps_1G"), (TEN_G, "fps_10G")]:
        rate = math.floor(1 / float(ethernet.send_interval_s(payload, framing, speed)))
        assert rate == int(row[f"{name}_formula"])
        if not row["note"]:
            assert rate == int(row[f"{name}_printed"])


def test_a_tagged_full_frame_is_rfc_5180s_1522_bytes() -> None:
    tagged = ethernet.send_interval_s(1500, Framing("ethernet", vlan_tags=1), TEN_G)
    assert math.floor(1 / float(tagged)) == 810635


@pytest.mark.parametrize(
    ("payload", "mbps"), [(512, 885.81), (1024, 939.45), (1518, 924.48)]
)  # spead2 documentation, UDP over 1 Gb/s
def test_udp_on_one_gigabit(payload: int, mbps: float) -> None:
    goodput = ethernet.max_goodput_bps(payload, Framing("udp"), 1e9)
    assert float(goodput) / 1e6 == pytest.approx(mbps, abs=0.005)


def test_ten_gigabit_smallest_frames() -> None:  # IEEE 802.3: 64 B, 14 880 952 frames/s
    padded = ethernet.send_interval_s([1, 46, 47], Framing("ethernet"), TEN_G)
    assert [math.floor(1 / s) for s in padded] == [14880952, 14880952, 14705882]


@pytest.mark.parametrize("line_rate", [1e9, 25e9, 100e9, 400e9])
def test_only_the_line_rate_scales(line_rate: float) -> None:
    payloads = [64, 1448, 65535]
    share = ethernet.max_goodput_bps(payloads, Framing(), 1.0)
    at_rate = ethernet.max_goodput_bps(payloads, Framing(), line_rate)
    assert at_rate == pytest.approx(line_rate * share)


# Latency terms.


def test_latency_terms_add_up() -> None:
    framing = Framing("udp")
    first, whole = 1538 * 8 / TEN_G, (4000 + 8 + 3 * 58) * 8 / TEN_G
    latency = partial(
        ethernet.min_latency_s, 4000, framing, TEN_G, distance_m=50.0, switch_latency_s=5.9e-6
    )
    cut = latency(switches=2)
    stored = latency(switches=2, switching="store-and-forward")
    gap = 96 / TEN_G
    assert float(latency()) == pytest.approx(50 * 4.27e-9 + whole - gap)
    assert float(cut) == pytest.approx(50 * 4.27e-9 + whole - gap + 2 * 5.9e-6)
    assert float(stored - cut) == pytest.approx(2 * (first - gap))


def test_a_switch_that_stores_repeats_a_lone_packet_whole() -> None:
    stored = ethernet.min_latency_s(
        100, Framing("ethernet"), 1e9, switches=1, switching="store-and-forward"
    )
    assert float(stored) == pytest.approx(2 * (138 - 12) * 8 / 1e9)


def test_a_hop_of_profinet_costs_what_its_makers_publish() -> None:
    """A tagged frame of 54 B: 10.72 µs a hop at 100 Mb/s with switches of 4 µs."""
    hop = partial(ethernet.min_latency_s, 54, Framing("ethernet", vlan_tags=1), 100e6)
    stored = [
        float(hop(switches=n, switch_latency_s=4e-6, switching="store-and-forward")) for n in (1, 2)
    ]
    assert stored[1] - stored[0] == pytest.approx(10.72e-6)
    assert stored[0] == pytest.approx(10.72e-6 + 6.72e-6)


@pytest.mark.parametrize("tags", [0, 1, 2])
def test_the_least_frame_has_64_bytes_with_its_tags(tags: int) -> None:
    framing = Framing("ethernet", vlan_tags=tags)
    least = 46 - 4 * tags
    bits = ethernet.wire_bits([1, least, least + 1], framing).tolist()
    assert bits == [8 * 84, 8 * 84, 8 * 85]
    assert 1 / float(ethernet.send_interval_s(1, framing, TEN_G)) == pytest.approx(14880952, abs=1)


# Refusals: one sentence that says what is allowed.


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"protocol": "sctp"}, "protocol 'sctp' is unknown: use one of tcp, udp, ethernet"),
        ({"mtu_bytes": 67}, "mtu_bytes 67 is impossible"),
        ({"mtu_bytes": 1279, "ip_version": 6}, "from 1280 to 65535"),
        ({"mtu_bytes": 65536}, "from 68 to 65535"),
        ({"mtu_bytes": 1500.5}, "whole bytes"),
        ({"mtu_bytes": math.nan}, "whole bytes"),
        ({"mtu_bytes": "1500"}, "whole bytes"),
        ({"ip_version": 5}, "ip_version 5 is unknown"),
        ({"vlan_tags": -1}, "vlan_tags -1 is unknown"),
    ],
)
def test_impossible_framings(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        Framing(**arguments)


@pytest.mark.parametrize(
    ("framing", "payload", "reason"),
    [
        (Framing("udp"), 65508, "at most 65507 B"),
        (Framing("udp", ip_version=6), 65528, "at most 65527 B"),
        (Framing("ethernet"), 1501, "at most 1500 B"),
        (Framing("tcp"), 0, "at least 1 B"),
        (Framing("tcp"), [1448, -3], "payload_bytes -3"),
        (Framing("tcp"), 1448.0, "whole numbers"),
        (Framing("tcp"), True, "whole numbers"),
        (Framing("tcp"), 2**60, "too large for icmodel: give at most 281474976710656 B"),
        (Framing("tcp"), 2**70, "whole numbers"),
    ],
)
def test_impossible_payloads(framing: Framing, payload: ArrayLike, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        ethernet.wire_bits(payload, framing)
    with pytest.raises(ScenarioError, match=reason):
        ethernet.aligned(payload, framing)


@pytest.mark.parametrize(
    "arguments",
    [
        {"line_rate_bps": 0.0},
        {"line_rate_bps": math.inf},
        {"line_rate_bps": math.nan},
        {"distance_m": -1.0},
        {"distance_m": math.inf},
        {"propagation_s_per_m": math.nan},
        {"switches": -1},
        {"switches": 1.5},
        {"switches": math.nan},
        {"switch_latency_s": -1e-9},
        {"switching": "magic"},
    ],
)
def test_impossible_paths(arguments: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match=next(iter(arguments))):
        ethernet.min_latency_s(100, Framing(), **({"line_rate_bps": TEN_G} | arguments))


def test_limits_of_the_protocols() -> None:
    assert ethernet.max_payload_bytes(Framing("udp")) == 65507
    assert ethernet.max_payload_bytes(Framing("udp", ip_version=6)) == 65527
    assert ethernet.max_payload_bytes(Framing("ethernet", mtu_bytes=9000)) == 9000
    assert ethernet.max_payload_bytes(Framing("tcp")) is None


def test_shapes_follow_the_payload() -> None:
    grid = np.arange(1, 7, dtype=np.uint16).reshape(2, 3)
    assert ethernet.packets(5, Framing()).shape == ()
    assert ethernet.wire_bits(grid, Framing()).shape == (2, 3)
    assert ethernet.wire_bits(grid, Framing()).dtype == np.int64
    assert ethernet.min_latency_s(grid, Framing(), TEN_G).dtype == np.float64
    assert ethernet.wire_bits([], Framing()).shape == (0,)


# Properties and the slow twin.


@st.composite
def framings(draw: st.DrawFn) -> Framing:
    version = draw(st.sampled_from([4, 6]))
    return Framing(
        protocol=draw(st.sampled_from(["tcp", "udp", "ethernet"])),
        mtu_bytes=draw(
            st.sampled_from([1280, 1500, 9000, 65535])
            | st.integers(68 if version == 4 else 1280, 65535)
        ),
        ip_version=version,
        timestamps=draw(st.booleans()),
        vlan_tags=draw(st.integers(0, 2)),
        padded=draw(st.booleans()),
    )


@st.composite
def questions(draw: st.DrawFn) -> tuple[Framing, int]:
    framing = draw(framings())
    limit = ethernet.max_payload_bytes(framing) or 70000
    near = [p + d for p in ethernet.aligned_payloads(framing, limit)[:3].tolist() for d in (0, 1)]
    payload = draw(st.integers(1, limit) | st.sampled_from([1, *near]))
    return framing, min(payload, limit)


def packet_sizes(payload: int, framing: Framing) -> list[int]:
    """Bytes of each packet behind the Ethernet header: fragmentation packet by packet."""
    if framing.protocol == "ethernet":
        return [payload]
    ip = 20 if framing.ip_version == 4 else 40
    sizes = []
    if framing.protocol == "tcp":
        header = ip + 20 + (12 if framing.timestamps else 0)
        while payload > 0:
            taken = min(payload, framing.mtu_bytes - header)
            sizes.append(header + taken)
            payload -= taken
        return sizes
    datagram = payload + 8
    if ip + datagram <= framing.mtu_bytes:
        return [ip + datagram]
    header = ip + (8 if framing.ip_version == 6 else 0)
    while datagram > 0:
        taken = min(datagram, framing.mtu_bytes - header)
        if taken < datagram:
            taken -= taken % 8
        sizes.append(header + taken)
        datagram -= taken
    return sizes


def slow_wire_bits(payload: int, framing: Framing) -> int:
    total = 0
    for size in packet_sizes(payload, framing):
        assert size <= framing.mtu_bytes
        total += on_the_wire(size, framing)
    return 8 * total


def on_the_wire(size: int, framing: Framing) -> int:
    """Preamble, frame of at least 64 B with its tags, and gap."""
    frame = 14 + 4 * framing.vlan_tags + size + 4
    return 8 + (max(frame, 64) if framing.padded else frame) + 12


@given(question=questions())
def test_the_slow_twin_agrees(question: tuple[Framing, int]) -> None:
    framing, payload = question
    sizes = packet_sizes(payload, framing)
    assert int(ethernet.packets(payload, framing)) == len(sizes)
    on_line = [on_the_wire(size, framing) for size in sizes]
    train = framing.train(payload)
    ends = train.longest_packet_bytes, train.shortest_packet_bytes, train.last_packet_bytes
    assert [int(end) for end in ends] == [max(on_line), min(on_line), on_line[-1]]
    assert int(ethernet.wire_bits(payload, framing)) == slow_wire_bits(payload, framing)
    full = sizes[-1] == framing.mtu_bytes
    assert bool(ethernet.aligned(payload, framing)) == full
    for switching in ("cut-through", "store-and-forward"):
        told = ethernet.min_latency_s(payload, framing, 1e9, switches=3, switching=switching)
        hops = [Hop(1e9, through=switching == "cut-through")] * 4
        played = lone_frame_s([on_line] * 4, 12 if framing.padded else 0, hops)
        assert float(told) == pytest.approx(played)


@given(question=questions(), step=st.integers(1, 3000))
def test_wire_bits_never_fall_with_payload(question: tuple[Framing, int], step: int) -> None:
    framing, payload = question
    limit = ethernet.max_payload_bytes(framing)
    assume(limit is None or payload + step <= limit)
    lesser, greater = ethernet.wire_bits([payload, payload + step], framing)
    assert lesser <= greater


@given(question=questions(), line_rate=st.floats(1e6, 4e11))
def test_goodput_is_under_the_stream_and_the_stream_under_the_line(
    question: tuple[Framing, int], line_rate: float
) -> None:
    framing, payload = question
    goodput = float(ethernet.max_goodput_bps(payload, framing, line_rate))
    stream = ethernet.stream_goodput_bps(framing, line_rate)
    assert goodput <= stream * (1 + 1e-12)
    assert stream < line_rate
    interval = float(ethernet.send_interval_s(payload, framing, line_rate))
    assert goodput * interval == pytest.approx(8 * payload)
    gap = 96 / line_rate if framing.padded else 0.0
    latency = float(ethernet.min_latency_s(payload, framing, line_rate))
    assert latency == pytest.approx(interval - gap)


@given(framing=framings(), up_to=st.integers(1, 70000))
def test_aligned_payloads_are_exactly_the_aligned_ones(framing: Framing, up_to: int) -> None:
    limit = min(up_to, ethernet.max_payload_bytes(framing) or up_to)
    every = np.arange(1, limit + 1)
    expected = every[ethernet.aligned(every, framing)]
    assert np.array_equal(ethernet.aligned_payloads(framing, up_to), expected)


# Breaks: where one byte more takes one packet more.


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize(("mtu", "ip_version"), [(1500, 4), (1500, 6), (9000, 4)])
def test_a_break_is_where_counting_packets_one_by_one_says(
    protocol: str, mtu: int, ip_version: int
) -> None:
    framing = Framing(protocol, mtu, ip_version)
    sizes = np.arange(1, 65000)
    counted = sizes[:-1][np.diff(ethernet.packets(sizes, framing)) > 0]
    assert theory.packet_breaks(framing, 64998).tolist() == counted.tolist()


def test_behind_the_largest_frame_there_is_no_break() -> None:
    assert theory.packet_breaks(Framing("ethernet"), 10**6).size == 0
    assert ethernet.aligned_payloads(Framing("ethernet"), 10**6).tolist() == [1500]
    datagram = infiniband.Framing(4096, "datagram")
    assert theory.packet_breaks(datagram, 10**6).size == 0
    assert theory.packet_breaks(rapidio.Framing(), 600).tolist() == [256, 512]


@pytest.mark.parametrize("link", [ethernet, infiniband, roce, rapidio])
def test_each_link_has_the_functions_of_the_room(link: ModuleType) -> None:
    for name in theory.__all__:
        assert getattr(link, name) is getattr(theory, name)
    framing = link.Framing()
    assert theory.max_goodput_bps(256, framing, TEN_G) == link.max_goodput_bps(256, framing, TEN_G)


@pytest.mark.parametrize(
    ("framing", "payload", "longest", "shortest", "last"),
    [
        (Framing("udp"), 1473, 1538, 84, 84),
        (Framing("udp"), 3000, 1538, 1538 - 1480 + 48, 1538 - 1480 + 48),
        (Framing("udp", 9000), 8968 + 8980, 9038, 9034, 9038),  # fragments are multiples of 8 B
        (Framing("tcp"), 64, 154, 154, 154),
        (roce.Framing(operation="write"), 3 * 1024, 1122, 1106, 1106),  # the first has 16 B more
        (roce.Framing(operation="read"), 3 * 1024, 1110, 1106, 1110),  # first, last 4 B more
        (infiniband.Framing(), 4097, 4122, 30, 30),
        (rapidio.Framing(), 257, 272, 24, 24),
    ],
)
def test_the_longest_the_shortest_and_the_last_packet_of_a_frame(
    framing: theory.AnyFraming, payload: int, longest: int, shortest: int, last: int
) -> None:
    train = framing.train(payload)
    found = (train.longest_packet_bytes, train.shortest_packet_bytes, train.last_packet_bytes)
    assert tuple(map(int, found)) == (longest, shortest, last)


def test_only_ethernet_has_a_gap_and_port_counters_do_not_see_it() -> None:
    assert Framing("ethernet").gap_bytes == roce.Framing().gap_bytes == 12
    assert roce.Framing(as_counted=True).gap_bytes == 0
    assert infiniband.Framing().gap_bytes == rapidio.Framing().gap_bytes == 0


# --- zMTP: headers as its specification has them, and the greatest message that fits --------------


def test_a_header_is_2_bytes_up_to_255_and_9_above() -> None:
    """RFC 23/ZMTP: flags, and a size of one or of eight bytes."""
    assert ethernet.framed_bytes([1, 255, 256, 1439]).tolist() == [3, 257, 265, 1448]


@pytest.mark.parametrize("most", [*range(1, 300), 1448, 2896])
def test_the_greatest_message_that_fits_is_found_by_trying_all(most: int) -> None:
    sizes = np.arange(1, most + 1)
    fitting = sizes[ethernet.framed_bytes(sizes) <= most]
    assert ethernet.payload_of(np.array([most])).tolist() == fitting[-1:].tolist()
