"""Arrival and service curves: the algebra of network calculus for concave and convex curves.

An arrival curve is the minimum of token buckets, so it is concave. A service curve is the maximum of
rate-latency curves, so it is convex. Every operation here returns one of these two forms. Units are
bits, bits per second and seconds.

References
----------
J.-Y. Le Boudec, P. Thiran, *Network Calculus* (LNCS 2050, 2001): §1.2 arrival curves, §1.3 service
curves, §1.4.1 deviations, §1.4.3 concatenation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

ROUNDING = 1e-9
"""Relative difference up to which two rates count as equal, since sums of rates are rounded."""


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Token bucket: at most ``burst_bits + rate_bps * t`` bits in any interval of length t > 0."""

    burst_bits: float
    rate_bps: float

    def at(self, time_s: float) -> float:
        """Greatest number of bits that the token bucket lets arrive within a time [b]."""
        return self.burst_bits + self.rate_bps * time_s


@dataclass(frozen=True, slots=True)
class RateLatency:
    """Rate-latency curve: at least ``rate_bps * (t - latency_s)`` bits served within a busy time t."""

    rate_bps: float
    latency_s: float = 0.0

    def at(self, time_s: float) -> float:
        """Least number of bits that the server serves in the first ``time_s`` seconds of a busy period [b]."""
        return self.rate_bps * max(0.0, time_s - self.latency_s)

    def time_of(self, bits: float) -> float:
        """Greatest time until ``bits`` bits are served [s]: the inverse function of `at`."""
        return self.latency_s + bits / self.rate_bps


@dataclass(frozen=True, slots=True)
class ArrivalCurve:
    """Arrival curve: upper bound of the bits that arrive within a time, as the minimum of token buckets.

    The buckets are ordered by rate: the first has the highest rate and the least burst. An empty tuple means
    an unbounded arrival curve. Build an arrival curve with `arrival_curve`, which drops the buckets that are
    never the minimum.

    Examples
    --------
    >>> peak, sustained = TokenBucket(12e3, 1e9), TokenBucket(96e3, 1e6)
    >>> curve = arrival_curve([sustained, peak])
    >>> curve.burst_bits, curve.rate_bps
    (12000.0, 1000000.0)
    >>> curve.at(1e-3)
    97000.0
    """

    buckets: tuple[TokenBucket, ...]

    @property
    def burst_bits(self) -> float:
        """Burst: most bits that may arrive at one moment [b]."""
        return self.buckets[0].burst_bits if self.buckets else math.inf

    @property
    def rate_bps(self) -> float:
        """Long-term rate of the arrivals [b/s]."""
        return self.buckets[-1].rate_bps if self.buckets else math.inf

    def at(self, time_s: float) -> float:
        """Greatest number of bits that arrive within a time above 0 s [b]."""
        return min([bucket.at(time_s) for bucket in self.buckets], default=math.inf)

    def breakpoints(self) -> list[tuple[float, float]]:
        """Points at which the curve changes its slope, as pairs of time [s] and bits [b].

        The first point is (0, burst).
        """
        crossings = [(_crossing_s(steep, flat), steep) for steep, flat in pairwise(self.buckets)]
        return [(0.0, self.burst_bits), *((time, steep.at(time)) for time, steep in crossings)]

    def deconvolve_delay(self, jitter_s: float) -> ArrivalCurve:
        """Arrival curve behind a server whose delay varies by at most ``jitter_s``.

        The deconvolution of an arrival curve ``alpha`` by a variable delay is ``t -> alpha(t + jitter_s)``, by
        definition (Le Boudec and Thiran, §1.4.1). An infinite jitter makes the curve unbounded.
        """
        if jitter_s == math.inf:
            return ArrivalCurve(())
        return ArrivalCurve(
            tuple(TokenBucket(bucket.at(jitter_s), bucket.rate_bps) for bucket in self.buckets)
        )

    def add_bits(self, bits: float) -> ArrivalCurve:
        """Shift the arrival curve up by a number of bits (down if negative); the burst stays at least 0."""
        return arrival_curve(
            TokenBucket(max(0.0, bucket.burst_bits + bits), bucket.rate_bps)
            for bucket in self.buckets
        )

    def subtract(self, summand: TokenBucket) -> ArrivalCurve:
        """Remove the token bucket of one flow from the arrival curve of an `aggregate` that contains it."""
        return arrival_curve(
            TokenBucket(
                max(0.0, bucket.burst_bits - summand.burst_bits),
                max(0.0, bucket.rate_bps - summand.rate_bps),
            )
            for bucket in self.buckets
        )


