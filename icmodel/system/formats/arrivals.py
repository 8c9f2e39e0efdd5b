"""Arrivals: the producer of a token bucket."""

from __future__ import annotations

import math
from dataclasses import dataclass

from icmodel.errors import NetworkError
from icmodel.system.formats.foreign import Foreign, Table


@dataclass(frozen=True, slots=True)
class Arrival:
    """A burst [b] that may come at once, a rate [b/s], and the longest packet [b], 0 where none is said."""

    burst_bits: float
    rate_bps: float
    packet_bits: float


def stream_table(name: str, arrival: Arrival, made: Foreign) -> Table:
    """The table of a stream without its ends: a message as large as the burst, as often as the rate lets.

    Raises
    ------
    NetworkError
        If there is no burst or no rate.
    """
    if not (arrival.burst_bits > 0 and arrival.rate_bps > 0):
        raise NetworkError(f"the flow {name} has no burst or no rate: give both above 0")
    packet = arrival.packet_bits
    if packet > arrival.burst_bits:
        made.remark(
            f"the longest packet of {name} is larger than its burst, which one packet is at most"
        )
    payload = min(packet or arrival.burst_bits, arrival.burst_bits)
    produced: Table = {
        "kind": "samples",
        "samples": 1,
        "size_bits": arrival.burst_bits,
        "cycle_hz": arrival.rate_bps / arrival.burst_bits,
    }
    return {
        "name": name,
        "produces": produced,
        "protocol": "udp",
        "payload_bytes": max(math.ceil(payload / 8), 1),
    }
