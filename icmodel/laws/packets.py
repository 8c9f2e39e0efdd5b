"""Packets per second: theory's packets for the throughput, times a measured factor of the host.

Below capacity each frame has packets of its own.  At its limit a stream fills its packets at every frame size (IC2012
§6.1.1).  In the code, the host's factor is called the multiple.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from icmodel.arrays import Bools, Floats, fast_where
from icmodel.dataset import Dataset, Point
from icmodel.fits.observations import OVERLOADED as LOAD_TOLERANCE
from icmodel.laws.flow import Flow
from icmodel.laws.substitution import widened
from icmodel.tables import HIGH, LOW, VALUE, TableQuery, Tables
from icmodel.tables.wire import wire

MULTIPLE = "theory * "
"""Prefix of the names of tables that hold packet rates as multiples of the packet rate of theory."""
PACKETS, SENT, OF_SENDER = "packets_", "packets_sent", "_sent_"
"""Parts of metric names: prefix of all packet metrics, prefix of sent packets, and part in every sender's metric."""


def multiples(tables: Tables, wanted: Collection[str]) -> tuple[str, ...]:
    """Select the wanted packet metrics that are tabulated as multiples of theory's number of packets."""
    return tuple(name for name in wanted if MULTIPLE + name in tables.metrics)


def packets_per_s(
    query: TableQuery, metrics: Sequence[str], flow: Flow, *, all_at_limit: bool = False
) -> Floats:
    """Compute packets per second [1/s], (metrics, ends, n), from tables of multiples of theory's packets.

    If only the unlimited load was measured, packets below capacity are interpolated.  The interpolation runs over the
    request's share of the capacity, from the frames' own packets to the packets at the limit.  If the wire has no time
    for that many packets, the stream merges frames as far as necessary.  The result never exceeds the line rate.

    Parameters
    ----------
    all_at_limit : bool
        Whether the tables hold only runs in overload.
    """
    if not metrics:
        return np.empty((0, query.ends, len(query.q)))
    known = np.logical_or.reduce([query.known(MULTIPLE + metric) for metric in metrics])
    if known.all():
        return _of_known(query, metrics, flow, all_at_limit)
    found = np.full((len(metrics), query.ends, len(query.q)), np.nan)
    there = np.flatnonzero(known)
    if len(there):
        part = _of_known(query.take(there), metrics, flow.take(there), all_at_limit)
        found[..., there] = part
    return found


def _of_known(query: TableQuery, metrics: Sequence[str], flow: Flow, all_at_limit: bool) -> Floats:
    """Compute packets per second as :func:`packets_per_s` does, for requests that all have measured rows."""
    q, tables = query.q, [MULTIPLE + metric for metric in metrics]
    own, least, bits = q.frames.packets, q.frames.least_packets, 8 * q.payload_bytes
    # A lossy sender is limited by its own capacity only; other senders are also limited by their share.
    saturated, not_achieved = flow.saturated[VALUE], flow.not_achieved[VALUE]
    load = query.load((q.lossy & saturated) | (~q.lossy & not_achieved))
    full = ~load.limited | all_at_limit
    at_limit = full | (query.top_load(tables) == 0)
    each = query.all(tables, load) * fast_where(at_limit, least, own)[:, None]
    each = _below_limit(query, each, at_limit & ~full, flow)
    each = fast_where(full, each, _within_theory(each, own, least))
    merged = least < own
    if merged.any():
        # Packets per frame for which the wire has time: between full packets and the frame's own packets.
        least_s = bits / q.frames.greatest_bps
        more_s = q.frames.wire_s - least_s
        left_s = bits / flow.goodput_bps[VALUE] - least_s
        part = fast_where(more_s > 0, left_s / more_s, 1.0)
        room = least + np.clip(part, 0.0, 1.0) * (own - least)
        crowded = (room < own) & (each > room)
        for end, packets in zip(range(query.ends), (room, least, room), strict=False):
            each[:, end] = fast_where(crowded[:, end], packets, each[:, end])
    # Rate of the frames whose packets are counted: the sent rate of a lossy sender, or the received goodput.
    arrives = flow.goodput_bps[VALUE]
    sends = np.minimum(q.requested_goodput_bps, flow.capacity_bps[VALUE])
    of_sender = fast_where(q.lossy, sends, arrives)
    flowing = [of_sender if metric.startswith(SENT) else arrives for metric in metrics]
    value = widened(query, tables, each * np.stack(flowing)[:, None] / bits)
    np.minimum(value, own / q.frames.wire_s, out=value, where=q.frames.wire_s > 0)
    # Counts of a short measurement scatter, so limit them.  The received goodput needs at least full packets, and the
    # requested frames have at most their own packets.
    value[:, VALUE] = np.minimum(value[:, VALUE], own * (q.requested_goodput_bps / bits))
    value[:, VALUE] = np.maximum(value[:, VALUE], least * (arrives / bits))
    if query.ends == 3:
        value[:, HIGH] = np.maximum(value[:, HIGH], value[:, VALUE])
    return value


