"""Worst-case bounds of a system: producers become arrival curves, ports become servers.

The bound of a stream is that of its packets in the network, given that its producer keeps its period,
and what its hosts take at most by measurement: the greatest latency its dataset has of such a stream
alone, less theory's least time of the frame, which the network's bound has in it.  So it rests on
measurement; where the dataset has no greatest latency, the bound is of the network alone and says so.
What a host may hold back comes in the network as much closer together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from icmodel.errors import BoundsError
from icmodel.estimate import Estimate
from icmodel.system import bounds
from icmodel.system.network import Stream, Switch, System
from icmodel.system.packing import Packing, interval_s, stream_arrival_curve
from icmodel.system.prediction.result import LatencyBound
from icmodel.system.schedulers import Dscp

MEASURED = "hosts as far as measured"
NETWORK = "the network without its hosts"
PERIODS = "producers that keep their period"
REFUSE, FIXED_POINT = CYCLES = ("refuse", "fixed-point")
"""What is done where streams wait for each other in a cycle: no bound, or one by a fixed point."""
EVERY_METHOD = 500
"""Streams up to which all analyses are tried; of more only total flow, which takes the least time."""
AT_ITS_FIRST_BIT = 0.0
"""Bits of a packet after which a cut-through switch passes it on: its latency has what it must read first (RFC 1242)."""


def hosts_s(greatest: Estimate, network_s: float) -> float | None:
    """The most that the hosts of a stream add to its way [s]; ``None`` where no greatest latency is known.

    Parameters
    ----------
    greatest : Estimate
        The greatest latency of the stream alone, as its dataset has it [s].
    network_s : float
        What of the network is in that latency at least [s].
    """
    if greatest.absent or not math.isfinite(greatest.high):
        return None
    return max(greatest.high - network_s, 0.0)


@dataclass(frozen=True, slots=True)
class Bounded:
    """Bounds of streams and of what queues at ports, by name; why there are none of some.

    ``network`` are the bounds of streams' packets in the network, ``hosts_s`` what their hosts add at most, as
    far as that is known.
    """

    network: Mapping[str, bounds.Bound]
    backlog_bytes: Mapping[str, float]
    hosts_s: Mapping[str, float]
    why: str = ""

    def of(self, stream: Stream) -> LatencyBound | None:
        """The bound of one stream [s], with its hosts where they are known."""
        bound, late_s = self.network.get(stream.name), self.hosts_s.get(stream.name)
        if bound is None or not math.isfinite(bound.value_s):
            return None
        covers = (*bound.covers, PERIODS, NETWORK if late_s is None else MEASURED)
        return LatencyBound(bound.value_s + (late_s or 0.0), bound.method, covers)


def bounded(
    system: System, packed: Packing, late_s: Mapping[str, float], cycles: str = REFUSE
) -> Bounded:
    """The bounds of all streams and ports; none, with the reason, where the network has no bound.

    Parameters
    ----------
    late_s : mapping
        By stream the most that its hosts add [s]; others are taken to add nothing.
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
        found = _opened(system, packed, late_s, cycles)
    except BoundsError as error:
        return Bounded({}, {}, {}, str(error))
    methods = bounds.METHODS if len(system.streams) <= EVERY_METHOD else ("total flow",)
    backlogs = found.backlogs_bits().items()
    queued = {name: bits / 8 for name, bits in backlogs if math.isfinite(bits)}
    return Bounded(found.bounds(methods), queued, late_s)


def _opened(
    system: System, packed: Packing, late_s: Mapping[str, float], cycles: str
) -> bounds.FeedForward:
    """The network of a system whose streams merge no more frames than may wait together.

    Frames of a stream wait together only if one of them is still on its way when the next is handed over. As long as
    none have, none are merged; so where the bound that this gives is no more than the time between them, none
    ever are. Of many streams all are taken to wait but those that even so do not, which takes two rounds.
    """
    servers = list(_servers(system, packed))
    merging = {one.name: one for one in _merging(system, packed)}

    def network(waiting: Collection[str]) -> bounds.FeedForward:
        flows = list(_flows(system, packed, late_s, waiting))
        if cycles == FIXED_POINT:
            return bounds.cyclic_fixed_point(servers, flows)
        return bounds.feed_forward(bounds.network(servers, flows))

    def late(found: bounds.FeedForward) -> set[str]:
        delays = found.bounds(("total flow",)) if merging else {}
        return {
            name
            for name, one in merging.items()
            if delays[name].value_s + late_s.get(name, 0.0) > interval_s(one)
        }

    if merging and len(system.streams) > EVERY_METHOD:
        return network(late(network(merging)))
    waiting: set[str] = set()
    while more := late(found := network(waiting)) - waiting:
        waiting |= more
    return found


def _merging(system: System, packed: Packing) -> Iterator[Stream]:
    """Streams whose packets are others where frames wait together."""
    for stream in system.streams.values():
        each = (packed.of(stream, link) for link in system.links_of(stream))
        if any(on.apart != on.waiting for on in each):
            yield stream


def _servers(system: System, packed: Packing) -> Iterator[bounds.Server]:
    """The server of each port, whose packets have the gap of its link."""
    for name, streams in system.streams_by_port().items():
        port = system.ports[name]
        if isinstance(port.scheduler, Dscp):
            raise BoundsError(
                "DSCP as it was measured promises no class anything: take strict-priority, wrr, drr or cbs "
                "for a bound"
            )
        link, peer = system.links[port.link], system.node(port.peer)
        behind = peer.latency_s if isinstance(peer, Switch) else 0.0
        through = isinstance(peer, Switch) and peer.forwarding == "cut-through"
        yield bounds.port(
            name,
            port.rate_bps,
            port.scheduler,
            delay_s=link.delay_s + behind,
            header_bits=AT_ITS_FIRST_BIT if through else None,
            gap_bits=max((packed.of(one, link).gap_bits for one in streams), default=0.0),
        )


def _flows(
    system: System, packed: Packing, late_s: Mapping[str, float], waiting: Collection[str]
) -> Iterator[bounds.Flow]:
    """The flow of each stream, of some with frames that wait together; copies of a multicast set are the same packets."""
    for sent_as, copies in system.multicast_sets().items():
        each = [packed.of(one, link) for one in copies for link in system.links_of(one)]
        together = any(one.name in waiting for one in copies)
        sizes = [on.waiting if together else on.apart for on in each]
        longest = max(one.longest_bits for one in sizes)
        line_bps = max(system.ports[one.path[0]].rate_bps for one in copies)
        for one in copies:
            yield bounds.Flow(
                name=one.name,
                path=one.path,
                arrival=stream_arrival_curve(one, each, longest, line_bps),
                traffic_class=one.priority,
                max_packet_bits=longest,
                min_packet_bits=min(of.shortest_bits for of in sizes),
                multicast=None if one.multicast is None else "/".join(sent_as),
                mean_packet_bits=min(of.mean_bits for of in sizes),
                lacking_bits=max(of.lacking_bits for of in sizes),
                release_jitter_s=max(late_s.get(copy.name, 0.0) for copy in copies),
            )
