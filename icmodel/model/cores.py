"""Core counts that were never measured: the nearest count answers, less surely (``hybrid``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import RATIOS
from icmodel.interpolation import LOW
from icmodel.model.block import Block
from icmodel.model.ground import Ground

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

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
    if not unmeasured(ground, block).any():
        return values
    return {name: _widened(ground, block, name, value, part) for name, value in values.items()}


def _widened(ground: Ground, block: Block, name: str, value: Floats, part: int) -> Floats:
    wider = _factor(block, nearest_cores(ground, block, name))
    if part == LOW:
        return value / wider
    return np.minimum(value * wider, np.fmax(value, _most(name, block)))


def unmeasured(ground: Ground, block: Block) -> Bools:
    """Where the goodput was not measured at the asked core count."""
    asked = block.asked.cores_count
    counts = np.array(ground.cores or (0,), dtype=float)
    beyond = counts.take(block.asked.cores) != asked
    for protocol, cores in ground.lent:
        if protocol in ground.protocols:
            beyond |= (block.asked.protocol == ground.protocols.index(protocol)) & (asked == cores)
    return np.asarray((asked > 0) & beyond)


def nearest_cores(ground: Ground, block: Block, metric: str) -> Floats:
    """The core count whose rows answer a metric in place of the asked one, else the asked one."""
    asked = block.asked.cores_count
    lookup = ground.lookup_of(metric)
    if lookup is None:
        return asked
    measured = lookup.cores.take(block.config)
    return np.where(unmeasured(ground, block) & (measured > 0), measured, asked)


def _factor(block: Block, nearest: Floats) -> Floats:
    """By how much an interval is wider than at the core count whose rows answer."""
    asked = block.asked.cores_count
    ratio = np.divide(asked, nearest, out=np.ones_like(asked), where=(asked > 0) & (nearest > 0))
    return np.asarray(np.exp(OF_CHANGE * np.abs(np.log(ratio))))


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
