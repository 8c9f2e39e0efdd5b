"""Render a report as plain text for a terminal: wrapped lines, aligned columns, no control characters.

>>> from icmodel.report.blocks import Cell, Facts, Table
>>> rows = ((Cell("goodput"), Cell("9.4 Gb/s")), (Cell("mean latency"), Cell("113 µs")))
>>> table = Table("Predicted", ("metric", "value"), rows, numbers=("value",))
>>> print(blocks_text([table, Facts((("limited by", "the request"),))]), end="")
Predicted
metric           value
goodput       9.4 Gb/s
mean latency    113 µs
limited by: the request
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch

from icmodel.estimate import WIDTH, wrapped
from icmodel.report.blocks import (
    Bars,
    Block,
    Cell,
    Facts,
    Figures,
    Fold,
    Heading,
    Items,
    Page,
    Picture,
    Table,
    Text,
)
from icmodel.requirement import outcome_text
from icmodel.table import GAP, padded

LEAST_ROOM = 20
"""Least width for the text after the start of a line [characters]; with less width, the line is not wrapped."""

Line = tuple[str, str]
"""One line of a text page: its start (such as ``- ``), and the text after it.

Wrapped lines are indented to the first character of the text (hanging indent).
"""


def page_text(content: Page, width: int = WIDTH) -> str:
    """Render a report page as text: question, answer, and sections, each indented below its title.

    Parameters
    ----------
    width : int
        Greatest number of characters of a line.
    """
    answer = content.answer
    lines = [
        ("", f"{content.title}: {content.question}"),
        ("", f"Based on {content.basis}."),
        ("", ""),
        (f"{outcome_text(answer.outcome)}{GAP}", answer.sentence),
    ]
    for section in content.sections:
        indent = GAP if section.title else ""
        lines += [("", ""), (section.title, "")] if section.title else [("", "")]
        lines += [
            (f"{indent}{start}", text) for block in section.blocks for start, text in show(block)
        ]
    return _printed(lines, width)


def blocks_text(blocks: Iterable[Block], width: int = WIDTH) -> str:
    """Render blocks of a report as text, one below the other."""
    return _printed([line for block in blocks for line in show(block)], width)


def _printed(lines: Iterable[Line], width: int) -> str:
    """Wrap lines to a width, and replace each control character by ``�`` so that no text controls the terminal."""
    printed = []
    for start, text in lines:
        parts = [f"{start}{text}"]
        if len(start) <= width - LEAST_ROOM:
            parts = wrapped(text, start, " " * len(start), width) or [start]
        for part in parts:
            printed.append("".join(char if char.isprintable() else "�" for char in part.rstrip()))
    return "\n".join(printed) + "\n"


@singledispatch
def show(block: Block) -> Iterator[Line]:
    """Render one block of a report as lines of text."""
    raise TypeError(f"a page cannot contain a block of type {type(block).__name__}")


@show.register
def _text(block: Text) -> Iterator[Line]:
    yield "", block.text


@show.register
def _heading(block: Heading) -> Iterator[Line]:
    outcome = f"{outcome_text(block.outcome)}{GAP}" if block.outcome else ""
    yield outcome, f"{block.text}{f' ({block.note})' if block.note else ''}"


@show.register
def _items(block: Items) -> Iterator[Line]:
    if block.title:
        yield "", f"{block.title}:"
    for item in block.items:
        yield "- ", item


@show.register
def _facts(block: Facts) -> Iterator[Line]:
    for name, text in block.pairs:
        yield f"{name}: ", text


@show.register
def _fold(block: Fold) -> Iterator[Line]:
    yield from show(Heading(block.title, block.outcome))
    for inside in block.blocks:
        for start, text in show(inside):
            yield f"{GAP}{start}", text


@show.register
def _table(block: Table) -> Iterator[Line]:
    """Render a table as text, with columns aligned by spaces. The last column is wrapped."""

    def cell_text(cell: Cell) -> str:
        outcome = outcome_text(cell.outcome) if cell.outcome else ""
        note = f"({cell.note})" if cell.note else ""
        return " ".join(part for part in (cell.text, cell.name, outcome, note) if part)

    grid = [tuple(map(cell_text, row)) for row in block.rows]
    if any(block.columns):
        grid.insert(0, block.columns)
    if block.caption:
        yield block.caption, ""
    for row, cells in zip(grid, padded(grid, block.numeric), strict=True):
        last = cells[-1] if block.numeric[-1] else row[-1]
        yield "".join(f"{cell}{GAP}" for cell in cells[:-1]), last


@show.register
def _bars(block: Bars) -> Iterator[Line]:
    rows = tuple((Cell(bar.name), Cell(bar.text), Cell(bar.mark)) for bar in block.bars)
    yield from show(Table(block.caption, ("", "", ""), rows))


@show.register
def _figures(block: Figures) -> Iterator[Line]:
    for figure in block.figures:
        yield "", figure.caption
        yield from show(figure.numbers)


@show.register
def _picture(block: Picture) -> Iterator[Line]:
    yield "", block.alt
    yield "", block.caption
