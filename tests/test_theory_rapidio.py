"""RapidIO on the wire: packets of the specification, lane rates, a slow twin."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.errors import ScenarioError
from icmodel.theory import rapidio
from icmodel.theory.rapidio import Framing
from pipeline import Hop, lone_frame_s

CASES = Path(__file__).parent / "cases" / "theory"
OPERATIONS = ["swrite", "nwrite", "nwrite_r", "nread", "message"]


def rows(name: str) -> list[dict[str, str]]:
    with (CASES / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "row", rows("rapidio_packets.csv"), ids=lambda r: f"{r['operation']} {r['data_bytes']} B"
)
def test_packets_of_the_specification(row: dict[str, str]) -> None:
    framing = Framing(
        row["operation"],
        device_id_bits=int(row["device_id_bits"]),
        address_bits=int(row["address_bits"]),
    )
    data = int(row["data_bytes"])
    assert int(rapidio.packet_bytes(data, framing)) == int(row["packet_bytes"])


def test_a_streaming_write_has_ten_bytes_of_header_and_crc_up_to_80() -> None:
    # 8 B of header, 2 of CRC, 2 of filling; from 80 B of header and data on a second CRC.
    data = np.array([1, 8, 9, 72, 73, 256])
    assert rapidio.packet_bytes(data, Framing()).tolist() == [20, 20, 28, 84, 92, 268]


def test_a_control_symbol_a_packet() -> None:
    short, long = Framing(), Framing(control_symbol_bytes=8)
    assert rapidio.wire_bits([256, 257], short).tolist() == [8 * 272, 8 * (272 + 24)]
    assert rapidio.wire_bits([256, 257], long).tolist() == [8 * 276, 8 * (276 + 28)]


@pytest.mark.parametrize("row", rows("rapidio_lane_rates.csv"), ids=lambda r: r["lane_gbaud"])
def test_lane_rates(row: dict[str, str]) -> None:
    rate = rapidio.link_rate_bps(1, float(row["lane_gbaud"]) * 1e9)
    assert rate / 1e9 == pytest.approx(float(row["data_gbps_printed"]), abs=5e-3)


def test_links_of_ic2012() -> None:  # §3.2.1: 4 lanes of 5 GBd; §5.3: 4 of 3.125 GBd
    assert rapidio.link_rate_bps() == 16e9
    assert rapidio.link_rate_bps(4, 3.125e9) == 10e9


def test_a_tsi721_stays_under_the_bound() -> None:
    # github RapidIO/RRMAP 0e73fd45 (BSD-3): at most 12.774 Gb/s of DMA writes over 4 x 5 GBd,
    # where the same table computes an occupancy of 1/0.95 of it.
    bound = rapidio.stream_goodput_bps(Framing(), rapidio.link_rate_bps())
    assert 12.774e9 < bound < 16e9
    assert bound / 16e9 == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: Framing("put"), "operation 'put' is unknown: use one of swrite, nwrite"),
        (lambda: Framing(device_id_bits=32), "device_id_bits 32 is unknown: use one of 8, 16"),
        (lambda: Framing(address_bits=32), "address_bits 32 is unknown: use one of 34, 50, 66"),
        (lambda: Framing(control_symbol_bytes=3), "control_symbol_bytes 3 is unknown"),
        (lambda: rapidio.link_rate_bps(3), "lanes 3 is unknown"),
        (lambda: rapidio.link_rate_bps(4, 20e9), "baud 20000000000.0 is unknown"),
        (
            lambda: rapidio.packet_bytes(257, Framing()),
            "one RapidIO packet: give at most 256 B",
        ),
        (
            lambda: rapidio.packets(4097, Framing("message")),
            "message: give at most 4096 B",
        ),
        (lambda: rapidio.packets(0, Framing()), "at least 1 B"),
    ],
)
def test_refusals(call: Callable[[], object], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        call()


def test_latency_through_one_switch() -> None:  # IC2012 §3.3.1: CPS-1432 cut-through 100 ns
    framing = Framing()
    cut = rapidio.min_latency_s(
        800, framing, 16e9, distance_m=50.0, switches=1, switch_latency_s=100e-9
    )
    bits = 8 * (3 * 272 + 32 + 8 + 4 + 4)
    assert float(cut) == pytest.approx(50 * 4.87e-9 + 100e-9 + bits / 16e9)
    stored = rapidio.min_latency_s(
        [800, 8], framing, 16e9, switches=1, switching="store-and-forward"
    )
    assert stored == pytest.approx([(bits + 8 * 272) / 16e9, 2 * 8 * 24 / 16e9])


def test_limits() -> None:
    assert rapidio.max_payload_bytes(Framing("message")) == 4096
    assert rapidio.max_payload_bytes(Framing("swrite")) is None
    assert rapidio.aligned_payloads(Framing(), 1023).tolist() == [256, 512, 768]
    assert rapidio.aligned_payloads(Framing(), 1024).tolist() == [256, 512, 768, 1024]
    assert rapidio.aligned_payloads(Framing("message"), 10**6).tolist()[-1] == 4096


framings = st.builds(
    Framing,
    operation=st.sampled_from(OPERATIONS),
    device_id_bits=st.sampled_from([8, 16]),
    address_bits=st.sampled_from([34, 50, 66]),
    control_symbol_bytes=st.sampled_from([4, 8]),
)


def slow_packets(payload: int, framing: Framing) -> list[int]:
    """Bytes of each packet with its control symbol, cut one by one, byte by byte."""
    header = 2 + 2 * (framing.device_id_bits // 8)
    if framing.operation != "swrite":
        header += 2
    if framing.operation in ("swrite", "nwrite", "nwrite_r"):
        header += {34: 4, 50: 6, 66: 8}[framing.address_bits]
    sizes = []
    while payload > 0:
        taken = min(payload, 256)
        size = header + taken
        while (size - header) % 8:
            size += 1
        size += 4 if size > 80 else 2
        while size % 4:
            size += 1
        sizes.append(size + framing.control_symbol_bytes)
        payload -= taken
    return sizes


@given(framing=framings, payload=st.integers(1, 4096))
def test_the_slow_twin_agrees(framing: Framing, payload: int) -> None:
    sizes = slow_packets(payload, framing)
    assert int(rapidio.packets(payload, framing)) == len(sizes)
    train = framing.train(payload)
    ends = train.longest_packet_bytes, train.shortest_packet_bytes, train.last_packet_bytes
    assert [int(end) for end in ends] == [max(sizes), min(sizes), sizes[-1]]
    assert int(rapidio.wire_bits(payload, framing)) == 8 * sum(sizes)
    assert bool(rapidio.aligned(payload, framing)) == (payload % 256 == 0)
    goodput = float(rapidio.max_goodput_bps(payload, framing, 16e9))
    interval = float(rapidio.send_interval_s(payload, framing, 16e9))
    assert goodput * interval == pytest.approx(8 * payload)
    assert goodput <= rapidio.stream_goodput_bps(framing, 16e9) < 16e9
    stored = rapidio.min_latency_s(
        payload, framing, 16e9, switches=2, switching="store-and-forward"
    )
    assert float(stored) == pytest.approx(lone_frame_s([sizes] * 3, 0, [Hop(16e9)] * 3))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("device_id_bits", [8, 16])
@pytest.mark.parametrize("address_bits", [34, 50, 66])
def test_every_size_of_one_packet(operation: str, device_id_bits: int, address_bits: int) -> None:
    framing = Framing(operation, device_id_bits, address_bits)
    slow = [8 * sum(slow_packets(payload, framing)) for payload in range(1, 258)]
    assert rapidio.wire_bits(np.arange(1, 258), framing).tolist() == slow


@given(framing=framings)
def test_wire_bits_never_fall_with_payload(framing: Framing) -> None:
    bits = rapidio.wire_bits(np.arange(1, 4097), framing)
    assert (np.diff(bits) >= 0).all()
