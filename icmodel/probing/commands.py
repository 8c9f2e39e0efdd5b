"""Commands run on this machine, with a time limit and errors of one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from icmodel.errors import MeasurementFailed


def ended(
    command: Sequence[str], longest_s: float, given: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end, whatever its exit code; ``given`` is its standard input.

    On a timeout or an interrupt the command is killed with all processes it started.

    Raises
    ------
    MeasurementFailed
        If it does not start or takes longer than ``longest_s``.
    """
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise MeasurementFailed(
            f"`{command[0]}` does not start ({error.strerror}): install it, or name another"
        ) from error
    try:
        out, errors = process.communicate(given, timeout=longest_s)
    except subprocess.TimeoutExpired:
        raise MeasurementFailed(
            f"`{' '.join(command[:6])} …` did not end within {longest_s:g} s: look at the hosts "
            "and start again to go on"
        ) from None
    finally:
        _end(process)
    return subprocess.CompletedProcess(list(command), process.returncode, out, errors)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs, and the others of its session."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def printed(command: Sequence[str], longest_s: float, given: bytes | None = None) -> str:
    """The standard output of a command that succeeds.

    Raises
    ------
    MeasurementFailed
        If it does not start, takes longer than ``longest_s`` or ends with another exit code than 0.
    """
    done = ended(command, longest_s, given)
    if done.returncode != 0:
        raise MeasurementFailed(
            f"`{' '.join(command[:6])} …` ended with exit code {done.returncode} "
            f"({reason(done.stderr)}): put that right and start again to go on"
        )
    return done.stdout.decode("utf-8", "replace")


def reason(errors: bytes) -> str:
    """The last line of a command's standard error, without the name of the command."""
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("icprobe: ") if lines else "it said nothing"
