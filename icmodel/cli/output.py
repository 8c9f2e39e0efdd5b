"""Output of a command: its answer as text, JSON, CSV or XLSX, printed or written to a file.

On a terminal, rich draws tables within its width. In a pipe, tables are aligned plain text. A file is written under a
temporary name and then renamed, so the named file is never incomplete.
"""

from __future__ import annotations

import math
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TextIO

from icmodel.documents import harmless, replacing
from icmodel.documents import json_text as json_text
from icmodel.errors import ReportError
from icmodel.table import Table as Table

if TYPE_CHECKING:
    from icmodel.dataset import Dataset
    from icmodel.model import Model

Writer = Callable[[Path], None]
FURTHER_SHEETS = ("intervals", "basis", "sources")
"""Names of the XLSX sheets that follow the sheet of answers."""


@dataclass(frozen=True, slots=True)
class Hanging:
    """Texts to print with a hanging indent: all lines of a text but the first are indented. `lines` wraps the texts."""

    texts: tuple[str, ...]

    def lines(self, width: float = math.inf) -> list[str]:
        """Wrap the texts into lines of at most 100 characters, or of at most ``width`` if this is less."""
        from icmodel.estimate import WIDTH, wrapped

        most = int(min(width, WIDTH))
        return [part for text in self.texts for part in wrapped(text, then="  ", width=most)]


class Section(NamedTuple):
    """Section of printed output: a heading and a table or texts. The heading may be empty."""

    heading: str
    body: Table[str] | Hanging | tuple[str, ...]


class Answer(NamedTuple):
    """Answer of a command in several formats. A format is made only on request.

    Parameters
    ----------
    sections : callable
        Makes the sections of the printed text.
    document : callable
        Makes the document for ``--json``: a dictionary of JSON values.
    records : callable, optional
        Makes the lines of a ``.csv`` file: mappings with equal keys.
    files : mapping of file extension to writer
        Writers of further file formats.
    estimates : callable, optional
        Makes a JSON document with the estimates of the answer. An XLSX file shows them in its sheets ``intervals``,
        ``basis`` and ``sources``. Default: the document for ``--json``.
    """

    sections: Callable[[], Iterable[Section]]
    document: Callable[[], Mapping[str, object]]
    records: Callable[[], Iterable[Mapping[str, object]]] | None = None
    files: Mapping[str, Writer] = MappingProxyType({})
    estimates: Callable[[], Mapping[str, object]] | None = None

    def writers(self) -> dict[str, Writer]:
        """Return a dict: file extension -> function that writes the answer to a path."""
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
            estimates = self.estimates or self.document
            writers[".xlsx"] = lambda path: write_workbook(records(), estimates(), path)
        return {**writers, **self.files}


def listing(key: str, entries: Sequence[Mapping[str, object]], table: Table[str]) -> Answer:
    """Make an answer that lists entries: as a table, as a JSON array with the key ``key``, and as CSV.

    If a value of an entry is a list, its CSV cell has the items with spaces between them.
    """

    def line(entry: Mapping[str, object]) -> dict[str, object]:
        return {k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in entry.items()}

    return Answer(
        sections=lambda: [Section("", table)],
        document=lambda: {"schema_version": 1, key: list(entries)},
        records=lambda: map(line, entries),
    )


def emit(answer: Answer, *, as_json: bool, output: Path | None) -> None:
    """Write the answer of a command to a file, to standard output, or to both.

    Raises
    ------
    ReportError
        If the file extension is unknown or the file cannot be written.
    """
    if output is not None:
        write_file(output, answer.writers())
        say_written(output)
    if as_json:
        print_text(json_text(answer.document()))
    elif output is None:
        show(answer.sections())


# --- standard output --------------------------------------------------------------------------


class PipeClosed(Exception):  # noqa: N818  (a closed pipe is no error)
    """The reading program, such as head, has closed standard output. This is no user error."""


