"""What each metric of a prediction rests on: basis codes and dataset rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.estimate import BASES
from icmodel.model import latency
from icmodel.model.answer import Course
from icmodel.model.block import Block, LoadSlot
from icmodel.model.ground import Ground, Lookup

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
        nothing = self.place < self.lookup.stack.cells * self.lookup.stack.slots
        return np.where(nothing | ~self.used, 0, found).astype(np.int8)

    def rows(self, index: int) -> list[int]:
        """The dataset rows question ``index`` rests on."""
        if not self.used[index]:
            return []
        left, right, upper_left, upper_right = self.lookup.stack.rows[:, self.place[index]].tolist()
        rows = [left]
        if not self.on_knot[index]:
            rows.append(right)
        if not self.on_level[index]:
            rows.append(upper_left)
            if not self.on_knot[index]:
                rows.append(upper_right)
        return sorted({row for row in rows if row >= 0})


def traces(ground: Ground, block: Block, way: Course) -> dict[str, tuple[Trace, ...]]:
    """The look-ups each metric rests on, at the interval's value."""
    on_knot = np.asarray((block.dp == 0) & (block.cell > 0))
    over = way.flows[0].over_own
    always = np.ones(block.cell.shape, dtype=bool)
    levels = len(ground.loads)

    def unlimited(lookup: Lookup, used: Bools) -> Trace:
        return Trace(lookup, block.place(lookup, lookup.stack.slots - 1), on_knot, always, used)

    def at(lookup: Lookup, slot: LoadSlot, used: Bools = always) -> Trace:
        on_level = (slot.slot > levels) | (block.asked.request_bps == ground.floors.take(slot.slot))
        return Trace(lookup, block.place(lookup, slot.slot), on_knot, on_level, used)

    reached = (unlimited(ground.capacity, ~over), unlimited(ground.unlimited, over))
    lost = (
        unlimited(ground.capacity, ~over & way.lossy),
        unlimited(ground.unlimited, over & way.lossy),
        unlimited(ground.loss_unlimited, over & way.lossy),
        at(ground.loss_limited, way.request_slot, ~over & way.lossy),
    )
    found: dict[str, tuple[Trace, ...]] = {
        name: (at(lookup, way.latency_slots[0]),) for name, lookup in ground.metrics.items()
    }
    for name in ("cpu_send", "cpu_recv"):
        if name in ground.metrics:
            found[name] = (at(ground.metrics[name], way.cpu_slots[0]),)
            found.setdefault(f"{name}_cores", found[name])
    if "frames_per_s" not in found or not bool(np.isnan(way.flows[0].goodput_bps).all()):
        found["frames_per_s"] = reached
    found["goodput_bps"] = reached
    found["loss_rate"] = lost
    found["sent_bps"] = found["shortfall_bps"] = (*reached, *lost[2:])
    return found


def rules(ground: Ground, block: Block, way: Course, name: str, variant: str) -> Codes:
    """The basis of the rules a metric passed through, strongest where there were none."""
    flow, asked = way.flows[0], block.asked
    code = np.zeros(block.cell.shape, dtype=np.int8)
    if name in ("goodput_bps", "frames_per_s", "sent_bps", "shortfall_bps", "loss_rate"):
        by_share = (asked.endpoints > 1) & (way.lossy | (name != "loss_rate"))
        _weaken(code, by_share, DERIVED)
        if variant != "appendix-h":
            clamped = block.unlimited(ground.capacity, 0) > block.wire.bound_bps
            _weaken(code, clamped, THEORY)
    if name == "loss_rate":
        unsaid = way.lossy & ~flow.over_own & np.isnan(_limited(ground, block, way))
        _weaken(code, unsaid, ASSUMED)
        _weaken(code, ~way.lossy, STATED)
    lookup = ground.metrics.get(name)
    if lookup is not None and latency.passes(name):
        _weaken(code, asked.switches > lookup.switches.take(block.config), STATED)
        _weaken(code, asked.extra_distance_m != 0, THEORY)
    if name.startswith("cpu_") and (source := _utilisation(ground, name)) is not None:
        _weaken(code, _scaled(block, source), DERIVED)
    _weaken(code, _beyond_cores(ground, block), EXTRAPOLATED)
    return code


def _weaken(code: Codes, where: Bools, basis: int) -> None:
    np.maximum(code, np.where(where, basis, 0).astype(np.int8), out=code)


def _limited(ground: Ground, block: Block, way: Course) -> NDArray[np.float64]:
    return latency.curve_value(block, ground.loss_limited, 0, way.request_slot)


def _utilisation(ground: Ground, name: str) -> Lookup | None:
    return ground.metrics.get(name) or ground.metrics.get(name.removesuffix("_cores"))


def _scaled(block: Block, lookup: Lookup) -> Bools:
    measured = lookup.cores.take(block.config)
    return np.asarray((measured > 0) & (measured != block.asked.cores_count))


def _beyond_cores(ground: Ground, block: Block) -> Bools:
    counts = np.array(ground.cores or (0,), dtype=float)
    asked = block.asked.cores_count
    return np.asarray((asked > 0) & (counts.take(block.asked.cores) != asked))
