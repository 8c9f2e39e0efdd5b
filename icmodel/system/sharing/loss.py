"""Loss of flows without back-pressure: at overloaded ports, and in bursts at full buffers.

A port is modelled as one fluid queue, first come, first served. A full queue drops frames of any flow
alike. So if the load exceeds the rate, each flow loses the same part, and less arrives at the next hop.
In the thesis IC2012 (§6.5.3), two equal UDP senders share a receiver evenly. For unequal senders the rule is
assumed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Floats, Ints

ROUNDS = 1000
"""Greatest number of rounds in the search for the loss at each link, if paths form a cycle.

Without a cycle, one round per hop is enough.
"""
SETTLED = 1e-12
"""Convergence limit: the search ends if a round changes the passed fractions by less than this, relatively."""
NOWHERE = -1
"""Filler value in arrays of paths, for hops beyond the end of a shorter path."""


def passing(
    offered_bps: Floats, path: Ints, usage: Floats, capacity_bps: Floats
) -> tuple[Floats, Floats]:
    """Compute the fraction of its load that each link passes, and the rate of each flow at each hop.

    Parameters
    ----------
    offered_bps : array (flows,)
        Rate of each flow at its first hop [b/s].
    path : array of int (flows, hops)
        Link of each hop; ``NOWHERE`` after the last hop.
    usage : array (flows, hops)
        Bits on the link for 1 bit of the flow. For a multicast copy, 0 on links where another copy of the same packets
        counts already.
    capacity_bps : array (links,)
        Capacity of each link [b/s].

    Returns
    -------
    array (links,), array (flows, hops + 1)
        Fraction for each link, and rate for each flow and hop. The last column of the rates is the rate
        that leaves the path [b/s].

    Examples
    --------
    Over a link of 9 b/s, two flows of 6 and 12 b/s both lose one half:

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
        # in a cycle the rates may oscillate: half a step makes them converge
        passed = new if turn <= hops else (passed + new) / 2
    return passed, arriving_bps()


# --- stated buffers ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Curve:
    """Arrival curve of a flow: a burst, then an average rate, limited by the peak rate of a link.

    Parameters
    ----------
    link : str
        Name of the previous link; flows of one link arrive one after the other.
    peak_bps : float
        Rate of the previous link [b/s].
    burst_bits, rate_bps : float
        Burst [b] and average rate [b/s] of the flow.
    """

    link: str
    peak_bps: float
    burst_bits: float
    rate_bps: float


def greatest_queue_bits(
    curves: Iterable[Curve], rate_bps: float, closed_s: float = 0.0
) -> tuple[float, float]:
    """Greatest queue at a port if all bursts come together [b], and the bits that have arrived by then [b].

    The queue is the greatest vertical distance between the arrival and service curves; a token bucket
    bounds each link's traffic (R. L. Cruz, A calculus for network delay, part I, IEEE Trans. Information
    Theory 37, 1991). The distance is concave in time, so it is greatest at the end of a link's burst, or when
    the service begins.

    Parameters
    ----------
    rate_bps : float
        Rate of the service [b/s].
    closed_s : float
        Time before the service begins, such as the time until a gate opens [s].

    Examples
    --------
    A burst of 1000 b at 10 b/s, served at 4 b/s from the fifth second on:

    >>> greatest_queue_bits([Curve("a", 10.0, 1000.0, 0.0)], rate_bps=4.0, closed_s=5.0)
    (620.0, 1000.0)
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
    for end in (*ends, closed_s):
        total = sum(min(peak * end, burst + rate * end) for peak, burst, rate in sums)
        waiting = total - rate_bps * max(end - closed_s, 0.0)
        if waiting > queue:
            queue, arrived = waiting, total
    return queue, arrived


def expected_lost_fraction(
    mean_s: float, variance_s2: float, buffer_s: float, burst_s: float
) -> float:
    """Expected fraction of a burst that is lost at a full buffer, computed from its wait in an unlimited buffer.

    The wait has the distribution of `icmodel.system.sharing.waiting.quantile_s`, with an exponential tail. If the wait
    exceeds ``buffer_s``, a part of the burst is lost. The time to send the lost part is assumed to be the wait minus
    ``buffer_s``, and at most ``burst_s`` (the whole burst).

    Parameters
    ----------
    mean_s, variance_s2 : float
        Mean [s] and variance [s²] of the wait.
    buffer_s : float
        Time to send a full buffer [s].
    burst_s : float
        Time to send the burst [s].
    """
    if not 0 < mean_s < math.inf or burst_s <= 0:
        return 0.0
    std = math.sqrt(variance_s2)
    if std >= mean_s:
        waited = min(2 * mean_s**2 / (variance_s2 + mean_s**2), 1.0)
        tail_s, later = mean_s / waited, buffer_s
    else:
        waited, tail_s, later = 1.0, std, buffer_s - (mean_s - std)
    surely_s = min(max(-later, 0.0), burst_s)  # part of the burst that is surely lost
    if tail_s <= 0:
        return surely_s / burst_s
    reached = waited * math.exp(-max(later, 0.0) / tail_s)
    return (surely_s - reached * tail_s * math.expm1(-(burst_s - surely_s) / tail_s)) / burst_s
