"""Transfer time of packets over a path of lines and switches without other traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from icmodel.arrays import Floats


@dataclass(frozen=True, slots=True)
class Run:
    """Sequence of packets of equal size that are sent one after the other.

    Parameters
    ----------
    number : int
    bits : array (lines,)
        Size of each packet on every line [b].
    """

    number: int
    bits: Floats


def pipelined_s(
    runs: Sequence[Run],
    rates_bps: Sequence[float],
    stores: Sequence[bool],
    gap_bits: Floats | float = 0.0,
) -> float:
    """Transfer time of packets over a path of lines [s], from the first bit sent to the last bit received.

    Propagation in cables and latencies of switches are not included.

    A packet enters a line after two events: the packet has arrived, and the previous packet and its gap
    have been sent. Consider the moment at which the last of equal packets enters line i. It is a maximum
    over all lines j up to i. In the term of j, the first packet enters line j and goes on to line i. The
    other packets follow at the rate of the slowest line between j and i. The maximum is the longest path
    through a permutation flow shop (S. M. Johnson, Optimal two- and three-stage production schedules,
    Naval Research Logistics Quarterly 1, 1954).

    Parameters
    ----------
    rates_bps : sequence of float (lines,)
    stores : sequence of bool (lines - 1,)
        Whether the switch behind a line forwards a packet with its last bit (store-and-forward) or with
        its first.
    gap_bits : array (lines,)
        Last bits of each packet on each line [b]. The next packet waits for these bits; the arrival of
        the packet does not.

    Examples
    --------
    Two packets of 1000 bits over 1 Mb/s, a switch that stores, and 1 Mb/s again:

    >>> pipelined_s([Run(2, np.array([1000.0, 1000.0]))], [1e6, 1e6], [True])
    0.003
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
    """Whether each switch of a path stores a packet completely before it forwards the packet.

    A switch stores packets unless it is a cut-through switch and the next line is no faster.

    Parameters
    ----------
    cuts_through : sequence of bool (switches,)
    rates_bps : sequence of float (switches + 1,)
        Rates of the lines before and behind the switches [b/s].
    """
    lines = pairwise(rates_bps)
    return [
        not cuts or after > before
        for cuts, (before, after) in zip(cuts_through, lines, strict=True)
    ]
