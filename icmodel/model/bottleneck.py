"""The bottleneck of a stream: the request itself, cpu, packet rate, wire, share or receiver."""

from __future__ import annotations

import numpy as np

from icmodel.arrays import Codes, Floats
from icmodel.estimate import BOTTLENECKS
from icmodel.laws.flow import CLOSE, Flow
from icmodel.tables import VALUE, Questions

NEAR_WIRE = 0.985
"""The wire is the bottleneck within 1.5 % of theory's bound; the rounding of printed numbers is 0.5 %."""
LOST = 1 - NEAR_WIRE
"""Loss up to this share does not count as a bottleneck."""
NEAR_CPU = 0.95
"""Utilisation of the sender's cores from which they are the bottleneck; the source says "around 100 %"."""
CODES = {name: code for code, name in enumerate(BOTTLENECKS)}
UNKNOWN = CODES["unknown"]


def bottleneck(q: Questions, flow: Flow, cpu_send: Floats) -> Codes:
    """The code (index into ``BOTTLENECKS``) of each question's bottleneck.

    Parameters
    ----------
    cpu_send : array
        Utilisation that the stream would need of the sender's cores, not limited to 1; NaN where unknown.
    """
    capacity, goodput = flow.capacity_bps[VALUE], flow.goodput_bps[VALUE]
    not_achieved = flow.not_achieved[VALUE]
    shared = (q.endpoints > 1) & ~(flow.share_bps[VALUE] * (1 + CLOSE) >= capacity)
    facts = (
        not_achieved,
        cpu_send >= NEAR_CPU,
        capacity >= NEAR_WIRE * q.frames.greatest_bps,
        flow.saturated[VALUE] & q.lossy & (flow.unlimited_loss[VALUE] > LOST),
        shared,
        q.lossy & flow.receiver_overloaded[VALUE],
        cpu_send > 1,
    )
    row = np.zeros(len(q), dtype=np.uint8)
    for fact in reversed(facts):  # the first fact is the lowest bit
        row += row
        row |= fact
    code: Codes = TRUTH_TABLE.take(row)
    if q.work is not None and q.work.pace is not None:
        code[q.work.pace.by_sender] = CODES["cpu"]
        code[q.work.pace.by_receiver] = CODES["receiver"]
    unsaid = np.isnan(goodput) | (np.isinf(q.frames.greatest_bps) & np.isnan(cpu_send))
    code[unsaid & (not_achieved | np.isnan(goodput))] = UNKNOWN
    return code


def _row(facts: tuple[bool, ...]) -> str:
    """The bottleneck for one combination of facts, in the order in which ``bottleneck`` lists them."""
    not_achieved, busy, near_wire, receiver_drops, shared, lossy_and_over, needs_more_cores = facts
    if not not_achieved:
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
