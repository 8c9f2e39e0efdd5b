"""What a scheduler leaves to each traffic class of a port, as a service curve.

Within a class the port serves first come, first served; `Arbitrary` alone promises no order. A
packet on the line is never interrupted. A class's curve is one of its *alternatives*, each sound by
itself; whoever uses them picks one, and never takes the greatest of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from icmodel.system.bounds.curves import RateLatency, Service, service, total
from icmodel.system.bounds.traffic import Traffic, longest_below
from icmodel.system.bounds.tsn_schedulers import gated, shaped
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    EveryPriority,
    Fifo,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
)


@dataclass(frozen=True, slots=True)
class Arbitrary(EveryPriority):
    """One queue, of which no order is known but that each flow keeps its own."""

    name: ClassVar[str] = "arbitrary multiplexing"


Scheduler = (
    Fifo | Arbitrary | StrictPriority | WeightedRoundRobin | DeficitRoundRobin | CreditBased | Gates
)
"""Those that promise something."""


def has_classes(scheduler: Scheduler) -> bool:
    """Whether each class has a queue of its own."""
    return not isinstance(scheduler, Fifo | Arbitrary)


def pauses(scheduler: Scheduler) -> bool:
    """Whether the line may be idle while something waits."""
    return isinstance(scheduler, CreditBased | Gates)


def alternatives(
    scheduler: Scheduler, line: Service, own: int, traffic: Traffic
) -> tuple[Service, ...]:
    """Service curves of class ``own``, each sound by itself, on a line shared by ``traffic``."""
    match scheduler:
        case Fifo() | Arbitrary():
            return (line,)
        case StrictPriority():
            return (_by_priority(line, own, traffic),)
        case WeightedRoundRobin(weights=weights):
            shares = _packets_in_turn(weights, line, own, traffic)
            return *shares, _after_the_others(line, own, traffic)
        case DeficitRoundRobin(quanta_bytes=quanta):
            quanta_bits = {name: 8.0 * quantum for name, quantum in quanta.items()}
            turns = _bits_in_turn(quanta_bits, line, own, traffic)
            return turns, _after_the_others(line, own, traffic)
        case CreditBased(idle_slopes_bps=slopes):
            return (shaped(slopes, line, own, traffic),)
        case Gates(windows=windows):
            return (gated(windows, line, own, traffic),)


def _by_priority(line: Service, own: int, traffic: Traffic) -> Service:
    """The line, less one lesser packet and all greater classes; not pre-emptive (IEEE 802.1Q-2018 §8.6.8.1).

    ``[beta(t) - sum of alpha of greater classes - longest packet of lesser classes]+``: Bouillard,
    Boyer, Le Corronc, *Deterministic Network Calculus* (2018), §7.3.2.
    """
    greater = total([each.arrival for name, each in traffic.items() if name > own])
    return line.less(longest_below(own, traffic)).minus(greater)


def _packets_in_turn(
    weights: Mapping[int, int], line: Service, own: int, traffic: Traffic
) -> Iterator[Service]:
    """The share of a class that in each turn sends up to its weight in packets.

    With ``q = w * shortest own packet`` and ``Q`` the sum of ``w * longest packet`` of the others:
    ``q/(q + Q) * [beta - Q]+``, strict for any traffic of the others (Bouillard, Boyer, Le Corronc
    2018, §8.2.4; p whole turns of one's own leave p + 1 to each other).

    And where n own packets in a row have at least ``n * m - e`` bits: with s bits sent, p is at most
    ``(s + e)/(w m)``, and the line had sent no more than ``s + (p + 1) Q``; so with ``q = w m``
    ``q/(q + Q) * [beta - Q (1 + e/q)]+``, by the same reasoning.
    """
    mine = traffic[own]
    others = math.fsum(
        weights[name] * each.max_packet_bits for name, each in traffic.items() if name != own
    )
    turn = weights[own] * mine.min_packet_bits
    share = turn / (turn + others) if turn > 0.0 else float(len(traffic) == 1)
    yield _scaled(line.less(others), share)
    if mine.mean_packet_bits > mine.min_packet_bits:
        turn = weights[own] * mine.mean_packet_bits
        waited = others * (1.0 + mine.lacking_bits / turn)
        yield _scaled(line.less(waited), turn / (turn + others))


def _bits_in_turn(
    quanta_bits: Mapping[int, float], line: Service, own: int, traffic: Traffic
) -> Service:
    """The share of a class that in each turn sends what its quantum and what it saved of it allow.

    A class that is busy over p whole turns sends at least ``p Q - d`` bits (d, what it may save: up
    to its longest packet), each other at most ``(p + 1) Q_j + d_j``. With p eliminated, F the sum
    of quanta and L the sum of longest packets, that is the curve of Boyer, Stea and Sofack
    (VALUETOOLS 2012, theorem 1) as Tabatabaee and Le Boudec restate it (arXiv 2106.01034, §II):
    rate ``R Q/F``, latency ``((F - Q)(1 + d/Q) + L - d)/R``. That p is a whole number gives the
    first piece, from the first turn's end to the second's (the convex hull of their theorem 3).
    The correction of Soni et al. that they refute is not used.
    """
    quantum, saved = quanta_bits[own], traffic[own].max_packet_bits
    quanta = math.fsum(quanta_bits[name] for name in traffic if name != own)
    savings = math.fsum(each.max_packet_bits for name, each in traffic.items() if name != own)
    whole = quanta * (1.0 + saved / quantum) + savings
    pieces = _scaled(line.less(whole), quantum / (quantum + quanta)).pieces
    turns = math.floor(saved / quantum)
    first_bits = (turns + 1) * quantum - saved
    first = line.less((turns + 1) * quanta + savings)
    pieces += _scaled(first, first_bits / (first_bits + quanta)).pieces
    return service(pieces)


def _scaled(line: Service, share: float) -> Service:
    return service(RateLatency(piece.rate_bps * share, piece.latency_s) for piece in line.pieces)


def _after_the_others(line: Service, own: int, traffic: Traffic) -> Service:
    """What a line that never pauses leaves when all other classes go first."""
    return line.minus(total([each.arrival for name, each in traffic.items() if name != own]))
