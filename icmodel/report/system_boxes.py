"""Boxes and cables of a system's drawing: merging of nodes, numbers, and layout.

`shape` merges (folds) nodes into boxes. `summarise` adds the numbers of the worst member of each box and cable.
`layout` places the boxes and routes the cables.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from icmodel.documents import group_by_key
from icmodel.estimate import percent
from icmodel.requirement import worst_outcome
from icmodel.system import Link, System, SystemPrediction
from icmodel.system.prediction.result import DevicePrediction, PortPrediction

MOST_MEMBERS = 8
"""Maximum size of a group that is drawn with a box for each member. A larger group is one box."""
MOST_BOXES = 40
"""Maximum number of boxes in a drawing. If there are more, `shape` merges nodes, as far as possible."""
NOT_JUDGED = "not judged"
"""Outcome of a stream without a requirement."""
FRONT_BOXES = 12
"""Maximum number of boxes in the small drawing on the first page of a report."""
ROUNDING = 1e-9
"""Tolerance for rounding. A port with a load of at most 1 + `ROUNDING` is full, not overloaded."""


# --- the shape --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Box:
    """Box of the drawing: a device or switch, or several devices or switches."""

    title: str
    members: tuple[str, ...]
    switches: bool


@dataclass(frozen=True, slots=True)
class Cable:
    """Cable of the drawing: all links between two boxes, or between members of one box.

    ``ends`` holds the indices of the two boxes.
    """

    ends: tuple[int, int]
    links: tuple[Link, ...]

    @property
    def inside(self) -> bool:
        """Whether the cable joins two members of the same box."""
        return self.ends[0] == self.ends[1]


@dataclass(frozen=True, slots=True)
class Shape:
    """Boxes and cables of a system drawing, and the index of the box of each node.

    Boxes and cables are in the order of nodes and links in the system file.
    """

    boxes: tuple[Box, ...]
    cables: tuple[Cable, ...]
    box_of: Mapping[str, int]


def shape(system: System, most_boxes: int = MOST_BOXES) -> Shape:
    """Merge the nodes of a system into at most ``most_boxes`` boxes, if possible.

    `FOLDINGS` lists four ways to merge, the finest first. The first one that leaves few enough boxes is used. If none
    does, the last one is used: one box for all devices, and one for all switches.
    """
    for folding in FOLDINGS:
        keys = folding(system)
        if len(set(keys.values())) <= most_boxes:
            break
    members = group_by_key((key, name) for name, key in keys.items())
    boxes = tuple(
        Box(names[0] if len(names) == 1 else f"{len(names)} × {title}", tuple(names), switches)
        for (switches, title), names in members.items()
    )
    box_of = {name: index for index, box in enumerate(boxes) for name in box.members}
    links = group_by_key(
        (tuple(sorted(box_of[end] for end in link.ends)), link) for link in system.links.values()
    )
    cables = tuple(Cable((a, b), tuple(some)) for (a, b), some in links.items())
    return Shape(boxes, cables, box_of)


Key = tuple[bool, str]
"""Key of a box in a drawing: whether its members are switches, and its title if it has several members."""
Folding = Callable[[System], Mapping[str, Key]]
"""Function that merges nodes: it returns the key of the box of each node."""


def fold_groups(system: System) -> dict[str, Key]:
    """Return a key for each node, the same for all devices or all switches of a group.

    Nodes with equal keys share a box of the drawing.
    """
    devices = {name: (False, device.group) for name, device in system.devices.items()}
    return devices | {name: (True, switch.group) for name, switch in system.switches.items()}


def fold_large_groups(system: System) -> dict[str, Key]:
    """Return a key for each node, the same for all nodes of a group that has more than `MOST_MEMBERS` nodes.

    Nodes with equal keys share a box of the drawing. Each node of a smaller group has a key of its own.
    """
    groups = fold_groups(system)
    count = Counter(groups.values())
    return {
        name: key if count[key] > MOST_MEMBERS else (key[0], name) for name, key in groups.items()
    }


def fold_neighbours(system: System) -> dict[str, Key]:
    """Return a key for each node; nodes with equal keys share a box of the drawing.

    Devices that are linked to the same nodes have the same key, even if they are in different groups. Each switch has
    a key of its own.
    """
    neighbours: dict[str, set[str]] = {name: set() for name in (*system.devices, *system.switches)}
    for link in system.links.values():
        for node, peer in (link.ends, link.ends[::-1]):
            neighbours[node].add(peer)
    devices = {
        name: (False, f"device at {', '.join(sorted(neighbours[name]))}") for name in system.devices
    }
    return devices | {name: (True, name) for name in system.switches}


def fold_kinds(system: System) -> dict[str, Key]:
    """Return a key for each node: one for all devices, and one for all switches. So the drawing has two boxes."""
    return dict.fromkeys(system.devices, (False, "device")) | dict.fromkeys(
        system.switches, (True, "switch")
    )


FOLDINGS: tuple[Folding, ...] = (fold_large_groups, fold_groups, fold_neighbours, fold_kinds)
"""Functions that merge the nodes of a system into boxes, from the finest to the coarsest."""


# --- the numbers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoxSummary:
    """Numbers of one box in a drawing: its streams by verdict, and its busiest device.

    A stream counts in the boxes of its source and its sink. ``inside`` is the load of the links between members of the
    box as text; without such links, it is empty.
    """

    box: Box
    outcomes: Mapping[str, int]
    busiest: str
    cpu: DevicePrediction | None
    inside: str = ""

    @property
    def cpu_text(self) -> str:
        """CPU load as text: ``CPU 48 %``, or ``CPU ≤ 48 %`` for several devices; empty for switches."""
        if self.cpu is None:
            return ""
        most = "≤ " if len(self.box.members) > 1 else ""
        if not self.cpu.cpu.absent:
            return f"CPU {most}{percent(self.cpu.cpu.value)}"
        if not self.cpu.cpu_cores.absent:
            return f"CPU {most}{self.cpu.cpu_cores.value:.2g} cores"
        return "CPU unknown"


@dataclass(frozen=True, slots=True)
class CableSummary:
    """Numbers of one cable in a drawing: name, rate [b/s] and load of its busiest port.

    ``outwards`` is true if this port sends from the cable's first box.
    """

    cable: Cable
    busiest: str
    rate_bps: float
    port: PortPrediction
    outwards: bool

    @property
    def overloaded(self) -> bool:
        """Whether the requested load exceeds the rate of the port."""
        return self.port.asked_ratio > 1 + ROUNDING

    @property
    def ratio(self) -> float:
        """Load of the cable's busiest port as a fraction of the port's rate.

        It is the requested load if the port is overloaded, otherwise the carried load.
        """
        return self.port.asked_ratio if self.overloaded else min(self.port.load_ratio, 1.0)

    @property
    def text(self) -> str:
        """Load of the cable as text: ``75 %``, or ``3 × ≤ 75 %`` for three links of at most 75 %."""
        count = len(self.cable.links)
        return f"{count} × ≤ {percent(self.ratio)}" if count > 1 else percent(self.ratio)


@dataclass(frozen=True, slots=True)
class Summary:
    """Boxes and cables of a system drawing, with their numbers."""

    shape: Shape
    boxes: tuple[BoxSummary, ...]
    cables: tuple[CableSummary, ...]


def summarise(found: SystemPrediction, most_boxes: int = MOST_BOXES) -> Summary:
    """Merge a predicted system into boxes and cables, each with the numbers of its worst member."""
    folded = shape(found.system, most_boxes)

    cables = []
    for cable in folded.cables:
        ports = [pair for link in cable.links for pair in found.links[link.name].ports.items()]
        name, port = max(ports, key=lambda pair: (pair[1].asked_ratio, pair[1].load_ratio))
        sender = found.system.ports[name]
        outwards = folded.box_of[sender.node] == cable.ends[0]
        cables.append(CableSummary(cable, name, sender.rate_bps, port, outwards))

    counts: list[Counter[str]] = [Counter() for _ in folded.boxes]
    for name, outcome in outcomes(found).items():
        stream = found.streams[name].stream
        for index in {folded.box_of[stream.source], folded.box_of[stream.sink]}:
            counts[index][outcome] += 1
    inside = {one.cable.ends[0]: one.text for one in cables if one.cable.inside}

    # Sort key for the busiest device of a box: utilisation, then busy cores. An unknown number sorts first.
    def load(name: str) -> tuple[float, float]:
        cpu, cores = found.devices[name].cpu.value, found.devices[name].cpu_cores.value
        return (-1.0 if math.isnan(cpu) else cpu, -1.0 if math.isnan(cores) else cores)

    boxes = []
    for index, box in enumerate(folded.boxes):
        devices = (name for name in box.members if name in found.devices)
        busiest = max(devices, key=load, default="")
        cpu = found.devices.get(busiest)
        boxes.append(BoxSummary(box, counts[index], busiest, cpu, inside.get(index, "")))
    return Summary(folded, tuple(boxes), tuple(cables))


def outcomes(found: SystemPrediction) -> dict[str, str]:
    """Return the verdict on each stream: the worst of its requirements, or `NOT_JUDGED` without requirements."""
    judged = group_by_key(
        (one.stream, one.verdict.outcome) for one in found.judged if not one.device
    )
    return {
        name: worst_outcome(judged[name]) if name in judged else NOT_JUDGED
        for name in found.streams
    }


WIDTH, HEIGHT = 156.0, 58.0
"""Width and least height of a box [px]. A box with many cables is higher."""
GAP = 12.0
"""Vertical distance between two boxes in one column [px]."""
LANE = 22.0
"""Vertical distance between two cables at the same side of a box [px]."""
BETWEEN, BEND = 150.0, 110.0
"""Distance between two columns, and width of a curve that joins two boxes of one column [px]."""
SWEEPS = 8
"""Number of passes over the columns, in alternating directions. Each pass orders the rows by their neighbours."""

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

    ``sides`` holds a number for each end of the cable: +1 at the right edge of a box, -1 at the left edge.
    ``labelled`` is the index (0 or 1) of the end with the load text.
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
    """Place boxes in columns and rows, and route the cables between them.

    - Boxes with several neighbours, such as switches, are in the inner columns. The first inner column is one end of the
      system. Each further column is one hop farther from this end.
    - A box with a single neighbour, such as a device, is in the column beside its neighbour: on the left if the
      neighbour is in the first inner column, otherwise on the right. If there is only one inner column, senders are on
      its left, and receivers on its right.
    - The boxes in a column have the same order as their neighbours.

    So a cable joins boxes of one column or of neighbouring columns, and crosses no box, except in a ring or mesh.

    Parameters
    ----------
    count : int
        Number of boxes.
    pairs : sequence of (int, int)
        Indices of the two boxes that each cable joins; the two always differ.
    flows : mapping of (int, int) to float
        Rate from one box to another, in any unit. The boxes are placed so that most of this traffic runs from left
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

    # The load text of a cable is at its end in the column with more boxes. So all cables between two
    # columns have their texts in the same column, and the texts do not overlap. Within a column, the
    # text is at the upper end.
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
    """Return the column of each box in a drawing, counted from 0 at the left; `layout` states the rules."""
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
    """Return the number of hops from one box to each reachable box, the nearest first (breadth-first search).

    Only paths through the boxes in ``among`` count.
    """
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
    """Return the boxes in each column from top to bottom, sorted by the mean position of their neighbours.

    This is the barycentre method of:

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
    """Return the rectangle of each box.

    A cable between two boxes of the same column is bent, and needs room beside the column. ``bent`` holds a pair
    (column, side) for each side of a column with such cables: -1 for the left side, 1 for the right side.
    """
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

    The cables at one side of a box are evenly spaced. From top to bottom, they have the same order as the boxes at
    their other ends.
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
