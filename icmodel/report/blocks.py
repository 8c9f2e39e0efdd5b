"""Blocks of a report, independent of the format: printed as HTML, Markdown or text."""

from __future__ import annotations

from dataclasses import dataclass

from icmodel.report.drawing import Spec
from icmodel.report.markup import Markup


@dataclass(frozen=True, slots=True)
class Gauge:
    """A value with its interval against a limit, as shares of the drawn width."""

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
    """A table with a caption; columns named with a leading ``#`` hold numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


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
    """A list of sentences under a few words."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values; code values are set in a fixed-width font."""

    pairs: tuple[tuple[str, str], ...]
    code: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of several: its share of the longest, and a word where it stands out."""

    name: str
    text: str
    share: float
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Lengths side by side, such as the bounds of a goodput."""

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
    """Plots that belong side by side."""

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
    """The verdict in one sentence, and its parts one by one."""

    outcome: str
    sentence: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    question: str
    basis: str
    answer: Conclusion
    sections: tuple[Section, ...]
    made_by: str
