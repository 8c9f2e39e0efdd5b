"""A block of questions as arrays, with everything the metrics look up in common."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from icmodel.interpolation import cell_of
from icmodel.model.ground import Ground
from icmodel.model.lookup import Lookup

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

    def take(self, where: Ints) -> Questions:
        """Some of the questions."""
        return Questions(*(getattr(self, field.name)[where] for field in fields(self)))


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

    def take(self, where: Ints) -> Block:
        """Some of the questions, for a ground of the same knots and counts."""
        wire = WireTimes(self.wire.serialisation_s[where], self.wire.bound_bps[where])
        return Block(
            self.asked.take(where), wire, self.config[where], self.cell[where], self.dp[where]
        )

    def place(self, lookup: Lookup, slot: Ints | int) -> Ints:
        """Where a metric's table answers these questions."""
        place = self.place_of_any_load(lookup)
        place *= lookup.stack.slots
        place += slot
        return place

    def place_of_any_load(self, lookup: Lookup) -> Ints:
        """Where a metric's table says what holds for every load."""
        place = lookup.group.take(self.config)
        place *= lookup.stack.cells
        place += self.cell
        return place

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


def load_slot(ground: Ground, request_bps: Floats) -> LoadSlot:
    """The load slot of each request; an unlimited one lies above every level."""
    below = np.zeros(request_bps.shape, dtype=np.uint8)
    for load in ground.loads:
        below += (request_bps >= load).view(np.uint8)
    slot = below.astype(np.int64)
    dr = request_bps - ground.floors.take(slot)
    if request_bps.max() == np.inf:
        dr[np.isinf(dr)] = 0.0
    return LoadSlot(slot, dr)


def overload(ground: Ground, carried: LoadSlot, overloaded: Bools) -> LoadSlot:
    """The same slots, but overloaded requests take the unlimited curves, which know no load."""
    unlimited = overloaded * np.int64(len(ground.loads) + 1)
    return LoadSlot(np.maximum(carried.slot, unlimited), carried.dr)


DENSE_PAYLOADS = 1 << 17
"""Up to this payload theory and cells are looked up by payload instead of computed again."""


class Wires:
    """Places questions on a ground; for many on few payloads, by tables made once."""

    def __init__(self, ground: Ground, size: int) -> None:
        self.ground = ground
        self.limits = np.array([wire.greatest_payload_bytes() or np.inf for wire in ground.wires])
        last = int(ground.knots[-1]) + 1
        self.width = last + 1 if last <= DENSE_PAYLOADS and size > last else 0
        if self.width:
            payload = np.arange(1, self.width, dtype=float)
            times = [self._times(k, payload) for k in range(len(ground.wires))]
            pad = np.full(1, np.nan)
            self.cells = cell_of(np.arange(self.width, dtype=float), ground.knots)
            self.seconds = np.concatenate([part for t in times for part in (pad, t[0])])
            self.bounds = np.concatenate([part for t in times for part in (pad, t[1])])

    def _times(self, index: int, payload: Floats) -> tuple[Floats, Floats]:
        possible = np.minimum(payload, self.limits[index])
        seconds = self.ground.wires[index].serialisation_s(possible)
        return seconds, self.ground.wires[index].goodput_bound_bps(possible, seconds)

    def block(self, asked: Questions) -> Block:
        """The block of some questions; impossible payloads count as the protocol's greatest."""
        beyond = self.ground.extended and asked.payload_bytes.max() >= self.width
        if not self.width or beyond:
            possible = np.minimum(asked.payload_bytes, self.limits.take(asked.protocol))
            return block(self.ground, asked, wire_times(self.ground, asked.protocol, possible))
        payload = np.minimum(asked.payload_bytes, self.width - 1).astype(np.int64)
        place = asked.protocol * self.width + payload
        times = WireTimes(self.seconds.take(place), self.bounds.take(place))
        return block(self.ground, asked, times, self.cells.take(payload))
