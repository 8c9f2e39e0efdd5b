"""InfiniBand transport, which InfiniBand and RoCE share: messages cut at a path MTU.

Header bytes: Linux ``include/rdma/ib_pack.h`` and ``drivers/infiniband/sw/rxe/rxe_hdr.h``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from icmodel.theory import _wire
from icmodel.theory._wire import AnyFraming, choice

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
"""Propagation delay of fibre with a refractive index of 1.5 [s/m]; rule of thumb for any cable."""


def mtu(default: int) -> Any:
    """Make the dataclass field for the path MTU of a framing [B]."""
    return choice(default, "RDMA path MTU, 256 B to 4096 B.", MTUS_BYTES)


def operation() -> Any:
    """Make the dataclass field for the RDMA operation of a framing, such as ``write``."""
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
        """Overhead of every packet [B]: the headers and checksums around its data."""

    @property
    def max_payload_bytes(self) -> int:
        """Largest message [B]: 2**31, or the data of one packet for a datagram."""
        return self.mtu_bytes if self.operation == "datagram" else MAX_MESSAGE_BYTES

    def train(self, payload_bytes: ArrayLike) -> _wire.Train:
        """Cut messages into packets at the path MTU; in the shape of `payload_bytes` [B].

        Raises
        ------
        ScenarioError
            If a payload is not a whole number of bytes from 1 to the largest message.
        """
        limit, carrier = self.max_payload_bytes, f"one {self.operation}"
        payload = _wire.payload_array(payload_bytes, limit, carrier)
        count = _wire.ceil_div(payload, self.mtu_bytes)
        filled = _wire.ceil_div(payload, WORD_BYTES) * WORD_BYTES
        first = FIRST_PACKET_BYTES[self.operation]
        ending = np.where(count > 1, AETH_BYTES, 0) if self.operation == "read" else 0
        wire = np.asarray(filled + count * self.packet_bytes + first + ending)
        aligned = np.asarray(payload % self.mtu_bytes == 0)
        full = self.packet_bytes + self.mtu_bytes + first
        before = (count - 1) * (self.packet_bytes + self.mtu_bytes) + np.where(count > 1, first, 0)
        return _wire.Train(payload, count, wire, aligned, full, wire - before, self.gap_bytes)

    def aligned_payloads(self, up_to_bytes: int) -> NDArray[np.int64]:
        """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""
        return _wire.multiples(self.mtu_bytes, up_to_bytes, self.max_payload_bytes)

    def best_payloads(self) -> ArrayLike:
        """Payload of the greatest goodput [B]: the largest message, whose packets are all full."""
        return self.max_payload_bytes
