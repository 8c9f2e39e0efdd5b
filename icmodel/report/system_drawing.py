"""Draw a system as SVG: devices and switches as boxes, links as cables. List its streams as JSON for the browser.

The colour of a cable shows the load; the thickness shows the line rate. Each box shows the number of its streams by
verdict.

The file is self-contained. Its colours follow the reader's colour scheme (light or dark). All numbers are texts, and
``<title>`` elements show details under the pointer. The same system gives the same bytes.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from icmodel import units
from icmodel.estimate import estimated, interval, limit_name, metric_name, percent, plural, quantity
from icmodel.report import system_tables as tables
from icmodel.report.blocks import Markup, element, joined
from icmodel.report.system_boxes import (
    BEND,
    NOT_JUDGED,
    WIDTH,
    BoxSummary,
    CableSummary,
    EdgeRoute,
    Layout,
    Place,
    Shape,
    Summary,
    layout,
    outcomes,
    summarise,
)
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED
from icmodel.system import System, SystemPrediction
from icmodel.system.prediction.result import StreamPrediction

STYLES = Path(__file__).with_name("system_drawing.css")
"""Style sheet of a system drawing; each SVG file contains a copy."""
MARGIN = 16.0
ABOVE_LEGEND = 26.0
LEAST_WIDTH = 560.0
"""Least width of a system drawing [px]. The legend needs this width."""
UNLIMITED_BPS = 1e9
"""Assumed rate of a stream without a rate limit [b/s]; it is used only to arrange the boxes."""


def system_svg(found: SystemPrediction) -> str:
    """Draw a predicted system as a complete SVG document.

    Examples
    --------
    >>> from icmodel.system import load, predict
    >>> svg = system_svg(predict(load("lab-udp-overload")))
    >>> svg[:4], svg.count('class="box"')
    ('<svg', 4)
    """
    return drawing(found.system, summarise(found))


def drawing(system: System, summary: Summary) -> Markup:
    """Draw a system as SVG from the numbers of its boxes and cables."""
    made = arranged(system, summary.shape)
    width = max(made.width, LEAST_WIDTH)
    entries, lower = legend(summary, width, made.height + ABOVE_LEGEND)
    cables = [one for one in summary.cables if not one.cable.inside]
    lines = list(zip(cables, made.routes, strict=True))
    parts = (
        *(cable_svg(*one) for one in lines),
        *(number_svg(*one) for one in lines),
        *(box_svg(system, *one) for one in zip(summary.boxes, made.places, strict=True)),
    )
    centred = element("g", *parts, transform=f"translate({px((width - made.width) / 2)} 0)")
    wide, high = width + 2 * MARGIN, lower + 2 * MARGIN
    styles = STYLES.read_text(encoding="utf-8")
    return element(
        "svg",
        element("style", Markup(styles)),
        element("rect", class_="paper", width=px(wide), height=px(high)),
        element("g", centred, *entries, transform=f"translate({px(MARGIN)} {px(MARGIN)})"),
        xmlns="http://www.w3.org/2000/svg",
        class_="system-drawing",
        role="img",
        aria_label=described(system, summary),
        viewBox=f"0 0 {px(wide)} {px(high)}",
        width=px(wide),
        height=px(high),
    )


def arranged(system: System, folded: Shape) -> Layout:
    """Return a layout of boxes and cables in which most of the requested traffic runs from left to right."""
    flows: dict[tuple[int, int], float] = {}
    for stream in system.streams.values():
        request_bps = stream.requested_goodput_bps
        pair = folded.box_of[stream.source], folded.box_of[stream.sink]
        flow = request_bps if math.isfinite(request_bps) else UNLIMITED_BPS
        flows[pair] = flows.get(pair, 0.0) + flow
    pairs = [cable.ends for cable in folded.cables if not cable.inside]
    return layout(len(folded.boxes), pairs, flows)


def described(system: System, summary: Summary) -> str:
    """Return the alternative text of the drawing, for readers who cannot see it."""
    counts = (
        plural(len(system.devices), "device"),
        plural(len(system.switches), "switch"),
        plural(len(system.links), "link"),
    )
    text = f"{system.title}: {', '.join(counts)}"
    if not summary.cables:
        return text
    busiest = max(summary.cables, key=lambda cable: cable.ratio)
    return f"{text}; the busiest port is {busiest.busiest}, {load_text(busiest)}"


# --- texts ------------------------------------------------------------------------------------

_NARROW, _WIDE = frozenset("iljtfrI.,:;|!'()[] -"), frozenset("mwMW@%—…→←×≤≥✓✗")
NARROW, USUAL, CAPITAL, WIDE = 0.36, 0.58, 0.73, 0.98
"""Widths of characters in common sans-serif fonts [em], rounded up."""
BOLD_PX, SMALL_PX = 15.0, 11.0
"""Font sizes for the computation of text widths [px]: bold names, and small texts.

