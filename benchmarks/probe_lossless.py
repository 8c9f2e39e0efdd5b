"""Search of the greatest rate at which a receiver loses nothing."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.probe_cpu import Cores, Reading
from benchmarks.probe_lab import ToolError
from benchmarks.probe_tools import Delivery

STEP = 1.05
"""Ratio of a rate to the next lower one."""
RATES = tuple(round(1000 * STEP**k) for k in range(156))
"""Rates to choose from, 1,000 to 1.9 million frames per second."""
TRIES = 2
"""Runs at a rate; one without loss is enough, since another process can cause a loss."""


def greatest(deliver: Callable[[int], tuple[Delivery, Cores]]) -> Reading:
    """Bisect the rates, and return the greatest received rate of all runs without loss.

    A sender that cannot reach a rate sends at its own greatest rate.

    Raises
    ------
    ToolError
        If frames are lost at every rate.
    """
    carried: list[Reading] = []
    low, high = -1, len(RATES)
    while high - low > 1:
        middle = (low + high) // 2
        reading = _lossless(deliver, RATES[middle])
        if reading:
            carried.append(reading)
            low = middle
        else:
            high = middle
    if not carried:
        raise ToolError(f"frames are lost even at {RATES[0]:,}/s")
    return max(carried, key=lambda reading: reading.value)


def _lossless(deliver: Callable[[int], tuple[Delivery, Cores]], rate_fps: int) -> Reading | None:
    for _ in range(TRIES):
        delivery, cores = deliver(rate_fps)
        if delivery.lost <= 0 < delivery.received_fps:
            return Reading(delivery.received_fps, cores)
    return None
