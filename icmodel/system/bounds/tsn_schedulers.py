"""Schedulers of time-sensitive networks: the credit-based shaper and time gates of IEEE 802.1Q."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from icmodel.system.bounds.curves import Arrival, RateLatency, Service, service, token_bucket, total
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
