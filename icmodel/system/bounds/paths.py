"""Flows that go the same way, and what of a packet's way no queue decides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from icmodel.system.bounds.curves import Arrival, Service, total
from icmodel.system.bounds.deviations import delay_s
from icmodel.system.bounds.network import Flow, Server
from icmodel.system.bounds.propagation import Propagation
from icmodel.system.bounds.queues import Queue

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
        others = {other.multicast or other.name: other.coming for other in self.flows}
        others[flow.multicast or flow.name] = flow.arrival
        return total(list(others.values()))

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
