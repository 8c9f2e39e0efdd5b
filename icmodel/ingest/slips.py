"""Slips: typical mistakes of a unit or a label, and the factor by which each changes a number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple


class Slip(NamedTuple):
    """A typical mistake: its factor, and its description."""

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
"""Family of metrics -> the mistakes possible for it, such as bits for bytes for a data rate."""
NEAR = math.log(1.6)
"""Greatest log distance of a ratio from a slip's factor, as measured values scatter."""


def family(metric: str) -> str:
    """The family of a metric, which decides its possible slips: bits, time or a count."""
    if metric.endswith("_bps"):
        return BITS
    return COUNT if metric.endswith("_per_s") else TIME


def known(ratio: float, of: str) -> Slip | None:
    """The slip whose factor is near the ratio of a value to its expectation, if any."""
    if not 0 < ratio < math.inf:
        return None
    size = abs(math.log(ratio))
    nearest = min(SLIPS[of], key=lambda slip: abs(size - math.log(slip.factor)))
    off = abs(size - math.log(nearest.factor))
    return nearest if off < min(NEAR, math.log(nearest.factor) / 3) else None


def is_rare_trip(metric: str, ratio: float) -> bool:
    """Whether a time is off by a factor of 2 in the direction of a rare mistake.

    The usual mistake confuses half and whole round trips: halves are too long, wholes too short.  The
    opposite takes somebody who halves or doubles twice.
    """
    return (ratio > 1) is not _is_half(metric)


def _is_half(metric: str) -> bool:
    return metric.startswith(("rtt_half_", "latency_"))


def words(slip: Slip, metric: str, ratio: float) -> str:
    """A description of the mistake of a value that is ``ratio`` times what it should be."""
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
    """The end of a sentence, which names the likeliest unit mistake of a value beyond a limit."""
    ratio = value / limit
    slip = known(ratio, family(metric))
    if slip is not None:
        return f"; it is {ratio:.3g} times what it should be: {words(slip, metric, ratio)}"
    return "; look at its unit (b or B, k or Ki, us or ms) and at the labels"
