"""The legend of a drawing: colours, thicknesses and marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from icmodel import units
from icmodel.report.markup import Markup, element
from icmodel.report.systems.parts import (
    BEYOND,
    KINDS,
    LOADS,
    MARKS,
    SMALL_PX,
    load_class,
    px,
    thickness,
)
from icmodel.report.systems.seen import Seen
from icmodel.report.systems.texts import width_px

ROW, APART, SWATCH = 20.0, 18.0, 26.0
"""Distance between rows, between entries, and length of a sample line [px]."""
MOST_RATES = 6
"""Greatest number of rates shown; of more the least and the greatest."""

Entry = tuple[Markup | None, str, str]
"""A sample line or none, the class of the text, and the text."""


def legend(of: Seen, width: float, top: float) -> tuple[list[Markup], float]:
    """The entries of a drawing, wrapped into its width [px], and their lower end."""
    drawn: list[Markup] = []
    y = top
    for group in (_loads(of), _rates(of), _marks(of)):
        x = 0.0
        for line, styled, text in group:
            needed = width_px(text, SMALL_PX) + (SWATCH + 6 if line is not None else 0.0)
            if x and x + needed > width:
                x, y = 0.0, y + ROW
            drawn.append(_entry(line, styled, text, x, y))
            x += needed + APART
        y += ROW if x else 0.0
    return drawn, y - ROW / 2


def _entry(line: Markup | None, styled: str, text: str, x: float, y: float) -> Markup:
    at = px(SWATCH + 6) if line is not None else "0"
    said = element("text", text, x=at, y="4", class_=styled)
    return element(
        "g", *([line] if line is not None else []), said, transform=f"translate({px(x)} {px(y)})"
    )


def _line(styled: str, thick: float) -> Markup:
    return element("path", d=f"M0 0H{px(SWATCH)}", class_=styled, stroke_width=px(thick))


def _loads(of: Seen) -> Iterator[Entry]:
    yield None, "key", "load of the busiest port:"
    words = [*(text for _, text in LOADS), BEYOND]
    for place in sorted({load_class(one.ratio) for one in of.cables}):
        yield _line(f"cable load-{place}", 3.5), "key", words[place]
    if any(len(one.cable.links) > 1 for one in of.cables):
        yield None, "key", "n × ≤: the busiest of n links"


def _rates(of: Seen) -> Iterator[Entry]:
    rates = sorted({link.rate_bps for one in of.cables for link in one.cable.links})
    if len(rates) > MOST_RATES:
        rates = [rates[0], rates[-1]]
    yield None, "key", "rate:"
    for rate in rates:
        yield _line("cable", thickness(rate)), "key", units.format_bps(rate)


def _marks(of: Seen) -> Iterator[Entry]:
    there: Iterable[str] = {kind for box in of.boxes for kind in box.outcomes}
    yield None, "key", "streams that begin or end there:"
    for kind, sign in MARKS.items():
        if kind in there:
            yield None, f"key {KINDS[kind]}", f"{sign} {kind}"
