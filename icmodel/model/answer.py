"""All metrics of a block of questions, for one end of the interval at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset
from icmodel.interpolation import HIGH, LOW, VALUE
from icmodel.model import cpu, goodput, latency, loss, order, packets
from icmodel.model.block import Block, LoadSlot
from icmodel.model.choose import blank, mask
from icmodel.model.cores import widened
from icmodel.model.course import Course
from icmodel.model.goodput import OPPOSITE
from icmodel.model.ground import Ground

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PUBLISHED = ("appendix-h", "corrected")
"""Variants that answer from the benchmarked curves as IC2012 does."""
VARIANTS = (*PUBLISHED, "hybrid")
FARTHER = {VALUE: np.fmax, LOW: np.fmin, HIGH: np.fmax}
"""How two candidates for an end become one."""
ONE_PROCESS = "_process_cores"
"""How metrics of the processes alone end, which cannot be busier than their cores; a host can."""
ALWAYS = (
    "goodput_bps",
    "sent_bps",
    "shortfall_bps",
    "loss_rate",
    "frames_per_s",
    "latency_mean_s",
    "latency_std_s",
    "cpu_send",
    "cpu_recv",
    "cpu_send_cores",
    "cpu_recv_cores",
)
"""Metrics every prediction names, absent ones with their reason."""


def only_of(data: Dataset, metrics: Collection[str] | None) -> frozenset[str] | None:
    """The metrics to work out where some are asked for; ``None`` is all of the dataset.

    Those that every prediction names come with them, and statistics that are put in order with theirs.
    """
    return None if metrics is None else order.with_others((*metrics, *ALWAYS), data.metrics)


def no_metric(data: Dataset, metric: str) -> str:
    """Why a metric cannot be told, and what to ask for instead."""
    if metric in data.metrics:
        return (
            f"{data.id} has {metric} at other options only: `icmodel datasets points {data.id} "
            f"--metric {metric}` lists them"
        )
    have = dict.fromkeys((*ALWAYS, *data.metrics, "bottleneck"))
    return f"{data.id} has no metric {metric!r}: it has {', '.join(have)}"


def metric_names(ground: Ground) -> tuple[str, ...]:
    """Every metric a prediction on this ground names."""
    return (*ALWAYS, *(name for name in sorted(ground.metrics) if name not in ALWAYS))


def answer(
    ground: Ground, block: Block, variant: str, way: Course, part: int, wanted: frozenset[str]
) -> dict[str, Floats]:
    """The wanted metrics at one end of the interval; NaN where the dataset gives none."""
    if variant == "appendix-h":
        return _answer(ground, block, variant, way, part, wanted)
    needed = order.with_others(wanted, ground.metrics)
    found = order.in_order(_answer(ground, block, variant, way, part, needed))
    return {name: value for name, value in found.items() if name in wanted}


def _answer(
    ground: Ground, block: Block, variant: str, way: Course, part: int, wanted: frozenset[str]
) -> dict[str, Floats]:
    """Each metric by itself."""
    values = _flow_metrics(ground, block, variant, way, part, wanted)
    for name in cpu.UTILISATIONS:
        values.update(_cpu_metrics(ground, block, variant, way, part, name, wanted))
    others = [name for name in ground.metrics if name in wanted and name not in values]
    flow = way.flows[VALUE]
    for name in [name for name in others if name.startswith(cpu.BUSY)]:
        told = partial(cpu.busy, ground, block, name, part, flow=flow)
        busy = _of_both_regimes(way.cpu_slots, part, told)
        values[name] = _widened(ground, block, variant, name, part, busy)
        if name.endswith(ONE_PROCESS) and variant != "appendix-h":
            counted = block.asked.cores_count  # 0 where the dataset does not say
            np.minimum(values[name], counted, out=values[name], where=counted > 0)
    for name in [name for name in others if name in ground.packet_multiples]:
        values[name] = packets.per_s(ground, block, name, part, way)
    others = [name for name in others if name not in values]
    values.update(_curve_metrics(ground, block, variant, way, part, others))
    if "frames_per_s" in wanted:
        values["frames_per_s"] = _frames(block, values, way, part)
    return {name: value for name, value in values.items() if name in wanted}


def _curve_metrics(
    ground: Ground, block: Block, variant: str, way: Course, part: int, names: Sequence[str]
) -> dict[str, Floats]:
    """Latencies and the other metrics that follow whether the request is achieved."""
    slot, certain = way.latency_slots[part], way.latency_slots[VALUE]
    open_ = np.flatnonzero(slot.slot != certain.slot)
    places: dict[int, Ints] = {}
    paths: dict[int, Floats] = {}
    least = None
    values = {}
    for name in names:
        lookup, family = ground.metrics[name], ground.families[name]
        if family not in places:
            places[family] = block.place(lookup, slot.slot)
        value = lookup.stack.look_up(part, places[family], block.dp, slot.dr)
        if len(open_):  # whether the request is achieved is open: the interval reaches over both
            there = block.take(open_).place(lookup, certain.slot[open_])
            other = lookup.stack.look_up(part, there, block.dp[open_], certain.dr[open_])
            value[open_] = FARTHER[part](value[open_], other)
        latency.keep_within(ground, block, name, part, value)
        value = _widened(ground, block, variant, name, part, value)
        times = latency.passes(name)
        if times and family not in paths:
            paths[family] = latency.path_s(
                ground, block, lookup, with_distance=variant != "appendix-h"
            )
        if variant != "appendix-h" and latency.one_way(name):
            least = latency.least_s(ground, block) if least is None else least
            np.maximum(value, least, out=value)
        if times:
            value += paths[family] if times == 1 else times * paths[family]
        values[name] = value
    return values


def _of_both_regimes(
    slots: Mapping[int, LoadSlot], part: int, told: Callable[[LoadSlot], Floats]
) -> Floats:
    """An end as it is ``told`` at a load; over both loads where it is open whether that is achieved."""
    value = told(slots[part])
    if part == VALUE or np.array_equal(slots[part].slot, slots[VALUE].slot):
        return value
    return FARTHER[part](value, told(slots[VALUE]))


def _widened(
    ground: Ground, block: Block, variant: str, name: str, part: int, value: Floats
) -> Floats:
    """An end of an interval, farther out at core counts nobody measured; not in Appendix H."""
    return value if variant == "appendix-h" else widened(ground, block, name, part, value)


def _flow_metrics(
    ground: Ground,
    block: Block,
    variant: str,
    way: Course,
    part: int,
    wanted: frozenset[str],
) -> dict[str, Floats]:
    """Goodput, what was sent, what the sender fell short of, and loss."""
    flow, asked = way.flows[part], block.asked
    values = {"goodput_bps": flow.goodput_bps}
    if not wanted & {"sent_bps", "shortfall_bps", "loss_rate"}:
        return values
    other = way.flows[OPPOSITE[part]]
    if variant == "appendix-h":
        values["loss_rate"] = loss.appendix_h_loss(other, asked.request_bps, asked.endpoints)
    else:
        limited = way.limited_loss[OPPOSITE[part]]
        values["loss_rate"] = loss.corrected_loss(other, way.lossy, limited, asked.request_bps)
    known = way.flows[VALUE]
    unknown = loss.unknown(ground, block, variant, way.lossy, known.over_own)
    unknown |= np.isnan(known.goodput_bps)
    values["sent_bps"] = _sent(block, variant, way, part)
    least = _sent(block, variant, way, OPPOSITE[part])
    values["shortfall_bps"] = np.maximum(asked.request_bps - least, 0.0)
    if asked.request_bps.max() == np.inf:
        values["shortfall_bps"][np.isinf(asked.request_bps)] = 0.0
    bits = mask(unknown)
    for name in ("loss_rate", "sent_bps", "shortfall_bps"):
        blank(bits, values[name])
    return values


def _sent(block: Block, variant: str, way: Course, part: int) -> Floats:
    """Goodput sent; Appendix H takes the flow's own end."""
    if variant == "appendix-h":
        return way.flows[part].sent_bps.copy()
    return goodput.sent(block, way.flows, part, way.lossy)


