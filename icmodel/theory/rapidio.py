"""RapidIO: memory writes, reads and messages in packets of at most 256 B of data.

Header, CRC and control symbol bytes: RapidIO 4.0 part 6 annex D and RapidIO 2.2 part 6 table 2-4;
a packet has one 16-bit CRC up to 80 B of header and data and two above, and is filled to a
multiple of 4 B. Data is carried in double words of 8 B. One control symbol a packet is counted,
since it can end one packet and start the next; clock compensation (one sequence in 5000
characters) and acknowledgements are left out, so a bound stays one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from icmodel.theory import _wire

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MAX_DATA_BYTES = 256
MAX_MESSAGE_BYTES = 4096
DOUBLE_WORD_BYTES = 8
WORD_BYTES = 4
CRC_BYTES = 2
SINGLE_CRC_BYTES = 80
PHYSICAL_BYTES = 2  # acknowledge id, priority, transport type, format type
ADDRESS_BYTES = {34: 4, 50: 6, 66: 8}
OPERATION_BYTES = {
    "swrite": 0,
    "nwrite": 2,  # transaction and size, source transaction id
    "nwrite_r": 2,
    "nread": 2,  # of the answer: transaction and status, target transaction id
    "message": 2,  # length, segment size, letter, mailbox, segment
}
WITH_ADDRESS = ("swrite", "nwrite", "nwrite_r")
PROPAGATION_S_PER_M = 4.87e-9
"""Fibre with a refractive index of 1.46, RapidIO 4.0 annex D."""

LANES = (1, 2, 4, 8, 16)
CODED_BAUD_SHARE = {
    **dict.fromkeys((1.25e9, 2.5e9, 3.125e9, 5e9, 6.25e9), 8 / 10),
    **dict.fromkeys((10.3125e9, 12.5e9, 25.78125e9), 64 / 67),
}
"""Lane baud -> data bits a symbol: 8b/10b up to 6.25 GBd, 64b/67b above (RapidIO 4.0)."""


@dataclass(frozen=True, slots=True)
class Framing:
    """The choices that decide what a transfer becomes on a RapidIO wire.

    Parameters
    ----------
    operation : "swrite", "nwrite", "nwrite_r", "nread" or "message"
        Streaming write, write, write with response, read (its answer), message. Only packets in
        the direction of the data are counted.
    device_id_bits : 8 or 16
        Width of source and destination id.
    address_bits : 34, 50 or 66
        Width of the address in a write.
    control_symbol_bytes : 4 or 8
        4 with IDLE1 (short symbols), 8 with IDLE2 and IDLE3 (above 5.5 GBd).
    """

    operation: str = "swrite"
    device_id_bits: int = 8
    address_bits: int = 34
    control_symbol_bytes: int = 4

    def __post_init__(self) -> None:
        _wire.check_choice("operation", self.operation, tuple(OPERATION_BYTES))
        _wire.check_choice("device_id_bits", self.device_id_bits, (8, 16))
        _wire.check_choice("address_bits", self.address_bits, tuple(ADDRESS_BYTES))
        _wire.check_choice("control_symbol_bytes", self.control_symbol_bytes, (4, 8))


def link_rate_bps(lanes: int = 4, baud: float = 5e9) -> float:
    """Data rate of a link after coding [b/s]; `baud` is symbols per second of one lane."""
    _wire.check_choice("lanes", lanes, LANES)
    _wire.check_choice("baud", baud, tuple(CODED_BAUD_SHARE))
    return lanes * baud * CODED_BAUD_SHARE[baud]


def _header_bytes(framing: Framing) -> int:
    """Bytes before the data of every packet."""
    ids = 2 * framing.device_id_bits // 8
    address = ADDRESS_BYTES[framing.address_bits] if framing.operation in WITH_ADDRESS else 0
    return PHYSICAL_BYTES + ids + OPERATION_BYTES[framing.operation] + address


def packet_bytes(data_bytes: ArrayLike, framing: Framing) -> NDArray[np.int64]:
    """Bytes of a packet with its CRCs and filling, without control symbols.

    Shape of `data_bytes`, 1 to 256 [B].
    """
    data = _wire.payload_array(data_bytes, MAX_DATA_BYTES, "one RapidIO packet")
    return np.asarray(_packet_bytes(data, framing))


def _packet_bytes(data: NDArray[np.int64], framing: Framing) -> NDArray[np.int64]:
    covered = _header_bytes(framing) + _wire.ceil_div(data, DOUBLE_WORD_BYTES) * DOUBLE_WORD_BYTES
    checked = covered + CRC_BYTES * np.where(covered > SINGLE_CRC_BYTES, 2, 1)
    return _wire.ceil_div(checked, WORD_BYTES) * WORD_BYTES


def _train(payload_bytes: ArrayLike, framing: Framing) -> _wire.Train:
    limit = max_payload_bytes(framing)
    payload = _wire.payload_array(payload_bytes, limit, f"one RapidIO {framing.operation}")
    count = _wire.ceil_div(payload, MAX_DATA_BYTES)
    symbol = framing.control_symbol_bytes
    full = int(packet_bytes(MAX_DATA_BYTES, framing)) + symbol
    last = _packet_bytes(payload - (count - 1) * MAX_DATA_BYTES, framing) + symbol
    wire = (count - 1) * full + last
    return _wire.Train(payload, np.asarray(count), np.asarray(wire), full)


def packets(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.int64]:
    """Packets one transfer becomes; shape of `payload_bytes` [B]."""
    return _train(payload_bytes, framing).packets


def wire_bits(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.int64]:
    """Bits of one transfer on the wire, control symbols included; shape of `payload_bytes` [B]."""
    return _train(payload_bytes, framing).wire_bits


def max_goodput_bps(
    payload_bytes: ArrayLike, framing: Framing, line_rate_bps: float
) -> NDArray[np.float64]:
    """Goodput of transfers back to back [b/s]."""
    return _train(payload_bytes, framing).goodput_bps(line_rate_bps)


def send_interval_s(
    payload_bytes: ArrayLike, framing: Framing, line_rate_bps: float
) -> NDArray[np.float64]:
    """Least time between the starts of two transfers [s]."""
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
    """Least one-way latency: propagation, all bits of the transfer, and the switches [s].

    A switch adds its latency; one that stores and forwards receives the whole first packet
    before it sends. Of a read only the answer is counted, not the request before it.
    """
    path = _wire.Path(distance_m, propagation_s_per_m, switches, switch_latency_s, switching)
    return _train(payload_bytes, framing).latency_s(line_rate_bps, path)


def aligned(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.bool_]:
    """Whether a transfer fills its packets to the last byte; shape of `payload_bytes` [B]."""
    return np.asarray(_train(payload_bytes, framing).payload_bytes % MAX_DATA_BYTES == 0)


def aligned_payloads(framing: Framing, up_to_bytes: int) -> NDArray[np.int64]:
    """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""
    return _wire.multiples(MAX_DATA_BYTES, up_to_bytes, max_payload_bytes(framing))


def stream_goodput_bps(framing: Framing, line_rate_bps: float) -> float:
    """Bound of any stream: full packets of 256 B [b/s]."""
    return float(max_goodput_bps(MAX_DATA_BYTES, framing, line_rate_bps))


def max_payload_bytes(framing: Framing) -> int | None:
    """Largest transfer [B]: a message 4096; writes and reads as many packets as asked for (None)."""
    return MAX_MESSAGE_BYTES if framing.operation == "message" else None
