"""Regimes: how the load of a row stands to what was carried there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from icmodel.dataset import Dataset, Point
from icmodel.repeats import POINT

UNLIMITED, UNSAID, LIMITED, OVERLOAD = "unlimited", "unsaid", "limited", "overload"
OVERLOADED = 1.005
"""A limit counts as carried up to this times the best goodput there (E14)."""
SHORT = 1.1
"""And up to this times its own goodput: frames may be lost or wait at the end of a window, but a
paced sender may also reach much less than one at full speed; assumed."""


def regimes_of(data: Dataset, points: Sequence[Point]) -> list[str]:
    """How the load of each row stands to what was carried there, by it and by any other load."""
    best: dict[tuple[object, ...], float] = {}
    own: dict[tuple[object, ...], float] = {}
    if any(p.load_bps is not None and math.isfinite(p.load_bps) for p in points):
        for p in data.points:
            if p.metric == "goodput_bps":
                place = (p.protocol, p.options, p.payload_bytes)
                best[place] = max(p.value, best.get(place, 0.0))
                here = tuple(p)[POINT]
                own[here] = max(p.value, own.get(here, 0.0))
    return [
        _regime(p, best.get((p.protocol, p.options, p.payload_bytes)), own.get(tuple(p)[POINT]))
        for p in points
    ]


def asked_too_much(data: Dataset, points: Sequence[Point]) -> list[bool]:
    """Which rows were asked for more than was reached, or bound the payloads of such rows.

    Those are of the next payload below and above them the rows with the greatest limit.
    """
    regimes = regimes_of(data, points)
    over = [regime == OVERLOAD for regime in regimes]
    curves: dict[tuple[object, ...], dict[int, int]] = {}
    for k in sorted(range(len(points)), key=lambda k: points[k].load_bps or 0.0):
        p = points[k]
        if p.payload_bytes is not None and regimes[k] in (LIMITED, OVERLOAD):
            counts = (p.cores, p.switches, p.endpoints, p.other_goodput_bps)
            curves.setdefault((p.metric, p.protocol, p.options, *counts), {})[p.payload_bytes] = k
    for greatest in curves.values():
        sizes = [size for size, k in greatest.items() if over[k]]
        below = [size for size in greatest if size < min(sizes, default=0)]
        above = [size for size in greatest if size > max(sizes, default=math.inf)]
        for size in (*sorted(below)[-1:], *sorted(above)[:1]):
            over[greatest[size]] = True
    return over


def _regime(point: Point, best: float | None, own: float | None) -> str:
    load = math.nan if point.load_bps is None else point.load_bps
    if not math.isfinite(load):
        return regime_of(load)
    over = best is not None and load > OVERLOADED * best
    short = own is not None and load > SHORT * own
    return OVERLOAD if over or short else LIMITED


def regime_of(load_bps: float) -> str:
    """Whether a load [b/s] is unlimited, not said (NaN) or a limit."""
    if math.isnan(load_bps):
        return UNSAID
    return UNLIMITED if math.isinf(load_bps) else LIMITED
