"""The measuring tool icprobe: find it, check it, and run its commands with a time limit.

A run needs a responder, an ``icprobe serve`` process on the other host. Both sides prove with a key that they belong to
the same measurement.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icmodel.documents import json_value
from icmodel.errors import MeasurementFailed, MeasuringError, ProbeMissing

PROBE = "icprobe"
INSTALL = (
    "install the extra icmodel[probe], which needs Rust 1.88 or newer (https://rustup.rs); in a clone "
    "of icmodel on Linux, run `make probe` or `pip install ./calibration '.[probe]'`"
)
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


@dataclass(frozen=True, slots=True)
class Probe:
    """Checked installation of icprobe: its path and version.

    ``instrument`` holds limits and resolutions measured by ``icprobe selfcheck``, in SI units.
    """

    path: Path
    version: str
    instrument: Mapping[str, float]


def find_probe() -> Path:
    """Find icprobe on PATH, in the scripts folder of this Python, or built in this checkout.

    Returns
    -------
    Path
        The first executable file in these places.

    Raises
    ------
    ProbeMissing
        If icprobe is not found. The message explains how to install icprobe.
    """
    checkout = Path(__file__).resolve().parent.parent
    places = (
        Path(shutil.which(PROBE) or ""),
        Path(sysconfig.get_path("scripts")) / PROBE,
        checkout / "calibration" / "target" / "release" / PROBE,
    )
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    raise ProbeMissing(f"the measuring tool icprobe is not installed: {INSTALL}")


def check_probe(path: Path, *, longest_s: float = 60.0) -> Probe:
    """Check an installed icprobe by running ``icprobe --version`` and ``icprobe selfcheck``.

    Parameters
    ----------
    path : Path
        Path of icprobe, as from :func:`find_probe`.
    longest_s : float
        Time limit of each command [s].

    Raises
    ------
    ProbeMissing
        If the program does not start, fails, exceeds the time limit, or is not icprobe.
    """
    name, _, version = _answer(path, "--version", longest_s).strip().partition(" ")
    if name != PROBE or not version:
        raise ProbeMissing(f"{path} does not print icprobe's version: {INSTALL}")
    try:
        found = json_value(_answer(path, "selfcheck", longest_s))
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found:
        raise ProbeMissing(f"`{path} selfcheck` prints no JSON object: {INSTALL}")
    instrument = {name: value for name, value in found.items() if type(value) in (int, float)}
    return Probe(path, version, instrument)


def _answer(path: Path, word: str, longest_s: float) -> str:
    """Run icprobe with one argument, and return its output."""
    try:
        done = subprocess.run(
            [path, word],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=longest_s,
            check=False,
        )
    except OSError as error:
        raise ProbeMissing(f"{path} does not start ({error.strerror}): {INSTALL}") from error
    except subprocess.TimeoutExpired:
        raise ProbeMissing(
            f"`{path} {word}` did not answer within {longest_s:g} s: run it by hand to see why"
        ) from None
    if done.returncode != 0:
        why = " ".join(done.stderr.split()) or "without an error message"
        raise ProbeMissing(
            f"`{path} {word}` failed with exit code {done.returncode} ({why}): run it by hand to "
            "see why"
        )
    return done.stdout


def run_to_end(
    command: Sequence[str], longest_s: float, stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end, whatever its exit code.

    On a timeout or an interrupt the command is killed with all processes that it started.

    Raises
    ------
    MeasurementFailed
        If the command does not start or takes longer than ``longest_s``.
    """
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise MeasurementFailed(
            f"`{command[0]}` does not start ({error.strerror}): install it, or name another program"
        ) from error
    try:
        out, errors = process.communicate(stdin, timeout=longest_s)
    except subprocess.TimeoutExpired:
        raise MeasurementFailed(
            f"`{' '.join(command[:6])} …` did not end within {longest_s:g} s: check that the "
            "hosts run, then repeat the command; it continues where it stopped"
        ) from None
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return subprocess.CompletedProcess(list(command), process.returncode, out, errors)


def output_of(command: Sequence[str], longest_s: float, stdin: bytes | None = None) -> str:
    """Run a command that must succeed, and return its standard output.

    Raises
    ------
    MeasurementFailed
        If the command does not start, takes longer than ``longest_s``, or its exit code is not 0.
    """
    done = run_to_end(command, longest_s, stdin)
    if done.returncode != 0:
        raise MeasurementFailed(
            f"`{' '.join(command[:6])} …` ended with exit code {done.returncode} "
            f"({error_line(done.stderr)}): remove the cause and start again to continue"
        )
    return done.stdout.decode("utf-8", "replace")


def error_line(errors: bytes) -> str:
    """Return the last line of a command's standard error, without the prefix ``icprobe:``."""
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("icprobe: ") if lines else "without an error message"


# --- responders, their keys, and records -----------------------------------------------------------


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
    """Context manager: make a new icprobe key, yield its path, and remove it when the block ends.

    The key is in a folder of its own that only this user can read. If a killed icmodel left such a folder behind, it is
    replaced.

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
    """Context manager: lock a folder; the kernel releases the lock when the process ends, even if it is killed.

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
    """Return a shell command that runs the command ``serve`` (``icprobe serve``) until standard input closes.

    Standard input also closes if the process that started the command is killed. So no responder is left running.
    """
    return ["sh", "-c", RESPONDER.format(serve=shlex.join(serve))]


@contextmanager
def responder(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Context manager: start an ``icprobe serve`` process, which accepts runs, and end it when the block ends.

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
