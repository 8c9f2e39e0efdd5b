"""Throughput and load of each stream; every law computes them before any other metric.

E1 to E19 are the errata of the pseudo-code in IC2012 (docs/background/errata.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats, Ints, fast_where
from icmodel.tables import HIGH, LOW, VALUE, Load, TableQuery

CLOSE = 1e-9
"""Relative tolerance for rounding, within which a requested rate counts as achieved."""
SHARED = "_shared_goodput_bps_"
"""Prefix of the names of tables with the goodput of one stream among several endpoints.

The number of endpoints follows the prefix.
"""


LATENCIES = ("latency_", "rtt_")
"""Prefixes of the names of latencies and round trips."""
INTERFACE_OVERLOADED = "all senders together request more than the receiving interface carries"
"""Reason why the latency of a stream is unknown; see :func:`latency_unknown`."""


class Flow(NamedTuple):
    """Goodput [b/s], loss and load of n streams, as arrays (ends, n); the `ends` axis holds value, low and high.

    Parameters
    ----------
    capacity_bps : array
        Greatest goodput of the stream without other streams.
    share_bps : array
        Stream's part of the goodput that the receiver accepts from all senders.
    sent_bps, goodput_bps : array
        Rate at which the stream is sent, and rate that the receiver's application gets.
    unlimited_loss : array
        Benchmarked loss rate of an unlimited sender; 0 if unknown.
    achieved_loss : array
        Loss rate of a request that is achieved.
    saturated : array of bool
        Whether the request exceeds the capacity.
    receiver_overloaded : array of bool
        Whether all senders together request more than the receiver accepts.
    not_achieved : array of bool
        Whether the stream gets less than it requests.
    latency_load, cpu_load : Load
        Loads at which latency and CPU time are looked up.
    """

    capacity_bps: Floats
    share_bps: Floats
    sent_bps: Floats
    goodput_bps: Floats
    unlimited_loss: Floats
    achieved_loss: Floats
    saturated: Bools
    receiver_overloaded: Bools
    not_achieved: Bools
    latency_load: Load
    cpu_load: Load

    def take(self, where: Ints) -> Flow:
        """Select the streams at the given indices."""
        taken = [p.take(where) if isinstance(p, Load) else p.take(where, axis=1) for p in self]
        return Flow._make(taken)


MetricsAt = Callable[[TableQuery, Load, Flow], Floats]
"""Type of a function that returns metrics (metrics, ends, n) at the loads (ends, n) of n requests.

