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

from icmodel.system.bounds.curves import Arrival, RateLatency, Service, service, total


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
        return (line.less(longest_below(own, traffic)).minus(greater),)


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


def longest_below(own: int, traffic: Traffic) -> float:
    """The longest packet of lesser classes, in bits."""
    return max((each.max_packet_bits for name, each in traffic.items() if name < own), default=0.0)


def _scaled(line: Service, share: float) -> Service:
    return service(RateLatency(piece.rate_bps * share, piece.latency_s) for piece in line.pieces)


def _after_the_others(line: Service, own: int, traffic: Traffic) -> Service:
    """What a line that never pauses leaves when all other classes go first."""
    return line.minus(total([each.arrival for name, each in traffic.items() if name != own]))
