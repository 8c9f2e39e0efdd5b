"""A system as SVG: boxes, cables coloured by load and as thick as their rate, streams counted by verdict.

The file is self-contained: its colours follow the reader's colour scheme, every number is a text, and
``<title>`` shows details under the pointer. The same system gives the same bytes.
"""

from __future__ import annotations

import math
from pathlib import Path

from icmodel.report.markup import Markup, element
from icmodel.report.systems.layout import Layout, layout
from icmodel.report.systems.legend import legend
from icmodel.report.systems.parts import drawn_box, drawn_cable, drawn_number, load_text, px
from icmodel.report.systems.seen import Seen, seen
from icmodel.report.systems.shape import Shape
from icmodel.system import System, SystemPrediction
from icmodel.wording import plural

MARGIN = 16.0
ABOVE_LEGEND = 26.0
ROOM = 560.0
"""Least width of a drawing [px], for the legend under it."""
UNLIMITED_BPS = 1e9
"""Rate of an unlimited stream for the direction of drawing."""


def system_svg(found: SystemPrediction) -> str:
    """The drawing of a predicted system, a whole SVG document."""
    return drawn(found.system, seen(found))


def drawn(system: System, of: Seen) -> Markup:
    """The drawing of a system from boxes and cables with their numbers."""
    made = arranged(system, of.shape)
    width = max(made.width, ROOM)
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
