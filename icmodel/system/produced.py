"""The messages that a document's table produces, and their frames."""

from __future__ import annotations

import math

from icmodel.system.document import (
    Burst,
    Goodput,
    Image,
    ProducerTable,
    Samples,
)
from icmodel.system.network import Producer


def producer(table: ProducerTable, payload_bytes: int | None) -> Producer | None:
    """The producer of a table; ``None`` for an unlimited one.

    Parameters
    ----------
    payload_bytes : int, optional
        Useful bytes per frame [B], which are the message of a plain goodput.
    """
    match table:
        case Image():
            bits = table.width_px * table.height_px * table.depth_bits
            return Producer("image", 1 / table.rate_hz, bits / 8)
        case Samples():
            bits = table.samples * table.size_bits
            return Producer("samples", 1 / table.cycle_hz, bits / 8, table.within_s)
        case Burst():
            return Producer("burst", table.period_s, table.burst * table.size_bytes, table.within_s)
        case Goodput() if payload_bytes is not None:
            return Producer("goodput", payload_bytes * 8 / table.goodput_bps, payload_bytes)
        case _:
            return None


def frame_bytes(table: ProducerTable, payload_bytes: int | None) -> int:
    """Useful bytes per frame [B]: as stated, else a frame of the burst, else all samples of a cycle."""
    if payload_bytes is not None:
        return payload_bytes
    if isinstance(table, Burst):
        return table.size_bytes
    assert isinstance(table, Samples)  # the document asks for a payload of the others
    return math.ceil(table.samples * table.size_bits / 8)
