"""What each metric of a prediction rests on: basis codes and dataset rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.estimate import BASES
from icmodel.interpolation import VALUE
from icmodel.model import cpu, latency
from icmodel.model.block import Block, LoadSlot
from icmodel.model.cores import nearest_cores
from icmodel.model.course import Course
from icmodel.model.ground import BY_FLOW, Ground
from icmodel.model.lookup import Lookup

Codes = NDArray[np.int8]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

STATED, THEORY, DERIVED, ASSUMED, EXTRAPOLATED = (
    BASES.index(name) for name in ("stated", "theory", "derived", "assumed", "extrapolated")
)


@dataclass(frozen=True, slots=True)
class Trace:
    """Where one look-up of a metric took its value, for each question."""

    lookup: Lookup
    place: Ints
    on_knot: Bools
    on_level: Bools
    used: Bools

    def codes(self) -> Codes:
        """The basis of the value found; strongest where nothing was."""
        found = self.lookup.stack.basis_at(self.place, self.on_knot, self.on_level)
        nothing = self.lookup.stack.rows[0].take(self.place) < 0
        return np.where(nothing | ~self.used, 0, found).astype(np.int8)

    def rows(self, ground: Ground, block: Block, index: int) -> list[int]:
        """The dataset rows question ``index`` rests on.

        At a point of the curve itself its neighbour adds nothing, nor does the upper curve at the
        load of the lower one.
        """
        if not self.used[index]:
            return []
        left, right, upper_left, upper_right = self.lookup.stack.rows[:, self.place[index]].tolist()
        if left < 0:
            return []
        own = ground.points[left]
        at_payload = own.payload_bytes in (None, block.asked.payload_bytes[index])
        at_load = own.load_bps in (None, np.inf, block.asked.request_bps[index])
        rows = {left}
        if not at_payload:
            rows.add(right)
        if not at_load:
            rows.add(upper_left)
        if not at_payload and not at_load:
            rows.add(upper_right)
        return sorted(row for row in rows if row >= 0)


class _Tracer:
    """Makes the traces of one block."""

    def __init__(self, ground: Ground, block: Block) -> None:
        self.ground, self.block = ground, block
        self.on_knot = np.asarray((block.dp == 0) & (block.cell > 0))
        self.always = np.ones(block.cell.shape, dtype=bool)

    def unlimited(self, lookup: Lookup, used: Bools) -> Trace:
        """A metric that depends on the payload alone."""
        place = self.block.place(lookup, lookup.stack.slots - 1)
        return Trace(lookup, place, self.on_knot, self.always, used)

    def at(self, lookup: Lookup, slot: LoadSlot, used: Bools) -> Trace:
        """A metric between load curves."""
        level = self.ground.floors.take(slot.slot)
        on_level = (slot.slot > len(self.ground.loads)) | (self.block.asked.request_bps == level)
        return Trace(lookup, self.block.place(lookup, slot.slot), self.on_knot, on_level, used)


def traces(ground: Ground, block: Block, way: Course) -> dict[str, tuple[Trace, ...]]:
    """The look-ups each metric rests on, at the interval's value."""
    tracer = _Tracer(ground, block)
    over, corrected = way.flows[0].over_own, way.variant != "appendix-h"
    reached = _reached(tracer, way)
    overload = tracer.unlimited(ground.loss_unlimited, way.lossy & (over | (not corrected)))
    limited = tracer.at(ground.loss_limited, way.request_slot, way.lossy & ~over)
    found: dict[str, tuple[Trace, ...]] = {}
    for name, lookup in ground.metrics.items():
        slots = way.cpu_slots if name.startswith(cpu.BUSY) else way.latency_slots
        found[name] = (tracer.at(lookup, slots[0], tracer.always),)
    for name in cpu.UTILISATIONS:
        if name in ground.metrics:
            found.setdefault(f"{name}_cores", found[name])
    counted = [
        replace(trace, used=np.isnan(way.flows[0].goodput_bps))
        for trace in found.get("frames_per_s", ())
    ]
    found["goodput_bps"] = reached
    found["frames_per_s"] = (*reached, *counted)
    found["sent_bps"] = found["shortfall_bps"] = (*reached, overload) if corrected else reached
    if corrected:
        lossy = tuple(replace(trace, used=trace.used & way.lossy) for trace in reached)
        found["loss_rate"] = (*lossy, overload, limited)
    else:
        found["loss_rate"] = (*reached, overload)
    return found


