"""A system as SVG: boxes, cables coloured by load and as thick as their rate, streams counted by verdict.

The file is self-contained: its colours follow the reader's colour scheme, every number is a text, and
``<title>`` shows details under the pointer. The same system gives the same bytes.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from icmodel import units
from icmodel.estimate import percent, plural
from icmodel.report.markup import Markup, element, joined
from icmodel.report.systems.layout import BEND, WIDTH, Layout, Place, Way, layout
from icmodel.report.systems.seen import NOT_JUDGED, Seen, SeenBox, SeenCable, Shape, seen
from icmodel.requirement import MET, NOT_MET, UNDECIDED
from icmodel.system import System, SystemPrediction

_NARROW, _WIDE = frozenset("iljtfrI.,:;|!'()[] -"), frozenset("mwMW@%—…→←×≤≥✓✗")
NARROW, USUAL, CAPITAL, WIDE = 0.36, 0.58, 0.73, 0.98
"""Widths of characters [em] of a common sans serif, on the safe side."""


def width_px(text: str, size_px: float) -> float:
    """The width of a text [px]."""
    return size_px * sum(map(_em, text))


def _em(char: str) -> float:
    if char in _NARROW:
        return NARROW
    if char in _WIDE or unicodedata.east_asian_width(char) in "FW":
        return WIDE
    return CAPITAL if char.isupper() else USUAL


def shortened(text: str, size_px: float, room_px: float) -> str:
    """A text as it is, or its beginning and end with an ellipsis between, so that it fits.

    The end stays, since members of a group differ there.
    """
    text = " ".join(text.split())
    if width_px(text, size_px) <= room_px:
        return text
    for kept in range(len(text) - 1, 1, -1):
        tail = kept // 3
        short = f"{text[: kept - tail]}…{text[len(text) - tail :]}"
        if width_px(short, size_px) <= room_px:
            return short
    return "…"


LOADS = ((0.0, "idle"), (0.25, "to 25 %"), (0.5, "to 50 %"), (0.75, "to 75 %"), (1.0, "to 100 %"))
"""Upper end of the load of each colour."""
BEYOND = "asked for more than 100 %"
MARKS = {MET: "✓", UNDECIDED: "?", NOT_MET: "✗", NOT_JUDGED: "–"}
KINDS = {MET: "met", UNDECIDED: "undecided", NOT_MET: "not-met", NOT_JUDGED: "not-judged"}
BOLD_PX, SMALL_PX = 15.0, 11.0
"""Sizes of texts as their widths are counted: names have 12.5, and bold ones are a fifth wider."""
LINE, MOST_LINES = 16.0, 4
"""Distance of lines in a box, and the greatest number at that distance."""
ROOM = WIDTH - 12
"""Width for the texts of a box [px]."""
THINNEST, THICKEST = 1.5, 8.0
"""Thickness of a cable of at most 100 Mb/s, and the greatest thickness [px]."""
OFF = (6.0, 5.0)
"""Distance of a cable's number from its box and from the cable [px]."""


def px(value: float) -> str:
    """A length with at most one place."""
    return f"{value:.1f}".removesuffix(".0")


# --- cables -----------------------------------------------------------------------------------


def drawn_cable(one: SeenCable, way: Way, labelled: int) -> Markup:
    """A cable, straight under its number and curved from there on."""
    text = _number(one, way, labelled)
    stub = width_px(text, SMALL_PX) + OFF[0]
    path = element(
        "path",
        d=_curve(way, labelled, stub),
        class_=f"cable load-{load_class(one.ratio)}",
        stroke_width=px(thickness(max(link.rate_bps for link in one.cable.links))),
    )
    return element("g", element("title", cable_title(one)), path, class_="link")


def drawn_number(one: SeenCable, way: Way, labelled: int) -> Markup:
    """The number of a cable, over all cables."""
    (x, y), side = (way.start, way.end)[labelled], way.sides[labelled]
    return element(
        "text",
        _number(one, way, labelled),
        x=px(x + side * OFF[0]),
        y=px(y - OFF[1]),
        class_="number",
        text_anchor="start" if side > 0 else "end",
    )


