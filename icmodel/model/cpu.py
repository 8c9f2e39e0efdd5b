"""CPU utilisation: benchmarked curves between loads, scaled to the cores (IC2012 §7.1.3).

Decisions E6, E7, E12, E15 and E18 of the background page on errata.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    only = lookup.unlimited_only.take(lookup.group.take(block.config))
    if part != 2 and only.any():
        here = only & (slot.slot <= len(ground.loads))
        value[here] *= np.minimum(block.asked.request_bps[here] / own_bps[here], 1.0)
    return value * scale(block, lookup)


def scale(block: Block, lookup: Lookup) -> Floats:
    """Measured cores over asked cores; 1 where either is not said."""
    measured = lookup.cores.take(block.config)
    asked = block.asked.cores_count
    return np.where((measured > 0) & (asked > 0), measured / np.maximum(asked, 1), 1.0)