def _reached(tracer: _Tracer, way: Course) -> tuple[Trace, ...]:
    """The look-ups the goodput rests on."""
    ground, over = tracer.ground, way.flows[0].over_own
    if way.variant == "appendix-h":
        return (tracer.unlimited(ground.unlimited, tracer.always),)
    shares = [
        tracer.unlimited(lookup, tracer.block.asked.endpoints == count)
        for count, lookup in ground.fair.items()
    ]
    return (
        tracer.unlimited(ground.capacity, ~over),
        tracer.unlimited(ground.unlimited, over),
        tracer.unlimited(ground.loss_unlimited, received_less(tracer.block, way)),
        *shares,
    )


def received_less(block: Block, way: Course) -> Bools:
    """Where several senders overload the receiver, whose loss then lowers the goodput (E2)."""
    flow, asked = way.flows[0], block.asked
    several = (asked.endpoints > 1) & (asked.others_bps > 0)
    return np.asarray(several & flow.over_total & (flow.loss_table > 0))


def rules(ground: Ground, block: Block, way: Course, name: str) -> Codes:
    """The basis of the rules a metric passed through, strongest where there were none."""
    code = np.zeros(block.cell.shape, dtype=np.int8)
    if name in (*BY_FLOW, "frames_per_s"):
        _weaken_flow(code, ground, block, way, name)
    lookup = ground.metrics.get(name)
    if lookup is not None and latency.passes(name):
        _weaken_latency(code, ground, block, way, name)
    if (source := _utilisation(ground, name)) is not None:
        _weaken(code, _scaled(block, source), DERIVED)
    _weaken(code, nearest_cores(ground, block, name) != block.asked.cores_count, EXTRAPOLATED)
    return code


def _weaken(code: Codes, where: Bools, basis: int) -> None:
    np.maximum(code, np.where(where, basis, 0).astype(np.int8), out=code)


def _weaken_flow(code: Codes, ground: Ground, block: Block, way: Course, name: str) -> None:
    flow, corrected = way.flows[0], way.variant != "appendix-h"
    from_goodput = np.ones_like(way.lossy)
    if name == "loss_rate":
        _weaken(code, ~way.lossy, STATED)
        if corrected:
            from_goodput = way.lossy
            _weaken(code, way.lossy & ~flow.over_own & _unsaid(ground, block, way), ASSUMED)
    by_share = (block.asked.endpoints > 1) & ~np.isnan(flow.own_bps)
    _weaken(code, from_goodput & by_share, DERIVED)
    if corrected:
        _weaken(code, from_goodput & clamped(ground, block, flow.over_own), THEORY)
        _weaken(code, received_less(block, way), ASSUMED)


def clamped(ground: Ground, block: Block, over_own: Bools) -> Bools:
    """Where the benchmarked goodput that answers lies above theory's bound."""
    reached = block.unlimited(ground.capacity, VALUE)
    if ground.unlimited is not ground.capacity:
        reached = np.where(over_own, block.unlimited(ground.unlimited, VALUE), reached)
    return np.asarray(reached > block.wire.bound_bps)


def _unsaid(ground: Ground, block: Block, way: Course) -> Bools:
    """Where no loss was benchmarked at the request (E16)."""
    found = latency.curve_value(block, ground.loss_limited, VALUE, way.request_slot)
    return np.asarray(np.isnan(found))


def _weaken_latency(code: Codes, ground: Ground, block: Block, way: Course, name: str) -> None:
    lookup, asked = ground.metrics[name], block.asked
    _weaken(code, asked.switches > lookup.switches.take(block.config), STATED)
    if way.variant == "appendix-h":
        return
    _weaken(code, asked.extra_distance_m != 0, THEORY)
    if latency.one_way(name):
        value = latency.curve_value(block, lookup, VALUE, way.latency_slots[VALUE])
        _weaken(code, value < latency.least_s(ground, block), THEORY)


def _utilisation(ground: Ground, name: str) -> Lookup | None:
    """The utilisation that is scaled to the asked cores to give a metric, if any."""
    if name in ground.metrics:
        return ground.metrics[name] if name in cpu.UTILISATIONS else None
    return ground.metrics.get(name.removesuffix("_cores"))


def _scaled(block: Block, lookup: Lookup) -> Bools:
    measured = lookup.cores.take(block.config)
    return np.asarray((measured > 0) & (measured != block.asked.cores_count))
