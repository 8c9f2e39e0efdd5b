"""Schedulers: the order in which a port sends the frames that queue there.

A stream's priority, 0 to 7 with 7 the most urgent (the priority code points of IEEE 802.1Q-2022
§6.9.3 taken in the order of their numbers), is its class at every port.

What a port chooses among is packets: the frames of Ethernet, with preamble and gap. Within a class the first to come
goes first; a packet that is being sent is finished, and the next one begins after its gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from icmodel.errors import NetworkError
from icmodel.system.sharing.allocation import BEHAVIOURS, EXPEDITED, EXPEDITED_SHARE

PRIORITIES = range(8)
"""Classes of a port, the most urgent last."""


class EveryPriority:
    """A scheduler that sends frames of every priority."""

    __slots__ = ()

    def serves(self, priority: int) -> bool:
        """Whether frames of this priority are ever sent."""
        return True


@dataclass(frozen=True, slots=True)
class Fifo(EveryPriority):
    """First come, first served: priorities make no difference."""

    kind: ClassVar[str] = "fifo"
    name: ClassVar[str] = "FIFO"


@dataclass(frozen=True, slots=True)
class StrictPriority(EveryPriority):
    """The most urgent class that waits is sent first; a frame that is being sent is finished."""

    kind: ClassVar[str] = "strict-priority"
    name: ClassVar[str] = "strict priority"


@dataclass(frozen=True, slots=True)
class WeightedRoundRobin:
    """Classes take turns; in each turn one sends at most a number of packets, however long they are.

    A class that has nothing to send passes its turn, and keeps nothing of it for later.

    Parameters
    ----------
    weights : mapping
        Priority -> packets a turn.
    """

    weights: Mapping[int, int]
    kind: ClassVar[str] = "wrr"
    name: ClassVar[str] = "weighted round robin"

    def __post_init__(self) -> None:
        _check_classes("weight", self.weights)

    def serves(self, priority: int) -> bool:
        """Whether frames of this priority are ever sent."""
        return priority in self.weights


@dataclass(frozen=True, slots=True)
class DeficitRoundRobin:
    """Classes take turns; each turn gives one a number of bytes, of which the rest is kept while packets wait.

    A class whose queue empties loses the rest, as in the algorithm as published; one that kept it would be another
    scheduler, which may hold others up for longer.

    Parameters
    ----------
    quanta_bytes : mapping
        Priority -> bytes a turn [B] (M. Shreedhar and G. Varghese, Efficient fair queuing using
        deficit round-robin, IEEE/ACM Trans. Networking 4, 1996).
    """

    quanta_bytes: Mapping[int, float]
    kind: ClassVar[str] = "drr"
    name: ClassVar[str] = "deficit round robin"

    def __post_init__(self) -> None:
        _check_classes("quantum", self.quanta_bytes)

    def serves(self, priority: int) -> bool:
        """Whether frames of this priority are ever sent."""
        return priority in self.quanta_bytes


@dataclass(frozen=True, slots=True)
class CreditBased(EveryPriority):
    """Strict priority, in which some classes may send only while they have credit.

    Credit that is not negative lets a packet begin, and sending all its bits costs credit, gap and preamble too.
    Where nothing waits, credit above zero is lost, and credit below zero grows back to it.

    Parameters
    ----------
    idle_slopes_bps : mapping
        Priority -> rate at which its credit grows [b/s] (IEEE 802.1Q-2022 §8.6.8.2); other
        priorities are not shaped.
    """

    idle_slopes_bps: Mapping[int, float]
    kind: ClassVar[str] = "cbs"
    name: ClassVar[str] = "credit-based shaper"

    def __post_init__(self) -> None:
        _check_classes("idle slope", self.idle_slopes_bps)


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a gates' cycle [s] and the priorities whose gates are open in it."""

    duration_s: float
    priorities: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 < self.duration_s < math.inf:
            raise NetworkError(
                f"a window of {self.duration_s:g} s is none: give it a duration above 0 s"
            )
        _check_priorities(self.priorities)


@dataclass(frozen=True, slots=True)
class Gates:
    """Windows that repeat one after another; within one, strict priority.

    As the gate control list of IEEE 802.1Q-2022 §8.6.8.4 (formerly 802.1Qbv): a packet begins only if it ends, gap
    included, before its gate closes, so that none reaches into the next window. A port that lets packets overrun their
    window is another scheduler; one that closes a guard band before each window is this one with the
    guard band as a window in which no gate is open.
    """

    windows: tuple[Window, ...]
    kind: ClassVar[str] = "gates"
    name: ClassVar[str] = "time gates"

    def __post_init__(self) -> None:
        if not self.windows:
            raise NetworkError("gates without windows never open: give at least one window")

    @property
    def cycle_s(self) -> float:
        """Duration of all windows together [s]."""
        return sum(window.duration_s for window in self.windows)

    def serves(self, priority: int) -> bool:
        """Whether frames of this priority are ever sent."""
        return any(priority in window.priorities for window in self.windows)


@dataclass(frozen=True, slots=True)
class Dscp(EveryPriority):
    """Expedited and assured forwarding as a switch of 2012 did with its factory settings (IC2012 §6.5.3).

    Parameters
    ----------
    classes : mapping
        Priority -> ``ef`` or ``af1`` to ``af4``; other priorities are best effort.
    """

    classes: Mapping[int, str]
    kind: ClassVar[str] = "dscp"

    def __post_init__(self) -> None:
        _check_priorities(self.classes)
        for priority, name in self.classes.items():
            if name not in BEHAVIOURS:
                raise NetworkError(
                    f"the priority {priority} is {name!r}: take one of {', '.join(BEHAVIOURS)}"
                )


Scheduler = (
    Fifo | StrictPriority | WeightedRoundRobin | DeficitRoundRobin | CreditBased | Gates | Dscp
)


def _check_classes(what: str, of: Mapping[int, float]) -> None:
    if not of:
        raise NetworkError(f"no priority has a {what}: give at least one")
    _check_priorities(of)
    for priority, value in of.items():
        if not 0 < value < math.inf:
            raise NetworkError(
                f"the {what} of priority {priority} is {value:g}: give a number above 0"
            )


def _check_priorities(priorities: Iterable[int]) -> None:
    for priority in priorities:
        if priority not in PRIORITIES:
            raise NetworkError(f"there is no priority {priority}: take one from 0 to 7")


def greatest_rate_bps(served: Scheduler, priority: int, rate_bps: float) -> float:
    """Greatest average rate of a priority at a port of a given rate [b/s].

    A shaped class is limited to its idle slope (IEEE 802.1Q-2022 Annex L), gates to the share of the cycle in
    which they are open; expedited forwarding had 5.5 of 9.4 Gb/s at most (IC2012 §6.5.3).
    """
    if isinstance(served, CreditBased):
        return min(served.idle_slopes_bps.get(priority, rate_bps), rate_bps)
    if isinstance(served, Gates):
        windows = (one.duration_s for one in served.windows if priority in one.priorities)
        return rate_bps * sum(windows) / served.cycle_s
    if isinstance(served, Dscp) and served.classes.get(priority) == EXPEDITED:
        return EXPEDITED_SHARE * rate_bps
    return rate_bps
