"""The key of a responder, in a folder of its own that only this user can read."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from icmodel.errors import MeasuringError
from icmodel.probing.commands import printed
from icmodel.probing.responder import BRIEF_S


def short_name(folder: Path) -> str:
    """Eight hexadecimal digits that are the same for the same folder of this machine."""
    return hashlib.sha256(str(folder.resolve()).encode("utf-8")).hexdigest()[:8]


def private(folder: Path) -> Path:
    """The folder of a key, unique to the folder of the records, user and machine.

    Measuring that goes on has the same one.  The path is short, as paths of sockets must be.
    """
    whose = f"{socket.gethostname()} {os.getuid()} {folder.resolve()}"
    name = hashlib.sha256(whose.encode("utf-8")).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"icmodel-{name}"


@contextmanager
def new_key(probe: Path, folder: Path) -> Iterator[Path]:
    """A key that icprobe made, in a new folder that only this user can read; both are removed at the end.

    What a killed icmodel left behind there is replaced.

    Parameters
    ----------
    probe : Path
        The icprobe that makes it.
    folder : Path
        Of the records that are measured with it.
    """
    place = private(folder)
    try:
        if place.exists():
            shutil.rmtree(place)
        place.mkdir(mode=0o700)
    except OSError as error:
        raise MeasuringError(
            f"{place} cannot be made anew ({error.strerror or error}): remove it, or set TMPDIR to a folder "
            "of your own"
        ) from error
    try:
        key = place / "key"
        printed((str(probe), "key", str(key)), BRIEF_S)
        yield key
    finally:
        shutil.rmtree(place, ignore_errors=True)
