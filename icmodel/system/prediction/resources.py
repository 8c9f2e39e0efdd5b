"""Shared resources of a system as arrays, and its streams as flows over these resources.

A *shared resource* is a priority class of a port, the receiving interface of a host, or the processor of a
host. Each kind of resource has its own unit of capacity: b/s of a port, busy cores of a processor. An
interface has the capacity 1. The *usage* of a flow is the capacity that 1 b/s of its goodput takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.model.domain import RELIABLE
from icmodel.system.network import Port, Stream, System
from icmodel.system.prediction.answers import Answers
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Dscp,
    Fifo,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
)
from icmodel.system.sharing import FULL, SAME
from icmodel.system.sharing.allocation import (
    Allocation,
    Discipline,
    Flows,
    Resources,
    Windows,
    differentiated,
    gated,
    scaled,
    shaped,
    share,
    strict_priority,
    usable_windows,
    weighted,
)
from icmodel.system.sharing.loss import NOWHERE
from icmodel.system.traffic import Packing

PROCESSOR, OWN_CORES, PORT, INTERFACE = "processor", "own cores", "port", "interface"
HOSTS = (PROCESSOR, OWN_CORES)
"""Kinds of resources of a host: its processor (all cores), and the cores that a single stream may use."""
ORIGIN = 3
"""Number of resources at the sender of a stream: processor, the stream's own cores, and sending interface."""


class ResourceKey(NamedTuple):
    """Key of a resource: its kind, its port or device, and its priority class."""

    kind: str
    place: str
    priority: int = 0


Hop = tuple[ResourceKey, float]
"""A resource that a stream uses, and the capacity of the resource that 1 b/s of the stream takes."""


