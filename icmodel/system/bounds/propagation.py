"""Propagation of arrival curves from the sources: arrival and service curves at each server.

Each server is processed once, in topological order. So the work grows with the total length of all
paths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from icmodel.system.bounds.curves import (
    ArrivalCurve,
    ServiceCurve,
    aggregate,
    busy_period_s,
    fifo_leftover_service,
    horizontal_deviation_s,
    minimum,
    output_curve,
    token_bucket,
    vertical_deviation_bits,
)
from icmodel.system.bounds.network import Flow, Network, Server
from icmodel.system.bounds.schedulers import ClassTraffic, class_services, has_classes, pauses

StageNumbers = frozenset[int]
_NONE: StageNumbers = frozenset()

_LOOK_BACK = ((64, 64), (2_000, 1))
"""Values of ``look_back`` of `StageArrivals`, by size of the network.

Each pair has a network size in stages (packets of some flows at one server), and the value of ``look_back``
for networks up to this size. For larger networks ``look_back`` is 0.
"""


@dataclass(frozen=True)
class Propagation:
    """Arrival curves of the flows at each server of a network, and service curves of each class at each server.

    Attributes
    ----------
    chains
        Name of a flow -> numbers of its stages, one for each server of its path. A stage is the packets of some
        flows at one server.
    queues
        Name of a server -> class -> queue. A server whose scheduler has no classes has a single queue, of class 0.
    arrivals
        Computes the joint arrival curve of any set of stages.
    """

    network: Network
    chains: Mapping[str, tuple[int, ...]]
    queues: Mapping[str, Mapping[int, Queue]]
    arrivals: StageArrivals

    def queue(self, flow: Flow, server: str) -> Queue:
        """Queue in which a flow waits at a server on the flow's path."""
        return self.queues[server][_class_at(self.network.servers[server], flow)]

    def backlog_bits(self, name: str) -> float:
        """Backlog bound of a server [b]: the most bits that wait; a packet counts whole until its last bit is sent.

        It is the sum of the bounds of the server's queues. If the server has several queues, and its line never idles
        while packets wait, a second bound holds: the backlog of all queues served as one, plus one longest packet. Then
        the smaller of the two is returned.
        """
        server, queues = self.network.servers[name], self.queues[name].values()
        sum_bits = math.fsum(queue.backlog_bits for queue in queues)
        if len(queues) < 2 or pauses(server.scheduler):
            return sum_bits
        arrival = self.arrivals.of_stages(frozenset().union(*(queue.stages for queue in queues)))
        longest = max(queue.traffic.max_packet_bits for queue in queues)
        return min(sum_bits, vertical_deviation_bits(arrival, server.service) + longest)


def propagate(network: Network) -> Propagation:
    """Propagate the arrival curves of all flows through a feed-forward network."""
    numbers: dict[tuple[object, ...], int] = {}
    groups: dict[tuple[object, ...], int] = {}
    chains: dict[str, tuple[int, ...]] = {}
    for name, flow in network.flows.items():
        # Flows of one path and class share their stages; copies share stages as long as their paths agree.
        if flow.multicast is not None:
            hops = range(1, len(flow.path) + 1)
            keys: list[tuple[object, ...]] = [(flow.multicast, *flow.path[:hop]) for hop in hops]
        else:
            whose = (flow.path, flow.traffic_class) if network.is_fifo(flow) else (flow.name,)
            group = groups.setdefault(whose, len(groups))
            keys = [(server, group) for server in flow.path]
        chains[name] = tuple(numbers.setdefault(key, len(numbers)) for key in keys)

    # Number of a stage -> its server, its previous stage, its link and its flows.
    plans: dict[int, tuple[str, int | None, str | None, list[Flow]]] = {}
    for name, chain in chains.items():
        flow = network.flows[name]
        steps = zip(chain, flow.path, (None, *chain), (None, *flow.path), strict=False)
        for number, server, before, link in steps:
            plans.setdefault(number, (server, before, link, []))[3].append(flow)
    at_server: dict[str, list[_Plan]] = {}
    for number, (server, before, link, flows) in plans.items():
        at_server.setdefault(server, []).append(_Plan(number, before, link, tuple(flows)))

    look_back = next((back for most, back in _LOOK_BACK if len(numbers) <= most), 0)
    arrivals = StageArrivals(look_back)
    queues: dict[str, dict[int, Queue]] = {}
    for name in network.order:
        queues[name] = _queues(network.servers[name], at_server.get(name, []), arrivals)
        for queue in queues[name].values():
            arrivals.add_queue(queue)
    return Propagation(network, chains, queues, arrivals)


