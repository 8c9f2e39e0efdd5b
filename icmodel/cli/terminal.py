"""Print sections on a terminal. Tables are drawn by rich and narrowed until they fit the terminal's width."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table as DrawnTable
from rich.text import Text

from icmodel.table import Table

if TYPE_CHECKING:
    from icmodel.cli.output import Section

COLUMN_PADDING = 3
"""Number of characters that rich puts between two columns of a table."""
_PIECE = re.compile(r"[^ _/,-]+[_/,-]*[ ]?|[_/,-]+[ ]?|[ ]")
"""Pattern of an unbreakable piece of text, which ends at a space, underscore, hyphen, slash or comma."""


def draw(sections: Iterable[Section]) -> None:
    """Print sections to standard output, within the width of its terminal."""
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


def fit_to_width(table: Table[str], width: int) -> Table[str] | None:
    """Wrap the cells of a table until its lines have at most ``width`` characters.

    The widest column is narrowed first. Numbers and pieces of text are not broken. Returns None if
    the table does not fit.

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
    """Return the rows of a table as blocks of lines: one line per column, with wrapped values."""
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
