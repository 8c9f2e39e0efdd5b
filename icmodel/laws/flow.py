"""What every law says of the frames of a stream before it answers any metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.tables import HIGH, LOW, VALUE, Load, Look

CLOSE = 1e-9
"""Relative slack with which a request counts as achieved: products of rate and payload round."""


@dataclass(frozen=True, slots=True)
class Flow:
    """How the frames fare; arrays (ends, n) of value, low and high, goodputs in b/s.

    ``capacity_bps`` is what the stream reaches alone, ``receiver_bps`` what the receiver takes of all senders,
    ``share_bps`` this stream's part of it.  ``unlimited_loss`` is the benchmarked loss of an unlimited sender
    (0 where none is known), ``achieved_loss`` that of an achieved request.  ``saturated``: the request is
    above the capacity; ``receiver_overloaded``: all senders together ask for more than it;
    ``not_achieved``: the stream gets less than it asks for.  ``latency_load`` and ``cpu_load`` are the
    loads at which latency and CPU are looked up, each at the end of the flow that goes with theirs.
    """

    capacity_bps: Floats
    receiver_bps: Floats
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
        """How some of the frames fare."""
        return self._each(lambda part: part[:, where], lambda load: load.take(where))

    def of_values(self) -> Flow:
        """The flow that goes with values, without that of ends."""
        return self._each(lambda part: part[:1], Load.at_value)

    def _each(self, part: Callable[[Any], Any], load: Callable[[Load], Load]) -> Flow:
        """The same with each array and load changed."""
        parts = (getattr(self, field.name) for field in fields(self))
        changed = [load(p) if isinstance(p, Load) else part(p) for p in parts]
        return Flow(*changed)  # type: ignore[arg-type]


Told = Callable[[Look, Load, Flow], Floats]
"""What tells metrics (metrics, ends, n) at some loads (ends, n)."""


def over_both(look: Look, load: Load, flow: Flow, told: Told) -> Floats:
    """Metrics (metrics, ends, n) as they are told at a load (ends, n).

    Where it is open whether a request is achieved, the interval reaches over both answers.
    """
    found = told(look, load, flow)
    if look.ends == 3 and len(there := np.flatnonzero((load.slot != load.slot[VALUE]).any(axis=0))):
        other = told(look.take(there), load.at_value().take(there), flow.take(there))
        found[:, LOW, there] = np.fmin(found[:, LOW, there], other[:, LOW])
        found[:, HIGH, there] = np.fmax(found[:, HIGH, there], other[:, HIGH])
    return found