def _queues(server: Server, plans: list[_Plan], arrivals: StageArrivals) -> dict[int, Queue]:
    """Make the queues of a server, by class, each with the service curves that the scheduler leaves to its class."""
    stages: dict[int, dict[int, Stage]] = {}
    for plan in plans:
        own = _class_at(server, plan.flows[0])
        stages.setdefault(own, {})[plan.number] = plan.stage(arrivals)
    for each in stages.values():
        arrivals.add_stages(each.values())
    traffic = {
        own: ClassTraffic(
            arrivals.of_stages(frozenset(each)),
            max(stage.max_packet_bits for stage in each.values()),
            min(stage.min_packet_bits for stage in each.values()),
            min(max(stage.mean_packet_bits, stage.min_packet_bits) for stage in each.values()),
            math.fsum(stage.lacking_bits for stage in each.values()),
        )
        for own, each in stages.items()
    }
    return {
        own: Queue(
            server,
            each,
            traffic[own],
            class_services(server.scheduler, server.service, own, traffic),
        )
        for own, each in stages.items()
    }


def _class_at(server: Server, flow: Flow) -> int:
    """Class in whose queue a flow waits at a server; 0 if the server's scheduler has no classes."""
    return flow.traffic_class if has_classes(server.scheduler) else 0


@dataclass(frozen=True)
class _Plan:
    """Plan of a stage (packets of some flows at one server): all that is known of it before its arrival curve.

    The arrival curve depends on the curves at the previous server. As soon as these are known, the method `stage`
    computes it and makes the stage.
    """

    number: int
    before: int | None
    link: str | None
    flows: tuple[Flow, ...]

    def stage(self, arrivals: StageArrivals) -> Stage:
        names = tuple(flow.name for flow in self.flows)
        if self.before is not None:
            before, arrival = arrivals.stage(self.before), arrivals.behind(self.before)
            if before.flows == names:
                sizes = (before.max_packet_bits, before.min_packet_bits, before.mean_packet_bits)
                return Stage(
                    self.number, self.before, self.link, names, arrival, *sizes, before.lacking_bits
                )
        copies = self.flows[0].multicast is not None
        sent = self.flows[:1] if copies else self.flows
        if self.before is None:
            arrival = aggregate([flow.arrival_at_first_server for flow in sent])
        return Stage(
            self.number,
            self.before,
            self.link,
            names,
            arrival,
            max(flow.max_packet_bits for flow in self.flows),
            min(flow.min_packet_bits for flow in self.flows),
            min(max(flow.mean_packet_bits, flow.min_packet_bits) for flow in self.flows),
            math.fsum(flow.lacking_bits for flow in sent),
        )


@dataclass(frozen=True, slots=True)
class Stage:
    """Stage: the packets of one or more flows at one server, with their joint arrival curve there.

    Flows of one path and class are one stage at each server, so that one computation serves all of
    them. Copies of a multicast are one stage as long as their paths agree.

    Attributes
    ----------
    before
        Number that identifies the stage of the same packets at the previous server; None at the first server.
    link
        Name of the previous server, from which the packets come; None at the first server.
    """

    number: int
    before: int | None
    link: str | None
    flows: tuple[str, ...]
    arrival: ArrivalCurve
    max_packet_bits: float
    min_packet_bits: float
    mean_packet_bits: float = 0.0
    lacking_bits: float = 0.0


