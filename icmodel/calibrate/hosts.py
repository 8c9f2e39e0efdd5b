"""Two hosts as a system: `icprobe serve` on B, and `icprobe run` on A for every run."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from icmodel.calibrate.commands import ended, printed, reason
from icmodel.calibrate.pair import BRIEF_S, Pair
from icmodel.calibrate.run import Record, Run
from icmodel.calibrate.settings import Settings
from icmodel.calibrate.system import Refused
from icmodel.documents import json_value
from icmodel.errors import CalibrationError, MeasurementFailed

DONE, FLAGGED, REFUSED = 0, 1, 2
"""Exit codes of ``icprobe run``; with the first two it prints a record."""
POLL_S = 0.02
MOST_OUTPUT_BYTES = 65536
PATIENCE_S = 30.0
"""Time that a run may take beyond its cost before it is killed."""


class Hosts:
    """A system of two hosts.

    Parameters
    ----------
    probe : Path
        The icprobe of this machine.
    pair : Pair
        The two hosts.
    settings : Settings
        The times of a run.
    folder : Path
        Folder of the calibration; a key left behind by a killed calibration is replaced.
    """

    def __init__(self, probe: Path, pair: Pair, settings: Settings, folder: Path) -> None:
        self.description = pair.description
        self._probe = probe
        self._pair = pair
        self._folder = folder
        self._stack = ExitStack()
        self._times = (
            *("--duration", f"{settings.timing.window_s:g} s"),
            *("--warmup", f"{settings.timing.warmup_s:g} s"),
            *("--baseline", f"{settings.timing.baseline_s:g} s"),
        )
        self._longest_s = settings.timing.cost_s + PATIENCE_S
        self._responder: _Responder | None = None

    def _answers(self) -> bool:
        return self._responder is not None and self._responder.alive

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        """Run icprobe once; a run that it rejects is refused, provided the responder still runs."""
        done = ended(self._pair.asking((*run.words(), *self._times)), self._longest_s)
        if done.returncode == REFUSED and self._answers():
            return Refused(reason(done.stderr))
        if done.returncode not in (DONE, FLAGGED):
            raise MeasurementFailed(
                f"`icprobe run` ended with exit code {done.returncode} ({reason(done.stderr)}): "
                "look at the hosts and start again to go on"
            )
        return _record(done.stdout)

    # --- coming and going ---------------------------------------------------------------------

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            key = stack.enter_context(_made_anew(private(self._folder))) / "key"
            printed((str(self._probe), "key", str(key)), BRIEF_S)
            self._pair.up(key)
            stack.callback(self._pair.down)
            self._responder = stack.enter_context(_Responder(self._pair.answering()))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()


def private(folder: Path) -> Path:
    """The folder of a calibration's key, unique to the calibration's folder, user and machine.

    A calibration that goes on has the same one.  The path is short, as paths of sockets must be.
    """
    whose = f"{socket.gethostname()} {os.getuid()} {folder.resolve()}"
    name = hashlib.sha256(whose.encode("utf-8")).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"icmodel-{name}"


@contextmanager
def _made_anew(place: Path) -> Iterator[Path]:
    """A new empty folder that only this user can read, removed at the end."""
    try:
        if place.exists():
            shutil.rmtree(place)
        place.mkdir(mode=0o700)
    except OSError as error:
        raise CalibrationError(
            f"{place} cannot be made anew ({error.strerror or error}): remove it, or set TMPDIR to a folder "
            "of your own"
        ) from error
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


class _Responder:
    """An ``icprobe serve`` process, entered once it accepts runs and ended on exit."""

    def __init__(self, command: list[str]) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  (closed in __exit__)
        self._process = subprocess.Popen(
            command,
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


def _record(output: bytes) -> dict[str, Any]:
    try:
        record = json_value(output)
    except ValueError as error:
        raise MeasurementFailed(
            f"`icprobe run` printed no record ({error}): is the icprobe of both hosts the same?"
        ) from error
    if not isinstance(record, dict):
        raise MeasurementFailed("`icprobe run` printed no record: look at it by hand")
    return record
