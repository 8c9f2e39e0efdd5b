"""Sections: how a tool lays out its output, its text cut at titles, and the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from icmodel.errors import RecordError
from icmodel.ingest.source import Source

_WAS_ROW = re.compile(r"\s*[-+]?(?:\d|(?:nan|inf)\b)", re.I)
"""How a line begins that is a row, or was one."""


class Layout(NamedTuple):
    """How a tool lays out its output.

    Parameters
    ----------
    start
        The line that begins a run; none if a file of the tool is read as a whole.
    holds
        A line that a run holds before the next may begin; two ends may print their heads first.
    parts_thousands
        Whether the tool prints commas between thousands.
    """

    start: re.Pattern[str] | None = None
    holds: re.Pattern[str] | None = None
    parts_thousands: bool = False


class Section(NamedTuple):
    """The lines under a title: what the title matched, and the number of the first line."""

    title: re.Match[str]
    lines: list[str]
    first: int


class Row(NamedTuple):
    """The cells of a row, of which the first is the size of a message, and the number of its line."""

    size: int
    cells: list[str]
    line: int


def told(pattern: re.Pattern[str], text: str) -> str:
    """What the group of a pattern's first match holds; empty without a match."""
    found = pattern.search(text)
    return found[1] if found else ""


def begins_row(line: str) -> bool:
    """Whether a line begins with a number, or with what stands in place of a broken one."""
    return _WAS_ROW.match(line) is not None


def sections(title: re.Pattern[str], source: Source) -> Iterator[Section]:
    """The sections of a text, each from behind its title to the next title."""
    text = source.text
    found = list(title.finditer(text))
    ends = [one.start() for one in found[1:]] + [len(text)]
    for one, end in zip(found, ends, strict=False):
        body = text[one.end() + 1 : end].split("\n")
        yield Section(one, body, source.line_at(one.end()) + 1)


def rows(section: Section, row: re.Pattern[str], name: str) -> Iterator[Row]:
    """The rows of a section's table, those of empty messages too.

    Raises
    ------
    RecordError
        If a line was a row and is none any more, two are of one size, or there is none.
    """
    sizes: set[int] = set()
    for number, line in enumerate(section.lines, start=section.first):
        if row.match(line):
            cells = line.split()
            size = int(cells[0])
            if size in sizes:
                raise RecordError(
                    f"line {number}: “{name}” has two rows of {size} B: keep each run in a file of its own"
                )
            sizes.add(size)
            yield Row(size, cells, number)
        elif begins_row(line):
            raise RecordError(
                f"line {number}: {line.strip()!r} is no row of “{name}”: it was cut off or changed"
            )
    if max(sizes, default=0) < 1:
        raise RecordError(f"“{name}” has no rows: the run failed or was cut off")
