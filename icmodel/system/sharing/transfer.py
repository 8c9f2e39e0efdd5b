"""How long packets take over lines that nothing else uses, switch by switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from icmodel.arrays import Floats


@dataclass(frozen=True, slots=True)
class Run:
    """Packets alike that follow each other.

    Parameters
    ----------
    number : int
    bits : array (lines,)
        Of each on every line.
    """

    number: int
    bits: Floats


def pipelined_s(
    runs: Sequence[Run],
    rates_bps: Sequence[float],
    stores: Sequence[bool],
    gap_bits: Floats | float = 0.0,
) -> float:
    """From the first bit sent to the last bit received, without cables and latencies of switches [s].

    A packet enters a line when it has come there and the one before it has left, with its gap.  Of packets alike the
    last one enters line i at the greatest, over all lines j up to i, of: the first one enters j, goes on from j to i,
    and waits for the others on the slowest line between.  It is the longest path through a permutation flow shop
    (S. M. Johnson, Optimal two- and three-stage production schedules, Naval Research Logistics Quarterly 1, 1954).

    Parameters
    ----------
    rates_bps : sequence of float (lines,)
    stores : sequence of bool (lines - 1,)
        Whether the switch behind a line forwards a packet with its last bit (store-and-forward) or with its first.
    gap_bits : array (lines,)
        The end of each packet's bits, which the next packet waits for and the packet itself does not.
    """
    rate = np.asarray(rates_bps, dtype=np.float64)
    stored = np.array([*stores, True])
    free = np.zeros(len(rate))
    for run in runs:
        whole = (run.bits - gap_bits) / rate
        onward = np.where(stored, whole, 0.0)
        behind = (run.number - 1) * run.bits / rate
        first, last = free.copy(), free.copy()
        for i in range(len(rate)):
            if i:
                first[i] = max(free[i], first[i - 1] + onward[i - 1])
            last[i] = max(
                first[j] + onward[j:i].sum() + behind[j : i + 1].max() for j in range(i + 1)
            )
        free = last + run.bits / rate
        arrived = last[-1] + whole[-1]
    return float(arrived)


def storing(cuts_through: Sequence[bool], rates_bps: Sequence[float]) -> list[bool]:
    """Which switches of a path store packets: those that do not cut through, or not to a faster line.

    Parameters
    ----------
    cuts_through : sequence of bool (switches,)
    rates_bps : sequence of float (switches + 1,)
        Of the lines before and behind them.
    """
    lines = pairwise(rates_bps)
    return [not cuts or on > off for cuts, (off, on) in zip(cuts_through, lines, strict=True)]
