"""RapidIO: memory writes, reads and messages in packets of at most 256 B of data.

Bytes of a packet, with n bytes of data::

    physical 2 + source and target id + transaction 0 or 2 + address 0, 4, 6 or 8
    + n to a multiple of 8 + CRC 2, or 4 if header and data exceed 80 B
    + padding of all these to a multiple of 4 + control symbol 4 or 8

A control symbol can end one packet and start the next, so each packet counts one symbol. A packet is
complete with the symbol that ends it, so a latency includes this symbol. Clock compensation (one
sequence in 5000 characters) and acknowledgements are neglected. So a computed goodput is an upper
bound, and a latency a lower bound. Sources: RapidIO 4.0 part 6 annex D, and RapidIO 2.2 part 6
table 2-4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from icmodel.theory import *  # noqa: F403 - each link exports these functions
from icmodel.theory import (
    AnyFraming,
    Train,
    ceil_div,
    check_choice,
    choice,
    multiples,
    payload_array,
)

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
    "nread": 2,  # of the response: transaction and status, target transaction id
    "message": 2,  # length, segment size, letter, mailbox, segment
}
WITH_ADDRESS = ("swrite", "nwrite", "nwrite_r")
PROPAGATION_S_PER_M = 4.87e-9
"""Propagation delay of fibre with a refractive index of 1.46 [s/m], RapidIO 4.0 annex D."""

LANES = (1, 2, 4, 8, 16)
CODED_BAUD_SHARE = {
    **dict.fromkeys((1.25e9, 2.5e9, 3.125e9, 5e9, 6.25e9), 8 / 10),
    **dict.fromkeys((10.3125e9, 12.5e9, 25.78125e9), 64 / 67),
}
"""Data bits per symbol, by baud of a lane.

The coding is 8b/10b up to 6.25 GBd, and 64b/67b above (RapidIO 4.0).
"""


@dataclass(frozen=True, slots=True)
class Framing(AnyFraming):
    """Framing of RapidIO: the parameters that determine how a transfer is cut into packets.

    Parameters
    ----------
    operation : "swrite", "nwrite", "nwrite_r", "nread" or "message"
        Operation: streaming write, write, write with response, read (its response), or message.
        Only packets in the direction of the data are counted.
    device_id_bits : 8 or 16
        Width of the source id and of the destination id [bit].
    address_bits : 34, 50 or 66
        Width of the address in a write [bit].
    control_symbol_bytes : 4 or 8
        Size of a control symbol: 4 with IDLE1 (short symbols), 8 with IDLE2 and IDLE3 (above 5.5
        GBd).

    Examples
    --------
    A full streaming write has a header of 8 B, so 256 of its 272 B on the wire are data.

    >>> Framing().header_bytes
    8
    >>> round(float(max_goodput_bps(256, Framing(), link_rate_bps())) / 1e9, 3)
    15.059
    """

    propagation_s_per_m: ClassVar[float] = PROPAGATION_S_PER_M
    operation: str = choice(
        "swrite", "Operation: swrite, nwrite, nwrite_r, nread or message.", OPERATION_BYTES
    )
    device_id_bits: int = choice(8, "Bits of a device id: 8 or 16.", (8, 16))
    address_bits: int = choice(34, "Bits of the address in a write: 34, 50 or 66.", ADDRESS_BYTES)
    control_symbol_bytes: int = choice(
        4, "Size of a control symbol: 4 B (IDLE1) or 8 B (IDLE2, IDLE3).", (4, 8)
    )

    @property
    def max_payload_bytes(self) -> int | None:
        """Largest transfer [B]: 4096 for a message; ``None`` for writes and reads."""
        return MAX_MESSAGE_BYTES if self.operation == "message" else None

    @property
    def header_bytes(self) -> int:
        """Header of every packet [B]: the bytes before its data."""
        ids = 2 * self.device_id_bits // 8
        address = ADDRESS_BYTES[self.address_bits] if self.operation in WITH_ADDRESS else 0
        return PHYSICAL_BYTES + ids + OPERATION_BYTES[self.operation] + address

    def train(self, payload_bytes: ArrayLike) -> Train:
        """Cut transfers into packets; the result has the shape of `payload_bytes` [B]."""
        limit, carrier = self.max_payload_bytes, f"one RapidIO {self.operation}"
        payload = payload_array(payload_bytes, limit, carrier)
        count = ceil_div(payload, MAX_DATA_BYTES)
        full = int(packet_bytes(MAX_DATA_BYTES, self)) + self.control_symbol_bytes
        last = np.asarray(_packet_bytes(payload - (count - 1) * MAX_DATA_BYTES, self))
        last = last + self.control_symbol_bytes
        wire = np.asarray((count - 1) * full + last)
        aligned = np.asarray(payload % MAX_DATA_BYTES == 0)
        return Train(payload, count, wire, aligned, full, last)

    def aligned_payloads(self, up_to_bytes: int) -> NDArray[np.int64]:
        """All payloads [B] up to `up_to_bytes` that fill every packet: multiples of 256 B, ascending."""
        return multiples(MAX_DATA_BYTES, up_to_bytes, self.max_payload_bytes)

    def best_payloads(self) -> ArrayLike:
        """Payload of the greatest goodput [B]: the data of one full packet."""
        return MAX_DATA_BYTES


def link_rate_bps(lanes: int = 4, baud: float = 5e9) -> float:
    """Data rate of a RapidIO link after line coding [b/s]: lanes × baud × data bits per symbol.

    Parameters
    ----------
    lanes : 1, 2, 4, 8 or 16
        Number of lanes.
    baud : float
        Symbols per second of one lane [Bd].

    Raises
    ------
    ScenarioError
        If the number of lanes or the baud is unknown.

    Examples
    --------
    Four lanes of 5 GBd with 8b/10b:

    >>> link_rate_bps(lanes=4, baud=5e9) / 1e9
    16.0
    """
    check_choice("lanes", lanes, LANES)
    check_choice("baud", baud, tuple(CODED_BAUD_SHARE))
    return lanes * baud * CODED_BAUD_SHARE[baud]


def packet_bytes(data_bytes: ArrayLike, framing: Framing) -> NDArray[np.int64]:
    """Size of a RapidIO packet on the wire [B], with its CRCs and padding, without control symbols.

    The result has the shape of `data_bytes`, from 1 to 256 B.

    Raises
    ------
    ScenarioError
        If a packet cannot carry the data.

    Examples
    --------
    8 B of header, 256 B of data and two CRCs of 2 B:

    >>> int(packet_bytes(256, Framing()))
    268
    """
    data = payload_array(data_bytes, MAX_DATA_BYTES, "one RapidIO packet")
    return np.asarray(_packet_bytes(data, framing))


def _packet_bytes(data: NDArray[np.int64], framing: Framing) -> NDArray[np.int64]:
    covered = framing.header_bytes + ceil_div(data, DOUBLE_WORD_BYTES) * DOUBLE_WORD_BYTES
    checked = covered + CRC_BYTES * np.where(covered > SINGLE_CRC_BYTES, 2, 1)
    return ceil_div(checked, WORD_BYTES) * WORD_BYTES
