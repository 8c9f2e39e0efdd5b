"""Formulas of a living workbook as lines of text, read from top to bottom: ``name = formula``.

A step is one column of the calculation sheet; one row is one question.  In a formula ``[name]`` is the cell of another
step in the same row.  Names that begin with ``t_``, ``k_``, ``p_`` and ``l_`` are columns of the look-up sheets.  An empty
text stands for an unknown number, and `ENDLESS` for infinity.  All functions exist in Excel 2016 and in LibreOffice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from icmodel.sheets.lookup import ENDLESS

NEVER = f"{ENDLESS:g}"
ENDS = ("value", "low", "high")
LONGEST_LITERAL = 200
"""Greatest number of characters of a text in a formula; Excel allows 255."""


class Step(NamedTuple):
    """One column of the calculation sheet: its group, its name and its formula."""

    group: str
    name: str
    formula: str


def parse_steps(group: str, lines: str, **words: object) -> Iterator[Step]:
    r"""Yield the steps of a group from lines ``name = formula``.

    Indented lines continue a formula.  Lines that begin with ``#`` are comments.  ``{word}`` stands for one of the words.

    Examples
    --------
    >>> for step in parse_steps("times", "# both ways\nround trip = 2*(\n  [way {n}])", n=1):
    ...     print(step)
    Step(group='times', name='round trip', formula='=2*([way 1])')
    """
    written: list[str] = []
    for line in lines.splitlines():
        if line.startswith(" "):
            written[-1] += line.strip()
        elif line and not line.startswith("#"):
            written.append(line)
    for line in written:
        name, formula = line.split(" = ", 1)
        yield Step(group, name.format(**words), f"={formula.format(**words)}")


def text(words: str) -> str:
    """Return a text as string literals of a spreadsheet formula.

    A bracket becomes ``CHAR(91)``, since ``[name]`` stands for a cell.
    """
    pieces = [words[at : at + LONGEST_LITERAL] for at in range(0, len(words), LONGEST_LITERAL)]
    literals = ['"' + piece.replace('"', '""') + '"' for piece in pieces or [""]]
    return "&".join(literals).replace("[", '"&CHAR(91)&"')


def first_of(cases: Iterable[tuple[str, str]]) -> str:
    """Return a formula for the first sentence whose condition holds; an empty text if none holds."""
    every = list(cases)
    choices = "".join(f"IF({condition},{sentence}," for condition, sentence in every)
    return choices + '""' + ")" * len(every)
