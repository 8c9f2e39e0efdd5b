"""Systems built in real namespaces: run, interrupted, continued and torn down."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import clean_environment
from icmodel.cli import main
from icmodel.fold import read_records
from icmodel.probing import output_of, run_to_end, short_name
from icmodel.system import (
    DeficitRoundRobin,
    Scheduler,
    StrictPriority,
    System,
    WeightedRoundRobin,
    load,
)
from icmodel.verify.lab_system import lab_system
from icmodel.verify.running import (
    LEAST_CLASS_BPS,
    Times,
    code_point,
    overlap_ratio,
    stream_arguments,
    topology,
)
from verify_case import DATASET

SHORT = ("--dataset", str(DATASET), "--scale", "5", "--window", "0.5 s", "--warmup", "0.6 s")


@pytest.fixture
def lab(probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Path of the first icprobe found, if test networks can be built."""
    name = f"try-{os.getpid()}"
    up = run_to_end((str(probe), "lab", "up", "direct", "--as", name), 30.0)
    if up.returncode == 2:
        pytest.skip(f"needs a test network: {up.stderr.decode()}")
    run_to_end((str(probe), "lab", "down", name), 30.0)
    monkeypatch.setenv("PATH", f"{probe.parent}:{os.environ['PATH']}")
    return probe


def networks(probe: Path) -> set[str]:
    return {one["name"] for one in json.loads(output_of((str(probe), "lab", "list"), 30.0))["up"]}


