"""Reading files of records: one JSON object on each line, plain or compressed by gzip."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from icmodel.documents import json_value
from icmodel.errors import RecordError
from icmodel.fold.record import HOW_TO_MAKE, Record, record_of

Progress = Callable[[int, int], None]
"""Called with the number of records read and in total."""
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Reading:
    """The records of some files, the number of duplicates, and notes on what was left out."""

    records: tuple[Record, ...]
    duplicates: int = 0
    notes: tuple[str, ...] = ()


def read_records(files: Iterable[str | Path], progress: Progress | None = None) -> Reading:
    """The records of all files in order of time, each run once.

    An incomplete last line is left out and noted, since the campaign would repeat that run.

    Parameters
    ----------
    files : iterable of paths
        Plain files, or files compressed by gzip.
    progress : callable, optional
        Called after each record with the number of records read and in total.

    Raises
    ------
    RecordError
        If a file cannot be read or a line is no record.
    """
    found: dict[str, Record] = {}
    notes: list[str] = []
    duplicates = 0
    opened = [(path, *_lines(path)) for path in map(Path, files)]
    total, done = sum(len(lines) for _, lines, _ in opened), 0
    for path, lines, torn in opened:
        if torn:
            notes.append(f"{path.name}: the last line was cut while it was written and is left out")
        for number, line in lines:
            done += 1
            if progress is not None:
                progress(done, total)
            record = _record(path, number, line)
            before = found.setdefault(record.run, record)
            if before is not record:
                _check_same(before, record, path, number)
                duplicates += 1
    if not found:
        raise RecordError(f"there is no record in what was given: {HOW_TO_MAKE}")
    ordered = sorted(found.values(), key=lambda record: (record.document.started_utc, record.run))
    return Reading(tuple(ordered), duplicates, tuple(notes))


def unpacked(body: bytes, path: Path) -> bytes:
    """The bytes of a file, decompressed if it is gzip.

    Raises
    ------
    RecordError
        If the gzip data are damaged.
    """
    if not body.startswith(_GZIP):
        return body
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error) as error:
        raise RecordError(f"{path} is damaged gzip ({error}): copy it again") from error


def _lines(path: Path) -> tuple[list[tuple[int, str]], bool]:
    """The non-empty lines with their numbers, and whether an incomplete last one was left out."""
    try:
        body = unpacked(path.read_bytes(), path)
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from error
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(f"{path} is not UTF-8 ({error.reason}): {HOW_TO_MAKE}") from error
    lines = text.split("\n")
    torn = bool(lines[-1].strip()) and not _is_json(lines[-1])
    kept = lines[:-1] if torn else lines
    numbered = [(n, line.rstrip("\r")) for n, line in enumerate(kept, start=1) if line.strip()]
    return numbered, torn and bool(numbered)


def _is_json(line: str) -> bool:
    try:
        json_value(line)
    except ValueError:
        return False
    return True


def _record(path: Path, number: int, line: str) -> Record:
    try:
        return record_of(line)
    except RecordError as error:
        raise RecordError(f"{path} line {number}: {error}") from error


def _check_same(before: Record, record: Record, path: Path, number: int) -> None:
    if before.line != record.line:
        raise RecordError(
            f"{path} line {number}: run {record.run} stands in two forms, one of them was changed; "
            "give the file that icprobe wrote"
        )
