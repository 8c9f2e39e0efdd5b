"""All metrics of a block of questions, for one end of the interval at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset
from icmodel.interpolation import VALUE
from icmodel.model import cpu, goodput, latency, loss, packets, quantiles
from icmodel.model.block import Block
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


def only_of(metrics: Collection[str] | None) -> frozenset[str] | None:
    """Some metrics with those that every prediction names; ``None``, which is all, of no wish.

    With one quantile come all of its time, since they are put in order.
    """
    return None if metrics is None else quantiles.beside((*metrics, *ALWAYS))


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
    if variant != "hybrid":
        return _answer(ground, block, variant, way, part, wanted)
    found = _answer(ground, block, variant, way, part, quantiles.beside(wanted))
    if part != VALUE:
        found = widened(ground, block, found, part)
    return {name: value for name, value in quantiles.in_order(found).items() if name in wanted}


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
        values[name] = cpu.busy(ground, block, name, part, way.cpu_slots[part], flow)
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
    slot = way.latency_slots[part]
    places: dict[int, Ints] = {}
    paths: dict[int, Floats] = {}
    least = None
    values = {}
    for name in names:
        lookup, family = ground.metrics[name], ground.families[name]
        if family not in places:
            places[family] = block.place(lookup, slot.slot)
        value = lookup.stack.look_up(part, places[family], block.dp, slot.dr)
        latency.keep_within(ground, block, name, part, value)
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
    """Utilisation of one side, capped, and its demand in busy cores, not capped (E6)."""
    cores = f"{name}_cores"
    if name not in ground.metrics or not wanted & {name, cores}:
        return {}
    slot = way.cpu_slots[part]
    needed = cpu.demand(ground, block, name, part, slot, way.flows[VALUE])
    values = {name: needed if variant == "appendix-h" else np.minimum(needed, 1.0)}
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
