"""Slips: the factors by which a number is off when its unit or its label was mistaken."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple


class Slip(NamedTuple):
    """A known mistake: the factor it makes, and in what words."""

    factor: float
    words: str


_PREFIX = Slip(1e3, "a prefix too much or too little, such as ms for us")
_TWO = Slip(1e6, "two prefixes too much or too little, such as s for us")
_THREE = Slip(1e9, "three prefixes too much or too little, such as s for ns")
ROUND_TRIP = Slip(2.0, "a whole round trip labelled as half of one, or one-way")
BITS = "bits"
TIME = "time"
COUNT = "count"
SLIPS: Mapping[str, tuple[Slip, ...]] = {
    BITS: (
        Slip(8.0, "bits taken for bytes or bytes for bits"),
        Slip(125.0, "bytes for bits one way and a prefix the other"),
        _PREFIX,
        Slip(8e3, "bits for bytes and a prefix besides"),
        _TWO,
        Slip(8e6, "bits for bytes and two prefixes besides"),
        _THREE,
    ),
    TIME: (ROUND_TRIP, _PREFIX, _TWO, _THREE),
    COUNT: (_PREFIX, _TWO),
}
"""By the family of a metric: a time is never off by bits for bytes, nor a rate by a round trip."""
NEAR = math.log(1.6)
"""How near a ratio must come to a large slip: measured values scatter, and curves bend."""


def family(metric: str) -> str:
    """What a metric counts, and so which slips it can show: bits, time or a count."""
    if metric.endswith("_bps"):
        return BITS
    return COUNT if metric.endswith("_per_s") else TIME


def known(ratio: float, of: str, near: float = NEAR) -> Slip | None:
    """The slip that a ratio of value to expectation looks like, if it looks like one.

    It must come as ``near`` (log) to the mistake's factor.
    """
    if not 0 < ratio < math.inf:
        return None
    size = abs(math.log(ratio))
    for slip in SLIPS[of]:
        reach = min(near, math.log(slip.factor) / 3)
        if abs(size - math.log(slip.factor)) < reach:
            return slip
    return None


def hint(value: float, limit: float, of: str) -> str:
    """A sentence's end that names the likeliest unit mistake between a value and its limit."""
    slip = known(value / limit, of)
    if slip is not None:
        return f"; it is {value / limit:.3g} times what it should be: {slip.words}"
    return "; look at its unit (b or B, k or Ki, us or ms) and at the labels"
