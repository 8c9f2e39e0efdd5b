"""Packets a second: theory's of the frames that flow, times the multiple that a host has of them.

Frames at a carried rate have packets of their own; a stream at its limit fills its packets whatever
the frame (IC2012 §6.1.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.interpolation import HIGH, LOW, VALUE
from icmodel.model.block import Block, LoadSlot
from icmodel.model.cores import widened
from icmodel.model.course import Course
from icmodel.model.ground import Ground
from icmodel.model.latency import curve_value, keep_within

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SENT = "packets_sent"
"""What every metric of the sender's packets begins with."""


def per_s(ground: Ground, block: Block, metric: str, part: int, way: Course) -> Floats:
    """A metric of packets a second [1/s], for a ground whose table holds multiples of theory's.

    Where only the unlimited load answers, a carried request lies between packets of its own and
    those at the limit, by its share of what the stream can have.  Where the wire has no time for as
    many, a stream is merged as far as it must be at least; no packets are told that overrun the line.
    """
    lookup = ground.metrics[metric]
    slot = _slot(way)
    own, least = _of_a_frame(ground, block)
    full = ground.overloaded | (slot.slot > len(ground.loads))
    at_limit = full | lookup.unlimited_only.take(block.place_of_any_load(lookup))
    each = curve_value(block, lookup, part, slot) * np.where(at_limit, least, own)
    between = at_limit & ~full
    if between.any():
        each[between] = _below_limit(each, own, least, block, part, way)[between]
    each = _of_theory(each, own, least, part, carried=~full)
    room = _room(block, own, least, way)
    crowded = (room < own) & (each > room)
    np.copyto(each, least if part == LOW else room, where=crowded)
    value = each * _flowing_bps(block, metric, way) / (8 * block.asked.payload_bytes)
    value = widened(ground, block, metric, part, value)
    serialisation_s = block.wire.serialisation_s
    np.minimum(value, own / serialisation_s, out=value, where=serialisation_s > 0)
    if part == VALUE:  # what a window counts beside it is spread
        asked_fps = block.asked.request_bps / (8 * block.asked.payload_bytes)
        np.minimum(value, own * asked_fps, out=value)
    keep_within(ground, block, metric, part, value)
    return value


def _of_theory(each: Floats, own: Floats, least: Floats, part: int, *, carried: Bools) -> Floats:
    """Packets a carried frame can have: no fewer than full ones, no more than its own.

    What a counter tells beside them is spread, and stays in the interval.
    """
    merged = least < own
    if part == VALUE:
        told = np.clip(each, least, own)
    elif part == HIGH:
        told = np.where(merged, each, np.maximum(each, own))
    else:
        told = np.where(merged, each, np.minimum(each, own))
    return np.where(carried, told, each)


def _slot(way: Course) -> LoadSlot:
    """Whether a stream is at its limit: its own one, where the others' leave it to send what it can."""
    shared, own = way.latency_slots[VALUE], way.cpu_slots[VALUE]
    return LoadSlot(np.where(way.lossy, own.slot, shared.slot), own.dr)


def _of_a_frame(ground: Ground, block: Block) -> tuple[Floats, Floats]:
    """Packets a frame becomes by itself, and as part of a stream of full ones."""
    own, least = np.empty_like(block.dp), np.empty_like(block.dp)
    for index, wire in enumerate(ground.wires):
        here = np.flatnonzero(block.asked.protocol == index)
        most = wire.greatest_payload_bytes() or np.inf
        payload = np.minimum(block.asked.payload_bytes[here], most)
        own[here], least[here] = wire.packets(payload), wire.least_packets(payload)
    return own, least


def _below_limit(
    at_limit: Floats, own: Floats, least: Floats, block: Block, part: int, way: Course
) -> Floats:
    """Packets a frame below the limit, from those at it.

    What is carried is sent once, even where frames are lost at the limit.  Only a stream that merges its
    frames has fewer packets than these need; how many is open up to its limit.
    """
    if part == HIGH:
        return own
    if part == LOW:
        return np.where(least < own, np.fmin(at_limit, own), own)
    share = np.minimum(block.asked.request_bps / way.flows[VALUE].own_bps, 1.0)
    return np.asarray(own - share * np.maximum(own - at_limit, 0.0))


def _room(block: Block, own: Floats, least: Floats, way: Course) -> Floats:
    """The most packets a frame for which the wire has time: own ones, or full ones at its limit."""
    bits = 8 * block.asked.payload_bytes
    least_s = bits / block.wire.bound_bps
    more_s = block.wire.serialisation_s - least_s
    left_s = bits / way.flows[VALUE].goodput_bps - least_s
    part = np.divide(left_s, more_s, out=np.ones_like(left_s), where=more_s > 0)
    return least + np.clip(part, 0.0, 1.0) * (own - least)


def _flowing_bps(block: Block, metric: str, way: Course) -> Floats:
    """Goodput of the frames whose packets are counted: of what a lossy sender sends, or what arrives."""
    flow = way.flows[VALUE]
    if not metric.startswith(SENT):
        return flow.goodput_bps
    return np.where(way.lossy, np.minimum(block.asked.request_bps, flow.own_bps), flow.goodput_bps)
