"""Flows that go the same way, and what of a packet's way no queue decides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from icmodel.system.bounds.curves import (
    Arrival,
    RateLatency,
    Service,
    TokenBucket,
    delay_s,
    in_a_row,
    service,
    total,
)
from icmodel.system.bounds.network import Flow, Server
from icmodel.system.bounds.propagation import Propagation, Queue

MOST_CHOICES = 64
"""Choices of a service at each hop up to which all are tried."""


@dataclass(frozen=True)
class Path:
    """Flows of one path and class, first come, first served among themselves; else one flow alone.

    Their aggregate's delay bound is a bound for each of them, and tighter than one that takes the
    others for strangers.
    """

    flows: tuple[Flow, ...]
    propagation: Propagation

    @cached_property
    def hops(self) -> tuple[Queue, ...]:
        """The queues on the way."""
        flow = self.flows[0]
        return tuple(self.propagation.queue(flow, server) for server in flow.path)

    @cached_property
    def own(self) -> tuple[frozenset[int], ...]:
        """At each hop the numbers of these flows' stages."""
        chains = [self.propagation.chains[flow.name] for flow in self.flows]
        return tuple(frozenset(keys) for keys in zip(*chains, strict=True))

    @cached_property
    def arrival(self) -> Arrival:
        """What may come of all of them together at the first queue."""
        return total([self.hops[0].stages[number].arrival for number in sorted(self.own[0])])

    def before(self, flow: Flow) -> Arrival:
        """What may come of them all, that flow as if each of its packets were as late as any may be.

        Packets that come earlier are served no later than those would be, so a service curve bounds how long
        after its latest coming each has left.
        """
        if flow.late_s <= 0.0:
            return self.arrival
        every: dict[object, Arrival] = {}
        for other in (*self.flows, flow):  # that flow last; copies once
            sent = (other.name,) if other.multicast is None else other.multicast
            every[sent] = flow.arrival if other is flow else other.coming
        return total(list(every.values()))

    @cached_property
    def spared(self) -> frozenset[int]:
        """Their stages where no server keeps an order; see `Arrivals`."""
        orderless = not any(hop.server.keeps_order for hop in self.hops)
        return frozenset().union(*self.own) if orderless else frozenset()

    @cached_property
    def others(self) -> tuple[Arrival, ...]:
        """What comes at each hop beside them."""
        arrivals = self.propagation.arrivals
        return tuple(
            arrivals.without(hop, own, self.spared)
            for hop, own in zip(self.hops, self.own, strict=True)
        )

    @cached_property
    def max_packet_bits(self) -> float:
        """The longest packet of them."""
        return max(flow.max_packet_bits for flow in self.flows)

    def wait_s(self, flow: Flow, hop: int) -> float:
        """See `Queue.wait_s`; at the first queue that of a packet of the flow after its latest coming, see `before`."""
        queue, bits = self.hops[hop], flow.min_packet_bits
        wait = self.propagation.arrivals.wait_s(queue, bits)
        if hop > 0 or flow.late_s <= 0.0 or not queue.in_order:
            return wait
        return min(wait, queue.wait_s(bits, total([self.before(flow), self.others[0]])))

    def delay_s(self, flow: Flow, served: Service) -> float:
        """Delay bound of a flow's packets, given the service curve of the whole path.

        Everything before a packet of l bits is ``alpha - l``; once begun on the last line it is sent
        without a pause, see `Queue.wait_s`.
        """
        last = self.hops[-1].server
        own = flow.min_packet_bits if last.line_rate_bps else 0.0
        fixed = math.fsum(self.onward_s(hop) for hop in range(len(self.hops)))
        return delay_s(self.before(flow).raised(-own), served) + last.packet_s(own) + fixed

    def onward_bits(self, hop: int, bits: float) -> float:
        """See `Server.onward_bits`."""
        return self.hops[hop].server.onward_bits(bits, self._following(hop))

    def onward_s(self, hop: int) -> float:
        """See `Server.onward_s`."""
        return self.hops[hop].server.onward_s(self._following(hop))

    def _following(self, hop: int) -> Server | None:
        return self.hops[hop + 1].server if hop + 1 < len(self.hops) else None


def choices(
    services: Sequence[Sequence[Service]], most: int = MOST_CHOICES
) -> list[tuple[Service, ...]]:
    """A service for each hop: all choices, or if they are more than ``most``, those that choose alike everywhere."""
    if math.prod(map(len, services)) <= most:
        return list(product(*services))
    longest = max(map(len, services))
    return [tuple(each[min(k, len(each) - 1)] for each in services) for k in range(longest)]


def paths(propagation: Propagation) -> Iterator[Path]:
    """All flows of a network, those that go the same way in order together."""
    together: dict[tuple[object, ...], list[Flow]] = {}
    for flow in propagation.network.flows.values():
        alone = () if propagation.network.in_order(flow) else (flow.name,)
        together.setdefault((flow.traffic_class, *flow.path, *alone), []).append(flow)
    for flows in together.values():
        yield Path(tuple(flows), propagation)


