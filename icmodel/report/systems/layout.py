"""Positions of boxes and cables: columns by hops, rows by neighbours; in px.

Boxes that forward (switches, and devices between several) are in columns by their hops from one end; boxes with
a single neighbour are next to it, outwards at the ends. So a cable joins neighbouring columns, or boxes of one
column, except in a ring or mesh, and never crosses a box between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from icmodel.documents import group_by_key

WIDTH, HEIGHT = 156.0, 58.0
"""Size of a box; one with many cables is higher."""
GAP = 12.0
"""Distance between two boxes of a column."""
LANE = 22.0
"""Distance between two cables at one side of a box."""
BETWEEN, BEND = 150.0, 110.0
"""Distance between two columns, and width of cables within a column."""
SWEEPS = 8
"""Number of times that rows are ordered by their neighbours, in both directions."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A rectangle [px]."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height


@dataclass(frozen=True, slots=True)
class Way:
    """A cable between the edges of two boxes [px]; ``sides`` are +1 at a right edge, -1 at a left one."""

    ends: Pair
    start: tuple[float, float]
    end: tuple[float, float]
    sides: Pair


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of boxes and cables, the end at which each cable has its number, and the size of all."""

    places: tuple[Place, ...]
    ways: tuple[Way, ...]
    labelled: tuple[int, ...]
    width: float
    height: float


def layout(count: int, pairs: Sequence[Pair], flows: Mapping[Pair, float]) -> Layout:
    """Place a number of boxes.

    Parameters
    ----------
    pairs : sequence of (int, int)
        The boxes each cable joins, two different ones.
    flows : mapping of (int, int) to float
        Rate from one box to another, in any unit; most of it runs from left to right.
    """
    joined = _joined(count, pairs)
    column = _columns(count, joined, flows)
    rows = _ordered(column, joined)
    sides = [_sides(column[a], column[b], max(column)) for a, b in pairs]
    places = _places(column, rows, pairs, sides)
    ways = _ways(pairs, sides, places)
    right = max(place.right for place in places)
    if (max(column), 1) in _bent(pairs, column, sides):
        right += BEND
    labelled = tuple(_labelled(column, rows, places, pair) for pair in pairs)
    return Layout(places, ways, labelled, right, max(place.bottom for place in places))


def _joined(count: int, pairs: Iterable[Pair]) -> list[list[int]]:
    beside: list[dict[int, None]] = [{} for _ in range(count)]
    for a, b in pairs:
        beside[a][b] = beside[b][a] = None
    return [list(one) for one in beside]


# --- columns ----------------------------------------------------------------------------------


def _columns(count: int, joined: list[list[int]], flows: Mapping[Pair, float]) -> list[int]:
    """The column of each box, the first 0."""
    column = [0] * count
    seen: set[int] = set()
    for first in range(count):
        if first not in seen:
            part = list(_hops(first, joined, range(count)))
            seen.update(part)
            _place_part(sorted(part), joined, flows, column)
    forward = sum(flow * (column[b] - column[a]) for (a, b), flow in flows.items())
    if forward < 0:
        column = [-one for one in column]
    least = min(column)
    return [one - least for one in column]


def _place_part(
    part: list[int], joined: list[list[int]], flows: Mapping[Pair, float], column: list[int]
) -> None:
    """Columns of connected boxes: those that forward by hops, the others next to them."""
    inner = [one for one in part if len(joined[one]) > 1] or part[:1]
    far = list(_hops(inner[0], joined, inner))[-1]
    hops = _hops(far, joined, inner)
    last = max(hops.values())
    for one, level in hops.items():
        column[one] = level
    net = _net(flows)
    for one in part:
        if one not in hops:
            level = hops[joined[one][0]]
            outwards = -1 if level == 0 else 1
            if last == 0:  # around a single box: what sends more than it gets on the left
                outwards = -1 if net.get(one, 0.0) > 0 else 1
            column[one] = level + outwards


def _net(flows: Mapping[Pair, float]) -> dict[int, float]:
    """What each box sends less what it receives."""
    net: dict[int, float] = {}
    for (a, b), flow in flows.items():
        net[a] = net.get(a, 0.0) + flow
        net[b] = net.get(b, 0.0) - flow
    return net


def _hops(start: int, joined: list[list[int]], among: Iterable[int]) -> dict[int, int]:
    """Hops from one box to all that are reached, nearest first."""
    allowed = set(among)
    hops, waiting = {start: 0}, deque([start])
    while waiting:
        here = waiting.popleft()
        for there in joined[here]:
            if there in allowed and there not in hops:
                hops[there] = hops[here] + 1
                waiting.append(there)
    return hops


# --- rows -------------------------------------------------------------------------------------


def _ordered(column: list[int], joined: list[list[int]]) -> list[list[int]]:
    """The boxes of each column from top to bottom, each at the mean of its neighbours (barycentre).

    K. Sugiyama, S. Tagawa and M. Toda, Methods for visual understanding of hierarchical system structures,
    IEEE Transactions on Systems, Man, and Cybernetics 11(2), 1981.
    """
    rows: list[list[int]] = [[] for _ in range(max(column) + 1)]
    for box, here in enumerate(column):
        rows[here].append(box)
    for sweep in range(SWEEPS):
        places = range(len(rows)) if sweep % 2 == 0 else range(len(rows) - 1, -1, -1)
        step = -1 if sweep % 2 == 0 else 1
        for here in places:
            _order(rows, here, here + step, joined)
    return rows


def _order(rows: list[list[int]], here: int, other: int, joined: list[list[int]]) -> None:
    """Order one column by the places of its neighbours in another."""
    if not 0 <= other < len(rows):
        return
    at = {box: (row + 0.5) / len(rows[other]) for row, box in enumerate(rows[other])}
    own = {box: (row + 0.5) / len(rows[here]) for row, box in enumerate(rows[here])}

    def wanted(box: int) -> float:
        found = [at[one] for one in joined[box] if one in at]
        return sum(found) / len(found) if found else own[box]

    rows[here].sort(key=wanted)


# --- places -----------------------------------------------------------------------------------


def _sides(a: int, b: int, last: int) -> Pair:
    """The edges a cable leaves from, by the columns of its ends; within one column both are outwards or right."""
    if a == b:
        side = -1 if a == 0 and last > 0 else 1
        return side, side
    return (1, -1) if a < b else (-1, 1)


def _places(
    column: list[int], rows: list[list[int]], pairs: Sequence[Pair], sides: Sequence[Pair]
) -> tuple[Place, ...]:
    heights = _heights(len(column), pairs, sides)
    tall = [sum(heights[box] + GAP for box in row) - GAP for row in rows]
    bent = _bent(pairs, column, sides)
    places: dict[int, Place] = {}
    left = BEND if (0, -1) in bent else 0.0
    for here, row in enumerate(rows):
        top = (max(tall) - tall[here]) / 2
        for box in row:
            places[box] = Place(left, top, WIDTH, heights[box])
            top += heights[box] + GAP
        left += WIDTH + BETWEEN + (BEND if (here, 1) in bent else 0.0)
    return tuple(places[box] for box in range(len(column)))


def _bent(pairs: Sequence[Pair], column: Sequence[int], sides: Sequence[Pair]) -> set[Pair]:
    """The columns, and the sides of them, at which a cable joins two boxes of the column."""
    return {
        (column[a], side)
        for (a, b), (side, _) in zip(pairs, sides, strict=True)
        if column[a] == column[b]
    }


def _heights(count: int, pairs: Sequence[Pair], sides: Sequence[Pair]) -> list[float]:
    """Room for the texts of a box, and for the cables at its busier side."""
    lanes = {(box, side): 0 for box in range(count) for side in (-1, 1)}
    for pair, at in zip(pairs, sides, strict=True):
        for box, side in zip(pair, at, strict=True):
            lanes[box, side] += 1
    return [max(HEIGHT, LANE * max(lanes[box, -1], lanes[box, 1])) for box in range(count)]


def _ways(pairs: Sequence[Pair], sides: Sequence[Pair], places: Sequence[Place]) -> tuple[Way, ...]:
    """Cables in the order of their other ends, evenly along the side of each box."""
    at = group_by_key(
        (end, cable)
        for cable, (pair, side) in enumerate(zip(pairs, sides, strict=True))
        for end in zip(pair, side, strict=True)
    )
    height: dict[tuple[int, int], float] = {}
    for (box, _), cables in at.items():

        def other(cable: int, box: int = box) -> float:
            a, b = pairs[cable]
            place = places[b if a == box else a]
            return place.top + place.height / 2

        step = places[box].height / len(cables)
        for lane, cable in enumerate(sorted(cables, key=other)):
            height[cable, box] = places[box].top + (lane + 0.5) * step
    found = []
    for cable, (pair, side) in enumerate(zip(pairs, sides, strict=True)):
        points = [
            (places[box].right if edge > 0 else places[box].left, height[cable, box])
            for box, edge in zip(pair, side, strict=True)
        ]
        found.append(Way(pair, points[0], points[1], side))
    return tuple(found)


def _labelled(
    column: Sequence[int], rows: Sequence[Sequence[int]], places: Sequence[Place], pair: Pair
) -> int:
    """The end of a cable in the column with more boxes, 0 or 1; within a column the upper end.

    All numbers between two columns are at the same one, so that they do not overlap.
    """
    first, last = (column[box] for box in pair)
    if first == last:
        return 0 if places[pair[0]].top < places[pair[1]].top else 1
    return 0 if (len(rows[first]), last) > (len(rows[last]), first) else 1
