"""Application's own work: its limit on throughput, and its part of processing time and latency.

A frame takes the time h + w of a host: h for the host itself, and w for the application's work.  Sender, wire and
receiver work on different frames at the same time.  By the bottleneck law, the slowest of the three limits the
throughput (P. J. Denning, J. P. Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10,
1978).

The sender works before it writes a frame, and the receiver works after it reads the frame.  A one-way latency runs
from the start of the write to the end of the read, and so includes no work of the application.  If the receiving
application answers, the round trip includes the work at both hosts.

By the utilisation law in the same paper, a core at utilisation U and X frames per second needs U / X seconds per frame.
At full speed, either a host or the wire is the bottleneck.  If a host is the bottleneck, the busier host needs the
whole time between two frames.  The other host needs a part of that time, in proportion to its utilisation.  If the wire
is the bottleneck, the utilisation gives only an upper limit of a host's time, since a host that waits for the wire
works in smaller batches.  The host time then follows from a straight line through the times at host-limited payloads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from icmodel import units
from icmodel.arrays import Bools, Floats
from icmodel.laws import corrected
from icmodel.laws.appendix_h import CpuTime, per_core
from icmodel.laws.flow import CLOSE, LATENCIES, Flow, traversals
from icmodel.laws.metrics import ASSUMED, BY_FLOW, DERIVED, UTILISATIONS, Bases, in_order, weakest
from icmodel.scenario import Scenario
from icmodel.tables import HIGH, LOW, VALUE, Frames, Load, Pace, TableQuery, Work, opposite

OF_CHANGE = 0.1
"""Log half-width of an application-limited throughput, divided by the log of the slowdown (assumed)."""
FULLEST = 0.97
"""Greatest utilisation of a receiver in the formula for waiting times; a greater utilisation is clipped."""
SENDER, RECEIVER = 0, 1
BUSY = UTILISATIONS
"""Names of the utilisation metrics of the sender's cores and of the receiver's cores."""
CODE = ("", "_cores", "_process_cores", "_user")
"""Endings of the names of processing-time metrics that include the application's work."""
SPREAD = "_std_s"
LEAST = "_min_s"


def pace_of(query: TableQuery) -> Pace | None:
    """Rate limits that the application's own work sets; ``None`` if no request of the query has such work."""
    return None if query.q.work is None else query.q.work.pace


def work_of(query: TableQuery) -> Work:
    """Return the application's work (time per frame and byte) of a query; the query must state such work."""
    assert query.q.work is not None
    return query.q.work


# --- request --------------------------------------------------------------------------------------


def paced(query: TableQuery) -> TableQuery:
    """Limit the requests to the rate that the application can handle.

    A slow application at the sender has the same effect as a lower request.  With a lossless protocol, so has a slow
    application at the receiver.  With a lossy protocol, the receiver loses frames instead, and the request stays.
    """
    q, work = query.q, work_of(query)
    alone = corrected.flow(query)
    host = host_times(query, alone)
    sender = host_limit_bps(query, host.own_s[SENDER], work.send_s)
    receiver = host_limit_bps(query, host.own_s[RECEIVER], work.recv_s)
    reached = alone.sent_bps[VALUE]
    by_sender = sender[VALUE] < reached
    sends = np.where(by_sender, sender[VALUE], reached)
    by_receiver = ~q.lossy & (receiver[VALUE] < sends)
    by_sender &= ~by_receiver
    own = np.where(by_receiver, receiver[VALUE], q.requested_goodput_bps)
    request = np.where(by_sender, sends, own)
    pace = Pace(
        requested_goodput_bps=q.requested_goodput_bps,
        sender_bps=sender,
        receiver_bps=receiver,
        without_bps=alone.goodput_bps,
        by_sender=by_sender,
        by_receiver=by_receiver,
        known=host.known,
    )

    def limited(pace: Pace) -> TableQuery:
        slower = replace(q, requested_goodput_bps=request, work=work._replace(pace=pace))
        return TableQuery(query.tables, slower, intervals=query.ends == 3)

    arriving = corrected.flow(limited(pace)).goodput_bps[VALUE]
    lost = q.lossy & (receiver[VALUE] < arriving)
    return limited(pace._replace(by_receiver=by_receiver | lost))


