"""Commands: run one on this machine, and say in one sentence how it failed."""

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
    """A command that has ended by itself; one that may not is ended with all it started.

    Raises
    ------
    MeasurementFailed
        If it does not start or takes longer.
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
        out, said = process.communicate(given, timeout=longest_s)
    except subprocess.TimeoutExpired:
        raise MeasurementFailed(
            f"`{' '.join(command[:6])} …` did not end within {longest_s:g} s: look at the hosts "
            "and start again to go on"
        ) from None
    finally:
        _end(process)
    return subprocess.CompletedProcess(list(command), process.returncode, out, said)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, and the others of its session."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def printed(command: Sequence[str], longest_s: float, given: bytes | None = None) -> str:
    """What a command prints that ends well.

    Raises
    ------
    MeasurementFailed
        If it fails.
    """
    done = ended(command, longest_s, given)
    if done.returncode != 0:
        raise MeasurementFailed(
            f"`{' '.join(command[:6])} …` ended with exit code {done.returncode} "
            f"({reason(done.stderr)}): put that right and start again to go on"
        )
    return done.stdout.decode("utf-8", "replace")


def reason(said: bytes) -> str:
    """The last line of what a command said, without its own name."""
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("icprobe: ") if lines else "it said nothing"
