"""Streams without back-pressure: what a port cannot serve is lost, in proportion to what each offers.

A fluid model of a first-come-first-served port: frames of all streams wait in one queue, and a full
queue cannot tell whose frame it drops.  So of what arrives, offered beyond the rate, the same part
is lost of each stream, and the loss goes on along the path.  IC2012 §6.5.3 has of it that two UDP
senders share a receiver evenly; for unequal ones the rule is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Bools, Floats, Ints

ROUNDS = 1000
"""Of the fixed point where paths go round; without a cycle there are as many as a path has hops."""
SAME = 1e-12

NOWHERE = -1
"""Fills the rows of paths that have fewer hops than the longest."""


def passing(
    offered_bps: Floats, path: Ints, usage: Floats, capacity_bps: Floats
) -> tuple[Floats, Floats]:
    """What part of what arrives at each link passes it, and what of each flow arrives at each hop.

    Parameters
    ----------
    offered_bps : array (flows,)
        What enters the first hop.
    path : array (flows, hops)
        Index of the link of each hop; ``NOWHERE`` behind the last.
    usage : array (flows, hops)
        Bits that 1 bit of the flow is there; 0 where a copy of it is counted already.
    capacity_bps : array (links,)

    Returns
    -------
    array (links,), array (flows, hops + 1)
        The last column is what leaves the path.
    """
    links, hops = len(capacity_bps), path.shape[1]
    here = path != NOWHERE
    part = np.ones(links)
    for turn in range(ROUNDS):
        arriving = _arriving(offered_bps, path, here, part)
        load = np.bincount(path[here], (arriving[:, :-1] * usage)[here], links)
        new = np.divide(capacity_bps, load, out=np.ones(links), where=load > capacity_bps)
        if np.allclose(new, part, rtol=SAME, atol=0.0):
            break
        part = (
            new if turn <= hops else (part + new) / 2
        )  # halving the step ends what swings in a cycle
    return part, _arriving(offered_bps, path, here, part)


def _arriving(offered_bps: Floats, path: Ints, here: Bools, part: Floats) -> Floats:
    """What arrives at each hop of each flow, and behind the last, (flows, hops + 1)."""
    kept = np.where(here, part[path], 1.0)
    return offered_bps[:, None] * np.cumprod(np.pad(kept, ((0, 0), (1, 0)), constant_values=1.0), 1)


# --- stated buffers ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Curve:
    """What comes of a flow: a burst, then an average rate, over a link that lets no more pass than its peak.

    Parameters
    ----------
    link : str
        What it comes over; flows of one link come one after the other.
    peak_bps : float
        Rate of that link [b/s].
    burst_bits, rate_bps : float
        What comes at once [b], and on average [b/s].
    """

    link: str
    peak_bps: float
    burst_bits: float
    rate_bps: float


def beyond_bits(
    curves: Iterable[Curve], rate_bps: float, buffer_bits: float
) -> tuple[float, float]:
    """What does not fit into a buffer if all bursts come at once, and what came until then [b].

    The queue is the greatest vertical distance between what comes, a token bucket behind each link, and what is
    served (R. L. Cruz, A calculus for network delay, part I, IEEE Trans. Information Theory 37, 1991).  As it is
    concave in time, it is greatest where a link has brought its burst.
    """
    links: dict[str, list[Curve]] = {}
    for one in curves:
        links.setdefault(one.link, []).append(one)
    sums = [
        (some[0].peak_bps, sum(one.burst_bits for one in some), sum(one.rate_bps for one in some))
        for some in links.values()
    ]
    ends = [burst / (peak - rate) for peak, burst, rate in sums if peak > rate]
    queue, came = 0.0, 0.0
    for end in ends:
        total = sum(min(peak * end, burst + rate * end) for peak, burst, rate in sums)
        if total - rate_bps * end > queue:
            queue, came = total - rate_bps * end, total
    return max(queue - buffer_bits, 0.0), came


def expected_beyond(mean_s: float, variance_s2: float, room_s: float, burst_s: float) -> float:
    """The share of a burst that finds a full buffer, by how long it waits in one without an end.

    The wait has the distribution of `icmodel.system.sharing.waiting`: beyond the time that the buffer holds, an
    exponential tail, of which the burst loses as much as there is, at most itself (assumed).

    Parameters
    ----------
    room_s : float
        Time to send what the buffer holds [s].
    burst_s : float
        Time that the burst takes at the port [s].
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
"""Waits that fewer frames than this part have count as none."""
SHORTEST_S = 1e-15
"""Shorter mean waits are left as they are [s]."""


def behind_buckets(mean_s: Floats, variance_s2: Floats, spare_s: Floats) -> tuple[Floats, Floats]:
    """Mean [s] and variance [s²] of the waits at ports that are token buckets, (n,).

    A bucket of depth b delays by what a link of its rate would queue, less b, where that is more: the backlog of a
    greedy shaper (J.-Y. Le Boudec, P. Thiran, Network Calculus, 2001, §1.5).  The wait at the link is taken to be
    0 with some probability and exponential else, or a fixed time and an exponential one, as mean and variance
    say (assumed).

    Parameters
    ----------
    mean_s, variance_s2 : array
        Of the wait at a link of the same rate.
    spare_s : array
        Time in which the rate fills what the frame leaves of the bucket [s]; 0 for a link.
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
