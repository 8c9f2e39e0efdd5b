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
LOST = 1 - NEAR_WIRE
"""Loss up to this share of the frames is no limit beside what the sender puts out."""
NEAR_CPU = 0.95
"""Utilisation from which the sender's cores count as the limit; the source says "around 100 %"."""
CODES = {name: code for code, name in enumerate(BOTTLENECKS)}
UNKNOWN = CODES["unknown"]


def bottleneck(block: Block, flow: Flow, lossy: Bools, cpu_send: Floats) -> Codes:
    """The code (index into ``BOTTLENECKS``) of what limits each question.

    Parameters
    ----------
    cpu_send : array
        Uncapped utilisation of the sender's cores; NaN where not known.
    """
    shared = (block.asked.endpoints > 1) & ~(flow.share_bps * (1 + CLOSE) >= flow.own_bps)
    facts = (
        flow.overloaded,
        cpu_send >= NEAR_CPU,
        flow.own_bps >= NEAR_WIRE * block.wire.bound_bps,
        flow.over_own & lossy & (flow.loss_table > LOST),
        shared,
        lossy & flow.over_total,
        cpu_send > 1,
    )
    row = np.zeros(block.cell.shape, dtype=np.uint8)
    for bit, fact in enumerate(facts):
        row += fact.view(np.uint8) << np.uint8(bit)
    code: Codes = TRUTH_TABLE.take(row)
    unsaid = np.isnan(flow.goodput_bps) | (np.isinf(block.wire.bound_bps) & np.isnan(cpu_send))
    if unsaid.any():
        code[unsaid & (flow.overloaded | np.isnan(flow.goodput_bps))] = UNKNOWN
    return code


def _row(facts: tuple[bool, ...]) -> str:
    """The bottleneck for one combination of facts, in the order ``bottleneck`` lists them."""
    overloaded, busy, near_wire, receiver_drops, shared, lossy_and_over, needs_more_cores = facts
    if not overloaded:
        return "cpu" if needs_more_cores else "request"
    if shared:
        return "receiver" if lossy_and_over else "share"
    if receiver_drops:
        return "receiver"
    if near_wire:
        return "wire"
    return "cpu" if busy else "packet-rate"


TRUTH_TABLE = np.array(
    [CODES[_row(tuple(bool(row >> bit & 1) for bit in range(7)))] for row in range(128)],
    dtype=np.int8,
)
