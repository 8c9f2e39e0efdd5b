"""The measuring tool icprobe: where it stands, and whether it works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from icmodel.documents import json_value
from icmodel.errors import ProbeMissing

PROBE = "icprobe"
INSTALL = (
    "it is the extra icmodel[probe], compiled by Rust 1.88 or newer (https://rustup.rs); in a clone "
    "of icmodel, on Linux, run `make probe` or `pip install ./calibration '.[probe]'`"
)


@dataclass(frozen=True, slots=True)
class Probe:
    """A measuring tool that works: where it stands, and what it says of itself.

    ``instrument`` is what it measured of itself (``icprobe selfcheck``), in SI units.
    """

    path: Path
    version: str
    instrument: Mapping[str, float]


def find_probe() -> Path:
    """Where icprobe stands: on PATH, beside this Python, or built in this checkout.

    Returns
    -------
    Path
        The first of these that is an executable file.

    Raises
    ------
    ProbeMissing
        If there is none; the message says how to install it.
    """
    for place in _places():
        if place.is_file() and os.access(place, os.X_OK):
            return place
    raise ProbeMissing(f"the measuring tool icprobe is not installed: {INSTALL}")


def _places() -> Iterator[Path]:
    on_path = shutil.which(PROBE)
    if on_path is not None:
        yield Path(on_path)
    yield Path(sysconfig.get_path("scripts")) / PROBE
    checkout = Path(__file__).resolve().parent.parent.parent
    yield checkout / "calibration" / "target" / "release" / PROBE


def check_probe(path: Path, *, longest_s: float = 60.0) -> Probe:
    """Let an icprobe say its version and check itself.

    Parameters
    ----------
    path : Path
        The tool, as :func:`find_probe` finds it.
    longest_s : float
        A tool that has not answered by then does not work.

    Raises
    ------
    ProbeMissing
        If it does not start, fails, or answers what no icprobe answers.
    """
    name, _, version = _answer(path, "--version", longest_s).strip().partition(" ")
    if name != PROBE or not version:
        raise ProbeMissing(f"{path} is no icprobe, for it does not say its version: {INSTALL}")
    return Probe(path, version, _instrument(path, longest_s))


def _instrument(path: Path, longest_s: float) -> dict[str, float]:
    text = _answer(path, "selfcheck", longest_s)
    try:
        said = json_value(text)
    except ValueError:
        said = None
    if not isinstance(said, dict) or not said:
        raise ProbeMissing(f"`{path} selfcheck` prints no JSON object: {INSTALL}")
    return {name: value for name, value in said.items() if type(value) in (int, float)}


def _answer(path: Path, word: str, longest_s: float) -> str:
    """What the tool prints for one word."""
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
        said = " ".join(done.stderr.split()) or "it said nothing"
        raise ProbeMissing(
            f"`{path} {word}` failed with exit code {done.returncode} ({said}): run it by hand to "
            "see why"
        )
    return done.stdout
