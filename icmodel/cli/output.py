"""Output: the answer of a command as text, JSON, CSV, or a file of one of these.

Tables are drawn by rich on a terminal, within its width, and are plain aligned text when piped. A file is
written under another name and then renamed, so it is there whole or not at all.
"""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TextIO

from icmodel.documents import json_text as json_text
from icmodel.errors import ReportError
from icmodel.table import Table as Table

Writer = Callable[[Path], None]


class Section(NamedTuple):
    """A heading (may be empty) over a table or over lines of text."""

    heading: str
    body: Table[str] | tuple[str, ...]


class Answer(NamedTuple):
    """Answer of a command; each form is made only if it is requested.

    Parameters
    ----------
    sections : callable
        Text for people.
    document : callable
        Document for ``--json``: a dictionary that JSON can hold.
    records : callable, optional
        Lines of a ``.csv`` file: mappings that all have the same keys.
    files : mapping of file extension to writer
        Further formats of a file.
    """

    sections: Callable[[], Iterable[Section]]
    document: Callable[[], Mapping[str, object]]
    records: Callable[[], Iterable[Mapping[str, object]]] | None = None
    files: Mapping[str, Writer] = MappingProxyType({})

    def writers(self) -> dict[str, Writer]:
        """Writer of each file extension."""
        writers: dict[str, Writer] = {
            ".txt": lambda path: write_text(path, text_of(self.sections())),
            ".json": lambda path: write_text(path, json_text(self.document())),
        }
        records = self.records
        if records is not None:

            def write_records(path: Path) -> None:
                with path.open("w", encoding="utf-8", newline="") as file:
                    write_csv(records(), file)

            writers[".csv"] = write_records
            writers[".xlsx"] = lambda path: write_workbook(records(), path)
        return {**writers, **self.files}


def listing(key: str, entries: Sequence[Mapping[str, object]], table: Table[str]) -> Answer:
    """List of entries: a table, JSON under ``key``, and CSV whose cells join lists by blanks."""

    def line(entry: Mapping[str, object]) -> dict[str, object]:
        return {k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in entry.items()}

    return Answer(
        sections=lambda: [Section("", table)],
        document=lambda: {"schema_version": 1, key: list(entries)},
        records=lambda: map(line, entries),
    )


def emit(answer: Answer, *, as_json: bool, output: Path | None) -> None:
    """Write the answer to a file, to standard output, or to both if both are requested.

    Raises
    ------
    ReportError
        If the file extension is unknown or the file cannot be written.
    """
    if output is not None:
        write_file(output, answer.writers())
    if as_json:
        print_text(json_text(answer.document()))
    elif output is None:
        show(answer.sections())


# --- standard output --------------------------------------------------------------------------


class PipeClosed(Exception):  # noqa: N818  (a reader who left is no error)
    """The reader of standard output has closed it; not an error of the user."""


def print_text(text: str) -> None:
    """Write to standard output at once.

    Raises
    ------
    PipeClosed
        If nobody reads it.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise PipeClosed from None


def show(sections: Iterable[Section]) -> None:
    """Print sections for people: drawn on a terminal, plain when piped."""
    if sys.stdout.isatty():
        from icmodel.cli.terminal import draw  # rich is slow to import

        draw(sections)
    else:
        print_text(text_of(sections))


def text_of(sections: Iterable[Section]) -> str:
    """Sections as text: columns aligned by spaces, an empty line between sections."""
    parts = []
    for heading, body in sections:
        lines = [heading] if heading else []
        parts.append("\n".join([*lines, *(body.lines() if isinstance(body, Table) else body)]))
    return "\n\n".join(parts) + "\n"


def hanging(lines: Iterable[str]) -> tuple[str, ...]:
    """Lines of at most 100 characters, with a hanging indent."""
    from icmodel.estimate import wrapped

    return tuple(part for line in lines for part in wrapped(line, then="  "))


def bullets(lines: Iterable[str]) -> tuple[str, ...]:
    """Lines as items of a list."""
    return tuple(f"- {line}" for line in lines)


def fixed(number: float, places: int) -> str:
    """A number with ``places`` decimal places; ``<0.01`` instead of a positive number rounded to 0.

    Examples
    --------
    >>> fixed(1.239, 2), fixed(0.0001, 2)
    ('1.24', '<0.01')
    """
    least = 10.0**-places
    if 0 < number < least:
        return f"<{least:.{places}f}"
    return f"{number:.{places}f}"


def write_csv(records: Iterable[Mapping[str, object]], file: TextIO) -> None:
    """Write records as CSV with a header; ``None`` becomes an empty cell."""
    import csv

    writer = None
    for record in records:
        if writer is None:
            writer = csv.DictWriter(file, list(record), lineterminator="\n")
            writer.writeheader()
        writer.writerow(record)


# --- files ------------------------------------------------------------------------------------


def write_file(path: Path, writers: Mapping[str, Writer]) -> None:
    """Write a file in the format of its extension, atomically.

    Raises
    ------
    ReportError
        If the extension is unknown, or the file cannot be written.
    """
    from icmodel.files import replacing

    check_file(path, writers)
    with replacing(path) as beside:
        writers[path.suffix.lower()](beside)


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8 with line feeds: the same bytes on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")


def write_workbook(records: Iterable[Mapping[str, object]], path: Path) -> None:
    """Write lines as one sheet of an XLSX file: the columns and values of the CSV file."""
    from icmodel.sheets import Sheet, write_sheet  # numpy and xlsxwriter, for this format alone

    lines = list(records)
    head = tuple(lines[0]) if lines else ()
    write_sheet(Sheet(head, tuple(tuple(map(cell_of, line.values())) for line in lines)), path)


def cell_of(value: object) -> str | float | None:
    """A value as a cell: numbers stay numbers, other values are the text of the CSV file."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else None
    return str(value)


def check_file(path: Path, extensions: Iterable[str]) -> None:
    """Raise ReportError for a file that cannot be written, before anything is computed.

    Raises
    ------
    ReportError
        If the extension is unsupported, the folder does not exist, or the path is a folder.
    """
    from icmodel.files import check_place

    known = sorted(extensions)
    if path.suffix.lower() not in known:
        *others, last = known
        choice = f"{', '.join(others)} or {last}" if others else last
        raise ReportError(f"unsupported file extension in {str(path)!r}: use {choice}")
    check_place(path)


# --- long work --------------------------------------------------------------------------------


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function to call with the counts of finished and of all points; None without a terminal.

    The bar is drawn on standard error.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)


@contextmanager
def interruptible(advice: str) -> Iterator[None]:
    """Handle SIGHUP and SIGTERM like Ctrl-C, so that started processes are ended first.

    ``advice`` is printed when the work is interrupted.
    """

    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    except KeyboardInterrupt:
        print(f"icmodel: interrupted: {advice}", file=sys.stderr, flush=True)  # noqa: T201
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
