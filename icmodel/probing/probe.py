"""The measuring tool icprobe: find it, check it, and run its commands with a time limit."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from icmodel.documents import json_value
from icmodel.errors import MeasurementFailed, ProbeMissing

PROBE = "icprobe"
INSTALL = (
    "install the extra icmodel[probe], which needs Rust 1.88 or newer (https://rustup.rs); in a clone "
    "of icmodel on Linux, run `make probe` or `pip install ./calibration '.[probe]'`"
)


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
    checkout = Path(__file__).resolve().parent.parent.parent
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
    """Check an icprobe by running its ``--version`` and ``selfcheck``.

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
