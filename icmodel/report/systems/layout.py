"""Lay out boxes and cables in a drawing: columns by hops, rows by neighbours. All lengths are in px.

A forwarding box has several neighbours; its column is its number of hops from one end of the system. A box with a
single neighbour is beside that neighbour: on the left in the first forwarding column, on the right in all others. So a
cable joins boxes in the same or in neighbouring columns, and crosses no box. A ring or mesh may have longer cables.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from icmodel.documents import group_by_key

WIDTH, HEIGHT = 156.0, 58.0
"""Width and least height of a box [px]; a box with many cables is higher."""
GAP = 12.0
"""Vertical distance between two boxes in one column [px]."""
LANE = 22.0
"""Vertical distance between two cables that end at the same side of a box [px]."""
BETWEEN, BEND = 150.0, 110.0
"""Distance between two columns, and horizontal room for a cable within one column [px]."""
SWEEPS = 8
"""Number of passes over the columns, in alternating directions, that order the rows by their neighbours."""

Pair = tuple[int, int]
"""Pair of integers for the two ends of a cable: indices of boxes, or sides of boxes (see `EdgeRoute`)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Rectangle of a box [px]."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Horizontal position of the right edge of the box [px]."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Vertical position of the lower edge of the box [px]."""
        return self.top + self.height


@dataclass(frozen=True, slots=True)
class EdgeRoute:
    """Route of a cable between the edges of two boxes [px].

    ``sides`` holds a number for each end of the cable: +1 at the right edge of a box, -1 at the left edge. ``labelled``
    is the index of the end at which the load is drawn: 0 or 1.
    """

    ends: Pair
    start: tuple[float, float]
    end: tuple[float, float]
    sides: Pair
    labelled: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of boxes, routes of cables, and the size of the drawing [px]."""

    places: tuple[Place, ...]
    routes: tuple[EdgeRoute, ...]
    width: float
    height: float


def layout(count: int, pairs: Sequence[Pair], flows: Mapping[Pair, float]) -> Layout:
    """Place boxes and route the cables between them.

    Parameters
    ----------
    count : int
        Number of boxes.
    pairs : sequence of (int, int)
        Indices of the two boxes that each cable joins; the two always differ.
    flows : mapping of (int, int) to float
        Rate from one box to another, in any unit. The columns are ordered so that most of this traffic runs from left
        to right.
    """
    beside: list[dict[int, None]] = [{} for _ in range(count)]
    for a, b in pairs:
        beside[a][b] = beside[b][a] = None
    neighbours = [list(some) for some in beside]
    column = assign_columns(neighbours, flows)
    rows = order_rows(column, neighbours)

    # Edge of the box at each end of a cable: 1 is right, -1 is left. A cable within a column joins two right
    # edges; within the first of several columns, two left edges.
    last, sides = max(column), []
    for a, b in pairs:
        if column[a] == column[b]:
            sides.append((-1, -1) if column[a] == 0 and last > 0 else (1, 1))
        else:
            sides.append((1, -1) if column[a] < column[b] else (-1, 1))
    bent = {
        (column[a], side)
        for (a, b), (side, _) in zip(pairs, sides, strict=True)
        if column[a] == column[b]
    }

    places = place_boxes(rows, pairs, sides, bent)
    right = max(place.right for place in places) + (BEND if (last, 1) in bent else 0.0)

    # Loads are drawn at the end in the column with more boxes. So all cables between two columns have
    # their loads in the same column, and these do not overlap. Within a column, the load is drawn at
    # the upper end.
    labelled = []
    for a, b in pairs:
        first, second = column[a], column[b]
        if first == second:
            labelled.append(0 if places[a].top < places[b].top else 1)
        else:
            crowded = (len(rows[first]), second) > (len(rows[second]), first)
            labelled.append(0 if crowded else 1)

    routes = route_cables(pairs, sides, labelled, places)
    return Layout(places, routes, right, max(place.bottom for place in places))


def assign_columns(neighbours: list[list[int]], flows: Mapping[Pair, float]) -> list[int]:
    """Return the column of each box, counted from 0.

    The column of a forwarding box follows from its hops. Each other box is beside its only neighbour.
    """
    column = [0] * len(neighbours)
    surplus = [0.0] * len(neighbours)  # sent minus received rate
    for (a, b), flow in flows.items():
        surplus[a] += flow
        surplus[b] -= flow
    placed: set[int] = set()
    for first in range(len(neighbours)):
        if first in placed:
            continue
        part = sorted(_hops(first, neighbours, range(len(neighbours))))
        placed.update(part)
        inner = [box for box in part if len(neighbours[box]) > 1] or part[:1]
        farthest = list(_hops(inner[0], neighbours, inner))[-1]
        hops = _hops(farthest, neighbours, inner)
        last = max(hops.values())
        for box in part:
            if box in hops:
                column[box] = hops[box]
            else:
                level = hops[neighbours[box][0]]
                # If only one box forwards, senders are on its left, and receivers on its right.
                left = level == 0 if last else surplus[box] > 0
                column[box] = level + (-1 if left else 1)
    forward = sum(flow * (column[b] - column[a]) for (a, b), flow in flows.items())
    if forward < 0:
        column = [-here for here in column]
    least = min(column)
    return [here - least for here in column]


