"""What every stream gets of all ports at once: elastic ones max-min fair, the others as they offer.

A *lane* is what streams share: a class of a port, the processor or the receiving interface of a
host.  Where streams begin, a sender waits for its own interface, so all share its lanes max-min
fair.  Further on, streams without back-pressure (UDP) take what they offer and lose what does not
pass; elastic ones (TCP) divide among them what those leave, since they give way to loss (assumed:
the sources measured the two apart).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.system.sharing.loss import NOWHERE, passing

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


Classes = Mapping[int, float]
"""A number of each class, by priority."""
Discipline = Callable[[float, Classes], dict[int, float]]
"""(rate of the port [b/s], what its classes ask for [b/s]) -> what each could have [b/s]."""

ASSURED_WEIGHTS = (7.0, 2.4)
"""Goodput of AF4 and AF1, both unlimited TCP with large frames, of 9.4 Gb/s (IC2012 §6.5.3)."""
EXPEDITED_SHARE = 5.5 / 9.4
"""What expedited forwarding gets at most: 5.5 of the 9.4 Gb/s of goodput on a 10 Gb/s line (IC2012 §6.5.3)."""
EXPEDITED = "ef"
ASSURED = ("af1", "af2", "af3", "af4")
BEHAVIOURS = (EXPEDITED, *ASSURED)
"""How a class may be forwarded (RFC 3246, RFC 2597); what is none of them is best effort."""


def strict_priority(rate_bps: float, asked: Classes) -> dict[int, float]:
    """The more urgent classes first; a class could have what these leave."""
    return shaped(rate_bps, asked, {})


def shaped(rate_bps: float, asked: Classes, slopes_bps: Classes) -> dict[int, float]:
    """Strict priority in which some classes get no more than their idle slope (IEEE 802.1Q-2022 §8.6.8.2)."""
    left, could = rate_bps, {}
    for one in sorted(asked, reverse=True):
        could[one] = min(left, slopes_bps.get(one, math.inf))
        left -= min(asked[one], could[one])
    return could


def weighted(rate_bps: float, asked: Classes, weights: Classes) -> dict[int, float]:
    """Turns by weight: what a class does not ask for is divided among those that ask for more.

    Weights are bytes a turn: quanta of deficit round robin; of weighted round robin frames times
    their mean size.  A class without one is not served.
    """
    served = {one: asked[one] for one in asked if weights.get(one, 0.0) > 0}
    could = dict.fromkeys(asked, 0.0)
    for one in served:
        others = {**served, one: math.inf}
        could[one] = _filled_classes(rate_bps, others, weights)[one]
    return could


def _filled_classes(rate_bps: float, asked: Classes, weights: Classes) -> dict[int, float]:
    """Max-min shares of one port by weight."""
    left, total = rate_bps, math.fsum(weights[one] for one in asked)
    got = {}
    for one in sorted(asked, key=lambda each: asked[each] / weights[each]):
        got[one] = min(asked[one], left * weights[one] / total)
        left, total = left - got[one], total - weights[one]
        if total <= 0:
            break
    return got


def gated(
    rate_bps: float, asked: Classes, windows: Sequence[tuple[float, Sequence[int]]]
) -> dict[int, float]:
    """Gates that open in turn; within a window strict priority (IEEE 802.1Q-2022 §8.6.8.4).

    What a class sends is taken to be spread evenly over the windows it is open in.

    Parameters
    ----------
    windows : sequence of (duration [s], priorities whose gates are open)
    """
    cycle = math.fsum(duration for duration, _ in windows)
    left = [rate_bps * duration / cycle for duration, _ in windows]
    could = {}
    for one in sorted(asked, reverse=True):
        is_open = [one in priorities for _, priorities in windows]
        could[one] = math.fsum(part for part, here in zip(left, is_open, strict=True) if here)
        used = min(asked[one] / could[one], 1.0) if could[one] > 0 else 0.0
        left = [
            part * (1 - used) if here else part for part, here in zip(left, is_open, strict=True)
        ]
    return could


def differentiated(
    rate_bps: float, asked: Classes, behaviours: Mapping[int, str]
) -> dict[int, float]:
    """DSCP as IC2012 §6.5.3 measured it at a switch with its factory settings.

    Expedited forwarding first, with at most 5.5 of 9.4 parts; the assured classes share the rest by
    weight, AF4 and AF1 as 7 to 2.4.  AF2 and AF3 lie evenly between them, and what has no class counts
    as AF1 (both assumed).  Drop precedences make little difference, and make none here.

    Parameters
    ----------
    behaviours : mapping
        Priority -> ``ef``, ``af1`` to ``af4``; others are best effort.
    """
    urgent = {one for one in asked if behaviours.get(one) == EXPEDITED}
    could = shaped(rate_bps, {one: asked[one] for one in urgent}, {})
    limit, left = EXPEDITED_SHARE * rate_bps, rate_bps
    for one in sorted(urgent, reverse=True):
        could[one] = min(could[one], limit)
        limit, left = (value - min(asked[one], could[one]) for value in (limit, left))
    rest = {one: asked[one] for one in asked if one not in urgent}
    return could | weighted(
        left, rest, {one: assured_weight(behaviours.get(one, "")) for one in rest}
    )


def assured_weight(behaviour: str) -> float:
    """Weight of an assured forwarding class among the others; between AF1 and AF4 evenly spaced (assumed)."""
    most, least = ASSURED_WEIGHTS
    place = ASSURED.index(behaviour) if behaviour in ASSURED else 0
    return least + (most - least) * place / (len(ASSURED) - 1)


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


WINDOW_ROUNDS = 20
"""Most rounds in which flows are told which queue they fill."""
HALVINGS = 100


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of flows.

    Parameters
    ----------
    bits, round_trip_s : arrays (flows,)
        A window [b], infinite where none is known, and the round trip without queues [s].
    """

    bits: Floats
    round_trip_s: Floats

    @property
    def limit_bps(self) -> Floats:
        """What each lets pass at most [b/s], (flows,)."""
        return self.bits / self.round_trip_s

    @property
    def known(self) -> Bools:
        """Which flows have one, (flows,)."""
        return np.isfinite(self.bits)


