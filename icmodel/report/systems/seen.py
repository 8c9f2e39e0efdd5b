"""The numbers of a drawing: each box and cable with those of its worst member, for SVG and tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from icmodel.documents import group_by_key
from icmodel.estimate import percent
from icmodel.requirement import worst
from icmodel.system import Link, System, SystemPrediction
from icmodel.system.prediction.result import DevicePrediction, PortPrediction

NOT_JUDGED = "not judged"
"""Outcome of a stream without a requirement."""
ROUNDING = 1e-9
"""A load above 1 by at most this is a full port."""


@dataclass(frozen=True, slots=True)
class SeenBox:
    """A box, the outcomes of the streams that begin or end in it, and its busiest device, if it has any.

    ``inside`` is the load of the links between its members, empty where there are none.
    """

    box: Box
    outcomes: Mapping[str, int]
    busiest: str
    cpu: DevicePrediction | None
    inside: str = ""

    @property
    def cpu_text(self) -> str:
        """``CPU 48 %``; of several devices that of the busiest."""
        if self.cpu is None:
            return ""
        most = "≤ " if len(self.box.members) > 1 else ""
        if not self.cpu.cpu.absent:
            return f"CPU {most}{percent(self.cpu.cpu.value)}"
        if not self.cpu.cpu_cores.absent:
            return f"CPU {most}{self.cpu.cpu_cores.value:.2g} cores"
        return "CPU unknown"


@dataclass(frozen=True, slots=True)
class SeenCable:
    """A cable, and its port with the greatest load: name, rate [b/s] and numbers.

    ``outwards``: the port sends from the cable's first box.
    """

    cable: Cable
    busiest: str
    rate_bps: float
    port: PortPrediction
    outwards: bool

    @property
    def overloaded(self) -> bool:
        """Whether the port's load exceeds its rate."""
        return self.port.asked_ratio > 1 + ROUNDING

    @property
    def ratio(self) -> float:
        """Throughput of that port over its rate, or its load if this is above 1."""
        return self.port.asked_ratio if self.overloaded else min(self.port.load_ratio, 1.0)

    @property
    def text(self) -> str:
        """``3 × ≤ 75 %``: of several links that of the busiest."""
        count = len(self.cable.links)
        return f"{count} × ≤ {percent(self.ratio)}" if count > 1 else percent(self.ratio)


@dataclass(frozen=True, slots=True)
class Seen:
    """A system as drawn, with its numbers."""

    shape: Shape
    boxes: tuple[SeenBox, ...]
    cables: tuple[SeenCable, ...]


def outcomes(found: SystemPrediction) -> dict[str, str]:
    """The outcome of each stream: the worst of the requirements about it, or `NOT_JUDGED`."""
    of = group_by_key((one.stream, one.verdict.outcome) for one in found.judged if not one.device)
    return {name: worst(of[name]) if name in of else NOT_JUDGED for name in found.streams}


def seen(found: SystemPrediction) -> Seen:
    """What is drawn of a prediction."""
    made = shape(found.system)
    at: list[Counter[str]] = [Counter() for _ in made.boxes]
    for name, outcome in outcomes(found).items():
        stream = found.streams[name].stream
        for box in {made.box_of[stream.source], made.box_of[stream.sink]}:
            at[box][outcome] += 1
    cables = tuple(_cable(found, made, cable) for cable in made.cables)
    inside = {one.cable.ends[0]: one.text for one in cables if one.cable.inside}
    boxes = tuple(
        SeenBox(box, at[place], *_busiest(found, box.members), inside.get(place, ""))
        for place, box in enumerate(made.boxes)
    )
    return Seen(made, boxes, cables)


def _busiest(
    found: SystemPrediction, members: Iterable[str]
) -> tuple[str, DevicePrediction | None]:
    """The device whose processor is busiest, known utilisation before known cores before unknown."""
    here = [(name, found.devices[name]) for name in members if name in found.devices]
    if not here:
        return "", None

    def busy(one: tuple[str, DevicePrediction]) -> tuple[float, float]:
        cpu, cores = one[1].cpu.value, one[1].cpu_cores.value
        return (-1.0 if math.isnan(cpu) else cpu, -1.0 if math.isnan(cores) else cores)

    return max(here, key=busy)


