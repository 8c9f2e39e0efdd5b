"""What a scheduler leaves to each traffic class of a port, as a service curve.

Within a class the port serves first come, first served; `Arbitrary` alone promises no order. A
packet on the line is never interrupted. A class's curve is one of its *alternatives*, each sound by
itself; whoever uses them picks one, and never takes the greatest of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from icmodel.system.bounds.curves import (
    Arrival,
    RateLatency,
    Service,
    Traffic,
    longest_below,
    output,
    service,
    token_bucket,
    total,
)
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    EveryPriority,
    Fifo,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
    Window,
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


Slopes = Mapping[int, float]
"""Class -> rate at which its credit grows [b/s]."""
Windows = Sequence[Window]
Openings = list[tuple[float, float]]
"""Start and end of each time in a cycle in which a class may send [s]."""

# --- credit-based shaper ----------------------------------------------------------------------


def shaped(slopes_bps: Slopes, line: Service, own: int, traffic: Traffic) -> Service:
    """What a class gets where shaped classes earn their idle slope while they wait; all else by priority.

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
    if own in slopes_bps:
        slope, credit = slopes_bps[own], _most_credit_bits(slopes_bps, line, own, traffic)
        return service((RateLatency(slope, credit / slope),))
    greater = [
        _sent(slopes_bps, line, name, traffic) if name in slopes_bps else each.arrival
        for name, each in traffic.items()
        if name > own
    ]
    return line.less(longest_below(own, traffic)).minus(total(greater))


def _sent(slopes_bps: Slopes, line: Service, name: int, traffic: Traffic) -> Arrival:
    """What a shaped class sends within a time, whatever it had kept back before."""
    most = _most_credit_bits(slopes_bps, line, name, traffic)
    rise = most - _least_credit_bits(slopes_bps, line, name, traffic)
    return token_bucket(rise, slopes_bps[name])


def _most_credit_bits(slopes_bps: Slopes, line: Service, own: int, traffic: Traffic) -> float:
    fastest = line.pieces[-1]
    above = [name for name in traffic if name > own]
    shapers = [name for name in above if name in slopes_bps]
    free = total([traffic[name].arrival for name in above if name not in shapers])
    slopes = math.fsum(slopes_bps[name] for name in shapers)
    owed = math.fsum(-_least_credit_bits(slopes_bps, line, name, traffic) for name in shapers)
    waited = fastest.rate_bps * fastest.latency_s + longest_below(own, traffic) + owed
    slope = slopes_bps[own]
    left = [(fastest.rate_bps - slopes - b.rate_bps, b.burst_bits) for b in free.buckets]
    return min(
        (slope * (waited + burst) / rate for rate, burst in left if rate >= slope),
        default=math.inf,
    )


def _least_credit_bits(slopes_bps: Slopes, line: Service, name: int, traffic: Traffic) -> float:
    used = slopes_bps[name] / line.rate_bps
    return -(1.0 - used) * traffic[name].max_packet_bits


# --- time gates -------------------------------------------------------------------------------


def gated(windows: Windows, line: Service, own: int, traffic: Traffic) -> Service:
    """What a class gets whose gate opens at times, over and over (IEEE 802.1Q-2018 §8.6.8.4, 802.1Qbv).

    Windows follow one another; together they are the cycle. Of the open classes the greatest goes first. A frame is sent only if it ends before its gate closes,
    so the end of each opening is lost for up to one longest packet; and at its beginning a packet of a
    lesser class may still be on the line, if that was open before and still is. The curve of what is
    open: the share of the cycle that remains, and the latency at which it lies under what is open from
    any moment on (Zhao, Pop, Craciunas, IEEE Access 6, 2018, §IV, take the staircase itself; this is
    its greatest rate-latency curve).

    While a class waits and its gate is open, the line is busy with it, with greater classes, or with one
    packet of a lesser class that was there first. So from the moment on at which it begins to wait, it
    gets what is open less that packet, less what greater classes send at all, of which some may have waited
    before: their output ``alpha / beta`` in min-plus algebra (Le Boudec and Thiran, theorem 1.4.3), not their arrivals.
    """
    beside = {name: each for name, each in traffic.items() if _meet(windows, own, name)}
    greater = [
        output(each.arrival, gated(windows, line, name, traffic))
        for name, each in beside.items()
        if name > own
    ]
    opened = _opened(windows, line.pieces[-1], own, beside)
    return opened.less(longest_below(own, beside)).minus(total(greater))


def _meet(windows: Windows, own: int, other: int) -> bool:
    """Whether two classes are ever open together."""
    return any(own in one.priorities and other in one.priorities for one in windows)


def _opened(windows: Windows, line: RateLatency, own: int, beside: Traffic) -> Service:
    """Rate and latency at which the line is open for a class."""
    cycle = math.fsum(one.duration_s for one in windows)
    open_s = _openings(windows, own, beside, line.rate_bps)
    share = math.fsum(end - start for start, end in open_s) / cycle
    if share <= 0.0:
        return Service(())
    wait = 0.0 if share == 1.0 else _longest_wait(open_s, cycle, share)
    return service((RateLatency(line.rate_bps * share, line.latency_s + wait),))


def _openings(windows: Windows, own: int, beside: Traffic, rate_bps: float) -> Openings:
    """Usable start and end of each opening of a class within a cycle, in s."""
    is_open = [own in one.priorities for one in windows]
    if all(is_open):
        return [(0.0, math.fsum(one.duration_s for one in windows))]
    lost_s = beside[own].max_packet_bits / rate_bps
    closed = is_open.index(False)
    found, start, before = [], 0.0, set[int]()
    turned = [*windows[closed:], *windows[:closed]]
    for here, together in groupby(turned, lambda window: own in window.priorities):
        opening = list(together)
        end = start + math.fsum(one.duration_s for one in opening)
        if here:
            both = before & {*opening[0].priorities} & beside.keys()
            still = {name: beside[name] for name in both}
            usable = start + longest_below(own, still) / rate_bps, end - lost_s
            found += [usable] if usable[0] < usable[1] else []
        start, before = end, {*opening[-1].priorities}
    return found


def _longest_wait(open_s: Openings, cycle_s: float, share: float) -> float:
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
