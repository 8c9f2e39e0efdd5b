"""Write files atomically: an interrupted write leaves no incomplete file."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from icmodel.errors import ReportError, unwritable


def check_place(path: str | Path) -> None:
    """Raise ReportError if no file can be written at a path; call this before computing the content.

    Raises
    ------
    ReportError
        If the folder of the file is missing, or the path is a folder.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise ReportError(
            f"{target} cannot be written: there is no folder {target.parent}; make it, or choose "
            "another place"
        )
    if target.is_dir():
        raise ReportError(f"{target} cannot be written: it is a folder; choose another place")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces ``path`` at the end of the context.

    After a failure the temporary file is removed. An existing path that is not a regular file, such as a device, is
    written in place.

    Raises
    ------
    ReportError
        If the file cannot be written; an existing file then stays unchanged.
    """
    check_place(path)
    if path.exists() and not path.is_file():
        try:
            yield path
        except OSError as error:
            raise ReportError(unwritable(path, error)) from error
        return
    writer = f"{os.getpid()}-{threading.get_ident()}"
    beside = path.with_name(f".{path.stem}.{writer}{path.suffix}")
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise ReportError(unwritable(path, error)) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def write(path: str | Path, content: bytes) -> None:
    """Write bytes to a file atomically: an interrupted write leaves no incomplete file.

    Raises
    ------
    ReportError
        If the file cannot be written; an existing file then stays unchanged.
    """
    with replacing(Path(path)) as beside:
        beside.write_bytes(content)
