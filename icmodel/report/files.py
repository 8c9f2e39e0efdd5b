"""Writing a file whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from icmodel.errors import ReportError


def check_folder(path: str | Path) -> None:
    """Refuse a file in no folder before its content is worked out.

    Raises
    ------
    ReportError
        If the folder is missing.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise ReportError(
            f"{target} cannot be written: {os.strerror(errno.ENOENT)}; name a file in a folder "
            "you may write"
        )


def write(path: str | Path, content: bytes) -> None:
    """Write beside the file, flush to the disk, then rename over it.

    Raises
    ------
    ReportError
        If the folder is missing or cannot be written; an older file then stays as it was.
    """
    target = Path(path)
    try:
        _replace(target, content)
    except OSError as error:
        raise ReportError(
            f"{target} cannot be written: {error.strerror}; name a file in a folder you may write"
        ) from error


def _replace(target: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(_usual_mode())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _usual_mode() -> int:
    """The mode a new file gets from this process; temporary ones are private."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