@dataclass(frozen=True, slots=True)
class SharedResources:
    """All resources of a system, and its streams as flows over these resources.

    Parameters
    ----------
    keys : sequence of ResourceKey
        Keys of the resources, in the order of the resource arrays.
    frame_packets : array of int (streams,)
        Greatest number of packets of one frame of each stream, over all links of its path.
    own_usage : array (streams, hops)
        Capacity that 1 b/s of the stream's goodput takes of the resource at each hop, if the stream is the only copy of
        its multicast set. ``flows.usage`` counts a multicast set once at a port or sender that several copies pass: one
        copy has this usage there, and the others have 0.
    buffered : set of str
        Ports of switches with a stated buffer.
    """

    resources: Resources
    flows: Flows
    keys: Sequence[ResourceKey]
    frame_packets: Ints
    own_usage: Floats
    buffered: Set[str]

    def allocate(self, offered_bps: Floats, windows: Windows) -> Allocation:
        """Share the resources among streams that offer the goodputs ``offered_bps`` [b/s], array (streams,)."""
        return share(replace(self.flows, offered_bps=offered_bps), self.resources, windows)

    def limits_senders(self, allocation: Allocation) -> bool:
        """Whether any sender's host is at its limit: all its cores, or the cores of one stream, are fully used."""
        hosts = np.array([key.kind in HOSTS for key in self.keys], dtype=bool)
        full = np.append(hosts & (allocation.demand >= FULL * allocation.available), False)
        return bool(full[self.flows.path[:, :ORIGIN]].any())

    def with_faster_hosts(self, ratios: Floats, send_ratios: Floats) -> SharedResources:
        """Copy the resources with faster hosts: the best case for senders.

        Each stream uses less of the hosts' capacity per bit. Receiving takes no processor time, as if processors
        served senders first.

        Parameters
        ----------
        ratios : array (streams,)
            Factor (at most 1) by which each stream's use of both hosts is multiplied.
        send_ratios : array (streams,)
            Further factor (at most 1) for its use of the sender's host.
        """
        kinds = np.array([key.kind != PORT for key in self.keys] + [False])
        factors = np.where(kinds[self.flows.path], ratios[:, None], 1.0)
        factors[:, :ORIGIN] *= np.where(
            kinds[self.flows.path[:, :ORIGIN]], send_ratios[:, None], 1.0
        )
        processors = np.array([key.kind == PROCESSOR for key in self.keys] + [False])
        factors[:, ORIGIN:] *= ~processors[self.flows.path[:, ORIGIN:]]
        flows = replace(self.flows, usage=self.flows.usage * factors)
        return replace(self, flows=flows, own_usage=self.own_usage * factors)

    def sum_over_classes(self, values: Floats | Ints) -> dict[tuple[str, str], float]:
        """Sum a value of each resource over all priority classes of the same port or interface.

        Keys of the result are pairs of the kind of resource and the name of the port or device.
        """
        sums: dict[tuple[str, str], float] = {}
        for (kind, place, _), value in zip(self.keys, values.tolist(), strict=True):
            sums[kind, place] = sums.get((kind, place), 0.0) + value
        return sums

    def with_classes_of_buffer(self, values: Floats | Ints) -> Floats:
        """Add up ``values`` (resources,) of the priority classes that share a buffer; the result has the same shape.

        Each resource of a port with a stated buffer gets the sum over all classes of the port. Every other resource
        keeps its own value.
        """
        sums = self.sum_over_classes(values)
        return np.array(
            [
                sums[key[:2]] if key.place in self.buffered else value
                for key, value in zip(self.keys, values.tolist(), strict=True)
            ]
        )

    def excess_of_others(self, allocation: Allocation) -> dict[tuple[str, int], float]:
        """Greatest fraction of its data that a stream may lose because other priority classes overload its port.

        Only ports with a stated buffer count; all classes share this buffer. The excess of an overloaded class is its
        load minus the capacity available to it. In the worst case, one stream of another class loses the excesses of all
        overloaded classes. So the result is the sum of these excesses, divided by the load of the stream. The
        interface behind a port counts as part of the port, since frames wait at the port for the interface.

        The keys of the result are pairs of the port's name and the index of the stream. Streams of the overloaded
        classes are left out, since their own shares include the loss.
        """
        dropped = np.maximum(allocation.demand - allocation.available, 0.0)
        full = allocation.demand > allocation.available * (1 + SAME)
        if not full.any():
            return {}
        excess = self.with_classes_of_buffer(np.where(full, dropped, 0.0))
        path, usage = self.flows.path, self.flows.usage
        found: dict[tuple[str, int], float] = {}
        included = set()
        for stream, hop in zip(*np.nonzero(path != NOWHERE), strict=True):
            resource = path[stream, hop]
            place = self.keys[resource].place, int(stream)
            if full[resource]:
                included.add(place)
            elif place[0] in self.buffered and excess[resource] > 0:
                own = allocation.arriving_bps[stream, hop] * usage[stream, hop]
                greatest = float(excess[resource] / own) if own > 0 else 1.0
                found[place] = max(found.get(place, 0.0), greatest)
        return {place: ratio for place, ratio in found.items() if place not in included}

    def ports(self, stream: int) -> Iterator[tuple[int, str]]:
        """Ports on the path of a stream, each as its position on the path and its name."""
        for hop, resource in enumerate(self.flows.path[stream].tolist()):
            if resource != NOWHERE and self.keys[resource].kind == PORT:
                yield hop, self.keys[resource].place


def is_elastic(stream: Stream) -> bool:
    """Whether a stream reduces its rate if other streams send, and loses no data (TCP)."""
    return stream.protocol in RELIABLE


def sent_with(streams: Sequence[Stream]) -> Ints:
    """For each stream, find the stream that its sender really sends, as an array of indices (streams,).

    A sender sends all copies of a multicast set as one stream. So a copy gets the index of the first copy of the set at
    the same sending port. Every other stream gets its own index.
    """
    first: dict[tuple[object, ...], int] = {}
    sent = [first.setdefault((*one.multicast_key, one.path[0]), k) for k, one in enumerate(streams)]
    return np.array(sent, dtype=np.int64)


