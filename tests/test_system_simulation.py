"""The packet simulator of whole systems against times worked out by hand, and what every run keeps."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from drawn_systems import document, system_of
from icmodel.system.network import System
from search import times
from simulated_packets import MERGED, Packet, line_bytes, packets
from system_simulation import Play, Run, phases, senders, simulate, worst_of

LINE_S = 8 / 1e8
"""Of a byte at 100 Mb/s."""
FULL, GAP = 1538, 12


def document_of(
    devices: Sequence[str], switches: Sequence[dict[str, Any]], links: Any, streams: Any
) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "name": "by-hand",
        "title": "worked out by hand",
        "source": "ours",
        "devices": [{"name": name} for name in devices],
        "switches": switches,
        "links": links,
        "streams": streams,
    }


def way(
    forwarding: str, rates_bps: Sequence[float], stream: dict[str, Any], latency_s: float = 3e-6
) -> System:
    """A host, switches that store (S) or cut through (C), and a host."""
    kinds = {"S": "store-and-forward", "C": "cut-through"}
    nodes = ["a", *(f"s{k}" for k in range(len(forwarding))), "b"]
    switches = [
        {"name": f"s{k}", "forwarding": kinds[kind], "latency_s": latency_s}
        for k, kind in enumerate(forwarding)
    ]
    links = [
        {"between": [nodes[k], nodes[k + 1]], "rate_bps": rate} for k, rate in enumerate(rates_bps)
    ]
    made = {"name": "f", "source": "a", "sink": "b", **stream}
    return system_of(document_of("ab", switches, links, [made]))


def star(
    hosts: str,
    streams: Sequence[dict[str, Any]],
    scheduler: dict[str, Any] | None = None,
    rate_bps: float = 1e8,
    **switch: Any,
) -> System:
    """Hosts at one switch of no latency that stores; all streams go to ``b``."""
    own = {"name": "s", "forwarding": "store-and-forward", "latency_s": 0.0, **switch}
    if scheduler is not None:
        own["scheduler"] = scheduler
    links = [{"between": [name, "s"], "rate_bps": rate_bps} for name in hosts]
    made = [{"sink": "b", **stream} for stream in streams]
    return system_of(document_of(hosts, [own], links, made))


def burst(count: int, size_bytes: int, period_s: float = 0.01) -> dict[str, Any]:
    return {"kind": "burst", "period_s": period_s, "burst": count, "size_bytes": size_bytes}


def greatest(run: Run, name: str) -> float:
    return run.streams[name].frames.greatest_s


# --- packets ----------------------------------------------------------------------------------


def test_bytes_on_the_line_by_hand() -> None:
    assert line_bytes(1500) == FULL
    assert [line_bytes(content) for content in (0, 46, 47)] == [84, 84, 85]
    assert [line_bytes(content, tags=1) for content in (0, 42, 43, 46)] == [84, 84, 85, 88]


@pytest.mark.parametrize(
    ("sizes", "carried", "mtu", "cutting", "lines"),
    [
        ([18], "udp", 1500, "apart", [84]),
        ([1472], "udp", 1500, "apart", [1538]),
        ([1473], "udp", 1500, "apart", [1538, 84]),
        ([2952], "udp", 1500, "apart", [1538, 1538]),
        ([65_507], "udp", 1500, "apart", [1538] * 44 + [453]),
        (
            [549],
            "udp",
            576,
            "apart",
            [610, 84],
        ),  # 552 B of data and 5, since fragments count in 8 B
        ([2000], "tcp", 1500, "merged", [1538, 642]),
        ([100] * 20, "tcp", 1500, "apart", [190] * 20),
        ([100] * 20, "tcp", 1500, "merged", [1538, 642]),
        ([100] * 20, "udp", 1500, "merged", [166] * 20),
        ([1500], "frame", 1500, "apart", [1538]),
        ([3001], "plain", 1500, "apart", [1500, 1500, 1]),
    ],
)
def test_packets_of_frames_by_hand(
    sizes: list[int], carried: str, mtu: int, cutting: str, lines: list[int]
) -> None:
    assert [one.line_bytes for one in packets(sizes, carried, mtu, cutting)] == lines


def test_a_packet_of_a_merged_stream_has_bytes_of_several_frames() -> None:
    made = packets([1000, 1000, 896, 5], "tcp", 1500, MERGED)
    assert made == [Packet(1538, 0, 1, 1), Packet(1538, 1, 2, 2), Packet(95, 3, 3, 1)]


def test_mixed_cutting_keeps_all_frames() -> None:
    for seed in range(20):
        made = packets([777] * 50, "tcp", 1500, "mixed", random.Random(seed))
        assert sum(one.completes for one in made) == 50
        assert sum(one.line_bytes - 90 for one in made) == 777 * 50


# --- ways -------------------------------------------------------------------------------------

FRAME = {"produces": burst(1, 1472), "protocol": "udp"}


@pytest.mark.parametrize(
    ("forwarding", "by_hand_us"),
    [
        ("", 12.208),
        ("S", 2 * 12.208 + 3),
        ("C", 12.208 + 3),
        ("SC", 30.416),
        ("CS", 30.416),
        ("SCC", 33.416),
        ("CSC", 33.416),
        ("CCS", 33.416),
        ("SSC", 45.624),
        ("SCS", 45.624),
        ("CSS", 45.624),
    ],
)
def test_a_lone_frame_takes_its_time_switch_by_switch(forwarding: str, by_hand_us: float) -> None:
    """1538 B less a gap of 12 B for each switch that stores, and at the sink; 3 µs a switch."""
    run = simulate(way(forwarding, [1e9] * (len(forwarding) + 1), FRAME))
    frames = run.streams["f"].frames
    assert frames.least_s == pytest.approx(by_hand_us * 1e-6)
    assert frames.greatest_s == pytest.approx(by_hand_us * 1e-6)


def test_a_switch_cuts_through_to_a_line_that_is_no_faster() -> None:
    last = (FULL - GAP) * 8
    slower = simulate(way("C", [1e9, 1e8], FRAME))
    faster = simulate(way("C", [1e8, 1e9], FRAME))
    assert greatest(slower, "f") == pytest.approx(last / 1e8 + 3e-6)
    assert greatest(faster, "f") == pytest.approx(last / 1e8 + last / 1e9 + 3e-6)


def test_packets_of_a_frame_follow_one_another() -> None:
    """Through two that store: each of four packets once, and the last twice more; gaps but at the ends of hops."""
    run = simulate(way("SS", [1e8] * 3, {"produces": burst(1, 1472 + 3 * 1480), "protocol": "udp"}))
    assert greatest(run, "f") == pytest.approx((6 * FULL - 3 * GAP) * LINE_S + 6e-6)


def test_cables_delay_and_plain_links_have_no_headers() -> None:
    links = [
        {"between": ["a", "b"], "rate_bps": 1e7, "length_m": 100.0, "propagation_s_per_m": 5e-9}
    ]
    links[0]["interconnect"] = "plain"
    stream = {
        "name": "f",
        "source": "a",
        "sink": "b",
        "produces": burst(1, 2000),
        "protocol": "udp",
    }
    run = simulate(system_of(document_of("ab", [], links, [stream])))
    assert greatest(run, "f") == pytest.approx(0.0016 + 5e-7)


# --- the rows of issue 28, the gap out of delays ----------------------------------------------


def test_full_packets_of_merged_tcp_block_an_urgent_frame() -> None:
    """100 frames of 100 B as full packets: 136.5 µs with gaps in delays; 134.56 µs without."""
    system = star(
        "abc",
        [
            {"name": "c", "source": "c", "produces": burst(100, 100), "protocol": "tcp"},
            {
                "name": "a",
                "source": "a",
                "produces": burst(1, 18),
                "protocol": "udp",
                "priority": 7,
            },
        ],
        {"kind": "strict-priority"},
    )
    behind_s = (FULL - GAP - 72) * LINE_S
    run = simulate(system, Play(phases_s={"a": behind_s + 1e-12, "c": 0.0}, cutting=MERGED))
    assert greatest(run, "a") == pytest.approx(134.56e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("cutting", "by_hand_us"),
    [("merged", (6 * 1538 + 2 * 1402 - 24 + 136) * 0.08), ("apart", 1533.28)],
)
def test_a_burst_of_tcp_as_full_packets_and_a_packet_a_frame(
    cutting: str, by_hand_us: float
) -> None:
    """972.5 and 1 535 µs with gaps in delays; without, 971.52 (the last waits for the sixth) and 1 533.28."""
    stream = {"name": "c", "source": "c", "produces": burst(100, 100), "protocol": "tcp"}
    run = simulate(star("bc", [stream]), Play(cutting=cutting))
    assert greatest(run, "c") == pytest.approx(by_hand_us * 1e-6)
    assert run.streams["c"].messages.greatest_s == greatest(run, "c")


@pytest.mark.parametrize(
    ("stream", "by_hand_us"),
    [
        (
            {
                "produces": {
                    "kind": "samples",
                    "samples": 1473,
                    "size_bits": 8.0,
                    "cycle_hz": 100.0,
                },
                "protocol": "udp",
                "payload_bytes": 1472,
            },
            250.88,  # 1538 + 1538 + 84 B less two gaps; 251.8 with one gap in
        ),
        ({"produces": burst(1, 2000), "protocol": "tcp"}, 295.52),  # 1538 + 1538 + 642 B; 296.5
    ],
)
def test_a_message_of_a_full_and_a_short_packet(stream: dict[str, Any], by_hand_us: float) -> None:
    run = simulate(star("ab", [{"name": "a", "source": "a", **stream}]), Play(cutting=MERGED))
    assert greatest(run, "a") == pytest.approx(by_hand_us * 1e-6)


def test_turns_count_packets_also_short_ones() -> None:
    """40 packets of 20 frames, each behind one of the other: 7 638 µs."""
    system = star(
        "abc",
        [
            {
                "name": "a",
                "source": "a",
                "produces": burst(20, 1473, 0.1),
                "protocol": "udp",
                "priority": 1,
            },
            {
                "name": "c",
                "source": "c",
                "produces": burst(60, 1472, 0.1),
                "protocol": "udp",
                "priority": 0,
            },
        ],
        {"kind": "wrr", "weights": {"0": 1, "1": 1}},
    )
    most = max(greatest(simulate(system, Play(seed=seed)), "a") for seed in range(20))
    assert most == pytest.approx((FULL - GAP + 40 * FULL + 20 * FULL + 19 * 84 + 72) * LINE_S)
    assert most == pytest.approx(7637.92e-6)


# --- schedulers -------------------------------------------------------------------------------


def test_equal_streams_at_once_wait_for_one_another_in_turn() -> None:
    streams = [{"name": f"f{host}", "source": host, **FRAME} for host in "cdefg"]
    run = simulate(star("bcdefg", streams))
    waits = sorted(greatest(run, f"f{host}") - 2 * (FULL - GAP) * LINE_S for host in "cdefg")
    assert waits == pytest.approx([k * FULL * LINE_S for k in range(5)], abs=1e-12)
    assert run.backlogs_bytes["s->b"] == 5 * FULL
    spread = simulate(
        star("bcdefg", streams), Play(phases_s=phases(star("bcdefg", streams), "spread", 1))
    )
    assert all(
        one.frames.greatest_s == pytest.approx(2 * (FULL - GAP) * LINE_S)
        for one in spread.streams.values()
    )


def test_a_quantum_lets_a_class_send_what_fits_in_it() -> None:
    """Of 4 000 B a turn two packets go, and the rest of 924 B makes three of each second turn."""
    system = star(
        "abc",
        [
            {
                "name": "a",
                "source": "a",
                "produces": burst(30, 1472, 0.1),
                "protocol": "udp",
                "priority": 1,
            },
            {
                "name": "c",
                "source": "c",
                "produces": burst(30, 1472, 0.1),
                "protocol": "udp",
                "priority": 0,
            },
        ],
        {"kind": "drr", "quanta_bytes": {"0": 1538, "1": 4000}},
    )
    first = {greatest(simulate(system, Play(seed=seed)), "a") for seed in range(20)}
    # 30 packets of a in turns of 2, 3, 2, 3, ...: 12 turns, before each of which one of c may go.
    assert max(first) == pytest.approx((2 * (FULL - GAP) + (29 + 12) * FULL) * LINE_S)


def test_a_shaped_class_sends_at_its_slope() -> None:
    stream = {
        "name": "a",
        "source": "a",
        "produces": burst(10, 1472, 0.1),
        "protocol": "udp",
        "priority": 5,
    }
    system = star("ab", [stream], {"kind": "cbs", "idle_slopes_bps": {"5": 2e7}})
    run = simulate(system)
    # The first finds credit 0; each other waits until its send slope is earned back.
    assert greatest(run, "a") == pytest.approx(2 * (FULL - GAP) * LINE_S + 9 * FULL * 8 / 2e7)


def test_a_frame_waits_for_its_gate_and_for_the_guard_before_it_closes() -> None:
    windows = [{"open": [7], "duration_s": 3e-4}, {"open": [0], "duration_s": 7e-4}]
    stream = {
        "name": "a",
        "source": "a",
        "produces": burst(1, 1472, 1e-2 + 1e-5),
        "protocol": "udp",
        "priority": 7,
    }
    system = star("ab", [stream], {"kind": "gates", "windows": windows})
    runs = [simulate(system, Play(seed=seed, periods=200.0)) for seed in range(10)]
    alone = 2 * (FULL - GAP) * LINE_S
    most = max(greatest(run, "a") for run in runs) - alone
    assert 7e-4 + FULL * LINE_S - 1e-5 < most <= 7e-4 + FULL * LINE_S + 1e-12
    assert min(run.streams["a"].frames.least_s for run in runs) == pytest.approx(alone)


def test_a_packet_that_no_opening_is_long_enough_for_is_never_sent() -> None:
    windows = [{"open": [7], "duration_s": 1e-4}, {"open": [0], "duration_s": 7e-4}]
    stream = {"name": "a", "source": "a", **FRAME, "priority": 7}
    run = simulate(star("ab", [stream], {"kind": "gates", "windows": windows}))
    assert run.streams["a"].frames.count == 0


# --- buffers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("buffer_packets", [1, 2, 7, 20])
def test_a_buffer_loses_what_does_not_fit(buffer_packets: int) -> None:
    """A burst of 60 packets from 1 Gb/s into 370 Mb/s: by whole numbers, which fit."""
    system = way("S", [1e9, 3.7e8], {"produces": burst(60, 1472, 0.1), "protocol": "udp"})
    (switch,) = system.switches.values()
    small = system_of(
        document_of(
            "ab",
            [
                {
                    "name": "s0",
                    "forwarding": "store-and-forward",
                    "latency_s": 3e-6,
                    "buffer_bytes": buffer_packets * FULL + 5,
                }
            ],
            [
                {"between": ["a", "s0"], "rate_bps": 1e9},
                {"between": ["s0", "b"], "rate_bps": 3.7e8},
            ],
            [
                {
                    "name": "f",
                    "source": "a",
                    "sink": "b",
                    "produces": burst(60, 1472, 0.1),
                    "protocol": "udp",
                }
            ],
        )
    )
    leaving: list[Fraction] = []
    free, lost = Fraction(0), 0
    for k in range(60):
        now = Fraction(k * 37, 100)  # in times of a packet on the slower line
        leaving = [end for end in leaving if end > now]
        if len(leaving) == buffer_packets:
            lost += 1
            continue
        free = max(free, now) + 1
        leaving.append(free)
    run = simulate(small, Play(drops=True, periods=1.0))
    assert (run.streams["f"].frames_sent, run.streams["f"].frames_lost) == (60, lost)
    assert run.streams["f"].frames.count == 60 - lost
    assert run.streams["f"].messages.count == (0 if lost else 1)
    assert run.backlogs_bytes["s0->b"] == min(buffer_packets, 60) * FULL
    assert simulate(system, Play(drops=True)).streams["f"].frames_lost == 0
    assert switch.buffer_bytes is None


def test_a_frame_is_lost_with_any_of_its_packets() -> None:
    system = system_of(
        document_of(
            "ab",
            [
                {
                    "name": "s0",
                    "forwarding": "store-and-forward",
                    "latency_s": 0.0,
                    "buffer_bytes": 3 * FULL,
                }
            ],
            [{"between": ["a", "s0"], "rate_bps": 1e9}, {"between": ["s0", "b"], "rate_bps": 1e7}],
            [
                {
                    "name": "f",
                    "source": "a",
                    "sink": "b",
                    "produces": burst(3, 2952, 0.1),
                    "protocol": "udp",
                }
            ],
        )
    )
    seen = simulate(system, Play(drops=True, periods=1.0)).streams["f"]
    assert (seen.frames_sent, seen.frames_lost, seen.packets.count) == (3, 2, 3)


# --- producers, copies, hosts -----------------------------------------------------------------


def test_a_picture_is_sent_frame_by_frame_over_its_period() -> None:
    image = {"kind": "image", "width_px": 100, "height_px": 100, "depth_bits": 8.0, "rate_hz": 10.0}
    system = star(
        "ab",
        [{"name": "a", "source": "a", "produces": image, "protocol": "udp", "payload_bytes": 1472}],
    )
    seen = simulate(system, Play(periods=5.0)).streams["a"]
    assert (seen.frames.count, seen.messages.count) == (5 * 7, 5)
    assert seen.frames.greatest_s == pytest.approx(2 * (FULL - GAP) * LINE_S)
    last = line_bytes(10_000 - 6 * 1472 + 28) - GAP
    assert seen.messages.greatest_s == pytest.approx(0.1 * 6 / 7 + 2 * last * LINE_S)
    endless = simulate(system, Play(periods=5.0, as_bytes=True)).streams["a"]
    assert endless.frames.greatest_s == pytest.approx(2 * (FULL - GAP) * LINE_S)
    assert endless.messages.count in (4, 5)
    assert endless.messages.greatest_s <= 0.1 + 2 * (FULL - GAP) * LINE_S


def test_copies_share_the_beginning_of_their_way() -> None:
    stream = {
        "name": "f",
        "source": "a",
        "sink": ["b", "c"],
        "multicast": True,
        "produces": burst(4, 1472),
        "protocol": "udp",
    }
    run = simulate(star("abc", [stream]))
    assert run.backlogs_bytes == {
        "a->s": 4 * FULL,
        "s->a": 0,
        "b->s": 0,
        "s->b": FULL,
        "c->s": 0,
        "s->c": FULL,
    }
    for name in ("f/b", "f/c"):
        assert run.streams[name].frames.count == run.streams[name].frames_sent > 0
        assert greatest(run, name) == pytest.approx((5 * FULL - 2 * GAP) * LINE_S)


def test_a_host_holds_frames_back_and_keeps_their_order() -> None:
    stream = {
        "name": "a",
        "source": "a",
        "produces": {"kind": "goodput", "goodput_bps": 1e7},
        "protocol": "udp",
        "payload_bytes": 1472,
    }
    system = star("ab", [stream])
    hold = 5e-3
    seen = simulate(system, Play(holds_s={"a": hold}, periods=300.0, seed=2)).streams["a"]
    alone = 2 * (FULL - GAP) * LINE_S
    assert seen.frames.least_s == pytest.approx(alone)
    assert alone + 0.9 * hold < seen.frames.greatest_s <= alone + hold + 5 * FULL * LINE_S
    assert simulate(system, Play(periods=300.0)).streams["a"].frames.greatest_s == pytest.approx(
        alone
    )


def test_applications_add_their_time() -> None:
    made = document_of(
        "ab",
        [],
        [{"between": ["a", "b"], "rate_bps": 1e8}],
        [{"name": "f", "source": "a", "sink": "b", **FRAME}],
    )
    made["devices"] = [{"name": "a", "app_send_s": 1e-3}, {"name": "b", "app_recv_s": 2e-3}]
    assert greatest(simulate(system_of(made)), "f") == pytest.approx(3e-3 + (FULL - GAP) * LINE_S)


def test_an_unlimited_sender_fills_its_first_link() -> None:
    stream = {
        "name": "a",
        "source": "a",
        "produces": {"kind": "unlimited"},
        "protocol": "udp",
        "payload_bytes": 1472,
    }
    (sender,) = senders(star("ab", [stream]), Play())
    assert sender.period_s == pytest.approx(FULL * LINE_S)


# --- any system -------------------------------------------------------------------------------


def test_every_frame_arrives_or_is_lost_and_none_before_its_time() -> None:
    for seed in range(times(20)):
        system = system_of(document(seed))
        for drops in (False, True):
            run = worst_of(system, seed, 4, Play(drops=drops, most_packets=300))
            for name, seen in run.streams.items():
                stream = system.streams[name]
                closed = any(system.ports[port].scheduler.kind == "gates" for port in stream.path)
                if not closed:
                    assert seen.frames.count + seen.frames_lost == seen.frames_sent, (seed, name)
                assert drops or seen.frames_lost == 0
                if seen.frames.count:
                    assert seen.frames.least_s <= seen.frames.mean_s <= seen.frames.greatest_s
                    assert seen.frames.least_s > system.propagation_s(stream)
            for port, most in run.backlogs_bytes.items():
                node = system.node(system.ports[port].node)
                end = getattr(node, "buffer_bytes", None) if drops else None
                assert 0 <= most <= (end or math.inf)


def test_runs_and_documents_follow_from_their_seed() -> None:
    made = [document(7) for _ in range(2)]
    assert made[0] == made[1]
    runs = [worst_of(system_of(one), 3, 5) for one in made]
    assert runs[0] == runs[1]