@dataclass(frozen=True)
class Queue:
    """Queue of one class at one server: its stages (groups of flows), joint traffic and service curves.

    Each curve in ``services`` alone is a valid service curve. Each bound is computed with every curve, and the least
    result is used. No curve is chosen in advance by the traffic: an additional flow could then change the choice, so
    that more traffic would give a lower bound.
    """

    server: Server
    stages: Mapping[int, Stage]
    traffic: ClassTraffic
    services: tuple[ServiceCurve, ...]

    @property
    def arrival(self) -> ArrivalCurve:
        """Joint arrival curve of all packets that come to this queue."""
        return self.traffic.arrival

    @cached_property
    def links(self) -> dict[str | None, StageNumbers]:
        """Group this queue's stages by the server from which they come: name of that server -> numbers of the stages.

        A stage is the packets of some flows at one server. Stages whose path begins here have the key ``None``.
        """
        return _by_link(self.stages.values())

    @cached_property
    def is_fifo(self) -> bool:
        """Whether all packets of this queue are served first come, first served."""
        flows = sum(len(stage.flows) for stage in self.stages.values())
        return self.server.is_fifo or flows == 1

    @cached_property
    def longest_waits(self) -> list[list[tuple[float, float]]]:
        """Points of the arrival curve whose last bit waits long: one list of points for each service curve.

        A point is a pair: a time [s], and the bits that arrive within this time [b]. The first point of each list is
        the burst, at 0 s. If the service curve has a single piece, a second point follows: the breakpoint whose last
        bit waits longest. The wait at a point is a lower limit of the longest wait in the queue.
        """
        points = self.arrival.breakpoints()
        return [
            [points[0], max(points, key=lambda point: service.time_of(point[1]) - point[0])]
            if len(service.pieces) == 1
            else points[:1]
            for service in self.services
        ]

    @property
    def backlog_bits(self) -> float:
        """Backlog bound of this queue [b]: the most bits of its class that wait at the same time.

        It is the vertical deviation of the arrival and service curves, plus the longest packet. This packet is added
        since all its bits count until the last bit is sent (packetizer; Le Boudec and Thiran, theorem 1.7.1).
        """
        waiting = min(vertical_deviation_bits(self.arrival, service) for service in self.services)
        return waiting + self.traffic.max_packet_bits

    def leftover_services(
        self, own: ArrivalCurve, cross_traffic: ArrivalCurve
    ) -> list[ServiceCurve]:
        """Service that the other traffic in this queue leaves to one part of the traffic, such as a flow.

        The result has a leftover service curve for each service curve of the queue. ``own`` is the arrival curve of
        the part, and ``cross_traffic`` the arrival curve of the other traffic.
        """
        if self.is_fifo:
            return [fifo_leftover_service(service, cross_traffic, own) for service in self.services]
        return [service.leftover_service(cross_traffic) for service in self.services]

    def wait_s(self, min_packet_bits: float, arrival: ArrivalCurve | None = None) -> float:
        """Longest time from a packet's arrival to the start of its transmission [s].

        The arrival curve ``alpha`` of the queue bounds the bits that arrive within a time, including the packet
        itself. If packets are served in order of arrival, a packet of l bits waits until the other ``alpha - l``
        bits are served, so the shortest packet waits longest. After the wait, it is sent at the line rate
        (Mohammadpour, Stai, Le Boudec, IEEE Networking Letters 1, 2019, arXiv 1905.04956). If the line rate is
        unknown, the transmission time is part of the wait.

        Parameters
        ----------
        arrival
            Arrival curve to use in place of the queue's own. If the order of service is unknown, the queue's own
            curve is always used.
        """
        if not self.is_fifo:
            busy = min(busy_period_s(self.arrival, service) for service in self.services)
            return max(0.0, busy - self.server.packet_s(min_packet_bits))
        every = self.arrival if arrival is None else arrival
        before = every.add_bits(-min_packet_bits if self.server.line_rate_bps else 0.0)
        return min(horizontal_deviation_s(before, service) for service in self.services)


