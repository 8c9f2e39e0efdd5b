"""Work for processes of a server: it imports nothing that takes time, as these processes import it."""

from __future__ import annotations

import time


def sleep(seconds: float) -> bytes:
    """Work that takes long."""
    time.sleep(seconds)
    return b"done"


def hoard(number: int) -> bytes:
    """Work that takes much memory."""
    return bytes(len(bytearray(number)) % 2)
