"""Responders (`icprobe serve`), which end even if icmodel is killed; their keys; and the records of `icprobe run`."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from icmodel.documents import json_value
from icmodel.errors import MeasurementFailed, MeasuringError
from icmodel.probing.probe import error_line, output_of

BRIEF_S = 30.0
"""Time limit of every command of icprobe other than a run [s]."""
PATIENCE_S = 30.0
"""Time by which a run may exceed its planned time before it is killed [s]."""
DONE, FLAGGED, REFUSED = 0, 1, 2
"""Exit codes of ``icprobe run``; with the first two codes it prints a record."""
RESPONDER = (
    "exec 3<&0; {serve} & p=$!; (cat; kill $p) <&3 >/dev/null 2>&1 & c=$!; "
    "wait $p; s=$?; kill $c 2>/dev/null; exit $s"
)
"""Shell command that runs a responder, and ends it when standard input closes (`cat` waits for the end of input).

Standard input also closes if icmodel is killed.
"""
POLL_S = 0.02
MOST_OUTPUT_BYTES = 65536


def short_name(folder: Path) -> str:
    """Return a short name of a folder: eight hexadecimal digits of the hash of its path."""
    return hashlib.sha256(str(folder.resolve()).encode("utf-8")).hexdigest()[:8]


def private(folder: Path) -> Path:
    """Return the path of the private folder for the key of a measurement.

    The path depends only on the records folder, the user and the machine, so a continued measurement finds it again.
    The path is short, since the operating system limits the length of socket paths.
    """
    owner = f"{socket.gethostname()} {os.getuid()} {folder.resolve()}"
    name = hashlib.sha256(owner.encode("utf-8")).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"icmodel-{name}"


@contextmanager
def new_key(probe: Path, folder: Path) -> Iterator[Path]:
    """Make a new icprobe key in a folder that only this user can read; remove key and folder at the end.

    If a killed icmodel left a folder behind, that folder is replaced.

    Parameters
    ----------
    probe : Path
        Path of icprobe.
    folder : Path
        Folder of the records that are measured with the key.

    Raises
    ------
    MeasuringError
        If the folder of the key cannot be made.
    """
    place = private(folder)
    try:
        if place.exists():
            shutil.rmtree(place)
        place.mkdir(mode=0o700)
    except OSError as error:
        raise MeasuringError(
            f"{place} cannot be created ({error.strerror or error}): remove it, or set TMPDIR to a folder "
            "of your own"
        ) from error
    try:
        key = place / "key"
        output_of((str(probe), "key", str(key)), BRIEF_S)
        yield key
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder; the kernel releases the lock when the process ends, even if it is killed.

    Raises
    ------
    MeasuringError
        If another process holds the lock, or the folder cannot be locked.
    """
    import fcntl  # imported here: Windows has neither this module nor icprobe

    with ExitStack() as stack:
        try:
            place = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, place)
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise MeasuringError(
                f"another process is measuring into {folder}: wait until it ends, or give another "
                "folder"
            ) from error
        except OSError as error:
            raise MeasuringError(
                f"{folder} cannot be locked ({error.strerror}): give another folder"
            ) from error
        yield


def until_stdin_ends(serve: Sequence[str]) -> list[str]:
    """Make a command that runs ``serve`` (an ``icprobe serve``) until its standard input ends."""
    return ["sh", "-c", RESPONDER.format(serve=shlex.join(serve))]


@contextmanager
def responder(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start an ``icprobe serve`` process that accepts runs, and end it when the context exits.

    Raises
    ------
    MeasurementFailed
        If the process ends or does not answer in time.
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
            deadline = time.monotonic() + BRIEF_S
            # pread does not move the file position, at which the responder writes.
            while b"answers on" not in (text := os.pread(output.fileno(), MOST_OUTPUT_BYTES, 0)):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise MeasurementFailed(
                        f"`icprobe serve` does not answer ({error_line(text)}): remove the cause and "
                        "start again"
                    )
                time.sleep(POLL_S)
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(timeout=1.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()


def record_of(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """Read the record that ``icprobe run`` printed.

    Raises
    ------
    MeasurementFailed
        If the run failed or printed no record.
    """
    if done.returncode not in (DONE, FLAGGED):
        raise MeasurementFailed(
            f"`icprobe run` ended with exit code {done.returncode} ({error_line(done.stderr)}): "
            "look at the hosts and start again to continue"
        )
    try:
        record = json_value(done.stdout)
    except ValueError as error:
        raise MeasurementFailed(
            f"`icprobe run` printed no record ({error}): install the same icprobe on both hosts"
        ) from error
    if not isinstance(record, dict):
        raise MeasurementFailed(
            "`icprobe run` printed JSON that is not a record: run it by hand to see why"
        )
    return record