def _cpu_metrics(
    ground: Ground,
    block: Block,
    variant: str,
    way: Course,
    part: int,
    name: str,
    wanted: frozenset[str],
) -> dict[str, Floats]:
    """Utilisation of one side, and the same in busy cores (E6)."""
    cores = f"{name}_cores"
    if name not in ground.metrics or not wanted & {name, cores}:
        return {}
    told = partial(cpu.demand, ground, block, name, part, flow=way.flows[VALUE])
    needed = _of_both_regimes(way.cpu_slots, part, told)
    if variant != "appendix-h":  # E6: no more than the cores there are
        needed = np.minimum(widened(ground, block, name, part, needed), 1.0)
    values = {name: needed}
    if cores not in ground.metrics and ground.cores:
        values[cores] = needed * block.asked.cores_count
    return values


def _frames(block: Block, values: Mapping[str, Floats], way: Course, part: int) -> Floats:
    """Frames delivered per second: goodput over payload bits, else the benchmarked rate."""
    asked = block.asked
    frames = way.flows[part].goodput_bps / (asked.payload_bytes * 8)
    measured = values.get("frames_per_s")
    if measured is None:
        return frames
    limited = np.minimum(measured, asked.request_bps / (asked.payload_bytes * 8))
    return np.where(np.isnan(frames), limited, frames)


def sending_demand(ground: Ground, block: Block, way: Course) -> Floats:
    """Uncapped utilisation of the sender's cores; NaN where the dataset has none."""
    if "cpu_send" not in ground.metrics:
        return np.full(block.cell.shape, np.nan)
    slot = way.cpu_slots[VALUE]
    return cpu.demand(ground, block, "cpu_send", VALUE, slot, way.flows[VALUE])
