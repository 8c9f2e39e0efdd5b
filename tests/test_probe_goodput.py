"""The goodput that icprobe reports, against the receiver's own counters and against theory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from icmodel.theory import ethernet
from icmodel.theory.ethernet import Framing
from probe_lab import REALTIME, STOOD_STILL, TRIES, Lab, frames, standing, undisturbed
from probe_record import Record

SHARE = 1e-3
"""Least agreement between what is reported and what a counter says."""
NOT_COUNTED_BYTES = 8 + 4 + 12
"""Preamble, check sequence and gap, which no interface counts."""
SEGMENT_HEADER_BYTES = 14 + 20 + 20 + 12
"""Ethernet, IP, and TCP with its timestamp option."""
ZEROMQ_SHORT_BYTES, ZEROMQ_LONG_BYTES = 2, 9
"""What ZeroMQ puts before a message of up to 255 B, and before a longer one (ZMTP 3.1)."""
READ_BYTES = 256 * 1024
READ_DATAGRAMS = 64
"""Most of one read: of a stream, but at least two frames, and of datagrams."""


@pytest.fixture(scope="module")
def direct(probe: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("goodput")
    with standing(probe, "direct", folder) as lab, lab.serving("--allow-realtime"):
        yield lab


# --- whole runs: no frame before the window, none after ----------------------------------------


def counted_bytes(protocol: str, payload_bytes: int) -> int:
    """What an interface counts of one frame over UDP or direct Ethernet."""
    if protocol == "ethernet":
        return payload_bytes + 14  # a virtual cable fills no short packet up
    framing = Framing(protocol, padded=False)
    wire = int(ethernet.wire_bits(payload_bytes, framing)) // 8
    return wire - NOT_COUNTED_BYTES * int(ethernet.packets(payload_bytes, framing))


def stream_bytes(record: Record) -> int:
    """What the segments of a run carried above TCP, by the receiving interface's two counters."""
    counts = record["interface"]["recv"]["run"]
    bytes_: int = counts["rx_bytes"] - SEGMENT_HEADER_BYTES * counts["rx_packets"]
    return bytes_


def is_the_counters(counted: int, expected: int) -> None:
    """The interface counts what was received, and besides it the control connection, little."""
    assert 0 <= counted - expected <= SHARE * expected, f"{counted} B counted of {expected} B"


THERE: tuple[str, ...] = ()
BACK = ("--reverse",)
DATAGRAMS = [
    ("udp", 64, 40_000, THERE),
    ("udp", 1472, 20_000, BACK),
    ("udp", 1473, 20_000, THERE),
    ("udp", 65_507, 500, BACK),
    ("ethernet", 20, 40_000, BACK),
    ("ethernet", 1500, 20_000, THERE),
]


@pytest.mark.parametrize(("protocol", "payload_bytes", "count", "direction"), DATAGRAMS)
def test_received_and_overflown_frames_are_what_the_interface_took(
    direct: Lab, protocol: str, payload_bytes: int, count: int, direction: tuple[str, ...]
) -> None:
    """As fast as it goes: what the socket had no room for has passed the interface all the same."""
    record = undisturbed(lambda: direct.run(protocol, payload_bytes, *frames(count), *direction))
    loss, result = record["loss"], record["result"]
    assert result["frames_received"] == loss["run_frames_received"]
    passed = result["frames_received"] + loss["socket_overflow"]
    assert passed == result["frames_sent"] == count
    counts = record["interface"]["recv"]["run"]
    is_the_counters(counts["rx_bytes"], passed * counted_bytes(protocol, payload_bytes))
    is_its_window(record)