def share(flows: Flows, lanes: Lanes, windows: Windows) -> Allocation:
    """What each flow gets: by its window where those of all flows that give way are known, else evenly.

    A flow without a window fills any queue, and no rule says how much it leaves: shares are even then.
    """
    elastic = flows.elastic
    if not elastic.any() or not windows.known[elastic].all():
        return allocate(flows, lanes)
    queue_s = np.zeros(len(elastic))
    for _ in range(WINDOW_ROUNDS):
        weights = np.where(elastic, windows.bits / (windows.round_trip_s + queue_s), 1.0)
        found = allocate(replace(flows, weights=weights), lanes)
        before, queue_s = queue_s, _queues_s(found, windows, elastic)
        if np.allclose(queue_s, before, rtol=1e-9, atol=0.0):
            break
    return found


def _queues_s(found: Allocation, windows: Windows, elastic: Bools) -> Floats:
    """How long each flow waits in the queue of the lane that limits it [s]."""
    waits_s = np.zeros(len(elastic))
    for lane in np.unique(found.limiting[elastic & (found.limiting != NOWHERE)]):
        there = elastic & (found.limiting == lane)
        bits, trip_s = windows.bits[there], windows.round_trip_s[there]
        waits_s[there] = standing_s(bits, trip_s, float(found.rate_bps[there].sum()))
    return waits_s


def standing_s(bits: Floats, round_trip_s: Floats, rate_bps: float) -> float:
    """The time q at which ``sum of W / (RTT + q)`` is a rate [s]; 0 where windows do not fill it, or it is 0."""
    if rate_bps <= 0 or (bits / round_trip_s).sum() <= rate_bps:
        return 0.0
    low, high = 0.0, float(bits.sum()) / rate_bps
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if (bits / (round_trip_s + middle)).sum() > rate_bps else (low, middle)
        )
    return (low + high) / 2
