"""Worst-case bounds of a system: producers become arrival curves, ports become servers.

The bound of a stream is that of its packets in the network, given that its producer keeps its period,
and what its hosts take at most by measurement: the greatest latency its dataset has of such a stream
alone, less theory's least time of the frame, which the network's bound has in it.  So it rests on
measurement; where the dataset has no greatest latency, the bound is of the network alone and says so.
What a host may delay by more than at least comes in the network as much closer together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from icmodel.errors import BoundsError
from icmodel.estimate import Estimate
from icmodel.system import bounds
from icmodel.system.network import Stream, Switch, System
from icmodel.system.packing import AT_ONCE, Packed, Packing
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


@dataclass(frozen=True, slots=True)
class Hosts:
    """What the hosts of a stream add to its way at least and at most, as far as measured [s]."""

    least_s: float
    greatest_s: float

    @property
    def jitter_s(self) -> float:
        """By how much more one frame may be late than another [s]."""
        return self.greatest_s - self.least_s


def hosts(least: Estimate, greatest: Estimate, network_s: float) -> Hosts | None:
    """The hosts of a stream; ``None`` where no greatest latency is known.

    Parameters
    ----------
    least, greatest : Estimate
        The extreme latencies of the stream alone, as its dataset has them [s].
    network_s : float
        What of the network is in those latencies at least [s].
    """
    if greatest.absent or not math.isfinite(greatest.high):
        return None
    most_s = max(greatest.high - network_s, 0.0)
    known_s = 0.0 if least.absent else least.low - network_s
    return Hosts(min(max(known_s, 0.0), most_s), most_s)


@dataclass(frozen=True, slots=True)
class Bounded:
    """Bounds of streams and of what queues at ports, by name; why there are none of some.

    ``network`` are the bounds of streams' packets in the network.
    """

    network: Mapping[str, bounds.Bound]
    backlog_bytes: Mapping[str, float]
    hosts: Mapping[str, Hosts]
    why: str = ""

    def of(self, stream: Stream) -> LatencyBound | None:
        """The bound of one stream [s], with its hosts where they are known."""
        bound, own = self.network.get(stream.name), self.hosts.get(stream.name)
        if bound is None or not math.isfinite(bound.value_s):
            return None
        scope = NETWORK if own is None else MEASURED
        late_s = 0.0 if own is None else own.greatest_s
        return LatencyBound(bound.value_s + late_s, bound.method, (*bound.covers, PERIODS, scope))


def bounded(
    system: System, packed: Packing, known: Mapping[str, Hosts], cycles: str = REFUSE
) -> Bounded:
    """The bounds of all streams and ports; none, with the reason, where the network has no bound.

    Parameters
    ----------
    known : mapping
        The hosts of streams, by their names; others are taken to add nothing.
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
        servers = list(_servers(system, packed))
        flows = list(_flows(system, packed, known))
        if cycles == FIXED_POINT:
            found = bounds.opened(servers, flows)
        else:
            found = bounds.uncut(bounds.network(servers, flows))
    except BoundsError as error:
        return Bounded({}, {}, {}, str(error))
    methods = bounds.METHODS if len(system.streams) <= EVERY_METHOD else ("total flow",)
    backlogs = found.backlogs_bits().items()
    queued = {name: bits / 8 for name, bits in backlogs if math.isfinite(bits)}
    return Bounded(found.bounds(methods), queued, known)


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


def _flows(system: System, packed: Packing, known: Mapping[str, Hosts]) -> Iterator[bounds.Flow]:
    """The flow of each stream; copies of a multicast set are the same packets."""
    for sent_as, copies in system.copies().items():
        each = [packed.of(one, link) for one in copies for link in system.links_of(one)]
        line_bps = max(system.ports[one.path[0]].rate_bps for one in copies)
        late = [known[one.name].jitter_s for one in copies if one.name in known]
        for one in copies:
            yield bounds.Flow(
                name=one.name,
                path=one.path,
                arrival=arrival(one, each, line_bps),
                traffic_class=one.priority,
                max_packet_bits=max(on.longest_bits for on in each),
                min_packet_bits=min(on.shortest_bits for on in each),
                multicast=None if one.multicast is None else "/".join(sent_as),
                mean_packet_bits=min(on.mean_bits for on in each),
                lacking_bits=max(on.lacking_bits for on in each),
                late_s=max(late, default=0.0),
            )


def arrival(stream: Stream, packed: Sequence[Packed], line_bps: float) -> bounds.Arrival:
    """What a stream hands over within a time, in bits on the line, whatever is merged.

    What is produced at once comes as a message a period. Else frames come evenly: those of a message a period,
    the last of which may be short, or the bytes as full frames. With n frames of f bits of which the last has
    r, no more than ``f + (n - 2)(f - r)/n`` come before the message's own rate. What knows no limit comes at the
    rate of the first link.

    Parameters
    ----------
    packed : sequence of Packed
        The stream on its links.
    line_bps : float
        Rate of its first link [b/s].
    """
    longest = max(on.longest_bits for on in packed)
    frame = max(on.frame.sum_bits for on in packed)
    message = max(max(on.message.sum_bits for on in packed), frame)
    made = stream.producer
    at_once = made is not None and made.kind in AT_ONCE
    burst = max(message if at_once else frame, longest)
    paced = 0.0 if stream.paced_fps is None else frame * stream.paced_fps
    if made is None:
        return bounds.token_bucket(burst, paced or line_bps)
    if at_once:
        return bounds.token_bucket(burst, max(message / made.period_s, paced))
    if paced:
        return bounds.token_bucket(burst, paced)
    frames = made.message_bytes / stream.payload_bytes
    number = max(math.ceil(frames), 1)
    before = max(number - 2, 0) * (number * frame - message) / number
    steady = max(message, frame * frames) / made.period_s
    return bounds.arrival(
        (
            bounds.TokenBucket(burst, number * frame / made.period_s),
            bounds.TokenBucket(burst + before, steady),
        )
    )