def host_limit_bps(query: TableQuery, own_s: Floats, added_s: Floats) -> Floats:
    """Compute the greatest throughput [b/s] of a host whose cores also do the application's work, (ends, n).

    The axis ``ends`` holds value, low and high, or only the value.  If the application adds no work, the result is
    infinite, since the dataset's goodput already includes the host's own limit.  The high is at most the throughput of
    a host that does only the application's work.

    Parameters
    ----------
    query : TableQuery
        The requests, and their tables.
    own_s : array
        Time that the host itself needs for a frame [s], without the application, (ends, n).
    added_s : array
        Time that the application adds per frame [s], (n,).
    """
    both_s = opposite(own_s) + added_s
    found: Floats = np.maximum(query.q.cores, 1) * 8 * query.q.payload_bytes / both_s
    if query.ends == 3:
        slowdown = both_s[VALUE] / np.maximum(own_s[VALUE], SHORTEST_S)
        wider = np.exp(OF_CHANGE * np.log(np.maximum(slowdown, 1.0)))
        with np.errstate(divide="ignore", over="ignore"):
            by_work = np.maximum(query.q.cores, 1) * 8 * query.q.payload_bytes / added_s
        found[LOW], found[HIGH] = found[LOW] / wider, np.minimum(found[HIGH] * wider, by_work)
    return np.where(added_s > 0, found, np.inf)


# --- flow -----------------------------------------------------------------------------------------


def flow(query: TableQuery) -> Flow:
    """Compute throughput, loss and load of each stream, within the limits that the application's own work sets.

    With a lossy protocol, a receiver whose application is too slow loses frames, which do not count as goodput.
    """
    found, pace, lossy = corrected.flow(query), pace_of(query), query.q.lossy
    if pace is None:
        return found
    # Value, low and high of the application's limit, each divided by the value.
    pushed_back = pace.by_receiver & ~lossy
    limit_bps = np.where(pushed_back, pace.receiver_bps, pace.sender_bps)
    factor = np.ones_like(limit_bps)
    limited = pushed_back | pace.by_sender
    np.divide(limit_bps, limit_bps[VALUE], out=factor, where=limited)
    cut = pace.by_receiver & lossy
    share = np.where(cut, np.minimum(found.share_bps, pace.receiver_bps), found.share_bps)
    goodput = found.goodput_bps * factor
    goodput = np.where(cut, np.minimum(goodput, pace.receiver_bps), goodput)
    sent = found.sent_bps * factor
    if query.ends == 3:
        least = np.minimum(pace.sender_bps[LOW], pace.receiver_bps[LOW])
        most = np.minimum(pace.requested_goodput_bps, query.q.frames.greatest_bps)
        goodput[LOW] = np.minimum(goodput[LOW], least)
        goodput[HIGH] = np.minimum(goodput[HIGH], most)
        sent[LOW] = np.minimum(sent[LOW], pace.sender_bps[LOW])
        sent[HIGH] = np.minimum(sent[HIGH], most)
    waiting = opposite(found.not_achieved) | pace.by_receiver
    return found._replace(
        share_bps=share,
        sent_bps=np.where(lossy, sent, goodput),
        goodput_bps=goodput,
        receiver_overloaded=found.receiver_overloaded | cut,
        not_achieved=found.not_achieved | cut,
        latency_load=query.load(waiting),
    )


# --- processing time ------------------------------------------------------------------------------


def with_work(time: CpuTime) -> CpuTime:
    """Wrap a function that computes processing time, so that the result includes the application's work per frame."""

    def time_with_work(query: TableQuery, metrics: Sequence[str], load: Load, flow: Flow) -> Floats:
        value, pace = time(query, metrics, load, flow), pace_of(query)
        if pace is None:
            return value
        work, bits = work_of(query), 8 * query.q.payload_bytes
        for k, metric in enumerate(metrics):
            end = SENDER if metric.startswith(BUSY[SENDER]) else RECEIVER
            if metric.removeprefix(BUSY[end]) in CODE:
                frames = (flow.sent_bps if end == SENDER else flow.goodput_bps) / bits
                added_s = work.send_s if end == SENDER else work.recv_s
                in_cores = metric.endswith("_cores")  # others: fractions of the rows' cores
                cores = 1.0 if in_cores else np.maximum(query.cores([metric])[0], 1.0)
                more = value[k] + frames * added_s / cores
                value[k] = np.where(added_s > 0, more, value[k])
        if BUSY[SENDER] in metrics:  # the sender's cores are the bottleneck
            k, full = metrics.index(BUSY[SENDER]), 1 / query.core_ratio([BUSY[SENDER]])[0]
            # The low stays the sum of the sender's own time and the work.
            for end in {VALUE, query.ends - 1}:
                more = np.fmax(value[k, end], full)
                value[k, end] = np.where(pace.by_sender, more, value[k, end])
        return value

    return time_with_work


# --- all metrics ----------------------------------------------------------------------------------


def and_restated(query: TableQuery, wanted: Collection[str]) -> Collection[str]:
    """Add the sent rate and the shortfall (requested minus sent rate) to the wanted metrics.

    :func:`with_application` needs both.  If the application adds no work to any request, the wanted metrics stay
    unchanged.
    """
    return wanted if pace_of(query) is None else {*wanted, "sent_bps", "shortfall_bps"}


