"""A block of questions as arrays, with everything the metrics look up in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.interpolation import cell_of
from icmodel.model.ground import Ground, Lookup

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CLOSE = 1e-9
"""Relative slack with which a request counts as carried: products of rate and payload round."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Columns of equal length n, one question a row, in SI.

    ``protocol`` and ``cores`` are indices into the ground's protocols and core counts;
    ``request_bps`` is infinite for unlimited; ``extra_distance_m`` counts from the dataset's cable.
    """

    protocol: Ints
    payload_bytes: Floats
    request_bps: Floats
    cores: Ints
    cores_count: Floats
    switches: Ints
    endpoints: Floats
    others_bps: Floats
    extra_distance_m: Floats


@dataclass(frozen=True, slots=True)
class WireTimes:
    """Theory for each question: serialisation [s] and greatest goodput [b/s]."""

    serialisation_s: Floats
    bound_bps: Floats


@dataclass(frozen=True, slots=True)
class Block:
    """Questions placed on the ground: configuration, payload cell and distance from its knot."""

    asked: Questions
    wire: WireTimes
    config: Ints
    cell: Ints
    dp: Floats

    def place(self, lookup: Lookup, slot: Ints | int) -> Ints:
        """Where a metric's table answers these questions."""
        group = lookup.group.take(self.config)
        group *= lookup.stack.cells
        group += self.cell
        group *= lookup.stack.slots
        group += slot
        return group

    def unlimited(self, lookup: Lookup, part: int) -> Floats:
        """A metric that depends on the payload alone, from its unlimited curve."""
        place = self.place(lookup, lookup.stack.slots - 1)
        return lookup.stack.look_up_payload(part, place, self.dp)


def block(ground: Ground, asked: Questions, wire: WireTimes, cell: Ints | None = None) -> Block:
    """Place questions on the ground; ``cell`` may be given by a faster look-up."""
    if cell is None:
        cell = cell_of(asked.payload_bytes, ground.knots)
    counts = max(len(ground.cores), 1)
    switches = np.minimum(asked.switches, ground.switch_counts - 1)
    config = (asked.protocol * counts + asked.cores) * ground.switch_counts + switches
    return Block(asked, wire, config, cell, asked.payload_bytes - ground.left.take(cell))


def wire_times(ground: Ground, protocol: Ints, payload_bytes: Floats) -> WireTimes:
    """Theory of each question's own wire."""
    serialisation = np.empty_like(payload_bytes)
    bound = np.empty_like(payload_bytes)
    for index, wire in enumerate(ground.wires):
        here = protocol == index
        if here.any():
            payload = payload_bytes[here]
            seconds = wire.serialisation_s(payload)
            serialisation[here] = seconds
            bound[here] = wire.goodput_bound_bps(payload, seconds)
    return WireTimes(serialisation, bound)


@dataclass(frozen=True, slots=True)
class LoadSlot:
    """Where each request lies among the load levels, and its distance from the level below."""

    slot: Ints
    dr: Floats
    on_level: Bools


def load_slot(ground: Ground, request_bps: Floats) -> LoadSlot:
    """The load slot of each request; an unlimited one lies above every level."""
    slot = np.zeros(request_bps.shape, dtype=np.int64)
    for load in ground.loads:
        slot += request_bps >= load
    floor = np.concatenate([[0.0], ground.loads]).take(slot)
    dr = np.where(np.isinf(request_bps), 0.0, request_bps - floor)
    return LoadSlot(slot, dr, request_bps == floor)


def overload(ground: Ground, carried: LoadSlot, overloaded: Bools) -> LoadSlot:
    """The same slots, but overloaded requests take the unlimited curves."""
    if not overloaded.any():
        return carried
    return LoadSlot(
        np.where(overloaded, len(ground.loads) + 1, carried.slot),
        np.where(overloaded, 0.0, carried.dr),
        carried.on_level | overloaded,
    )
