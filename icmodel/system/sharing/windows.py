"""What windows make of shares: a sender has at most a window of bytes on its way, and waits for acknowledgements.

A window W lets ``W / RTT`` pass. Flows that share a full queue wait there for the same time q, so each gets
``W / (RTT + q)``, with q such that together they fill it (Little's law of the bytes on the way). At short
queues shares go by ``W / RTT``, at long ones by W.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from icmodel.arrays import Bools, Floats
from icmodel.system.sharing.allocation import Allocation, Flows, Lanes, allocate
from icmodel.system.sharing.loss import NOWHERE

ROUNDS = 20
"""Most rounds in which flows are told which queue they fill."""
HALVINGS = 100


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of flows.

    Parameters
    ----------
    bits, round_trip_s : arrays (flows,)
        A window [b], infinite where none is known, and the round trip without queues [s].
    """

    bits: Floats
    round_trip_s: Floats

    @property
    def limit_bps(self) -> Floats:
        """What each lets pass at most [b/s], (flows,)."""
        return self.bits / self.round_trip_s

    @property
    def known(self) -> Bools:
        """Which flows have one, (flows,)."""
        return np.isfinite(self.bits)


def share(flows: Flows, lanes: Lanes, windows: Windows) -> Allocation:
    """What each flow gets: by its window where those of all flows that give way are known, else evenly.

    A flow without a window fills any queue, and no rule says how much it leaves: shares are even then.
    """
    elastic = flows.elastic
    if not elastic.any() or not windows.known[elastic].all():
        return allocate(flows, lanes)
    queue_s = np.zeros(len(elastic))
    for _ in range(ROUNDS):
        weights = np.where(elastic, windows.bits / (windows.round_trip_s + queue_s), 1.0)
        found = allocate(replace(flows, weights=weights), lanes)
        before, queue_s = queue_s, _queues_s(found, windows, elastic)
        if np.allclose(queue_s, before, rtol=1e-9, atol=0.0):
            break
    return found


def _queues_s(found: Allocation, windows: Windows, elastic: Bools) -> Floats:
    """How long each flow waits in the queue of the lane that limits it [s]."""
    waits_s = np.zeros(len(elastic))
    for lane in np.unique(found.limiting[elastic & (found.limiting != NOWHERE)]):
        there = elastic & (found.limiting == lane)
        bits, trip_s = windows.bits[there], windows.round_trip_s[there]
        waits_s[there] = standing_s(bits, trip_s, float(found.rate_bps[there].sum()))
    return waits_s


def standing_s(bits: Floats, round_trip_s: Floats, rate_bps: float) -> float:
    """The time q at which ``sum of W / (RTT + q)`` is a rate [s]; 0 where windows do not fill it, or it is 0."""
    if rate_bps <= 0 or (bits / round_trip_s).sum() <= rate_bps:
        return 0.0
    low, high = 0.0, float(bits.sum()) / rate_bps
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if (bits / (round_trip_s + middle)).sum() > rate_bps else (low, middle)
        )
    return (low + high) / 2
