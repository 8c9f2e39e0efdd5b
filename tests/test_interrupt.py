"""Ctrl-C at any moment: no traceback, and the exit code of an interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import checkout
from conftest import clean_environment
from search import mostly_long

UP = """
import sys
from icmodel.__main__ import exit_quietly_on_interrupt, main
exit_quietly_on_interrupt()  # what comes before is Python's own start
print("up", flush=True)
sys.exit(main())
"""
SHORT = ("predict", "--payload", "64 B")
LONG = (
    "sweep",
    "--payload",
    "64 B..65535 B:400",
    "--cores",
    "1..4",
    "--variant",
    "hybrid",
    "--json",
)
INTERRUPTED = 130
ENVIRONMENT = {**clean_environment(), "PYTHONPATH": str(checkout.ROOT), "ICMODEL_CACHE": ""}
"""Where the sweep has its fits to make itself."""
DELAYS_S = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8)


def heard() -> None:
    """Undo that a shell lets what it starts in the background ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(
    command: tuple[str, ...], folder: Path, *, own_session: bool = False
) -> subprocess.Popen[str]:
    """Start a command, and wait until its process is up."""
    running = subprocess.Popen(
        [sys.executable, "-c", UP, *command],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heard,
        start_new_session=own_session,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "up\n"
    return running


def interrupted(command: tuple[str, ...], delay_s: float, folder: Path) -> tuple[int, str]:
    """Exit code and standard error of a command that Ctrl-C reaches after so many seconds."""
    running = started(command, folder)
    time.sleep(delay_s)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    return running.returncode, said


@pytest.mark.parametrize("delay_s", mostly_long(DELAYS_S, DELAYS_S[::3]))
@pytest.mark.parametrize("command", [SHORT, LONG])
def test_an_interruption_is_quiet_at_any_moment(
    command: tuple[str, ...], delay_s: float, tmp_path: Path
) -> None:
    code, said = interrupted(command, delay_s, tmp_path)
    assert "Traceback" not in said
    assert "KeyboardInterrupt" not in said
    assert "defect" not in said
    assert code in (0, INTERRUPTED), said  # 0: it was done already
    if delay_s == 0.0:
        assert code == INTERRUPTED


@pytest.mark.parametrize("delay_s", mostly_long((0.4, 0.6, 0.8, 1.0, 1.4, 2.0), (0.8,)))
def test_worker_processes_end_quietly_with_the_command(delay_s: float, tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to all processes of a command, also to those that still start."""
    command = ("validate", "ethernet-1g-2010", "--workers", "2")
    running = started(command, tmp_path, own_session=True)
    time.sleep(delay_s)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert (running.returncode, said) == (INTERRUPTED, "")


def test_an_interrupted_sweep_into_a_file_says_that_it_can_be_continued(tmp_path: Path) -> None:
    size = ("--payload", "64 B..65535 B:4000", "--rate", "1/s..9000/s:2000")
    running = started(("sweep", *size, "--variant", "corrected", "-o", "grid.zarr"), tmp_path)
    while running.poll() is None and not (tmp_path / "grid.zarr.progress").exists():
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == INTERRUPTED
    advice = "repeat the command to continue in grid.zarr"
    assert said == f"icmodel: interrupted: {advice}\n"


def test_two_interruptions_are_as_quiet_as_one(tmp_path: Path) -> None:
    for delay_s in DELAYS_S[:8]:
        running = subprocess.Popen(
            [sys.executable, "-c", UP, *LONG],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heard,
        )
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(delay_s)
        for _ in range(3):
            running.send_signal(signal.SIGINT)
            time.sleep(0.002)
        _, said = running.communicate(timeout=60)
        assert (running.returncode, said.strip()) == (INTERRUPTED, "")


def test_an_interruption_that_python_cannot_raise_comes_a_moment_later(tmp_path: Path) -> None:
    script = """
import signal, sys, time, types
class Dying:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def command():
    Dying()
    time.sleep(30)
    return 0
sys.modules["icmodel.cli"] = types.SimpleNamespace(main=command)
from icmodel.__main__ import main
sys.exit(main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=20,
        preexec_fn=heard,
    )
    assert (ended.returncode, ended.stderr) == (INTERRUPTED, "")


def test_a_command_started_to_ignore_interrupts_goes_on(tmp_path: Path) -> None:
    script = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{UP}"
    running = subprocess.Popen(
        [sys.executable, "-c", script, *SHORT],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    running.stdout.readline()
    running.send_signal(signal.SIGINT)
    shown, said = running.communicate(timeout=60)
    assert (running.returncode, said) == (0, "")
    assert "goodput" in shown
