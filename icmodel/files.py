"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from icmodel.errors import ReportError, unwritable


def check_place(path: str | Path) -> None:
    """Refuse a place that no file can have, before the content is worked out.

    Raises
    ------
    ReportError
        If the folder is missing, or a folder stands in the file's place.
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
    """A new file beside ``path`` that takes its place in the end; nothing is left of a failure.

    What exists and is no regular file, such as a device, is written in place.

    Raises
    ------
    ReportError
        If the place cannot be written; an older file then stays as it was.
    """
    check_place(path)
    if path.exists() and not path.is_file():
        try:
            yield path
        except OSError as error:
            raise ReportError(unwritable(path, error)) from error
        return
    mine = f"{os.getpid()}-{threading.get_ident()}"
    beside = path.with_name(f".{path.stem}.{mine}{path.suffix}")
    try:
        yield beside
        _flush(beside)
        beside.replace(path)
    except OSError as error:
        raise ReportError(unwritable(path, error)) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def write(path: str | Path, content: bytes) -> None:
    """Write a file as a whole.

    Raises
    ------
    ReportError
        If the place cannot be written; an older file then stays as it was.
    """
    with replacing(Path(path)) as beside:
        beside.write_bytes(content)


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
