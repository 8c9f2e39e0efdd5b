"""InfiniBand: messages cut at the path MTU, SDR to NDR.

A packet carries 24 B around its data as port counters see it (LRH 8, BTH 12, ICRC 4), 2 B more on
the wire (VCRC), and the first packet of a write 16 B more (RETH). Header bytes as in Linux
``include/rdma/ib_pack.h``; lane rates as in the kernel's ``ib_rate_to_mbps``. Acknowledgements
travel the other way; credits, delimiters and skips of the link are left out, so a bound stays one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from icmodel.theory import _rdma, _wire

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LRH_BYTES = 8
VCRC_BYTES = 2
PROPAGATION_S_PER_M = 5e-9
"""Fibre with a refractive index of 1.5; also the usual rule of thumb for any cable."""

LANE_RATE_BPS = {
    "sdr": 2.5e9 * 8 / 10,
    "ddr": 5e9 * 8 / 10,
    "qdr": 10e9 * 8 / 10,
    "fdr": 14.0625e9 * 64 / 66,
    "edr": 25.78125e9 * 64 / 66,
    "hdr": 50e9,  # 53.125 Gb/s less RS(544,514) and 256b/257b
    "ndr": 100e9,  # 106.25 Gb/s less the same
}
LANES = (1, 2, 4, 8, 12)


@dataclass(frozen=True, slots=True)
class Framing:
    """The choices that decide what a message becomes on an InfiniBand wire.

    Parameters
    ----------
    mtu_bytes : 256, 512, 1024, 2048 or 4096
        Path MTU: data bytes of a full packet [B].
    operation : "send", "write", "read" or "datagram"
        A read is counted in the direction of its data.
    global_route : bool
        With the 40 B global route header, as between subnets.
    as_counted : bool
        As port counters see it: without the 2 B variant CRC.
    """

    mtu_bytes: int = 4096
    operation: str = "send"
    global_route: bool = False
    as_counted: bool = False

    def __post_init__(self) -> None:
        _rdma.check(self.mtu_bytes, self.operation)


def link_rate_bps(generation: str = "qdr", lanes: int = 4) -> float:
    """Data rate of a link after coding [b/s]."""
    _wire.check_choice("generation", generation, tuple(LANE_RATE_BPS))
    _wire.check_choice("lanes", lanes, LANES)
    return lanes * LANE_RATE_BPS[generation]


def _packet_bytes(framing: Framing) -> int:
    """Bytes around the data of every packet."""
    counted = LRH_BYTES + _rdma.BTH_BYTES + _rdma.ICRC_BYTES
    return counted + _rdma.GRH_BYTES * framing.global_route + VCRC_BYTES * (not framing.as_counted)


def _train(payload_bytes: ArrayLike, framing: Framing) -> _wire.Train:
    packet_bytes = _packet_bytes(framing)
    return _rdma.train(payload_bytes, framing.mtu_bytes, framing.operation, packet_bytes)


def packets(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.int64]:
    """Packets one message becomes; shape of `payload_bytes` [B]."""
    return _train(payload_bytes, framing).packets


def wire_bits(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.int64]:
    """Bits of one message on the wire; shape of `payload_bytes` [B]."""
    return _train(payload_bytes, framing).wire_bits


def max_goodput_bps(
    payload_bytes: ArrayLike, framing: Framing, line_rate_bps: float
) -> NDArray[np.float64]:
    """Goodput of messages back to back [b/s]."""
    return _train(payload_bytes, framing).goodput_bps(line_rate_bps)


def send_interval_s(
    payload_bytes: ArrayLike, framing: Framing, line_rate_bps: float
) -> NDArray[np.float64]:
    """Least time between the starts of two messages [s]."""
    return _train(payload_bytes, framing).interval_s(line_rate_bps)


def min_latency_s(
    payload_bytes: ArrayLike,
    framing: Framing,
    line_rate_bps: float,
    distance_m: float = 0.0,
    propagation_s_per_m: float = PROPAGATION_S_PER_M,
    switches: int = 0,
    switch_latency_s: float = 0.0,
    switching: str = "cut-through",
) -> NDArray[np.float64]:
    """Least one-way latency: propagation, all bits of the message, and the switches [s].

    A switch adds its latency; one that stores and forwards receives the whole first packet
    before it sends. Of a read only the answer is counted, not the request before it.
    """
    path = _wire.Path(distance_m, propagation_s_per_m, switches, switch_latency_s, switching)
    return _train(payload_bytes, framing).latency_s(line_rate_bps, path)


def aligned(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.bool_]:
    """Whether a message fills its packets to the last byte; shape of `payload_bytes` [B]."""
    return _rdma.aligned(payload_bytes, framing.mtu_bytes, framing.operation)


def aligned_payloads(framing: Framing, up_to_bytes: int) -> NDArray[np.int64]:
    """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""
    return _wire.multiples(framing.mtu_bytes, up_to_bytes, max_payload_bytes(framing))


def stream_goodput_bps(framing: Framing, line_rate_bps: float) -> float:
    """Bound of any stream: the largest message, all its packets full [b/s]."""
    return float(max_goodput_bps(max_payload_bytes(framing), framing, line_rate_bps))


def max_payload_bytes(framing: Framing) -> int:
    """Largest message [B]: 2**31; a datagram is one packet."""
    return _rdma.max_message_bytes(framing.mtu_bytes, framing.operation)
