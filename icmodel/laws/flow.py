"""Throughput and load of each stream, which every law computes before any other metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
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