def _number(one: SeenCable, way: Way, labelled: int) -> str:
    """The load of a cable, with an arrow in the direction of its busiest port."""
    rightwards = one.outwards == (labelled == 0)
    if way.sides[labelled] < 0:
        return f"{'←' if rightwards else '→'} {one.text}"
    return f"{one.text} {'→' if rightwards else '←'}"


def _curve(way: Way, labelled: int, stub: float) -> str:
    first, last = (way.start, way.end) if labelled == 0 else (way.end, way.start)
    side, other = way.sides[labelled], way.sides[1 - labelled]
    bent = side == other
    x, y = first[0] + side * (0 if bent else stub), first[1]
    reach = BEND if bent else abs(last[0] - x) / 2
    towards = ((x + side * reach, y), (last[0] + other * reach, last[1]), last)
    curve = " ".join(f"{px(a)} {px(b)}" for a, b in towards)
    return f"M{px(first[0])} {px(y)}H{px(x)}C{curve}"


def load_class(ratio: float) -> int:
    """Index of a load's colour in `LOADS`; loads above 100 % come after them."""
    return next((place for place, (most, _) in enumerate(LOADS) if ratio <= most), len(LOADS))


def thickness(rate_bps: float) -> float:
    """Thickness of a cable [px]: half as much again for each factor of ten in its rate."""
    return min(max(THINNEST * math.pow(1.5, math.log10(rate_bps / 1e8)), THINNEST), THICKEST)


def load_text(one: SeenCable) -> str:
    """``75 % of 10 Gb/s``, and the request if it is more."""
    asked = f", asked for {percent(one.port.asked_ratio)}" if one.overloaded else ""
    return f"{percent(one.port.load_ratio)} of {units.format_bps(one.rate_bps)}{asked}"


def cable_title(one: SeenCable) -> str:
    """The text shown under the pointer at a cable."""
    names = [link.name for link in one.cable.links]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}\nbusiest: {one.busiest}, {load_text(one)}"


# --- boxes ------------------------------------------------------------------------------------


def drawn_box(system: System, one: SeenBox, place: Place) -> Markup:
    """A box with its name, kind or utilisation, and its streams by verdict."""
    kind = "switch" if one.box.switches else "device"
    back = [
        element(
            "rect",
            x=px(place.left + off),
            y=px(place.top - off),
            width=px(place.width),
            height=px(place.height),
            rx="2" if one.box.switches else "8",
            class_=kind,
        )
        for off in ((3.0, 0.0) if len(one.box.members) > 1 else (0.0,))
    ]
    texts = list(_texts(system, one))
    middle = place.left + place.width / 2
    line = LINE if len(texts) < MOST_LINES else LINE * (MOST_LINES - 1) / MOST_LINES
    top = place.top + place.height / 2 - line * (len(texts) - 1) / 2 + SMALL_PX * 0.36
    lines = (
        element(
            "text",
            content,
            x=px(middle),
            y=px(top + row * line),
            class_=styled,
            textLength=px(ROOM) if width > ROOM else None,
            lengthAdjust="spacingAndGlyphs" if width > ROOM else None,
        )
        for row, (content, styled, width) in enumerate(texts)
    )
    return element("g", element("title", box_title(system, one)), *back, *lines, class_="box")


def _texts(system: System, one: SeenBox) -> Iterator[tuple[Markup, str, float]]:
    """The lines of a box: content, class, and about how wide it is."""
    name = shortened(one.box.title, BOLD_PX, ROOM)
    yield joined(name), "name", width_px(name, BOLD_PX)
    second = one.cpu_text or _switch_text(system, one)
    yield joined(second), "detail", width_px(second, SMALL_PX)
    if one.inside:
        third = f"inside: {one.inside}"
        yield joined(third), "detail", width_px(third, SMALL_PX)
    marks = [
        (kind, f"{sign} {one.outcomes[kind]}")
        for kind, sign in MARKS.items()
        if one.outcomes.get(kind)
    ]
    if marks:
        spans = (element("tspan", text, class_=KINDS[kind]) for kind, text in marks)
        plain = "  ".join(text for _, text in marks)
        yield Markup(Markup("\u2002").join(spans)), "marks", width_px(plain, SMALL_PX)