@dataclass(frozen=True, slots=True)
class ServiceCurve:
    """Service curve: lower bound of the bits that are served within a time, as the maximum of rate-latency curves.

    The pieces are ordered from the slowest to the fastest. An empty tuple means no service. Build a service
    curve with `service_curve`, which drops the pieces that are never the maximum.

    Examples
    --------
    >>> server = rate_latency(1e9, latency_s=2e-6)
    >>> round(server.at(10e-6))
    8000
    >>> server.leftover_service(token_bucket(1e3, 5e8)).latency_s  # (1e9 * 2e-6 + 1e3) / 5e8
    6e-06
    """

    pieces: tuple[RateLatency, ...]

    @property
    def rate_bps(self) -> float:
        """Long-term rate of the service [b/s]."""
        return self.pieces[-1].rate_bps if self.pieces else 0.0

    @property
    def latency_s(self) -> float:
        """Latency of the service curve [s]: the greatest time until the first bit is served."""
        return self.pieces[0].latency_s if self.pieces else math.inf

    def at(self, time_s: float) -> float:
        """Value of the service curve: bits that it guarantees to serve within ``time_s`` seconds [b]."""
        return max([piece.at(time_s) for piece in self.pieces], default=0.0)

    def time_of(self, bits: float) -> float:
        """Greatest time until a number of bits is served [s]: the inverse of the service curve."""
        return min([piece.time_of(bits) for piece in self.pieces], default=math.inf)

    def breakpoints_s(self) -> list[float]:
        """Times [s] at which the service curve changes its slope; the first is the start of service."""
        crossings = [_piece_crossing_s(slow, fast) for slow, fast in pairwise(self.pieces)]
        return [*(piece.latency_s for piece in self.pieces[:1]), *crossings]

    def after_bits(self, bits: float) -> ServiceCurve:
        """Service left by this curve ``beta`` if a fixed number of bits is served first: ``[beta - bits]+``."""
        return ServiceCurve(tuple(RateLatency(p.rate_bps, p.time_of(bits)) for p in self.pieces))

    def leftover_service(self, cross_traffic: ArrivalCurve) -> ServiceCurve:
        """Service that this curve leaves beside cross traffic, under arbitrary multiplexing.

        If this curve is ``beta`` and the arrival curve of the cross traffic is ``alpha``, the result is
        ``[beta - alpha]+``. The service curve must be strict (Le Boudec and Thiran, theorem 6.2.1).
        """
        return service_curve(
            RateLatency(
                piece.rate_bps - bucket.rate_bps,
                (piece.rate_bps * piece.latency_s + bucket.burst_bits)
                / (piece.rate_bps - bucket.rate_bps),
            )
            for piece in self.pieces
            for bucket in cross_traffic.buckets
            if exceeds(piece.rate_bps, bucket.rate_bps)
        )


# --- constructors -----------------------------------------------------------------------------


def token_bucket(burst_bits: float, rate_bps: float) -> ArrivalCurve:
    """Make an arrival curve that consists of a single token bucket."""
    return ArrivalCurve((TokenBucket(burst_bits, rate_bps),))


def rate_latency(rate_bps: float, latency_s: float = 0.0) -> ServiceCurve:
    """Make a service curve that consists of a single rate-latency curve."""
    return ServiceCurve((RateLatency(rate_bps, latency_s),))


def arrival_curve(buckets: Iterable[TokenBucket]) -> ArrivalCurve:
    """Make an arrival curve as the minimum of token buckets; buckets that are never the minimum are dropped."""
    kept: list[TokenBucket] = []
    for flat in sorted(buckets, key=lambda bucket: (-bucket.rate_bps, bucket.burst_bits)):
        if kept and kept[-1].rate_bps == flat.rate_bps:
            continue
        while kept and (
            kept[-1].burst_bits >= flat.burst_bits
            or (len(kept) > 1 and _crossing_s(kept[-1], flat) <= _crossing_s(kept[-2], kept[-1]))
        ):
            kept.pop()
        kept.append(flat)
    return ArrivalCurve(tuple(kept))


