"""Breaks of a curve along the payload, and the two measured points on both sides of each.

On Ethernet the break is the greatest payload that fits one packet.  On other links, where a stack
may switch its protocol at some payload, it is found in the curve: between the two neighbouring
payloads whose slope on log axes differs most from the slopes of the steps before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from icmodel.dataset import Dataset, Point
from icmodel.grouping import together
from icmodel.tables.wire import Wire
from icmodel.validate.places import Key, curve, place

Pair = tuple[int, int]
FEWEST_SIZES = 4
"""Payloads a curve needs so that one of its steps has a step before it and one after it."""


def next_to_break(
    data: Dataset, points: Iterable[Point], breaks_bytes: Sequence[int] | None = None
) -> dict[Key, Key]:
    """The points of one metric that are neighbours of a break.

    Parameters
    ----------
    points : iterable of Point
        Rows of one metric.
    breaks_bytes : sequence of int, optional
        Greatest payloads before a break; by default each curve's break is found from its data.

    Returns
    -------
    dict
        Place of each point -> its curve, followed by the payloads [B] before and after the break.
    """
    found: dict[Key, Key] = {}
    for line, members in together((curve(data, p), p) for p in points).items():
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
    """The greatest payload up to a break and the least above it; none if either is missing."""
    below, above = [s for s in sizes if s <= at], [s for s in sizes if s > at]
    return (below[-1], above[0]) if below and above else None


def _first_packet(data: Dataset, point: Point, sizes: Sequence[int]) -> Pair | None:
    """The payloads on both sides of the greatest one of one packet; none unless on Ethernet."""
    link = data.link(data.options_of(point))
    if link.kind != "ethernet":
        return None
    breaks = Wire(point.protocol, link, with_headers=True).packet_breaks(sizes[-1])
    return _between(sizes, int(breaks[0])) if len(breaks) else None


def step(sizes: Sequence[int], values: Sequence[float]) -> Pair | None:
    """The two neighbouring payloads between which the slope departs most from its surroundings.

    Slopes are taken on log axes.  None with fewer than four payloads or with values of 0 or less.
    """
    if len(sizes) < FEWEST_SIZES or min(values) <= 0:
        return None
    slopes = np.diff(np.log(values)) / np.diff(np.log(sizes))
    departure = np.abs(slopes[1:-1] - (slopes[:-2] + slopes[2:]) / 2)
    where = int(np.argmax(departure)) + 1
    return sizes[where], sizes[where + 1]
