"""Streams without back-pressure: what a port cannot serve is lost, in proportion to what each offers.

A fluid model of a first-come-first-served port: frames of all streams wait in one queue, and a full
queue cannot tell whose frame it drops.  So of what arrives, offered beyond the rate, the same part
is lost of each stream, and the loss goes on along the path.  IC2012 §6.5.3 has of it that two UDP
senders share a receiver evenly; for unequal ones the rule is assumed.
"""

from __future__ import annotations

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