def _cable(found: SystemPrediction, made: Shape, cable: Cable) -> SeenCable:
    ports = [
        (name, port) for link in cable.links for name, port in found.links[link.name].ports.items()
    ]
    name, port = max(ports, key=lambda one: (one[1].asked_ratio, one[1].load_ratio))
    at = found.system.ports[name]
    return SeenCable(cable, name, at.rate_bps, port, made.box_of[at.node] == cable.ends[0])


MOST_MEMBERS = 8
"""Greatest size of a group that is drawn member by member; a larger one is one box with its count."""
MOST_BOXES = 40
"""Greatest number of boxes; a system with more is folded further."""


@dataclass(frozen=True, slots=True)
class Box:
    """One device or switch, or several drawn as one, with a title."""

    title: str
    members: tuple[str, ...]
    switches: bool


@dataclass(frozen=True, slots=True)
class Cable:
    """All links between two boxes, or between members of one; `ends` are places of boxes."""

    ends: tuple[int, int]
    links: tuple[Link, ...]

    @property
    def inside(self) -> bool:
        """Whether it joins members of one box."""
        return self.ends[0] == self.ends[1]


@dataclass(frozen=True, slots=True)
class Shape:
    """The boxes in the order of the system's file, and the cables in the order of its links."""

    boxes: tuple[Box, ...]
    cables: tuple[Cable, ...]
    box_of: Mapping[str, int]


Key = tuple[bool, str]
Folding = Callable[[System], Mapping[str, Key]]
"""Which box each node belongs to: whether of switches, and the box's title where it has several members."""


def shape(system: System) -> Shape:
    """Fold a system until it has few enough boxes: large groups, all groups, neighbours, kinds."""
    for folding in (_large_groups, _groups, _alike, _kinds):
        keys = folding(system)
        if len(set(keys.values())) <= MOST_BOXES:
            break
    members = group_by_key((key, name) for name, key in keys.items())
    boxes = tuple(
        Box(_title(key[1], names), tuple(names), key[0]) for key, names in members.items()
    )
    box_of = {name: place for place, box in enumerate(boxes) for name in box.members}
    cables = group_by_key(
        (tuple(sorted(box_of[end] for end in link.ends)), link) for link in system.links.values()
    )
    drawn = tuple(Cable((a, b), tuple(links)) for (a, b), links in cables.items())
    return Shape(boxes, drawn, box_of)


def _title(what: str, names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} × {what}"


def _nodes(system: System) -> list[tuple[str, bool]]:
    return [(name, False) for name in system.devices] + [(name, True) for name in system.switches]


def _large_groups(system: System) -> Mapping[str, Key]:
    """Groups of more than `MOST_MEMBERS` as one; all others by themselves."""
    groups = _groups(system)
    count = Counter(groups.values())
    return {
        name: key if count[key] > MOST_MEMBERS else (key[0], name) for name, key in groups.items()
    }


def _groups(system: System) -> Mapping[str, Key]:
    return {name: (kind, system.node(name).group) for name, kind in _nodes(system)}


def _alike(system: System) -> Mapping[str, Key]:
    """Devices with the same neighbours as one box, if there are no groups; switches by themselves."""
    beside: dict[str, set[str]] = {name: set() for name, _ in _nodes(system)}
    for link in system.links.values():
        for node, peer in (link.ends, link.ends[::-1]):
            beside[node].add(peer)
    return {
        name: (True, name) if kind else (False, f"device at {', '.join(sorted(beside[name]))}")
        for name, kind in _nodes(system)
    }


def _kinds(system: System) -> Mapping[str, Key]:
    return {name: (kind, "switch" if kind else "device") for name, kind in _nodes(system)}