The axis ``ends`` holds value, low and high end of the interval, or only the value.
"""


def widen_to_both_regimes(
    query: TableQuery, load: Load, flow: Flow, metrics_at: MetricsAt
) -> Floats:
    """Evaluate metrics at given loads, and widen their intervals if saturation is uncertain.

    If the interval of the capacity contains the request, the stream may or may not saturate.  The interval of each
    metric then covers both cases.  The result is an array (metrics, ends, n).  The `ends` axis holds value, low and
    high; n is the number of requests.
    """
    found = metrics_at(query, load, flow)
    open_ends = load.slot[LOW:] != load.slot[VALUE]
    if open_ends.any():
        there = np.flatnonzero(open_ends.any(axis=0))
        other = metrics_at(query.take(there), load.at_value().take(there), flow.take(there))
        found[:, LOW, there] = np.fmin(found[:, LOW, there], other[:, LOW])
        found[:, HIGH, there] = np.fmax(found[:, HIGH, there], other[:, HIGH])
    return found


# --- share of a receiver --------------------------------------------------------------------------


def fair_share(
    query: TableQuery,
    receiver_bps: Floats,
    overloaded: Bools,
    unlimited_loss: Floats,
    able_bps: Floats,
) -> Floats:
    """Compute each stream's share of the goodput that a receiver accepts from several senders [b/s], (ends, n).

    The axis ``ends`` holds value, low and high for n requests.  The share is max(R − others, R / endpoints).  R is the
    goodput that the receiver accepts, *others* is the sum of the goodputs that the other senders request, and
    *endpoints* is the number of all senders.  This is the max-min fair share for one other stream, and for several
    equal other streams (E2, an erratum of the thesis IC2012).

    In two cases, another number replaces R / endpoints.  First, an overloaded receiver that loses frames does not
    distinguish senders: the part of R that is proportional to the stream's offered load (assumed).  Second, if the
    share was measured with that number of senders: the measured share, also for such a receiver.

    If the stream was never measured alone, R is unknown, and only measured shares are used.

    Parameters
    ----------
    query : TableQuery
        The requests, and their tables.
    receiver_bps : array
        Goodput R that the receiver accepts from one sender.
    overloaded : array of bool
        Whether the requests of all senders together exceed ``receiver_bps``.
    unlimited_loss : array
        Loss rate of an unlimited sender without other senders.
    able_bps : array
        Rate at which an unlimited sender sends without other senders.
    """
    q = query.q
    if not (q.endpoints > 1).any():
        return receiver_bps
    receiver, part = receiver_bps, receiver_bps / q.endpoints
    others = q.other_goodput_bps > 0
    if q.lossy.any() and (crowded := overloaded & others & (unlimited_loss > 0)).any():
        own = np.minimum(q.requested_goodput_bps, able_bps)
        total = own + np.minimum(q.other_goodput_bps, (q.endpoints - 1) * able_bps)
        offered = total / able_bps
        # The receiver also spends time on frames that it loses.  At twice the rate of an unlimited sender, this time is
        # assumed to be loss / (1 − loss) of the time for accepted frames.  The receiver then accepts only 1 − loss of
        # its goodput (E2, E9).  IC2012 §6.5.3.1 says only that two unlimited senders, which offer 19 Gb/s, deliver less
        # in total than one.  No source covers more than twice the rate, so the result stays constant above it.
        lost = np.minimum(unlimited_loss, 1 - CLOSE)
        less = receiver_bps / (1 + lost / (1 - lost) * np.minimum(offered - 1, 1.0))
        receiver = fast_where(crowded & (offered > 1), less, receiver_bps)
        part = fast_where(crowded, receiver * (own / np.maximum(total, CLOSE)), part)
    for table in query.tables.metrics:
        if table.startswith(SHARED):
            here = q.endpoints == int(table.removeprefix(SHARED))
            if here.any():
                measured = query(table, query.unlimited)
                known = here & ~np.isnan(measured)
                part = fast_where(known, np.fmin(measured, receiver), part)
    return np.asarray(np.fmax(receiver - q.other_goodput_bps, part))


def loss_lowers_goodput(query: TableQuery, flow: Flow) -> Bools:
    """Mark the requests (n,) whose goodput is lowered by loss, since several senders overload their receiver."""
    several = (query.q.endpoints > 1) & (query.q.other_goodput_bps > 0)
    lossy = flow.unlimited_loss[VALUE] > 0
    return np.asarray(several & flow.receiver_overloaded[VALUE] & lossy)


def latency_unknown(query: TableQuery, flow: Flow) -> Bools:
    """Mask (n,) of the requests whose latency is unknown, since several senders overload the receiving interface.

    The overload causes a queue, which benchmarks of a single sender do not show.  A request is marked in two cases:

    - The stream gets less goodput than it would get without the other senders.
    - All senders together request more than the line carries, even if this stream gets its request.  The stream's own
      load is at most the rate that it sends alone.  The load of the others is ``other_goodput_bps / line_rate_bps``,
      without headers, since their headers are unknown.
    """
    q, capacity_bps = query.q, flow.capacity_bps[VALUE]
    line_rate_bps = query.tables.link.line_rate_bps
    sent_bps = alone_bps = np.fmin(q.requested_goodput_bps, capacity_bps)
    overloaded = flow.share_bps[VALUE] * (1 + CLOSE) < alone_bps
    if line_rate_bps is not None:
        if q.lossy.any():
            sent_bps = np.fmin(q.requested_goodput_bps, np.fmax(capacity_bps, flow.sent_bps[VALUE]))
        used = sent_bps / q.frames.greatest_bps + q.other_goodput_bps / line_rate_bps
        overloaded |= used > 1 + CLOSE
    return np.asarray(overloaded & (q.endpoints > 1) & (q.other_goodput_bps > 0))


# --- delays of the path ---------------------------------------------------------------------------


@lru_cache(maxsize=256)
def traversals(metric: str) -> int:
    """Number of times that a latency includes the delay of the path: 2 for a round trip, 1 for one way.

    It is 0 for a standard deviation, which a constant delay does not change, and for any other metric.
    """
    if metric.endswith("_std_s"):
        return 0
    if metric.startswith(("rtt_half_", "latency_")):
        return 1
    return 2 if metric.startswith("rtt_") else 0


@lru_cache(maxsize=256)
def is_one_way(metric: str) -> bool:
    """Whether a metric is a one-way latency. Theory's least time is a lower bound of such a metric."""
    return metric.startswith("latency_") and not metric.endswith("_std_s")


def switches_s(query: TableQuery, metrics: Sequence[str]) -> Floats:
    """Compute the one-way time [s] of requested switches beyond those of the measured path, array (metrics, n).

    Each further switch adds the dataset's switch latency (IC2012 §7.1.2).  If that latency is unknown, the result is
    NaN.  An axis has the length 1, for broadcasting, if all metrics or all n requests have the same time.
    """
    if not query.q.switches.any():
        return np.zeros((1, 1))
    latency_s = query.tables.link.switch_latency_s
    beyond = query.q.switches - query.switches(metrics)
    if latency_s is None:
        return fast_where(beyond > 0, np.nan, 0.0)
    np.maximum(beyond, 0, out=beyond)
    beyond *= latency_s
    return beyond


def cable_s(query: TableQuery) -> Floats:
    """Compute the propagation time [s] of the requested cable minus that of the dataset's cable, (n,).

    The thesis IC2012 has no term for a longer cable: erratum E19 in docs/background/errata.md.
    """
    return query.extra_distance_m * (query.tables.link.propagation_s_per_m or 0.0)


def least_s(query: TableQuery) -> Floats:
    """Compute theory's least one-way latency of a frame over the dataset's cable [s], (n,).

    The latency is the time of a lone frame on the wire, plus propagation.
    """
    link = query.tables.link
    propagation = (link.cable_length_m or 0.0) * (link.propagation_s_per_m or 0.0)
    return query.q.frames.lone_s + propagation


def add_path(found: Floats, metrics: Sequence[str], path_s: Floats) -> None:
    """Add the one-way path time [s] to latencies ``found`` (metrics, ends, n), in place.

    The axis ``ends`` holds value, low and high.  A round trip gets the path time twice.  ``path_s`` (metrics, n) has
    the length 1 along an axis if all metrics or all requests have the same path time.
    """
    if not path_s.any():
        return
    every = np.broadcast_to(path_s, (len(metrics), path_s.shape[1]))
    for ends, metric, once_s in zip(found, metrics, every, strict=True):
        if times := traversals(metric):
            ends += once_s if times == 1 else times * once_s
