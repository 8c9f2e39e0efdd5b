"""Host time: time that a core of the sender or receiver works on a frame, derived from measured rows.

By the utilisation law, a core at utilisation U and X frames per second needs U / X for each frame
(P. J. Denning, J. P. Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10, 1978).
At full speed one stage is the bottleneck: a host or the wire.  If a host is the bottleneck, the busier host needs the
whole time between two frames.  The other host needs a part of that time, in proportion to its utilisation.  If the wire
is the bottleneck, a host's utilisation gives only an upper limit of its time: a waiting host works in smaller pieces.
A straight line through the host-limited payloads then extrapolates the host time over payload.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats
from icmodel.laws import corrected
from icmodel.laws.appendix_h import per_core
from icmodel.laws.flow import CLOSE, Flow
from icmodel.laws.metrics import UTILISATIONS
from icmodel.tables import LOW, VALUE, Frames, TableQuery, opposite

BY_WIRE = 0.9
"""Least ratio of goodput to theory's bound at which the wire counts as the bottleneck (assumed)."""
SHORTEST_S = 1e-12


class HostTimes(NamedTuple):
    """Time that sender and receiver themselves need for a frame, for n prediction requests.

    ``own_s`` (2, ends, n) is the time of the sender and of the receiver [s].  ``known`` (2, n) marks whether rows
    state the utilisation of sender and receiver.
    """

    own_s: Floats
    known: Bools


def host_times(query: TableQuery, alone: Flow) -> HostTimes:
    """Compute the time that the hosts of sender and receiver each need for a frame.

    Parameters
    ----------
    alone : Flow
        Flow of the stream without the application's work.
    """
    busy = utilisation_at_full_speed(query)
    own_s, by_wire = time_per_frame(query, alone, busy)
    if by_wire.any():
        where = np.flatnonzero(by_wire)
        own_s[..., where] = _continued(query.take(where), own_s[..., where])
    return HostTimes(own_s, ~np.isnan(busy[:, VALUE]))


def utilisation_at_full_speed(query: TableQuery) -> Floats:
    """Utilisation of the sender's and receiver's cores at the unlimited load; NaN if no row states it.

    The shape is (2, ends, n): sender and receiver; value, low and high; requests.
    """
    both = []
    for name in UTILISATIONS:
        found = np.full((query.ends, len(query.q)), np.nan)
        if name in query.tables.metrics:
            found = per_core(query, [name], query.all([name], query.unlimited))[0]
        process = f"{name}_process_cores"
        if process in query.tables.metrics and np.isnan(found).any():
            of_process = query(process, query.unlimited) / np.maximum(query.q.cores, 1)
            found = np.where(np.isnan(found), of_process, found)
        both.append(np.clip(found, 0.0, 1.0))
    return np.stack(both)


def time_per_frame(query: TableQuery, alone: Flow, busy: Floats) -> tuple[Floats, Bools]:
    """Compute the time per frame of both hosts from their utilisation at full speed.

    Returns the times [s] (2, ends, n) of sender and receiver, and the mask (n,) of the streams limited by the wire.
    """
    by_wire = alone.capacity_bps[VALUE] >= BY_WIRE * query.q.frames.greatest_bps
    most = np.fmax(*busy)
    of_busier = np.divide(busy, most, out=np.ones_like(busy), where=most > 0)
    share = np.where(by_wire, busy, of_busier)
    unknown = np.isnan(share)
    share[unknown] = 1.0
    if query.ends == 3:
        share[:, LOW][unknown[:, LOW]] = 0.0
    arriving = np.where(query.q.lossy, 1 - opposite(alone.unlimited_loss), 1.0)
    passing = np.stack([alone.capacity_bps / np.maximum(arriving, CLOSE), alone.capacity_bps])
    core_bits = 8 * query.q.payload_bytes * np.maximum(query.q.cores, 1)
    slowest = np.stack([opposite(one) for one in passing])
    own_s: Floats = share * core_bits / slowest
    return own_s, by_wire


# --- the wire as bottleneck -----------------------------------------------------------------------


