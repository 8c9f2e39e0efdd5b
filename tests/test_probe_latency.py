"""The latency that icprobe reports, against its raw values, the kernel's time stamps and physics."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from icmodel.theory import ethernet
from icmodel.theory.ethernet import Framing
from probe_lab import REALTIME, TRIES, Lab, frames, standing, undisturbed
from probe_record import QUANTILES, Record, bucket_of
from probe_wire import Seen
from search import mostly_long

PROTOCOLS = [("tcp", 1448), ("udp", 1472), ("ethernet", 1500), ("zeromq", 1000)]
HALF_NS = 0.5e-9
"""Clocks count whole ns."""
STAMP_BYTES = 32
STAMP_S = 1e-6
"""How well a watcher knows the monotonic time of the kernel's stamps, which are of the wall clock."""


@pytest.fixture(scope="module")
def direct(probe: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("latency")
    with standing(probe, "direct", folder) as lab, lab.serving("--allow-realtime"):
        yield lab


def follows_from(raw: Sequence[float], record: Record, stem: str) -> None:
    """Mean, deviation, ends, quantiles and histogram are those of the raw values."""
    values = {name: record["result"][f"{stem}_{name}_s"] for name in ("mean", "std", "min", "max")}
    assert values["mean"] == pytest.approx(statistics.fmean(raw), abs=HALF_NS)
    assert values["std"] == pytest.approx(statistics.stdev(raw), abs=HALF_NS)
    assert values["min"] == pytest.approx(min(raw), abs=HALF_NS)
    assert values["max"] == pytest.approx(max(raw), abs=HALF_NS)
    in_ns = sorted(round(value * 1e9) for value in raw)
    buckets = record[f"{stem}_histogram"]["buckets"]
    assert sum(count for _, _, count in buckets) == len(in_ns)
    for lower, upper, count in buckets:
        assert sum(lower <= value <= upper for value in in_ns) == count
    for name, share in QUANTILES.items():
        exact = in_ns[math.ceil(share * len(in_ns)) - 1]
        lower, upper, _ = bucket_of(buckets, share)
        assert lower <= exact <= upper
        assert record["result"][f"{stem}_{name}_s"] * 1e9 == pytest.approx(min(upper, in_ns[-1]))


@pytest.mark.parametrize(("protocol", "payload_bytes"), PROTOCOLS)
@pytest.mark.parametrize("options", [(), ("--streams", "3", "--reverse")], ids=["one", "three"])
def test_the_histogram_is_that_of_the_frames_received(
    direct: Lab, protocol: str, payload_bytes: int, options: tuple[str, ...]
) -> None:
    timing = ("--rate", "5000/s", "--duration", "0.15 s", "--raw")
    record = undisturbed(lambda: direct.run(protocol, payload_bytes, *timing, *options))
    raw = record["raw_latency_s"]
    assert len(raw) == record["result"]["frames_received"] > 0
    follows_from(raw, record, "latency")
    parts = [record["steady"][part]["frames"] for part in ("transient", "steady")]
    assert sum(parts) == len(raw)


@pytest.mark.parametrize(("protocol", "payload_bytes"), PROTOCOLS)
def test_every_frame_of_a_run_as_fast_as_it_goes_is_in_the_histogram(
    direct: Lab, protocol: str, payload_bytes: int
) -> None:
    record = direct.run(protocol, payload_bytes, "--duration", "0.15 s")
    buckets = record["latency_histogram"]["buckets"]
    assert sum(count for _, _, count in buckets) == record["result"]["frames_received"] > 0


@pytest.mark.parametrize("protocol", ["tcp", "udp", "zeromq"])
def test_the_histogram_of_round_trips_is_that_of_the_answers(direct: Lab, protocol: str) -> None:
    options = ("--pattern", "ping-pong", "--raw", *frames(500))
    record = direct.run(protocol, 64, *options)
    assert len(record["raw_rtt_s"]) == record["result"]["frames_received"] == 500
    follows_from(record["raw_rtt_s"], record, "rtt")
    assert not [name for name in record["result"] if name.startswith("latency")]


# --- against others who look at the same frames -------------------------------------------------


def network_s(frame: Seen) -> float:
    """From the stamp in the frame to the kernel's own at the receiver's interface."""
    return (frame.seen_ns - frame.sent_ns) * 1e-9


def watched(lab: Lab, protocol: str) -> tuple[Record, list[Seen]]:
    """A run of 300 frames that all arrived, and these frames at the receiver's interface."""
    for _ in range(TRIES):
        with lab.watching("B") as seen:
            options = ("--rate", "1000/s", "--raw", *REALTIME, *frames(300))
            record = lab.run(protocol, 1400, *options)
        if not record["result"]["frames_lost"]:
            return record, seen
        assert record["loss"]["socket_overflow"] + record["loss"]["interface_recv_dropped"]
    pytest.fail(f"in {TRIES} runs the machine never came to empty its queues in time: try again")


@pytest.mark.alone
@pytest.mark.parametrize("protocol", mostly_long(["udp", "ethernet"], ["udp"]))
def test_each_latency_is_the_networks_and_then_the_readers(direct: Lab, protocol: str) -> None:
    """No frame is read before the interface has it, and the window is as long as it took to come."""
    record, seen = watched(direct, protocol)
    assert [frame.seq for frame in seen] == list(range(300))
    assert {frame.wire_bytes for frame in seen} == {1400 + (14 if protocol == "ethernet" else 42)}
    raw, result = record["raw_latency_s"], record["result"]
    assert [n for n, s in enumerate(raw) if s < network_s(seen[n]) - STAMP_S] == []
    assert result["latency_mean_s"] >= statistics.fmean(map(network_s, seen)) - STAMP_S
    reading_s = [s - network_s(frame) for s, frame in zip(raw, seen, strict=True)]
    span_s = (seen[-1].seen_ns - seen[0].seen_ns) * 1e-9
    expected = span_s + reading_s[-1] - reading_s[0]
    assert result["window_s"] == pytest.approx(expected, abs=STAMP_S)
    late = [frame.sent_ns - frame.intended_ns for frame in seen]
    pacing = record["pacing"]
    assert pacing["send_error_max_s"] == pytest.approx(max(late) * 1e-9, abs=HALF_NS)
    grid = [b.intended_ns - a.intended_ns for a, b in itertools.pairwise(seen)]
    assert {*grid} <= {999_999, 1_000_000, 1_000_001}
    intended = pacing["latency_from_intended_mean_s"] - result["latency_mean_s"]
    assert intended == pytest.approx(statistics.fmean(late) * 1e-9, abs=HALF_NS)
    sent_s = (seen[-1].sent_ns - seen[0].sent_ns) * 1e-9
    assert result["sent_bps"] == pytest.approx(299 * 1400 * 8 / sent_s, rel=1e-9)
    assert pacing["achieved_fps"] == pytest.approx(299 / sent_s, rel=1e-9)


@pytest.mark.alone
def test_a_queue_in_front_of_a_slow_link_is_in_the_latency(probe: Path, tmp_path: Path) -> None:
    """Twice as fast as the link of 20 Mb/s: the n-th frame waits for all those before it.

    The link lets a burst of two full packets through at once, and the rest at its rate; a frame
    leaves no later than the greatest send error after it is due.
    """
    count, rate_fps, payload_bytes = 60, 3200, 1472
    wire_bytes = int(ethernet.wire_bits(payload_bytes, Framing("udp"))) // 8
    with standing(probe, "direct-20m", tmp_path) as lab, lab.serving("--allow-realtime"):
        options = ("--rate", f"{rate_fps}/s", "--raw", *REALTIME, *frames(count))
        record = lab.run("udp", payload_bytes, *options)
    assert record["result"]["frames_lost"] == 0
    late_s: float = record["pacing"]["send_error_max_s"]

    def least_s(n: int) -> float:
        through_s = ((n + 1) * wire_bytes - 2 * (1500 + 38)) * 8 / 20e6
        return through_s - n / rate_fps - late_s

    short = [n for n, s in enumerate(record["raw_latency_s"]) if s < least_s(n)]
    assert short == []
    assert record["result"]["latency_max_s"] >= least_s(count - 1) > 0.01 - late_s
    assert record["result"]["latency_mean_s"] >= statistics.fmean(map(least_s, range(count)))


# --- copies, latecomers and strangers -----------------------------------------------------------


def arrivals(numbers: Sequence[int]) -> tuple[int, int, int]:
    """New ones, copies, and new ones that came after a later one: the slow clear way."""
    known: set[int] = set()
    copies = late = 0
    for number in numbers:
        copies += number in known
        late += number not in known and number < max(known, default=-1)
        known.add(number)
    return len(known), copies, late


def tampered(lab: Lab, protocol: str) -> tuple[Record, list[Seen]]:
    """A run of 270 frames that all arrived, and what somebody made of them on the way."""
    tampering = ("--again", "10", "--foreign", "50", "--early", "20", "--until", "210")
    for _ in range(TRIES):
        with lab.watching("B") as seen, lab.watching("A", *tampering):
            record = lab.run(protocol, 1000, "--rate", "1000/s", *REALTIME, *frames(270))
        if not record["result"]["frames_lost"]:
            return record, seen
        assert record["loss"]["socket_overflow"] + record["loss"]["interface_recv_dropped"]
    pytest.fail(f"in {TRIES} runs the machine never came to empty its queues in time: try again")


@pytest.mark.alone
@pytest.mark.parametrize("protocol", mostly_long(["udp", "ethernet"], ["ethernet"]))
def test_copies_latecomers_and_strangers_are_told_apart(direct: Lab, protocol: str) -> None:
    """Somebody sends frames twice, before their time, and under the name of another run."""
    record, seen = tampered(direct, protocol)
    run = seen[0].tag
    numbers = [frame.seq for frame in seen if frame.tag == run]
    new, copies, late = arrivals(numbers)
    # Each 10th twice, each 50th by a stranger, each 20th besides three numbers before its turn.
    assert (new, copies, len(seen) - len(numbers)) == (270, 21 + 11, 5)
    assert late > 0
    result = record["result"]
    assert result["frames_received"] == result["frames_sent"] == new
    assert (result["frames_duplicate"], result["frames_reordered"]) == (copies, late)
    assert (result["frames_lost"], result["loss_rate"]) == (0, 0.0)
    # Of direct Ethernet the kernel hands over the run's own frames alone.
    assert ("foreign-frames" in record["flags"]) == (protocol == "udp")


# --- frames without room for a stamp ------------------------------------------------------------


@pytest.mark.parametrize("payload_bytes", [1, STAMP_BYTES - 1, STAMP_BYTES])
@pytest.mark.parametrize("protocol", ["tcp", "udp", "ethernet", "zeromq"])
def test_frames_without_a_stamp_have_no_latency(
    direct: Lab, protocol: str, payload_bytes: int
) -> None:
    options = ("--rate", "4000/s", "--raw", *frames(200))
    record = undisturbed(lambda: direct.run(protocol, payload_bytes, *options))
    result = record["result"]
    stamped = payload_bytes >= STAMP_BYTES
    assert result["frames_sent"] == result["frames_received"] == 200
    assert (result["frames_lost"], result["loss_rate"]) == (0, 0.0)
    assert result["goodput_bps"] > 0
    assert any(name.startswith("latency") for name in result) == stamped
    for name in ("frames_duplicate", "frames_reordered"):
        assert (name in result) == stamped
    for name in ("latency_histogram", "raw_latency_s"):
        assert (name in record) == stamped
    parts = [record["steady"][part] for part in ("transient", "steady")]
    assert sum(part["frames"] for part in parts) == 200
    assert any(name.startswith("latency") for part in parts for name in part) == stamped
    assert ("latency_from_intended_mean_s" in record["pacing"]) == stamped