def with_application(query: TableQuery, flow: Flow, found: dict[str, Floats]) -> dict[str, Floats]:
    """Correct predicted metrics for the time that the application works on each frame.

    The metrics ``found`` were predicted for requests lowered to the rate that the application can handle.  Three things
    change.  The shortfall is the original request, not the lowered one, minus the goodput.  If the receiver is the
    bottleneck, frames wait longer in full buffers.  A round trip also includes the application's work.
    """
    pace = pace_of(query)
    if pace is None:
        return found
    limited, requested = pace.by_sender | pace.by_receiver, pace.requested_goodput_bps
    short = np.maximum(requested - opposite(found["sent_bps"]), 0.0)
    short[:, np.isinf(requested)] = 0.0
    restated = {"shortfall_bps": np.where(limited, short, found["shortfall_bps"])}
    # If the receiver is the bottleneck, the buffers hold as many frames as in the unlimited benchmark.  Fewer frames
    # pass per second, so each frame waits longer (J. D. C. Little, A proof for the queuing formula L = λW, Operations
    # Research 9, 1961).
    work, behind = work_of(query), pace.by_receiver
    slower = np.maximum(pace.without_bps[VALUE] / flow.goodput_bps[VALUE], 1.0)
    slower = np.where(behind, slower, 1.0)
    for name, value in found.items():
        if not name.startswith(LATENCIES):
            continue
        ends = [value[VALUE] * slower]
        if query.ends == 3:
            waits = not name.endswith((SPREAD, LEAST))
            more = np.where(behind, 0.0, _waiting_s(query, pace, flow)) if waits else 0.0
            ends += [value[LOW], value[HIGH] * slower + more]
        restated[name] = np.stack(ends)
        if name.startswith("rtt_"):
            restated[name] += traversals(name) / 2 * (work.send_s + work.recv_s)
    return in_order(found | restated)


def _waiting_s(query: TableQuery, pace: Pace, flow: Flow) -> Floats:
    """Compute an upper limit of the mean wait [s] that the application's work adds at the receiver, (n,).

    It is the wait with the work minus the wait without it, for frames that arrive at random.  With a constant service
    time S and the utilisation ρ, a wait is ρ S / (2 (1 − ρ)) (M/D/1 by Pollaczek and Khinchine: L. Kleinrock, Queueing
    Systems, vol. 1, 1975).  Evenly spaced frames do not wait, so the lower limit is 0.
    """
    bits, cores = 8 * query.q.payload_bytes, np.maximum(query.q.cores, 1)
    service_s = cores * bits / pace.receiver_bps[VALUE]
    own_s = np.maximum(service_s - work_of(query).recv_s, 0.0)
    each = flow.goodput_bps[VALUE] / bits / cores

    def wait_s(service: Floats) -> Floats:
        rho = np.minimum(each * service, FULLEST)
        return np.asarray(rho * service / (2 * (1 - rho)))

    return np.nan_to_num(wait_s(service_s) - wait_s(own_s))  # 0 if the goodput is unknown


# --- bases, bounds and notes ----------------------------------------------------------------------


def with_rules(query: TableQuery, used: Bases) -> Bases:
    """Weaken the basis (kind of evidence) of each metric that the application's own work changes.

    The basis becomes ``derived`` or ``assumed``; a weaker basis stays.
    """
    pace = pace_of(query)
    if pace is None:
        return used
    work, behind = work_of(query), pace.by_receiver
    limited = pace.by_sender | behind
    known = np.where(behind, pace.known[RECEIVER], pace.known[SENDER])
    names = list(used.reads)
    by_flow = weakest((limited, DERIVED), (limited & ~known, ASSUMED))
    added = [
        ([*BY_FLOW, *(name for name in names if name.endswith("_per_s"))], by_flow),
        (starting(names, BUSY[SENDER]), weakest((work.send_s > 0, DERIVED))),
        (starting(names, BUSY[RECEIVER]), weakest((work.recv_s > 0, DERIVED))),
        (starting(names, LATENCIES), weakest((behind, ASSUMED))),
        (starting(names, "rtt_"), weakest((work.send_s + work.recv_s > 0, DERIVED))),
    ]
    rules = dict(used.rules)
    for of, codes in added:
        for name in of:
            rules[name] = np.maximum(rules[name], codes) if name in rules else codes
    return used._replace(rules=rules)


def starting(names: Sequence[str], beginning: str | tuple[str, ...]) -> list[str]:
    """Select the names that start with the given prefix, or with one of the given prefixes."""
    return [name for name in names if name.startswith(beginning)]