@pytest.mark.alone
def test_a_system_is_run_and_compared(
    lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "chain"
    asked = ("verify", "lab-chain", "-o", str(folder), *SHORT, "--repeats", "1", "--json")
    code = main(asked)
    found = json.loads(capsys.readouterr().out)
    assert code == (0 if found["verdict"] == "agrees" else 1)
    assert sum(one["counts"] for one in found["passes"]) == 1
    for stream in found["streams"].values():
        assert stream["goodput_bps"]["ratio"] == pytest.approx(1.0, rel=0.2)
        bound = stream["latency_max_s"]
        assert bound["bound"] > 0.005  # a frame of 16 KiB alone takes longer
        assert (bound["held"] is None) == (bound["passes_stolen"] == 1)
    records = read_records([folder / "pass-001.jsonl"]).records
    assert {one.point["stream"] for one in records} == {"through", "beside", "joining"}
    assert {one.point["endpoints"] for one in records} == {1, 2}
    assert f"verify-{short_name(folder)}" not in networks(lab)
    again = main((*asked[:-3], "--repeats", "1"))  # nothing is measured again
    assert again == code
    assert sorted(folder.glob("pass-*")) == [folder / "pass-001.jsonl"]


def test_an_interruption_leaves_whole_passes_and_no_network(lab: Path, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    command = (sys.executable, "-m", "icmodel", "verify", "lab-two-senders", "-o", str(folder))
    running = subprocess.Popen(
        (*command, *SHORT, "--repeats", "50"),
        env={**clean_environment(), "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60.0
    while not (folder / "pass-001.jsonl").exists():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.5)  # into the second pass
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in said
    assert "continue in" in said
    assert f"verify-{short_name(folder)}" not in networks(lab)
    done = len(list(folder.glob("pass-*")))
    assert main((*command[3:], *SHORT, "--repeats", str(done + 1))) in (0, 1)
    assert len(list(folder.glob("pass-*"))) >= done + 1


def test_a_missing_right_to_make_networks_is_reported(
    lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = tmp_path / "bin" / "icprobe"
    stub.parent.mkdir()
    stub.write_text(
        f'#!/bin/sh\n[ "$2" = up ] && exec setpriv --reuid 65534 --clear-groups {lab} "$@"\nexec {lab} "$@"\n',
        encoding="utf-8",
    )
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}:{os.environ['PATH']}")
    code = main(("verify", "lab-two-senders", "-o", str(tmp_path / "two"), *SHORT))
    said = capsys.readouterr().err.strip()
    assert code == 3
    assert len(said.splitlines()) == 1
    assert "root" in said


def test_a_missing_icprobe_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("icmodel.probing.PROBE", "no-such-probe")
    assert main(("verify", "lab-two-senders", "-o", str(tmp_path / "two"), *SHORT)) == 2
    assert "icprobe is not installed" in capsys.readouterr().err


# --- without a network ------------------------------------------------------------------------


def test_stream_arguments_describe_the_traffic() -> None:
    system = load("lab-priorities")
    said = stream_arguments(system, system.streams["urgent"])
    pairs = dict(zip(said[::2], said[1::2], strict=True))
    assert pairs["--dscp"] == "40"
    assert pairs["--endpoints"] == "3"
    assert "--other-goodput" not in pairs  # one of them has an unlimited rate
    assert float(pairs["--rate"].removesuffix("/s")) == pytest.approx(23.3e6 / 8 / 16384)
    other = dict(zip(*[iter(stream_arguments(system, system.streams["other"]))] * 2, strict=True))
    assert "--rate" not in other
    assert "--dscp" not in other
    assert other["--other-goodput"] == "41200000 b/s"


@pytest.mark.parametrize(
    ("spans", "ratio"),
    [
        ([(0.0, 4.5), (0.0, 4.5)], 1.0),  # 0.3 s beside the traffic: warm-up and tail cover them
        ([(0.0, 4.5), (0.5, 5.0)], 1.0),
        ([(0.0, 4.5), (1.2, 5.7)], 0.75),  # 0.5 s of one end of each window
        ([(0.0, 4.5), (9.0, 13.5)], 0.0),
        ([(0.0, 6.2), (0.0, 4.2)], 0.5),
        ([(0.0, 4.2), (1.2, 5.4), (2.4, 6.6)], 0.3),  # 1.4 s of the first and of the last window
    ],
)
def test_the_overlap_counts_only_certain_traffic(
    spans: list[tuple[float, float]], ratio: float
) -> None:
    assert overlap_ratio(spans, Times(2.0, 1.0, 1.0)) == pytest.approx(ratio)


# --- the topology of a lab system, as icprobe reads it --------------------------------------------


def lab_copy(name: str, slower: float = 1.0, members: int | None = None) -> System:
    return lab_system(load(name), slower=slower, members=members, dataset="lab-1g-2026").system


def document(system: System) -> dict[str, Any]:
    return tomllib.loads(topology(system).text)


def scheduled(scheduler: Scheduler) -> list[dict[str, Any]]:
    """Classes of the port to B with this scheduler."""
    system = lab_copy("lab-priorities")
    port = replace(system.ports["S->B"], scheduler=scheduler)
    found: list[dict[str, Any]] = document(replace(system, ports={**system.ports, "S->B": port}))[
        "classes"
    ]
    return found


def test_links_have_the_rate_of_the_lab_system() -> None:
    found = document(lab_copy("lab-chain", 5.0))
    assert found["hosts"] == ["A", "B", "C", "D", "E"]
    assert found["switches"] == ["S", "T"]
    assert {one["rate"] for one in found["links"]} == {"20000000 b/s"}
    assert "classes" not in found


def test_strict_priority_guarantees_the_least_rate_and_borrows_in_order() -> None:
    urgent, other = scheduled(StrictPriority())
    assert urgent["dscp"] == [code_point(5)]
    assert other["dscp"] == []
    assert urgent["rate"] == other["rate"] == f"{LEAST_CLASS_BPS:.0f} b/s"
    assert urgent["ceil"] == "100000000 b/s"
    assert urgent["priority"] < other["priority"]


def test_round_robin_weights_become_guaranteed_rates() -> None:
    by_bytes = scheduled(DeficitRoundRobin(quanta_bytes={5: 3000, 0: 1000}))
    assert [one["rate"] for one in by_bytes] == ["75000000 b/s", "25000000 b/s"]
    by_frames = scheduled(WeightedRoundRobin(weights={5: 1, 0: 1}))
    assert [one["rate"] for one in by_frames] == ["50000000 b/s", "50000000 b/s"]
    assert {one["priority"] for one in by_frames} == {0}


def test_an_empty_default_class_gets_the_least_rate() -> None:
    classes = scheduled(DeficitRoundRobin(quanta_bytes={5: 3000}))
    assert classes[1]["rate"] == f"{LEAST_CLASS_BPS:.0f} b/s"
    assert classes[0]["rate"] == f"{1e8 - LEAST_CLASS_BPS:.0f} b/s"


def test_names_that_the_lab_refuses_are_numbered() -> None:
    system = lab_copy("industrial-line", members=1)
    built = topology(system)
    names = list(built.nodes.values())
    assert len(set(names)) == len(names)
    assert all(len(name) <= 12 and "-" not in name for name in names)


@pytest.mark.parametrize("name", ["lab-chain", "lab-priorities", "lab-six-streams", "lab-direct"])
def test_icprobe_reads_the_topology(name: str, probe: Path, tmp_path: Path) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(topology(lab_copy(name)).text, encoding="utf-8")
    shown = json.loads(output_of((str(probe), "lab", "show", str(file)), 30.0))
    assert shown["line_rate_bps"] == min(one.rate_bps for one in lab_copy(name).links.values())
