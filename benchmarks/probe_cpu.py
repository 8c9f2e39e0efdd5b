"""CPU that a tool uses on both hosts of the lab, measured the same way for every tool.

The CPU clocks of all processes in the network namespace of a host count, and that of the kernel
thread that processes packets on the host's core. Packets that the kernel processes on an idle core
belong to no process, and count for no tool.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from benchmarks.probe_lab import RECEIVER, SENDER, Lab

PROC = "/proc"
TICK_S = 0.1
"""Time between two looks at the clocks [s]."""
WINDOW_S = 0.5
"""Length of the busiest part of a run [s], which leaves out start, warm-up and waiting."""

Told = TypeVar("Told")
"""Type of the result of a measured run."""


@dataclass(frozen=True, slots=True)
class Cores:
    """Busy cores of the sender and of the receiver."""

    sender: float
    receiver: float

    @property
    def both(self) -> float:
        """Busy cores of both hosts."""
        return self.sender + self.receiver


@dataclass(frozen=True, slots=True)
class Reading:
    """Value that a tool measured, and the cores that it used meanwhile."""

    value: float
    cores: Cores

    def at_equal_cpu(self, more_is_better: bool) -> float:
        """Return a rate per busy core, or a time multiplied by the busy cores."""
        return self.value / self.cores.both if more_is_better else self.value * self.cores.both


class Spent(NamedTuple):
    """CPU time of both hosts since the first look, and the time of this look [ns]."""

    at: int
    sender: int
    receiver: int


class Meter:
    """Meter of the CPU that processes on the hosts of a lab use.

    A look must be short, or it disturbs the tool. So the meter asks only new processes for their
    namespace. Those that run elsewhere when a run begins stay there.
    """

    def __init__(self, lab: Lab) -> None:
        self._spaces = {lab.space[host]: host for host in (SENDER, RECEIVER)}
        self._softirq = {softirq_thread(lab.core[host]): host for host in (SENDER, RECEIVER)}
        self._elsewhere: frozenset[int] = frozenset()

    def during(self, run: Callable[[], Told]) -> tuple[Told, Cores]:
        """Run, and return the result and the busy cores of the busiest part of the run."""
        running = processes()
        self._elsewhere = frozenset(one for one in running if not self._host(one))
        looks: list[Spent] = []
        ended = threading.Event()
        watching = threading.Thread(target=self._watch, args=(looks, ended))
        watching.start()
        try:
            told = run()
        finally:
            ended.set()
            watching.join()
        return told, busiest(looks)

    def _watch(self, looks: list[Spent], ended: threading.Event) -> None:
        before = self._clocks()
        spent = {SENDER: 0, RECEIVER: 0}
        looks.append(Spent(time.monotonic_ns(), 0, 0))
        last = False
        while not last:
            last = ended.wait(TICK_S)
            now = self._clocks()
            for host in spent:
                spent[host] += used(before[host], now[host])
            before = now
            looks.append(Spent(time.monotonic_ns(), spent[SENDER], spent[RECEIVER]))

    def _clocks(self) -> dict[str, dict[int, int]]:
        clocks: dict[str, dict[int, int]] = {SENDER: {}, RECEIVER: {}}
        for number in processes():
            if number not in self._elsewhere:
                host = self._host(number)
                if host:
                    with suppress(OSError):  # it has just ended
                        clocks[host][number] = cpu_ns(number)
        return clocks

    def _host(self, number: int) -> str | None:
        if number in self._softirq:
            return self._softirq[number]
        with suppress(OSError):  # it has just ended, or is not ours
            return self._spaces.get(str(Path(f"{PROC}/{number}/ns/net").readlink()))
        return None


def processes() -> list[int]:
    """Return the numbers of all processes."""
    return [int(entry.name) for entry in os.scandir(PROC) if entry.name.isdecimal()]


def cpu_ns(number: int) -> int:
    """Return the CPU time of a process and its threads [ns], by clock_getcpuclockid(3)."""
    return time.clock_gettime_ns(~number << 3 | 2)


def softirq_thread(core: int) -> int | None:
    """Return the kernel thread that processes packets on a core; None if it is not visible."""
    for number in processes():
        with suppress(OSError):  # it has just ended
            if Path(f"{PROC}/{number}/comm").read_text(encoding="utf-8") == f"ksoftirqd/{core}\n":
                return number
    return None


def used(before: Mapping[int, int], now: Mapping[int, int]) -> int:
    """Return the CPU time between two looks [ns]; a new process used all of its own."""
    return sum(clock - before.get(number, 0) for number, clock in now.items())


def busiest(looks: Sequence[Spent]) -> Cores:
    """Return the busy cores of the busiest part of a run, or of the whole if it is shorter."""
    parts = [(looks[0], looks[-1])]
    for k, first in enumerate(looks):
        for last in looks[k:]:
            if last.at - first.at >= WINDOW_S * 1e9:
                parts.append((first, last))
                break
    return max((_cores(*part) for part in parts), key=lambda cores: cores.both)


def _cores(first: Spent, last: Spent) -> Cores:
    wall = max(last.at - first.at, 1)
    return Cores((last.sender - first.sender) / wall, (last.receiver - first.receiver) / wall)
