"""Host time: how long a core of the sender and of the receiver works on a frame, derived from rows.

By the utilisation law a core with utilisation U at X frames per second needs U / X for
each (P. J. Denning, J. P. Buzen, The operational analysis of queueing network models, ACM Computing
Surveys 10, 1978).  At full speed one stage is the bottleneck.  If it is not the wire, it is the busier host, which
needs the whole time between two frames, and the other host its proportion of that.  If it is the wire, a host's
utilisation gives an upper limit, since a host that waits for the wire works in smaller pieces; there
the host time is extrapolated over payload by a straight line through the payloads at which hosts limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.laws import corrected
from icmodel.laws.appendix_h import per_core
from icmodel.laws.flow import CLOSE, Flow
from icmodel.laws.metrics import UTILISATIONS
from icmodel.tables import LOW, VALUE, Frames, Look, Questions, opposite

BY_WIRE = 0.9
"""The wire counts as the bottleneck from this share of theory's bound on; assumed."""
SHORTEST_S = 1e-12


class HostTimes(NamedTuple):
    """Time that either end itself needs for a frame, for n questions.

    ``own_s`` (2, ends, n) is that of the sender and of the receiver [s]; ``known`` (2, n) tells whether rows state
    their utilisation.
    """

    own_s: Floats
    known: Bools


def host_times(look: Look, alone: Flow) -> HostTimes:
    """Time that sender and receiver need for a frame.

    Parameters
    ----------
    alone : Flow
        The flow without an application's work.
    """
    busy = _busy(look)
    own_s, by_wire = _at(look, alone, busy)
    if by_wire.any():
        where = np.flatnonzero(by_wire)
        own_s[..., where] = _continued(look.take(where), own_s[..., where])
    return HostTimes(own_s, ~np.isnan(busy[:, VALUE]))


def _busy(look: Look) -> Floats:
    """Utilisation of either end's cores at full speed (2, ends, n); NaN where no row states it."""
    return np.stack([_busy_end(look, name) for name in UTILISATIONS])


def _busy_end(look: Look, name: str) -> Floats:
    found = np.full((look.ends, len(look.q)), np.nan)
    if name in look.tables.metrics:
        found = per_core(look, [name], look.all([name], look.unlimited))[0]
    process = f"{name}_process_cores"
    if process in look.tables.metrics and np.isnan(found).any():
        of_process = look(process, look.unlimited) / np.maximum(look.q.cores_count, 1)
        found = np.where(np.isnan(found), of_process, found)
    return np.asarray(np.clip(found, 0.0, 1.0))


def _at(look: Look, alone: Flow, busy: Floats) -> tuple[Floats, Bools]:
    """Time per frame from the hosts' utilisation (2, ends, n) [s], and where the wire is the bottleneck (n,)."""
    by_wire = alone.capacity_bps[VALUE] >= BY_WIRE * look.q.frames.greatest_bps
    most = np.fmax(*busy)
    of_busier = np.divide(busy, most, out=np.ones_like(busy), where=most > 0)
    share = np.where(by_wire, busy, of_busier)
    unknown = np.isnan(share)
    share[unknown] = 1.0
    if look.ends == 3:
        share[:, LOW][unknown[:, LOW]] = 0.0
    arriving = np.where(look.q.lossy, 1 - opposite(alone.unlimited_loss), 1.0)
    passing = np.stack([alone.capacity_bps / np.maximum(arriving, CLOSE), alone.capacity_bps])
    core_bits = 8 * look.q.payload_bytes * np.maximum(look.q.cores_count, 1)
    slowest = np.stack([opposite(one) for one in passing])
    own_s: Floats = share * core_bits / slowest
    return own_s, by_wire


