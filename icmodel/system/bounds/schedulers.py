"""Service curves that a scheduler leaves to each traffic class of a port.

Within a class the port serves first come, first served; only `Arbitrary` guarantees no order. A packet
on the line is never interrupted. Each class gets one or more *alternative* curves. Each of these curves
alone is a valid service curve, but the maximum of two curves is not. So each bound uses only one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from icmodel.system.bounds.curves import (
    ArrivalCurve,
    RateLatency,
    ServiceCurve,
    aggregate,
    output_curve,
    service_curve,
    token_bucket,
)
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Fifo,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)


@dataclass(frozen=True, slots=True)
class Arbitrary:
    """Scheduler with arbitrary multiplexing: one queue of unknown order, in which each flow keeps its own order."""

    name: ClassVar[str] = "arbitrary multiplexing"

    def serves(self, priority: int) -> bool:
        """Whether frames of this priority are ever sent; always true, since all frames share one queue."""
        return True


Scheduler = (
    Fifo | Arbitrary | StrictPriority | WeightedRoundRobin | DeficitRoundRobin | CreditBased | Gates
)
"""Any scheduler for which a service curve is known."""


@dataclass(frozen=True, slots=True)
class ClassTraffic:
    """Traffic of one class at a port: its arrival curve, and its packet sizes [b] as in `Flow`."""

    arrival: ArrivalCurve
    max_packet_bits: float
    min_packet_bits: float
    mean_packet_bits: float = 0.0
    lacking_bits: float = 0.0


Traffic = Mapping[int, ClassTraffic]


def has_classes(scheduler: Scheduler) -> bool:
    """Whether a scheduler keeps a separate queue for each traffic class."""
    return not isinstance(scheduler, Fifo | Arbitrary)


def pauses(scheduler: Scheduler) -> bool:
    """Whether the scheduler is not work-conserving: the line may be idle while packets wait."""
    return isinstance(scheduler, CreditBased | Gates)


def class_services(
    scheduler: Scheduler, line: ServiceCurve, own: int, traffic: Traffic
) -> tuple[ServiceCurve, ...]:
    """Alternative service curves that a scheduler leaves to class ``own``; each curve alone is valid.

    ``line`` is the service curve of the line for all classes together, and ``traffic`` the traffic of each class, ``own``
    included.
    """
    match scheduler:
        case Fifo() | Arbitrary():
            return (line,)
        case StrictPriority():
            return (strict_priority_service(line, own, traffic),)
        case WeightedRoundRobin(weights=weights):
            shares = weighted_round_robin_services(weights, line, own, traffic)
            return *shares, _leftover_of_other_classes(line, own, traffic)
        case DeficitRoundRobin(quanta_bytes=quanta):
            quanta_bits = {name: 8.0 * quantum for name, quantum in quanta.items()}
            share = deficit_round_robin_service(quanta_bits, line, own, traffic)
            return share, _leftover_of_other_classes(line, own, traffic)
        case CreditBased(idle_slopes_bps=slopes):
            return (credit_based_service(slopes, line, own, traffic),)
        case Gates(windows=windows):
            return (gated_service(windows, line, own, traffic),)


def _longest_lower_packet_bits(own: int, traffic: Traffic) -> float:
    """Size of the longest packet of the classes with lower priority than ``own`` [b]."""
    return max((each.max_packet_bits for name, each in traffic.items() if name < own), default=0.0)


def _leftover_of_other_classes(line: ServiceCurve, own: int, traffic: Traffic) -> ServiceCurve:
    """Service that a work-conserving line leaves to a class if all other classes are served first."""
    others = [each.arrival for name, each in traffic.items() if name != own]
    return line.leftover_service(aggregate(others))


# --- strict priority and round robin ----------------------------------------------------------


def strict_priority_service(line: ServiceCurve, own: int, traffic: Traffic) -> ServiceCurve:
    """Service curve of a class under non-preemptive strict priority (IEEE 802.1Q-2018 §8.6.8.1).

    Let ``beta`` be the service curve of the line, and ``alpha`` the arrival curve of a class. The result is
    ``[beta(t) - sum of alpha of higher classes - longest packet of lower classes]+`` (Bouillard,
    Boyer, Le Corronc, *Deterministic Network Calculus*, 2018, §7.3.2).
    """
    higher = aggregate([each.arrival for name, each in traffic.items() if name > own])
    return line.after_bits(_longest_lower_packet_bits(own, traffic)).leftover_service(higher)


def weighted_round_robin_services(
    weights: Mapping[int, int], line: ServiceCurve, own: int, traffic: Traffic
) -> Iterator[ServiceCurve]:
    """Service curves of a class under weighted round robin; a turn has up to ``weight`` packets of the class.

    Let beta be the service curve of the line, and w the weight of a class. Let q be ``w * shortest packet`` of
    class ``own``: the least that it sends in a turn if it always has packets. Let Q be the sum of ``w * longest
    packet`` over the other classes: the most that they send in a turn. The service curve is
    ``q/(q + Q) * [beta - Q]+``, strict for any traffic of the other classes (Bouillard, Boyer, Le Corronc 2018,
    §8.2.4). The reason: during p whole turns of class ``own``, each other class has at most
    p + 1 turns.

    A second curve replaces the shortest packet of class ``own`` by a size m near its mean packet. It needs a number e
    such that any n consecutive packets have at least ``n * m - e`` bits. With ``q = w m``, the curve is
    ``q/(q + Q) * [beta - Q (1 + e/q)]+``. The reason: while the class sends s bits, p is at most ``(s + e)/q``, and
    the line sends at most ``s + (p + 1) Q`` bits.
    """
    mine = traffic[own]
    others = math.fsum(
        weights[name] * each.max_packet_bits for name, each in traffic.items() if name != own
    )
    turn = weights[own] * mine.min_packet_bits
    share = turn / (turn + others) if turn > 0.0 else float(len(traffic) == 1)
    yield _scaled(line.after_bits(others), share)
    if mine.mean_packet_bits > mine.min_packet_bits:
        turn = weights[own] * mine.mean_packet_bits
        waited = others * (1.0 + mine.lacking_bits / turn)
        yield _scaled(line.after_bits(waited), turn / (turn + others))


def deficit_round_robin_service(
    quanta_bits: Mapping[int, float], line: ServiceCurve, own: int, traffic: Traffic
) -> ServiceCurve:
    """Service curve of a class under deficit round robin, where a turn sends up to quantum plus saved deficit.

    Let Q be the quantum of the class, and d its greatest deficit, which is its longest packet. Let Q_j and d_j
    be those of another class j. If the class is busy over p whole turns, it sends at least ``p Q - d`` bits.
    Meanwhile class j sends at most ``(p + 1) Q_j + d_j`` bits.

    Let R be the line rate, F the sum of all quanta, and L the sum of all longest packets. Eliminating p gives a
    curve of rate ``R Q/F`` and latency ``((F - Q)(1 + d/Q) + L - d)/R``: the curve of Boyer, Stea and Sofack
    (VALUETOOLS 2012, theorem 1), as restated by Tabatabaee and Le Boudec (arXiv 2106.01034, §II).

    Since p is a whole number, another piece comes before this curve. It lasts from the end of the first turn to
    the end of the second (convex hull of theorem 3 of Tabatabaee and Le Boudec). They refute the correction of
    Soni et al., so this correction is not used.
    """
    quantum, saved = quanta_bits[own], traffic[own].max_packet_bits
    quanta = math.fsum(quanta_bits[name] for name in traffic if name != own)
    savings = math.fsum(each.max_packet_bits for name, each in traffic.items() if name != own)
    whole = quanta * (1.0 + saved / quantum) + savings
    pieces = _scaled(line.after_bits(whole), quantum / (quantum + quanta)).pieces
    turns = math.floor(saved / quantum)
    first_bits = (turns + 1) * quantum - saved
    first = line.after_bits((turns + 1) * quanta + savings)
    pieces += _scaled(first, first_bits / (first_bits + quanta)).pieces
    return service_curve(pieces)


def _scaled(line: ServiceCurve, share: float) -> ServiceCurve:
    return service_curve(
        RateLatency(piece.rate_bps * share, piece.latency_s) for piece in line.pieces
    )


# --- credit-based shaper ----------------------------------------------------------------------

Slopes = Mapping[int, float]
"""Idle slope of each class at a credit-based shaper: the rate at which its credit grows [b/s]."""


def credit_based_service(
    slopes_bps: Slopes, line: ServiceCurve, own: int, traffic: Traffic
) -> ServiceCurve:
    """Service curve of a class at a credit-based shaper (IEEE 802.1Q-2018 §8.6.8.2, 802.1Qav).

    A shaped class (a class with an idle slope) may send while its credit is not negative. Its credit rises at
    idleSlope while frames wait, or while the credit is negative. It falls at sendSlope = idleSlope - line rate while a
    frame is sent. Positive credit is lost when no frame waits. So a class sends ``idleSlope * t`` within t, less the
    rise of its credit. Its service curve has the rate idleSlope and the latency ``c_max / idleSlope``, where c_max is
    its greatest credit. Its least credit is ``c_min = sendSlope * longest packet / line rate``.

    Classes without an idle slope are sent by priority: each gets the service that higher classes leave, less one
    longest packet of lower classes.

    The greatest credit c_max follows from the longest time in which other classes keep a waiting class from sending.
    This time begins with a packet of a lower class (or a pause of the line) that started while no higher class had
    credit or waiting packets. Let C be the line rate, and l the longest packet of a lower class. Let I and c_min be
    idle slope and least credit of a higher class with a shaper. Let r and b be rate and burst of all higher classes
    without a shaper::

        c_max = idleSlope * (l - sum c_min + b) / (C - sum I - r)

    Without b and r, c_max is the bound of Daigmorte, Boyer and Zhao (*Modelling in network calculus a
    TSN architecture mixing Time-Triggered, Credit Based Shaper and Best-Effort queues*, 2018; cited
    as H-bounds in arXiv 1901.04957, §III). If the class and higher classes together may request more than C, the class
    is guaranteed no service.
    """
    if own in slopes_bps:
        slope, credit = slopes_bps[own], _max_credit_bits(slopes_bps, line, own, traffic)
        return service_curve((RateLatency(slope, credit / slope),))
    higher = []
    for name, each in traffic.items():
        if name <= own:
            continue
        if name not in slopes_bps:
            higher.append(each.arrival)
            continue
        # A shaped class sends at its idle slope, plus at most the whole range of its credit at once.
        greatest = _max_credit_bits(slopes_bps, line, name, traffic)
        credit_range = greatest - _min_credit_bits(slopes_bps, line, name, traffic)
        higher.append(token_bucket(credit_range, slopes_bps[name]))
    left = line.after_bits(_longest_lower_packet_bits(own, traffic))
    return left.leftover_service(aggregate(higher))


def _max_credit_bits(slopes_bps: Slopes, line: ServiceCurve, own: int, traffic: Traffic) -> float:
    """Greatest credit of the class ``own`` at a credit-based shaper [b]; infinite if the class has no guaranteed rate.

    `credit_based_service` describes the formula, in which this credit is c_max.
    """
    fastest = line.pieces[-1]
    higher = [name for name in traffic if name > own]
    shaped = [name for name in higher if name in slopes_bps]
    unshaped = aggregate([traffic[name].arrival for name in higher if name not in shaped])
    slopes = math.fsum(slopes_bps[name] for name in shaped)
    owed = math.fsum(-_min_credit_bits(slopes_bps, line, name, traffic) for name in shaped)
    waited = fastest.rate_bps * fastest.latency_s + _longest_lower_packet_bits(own, traffic) + owed
    slope = slopes_bps[own]
    left = [(fastest.rate_bps - slopes - b.rate_bps, b.burst_bits) for b in unshaped.buckets]
    return min(
        (slope * (waited + burst) / rate for rate, burst in left if rate >= slope),
        default=math.inf,
    )


def _min_credit_bits(slopes_bps: Slopes, line: ServiceCurve, name: int, traffic: Traffic) -> float:
    used = slopes_bps[name] / line.rate_bps
    return -(1.0 - used) * traffic[name].max_packet_bits


# --- time gates -------------------------------------------------------------------------------

Windows = Sequence[Window]
Openings = list[tuple[float, float]]
"""Intervals of a gate cycle in which a class may send, as pairs of start and end [s]."""


def gated_service(windows: Windows, line: ServiceCurve, own: int, traffic: Traffic) -> ServiceCurve:
    """Service curve of a class whose gate opens periodically (IEEE 802.1Q-2018 §8.6.8.4, 802.1Qbv).

    The windows follow one another, and together make up the cycle. Among the classes with an open gate, the
    highest goes first. A port sends a frame only if the frame ends before its gate closes. So each opening loses
    up to one longest packet at its end. If the gate of a lower class was already open before an opening, a
    packet of that class may occupy the line at the beginning of the opening.

    Service from a given moment on grows like a staircase, since it pauses while the gate is closed. The result is a
    rate-latency curve below the staircases of all moments. Its rate is the line rate times the usable share of the
    cycle. Its latency is the least latency that keeps the curve below these staircases. Zhao, Pop, Craciunas
    (IEEE Access 6, 2018, §IV) use the staircase itself.

    While a class waits and its gate is open, the line never idles. It sends that class, higher classes,
    or one packet of a lower class that was already on the line. So a waiting class gets the open time, less
    that packet, less the traffic of higher classes. Packets of higher classes may already be queued when the
    class begins to wait. So the output curves of higher classes are subtracted, not their arrival curves (an
    output curve is a min-plus deconvolution; Le Boudec and Thiran, theorem 1.4.3).
    """
    together = {
        name: each
        for name, each in traffic.items()
        if any(own in window.open and name in window.open for window in windows)
    }
    higher = [
        output_curve(each.arrival, gated_service(windows, line, name, traffic))
        for name, each in together.items()
        if name > own
    ]

    fastest = line.pieces[-1]
    cycle = math.fsum(window.duration_s for window in windows)
    openings = _openings(windows, own, together, fastest.rate_bps)
    share = math.fsum(end - start for start, end in openings) / cycle
    if share <= 0.0:
        open_time = ServiceCurve(())
    else:
        wait = 0.0 if share == 1.0 else _longest_wait_s(openings, cycle, share)
        open_time = service_curve(
            (RateLatency(fastest.rate_bps * share, fastest.latency_s + wait),)
        )

    left = open_time.after_bits(_longest_lower_packet_bits(own, together))
    return left.leftover_service(aggregate(higher))


def _openings(windows: Windows, own: int, together: Traffic, rate_bps: float) -> Openings:
    """Find the intervals of a gate cycle in which the class ``own`` can start frames: pairs of start and end [s].

    When the gate opens, a packet of a lower class may still be on the line; the interval begins when it has been sent.
    The interval ends so early that the longest packet of ``own`` is sent before the gate closes.
    """
    is_open = [own in window.open for window in windows]
    if all(is_open):
        return [(0.0, math.fsum(window.duration_s for window in windows))]
    lost_s = together[own].max_packet_bits / rate_bps

    # Begin with a closed window, so that no opening extends beyond the end of the cycle.
    closed = is_open.index(False)
    found, start, before = [], 0.0, set[int]()
    for here, group in groupby([*windows[closed:], *windows[:closed]], lambda w: own in w.open):
        opening = list(group)
        end = start + math.fsum(window.duration_s for window in opening)
        if here:
            still_open = before & {*opening[0].open} & together.keys()
            lower = _longest_lower_packet_bits(own, {name: together[name] for name in still_open})
            usable = start + lower / rate_bps, end - lost_s
            found += [usable] if usable[0] < usable[1] else []
        start, before = end, {*opening[-1].open}
    return found


def _longest_wait_s(openings: Openings, cycle_s: float, share: float) -> float:
    """Latency T [s] of the rate-latency curve that bounds the open time of a periodic gate from below.

    T is the least number with which the gate is open for at least ``share * (t - T)`` in every interval of length t.
    ``share`` is the fraction of the cycle in which the gate is open. Only intervals from the end of an opening to the
    beginning of a later opening are tried, since no other interval needs a greater T.
    """
    longest = 0.0
    count = len(openings)
    for first in range(count):
        end, opened = openings[first][1], 0.0
        for step in range(1, count + 1):
            start, stop = openings[(first + step) % count]
            start += cycle_s * ((first + step) // count)
            longest = max(longest, start - end - opened / share)
            opened += stop - openings[(first + step) % count][0]
    return longest
