"""Blocks of a report, independent of its format; `html`, `markdown` and `text` render them.

A `Page` is a title, a question, a `Conclusion` and sections of blocks.  Every text in a block is plain text: each
renderer escapes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from icmodel.report.markup import Markup

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """A value with its interval against a limit, each as a fraction of the drawn width."""

    limit: float
    low: float
    high: float
    value: float | None
    at_least: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table: a text, its field name, a note under it, an outcome and a gauge."""

    text: str
    note: str = ""
    name: str = ""
    outcome: str = ""
    gauge: Gauge | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a caption; the columns named in ``numbers`` hold numbers and align right.

    Caption and column names may be empty; the text renderer then prints no line for them.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: tuple[str, ...] = ()

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Whether each column holds numbers."""
        return tuple(column in self.numbers for column in self.columns)


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading inside a section, with the outcome it is about, if any."""

    text: str
    outcome: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """A list of sentences under a title, which may be empty."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values; code values are set in a fixed-width font."""

    pairs: tuple[tuple[str, str], ...]
    code: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its length as a fraction of the longest, and a word that marks it, if any."""

    name: str
    text: str
    share: float
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars to compare, such as the bounds of a goodput."""

    caption: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot, and its numbers for readers without the plot."""

    title: str
    caption: str
    alt: str
    spec: Spec
    numbers: Table


@dataclass(frozen=True, slots=True)
class Figures:
    """Plots that are shown side by side."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG drawing, a sentence that describes it, and its file name next to a Markdown report."""

    caption: str
    alt: str
    svg: Markup
    file: str


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that are shown on demand, and always on paper."""

    title: str
    blocks: tuple[Block, ...]
    outcome: str = ""


Block = Text | Heading | Items | Facts | Table | Bars | Figures | Picture | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with an anchor."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The verdict in one sentence, and its parts as names with texts."""

    outcome: str
    sentence: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report: the question, what it was asked of, the answer and the sections."""

    title: str
    question: str
    basis: str
    answer: Conclusion
    sections: tuple[Section, ...]
    made_by: str
