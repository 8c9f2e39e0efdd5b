"""Widths: an interval of which nothing is known still has ends that are numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybrid_case import sites
from icmodel.hybrid.fit import fit
from icmodel.hybrid.interval import WIDEST
from icmodel.hybrid.observations import Observations


def test_no_half_width_is_beyond_numbers() -> None:
    where = sites([64, 256, 1024, 4096, 16384, 65536])
    nothing = np.zeros(len(where))
    times = 2e-6 + 1e-9 * where.payload_bytes
    found = fit(Observations(where, times, nothing, nothing), np.log(times))
    wild = replace(found, widths=replace(found.widths, factor=1e300))
    half = wild.at(sites([512, 1e9]))[1]
    assert half.tolist() == [WIDEST, WIDEST]
    assert (found.at(sites([512, 1e9]))[1] < WIDEST).all()
