"""`icprobe serve`: started, awaited and ended, also when icmodel is killed; and the records of `icprobe run`."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from icmodel.documents import json_value
from icmodel.errors import MeasurementFailed
from icmodel.probing.commands import reason

BRIEF_S = 30.0
"""Time limit of every command but a run."""
PATIENCE_S = 30.0
"""Time that a run may take beyond its own before it is killed."""
DONE, FLAGGED, REFUSED = 0, 1, 2
"""Exit codes of ``icprobe run``; with the first two it prints a record."""
RESPONDER = (
    "exec 3<&0; {serve} & p=$!; (cat; kill $p) <&3 >/dev/null 2>&1 & c=$!; "
    "wait $p; s=$?; kill $c 2>/dev/null; exit $s"
)
"""Runs the responder until standard input ends, which `cat` waits for: also when icmodel is killed."""
POLL_S = 0.02
MOST_OUTPUT_BYTES = 65536


def until_told(serve: Sequence[str]) -> list[str]:
    """The command that runs ``icprobe serve``, given as ``serve``, until its standard input ends."""
    return ["sh", "-c", RESPONDER.format(serve=shlex.join(serve))]


@contextmanager
def responder(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """An ``icprobe serve`` process that accepts runs, ended with the context.

    Raises
    ------
    MeasurementFailed
        If it ends, or does not answer in time.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            _await(process, output.fileno())
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(timeout=1.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()


def _await(process: subprocess.Popen[bytes], output: int) -> None:
    """Wait until the responder answers; its output is read without moving where it writes."""
    deadline = time.monotonic() + BRIEF_S
    while b"answers on" not in (told := os.pread(output, MOST_OUTPUT_BYTES, 0)):
        if process.poll() is not None or time.monotonic() > deadline:
            raise MeasurementFailed(
                f"`icprobe serve` does not answer ({reason(told)}): put that right and start again"
            )
        time.sleep(POLL_S)


def record_of(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The record that ``icprobe run`` printed.

    Raises
    ------
    MeasurementFailed
        If it failed, or what it printed is no record.
    """
    if done.returncode not in (DONE, FLAGGED):
        raise MeasurementFailed(
            f"`icprobe run` ended with exit code {done.returncode} ({reason(done.stderr)}): "
            "look at the hosts and start again to go on"
        )
    try:
        record = json_value(done.stdout)
    except ValueError as error:
        raise MeasurementFailed(
            f"`icprobe run` printed no record ({error}): is the icprobe of both hosts the same?"
        ) from error
    if not isinstance(record, dict):
        raise MeasurementFailed("`icprobe run` printed no record: look at it by hand")
    return record
