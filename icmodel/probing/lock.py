"""Lock: one process at a time measures into a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from icmodel.errors import MeasuringError


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock a folder; the kernel releases the lock when the process ends, even if it is killed.

    Raises
    ------
    MeasuringError
        If another process holds the lock, or the folder cannot be locked.
    """
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
