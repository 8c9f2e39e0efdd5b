"""What a scheduler leaves to each traffic class of a port, as a service curve.

Within a class the port serves first come, first served; `Arbitrary` alone promises no order. A
packet on the line is never interrupted. A class's curve is one of its *alternatives*, each sound by
itself; whoever uses them picks one, and never takes the greatest of two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from icmodel.system.bounds.curves import (
    Arrival,
    RateLatency,
    Service,
    TokenBucket,
    service,
    total,
)


@dataclass(frozen=True, slots=True)
class ClassTraffic:
    """What comes in one class at a port: arrival curve, longest and shortest packet in bits."""

    arrival: Arrival
    max_packet_bits: float
    min_packet_bits: float


Traffic = Mapping[int, ClassTraffic]


class Scheduler(Protocol):
    """What a port does with its classes."""

    @property
    def name(self) -> str:
        """How the discipline is called in `covers`."""

    @property
    def has_classes(self) -> bool:
        """Whether each class has a queue of its own."""

    @property
    def pauses(self) -> bool:
        """Whether the line may be idle while something waits."""

    def serves(self, own: int) -> bool:
        """Whether a class gets anything at all."""

    def alternatives(self, line: Service, own: int, traffic: Traffic) -> tuple[Service, ...]:
        """Service curves of class ``own``, each sound by itself, on a line shared by ``traffic``."""


class OneQueue:
    """A scheduler that knows no classes."""

    __slots__ = ()
    has_classes = False
    pauses = False

    def serves(self, own: int) -> bool:
        """Every class gets something."""
        return True


@dataclass(frozen=True, slots=True)
class Fifo(OneQueue):
    """One queue for all, first come, first served, whatever the class."""

    name = "FIFO"

    def alternatives(self, line: Service, own: int, traffic: Traffic) -> tuple[Service, ...]:
        """The line itself."""
        return (line,)


@dataclass(frozen=True, slots=True)
class Arbitrary(OneQueue):
    """One queue, of which no order is known but that each flow keeps its own."""

    name = "arbitrary multiplexing"

    def alternatives(self, line: Service, own: int, traffic: Traffic) -> tuple[Service, ...]:
        """The line itself."""
        return (line,)


@dataclass(frozen=True, slots=True)
class StrictPriority:
    """The greatest class that waits goes first (IEEE 802.1Q-2018 §8.6.8.1), not pre-emptive.

    ``[beta(t) - sum of alpha of greater classes - longest packet of lesser classes]+``: Bouillard,
    Boyer, Le Corronc, *Deterministic Network Calculus* (2018), §7.3.2.
    """

    name = "strict priority"
    has_classes = True
    pauses = False

    def serves(self, own: int) -> bool:
        """Every class may be served."""
        return True

    def alternatives(self, line: Service, own: int, traffic: Traffic) -> tuple[Service, ...]:
        """The line, less one lesser packet and all greater classes."""
        greater = total([each.arrival for name, each in traffic.items() if name > own])
        return (line.less(_longest_below(own, traffic)).minus(greater),)


@dataclass(frozen=True, slots=True)
class WeightedRoundRobin:
    """Each class in turn sends up to its weight in packets.

    With ``q = w * shortest own packet`` and ``Q`` the sum of ``w * longest packet`` of the others:
    ``q/(q + Q) * [beta - Q]+``, strict for any traffic of the others (Bouillard, Boyer, Le Corronc
    2018, §8.2.4; p whole turns of one's own leave p + 1 to each other). The other alternative:
    all that may come of the others goes first.
    """

    weights: Mapping[int, int]
    name = "weighted round robin"
    has_classes = True
    pauses = False

    def serves(self, own: int) -> bool:
        """Whether the class has a weight."""
        return self.weights.get(own, 0) > 0

    def alternatives(self, line: Service, own: int, traffic: Traffic) -> tuple[Service, ...]:
        """The turn's share, and what the others leave."""
        turn = self.weights[own] * traffic[own].min_packet_bits
        others = math.fsum(
            self.weights[name] * each.max_packet_bits
            for name, each in traffic.items()
            if name != own
        )
        share = turn / (turn + others) if turn > 0.0 else float(len(traffic) == 1)
        return _scaled(line.less(others), share), _after_the_others(line, own, traffic)


@dataclass(frozen=True, slots=True)
class DeficitRoundRobin:
    """Each class in turn sends what its quantum and what it saved of it allow.

    A class that is busy over p whole turns sends at least ``p Q - d`` bits (d, what it may save: up
    to its longest packet), each other at most ``(p + 1) Q_j + d_j``. With p eliminated, F the sum
    of quanta and L the sum of longest packets, that is the curve of Boyer, Stea and Sofack
    (VALUETOOLS 2012, theorem 1) as Tabatabaee and Le Boudec restate it (arXiv 2106.01034, §II):
    rate ``R Q/F``, latency ``((F - Q)(1 + d/Q) + L - d)/R``. That p is a whole number gives the
    first piece, from the first turn's end to the second's (the convex hull of their theorem 3).
    The correction of Soni et al. that they refute is not used.
    """

    quanta_bits: Mapping[int, float]
    name = "deficit round robin"
    has_classes = True
    pauses = False

    def serves(self, own: int) -> bool:
        """Whether the class has a quantum."""
        return self.quanta_bits.get(own, 0.0) > 0.0

    def alternatives(self, line: Service, own: int, traffic: Traffic) -> tuple[Service, ...]:
        """The turn's share, and what the others leave."""
        quantum, saved = self.quanta_bits[own], traffic[own].max_packet_bits
        quanta = math.fsum(self.quanta_bits[name] for name in traffic if name != own)
        savings = math.fsum(each.max_packet_bits for name, each in traffic.items() if name != own)
        whole = quanta * (1.0 + saved / quantum) + savings
        pieces = _scaled(line.less(whole), quantum / (quantum + quanta)).pieces
        turns = math.floor(saved / quantum)
        first_bits = (turns + 1) * quantum - saved
        first = line.less((turns + 1) * quanta + savings)
        pieces += _scaled(first, first_bits / (first_bits + quanta)).pieces
        return service(pieces), _after_the_others(line, own, traffic)


@dataclass(frozen=True, slots=True)
class CreditBased:
    """Shaped classes earn ``idle_slopes_bps`` while they wait; all else by strict priority.

    IEEE 802.1Q-2018 §8.6.8.2 (802.1Qav): a shaped class may send while its credit is not negative;
    credit rises at idleSlope while frames wait or it is negative, falls at sendSlope = idleSlope -
    line rate while one is sent, and positive credit is lost when none waits. So what a class sends
    within t is ``idleSlope * t`` less what its credit rose, and credit is at least ``sendSlope *
    longest packet / line rate``. From the last start of a lesser packet (or pause), where no
    greater class had credit or a queue, follows the greatest credit, with I and c_min of greater
    shaped classes, r and b of greater classes without a shaper, l the longest lesser packet::

        c_max = idleSlope * (l - sum c_min + b) / (C - sum I - r)

    Without b and r it is the bound of Daigmorte, Boyer and Zhao (*Modelling in network calculus a
    TSN architecture mixing Time-Triggered, Credit Based Shaper and Best-Effort queues*, 2018; cited
    as H-bounds in arXiv 1901.04957, §III). A shaped class has the curve ``(idleSlope, c_max /
    idleSlope)``; it is none where greater classes and the class itself may ask for more than C.
    """

    idle_slopes_bps: Mapping[int, float]
    name = "credit-based shaper"
    has_classes = True
    pauses = True

    def serves(self, own: int) -> bool:
        """Whether the class has no shaper, or one that lets something through."""
        return self.idle_slopes_bps.get(own, math.inf) > 0.0

    def alternatives(self, line: Service, own: int, traffic: Traffic) -> tuple[Service, ...]:
        """Rate idleSlope after the greatest credit; for a class without a shaper, what is left."""
        if own in self.idle_slopes_bps:
            slope, credit = self.idle_slopes_bps[own], self._most_bits(line, own, traffic)
            return (service((RateLatency(slope, credit / slope),)),)
        greater = [
            self._sent(line, name, traffic) if name in self.idle_slopes_bps else each.arrival
            for name, each in traffic.items()
            if name > own
        ]
        return (line.less(_longest_below(own, traffic)).minus(total(greater)),)

    def _sent(self, line: Service, name: int, traffic: Traffic) -> Arrival:
        """What a shaped class sends within a time, whatever it had kept back before."""
        rise = self._most_bits(line, name, traffic) - self._least_bits(line, name, traffic)
        return Arrival((TokenBucket(rise, self.idle_slopes_bps[name]),))

    def _most_bits(self, line: Service, own: int, traffic: Traffic) -> float:
        fastest = line.pieces[-1]
        above = [name for name in traffic if name > own]
        shaped = [name for name in above if name in self.idle_slopes_bps]
        free = total([traffic[name].arrival for name in above if name not in shaped])
        slopes = math.fsum(self.idle_slopes_bps[name] for name in shaped)
        owed = math.fsum(-self._least_bits(line, name, traffic) for name in shaped)
        waited = fastest.rate_bps * fastest.latency_s + _longest_below(own, traffic) + owed
        slope = self.idle_slopes_bps[own]
        left = [(fastest.rate_bps - slopes - b.rate_bps, b.burst_bits) for b in free.buckets]
        return min(
            (slope * (waited + burst) / rate for rate, burst in left if rate >= slope),
            default=math.inf,
        )

    def _least_bits(self, line: Service, name: int, traffic: Traffic) -> float:
        used = self.idle_slopes_bps[name] / line.rate_bps
        return -(1.0 - used) * traffic[name].max_packet_bits


@dataclass(frozen=True, slots=True)
class TimeGates:
    """Gates that open for one class at a time, over and over (IEEE 802.1Q-2018 §8.6.8.4, 802.1Qbv).

    ``windows`` are (duration in s, class or None for all closed), one after the other; together they
    are the cycle. A frame is sent only if it ends before its gate closes, so the end of each window
    is lost for up to one longest packet. The curve: the share of the cycle that remains, and the
    latency at which it lies under what is served from any moment on (Zhao, Pop, Craciunas, IEEE
    Access 6, 2018, §IV, take the staircase itself; this is its greatest rate-latency curve).
    """

    windows: tuple[tuple[float, int | None], ...]
    name = "time gates"
    has_classes = True
    pauses = True

    def serves(self, own: int) -> bool:
        """Whether the class has a window."""
        return any(name == own for _, name in self.windows)

    def alternatives(self, line: Service, own: int, traffic: Traffic) -> tuple[Service, ...]:
        """Rate and latency of the open windows."""
        fastest = line.pieces[-1]
        lost = traffic[own].max_packet_bits / fastest.rate_bps
        cycle = math.fsum(duration for duration, _ in self.windows)
        open_s = self._open(own, lost)
        share = math.fsum(end - start for start, end in open_s) / cycle
        if share <= 0.0:
            return (Service(()),)
        wait = _longest_wait(open_s, cycle, share)
        return (service((RateLatency(fastest.rate_bps * share, fastest.latency_s + wait),)),)

    def _open(self, own: int, lost_s: float) -> list[tuple[float, float]]:
        """Start and usable end of each window of a class within a cycle, in s."""
        found, start = [], 0.0
        for duration, name in self.windows:
            if name == own and duration > lost_s:
                found.append((start, start + duration - lost_s))
            start += duration
        return found


def _longest_wait(open_s: list[tuple[float, float]], cycle_s: float, share: float) -> float:
    """Least T such that from any moment on ``share * (t - T)`` seconds are open within t.

    The worst moment is the end of a window, and the worst t ends where another begins.
    """
    longest = 0.0
    count = len(open_s)
    for first in range(count):
        end, opened = open_s[first][1], 0.0
        for step in range(1, count + 1):
            start, stop = open_s[(first + step) % count]
            start += cycle_s * ((first + step) // count)
            longest = max(longest, start - end - opened / share)
            opened += stop - open_s[(first + step) % count][0]
    return longest


def _longest_below(own: int, traffic: Traffic) -> float:
    return max((each.max_packet_bits for name, each in traffic.items() if name < own), default=0.0)


def _scaled(line: Service, share: float) -> Service:
    return service(RateLatency(piece.rate_bps * share, piece.latency_s) for piece in line.pieces)


def _after_the_others(line: Service, own: int, traffic: Traffic) -> Service:
    """What a line that never pauses leaves when all other classes go first."""
    return line.minus(total([each.arrival for name, each in traffic.items() if name != own]))
