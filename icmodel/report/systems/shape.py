"""Boxes and cables that are drawn of a system: devices and switches, large groups folded into one box."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from icmodel.grouping import together
from icmodel.system import Link, System

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
    members = together((key, name) for name, key in keys.items())
    boxes = tuple(
        Box(_title(key[1], names), tuple(names), key[0]) for key, names in members.items()
    )
    box_of = {name: place for place, box in enumerate(boxes) for name in box.members}
    cables = together(
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
