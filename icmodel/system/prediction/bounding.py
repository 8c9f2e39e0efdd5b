"""Worst-case bounds of a system by network calculus: streams become arrival curves, and ports become servers.

A latency bound is the sum of a bound of the network and the greatest times of both hosts. It holds for all packets of a
stream, if its producer (such as a camera) keeps the period that the file states. A host that states its latency counts
with its greatest stated time. For other hosts, a measured time counts: the greatest latency without other traffic,
minus the least time of the measured network. If no greatest latency was measured, the bound covers only the network and
the stated times. `LatencyBound.covers` lists what a bound covers. A host may hold frames back, and then send them
closer together than the period; the arrival curves include this.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from icmodel.errors import BoundsError
from icmodel.estimate import Estimate
from icmodel.system import bounds
from icmodel.system.network import Stream, Switch, System
from icmodel.system.prediction.answers import Answers
from icmodel.system.prediction.path_times import PathTimes
from icmodel.system.prediction.result import GREATEST_LATENCY, LatencyBound
from icmodel.system.prediction.stated import StatedTimes
from icmodel.system.schedulers import Dscp
from icmodel.system.traffic import Packed, Packing

MEASURED = "hosts as far as measured"
STATED = "hosts as stated"
NETWORK = "the network without its hosts"
PERIODS = "producers that keep their period"
REFUSE, FIXED_POINT = CYCLES = ("refuse", "fixed-point")
"""Treatment of streams that wait for each other in a cycle: no bound, or a bound by a fixed point."""
EVERY_METHOD = 500
"""Greatest number of streams for which all methods of analysis are used.

Larger systems use only total flow analysis, the fastest method.
"""
AT_ITS_FIRST_BIT = 0.0
"""Bits of a packet that a cut-through switch receives before it forwards the packet.

