"""ZMTP: the header that ZeroMQ puts before each message which it hands to TCP.

A byte of flags, then the size of the body: one byte of a body up to 255 B, eight of a longer one (RFC 23/ZMTP
3.0, RFC 15/ZMTP 2.0, of ØMQ 3 and 4).  ØMQ 2 counted the flags with the body: from 254 B on a header of 10 B
(RFC 13/ZMTP 1.0), one byte more, which is not told apart here.  Of a message of one part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

SHORT_BYTES, LONG_BYTES = 2, 9
MOST_SHORT_BYTES = 255
"""Most body of a short header."""


def framed_bytes(payload_bytes: ArrayLike) -> NDArray[np.float64]:
    """Bytes of messages with their headers, shape of `payload_bytes` [B]."""
    payload = np.asarray(payload_bytes, dtype=np.float64)
    return payload + np.where(payload > MOST_SHORT_BYTES, LONG_BYTES, SHORT_BYTES)


def payload_of(framed: NDArray[np.int64]) -> NDArray[np.int64]:
    """The greatest messages that with their headers take at most so many bytes, where there are any [B].

    Shape of `framed` [B] without those that only a header fits in.
    """
    most_short = MOST_SHORT_BYTES + SHORT_BYTES
    long = framed > MOST_SHORT_BYTES + LONG_BYTES
    payload = np.where(long, framed - LONG_BYTES, np.minimum(framed, most_short) - SHORT_BYTES)
    return np.asarray(payload[payload > 0], dtype=np.int64)