def _continued(query: TableQuery, own_s: Floats) -> Floats:
    """Extrapolate the hosts' time per frame [s] (2, ends, n) to payloads at which the wire is the bottleneck.

    A straight line over payload continues the times at host-limited payloads.  The time derived from the host's
    utilisation is an upper limit.
    """
    found, q = own_s.copy(), query.q
    curves = np.stack([q.protocol, q.core_index, q.cores, q.switches]).astype(np.float64)
    configurations, of = np.unique(curves, axis=1, return_inverse=True)
    knots = query.tables.axes.knots
    ladder = _at_all_knots(query, configurations)
    flow = corrected.flow(ladder)
    rungs_s, by_wire = time_per_frame(ladder, flow, utilisation_at_full_speed(ladder))
    free = (~by_wire & ~np.isnan(flow.capacity_bps[VALUE])).reshape(-1, len(knots))
    free &= ~np.logical_or.accumulate(by_wire.reshape(-1, len(knots)), axis=1)
    for k in range(configurations.shape[1]):
        members = np.flatnonzero(of.reshape(-1) == k)
        if not free[k].any():
            continue
        at = knots[free[k]]
        for end, times in enumerate(rungs_s[:, VALUE].reshape(2, -1, len(knots))[:, k, free[k]]):
            line = _line_s(at, times, q.payload_bytes[members])
            most = own_s[end, VALUE, members]
            found[end, VALUE, members] = np.clip(line, np.minimum(times[-1], most), most)
            if query.ends == 3:
                least = np.minimum(times[-1], own_s[end, LOW, members])
                found[end, LOW, members] = least
    return found


def _at_all_knots(query: TableQuery, configurations: Floats) -> TableQuery:
    """Build a table query for unlimited senders in m configurations, each at every knot (payload) of the tables.

    ``configurations`` (4, m) holds protocol, core index, cores and switches.  The query has m × knots requests.
    """
    knots = query.tables.axes.knots
    count, rungs = configurations.shape[1], len(knots)
    index, core_index, cores, switches = np.repeat(configurations, rungs, axis=1)
    protocol, payload = index.astype(np.int64), np.tile(knots, count)
    greatest = np.full_like(payload, np.inf)
    for number in set(protocol.tolist()):
        wire, here = query.tables.wires[number], protocol == number
        possible = np.minimum(payload[here], wire.greatest_payload_bytes() or np.inf)
        greatest[here] = wire.goodput_bound_bps(possible, wire.serialisation_s(possible))
    none, one = np.zeros_like(payload), np.ones_like(payload)
    lossy = dict(zip(query.q.protocol.tolist(), query.q.lossy.tolist(), strict=True))
    q = replace(
        query.q,
        protocol=protocol,
        payload_bytes=payload,
        requested_goodput_bps=np.full_like(payload, np.inf),
        core_index=core_index.astype(np.int64),
        cores=cores,
        switches=switches.astype(np.int64),
        endpoints=one,
        other_goodput_bps=none,
        distance_m=np.full_like(payload, np.nan),
        frames=Frames(
            np.stack([none, greatest, one, one, none])
        ),  # only the greatest goodput is used
        lossy=np.array([lossy[number] for number in protocol.tolist()], dtype=bool),
        work=None,
    )
    return TableQuery(query.tables, q, intervals=False)


def _line_s(at_bytes: Floats, times_s: Floats, payload_bytes: Floats) -> Floats:
    """Extrapolate the time per frame [s] to some payloads by a straight line fitted to times at other payloads.

    The fit minimises the squared relative errors.  If the line falls with the payload, the result is the last time.
    """
    weight = 1 / np.maximum(times_s, SHORTEST_S)
    terms = np.stack([np.ones_like(at_bytes), at_bytes], axis=1)
    if len(at_bytes) > 1:
        (constant, slope), *_ = np.linalg.lstsq(
            terms * weight[:, None], times_s * weight, rcond=None
        )
        if slope > 0:
            return np.asarray(constant + slope * payload_bytes)
    return np.full_like(payload_bytes, times_s[-1])