def service_curve(pieces: Iterable[RateLatency]) -> ServiceCurve:
    """Make a service curve as the maximum of rate-latency curves; pieces that are never the maximum are dropped."""
    kept: list[RateLatency] = []
    for fast in sorted(pieces, key=lambda piece: (piece.rate_bps, -piece.latency_s)):
        if fast.rate_bps <= 0.0 or fast.latency_s == math.inf:
            continue
        while kept and (
            kept[-1].rate_bps == fast.rate_bps
            or kept[-1].latency_s >= fast.latency_s
            or (
                len(kept) > 1
                and _piece_crossing_s(kept[-1], fast) <= _piece_crossing_s(kept[-2], kept[-1])
            )
        ):
            kept.pop()
        kept.append(fast)
    return ServiceCurve(tuple(kept))


def _crossing_s(steep: TokenBucket, flat: TokenBucket) -> float:
    return (flat.burst_bits - steep.burst_bits) / (steep.rate_bps - flat.rate_bps)


def _piece_crossing_s(slow: RateLatency, fast: RateLatency) -> float:
    fast_bits, slow_bits = fast.rate_bps * fast.latency_s, slow.rate_bps * slow.latency_s
    return (fast_bits - slow_bits) / (fast.rate_bps - slow.rate_bps)


# --- several curves ---------------------------------------------------------------------------


def aggregate(arrivals: Sequence[ArrivalCurve]) -> ArrivalCurve:
    """Arrival curve of an aggregate: the sum of the flows' arrival curves.

    The sum is piecewise linear and concave, so it is again a minimum of token buckets, one per slope.
    """
    if len(arrivals) == 1:
        return arrivals[0]
    if not all(each.buckets for each in arrivals):
        return ArrivalCurve(())

    # Start with the steepest slope of all summands; the rate drops at each breakpoint of a summand.
    burst = math.fsum(each.buckets[0].burst_bits for each in arrivals)
    rate = math.fsum(each.buckets[0].rate_bps for each in arrivals)
    drops = sorted(
        (_crossing_s(steep, flat), steep.rate_bps - flat.rate_bps)
        for each in arrivals
        for steep, flat in pairwise(each.buckets)
    )
    buckets = [TokenBucket(burst, rate)]
    for time, drop in drops:
        burst, rate = burst + drop * time, rate - drop
        buckets.append(TokenBucket(burst, rate))

    # Rounding errors add up over many drops, so compute the flattest rate as a new sum.
    flattest = math.fsum(each.rate_bps for each in arrivals)
    buckets[-1] = TokenBucket(burst, flattest)
    return ArrivalCurve(tuple(buckets)) if len(buckets) == 1 else arrival_curve(buckets)


def minimum(*arrivals: ArrivalCurve) -> ArrivalCurve:
    """Minimum of several arrival curves: the arrival curve of a flow that keeps to all of them."""
    return arrival_curve(bucket for each in arrivals for bucket in each.buckets)


def convolve(services: Sequence[ServiceCurve]) -> ServiceCurve:
    """Service curve of servers in series: their min-plus convolution.

    For convex curves the latencies add up, then the pieces follow in the order of their slope (Le
    Boudec and Thiran, theorem 3.1.6). A flow then pays its burst only once (ibid., §1.4.3).
    """
    if not all(each.pieces for each in services):
        return ServiceCurve(())
    latency = math.fsum(each.latency_s for each in services)
    fastest = min(each.rate_bps for each in services)
    slopes = sorted(
        (slow.rate_bps, end - start)
        for each in services
        for slow, start, end in zip(
            each.pieces, each.breakpoints_s(), each.breakpoints_s()[1:], strict=False
        )
        if slow.rate_bps < fastest
    )
    pieces, time, bits = [], latency, 0.0
    for rate, length in slopes:
        pieces.append(RateLatency(rate, time - bits / rate))
        time, bits = time + length, bits + rate * length
    pieces.append(RateLatency(fastest, time - bits / fastest))
    return service_curve(pieces)


def exceeds(rate_bps: float, other_bps: float) -> bool:
    """Whether a rate is greater than another rate [b/s], beyond rounding errors."""
    return rate_bps > other_bps * (1.0 + ROUNDING)


# --- bounds of one server ---------------------------------------------------------------------


def horizontal_deviation_s(arrival: ArrivalCurve, service: ServiceCurve) -> float:
    """Horizontal deviation: delay bound of a first-come-first-served server [s].

    The bound is inf if the arrival rate exceeds the service rate. The deviation (Le Boudec and Thiran,
    theorem 1.4.2) is concave in the arrival time, so its maximum is at a breakpoint of either curve.
    """
    if not service.pieces or exceeds(arrival.rate_bps, service.rate_bps):
        return math.inf
    levels_bits = [service.at(time) for time in service.breakpoints_s()[1:]]
    times = [
        (level - bucket.burst_bits) / bucket.rate_bps
        for level in levels_bits
        for bucket in arrival.buckets
        if bucket.rate_bps > 0.0 and level > bucket.burst_bits
    ]
    at_service_breakpoints = [(time, arrival.at(time)) for time in times]
    return max(
        service.time_of(bits) - time
        for time, bits in (*arrival.breakpoints(), *at_service_breakpoints)
    )


