"""Packets per second: theory's packets of the throughput, times the host's multiple of them.

Frames below capacity have packets of their own; a stream at its limit fills its packets whatever
the frame size (IC2012 §6.1.1).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from icmodel.arrays import Floats, if_else
from icmodel.dataset import Dataset, Point
from icmodel.fits.regimes import OVERLOADED as LOAD_TOLERANCE
from icmodel.laws.flow import Flow
from icmodel.laws.substitution import widened
from icmodel.tables import HIGH, LOW, VALUE, Load, Look, Tables
from icmodel.tables.wire import wire

MULTIPLE = "theory * "
"""Beginning of the names of tables that hold multiples of theory's packets."""
SENT = "packets_sent"
"""Beginning of every metric of the sender's packets."""


def multiples(tables: Tables, wanted: Collection[str]) -> tuple[str, ...]:
    """The wanted metrics of packets whose tables hold multiples of theory's."""
    return tuple(name for name in wanted if MULTIPLE + name in tables.metrics)


def packets_per_s(
    look: Look, metrics: Sequence[str], flow: Flow, *, all_at_limit: bool = False
) -> Floats:
    """Metrics of packets per second [1/s], (metrics, ends, n), from tables of multiples of theory's.

    Where only the unlimited load was measured, a request below capacity lies between packets of its own and
    those at the limit, by its share of the capacity.  Where the wire has no time for that many packets, frames of
    a stream are merged as far as necessary; the result never exceeds the line rate.

    Parameters
    ----------
    all_at_limit : bool
        The tables are of runs in overload.
    """
    told = np.full((len(metrics), look.ends, len(look.q)), np.nan)
    if not metrics:
        return told
    known = [look.known(MULTIPLE + metric) for metric in metrics]
    there = np.flatnonzero(np.logical_or.reduce(known))
    if len(there) == len(look.q):
        return _told(look, metrics, flow, all_at_limit)
    if len(there):
        told[..., there] = _told(look.take(there), metrics, flow.take(there), all_at_limit)
    return told


def _told(look: Look, metrics: Sequence[str], flow: Flow, all_at_limit: bool) -> Floats:
    """The same for questions that there are rows for."""
    q, tables = look.q, [MULTIPLE + metric for metric in metrics]
    load = _load(look, flow)
    own, least = q.frames.packets, q.frames.least_packets
    full = ~load.limited | all_at_limit
    at_limit = full | (look.top_load(tables) == 0)
    each = look.all(tables, load) * if_else(at_limit, least, own)[:, None]
    between = at_limit & ~full
    if between.any():
        below = _below_limit(look, each, own, least, flow)
        each = if_else(between[:, None], below, each)
    each = if_else(full, each, _of_theory(each, own, least))
    if (least < own).any():
        room = _room(look, own, least, flow)
        crowded = (room < own) & (each > room)
        for end, packets in zip(range(look.ends), (room, least, room), strict=False):
            each[:, end] = if_else(crowded[:, end], packets, each[:, end])
    flowing = np.stack([_flowing_bps(look, metric, flow) for metric in metrics])
    value = widened(look, tables, each * flowing[:, None] / (8 * q.payload_bytes))
    np.minimum(value, own / q.frames.wire_s, out=value, where=q.frames.wire_s > 0)
    asked_fps = q.request_bps / (8 * q.payload_bytes)
    # Counts of a short window scatter.
    value[:, VALUE] = np.minimum(value[:, VALUE], own * asked_fps)
    return value


def _of_theory(each: Floats, own: Floats, least: Floats) -> Floats:
    """Packets per frame below capacity: at least those of full packets, at most the frame's own.

    A counter's deviation from these is scatter, and stays in the interval.
    """
    merged = least < own
    told = [np.clip(each[:, VALUE], least, own)]
    if each.shape[1] == 3:
        told.append(if_else(merged, each[:, LOW], np.minimum(each[:, LOW], own)))
        told.append(if_else(merged, each[:, HIGH], np.maximum(each[:, HIGH], own)))
    return np.stack(told, axis=1)


def _load(look: Look, flow: Flow) -> Load:
    """The requested load, or the unlimited one for a stream at its limit.

    A lossy sender is limited by its own capacity alone, other senders also by their share.
    """
    saturated, not_achieved = flow.saturated[VALUE], flow.not_achieved[VALUE]
    lossy = look.q.lossy
    return look.load((lossy & saturated) | (~lossy & not_achieved))