def _hops(start: int, neighbours: list[list[int]], among: Iterable[int]) -> dict[int, int]:
    """Return the number of hops from one box to each reachable box, the nearest first (breadth-first search)."""
    allowed = set(among)
    hops, waiting = {start: 0}, deque([start])
    while waiting:
        here = waiting.popleft()
        for there in neighbours[here]:
            if there in allowed and there not in hops:
                hops[there] = hops[here] + 1
                waiting.append(there)
    return hops


def order_rows(column: list[int], neighbours: list[list[int]]) -> list[list[int]]:
    """Return the boxes in each column, from top to bottom.

    Boxes are sorted by the mean position of their neighbours (barycentre method).

    K. Sugiyama, S. Tagawa and M. Toda, Methods for visual understanding of hierarchical system structures,
    IEEE Transactions on Systems, Man, and Cybernetics 11(2), 1981.
    """
    rows: list[list[int]] = [[] for _ in range(max(column) + 1)]
    for box, here in enumerate(column):
        rows[here].append(box)
    for sweep in range(SWEEPS):
        step = -1 if sweep % 2 == 0 else 1
        for here in range(len(rows))[::-step]:
            if not 0 <= here + step < len(rows):
                continue
            height: dict[int, float] = {}  # position of each box in both columns, from 0 to 1
            for boxes in (rows[here], rows[here + step]):
                height |= {box: (row + 0.5) / len(boxes) for row, box in enumerate(boxes)}
            fixed = set(rows[here + step])

            def barycentre(
                box: int, height: dict[int, float] = height, fixed: set[int] = fixed
            ) -> float:
                at = [height[one] for one in neighbours[box] if one in fixed]
                return sum(at) / len(at) if at else height[box]

            rows[here].sort(key=barycentre)
    return rows


def place_boxes(
    rows: list[list[int]], pairs: Sequence[Pair], sides: Sequence[Pair], bent: set[Pair]
) -> tuple[Place, ...]:
    """Return the rectangle of each box. ``bent`` holds each (column, side) with cables inside the column."""
    lanes: dict[Pair, int] = {}
    for pair, at in zip(pairs, sides, strict=True):
        for end in zip(pair, at, strict=True):
            lanes[end] = lanes.get(end, 0) + 1
    heights = {
        box: max(HEIGHT, LANE * max(lanes.get((box, -1), 0), lanes.get((box, 1), 0)))
        for boxes in rows
        for box in boxes
    }
    tall = [sum(heights[box] + GAP for box in boxes) - GAP for boxes in rows]
    places: dict[int, Place] = {}
    left = BEND if (0, -1) in bent else 0.0
    for here, boxes in enumerate(rows):
        top = (max(tall) - tall[here]) / 2
        for box in boxes:
            places[box] = Place(left, top, WIDTH, heights[box])
            top += heights[box] + GAP
        left += WIDTH + BETWEEN + (BEND if (here, 1) in bent else 0.0)
    return tuple(places[box] for box in sorted(places))


def route_cables(
    pairs: Sequence[Pair],
    sides: Sequence[Pair],
    labelled: Sequence[int],
    places: Sequence[Place],
) -> tuple[EdgeRoute, ...]:
    """Return the routes of the cables.

    Cables are evenly spaced along the side of a box, in the order of their other ends.
    """
    cables_at = group_by_key(
        (end, cable)
        for cable, (pair, side) in enumerate(zip(pairs, sides, strict=True))
        for end in zip(pair, side, strict=True)
    )
    height: dict[Pair, float] = {}
    for (box, _), cables in cables_at.items():

        def other_end(cable: int, box: int = box) -> float:
            a, b = pairs[cable]
            place = places[b if a == box else a]
            return place.top + place.height / 2

        step = places[box].height / len(cables)
        for lane, cable in enumerate(sorted(cables, key=other_end)):
            height[cable, box] = places[box].top + (lane + 0.5) * step
    routes = []
    for cable, (pair, side) in enumerate(zip(pairs, sides, strict=True)):
        start, end = (
            (places[box].right if edge > 0 else places[box].left, height[cable, box])
            for box, edge in zip(pair, side, strict=True)
        )
        routes.append(EdgeRoute(pair, start, end, side, labelled[cable]))
    return tuple(routes)
