"""What an arrival and a service curve say together: delay, backlog, output, what is left.

Every sup is attained at a corner of one of the two curves. Bits and seconds.

References
----------
J.-Y. Le Boudec, P. Thiran, *Network Calculus* (LNCS 2050, 2001): §1.4.1 the three bounds, §6.4
aggregates that are served first come, first served.
"""

from __future__ import annotations

from icmodel.system.bounds.curves import (
    NEVER,
    Arrival,
    RateLatency,
    Service,
    TokenBucket,
    arrival,
    service,
)


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
