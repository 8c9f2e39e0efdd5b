"""Page of a report: blocks such as tables and lists, independent of the file format.

The modules `html`, `markdown`, `pdf` and `text`, and the pages in a browser, render blocks. All texts are plain; the
renderers escape them. This module also makes elements of HTML and SVG.

>>> element("p", "1 < 2", class_="note")
'<p class="note">1 &lt; 2</p>'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from html import escape
from typing import Any

from icmodel.documents import number_or_none
from icmodel.plotting import Spec
from icmodel.report.masthead import PLAIN, Masthead


@dataclass(frozen=True, slots=True)
class Gauge:
    """Bar in a table cell. It shows a predicted value, its interval and the limit.

    Positions are fractions of the bar's width. ``at_least`` is true if the limit is a minimum.
    """

    limit: float
    low: float
    high: float
    value: float | None
    at_least: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell of a table: a text, with up to four optional parts.

    These are a ``note`` below the text, an identifier (``name``), a verdict (``outcome``) and a bar (``gauge``).
    """

    text: str
    note: str = ""
    name: str = ""
    outcome: str = ""
    gauge: Gauge | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Table with a caption. The columns named in ``numbers`` are right-aligned.

    The caption and the column names may be empty. Plain text then has no line for them.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: tuple[str, ...] = ()

    @property
    def numeric(self) -> tuple[bool, ...]:
        """One boolean for each column: whether the column is right-aligned."""
        return tuple(column in self.numbers for column in self.columns)


@dataclass(frozen=True, slots=True)
class Text:
    """Block of a report: a paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading inside a section of a report, optionally with a verdict beside it (``outcome``)."""

    text: str
    outcome: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """Block of a report: a bulleted list of sentences below a title. The title may be empty."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Block of a report: pairs of name and value. If ``code`` is true, the values have a fixed-width font."""

    pairs: tuple[tuple[str, str], ...]
    code: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a bar chart.

    ``share`` is the length of the bar, as a fraction of the longest bar. ``mark`` is a word beside the bar; it may be
    empty.
    """

    name: str
    text: str
    share: float
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Bar chart that compares values, such as the upper bounds of a goodput."""

    caption: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """Plot of a metric. An alternative text and a table of numbers serve readers who cannot see the plot.

    ``stream`` and ``metric`` are empty if the plot shows several streams or metrics.
    """

    title: str
    caption: str
    alt: str
    spec: Spec
    numbers: Table
    stream: str = ""
    metric: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """Block of a report: plots that are shown side by side."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """SVG drawing with a caption and an alternative text.

    ``file`` is the name of the SVG file to which a Markdown report links.
    """

    caption: str
    alt: str
    svg: Markup
    file: str


@dataclass(frozen=True, slots=True)
class Fold:
    """Collapsible group of blocks. A screen shows it on demand; a printed report always shows it."""

    title: str
    blocks: tuple[Block, ...]
    outcome: str = ""


Block = Text | Heading | Items | Facts | Table | Bars | Figures | Picture | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """Section of a report: anchor (target of links), title and blocks."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


def filled_sections(*titled: tuple[str, str, Iterable[Block]]) -> tuple[Section, ...]:
    """Make the sections of a page from triples of anchor, title and blocks. Sections without blocks are left out."""
    made = (Section(anchor, title, tuple(blocks)) for anchor, title, blocks in titled)
    return tuple(section for section in made if section.blocks)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Conclusion of a report: the outcome, a sentence, and further facts as pairs of name and text."""

    outcome: str
    sentence: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Front:
    """First page of a report. It answers the question without the appendix.

    Parameters
    ----------
    numbers : Table
        At most `MOST_NUMBERS` decisive numbers, the worst first.
    more : str
        Sentence with the number of further rows in the appendix; empty if there are none.
    parts : Table, optional
        Goodput and latency by part: network, hosts and application.
    picture : Figure, Picture, optional
        Plot or drawing.
    change : tuple of str
        At most `MOST_CHANGES` changes or measurements; each would change the verdict.
    buy : tuple of pairs
        Hardware to buy, as pairs of name and text.
    doubts : tuple of str
        At most `MOST_DOUBTS` doubts about the verdict, the largest first.
    repeat : tuple of pairs
        Command that makes the report again, and hashes of its inputs, as pairs of name and text.
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
"""Maximum counts of table rows, changes and doubts on the first page of a report."""
CHANGE, BUY, DOUBTS, REPEAT = (
    "What would change the verdict",
    "What must be bought",
    "The largest doubts",
    "To repeat this report",
)
"""Headings of the four lists on the first page of a report."""


@dataclass(frozen=True, slots=True)
class Page:
    """Whole report: title, question, basis (dataset and variant), answer, first page and sections.

    ``made_by`` names the program and its version.
    """

    title: str
    question: str
    basis: str
    answer: Conclusion
    sections: tuple[Section, ...]
    made_by: str
    front: Front | None = None
    masthead: Masthead = PLAIN


VOID = frozenset({"meta", "br", "hr", "img"})
"""Names of HTML elements without an end tag."""


class Markup(str):
    """HTML or SVG source; `element` does not escape it again."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | None) -> Markup:
    """Make an HTML or SVG element.

    A trailing underscore of an attribute name is removed; other underscores become hyphens. Attributes with the
    value ``None`` are left out.
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{shown}>")
    return Markup(f"<{name}{shown}>{joined(*children)}</{name}>")


def joined(*children: str) -> Markup:
    """Concatenate pieces of HTML or SVG. Texts that are not `Markup` are escaped."""
    return Markup(
        "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    )


Sections = Iterable[tuple[str, str, Iterable[Block]]]
"""Sections of a page: triples of anchor (target of links), title and blocks."""


def page_json(
    title: str, question: str, basis: str, answer: Conclusion | None, sections: Sections
) -> dict[str, Any]:
    """Return a report page as JSON.

    ``answer`` is the conclusion of the page: an outcome, such as met, and a sentence. If it is None, both are empty.
    """
    answer = answer or Conclusion("", "", ())
    return {
        "title": title,
        "question": question,
        "basis": basis,
        "outcome": answer.outcome,
        "sentence": answer.sentence,
        "parts": answer.parts,
        "sections": [
            {"anchor": anchor, "title": name, "blocks": [block_json(block) for block in blocks]}
            for anchor, name, blocks in sections
        ],
    }


def block_json(block: Block) -> dict[str, Any]:
    """Return a block of a report as JSON: its kind, in lower case, and its fields."""
    return {"kind": type(block).__name__.lower(), **_fields(block)}


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: _form(getattr(value, field.name)) for field in fields(value)}


def _form(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_form(one) for one in value]
    if isinstance(value, Text | Fold | Table | Items | Facts):
        return block_json(value)
    if isinstance(value, float):
        return number_or_none(value)
    return _fields(value) if hasattr(value, "__dataclass_fields__") else value
