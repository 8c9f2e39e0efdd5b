"""The CPU that icprobe reports, against the kernel's account of its processes and of their cores."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from probe_lab import REALTIME, STOOD_STILL, TRIES, Lab, standing
from probe_record import Record
from search import mostly_long

CORES = sorted(os.sched_getaffinity(0))
MODES = ("user", "system", "irq", "softirq", "steal", "guest", "idle")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def direct(probe: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with standing(probe, "direct", tmp_path_factory.mktemp("cpu")) as lab:
        yield lab


def cpu_names(record: Record) -> set[str]:
    return {name for name in record["result"] if name.startswith("cpu_")}


def needs_two_cores() -> None:
    if len(CORES) < 2:
        pytest.skip("needs two cores")


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_shared_cores_are_flagged_and_have_no_load_of_an_end(direct: Lab, protocol: str) -> None:
    """All cores for each end is more than there are on one host."""
    with direct.serving():
        options = ("--cores", str(len(CORES)), "--duration", "0.1 s")
        record = direct.run(protocol, 1000, "--rate", "2000/s", *options)
    assert "shared-cores" in record["flags"]
    assert cpu_names(record) == {"cpu_send_process_cores", "cpu_recv_process_cores"}


def test_ends_that_share_no_core_have_each_their_load(direct: Lab) -> None:
    needs_two_cores()
    with direct.serving():
        record = direct.run("udp", 1000, "--rate", "2000/s", "--duration", "0.1 s")
    assert "shared-cores" not in record["flags"]
    for side in ("send", "recv"):
        assert {f"cpu_{side}", f"cpu_{side}_user", f"cpu_{side}_steal"} <= cpu_names(record)
    windows = [record["cpu_modes"][side]["window_s"] for side in ("send", "recv")]
    assert record["result"]["cpu_quantum"] == pytest.approx(TICK_S / min(windows), rel=1e-9)


def test_every_core_was_in_one_mode_at_a_time(direct: Lab) -> None:
    with direct.serving():
        options = ("--duration", "0.15 s", "--baseline", "0.15 s")
        record = direct.run("tcp", 1448, *options)
        without = direct.run("tcp", 1448, "--duration", "0.1 s", "--baseline", "0 s")
    for side in ("send", "recv"):
        usage = record["cpu_modes"][side]
        assert usage["tick_s"] == TICK_S
        assert {core["core"] for core in usage["cores"]} >= set(CORES)
        assert usage["baseline"]["window_s"] >= 0.15
        for core in usage["cores"] + usage["baseline"]["cores"]:
            assert sum(core[mode] for mode in MODES) == pytest.approx(1, abs=1e-9)
    assert not [side for side, usage in without["cpu_modes"].items() if "baseline" in usage]


TRAFFIC = {
    "a sender that waits actively": ("--rate", "5000/s"),
    "unlimited": (),
}


@pytest.mark.alone
@pytest.mark.parametrize("traffic", mostly_long(TRAFFIC, ["unlimited"]))
@pytest.mark.parametrize("direction", [(), ("--reverse",)], ids=["there", "back"])
def test_counters_are_read_at_the_edges_of_the_window(
    direct: Lab, traffic: str, direction: tuple[str, ...]
) -> None:
    """Also where the data threads leave others no time: no later than a tick of the counters."""
    needs_two_cores()
    options = (
        *TRAFFIC[traffic],
        "--duration",
        "0.4 s",
        "--warmup",
        "200 ms",
        *direction,
        *REALTIME,
    )
    apart = []
    with direct.serving("--allow-realtime"):
        for _ in range(TRIES):
            record = direct.run("udp", 1000, *options)
            windows = [record["cpu_modes"][side]["window_s"] for side in ("send", "recv")]
            apart.append(max(abs(window_s - 0.4) for window_s in windows))
            if apart[-1] <= TICK_S:
                return
            assert STOOD_STILL & set(record["flags"]), f"the counters' windows are {windows} s"
    pytest.fail(f"the machine stood still in each of {TRIES} runs, {apart}: try when it is quiet")


@pytest.mark.alone
def test_a_busy_host_is_told_of(direct: Lab) -> None:
    """Somebody else keeps the responder's core busy: one flag says so."""
    hog = subprocess.Popen(["taskset", "-c", str(CORES[-1]), "sh", "-c", "while :; do :; done"])
    try:
        with direct.serving():
            options = ("--baseline", "0.4 s", "--duration", "0.2 s")
            record = direct.run("udp", 1000, "--rate", "1000/s", *options)
    finally:
        hog.kill()
        hog.wait()
    assert "busy-host" in record["flags"]


# --- against the kernel's account of both processes ----------------------------------------------


def process_s(process: int) -> float:
    """CPU time of a process, its threads that have ended included."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def billed(lab: Lab, protocol: str, *options: str) -> tuple[Record, float]:
    """A run, and what the kernel charged the responder for it, in s of CPU."""
    with lab.serving() as responder:
        before_s = process_s(responder.process)
        record = lab.run(protocol, 1448, "--warmup", "0 s", *options)
        return record, process_s(responder.process) - before_s


def reported_s(record: Record, side: str) -> float:
    """What the threads of an end used inside the window, waiting for the schedule included."""
    cores: float = record["result"][f"cpu_{side}_process_cores"]
    if side == "send" and "pacing" in record:
        cores += record["pacing"]["spin_cores"]
    window_s: float = record["cpu_modes"][side]["window_s"]
    return cores * window_s


BILLS = [
    ("recv", "tcp", ()),
    ("recv", "zeromq", ()),
    ("send", "udp", ("--reverse",)),
    ("send", "udp", ("--reverse", "--rate", "5000/s")),
]


@pytest.mark.alone
@pytest.mark.parametrize(("side", "protocol", "options"), mostly_long(BILLS, BILLS[::2]))
def test_an_end_reports_the_time_that_the_kernel_charged(
    direct: Lab, side: str, protocol: str, options: tuple[str, ...]
) -> None:
    """Of a process that does little but the run: never more, and less only by what a run is besides.

    That is what a run of two frames costs; a tick is the unit of the kernel's account.
    """
    _, rest_s = billed(direct, protocol, *options, "--frames", "2")
    record, bill_s = billed(direct, protocol, *options, "--duration", "0.5 s")
    assert reported_s(record, side) <= bill_s + TICK_S
    assert reported_s(record, side) >= 0.9 * (bill_s - rest_s) - 2 * TICK_S
