"""From the sources on: what comes at each server, and what each class gets there.

Servers are taken in their order, each once, so that the work grows with the lengths of all paths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from icmodel.system.bounds.arrivals import Arrivals
from icmodel.system.bounds.curves import total
from icmodel.system.bounds.deviations import backlog_bits
from icmodel.system.bounds.network import Flow, Network, Server
from icmodel.system.bounds.queues import Queue, Stage
from icmodel.system.bounds.schedulers import alternatives, has_classes, pauses

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
