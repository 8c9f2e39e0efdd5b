"""CPU utilisation: benchmarked curves between loads, scaled to the cores (IC2012 §7.1.3).

Decisions E6, E7, E12, E15 and E18 of the background page on errata.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.interpolation import HIGH
from icmodel.model.block import CLOSE, Block, LoadSlot, load_slot
from icmodel.model.goodput import Flow
from icmodel.model.ground import Ground
from icmodel.model.latency import curve_value, keep_within
from icmodel.model.lookup import Lookup

Floats = NDArray[np.float64]

UTILISATIONS = ("cpu_send", "cpu_recv")
BUSY = "cpu_"
"""What every metric of processing time begins with; those grow with the load (E15)."""
SENDING = "cpu_send"
"""And those of the sender."""


def busy(
    ground: Ground, block: Block, metric: str, part: int, slot: LoadSlot, flow: Flow
) -> Floats:
    """A metric of processing time at the cores it was measured with.

    Where only the unlimited load answers, a carried request takes its proportion of it.  Above the
    highest load that answers the upper end reaches to the unlimited curve: up to what is achievable
    the metric may be anything between the two (E14, E15).  There ``hybrid`` lets it grow with the
    load, to the unlimited curve at most, and the sender of what may be lost beyond what arrives.
    """
    lookup = ground.metrics[metric]
    value = curve_value(block, lookup, part, slot)
    keep_within(ground, block, metric, part, value)
    request = block.asked.request_bps
    here = block.place_of_any_load(lookup)
    carried = slot.slot <= len(ground.loads)
    if part == HIGH or ground.fitted:
        highest = lookup.highest.take(here)
        held = carried & (request > highest)
        if held.any():
            most = block.unlimited(lookup, part)
            keep_within(ground, block, metric, part, most)
            if part != HIGH:
                more = np.divide(request, highest, out=np.ones_like(value), where=held)
                np.fmin(most, value * more, out=most)
            np.fmax(value, most, out=value, where=held)
    if part != HIGH and lookup.unlimited_only.any():
        only = carried & lookup.unlimited_only.take(here)
        value[only] *= np.minimum(request[only] / flow.own_bps[only], 1.0)
    if part != HIGH and ground.fitted and metric.startswith(SENDING):
        _for_what_is_sent(ground, block, lookup, part, flow, value)
    return value


def _for_what_is_sent(
    ground: Ground, block: Block, lookup: Lookup, part: int, flow: Flow, value: Floats
) -> None:
    """Lower in place a sender's time where less arrives than it is asked to send, and sends.

    It is busy for what it sends (utilisation law): at the cost a frame of the highest load that is
    carried, and of the unlimited run at least, which does nothing but send.
    """
    request = block.asked.request_bps
    lost = flow.over_own & (flow.loss_table > 0) & np.isfinite(request)
    if ground.overloaded or not lost.any():
        return
    here = block.place_of_any_load(lookup)
    carried = curve_value(block, lookup, part, load_slot(ground, request))
    carried *= np.fmax(request / lookup.highest.take(here), 1.0)
    able = flow.own_bps / np.maximum(1 - flow.loss_table, CLOSE)
    least = value * np.minimum(request / able, 1.0)
    np.copyto(value, np.fmax(least, np.fmin(value, carried)), where=lost)


def demand(
    ground: Ground, block: Block, metric: str, part: int, slot: LoadSlot, flow: Flow
) -> Floats:
    """Utilisation of the asked cores, uncapped: the curve × measured cores / asked cores (E6)."""
    lookup = ground.metrics[metric]
    value = busy(ground, block, metric, part, slot, flow)
    value *= lookup.scale.take(block.config)
    if ground.extended and ground.cores:  # a count beyond the measured ones
        counted = np.array(ground.cores, dtype=float).take(block.asked.cores)
        beyond = (block.asked.cores_count > 0) & (lookup.cores.take(block.config) > 0)
        value[beyond] *= (counted / block.asked.cores_count)[beyond]
    return value
