"""Summarise a predicted system for drawing and tables: merge it into few boxes and cables.

`shape` merges (folds) nodes into boxes; `summarise` adds the numbers of the worst member of each box and cable.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from icmodel.documents import group_by_key
from icmodel.estimate import percent
from icmodel.requirement import worst_outcome
from icmodel.system import Link, System, SystemPrediction
from icmodel.system.prediction.result import DevicePrediction, PortPrediction

MOST_MEMBERS = 8
"""Size of the largest group that is drawn member by member; a larger group is one box with its size."""
MOST_BOXES = 40
"""Maximum number of boxes in a drawing; above it, more nodes are merged (see `shape`)."""
NOT_JUDGED = "not judged"
"""Outcome of a stream without a requirement."""
FRONT_BOXES = 12
"""Maximum number of boxes on the first page of a report, where the drawing is small."""
ROUNDING = 1e-9
"""Tolerance for rounding: a port with a load of at most 1 + `ROUNDING` is full, not overloaded."""


# --- the shape --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Box:
    """Box of the drawing: one device or switch, or several that are drawn as one."""

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

    These merges are tried in order until few enough boxes remain: large groups, all groups, devices with the same
    neighbours, all devices and all switches.
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
    """Return keys that merge the nodes of each group into one box of the drawing."""
    devices = {name: (False, device.group) for name, device in system.devices.items()}
    return devices | {name: (True, switch.group) for name, switch in system.switches.items()}


def fold_large_groups(system: System) -> dict[str, Key]:
    """Return keys that merge each group of more than `MOST_MEMBERS` nodes into one box; other nodes stay separate."""
    groups = fold_groups(system)
    count = Counter(groups.values())
    return {
        name: key if count[key] > MOST_MEMBERS else (key[0], name) for name, key in groups.items()
    }


def fold_neighbours(system: System) -> dict[str, Key]:
    """Return keys that merge devices with the same neighbours into one box; switches stay separate.

    It also merges devices that belong to no group.
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
    """Return keys that merge all devices into one box, and all switches into another box."""
    return dict.fromkeys(system.devices, (False, "device")) | dict.fromkeys(
        system.switches, (True, "switch")
    )


FOLDINGS: tuple[Folding, ...] = (fold_large_groups, fold_groups, fold_neighbours, fold_kinds)
"""Functions that merge the nodes of a system into boxes, from the finest to the coarsest."""


# --- the numbers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoxSummary:
    """Numbers of one box in a drawing: its streams by verdict, and its busiest device.

    A stream is counted in the boxes of its source and its sink. ``inside`` is the load of links between members of the
    box as text; it is empty without such links.
    """

    box: Box
    outcomes: Mapping[str, int]
    busiest: str
    cpu: DevicePrediction | None
    inside: str = ""

    @property
    def cpu_text(self) -> str:
        """CPU load as text: ``CPU 48 %``; ``CPU ≤ 48 %`` for a box of several devices; empty for switches."""
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
        """Load of the busiest port, as a fraction of the rate of this port.

        This load is the throughput. For an overloaded port, it is the requested load.
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

    # Sort key for the busiest device of a box: utilisation, then busy cores. An unknown number counts as least.
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
    """Return the verdict on each stream: the worst of its requirements, or `NOT_JUDGED` without any."""
    judged = group_by_key(
        (one.stream, one.verdict.outcome) for one in found.judged if not one.device
    )
    return {
        name: worst_outcome(judged[name]) if name in judged else NOT_JUDGED
        for name in found.streams
    }
