"""From the sources on: what comes at each server, and what each class gets there.

Servers are taken in their order, each once, so that the work grows with the lengths of all paths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from icmodel.system.bounds.curves import (
    NEVER,
    Arrival,
    ClassTraffic,
    Service,
    backlog_bits,
    busy_s,
    delay_s,
    least,
    left_by_fifo,
    output,
    token_bucket,
    total,
)
from icmodel.system.bounds.network import Flow, Network, Server
from icmodel.system.bounds.schedulers import alternatives, has_classes, pauses

Numbers = frozenset[int]
_NONE: Numbers = frozenset()


class Arrivals:
    """Arrival curves of stages that come together, each worked out once.

    Numbers of stages may be *spared*: those of a flow whose bound is looked for, where no order
    between flows is known. No order delays it more than one in which all others go first, and then
    they wait for it nowhere but for a packet that has begun; so on links that it takes too, it is
    left out of what delays them.

    Parameters
    ----------
    reach
        Servers that are looked back.
    """

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._stages: dict[int, Stage] = {}
        self._queue_of: dict[int, Queue] = {}
        self._known: dict[tuple[Numbers, Numbers, int], Arrival] = {}
        self._sums: dict[Numbers, Arrival] = {}
        self._lines: dict[Numbers, tuple[Arrival, ...]] = {}
        self._waits_s: dict[tuple[int, float], float] = {}

    @property
    def stage_count(self) -> int:
        """How many stages are known."""
        return len(self._stages)

    def add(self, stages: Iterable[Stage]) -> None:
        """Stages whose arrival curves are known by now."""
        self._stages |= {stage.number: stage for stage in stages}

    def settle(self, queue: Queue) -> None:
        """A queue whose service is known by now."""
        self._queue_of |= dict.fromkeys(queue.stages, queue)

    def of(self, numbers: Numbers, spared: Numbers = _NONE) -> Arrival:
        """What may come of stages of one queue."""
        return self._of(numbers, spared, self._reach)

    def without(self, queue: Queue, numbers: Numbers, spared: Numbers = _NONE) -> Arrival:
        """What may come at a queue, some stages left out."""
        return self._without(queue, numbers, spared, self._reach)

    def behind(self, number: int) -> Arrival:
        """What may come of a stage behind its server."""
        return self._behind(frozenset((number,)), self._queue_of[number], _NONE, self._reach)

    def wait_s(self, queue: Queue, min_packet_bits: float) -> float:
        """See `Queue.wait_s`."""
        key = (id(queue), min_packet_bits)
        if key not in self._waits_s:
            self._waits_s[key] = queue.wait_s(min_packet_bits)
        return self._waits_s[key]

    def _of(self, numbers: Numbers, spared: Numbers, reach: int) -> Arrival:
        links = by_link(self._stages[number] for number in numbers)
        return total([self._over_link(link, each, spared, reach) for link, each in links.items()])

    def _without(self, queue: Queue, numbers: Numbers, spared: Numbers, reach: int) -> Arrival:
        parts = []
        for link, each in queue.links.items():
            if each.isdisjoint(numbers):
                parts.append(self._over_link(link, each, spared, reach))
            elif reach == 0 and len(numbers) == 1 < len(each):
                parts.append(self._rest(link, each, *numbers))
            elif not each <= numbers:
                parts.append(self._over_link(link, each - numbers, spared, reach))
        return total(parts)

    def _rest(self, link: str | None, numbers: Numbers, left_out: int) -> Arrival:
        """What comes over a link but for a stage: the sum less that one, so that no sum is made anew.

        Its packets count for the line too.
        """
        own = self._stages[left_out].arrival.buckets
        if len(own) != 1:
            return self._over_link(link, numbers - {left_out}, _NONE, 0)
        if numbers not in self._sums:
            self._sums[numbers] = total([self._stages[one].arrival for one in sorted(numbers)])
        rest = self._sums[numbers].less(own[0])
        return rest if link is None else least(rest, *self._shaped(numbers))

    def _over_link(
        self, link: str | None, numbers: Numbers, spared: Numbers, reach: int
    ) -> Arrival:
        key = (numbers, spared, reach)
        if key not in self._known:
            stages = [self._stages[number] for number in sorted(numbers)]
            each = total([stage.arrival for stage in stages])
            self._known[key] = (
                each if link is None else least(each, *self._as_one(stages, spared, reach))
            )
        return self._known[key]

    def _as_one(self, stages: list[Stage], spared: Numbers, reach: int) -> Iterator[Arrival]:
        """Bounds of what comes over one link together."""
        yield from self._shaped(frozenset(stage.number for stage in stages))
        if reach > 0 and (len(stages) > 1 or spared):
            before = frozenset(stage.before for stage in stages if stage.before is not None)
            queues = {id(queue): queue for queue in map(self._queue_of.__getitem__, before)}
            gone = self._gone_along(stages[0], spared)
            yield total(
                [
                    self._behind(before & queue.stages.keys(), queue, spared, reach - 1, gone)
                    for queue in queues.values()
                ]
            )

    def _shaped(self, numbers: Numbers) -> tuple[Arrival, ...]:
        """What the line lets through of stages that come over it together; nothing if its rate is not known.

        Within t, packets that have become whole have ``C t`` bits and at most those of the longest
        more (Mifdaoui and Leydier, *Beyond the accuracy-complexity tradeoffs of compositional
        analyses using Network Calculus for complex networks*, CRTS 2017).
        """
        if numbers not in self._lines:
            stages = [self._stages[number] for number in numbers]
            before = stages[0].before
            rate = None if before is None else self._queue_of[before].server.line_rate_bps
            longest = max(stage.max_packet_bits for stage in stages)
            self._lines[numbers] = () if rate is None else (token_bucket(longest, rate),)
        return self._lines[numbers]

    def _gone_along(self, stage: Stage, spared: Numbers) -> Numbers:
        """Spared stages that went over the same link just before."""
        here = self._queue_of[stage.number].stages if spared else {}
        came = [here[number].before for number in spared if number in here]
        return frozenset(number for number in came if number is not None)

    def _behind(
        self, numbers: Numbers, queue: Queue, spared: Numbers, reach: int, gone: Numbers = _NONE
    ) -> Arrival:
        """What a queue lets through of some of its stages: the least of two sound bounds.

        As bits, what all others leave; counted in packets, which are there when they are whole, one
        packet more. And as packets, each of which waits between nothing and the greatest wait.
        """
        stages = [queue.stages[number] for number in numbers]
        coming = self._of(numbers, spared, reach)
        others = self._without(queue, numbers | gone, spared, reach)
        begun = [self._stages[number].max_packet_bits for number in gone]
        longest = max(stage.max_packet_bits for stage in stages)
        found = [
            output(coming, left).raised(longest)
            for left in queue.left_for(coming, others.raised(max(begun, default=0.0)))
        ]
        wait = self.wait_s(queue, min(stage.min_packet_bits for stage in stages))
        return least(*found, *([] if wait == NEVER else [coming.advanced(wait)]))


@dataclass(frozen=True, slots=True)
class Stage:
    """Packets of one or more flows at one server, and what may come of them there.

    Flows of one path and class are one stage a server, so what is worked out for one serves all of
    them; copies of a multicast are one stage as long as their paths agree.

    Attributes
    ----------
    before
        Number of the stage that they come from; None at the source.
    link
        The server that they come from; None at the source.
    """

    number: int
    before: int | None
    link: str | None
    flows: tuple[str, ...]
    arrival: Arrival
    max_packet_bits: float
    min_packet_bits: float
    mean_packet_bits: float = 0.0
    lacking_bits: float = 0.0


@dataclass(frozen=True)
class Queue:
    """The stages of one class at one server, what comes of them all, and what they get.

    Each of ``services`` is sound by itself. A bound is the least of those that they give, so that one more
    flow never changes a choice to a lower bound.
    """

    server: Server
    stages: Mapping[int, Stage]
    coming: Arrival
    services: tuple[Service, ...]

    @cached_property
    def links(self) -> dict[str | None, frozenset[int]]:
        """Numbers of stages by the server that they come from."""
        return by_link(self.stages.values())

    @cached_property
    def traffic(self) -> ClassTraffic:
        """What a scheduler wants to know of the class."""
        stages = self.stages.values()
        return ClassTraffic(
            self.coming,
            max(stage.max_packet_bits for stage in stages),
            min(stage.min_packet_bits for stage in stages),
            min(max(stage.mean_packet_bits, stage.min_packet_bits) for stage in stages),
            math.fsum(stage.lacking_bits for stage in stages),
        )

    @cached_property
    def in_order(self) -> bool:
        """Whether all of the queue is served first come, first served."""
        flows = sum(len(stage.flows) for stage in self.stages.values())
        return self.server.keeps_order or flows == 1

    @property
    def backlog_bits(self) -> float:
        """What may be there of the class, in bits.

        A packet counts whole from its arrival to its last bit's departure: one packet more than the
        curves say (the packetizer; Le Boudec and Thiran, theorem 1.7.1).
        """
        waiting = min(backlog_bits(self.coming, one) for one in self.services)
        return waiting + self.traffic.max_packet_bits

    def left_for(self, own: Arrival, others: Arrival) -> list[Service]:
        """What others in the queue leave to a part of it, of each of the services."""
        if self.in_order:
            return [left_by_fifo(one, others, own) for one in self.services]
        return [one.minus(others) for one in self.services]

    def wait_s(self, min_packet_bits: float, coming: Arrival | None = None) -> float:
        """Greatest time from a packet's arrival to the start of its own time on the line; of ``coming`` if not of all.

        In order, what was there before a packet of l bits is ``alpha - l``, and the packet itself is
        sent at the line's rate once begun (Mohammadpour, Stai, Le Boudec, IEEE Networking Letters 1,
        2019, arXiv 1905.04956). A short packet waits longest. Where the line's rate is not known,
        the time on it is part of the wait.
        """
        if not self.in_order:
            busy = min(busy_s(self.coming, one) for one in self.services)
            return max(0.0, busy - self.server.packet_s(min_packet_bits))
        every = self.coming if coming is None else coming
        before = every.raised(-min_packet_bits if self.server.line_rate_bps else 0.0)
        return min(delay_s(before, one) for one in self.services)


def by_link(stages: Iterable[Stage]) -> dict[str | None, frozenset[int]]:
    """Numbers of stages by the server that they come from."""
    found: dict[str | None, set[int]] = {}
    for stage in stages:
        found.setdefault(stage.link, set()).add(stage.number)
    return {link: frozenset(numbers) for link, numbers in found.items()}


_REACHES = ((64, 64), (2_000, 1))


@dataclass(frozen=True)
class Propagation:
    """What comes at each server of a network, and what each class gets there.

    Attributes
    ----------
    chains
        Of each flow the numbers of its stages along its path.
    queues
        By server the queue of each class; one, of number 0, where there are no classes.
    arrivals
        What may come of several stages together.
    """

    network: Network
    chains: Mapping[str, tuple[int, ...]]
    queues: Mapping[str, Mapping[int, Queue]]
    arrivals: Arrivals

    def queue(self, flow: Flow, server: str) -> Queue:
        """The queue that a flow waits in at a server of its path."""
        return self.queues[server][_class_at(self.network.servers[server], flow)]

    def backlog_bits(self, name: str) -> float:
        """Greatest backlog of a server in bits; a packet counts whole until its last bit is sent.

        The sum over queues; on a line that never pauses also no more than what it leaves of all,
        and the one packet that is being sent.
        """
        server, queues = self.network.servers[name], self.queues[name].values()
        each = math.fsum(queue.backlog_bits for queue in queues)
        if not queues or pauses(server.scheduler):
            return each
        coming = self.arrivals.of(frozenset().union(*(queue.stages for queue in queues)))
        longest = max(queue.traffic.max_packet_bits for queue in queues)
        return min(each, backlog_bits(coming, server.service) + longest)


def propagate(network: Network) -> Propagation:
    """What comes at each server of a network, and what each class gets there."""
    numbers: dict[tuple[object, ...], int] = {}
    chains = {
        name: tuple(numbers.setdefault(key, len(numbers)) for key in _whose(flow, network))
        for name, flow in network.flows.items()
    }
    arrivals = Arrivals(next((reach for most, reach in _REACHES if len(numbers) <= most), 0))
    plans = _plans(network, chains)
    queues: dict[str, dict[int, Queue]] = {}
    for name in network.order:
        queues[name] = _queues(network.servers[name], plans.get(name, []), arrivals)
        for queue in queues[name].values():
            arrivals.settle(queue)
    return Propagation(network, chains, queues, arrivals)


@dataclass(frozen=True)
class _Plan:
    """A stage before it is known what comes: its number, the one before, its flows."""

    number: int
    before: int | None
    link: str | None
    flows: tuple[Flow, ...]

    def stage(self, arrivals: Arrivals) -> Stage:
        copies = self.flows[0].multicast is not None
        sent = self.flows[:1] if copies else self.flows
        sources = [flow.coming for flow in sent]
        return Stage(
            self.number,
            self.before,
            self.link,
            tuple(flow.name for flow in self.flows),
            total(sources) if self.before is None else arrivals.behind(self.before),
            max(flow.max_packet_bits for flow in self.flows),
            min(flow.min_packet_bits for flow in self.flows),
            min(max(flow.mean_packet_bits, flow.min_packet_bits) for flow in self.flows),
            math.fsum(flow.lacking_bits for flow in sent),
        )


def _queues(server: Server, plans: list[_Plan], arrivals: Arrivals) -> dict[int, Queue]:
    """Queues of a server, each with the best of the scheduler's alternatives."""
    stages: dict[int, dict[int, Stage]] = {}
    for plan in plans:
        own = _class_at(server, plan.flows[0])
        stages.setdefault(own, {})[plan.number] = plan.stage(arrivals)
    for each in stages.values():
        arrivals.add(each.values())
    coming = {own: arrivals.of(frozenset(each)) for own, each in stages.items()}
    idle = {own: Queue(server, each, coming[own], ()) for own, each in stages.items()}
    traffic = {own: queue.traffic for own, queue in idle.items()}
    return {
        own: replace(queue, services=alternatives(server.scheduler, server.service, own, traffic))
        for own, queue in idle.items()
    }