def shared_resources(
    system: System, packets: Packing, alone: Answers, capacity_bps: Floats, queued: Set[str]
) -> SharedResources:
    """Give each resource of a system an index, and list the resources on the path of each stream.

    Parameters
    ----------
    alone : Answers
        Answers for each stream at its request, predicted without the other streams.
    capacity_bps : array (streams,)
        Greatest goodput of each stream alone; infinite if unknown.
    queued : set of str
        Names of ports at which streams wait if the receiving interface behind the port is busy; the port's scheduler
        decides the order. Behind any other port, streams wait in the receiving host, in one queue.
    """
    streams = list(system.streams.values())
    paths = [
        list(_hops(system, stream, packets, k, alone, capacity_bps, queued))
        for k, stream in enumerate(streams)
    ]
    numbers: dict[ResourceKey, int] = {}
    shape = len(streams), max((len(path) for path in paths), default=0)
    path, usage, own_usage = np.full(shape, NOWHERE), np.zeros(shape), np.zeros(shape)
    counted: set[tuple[object, ...]] = set()
    first = sent_with(streams)
    for k, hops in enumerate(paths):
        for place, hop in enumerate(hops):
            if hop is None:
                continue
            key, used = hop
            path[k, place] = numbers.setdefault(key, len(numbers))
            # multicast copies count once at a port, and once in the work of the sender
            sent = (key, streams[k].multicast_key)
            copied = key.kind == PORT and streams[k].multicast is not None and sent in counted
            copied |= place < ORIGIN - 1 and first[k] != k
            usage[k, place], own_usage[k, place] = 0.0 if copied else used, used
            counted.add(sent)
    elastic = np.array([is_elastic(stream) for stream in streams], dtype=bool)
    none, even = np.zeros(len(streams)), np.ones(len(streams))
    flows = Flows(none, even, elastic, path, usage, ORIGIN, first)
    frame_packets = [
        max(packets.of(stream, link).frame.number for link in system.links_of(stream))
        for stream in streams
    ]
    return SharedResources(
        resources=_resources(system, packets, list(numbers), queued),
        flows=flows,
        keys=list(numbers),
        frame_packets=np.array(frame_packets),
        own_usage=own_usage,
        buffered=system.stated_buffers_bits().keys(),
    )


def _hops(
    system: System,
    stream: Stream,
    packets: Packing,
    index: int,
    alone: Answers,
    capacity_bps: Floats,
    queued: Set[str],
) -> Iterator[Hop | None]:
    """Yield the resources that a stream uses, each with the amount used per b/s of the stream's goodput.

    The order is: cores of the source, ports, interface of the sink, cores of the sink. ``None`` stands for a
    resource without a known limit, such as the interface of a sink that states its latency. ``queued`` names the
    ports at which streams wait while the receiving interface behind the port is busy; the port's scheduler decides
    their order. Behind any other port, all streams wait in one queue of the receiving host, whatever their priority.
    """
    yield from _cores(system, stream, index, alone, "send")
    for name in stream.path:
        port = system.ports[name]
        ratio = packets.of(stream, system.links[port.link]).ratio
        priority = 0 if isinstance(port.scheduler, Fifo) else stream.priority
        yield ResourceKey(PORT, name, priority), ratio
    most = float(capacity_bps[index])
    received = ResourceKey(INTERFACE, port.name, priority if port.name in queued else 0)
    passes_all = system.devices[stream.sink].latency_s is not None
    yield (received, 1 / most) if 0 < most < np.inf and not passes_all else None
    yield from _cores(system, stream, index, alone, "recv")


def _cores(
    system: System, stream: Stream, index: int, alone: Answers, side: str
) -> Iterator[Hop | None]:
    """Yield the processor resources of a stream at one host: all cores of the host, and the stream's own cores.

    Yield ``None`` for a resource without a known limit. If a dataset answers, the busy cores that it predicts include
    the application's work. The stream's own cores are then ``None``, since the predicted goodput already accounts for
    them. Without a dataset, or if the device states its latency, the load of the cores follows from the application's
    work or from the stated core time. If the device states a least and a greatest core time, the greatest counts. A
    core handles one frame at a time.
    """
    device = system.devices[stream.source if side == "send" else stream.sink]
    goodput_bps = float(alone.value("goodput_bps")[index])
    busy = float(alone.value(f"cpu_{side}_cores")[index])
    stated = device.latency_s is not None
    answered = busy > 0 and goodput_bps > 0 and not stated
    used = busy / goodput_bps if answered else stream.core_time_per_bit_s(device, side)[1]
    if not used > 0:
        yield from (None, None)
        return
    yield None if device.cores is None else (ResourceKey(PROCESSOR, device.name), used)
    own = ResourceKey(OWN_CORES, f"{device.name} for {stream.name}")
    yield (own, used / (stream.cores or 1)) if stated or math.isnan(goodput_bps) else None