Names have a font of 12.5 px. Bold text is a fifth wider, like a font of 15 px.
"""


def px(value: float) -> str:
    """Format a length [px] with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def width_px(text: str, size_px: float) -> float:
    """Return the estimated width of a text [px]."""
    width_em = 0.0
    for char in text:
        if char in _NARROW:
            width_em += NARROW
        elif char in _WIDE or unicodedata.east_asian_width(char) in "FW":
            width_em += WIDE
        else:
            width_em += CAPITAL if char.isupper() else USUAL
    return size_px * width_em


def shortened(text: str, size_px: float, room_px: float) -> str:
    """Shorten a text to a width [px], with an ellipsis in the middle.

    The names of a group's members differ at the end, so the end is kept.
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


# --- cables -----------------------------------------------------------------------------------

LOADS = ((0.0, "idle"), (0.25, "to 25 %"), (0.5, "to 50 %"), (0.75, "to 75 %"), (1.0, "to 100 %"))
"""Colour classes of cables: greatest load of each class, and its text in the legend."""
BEYOND = "over 100 % requested"
THINNEST, THICKEST = 1.5, 8.0
"""Least and greatest thickness of a drawn cable [px]. Cables of at most 100 Mb/s have the least thickness."""
OFF = (6.0, 5.0)
"""Distances of a cable's load text from the box and from the cable [px]."""


def cable_svg(one: CableSummary, route: EdgeRoute) -> Markup:
    """Draw a cable as SVG: a straight part under its load text, and a curve for the rest."""
    labelled = route.labelled
    first, last = (route.start, route.end) if labelled == 0 else (route.end, route.start)
    side, other = route.sides[labelled], route.sides[1 - labelled]
    bent = side == other
    straight = width_px(number_text(one, route), SMALL_PX) + OFF[0]
    x, y = first[0] + side * (0 if bent else straight), first[1]
    reach = BEND if bent else abs(last[0] - x) / 2
    points = ((x + side * reach, y), (last[0] + other * reach, last[1]), last)
    curve = " ".join(f"{px(a)} {px(b)}" for a, b in points)

    names = [link.name for link in one.cable.links]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    title = f"{names[0]}{more}\nbusiest: {one.busiest}, {load_text(one)}"
    path = element(
        "path",
        d=f"M{px(first[0])} {px(y)}H{px(x)}C{curve}",
        class_=f"cable load-{load_class(one.ratio)}",
        stroke_width=px(thickness(max(link.rate_bps for link in one.cable.links))),
    )
    return element("g", element("title", title), path, class_="link")


def number_svg(one: CableSummary, route: EdgeRoute) -> Markup:
    """Draw the load of a cable as a text. In the file, all texts follow the cables, so they are drawn on top."""
    (x, y), side = (route.start, route.end)[route.labelled], route.sides[route.labelled]
    return element(
        "text",
        number_text(one, route),
        x=px(x + side * OFF[0]),
        y=px(y - OFF[1]),
        class_="number",
        text_anchor="start" if side > 0 else "end",
    )


def number_text(one: CableSummary, route: EdgeRoute) -> str:
    """Return the load of a cable as text, with an arrow in the direction of its busiest port."""
    from_label = one.outwards == (route.labelled == 0)
    if route.sides[route.labelled] < 0:
        return f"{'←' if from_label else '→'} {one.text}"
    return f"{one.text} {'→' if from_label else '←'}"


def load_class(ratio: float) -> int:
    """Return the number of the colour class of a load (fraction of the line rate), as an index into `LOADS`.

    A load above 100 % has no entry in `LOADS`; its number is ``len(LOADS)``.
    """
    return next((index for index, (most, _) in enumerate(LOADS) if ratio <= most), len(LOADS))


def thickness(rate_bps: float) -> float:
    """Return the thickness of a drawn cable [px]. Ten times the line rate gives 1.5 times the thickness."""
    return min(max(THINNEST * math.pow(1.5, math.log10(rate_bps / 1e8)), THINNEST), THICKEST)