def print_text(text: str) -> None:
    """Write a text to standard output and flush it.

    Raises
    ------
    PipeClosed
        If the reading program has closed standard output.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise PipeClosed from None


def show(sections: Iterable[Section]) -> None:
    """Print sections: drawn by rich on a terminal, as plain text in a pipe."""
    if sys.stdout.isatty():
        draw(sections)
    else:
        print_text(text_of(sections))


def text_of(sections: Iterable[Section]) -> str:
    """Return sections as text, with aligned columns and an empty line between sections."""
    parts = []
    for heading, body in sections:
        lines = [heading] if heading else []
        wrapped = body.lines() if isinstance(body, (Table, Hanging)) else body
        parts.append("\n".join([*lines, *wrapped]))
    return "\n\n".join(parts) + "\n"


def bullets(lines: Iterable[str]) -> tuple[str, ...]:
    """Return each text as an item of a list, with a leading hyphen."""
    return tuple(f"- {line}" for line in lines)


def write_csv(records: Iterable[Mapping[str, object]], file: TextIO) -> None:
    """Write records as CSV with a header.

    ``None`` becomes an empty cell. Texts are escaped, so that no spreadsheet reads them as formulas.
    """
    import csv

    writer = csv.writer(file, lineterminator="\n")
    for line, record in enumerate(records):
        if not line:
            writer.writerow(map(harmless, record))
        writer.writerow(
            harmless(cell) if isinstance(cell, str) else cell for cell in record.values()
        )


# --- tables on a terminal ---------------------------------------------------------------------


def draw(sections: Iterable[Section]) -> None:
    """Print sections to standard output, within the width of its terminal."""
    from rich import box  # slow to import, and needed on a terminal only
    from rich.console import Console
    from rich.table import Table as DrawnTable
    from rich.text import Text

    console = Console(highlight=False)
    for heading, body in sections:
        if heading:
            console.print(heading, style="bold", markup=False)
        if isinstance(body, Table):
            body = fit_to_width(body, console.width) or stacked(body, console.width)
        if not isinstance(body, Table):
            lines = body if isinstance(body, tuple) else body.lines(console.width)
            console.print(Text("\n".join(lines) + "\n"))
            continue
        drawn = DrawnTable(box=box.SIMPLE_HEAD, pad_edge=False)
        for name, right in zip(body.names, body.right, strict=True):
            drawn.add_column(name, justify="right" if right else "left", no_wrap=True)
        for row in body.rows:
            drawn.add_row(*map(Text, row))
        console.print(drawn)


COLUMN_PADDING = 3
"""Number of characters that rich puts between two columns of a table."""
_PIECE = re.compile(r"[^ _/,-]+[_/,-]*[ ]?|[_/,-]+[ ]?|[ ]")
"""Pattern of an unbreakable piece of text. It ends at a space, underscore, hyphen, slash or comma."""


def fit_to_width(table: Table[str], width: int) -> Table[str] | None:
    """Narrow a table to ``width`` characters by wrapping the texts in its cells. Return None if this is impossible.

    The widest column is narrowed first. Numbers are not broken. Texts break only after a space, underscore, hyphen,
    slash or comma.

    Examples
    --------
    >>> table = Table(("metric", "#value"), (("mean latency", "113 µs"),))
    >>> print(fit_to_width(table, 20).rows[0][0])
    mean
    latency
    """
    grid = [table.names, *table.rows]
    columns = list(zip(*grid, strict=True))
    widths = [max(map(len, column)) for column in columns]
    room = width - COLUMN_PADDING * len(columns)
    if sum(widths) <= room:
        return table

    least = []  # widths of the longest piece of each column; a number is one piece
    for right, (name, *cells) in zip(table.right, columns, strict=True):
        pieces = [*_pieces(name), *(cells if right else (p for c in cells for p in _pieces(c)))]
        least.append(max((len(piece.rstrip()) for piece in pieces), default=0))
    if sum(least) > room:
        return None
    while sum(widths) > room:
        wider = [at for at, wide in enumerate(widths) if wide > least[at]]
        widths[max(wider, key=widths.__getitem__)] -= 1

    names, *rows = (tuple(map(_wrapped, row, widths)) for row in grid)
    marks = ("#" if right else "" for right in table.right)
    return Table(tuple(map(str.__add__, marks, names)), tuple(rows))


def _wrapped(cell: str, width: int) -> str:
    """Wrap the text of a table cell into lines of at most ``width`` characters."""
    if len(cell) <= width:
        return cell
    lines = [""]
    for piece in _pieces(cell):
        if len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines if line)


def _pieces(cell: str) -> Sequence[str]:
    return _PIECE.findall(cell)


def stacked(table: Table[str], width: int) -> tuple[str, ...]:
    """Return a table that is too wide for the terminal as lines of text.

    Each row becomes a block with a line ``name  value`` for each column. Long values are wrapped, and empty cells left
    out.
    """
    margin = max(map(len, table.names), default=0) + 2
    lines: list[str] = []
    for row in table.rows:
        lines += [""] if lines else []
        for name, cell in zip(table.names, row, strict=True):
            if not cell:
                continue
            if margin >= width // 2:
                lines += wrap(f"{name}: {cell}", max(width, 20))
                continue
            parts = wrap(cell, width - margin, break_on_hyphens=False)
            starts = [name.ljust(margin), *[" " * margin] * (len(parts) - 1)]
            lines += [f"{start}{part}" for start, part in zip(starts, parts, strict=False)]
    return tuple(lines)


# --- files ------------------------------------------------------------------------------------


def write_file(path: Path, writers: Mapping[str, Writer]) -> None:
    """Write a file in the format of its extension, atomically.

    Raises
    ------
    ReportError
        If the extension is unknown, or the file cannot be written.
    """
    from icmodel.documents import replacing

    check_file(path, writers)
    with replacing(path) as beside:
        writers[path.suffix.lower()](beside)


def say_written(path: Path) -> None:
    """Print on standard error that a file was written. Commands call this if their answer does not name the file."""
    print(f"{path}: written", file=sys.stderr)  # noqa: T201


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8 with line feeds: the same bytes on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")


def write_new(path: Path, text: str, command: str) -> None:
    """Write a template for the user to edit, and print the command to run next. An existing file is not overwritten."""
    if path.exists():
        raise ReportError(f"{path} already exists: choose another name, or name a file with -o")
    with replacing(path) as beside:
        write_text(beside, text)
    print_text(f"{path}: edit it, then run `icmodel {command} {shlex.quote(str(path))}`\n")


def write_workbook(
    records: Iterable[Mapping[str, object]], document: Mapping[str, object], path: Path
) -> None:
    """Write an XLSX file: a sheet with the values of the CSV file, then sheets of intervals, basis and sources."""
    from icmodel.sheets import Page, Sheet, document_pages, write_pages  # only this format needs it

    lines = list(records)
    head = tuple(lines[0]) if lines else ()
    rows = tuple(tuple(map(cell_of, line.values())) for line in lines)
    more = [page for page in document_pages(document) if page.name in FURTHER_SHEETS]
    if not any(page.name == "intervals" for page in more):  # a document without estimates
        more = []
    write_pages([Page("answers", Sheet(head, rows)), *more], path)


def cell_of(value: object) -> str | float | None:
    """Convert a value to a spreadsheet cell.

    Numbers stay numbers. Other values become the same text as in a CSV file.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else None
    return str(value)


