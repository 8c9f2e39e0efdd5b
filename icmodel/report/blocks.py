"""Blocks of a report, independent of its format; `html`, `markdown` and `text` render them.

A `Page` is a title, a question, a `Conclusion` and sections of blocks.  Every text in a block is plain text: each
renderer escapes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from icmodel.plotting import Spec
from icmodel.report.masthead import PLAIN, Masthead

if TYPE_CHECKING:
    from icmodel.report.markup import Markup


@dataclass(frozen=True, slots=True)
class Gauge:
    """Drawing of a value, its interval and a limit; each position is a fraction of the width."""

    limit: float
    low: float
    high: float
    value: float | None
    at_least: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell of a table: text, field name, note below the text, outcome and gauge."""

    text: str
    note: str = ""
    name: str = ""
    outcome: str = ""
    gauge: Gauge | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Table with a caption; the columns named in ``numbers`` hold numbers and align right.

    Caption and column names may be empty.  The text renderer prints no line for an empty caption or header.
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
    """Heading inside a section; ``outcome`` is empty if the heading is not about an outcome."""

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
    """Pairs of name and value; with ``code`` the values are set in a fixed-width font."""

    pairs: tuple[tuple[str, str], ...]
    code: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """Bar: its length as a fraction of the longest bar, and a word that marks the bar, or none."""

    name: str
    text: str
    share: float
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Group of bars to compare, such as the bounds of a goodput."""

    caption: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """Plot of a metric with a table of its numbers, for readers who cannot see the plot."""

    title: str
    caption: str
    alt: str
    spec: Spec
    numbers: Table
    metric: str = ""


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
    """Blocks that a screen shows on demand and a printed report always shows."""

    title: str
    blocks: tuple[Block, ...]
    outcome: str = ""


Block = Text | Heading | Items | Facts | Table | Bars | Figures | Picture | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """Section of a report; links use its anchor."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Conclusion of a report: outcome, verdict in one sentence, and further parts by name."""

    outcome: str
    sentence: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Front:
    """First page of a report, which alone must answer a board; texts are short, so that they fit one page.

    Parameters
    ----------
    numbers : Table
        At most `MOST_NUMBERS` decisive numbers, the worst first.
    more : str
        Sentence on numbers that stand in the appendix only; empty if none do.
    parts : Table, optional
        Shares of network, hosts and application in the verdict.
    picture : Figure, Picture, optional
        The plot or drawing.
    change, doubts : tuple of str
        Changes that would change the verdict, and at most `MOST_DOUBTS` doubts, the largest first.
    buy, repeat : tuple of pairs
        Parts to buy; the command that repeats the report, and hashes.
    """

    numbers: Table
    more: str = ""
    parts: Table | None = None
    picture: Figure | Picture | None = None
    change: tuple[str, ...] = ()
    buy: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()
    repeat: tuple[tuple[str, str], ...] = ()


MOST_NUMBERS, MOST_CHANGES, MOST_DOUBTS = 8, 3, 3
"""Maximum number of rows and sentences on the first page."""
CHANGE, BUY, DOUBTS, REPEAT = (
    "What would change the verdict",
    "What must be bought",
    "The largest doubts",
    "To repeat this report",
)
"""Headings of the first page."""


@dataclass(frozen=True, slots=True)
class Page:
    """Whole report: question, basis (dataset and variant), answer, first page and sections."""

    title: str
    question: str
    basis: str
    answer: Conclusion
    sections: tuple[Section, ...]
    made_by: str
    front: Front | None = None
    masthead: Masthead = PLAIN
