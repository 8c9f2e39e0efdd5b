"""InfiniBand from SDR to NDR: messages are cut into packets at the path MTU.

RoCE has the same transport.

Header bytes: Linux ``include/rdma/ib_pack.h`` and ``drivers/infiniband/sw/rxe/rxe_hdr.h``.

Bytes of a packet on the wire, with n bytes of data::

    LRH 8 + GRH 40 between subnets + BTH 12 + n to a multiple of 4 + ICRC 4 + VCRC 2

The first packet of a write adds a RETH of 16 B. A datagram adds a DETH of 8 B. The first and the last
packet of a read's response add an AETH of 4 B each. Port counters do not count the VCRC. The lane
rates are those of ``ib_rate_to_mbps`` in Linux.

Acknowledgements travel in the other direction. Credits, delimiters and skip symbols of the link are
neglected. So a computed goodput is an upper bound, and a latency a lower bound.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

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


GRH_BYTES = 40  # global route header
BTH_BYTES = 12  # base transport header
ICRC_BYTES = 4  # invariant CRC
RETH_BYTES = 16  # RDMA header: first packet of a write
AETH_BYTES = 4  # acknowledge header: first and last packet of a read's response
DETH_BYTES = 8  # datagram header: the single packet of a datagram
WORD_BYTES = 4  # data is padded to whole words before the invariant CRC
MTUS_BYTES = (256, 512, 1024, 2048, 4096)
MAX_MESSAGE_BYTES = 2**31
FIRST_PACKET_BYTES = {
    "send": 0,
    "write": RETH_BYTES,
    "read": AETH_BYTES,
    "datagram": DETH_BYTES,
}
PROPAGATION_S_PER_M = 5e-9
"""Propagation delay of fibre with a refractive index of 1.5 [s/m]; it roughly fits any cable."""


def mtu(default: int) -> Any:
    """Make the dataclass field for the path MTU of a framing [B], with its help text and allowed values."""
    return choice(default, "RDMA path MTU, 256 B to 4096 B.", MTUS_BYTES)


def operation() -> Any:
    """Make the dataclass field for the RDMA operation of a framing, with its help text and allowed values."""
    return choice(
        "send", "RDMA operation: send, write, read or datagram.", tuple(FIRST_PACKET_BYTES)
    )


class RdmaFraming(AnyFraming):
    """Base class of the framings of InfiniBand and RoCE.

    Subclasses add fields and the overhead of a packet.
    """

    __slots__ = ()
    propagation_s_per_m: ClassVar[float] = PROPAGATION_S_PER_M
    mtu_bytes: int
    operation: str

    @property
    @abstractmethod
    def packet_bytes(self) -> int:
        """Size of a packet without the data that it carries [B]: headers and checksums."""

    @property
    def max_payload_bytes(self) -> int:
        """Largest message [B]: 2**31, or the data of one packet for a datagram."""
        return self.mtu_bytes if self.operation == "datagram" else MAX_MESSAGE_BYTES

    def train(self, payload_bytes: ArrayLike) -> Train:
        """Cut messages into packets at the path MTU; the result has the shape of `payload_bytes` [B].

        Raises
        ------
        ScenarioError
            If a payload is not a whole number of bytes from 1 to the largest message.
        """
        limit, carrier = self.max_payload_bytes, f"one {self.operation}"
        payload = payload_array(payload_bytes, limit, carrier)
        count = ceil_div(payload, self.mtu_bytes)
        filled = ceil_div(payload, WORD_BYTES) * WORD_BYTES
        first = FIRST_PACKET_BYTES[self.operation]
        ending = np.where(count > 1, AETH_BYTES, 0) if self.operation == "read" else 0
        wire = np.asarray(filled + count * self.packet_bytes + first + ending)
        aligned = np.asarray(payload % self.mtu_bytes == 0)
        full = self.packet_bytes + self.mtu_bytes + first
        before = (count - 1) * (self.packet_bytes + self.mtu_bytes) + np.where(count > 1, first, 0)
        return Train(payload, count, wire, aligned, full, wire - before, self.gap_bytes)

    def aligned_payloads(self, up_to_bytes: int) -> NDArray[np.int64]:
        """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""
        return multiples(self.mtu_bytes, up_to_bytes, self.max_payload_bytes)

    def best_payloads(self) -> ArrayLike:
        """Payload of the greatest goodput [B]: the largest message, whose packets are all full."""
        return self.max_payload_bytes


LRH_BYTES = 8
VCRC_BYTES = 2
LANE_RATE_BPS = {
    "sdr": 2.5e9 * 8 / 10,
    "ddr": 5e9 * 8 / 10,
    "qdr": 10e9 * 8 / 10,
    "fdr": 14.0625e9 * 64 / 66,
    "edr": 25.78125e9 * 64 / 66,
    "hdr": 50e9,  # 53.125 Gb/s less RS(544,514) and 256b/257b
    "ndr": 100e9,  # 106.25 Gb/s less the codes of HDR
}
LANES = (1, 2, 4, 8, 12)


@dataclass(frozen=True, slots=True)
class Framing(RdmaFraming):
    """Framing of InfiniBand: the parameters that determine how a message is cut into packets.

    Parameters
    ----------
    mtu_bytes : 256, 512, 1024, 2048 or 4096
        Path MTU: data bytes of a full packet [B].
    operation : "send", "write", "read" or "datagram"
        RDMA operation. The packets of a read are those that carry its data, without its requests.
    global_route : bool
        Whether packets carry the global route header of 40 B, as between subnets.
    as_counted : bool
        Whether to count bytes as port counters do: without the variant CRC of 2 B.

    Examples
    --------
    A full packet has 26 B of overhead (``packet_bytes``) and 4096 B of data, so 4096 / 4122 of
    32 Gb/s carry data.

    >>> Framing().packet_bytes
    26
    >>> round(float(max_goodput_bps(4096, Framing(), link_rate_bps("qdr", 4))) / 1e9, 3)
    31.798
    """

    mtu_bytes: int = mtu(4096)
    operation: str = operation()
    global_route: bool = choice(False, "Carry the global route header of 40 B in packets.")
    as_counted: bool = choice(False, "Count bytes as port counters do, not as on the wire.")

    @property
    def packet_bytes(self) -> int:
        """Size of a packet without the data that it carries [B]: headers and checksums."""
        counted = LRH_BYTES + BTH_BYTES + ICRC_BYTES
        return counted + GRH_BYTES * self.global_route + VCRC_BYTES * (not self.as_counted)


def link_rate_bps(generation: str = "qdr", lanes: int = 4) -> float:
    """Data rate of an InfiniBand link after line coding [b/s]: lanes × lane rate.

    Parameters
    ----------
    generation : "sdr", "ddr", "qdr", "fdr", "edr", "hdr" or "ndr"
        Generation, which determines the rate of a lane.
    lanes : 1, 2, 4, 8 or 12
        Number of lanes.

    Raises
    ------
    ScenarioError
        If the generation or the number of lanes is unknown.

    Examples
    --------
    Four lanes of QDR: 4 × 10 Gb/s × 8/10.

    >>> link_rate_bps("qdr", 4) / 1e9
    32.0
    """
    check_choice("generation", generation, tuple(LANE_RATE_BPS))
    check_choice("lanes", lanes, LANES)
    return lanes * LANE_RATE_BPS[generation]
