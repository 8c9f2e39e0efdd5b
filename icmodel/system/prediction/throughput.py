"""Throughput of a system's streams: share the resources among them, then predict each while the others send."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Bools, Floats
from icmodel.estimate import BOTTLENECKS
from icmodel.system.network import Stream, System
from icmodel.system.prediction.answers import Answers, LoneAnswers, StreamQuestions
from icmodel.system.prediction.resources import (
    HOSTS,
    INTERFACE,
    SharedResources,
    StreamShare,
    core_time_ratios,
    gate_limit,
    shared_resources,
    stream_shares,
)
from icmodel.system.sharing import SAME
from icmodel.system.sharing.allocation import Allocation, Windows
from icmodel.system.sharing.loss import NOWHERE
from icmodel.system.traffic import Packing

MOST_ENDPOINTS = 1e6
"""Greatest number of senders (``endpoints``) in a question to a dataset, for streams with a tiny share."""
OVERLOAD = 1.001
"""Demand above this fraction of the available capacity counts as overload."""


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Shares and traffic while some streams send one message each at the same moment, as fast as they can.

    Parameters
    ----------
    shares : sequence of StreamShare
        Shares of all streams.
    packets, bits : mapping
        Traffic of these messages; streams with back-pressure (TCP) are left out. ``packets``: name of a sink -> number
        of packets that come to it. ``bits``: name of a switch's port -> bits that come to it.
    """

    shares: Sequence[StreamShare]
    packets: Mapping[str, int]
    bits: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Throughput:
    """Goodputs that the streams of a system reach alone and together, and the resources that limit them.

    Parameters
    ----------
    alone : LoneAnswers
        Answers for each stream without the other streams.
    beside : Answers
        Answers for each stream while the other streams send.
    shares : sequence of StreamShare
        Shares while all senders send at the rates that datasets predict (the values of the predictions).
    one_queue_shares : sequence of StreamShare
        Shares as in ``shares``, but if a host limits one of its streams, all its streams wait in one queue.
    most_shares : sequence of StreamShare
        Shares as in ``one_queue_shares``, but while all senders send the most that datasets allow (the high ends of the
        predictions).
    most_resources, most_allocation : SharedResources, Allocation
        Resources and allocation of ``most_shares``.
    messages_at_once : AtOnce, optional
        Shares and traffic if all streams with messages of several frames send a message at the same moment. ``None``
        without such streams.
    bursts_at_once : AtOnce, optional
        As ``messages_at_once``, but only streams whose frames leave the sender in a burst send at the same moment: the
        producer hands over whole messages, and no rate is set at the sender.
    held_back, by_window : arrays of bool (streams,)
        Whether each stream gets less than it requests because of other streams or gates, and whether its own TCP window
        limits it.
    windows : Windows
        TCP windows and round-trip times without queues.
    overloaded : array of bool (resources,)
        Whether the demand on a resource exceeds its available capacity, so that the resource stays full.
    """

    resources: SharedResources
    allocation: Allocation
    alone: LoneAnswers
    beside: Answers
    shares: Sequence[StreamShare]
    one_queue_shares: Sequence[StreamShare]
    most_shares: Sequence[StreamShare]
    most_resources: SharedResources
    most_allocation: Allocation
    messages_at_once: AtOnce | None
    bursts_at_once: AtOnce | None
    held_back: Bools
    by_window: Bools
    windows: Windows
    overloaded: Bools

    def other_shares(self, stream: int) -> tuple[StreamShare, StreamShare]:
        """Return a stream's shares of the resources in two less favourable cases.

        In both cases, if a host limits any of its streams, all streams of the host wait in one queue. In the first
        case, senders send at the predicted rates. In the second case, they send the most that datasets allow.
        """
        return self.one_queue_shares[stream], self.most_shares[stream]