def with_bounds(query: TableQuery, flow: Flow, found: Mapping[str, float]) -> dict[str, float]:
    """Add the application's limits at sender and receiver to the bounds of the goodput [b/s], for a single request."""
    pace = pace_of(query)
    if pace is None:
        return dict(found)
    bounds = {**found, "request": float(pace.requested_goodput_bps[0])}
    ends = {"application_send": pace.sender_bps, "application_recv": pace.receiver_bps}
    for name, end in ends.items():
        if np.isfinite(end[VALUE, 0]):
            bounds[name] = float(end[VALUE, 0])
    bounds.pop("arriving", None)
    goodput = float(flow.goodput_bps[VALUE, 0])
    return bounds | {"arriving": goodput} if goodput < min(bounds.values()) else bounds


def work_notes(query: TableQuery, scenario: Scenario) -> Iterator[str]:
    """Write the notes on the application's own work and its effects, for a single request."""
    pace = pace_of(query)
    if pace is None:
        return
    work = work_of(query)
    ends = (
        ("sender", pace.by_sender, work.send_s, pace.sender_bps),
        ("receiver", pace.by_receiver, work.recv_s, pace.receiver_bps),
    )
    moments = "at the sender before each write", "at the receiver after each read"
    times = [
        f"{units.format_seconds(float(seconds[0]), 3)} {moment}"
        for (_, _, seconds, _), moment in zip(ends, moments, strict=True)
        if seconds[0] > 0
    ]
    yield (
        f"the application adds {' and '.join(times)}; one-way latencies do not include this work, but their "
        "intervals include the wait for it"
    )
    for place, (end, limits, seconds, greatest_bps) in enumerate(ends):
        if limits[0]:
            bound_bps, cores = float(greatest_bps[VALUE, 0]), max(float(query.q.cores[0]), 1.0)
            own_s = max(cores * 8 * scenario.payload_bytes / bound_bps - float(seconds[0]), 0.0)
            known = bool(pace.known[place, 0])
            rule = (
                "derived from its utilisation"
                if known
                else "assumed, as no row states its utilisation"
            )
            yield (
                f"with the application's work, the {end} is the bottleneck: {units.format_bps(bound_bps, 4)}; without "
                f"this work, a core of the {end} needs {units.format_seconds(own_s, 3)} for a frame ({rule})"
            )
    if pace.by_receiver[0]:
        yield (
            "frames wait in full buffers: as many as in the unlimited benchmark (assumed), but longer, since fewer "
            "pass per second (Little's law)"
        )


BY_WIRE = 0.9
"""Least ratio of goodput to theory's bound at which the wire counts as the bottleneck (assumed)."""
SHORTEST_S = 1e-12


class HostTimes(NamedTuple):
    """Time that each host needs for a frame without the application's work, for n prediction requests.

    ``own_s`` is the time [s], an array with three axes.  Axis 0: sender, receiver.  Axis 1: value, low and high end of
    the interval, or only the value.  Axis 2: request.  ``known`` marks whether dataset rows state the host's utilisation.
    Its axis 0 is sender, receiver; its axis 1 is the request.
    """

    own_s: Floats
    known: Bools


def host_times(query: TableQuery, alone: Flow) -> HostTimes:
    """Compute the time that sender and receiver each need for a frame without the application's work.

    Parameters
    ----------
    query : TableQuery
        The requests, and their tables.
    alone : Flow
        Goodput, loss and load of each stream without the application's work.
    """
    busy = utilisation_at_full_speed(query)
    own_s, by_wire = time_per_frame(query, alone, busy)
    if by_wire.any():
        where = np.flatnonzero(by_wire)
        own_s[..., where] = _continued(query.take(where), own_s[..., where])
    return HostTimes(own_s, ~np.isnan(busy[:, VALUE]))


def utilisation_at_full_speed(query: TableQuery) -> Floats:
    """Utilisation of the sender's and receiver's cores at the unlimited load; NaN if no row states it.

    The result is an array (2, ends, n) for n requests.  Its first axis holds sender and receiver.  The axis ``ends``
    holds value, low and high end of the interval, or only the value.
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
    """Compute the time per frame of sender and receiver from their utilisation at full speed.

    Returns
    -------
    array with three axes
        Times [s].  Axis 0: sender, receiver.  Axis 1: value, low and high end of the interval, or only the value.
        Axis 2: request.
    array of bool (requests,)
        Whether the wire, and not a host, limits the stream.  If so, the times of this request are only upper limits.
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
    """Extrapolate the hosts' time per frame to payloads at which the wire is the bottleneck.

    The result follows a straight line through the times at smaller payloads, at which the hosts are the bottleneck.  It
    is at most ``own_s``, the time that follows from the hosts' utilisation [s].

    Both are arrays (2, ends, n) for n requests.  The first axis holds sender and receiver.  The axis ``ends`` holds
    value, low and high end of the interval, or only the value.
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
    """Fit a straight line to times per frame [s] at some payloads, and extrapolate it to other payloads.

    The fit minimises the squared relative errors.  If the line does not rise with the payload, the result is the time
    at the last fitted payload.
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
