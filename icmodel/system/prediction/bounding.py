"""Worst-case bounds of a system: producers become arrival curves, ports become servers.

The bound of a stream is that of its packets in the network, given that its producer keeps its period,
and what its hosts take at most by measurement: the greatest latency its dataset has of such a stream
alone, less theory's least time of the frame, which the network's bound has in it.  So it rests on
measurement; where the dataset has no greatest latency, the bound is of the network alone and says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from icmodel.errors import BoundsError
from icmodel.estimate import Estimate
from icmodel.system import bounds
from icmodel.system.network import Link, Port, Stream, Switch, System
from icmodel.system.packing import Packing
from icmodel.system.prediction.queues import burst_bytes
from icmodel.system.prediction.result import LatencyBound
from icmodel.system.schedulers import Dscp

MEASURED = "hosts as far as measured"
NETWORK = "the network without its hosts"
PERIODS = "producers that keep their period"
REFUSE, FIXED_POINT = CYCLES = ("refuse", "fixed-point")
"""What is done where streams wait for each other in a cycle: no bound, or one by a fixed point."""
EVERY_METHOD = 500
"""Streams up to which all analyses are tried; of more only total flow, which takes the least time."""
HEADER_BITS = 8 * (8 + 14)
"""Preamble and header, after which a cut-through switch knows where a packet goes."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """Bounds of streams and of what queues at ports, by name; why there are none of some.

    ``network_s`` is the bound of a stream's packets in the network.
    """

    network: Mapping[str, bounds.Bound]
    backlog_bytes: Mapping[str, float]
    why: str = ""

    def of(self, stream: Stream, greatest: Estimate, least_s: float) -> LatencyBound | None:
        """The bound of one stream [s].

        Parameters
        ----------
        greatest : Estimate
            The greatest latency of the stream alone, as its dataset has it.
        least_s : float
            What of the network is in that latency at least.
        """
        bound = self.network.get(stream.name)
        if bound is None or not math.isfinite(bound.value_s):
            return None
        covers = (*bound.covers, PERIODS)
        if greatest.absent or not math.isfinite(greatest.high):
            return LatencyBound(bound.value_s, bound.method, (*covers, NETWORK))
        hosts = max(greatest.high - least_s, 0.0)
        return LatencyBound(bound.value_s + hosts, bound.method, (*covers, MEASURED))


def bounded(system: System, packed: Packing, cycles: str = REFUSE) -> Bounded:
    """The bounds of all streams and ports; none, with the reason, where the network has no bound.

    Parameters
    ----------
    cycles : str
        What to do where streams wait for each other in a cycle, one of `CYCLES`.

    Raises
    ------
    BoundsError
        If ``cycles`` is none of them.
    """
    if cycles not in CYCLES:
        raise BoundsError(f"cycles are {cycles!r}: take one of {', '.join(CYCLES)}")
    try:
        servers = [_server(system, port) for port in system.ports.values()]
        flows = [_flow(system, packed, stream) for stream in system.streams.values()]
        if cycles == FIXED_POINT:
            found = bounds.opened(servers, flows)
        else:
            found = bounds.uncut(bounds.network(servers, flows))
    except BoundsError as error:
        return Bounded({}, {}, str(error))
    methods = bounds.METHODS if len(system.streams) <= EVERY_METHOD else ("total flow",)
    backlogs = found.backlogs_bits().items()
    known = {name: bits / 8 for name, bits in backlogs if math.isfinite(bits)}
    return Bounded(found.bounds(methods), known)


def _server(system: System, port: Port) -> bounds.Server:
    if isinstance(port.scheduler, Dscp):
        raise BoundsError(
            "DSCP as it was measured promises no class anything: take strict-priority, wrr, drr or cbs "
            "for a bound"
        )
    link, peer = system.links[port.link], system.node(port.peer)
    behind = peer.latency_s if isinstance(peer, Switch) else 0.0
    through = isinstance(peer, Switch) and peer.forwarding == "cut-through"
    return bounds.port(
        port.name,
        port.rate_bps,
        port.scheduler,
        delay_s=link.delay_s + behind,
        header_bits=HEADER_BITS if through and _one_rate(system, link) else None,
    )


def _one_rate(system: System, link: Link) -> bool:
    """Whether every link is as fast as this one, so that a packet can be cut through."""
    return all(other.rate_bps == link.rate_bps for other in system.links.values())


def _flow(system: System, packed: Packing, stream: Stream) -> bounds.Flow:
    """Messages or frames every period; what knows no limit comes at the rate of its first link."""
    frames = [packed.of(stream, link) for link in system.links_of(stream)]
    ratio, packet = (max(getattr(one, name) for one in frames) for name in ("ratio", "packet_bits"))
    first = system.ports[stream.path[0]].rate_bps
    burst = max(burst_bytes(stream) * 8 * ratio, packet)
    rate = min(stream.requested_goodput_bps * ratio, first)
    return bounds.Flow(
        name=stream.name,
        path=stream.path,
        arrival=bounds.token_bucket(burst, rate),
        traffic_class=stream.priority,
        max_packet_bits=packet,
        min_packet_bits=min(packet, min(one.packet_bits for one in frames)),
        multicast=None if stream.multicast is None else "/".join(stream.sent_as),
    )
