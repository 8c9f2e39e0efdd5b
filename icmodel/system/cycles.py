"""Cycles of ports whose streams wait for each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from icmodel.system.network import Stream


def port_cycle(streams: Iterable[Stream]) -> tuple[str, ...]:
    """The ports of one cycle in which streams wait for each other; empty if there is none."""
    after: dict[str, dict[str, None]] = {}
    for stream in streams:
        for here, there in pairwise(stream.path):
            after.setdefault(here, {})[there] = None
            after.setdefault(there, {})
    remaining = _without_ends(after)
    if not remaining:
        return ()
    walk = [next(iter(remaining))]
    while walk[-1] not in walk[:-1]:
        walk.append(next(port for port in after[walk[-1]] if port in remaining))
    return tuple(walk[walk.index(walk[-1]) : -1])


def _without_ends(after: Mapping[str, Mapping[str, None]]) -> dict[str, None]:
    """Ports that remain when those without a successor are removed repeatedly."""
    before: dict[str, list[str]] = {name: [] for name in after}
    for here, ports in after.items():
        for there in ports:
            before[there].append(here)
    left = {name: len(ports) for name, ports in after.items()}
    ends = [name for name, n in left.items() if not n]
    while ends:
        gone = ends.pop()
        del left[gone]
        for name in before[gone]:
            left[name] -= 1
            if not left[name]:
                ends.append(name)
    return dict.fromkeys(left)
