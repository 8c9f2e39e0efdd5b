"""How long a message takes over hops that nothing else uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from icmodel.arrays import Floats


def pipelined_s(
    message_bits: ArrayLike, packet_bits: ArrayLike, rates_bps: ArrayLike, latencies_s: ArrayLike
) -> Floats:
    """From the first bit sent to the last bit received of a message in packets [s]; (...).

    Each hop forwards a packet when it has it whole, while the next ones follow:
    Σ latency + message / slowest rate + Σ packet / rate of all hops but the slowest.  One packet of the
    whole message is store-and-forward of messages, no packet at all is a cut-through path.

    Parameters
    ----------
    message_bits, packet_bits : array-like (...)
        On the wire.
    rates_bps, latencies_s : array-like (..., hops)
        Of each hop; an infinite rate where there is none.
    """
    rates, packet = np.asarray(rates_bps, dtype=np.float64), np.asarray(packet_bits, np.float64)
    slowest = rates.min(axis=-1)
    forwarding = (packet[..., None] / rates).sum(axis=-1) - packet / slowest
    return np.asarray(
        np.sum(latencies_s, axis=-1) + np.asarray(message_bits) / slowest + forwarding
    )