def throughput(
    system: System,
    packets: Packing,
    questions: StreamQuestions,
    alone: LoneAnswers,
    windows: Windows,
) -> Throughput:
    """Share the resources of a system among its streams, then predict each stream while the others send.

    The datasets have already predicted each stream alone (``alone``). Here they are asked again, now with the goodput
    of the other streams.

    Parameters
    ----------
    questions : StreamQuestions
        Questions to the datasets; TCP windows limit the requested rates.
    alone : LoneAnswers
        Answers to these questions for each stream without the others.
    """
    streams = list(system.streams.values())
    fastest, requested, capacity_bps = alone.fastest, alone.requested, alone.capacity_bps

    # share the resources: elastic streams offer the goodput they reach alone, lossy ones the goodput they send
    by_wire = fastest.bottleneck == BOTTLENECKS.index("wire")
    at_port, in_host = (
        {stream.path[-1] for stream, is_one in zip(streams, mask.tolist(), strict=True) if is_one}
        for mask in (by_wire, ~by_wire & np.isfinite(capacity_bps))
    )
    resources = shared_resources(system, packets, requested, capacity_bps, at_port)
    gates = [gate_limit(system, packets, stream) for stream in streams]
    gates_bps = np.array([limit_bps for limit_bps, _ in gates])
    elastic, sent_bps = resources.flows.elastic, requested.value("sent_bps")
    requested_bps = np.array([stream.requested_goodput_bps for stream in streams])
    limited_bps = np.minimum(requested_bps, windows.limit_bps)
    lossy_bps = np.where(np.isnan(sent_bps), limited_bps, np.minimum(sent_bps, limited_bps))
    elastic_bps = np.minimum(np.minimum(limited_bps, capacity_bps), gates_bps)
    offered_bps = np.where(elastic, elastic_bps, lossy_bps)
    allocation = resources.allocate(offered_bps, windows)
    shares = most_shares = stream_shares(resources, allocation)
    most_resources, most_allocation = resources, allocation

    # share again, with all streams of a host in one queue if the host limits any of them
    mixed = not at_port.isdisjoint(in_host)
    one_queue, one_queue_shares = resources, shares
    if mixed:
        at_port -= in_host
        one_queue = shared_resources(system, packets, requested, capacity_bps, at_port)
        one_queue_shares = stream_shares(one_queue, one_queue.allocate(offered_bps, windows))

    # share again while senders send the most they can: streams queue as in the case above, hosts are as fast as
    # datasets and stated core times allow, processors serve senders first, and lossy streams send at the high end of
    # their rates
    most_bps = np.fmax(np.fmin(requested.ends("sent_bps")[2], limited_bps), offered_bps)
    most_bps = np.where(elastic, offered_bps, most_bps)
    highs_bps = np.fmax(fastest.ends("goodput_bps")[2], requested.ends("goodput_bps")[2])
    ratios = np.where(highs_bps > capacity_bps, capacity_bps / highs_bps, 1.0)
    if mixed or resources.limits_senders(allocation) or (most_bps > offered_bps * (1 + SAME)).any():
        most_resources = one_queue.with_faster_hosts(ratios, core_time_ratios(system))
        most_allocation = most_resources.allocate(most_bps, windows)
        most_shares = stream_shares(most_resources, most_allocation)

    # share again, with messages of several frames sent at once: all of them, and those that come as bursts
    fastest_bps = np.minimum(capacity_bps, windows.limit_bps)

    def at_once(chosen: Bools) -> AtOnce:
        sent = resources.allocate(np.where(chosen, fastest_bps, offered_bps), windows)
        found = _behind_gates(stream_shares(resources, sent), gates, fastest_bps)
        return _at_once(system, packets, chosen, found)

    several = np.array([stream.frames_a_message > 1 for stream in streams], dtype=bool)
    bursts = np.array([is_burst(stream) for stream in streams], dtype=bool)
    messages_at_once = at_once(several) if several.any() else None
    if not (several & ~bursts).any():
        bursts_at_once = messages_at_once
    else:
        bursts_at_once = at_once(bursts) if bursts.any() else None

    shares, one_queue_shares, most_shares = (
        _behind_gates(some, gates, limited_bps) for some in (shares, one_queue_shares, most_shares)
    )
    sent_whole = ~elastic & (requested.bottleneck == BOTTLENECKS.index("request"))
    expected_bps = np.where(sent_whole, offered_bps, limited_bps)
    return Throughput(
        resources=resources,
        allocation=allocation,
        alone=alone,
        beside=questions.ask(**_others(system, resources, allocation, capacity_bps, limited_bps)),
        shares=shares,
        one_queue_shares=one_queue_shares,
        most_shares=most_shares,
        most_resources=most_resources,
        most_allocation=most_allocation,
        messages_at_once=messages_at_once,
        bursts_at_once=bursts_at_once,
        held_back=np.minimum(allocation.rate_bps, gates_bps) < expected_bps * (1 - SAME),
        by_window=np.minimum(requested_bps, capacity_bps) > windows.limit_bps * (1 + SAME),
        windows=windows,
        overloaded=allocation.demand > allocation.available * OVERLOAD,
    )