def _resources(
    system: System, packets: Packing, keys: Sequence[ResourceKey], queued: Set[str]
) -> Resources:
    """Capacity, priority class and scheduling rule of each resource.

    The priority classes of a port share the rate of the port. ``queued`` has the names of ports at which streams wait
    while the receiving interface behind the port is busy. The priority classes of such an interface share its capacity,
    which is 1 (busy all the time).
    """
    sizes: dict[str, dict[int, list[float]]] = {}  # port -> priority -> sizes of its packets [B]
    on_wire: dict[
        str, dict[int, list[float]]
    ] = {}  # port -> priority -> sizes of packets on the line [b]
    for stream in system.streams.values():
        links = system.links_of(stream)
        most = min(link.mtu_bytes for link in links)
        for name, link in zip(stream.path, links, strict=True):
            here = sizes.setdefault(name, {}).setdefault(stream.priority, [])
            here.append(min(stream.payload_bytes, most))
            if isinstance(system.ports[name].scheduler, Gates):
                packed = packets.of(stream, link).message
                bits = on_wire.setdefault(name, {}).setdefault(stream.priority, [])
                bits += (packed.shortest_bits, packed.longest_bits)
    numbers: dict[tuple[str, str], int] = {}
    disciplines: dict[int, Discipline] = {}
    capacity = []
    for kind, place, _ in keys:
        if kind in HOSTS:
            cores = system.devices[place].cores or 1 if kind == PROCESSOR else 1
            capacity.append(float(cores))
            continue
        port = system.ports[place]
        capacity.append(port.rate_bps if kind == PORT else 1.0)
        if (kind, place) in numbers or (kind == INTERFACE and place not in queued):
            continue
        number = numbers[kind, place] = len(numbers)
        mean_bytes = {k: sum(some) / len(some) for k, some in sizes[place].items()}
        packets_s = {
            k: (min(some) / port.rate_bps, max(some) / port.rate_bps)
            for k, some in on_wire.get(place, {}).items()
        }
        rule = _discipline(port, mean_bytes, packets_s)
        if rule is not None and kind == INTERFACE:
            rule = partial(scaled, rule=rule, rate_bps=port.rate_bps)
        if rule is not None:
            disciplines[number] = rule
    return Resources(
        capacity=np.array(capacity),
        port=np.array([numbers.get(key[:2], NOWHERE) for key in keys], dtype=np.int64),
        priority=np.array([key.priority for key in keys], dtype=np.int64),
        disciplines=disciplines,
    )


def _discipline(
    port: Port, mean_bytes: Mapping[int, float], packets_s: Mapping[int, tuple[float, float]]
) -> Discipline | None:
    """Rule by which the classes of a port share its rate; ``None`` if all classes wait in one queue.

    Parameters
    ----------
    mean_bytes : mapping
        Priority -> mean packet size [B]. It converts weights in packets to weights in bytes.
    packets_s : mapping
        Priority -> times to send the shortest and the longest packet at a port with gates [s].
    """
    match port.scheduler:
        case StrictPriority():
            return strict_priority
        case CreditBased(idle_slopes_bps=slopes):
            return partial(shaped, slopes_bps=slopes)
        case DeficitRoundRobin(quanta_bytes=quanta):
            return partial(weighted, weights={k: float(v) for k, v in quanta.items()})
        case WeightedRoundRobin(weights=frames):
            weights = {k: v * mean_bytes.get(k, 1.0) for k, v in frames.items()}
            return partial(weighted, weights=weights)
        case Dscp(classes=behaviours):
            return partial(differentiated, behaviours=behaviours)
        case Gates(windows=windows):
            opened = [(one.duration_s, tuple(one.open)) for one in windows]
            return partial(gated, windows=usable_windows(opened, packets_s))
    return None


