"""Peers of the probe: their CPU, the search of a rate without loss, and the io_uring tool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import probe, probe_cpu, probe_lossless, probe_uring
from benchmarks.probe_contest import Round
from benchmarks.probe_cpu import Cores, Reading, Spent
from benchmarks.probe_lab import RECEIVER, SENDER, Lab, Process, ToolError, run
from benchmarks.probe_tools import TOOLS, Delivery, Question

SECOND = 1_000_000_000
HALF = Cores(0.25, 0.25)


# --- CPU --------------------------------------------------------------------------------------


def test_a_rate_is_divided_by_the_busy_cores_and_a_time_is_multiplied() -> None:
    reading = Reading(100.0, Cores(0.5, 0.75))
    assert reading.at_equal_cpu(more_is_better=True) == 80.0
    assert reading.at_equal_cpu(more_is_better=False) == 125.0


def test_the_best_at_equal_cpu_may_stay_although_it_is_far_off_the_best() -> None:
    readings = {
        "icprobe": Reading(90.0, HALF),
        "fast": Reading(100.0, Cores(1.0, 1.0)),
        "thrifty": Reading(50.0, HALF),
        "neither": Reading(50.0, Cores(1.0, 1.0)),
    }
    rounds = [Round(readings, 0.0)]
    assert probe.contenders(rounds, more_is_better=True) == {"icprobe", "fast", "thrifty"}
    equal = probe.equal_cpu(rounds, more_is_better=True)[0].results
    assert equal == {"icprobe": 180.0, "fast": 50.0, "thrifty": 100.0, "neither": 25.0}
    assert probe.cores(rounds)["fast"]["receiver"]["median"] == 1.0


def test_the_busiest_part_leaves_out_start_and_end() -> None:
    tenth = SECOND // 10
    busy = [0.0] * 3 + [1.0] * 6 + [0.2] * 3
    looks = [Spent(0, 0, 0)]
    for k, share in enumerate(busy, start=1):
        spent = int(share * tenth)
        looks.append(Spent(k * tenth, looks[-1].sender + spent, looks[-1].receiver + spent // 2))
    assert probe_cpu.busiest(looks) == Cores(1.0, 0.5)
    assert probe_cpu.busiest(looks[:4]) == Cores(0.0, 0.0)


def test_a_new_process_used_all_of_its_time_and_an_ended_one_no_more() -> None:
    assert probe_cpu.used({1: 10, 2: 50}, {1: 15, 3: 7}) == 12


def test_the_clock_of_a_process_is_its_cpu_time() -> None:
    before = time.process_time_ns()
    assert before <= probe_cpu.cpu_ns(os.getpid()) <= time.process_time_ns()


def test_the_meter_sees_processes_of_a_host_and_tells_the_result(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "none", tmp_path)
    lab.space = {SENDER: str(Path("/proc/self/ns/net").readlink()), RECEIVER: "net:[0]"}
    command = [sys.executable, "-c", "sum(range(10**7)); print('done')"]
    told, cores = probe_cpu.Meter(lab).during(lambda: run(command))
    assert told == "done\n"
    assert cores.sender > 0
    assert cores.both == cores.sender + cores.receiver


def test_only_io_uring_sends_batches_beside_icprobe(tmp_path: Path) -> None:
    tools = [kind(Lab(tmp_path / "none", tmp_path)) for kind in TOOLS]
    question = probe.QUESTIONS["udp 64 B frames"]
    assert probe.rivals(question, tools) == ["iperf3", "sockperf", "nuttcp"]
    assert probe.rivals(replace(question, batch=32), tools) == []
    assert probe.rivals(replace(question, measure="rtt/2 p99"), tools) == ["sockperf"]


# --- the greatest rate without loss -----------------------------------------------------------


def test_the_greatest_rate_without_loss_is_found_to_one_step() -> None:
    asked: list[int] = []

    def deliver(fps: int) -> tuple[Delivery, Cores]:
        asked.append(fps)
        return Delivery(fps, max(0, fps - 123_456)), HALF

    found = probe_lossless.greatest(deliver).value
    assert found <= 123_456 < found * probe_lossless.STEP * 1.001
    assert len(asked) <= 2 * 8


def test_a_sender_that_cannot_lose_is_held_to_what_arrives() -> None:
    found = probe_lossless.greatest(lambda fps: (Delivery(min(fps, 300_000), 0), HALF))
    assert found == Reading(300_000, HALF)


def test_a_loss_of_one_run_is_forgiven_and_a_loss_of_two_is_not() -> None:
    runs: dict[int, int] = {}

    def deliver(fps: int) -> tuple[Delivery, Cores]:
        runs[fps] = runs.get(fps, 0) + 1
        return Delivery(fps, 1 if runs[fps] == 1 or fps > 50_000 else 0), HALF

    assert 47_000 < probe_lossless.greatest(deliver).value <= 50_000
    with pytest.raises(ToolError, match="lost even at 1,000/s"):
        probe_lossless.greatest(lambda fps: (Delivery(fps, 1), HALF))


# --- io_uring ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def uring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return probe_uring.build(tmp_path_factory.mktemp("uring"))
    except (ToolError, OSError) as error:
        pytest.skip(f"needs gcc, liburing-dev and a kernel that allows io_uring: {error}")


@pytest.fixture(scope="module")
def served(uring: Path) -> Iterator[list[str]]:
    """Address, port and buffer size of a server on this machine."""
    to = ["127.0.0.1", str(probe_uring.Uring.port + os.getpid() % 10_000), "1048576"]
    process = Process(["sh", "-c", 'echo $$; exec "$@"', "sh", str(uring), "serve", *to])
    until = time.monotonic() + 5
    while not subprocess.run(
        ["ss", "-Htln", f"sport = :{to[1]}"], capture_output=True, check=True
    ).stdout:
        assert time.monotonic() < until, process.interrupt()
        time.sleep(0.02)
    yield to
    process.interrupt()


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_io_uring_echoes_frames(uring: Path, served: list[str], protocol: str) -> None:
    told = run((uring, "ping", *served, protocol, "64", "0.2", "0", "1"))
    median, p99 = (
        probe_uring.uring_rtt_half_s(told, Question(protocol, 64, measure))
        for measure in ("rtt/2", "rtt/2 p99")
    )
    assert 0 < median <= p99


@pytest.mark.parametrize("batch", ["1", "32"])
def test_io_uring_counts_every_frame_of_a_connection(
    uring: Path, served: list[str], batch: str
) -> None:
    told = run((uring, "stream", *served, "tcp", "64", "0.2", "0", batch))
    delivery = probe_uring.uring_delivery(told)
    assert delivery.lost == 0
    assert delivery.received_fps > 0


def test_io_uring_counts_datagrams_and_paces_them(uring: Path, served: list[str]) -> None:
    told = run((uring, "stream", *served, "udp", "64", "0.2", "1000", "1"))
    assert probe_uring.uring_delivery(told).lost == 0
    assert 0 < json.loads(told)["sent"] <= 200
    told = run((uring, "stream", *served, "udp", "64", "0.2", "0", "32"))
    assert probe_uring.uring_delivery(told).received_fps > 0


def test_io_uring_refuses_what_it_cannot_send(uring: Path, served: list[str]) -> None:
    for payload, batch in (("0", "1"), ("65537", "1"), ("64", "0"), ("64", "257")):
        with pytest.raises(ToolError, match="payload, seconds or batch"):
            run((uring, "stream", *served, "udp", payload, "0.1", "0", batch))


def test_a_peer_that_cannot_be_built_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_uring, "SOURCE", tmp_path / "none.c")
    with pytest.raises((ToolError, OSError), match="gcc"):
        probe_uring.build(tmp_path)
