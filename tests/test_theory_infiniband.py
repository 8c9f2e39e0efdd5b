"""InfiniBand on the wire: header bytes, port counters, lane rates, a slow twin."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.errors import ScenarioError
from icmodel.theory import infiniband
from icmodel.theory.infiniband import Framing
from pipeline import Hop, lone_frame_s

CASES = Path(__file__).parent / "cases" / "theory"
MTUS = [256, 512, 1024, 2048, 4096]


def rows(name: str) -> list[dict[str, str]]:
    with (CASES / name).open(newline="") as file:
        return list(csv.DictReader(file))


def overhead_bytes(payload: int, framing: Framing) -> int:
    return int(infiniband.wire_bits(payload, framing)) // 8 - payload


def test_24_bytes_as_counted_26_on_the_wire_16_more_in_a_write() -> None:
    assert overhead_bytes(4096, Framing(as_counted=True)) == 24
    assert overhead_bytes(4096, Framing()) == 26
    assert overhead_bytes(4096, Framing(operation="write")) == 26 + 16
    assert overhead_bytes(3 * 4096, Framing(operation="write")) == 3 * 26 + 16
    assert overhead_bytes(4096, Framing(operation="datagram")) == 26 + 8
    assert overhead_bytes(4096, Framing(operation="read")) == 26 + 4
    assert overhead_bytes(3 * 4096, Framing(operation="read")) == 3 * 26 + 2 * 4
    assert overhead_bytes(4096, Framing(global_route=True)) == 26 + 40


def test_data_is_filled_to_words() -> None:
    bits = infiniband.wire_bits([1, 4, 5, 4097], Framing())
    assert bits.tolist() == [8 * 30, 8 * 30, 8 * 34, 8 * (4096 + 26 + 30)]


def test_port_counters_of_a_connectx2() -> None:
    row = next(r for r in rows("rdma_port_counters.csv") if r["link"] == "infiniband-qdr")
    mtu, application = int(row["mtu_bytes"]), int(row["application_bytes"])
    measured = (int(row["port_bytes"]) / application - 1) * mtu
    assert round(measured, 1) == 24.1
    framing = Framing(mtu, "write", as_counted=True)
    megabyte = overhead_bytes(2**20, framing) * mtu / 2**20
    assert round(megabyte, 1) == 24.1
    # Above the headers of a long write only by the acknowledgements of the other direction.
    assert 24 <= overhead_bytes(2**31, framing) * mtu / 2**31 <= measured < 24.5


@pytest.mark.parametrize("row", rows("infiniband_lane_rates.csv"), ids=lambda r: r["generation"])
def test_lane_rates(row: dict[str, str]) -> None:
    rate = infiniband.link_rate_bps(row["generation"], lanes=1)
    assert rate / 1e9 == pytest.approx(float(row["lane_data_gbps_printed"]), abs=5e-3)


def test_link_rates() -> None:
    assert infiniband.link_rate_bps() == 32e9
    assert infiniband.link_rate_bps("qdr", 12) == 96e9
    assert infiniband.link_rate_bps("hdr", 2) == 100e9
    assert infiniband.link_rate_bps("edr", 4) == pytest.approx(100e9)
    assert infiniband.link_rate_bps("fdr", 4) == pytest.approx(4 * 14.0625e9 * 64 / 66)
    # HDR: 53.125 Gb/s a lane less RS(544,514) and 256b/257b.
    assert infiniband.link_rate_bps("hdr", 1) == pytest.approx(53.125e9 * 514 / 544 * 256 / 257)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: Framing(mtu_bytes=1500), "mtu_bytes 1500 is unknown: use one of 256, 512, 1024"),
        (lambda: Framing(operation="put"), "operation 'put' is unknown: use one of send, write"),
        (lambda: infiniband.link_rate_bps("xdr"), "generation 'xdr' is unknown"),
        (lambda: infiniband.link_rate_bps("qdr", 3), "lanes 3 is unknown"),
        (lambda: infiniband.packets(0, Framing()), "at least 1 B"),
        (
            lambda: infiniband.packets(2**31 + 1, Framing()),
            "one send: give at most 2147483648 B",
        ),
        (
            lambda: infiniband.aligned(4097, Framing(operation="datagram")),
            "one datagram: give at most 4096 B",
        ),
        (lambda: infiniband.max_goodput_bps(1, Framing(), 0.0), "line_rate_bps 0.0"),
    ],
)
def test_refusals(call: Callable[[], object], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        call()


def test_latency_of_one_small_message() -> None:
    latency = infiniband.min_latency_s(
        8, Framing(), 32e9, distance_m=2.0, switches=1, switch_latency_s=100e-9
    )
    assert float(latency) == pytest.approx(10e-9 + 100e-9 + 34 * 8 / 32e9)


def test_a_switch_that_stores_repeats_the_first_packet_with_its_header() -> None:
    framing = Framing(1024, "write")
    cut = infiniband.min_latency_s([1024, 3000], framing, 1e9, switches=2)
    stored = infiniband.min_latency_s(
        [1024, 3000], framing, 1e9, switches=2, switching="store-and-forward"
    )
    assert stored - cut == pytest.approx([2 * 8 * (1024 + 26 + 16) / 1e9] * 2)


@st.composite
def questions(draw: st.DrawFn) -> tuple[Framing, int]:
    framing = Framing(
        mtu_bytes=draw(st.sampled_from(MTUS)),
        operation=draw(st.sampled_from(["send", "write", "read", "datagram"])),
        global_route=draw(st.booleans()),
        as_counted=draw(st.booleans()),
    )
    most = min(framing.max_payload_bytes, 70000)
    return framing, draw(st.integers(1, most) | st.sampled_from([framing.mtu_bytes]))


def slow_packets(payload: int, framing: Framing) -> list[int]:
    """Bytes of each packet, cut one by one."""
    around = 8 + 12 + 4 + (40 if framing.global_route else 0) + (0 if framing.as_counted else 2)
    sizes = []
    left = payload
    while left > 0:
        taken = min(left, framing.mtu_bytes)
        first, last = left == payload, taken == left
        extra = {
            "send": 0,
            "write": 16 if first else 0,
            "read": 4 if first or last else 0,
            "datagram": 8,
        }[framing.operation]
        sizes.append(around + extra + taken + -taken % 4)
        left -= taken
    return sizes


@given(question=questions())
def test_the_slow_twin_agrees(question: tuple[Framing, int]) -> None:
    framing, payload = question
    sizes = slow_packets(payload, framing)
    assert int(infiniband.packets(payload, framing)) == len(sizes)
    train = framing.train(payload)
    ends = train.longest_packet_bytes, train.shortest_packet_bytes, train.last_packet_bytes
    assert [int(end) for end in ends] == [max(sizes), min(sizes), sizes[-1]]
    assert int(infiniband.wire_bits(payload, framing)) == 8 * sum(sizes)
    assert bool(infiniband.aligned(payload, framing)) == (payload % framing.mtu_bytes == 0)
    interval = float(infiniband.send_interval_s(payload, framing, 32e9))
    goodput = float(infiniband.max_goodput_bps(payload, framing, 32e9))
    assert goodput * interval == pytest.approx(8 * payload)
    assert goodput <= infiniband.stream_goodput_bps(framing, 32e9) < 32e9
    stored = infiniband.min_latency_s(
        payload, framing, 32e9, switches=2, switching="store-and-forward"
    )
    assert float(stored) == pytest.approx(lone_frame_s([sizes] * 3, 0, [Hop(32e9)] * 3))


@given(question=questions())
def test_wire_bits_never_fall_with_payload(question: tuple[Framing, int]) -> None:
    framing, payload = question
    bits = infiniband.wire_bits(np.arange(1, payload + 1), framing)
    assert (np.diff(bits) >= 0).all()


def test_aligned_payloads() -> None:
    assert infiniband.aligned_payloads(Framing(1024), 3500).tolist() == [1024, 2048, 3072]
    datagram = Framing(1024, "datagram")
    assert infiniband.aligned_payloads(datagram, 3500).tolist() == [1024]
