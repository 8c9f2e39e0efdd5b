"""What limits a stream: the request itself, cpu, packet rate, wire, share or receiver."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.estimate import BOTTLENECKS
from icmodel.model.block import CLOSE, Block
from icmodel.model.goodput import Flow

Codes = NDArray[np.int8]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NEAR_WIRE = 0.985
"""A stream within 1.5 % of theory's bound is limited by the wire; the print's rounding is 0.5 %."""
NEAR_CPU = 0.95
"""Utilisation from which the sender's cores count as the limit; the source says "around 100 %"."""
CODES = {name: code for code, name in enumerate(BOTTLENECKS)}


def bottleneck(block: Block, flow: Flow, lossy: Bools, cpu_send: Floats) -> Codes:
    """The code (index into ``BOTTLENECKS``) of what limits each question.

    Parameters
    ----------
    cpu_send : array
        Uncapped utilisation of the sender's cores; NaN where not known.
    """
    busy = cpu_send >= NEAR_CPU
    code = np.full(block.cell.shape, CODES["packet-rate"], dtype=np.int8)
    code[flow.own_bps >= NEAR_WIRE * block.wire.bound_bps] = CODES["wire"]
    code[busy & (code == CODES["packet-rate"])] = CODES["cpu"]
    code[flow.over_own & lossy & (flow.loss_table > 0)] = CODES["receiver"]
    shared = (block.asked.endpoints > 1) & (flow.share_bps * (1 + CLOSE) < flow.own_bps)
    code[shared] = CODES["share"]
    code[shared & lossy & flow.over_total] = CODES["receiver"]
    code[np.isinf(block.wire.bound_bps) & np.isnan(cpu_send)] = CODES["unknown"]
    code[~flow.overloaded] = CODES["request"]
    code[~flow.overloaded & (cpu_send > 1)] = CODES["cpu"]
    code[np.isnan(flow.goodput_bps)] = CODES["unknown"]
    return code
