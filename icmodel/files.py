"""Write files atomically, so that an interrupted write leaves no incomplete file; take a lock while writing parts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from icmodel.errors import ReportError, unwritable


def check_place(path: str | Path) -> None:
    """Raise ReportError if no file can be written at a path; call this before computing the content.

    Raises
    ------
    ReportError
        If the folder of the file is missing or not accessible, or the path is a folder.
    """
    target = Path(path)
    try:
        has_folder, is_folder = target.parent.is_dir(), target.is_dir()
    except OSError as error:
        raise ReportError(unwritable(target, error)) from error
    if not has_folder:
        raise ReportError(
            f"{target} cannot be written: there is no folder {target.parent}; make it, or choose "
            "another place"
        )
    if is_folder:
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
    beside = path.with_name(f".{path.stem}.{os.urandom(8).hex()}{path.suffix}")
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise ReportError(unwritable(path, error)) from error
    except ReportError as error:  # a writer in the context names the temporary file
        raise ReportError(str(error).replace(str(beside), str(path))) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Lock a path within the context, so that no other process writes the same file in parts.

    The lock is on a hidden file beside the path. The kernel releases it if the process is killed. Windows has no such
    lock.

    Raises
    ------
    ReportError
        If another process holds the lock, or the hidden file cannot be written.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    place = path.with_name(f".{path.name}.lock")
    busy = ReportError(
        f"another process is writing {path}: wait until it ends, or choose another name"
    )
    with ExitStack() as stack:
        try:
            file = stack.enter_context(place.open("ab"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise busy from None
        except OSError as error:
            raise ReportError(unwritable(path, error)) from error
        if not os.fstat(file.fileno()).st_nlink:  # the last owner has just removed the lock file
            raise busy
        try:
            yield
        finally:
            with suppress(OSError):
                place.unlink(missing_ok=True)


def write(path: str | Path, content: bytes) -> None:
    """Write bytes to a file atomically: an interrupted write leaves no incomplete file.

    Raises
    ------
    ReportError
        If the file cannot be written; an existing file then stays unchanged.
    """
    with replacing(Path(path)) as beside:
        beside.write_bytes(content)
