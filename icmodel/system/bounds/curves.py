"""Arrival and service curves, their sums and their sequence.

An arrival curve is the least of token buckets, so concave; a service curve is the greatest of
rate-latency curves, so convex. Everything here is closed under these two forms. Bits, bits per
second and seconds throughout.

References
----------
J.-Y. Le Boudec, P. Thiran, *Network Calculus* (LNCS 2050, 2001): §1.2 arrival curves, §1.3 service
curves, §1.4.3 concatenation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

NEVER = math.inf


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """At most ``burst_bits + rate_bps * t`` bits in any time t > 0."""

    burst_bits: float
    rate_bps: float

    def at(self, time_s: float) -> float:
        """Bits that may come within a time."""
        return self.burst_bits + self.rate_bps * time_s


@dataclass(frozen=True, slots=True)
class RateLatency:
    """At least ``rate_bps * (t - latency_s)`` bits within a time t of being busy."""

    rate_bps: float
    latency_s: float = 0.0

    def at(self, time_s: float) -> float:
        """Bits that are served within a time."""
        return self.rate_bps * max(0.0, time_s - self.latency_s)

    def time_of(self, bits: float) -> float:
        """Seconds until so many bits are served."""
        return self.latency_s + bits / self.rate_bps


@dataclass(frozen=True, slots=True)
class Arrival:
    """The least of token buckets, from the steepest with the least burst to the flattest.

    None at all: nothing is known, anything may come. Make it with `arrival`, which leaves out the
    buckets that never are the least.
    """

    buckets: tuple[TokenBucket, ...]

    @property
    def burst_bits(self) -> float:
        """Bits that may come at once."""
        return self.buckets[0].burst_bits if self.buckets else math.inf

    @property
    def rate_bps(self) -> float:
        """Rate that can be kept up for ever."""
        return self.buckets[-1].rate_bps if self.buckets else math.inf

    def at(self, time_s: float) -> float:
        """Bits that may come within a time above 0 s."""
        return min((bucket.at(time_s) for bucket in self.buckets), default=math.inf)

    def corners(self) -> list[tuple[float, float]]:
        """Times in s at which the next bucket becomes the least, and bits then; first the burst."""
        bends = [(_crossing(steep, flat), steep) for steep, flat in pairwise(self.buckets)]
        return [(0.0, self.burst_bits), *((time, steep.at(time)) for time, steep in bends)]

    def advanced(self, time_s: float) -> Arrival:
        """What comes of this behind something that delays by up to so much more than at least.

        It is ``t -> alpha(t + time_s)`` (Le Boudec and Thiran, §1.4.1, by the definition).
        """
        return Arrival(
            tuple(TokenBucket(bucket.at(time_s), bucket.rate_bps) for bucket in self.buckets)
        )

    def raised(self, bits: float) -> Arrival:
        """So many bits more (or, below zero, fewer) at any time; never under 0."""
        return arrival(
            TokenBucket(max(0.0, bucket.burst_bits + bits), bucket.rate_bps)
            for bucket in self.buckets
        )

    def less(self, summand: TokenBucket) -> Arrival:
        """What remains of a sum without a summand of one bucket, which every bucket of the sum has in it."""
        return arrival(
            TokenBucket(
                max(0.0, bucket.burst_bits - summand.burst_bits),
                max(0.0, bucket.rate_bps - summand.rate_bps),
            )
            for bucket in self.buckets
        )


@dataclass(frozen=True, slots=True)
class Service:
    """The greatest of rate-latency curves, from the slowest to the fastest; none: no service.

    Make it with `service`, which leaves out the curves that never are the greatest.
    """

    pieces: tuple[RateLatency, ...]

    @property
    def rate_bps(self) -> float:
        """Rate that is kept up for ever."""
        return self.pieces[-1].rate_bps if self.pieces else 0.0

    @property
    def latency_s(self) -> float:
        """Seconds until the first bit is sure to be served."""
        return self.pieces[0].latency_s if self.pieces else NEVER

    def at(self, time_s: float) -> float:
        """Bits that are served within a time."""
        return max((piece.at(time_s) for piece in self.pieces), default=0.0)

    def time_of(self, bits: float) -> float:
        """Seconds until so many bits are served: the inverse of the curve."""
        return min((piece.time_of(bits) for piece in self.pieces), default=NEVER)

    def breaks(self) -> list[float]:
        """Times in s at which service begins and at which the next piece becomes the greatest."""
        meets = [_meeting(slow, fast) for slow, fast in pairwise(self.pieces)]
        return [*(piece.latency_s for piece in self.pieces[:1]), *meets]

    def less(self, bits: float) -> Service:
        """What is left when so many bits of others, or of one unfinished packet, go first."""
        return Service(tuple(RateLatency(p.rate_bps, p.time_of(bits)) for p in self.pieces))

    def minus(self, others: Arrival) -> Service:
        """What is left when all of the others may go first: ``[beta - alpha]+``.

        Le Boudec and Thiran, theorem 6.2.1 (a strict service curve, arbitrary multiplexing).
        """
        return service(
            RateLatency(
                piece.rate_bps - bucket.rate_bps,
                (piece.rate_bps * piece.latency_s + bucket.burst_bits)
                / (piece.rate_bps - bucket.rate_bps),
            )
            for piece in self.pieces
            for bucket in others.buckets
            if piece.rate_bps > bucket.rate_bps
        )


def token_bucket(burst_bits: float, rate_bps: float) -> Arrival:
    """The arrival curve of one token bucket."""
    return Arrival((TokenBucket(burst_bits, rate_bps),))


def rate_latency(rate_bps: float, latency_s: float = 0.0) -> Service:
    """The service curve of one rate and one latency."""
    return Service((RateLatency(rate_bps, latency_s),))


def arrival(buckets: Iterable[TokenBucket]) -> Arrival:
    """The least of token buckets, without those that never are the least."""
    kept: list[TokenBucket] = []
    for flat in sorted(buckets, key=lambda bucket: (-bucket.rate_bps, bucket.burst_bits)):
        if kept and kept[-1].rate_bps == flat.rate_bps:
            continue
        while kept and (
            kept[-1].burst_bits >= flat.burst_bits
            or (len(kept) > 1 and _crossing(kept[-1], flat) <= _crossing(kept[-2], kept[-1]))
        ):
            kept.pop()
        kept.append(flat)
    return Arrival(tuple(kept))


def service(pieces: Iterable[RateLatency]) -> Service:
    """The greatest of rate-latency curves, without those that never are the greatest."""
    kept: list[RateLatency] = []
    for fast in sorted(pieces, key=lambda piece: (piece.rate_bps, -piece.latency_s)):
        if fast.rate_bps <= 0.0 or fast.latency_s == NEVER:
            continue
        while kept and (
            kept[-1].rate_bps == fast.rate_bps
            or kept[-1].latency_s >= fast.latency_s
            or (len(kept) > 1 and _meeting(kept[-1], fast) <= _meeting(kept[-2], kept[-1]))
        ):
            kept.pop()
        kept.append(fast)
    return Service(tuple(kept))


def total(arrivals: Sequence[Arrival]) -> Arrival:
    """Arrival curve of several flows together: their sum, of as many buckets as it has slopes."""
    if len(arrivals) == 1:
        return arrivals[0]
    if not all(each.buckets for each in arrivals):
        return Arrival(())
    burst = math.fsum(each.buckets[0].burst_bits for each in arrivals)
    rate = math.fsum(each.buckets[0].rate_bps for each in arrivals)
    bends = sorted(
        (_crossing(steep, flat), steep.rate_bps - flat.rate_bps)
        for each in arrivals
        for steep, flat in pairwise(each.buckets)
    )
    buckets = [TokenBucket(burst, rate)]
    for time, drop in bends:
        burst, rate = burst + drop * time, rate - drop
        buckets.append(TokenBucket(burst, rate))
    # What is left of the slope after many drops is rounded; the flattest rates are summed anew.
    flattest = math.fsum(each.rate_bps for each in arrivals)
    buckets[-1] = TokenBucket(burst, flattest)
    return Arrival(tuple(buckets)) if len(buckets) == 1 else arrival(buckets)


def least(*arrivals: Arrival) -> Arrival:
    """What keeps to all of these arrival curves."""
    return arrival(bucket for each in arrivals for bucket in each.buckets)


def in_a_row(services: Sequence[Service]) -> Service:
    """Service curve of servers one behind the other: their min-plus convolution.

    For convex curves: latencies add up, then the pieces follow in the order of their slope
    (Le Boudec and Thiran, theorem 3.1.6).
    """
    if not all(each.pieces for each in services):
        return Service(())
    latency = math.fsum(each.latency_s for each in services)
    fastest = min(each.rate_bps for each in services)
    slopes = sorted(
        (slow.rate_bps, end - start)
        for each in services
        for slow, start, end in zip(each.pieces, each.breaks(), each.breaks()[1:], strict=False)
        if slow.rate_bps < fastest
    )
    pieces, time, bits = [], latency, 0.0
    for rate, length in slopes:
        pieces.append(RateLatency(rate, time - bits / rate))
        time, bits = time + length, bits + rate * length
    pieces.append(RateLatency(fastest, time - bits / fastest))
    return service(pieces)


def _crossing(steep: TokenBucket, flat: TokenBucket) -> float:
    return (flat.burst_bits - steep.burst_bits) / (steep.rate_bps - flat.rate_bps)


def _meeting(slow: RateLatency, fast: RateLatency) -> float:
    fast_bits, slow_bits = fast.rate_bps * fast.latency_s, slow.rate_bps * slow.latency_s
    return (fast_bits - slow_bits) / (fast.rate_bps - slow.rate_bps)


def delay_s(coming: Arrival, served: Service) -> float:
    """Greatest time that a bit waits, first come first served; inf if more comes than is served.

    The horizontal deviation (Le Boudec and Thiran, theorem 1.4.2): a concave function of the time
    of the arrival, so greatest at a bend of either curve.
    """
    if not served.pieces or coming.rate_bps > served.rate_bps:
        return NEVER
    levels = [(time, coming.at(time)) for time in _times_of_levels(coming, served)]
    return max(served.time_of(bits) - time for time, bits in (*coming.corners(), *levels))


def backlog_bits(coming: Arrival, served: Service) -> float:
    """Greatest number of bits that wait; inf if more comes than is served.

    The vertical deviation (Le Boudec and Thiran, theorem 1.4.1).
    """
    if not served.pieces or coming.rate_bps > served.rate_bps:
        return NEVER
    bends = [(time, coming.at(time)) for time in served.breaks()]
    return max(bits - served.at(time) for time, bits in (*coming.corners(), *bends))


def busy_s(coming: Arrival, served: Service) -> float:
    """Greatest time that a server has something to do without a pause, and so any delay in it.

    The delay bound when no order is kept (Bouillard, Boyer, Le Corronc, *Deterministic Network
    Calculus*, 2018, §5.3.2): the first time at which all that may have come is served.
    """
    left = served.minus(coming)
    return left.latency_s


def output(coming: Arrival, served: Service) -> Arrival:
    """Arrival curve behind a server: of each bucket its deconvolution, which is a bucket again.

    Le Boudec and Thiran, theorem 1.4.3. A bucket that is faster than the server does not last: the
    bits that wait at most, and then the server's rate, take its place.
    """
    if coming.rate_bps > served.rate_bps:
        return Arrival(())
    kept = [
        TokenBucket(backlog_bits(Arrival((bucket,)), served), bucket.rate_bps)
        for bucket in coming.buckets
        if bucket.rate_bps <= served.rate_bps
    ]
    if len(kept) < len(coming.buckets):
        kept.append(TokenBucket(backlog_bits(coming, served), served.rate_bps))
    return arrival(kept)


def left_by_fifo(served: Service, others: Arrival, own: Arrival) -> Service:
    """What is left for a flow that shares a first-come-first-served queue with others.

    For every ``theta``, ``[beta(t) - alpha(t - theta)]+`` for t > theta is a service curve (Le
    Boudec and Thiran, proposition 6.4.1, after Cruz). For one bucket and one rate-latency curve
    ``theta = T + b/R`` leaves rate ``R - r`` and latency theta. For several, three are tried, at which
    the first burst, the last one, and all that may come is served, and the one that delays the
    flow's own arrivals least is kept: one theta, never a mixture.
    """
    if not others.buckets:
        return Service(())
    ends = {served.time_of(bucket.burst_bits) for bucket in (others.buckets[0], others.buckets[-1])}
    thetas = ends if len(others.buckets) == 1 else ends | {delay_s(others, served)}
    left = [_left_at(theta, served, others) for theta in sorted(thetas)]
    return left[0] if len(left) == 1 else min(left, key=lambda each: delay_s(own, each))


def _left_at(theta_s: float, served: Service, others: Arrival) -> Service:
    lines = (
        (
            piece.rate_bps - bucket.rate_bps,
            bucket.burst_bits - piece.rate_bps * (theta_s - piece.latency_s),
        )
        for piece in served.pieces
        for bucket in others.buckets
        if piece.rate_bps > bucket.rate_bps
    )
    return service(
        RateLatency(rate, theta_s + max(0.0, missing_bits) / rate) for rate, missing_bits in lines
    )


def _times_of_levels(coming: Arrival, served: Service) -> list[float]:
    levels = [served.at(time) for time in served.breaks()[1:]]
    return [
        (level - bucket.burst_bits) / bucket.rate_bps
        for level in levels
        for bucket in coming.buckets
        if bucket.rate_bps > 0.0 and level > bucket.burst_bits
    ]


@dataclass(frozen=True, slots=True)
class ClassTraffic:
    """What comes in one class at a port: arrival curve, and its packets as `Flow` has them, in bits."""

    arrival: Arrival
    max_packet_bits: float
    min_packet_bits: float
    mean_packet_bits: float = 0.0
    lacking_bits: float = 0.0


Traffic = Mapping[int, ClassTraffic]


def longest_below(own: int, traffic: Traffic) -> float:
    """The longest packet of lesser classes, in bits."""
    return max((each.max_packet_bits for name, each in traffic.items() if name < own), default=0.0)
