"""Packets a second of the frames that flow: theory's, times the share of them that is sent (``hybrid``).

A sender merges frames of a stream, the more of them the faster it is asked to be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.model.block import Block, LoadSlot
from icmodel.model.goodput import Flow
from icmodel.model.ground import Ground
from icmodel.model.latency import curve_value, keep_within

Floats = NDArray[np.float64]


def per_s(
    ground: Ground, block: Block, metric: str, part: int, slot: LoadSlot, flow: Flow
) -> Floats:
    """A metric of packets a second [1/s], for a ground whose table holds its share of theory's."""
    frames = flow.goodput_bps / (8 * block.asked.payload_bytes)
    value = curve_value(block, ground.metrics[metric], part, slot)
    value *= frames * _of_a_frame(ground, block, slot)
    keep_within(ground, block, metric, part, value)
    return value


def _of_a_frame(ground: Ground, block: Block, slot: LoadSlot) -> Floats:
    """Packets a frame becomes: its own at a carried rate, full ones of a stream at its limit."""
    full = slot.slot > len(ground.loads)
    found = np.empty_like(block.asked.payload_bytes)
    for index, wire in enumerate(ground.wires):
        here = np.flatnonzero(block.asked.protocol == index)
        most = wire.greatest_payload_bytes() or np.inf
        payload = np.minimum(block.asked.payload_bytes[here], most)
        found[here] = np.where(full[here], wire.least_packets(payload), wire.packets(payload))
    return found
