"""A predicted system folded into boxes and cables, each with the numbers of its worst member.

`shape` folds the system; `summarise` adds the numbers, for the drawing and the tables.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from icmodel.documents import group_by_key
from icmodel.estimate import percent
from icmodel.requirement import worst_outcome
from icmodel.system import Link, System, SystemPrediction
from icmodel.system.prediction.result import DevicePrediction, PortPrediction

MOST_MEMBERS = 8
"""Greatest size of a group that is drawn member by member; a larger one is one box with its count."""
MOST_BOXES = 40
"""Greatest number of boxes; a system with more is folded further."""
NOT_JUDGED = "not judged"
"""Outcome of a stream without a requirement."""
ROUNDING = 1e-9
"""A load above 1 by at most this much is a full port, not an overload."""


# --- the shape --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Box:
    """One device or switch, or several drawn as one, with a title."""

    title: str
    members: tuple[str, ...]
    switches: bool


@dataclass(frozen=True, slots=True)
class Cable:
    """All links between two boxes, or between members of one; ``ends`` are indices of boxes."""

    ends: tuple[int, int]
    links: tuple[Link, ...]

    @property
    def inside(self) -> bool:
        """Whether it joins members of one box."""
        return self.ends[0] == self.ends[1]


@dataclass(frozen=True, slots=True)
class Shape:
    """The boxes in the order of the system's file, the cables in the order of its links, and the box of each node."""

    boxes: tuple[Box, ...]
    cables: tuple[Cable, ...]
    box_of: Mapping[str, int]


def shape(system: System) -> Shape:
    """Fold a system until it has at most `MOST_BOXES` boxes: large groups, all groups, neighbours, kinds."""
    for folding in FOLDINGS:
        keys = folding(system)
        if len(set(keys.values())) <= MOST_BOXES:
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
"""A box: whether it is of switches, and its title if it has several members."""
Folding = Callable[[System], Mapping[str, Key]]
"""The box of each node."""


def fold_groups(system: System) -> dict[str, Key]:
    """Each group as one box."""
    devices = {name: (False, device.group) for name, device in system.devices.items()}
    return devices | {name: (True, switch.group) for name, switch in system.switches.items()}


def fold_large_groups(system: System) -> dict[str, Key]:
    """Groups of more than `MOST_MEMBERS` as one box, every other node by itself."""
    groups = fold_groups(system)
    count = Counter(groups.values())
    return {
        name: key if count[key] > MOST_MEMBERS else (key[0], name) for name, key in groups.items()
    }


def fold_neighbours(system: System) -> dict[str, Key]:
    """Devices with the same neighbours as one box, switches by themselves; for systems without groups."""
    neighbours: dict[str, set[str]] = {name: set() for name in (*system.devices, *system.switches)}
    for link in system.links.values():
        for node, peer in (link.ends, link.ends[::-1]):
            neighbours[node].add(peer)
    devices = {
        name: (False, f"device at {', '.join(sorted(neighbours[name]))}") for name in system.devices
    }
    return devices | {name: (True, name) for name in system.switches}


def fold_kinds(system: System) -> dict[str, Key]:
    """All devices as one box, all switches as another."""
    return dict.fromkeys(system.devices, (False, "device")) | dict.fromkeys(
        system.switches, (True, "switch")
    )


FOLDINGS: tuple[Folding, ...] = (fold_large_groups, fold_groups, fold_neighbours, fold_kinds)
"""Ways to fold a system, the finest first."""


# --- the numbers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoxSummary:
    """A box with the number of its streams by outcome, and its busiest device, if it has devices.

    A stream belongs to the boxes in which it begins and ends.  ``inside`` is the load of the links between members
    of the box, empty if there are none.
    """

    box: Box
    outcomes: Mapping[str, int]
    busiest: str
    cpu: DevicePrediction | None
    inside: str = ""

    @property
    def cpu_text(self) -> str:
        """``CPU 48 %``, or ``CPU ≤ 48 %`` for the busiest of several devices; empty for switches."""
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
    """A cable with its busiest port: name, rate [b/s] and numbers.

    ``outwards``: the port sends from the cable's first box.
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
        """Throughput of the port over its rate, or the requested load if that is above 1."""
        return self.port.asked_ratio if self.overloaded else min(self.port.load_ratio, 1.0)

    @property
    def text(self) -> str:
        """``75 %``, or ``3 × ≤ 75 %`` for the busiest of several links."""
        count = len(self.cable.links)
        return f"{count} × ≤ {percent(self.ratio)}" if count > 1 else percent(self.ratio)


@dataclass(frozen=True, slots=True)
class Summary:
    """A folded system with the numbers of its boxes and cables."""

    shape: Shape
    boxes: tuple[BoxSummary, ...]
    cables: tuple[CableSummary, ...]


def summarise(found: SystemPrediction) -> Summary:
    """Fold a predicted system, and give each box and cable the numbers of its worst member."""
    folded = shape(found.system)

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
    boxes = [
        BoxSummary(box, counts[index], *_busiest(found, box.members), inside.get(index, ""))
        for index, box in enumerate(folded.boxes)
    ]
    return Summary(folded, tuple(boxes), tuple(cables))


def _busiest(
    found: SystemPrediction, members: Iterable[str]
) -> tuple[str, DevicePrediction | None]:
    """The device with the busiest processor: known utilisation before known cores before unknown."""

    def load(name: str) -> tuple[float, float]:
        cpu, cores = found.devices[name].cpu.value, found.devices[name].cpu_cores.value
        return (-1.0 if math.isnan(cpu) else cpu, -1.0 if math.isnan(cores) else cores)

    name = max((name for name in members if name in found.devices), key=load, default="")
    return name, found.devices.get(name)


def outcomes(found: SystemPrediction) -> dict[str, str]:
    """The outcome of each stream: the worst of the requirements about it, or `NOT_JUDGED`."""
    judged = group_by_key(
        (one.stream, one.verdict.outcome) for one in found.judged if not one.device
    )
    return {
        name: worst_outcome(judged[name]) if name in judged else NOT_JUDGED
        for name in found.streams
    }
