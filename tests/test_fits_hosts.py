"""Content of sender buffers on slower wires: documented sizes, and how they fill."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import icmodel
from icmodel.fits.hosts import (
    HELD,
    MOST_BYTES,
    SENDERS,
    STREAM_BYTES,
    datagram_memory,
    level_of,
    memory_by_rows,
    saturated,
    segment_memory,
)

LAB = icmodel.load("lab-1g-2026")


def test_memory_of_packets_is_that_of_the_kernel() -> None:
    """Memory that Linux 6.18 showed: 69120 B a send buffer of ten packets, 2280 B a segment (`ss -m`)."""
    assert 3 * 10 * datagram_memory(np.array(1448.0)) == 69_120
    assert segment_memory(np.array(1448.0)) == 2280
    assert datagram_memory(np.array([512.0, 1472.0])).tolist() == [1280, 2304]


def test_a_datagram_socket_holds_between_half_and_all_of_its_memory() -> None:
    sender, payload = SENDERS["udp"], np.array([1472.0])
    content = sender.content_bytes(payload, payload, np.array(sender.memory_bytes))
    packets = content / payload
    assert packets == pytest.approx(212_992 / 2304)
    assert sender.level("mean") == 0.75
    assert [sender.level(name) for name in ("min", "p50", "max")] == [0.5, 0.75, 1.0]
    assert sender.level("std") == pytest.approx(0.5 / math.sqrt(12))


@pytest.mark.parametrize("packets", [1, 2, 5, 12, 23])
def test_frames_of_several_packets_find_what_a_socket_played_holds(packets: int) -> None:
    """A writer that goes on at half writes frames whole until the socket is full; the wire sends on."""
    full, level, found = 92.4, 0.0, []
    for _ in range(2000):
        before = level
        if level >= full:
            level = full / 2
        level += packets
        found.append(max(before, full / 2) + packets)
    half = math.ceil(full / 2 / packets)
    assert np.mean(found[200:]) == pytest.approx(full / 2 + packets * (half + 3) / 2, rel=0.02)
    expected = SENDERS["udp"].level("mean") * full + SENDERS["udp"].own_frames * packets
    assert np.mean(found[200:]) == pytest.approx(expected, rel=0.12)


@given(st.floats(1e-9, 600.0))
def test_a_level_is_the_mean_of_a_queue_with_two_ends(ahead: float) -> None:
    """∫ x e^(θx) dx / ∫ e^(θx) dx over [0, 1], by sums."""
    x = (np.arange(20_000) + 0.5) / 20_000
    weight = np.exp(ahead * (x - 1))
    assert level_of(np.array([ahead]))[0] == pytest.approx(
        (x * weight).sum() / weight.sum(), abs=2e-3
    )


def test_the_most_that_rows_show_is_the_memory_of_an_autotuned_buffer() -> None:
    """L X / 8 of every unlimited row of TCP, less the frame that is written."""
    rows: dict[tuple[object, ...], dict[str, float]] = {}
    for one in LAB.points:
        if one.protocol == "tcp" and one.load_bps == math.inf and one.payload_bytes:
            place = one.payload_bytes, one.cores, one.switches, one.endpoints, one.options
            rows.setdefault(place, {"payload": one.payload_bytes})[one.metric] = one.value
    known = [one for one in rows.values() if {"goodput_bps", "latency_mean_s"} <= one.keys()]
    assert len(known) > 10
    held = [one["latency_mean_s"] * one["goodput_bps"] / 8 - one["payload"] for one in known]
    most = max(held) / (5 / 6) * 2280 / 1448
    assert memory_by_rows(LAB, "tcp", 1448.0) == pytest.approx(most)
    assert memory_by_rows(LAB, "udp", 1472.0) == 212_992
    assert STREAM_BYTES <= memory_by_rows(LAB, "zeromq", 1448.0) <= MOST_BYTES


@given(
    protocol=st.sampled_from(["tcp", "udp", "ethernet", "zeromq"]),
    payload=st.floats(64, 65_535),
    ahead=st.floats(1.0, 1e4),
    ratio=st.floats(1e-3, 1.0),
    held=st.floats(1e2, 1e7),
)
def test_what_is_held_goes_from_the_rows_to_the_full_buffers(
    protocol: str, payload: float, ahead: float, ratio: float, held: float
) -> None:
    sender, size = SENDERS[protocol], np.array([payload])
    memory = 2 * sender.memory_bytes if sender.autotuned else sender.memory_bytes
    packet = np.minimum(size, 1448.0)
    found = saturated(sender, size, packet, memory, np.array([ahead]), ratio, np.array([False]))
    own_s = np.full((3, 1), held / 1e6)
    value, low, high = found.latency_s("mean", own_s, size, np.array([1e6]), np.array([1e6]))
    assert 0 < low[0] <= value[0] <= high[0]
    full = sender.level("mean") * found.full_bytes[0, 0] + sender.own_frames * payload
    assert min(full, held) * (1 - 1e-9) <= value[0] * 1e6 <= max(full, held) * (1 + 1e-9)
    if ahead == 1:
        assert value[0] * 1e6 == pytest.approx(held)
    if found.filled[0] > 1 - 1e-12:
        assert value[0] * 1e6 == pytest.approx(full)


def test_intervals_are_those_of_the_sizes() -> None:
    size = np.array([1472.0])
    found = saturated(SENDERS["udp"], size, size, 212_992, np.array([1e4]), 0.1, np.array([True]))
    low, high = found.full_bytes[1:, 0] / found.full_bytes[0, 0]
    assert (low, high) == pytest.approx((1 - HELD, 1 + HELD))
    size = np.array([1448.0])
    found = saturated(
        SENDERS["tcp"], size, size, 2 * STREAM_BYTES, np.array([1e4]), 0.5, np.array([True])
    )
    low, high = found.full_bytes[1:, 0] / found.full_bytes[0, 0]
    assert low == pytest.approx((1 - HELD) / math.sqrt(2))
    assert high == pytest.approx((1 + HELD) * math.sqrt(2))


def test_a_fixed_buffer_that_rows_show_larger_than_documented_stays_so() -> None:
    size, held = np.array([1472.0]), 1e6
    for at_sender, expected in ((True, held), (False, (0.75 * 212_992 / 2304 + 1.75) * 1472)):
        found = saturated(
            SENDERS["udp"], size, size, 212_992, np.array([1e6]), 0.1, np.array([at_sender])
        )
        told = found.latency_s(
            "mean", np.full((3, 1), held / 1e8), size, np.array([1e8]), np.array([1e7])
        )
        assert told[0, 0] * 1e7 == pytest.approx(expected, rel=0.03)