def gate_limit(system: System, packets: Packing, stream: Stream) -> tuple[float, str]:
    """Greatest goodput of a stream alone through the gates of its ports [b/s], and the port that limits it.

    A port with gates repeats a cycle of windows, in which some classes may send. In each window, only the whole packets
    of the stream that fit are counted. The goodput is infinite without gates.
    """
    least = math.inf, ""
    for name, link in zip(stream.path, system.links_of(stream), strict=True):
        port = system.ports[name]
        if not isinstance(port.scheduler, Gates):
            continue
        on = packets.of(stream, link)
        times_s = (
            on.message.shortest_bits / port.rate_bps,
            on.message.longest_bits / port.rate_bps,
        )
        opened = [(one.duration_s, tuple(one.open)) for one in port.scheduler.windows]
        usable = usable_windows(opened, {stream.priority: times_s})
        open_s = math.fsum(time_s for time_s, classes in usable if stream.priority in classes)
        limit_bps = port.rate_bps * open_s / port.scheduler.cycle_s / on.ratio
        least = min(least, (limit_bps, name))
    return least


def core_time_ratios(system: System) -> Floats:
    """Least core time per bit at each stream's sender, divided by the greatest; array (streams,), from 0 to 1.

    Devices may state core time (the time that a core spends on the data) and application work, which is added to it. If
    the sender states neither, the ratio is 1.
    """
    times = [
        stream.core_time_per_bit_s(system.devices[stream.source], "send")
        for stream in system.streams.values()
    ]
    return np.array([least / most if most > 0 else 1.0 for least, most in times])


# --- shares of streams ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamShare:
    """One stream's share of the resources on its path.

    Parameters
    ----------
    sent_bps, rate_bps : float
        Goodput that the stream sends, and goodput that arrives [b/s].
    limited_at : tuple of str, optional
        Kind and location of the resource that limits the stream; ``None`` if no resource does.
    others_bps : float
        Load of the other streams at this resource, converted to a goodput of this stream that would take the same
        capacity [b/s].
    crowded : bool
        Whether any other stream, of any priority class, uses this resource.
    elastic : bool
        Whether the stream reduces its rate if other streams send, and loses no data.
    fair_bps : float
        Goodput that the stream would get if it requested more [b/s]: the least of its fair shares at the full resources
        on its path. It is infinite if no resource is full.
    packets : int
        Greatest number of packets of a frame on the path.
    passed_ratio : float
        Fraction of the stream's packets that all ports together pass. Drops in hosts are not counted.
    """

    sent_bps: float
    rate_bps: float
    limited_at: tuple[str, str] | None
    others_bps: float
    crowded: bool
    elastic: bool
    fair_bps: float = math.inf
    packets: int = 1
    passed_ratio: float = 1.0

    def limited_to(self, goodput_bps: float, port: str, wanted_bps: float) -> StreamShare:
        """Limit this share to the goodput ``goodput_bps`` that the gates of ``port`` let through.

        Gates are open only for a part of each cycle. The share is returned unchanged in two cases: ``goodput_bps`` is
        enough for ``wanted_bps``, the goodput that the stream would send [b/s]; or the share is already below
        ``goodput_bps``.
        """
        passes = wanted_bps <= goodput_bps * (1 + SAME)
        if passes or self.rate_bps < goodput_bps * (1 - SAME):
            return self
        passed = self.passed_ratio * goodput_bps / self.rate_bps if goodput_bps > 0 else 0.0
        at = (PORT, port)
        return replace(self, rate_bps=goodput_bps, limited_at=at, passed_ratio=passed)

    @property
    def at(self) -> str:
        """Port or device at which a resource limits the stream; empty if no resource does."""
        return "" if self.limited_at is None else self.limited_at[1]

    @property
    def by_host(self) -> bool:
        """Whether cores of a host limit the stream."""
        return self.limited_at is not None and self.limited_at[0] in HOSTS

    @property
    def shared(self) -> bool:
        """Whether other streams get a part of the resource that limits the stream."""
        return self.limited_at is not None and self.others_bps > 0

    @property
    def limit(self) -> str:
        """Bottleneck of the stream, by the name in `icmodel.estimate.BOTTLENECKS`."""
        if self.limited_at is None:
            return "request"
        if self.by_host:
            return "cpu"
        if not self.crowded:
            return "wire"
        return "receiver" if self.limited_at[0] == INTERFACE and not self.elastic else "share"

    @property
    def greatest_loss(self) -> float:
        """Greatest possible loss of the stream, as a fraction of the frames that it sends.

        In this worst case, the full resource drops only frames of this stream, and none of the other streams.
        """
        if self.elastic or not self.rate_bps < self.sent_bps * (1 - SAME):
            return 0.0
        if self.packets > 1 and self.passed_ratio < 1 - SAME:
            return 1.0
        less = self.uneven_loss[0] if self.shared else 0.0
        return 1 - self.rate_bps * (1 - less) / self.sent_bps

    @property
    def uneven_loss(self) -> tuple[float, float]:
        """Greatest shortfall and greatest excess of the stream's goodput against `rate_bps`, as fractions of `rate_bps`.

        `rate_bps` assumes that all streams lose the same fraction at a full queue. But the phases of periodic streams
        decide whose frames come while the queue is full: one stream may lose the whole excess, and another stream
        nothing. The two fractions cover these extremes. Both are 0 for a stream with back-pressure, which loses
        nothing.
        """
        if not 0 < self.rate_bps < self.sent_bps:
            return 0.0, 0.0
        excess = (1 - self.rate_bps / self.sent_bps) * (self.sent_bps + self.others_bps)
        least = max(self.sent_bps - excess, 0.0)
        return 1 - least / self.rate_bps, self.sent_bps / self.rate_bps - 1


