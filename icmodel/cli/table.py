"""Table: rows of cells under a header, independent of how they are drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a header; columns named with a leading ``#`` hold numbers, which align right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The header."""
        return tuple(name.removeprefix("#") for name in self.columns)

    @property
    def right(self) -> tuple[bool, ...]:
        """Whether each column aligns right."""
        return tuple(name.startswith("#") for name in self.columns)


BETWEEN = 3
"""Characters between two columns on a terminal."""
_PIECE = re.compile(r"[^ _/,-]*[_/,-]*[ ]?")
"""A piece that is not broken: up to a space, an underscore, a hyphen, a slash or a comma."""


def fitted(table: Table, width: int) -> Table | None:
    """A table whose lines have at most a number of characters; none if no wrapping achieves it."""
    columns = list(zip(table.names, *table.rows, strict=True))
    most = [max(map(len, column)) for column in columns]
    least = [
        max(_least(cell, whole=right and at > 0) for at, cell in enumerate(column))
        for right, column in zip(table.right, columns, strict=True)
    ]
    room = width - BETWEEN * len(columns)
    if sum(most) <= room:
        return table
    if sum(least) > room:
        return None
    widths = _shrunk(most, least, room)
    names, *rows = (
        tuple(_wrapped(cell, wide) for cell, wide in zip(row, widths, strict=True))
        for row in (table.names, *table.rows)
    )
    marks = ("#" if right else "" for right in table.right)
    return Table(tuple(map(str.__add__, marks, names)), tuple(rows))


def stacked(table: Table, width: int) -> tuple[str, ...]:
    """The rows of a table as blocks, a line for each column, with wrapped values."""
    margin = max(map(len, table.names), default=0) + 2
    lines: list[str] = []
    for row in table.rows:
        lines += [""] if lines else []
        for name, cell in zip(table.names, row, strict=True):
            lines += _named(name, cell, margin, width)
    return tuple(lines)


def _named(name: str, cell: str, margin: int, width: int) -> list[str]:
    if margin >= width // 2:
        return wrap(f"{name}: {cell}", max(width, 20)) if cell else []
    parts = wrap(cell, width - margin, break_on_hyphens=False) if cell else []
    starts = [name.ljust(margin), *[" " * margin] * (len(parts) - 1)]
    return [f"{start}{part}" for start, part in zip(starts, parts, strict=False)]


def _least(cell: str, *, whole: bool) -> int:
    """The least width of a cell: that of its longest piece, or of a whole number."""
    if whole:
        return len(cell)
    return max((len(piece.rstrip()) for piece in _pieces(cell)), default=0)


def _pieces(cell: str) -> list[str]:
    return [piece for piece in _PIECE.findall(cell) if piece]


def _shrunk(most: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths that fit: the widest column is narrowed first, none below its least width."""
    widths = list(most)
    while sum(widths) > room:
        open_to = [at for at, wide in enumerate(widths) if wide > least[at]]
        widths[max(open_to, key=lambda at: widths[at])] -= 1
    return widths


def _wrapped(cell: str, width: int) -> str:
    """A cell in lines of at most a number of characters, broken between pieces."""
    if len(cell) <= width:
        return cell
    lines = [""]
    for piece in _pieces(cell):
        if len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines if line)
