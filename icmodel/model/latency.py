"""Latency: benchmarked curves between loads, plus switches and cable (IC2012 §7.1.2).

Decisions E4, E5, E11, E14, E15 and E19 of the background page on errata.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.interpolation import HIGH, LOW
from icmodel.model.block import Block, LoadSlot
from icmodel.model.ground import Ground
from icmodel.model.lookup import Lookup
from icmodel.model.physics import less_burst

Floats = NDArray[np.float64]


def curve_value(block: Block, lookup: Lookup, part: int, slot: LoadSlot) -> Floats:
    """A metric between its payload points and load curves; NaN outside its domain."""
    place = block.place(lookup, slot.slot)
    return lookup.stack.look_up(part, place, block.dp, slot.dr)


def keep_within(ground: Ground, block: Block, metric: str, part: int, value: Floats) -> None:
    """Keep an end of an interval at 0 or more and inside the limits the source states, in place."""
    least, most = ground.limits[metric]
    if part == LOW:
        np.maximum(value, least.take(block.asked.protocol), out=value)
    if part == HIGH and np.isfinite(most).any():
        np.minimum(value, most.take(block.asked.protocol), out=value)


def passes(metric: str) -> int:
    """How often a metric's path crosses each switch and cable: 2 for a round trip, 0 for σ."""
    if metric.endswith("_std_s"):
        return 0
    if metric.startswith(("rtt_half_", "latency_")):
        return 1
    return 2 if metric.startswith("rtt_") else 0


def one_way(metric: str) -> bool:
    """Whether a metric is a one-way latency that theory's minimum bounds."""
    return metric.startswith("latency_") and not metric.endswith("_std_s")


def path_s(ground: Ground, block: Block, lookup: Lookup, *, with_distance: bool) -> Floats:
    """What switches and cable beyond the measured ones add, one way [s].

    ``switch_latency`` a switch (IC2012 §7.1.2); propagation of the cable beyond the dataset's own
    when a distance is asked for (E19).
    """
    link = ground.link
    beyond = block.asked.switches - lookup.switches.take(block.config)
    path = np.maximum(beyond, 0) * (link.switch_latency_s or 0.0)
    if link.switch_latency_s is None:
        path[beyond > 0] = np.nan  # neither rows nor a rule
    if with_distance:
        path += block.asked.extra_distance_m * (link.propagation_s_per_m or 0.0)
    return path


def least_s(ground: Ground, block: Block) -> Floats:
    """Theory's minimum over the measured cable, one way [s]: a frame alone, and propagation."""
    link = ground.link
    propagation = (link.cable_length_m or 0.0) * (link.propagation_s_per_m or 0.0)
    return less_burst(link, block.wire.serialisation_s) + propagation