def vertical_deviation_bits(arrival: ArrivalCurve, service: ServiceCurve) -> float:
    """Vertical deviation: backlog bound of a server [b]; inf if the arrival rate exceeds the service rate.

    See Le Boudec and Thiran, theorem 1.4.1.
    """
    if not service.pieces or exceeds(arrival.rate_bps, service.rate_bps):
        return math.inf
    at_service_breakpoints = [(time, arrival.at(time)) for time in service.breakpoints_s()]
    return max(
        bits - service.at(time) for time, bits in (*arrival.breakpoints(), *at_service_breakpoints)
    )


def busy_period_s(arrival: ArrivalCurve, service: ServiceCurve) -> float:
    """Longest busy period of a server [s]: the first time at which all arrivals have been served.

    If the order of service is unknown, it is also the delay bound: a packet may then be served last in the busy
    period (A. Bouillard, M. Boyer, E. Le Corronc, *Deterministic Network Calculus*, 2018, §5.3.2).
    """
    return service.leftover_service(arrival).latency_s


def output_curve(arrival: ArrivalCurve, service: ServiceCurve) -> ArrivalCurve:
    """Arrival curve of the traffic that leaves a server: each token bucket deconvolved by the service curve.

    The deconvolution of a bucket is a bucket again (Le Boudec and Thiran, theorem 1.4.3). All buckets that
    are faster than the server become one bucket: its burst is the backlog bound, and its rate is the server's
    rate.
    """
    if exceeds(arrival.rate_bps, service.rate_bps):
        return ArrivalCurve(())
    kept = [
        TokenBucket(vertical_deviation_bits(ArrivalCurve((bucket,)), service), bucket.rate_bps)
        for bucket in arrival.buckets
        if not exceeds(bucket.rate_bps, service.rate_bps)
    ]
    if len(kept) < len(arrival.buckets):
        kept.append(TokenBucket(vertical_deviation_bits(arrival, service), service.rate_bps))
    return arrival_curve(kept)


def fifo_leftover_service(
    service: ServiceCurve, cross_traffic: ArrivalCurve, own: ArrivalCurve
) -> ServiceCurve:
    """Leftover service for a flow that shares a first-come-first-served queue with cross traffic.

    Let ``beta`` be the service curve of the queue, and ``alpha`` the arrival curve of the cross traffic. For
    every ``theta``, ``[beta(t) - alpha(t - theta)]+`` for t > theta is a service curve (Le Boudec and Thiran,
    proposition 6.4.1, after Cruz). If alpha is one bucket (burst b, rate r) and beta one rate-latency curve
    (rate R, latency T), ``theta = T + b/R`` leaves rate ``R - r`` and latency theta.

    Otherwise up to three values of theta are tried. Each is the time in which the queue serves a part of alpha: the
    burst of its first bucket, the burst of its last bucket, or all arrivals (the delay bound of alpha). The result
    is the leftover service with which the flow has the least delay bound; ``own`` is the flow's arrival curve.
    """
    if not cross_traffic.buckets:
        return ServiceCurve(())
    first, last = cross_traffic.buckets[0], cross_traffic.buckets[-1]
    thetas = {service.time_of(bucket.burst_bits) for bucket in (first, last)}
    if len(cross_traffic.buckets) > 1:
        thetas.add(horizontal_deviation_s(cross_traffic, service))
    left = []
    for theta in sorted(thetas):
        lines = [
            (
                piece.rate_bps - bucket.rate_bps,
                bucket.burst_bits - piece.rate_bps * (theta - piece.latency_s),
            )
            for piece in service.pieces
            for bucket in cross_traffic.buckets
            if exceeds(piece.rate_bps, bucket.rate_bps)
        ]
        left.append(
            service_curve(
                RateLatency(rate, theta + max(0.0, missing_bits) / rate)
                for rate, missing_bits in lines
            )
        )
    return (
        left[0] if len(left) == 1 else min(left, key=lambda each: horizontal_deviation_s(own, each))
    )