def _class_at(server: Server, flow: Flow) -> int:
    """The class whose queue a flow waits in."""
    return flow.traffic_class if has_classes(server.scheduler) else 0


def _whose(flow: Flow, network: Network) -> list[tuple[object, ...]]:
    """Whose packets the stages along a path are: flows with the same answer share a stage."""
    if flow.multicast is not None:
        return [(flow.multicast, *flow.path[: hop + 1]) for hop in range(len(flow.path))]
    whose = (flow.path, flow.traffic_class) if network.in_order(flow) else (flow.name,)
    return [(server, whose) for server in flow.path]


def _plans(network: Network, chains: Mapping[str, tuple[int, ...]]) -> dict[str, list[_Plan]]:
    """Plans of the stages of each server."""
    found: dict[int, tuple[str, int | None, str | None, list[Flow]]] = {}
    for name, chain in chains.items():
        flow = network.flows[name]
        steps = zip(chain, flow.path, (None, *chain), (None, *flow.path), strict=False)
        for number, server, before, link in steps:
            found.setdefault(number, (server, before, link, []))[3].append(flow)
    plans: dict[str, list[_Plan]] = {}
    for number, (server, before, link, flows) in found.items():
        plans.setdefault(server, []).append(_Plan(number, before, link, tuple(flows)))
    return plans
