"""Core counts that were never measured: the nearest count answers, less surely (``hybrid``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import RATIOS
from icmodel.interpolation import LOW
from icmodel.model.block import Block
from icmodel.model.ground import Ground

Floats = NDArray[np.float64]

OF_CHANGE = 0.5
"""Half-width in log: this share of log(asked count / nearest measured one); assumed, as for other
hosts."""


def widened(
    ground: Ground, block: Block, values: dict[str, Floats], part: int
) -> dict[str, Floats]:
    """One end of every interval, farther out where the core count was not measured.

    Goodput and frames stay below the request and theory's bound, what is sent or falls short below
    the request, a share below 1.
    """
    wider = _factor(ground, block)
    if not (wider > 1).any():
        return values
    if part == LOW:
        return {name: value / wider for name, value in values.items()}
    return {
        name: np.minimum(value * wider, np.fmax(value, _most(name, block)))
        for name, value in values.items()
    }


def _factor(ground: Ground, block: Block) -> Floats:
    """By how much an interval is wider than at the nearest measured count."""
    asked = block.asked.cores_count
    if not ground.cores:
        return np.ones_like(asked)
    nearest = np.array(ground.cores, dtype=float).take(block.asked.cores)
    said = np.where(asked > 0, asked, nearest)
    return np.asarray(np.exp(OF_CHANGE * np.abs(np.log(said / nearest))))


def _most(name: str, block: Block) -> Floats:
    """What a metric can be at most."""
    request_bps = block.asked.request_bps
    if name in ("sent_bps", "shortfall_bps"):
        return request_bps
    carried_bps = np.minimum(request_bps, block.wire.bound_bps)
    if name == "goodput_bps":
        return carried_bps
    if name == "frames_per_s":
        return np.asarray(carried_bps / (8 * block.asked.payload_bytes))
    return np.ones_like(request_bps) if name in RATIOS else np.full_like(request_bps, np.inf)
