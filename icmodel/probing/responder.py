"""`icprobe serve`: started, awaited and ended, also when icmodel is killed; and the records of `icprobe run`."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Self

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


class Responder:
    """An ``icprobe serve`` process, entered once it accepts runs and ended on exit."""

    def __init__(self, command: Sequence[str]) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  (closed in __exit__)
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        deadline = time.monotonic() + BRIEF_S
        while "answers on" not in self._text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                why = reason(self._text().encode("utf-8"))
                self.__exit__()
                raise MeasurementFailed(
                    f"`icprobe serve` does not answer ({why}): put that right and start again"
                )
            time.sleep(POLL_S)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()
        self._output.close()

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def _text(self) -> str:
        """All output so far, read without moving the position at which the process writes."""
        return os.pread(self._output.fileno(), MOST_OUTPUT_BYTES, 0).decode("utf-8", "replace")


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
