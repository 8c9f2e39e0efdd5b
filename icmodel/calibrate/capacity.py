"""Capacity: which runs are within it, where the saturated part of a curve ends, and overload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from icmodel.calibrate.grid import curves
from icmodel.calibrate.observed import GOODPUT
from icmodel.calibrate.run import Run
from icmodel.calibrate.surface import CARRIED, CLEARLY, Surface

SCANNED = 100
"""Payloads, at equal ratios, among which the end of saturation is searched."""
FEW = 3
"""A curve with at most so many runs in overload has all of them measured, one with more has none."""
INSIDE = 1.1
"""Payload of the second run at the end of saturation over that of the first."""


def carried(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """The runs of unlimited load, and those whose offered load is within capacity.

    A saturated run yields the same as the one of unlimited load.
    """
    if GOODPUT not in known or not runs:
        return list(runs)
    over = known[GOODPUT].shares(runs) > CARRIED
    return [run for run, much in zip(runs, over, strict=True) if run.unlimited or not much]


def edges(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """Two runs on each curve just below saturation; their payloads need not be of the grid.

    Latency and CPU utilisation are steepest there.  The first is at the least payload from which on
    the whole curve is within capacity.
    """
    if GOODPUT not in known:
        return []
    found = []
    for curve in curves([run for run in runs if not run.unlimited]):
        most = curve[-1].payload_bytes
        scan = np.geomspace(curve[0].payload_bytes, most, SCANNED)
        sizes = np.unique(np.round(scan).astype(int)).tolist()
        asked = [replace(curve[0], payload_bytes=size) for size in sizes]
        over = np.flatnonzero(known[GOODPUT].shares(asked) > CARRIED)
        if len(over) and over[-1] + 1 < len(asked):
            first = asked[over[-1] + 1]
            second = min(round(INSIDE * first.payload_bytes), most)
            found += list(dict.fromkeys((first, replace(first, payload_bytes=second))))
    return found


def overloaded(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """The runs of the greatest limited load in clear overload, of curves with at most three of them.

    A paced sender in overload may reach less than an unlimited one.  The model predicts overload
    from such runs where a dataset has any, so a curve must have all of them or none.
    """
    paced = [run for run in runs if not run.unlimited]
    if GOODPUT not in known or not paced:
        return []
    most = max(run.load_bps for run in paced)
    asked = [run for run in paced if run.load_bps == most]
    over = known[GOODPUT].shares(asked) > CLEARLY
    found = curves([run for run, much in zip(asked, over, strict=True) if much])
    return [run for curve in found if len(curve) <= FEW for run in curve]