def is_burst(stream: Stream) -> bool:
    """Whether several frames of a message leave the sender together, as fast as it can send."""
    return stream.frames_a_message > 1 and stream.sent_at_once and stream.paced_fps is None


def _at_once(
    system: System, packets: Packing, chosen: Bools, shares: Sequence[StreamShare]
) -> AtOnce:
    """Make the `AtOnce` for a moment at which the streams in the mask ``chosen`` send one message each.

    It counts the packets of their messages that come to each sink, and the bits that come to each port of a switch.
    """
    counts, bits = Counter[str](), defaultdict[str, float](float)
    for stream, share, counted in zip(system.streams.values(), shares, chosen, strict=True):
        if not counted or share.elastic:
            continue
        counts[stream.sink] += stream.frames_a_message * share.packets
        for name in stream.path[1:]:
            ratio = packets.of(stream, system.links[system.ports[name].link]).ratio
            bits[name] += 8 * stream.frames_a_message * stream.mean_frame_bytes * ratio
    return AtOnce(shares, counts, bits)


def _behind_gates(
    shares: Sequence[StreamShare], gates: Sequence[tuple[float, str]], wanted_bps: Floats
) -> list[StreamShare]:
    """Limit the share of each stream to the goodput that the gates on its path would pass if it sent alone.

    `gate_limit` computes this goodput.
    """
    return [
        share.limited_to(limit_bps, port, float(wanted))
        for share, (limit_bps, port), wanted in zip(shares, gates, wanted_bps, strict=True)
    ]


# --- other streams, in the question to a dataset ----------------------------------------------


def _others(
    system: System,
    shared: SharedResources,
    allocation: Allocation,
    capacity_bps: Floats,
    requested_bps: Floats,
) -> dict[str, Floats]:
    """Describe the streams that compete with each stream, by two parameters for its dataset; arrays (streams,).

    Both parameters describe one resource: the one that limits the stream, otherwise the busiest that it shares.
    ``endpoints`` is the number of senders there, the stream itself included. ``other_goodput_bps`` is the goodput of
    the other senders:

    - The resource limits the stream: the goodput that the stream would have alone, minus its share of the resource.
    - It does not limit the stream: the goodput of the others there, but at most the goodput that the stream would have
      alone, minus its request. So the request still fits beside the others in the dataset's answer.
    - The resource is a receiver overloaded by streams without back-pressure: the goodput that the others offer, since
      the dataset's answer includes the loss of all streams.

    A sink that states its latency receives all frames that come. So if no resource limits a stream to such a sink, the
    parameters describe no other streams: one sender, and 0 b/s.
    """
    # busiest port or interface that each stream shares; the last one if several are equally busy
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
    # streams at this place, and the goodput of the others there
    arriving_bps = allocation.arriving_bps
    total = np.bincount(path[used], arriving_bps[used], len(shared.keys) + 1)
    own = np.where(path == place[:, None], arriving_bps, 0.0).max(axis=1, initial=0.0)
    others = np.where(place == NOWHERE, 0.0, np.maximum(total[place] - own, 0.0))
    endpoints = np.maximum(count[place], 1).astype(np.float64)
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