def check_file(path: Path, extensions: Iterable[str]) -> None:
    """Raise ReportError if a file cannot be written. Commands call this before they compute.

    Raises
    ------
    ReportError
        If the extension is unsupported, the folder does not exist, or the path is a folder.
    """
    from icmodel.documents import check_place

    known = sorted(extensions)
    if path.suffix.lower() not in known:
        *others, last = known
        choice = f"{', '.join(others)} or {last}" if others else last
        raise ReportError(f"unsupported file extension in {str(path)!r}: use {choice}")
    check_place(path)


# --- long work --------------------------------------------------------------------------------


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Context manager: its value is a function ``(done, total)`` that draws a progress bar on stderr.

    ``done`` is the number of finished items, and ``total`` the number of all items. If stderr is not a terminal, the
    value is None.
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
def model_with_progress(data: Dataset, variant: str | None, *, cache: bool) -> Iterator[Model]:
    """Context manager: its value is a model. On a terminal, a bar shows the progress while the model is fitted."""
    from icmodel.model import Model  # not needed by commands that only show data

    if (variant or data.default_variant) != "hybrid":
        yield Model(data, variant)
        return
    with progress_bar("fitting") as watch:
        yield Model(data, variant, watch, cache=cache)


def best_variant(data: Dataset) -> tuple[str, str]:
    """Return the variant that best predicts left-out rows of a dataset, and the reason for this choice."""
    from icmodel.validate import choose  # imported here, since predictions do not need it

    with progress_bar("left-out points") as progress:
        choice = choose(data, progress)
    return choice.variant, choice.why


@contextmanager
def interruptible(advice: str) -> Iterator[None]:
    """Context manager that handles SIGTERM and SIGHUP like Ctrl-C, so that icmodel ends its child processes.

    If one of them interrupts the with block, ``advice`` is printed, for example how to continue.
    """

    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt

    ends = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}  # Windows has no SIGHUP
    before = {number: signal.getsignal(number) for number in ends}
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
