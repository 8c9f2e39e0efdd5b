"""Allocation of shared resources: elastic flows get max-min fair rates, lossy flows send the rate they offer.

Flows share *resources*: classes of ports, processors of hosts, and receiving interfaces of hosts. A sender
waits for the resources of its own host, so all flows get max-min fair shares of these resources. At later
resources, flows without back-pressure (UDP) send the rate they offer, and lose the excess. Elastic flows
(TCP) reduce their rate upon loss, and divide the rest. That UDP goes first is assumed: the published measurements
have UDP and TCP only separately.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.system.sharing import FULL, SAME
from icmodel.system.sharing.loss import NOWHERE, passing

WINDOW_ROUNDS = 20
"""Greatest number of rounds in the search for the queue that flows with TCP windows fill."""
HALVINGS = 100
CLASS_ROUNDS = 20
"""Greatest number of rounds in which a port's capacity is divided among its classes."""
SAME_LEVEL = 1e-12
"""Relative difference below which two fill levels of links count as equal; it allows for rounding."""

Classes = Mapping[int, float]
"""Number for each traffic class of a port, such as its demand, by priority of the class."""
Discipline = Callable[[float, Classes], dict[int, float]]
"""Type of a function that divides a port's rate among its classes.

It takes the rate of the port and the demand of each class, and returns the rate available to each class [b/s].
"""


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources that flows share, such as ports and processors, as arrays (resources,).

    Parameters
    ----------
    capacity : array
        Capacity of each resource, in the resource's unit: b/s for a port, busy cores for a processor.
    port, priority : arrays of int
        For a resource that is a class of a port: the port and the priority of the class. Other resources
        have the port ``NOWHERE``.
    disciplines : mapping
        Port -> rule by which its classes share its rate. Ports with one queue have no entry.
    """

    capacity: Floats
    port: Ints
    priority: Ints
    disciplines: Mapping[int, Discipline]

    def by_port(self) -> dict[int, Ints]:
        """For each port that serves its priority classes separately, return the indices of the port's resources.

        Each class of such a port is one resource.
        """
        found: dict[int, list[int]] = {}
        for resource, port in enumerate(self.port.tolist()):
            if port in self.disciplines:
                found.setdefault(port, []).append(resource)
        return {port: np.array(classes) for port, classes in found.items()}


@dataclass(frozen=True, slots=True)
class Flows:
    """Flows (streams) that share resources, as arrays with one entry per flow.

    Parameters
    ----------
    offered_bps, weights : arrays (flows,)
        Requested or sent goodput [b/s], and the weight by which elastic flows divide a resource among
        themselves.
    elastic : array of bool (flows,)
        Whether the flow reduces its rate upon loss (TCP).
    path : array of int (flows, hops)
        Resources that each flow uses, in the order of its path; shorter paths are filled up with ``NOWHERE``.
    usage : array (flows, hops)
        Capacity of the resource that 1 b/s of goodput takes, in the unit of the resource. For a multicast copy, 0 at
        resources where another copy of the same packets counts already.
    origin : int
        Number of resources at the beginning of each path that belong to the sending host.
    sent_with : array of int (flows,)
        For a multicast copy: index of the first copy of the same set, the only copy that the sender sends. For
        every other flow: its own index.
    """

    offered_bps: Floats
    weights: Floats
    elastic: Bools
    path: Ints
    usage: Floats
    origin: int
    sent_with: Ints

    def crossings(self, selected: Bools, hops: slice) -> Crossings:
        """List all pairs of a flow and a resource on its path, as indices of flows and resources.

        ``selected`` is a boolean mask of the flows to list, and ``hops`` the slice of the hops to list.
        """
        path = np.where(selected[:, None], self.path, NOWHERE)[:, hops]
        flow, hop = np.nonzero(path != NOWHERE)
        return Crossings(flow, path[flow, hop], self.usage[:, hops][flow, hop])


@dataclass(frozen=True, slots=True)
class Windows:
    """TCP windows and round-trip times of flows, as arrays (flows,).

    Parameters
    ----------
    bits, round_trip_s : arrays (flows,)
        TCP window [b] (infinite if unknown), and round-trip time without queues [s].
    """

    bits: Floats
    round_trip_s: Floats

    @property
    def limit_bps(self) -> Floats:
        """Greatest goodput that the window allows each flow [b/s], array (flows,): one window per round trip."""
        return self.bits / self.round_trip_s

    @property
    def known(self) -> Bools:
        """Boolean mask (flows,) of the flows whose TCP window is known."""
        return np.isfinite(self.bits)


@dataclass(frozen=True, slots=True)
class Allocation:
    """Result of sharing resources: the rates of flows, and the loads of resources.

    Parameters
    ----------
    sent_bps, rate_bps : arrays (flows,)
        Goodput that each flow sends, and goodput that reaches its sink [b/s].
    limiting : array of int (flows,)
        Resource at which a flow gets less than it offers; ``NOWHERE`` if the flow gets its whole offer.
    load, demand : arrays (resources,)
        Load that each resource carries, and load that arrives there, in the unit of the resource.
    available : array (resources,)
        Greatest load that each resource can carry, given the load of the other traffic classes at the same port.
    arriving_bps : array (flows, hops)
        Goodput of each flow that arrives at each hop [b/s].
    """

    sent_bps: Floats
    rate_bps: Floats
    limiting: Ints
    load: Floats
    demand: Floats
    available: Floats
    arriving_bps: Floats


def share(flows: Flows, resources: Resources, windows: Windows) -> Allocation:
    """Share all resources among flows: in proportion to the rates that TCP windows allow, or by the flows' weights.

    If all elastic flows have a TCP window, the windows decide. A window of W bits allows the rate W divided by the sum
    of round trip and wait in queues. A flow without a window fills any queue, so the rate that it leaves to the others
    is unknown. So if any elastic flow has no window, the weights decide.
    """
    elastic = flows.elastic
    if not elastic.any() or not windows.known[elastic].all():
        return allocate(flows, resources)
    queue_s = np.zeros(len(elastic))
    for _ in range(WINDOW_ROUNDS):
        weights = np.where(elastic, windows.bits / (windows.round_trip_s + queue_s), 1.0)
        found = allocate(replace(flows, weights=weights), resources)
        before, queue_s = queue_s, np.zeros(len(elastic))
        for resource in np.unique(found.limiting[elastic & (found.limiting != NOWHERE)]):
            there = elastic & (found.limiting == resource)
            bits, trip_s = windows.bits[there], windows.round_trip_s[there]
            queue_s[there] = standing_queue_s(bits, trip_s, float(found.rate_bps[there].sum()))
        if np.allclose(queue_s, before, rtol=SAME, atol=0.0):
            break
    return found


def standing_queue_s(bits: Floats, round_trip_s: Floats, rate_bps: float) -> float:
    """Waiting time q in a queue that TCP windows fill [s]; 0 if the windows are too small to fill the rate.

    The flows together send at the rate of the queue: q solves ``sum of W / (RTT + q) = rate``. Here W is the window
    of a flow [b], and RTT its round-trip time without the queue [s].
    """
    if rate_bps <= 0 or (bits / round_trip_s).sum() <= rate_bps:
        return 0.0
    low, high = 0.0, float(bits.sum()) / rate_bps
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if (bits / (round_trip_s + middle)).sum() > rate_bps:
            low = middle
        else:
            high = middle
    return (low + high) / 2


# --- classes of ports -------------------------------------------------------------------------


def allocate(flows: Flows, resources: Resources) -> Allocation:
    """Share all resources among flows in proportion to the flows' weights.

    The classes of a port share its rate. The share of a class depends on the loads of the other classes, so the shares
    are computed in rounds, until the rate available to each class stops changing. If the rates still change after
    `CLASS_ROUNDS` rounds, the classes of each port get their loads of the last round, reduced so that they fit the port.
    """
    capacity = resources.capacity
    found = _allocate_apart(flows, capacity)
    if not resources.disciplines:
        return found
    classes, available = resources.by_port(), capacity
    for _ in range(CLASS_ROUNDS):
        full = found.demand >= FULL * found.available
        demand = np.where(full, np.maximum(found.demand, capacity), found.demand)
        granted = capacity.astype(np.float64)
        for port, there in classes.items():
            priorities = resources.priority[there].tolist()
            asked = dict(zip(priorities, demand[there].tolist(), strict=True))
            shares = resources.disciplines[port](float(capacity[there[0]]), asked)
            granted[there] = [shares[priority] for priority in priorities]
        if np.allclose(granted, available, rtol=1 - FULL, atol=0.0):
            return found
        available = granted
        found = _allocate_apart(flows, available)
    fitting = capacity.astype(np.float64)
    for there in classes.values():
        total = float(found.load[there].sum())
        scale = min(1.0, float(capacity[there[0]]) / total) if total > 0 else 1.0
        fitting[there] = found.load[there] * scale
    return _allocate_apart(flows, fitting)


def _allocate_apart(flows: Flows, available: Floats) -> Allocation:
    """Divide resources among flows; the priority classes of a port do not influence each other.

    ``available`` is the capacity of each resource. It stays the same, whatever load the other classes of the port have.
    Lossy flows send the rate that they offer, and lose the excess. Elastic flows (TCP) divide the rest.
    """
    path, elastic = flows.path, flows.elastic
    # senders wait for their own resources
    everyone = np.ones(len(flows.offered_bps), dtype=bool)
    first = flows.crossings(everyone, slice(0, flows.origin))
    at_sender = max_min(available, first, flows.offered_bps, flows.weights)
    sent = np.where(elastic, 0.0, at_sender.rate_bps[flows.sent_with])

    # lossy flows lose the excess
    passed, arriving = passing(sent, path, flows.usage, available)
    here = path != NOWHERE
    lossy = np.bincount(path[here], (arriving[:, :-1] * flows.usage)[here], len(available))

    # elastic flows divide the rest; a copy gets at most the rate of its original
    crossings = flows.crossings(elastic, slice(None))
    offered = np.where(elastic, flows.offered_bps, 0.0)
    shares = max_min(np.maximum(available - lossy, 0.0), crossings, offered, flows.weights)
    less = shares.rate_bps[flows.sent_with] < shares.rate_bps
    limiting = np.where(less, shares.limiting[flows.sent_with], shares.limiting)
    elastic_bps = np.minimum(shares.rate_bps, shares.rate_bps[flows.sent_with])
    elastic_load = crossings.per_link(elastic_bps, len(available))

    # the limit of a lossy flow is the resource that passes the least part of it, or its sender
    kept = np.where(here, passed[path], 1.0)
    hop = kept.argmin(axis=1)[:, None]
    drops = np.take_along_axis(kept, hop, 1)[:, 0] < FULL
    worst = np.take_along_axis(path, hop, 1)[:, 0]
    lossy_at = np.where(drops, worst, at_sender.limiting[flows.sent_with])
    rate = np.where(elastic, elastic_bps, arriving[:, -1])
    limiting = np.where(elastic, limiting, lossy_at)
    return Allocation(
        sent_bps=np.where(elastic, elastic_bps, sent),
        rate_bps=rate,
        limiting=np.where(rate < flows.offered_bps * FULL, limiting, NOWHERE),
        load=np.minimum(lossy, available) + elastic_load,
        demand=lossy + elastic_load,
        available=available,
        arriving_bps=arriving[:, :-1] + elastic_bps[:, None] * elastic[:, None],
    )


# --- max-min fair shares ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Crossings:
    """Pairs of a flow and a link that it crosses, arrays (entries,).

    For 1 b/s of ``flow[k]``, ``link[k]`` carries ``usage[k]``. The usage differs from 1 because of headers,
    links crossed twice, or acknowledgements in the other direction.
    """

    flow: Ints
    link: Ints
    usage: Floats

    def of(self, entries: Bools) -> Crossings:
        """Select pairs of flow and link by a boolean mask (entries,)."""
        return Crossings(self.flow[entries], self.link[entries], self.usage[entries])

    def per_link(self, of_flow: Floats, links: int) -> Floats:
        """Sum of value × usage over the flows on each link, array (links,).

        ``of_flow`` holds the value of each flow. If the values are the rates of the flows [b/s], the sums are the loads
        of the links [b/s].
        """
        taken = of_flow[self.flow] * self.usage
        return np.bincount(self.link, taken, links).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Shares:
    """Max-min fair rate of each flow [b/s], and the link that limits the flow, as arrays (flows,).

    The link is −1 if the flow's own request is the limit.
    """

    rate_bps: Floats
    limiting: Ints


def max_min(
    capacity_bps: Floats, crossings: Crossings, requests_bps: Floats, weights: Floats
) -> Shares:
    """Weighted max-min fair shares of links; each flow gets at most its request.

    Parameters
    ----------
    capacity_bps : array (links,)
        Capacity of each link [b/s].
    crossings : Crossings
        Links that each flow crosses.
    requests_bps, weights : arrays (flows,)
        Requested rate [b/s], and weight of each flow. A flow may request an infinite rate; then a link on its path
        limits it.

    Notes
    -----
    The rates are fixed in rounds (progressive filling). The fill level of a link is its remaining capacity, divided by
    the total weight of its flows whose rate is not fixed yet. A link is a bottleneck if none of
    these flows crosses another link with a lower level. A round fixes the flows of all bottlenecks: the rate is the level times the weight. The
    levels of other links can only grow, because their flows take no more than these levels allow. The request of a flow
    counts as a link that only this flow crosses.

    Examples
    --------
    Three flows over one link of 10 b/s, one of which requests 2 b/s:

    >>> over = Crossings(flow=np.arange(3), link=np.zeros(3, dtype=int), usage=np.ones(3))
    >>> requests = np.array([2.0, np.inf, np.inf])
    >>> max_min(np.array([10.0]), over, requests, np.ones(3)).rate_bps.tolist()
    [2.0, 4.0, 4.0]
    """
    links = len(capacity_bps)
    limited = np.flatnonzero(np.isfinite(requests_bps))
    entries = Crossings(
        flow=np.concatenate([crossings.flow, limited]),
        link=np.concatenate([crossings.link, links + np.arange(len(limited))]),
        usage=np.concatenate([crossings.usage, np.ones(len(limited))]),
    )
    left = np.concatenate([capacity_bps, requests_bps[limited]]).astype(np.float64)
    rate, limiting = np.full(len(weights), np.inf), np.full(len(weights), -1)
    unsettled = np.ones(len(weights), dtype=bool)
    entries = entries.of(entries.usage > 0)
    while len(entries.flow):
        slope = entries.per_link(weights, len(left))
        level = np.divide(left, slope, out=np.full(len(left), np.inf), where=slope > 0)
        least = np.full(len(weights), np.inf)
        np.minimum.at(least, entries.flow, level[entries.link])
        tight = level[entries.link] <= least[entries.flow] * (1 + SAME_LEVEL)
        waiting = np.bincount(entries.link, ~tight, len(left)) > 0
        decided = entries.of(tight & ~waiting[entries.link])
        rate[decided.flow] = weights[decided.flow] * least[decided.flow]
        limiting[decided.flow] = decided.link
        unsettled[decided.flow] = False
        settled = entries.of(~unsettled[entries.flow])
        left = np.maximum(left - settled.per_link(rate, len(left)), 0.0)
        entries = entries.of(unsettled[entries.flow])
    limiting = np.where(limiting < links, limiting, -1)
    return Shares(np.where(limiting < 0, requests_bps, rate), limiting)


# --- disciplines of ports ---------------------------------------------------------------------

ASSURED_WEIGHTS = (7.0, 2.4)
"""Weights of the assured forwarding classes AF4 and AF1: their measured goodputs, together 9.4 Gb/s.