def is_its_window(record: Record) -> None:
    """Goodput and window tell the same: frames in it, less those of one read at its beginning.

    What came in one read with the window's first frame has no gap before it where no frame went
    before. Where the last frames may be lost, the window is at least as long as that of the sender.
    """
    result, bits = record["result"], record["point"]["payload_bytes"] * 8
    rate = result["goodput_bps"] / bits
    assert result["frames_per_s"] == pytest.approx(rate, rel=1e-9)
    span_s = result["window_s"]
    if result["frames_lost"]:
        sent_s = (result["frames_sent"] - 1) * bits / result["sent_bps"]
        span_s = max(span_s, sent_s)
    uncounted = result["frames_received"] - rate * span_s
    datagrams = record["point"]["protocol"] in ("udp", "ethernet")
    most = READ_DATAGRAMS if datagrams else max(2, READ_BYTES * 8 // bits)
    assert uncounted == pytest.approx(round(uncounted), abs=1e-3)
    assert 1 - bool(record["settings"]["warmup_s"]) <= round(uncounted) <= most


STREAMS = [
    ("tcp", 64, 100_000, THERE),
    ("tcp", 1448, 20_000, BACK),
    ("tcp", 65_535, 500, THERE),
    ("zeromq", 100, 50_000, BACK),
    ("zeromq", 1448, 20_000, THERE),
    ("zeromq", 65_535, 500, BACK),
]


@pytest.mark.parametrize(("protocol", "payload_bytes", "count", "direction"), STREAMS)
def test_received_frames_are_what_the_segments_carried(
    direct: Lab, protocol: str, payload_bytes: int, count: int, direction: tuple[str, ...]
) -> None:
    record = undisturbed(lambda: direct.run(protocol, payload_bytes, *frames(count), *direction))
    result = record["result"]
    assert result["frames_received"] == result["frames_sent"] == count
    before = ZEROMQ_SHORT_BYTES if payload_bytes < 256 else ZEROMQ_LONG_BYTES
    before *= protocol == "zeromq"
    is_the_counters(stream_bytes(record), count * (payload_bytes + before))
    is_its_window(record)


# --- a window inside a run ----------------------------------------------------------------------


THREE = ("--streams", "3")


@pytest.mark.parametrize(
    ("payload_bytes", "options"),
    [
        (64, THERE),
        (64, THREE),
        (1000, BACK),
        (1448, THERE),
        (65_535, BACK),
        (300_000, THERE),
        (300_000, THREE),
    ],
)
def test_the_windows_bytes_are_what_the_tcp_socket_delivered(
    direct: Lab, payload_bytes: int, options: tuple[str, ...]
) -> None:
    """The two differ by less than a frame a stream, and by no share of the window.

    Of a frame that is there in part at an edge of the window the socket's counter knows that part.
    """
    record = undisturbed(lambda: direct.run("tcp", payload_bytes, "--duration", "0.2 s", *options))
    window = record["result"]["frames_received"] * payload_bytes
    apart = abs(record["socket_window_bytes"] - window)
    assert apart < payload_bytes * record["settings"]["streams"]
    if payload_bytes < SHARE * window:
        assert apart <= SHARE * window
    if record["settings"]["streams"] == 1:
        is_its_window(record)


@pytest.mark.parametrize(("protocol", "payload_bytes"), [("udp", 1472), ("ethernet", 1500)])
def test_the_windows_packets_are_what_the_interface_took(
    direct: Lab, protocol: str, payload_bytes: int
) -> None:
    """A packet a frame: the interface's counter, read at the window's edges, gives the same rate.

    In a window during which the machine stood still it may, in any other it must.
    """
    for _ in range(TRIES):
        options = ("--rate", "2000/s", "--duration", "1 s", *REALTIME)
        record = direct.run(protocol, payload_bytes, *options)
        result, usage = record["result"], record["cpu_modes"]["recv"]
        packets = record["interface"]["recv"]["window"]["rx_packets"]
        rate = packets / usage["window_s"]
        assert result["packets_received_per_s"] == pytest.approx(rate, rel=1e-9)
        dropped = record["loss"]["interface_recv_dropped"]
        told = (
            rate / result["frames_per_s"],
            result["goodput_bps"] / record["point"]["load_bps"],
            record["wire"]["packets_per_frame_received"],
        )
        agreed = told == pytest.approx((1, 1, 1), rel=SHARE)
        assert agreed or dropped or STOOD_STILL & set(record["flags"]), told
        if agreed:
            return
    pytest.fail(f"the machine stood still in each of {TRIES} runs: try again when it is quiet")


# --- on links of a known rate -------------------------------------------------------------------

MOST, LEAST = 1.005, 0.99
# TCP with Nagle's algorithm fills its segments whatever the frames are.
CASES = [
    (20, ("tcp", 1448)),
    (100, ("tcp", 1000)),
    (20, ("udp", 1473)),
    (50, ("udp", 1000)),
    (100, ("udp", 1472)),
]
"""Each limited link, in Mb/s, and frames that fill packets and that do not."""


def theory_bps(protocol: str, payload_bytes: int, rate_bps: float) -> float:
    framing = Framing(protocol)
    if protocol == "tcp":
        return ethernet.stream_goodput_bps(framing, rate_bps)
    return float(ethernet.max_goodput_bps(payload_bytes, framing, rate_bps))


def test_the_payloads_are_aligned_and_not() -> None:
    for protocol in ("tcp", "udp"):
        payloads = [payload_bytes for _, (kind, payload_bytes) in CASES if kind == protocol]
        assert {*ethernet.aligned(payloads, Framing(protocol)).tolist()} == {True, False}
    assert {rate for rate, _ in CASES} == {20, 50, 100}


@pytest.mark.parametrize(("rate", "traffic"), CASES)
def test_goodput_is_theorys_and_never_more(
    probe: Path, tmp_path: Path, rate: int, traffic: tuple[str, int]
) -> None:
    """Never above in any window; not below in one during which the machine did not stand still.

    One that reaches theory all the same is proof enough: a machine that stands still only takes away.
    """
    theory = theory_bps(*traffic, rate * 1e6)
    flags = []
    with (
        standing(probe, f"direct-{rate}m", tmp_path) as lab,
        lab.serving("--allow-realtime"),
    ):
        for _ in range(TRIES):
            record = lab.run(*traffic, "--duration", "0.5 s", *REALTIME)
            share = record["result"]["goodput_bps"] / theory
            assert share <= MOST, record["flags"]
            dropped = record["loss"]["interface_recv_dropped"]
            if not dropped and not STOOD_STILL & set(record["flags"]):
                assert record["result"]["frames_lost"] == 0
                assert share >= LEAST, record["result"]
            if share >= LEAST:
                return
            flags.append([*record["flags"], f"{dropped} dropped"])
    pytest.fail(f"the machine stood still in {TRIES} windows, {flags}: try when it is quiet")


@pytest.mark.parametrize("topology", ["switch-100m", "two-switches-100m"])
def test_no_switch_lets_more_through(probe: Path, tmp_path: Path, topology: str) -> None:
    with standing(probe, topology, tmp_path) as lab, lab.serving("--allow-realtime"):
        for protocol, payload_bytes in (("tcp", 1448), ("udp", 1472)):
            record = lab.run(protocol, payload_bytes, "--duration", "0.2 s", *REALTIME)
            most = MOST * theory_bps(protocol, payload_bytes, 100e6)
            assert record["result"]["goodput_bps"] <= most
