"""Regions: parts of the domain whose errors are told apart, so that a median hides none of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from icmodel.dataset import Dataset, Point
from icmodel.validate.places import Key, place
from icmodel.validate.scores import Outcome

EXTRAPOLATED = "extrapolated"
DEFAULT_MTU_BYTES = 1500
"""Ethernet's, where a dataset does not say."""
BANDS = ((1 / 3, "load up to a third"), (2 / 3, "load up to two thirds"), (math.inf, "load above"))
"""Bands of the limited load, in parts of the line rate."""


@dataclass(frozen=True, slots=True)
class Map:
    """What the region of a row depends on.

    ``beside`` holds the places beside a break by metric, ``trained`` the places that were learned
    from; ``full_bps`` is the load that the bands are parts of: the line rate, where it is not said
    the greatest limited load.
    """

    data: Dataset
    beside: Mapping[str, Collection[Key]]
    trained: Collection[Key] | None
    full_bps: float


def lay_map(
    data: Dataset,
    beside: Mapping[str, Collection[Key]],
    trained: Collection[Key] | None = None,
) -> Map:
    """The map of a dataset; ``trained`` only where some rows may have been learned from."""
    limited = [p.load_bps for p in data.points if p.load_bps and math.isfinite(p.load_bps)]
    full = data.interconnect.line_rate_bps or max(limited, default=math.inf)
    return Map(data, beside, trained, full)


def regions(here: Map, outcome: Outcome) -> Iterator[str]:
    """The regions a row lies in; one row may lie in several."""
    for look in (_protocol, _size, _load, _break, _seen):
        name = look(here, outcome.point)
        if name is not None:
            yield name
    if not outcome.estimate.absent:
        beyond = EXTRAPOLATED in (outcome.estimate.basis, *outcome.estimate.bases)
        yield EXTRAPOLATED if beyond else "inside what was learned from"


def _protocol(here: Map, point: Point) -> str | None:
    return f"protocol {point.protocol}" if len(here.data.protocols) > 1 else None


def _size(here: Map, point: Point) -> str | None:
    """Below or above the packet of the link; none where neither MTU nor Ethernet is said."""
    options = zip(here.data.option_axes, point.options, strict=True)
    link = here.data.link({axis: value for axis, value in options if value})
    mtu = link.mtu_bytes or (DEFAULT_MTU_BYTES if link.kind == "ethernet" else None)
    if mtu is None or point.payload_bytes is None:
        return None
    return "payload up to the MTU" if point.payload_bytes <= mtu else "payload above the MTU"


def _load(here: Map, point: Point) -> str | None:
    if point.load_bps is None:
        return None
    if math.isinf(point.load_bps):
        return "load not limited"
    part = point.load_bps / here.full_bps
    return next(name for limit, name in BANDS if part <= limit)


def _break(here: Map, point: Point) -> str | None:
    near = place(here.data, point) in here.beside.get(point.metric, ())
    return "beside a break" if near else None


def _seen(here: Map, point: Point) -> str | None:
    if here.trained is None:
        return None
    return (
        "at a point learned from" if place(here.data, point) in here.trained else "at a new point"
    )