def load_text(one: CableSummary) -> str:
    """Return the load of a cable as text: ``75 % of 10 Gb/s``, with the requested load if overloaded."""
    request = f", requested {percent(one.port.asked_ratio)}" if one.overloaded else ""
    return f"{percent(one.port.load_ratio)} of {units.format_bps(one.rate_bps)}{request}"


# --- boxes ------------------------------------------------------------------------------------

MARKS = {MET: "✓", UNDECIDED: "?", NOT_MET: "✗", NOT_JUDGED: "–"}
KINDS = {MET: "met", UNDECIDED: "undecided", NOT_MET: "not-met", NOT_JUDGED: "not-judged"}
"""Sign of each verdict (``MARKS``), and CSS class of the sign (``KINDS``)."""
LINE, MOST_LINES = 16.0, 4
"""Distance between the text lines in a box [px], and maximum number of lines at this distance."""
ROOM = WIDTH - 12
"""Maximum width of the texts in a box of the drawing [px]."""


def box_svg(system: System, one: BoxSummary, place: Place) -> Markup:
    """Draw a box (device or switch) as SVG: name, CPU load or forwarding mode, and streams by verdict."""
    switches, members = one.box.switches, one.box.members
    frames = [
        element(
            "rect",
            x=px(place.left + off),
            y=px(place.top - off),
            width=px(place.width),
            height=px(place.height),
            rx="2" if switches else "8",
            class_="switch" if switches else "device",
        )
        for off in ((3.0, 0.0) if len(members) > 1 else (0.0,))
    ]

    name = shortened(one.box.title, BOLD_PX, ROOM)
    detail = one.cpu_text
    if switches:
        switch = system.switches[members[0]]
        detail = f"{switch.forwarding}, {units.format_seconds(switch.latency_s, 3)}"
    lines = [(joined(name), "name", width_px(name, BOLD_PX))]
    details = (detail, f"inside: {one.inside}") if one.inside else (detail,)
    lines += [(joined(text), "detail", width_px(text, SMALL_PX)) for text in details]
    marks = {
        kind: f"{MARKS[kind]} {one.outcomes[kind]}" for kind in MARKS if one.outcomes.get(kind)
    }
    if marks:
        spans = (element("tspan", text, class_=KINDS[kind]) for kind, text in marks.items())
        width = width_px("  ".join(marks.values()), SMALL_PX)
        lines.append((Markup("\u2002".join(spans)), "marks", width))

    gap = LINE if len(lines) < MOST_LINES else LINE * (MOST_LINES - 1) / MOST_LINES
    top = place.top + place.height / 2 - gap * (len(lines) - 1) / 2 + SMALL_PX * 0.36
    texts = (
        element(
            "text",
            content,
            x=px(place.left + place.width / 2),
            y=px(top + row * gap),
            class_=styled,
            textLength=px(ROOM) if width > ROOM else None,
            lengthAdjust="spacingAndGlyphs" if width > ROOM else None,
        )
        for row, (content, styled, width) in enumerate(lines)
    )

    tip = [members[0] if len(members) == 1 else f"{one.box.title}: {members[0]} to {members[-1]}"]
    if switches:
        tip.append(detail)
    elif detail:
        tip.append(f"busiest: {one.busiest}, {detail}" if len(members) > 1 else detail)
    tip += [f"{plural(count, 'stream')} {kind}" for kind, count in one.outcomes.items()]
    return element("g", element("title", "\n".join(tip)), *frames, *texts, class_="box")


# --- legend -----------------------------------------------------------------------------------

ROW, APART, SWATCH = 20.0, 18.0, 26.0
"""Lengths in the legend [px]: distance between rows, distance between entries, length of a sample line."""
MOST_RATES = 6
"""Maximum number of line rates in the legend. With more rates, it shows only the least and the greatest."""

Entry = tuple[Markup | None, str, str]
"""Entry of the legend: sample line or None, CSS class of the text, and the text."""


def legend(summary: Summary, width: float, top: float) -> tuple[list[Markup], float]:
    """Draw the legend within a width [px]. Return its elements and its lower edge [px]."""
    drawn: list[Markup] = []
    y = top
    for group in legend_entries(summary):
        x = 0.0
        for sample, styled, text in group:
            start = SWATCH + 6 if sample is not None else 0.0
            needed = width_px(text, SMALL_PX) + start
            if x and x + needed > width:
                x, y = 0.0, y + ROW
            words = element("text", text, x=px(start), y="4", class_=styled)
            parts = (words,) if sample is None else (sample, words)
            drawn.append(element("g", *parts, transform=f"translate({px(x)} {px(y)})"))
            x += needed + APART
        y += ROW if x else 0.0
    return drawn, y - ROW / 2