def pay_once(path: Path) -> dict[str, float]:
    """Delay bound in s of each flow."""
    curves = left_at_once(path)
    return {flow.name: min(path.delay_s(flow, served) for served in curves) for flow in path.flows}


@dataclass(frozen=True)
class _Crossing:
    """What comes across a path, and from which hop to which."""

    arrival: Arrival
    first: int
    last: int

    @property
    def hops(self) -> slice:
        """The hops that it passes."""
        return slice(self.first, self.last + 1)


def left_at_once(path: Path) -> list[Service]:
    """What all others leave on a whole path: curves each sound by itself.

    The theorem wants one rate and one latency a server and one bucket a crossing. Taken are the
    first or the fastest piece of each server, and of each crossing the bucket that costs least or
    the flattest one.
    """
    across = list(_across(path))
    if not all(each.arrival.buckets for each in across):
        return [Service(())]
    curves = [Service(())]
    for hops in choices([list(_pieces(path, index)) for index in range(len(path.hops))]):
        passed = [math.fsum(hop.latency_s for hop in hops[each.hops]) for each in across]
        cheapest = [_cheapest(each, time) for each, time in zip(across, passed, strict=True)]
        flattest = [each.arrival.buckets[-1] for each in across]
        for buckets in (cheapest, flattest):
            curves.append(_left(hops, across, buckets))
    return curves


def _left(hops: Sequence[Service], across: list[_Crossing], buckets: list[TokenBucket]) -> Service:
    rates, latencies = [hop.rate_bps for hop in hops], [hop.latency_s for hop in hops]
    waited = []
    for each, bucket in zip(across, buckets, strict=True):
        rates[each.hops] = [rate - bucket.rate_bps for rate in rates[each.hops]]
        waited.append(bucket.at(math.fsum(latencies[each.hops])))
    rate = min(rates)
    if rate <= 0.0:
        return Service(())
    return service([RateLatency(rate, math.fsum(latencies) + math.fsum(waited) / rate)])


def _cheapest(crossing: _Crossing, passed_s: float) -> TokenBucket:
    return min(crossing.arrival.buckets, key=lambda bucket: bucket.at(passed_s))


def _pieces(path: Path, index: int) -> Iterator[Service]:
    """The first and the fastest piece of each curve of a hop, less one packet of the class where it is passed on."""
    hop = path.hops[index]
    last = index == len(path.hops) - 1
    bits = 0.0 if last else path.onward_bits(index, hop.traffic.max_packet_bits)
    for curve in hop.services:
        left = curve.less(bits)
        for place in {0, len(left.pieces) - 1} if left.pieces else ():
            yield Service((left.pieces[place],))


def _across(path: Path) -> Iterator[_Crossing]:
    """What comes across, together if it comes over one link and leaves at one server.

    What leaves the path and comes back comes twice.
    """
    entry: dict[int | None, tuple[int, int]] = {}
    together: dict[tuple[str | None, int, int], set[int]] = {}
    for index, (hop, own) in enumerate(zip(path.hops, path.own, strict=True)):
        following = path.hops[index + 1].stages.values() if index + 1 < len(path.hops) else ()
        stay = {stage.before for stage in following}
        others = hop.stages.keys() - own
        entry = {number: entry.get(hop.stages[number].before, (number, index)) for number in others}
        for number in others - stay:
            entered, at = entry[number]
            link = path.hops[at].stages[entered].link
            together.setdefault((link, at, index), set()).add(entered)
    arrivals = path.propagation.arrivals
    for (_, start, end), numbers in together.items():
        yield _Crossing(arrivals.of(frozenset(numbers), path.spared), start, end)


def separate_flow(path: Path) -> dict[str, float]:
    """Delay bound in s of each flow."""
    served = left_over(path)
    return {flow.name: min(path.delay_s(flow, one) for one in served) for flow in path.flows}


def left_over(path: Path) -> list[Service]:
    """What flows that go the same way get on all of it, for each choice of a service at each hop.

    Where packets are passed on whole, what is not yet whole is not there: the curve less one packet
    (the packetizer; Le Boudec and Thiran, theorem 1.7.1), once for each hop but the last.
    """
    last = len(path.hops) - 1
    left = []
    for index, (hop, others) in enumerate(zip(path.hops, path.others, strict=True)):
        begun = 0.0 if index == last else path.onward_bits(index, path.max_packet_bits)
        left.append([curve.less(begun) for curve in hop.left_for(path.arrival, others)])
    return [in_a_row(chosen) for chosen in choices(left)]


def total_flow(path: Path) -> dict[str, float]:
    """Delay bound in s of each flow: waiting, and the packet's own time, summed over its servers.

    Behind a cut-through switch a packet waits for its header, not for its end, but at the last.
    """
    found = {}
    for flow in path.flows:
        bits, delay = flow.min_packet_bits, 0.0
        for index, hop in enumerate(path.hops):
            passing = hop.server.packet_s(path.onward_bits(index, bits))
            delay += path.wait_s(flow, index) + passing + path.onward_s(index)
        found[flow.name] = delay
    return found
