"""Render a report page as one self-contained HTML file, with its styles and plots inside."""

from __future__ import annotations

import base64
from functools import singledispatch
from pathlib import Path

from icmodel.plotting import EXTRA, drawable, svg
from icmodel.report.blocks import (
    BUY,
    CHANGE,
    DOUBTS,
    REPEAT,
    Bars,
    Block,
    Cell,
    Facts,
    Figure,
    Figures,
    Fold,
    Front,
    Gauge,
    Heading,
    Items,
    Markup,
    Page,
    Picture,
    Table,
    Text,
    element,
    joined,
)
from icmodel.requirement import SIGNS

NO_PLOTS = (
    f"The plots are missing, since vl-convert is not installed: {EXTRA}, and write the report "
    "again. The tables hold their numbers:"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Content security policy of an HTML report: a browser loads only the styles inside the page."""
LOGO_POLICY = f"{POLICY}; img-src data:"
"""Content security policy of an HTML report with an embedded logo."""
CLASSES = {"met": "met", "not met": "not-met", "undecided": "undecided"}
"""CSS class of each verdict in an HTML report."""


def html_text(content: Page) -> str:
    """Render a report page as HTML. The same content gives the same bytes."""
    styles = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    head_of = content.masthead
    policy = POLICY if head_of.logo is None else LOGO_POLICY
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=content.made_by),
        element("title", f"{content.title}: {content.answer.outcome}"),
        element("style", Markup(f"{styles}\n:root {{ --house: {head_of.accent}; }}\n")),
    )
    sections = (
        element("section", element("h2", one.title), *map(show, one.blocks), id=one.anchor)
        for one in content.sections
    )
    body = element(
        "body",
        _header(content),
        element("main", *sections),
        element(
            "footer",
            element("p", head_of.footer) if head_of.footer else Markup(""),
            element("p", f"Written by {content.made_by}."),
        ),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _header(content: Page) -> Markup:
    """Render the first page of a report as HTML, from the masthead to the links to the sections."""
    answer, head = content.answer, content.masthead
    concluded = element(
        "section",
        element("h2", _badge(answer.outcome), Markup(" "), element("span", "The answer")),
        element("p", answer.sentence, class_="sentence"),
        class_=f"answer {CLASSES[answer.outcome]}",
        aria_label="The answer",
    )
    links = (element("a", one.title, href=f"#{one.anchor}") for one in content.sections)
    printed = " · ".join(filter(None, (head.organisation, head.line))) or content.made_by
    logo = Markup("")
    if head.logo is not None:  # browsers run no scripts of an SVG in an img element
        kind = "image/svg+xml" if head.logo.kind == "svg" else "image/png"
        address = f"data:{kind};base64,{base64.b64encode(head.logo.content).decode()}"
        logo = element("img", src=address, alt=head.organisation, class_="logo")
    return element(
        "header",
        element("div", logo, element("p", printed, class_="maker"), class_="masthead"),
        element("h1", content.title),
        element("p", content.question, class_="question"),
        element("p", f"Based on {content.basis}.", class_="basis"),
        concluded,
        Markup("") if content.front is None else _front(content.front),
        element("nav", *links, aria_label="Appendix of this report"),
    )


def _front(front: Front) -> Markup:
    """Render the rest of the first page as HTML: numbers, picture, changes, doubts, parts to buy, and command."""

    def listed(title: str, texts: tuple[str, ...]) -> Markup:
        return joined(element("h3", title), element("ul", *(element("li", text) for text in texts)))

    picture = Markup("")
    if isinstance(front.picture, Figure) and drawable():
        picture = _plot(front.picture)
    elif isinstance(front.picture, Picture):
        picture = show(front.picture)
    return element(
        "div",
        show(front.numbers),
        element("p", front.more) if front.more else Markup(""),
        Markup("") if front.parts is None else show(front.parts),
        picture,
        element(
            "div",
            element("section", listed(CHANGE, front.change)),
            element("section", listed(DOUBTS, front.doubts)),
            class_="columns",
        ),
        element("h3", BUY),
        show(Facts(front.buy)),
        element("h3", REPEAT),
        show(Facts(front.repeat, code=True)),
        class_="front",
    )


def _badge(outcome: str) -> Markup:
    sign = element("span", SIGNS[outcome], aria_hidden="true")
    return element("span", sign, f" {outcome}", class_=f"badge {CLASSES[outcome]}")


# --- blocks -----------------------------------------------------------------------------------


@singledispatch
def show(block: Block) -> Markup:
    """Render one block of a report as HTML."""
    raise TypeError(f"a page cannot contain a block of type {type(block).__name__}")


@show.register
def _text(block: Text) -> Markup:
    return element("p", block.text)


@show.register
def _heading(block: Heading) -> Markup:
    parts = [joined(block.text)]
    if block.outcome:
        parts.append(_badge(block.outcome))
    if block.note:
        parts.append(element("small", block.note))
    return element("h3", Markup(" ".join(parts)))


@show.register
def _items(block: Items) -> Markup:
    title = element("p", block.title, class_="about") if block.title else Markup("")
    return joined(title, element("ul", *(element("li", item) for item in block.items)))


@show.register
def _facts(block: Facts) -> Markup:
    def value(text: str) -> Markup:
        return element("dd", element("code", text) if block.code else text)

    pairs = (element("div", element("dt", name), value(text)) for name, text in block.pairs)
    return element("dl", *pairs, class_="facts code" if block.code else "facts")


@show.register
def _fold(block: Fold) -> Markup:
    inside = element("div", *map(show, block.blocks))
    badge = (Markup(" "), _badge(block.outcome)) if block.outcome else ()
    return element("details", element("summary", block.title, *badge), inside)


@show.register
def _table(block: Table) -> Markup:
    """Render a table of a report as HTML.

    An attribute of each cell holds the name of its column. Narrow windows show this name beside the cell.
    """
    classes = ["number" if numeric else None for numeric in block.numeric]
    heads = (
        element("th", name, scope="col", role="columnheader", class_=class_)
        for name, class_ in zip(block.columns, classes, strict=True)
    )
    rows = (
        element(
            "tr",
            *(
                element("td", _cell(cell), role="cell", class_=class_, data_label=name)
                for cell, name, class_ in zip(row, block.columns, classes, strict=True)
            ),
            role="row",
        )
        for row in block.rows
    )
    return element(
        "table",
        element("caption", block.caption),
        element("thead", element("tr", *heads, role="row"), role="rowgroup"),
        element("tbody", *rows, role="rowgroup"),
        role="table",
    )


def _cell(cell: Cell) -> Markup:
    parts = [element("span", cell.text, class_="text")] if cell.text else []
    if cell.name:
        parts.append(element("code", cell.name))
    if cell.outcome:
        parts.append(_badge(cell.outcome))
    if cell.gauge is not None:
        parts.append(_gauge(cell.gauge))
    if cell.note:
        parts.append(element("small", cell.note))
    return element("div", *parts)


def _gauge(gauge: Gauge) -> Markup:
    """Render a gauge (bar with interval, value and limit) as HTML.

    Screen readers skip it, since the row of the table has the same numbers as text.
    """

    def mark(kind: str, left: float, right: float | None = None) -> Markup:
        width = "" if right is None else f";width:{100 * max(right - left, 0.0):.2f}%"
        return element("i", class_=kind, style=f"left:{100 * left:.2f}%{width}")

    first, last = (gauge.limit, 1.0) if gauge.at_least else (0.0, gauge.limit)
    parts = [mark("allowed", first, last), mark("interval", gauge.low, gauge.high)]
    if gauge.value is not None:
        parts.append(mark("value", gauge.value))
    parts.append(mark("limit", gauge.limit))
    return element("div", *parts, class_="gauge", aria_hidden="true")


@show.register
def _bars(block: Bars) -> Markup:
    rows = []
    for bar in block.bars:
        drawn = element("i", style=f"--share:{bar.share:.4f}", aria_hidden="true")
        mark = element("b", bar.mark) if bar.mark else Markup("")
        value = element("dd", drawn, element("span", bar.text, Markup(" "), mark))
        rows.append(
            element("div", element("dt", bar.name), value, class_="marked" if bar.mark else None)
        )
    caption = element("figcaption", block.caption)
    return element("figure", caption, element("dl", *rows), class_="bars")


@show.register
def _figures(block: Figures) -> Markup:
    """Render plots as HTML, each with its numbers in a collapsed table.

    If vl-convert is not installed, only the numbers are shown.
    """
    if not drawable():
        return joined(element("p", NO_PLOTS), *(show(figure.numbers) for figure in block.figures))
    drawn = (
        _plot(figure, element("details", element("summary", "The numbers"), show(figure.numbers)))
        for figure in block.figures
    )
    return element("div", *drawn, class_="figures")


def _plot(figure: Figure, *below: Markup) -> Markup:
    drawing = Markup(svg(figure.spec | {"title": None}))
    drawn = element("div", drawing, role="img", aria_label=figure.alt)
    return element("figure", drawn, element("figcaption", figure.caption), *below, class_="plot")


@show.register
def _picture(block: Picture) -> Markup:
    """Render an SVG drawing as HTML. A drawing wider than the window can be scrolled."""
    drawn = element("div", block.svg, tabindex="0", role="group", aria_label="The drawing")
    return element("figure", drawn, element("figcaption", block.caption), class_="picture")
