"""How much of the machine others used meanwhile: what is raced on it then is raced on less."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
KERNEL = 2
"""Parent of all kernel threads, whose work for the tools is the tools'."""


class Process(NamedTuple):
    """What /proc/PID/stat says (proc(5))."""

    number: int
    parent: int
    ticks: int
    """CPU time it and the children it has waited for used so far, in ticks."""


def process(line: str) -> Process:
    """A process of its stat line; its name stands in brackets and may hold anything."""
    fields = line.rpartition(")")[2].split()
    return Process(int(line.split(" ", 1)[0]), int(fields[1]), sum(map(int, fields[11:15])))


def others(running: list[Process], own: int) -> dict[int, int]:
    """Ticks of the processes that are neither kernel threads nor one's own nor come of it."""
    parents = {one.number: one.parent for one in running}

    def foreign(number: int) -> bool:
        while number > 0:
            if number in (own, KERNEL):
                return False
            number = parents.get(number, 0)
        return True

    return {one.number: one.ticks for one in running if foreign(one.number)}


def _running() -> Iterator[Process]:
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):  # it has just ended
                yield process((folder / "stat").read_text(encoding="utf-8", errors="replace"))


class Watch:
    """Others' use of the machine since it was made or last asked."""

    def __init__(self) -> None:
        self._look()

    def _look(self) -> None:
        self._since = time.monotonic()
        self._ticks = others(list(_running()), os.getpid())

    def cores(self) -> float:
        """Cores that others used since; those that came and went count once their parent knows."""
        since, before = self._since, self._ticks
        self._look()
        used = sum(max(0, now - before.get(who, 0)) for who, now in self._ticks.items())
        return used / os.sysconf("SC_CLK_TCK") / max(self._since - since, 1e-3)
