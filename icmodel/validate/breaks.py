"""Breaks of a curve along the payload, and the two measured points that stand beside each.

On Ethernet the break is where a frame no longer fits one packet.  Elsewhere, and for every stack
that changes its protocol on the way, it is the curve's own: the step between two neighbouring
payloads whose slope, on log axes, differs most from the slopes on both sides of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from icmodel.dataset import Dataset, Point
from icmodel.tables.wire import Wire
from icmodel.validate.places import Key, curve, grouped, place

Pair = tuple[int, int]
FEWEST = 4
"""Points a curve needs so that a step has a slope on both sides."""


def beside(
    data: Dataset, points: Iterable[Point], breaks_bytes: Sequence[int] | None = None
) -> dict[Key, Key]:
    """The place of each point of one metric beside a break -> its curve and the break's two sizes.

    Parameters
    ----------
    points : iterable of Point
        Rows of one metric.
    breaks_bytes : sequence of int, optional
        Greatest payloads before a break; each curve's own by default.
    """
    found: dict[Key, Key] = {}
    for line, members in grouped(points, lambda p: curve(data, p)).items():
        for below, above in _pairs(data, members, breaks_bytes):
            for point in members:
                if point.payload_bytes in (below, above):
                    found[place(data, point)] = (*line, float(below), float(above))
    return found


def _pairs(
    data: Dataset, members: Sequence[Point], breaks_bytes: Sequence[int] | None
) -> list[Pair]:
    sized = {p.payload_bytes: p.value for p in members if p.payload_bytes is not None}
    sizes = sorted(sized)
    if breaks_bytes is None:
        one = _first_packet(data, members[0], sizes) or step(sizes, [sized[s] for s in sizes])
        return [one] if one else []
    between = (_between(sizes, at) for at in sorted(breaks_bytes))
    return [pair for pair in between if pair]


def _between(sizes: Sequence[int], at: int) -> Pair | None:
    """The greatest size up to a break and the least above it."""
    below, above = [s for s in sizes if s <= at], [s for s in sizes if s > at]
    return (below[-1], above[0]) if below and above else None


def _first_packet(data: Dataset, point: Point, sizes: Sequence[int]) -> Pair | None:
    """The sizes beside the greatest payload of one packet; none where the link has no packets."""
    options = zip(data.option_axes, point.options, strict=True)
    link = data.link({axis: value for axis, value in options if value})
    if link.kind != "ethernet":
        return None
    breaks = Wire(point.protocol, link, with_headers=True).packet_breaks(sizes[-1])
    return _between(sizes, int(breaks[0])) if len(breaks) else None


def step(sizes: Sequence[int], values: Sequence[float]) -> Pair | None:
    """The neighbours between which a curve steps most, on log axes; none of too short a curve."""
    if len(sizes) < FEWEST or min(values) <= 0:
        return None
    slopes = np.diff(np.log(values)) / np.diff(np.log(sizes))
    departure = np.abs(slopes[1:-1] - (slopes[:-2] + slopes[2:]) / 2)
    where = int(np.argmax(departure)) + 1
    return sizes[where], sizes[where + 1]