def _below_limit(look: Look, at_limit: Floats, own: Floats, least: Floats, flow: Flow) -> Floats:
    """Packets per frame below the limit, from those at the limit.

    An achieved frame is sent once, even where frames are lost at the limit.  Only a stream that merges its
    frames has fewer packets than the frames' own; up to its limit their number is uncertain.
    """
    share = np.minimum(look.q.request_bps / flow.capacity_bps[VALUE], 1.0)
    told = [own - share * np.maximum(own - at_limit[:, VALUE], 0.0)]
    if look.ends == 3:
        told.append(if_else(least < own, np.fmin(at_limit[:, LOW], own), own))
        told.append(np.broadcast_to(own, told[0].shape))
    return np.stack(told, axis=1)


def _room(look: Look, own: Floats, least: Floats, flow: Flow) -> Floats:
    """Most packets per frame for which the wire has time, (n,): the frame's own, or full ones at the limit."""
    bits = 8 * look.q.payload_bytes
    least_s = bits / look.q.frames.greatest_bps
    more_s = look.q.frames.wire_s - least_s
    left_s = bits / flow.goodput_bps[VALUE] - least_s
    part = if_else(more_s > 0, left_s / more_s, 1.0)
    return np.asarray(least + np.clip(part, 0.0, 1.0) * (own - least))


def _flowing_bps(look: Look, metric: str, flow: Flow) -> Floats:
    """Goodput of the frames whose packets are counted: those sent by a lossy sender, or those that arrive."""
    arrives: Floats = flow.goodput_bps[VALUE]
    if not metric.startswith(SENT):
        return arrives
    sends = np.minimum(look.q.request_bps, flow.capacity_bps[VALUE])
    return np.asarray(if_else(look.q.lossy, sends, arrives))


PACKETS, OF_SENDER = "packets_", "_sent_"
"""Beginning of metrics of packets per second, and the part that marks those of the sender."""
Key = tuple[object, ...]


def as_multiples(data: Dataset, metric: str) -> Dataset | None:
    """The dataset with each packet rate [1/s] of a metric divided by theory's packets of the same run.

    Returns
    -------
    Dataset or None
        ``None`` where some row has no payload or load, or no goodput in the same run.
    """
    reached = _values(data, "goodput_bps")
    lost = {} if OF_SENDER in metric else _values(data, "loss_rate")
    points = list(data.points)
    for index, point in enumerate(points):
        if point.metric == metric:
            theory = _theory_per_s(data, point, reached, lost)
            if theory is None:
                return None
            points[index] = _over(point, theory)
    return replace(data, points=tuple(points))


def _values(data: Dataset, metric: str) -> dict[Key, dict[float | None, float]]:
    """Values of a metric by place and load."""
    found: dict[Key, dict[float | None, float]] = {}
    for point in data.of_metric(metric):
        found.setdefault(_place(point), {})[point.load_bps] = point.value
    return found


def _place(point: Point) -> Key:
    counts = point.cores, point.switches, point.endpoints, point.other_goodput_bps
    return point.protocol, point.payload_bytes, point.options, *counts


def _theory_per_s(
    data: Dataset,
    point: Point,
    reached: dict[Key, dict[float | None, float]],
    lost: dict[Key, dict[float | None, float]],
) -> float | None:
    """Theory's packets [1/s] in a row's run: below capacity, frames have packets of their own.

    A stream at its limit has full packets.
    """
    there = reached.get(_place(point), {})
    if point.payload_bytes is None or point.load_bps is None or not there:
        return None
    options = dict(zip(data.option_axes, point.options, strict=True))
    path = wire(data, point.protocol, {axis: value for axis, value in options.items() if value})
    payload = np.array([float(point.payload_bytes)])
    if point.load_bps <= LOAD_TOLERANCE * max(there.values()):
        arrives = 1 - lost.get(_place(point), {}).get(point.load_bps, 0.0)
        flowing, each = point.load_bps * arrives, path.packets(payload)
    else:
        bound = float(path.goodput_bound_bps(payload, path.serialisation_s(payload))[0])
        unlimited = there.get(math.inf, max(there.values()))
        flowing, each = min(unlimited, bound), path.least_packets(payload)
    theory = float(each[0]) * flowing / 8 / point.payload_bytes
    return theory if theory > 0 else None


def _over(point: Point, theory: float) -> Point:
    """A row with all its numbers divided by another."""

    def over(number: float | None) -> float | None:
        return None if number is None else number / theory

    return point._replace(
        value=point.value / theory,
        std=over(point.std),
        low=over(point.low),
        high=over(point.high),
    )