Both classes carried unlimited TCP streams with large frames (IC2012 §6.5.3).
"""
EXPEDITED_SHARE = 5.5 / 9.4
"""Greatest share of a port's rate for expedited forwarding.

The measurement gave 5.5 of 9.4 Gb/s of goodput on a 10 Gb/s line (IC2012 §6.5.3).
"""
EXPEDITED = "ef"
ASSURED = ("af1", "af2", "af3", "af4")
BEHAVIOURS = (EXPEDITED, *ASSURED)
"""Forwarding behaviours of a class (RFC 3246, RFC 2597); a class without a behaviour is best effort."""


def strict_priority(rate_bps: float, demand: Classes) -> dict[int, float]:
    """Rate available to each class of a port under strict priority: the rate that more urgent classes leave."""
    return shaped(rate_bps, demand, {})


def shaped(rate_bps: float, demand: Classes, slopes_bps: Classes) -> dict[int, float]:
    """Rate available to each class of a port under strict priority with credit-based shapers.

    Shaped classes are limited to their idle slopes (IEEE 802.1Q-2022 §8.6.8.2).
    """
    left, available = rate_bps, {}
    for priority in sorted(demand, reverse=True):
        available[priority] = min(left, slopes_bps.get(priority, math.inf))
        left -= min(demand[priority], available[priority])
    return available


def weighted(rate_bps: float, demand: Classes, weights: Classes) -> dict[int, float]:
    """Rate available to each class of a port that serves its classes in weighted turns.

    Capacity that a class does not need is divided among classes that need more. The rate available to a class is
    its max-min share of the port if its own demand were unlimited.

    Parameters
    ----------
    weights : mapping
        Priority -> bytes per turn. For deficit round robin this is the quantum. For weighted round robin
        it is the number of packets times their mean size. A class without a weight is not served.

    Examples
    --------
    >>> weighted(12.0, {1: math.inf, 0: 2.0}, {1: 2.0, 0: 1.0})
    {1: 10.0, 0: 4.0}
    """
    served = {one: demand[one] for one in demand if weights.get(one, 0.0) > 0}
    available = dict.fromkeys(demand, 0.0)
    for priority in served:
        asked = {**served, priority: math.inf}
        left, total = rate_bps, math.fsum(weights[one] for one in asked)
        got = {}
        for one in sorted(asked, key=lambda one: asked[one] / weights[one]):
            got[one] = min(asked[one], left * weights[one] / total)
            left, total = left - got[one], total - weights[one]
            if total <= 0:
                break
        available[priority] = got[priority]
    return available


def gated(
    rate_bps: float, demand: Classes, windows: Sequence[tuple[float, Sequence[int]]]
) -> dict[int, float]:
    """Rate available to each class of a port whose gates open in turn (IEEE 802.1Q-2022 §8.6.8.4).

    A window is a part of the cycle in which the same gates stay open. Within a window, strict priority decides. A class
    is assumed to send evenly over all windows in which its gate is open.

    Parameters
    ----------
    windows : sequence of (duration [s], priorities with an open gate)
    """
    cycle = math.fsum(duration for duration, _ in windows)
    left = [rate_bps * duration / cycle for duration, _ in windows]
    available = {}
    for priority in sorted(demand, reverse=True):
        is_open = [priority in priorities for _, priorities in windows]
        rate = math.fsum(part for part, here in zip(left, is_open, strict=True) if here)
        used = min(demand[priority] / rate, 1.0) if rate > 0 else 0.0
        available[priority] = rate
        left = [
            part * (1 - used) if here else part for part, here in zip(left, is_open, strict=True)
        ]
    return available


def usable_windows(
    windows: Sequence[tuple[float, tuple[int, ...]]],
    packets_s: Mapping[int, tuple[float, float]],
) -> list[tuple[float, tuple[int, ...]]]:
    """Shorten the windows of gates to the times that whole packets use.

    A packet begins only if it ends before the gate of its class closes (IEEE 802.1Q-2022 §8.6.8.4). Adjacent
    windows in which the gate of a class is open count as one. A class whose shortest packet does not fit is left out.
    If only one class sends in a window, or all packets in the window have one size, the window is cut to the whole
    packets that fit. The rest of its time becomes a window with no open gate.

    Parameters
    ----------
    windows : sequence of (duration [s], priorities with an open gate)
    packets_s : mapping
        Priority -> times to send its shortest and its longest packet [s].

    Examples
    --------
    >>> usable_windows([(3.0, (7,)), (5.0, (0, 7))], {0: (6.0, 6.0), 7: (5.0, 5.0)})
    [(3.0, (7,)), (5.0, (7,))]
    >>> usable_windows([(8.0, (7,)), (2.0, (0,))], {7: (5.0, 5.0)})
    [(5.0, (7,)), (3.0, ()), (2.0, (0,))]
    >>> usable_windows([(8.0, (0, 7)), (2.0, ())], {7: (5.0, 5.0)})  # class 0 sends nothing
    [(5.0, (0, 7)), (3.0, ()), (2.0, ())]
    >>> usable_windows([(8.0, (0, 7)), (2.0, ())], {0: (5.0, 5.0), 7: (5.0, 5.0)})
    [(5.0, (0, 7)), (3.0, ()), (2.0, ())]
    """
    # share of each window that a class can use
    used: list[dict[int, float]] = [{} for _ in windows]
    for priority in {one for _, priorities in windows for one in priorities}:
        shortest, longest = packets_s.get(priority, (0.0, 0.0))
        closed = [k for k, (_, priorities) in enumerate(windows) if priority not in priorities]
        first = closed[0] if closed else 0
        runs: list[list[int]] = [[]]
        for k in (*range(first, len(windows)), *range(first)):
            if priority in windows[k][1]:
                runs[-1].append(k)
            elif runs[-1]:
                runs.append([])
        for run in runs:
            whole_s = math.fsum(windows[k][0] for k in run)
            if not closed or shortest <= 0 or whole_s <= 0:
                share = 1.0
            else:
                share = min(math.floor(whole_s / shortest * (1 + SAME)) * longest / whole_s, 1.0)
            for k in run:
                used[k][priority] = share
    usable: list[tuple[float, tuple[int, ...]]] = []
    for (duration, priorities), shares in zip(windows, used, strict=True):
        fitting = tuple(one for one in priorities if shares[one] > 0)
        sending = [one for one in fitting if one in packets_s]
        alike = len({packets_s[one] for one in sending}) == 1
        share = max(shares[one] for one in sending) if alike else 1.0
        usable.append((duration * share, fitting))
        if share < 1:
            usable.append((duration * (1 - share), ()))
    return usable


def differentiated(
    rate_bps: float, demand: Classes, behaviours: Mapping[int, str]
) -> dict[int, float]:
    """Rate available to each DSCP class of a port, by rules that the thesis IC2012 measured at one switch (§6.5.3).

    The switch had factory settings. Expedited forwarding goes first, with at most 5.5/9.4 of the rate. The assured
    forwarding classes share the rest by weight: 7 for AF4, and 2.4 for AF1. The weights of AF2 and AF3 are assumed to
    lie evenly between these two. Best effort is assumed to have the weight of AF1. Drop precedences are ignored, since
    they made little difference in the measurement.

    Parameters
    ----------
    behaviours : mapping
        Priority -> ``ef``, or ``af1`` to ``af4``. Priorities without an entry are best effort.
    """
    urgent = {one for one in demand if behaviours.get(one) == EXPEDITED}
    available = shaped(rate_bps, {one: demand[one] for one in urgent}, {})
    limit, left = EXPEDITED_SHARE * rate_bps, rate_bps
    for priority in sorted(urgent, reverse=True):
        available[priority] = min(available[priority], limit)
        limit, left = (
            value - min(demand[priority], available[priority]) for value in (limit, left)
        )
    rest = {one: demand[one] for one in demand if one not in urgent}
    weights = {one: assured_weight(behaviours.get(one, "")) for one in rest}
    return available | weighted(left, rest, weights)


def assured_weight(behaviour: str) -> float:
    """Weight of an assured forwarding class; other behaviours count as AF1.

    AF2 and AF3 lie evenly between AF1 and AF4 (assumed).
    """
    most, least = ASSURED_WEIGHTS
    place = ASSURED.index(behaviour) if behaviour in ASSURED else 0
    return least + (most - least) * place / (len(ASSURED) - 1)


def scaled(
    capacity: float, demand: Classes, *, rule: Discipline, rate_bps: float
) -> dict[int, float]:
    """Divide a capacity that is not in b/s among classes, by a rule that divides a rate in b/s.

    ``capacity``, the ``demand`` of each class and the result have the same unit, such as the fraction of an interface.
    ``rate_bps`` is the rate of the whole capacity. The factor ``rate_bps / capacity`` converts the demands to b/s for
    the rule, and the results of the rule back.
    """
    scale = rate_bps / capacity
    available = rule(rate_bps, {priority: part * scale for priority, part in demand.items()})
    return {priority: value / scale for priority, value in available.items()}
