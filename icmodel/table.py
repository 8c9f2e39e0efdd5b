"""Tables as text: rows under a header, and columns aligned by spaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

GAP = "  "
"""Text between two aligned columns."""
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Table(Generic[C]):
    """Rows of cells under a header, independent of how they are drawn.

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
        """Names of the columns, without the mark of numbers."""
        return tuple(name.removeprefix("#") for name in self.columns)

    @property
    def right(self) -> tuple[bool, ...]:
        """Whether each column aligns right."""
        return tuple(name.startswith("#") for name in self.columns)

    def lines(self: Table[str]) -> list[str]:
        """Header and rows as aligned lines of text."""
        return aligned([self.names, *self.rows], self.right)


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> list[str]:
    """Rows as lines whose columns align, to the right where ``right`` is true.

    Examples
    --------
    >>> aligned([("tcp", "1448 B"), ("ethernet", "64 B")])
    ['tcp       1448 B', 'ethernet  64 B']
    """
    return [GAP.join(cells).rstrip() for cells in padded(rows, right)]


def padded(rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> list[list[str]]:
    """Cells padded to the width of their column, on the left where ``right`` is true."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pads = [str.rjust if at_right else str.ljust for at_right in right or [False] * len(widths)]
    return [
        [pad(cell, width) for pad, cell, width in zip(pads, row, widths, strict=True)]
        for row in rows
    ]
