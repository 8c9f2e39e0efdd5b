"""Regimes: how the load of a row stands to what was carried there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from icmodel.dataset import Dataset, Point
from icmodel.dataset_rows import POINT

UNLIMITED, UNSAID, LIMITED, OVERLOAD = "unlimited", "unsaid", "limited", "overload"
OVERLOADED = 1.005
"""A limit counts as carried up to this times the best goodput there (E14)."""
SHORT = 1.1
"""And up to this times its own goodput: frames may be lost or wait at the end of a window, but a
paced sender may also reach much less than one at full speed; assumed.  A limit no farther below the
best goodput there counts as about that."""
Place = tuple[str, tuple[str, ...], int | None]
"""Protocol, options and payload."""


def regimes_of(data: Dataset, points: Sequence[Point]) -> list[str]:
    """How the load of each row stands to what was carried there, by it and by any other load."""
    best: dict[Place, float] = {}
    own: dict[tuple[object, ...], float] = {}
    if any(p.load_bps is not None and math.isfinite(p.load_bps) for p in points):
        best = _best(data)
        for p in data.points:
            if p.metric == "goodput_bps":
                here = tuple(p)[POINT]
                own[here] = max(p.value, own.get(here, 0.0))
    return [_regime(p, best.get(_place(p)), own.get(tuple(p)[POINT])) for p in points]


def asked_too_much(data: Dataset, points: Sequence[Point]) -> list[bool]:
    """Which rows were asked for more than was reached, or bound the payloads of such rows.

    Those are of the next payload below and above them: the rows with the greatest limit, if that is
    about what can be had there, and the unlimited ones, if there are any, otherwise.
    """
    regimes = regimes_of(data, points)
    over = [regime == OVERLOAD for regime in regimes]
    if not any(over):
        return over
    for full in _fullest(data, points, regimes).values():
        sizes = [size for size, k in full.items() if over[k]]
        below = [size for size in full if size < min(sizes, default=0)]
        above = [size for size in full if size > max(sizes, default=math.inf)]
        for size in (*sorted(below)[-1:], *sorted(above)[:1]):
            over[full[size]] = True
    return over


def _fullest(
    data: Dataset, points: Sequence[Point], regimes: Sequence[str]
) -> dict[tuple[object, ...], dict[int, int]]:
    """By curve and payload the row that shows best what a limit at the capacity does.

    That is the one with the greatest limit; of limits far below what can be had the unlimited one, if
    there is one.
    """
    best = _best(data)

    def rank(k: int) -> tuple[int, float]:
        load = points[k].load_bps or 0.0
        if regimes[k] == UNLIMITED:
            return 1, load
        near = regimes[k] == OVERLOAD or load * SHORT >= best.get(_place(points[k]), math.inf)
        return (2 if near else 0), load

    found: dict[tuple[object, ...], dict[int, int]] = {}
    for k in sorted((k for k, regime in enumerate(regimes) if regime != UNSAID), key=rank):
        p = points[k]
        if p.payload_bytes is not None:
            counts = (p.cores, p.switches, p.endpoints, p.other_goodput_bps)
            curve = (p.metric, p.protocol, p.options, *counts)
            found.setdefault(curve, {})[p.payload_bytes] = k
    return found


def _place(point: Point) -> Place:
    return point.protocol, point.options, point.payload_bytes


def _best(data: Dataset) -> dict[Place, float]:
    """The best goodput of each protocol, options and payload, with any counts and load [b/s]."""
    found: dict[Place, float] = {}
    for p in data.points:
        if p.metric == "goodput_bps":
            found[_place(p)] = max(p.value, found.get(_place(p), 0.0))
    return found


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
