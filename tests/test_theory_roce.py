"""RoCE on the wire: header bytes of both versions, port counters, a slow twin."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.errors import ScenarioError
from icmodel.theory import roce
from icmodel.theory.roce import Framing
from pipeline import Hop, lone_frame_s

CASES = Path(__file__).parent / "cases" / "theory"


def rows(name: str) -> list[dict[str, str]]:
    with (CASES / name).open(newline="") as file:
        return list(csv.DictReader(file))


def overhead_bytes(payload: int, framing: Framing) -> int:
    return int(roce.wire_bits(payload, framing)) // 8 - payload


def test_74_and_62_bytes_as_counted_20_more_on_the_wire() -> None:
    assert overhead_bytes(1024, Framing(1, as_counted=True)) == 74
    assert overhead_bytes(1024, Framing(1)) == 94
    assert overhead_bytes(1024, Framing(2, as_counted=True)) == 62
    assert overhead_bytes(1024, Framing(2)) == 82
    assert overhead_bytes(1024, Framing(2, operation="write")) == 82 + 16
    assert overhead_bytes(5 * 1024, Framing(2, operation="write")) == 5 * 82 + 16
    assert overhead_bytes(1024, Framing(2, ip_version=6)) == 102
    assert overhead_bytes(1024, Framing(2, vlan_tags=1)) == 86


@pytest.mark.parametrize(
    "row",
    [r for r in rows("rdma_port_counters.csv") if r["link"] == "rocev1-10g"],
    ids=lambda r: r["mtu_bytes"],
)
def test_port_counters_of_a_connectx2(row: dict[str, str]) -> None:
    mtu = int(row["mtu_bytes"])
    measured = int(row["port_bytes"]) / int(row["application_bytes"]) - 1
    framing = Framing(1, mtu, "write", as_counted=True)
    theory = overhead_bytes(2**20, framing) / 2**20
    # Above the headers by the acknowledgements of the other direction: 0.3 B a packet.
    assert 0 < (measured - theory) * mtu < 0.5
    assert round(100 * measured, 3) == {1024: 7.256, 4096: 1.814}[mtu]


def test_ten_gigabit_rocev1_carries_what_was_counted() -> None:
    # 1142.2 decimal megabytes a second were measured at MTU 1024, 1221.1 at 4096.
    for mtu, measured in [(1024, 1142.2e6), (4096, 1221.1e6)]:
        bound = roce.stream_goodput_bps(Framing(1, mtu, "write"), 10e9) / 8
        assert measured == pytest.approx(bound, rel=3e-3)
        assert measured < bound


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: Framing(3), "version 3 is unknown: use one of 1, 2"),
        (lambda: Framing(1, ip_version=6), "RoCE version 1 has no IP version 6"),
        (lambda: Framing(2, ip_version=5), "ip_version 5 is unknown"),
        (lambda: Framing(2, 1500), "mtu_bytes 1500 is unknown"),
        (lambda: Framing(2, operation="put"), "operation 'put' is unknown"),
        (lambda: Framing(2, vlan_tags=3), "vlan_tags 3 is unknown"),
        (lambda: roce.wire_bits(0, Framing()), "at least 1 B"),
        (lambda: roce.aligned(2**31 + 1, Framing()), "at most 2147483648 B"),
    ],
)
def test_refusals(call: Callable[[], object], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        call()


def test_latency_terms_add_up() -> None:
    framing = Framing(2, 1024, "write")
    latency = partial(
        roce.min_latency_s, 2000, framing, 25e9, distance_m=10.0, switch_latency_s=230e-9
    )
    cut = latency(switches=3)
    stored = latency(switches=3, switching="store-and-forward")
    assert float(cut) == pytest.approx(50e-9 + 690e-9 + (2000 + 2 * 82 + 16 - 12) * 8 / 25e9)
    assert float(stored - cut) == pytest.approx(3 * (1024 + 82 + 16 - 12) * 8 / 25e9)


@st.composite
def questions(draw: st.DrawFn) -> tuple[Framing, int]:
    version = draw(st.sampled_from([1, 2]))
    framing = Framing(
        version=version,
        mtu_bytes=draw(st.sampled_from([256, 512, 1024, 2048, 4096])),
        operation=draw(st.sampled_from(["send", "write", "read", "datagram"])),
        vlan_tags=draw(st.integers(0, 2)),
        ip_version=4 if version == 1 else draw(st.sampled_from([4, 6])),
        as_counted=draw(st.booleans()),
    )
    most = min(framing.max_payload_bytes, 70000)
    return framing, draw(st.integers(1, most) | st.sampled_from([framing.mtu_bytes]))


def slow_packets(payload: int, framing: Framing) -> list[int]:
    """Bytes of each packet, cut one by one and built header by header."""
    sizes = []
    left = payload
    while left > 0:
        taken = min(left, framing.mtu_bytes)
        size = 14 + 4 * framing.vlan_tags  # Ethernet
        size += 40 if framing.version == 1 else {4: 20, 6: 40}[framing.ip_version] + 8
        size += 12  # BTH
        if framing.operation == "write" and left == payload:
            size += 16
        if framing.operation == "read" and (left == payload or taken == left):
            size += 4
        if framing.operation == "datagram":
            size += 8
        size += taken + -taken % 4 + 4  # data, filling, ICRC
        size = max(size, 60) + 4  # Ethernet's minimum, FCS
        sizes.append(size + (0 if framing.as_counted else 8 + 12))
        left -= taken
    return sizes


@given(question=questions())
def test_the_slow_twin_agrees(question: tuple[Framing, int]) -> None:
    framing, payload = question
    sizes = slow_packets(payload, framing)
    assert int(roce.packets(payload, framing)) == len(sizes)
    train = framing.train(payload)
    ends = train.longest_packet_bytes, train.shortest_packet_bytes, train.last_packet_bytes
    assert [int(end) for end in ends] == [max(sizes), min(sizes), sizes[-1]]
    assert int(roce.wire_bits(payload, framing)) == 8 * sum(sizes)
    assert bool(roce.aligned(payload, framing)) == (payload % framing.mtu_bytes == 0)
    goodput = float(roce.max_goodput_bps(payload, framing, 25e9))
    interval = float(roce.send_interval_s(payload, framing, 25e9))
    assert goodput * interval == pytest.approx(8 * payload)
    assert goodput <= roce.stream_goodput_bps(framing, 25e9) < 25e9
    stored = roce.min_latency_s(payload, framing, 25e9, switches=2, switching="store-and-forward")
    played = lone_frame_s([sizes] * 3, 0 if framing.as_counted else 12, [Hop(25e9)] * 3)
    assert float(stored) == pytest.approx(played)


@given(question=questions(), step=st.integers(1, 5000))
def test_wire_bits_never_fall_with_payload(question: tuple[Framing, int], step: int) -> None:
    framing, payload = question
    more = min(payload + step, framing.max_payload_bytes)
    lesser, greater = roce.wire_bits([payload, more], framing)
    assert lesser <= greater


def test_aligned_payloads() -> None:
    assert roce.aligned_payloads(Framing(2, 2048), 7000).tolist() == [2048, 4096, 6144]
