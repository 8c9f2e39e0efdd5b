"""Cycles of ports whose streams wait for each other."""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from icmodel.system.network import Stream


def port_cycle(streams: Iterable[Stream]) -> tuple[str, ...]:
    """The ports of one cycle in which streams wait for each other; empty if there is none."""
    waiting: TopologicalSorter[str] = TopologicalSorter()
    for stream in streams:
        for here, there in pairwise(stream.path):
            waiting.add(here)
            waiting.add(there, here)
    try:
        waiting.prepare()
    except CycleError as error:
        return tuple(error.args[1][:-1])
    return ()