def _continued(look: Look, own_s: Floats) -> Floats:
    """Time per frame (2, ends, n) [s] where the wire is the bottleneck: the line, limited by the utilisation."""
    found = own_s.copy()
    configurations, of = np.unique(_configuration(look.q), axis=1, return_inverse=True)
    knots = look.tables.axes.knots
    ladder = _ladder(look, configurations, knots)
    flow = corrected.flow(ladder)
    rungs_s, by_wire = _at(ladder, flow, _busy(ladder))
    free = (~by_wire & ~np.isnan(flow.capacity_bps[VALUE])).reshape(-1, len(knots))
    free &= ~np.logical_or.accumulate(by_wire.reshape(-1, len(knots)), axis=1)
    for k in range(configurations.shape[1]):
        members = np.flatnonzero(of.reshape(-1) == k)
        if not free[k].any():
            continue
        at = knots[free[k]]
        for end, told in enumerate(rungs_s[:, VALUE].reshape(2, -1, len(knots))[:, k, free[k]]):
            line = _line_s(at, told, look.q.payload_bytes[members])
            most = own_s[end, VALUE, members]
            found[end, VALUE, members] = np.clip(line, np.minimum(told[-1], most), most)
            if look.ends == 3:
                least = np.minimum(told[-1], own_s[end, LOW, members])
                found[end, LOW, members] = least
    return found


def _configuration(q: Questions) -> Floats:
    """Numbers that identify a curve, without the payload, (4, n)."""
    return np.stack([q.protocol, q.cores, q.cores_count, q.switches]).astype(np.float64)


def _ladder(look: Look, configurations: Floats, knots: Floats) -> Look:
    """A look at all knots of some configurations (4, m) for one unlimited sender; m × knots questions."""
    count, rungs = configurations.shape[1], len(knots)
    protocol, cores, cores_count, switches = np.repeat(configurations, rungs, axis=1)
    payload, nothing = np.tile(knots, count), np.zeros(count * rungs)
    frames = _frames(look, protocol.astype(np.int64), payload)
    q = replace(
        look.q,
        protocol=protocol.astype(np.int64),
        payload_bytes=payload,
        request_bps=np.full_like(payload, np.inf),
        cores=cores.astype(np.int64),
        cores_count=cores_count,
        switches=switches.astype(np.int64),
        endpoints=np.ones_like(payload),
        others_bps=nothing,
        extra_distance_m=nothing,
        frames=frames,
        lossy=_lossy(look, protocol.astype(np.int64)),
        work=None,
    )
    return Look(look.tables, q, intervals=False)


def _lossy(look: Look, protocol: Ints) -> Bools:
    """Whether protocols lose frames, copied from the block's questions of the same protocol."""
    known = dict(zip(look.q.protocol.tolist(), look.q.lossy.tolist(), strict=True))
    return np.array([known[one] for one in protocol.tolist()], dtype=bool)


def _frames(look: Look, protocol: Ints, payload: Floats) -> Frames:
    """The greatest goodput of frames; a ladder needs no other number of theory."""
    greatest = np.full_like(payload, np.inf)
    for index in set(protocol.tolist()):
        wire, here = look.tables.wires[index], protocol == index
        possible = np.minimum(payload[here], wire.greatest_payload_bytes() or np.inf)
        greatest[here] = wire.goodput_bound_bps(possible, wire.serialisation_s(possible))
    none, one = np.zeros_like(payload), np.ones_like(payload)
    return Frames(np.stack([none, greatest, one, one, none]))


def _line_s(at_bytes: Floats, told_s: Floats, payload_bytes: Floats) -> Floats:
    """Least squares line of relative errors through times per frame, never falling, at other payloads [s]."""
    weight = 1 / np.maximum(told_s, SHORTEST_S)
    terms = np.stack([np.ones_like(at_bytes), at_bytes], axis=1)
    if len(at_bytes) > 1:
        (constant, slope), *_ = np.linalg.lstsq(
            terms * weight[:, None], told_s * weight, rcond=None
        )
        if slope > 0:
            return np.asarray(constant + slope * payload_bytes)
    return np.full_like(payload_bytes, told_s[-1])
