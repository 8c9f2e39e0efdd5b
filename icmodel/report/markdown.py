"""Render a report page as GitHub-flavoured Markdown. Plots become tables of their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import singledispatch
from urllib.parse import quote

from icmodel.report.blocks import (
    BUY,
    CHANGE,
    DOUBTS,
    REPEAT,
    Bars,
    Block,
    Cell,
    Facts,
    Figures,
    Fold,
    Front,
    Heading,
    Items,
    Page,
    Picture,
    Table,
    Text,
)
from icmodel.requirement import outcome_text

_SPECIAL = re.compile(r"([\\`*\[\]<>|~#]|(?<!\w)_|_(?!\w)|&(?=[#\w]+;))")


def markdown_text(content: Page) -> str:
    """Render a report page as Markdown. The same content gives the same bytes."""
    answer, head = content.answer, content.masthead
    printed = " · ".join(filter(None, (head.organisation, head.line)))
    parts = [
        *([escape(printed)] if printed else []),
        f"# {escape(content.title)}",
        escape(content.question),
        f"Based on {escape(content.basis)}.",
        "## The answer",
        f"**{outcome_text(answer.outcome)}** – {escape(answer.sentence)}",
    ]
    if content.front is not None:
        parts += _front(content.front)
    for section in content.sections:
        parts.append(f"## {escape(section.title)}")
        parts += [text for block in section.blocks for text in show(block)]
    parts += [escape(head.footer)] if head.footer else []
    return "\n\n".join([*parts, f"Written by {content.made_by}."]) + "\n"


def _front(front: Front) -> Iterator[str]:
    """Render the rest of the first page (below the answer) as Markdown.

    A plot is left out, since the appendix has its numbers.
    """
    yield from show(front.numbers)
    if front.more:
        yield escape(front.more)
    if front.parts is not None:
        yield from show(front.parts)
    if isinstance(front.picture, Picture):
        yield from show(front.picture)
    for title, texts in ((CHANGE, front.change), (DOUBTS, front.doubts)):
        yield f"### {title}"
        yield from show(Items("", texts))
    yield f"### {BUY}"
    yield from show(Facts(front.buy))
    yield f"### {REPEAT}"
    yield from show(Facts(front.repeat, code=True))


def escape(text: str) -> str:
    """Return a text on one line, with Markdown's special characters escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Return a text as a Markdown code span. Its fence has more backticks than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, gap = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{gap}{' '.join(text.split()).replace('|', chr(92) + '|')}{gap}{fence}"


@singledispatch
def show(block: Block) -> Iterator[str]:
    """Render one block of a report as paragraphs of Markdown."""
    raise TypeError(f"a page cannot contain a block of type {type(block).__name__}")


@show.register
def _text(block: Text) -> Iterator[str]:
    yield escape(block.text)


@show.register
def _heading(block: Heading) -> Iterator[str]:
    outcome = f" – {outcome_text(block.outcome)}" if block.outcome else ""
    yield f"### {escape(block.text)}{outcome}{f' ({block.note})' if block.note else ''}"


@show.register
def _items(block: Items) -> Iterator[str]:
    if block.title:
        yield f"{escape(block.title)}:"
    yield "\n".join(f"- {escape(item)}" for item in block.items)


@show.register
def _facts(block: Facts) -> Iterator[str]:
    value = code if block.code else escape
    yield "\n".join(f"- {escape(name)}: {value(text)}" for name, text in block.pairs)


@show.register
def _fold(block: Fold) -> Iterator[str]:
    outcome = f" – {outcome_text(block.outcome)}" if block.outcome else ""
    yield f"#### {escape(block.title)}{outcome}"
    for inside in block.blocks:
        yield from show(inside)


@show.register
def _table(block: Table) -> Iterator[str]:
    def cell_text(cell: Cell) -> str:
        outcome = outcome_text(cell.outcome) if cell.outcome else ""
        name = code(cell.name) if cell.name else ""
        note = f"({escape(cell.note)})" if cell.note else ""
        return " ".join(part for part in (escape(cell.text), name, outcome, note) if part)

    lines = [
        [escape(column) for column in block.columns],
        ["---:" if numeric else "---" for numeric in block.numeric],
        *([cell_text(cell) for cell in row] for row in block.rows),
    ]
    yield f"{escape(block.caption)}:"
    yield "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


@show.register
def _bars(block: Bars) -> Iterator[str]:
    rows = tuple((Cell(bar.name), Cell(bar.text), Cell(bar.mark)) for bar in block.bars)
    yield from show(Table(block.caption, ("name", "value", ""), rows, numbers=("value",)))


@show.register
def _figures(block: Figures) -> Iterator[str]:
    for figure in block.figures:
        yield escape(figure.caption)
        yield from show(figure.numbers)


@show.register
def _picture(block: Picture) -> Iterator[str]:
    yield f"![{escape(block.alt)}]({quote(block.file)})"
    yield escape(block.caption)
