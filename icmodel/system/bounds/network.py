"""The network that bounds are worked out for: servers in a row, and flows through them.

A server is a port: the place where packets queue for one direction of a link. Bits, bits per second
and seconds throughout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TypeVar

from icmodel.errors import BoundsError
from icmodel.system.bounds.curves import (
    Arrival,
    RateLatency,
    Service,
)
from icmodel.system.bounds.schedulers import Arbitrary, Scheduler, pauses
from icmodel.system.schedulers import Fifo


@dataclass(frozen=True)
class Server:
    """A port, or anything else that serves what queues.

    Attributes
    ----------
    service
        Strict service curve that all flows together get: for a port rate-latency of the line rate
        and of what the port may pause before it sends. From measurements: rate and delay that
        held for every packet measured; the bound then rests on that.
    scheduler
        How the port chooses; first come, first served if nothing is said.
    line_rate_bps
        Rate at which bits leave, so that what comes behind this server comes no faster, and a
        packet that has begun is sent without a pause. None: not known, both are left out.
    header_bits
        A cut-through switch behind the link passes a packet on after so many bits to lines that are no
        faster, and stores it for others, or it would run dry. None: store-and-forward to all.
    delay_s
        What every packet needs from here to the next queue, or to the end: propagation, switching.
    gap_bits
        The last bits of each packet, which the line needs before the next one and no receiver waits for.
    """

    name: str
    service: Service
    scheduler: Scheduler = field(default_factory=Fifo)
    line_rate_bps: float | None = None
    header_bits: float | None = None
    delay_s: float = 0.0
    gap_bits: float = 0.0

    def __post_init__(self) -> None:
        line = self.line_rate_bps
        if line is not None and not line >= self.service.rate_bps:
            raise BoundsError(
                f"server {self.name!r} serves {self.service.rate_bps:g} b/s on a line of {line:g} b/s; "
                "give a line at least as fast as the service"
            )
        if pauses(self.scheduler) and line is not None and line > self.service.rate_bps:
            raise BoundsError(
                f"server {self.name!r} has a {self.scheduler.name}, which reckons with the line's own "
                f"rate, and serves {self.service.rate_bps:g} b/s on a line of {line:g} b/s; give it the "
                "line as its service"
            )

    @property
    def keeps_order(self) -> bool:
        """Whether each class is served first come, first served."""
        return not isinstance(self.scheduler, Arbitrary)

    def packet_s(self, bits: float) -> float:
        """Seconds that the line needs for a packet; 0 if the line's rate is not known."""
        return bits / self.line_rate_bps if self.line_rate_bps else 0.0

    def cuts_through(self, following: Server | None) -> bool:
        """Whether a packet is passed on to another server before it is whole."""
        if self.header_bits is None or following is None:
            return False
        comes, goes = self.line_rate_bps, following.line_rate_bps
        return comes is not None and goes is not None and goes <= comes

    def onward_bits(self, bits: float, following: Server | None) -> float:
        """Bits of a packet that are sent before another server has it, or the end: all, or the header."""
        if self.header_bits is None or not self.cuts_through(following):
            return bits
        return min(self.header_bits, bits)

    def onward_s(self, following: Server | None) -> float:
        """From when those bits are sent to when another server has the packet, or the end; less the gap of all bits."""
        whole = not self.cuts_through(following)
        return self.delay_s - (self.packet_s(self.gap_bits) if whole else 0.0)


def port(
    name: str,
    line_rate_bps: float,
    scheduler: Scheduler | None = None,
    *,
    delay_s: float = 0.0,
    pause_s: float = 0.0,
    header_bits: float | None = None,
    gap_bits: float = 0.0,
) -> Server:
    """The server of one direction of a link that sends whenever something waits.

    Parameters
    ----------
    delay_s
        Propagation and the switching time that each packet needs, in s.
    pause_s
        What the port may pause at most before it sends, in s.
    header_bits, gap_bits
        See `Server`.
    """
    curve = Service((RateLatency(line_rate_bps, pause_s),))
    chosen = Fifo() if scheduler is None else scheduler
    return Server(name, curve, chosen, line_rate_bps, header_bits, delay_s, gap_bits)


