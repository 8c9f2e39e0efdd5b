"""Schedulers of time-sensitive networks: the credit-based shaper and time gates of IEEE 802.1Q."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from icmodel.system.bounds.curves import Arrival, RateLatency, Service, service, token_bucket, total
from icmodel.system.bounds.deviations import output
from icmodel.system.bounds.schedulers import Traffic, longest_below


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
        return (line.less(longest_below(own, traffic)).minus(total(greater)),)

    def _sent(self, line: Service, name: int, traffic: Traffic) -> Arrival:
        """What a shaped class sends within a time, whatever it had kept back before."""
        rise = self._most_bits(line, name, traffic) - self._least_bits(line, name, traffic)
        return token_bucket(rise, self.idle_slopes_bps[name])

    def _most_bits(self, line: Service, own: int, traffic: Traffic) -> float:
        fastest = line.pieces[-1]
        above = [name for name in traffic if name > own]
        shaped = [name for name in above if name in self.idle_slopes_bps]
        free = total([traffic[name].arrival for name in above if name not in shaped])
        slopes = math.fsum(self.idle_slopes_bps[name] for name in shaped)
        owed = math.fsum(-self._least_bits(line, name, traffic) for name in shaped)
        waited = fastest.rate_bps * fastest.latency_s + longest_below(own, traffic) + owed
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
    """Gates that open for some classes at a time, over and over (IEEE 802.1Q-2018 §8.6.8.4, 802.1Qbv).

    ``windows`` are (duration in s, classes that are open), one after the other; together they are the
    cycle. Of the open classes the greatest goes first. A frame is sent only if it ends before its gate closes,
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

    windows: tuple[tuple[float, tuple[int, ...]], ...]
    name = "time gates"
    has_classes = True
    pauses = True

    def serves(self, own: int) -> bool:
        """Whether the class has a window."""
        return any(own in names for _, names in self.windows)

    def alternatives(self, line: Service, own: int, traffic: Traffic) -> tuple[Service, ...]:
        """What is open, less what greater classes send and one packet of a lesser one."""
        beside = {name: each for name, each in traffic.items() if self._meet(own, name)}
        greater = [
            output(each.arrival, *self.alternatives(line, name, traffic))
            for name, each in beside.items()
            if name > own
        ]
        opened = self._opened(line.pieces[-1], own, beside)
        return (opened.less(longest_below(own, beside)).minus(total(greater)),)

    def _meet(self, own: int, other: int) -> bool:
        """Whether two classes are ever open together."""
        return any(own in names and other in names for _, names in self.windows)

    def _opened(self, line: RateLatency, own: int, beside: Traffic) -> Service:
        """Rate and latency at which the line is open for a class."""
        cycle = math.fsum(duration for duration, _ in self.windows)
        open_s = self._open(own, beside, line.rate_bps)
        share = math.fsum(end - start for start, end in open_s) / cycle
        if share <= 0.0:
            return Service(())
        wait = 0.0 if share == 1.0 else _longest_wait(open_s, cycle, share)
        return service((RateLatency(line.rate_bps * share, line.latency_s + wait),))

    def _open(self, own: int, beside: Traffic, rate_bps: float) -> list[tuple[float, float]]:
        """Usable start and end of each opening of a class within a cycle, in s."""
        is_open = [own in names for _, names in self.windows]
        if all(is_open):
            return [(0.0, math.fsum(duration for duration, _ in self.windows))]
        lost_s = beside[own].max_packet_bits / rate_bps
        closed = is_open.index(False)
        found, start, before = [], 0.0, set[int]()
        turned = self.windows[closed:] + self.windows[:closed]
        for here, together in groupby(turned, lambda window: own in window[1]):
            opening = list(together)
            end = start + math.fsum(duration for duration, _ in opening)
            if here:
                still = {name: beside[name] for name in before & {*opening[0][1]} & beside.keys()}
                usable = start + longest_below(own, still) / rate_bps, end - lost_s
                found += [usable] if usable[0] < usable[1] else []
            start, before = end, {*opening[-1][1]}
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