def _below_limit(query: TableQuery, each: Floats, below: Bools, flow: Flow) -> Floats:
    """Replace packets per frame (metrics, ends, n) below the limit by a straight line over the load.

    ``each`` holds the packets per frame at the limit; ``below`` (metrics, n) marks the requests below the limit.  Below
    the limit each frame is sent once, even if frames are lost at the limit.  Only a stream that merges frames has fewer
    packets than the frames' own.  Up to the limit, the packet count of such a stream is uncertain.
    """
    if not below.any():
        return each
    own, least = query.q.frames.packets, query.q.frames.least_packets
    share = np.minimum(query.q.requested_goodput_bps / flow.capacity_bps[VALUE], 1.0)
    ends = [own - share * np.maximum(own - each[:, VALUE], 0.0)]
    if query.ends == 3:
        ends.append(fast_where(least < own, np.fmin(each[:, LOW], own), own))
        ends.append(np.broadcast_to(own, ends[0].shape))
    return fast_where(below[:, None], np.stack(ends, axis=1), each)


def _within_theory(each: Floats, own: Floats, least: Floats) -> Floats:
    """Limit packets per frame below capacity: at least the count for full packets, at most the frame's own packets.

    A count beyond these limits is scatter; it changes only the interval.
    """
    merged = least < own
    ends = [np.clip(each[:, VALUE], least, own)]
    if each.shape[1] == 3:
        ends.append(fast_where(merged, each[:, LOW], np.minimum(each[:, LOW], own)))
        ends.append(fast_where(merged, each[:, HIGH], np.maximum(each[:, HIGH], own)))
    return np.stack(ends, axis=1)


# --- multiples in the rows ------------------------------------------------------------------------

Key = tuple[object, ...]
"""Key of a measured row: its protocol, payload, options and counts (cores, switches, endpoints), without its load."""


def as_multiples(data: Dataset, metric: str) -> Dataset | None:
    """Divide each packet rate [1/s] of a metric by theory's packet rate for the same run.

    Returns
    -------
    Dataset or None
        The dataset with multiples; ``None`` if a row has no payload, no load, or no goodput in the same run.
    """
    reached = _values(data, "goodput_bps")
    lost = {} if OF_SENDER in metric else _values(data, "loss_rate")
    points = list(data.points)
    for index, point in enumerate(points):
        if point.metric != metric:
            continue
        goodputs = reached.get(_key(point), {})
        if point.payload_bytes is None or point.load_bps is None or not goodputs:
            return None
        path = wire(data, point.protocol, data.options_of(point))
        payload = np.array([float(point.payload_bytes)])
        if point.load_bps <= LOAD_TOLERANCE * max(goodputs.values()):  # packets of their own
            arrives = 1 - lost.get(_key(point), {}).get(point.load_bps, 0.0)
            flowing, each = point.load_bps * arrives, path.packets(payload)
        else:  # full packets
            bound = float(path.goodput_bound_bps(payload, path.serialisation_s(payload))[0])
            unlimited = goodputs.get(math.inf, max(goodputs.values()))
            flowing, each = min(unlimited, bound), path.least_packets(payload)
        theory = float(each[0]) * flowing / 8 / point.payload_bytes
        if not theory > 0:
            return None
        spread = [
            None if number is None else number / theory
            for number in (point.std, point.low, point.high)
        ]
        points[index] = point._replace(
            value=point.value / theory, std=spread[0], low=spread[1], high=spread[2]
        )
    return replace(data, points=tuple(points))


def _values(data: Dataset, metric: str) -> dict[Key, dict[float | None, float]]:
    """Measured values of a metric, by row key (protocol, payload, options and counts) and then by load."""
    found: dict[Key, dict[float | None, float]] = {}
    for point in data.of_metric(metric):
        found.setdefault(_key(point), {})[point.load_bps] = point.value
    return found


def _key(point: Point) -> Key:
    counts = point.cores, point.switches, point.endpoints, point.other_goodput_bps
    return point.protocol, point.payload_bytes, point.options, *counts
