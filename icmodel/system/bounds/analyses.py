"""Delay bounds of the flows of one path by three analyses: total flow, separate flow, and "pay multiplexing only once".

Each analysis takes a `PathAggregate`, a group of flows with the same path. It returns the delay bound of each flow
of the group [s], by name. A fourth analysis, the linear programme, has a module of its own, since only it needs a
solver.

References
----------
A. Bouillard, M. Boyer, E. Le Corronc, *Deterministic Network Calculus* (2018), ch. 10: total flow
analysis (TFA), separate flow analysis (SFA), pay multiplexing only once (PMOO).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeVar

from icmodel.system.bounds.curves import (
    ROUNDING,
    ArrivalCurve,
    RateLatency,
    ServiceCurve,
    TokenBucket,
    aggregate,
    convolve,
    horizontal_deviation_s,
    service_curve,
)
from icmodel.system.bounds.network import Flow, Server
from icmodel.system.bounds.propagation import Propagation, Queue, StageNumbers

_Service = TypeVar("_Service")

MOST_CHOICES = 64
"""Number of combinations (one service curve per hop) up to which an analysis tries every combination."""


# --- analyses ---------------------------------------------------------------------------------


def total_flow(path: PathAggregate) -> dict[str, float]:
    """Total flow analysis: delay bound of each flow [s], by name.

    The bound is a sum over the servers of the path: longest wait in the queue, transmission time, and delay of the
    link. A cut-through switch forwards a packet as soon as it has the header. So a server in front of such a switch
    adds only the transmission time of the header. Every other server adds that of the whole packet.
    """
    delays_s = {}
    for flow in path.flows:
        bits, delay = flow.min_packet_bits, 0.0
        for hop, queue in enumerate(path.queues):
            sending = queue.server.packet_s(path.forwarding_bits(hop, bits))
            delay += path.wait_s(flow, hop) + sending + path.forwarding_s(hop)
        delays_s[flow.name] = delay
    return delays_s


def separate_flow(path: PathAggregate) -> dict[str, float]:
    """Separate flow analysis: delay bound of each flow [s], by name.

    At each server, the flow gets the leftover service: the service that cross traffic does not take. The convolution
    of the leftover services is the service of the whole path, and the delay bound follows from it. So the flow's own
    burst delays the flow once, not once at every server (Le Boudec and Thiran, §1.4.3).
    """
    services = separate_flow_services(path)
    return {
        flow.name: min(path.delay_s(flow, service) for service in services) for flow in path.flows
    }


def separate_flow_services(path: PathAggregate) -> list[ServiceCurve]:
    """Service curves of a whole path by separate flow analysis: the convolution of the hops' leftover services.

    A hop (server of the path) may have several leftover services, each of them valid alone. The result has one curve
    for each combination of one leftover service per hop.

    The next hop gets a packet only when the packet is complete. So the leftover service of each hop but the last
    is reduced by one longest packet (the packetizer; Le Boudec and Thiran, theorem 1.7.1). If a cut-through switch
    follows a hop, the leftover service of this hop is reduced only by the header of a packet.
    """
    last = len(path.queues) - 1
    left = []
    for hop, queue in enumerate(path.queues):
        cross = path.cross_traffic(hop)
        begun = 0.0 if hop == last else path.forwarding_bits(hop, path.max_packet_bits)
        left.append(
            [curve.after_bits(begun) for curve in queue.leftover_services(path.arrival, cross)]
        )
    return [convolve(chosen) for chosen in service_choices(left)]


def pay_multiplexing_once(path: PathAggregate) -> dict[str, float]:
    """Pay multiplexing only once: delay bound of each flow [s], by name.

    Cross traffic that shares several hops (servers) with the path delays a flow only once, not at every hop.
    """
    services = pay_multiplexing_once_services(path)
    return {
        flow.name: min(path.delay_s(flow, service) for service in services) for flow in path.flows
    }


def pay_multiplexing_once_services(path: PathAggregate) -> list[ServiceCurve]:
    """Leftover services of a whole path, if any other flow may be served first (arbitrary multiplexing).

    Each curve of the result alone is a valid service curve.

    The theorem of J. B. Schmitt, F. A. Zdarsky and I. Martinovic (*Improving performance bounds in feed-forward
    networks by paying multiplexing only once*, MMB 2008) takes one rate-latency curve per server, and one token
    bucket per cross flow (other traffic on a part of the path). But a service curve may consist of several
    rate-latency curves (pieces), and an arrival curve of several buckets. So the theorem is applied several times:

    - Each server contributes the slowest or the fastest piece of a service curve. `service_choices` lists the
      combinations of pieces of all servers.
    - Each combination is used twice. First each cross flow contributes its cheapest bucket: the bucket that allows
      the fewest bits within the latencies of the hops shared with the path. Then each cross flow contributes its
      flattest bucket: the bucket with the lowest rate.
    """
    crossing = list(_cross_flows(path))
    if not all(each.arrival.buckets for each in crossing):
        return [ServiceCurve(())]
    last = len(path.queues) - 1
    pieces: list[list[RateLatency]] = []
    for hop, queue in enumerate(path.queues):
        # If packets are forwarded whole, one packet of the class may be incomplete.
        longest = queue.traffic.max_packet_bits
        bits = 0.0 if hop == last else path.forwarding_bits(hop, longest)
        left = [curve.after_bits(bits).pieces for curve in queue.services]
        pieces.append([curve[k] for curve in left for k in ({0, len(curve) - 1} if curve else ())])

    curves = [ServiceCurve(())]
    for chosen in service_choices(pieces):
        latencies = [piece.latency_s for piece in chosen]
        passed = [math.fsum(latencies[each.hops]) for each in crossing]
        cheapest = [each.cheapest_bucket(time) for each, time in zip(crossing, passed, strict=True)]
        flattest = [each.arrival.buckets[-1] for each in crossing]
        for buckets in (cheapest, flattest):
            curves.append(_leftover_of_path(chosen, crossing, buckets))
    return curves


def _leftover_of_path(
    pieces: Sequence[RateLatency], crossing: list[_CrossFlow], buckets: list[TokenBucket]
) -> ServiceCurve:
    """Leftover service of a path of servers in series, if each cross flow is bounded by one token bucket.

    ``pieces`` holds one rate-latency curve per server, and ``buckets`` one token bucket per cross flow.
    """
    rates, latencies = [piece.rate_bps for piece in pieces], [piece.latency_s for piece in pieces]
    waited = []
    for each, bucket in zip(crossing, buckets, strict=True):
        rates[each.hops] = [rate - bucket.rate_bps for rate in rates[each.hops]]
        waited.append(bucket.at(math.fsum(latencies[each.hops])))
    rate = min(rates)
    if rate <= ROUNDING * max(piece.rate_bps for piece in pieces):
        return ServiceCurve(())
    return service_curve([RateLatency(rate, math.fsum(latencies) + math.fsum(waited) / rate)])


@dataclass(frozen=True)
class _CrossFlow:
    """Cross traffic that enters a path over one link, stays on it from hop ``first`` to hop ``last``, and leaves it.

    A hop is a server of the path, counted from 0.
    """

    arrival: ArrivalCurve
    first: int
    last: int

    @property
    def hops(self) -> slice:
        """Hops of the path that the cross flow passes, as a slice: from ``first`` to ``last``, both included."""
        return slice(self.first, self.last + 1)

    def cheapest_bucket(self, time_s: float) -> TokenBucket:
        """Among the token buckets of a cross flow, the one that allows the fewest bits within ``time_s``."""
        return min(self.arrival.buckets, key=lambda bucket: bucket.at(time_s))


def _cross_flows(path: PathAggregate) -> Iterator[_CrossFlow]:
    """Find the cross flows of a path: traffic of other flows in the queues of the path.

    All traffic that enters the path over one link and leaves it at one server is one cross flow. Traffic that leaves
    the path and comes back counts as two cross flows.
    """
    entry: dict[int | None, tuple[int, int]] = {}
    together: dict[tuple[str | None, int, int], set[int]] = {}
    for hop, (queue, own) in enumerate(zip(path.queues, path.own_stages, strict=True)):
        following = path.queues[hop + 1].stages.values() if hop + 1 < len(path.queues) else ()
        stay = {stage.before for stage in following}
        others = queue.stages.keys() - own
        entry = {number: entry.get(queue.stages[number].before, (number, hop)) for number in others}
        for number in others - stay:
            entered, at = entry[number]
            link = path.queues[at].stages[entered].link
            together.setdefault((link, at, hop), set()).add(entered)
    arrivals = path.propagation.arrivals
    for (_, first, last), numbers in together.items():
        curve = arrivals.of_stages(frozenset(numbers), path.stages_of_interest)
        yield _CrossFlow(curve, first, last)


def service_choices(
    services: Sequence[Sequence[_Service]], most: int = MOST_CHOICES
) -> list[tuple[_Service, ...]]:
    """List the ways to choose one service curve for each hop (server) of a path.

    ``services`` holds the alternative curves of each hop. If there are more than ``most`` combinations, return only
    some of them: the first curve of every hop, the second curve of every hop, and so on. A hop with fewer curves
    then contributes its last one.
    """
    if math.prod(map(len, services)) <= most:
        return list(product(*services))
    longest = max(map(len, services))
    return [tuple(each[min(k, len(each) - 1)] for each in services) for k in range(longest)]


# --- the path ---------------------------------------------------------------------------------


def path_aggregates(propagation: Propagation) -> Iterator[PathAggregate]:
    """Group all flows of a network into path aggregates: groups of flows that are analysed together.

    Flows of one path and class are one aggregate if every server on the path serves each class first come, first
    served. Every other flow is an aggregate of its own.
    """
    together: dict[tuple[object, ...], list[Flow]] = {}
    for flow in propagation.network.flows.values():
        alone = () if propagation.network.is_fifo(flow) else (flow.name,)
        together.setdefault((flow.traffic_class, *flow.path, *alone), []).append(flow)
    for flows in together.values():
        yield PathAggregate(tuple(flows), propagation)


@dataclass(frozen=True)
class PathAggregate:
    """Flows that are analysed together: flows of one path and class, served first come, first served.

    A flow that is not served first come, first served forms an aggregate of its own.

    The flows of an aggregate pass the same queues, so the delay bounds follow from their joint arrival curve. These
    bounds are tighter than bounds that treat the other flows of the aggregate as cross traffic.
    """

    flows: tuple[Flow, ...]
    propagation: Propagation

    @cached_property
    def queues(self) -> tuple[Queue, ...]:
        """Queues in which the flows of this aggregate wait: one for each hop (server) of their path, in order."""
        flow = self.flows[0]
        return tuple(self.propagation.queue(flow, server) for server in flow.path)

    @cached_property
    def own_stages(self) -> tuple[StageNumbers, ...]:
        """Numbers of the stages of the aggregate's own flows, as one set for each hop (server) of their path.

        An aggregate is a group of flows with the same path, analysed together. A stage is the packets of some flows at
        one server; its number identifies it in the network.
        """
        chains = [self.propagation.chains[flow.name] for flow in self.flows]
        return tuple(frozenset(numbers) for numbers in zip(*chains, strict=True))

    @cached_property
    def stages_of_interest(self) -> StageNumbers:
        """Numbers of the stages to leave out when the arrival curves of other flows are computed; may be empty.

        A stage is the packets of some flows at one server; its number identifies it in the network. If no server on the
        path serves packets in order of arrival, all other flows go first in the worst case of this aggregate (flows
        with the same path). Then it delays no other flow, and its own stages are left out. Otherwise the set is empty.
        """
        orderless = not any(queue.server.is_fifo for queue in self.queues)
        return frozenset().union(*self.own_stages) if orderless else frozenset()

    @cached_property
    def arrival(self) -> ArrivalCurve:
        """Joint arrival curve of these flows, which share a path, at the first queue of the path."""
        first = self.queues[0]
        return aggregate([first.stages[number].arrival for number in sorted(self.own_stages[0])])

    def cross_traffic(self, hop: int) -> ArrivalCurve:
        """Arrival curve of the other flows (cross traffic) at a hop of the path."""
        queue, own = self.queues[hop], self.own_stages[hop]
        return self.propagation.arrivals.cross_traffic(queue, own, self.stages_of_interest)

    @cached_property
    def max_packet_bits(self) -> float:
        """Size of the longest packet among all flows of this aggregate [b]."""
        return max(flow.max_packet_bits for flow in self.flows)

    def arrival_for(self, flow: Flow) -> ArrivalCurve:
        """Arrival curve of the aggregate at its first queue if all packets of ``flow`` are released as late as possible.

        Before the first queue, each packet is delayed by 0 to ``release_jitter_s``. If all packets of ``flow``
        have the greatest delay, the flow keeps the arrival curve of its source. If a packet is released earlier, it
        leaves the network no later. So this case gives a bound for every case, if the delay of a packet counts from its
        latest possible release.
        """
        if flow.release_jitter_s <= 0.0:
            return self.arrival
        curves: dict[object, ArrivalCurve] = {}
        for other in (*self.flows, flow):  # of a multicast set, only the last copy counts: ``flow``
            key = (other.name,) if other.multicast is None else other.multicast
            curves[key] = flow.arrival if other is flow else other.arrival_at_first_server
        return aggregate(list(curves.values()))

    def wait_s(self, flow: Flow, hop: int) -> float:
        """Longest time that a packet of a flow waits at a hop before its transmission [s]; see `Queue.wait_s`.

        Before the first hop, a packet is delayed by 0 to ``release_jitter_s``. The wait at the first hop counts only from
        the latest possible release of the packet; see `arrival_for`.
        """
        queue, bits = self.queues[hop], flow.min_packet_bits
        wait = self.propagation.arrivals.wait_s(queue, bits)
        if hop > 0 or flow.release_jitter_s <= 0.0 or not queue.is_fifo:
            return wait
        every = aggregate([self.arrival_for(flow), self.cross_traffic(0)])
        return min(wait, queue.wait_s(bits, every))

    def delay_s(self, flow: Flow, service: ServiceCurve) -> float:
        """Delay bound of a flow's packets [s], given a service curve of the whole path.

        The flow is analysed together with other flows of the same path, its aggregate. The arrival curve ``alpha`` of
        the aggregate bounds the bits that arrive within a time, the flow's packet included. So a packet of l bits waits
        until the other ``alpha - l`` bits are served. The last line of the path then sends its l bits without a pause.
        The bound is the sum of this wait, this transmission time, and the delays of all links. If the rate of the last
        line is unknown, the packet waits until all ``alpha`` bits are served.
        """
        last = self.queues[-1].server
        own = flow.min_packet_bits if last.line_rate_bps else 0.0
        fixed = math.fsum(self.forwarding_s(hop) for hop in range(len(self.queues)))
        waiting = self.arrival_for(flow).add_bits(-own)
        return horizontal_deviation_s(waiting, service) + last.packet_s(own) + fixed

    def forwarding_bits(self, hop: int, bits: float) -> float:
        """Bits of a packet that the server at a hop must send before the packet counts as arrived at the next server.

        These are all bits, or only those of the header if the next switch cuts through.
        """
        return self.queues[hop].server.forwarding_bits(bits, self._following(hop))

    def forwarding_s(self, hop: int) -> float:
        """Time from the end of a packet's transmission at a hop until it is in the next queue or at the receiver [s].

        A hop is the index of a server of the path. If the next switch cuts through, the time counts from the end of the
        packet's header; see `Server.forwarding_s`.
        """
        return self.queues[hop].server.forwarding_s(self._following(hop))

    def _following(self, hop: int) -> Server | None:
        return self.queues[hop + 1].server if hop + 1 < len(self.queues) else None