def legend_entries(summary: Summary) -> tuple[list[Entry], list[Entry], list[Entry]]:
    """Return three groups of legend entries: loads, line rates, and verdicts of streams."""

    def sample(styled: str, width: float) -> Markup:
        return element("path", d=f"M0 0H{px(SWATCH)}", class_=styled, stroke_width=px(width))

    loads: list[Entry] = [(None, "key", "load of the busiest port:")]
    words = [*(text for _, text in LOADS), BEYOND]
    for index in sorted({load_class(one.ratio) for one in summary.cables}):
        loads.append((sample(f"cable load-{index}", 3.5), "key", words[index]))
    if any(len(one.cable.links) > 1 for one in summary.cables):
        loads.append((None, "key", "n × ≤: the busiest of n links"))

    rates: list[Entry] = [(None, "key", "rate:")]
    known = sorted({link.rate_bps for one in summary.cables for link in one.cable.links})
    for rate_bps in known if len(known) <= MOST_RATES else (known[0], known[-1]):
        text = units.format_bps(rate_bps)
        rates.append((sample("cable", thickness(rate_bps)), "key", text))

    marks: list[Entry] = [(None, "key", "streams that begin or end there:")]
    kinds = {kind for box in summary.boxes for kind in box.outcomes}
    marks += [
        (None, f"key {KINDS[kind]}", f"{MARKS[kind]} {kind}") for kind in MARKS if kind in kinds
    ]
    return loads, rates, marks


MOST_STREAMS = 400
"""Maximum number of streams beside the drawing of a system, the worst first."""


def stream_paths(found: SystemPrediction, summary: Summary) -> Iterator[dict[str, Any]]:
    """Yield the streams of a system as JSON, the worst first.

    Each stream has its numbers, its latency terms, and the indices of its cables and boxes in the drawing.
    """
    drawn = [one.cable for one in summary.cables if not one.cable.inside]
    cable_of = {
        port: at
        for at, cable in enumerate(drawn)
        for link in cable.links
        for port in found.links[link.name].ports
    }
    box_of, of = summary.shape.box_of, outcomes(found)
    rank = {outcome: at for at, outcome in enumerate(OUTCOMES)}
    for name in sorted(found.streams, key=lambda name: -rank.get(of[name], -1))[:MOST_STREAMS]:
        one = found.streams[name]
        nodes = (
            one.stream.source,
            one.stream.sink,
            *(found.system.ports[p].node for p in one.stream.path),
        )
        longest = max(one.terms.values(), default=0.0) or 1.0
        yield {
            "name": name,
            "outcome": of[name],
            "goodput": _metric_text(one, "goodput_bps"),
            "latency": _metric_text(one, "latency_mean_s"),
            "path": list(one.stream.path),
            "cables": sorted({cable_of[port] for port in one.stream.path if port in cable_of}),
            "boxes": sorted({box_of[node] for node in nodes}),
            "facts": list(stream_facts(one)),
            "terms": [
                {
                    "name": cause,
                    "text": quantity("latency_mean_s", time),
                    "share": max(time / longest, 0.0),
                    "decides": time == longest,
                }
                for cause, time in one.terms.items()
            ],
            "notes": list(one.notes),
        }


def stream_facts(one: StreamPrediction) -> Iterator[tuple[str, str]]:
    """Yield the numbers of a stream as pairs of name and text."""
    stream = one.stream
    yield "sends", f"{stream.protocol}, {units.format_bytes(stream.payload_bytes)} a frame"
    for metric in (
        "goodput_bps",
        "latency_mean_s",
        "latency_max_s",
        "message_latency_s",
        "loss_rate",
    ):
        if metric in one.metrics:
            estimate = one.metrics[metric]
            span = interval(metric, estimate)
            notes = ", ".join(filter(None, (span, estimate.basis))) or estimate.why
            yield metric_name(metric), f"{_metric_text(one, metric)} ({notes})"
    yield "worst case", tables.bound_text([one]) if one.latency_bound else one.no_bound
    where = f" at {one.bottleneck_at}" if one.bottleneck_at else ""
    yield "limited by", f"{limit_name(one.bottleneck) or 'unknown'}{where}"
    if one.arrival.why:
        yield "arrival", one.arrival.why


def _metric_text(one: StreamPrediction, metric: str) -> str:
    if tables.grows(metric, [one]):
        return "grows"
    return estimated(metric, one.metrics[metric]) if metric in one.metrics else "unknown"