def stream_shares(shared: SharedResources, allocation: Allocation) -> list[StreamShare]:
    """Make the `StreamShare` of each stream: its rates, the resource that limits it, and its fair share."""
    path, usage, count = shared.flows.path, shared.flows.usage, len(shared.keys)
    used = (path != NOWHERE) & (usage > 0)
    streams_at = shared.sum_over_classes(np.bincount(path[used], minlength=count))
    limited_at = [
        None if resource == NOWHERE else shared.keys[resource][:2]
        for resource in allocation.limiting.tolist()
    ]

    # load of the others at the limiting resource, of all classes if they share a stated buffer;
    # the last entry of `loads` is 0, for streams whose limiting resource is `NOWHERE` (-1)
    limited = (path == allocation.limiting[:, None]) & (path != NOWHERE)
    own_usage = np.where(limited, shared.own_usage, 0.0).max(axis=1, initial=0.0)
    own_bps = np.where(limited, allocation.arriving_bps, 0.0).max(axis=1, initial=0.0)
    loads = np.bincount(path[used], (allocation.arriving_bps * usage)[used], count)
    loads = np.append(shared.with_classes_of_buffer(loads), 0.0)
    all_bps = np.zeros(len(own_bps))
    np.divide(loads[allocation.limiting], own_usage, out=all_bps, where=own_usage > 0)
    others_bps = np.where(all_bps > own_bps * (1 + SAME), all_bps - own_bps, 0.0)

    # fair share of a full resource: the goodput of a stream if it requested more. The stream and all streams that the
    # resource limits then divide their loads equally.
    load = allocation.rate_bps[:, None] * usage
    total = np.bincount(path[limited], weights=load[limited], minlength=count)
    streams = np.bincount(path[limited], minlength=count)
    equal = (total[path] + load) / (streams[path] + 1)
    full = used & (streams[path] > 0)
    fair_bps = np.divide(equal, usage, out=np.full(path.shape, np.inf), where=full)
    fair_bps = fair_bps.min(axis=1, initial=np.inf)

    # fraction of a stream's packets that its ports pass
    before_bps = allocation.arriving_bps
    after_bps = np.column_stack([before_bps[:, 1:], allocation.rate_bps])
    ports = np.array([key.kind == PORT for key in shared.keys] + [False])
    kept = np.divide(after_bps, before_bps, out=np.ones(path.shape), where=before_bps > 0)
    passed = np.where(ports[path], kept, 1.0).prod(axis=1)
    return [
        StreamShare(
            sent_bps=float(allocation.sent_bps[k]),
            rate_bps=float(allocation.rate_bps[k]),
            limited_at=at,
            others_bps=float(others_bps[k]),
            crowded=at is not None and streams_at[at] > 1,
            elastic=bool(shared.flows.elastic[k]),
            fair_bps=float(fair_bps[k]),
            packets=int(shared.frame_packets[k]),
            passed_ratio=float(passed[k]),
        )
        for k, at in enumerate(limited_at)
    ]
