"""Capacity: which runs the path carries, where that begins, and which clearly ask too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from icmodel.calibrate.grid import curves
from icmodel.calibrate.observed import GOODPUT
from icmodel.calibrate.run import Run
from icmodel.calibrate.surface import CARRIED, CLEARLY, Surface

SCANNED = 100
"""Payloads, at equal ratios, among which the edge of what is carried is looked for."""
FEW = 3
"""Up to so many runs that ask too much are bought, all of them; a few of many would mislead."""
INSIDE = 1.1
"""The second run at an edge has so many times the payload of the first."""


def carried(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """The runs the path carries, and those as fast as it goes.

    A run that asks for more tells nothing that the one at full load does not tell.
    """
    if GOODPUT not in known or not runs:
        return list(runs)
    over = known[GOODPUT].shares(runs) > CARRIED
    return [run for run, much in zip(runs, over, strict=True) if run.unlimited or not much]


def edges(known: Mapping[str, Surface], runs: Sequence[Run]) -> list[Run]:
    """Two runs on each curve just inside of what the path carries, of any payload.

    Waiting times and processor shares are steepest there, between two payloads of the grid. The
    edge is the least payload from which on all of the curve is carried.
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
    """The runs of the greatest load that clearly ask too much, of protocols with few such runs.

    A paced sender may reach less than one that goes as fast as it goes. The model tells requests of
    too much from such runs where there are any, so there must be all of them or none.
    """
    paced = [run for run in runs if not run.unlimited]
    if GOODPUT not in known or not paced:
        return []
    most = max(run.load_bps for run in paced)
    asked = [run for run in paced if run.load_bps == most]
    over = known[GOODPUT].shares(asked) > CLEARLY
    found = curves([run for run, much in zip(asked, over, strict=True) if much])
    return [run for curve in found if len(curve) <= FEW for run in curve]
