"""A lone frame over hops, packet by packet and event by event: a slow twin of every closed form of its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Hop:
    """A line, and the switch behind it.

    ``through`` tells whether the switch behind may begin to forward before it has a packet whole.
    """

    rate_bps: float
    delay_s: float = 0.0
    through: bool = False
    latency_s: float = 0.0


def lone_frame_s(
    sizes_bytes: Sequence[Sequence[float]], gap_bytes: float, hops: Sequence[Hop]
) -> float:
    """From the first bit of the first packet to the last bit of the last one [s].

    Parameters
    ----------
    sizes_bytes : sequence (hops) of sequence (packets)
        Bytes of each packet on each line, gap included.
    """
    ready = [0.0] * len(sizes_bytes[0])
    for here, (sizes, hop) in enumerate(zip(sizes_bytes, hops, strict=True)):
        free, last_hop = 0.0, here == len(hops) - 1
        for packet, size in enumerate(sizes):
            begins = max(free, ready[packet])
            free = begins + 8 * size / hop.rate_bps
            whole = begins + 8 * (size - gap_bytes) / hop.rate_bps + hop.delay_s
            faster = not last_hop and hops[here + 1].rate_bps > hop.rate_bps
            at_once = hop.through and not faster and not last_hop
            ready[packet] = (begins + hop.delay_s if at_once else whole) + hop.latency_s
    return ready[-1]
