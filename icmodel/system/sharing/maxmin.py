"""Weighted max-min fair shares of links that flows cross, found by progressive filling.

An allocation is max-min fair if no flow can have more without another, that has no more already,
having less (B. Radunović and J.-Y. Le Boudec, A unified framework for max-min and min-max fairness,
IEEE/ACM Trans. Networking 15, 2007).  All rates rise in proportion to their weights until a link is
full; its flows stay there, the others rise on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Bools, Floats, Ints

SAME = 1e-12
"""Relative difference up to which two levels of filling are one."""


@dataclass(frozen=True, slots=True)
class Crossings:
    """Which flows cross which links: for 1 b/s of ``flow[k]``, ``link[k]`` carries ``usage[k]``.

    Arrays (entries,).  A usage other than 1 is that of headers around the bits, of a link that is
    crossed twice, or of acknowledgements the other way.
    """

    flow: Ints
    link: Ints
    usage: Floats

    def of(self, entries: Bools) -> Crossings:
        """Some of the entries."""
        return Crossings(self.flow[entries], self.link[entries], self.usage[entries])

    def per_link(self, of_flow: Floats, links: int) -> Floats:
        """Sum over the flows of each link, of a number of each flow times its usage, (links,)."""
        taken = of_flow[self.flow] * self.usage
        return np.bincount(self.link, taken, links).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Shares:
    """What each flow gets [b/s], and the link that limits it, −1 where its request does; (flows,)."""

    rate_bps: Floats
    limiting: Ints


def max_min(
    capacity_bps: Floats, crossings: Crossings, requests_bps: Floats, weights: Floats
) -> Shares:
    """Weighted max-min fair shares of links by flows that ask for no more than their requests.

    Parameters
    ----------
    capacity_bps : array (links,)
    requests_bps, weights : arrays (flows,)
        A request may be infinite: then a link limits its flow, if it crosses any.
    """
    links = len(capacity_bps)
    asked = np.flatnonzero(
        np.isfinite(requests_bps)
    )  # a request is a link that no other flow crosses
    of_all = Crossings(
        flow=np.concatenate([crossings.flow, asked]),
        link=np.concatenate([crossings.link, links + np.arange(len(asked))]),
        usage=np.concatenate([crossings.usage, np.ones(len(asked))]),
    )
    found = _filled(np.concatenate([capacity_bps, requests_bps[asked]]), of_all, weights)
    limiting = np.where(found.limiting < links, found.limiting, -1)
    return Shares(np.where(limiting < 0, requests_bps, found.rate_bps), limiting)


def _filled(capacity_bps: Floats, entries: Crossings, weights: Floats) -> Shares:
    """Fill links until every flow that crosses one is limited by one.

    The level of a link is the rate a weight of 1 gets there if the flows that still rise fill it
    evenly.  As flows are settled below it, it only grows: a link whose level is the least on the way
    of each of its flows is full at that level, and all such links can be settled in one round.
    """
    left, rate = capacity_bps.astype(np.float64), np.full(len(weights), np.inf)
    limiting, rising = np.full(len(weights), -1), np.ones(len(weights), dtype=bool)
    entries = entries.of(entries.usage > 0)
    while len(entries.flow):
        slope = entries.per_link(weights, len(left))
        level = np.divide(left, slope, out=np.full(len(left), np.inf), where=slope > 0)
        least = np.full(len(weights), np.inf)
        np.minimum.at(least, entries.flow, level[entries.link])
        tight = level[entries.link] <= least[entries.flow] * (1 + SAME)
        waiting = np.bincount(entries.link, ~tight, len(left)) > 0
        decided = entries.of(tight & ~waiting[entries.link])
        rate[decided.flow] = weights[decided.flow] * least[decided.flow]
        limiting[decided.flow] = decided.link
        rising[decided.flow] = False
        settled = entries.of(~rising[entries.flow])
        left = np.maximum(left - settled.per_link(rate, len(left)), 0.0)
        entries = entries.of(rising[entries.flow])
    return Shares(rate, limiting)
