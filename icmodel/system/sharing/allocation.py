"""What every stream gets of all ports at once: elastic ones max-min fair, the others as they offer.

A *lane* is what streams share: a class of a port, the processor or the receiving interface of a
host.  Where streams begin, a sender waits for its own interface, so all share its lanes max-min
fair.  Further on, streams without back-pressure (UDP) take what they offer and lose what does not
pass; elastic ones (TCP) divide among them what those leave, since they give way to loss (assumed:
the sources measured the two apart).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.system.sharing.disciplines import Discipline
from icmodel.system.sharing.loss import NOWHERE, passing
from icmodel.system.sharing.maxmin import Crossings, Shares, max_min

ROUNDS = 20
"""Most rounds in which classes of ports are granted what others leave."""
FULL = 1 - 1e-9
"""A lane that carries this part of what it could is backlogged."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """What streams share.

    Parameters
    ----------
    capacity : array (lanes,)
        Of each, in the unit its flows use it in: b/s of a port, busy cores of a processor.
    port, priority : arrays (lanes,)
        Which port it is a class of, and which class; port ``NOWHERE`` where it is no class.
    disciplines : mapping
        Port -> how its classes share the rate; of ports that serve all in one queue there is none.
    """

    capacity: Floats
    port: Ints
    priority: Ints
    disciplines: Mapping[int, Discipline]


@dataclass(frozen=True, slots=True)
class Flows:
    """Streams as numbers.

    Parameters
    ----------
    offered_bps, weights : arrays (flows,)
        Goodput asked for, and by which flows that give way divide a lane.
    elastic : array of bool (flows,)
    path, usage : arrays (flows, hops)
        Lanes in the order of the path (``NOWHERE`` where there is none), and how much of each 1 b/s
        of goodput takes; 0 of a copy that is counted already.
    origin : int
        How many hops, from the first, are the sender's own.
    sent_with : array of int (flows,)
        The flow that each is a copy of where its sender sends it; itself if it is none.
    """

    offered_bps: Floats
    weights: Floats
    elastic: Bools
    path: Ints
    usage: Floats
    origin: int
    sent_with: Ints

    def crossings(self, some: Bools, hops: slice) -> Crossings:
        """Some flows over some hops; flows keep their indices."""
        path = np.where(some[:, None], self.path, NOWHERE)[:, hops]
        flow, hop = np.nonzero(path != NOWHERE)
        return Crossings(flow, path[flow, hop], self.usage[:, hops][flow, hop])


@dataclass(frozen=True, slots=True)
class Allocation:
    """What each flow sends and gets [b/s of goodput], what limits it, and how full lanes are.

    ``limiting`` is the lane at which a flow gets less than it asks for, ``NOWHERE`` if nowhere;
    ``carried`` and ``arriving`` are what lanes carry and are asked to, in their own unit;
    ``could`` is what each could carry beside the other classes of its port; ``entering_bps`` what of each
    flow comes to each hop (flows, hops).
    """

    sent_bps: Floats
    rate_bps: Floats
    limiting: Ints
    carried: Floats
    arriving: Floats
    could: Floats
    entering_bps: Floats


def allocate(flows: Flows, lanes: Lanes) -> Allocation:
    """Share all lanes; classes of a port in rounds, until what one leaves the other does not change."""
    could = lanes.capacity
    found = _shared(flows, could)
    if not lanes.disciplines:
        return found
    for _ in range(ROUNDS):
        granted = _granted(lanes, found)
        if np.allclose(granted, could, rtol=1 - FULL, atol=0.0):
            return found
        could = granted
        found = _shared(flows, could)
    return _shared(flows, _fitting(lanes, found))


def _granted(lanes: Lanes, found: Allocation) -> Floats:
    """What each lane could have beside the other classes of its port."""
    full = found.arriving >= FULL * found.could
    asked = np.where(full, np.maximum(found.arriving, lanes.capacity), found.arriving)
    could = lanes.capacity.astype(np.float64)
    for port, there in _classes(lanes).items():
        wanted = {int(lanes.priority[lane]): float(asked[lane]) for lane in there}
        given = lanes.disciplines[port](float(lanes.capacity[there[0]]), wanted)
        for lane in there:
            could[lane] = given[int(lanes.priority[lane])]
    return could


def _classes(lanes: Lanes) -> dict[int, Ints]:
    """The lanes of each port that serves classes apart."""
    apart = [lane for lane in range(len(lanes.port)) if int(lanes.port[lane]) in lanes.disciplines]
    found: dict[int, list[int]] = {}
    for lane in apart:
        found.setdefault(int(lanes.port[lane]), []).append(lane)
    return {port: np.array(there) for port, there in found.items()}


def _fitting(lanes: Lanes, found: Allocation) -> Floats:
    """What lanes carried, scaled where the classes of a port together exceed its rate."""
    fitting = lanes.capacity.astype(np.float64)
    for there in _classes(lanes).values():
        total = float(found.carried[there].sum())
        scale = min(1.0, float(lanes.capacity[there[0]]) / total) if total > 0 else 1.0
        fitting[there] = found.carried[there] * scale
    return fitting


def _shared(flows: Flows, could: Floats) -> Allocation:
    """Shares of lanes that each have a capacity of their own."""
    everyone = np.ones(len(flows.offered_bps), dtype=bool)
    first = flows.crossings(everyone, slice(0, flows.origin))
    begun = max_min(could, first, flows.offered_bps, flows.weights)
    sent = np.where(flows.elastic, 0.0, begun.rate_bps[flows.sent_with])
    part, arriving = passing(sent, flows.path, flows.usage, could)
    at = flows.path != NOWHERE
    asked = np.bincount(flows.path[at], (arriving[:, :-1] * flows.usage)[at], len(could))
    way = flows.crossings(flows.elastic, slice(None))
    offered = np.where(flows.elastic, flows.offered_bps, 0.0)
    shares = max_min(np.maximum(could - asked, 0.0), way, offered, flows.weights)
    shares = _as_sent(shares, flows.sent_with)
    elastic = way.per_link(shares.rate_bps, len(could))
    rate = np.where(flows.elastic, shares.rate_bps, arriving[:, -1])
    at_worst = _worst(flows.path, part, begun.limiting[flows.sent_with])
    limiting = np.where(flows.elastic, shares.limiting, at_worst)
    return Allocation(
        sent_bps=np.where(flows.elastic, shares.rate_bps, sent),
        rate_bps=rate,
        limiting=np.where(rate < flows.offered_bps * FULL, limiting, NOWHERE),
        carried=np.minimum(asked, could) + elastic,
        arriving=asked + elastic,
        could=could,
        entering_bps=arriving[:, :-1] + shares.rate_bps[:, None] * flows.elastic[:, None],
    )


def _as_sent(shares: Shares, sent_with: Ints) -> Shares:
    """Shares in which no copy gets more than what it is a copy of."""
    sent_bps = shares.rate_bps[sent_with]
    less = sent_bps < shares.rate_bps
    limiting = np.where(less, shares.limiting[sent_with], shares.limiting)
    return Shares(np.minimum(shares.rate_bps, sent_bps), limiting)


def _worst(path: Ints, part: Floats, otherwise: Ints) -> Ints:
    """The lane of each path that passes the least part of what arrives; where all pass, the other one."""
    kept = np.where(path != NOWHERE, part[path], 1.0)
    hop = kept.argmin(axis=1)[:, None]
    least = np.take_along_axis(kept, hop, 1)[:, 0]
    return np.where(least < FULL, np.take_along_axis(path, hop, 1)[:, 0], otherwise)
