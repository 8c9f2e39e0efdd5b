"""Slips: the factors by which a number is off when its unit or its label was mistaken."""

from __future__ import annotations

import math

SLIPS = (
    (8.0, "bits taken for bytes or bytes for bits"),
    (1e3, "a prefix too much or too little, such as ms for us"),
    (1e6, "two prefixes too much or too little, such as s for us"),
    (8e3, "bits for bytes and a prefix besides"),
)
ROUND_TRIP = (2.0, "a whole round trip labelled as half of one, or one-way")
NEAR = math.log(1.6)
"""How near a ratio must come to a large slip: measured values scatter, and curves bend."""


def slip(ratio: float, *, latency: bool, near: float = NEAR) -> str:
    """What mistake a ratio of value to expectation looks like; empty where it looks like none.

    It must come as ``near`` (log) to the mistake's factor.
    """
    if not 0 < ratio < math.inf:
        return ""
    size = abs(math.log(ratio))
    known = (*SLIPS, ROUND_TRIP) if latency else SLIPS
    for factor, words in known:
        if abs(size - math.log(factor)) < min(near, math.log(factor) / 3):
            return f"{ratio:.3g} times what it should be: {words}"
    return ""


def hint(value: float, limit: float, *, latency: bool = False) -> str:
    """A sentence's end that names the likeliest unit mistake between a value and its limit."""
    said = slip(value / limit, latency=latency)
    if said:
        return f"; it is {said}"
    return "; look at its unit (b or B, k or Ki, us or ms) and at the labels"
