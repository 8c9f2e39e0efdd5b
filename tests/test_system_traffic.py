"""Packets of messages, and loads, overloads and cycles of ports: known answers, sums by hand, and a full search."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.system import Link, Producer, Stream, load, read_system
from icmodel.system.files import find_system
from icmodel.system.network import Port, System
from icmodel.system.traffic import Packed, packing, port_cycle, port_loads, wire_ratio
from system_case import Chain, frozen

LINE = Chain((2,), dataset=None)


def packed(
    protocol: str, payload_bytes: int, message_bytes: float, kind: str = "burst", **link: object
) -> Packed:
    """The packets of a message on a link."""
    made = Link("a<->b", ("a", "b"), 1e8, **link)  # type: ignore[arg-type]
    stream = Stream(
        "x", "x", "a", "b", Producer(kind, 0.01, message_bytes), protocol, payload_bytes, ("a->b",)
    )
    return of(stream, made)


def of(stream: Stream, *links: Link) -> Packed:
    """The packets of a stream on the first of the links of its path."""
    chain = LINE.system([])
    ports = {
        f"{a}->{b}": Port(f"{a}->{b}", one.name, a, b, 1e8) for one in links for a, b in [one.ends]
    }
    devices = {name: chain.devices["h0"] for one in links for name in one.ends}
    system = System(
        "x", "", devices, {}, frozen({one.name: one for one in links}), ports, {"x": stream}
    )
    return packing(system).of(stream, links[0])


@pytest.mark.parametrize(
    ("protocol", "payload", "message", "bytes_of"),
    [
        # of a message: number, sum, longest, shortest, last [B]
        ("udp", 1472, 1472, (1, 1538, 1538, 1538, 1538)),
        ("udp", 1472, 1473, (2, 1622, 1538, 84, 84)),
        ("udp", 1473, 20 * 1473, (40, 20 * 1622, 1538, 84, 84)),
        ("udp", 18, 18, (1, 84, 84, 84, 84)),
        ("tcp", 2000, 2000, (2, 1538 + 642, 1538, 642, 642)),
        ("tcp", 100, 10_000, (100, 19_000, 190, 190, 190)),
        ("ethernet", 1500, 4000, (3, 2 * 1538 + 1038, 1538, 1038, 1038)),
        ("zeromq", 2000, 2000, (2, 1538 + 651, 1538, 651, 651)),  # 9 B of its own header
    ],
)
def test_a_message_becomes_packets_frame_by_frame(
    protocol: str, payload: int, message: int, bytes_of: tuple[int, ...]
) -> None:
    found = packed(protocol, payload, message).message
    bits = (found.sum_bits, found.longest_bits, found.shortest_bits, found.last_bits)
    assert (found.number, *(one / 8 for one in bits)) == bytes_of


def test_frames_at_once_may_be_merged_and_a_lone_one_is_not() -> None:
    """100 frames of 100 B are 6 full packets and 1312 B; what runs of them leave is a multiple of 4 B."""
    many = packed("tcp", 100, 10_000)
    assert (many.merged.number, many.merged.sum_bits) == (7, 8 * (6 * 1538 + 1402))
    assert (many.apart.longest_bits, many.apart.shortest_bits) == (8 * 1538, 8 * 94)
    alone = packed("tcp", 100, 100)
    assert alone.merged == alone.message
    assert (alone.apart.longest_bits, alone.apart.shortest_bits) == (8 * 190, 8 * 190)
    assert packed("udp", 100, 10_000).waiting.longest_bits == 8 * 166


@pytest.mark.parametrize("kind", ["burst", "goodput", "image"])
def test_frames_that_come_one_by_one_are_merged_only_where_they_wait_together(kind: str) -> None:
    found = packed("tcp", 100, 100, kind)
    assert (found.apart.longest_bits, found.apart.lacking_bits) == (8 * 190, 0)
    assert (found.waiting.longest_bits, found.waiting.shortest_bits) == (8 * 1538, 8 * 94)
    few = packed("tcp", 100, 300)  # at once, so that they are merged, and fill no packet
    assert few.apart.longest_bits == 8 * 390
    assert few.waiting.longest_bits == 8 * 1538


def test_a_gap_is_ethernets_own() -> None:
    assert packed("udp", 100, 100).gap_bits == 96
    assert packed("udp", 100, 100, interconnect="roce", mtu_bytes=1024).gap_bits == 96
    for kind, mtu in (("infiniband", 4096), ("plain", 1500)):
        assert packed("udp", 100, 100, interconnect=kind, mtu_bytes=mtu).gap_bits == 0


def test_on_a_plain_link_bytes_are_cut_at_the_mtu() -> None:
    found = packed("udp", 4000, 9000, interconnect="plain").message
    assert (found.number, found.sum_bits) == (3 + 3 + 1, 8 * 9000)
    assert (found.longest_bits, found.shortest_bits) == (8 * 1500, 8 * 1000)


def test_packets_are_cut_once_for_the_least_mtu_of_the_way() -> None:
    large = Link("a<->b", ("a", "b"), 1e8, mtu_bytes=9000)
    small = Link("b<->c", ("b", "c"), 1e8)
    made = Producer("burst", 0.01, 8000)
    stream = Stream("x", "x", "a", "c", made, "udp", 8000, ("a->b", "b->c"))
    whole = Stream("x", "x", "a", "b", made, "udp", 8000, ("a->b",))
    assert of(stream, large, small).frame.number == 6
    assert of(whole, large).frame.number == 1


PROTOCOLS = st.sampled_from(("udp", "tcp", "ethernet", "zeromq"))


@given(PROTOCOLS, st.integers(1, 1500), st.floats(1, 1e6), st.sampled_from((1500, 9000)))
def test_merging_never_makes_more_of_a_message(
    protocol: str, payload: int, message: float, mtu: int
) -> None:
    found = packed(protocol, payload, message, mtu_bytes=mtu)
    separate, merged = found.message, found.merged
    assert merged.number <= separate.number
    assert merged.sum_bits <= separate.sum_bits
    for one in (found.frame, separate, merged):
        assert one.sum_bits <= one.number * one.longest_bits
        assert one.number * one.shortest_bits <= one.sum_bits
        assert found.apart.shortest_bits <= one.shortest_bits <= one.last_bits <= one.longest_bits
        assert one.longest_bits <= found.apart.longest_bits
    assert found.apart.longest_bits <= found.waiting.longest_bits
    assert found.apart.shortest_bits >= found.waiting.shortest_bits
    least = 8 * math.ceil(message) * found.ratio
    assert merged.sum_bits >= least * (1 - 1e-9) or protocol in ("udp", "ethernet")


@given(st.integers(1, 3000), st.integers(1, 50), st.lists(st.integers(1, 50), max_size=5))
def test_no_run_of_merged_frames_leaves_a_shorter_packet(
    payload: int, frames: int, cuts: list[int]
) -> None:
    """However frames fall into runs, no packet is outside the shortest and the longest."""
    found = packed("tcp", payload, frames * payload)
    ends = [0, *sorted({cut for cut in cuts if cut < frames}), frames]
    for start, end in pairwise(ends):
        run = packed("tcp", (end - start) * payload, (end - start) * payload).frame
        assert run.longest_bits <= found.apart.longest_bits
        assert run.shortest_bits >= found.apart.shortest_bits


# --- bits on the wire ----------------------------------------------------------------------------

LINK = Link("a<->b", ("a", "b"), 1e9)


@pytest.mark.parametrize(
    ("protocol", "payload", "ratio"),
    [
        ("ethernet", 1500, 1538 / 1500),
        ("ethernet", 16, 84 / 16),  # padded to 46 B, with 38 B around it
        ("udp", 1472, 1538 / 1472),
        ("udp", 1473, (1538 + 84) / 1473),  # a second packet of 21 B, padded
        ("tcp", 1448, 1538 / 1448),
        ("tcp", 64, 1538 / 1448),  # merged into full packets
        ("tcp", 65535, 1538 / 1448),
        ("zeromq", 100, 1538 / 1500),  # an unknown carrier: no header above IP
    ],
)
def test_bits_on_the_wire_are_the_least_that_theory_allows(
    protocol: str, payload: int, ratio: float
) -> None:
    assert wire_ratio(protocol, payload, LINK) == pytest.approx(ratio, rel=1e-4)


def test_on_a_plain_link_bits_are_bits() -> None:
    assert wire_ratio("udp", 1, Link("a<->b", ("a", "b"), 1e9, interconnect="plain")) == 1


def test_a_port_carries_the_sum_of_its_streams() -> None:
    at = {one.port.name: one for one in port_loads(load("imaging"))}
    picture = 1920 * 1920 * 32 * 30 * 1538 / 1448
    assert at["switch->qfhd-display#2"].mean_bps == pytest.approx(2 * picture)
    assert at["capturing-device-3->switch"].mean_bps == pytest.approx(picture)
    assert at["capturing-device-3->switch"].ratio == pytest.approx(picture / 10e9)


def test_unlimited_streams_have_no_load() -> None:
    assert list(port_loads(load("lab-two-senders"))) == []


def two_switches(scheduler: str, priority: int) -> tuple[str, ...]:
    """What is found where 52.2 of 100 Mb/s go through a switch with a scheduler."""
    path = find_system("lab-two-switches")
    text = path.read_text(encoding="utf-8")
    text = text.replace('latency = "0 s"', f'latency = "0 s"\nscheduler = {scheduler}', 1)
    text = text.replace('protocol = "udp"', f'protocol = "udp"\npriority = {priority}')
    return tuple(finding.text for finding in read_system(text)[1])


def test_a_shaped_priority_that_asks_for_more_than_its_slope_is_overloaded() -> None:
    slope = '{ kind = "cbs", idle_slopes = { 6 = "50 Mb/s" } }'
    (told,) = two_switches(slope, 6)
    assert "the link S->T must carry 52.24 Mb/s, more than its 50 Mb/s at the priority 6" in told
    assert two_switches(slope, 5) == ()


def test_gates_that_are_open_for_too_short_are_overloaded() -> None:
    half = '{ kind = "gates", windows = [{ open = [0], duration = "1 ms" }, { open = [1], duration = "1 ms" }] }'
    (told,) = two_switches(half, 0)
    assert "must carry 52.24 Mb/s, more than its 50 Mb/s at the priority 0" in told


def bursts(*of: tuple[str, str, str]) -> tuple[str, ...]:
    """What is found where bursts of UDP (size, period, within) share a plain link of 1 Gb/s."""
    text = (
        'schema_version = 1\nname = "own"\ntitle = "own"\nsource = "a test"\n'
        '[[devices]]\nname = "a"\n[[devices]]\nname = "b"\n'
        '[[links]]\nbetween = ["a", "b"]\nrate = "1 Gb/s"\ninterconnect = "plain"\n'
    )
    for i, (size, period, within) in enumerate(of):
        text += (
            f'[[streams]]\nname = "x{i}"\nsource = "a"\nsink = "b"\nprotocol = "udp"\n'
            f'produces = {{ kind = "burst", period = "{period}", size = "{size}", within = "{within}" }}\n'
        )
    return tuple(finding.text for finding in read_system(text)[1])


def test_messages_that_no_order_of_sending_brings_in_time_are_an_overload() -> None:
    """0.6 Mb within 1 ms and 0.8 Mb within 2 ms fit 1 Gb/s; 1.6 Mb within 2 ms beside them do not."""
    first, second = ("75 kB", "10 ms", "1 ms"), ("100 kB", "10 ms", "2 ms")
    assert bursts(first, second) == ()
    (told,) = bursts(first, ("200 kB", "10 ms", "2 ms"))
    assert (
        "must carry 1.1 Gb/s, more than its 1 Gb/s within 2 ms if all messages come at once" in told
    )


def test_messages_that_come_again_before_the_others_are_due_count_again() -> None:
    """Within 2 ms come 0.9 Mb twice, the second due at 1.9 ms, and 0.3 Mb: 1.05 Gb/s."""
    (told,) = bursts(("112500 B", "1 ms", "900 us"), ("37500 B", "10 ms", "2 ms"))
    assert "must carry 1.05 Gb/s, more than its 1 Gb/s within 2 ms" in told


# --- cycles --------------------------------------------------------------------------------------


def stream(name: int, path: list[str]) -> Stream:
    made = Producer("burst", 1.0, 64)
    return Stream(f"x{name}", "x", "a", "b", made, "udp", 64, tuple(path))


@given(
    st.lists(
        st.permutations("abcde").flatmap(lambda p: st.integers(1, 5).map(lambda n: p[:n])),
        max_size=6,
    )
)
def test_a_cycle_is_found_if_there_is_one(paths: list[list[str]]) -> None:
    edges = {(a, b) for path in paths for a, b in pairwise(path)}
    circles = [
        circle
        for n in range(2, 6)
        for circle in permutations("abcde", n)
        if all((circle[i], circle[(i + 1) % n]) in edges for i in range(n))
    ]
    found = port_cycle(stream(i, path) for i, path in enumerate(paths))
    assert bool(found) == bool(circles)
    if found:
        assert found in circles
