"""The loss that icprobe reports, against rules that drop every n-th packet and count what they drop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from probe_lab import REALTIME, TRIES, Lab, frames, standing
from probe_record import Record
from search import mostly_long

FRAMES = {10: 500, 100: 1000, 1000: 2000}
"""Multiples: the last frame of a run is one that the rule drops, and nothing comes after it."""
SEGMENT_BYTES = 1448
ZEROMQ_BYTES = 1400


def lost(record: Record) -> int:
    """Frames that never arrived, which all parts of a record must agree on."""
    result, loss = record["result"], record["loss"]
    assert loss["run_frames_sent"] == result["frames_sent"]
    assert loss["run_frames_received"] == result["frames_received"]
    assert result["frames_duplicate"] == result["frames_reordered"] == 0
    count: int = result["frames_lost"]
    assert count == result["frames_sent"] - result["frames_received"]
    assert result["loss_rate"] == count / result["frames_sent"]
    return count


def loses(lab: Lab, protocol: str, payload_bytes: int, *options: str) -> tuple[Record, int]:
    """A record of a run in which no queue ran over, and what the rule dropped meanwhile.

    On a machine that stands still queues run over, which is a loss of its own.
    """
    for _ in range(TRIES):
        before = lab.dropped()
        record = lab.run(protocol, payload_bytes, "--rate", "5000/s", *REALTIME, *options)
        dropped = lab.dropped() - before
        loss = record["loss"]
        missing = loss["run_frames_sent"] - loss["run_frames_received"]
        assert loss["send_errors"] == 0
        others = loss["socket_overflow"] + loss["interface_recv_dropped"]
        assert missing == dropped + others, "each is counted where it was lost"
        if others == 0:
            return record, dropped
    pytest.fail(f"in {TRIES} runs the machine never came to empty its queues in time: try again")


@pytest.mark.parametrize(
    ("protocol", "payload_bytes", "every"),
    mostly_long(
        [("udp", 1472, 10), ("udp", 1472, 1000), ("ethernet", 1500, 10), ("ethernet", 1500, 100)],
        [("udp", 1472, 1000), ("ethernet", 1500, 10)],
    ),
)
def test_what_is_lost_is_what_the_rule_dropped(
    probe: Path, tmp_path: Path, protocol: str, payload_bytes: int, every: int
) -> None:
    topology = f"loss-{protocol}-{every}"
    with standing(probe, topology, tmp_path) as lab, lab.serving("--allow-realtime"):
        record, dropped = loses(lab, protocol, payload_bytes, *frames(FRAMES[every]))
        assert dropped == FRAMES[every] // every
        assert lost(record) == dropped
        assert record["result"]["frames_sent"] == FRAMES[every]


@pytest.mark.parametrize(
    ("protocol", "payload_bytes"), mostly_long([("udp", 64), ("ethernet", 64)], [("udp", 64)])
)
def test_the_streams_of_a_run_lose_together_what_the_rule_dropped(
    probe: Path, tmp_path: Path, protocol: str, payload_bytes: int
) -> None:
    with (
        standing(probe, f"loss-{protocol}-10", tmp_path) as lab,
        lab.serving("--allow-realtime"),
    ):
        record, dropped = loses(lab, protocol, payload_bytes, "--streams", "4", *frames(603))
        assert (lost(record), dropped) == (60, 60)


@pytest.mark.parametrize("protocol", mostly_long(["udp", "ethernet"], ["ethernet"]))
def test_a_window_inside_a_run_loses_its_part(probe: Path, tmp_path: Path, protocol: str) -> None:
    topology = f"loss-{protocol}-100"
    with standing(probe, topology, tmp_path) as lab, lab.serving("--allow-realtime"):
        record, dropped = loses(lab, protocol, 1000, "--duration", "0.3 s")
        loss, result = record["loss"], record["result"]
        assert loss["run_frames_sent"] > result["frames_sent"], "warm-up and tail are no window"
        assert loss["run_frames_sent"] - loss["run_frames_received"] == dropped
        # Of n frames in a row a rule for every 100th takes n/100, up or down.
        assert result["frames_lost"] - result["frames_sent"] // 100 in (0, 1)


def test_nothing_is_lost_against_the_direction_of_the_rule(probe: Path, tmp_path: Path) -> None:
    with (
        standing(probe, "loss-udp-10", tmp_path) as lab,
        lab.serving("--allow-realtime"),
    ):
        record, dropped = loses(lab, "udp", 1472, "--reverse", *frames(500))
        assert (lost(record), dropped) == (0, 0)


def hit(count: int, packets: int, every: int) -> int:
    """How many of the frames, each so many packets in a row, lose at least one of every n-th packet."""
    dropped = range(every - 1, count * packets, every)
    return len({place // packets for place in dropped})


# Payload of the frame, the packets it becomes, and how many of these the rules count: those of at
# least 64 B above the Ethernet header, which the last one of a frame of 1473 B is not.
FRAGMENTED = [(4000, 3, 3, 10), (1473, 2, 1, 10), (2952, 2, 2, 100), (65507, 45, 45, 1000)]


@pytest.mark.parametrize(
    ("payload_bytes", "packets", "counted", "every"), mostly_long(FRAGMENTED, FRAGMENTED[1::2])
)
def test_a_frame_is_lost_with_any_of_its_fragments(
    probe: Path, tmp_path: Path, payload_bytes: int, packets: int, counted: int, every: int
) -> None:
    count = 200
    for _ in range(TRIES):
        with (
            standing(probe, f"loss-udp-{every}", tmp_path) as lab,
            lab.serving("--allow-realtime"),
        ):
            record = lab.run("udp", payload_bytes, "--rate", "1000/s", *REALTIME, *frames(count))
            dropped = lab.dropped()
        loss = record["loss"]
        if loss["interface_recv_dropped"] or loss["socket_overflow"]:
            continue
        assert dropped == count * counted // every
        assert lost(record) == hit(count, counted, every)
        others = record["interface"]["send"]["run"]["tx_packets"] - count * packets
        assert 0 <= others < count, "the packets besides are those of the control connection"
        return
    pytest.fail(f"in {TRIES} runs the machine never came to empty its queues in time: try again")


def raw(record: Record) -> Sequence[float]:
    latencies: list[float] = record["raw_latency_s"]
    assert len(latencies) == record["result"]["frames_received"]
    return latencies


@pytest.mark.parametrize(
    ("protocol", "payload_bytes"), [("tcp", SEGMENT_BYTES), ("zeromq", ZEROMQ_BYTES)]
)
def test_a_layer_that_repeats_loses_nothing_and_the_latency_tells(
    probe: Path, tmp_path: Path, protocol: str, payload_bytes: int
) -> None:
    """Each frame is a segment of its own. That one is missing nobody can tell before the next.

    A frame leaves no earlier than it is due, and no later than the greatest send error; so the
    next leaves at least a period less that error after it, and the lost one arrives after that.
    """
    period_s = 0.0025
    with standing(probe, "loss-tcp-100", tmp_path) as lab, lab.serving("--allow-realtime"):
        options = ("--rate", "400/s", "--raw", *REALTIME, *frames(320))
        record = lab.run(protocol, payload_bytes, *options)
        dropped = lab.dropped()
        assert dropped >= 3
        assert lost(record) == 0
        late_s = period_s - record["pacing"]["send_error_max_s"]
        assert sum(latency >= late_s for latency in raw(record)) >= dropped
        assert record["result"]["latency_p999_s"] >= late_s