The switch's latency already includes the time to read the header (RFC 1242).
"""


@dataclass(frozen=True, slots=True)
class HostTimes:
    """Greatest times that the hosts at both ends of a stream add to its latency.

    Parameters
    ----------
    most_s : mapping
        Name of a stream -> sum of the greatest times of both hosts [s]. A host of unknown time counts as 0 s; a stream
        whose hosts are both unknown is left out.
    jitter_s : mapping
        Name of a stream -> greatest delay minus least delay of a frame at the source, before the network [s].
    covers : mapping
        Name of a stream -> host times that the stream's latency bound includes, as text: ``hosts as stated`` or
        ``hosts as far as measured``. A stream with a host of unknown time is left out.
    """

    most_s: Mapping[str, float] = field(default_factory=dict)
    jitter_s: Mapping[str, float] = field(default_factory=dict)
    covers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorstCase:
    """Worst-case bounds of a system: latency of each stream, and queue at each port.

    Parameters
    ----------
    network : mapping
        Name of a stream -> latency bound of its packets in the network, without hosts.
    backlog_bytes : mapping
        Name of a port -> greatest queue [B].
    hosts : HostTimes
        Greatest times of the hosts.
    why : str
        Reason why the system has no bounds at all; empty if it has bounds.
    """

    network: Mapping[str, bounds.Bound]
    backlog_bytes: Mapping[str, float]
    hosts: HostTimes
    why: str = ""

    def of(self, name: str) -> LatencyBound | None:
        """Latency bound of the named stream [s], hosts included if known; ``None`` if there is no bound."""
        bound, hosts = self.network.get(name), self.hosts
        if bound is None or not math.isfinite(bound.value_s):
            return None
        hosts_s = hosts.most_s.get(name, 0.0)
        covers = (*bound.covers, PERIODS, hosts.covers.get(name, NETWORK))
        return LatencyBound(
            bound.value_s + hosts_s,
            bound.method,
            covers,
            network_s=bound.value_s,
            hosts_s=hosts_s,
        )


NOT_REQUESTED = WorstCase({}, {}, HostTimes(), "bounds were not requested")


def host_times(
    stated: Sequence[StatedTimes], alone: Answers, paths: Sequence[PathTimes]
) -> HostTimes:
    """Find the greatest times that hosts add to each stream's latency: stated by devices, or measured in a dataset.

    A dataset has one measured time for both hosts together. The source may cause any part of it, from nothing to all.
    So if the source states no latency, its jitter is the whole measured time. If only one of the two devices states
    its latency, the whole measured time counts for the other device.
    """
    most_s, jitter_s, covers = {}, {}, {}
    for index, times in enumerate(stated):
        name, sender = times.stream.name, times.devices.get("send")
        greatest = alone.estimate(GREATEST_LATENCY, index)
        measured_s = host_latency_s(greatest, paths[index].contained_s)
        if times.devices:
            most_s[name] = times.most_s
        if times.both and math.isfinite(times.stream.requested_goodput_bps):
            covers[name] = (
                STATED  # no time is stated for the buffers that an unlimited sender fills
            )
        elif measured_s is not None:
            most_s[name] = most_s.get(name, 0.0) + measured_s
            covers[name] = MEASURED
        if sender is not None and sender.latency_s is not None:
            least, most = sender.latency_s
            jitter_s[name] = most - least
        elif measured_s is not None:
            jitter_s[name] = measured_s
    return HostTimes(most_s, jitter_s, covers)


def host_latency_s(greatest: Estimate, network_s: float) -> float | None:
    """Greatest time that both hosts of a stream add to its latency [s]: ``max(greatest.high - network_s, 0)``.

    The result is ``None`` if ``greatest`` is absent, or its high end is infinite.

    Parameters
    ----------
    greatest : Estimate
        Greatest latency of the stream alone, from its dataset [s].
    network_s : float
        Least time that the network contributes to ``greatest`` [s].
    """
    if greatest.absent or not math.isfinite(greatest.high):
        return None
    return max(greatest.high - network_s, 0.0)


def worst_case(
    system: System, packets: Packing, hosts: HostTimes, cycles: str = REFUSE
) -> WorstCase:
    """Compute bounds of all streams and ports; without bounds, the result states the reason.

    Parameters
    ----------
    hosts : HostTimes
        Greatest times of the hosts. If a stream is not listed, its hosts add nothing.
    cycles : str
        Treatment of streams that wait for each other in a cycle, one of `CYCLES`.

    Raises
    ------
    BoundsError
        If ``cycles`` is not one of `CYCLES`.
    """
    if cycles not in CYCLES:
        raise BoundsError(f"cycles = {cycles!r} is unknown: use one of {', '.join(CYCLES)}")
    try:
        network = _network_of(system, packets, hosts, cycles)
    except BoundsError as error:
        return WorstCase({}, {}, HostTimes(), str(error))
    methods = bounds.METHODS if len(system.streams) <= EVERY_METHOD else ("total flow",)
    backlogs = network.backlogs_bits().items()
    backlog_bytes = {name: bits / 8 for name, bits in backlogs if math.isfinite(bits)}
    return WorstCase(network.bounds(methods), backlog_bytes, hosts)


def _network_of(
    system: System, packets: Packing, hosts: HostTimes, cycles: str
) -> bounds.FeedForward:
    """Make the network of servers and flows for the bounds.

    TCP may merge frames that wait together, which changes their packets. Frames of a stream wait together only if one
    of them is still on its path when the next is sent. So if the delay bound of a stream is at most the time between
    its frames, they are not merged.

    The first round computes the bounds without merging. Each further round merges the frames of all streams whose bound
    has exceeded the time between their frames, and computes the bounds again. The rounds end when no further bound
    exceeds this time. A system with more than `EVERY_METHOD` streams has only two rounds. The first merges the frames
    of all streams, the second only the frames of the streams whose bound exceeded this time in the first.
    """
    servers = list(_servers(system, packets))
    merging = {}  # names of streams whose packets differ if frames wait together
    for name, stream in system.streams.items():
        each = [packets.of(stream, link) for link in system.links_of(stream)]
        if any(on.apart != on.waiting for on in each):
            merging[name] = stream

    def network(waiting: Collection[str]) -> bounds.FeedForward:
        flows = list(_flows(system, packets, hosts.jitter_s, waiting))
        if cycles == FIXED_POINT:
            return bounds.cyclic_fixed_point(servers, flows)
        return bounds.feed_forward(bounds.network(servers, flows))

    def late(found: bounds.FeedForward) -> set[str]:
        delays = found.bounds(("total flow",)) if merging else {}
        return {
            name
            for name, stream in merging.items()
            if delays[name].value_s + hosts.most_s.get(name, 0.0) > stream.interval_s
        }

    if merging and len(system.streams) > EVERY_METHOD:
        return network(late(network(merging)))
    waiting: set[str] = set()
    while more := late(found := network(waiting)) - waiting:
        waiting |= more
    return found


def _servers(system: System, packets: Packing) -> Iterator[bounds.Server]:
    """Yield a server of network calculus for each port, with the delay of the port's link and the gap between packets.

    The delay includes the latency of the switch behind the link. A switch between links of different interconnects cuts
    data into new packets. Such a switch counts as store-and-forward, even if the file calls it cut-through.
    """
    kinds: dict[str, set[str]] = {}
    for link in system.links.values():
        for end in link.ends:
            kinds.setdefault(end, set()).add(link.interconnect)
    for name, streams in system.streams_by_port().items():
        port = system.ports[name]
        if isinstance(port.scheduler, Dscp):
            raise BoundsError(
                "the scheduler dscp guarantees no rate to any class, so delays have no bound: "
                "use strict-priority, wrr, drr or cbs"
            )
        link, peer = system.links[port.link], system.node(port.peer)
        behind = peer.latency_s if isinstance(peer, Switch) else 0.0
        through = isinstance(peer, Switch) and peer.forwarding == "cut-through"
        through = through and len(kinds[port.peer]) == 1
        yield bounds.port(
            name,
            port.rate_bps,
            port.scheduler,
            delay_s=link.delay_s + behind,
            header_bits=AT_ITS_FIRST_BIT if through else None,
            gap_bits=max((packets.of(stream, link).gap_bits for stream in streams), default=0.0),
        )


def whole_bits(on: Packed) -> float:
    """Greatest number of bits that a switch collects before it sends them on in packets of another size [b].

    Such a switch is between two interconnects. It collects a frame, or a whole message if the message's frames may be
    merged. The result is 0 if frame and message are single packets.
    """
    if max(on.frame.number, on.message.number) == 1:
        return 0.0
    return on.frame.sum_bits if on.merged is on.message else on.message.sum_bits


def _flows(
    system: System, packets: Packing, jitter_s: Mapping[str, float], waiting: Collection[str]
) -> Iterator[bounds.Flow]:
    """Yield a flow of network calculus for each stream; flows of a multicast set are marked as copies.

    Parameters
    ----------
    jitter_s : mapping
        Name of a stream -> greatest difference between two delays at its source [s].
    waiting : collection of str
        Names of the streams whose frames may wait together at the sender, and so be merged into common packets.
    """
    for multicast_key, copies in system.multicast_sets().items():
        each = [packets.of(copy, link) for copy in copies for link in system.links_of(copy)]
        together = any(copy.name in waiting for copy in copies)
        sizes = [on.waiting if together else on.apart for on in each]
        longest = max(size.longest_bits for size in sizes)
        if any(on is not each[0] for on in each):
            longest = max(longest, *(whole_bits(on) for on in each))
        line_bps = max(system.ports[copy.path[0]].rate_bps for copy in copies)
        for copy in copies:
            yield bounds.Flow(
                name=copy.name,
                path=copy.path,
                arrival=stream_arrival_curve(copy, each, longest, line_bps),
                traffic_class=copy.priority,
                max_packet_bits=longest,
                min_packet_bits=min(size.shortest_bits for size in sizes),
                multicast=None if copy.multicast is None else "/".join(multicast_key),
                mean_packet_bits=min(size.mean_bits for size in sizes),
                lacking_bits=max(size.lacking_bits for size in sizes),
                release_jitter_s=max(jitter_s.get(other.name, 0.0) for other in copies),
            )


def stream_arrival_curve(
    stream: Stream, packed: Sequence[Packed], longest_bits: float, line_bps: float
) -> bounds.ArrivalCurve:
    """Arrival curve of a stream at its first port, in bits on the line; it holds whether or not frames are merged.

    A source that hands over whole messages sends one message per period as a burst. Other sources send evenly spaced
    frames. They may cut their data into frames in two ways: each message begins a new frame, so that its last frame may
    be short; or all frames are full, and a frame may hold parts of two messages. The curve holds for both ways.

    In the first way, let a message have n frames: n - 1 of f bits, and the last of r bits. In any interval, the stream
    then sends at most ``f + (n - 2)(f - r)/n`` bits more than its average rate allows.

    An unlimited stream arrives at the rate set at the sender, or without one at the rate of the first link.

    Parameters
    ----------
    packed : sequence of Packed
        Packets of the stream on each of its links.
    longest_bits : float
        Longest packet of the stream [b]; longer than a frame if several frames are merged.
    line_bps : float
        Rate of the stream's first link [b/s].
    """
    frame = max(on.frame.sum_bits for on in packed)
    message = max(on.message.sum_bits for on in packed)
    producer = stream.producer
    burst = max(message if stream.sent_at_once else frame, longest_bits)
    paced = 0.0 if stream.paced_fps is None else frame * stream.paced_fps
    if producer is None:
        return bounds.token_bucket(burst, paced or line_bps)
    if stream.sent_at_once:
        return bounds.token_bucket(burst, message / producer.period_s)
    frames = producer.message_bytes / stream.payload_bytes
    number = math.ceil(frames)
    if 0 < paced < number * frame / producer.period_s:
        return bounds.token_bucket(burst, paced)
    before = max(number - 2, 0) * (number * frame - message) / number
    steady = max(message, frame * frames) / producer.period_s
    return bounds.arrival_curve(
        (
            bounds.TokenBucket(burst, number * frame / producer.period_s),
            bounds.TokenBucket(burst + before, steady),
        )
    )
