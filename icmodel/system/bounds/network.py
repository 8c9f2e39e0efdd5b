"""Networks for worst-case bounds: servers, and flows that pass servers in series.

A server is a port: one direction of a link, where packets queue. Units are bits, bits per second and
seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TypeVar

from icmodel.errors import BoundsError
from icmodel.system.bounds.curves import ArrivalCurve, ServiceCurve, rate_latency
from icmodel.system.bounds.schedulers import Arbitrary, Scheduler, pauses
from icmodel.system.schedulers import Fifo


@dataclass(frozen=True)
class Server:
    """Server of queued packets: a port (one direction of a link), or anything else that serves a queue.

    Attributes
    ----------
    service
        Strict service curve for all flows together. For a port: rate-latency curve with the line rate as rate, and
        the longest pause before the port sends as latency. Rate and latency may also come from measurements, if they
        held for every measured packet; the bounds then hold only as far as the measurements.
    scheduler
        Order of service; first come, first served by default.
    line_rate_bps
        Rate at which bits leave [b/s]. It limits the traffic behind this server. It also gives the transmission time
        of a packet, which is sent without a pause once it has begun. None: the rate is unknown, so bounds assume
        neither a limit of this traffic nor a transmission time.
    header_bits
        Header size: number of bits after which a cut-through switch behind the link forwards a packet. If the
        outgoing line of the switch is faster, the switch stores the packet first. None: the switch stores
        every packet.
    delay_s
        Time of every packet from this server to the next queue, or to the end of the path: propagation and
        switching.
    gap_bits
        Gap at the end of each packet. The line needs the gap before the next packet, but no receiver waits
        for the gap.

    Raises
    ------
    BoundsError
        If the rate of ``service`` exceeds ``line_rate_bps``. Also if ``scheduler`` is a shaper (or another scheduler
        that pauses while packets wait), and the two rates differ.
    """

    name: str
    service: ServiceCurve
    scheduler: Scheduler = field(default_factory=Fifo)
    line_rate_bps: float | None = None
    header_bits: float | None = None
    delay_s: float = 0.0
    gap_bits: float = 0.0

    def __post_init__(self) -> None:
        line = self.line_rate_bps
        if line is not None and not line >= self.service.rate_bps:
            raise BoundsError(
                f"server {self.name!r} has a service of {self.service.rate_bps:g} b/s, more than its line of {line:g} b/s; "
                "give a line at least as fast as the service"
            )
        if pauses(self.scheduler) and line is not None and line > self.service.rate_bps:
            raise BoundsError(
                f"server {self.name!r} has a {self.scheduler.name}, which must serve at the line rate, "
                f"but its service is {self.service.rate_bps:g} b/s on a line of {line:g} b/s; give a "
                "service at the line rate"
            )

    @property
    def is_fifo(self) -> bool:
        """Whether the server serves each traffic class first come, first served."""
        return not isinstance(self.scheduler, Arbitrary)

    def packet_s(self, bits: float) -> float:
        """Transmission time of a packet of some bits at the line rate [s]; 0 if the line rate is unknown."""
        return bits / self.line_rate_bps if self.line_rate_bps else 0.0

    def cuts_through(self, following: Server | None) -> bool:
        """Whether the switch between this server and ``following`` forwards a packet before it is complete."""
        if self.header_bits is None or following is None:
            return False
        rate_in, rate_out = self.line_rate_bps, following.line_rate_bps
        return rate_in is not None and rate_out is not None and rate_out <= rate_in

    def forwarding_bits(self, bits: float, following: Server | None) -> float:
        """Bits of a packet that this server must send before the packet counts as arrived at the next server.

        The result is the whole packet, or only its header if the switch behind the link cuts through.
        """
        if self.header_bits is None or not self.cuts_through(following):
            return bits
        return min(self.header_bits, bits)

    def forwarding_s(self, following: Server | None) -> float:
        """Time from the transmission at this server until the packet is in the next queue or at the receiver [s].

        If a switch with cut-through forwarding follows, the time counts from the end of the header's transmission. It
        is ``delay_s``, the time for propagation and switching. Otherwise it counts from the end of the gap after the
        whole packet. The packet is received before the gap, so the time is ``delay_s`` minus the length of the gap.
        """
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
    """Make the server for one direction of a link, which sends whenever packets wait.

    Parameters
    ----------
    line_rate_bps
        Rate of the link [b/s].
    scheduler
        Order of service; first come, first served by default.
    delay_s
        Propagation and switching time of each packet [s].
    pause_s
        Longest pause of the port before it sends [s].
    header_bits, gap_bits
        Header size and gap [b]; see `Server`.

    Examples
    --------
    >>> port("a", 1e9, delay_s=2e-6).packet_s(12304.0)  # Ethernet frame with 1500 B of data: 1538 B with gap
    1.2304e-05
    """
    curve = rate_latency(line_rate_bps, pause_s)
    chosen = Fifo() if scheduler is None else scheduler
    return Server(name, curve, chosen, line_rate_bps, header_bits, delay_s, gap_bits)


@dataclass(frozen=True)
class Flow:
    """Flow: packets that keep to an arrival curve at the first server of their path.

    Attributes
    ----------
    path
        Names of the servers, in order; no name twice.
    arrival
        Arrival curve at the source. A packet counts as a whole.
    traffic_class
        Class of the flow at all schedulers; the greater number has priority.
    max_packet_bits, min_packet_bits
        Longest and shortest packet on the line [b], gap and preamble included. 0: the flow is a fluid.
    multicast
        Name of a multicast set. Flows with the same name are copies of the same packets. They count once
        on the servers that their paths share from the beginning.
    mean_packet_bits, lacking_bits
        Any n consecutive packets have at least ``n * mean - lacking`` bits (a packet curve). 0: only the
        shortest packet is known.
    release_jitter_s
        Greatest delay from the source to the first queue; packets stay in order. Delay bounds count from
        the first queue on.

    Raises
    ------
    BoundsError
        If the path is empty or names a server twice, if the shortest packet is longer than the longest, or if the
        longest packet is longer than the burst of ``arrival``.
    """

    name: str
    path: tuple[str, ...]
    arrival: ArrivalCurve
    traffic_class: int = 0
    max_packet_bits: float = 0.0
    min_packet_bits: float = 0.0
    multicast: str | None = None
    mean_packet_bits: float = 0.0
    lacking_bits: float = 0.0
    release_jitter_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.path or len(set(self.path)) < len(self.path):
            raise BoundsError(
                f"flow {self.name!r} has the path {' '.join(self.path) or '(empty)'}; name at "
                "least one server, and none twice"
            )
        if not 0.0 <= self.min_packet_bits <= self.max_packet_bits <= self.arrival.burst_bits:
            raise BoundsError(
                f"flow {self.name!r} has packets of {self.min_packet_bits:g} to "
                f"{self.max_packet_bits:g} b and bursts of {self.arrival.burst_bits:g} b; give a longest "
                "packet that fits the burst, and a shortest packet that is no longer than the longest"
            )

    @property
    def arrival_at_first_server(self) -> ArrivalCurve:
        """Arrival curve of the flow at its first queue.

        Release jitter is a varying delay before this queue. So packets may come closer together than at the source.
        """
        return self.arrival.deconvolve_delay(self.release_jitter_s)


@dataclass(frozen=True)
class Network:
    """Feed-forward network (without cycles): servers and flows by name, as checked by `network`.

    Attributes
    ----------
    order
        Names of the servers; each server comes after all servers that send to it.
    """

    servers: Mapping[str, Server]
    flows: Mapping[str, Flow]
    order: tuple[str, ...]

    def is_fifo(self, flow: Flow) -> bool:
        """Whether every server of a flow's path serves each class first come, first served."""
        return all(self.servers[name].is_fifo for name in flow.path)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that bounds of this network account for, such as ``cut-through`` or ``multicast``."""
        flows, servers = self.flows.values(), self.servers.values()
        packets = any(flow.max_packet_bits > 0.0 for flow in flows)
        present = {
            "packetised": packets,
            "non-preemptive": packets,
            "cut-through": packets and any(each.header_bits is not None for each in servers),
            "line shaping": any(each.line_rate_bps is not None for each in servers),
            "multicast": any(flow.multicast is not None for flow in flows),
        }
        names = sorted({server.scheduler.name for server in servers})
        return (*(name for name, there in present.items() if there), *names)


_T = TypeVar("_T", Server, Flow)


def network(servers: Iterable[Server], flows: Iterable[Flow]) -> Network:
    """Check servers and flows, and make a feed-forward network of them.

    Raises
    ------
    BoundsError
        If a name is used twice, a path names an unknown server or one that cannot carry the flow's packets, copies
        of a multicast differ, or servers form a cycle.

    Examples
    --------
    >>> from icmodel.system.bounds import token_bucket
    >>> network([port("b", 1e9), port("a", 1e9)], [Flow("f", ("a", "b"), token_bucket(1e4, 1e6))]).order
    ('a', 'b')
    """
    server_of, flow_of = _by_name("server", servers), _by_name("flow", flows)
    first: dict[str, Flow] = {}
    for flow in flow_of.values():
        _check_path(flow, server_of)
        if flow.multicast is None:
            continue
        other = first.setdefault(flow.multicast, flow)
        if flow != replace(other, name=flow.name, path=flow.path):
            raise BoundsError(
                f"flows {other.name!r} and {flow.name!r} are copies of {flow.multicast!r} and differ in "
                "arrival curve, class or packets; give both flows the same, or different multicast names"
            )
    try:
        order = TopologicalSorter(senders(server_of, flow_of.values())).static_order()
        return Network(server_of, flow_of, tuple(order))
    except CycleError as error:
        cycle = " -> ".join(error.args[1])
        raise BoundsError(
            f"flows form a cycle of servers, {cycle}, so each delay depends on itself; give a flow "
            "another route, or bound its delay by a fixed point (cyclic_fixed_point)"
        ) from None


def _by_name(what: str, items: Iterable[_T]) -> dict[str, _T]:
    by_name: dict[str, _T] = {}
    for item in items:
        if item.name in by_name:
            raise BoundsError(f"{what} {item.name!r} occurs twice; give each a different name")
        by_name[item.name] = item
    return by_name


def _check_path(flow: Flow, servers: Mapping[str, Server]) -> None:
    """Raise BoundsError if a server on the path is missing, or cannot carry the flow's packets."""
    for name in flow.path:
        if name not in servers:
            raise BoundsError(
                f"flow {flow.name!r} passes {name!r}, which is not a server; add the server or correct the path"
            )
        if not servers[name].scheduler.serves(flow.traffic_class):
            raise BoundsError(
                f"flow {flow.name!r} of class {flow.traffic_class} passes {name!r}, whose "
                f"{servers[name].scheduler.name} does not serve that class; give the class a share above 0"
            )
        if servers[name].gap_bits > flow.min_packet_bits:
            raise BoundsError(
                f"flow {flow.name!r} has packets of {flow.min_packet_bits:g} b including their gap, but the gap at "
                f"{name!r} alone has {servers[name].gap_bits:g} b; give longer packets or no gap"
            )


def senders(servers: Iterable[str], flows: Iterable[Flow]) -> dict[str, set[str]]:
    """Map the name of each server to the names of the servers that send to it."""
    before: dict[str, set[str]] = {name: set() for name in servers}
    for path in {flow.path for flow in flows}:
        for sender, receiver in pairwise(path):
            before.setdefault(receiver, set()).add(sender)
    return before
