"""Throughput of a system: ask the datasets for each stream alone, share resources, and ask again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.estimate import BOTTLENECKS
from icmodel.system.network import Stream, System
from icmodel.system.packing import Packing
from icmodel.system.prediction.answers import (
    Answers,
    StreamQuestions,
    hosts_without_dataset,
    refusals,
)
from icmodel.system.prediction.path_times import PathTimes
from icmodel.system.prediction.resources import (
    HOSTS,
    INTERFACE,
    PORT,
    SharedResources,
    is_elastic,
    shared_resources,
)
from icmodel.system.sharing import SAME
from icmodel.system.sharing.allocation import Allocation, Windows
from icmodel.system.sharing.loss import NOWHERE

MOST_ENDPOINTS = 1e6
"""Greatest number of senders (``endpoints``) in a question to a dataset, for streams with a tiny share."""
OVERLOAD = 1.001
"""Demand above this fraction of the available capacity counts as overload."""


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
        Load that the other streams offer at this resource, converted to goodput of this stream [b/s].
    crowded : bool
        Whether any other stream uses this resource, in any class.
    elastic : bool
        Whether the stream reduces its rate beside other streams, and loses no data.
    fair_bps : float
        Least fair share at the full resources on the path [b/s]; infinite if no resource is full.
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
        """Greatest fraction of the sent frames that resources drop: the stream may lose the excess of all streams."""
        if self.elastic or not self.rate_bps < self.sent_bps * (1 - SAME):
            return 0.0
        if self.packets > 1 and self.passed_ratio < 1 - SAME:
            return 1.0
        less = self.uneven_loss[0] if self.shared else 0.0
        return 1 - self.rate_bps * (1 - less) / self.sent_bps

    @property
    def uneven_loss(self) -> tuple[float, float]:
        """Possible loss and gain of a stream without back-pressure at a full queue, per unit of fair rate.

        A full queue drops every frame that comes. The phases of periodic streams decide whose frames are
        dropped: one stream may lose the whole excess, and another stream nothing.
        """
        if not 0 < self.rate_bps < self.sent_bps:
            return 0.0, 0.0
        excess = (1 - self.rate_bps / self.sent_bps) * (self.sent_bps + self.others_bps)
        least = max(self.sent_bps - excess, 0.0)
        return 1 - least / self.rate_bps, self.sent_bps / self.rate_bps - 1


@dataclass(frozen=True, slots=True)
class Throughput:
    """Goodputs that the streams of a system reach alone and together, and the resources that limit them.

    Parameters
    ----------
    fastest, alone, beside : Answers
        Answers for each stream: alone at an unlimited rate, alone at its request, and beside the other
        streams.
    refused : mapping
        Index of a stream -> reason why no dataset gives its goodput.
    shares, most_shares : sequence of StreamShare
        Shares while all senders send at the rates that datasets expect, and while all send the most that
        datasets allow.
    one_queue_shares : sequence of StreamShare
        `shares`, but with all streams of a host in one queue if the host limits any of them.
    most_resources, most_allocation : SharedResources, Allocation
        Resources and allocation while all senders send the most that datasets allow.
    shares_at_once : sequence of StreamShare, optional
        Shares while all streams with messages of several frames send a message at once. ``None`` without
        such streams.
    held_back, by_window : arrays of bool (streams,)
        Whether other streams hold each stream back, and whether its own TCP window limits the stream.
    windows : Windows
        TCP windows and round-trip times without queues.
    overloaded : array of bool (resources,)
        Whether the demand on a resource exceeds its available capacity, so that the resource stays full.
    """

    resources: SharedResources
    allocation: Allocation
    fastest: Answers
    alone: Answers
    beside: Answers
    refused: Mapping[int, str]
    shares: Sequence[StreamShare]
    one_queue_shares: Sequence[StreamShare]
    most_shares: Sequence[StreamShare]
    most_resources: SharedResources
    most_allocation: Allocation
    shares_at_once: Sequence[StreamShare] | None
    held_back: Bools
    by_window: Bools
    windows: Windows
    overloaded: Bools


def throughput(
    system: System, packets: Packing, questions: StreamQuestions, paths: Sequence[PathTimes]
) -> Throughput:
    """Ask the datasets for each stream alone, share the resources, and ask again beside other streams.

    Parameters
    ----------
    paths : sequence of PathTimes
        Path times of each stream, for the round-trip time of its window.
    """
    streams = list(system.streams.values())
    windows = _windows(system, questions, paths)
    questions = questions.limited_to(windows.limit_bps)

    # ask the datasets for each stream alone
    fastest = questions.ask(rate_fps=np.full(len(streams), np.inf))
    alone = questions.ask()
    capacity_bps = np.fmax(fastest.value("goodput_bps"), alone.value("goodput_bps"))
    capacity_bps = np.where(np.isnan(capacity_bps), np.inf, capacity_bps)

    # share the resources: elastic streams offer the goodput they reach alone, lossy ones the goodput they send
    by_wire = fastest.bottleneck == BOTTLENECKS.index("wire")
    at_port, in_host = (
        {stream.path[-1] for stream, is_one in zip(streams, mask.tolist(), strict=True) if is_one}
        for mask in (by_wire, ~by_wire & np.isfinite(capacity_bps))
    )
    resources = shared_resources(system, packets, alone, capacity_bps, at_port)
    elastic, sent_bps = resources.flows.elastic, alone.value("sent_bps")
    requested_bps = np.array([stream.requested_goodput_bps for stream in streams])
    limited_bps = np.minimum(requested_bps, windows.limit_bps)
    lossy_bps = np.where(np.isnan(sent_bps), limited_bps, np.minimum(sent_bps, limited_bps))
    offered_bps = np.where(elastic, np.minimum(limited_bps, capacity_bps), lossy_bps)
    allocation = resources.allocate(offered_bps, windows)
    shares = most_shares = _shares(resources, allocation)
    most_resources, most_allocation = resources, allocation

    # share again, with all streams of a host in one queue if the host limits any of them
    mixed = not at_port.isdisjoint(in_host)
    one_queue, one_queue_shares = resources, shares
    if mixed:
        at_port -= in_host
        one_queue = shared_resources(system, packets, alone, capacity_bps, at_port)
        one_queue_shares = _shares(one_queue, one_queue.allocate(offered_bps, windows))

    # share again, with these queues, hosts as fast as their datasets and stated core times allow, processors
    # that serve senders first, and lossy streams at the high of their rates
    most_bps = np.fmax(np.fmin(alone.ends("sent_bps")[2], limited_bps), offered_bps)
    most_bps = np.where(elastic, offered_bps, most_bps)
    highs_bps = np.fmax(fastest.ends("goodput_bps")[2], alone.ends("goodput_bps")[2])
    ratios = np.where(highs_bps > capacity_bps, capacity_bps / highs_bps, 1.0)
    if mixed or resources.limits_senders(allocation) or (most_bps > offered_bps * (1 + SAME)).any():
        most_resources = one_queue.with_faster_hosts(ratios, _core_time_ratios(system, streams))
        most_allocation = most_resources.allocate(most_bps, windows)
        most_shares = _shares(most_resources, most_allocation)

    # share again, with all messages of several frames sent at once
    at_once = None
    several = np.array([stream.frames_a_message > 1 for stream in streams], dtype=bool)
    if several.any():
        most_bps = np.minimum(capacity_bps, windows.limit_bps)
        messages = resources.allocate(np.where(several, most_bps, offered_bps), windows)
        at_once = _shares(resources, messages)

    sent_whole = ~elastic & (alone.bottleneck == BOTTLENECKS.index("request"))
    expected_bps = np.where(sent_whole, offered_bps, limited_bps)
    return Throughput(
        resources=resources,
        allocation=allocation,
        fastest=fastest,
        alone=alone,
        beside=questions.ask(**_others(system, resources, allocation, capacity_bps, limited_bps)),
        refused=refusals(system, questions, alone),
        shares=shares,
        one_queue_shares=one_queue_shares,
        most_shares=most_shares,
        most_resources=most_resources,
        most_allocation=most_allocation,
        shares_at_once=at_once,
        held_back=allocation.rate_bps < expected_bps * (1 - SAME),
        by_window=np.minimum(requested_bps, capacity_bps) > windows.limit_bps * (1 + SAME),
        windows=windows,
        overloaded=allocation.demand > allocation.available * OVERLOAD,
    )


def _core_time_ratios(system: System, streams: Sequence[Stream]) -> Floats:
    """Divide each sender's least core time by its greatest, with application work; array (streams,).

    The ratio is 1 if the sender states neither core time nor application work.
    """
    times = [
        stream.core_time_per_bit_s(system.devices[stream.source], "send") for stream in streams
    ]
    return np.array([least / most if most > 0 else 1.0 for least, most in times])


def _windows(system: System, questions: StreamQuestions, paths: Sequence[PathTimes]) -> Windows:
    """TCP windows stated in the system, and the round-trip times of their streams.

    An acknowledgement is assumed to take as long as a single frame. This time is the dataset's latency at one frame per
    second. Without a dataset, it is the least time of a frame by theory. The greatest latency that devices state is
    added.
    """
    streams = list(system.streams.values())
    bits = np.array(
        [
            np.inf
            if stream.window_bytes is None or not is_elastic(stream)
            else 8.0 * stream.window_bytes
            for stream in streams
        ]
    )
    if not np.isfinite(bits).any():
        return Windows(bits, np.ones(len(streams)))
    single_s = questions.ask(rate_fps=np.ones(len(streams))).value("latency_mean_s")
    shifts_s = np.array([sum(path.shifts_s.values()) for path in paths])
    least_s = np.array([path.least_s + path.application_s for path in paths])
    stated_s = np.array(
        [
            sum(device.latency_s[1] for device in hosts.values() if device.latency_s)
            for hosts in (hosts_without_dataset(system, stream) for stream in streams)
        ]
    )
    one_way_s = np.where(np.isnan(single_s), least_s, single_s + shifts_s) + stated_s
    return Windows(bits, 2 * one_way_s)


# --- shares -----------------------------------------------------------------------------------


def _shares(shared: SharedResources, allocation: Allocation) -> list[StreamShare]:
    """Make the `StreamShare` of each stream: its rates, the resource that limits it, and its fair share."""
    path, usage, count = shared.flows.path, shared.flows.usage, len(shared.keys)
    used = (path != NOWHERE) & (usage > 0)
    streams_at = shared.by_place(np.bincount(path[used], minlength=count))
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

    # fair share of a full resource: goodput that a stream would get if it requested more, an equal part of its
    # own load and of the loads that the resource limits
    load = allocation.rate_bps[:, None] * usage
    total = np.bincount(path[limited], weights=load[limited], minlength=count)
    streams = np.bincount(path[limited], minlength=count)
    equal = (total[path] + load) / (streams[path] + 1)
    full = used & (streams[path] > 0)
    fair_bps = np.divide(equal, usage, out=np.full(path.shape, np.inf), where=full)
    fair_bps = fair_bps.min(axis=1, initial=np.inf)

    # fraction of its packets that the ports of a stream pass
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


def _meeting(
    shared: SharedResources, allocation: Allocation, at: Ints
) -> tuple[Ints, Floats, Floats]:
    """Traffic at one resource of each stream: number of streams there, own goodput, and others' goodput.

    Goodputs are in b/s; all three results are arrays (streams,).

    Parameters
    ----------
    at : array of int (streams,)
        Resource considered for each stream; ``NOWHERE`` if the stream shares no resource.
    """
    path, arriving_bps = shared.flows.path, allocation.arriving_bps
    used = (path != NOWHERE) & (shared.flows.usage > 0)
    size = len(shared.keys) + 1
    total = np.bincount(path[used], arriving_bps[used], size)
    count = np.bincount(path[used], minlength=size)
    own = np.where(path == at[:, None], arriving_bps, 0.0).max(axis=1, initial=0.0)
    others = np.where(at == NOWHERE, 0.0, np.maximum(total[at] - own, 0.0))
    return count[at], own, others


# --- other streams, in the question to a dataset ----------------------------------------------


def _others(
    system: System,
    shared: SharedResources,
    allocation: Allocation,
    capacity_bps: Floats,
    requested_bps: Floats,
) -> dict[str, Floats]:
    """Parameters of each stream's question that describe the other streams, arrays (streams,).

    They are ``endpoints``, the number of senders, and ``other_goodput_bps``.

    ``other_goodput_bps`` has three cases. If a resource limits the stream, the parameter is the stream's goodput alone,
    minus its share. If no resource limits the stream, the parameter is the others' goodput at the stream's busiest
    resource. This goodput is limited so that the stream's request still fits. If lossy streams meet at a receiver, the
    parameter is the goodput that the others offer, since the dataset's answer includes the loss of all streams.

    A sink that states its latency receives all frames that come. So if no resource limits a stream to such
    a sink, the other streams do not count.
    """
    # busiest shared port or interface of each stream; if several are equally busy, the last one
    path = shared.flows.path
    used = (path != NOWHERE) & (shared.flows.usage > 0)
    count = np.bincount(path[used], minlength=len(shared.keys) + 1)
    network = np.array([key.kind not in HOSTS for key in shared.keys] + [False])
    full = np.append(allocation.load / np.maximum(allocation.available, 1e-300), 0.0)
    full = np.where(network & (count > 1), full, -1.0)
    ratio = np.where(path == NOWHERE, -1.0, full[path])
    hop = path.shape[1] - 1 - ratio[:, ::-1].argmax(axis=1)
    most = np.take_along_axis(ratio, hop[:, None], 1)[:, 0]
    busiest = np.where(most > 0, np.take_along_axis(path, hop[:, None], 1)[:, 0], NOWHERE)

    limited = allocation.limiting != NOWHERE
    sinks = (system.devices[stream.sink] for stream in system.streams.values())
    passes_all = np.array([device.latency_s is not None for device in sinks], dtype=bool)
    busiest = np.where(passes_all, NOWHERE, busiest)
    place = np.where(limited, allocation.limiting, busiest)
    met, _, others = _meeting(shared, allocation, place)
    endpoints = np.maximum(met, 1).astype(np.float64)
    kinds = np.array([key.kind for key in shared.keys] + [""])
    received = ~shared.flows.elastic & (kinds[place] == INTERFACE)
    rate = np.maximum(allocation.rate_bps, capacity_bps / MOST_ENDPOINTS)
    with np.errstate(invalid="ignore"):  # infinite capacity: no dataset answers
        rest = np.maximum(capacity_bps - allocation.rate_bps, 0.0)
        # a measured goodput may be a little below its request: leave room for the request
        room = np.maximum(capacity_bps - np.fmax(allocation.rate_bps, requested_bps), 0.0)
        room = np.where(requested_bps < capacity_bps, room, rest)
        least = np.ceil(capacity_bps / rate - SAME)
    shares = limited & ~received
    least = np.where(np.isfinite(least), least, 1.0)
    crowd = np.maximum(endpoints, np.minimum(least, MOST_ENDPOINTS))
    unlimited = np.where(received & limited, others, np.fmin(others, room))
    others = np.where(shares, rest, unlimited)
    return {
        "endpoints": np.where(shares, crowd, endpoints),
        "other_goodput_bps": np.where(np.isfinite(others), others, 0.0),
    }