@dataclass(frozen=True)
class Flow:
    """Packets that keep to an arrival curve at the first server of their path.

    Attributes
    ----------
    path
        Names of the servers, in order, none twice.
    arrival
        Arrival curve of what is made; a packet counts as a whole.
    late_s
        A packet comes to the first queue up to so much later than it is made, in order; bounds count from then on.
    traffic_class
        Schedulers' class; of two priorities the greater number goes first.
    max_packet_bits, min_packet_bits
        Longest and shortest packet as the line carries it, gap and preamble included. 0: fluid.
    mean_packet_bits, lacking_bits
        Any n of its packets in a row have at least ``n * mean - lacking`` bits; 0: only the shortest is known.
    multicast
        Flows of one such name are copies of the same packets: on the servers that their paths have
        in common from the beginning they are there once.
    """

    name: str
    path: tuple[str, ...]
    arrival: Arrival
    traffic_class: int = 0
    max_packet_bits: float = 0.0
    min_packet_bits: float = 0.0
    multicast: str | None = None
    mean_packet_bits: float = 0.0
    lacking_bits: float = 0.0
    late_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.path or len(set(self.path)) < len(self.path):
            raise BoundsError(
                f"flow {self.name!r} has the path {' '.join(self.path) or 'of no server'}; name at "
                "least one server, and none twice"
            )
        if not 0.0 <= self.min_packet_bits <= self.max_packet_bits <= self.arrival.burst_bits:
            raise BoundsError(
                f"flow {self.name!r} has packets of {self.min_packet_bits:g} to "
                f"{self.max_packet_bits:g} b and bursts of {self.arrival.burst_bits:g} b; the shortest "
                "is no longer than the longest, which fits the burst"
            )

    @property
    def coming(self) -> Arrival:
        """Arrival curve at the first queue, where packets may come closer together than they are made."""
        return self.arrival.advanced(self.late_s)


@dataclass(frozen=True)
class Network:
    """Servers and flows by name, checked: paths exist and no flows wait for each other in a ring."""

    servers: Mapping[str, Server]
    flows: Mapping[str, Flow]
    order: tuple[str, ...]

    def in_order(self, flow: Flow) -> bool:
        """Whether every server of a flow's path serves each class first come, first served."""
        return all(self.servers[name].keeps_order for name in flow.path)

    @property
    def features(self) -> tuple[str, ...]:
        """What bounds of this network account for: packets, links, copies, schedulers."""
        flows, servers = self.flows.values(), self.servers.values()
        packets = any(flow.max_packet_bits > 0.0 for flow in flows)
        found = {
            "packetised": packets,
            "non-preemptive": packets,
            "cut-through": packets and any(each.header_bits is not None for each in servers),
            "line shaping": any(each.line_rate_bps is not None for each in servers),
            "multicast": any(flow.multicast is not None for flow in flows),
        }
        names = sorted({server.scheduler.name for server in servers})
        return (*(name for name, there in found.items() if there), *names)


_T = TypeVar("_T", Server, Flow)


def network(servers: Iterable[Server], flows: Iterable[Flow]) -> Network:
    """The network of these servers and flows.

    Raises
    ------
    BoundsError
        A name is used twice, a path names no server, copies differ, or servers form a cycle.
    """
    by_name = _named("server", servers)
    flow_by_name = _named("flow", flows)
    for flow in flow_by_name.values():
        _check(flow, by_name)
    _check_copies(flow_by_name.values())
    return Network(by_name, flow_by_name, _order(by_name, flow_by_name.values()))


def _named(what: str, items: Iterable[_T]) -> dict[str, _T]:
    found: dict[str, _T] = {}
    for item in items:
        if item.name in found:
            raise BoundsError(f"{what} {item.name!r} is there twice; give each a name of its own")
        found[item.name] = item
    return found


def _check(flow: Flow, servers: Mapping[str, Server]) -> None:
    for name in flow.path:
        if name not in servers:
            raise BoundsError(
                f"flow {flow.name!r} passes {name!r}, which is no server; add it or mend the path"
            )
        if not servers[name].scheduler.serves(flow.traffic_class):
            raise BoundsError(
                f"flow {flow.name!r} of class {flow.traffic_class} passes {name!r}, whose "
                f"{servers[name].scheduler.name} has nothing for that class; give it a share above 0"
            )
        if servers[name].gap_bits > flow.min_packet_bits:
            raise BoundsError(
                f"flow {flow.name!r} has packets of {flow.min_packet_bits:g} b, and the gap at {name!r} "
                f"that is part of each has {servers[name].gap_bits:g} b; give longer packets or no gap"
            )


def _check_copies(flows: Iterable[Flow]) -> None:
    first: dict[str, Flow] = {}
    for flow in flows:
        if flow.multicast is None:
            continue
        other = first.setdefault(flow.multicast, flow)
        same = replace(other, name=flow.name, path=flow.path)
        if flow != same:
            raise BoundsError(
                f"flows {other.name!r} and {flow.name!r} are copies of {flow.multicast!r} and differ in "
                "arrival curve, class or packets; make them alike or no copies"
            )


def senders(servers: Iterable[str], flows: Iterable[Flow]) -> dict[str, set[str]]:
    """By server those that send to it."""
    before: dict[str, set[str]] = {name: set() for name in servers}
    for path in {flow.path for flow in flows}:
        for sender, receiver in pairwise(path):
            before.setdefault(receiver, set()).add(sender)
    return before


def _order(servers: Mapping[str, Server], flows: Iterable[Flow]) -> tuple[str, ...]:
    """Servers so that each comes after all that send to it."""
    try:
        return tuple(TopologicalSorter(senders(servers, flows)).static_order())
    except CycleError as error:
        ring = " -> ".join(error.args[1])
        raise BoundsError(
            f"flows go round in a cycle of servers, {ring}, where each waits for the others; route a "
            "flow otherwise, or ask for cycles by a fixed point"
        ) from None
