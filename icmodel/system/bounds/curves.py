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
from collections.abc import Iterable, Sequence
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
