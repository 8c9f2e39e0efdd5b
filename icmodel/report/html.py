"""A report as one self-contained HTML page, with its styles and plots inside."""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path

from icmodel.report import plots
from icmodel.report.blocks import (
    Bar,
    Bars,
    Block,
    Cell,
    Conclusion,
    Facts,
    Figure,
    Figures,
    Fold,
    Gauge,
    Heading,
    Items,
    Page,
    Picture,
    Section,
    Table,
    Text,
)
from icmodel.report.markup import Markup, element, joined
from icmodel.requirement import SIGNS

NO_PLOTS = f"The plots are left out, since vl-convert is not here: {plots.EXTRA}, and write the "
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Content security policy: the page may load only the styles inside it."""
LONG = 60
"""Number of characters beyond which a part of the answer has a line of its own."""
CLASSES = {"met": "met", "not met": "not-met", "undecided": "undecided"}


def html_text(content: Page) -> str:
    """A page, self-contained; the same content gives the same bytes."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=content.made_by),
        element("title", f"{content.title}: {content.answer.outcome}"),
        element("style", Markup(_styles())),
    )
    main = element("main", *map(_section, content.sections))
    footer = element("footer", element("p", f"Written by {content.made_by}."))
    body = element("body", _header(content), main, footer)
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _styles() -> str:
    return Path(__file__).with_name("page.css").read_text(encoding="utf-8")


# --- the frame --------------------------------------------------------------------------------


def _header(content: Page) -> Markup:
    links = (element("a", one.title, href=f"#{one.anchor}") for one in content.sections)
    return element(
        "header",
        element("p", content.made_by, class_="maker"),
        element("h1", content.title),
        element("p", content.question, class_="question"),
        element("p", f"Asked of {content.basis}.", class_="basis"),
        _conclusion(content.answer),
        element("nav", *links, aria_label="Parts of this report"),
    )


def _conclusion(answer: Conclusion) -> Markup:
    parts = (
        element(
            "div",
            element("dt", name),
            element("dd", text),
            class_="wide" if len(text) > LONG else None,
        )
        for name, text in answer.parts
    )
    return element(
        "section",
        element("h2", _badge(answer.outcome), Markup(" "), element("span", "The answer")),
        element("p", answer.sentence, class_="sentence"),
        element("dl", *parts),
        class_=f"answer {CLASSES[answer.outcome]}",
        aria_label="The answer",
    )


def _badge(outcome: str) -> Markup:
    sign = element("span", SIGNS[outcome], aria_hidden="true")
    return element("span", sign, f" {outcome}", class_=f"badge {CLASSES[outcome]}")


def _section(section: Section) -> Markup:
    heading = element("h2", section.title)
    return element("section", heading, *map(show, section.blocks), id=section.anchor)


# --- blocks -----------------------------------------------------------------------------------


@singledispatch
def show(block: Block) -> Markup:
    """One block as markup."""
    raise TypeError(f"a page has no block {type(block).__name__}")


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
    names = [name.removeprefix("#") for name in block.columns]
    numbers = [name.startswith("#") for name in block.columns]
    heads = (
        element("th", name, scope="col", role="columnheader", class_="number" if number else None)
        for name, number in zip(names, numbers, strict=True)
    )
    rows = (
        element(
            "tr",
            *(_cell(*cell) for cell in zip(row, names, numbers, strict=True)),
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


def _cell(cell: Cell, name: str, number: bool) -> Markup:
    parts = [element("span", cell.text, class_="text")] if cell.text else []
    if cell.name:
        parts.append(element("code", cell.name))
    if cell.outcome:
        parts.append(_badge(cell.outcome))
    if cell.gauge is not None:
        parts.append(_gauge(cell.gauge))
    if cell.note:
        parts.append(element("small", cell.note))
    inside = element("div", *parts)
    kind = "number" if number else None
    return element("td", inside, role="cell", class_=kind, data_label=name)


# --- drawings of our own ----------------------------------------------------------------------


def _gauge(gauge: Gauge) -> Markup:
    """The interval and the value against the limit; the texts beside it say the same."""

    def percent(share: float) -> str:
        return f"{100 * share:.2f}%"

    def bar(left: float, right: float, kind: str) -> Markup:
        width = max(right - left, 0.0)
        return element("i", class_=kind, style=f"left:{percent(left)};width:{percent(width)}")

    allowed = (gauge.limit, 1.0) if gauge.at_least else (0.0, gauge.limit)
    parts = [bar(*allowed, "allowed"), bar(gauge.low, gauge.high, "interval")]
    if gauge.value is not None:
        parts.append(element("i", class_="value", style=f"left:{percent(gauge.value)}"))
    parts.append(element("i", class_="limit", style=f"left:{percent(gauge.limit)}"))
    return element("div", *parts, class_="gauge", aria_hidden="true")


@show.register
def _bars(block: Bars) -> Markup:
    rows = (_bar(bar) for bar in block.bars)
    caption = element("figcaption", block.caption)
    return element("figure", caption, element("dl", *rows), class_="bars")


def _bar(bar: Bar) -> Markup:
    drawn = element("i", style=f"--share:{bar.share:.4f}", aria_hidden="true")
    mark = element("b", bar.mark) if bar.mark else Markup("")
    value = element("dd", drawn, element("span", bar.text, Markup(" "), mark))
    return element("div", element("dt", bar.name), value, class_="marked" if bar.mark else None)


@show.register
def _figures(block: Figures) -> Markup:
    if not plots.drawable():
        told = element("p", f"{NO_PLOTS}report again. Their numbers:")
        return joined(told, *(show(figure.numbers) for figure in block.figures))
    return element("div", *map(_figure, block.figures), class_="figures")


def _figure(figure: Figure) -> Markup:
    drawn = element(
        "div", Markup(plots.svg(figure.spec | {"title": None})), role="img", aria_label=figure.alt
    )
    numbers = element("details", element("summary", "The numbers"), show(figure.numbers))
    return element("figure", drawn, element("figcaption", figure.caption), numbers, class_="plot")


@show.register
def _picture(block: Picture) -> Markup:
    """A picture as wide as the window; what does not fit is scrolled."""
    drawn = element("div", block.svg, tabindex="0", role="group", aria_label="The drawing")
    return element("figure", drawn, element("figcaption", block.caption), class_="picture")
