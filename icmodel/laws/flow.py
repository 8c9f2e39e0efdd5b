"""Throughput and load of each stream, which every law computes before any other metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats, Ints, if_else
from icmodel.tables import HIGH, LOW, VALUE, Load, Look

CLOSE = 1e-9
"""Relative tolerance with which a request counts as achieved: products of rate and payload round."""


class Flow(NamedTuple):
    """Goodputs, losses and states of each stream; arrays (ends, n) of value, low and high, goodputs in b/s.

    ``capacity_bps`` is the stream's goodput alone, ``share_bps`` its part of what the receiver accepts of all
    senders.  ``unlimited_loss`` is the benchmarked loss of an unlimited sender (0 where unknown), ``achieved_loss`` that
    of an achieved request.  ``saturated``: the request exceeds the capacity; ``receiver_overloaded``: all requests
    together exceed it; ``not_achieved``: the stream gets less than it requests.  ``latency_load`` and ``cpu_load`` are
    the loads at which latency and CPU are looked up, each end at the load that belongs to it.
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
        """The flow of some of the questions."""
        taken = [p.take(where) if isinstance(p, Load) else p.take(where, axis=1) for p in self]
        return Flow._make(taken)


MetricsAt = Callable[[Look, Load, Flow], Floats]
"""Function that gives metrics (metrics, ends, n) at some loads (ends, n)."""


def over_both(look: Look, load: Load, flow: Flow, metrics_at: MetricsAt) -> Floats:
    """Metrics (metrics, ends, n) at a load (ends, n).

    Where the interval leaves open whether a request is achieved, it is extended to both answers.
    """
    found = metrics_at(look, load, flow)
    open_ends = load.slot[LOW:] != load.slot[VALUE]
    if open_ends.any():
        there = np.flatnonzero(open_ends.any(axis=0))
        other = metrics_at(look.take(there), load.at_value().take(there), flow.take(there))
        found[:, LOW, there] = np.fmin(found[:, LOW, there], other[:, LOW])
        found[:, HIGH, there] = np.fmax(found[:, HIGH, there], other[:, HIGH])
    return found


SHARED = "_shared_goodput_bps_"
"""Beginning of the names of tables of one stream's goodput, measured at the number of endpoints that follows."""


def fair_share(
    look: Look, receiver_bps: Floats, overloaded: Bools, unlimited_loss: Floats, able_bps: Floats
) -> Floats:
    """A stream's share of what the receiver accepts; arrays (ends, n) [b/s].

    It is max(receiver − others, receiver / n), which is exact max-min for equal others or a single one (E2).
    A receiver that loses frames does not distinguish senders, so each gets its proportion of the offered
    load (assumed).  Shares measured at the requested number of endpoints replace receiver / n, and are the
    only ones where the stream was never measured alone.

    Parameters
    ----------
    receiver_bps : array
        What the receiver accepts of one sender.
    overloaded : array of bool
        Whether the requests of all senders exceed that.
    able_bps : array
        What a lone unlimited sender sends.
    """
    q = look.q
    if not (q.endpoints > 1).any():
        return receiver_bps
    receiver, part = receiver_bps, receiver_bps / q.endpoints
    crowded = overloaded & (q.others_bps > 0) & (unlimited_loss > 0)
    if crowded.any():
        own = np.minimum(q.request_bps, able_bps)
        total = own + np.minimum(q.others_bps, (q.endpoints - 1) * able_bps)
        receiver = _receives_less(receiver_bps, crowded, unlimited_loss, total / able_bps)
        part = if_else(crowded, receiver * (own / np.maximum(total, CLOSE)), part)
    for table in look.tables.metrics:
        if table.startswith(SHARED):
            here = q.endpoints == int(table.removeprefix(SHARED))
            if here.any():
                measured = look(table, look.unlimited)
                known = here & ~np.isnan(measured)
                part = if_else(known, np.fmin(measured, receiver), part)
    share = np.fmax(receiver - q.others_bps, part)
    return if_else(q.endpoints > 1, share, receiver)


def _receives_less(receiver_bps: Floats, crowded: Bools, loss: Floats, offered: Floats) -> Floats:
    """What the receiver accepts in total, less where several senders overload it (E2, E9).

    ``offered`` is the offered load of all senders as a multiple of a lone unlimited sender's, of which the
    receiver loses ``loss``.  The excess costs the receiver loss / (1 − loss) of the time
    for accepted frames: at twice the offered load it accepts less by the loss once more.  An assumed rule,
    since §6.5.3.1 says only that two unlimited senders, who offer 19 Gb/s, deliver less in total than
    one; above twice the load no source says anything, and the result is held.
    """
    lost = np.minimum(loss, 1 - CLOSE)
    more = np.minimum(offered - 1, 1.0)
    less = receiver_bps / (1 + lost / (1 - lost) * more)
    return if_else(crowded & (offered > 1), less, receiver_bps)


def receives_less(look: Look, flow: Flow) -> Bools:
    """Where several senders overload the receiver, whose loss then lowers the goodput, (n,)."""
    several = (look.q.endpoints > 1) & (look.q.others_bps > 0)
    lossy = flow.unlimited_loss[VALUE] > 0
    return np.asarray(several & flow.receiver_overloaded[VALUE] & lossy)


@lru_cache(maxsize=256)
def traversals(metric: str) -> int:
    """How often each switch and cable is crossed: 2 for a round trip, 1 one way, 0 for a standard deviation."""
    if metric.endswith("_std_s"):
        return 0
    if metric.startswith(("rtt_half_", "latency_")):
        return 1
    return 2 if metric.startswith("rtt_") else 0


@lru_cache(maxsize=256)
def is_one_way(metric: str) -> bool:
    """Whether a metric is a one-way latency, for which theory's least time is a bound."""
    return metric.startswith("latency_") and not metric.endswith("_std_s")


def switches_s(look: Look, metrics: Sequence[str]) -> Floats:
    """Time of the switches beyond those of the rows, one way [s], (metrics, n) or (metrics, 1); NaN without a rule.

    ``switch_latency`` for each switch (IC2012 §7.1.2).
    """
    if not look.q.switches.any():
        return np.zeros((len(metrics), 1))
    latency_s = look.tables.link.switch_latency_s
    beyond = look.q.switches - look.switches(metrics)
    if latency_s is None:
        return if_else(beyond > 0, np.nan, 0.0)
    return np.maximum(beyond, 0) * latency_s


def cable_s(look: Look) -> Floats:
    """Propagation in the cable beyond the dataset's own [s], (n,); errata E19."""
    return look.q.extra_distance_m * (look.tables.link.propagation_s_per_m or 0.0)


def least_s(look: Look) -> Floats:
    """Theory's least one-way time over the measured cable [s], (n,): a lone frame's, and propagation."""
    link = look.tables.link
    propagation = (link.cable_length_m or 0.0) * (link.propagation_s_per_m or 0.0)
    return look.q.frames.lone_s + propagation


def add_path(found: Floats, metrics: Sequence[str], path_s: Floats) -> None:
    """Add to metrics (metrics, ends, n) the paths (metrics, n) [s] that they cross, in place."""
    if not path_s.any():
        return
    for ends, metric, once_s in zip(found, metrics, path_s, strict=True):
        if times := traversals(metric):
            ends += times * once_s