class StageArrivals:
    """Arrival curves of sets of stages (packets of some flows at one server), each computed once.

    The flow of interest is the flow whose delay is bounded. If no server on its path keeps an order between flows,
    all other flows go first in its worst case. The flow of interest then delays another flow only by the packet that
    is on the line already. So its stages (``of_interest``) do not count as cross traffic in the arrival curves of
    other flows.

    Parameters
    ----------
    look_back
        Number of servers before a stage, towards the sources, whose joint output is computed. The joint output of a
        server is an additional bound for the traffic over the link behind it. 0: no such bound.
    """

    def __init__(self, look_back: int) -> None:
        self._look_back = look_back
        self._stages: dict[int, Stage] = {}
        self._queue_of: dict[int, Queue] = {}
        self._over_links: dict[tuple[StageNumbers, StageNumbers, int], ArrivalCurve] = {}
        self._sums: dict[StageNumbers, tuple[ArrivalCurve, tuple[ArrivalCurve, ...]]] = {}
        self._waits_s: dict[tuple[int, float], float] = {}

    @property
    def stage_count(self) -> int:
        """Number of stages (packets of some flows at one server) that `add_stages` has registered."""
        return len(self._stages)

    def add_stages(self, stages: Iterable[Stage]) -> None:
        """Register stages (packets of some flows at one server) whose arrival curves are known."""
        self._stages |= {stage.number: stage for stage in stages}

    def stage(self, number: int) -> Stage:
        """Registered stage (packets of some flows at one server) by its number."""
        return self._stages[number]

    def add_queue(self, queue: Queue) -> None:
        """Register a queue whose service curves are known."""
        self._queue_of |= dict.fromkeys(queue.stages, queue)

    def of_stages(self, numbers: StageNumbers, of_interest: StageNumbers = _NONE) -> ArrivalCurve:
        """Joint arrival curve of several stages of one queue; a stage is the packets of some flows at one server.

        ``of_interest`` are the stages of the flow whose delay is bounded. The caller gives them only if this flow has
        its worst case when all other flows go first. These stages then do not delay other flows, so they do not count
        as cross traffic at the previous servers.
        """
        return self._of_stages(numbers, of_interest, self._look_back)

    def cross_traffic(
        self, queue: Queue, numbers: StageNumbers, of_interest: StageNumbers = _NONE
    ) -> ArrivalCurve:
        """Arrival curve of the cross traffic in a queue: all stages of the queue except those in ``numbers``.

        A stage is the packets of some flows at one server; numbers identify the stages. ``of_interest`` has the stages
        of the flow whose delay is bounded; at the previous servers, they do not count as cross traffic either.
        """
        return self._cross_traffic(queue, numbers, of_interest, self._look_back)

    def behind(self, number: int) -> ArrivalCurve:
        """Arrival curve of a stage (the packets of some flows at one server) when its packets leave this server."""
        return self._behind(frozenset((number,)), self._queue_of[number], _NONE, self._look_back)

    def wait_s(self, queue: Queue, min_packet_bits: float) -> float:
        """Longest time that a packet waits in a queue before its transmission [s]: cached `Queue.wait_s`."""
        key = (id(queue), min_packet_bits)
        if key not in self._waits_s:
            self._waits_s[key] = queue.wait_s(min_packet_bits)
        return self._waits_s[key]

    def _of_stages(
        self, numbers: StageNumbers, of_interest: StageNumbers, look_back: int
    ) -> ArrivalCurve:
        if len(numbers) == 1:
            link = self._stages[next(iter(numbers))].link
            return self._over_link(link, numbers, of_interest, look_back)
        links = _by_link(self._stages[number] for number in numbers)
        return aggregate(
            [self._over_link(link, each, of_interest, look_back) for link, each in links.items()]
        )

    def _cross_traffic(
        self, queue: Queue, numbers: StageNumbers, of_interest: StageNumbers, look_back: int
    ) -> ArrivalCurve:
        parts = []
        for link, each in queue.links.items():
            if each.isdisjoint(numbers):
                parts.append(self._over_link(link, each, of_interest, look_back))
            elif look_back == 0 and len(numbers) == 1 < len(each):
                parts.append(self._over_link_without(link, each, *numbers))
            elif not each <= numbers:
                parts.append(self._over_link(link, each - numbers, of_interest, look_back))
        return aggregate(parts)

    def _over_link_without(
        self, link: str | None, numbers: StageNumbers, left_out: int
    ) -> ArrivalCurve:
        """Arrival curve of the traffic over one link without the stage ``left_out``: the minimum of two curves.

        A stage is the packets of some flows at one server. One curve is the sum of the curves of all stages of the link
        (computed once and kept), minus the curve of ``left_out``. The other curve is the most that the line rate of the
        link allows.
        """
        own = self._stages[left_out].arrival.buckets
        if len(own) != 1:
            return self._over_link(link, numbers - {left_out}, _NONE, 0)
        if numbers not in self._sums:
            stages = [self._stages[number] for number in sorted(numbers)]
            self._sums[numbers] = (
                aggregate([stage.arrival for stage in stages]),
                () if link is None else self._line_shaping(stages),
            )
        together, line = self._sums[numbers]
        return minimum(together.subtract(own[0]), *line)

    def _over_link(
        self, link: str | None, numbers: StageNumbers, of_interest: StageNumbers, look_back: int
    ) -> ArrivalCurve:
        """Joint arrival curve of several stages (packets of some flows at one server) that come over one link.

        It is the minimum of up to three curves: the sum of the stages' curves, the bound by the line rate of the link,
        and the joint output of the previous server.
        """
        key = (numbers, of_interest, look_back)
        if key not in self._over_links:
            stages = [self._stages[number] for number in sorted(numbers)]
            curve = aggregate([stage.arrival for stage in stages])
            if link is not None:
                curve = minimum(curve, *self._aggregate_bounds(stages, of_interest, look_back))
            self._over_links[key] = curve
        return self._over_links[key]

    def _aggregate_bounds(
        self, stages: list[Stage], of_interest: StageNumbers, look_back: int
    ) -> Iterator[ArrivalCurve]:
        """Yield arrival curves that bound the joint traffic of some stages over one link.

        A stage is the packets of some flows at one server. The first curve follows from the line rate of the link. The
        second curve is the joint output of the previous server. It is computed only if ``look_back``, the number of
        servers to look back towards the sources, is above 0.
        """
        yield from self._line_shaping(stages)
        if look_back == 0 or not (len(stages) > 1 or of_interest):
            return
        before = frozenset(stage.before for stage in stages if stage.before is not None)
        queues = {id(queue): queue for queue in map(self._queue_of.__getitem__, before)}
        # Previous stages of the stages of interest in this queue.
        here = self._queue_of[stages[0].number].stages if of_interest else {}
        came = [here[number].before for number in of_interest if number in here]
        same_link = frozenset(number for number in came if number is not None)
        yield aggregate(
            [
                self._behind(
                    before.intersection(queue.stages), queue, of_interest, look_back - 1, same_link
                )
                for queue in queues.values()
            ]
        )

    def _line_shaping(self, stages: Sequence[Stage]) -> tuple[ArrivalCurve, ...]:
        """Arrival curve that the rate of a line allows for the stages whose packets come over this line.

        A stage is the packets of some flows at one server. The result is a tuple of one curve; it is empty if the line
        rate is unknown. At a line rate C, packets that arrive completely within t have at most ``C t`` bits plus one
        longest packet (Mifdaoui and Leydier, *Beyond the accuracy-complexity tradeoffs of compositional
        analyses using Network Calculus for complex networks*, CRTS 2017).
        """
        before = stages[0].before
        rate = None if before is None else self._queue_of[before].server.line_rate_bps
        if rate is None:
            return ()
        return (token_bucket(max(stage.max_packet_bits for stage in stages), rate),)

    def _behind(
        self,
        numbers: StageNumbers,
        queue: Queue,
        of_interest: StageNumbers,
        look_back: int,
        same_link: StageNumbers = _NONE,
    ) -> ArrivalCurve:
        """Joint arrival curve of some stages behind their queue: the minimum of two bounds.

        A stage is the packets of some flows at one server. The first bound counts bits: the output curve that follows
        from the leftover service, plus one longest packet, since a packet counts only when whole. The second bound
        counts packets: each packet waits between 0 and the longest wait, so at most as many packets leave within a
        time t as arrive within t plus the longest wait.
        """
        stages = [queue.stages[number] for number in numbers]
        arrival = self._of_stages(numbers, of_interest, look_back)
        longest = max(stage.max_packet_bits for stage in stages)
        wait = self.wait_s(queue, min(stage.min_packet_bits for stage in stages))
        by_packets = arrival.deconvolve_delay(wait)
        if look_back == 0 and not same_link and _is_least(wait, arrival, longest, queue):
            return minimum(by_packets)
        cross = self._cross_traffic(queue, numbers | same_link, of_interest, look_back)
        begun = max((self._stages[number].max_packet_bits for number in same_link), default=0.0)
        by_bits = [
            output_curve(arrival, left).add_bits(longest)
            for left in queue.leftover_services(arrival, cross.add_bits(begun))
        ]
        return minimum(*by_bits, by_packets)