def _switch_text(system: System, one: SeenBox) -> str:
    switch = system.switches[one.box.members[0]]
    return f"{switch.forwarding}, {units.format_seconds(switch.latency_s, 3)}"


def box_title(system: System, one: SeenBox) -> str:
    """The text shown under the pointer at a box."""
    members = one.box.members
    lines = [members[0] if len(members) == 1 else f"{one.box.title}: {members[0]} to {members[-1]}"]
    if one.box.switches:
        lines.append(_switch_text(system, one))
    elif one.cpu_text:
        lines.append(
            f"busiest: {one.busiest}, {one.cpu_text}" if len(members) > 1 else one.cpu_text
        )
    lines += [f"{plural(count, 'stream')} {kind}" for kind, count in one.outcomes.items()]
    return "\n".join(lines)


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


MARGIN = 16.0
ABOVE_LEGEND = 26.0
PICTURE_ROOM = 560.0
"""Least width of a drawing [px], for the legend under it."""
UNLIMITED_BPS = 1e9
"""Rate of an unlimited stream for the direction of drawing."""


def system_svg(found: SystemPrediction) -> str:
    """The drawing of a predicted system, a whole SVG document."""
    return drawn(found.system, seen(found))


def drawn(system: System, of: Seen) -> Markup:
    """The drawing of a system from boxes and cables with their numbers."""
    made = arranged(system, of.shape)
    width = max(made.width, PICTURE_ROOM)
    key, lower = legend(of, width, made.height + ABOVE_LEGEND)
    cables = [one for one in of.cables if not one.cable.inside]
    lines = list(zip(cables, made.ways, made.labelled, strict=True))
    parts = (
        *(drawn_cable(*one) for one in lines),
        *(drawn_number(*one) for one in lines),
        *(drawn_box(system, *one) for one in zip(of.boxes, made.places, strict=True)),
    )
    pictured = element("g", *parts, transform=f"translate({px((width - made.width) / 2)} 0)")
    wide, high = width + 2 * MARGIN, lower + 2 * MARGIN
    return element(
        "svg",
        element("style", Markup(_styles())),
        element("rect", class_="paper", width=px(wide), height=px(high)),
        element("g", pictured, *key, transform=f"translate({px(MARGIN)} {px(MARGIN)})"),
        xmlns="http://www.w3.org/2000/svg",
        class_="system-drawing",
        role="img",
        aria_label=described(system, of),
        viewBox=f"0 0 {px(wide)} {px(high)}",
        width=px(wide),
        height=px(high),
    )


def arranged(system: System, of: Shape) -> Layout:
    """Positions of boxes and cables; the requested streams run from left to right."""
    flows: dict[tuple[int, int], float] = {}
    for stream in system.streams.values():
        asked = stream.requested_goodput_bps
        pair = of.box_of[stream.source], of.box_of[stream.sink]
        flows[pair] = flows.get(pair, 0.0) + (asked if math.isfinite(asked) else UNLIMITED_BPS)
    pairs = [one.ends for one in of.cables if not one.inside]
    return layout(len(of.boxes), pairs, flows)


def described(system: System, of: Seen) -> str:
    """The drawing in one sentence."""
    counts = ", ".join(
        (
            plural(len(system.devices), "device"),
            plural(len(system.switches), "switch"),
            plural(len(system.links), "link"),
        )
    )
    busiest = max(of.cables, key=lambda one: one.ratio, default=None)
    most = (
        "" if busiest is None else f"; the busiest port is {busiest.busiest}, {load_text(busiest)}"
    )
    return f"{system.title}: {counts}{most}"


def _styles() -> str:
    return Path(__file__).with_name("drawing.css").read_text(encoding="utf-8")
