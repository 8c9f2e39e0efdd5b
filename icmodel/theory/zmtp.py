"""ZMTP: the header of each ZeroMQ message on TCP.

The header is a byte of flags, then the size of the body: 1 byte for a body up to 255 B, 8 for a
longer one (RFC 15/ZMTP 2.0 of ØMQ 3, RFC 23/ZMTP 3.0 of ØMQ 4). ØMQ 2 counted the flags with the
body, so its header had 10 B for bodies from 254 B on (RFC 13/ZMTP 1.0). That additional byte is
neglected here. Messages have one part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

SHORT_BYTES, LONG_BYTES = 2, 9
MOST_SHORT_BYTES = 255
"""Greatest body of a ZeroMQ message with the short header [B]."""


def framed_bytes(payload_bytes: ArrayLike) -> NDArray[np.float64]:
    """Size of ZeroMQ messages with their headers [B]; in the shape of `payload_bytes` [B].

    Examples
    --------
    >>> framed_bytes([255, 256]).tolist()
    [257.0, 265.0]
    """
    payload = np.asarray(payload_bytes, dtype=np.float64)
    return payload + np.where(payload > MOST_SHORT_BYTES, LONG_BYTES, SHORT_BYTES)


def payload_of(framed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Greatest ZeroMQ message [B] that fits, with its header, into each size in `framed` [B].

    Sizes without space for a message are left out of the result.

    Examples
    --------
    >>> payload_of(np.array([2, 257, 1448])).tolist()
    [255, 1439]
    """
    most_short = MOST_SHORT_BYTES + SHORT_BYTES
    long = framed > MOST_SHORT_BYTES + LONG_BYTES
    payload = np.where(long, framed - LONG_BYTES, np.minimum(framed, most_short) - SHORT_BYTES)
    return np.asarray(payload[payload > 0], dtype=np.int64)