def _is_least(wait_s: float, arrival: ArrivalCurve, longest_bits: float, queue: Queue) -> bool:
    """Whether the first of two arrival curves behind a queue is surely the lower one; then the second is not computed.

    The first curve follows from the longest wait ``wait_s`` of a packet. It is ``arrival(t + wait_s)``.

    The second curve follows from the service that cross traffic (other packets) leaves. Let theta be the delay bound
    of the cross traffic alone. Until theta, a first-come-first-served queue leaves no service. So the second curve is
    at least ``arrival(t + theta) + longest_bits``. Arrival curves are concave, so it is enough to compare both curves
    at t = 0.

    Theta itself is slow to compute, so a lower limit of theta takes its place. The limit is the longest wait of less
    traffic: the arrival curve of all traffic in the queue, minus ``arrival``. To save time, only the waits at the few
    points in `Queue.longest_waits` are compared.
    """
    if not queue.is_fifo:
        return False
    sent_bits = arrival.at(wait_s)
    if sent_bits <= arrival.burst_bits + longest_bits:  # true for every theta
        return True
    theta_s = min(
        max(service.time_of(max(bits - arrival.at(time), 0.0)) - time for time, bits in points)
        for service, points in zip(queue.services, queue.longest_waits, strict=True)
    )
    return sent_bits <= arrival.at(theta_s) + longest_bits


def _by_link(stages: Iterable[Stage]) -> dict[str | None, StageNumbers]:
    """Group stages by the server from which their packets come: name of that server -> numbers of the stages.

    A stage is the packets of some flows at one server. Stages at the first server of a path have the key ``None``.
    """
    numbers: dict[str | None, set[int]] = {}
    for stage in stages:
        numbers.setdefault(stage.link, set()).add(stage.number)
    return {link: frozenset(each) for link, each in numbers.items()}
