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


def known(ratio: float, of: str) -> Slip | None:
    """The slip that a ratio of value to expectation looks like, if it looks like one."""
    if not 0 < ratio < math.inf:
        return None
    size = abs(math.log(ratio))
    nearest = min(SLIPS[of], key=lambda slip: abs(size - math.log(slip.factor)))
    off = abs(size - math.log(nearest.factor))
    return nearest if off < min(NEAR, math.log(nearest.factor) / 3) else None


def is_rare_trip(metric: str, ratio: float) -> bool:
    """Whether a time is half or twice as long in the direction in which hardly anybody mistakes it.

    Who takes the whole for half of it makes halves too long and wholes too short; the other way
    round somebody halved or doubled what was halved or doubled already.
    """
    return (ratio > 1) is not _is_half(metric)


def _is_half(metric: str) -> bool:
    return metric.startswith(("rtt_half_", "latency_"))


def words(slip: Slip, metric: str, ratio: float) -> str:
    """What the mistake may have been, of a value that is that many times what it should be."""
    if slip is not ROUND_TRIP:
        return slip.words
    if _is_half(metric):
        return slip.words if ratio > 1 else "half of a round trip, or one way, halved once more"
    return (
        "a whole round trip doubled once more"
        if ratio > 1
        else "half of a round trip labelled as a whole one"
    )


def hint(value: float, limit: float, metric: str) -> str:
    """A sentence's end that names the likeliest unit mistake between a value and its limit."""
    ratio = value / limit
    slip = known(ratio, family(metric))
    if slip is not None:
        return f"; it is {ratio:.3g} times what it should be: {words(slip, metric, ratio)}"
    return "; look at its unit (b or B, k or Ki, us or ms) and at the labels"
