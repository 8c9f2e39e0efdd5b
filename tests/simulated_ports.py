"""Ports of simulated systems: which of the waiting packets goes next, by each scheduler of a system.

Time in seconds, lengths in bits of the line, preamble and gap included.  A packet that is being sent is finished.
The variants meant are those of `icmodel.system.schedulers`: a turn of weighted round robin counts packets; a
deficit is kept while packets wait, else reset (Shreedhar and Varghese 1996); a shaped class may send while its credit is
not negative (IEEE 802.1Q-2022 §8.6.8.2); a gate lets a packet begin only if it ends, gap included, before the gate closes
(§8.6.8.4).  Where a standard leaves open who begins, it is drawn.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Fifo,
    Gates,
    Scheduler,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)

NEVER = math.inf
Waiting = tuple[float, Any]
"""Bits, and whatever the owner needs to know of a packet."""
BITS = 1e-6
"""Credit that rounding may have lost."""
ROUNDING = 1e-14
"""Relative to the time, and of a second at least: by how much moments may be missed."""


class StrictOrder:
    """The most urgent class that waits goes first."""

    def __init__(self, rate_bps: float) -> None:
        self.rate_bps = rate_bps
        self.queues: dict[int, deque[Waiting]] = {}

    def put(self, priority: int, packet: Waiting, now: float) -> None:
        """Let a packet wait."""
        self.elapse(now)
        self.queues.setdefault(priority, deque()).append(packet)

    def elapse(self, now: float) -> None:
        """Time goes on until now."""

    def take(self, now: float) -> Waiting | float:
        """The packet that goes next; if none may go, the time to ask again."""
        for priority in self.urgent_first():
            return self.queues[priority].popleft()
        return NEVER

    def sent(self, now: float) -> None:
        """The packet that was taken last has been sent."""

    def urgent_first(self) -> list[int]:
        """Classes that wait."""
        return sorted((name for name, queue in self.queues.items() if queue), reverse=True)


class Turns(StrictOrder):
    """Classes take turns, in each of which one may send so many packets, or bits of which it saves the rest."""

    def __init__(
        self, rate_bps: float, shares: Mapping[int, float], draw: random.Random, *, packets: bool
    ) -> None:
        super().__init__(rate_bps)
        self.shares = shares
        self.packets = packets
        self.order = draw.sample(sorted(shares), len(shares))
        self.turn = draw.randrange(len(shares))
        self.rest = dict.fromkeys(shares, 0.0)
        self.began = False

    def take(self, now: float) -> Waiting | float:
        if not any(self.queues.values()):
            return NEVER
        while True:
            own = self.order[self.turn]
            queue = self.queues.get(own)
            if queue and not self.began:
                self.rest[own] += self.shares[own]
                self.began = True
            if queue and self.rest[own] >= self._cost(queue[0]):
                self.rest[own] -= self._cost(queue[0])
                return queue.popleft()
            if self.packets or not queue:
                self.rest[own] = 0.0
            self.turn = (self.turn + 1) % len(self.order)
            self.began = False

    def sent(self, now: float) -> None:
        own = self.order[self.turn]
        if not self.queues[own]:
            self.rest[own] = 0.0

    def _cost(self, packet: Waiting) -> float:
        return 1.0 if self.packets else packet[0]


class Credit(StrictOrder):
    """The most urgent class that waits, of the shaped ones only those whose credit is not negative."""

    def __init__(self, rate_bps: float, slopes_bps: Mapping[int, float]) -> None:
        super().__init__(rate_bps)
        self.slopes_bps = slopes_bps
        self.credit = dict.fromkeys(slopes_bps, 0.0)
        self.own: int | None = None
        self.until = 0.0

    def elapse(self, now: float) -> None:
        passed, self.until = now - self.until, now
        for name, slope in self.slopes_bps.items():
            before = self.credit[name]
            if name == self.own:
                self.credit[name] = before + (slope - self.rate_bps) * passed
            elif self.queues.get(name):
                self.credit[name] = before + slope * passed
            else:
                self.credit[name] = min(0.0, before + slope * passed)

    def take(self, now: float) -> Waiting | float:
        self.elapse(now)
        again = NEVER
        for name in self.urgent_first():
            credit = self.credit.get(name, 0.0)
            if credit >= -BITS:
                self.own = name
                return self.queues[name].popleft()
            again = min(again, now - credit / self.slopes_bps[name])
        return again

    def sent(self, now: float) -> None:
        self.elapse(now)
        own, self.own = self.own, None
        if own in self.credit and not self.queues[own]:
            self.credit[own] = min(0.0, self.credit[own])


class Opened(StrictOrder):
    """The most urgent class whose gate is open for as long as its packet takes."""

    def __init__(self, rate_bps: float, windows: Sequence[Window], draw: random.Random) -> None:
        super().__init__(rate_bps)
        self.windows = windows
        ends, at = [], 0.0
        for window in windows:
            at += window.duration_s
            ends.append(at)
        self.ends = ends
        self.cycle_s = at
        self.ahead_s = draw.choice((0.0, draw.uniform(0.0, at)))

    def take(self, now: float) -> Waiting | float:
        waiting = self.urgent_first()
        if not waiting:
            return NEVER
        slack = ROUNDING * max(now + self.ahead_s, 1.0)
        at = math.fmod(now + self.ahead_s, self.cycle_s)
        index = next((k for k, end in enumerate(self.ends) if at + slack < end), None)
        if index is None:
            index, at = 0, at - self.cycle_s
        for name in waiting:
            takes = self.queues[name][0][0] / self.rate_bps
            if takes <= self._open_s(name, index, at) + slack:
                return self.queues[name].popleft()
        fits = (
            self.queues[name][0][0] / self.rate_bps <= self._longest_s(name) for name in waiting
        )
        return now + self.ends[index] - at if any(fits) else NEVER

    def _open_s(self, name: int, index: int, at: float) -> float:
        """How long a gate stays open from a moment of a window on; without end if it never closes."""
        if name not in self.windows[index].open:
            return -1.0
        rest = self.ends[index] - at
        for step in range(1, len(self.windows)):
            window = self.windows[(index + step) % len(self.windows)]
            if name not in window.open:
                return rest
            rest += window.duration_s
        return NEVER

    def _longest_s(self, name: int) -> float:
        """The longest time that a gate stays open."""
        begins = zip((0.0, *self.ends), range(len(self.windows)), strict=False)
        return max(self._open_s(name, index, begin) for begin, index in begins)


def order_of(scheduler: Scheduler, rate_bps: float, draw: random.Random) -> StrictOrder | None:
    """The order in which a port sends; ``None`` for first come, first served."""
    match scheduler:
        case Fifo():
            return None
        case StrictPriority():
            return StrictOrder(rate_bps)
        case WeightedRoundRobin(weights=weights):
            return Turns(rate_bps, weights, draw, packets=True)
        case DeficitRoundRobin(quanta_bytes=quanta):
            bits = {name: 8.0 * quantum for name, quantum in quanta.items()}
            return Turns(rate_bps, bits, draw, packets=False)
        case CreditBased(idle_slopes_bps=slopes):
            return Credit(rate_bps, slopes)
        case Gates(windows=windows):
            return Opened(rate_bps, windows, draw)
    raise ValueError(f"{scheduler} is not simulated")
