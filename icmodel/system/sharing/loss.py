"""Loss of flows without back-pressure: at overloaded ports in proportion to each flow, at stated buffers by bursts.

A port is a fluid model of one queue, first come, first served. A full queue cannot tell whose frame it drops. So of what
arrives beyond the rate, the same part of each flow is lost, and less arrives at the next hop. IC2012 §6.5.3 shows that two
UDP senders share a receiver evenly; for unequal ones the rule is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Floats, Ints

ROUNDS = 1000
"""Most rounds of the fixed point where paths form a cycle; without a cycle it takes one for each hop."""
SETTLED = 1e-12
"""Relative change below which the fixed point has settled."""
NOWHERE = -1
"""Fills the rows of paths that have fewer hops than the longest."""


def passing(
    offered_bps: Floats, path: Ints, usage: Floats, capacity_bps: Floats
) -> tuple[Floats, Floats]:
    """Fraction of the load that passes each link, and rate of each flow at each hop.

    Parameters
    ----------
    offered_bps : array (flows,)
        Rate at the first hop [b/s].
    path : array of int (flows, hops)
        Link of each hop; ``NOWHERE`` behind the last.
    usage : array (flows, hops)
        Bits on the link for 1 bit of the flow; 0 of a copy that is counted already.
    capacity_bps : array (links,)

    Returns
    -------
    array (links,), array (flows, hops + 1)
        The last column is the rate that leaves the path [b/s].

    Examples
    --------
    Two flows of 6 and 12 b/s over a link of 9 b/s each lose one half:

    >>> path, usage = np.array([[0], [0]]), np.ones((2, 1))
    >>> passed, arriving = passing(np.array([6.0, 12.0]), path, usage, np.array([9.0]))
    >>> passed.tolist(), arriving[:, -1].tolist()
    ([0.5], [3.0, 6.0])
    """
    links, hops = len(capacity_bps), path.shape[1]
    here = path != NOWHERE
    passed = np.ones(links)

    def arriving_bps() -> Floats:
        kept = np.where(here, passed[path], 1.0)
        kept = np.pad(kept, ((0, 0), (1, 0)), constant_values=1.0)
        return offered_bps[:, None] * np.cumprod(kept, 1)

    for turn in range(ROUNDS):
        load = np.bincount(path[here], (arriving_bps()[:, :-1] * usage)[here], links)
        new = np.divide(capacity_bps, load, out=np.ones(links), where=load > capacity_bps)
        if np.allclose(new, passed, rtol=SETTLED, atol=0.0):
            break
        # in a cycle it may swing: half the step settles it
        passed = new if turn <= hops else (passed + new) / 2
    return passed, arriving_bps()


# --- stated buffers ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Curve:
    """Arrival curve of a flow: a burst, then an average rate, over a link of a peak rate.

    Parameters
    ----------
    link : str
        Link before; its flows arrive one after the other.
    peak_bps : float
        Rate of that link [b/s].
    burst_bits, rate_bps : float
        Burst [b] and average rate [b/s].
    """

    link: str
    peak_bps: float
    burst_bits: float
    rate_bps: float


def beyond_bits(
    curves: Iterable[Curve], rate_bps: float, buffer_bits: float
) -> tuple[float, float]:
    """Bits that do not fit into a buffer if all bursts come at once, and bits that arrived until then.

    The queue is the greatest vertical distance between arrivals, a token bucket behind each link, and service (R. L. Cruz, A
    calculus for network delay, part I, IEEE Trans. Information Theory 37, 1991). It is concave in time, so it is greatest
    at the end of a link's burst.
    """
    links: dict[str, list[Curve]] = {}
    for curve in curves:
        links.setdefault(curve.link, []).append(curve)
    sums = [
        (some[0].peak_bps, sum(one.burst_bits for one in some), sum(one.rate_bps for one in some))
        for some in links.values()
    ]
    ends = [burst / (peak - rate) for peak, burst, rate in sums if peak > rate]
    queue, arrived = 0.0, 0.0
    for end in ends:
        total = sum(min(peak * end, burst + rate * end) for peak, burst, rate in sums)
        if total - rate_bps * end > queue:
            queue, arrived = total - rate_bps * end, total
    return max(queue - buffer_bits, 0.0), arrived


def expected_beyond(mean_s: float, variance_s2: float, room_s: float, burst_s: float) -> float:
    """Expected fraction of a burst that finds a full buffer, from its wait in a buffer without limit.

    The wait has the distribution of `icmodel.system.sharing.waiting.quantile_s`. Beyond the time that the buffer holds it
    has an exponential tail. The burst loses as much as that tail, at most itself (assumed).

    Parameters
    ----------
    mean_s, variance_s2 : float
        Of the wait [s], [s²].
    room_s : float
        Time to send a full buffer [s].
    burst_s : float
        Time to send the burst [s].
    """
    if not 0 < mean_s < math.inf or burst_s <= 0:
        return 0.0
    std = math.sqrt(variance_s2)
    if std >= mean_s:
        waited = min(2 * mean_s**2 / (variance_s2 + mean_s**2), 1.0)
        tail_s, later = mean_s / waited, room_s
    else:
        waited, tail_s, later = 1.0, std, max(room_s - (mean_s - std), 0.0)
    if tail_s <= 0:
        return 1.0 if mean_s > room_s else 0.0
    return waited * math.exp(-later / tail_s) * tail_s / burst_s * -math.expm1(-burst_s / tail_s)


SELDOM = 1e-9
"""Waits of a smaller fraction of frames than this count as none."""
SHORTEST_S = 1e-15
"""Shorter mean waits stay unchanged [s]."""


def behind_buckets(mean_s: Floats, variance_s2: Floats, spare_s: Floats) -> tuple[Floats, Floats]:
    """Mean [s] and variance [s²] of the waits at ports that are token buckets, (n,).

    A bucket of depth b delays by the queue of a link of its rate, less b, where that is more than 0: the backlog of a greedy
    shaper (J.-Y. Le Boudec, P. Thiran, Network Calculus, 2001, §1.5). The wait at the link is taken to have the
    distribution of `icmodel.system.sharing.waiting.quantile_s` (assumed).

    Parameters
    ----------
    mean_s, variance_s2 : arrays (n,)
        Of the wait at a link of the same rate.
    spare_s : array (n,)
        Rest of the bucket behind the frame, as time of the rate [s]; 0 for a link.
    """
    found_mean, found_variance = mean_s.copy(), variance_s2.copy()
    here = np.flatnonzero((spare_s > 0) & (mean_s > SHORTEST_S) & np.isfinite(mean_s))
    mean, variance, spare = mean_s[here], variance_s2[here], spare_s[here]
    std = np.sqrt(variance)
    chance = np.minimum(2 * mean**2 / (variance + mean**2), 1.0)
    scale = np.where(std >= mean, mean / chance, std)
    fixed = np.where(std >= mean, 0.0, mean - std)
    gap = np.maximum(fixed - spare, 0.0)
    over = chance * np.exp(-np.maximum(spare - fixed, 0.0) / np.maximum(scale, SELDOM * mean))
    over = np.where(over < SELDOM, 0.0, over)
    found_mean[here] = over * (gap + scale)
    square = over * (gap**2 + 2 * gap * scale + 2 * scale**2)
    found_variance[here] = np.maximum(square - found_mean[here] ** 2, 0.0)
    return found_mean, found_variance
