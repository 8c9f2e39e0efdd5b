"""Output: the answer of a command as a table, JSON, CSV, or a file of one of these.

Tables are drawn by rich on a terminal, within its width, and are plain aligned text when piped. A file is written
under another name and then renamed, so it is there whole or not at all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TextIO

from icmodel.cli.table import Table as Table
from icmodel.documents import json_text as json_text
from icmodel.errors import ReportError

if TYPE_CHECKING:
    from rich.console import RenderableType

GAP = "  "


class Section(NamedTuple):
    """A heading (may be empty) over a table or over lines of text."""

    heading: str
    body: Table | tuple[str, ...]


Writer = Callable[[Path], None]


class Answer(NamedTuple):
    """What a command answers, each form made only when it is asked for.

    Parameters
    ----------
    sections : callable
        For people.
    document : callable
        For ``--json``: a dictionary that JSON knows.
    records : callable, optional
        For ``.csv``: one mapping a line, all with the same keys.
    files : mapping of ending to writer
        Further forms a file can have.
    """

    sections: Callable[[], Iterable[Section]]
    document: Callable[[], Mapping[str, object]]
    records: Callable[[], Iterable[Mapping[str, object]]] | None = None
    files: Mapping[str, Writer] = MappingProxyType({})

    def endings(self) -> dict[str, Writer]:
        """Every file ending of this answer, with its writer."""
        writers: dict[str, Writer] = {".txt": self._write_text, ".json": self._write_json}
        if self.records is not None:
            writers[".csv"] = self._write_csv
        return {**writers, **self.files}

    def _write_text(self, path: Path) -> None:
        write_text(path, plain(self.sections()))

    def _write_json(self, path: Path) -> None:
        write_text(path, json_text(self.document()))

    def _write_csv(self, path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            write_csv(self.records() if self.records else (), file)


def listing(what: str, entries: Sequence[Mapping[str, object]], table: Table) -> Answer:
    """Things in a table, in JSON under their name, and in CSV one a line, lists with blanks between."""

    def line(entry: Mapping[str, object]) -> dict[str, object]:
        return {k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in entry.items()}

    return Answer(
        sections=lambda: [Section("", table)],
        document=lambda: {"schema_version": 1, what: list(entries)},
        records=lambda: map(line, entries),
    )


def emit(answer: Answer, *, as_json: bool, output: Path | None) -> None:
    """Write the answer to a file, to standard output, or to both if both are wanted.

    Raises
    ------
    ReportError
        If the file's ending is unknown or it cannot be written.
    """
    if output is not None:
        write_file(output, answer.endings())
    if as_json:
        print_text(json_text(answer.document()))
    elif output is None:
        show(answer.sections())


# --- standard output --------------------------------------------------------------------------


class PipeClosed(Exception):  # noqa: N818  (a reader who left is no error)
    """Nobody reads standard output any more; not an error of the user."""


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
    if not sys.stdout.isatty():
        print_text(plain(sections))
        return
    from rich.console import Console  # only for a terminal: it is slow to import

    console = Console(highlight=False)
    for section in sections:
        if section.heading:
            console.print(section.heading, style="bold", markup=False)
        console.print(_drawn(section.body, console.width))


def _drawn(body: Table | tuple[str, ...], width: int) -> RenderableType:
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    from icmodel.cli.table import fitted, stacked

    if isinstance(body, Table):
        body = fitted(body, width) or stacked(body, width)
    if not isinstance(body, Table):
        return Text("\n".join(body) + "\n")
    drawn = Drawn(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, right in zip(body.names, body.right, strict=True):
        drawn.add_column(name, justify="right" if right else "left", no_wrap=True)
    for row in body.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn


def plain(sections: Iterable[Section]) -> str:
    """Sections as text: columns aligned by spaces, an empty line between sections."""
    parts = []
    for section in sections:
        lines = [section.heading] if section.heading else []
        lines += _aligned(section.body) if isinstance(section.body, Table) else section.body
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _aligned(table: Table) -> list[str]:
    grid = [table.names, *table.rows]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    return [
        GAP.join(
            cell.rjust(width) if at_right else cell.ljust(width)
            for cell, width, at_right in zip(row, widths, table.right, strict=True)
        ).rstrip()
        for row in grid
    ]


def hanging(lines: Iterable[str]) -> tuple[str, ...]:
    """Lines of at most 100 characters, with a hanging indent."""
    from icmodel.estimate import wrapped

    return tuple(part for line in lines for part in wrapped(line, then="  "))


def fixed(number: float, places: int) -> str:
    """A number with a number of decimal places; one below the smallest shown is marked as such, not rounded to 0."""
    least = 10.0**-places
    if 0 < number < least:
        return f"<{least:.{places}f}"
    return f"{number:.{places}f}"


def write_csv(records: Iterable[Mapping[str, object]], file: TextIO) -> None:
    """Records as CSV with a header; ``None`` becomes an empty cell."""
    import csv

    writer = None
    for record in records:
        if writer is None:
            writer = csv.DictWriter(file, list(record), lineterminator="\n")
            writer.writeheader()
        writer.writerow(record)


# --- files ------------------------------------------------------------------------------------


def write_file(path: Path, writers: Mapping[str, Writer]) -> None:
    """Write a file in the format of its ending, atomically.

    Raises
    ------
    ReportError
        If the ending is unknown, or the place cannot be written.
    """
    from icmodel.files import replacing

    check_file(path, writers)
    with replacing(path) as beside:
        writers[path.suffix.lower()](beside)


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8 with line feeds, on every system the same bytes."""
    path.write_text(text, encoding="utf-8", newline="\n")


def check_file(path: Path, endings: Iterable[str]) -> None:
    """Refuse an impossible file, before anything is computed.

    Raises
    ------
    ReportError
        If the ending is of no format, the folder does not exist, or the path is a folder.
    """
    from icmodel.files import check_place

    known = sorted(endings)
    if path.suffix.lower() not in known:
        raise ReportError(
            f"the file {str(path)!r} has an ending that says no form: end it in {_either(known)}"
        )
    check_place(path)


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


# --- progress ---------------------------------------------------------------------------------


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function to call with the counts of finished and of all points; drawn only on a terminal's standard error."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)
