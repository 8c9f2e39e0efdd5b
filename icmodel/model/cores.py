"""Core counts that were never measured: the nearest count answers, less surely."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.interpolation import LOW, VALUE
from icmodel.model.block import Block
from icmodel.model.ground import Ground

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OF_CHANGE = 0.5
"""Half-width in log: this share of log(asked count / nearest measured one); assumed, as for other
hosts."""


def widened(ground: Ground, block: Block, metric: str, part: int, value: Floats) -> Floats:
    """An end of an interval, farther out where the goodput was not measured at the asked cores.

    It stays within the limits that the source states.
    """
    if part == VALUE or not ground.extended or not (beyond := unmeasured(ground, block)).any():
        return value
    wider = np.where(beyond, _factor(block, nearest_cores(ground, block, metric)), 1.0)
    found = value / wider if part == LOW else value * wider
    if metric in ground.limits:
        least, most = (limit.take(block.asked.protocol) for limit in ground.limits[metric])
        found = np.maximum(found, least) if part == LOW else np.minimum(found, most)
    return np.asarray(np.minimum(value, found) if part == LOW else np.maximum(value, found))


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
