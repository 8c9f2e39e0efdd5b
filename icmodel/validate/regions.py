"""Regions: parts of the domain with a score each, so that one median does not hide a bad part."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from icmodel.dataset import Dataset, Point
from icmodel.validate.places import Key, place
from icmodel.validate.scores import Outcome

EXTRAPOLATED = "extrapolated"
DEFAULT_MTU_BYTES = 1500
"""Ethernet's MTU, for datasets that give none."""
BANDS = ((1 / 3, "load up to a third"), (2 / 3, "load up to two thirds"), (math.inf, "load above"))
"""Bands of the limited load: upper end as a fraction of the line rate, and name."""


@dataclass(frozen=True, slots=True)
class Partition:
    """How a dataset's domain is divided into regions.

    Parameters
    ----------
    next_to_break : mapping
        The places next to a break, by metric.
    trained : collection of Key, optional
        The places of the training rows, where test rows may share them.
    full_bps : float
        The load of which the bands are fractions.
    """

    data: Dataset
    next_to_break: Mapping[str, Collection[Key]]
    trained: Collection[Key] | None
    full_bps: float


def partition(
    data: Dataset,
    next_to_break: Mapping[str, Collection[Key]],
    trained: Collection[Key] | None = None,
) -> Partition:
    """The partition of a dataset; bands are fractions of the line rate or the greatest limited load."""
    limited = [p.load_bps for p in data.points if p.load_bps and math.isfinite(p.load_bps)]
    full = data.interconnect.line_rate_bps or max(limited, default=math.inf)
    return Partition(data, next_to_break, trained, full)


def regions(parts: Partition, outcome: Outcome) -> Iterator[str]:
    """The names of the regions that a row lies in; they overlap."""
    for region in (_protocol, _size, _load, _break, _seen):
        name = region(parts, outcome.point)
        if name is not None:
            yield name
    if not outcome.estimate.absent:
        beyond = EXTRAPOLATED in (outcome.estimate.basis, *outcome.estimate.bases)
        yield EXTRAPOLATED if beyond else "inside what was learned from"


def _protocol(parts: Partition, point: Point) -> str | None:
    return f"protocol {point.protocol}" if len(parts.data.protocols) > 1 else None


def _size(parts: Partition, point: Point) -> str | None:
    """Payload up to or above the MTU; none if the link has no MTU and is not Ethernet."""
    link = parts.data.link(parts.data.options_of(point))
    mtu = link.mtu_bytes or (DEFAULT_MTU_BYTES if link.kind == "ethernet" else None)
    if mtu is None or point.payload_bytes is None:
        return None
    return "payload up to the MTU" if point.payload_bytes <= mtu else "payload above the MTU"


def _load(parts: Partition, point: Point) -> str | None:
    if point.load_bps is None:
        return None
    if math.isinf(point.load_bps):
        return "load not limited"
    part = point.load_bps / parts.full_bps
    return next(name for limit, name in BANDS if part <= limit)


def _break(parts: Partition, point: Point) -> str | None:
    near = place(parts.data, point) in parts.next_to_break.get(point.metric, ())
    return "beside a break" if near else None


def _seen(parts: Partition, point: Point) -> str | None:
    if parts.trained is None:
        return None
    return (
        "at a point learned from" if place(parts.data, point) in parts.trained else "at a new point"
    )
