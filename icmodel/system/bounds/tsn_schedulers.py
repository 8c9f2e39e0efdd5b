"""Schedulers of time-sensitive networks: the credit-based shaper and time gates of IEEE 802.1Q."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from icmodel.system.bounds.curves import Arrival, RateLatency, Service, service, token_bucket, total
from icmodel.system.bounds.deviations import output
from icmodel.system.bounds.traffic import Traffic, longest_below
from icmodel.system.schedulers import Window

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
