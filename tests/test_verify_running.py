"""A system built in real namespaces: run, interrupted, continued, and torn down."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import clean_environment
from icmodel.cli import main
from icmodel.fold import read_records
from icmodel.probing.probe import output_of, run_to_end
from icmodel.probing.responder import short_name
from icmodel.system import load
from icmodel.verify.running import Times, overlap_ratio, stream_arguments
from verify_case import DATASET

SHORT = ("--dataset", str(DATASET), "--scale", "5", "--window", "0.5 s", "--warmup", "0.6 s")


@pytest.fixture
def lab(probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The icprobe, where test networks can be built; the first that is found."""
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
    monkeypatch.setattr("icmodel.probing.probe._places", lambda: iter(()))
    assert main(("verify", "lab-two-senders", "-o", str(tmp_path / "two"), *SHORT)) == 2
    assert "icprobe is not installed" in capsys.readouterr().err


# --- without a network ------------------------------------------------------------------------


def test_stream_arguments_describe_the_traffic() -> None:
    system = load("lab-priorities")
    said = stream_arguments(system, system.streams["urgent"])
    pairs = dict(zip(said[::2], said[1::2], strict=True))
    assert pairs["--dscp"] == "40"
    assert pairs["--endpoints"] == "3"
    assert "--other-goodput" not in pairs  # one of them asks for all there is
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
        ([(0.0, 4.5), (1.2, 5.7)], 0.5),  # 0.5 s beyond each of both
        ([(0.0, 4.5), (9.0, 13.5)], 0.0),
        ([(0.0, 6.2), (0.0, 4.2)], 0.0),
    ],
)
def test_the_overlap_counts_only_certain_traffic(
    spans: list[tuple[float, float]], ratio: float
) -> None:
    assert overlap_ratio(spans, Times(2.0, 1.0, 1.0)) == pytest.approx(ratio)
