"""CPU use by other processes during a benchmark, which then has less of the machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
KERNEL = 2
"""Parent of all kernel threads; their work counts as work of the tools."""


class Process(NamedTuple):
    """Numbers of /proc/PID/stat (proc(5))."""

    number: int
    parent: int
    ticks: int
    """CPU time so far of the process and of the children it has waited for, in ticks."""


def process(line: str) -> Process:
    """Parse a stat line; the process name is in brackets and may contain any characters."""
    fields = line.rpartition(")")[2].split()
    return Process(int(line.split(" ", 1)[0]), int(fields[1]), sum(map(int, fields[11:15])))


def others(running: list[Process], own: int) -> dict[int, int]:
    """Return the ticks of all processes except kernel threads, ``own`` and its descendants."""
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
    """CPU use by other processes since the watch was made or last asked."""

    def __init__(self) -> None:
        self._look()

    def _look(self) -> None:
        self._since = time.monotonic()
        self._ticks = others(list(_running()), os.getpid())

    def cores(self) -> float:
        """Return the cores used by other processes.

        A process that has ended counts once its parent has waited for it.
        """
        since, before = self._since, self._ticks
        self._look()
        used = sum(max(0, now - before.get(who, 0)) for who, now in self._ticks.items())
        return used / os.sysconf("SC_CLK_TCK") / max(self._since - since, 1e-3)
