"""The course of a block of questions: how the frames fare, before any metric is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.model import goodput, loss
from icmodel.model.block import Block, LoadSlot, load_slot, overload
from icmodel.model.goodput import OPPOSITE, Flow
from icmodel.model.ground import Ground

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Course:
    """The flow of each needed end of the interval, and where each question's load lies."""

    variant: str
    flows: Mapping[int, Flow]
    limited_loss: Mapping[int, Floats]
    lossy: Bools
    request_slot: LoadSlot
    latency_slots: Mapping[int, LoadSlot]
    cpu_slots: Mapping[int, LoadSlot]


def course(ground: Ground, block: Block, variant: str, parts: tuple[int, ...]) -> Course:
    """Find out how the frames fare before any metric is answered."""
    asked = block.asked
    request_slot = load_slot(ground, asked.request_bps)
    lossy = _lossy(ground, block)
    limited = {}
    flows = {}
    for part in parts:
        if variant == "appendix-h":
            limited[part] = np.zeros_like(asked.request_bps)
            flows[part] = goodput.appendix_h_flow(ground, block, part, lossy)
        else:
            limited[part] = loss.limited_loss(ground, block, OPPOSITE[part], request_slot)
            flows[part] = goodput.corrected_flow(ground, block, part, lossy, limited[part])
    # E18: CPU follows the stream's own limit; Appendix H takes what was achieved.
    cpu_overload = {
        part: flow.overloaded if variant == "appendix-h" else flow.over_own
        for part, flow in flows.items()
    }
    return Course(
        variant,
        flows,
        limited,
        lossy,
        request_slot,
        {p: overload(ground, request_slot, flows[OPPOSITE[p]].overloaded) for p in parts},
        {p: overload(ground, request_slot, cpu_overload[OPPOSITE[p]]) for p in parts},
    )


def _lossy(ground: Ground, block: Block) -> Bools:
    flags = np.array([protocol not in loss.RELIABLE for protocol in ground.protocols])
    return np.asarray(flags.take(block.asked.protocol))
