"""The InfiniBand transport, which InfiniBand and RoCE carry alike: messages cut at a path MTU.

Header bytes: Linux ``include/rdma/ib_pack.h`` and ``drivers/infiniband/sw/rxe/rxe_hdr.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from icmodel.theory import _wire

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


GRH_BYTES = 40  # global route header
BTH_BYTES = 12  # base transport header
ICRC_BYTES = 4  # invariant CRC
RETH_BYTES = 16  # RDMA header: first packet of a write
AETH_BYTES = 4  # acknowledge header: first and last packet of a read's answer
DETH_BYTES = 8  # datagram header: the one packet of a datagram
WORD_BYTES = 4  # packets are filled to whole words before the invariant CRC
MTUS_BYTES = (256, 512, 1024, 2048, 4096)
MAX_MESSAGE_BYTES = 2**31
FIRST_PACKET_BYTES = {
    "send": 0,
    "write": RETH_BYTES,
    "read": AETH_BYTES,
    "datagram": DETH_BYTES,
}


def check(mtu_bytes: int, operation: str) -> None:
    """Refuse an MTU or an operation the transport does not have."""
    _wire.check_choice("mtu_bytes", mtu_bytes, MTUS_BYTES)
    _wire.check_choice("operation", operation, tuple(FIRST_PACKET_BYTES))


def max_message_bytes(mtu_bytes: int, operation: str) -> int:
    """Largest message [B]: 2**31, a datagram one packet."""
    return mtu_bytes if operation == "datagram" else MAX_MESSAGE_BYTES


def train(
    payload_bytes: ArrayLike, mtu_bytes: int, operation: str, packet_bytes: int
) -> _wire.Train:
    """Cut messages at the path MTU; `packet_bytes` go around each packet's data [B]."""
    limit = max_message_bytes(mtu_bytes, operation)
    payload = _wire.payload_array(payload_bytes, limit, f"one {operation}")
    count = _wire.ceil_div(payload, mtu_bytes)
    filled = _wire.ceil_div(payload, WORD_BYTES) * WORD_BYTES
    first = FIRST_PACKET_BYTES[operation]
    last = np.where(count > 1, AETH_BYTES, 0) if operation == "read" else 0
    wire = filled + count * packet_bytes + first + last
    return _wire.Train(
        payload, np.asarray(count), np.asarray(wire), packet_bytes + mtu_bytes + first
    )


def aligned(payload_bytes: ArrayLike, mtu_bytes: int, operation: str) -> NDArray[np.bool_]:
    """Whether a message is a whole number of full packets."""
    limit = max_message_bytes(mtu_bytes, operation)
    payload = _wire.payload_array(payload_bytes, limit, f"one {operation}")
    return np.asarray(payload % mtu_bytes == 0)
