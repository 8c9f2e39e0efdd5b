"""Tables as text with aligned columns, in notebooks as HTML, and as data frames of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from icmodel.errors import IcmodelError

if TYPE_CHECKING:
    import pandas


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
        """Names of the columns, without the leading ``#`` that marks a column of numbers."""
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
    """Pad the cells of rows to the width of their column; ``right`` marks the right-aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pads = [str.rjust if at_right else str.ljust for at_right in right or [False] * len(widths)]
    return [
        [pad(cell, width) for pad, cell, width in zip(pads, row, widths, strict=True)]
        for row in rows
    ]


COLOURS = {
    "met": "#dafbe1;color:#0f5323",
    "not met": "#ffebe9;color:#82071e",
    "undecided": "#fff8c5;color:#633c01",
}
"""Outcome -> background and text colour, readable in a light and in a dark notebook."""


MOST_ROWS = 40
"""Greatest number of rows of a table in a notebook; a note gives the number of rows left out."""


class Coloured(NamedTuple):
    """Text of a table cell, shown in the colours of an outcome: met, not met or undecided."""

    text: str
    outcome: str


def html_table(
    title: str | Coloured,
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Coloured]],
    notes: Iterable[str] = (),
) -> str:
    """Return a table as HTML for a notebook; all texts are escaped.

    Parameters
    ----------
    title : str or Coloured
        Text above the table.
    columns : sequence of str
        Names of the columns; a leading ``#`` marks a column of numbers, which aligns right.
    rows : iterable of sequences
        Cells of each row.
    notes : iterable of str
        Sentences below the table.

    Examples
    --------
    >>> print(html_table("loss", ("#value",), [("0 %",)]))
    <table><caption style="caption-side:top;text-align:left">loss</caption>
    <thead><tr><th style="text-align:right">value</th></tr></thead>
    <tbody>
    <tr><td style="text-align:right">0 %</td></tr>
    </tbody></table>
    """
    every = list(rows)
    if len(every) > MOST_ROWS:
        left_out = f"{len(every) - MOST_ROWS} more rows: convert to a data frame to see all"
        notes = (left_out, *notes)
    aligns = ["right" if name.startswith("#") else "left" for name in columns]
    head = _cells("th", [name.removeprefix("#") for name in columns], aligns)
    body = "".join(f"<tr>{_cells('td', row, aligns)}</tr>\n" for row in every[:MOST_ROWS])
    caption = f'<caption style="caption-side:top;text-align:left">{_text(title)}</caption>'
    below = "".join(f"\n<p>{_text(note)}</p>" for note in notes)
    return (
        f"<table>{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>{below}"
    )


def _cells(tag: str, texts: Sequence[str | Coloured], aligns: Sequence[str]) -> str:
    return "".join(
        f'<{tag} style="text-align:{align}">{_text(text)}</{tag}>'
        for text, align in zip(texts, aligns, strict=True)
    )


def _text(text: str | Coloured) -> str:
    from html import escape  # only notebooks need it

    if not isinstance(text, Coloured):
        return escape(text)
    colours = COLOURS[text.outcome]
    return f'<span style="background:{colours};padding:0 .4em">{escape(text.text)}</span>'


def data_frame(records: Iterable[Mapping[str, object]], *index: str) -> pandas.DataFrame:
    """Convert records to a data frame of pandas; ``index`` names the columns of its index.

    Raises
    ------
    IcmodelError
        If pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise IcmodelError(
            "a data frame needs pandas, which is not installed: run `pip install pandas`"
        ) from None
    frame = pandas.DataFrame.from_records(list(records))
    return frame.set_index(list(index)) if index and len(frame) else frame
