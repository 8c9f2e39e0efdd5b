"""CPU utilisation: benchmarked curves between loads, scaled to the cores (IC2012 §7.1.3).

Decisions E6, E7, E12, E15 and E18 of the background page on errata.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.interpolation import HIGH
from icmodel.model.block import Block, LoadSlot
from icmodel.model.ground import Ground, Lookup
from icmodel.model.latency import curve_value

Floats = NDArray[np.float64]

UTILISATIONS = ("cpu_send", "cpu_recv")


def demand(
    ground: Ground, block: Block, lookup: Lookup, part: int, slot: LoadSlot, own_bps: Floats
) -> Floats:
    """Utilisation of the asked cores, uncapped: the curve × measured cores / asked cores (E6).

    Where only the unlimited load was measured, a carried request takes its proportion of it.
    """
    value = curve_value(block, lookup, part, slot)
    if part != HIGH and lookup.unlimited_only.any():
        place = lookup.group.take(block.config) * lookup.stack.cells + block.cell
        only = lookup.unlimited_only.take(place)
        here = only & (slot.slot <= len(ground.loads))
        value[here] *= np.minimum(block.asked.request_bps[here] / own_bps[here], 1.0)
    value *= lookup.scale.take(block.config)
    if ground.extended and ground.cores:  # a count beyond the measured ones
        counted = np.array(ground.cores, dtype=float).take(block.asked.cores)
        beyond = (block.asked.cores_count > 0) & (lookup.cores.take(block.config) > 0)
        value[beyond] *= (counted / block.asked.cores_count)[beyond]
    return value
