"""Tables as text: rows under a header, and columns aligned by spaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

GAP = "  "
"""Text between two columns of an aligned table."""
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Table(Generic[C]):
    """Table of cells with a header, independent of how the table is drawn.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns; a leading ``#`` marks a column of numbers, which aligns right.
    rows : tuple of tuples
        Cells of each row: texts on a terminal, `icmodel.report.blocks.Cell` in a report.
    caption : str
        Title above the table; empty on a terminal, where a section has a heading.

    Examples
    --------
    >>> table = Table(("metric", "#value"), (("goodput", "9.4 Gb/s"), ("loss", "0")))
    >>> table.names
    ('metric', 'value')
    >>> for line in table.lines():
    ...     print(line)
    metric      value
    goodput  9.4 Gb/s
    loss            0
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[C, ...], ...]
    caption: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, without the leading ``#`` that marks numbers."""
        return tuple(name.removeprefix("#") for name in self.columns)

    @property
    def right(self) -> tuple[bool, ...]:
        """Alignment of each column: true if its cells align right, as numbers do."""
        return tuple(name.startswith("#") for name in self.columns)

    def lines(self: Table[str]) -> list[str]:
        """Return the table's header and rows as lines of text with aligned columns."""
        return aligned([self.names, *self.rows], self.right)


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> list[str]:
    """Convert rows of cells to lines of text with aligned columns; ``right`` tells which columns align right.

    Examples
    --------
    >>> aligned([("tcp", "1448 B"), ("ethernet", "64 B")])
    ['tcp       1448 B', 'ethernet  64 B']
    """
    return [GAP.join(cells).rstrip() for cells in padded(rows, right)]


def padded(rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> list[list[str]]:
    """Pad the cells of rows to the width of their column; ``right`` tells which columns are padded on the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pads = [str.rjust if at_right else str.ljust for at_right in right or [False] * len(widths)]
    return [
        [pad(cell, width) for pad, cell, width in zip(pads, row, widths, strict=True)]
        for row in rows
    ]
