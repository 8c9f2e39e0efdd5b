"""Regimes of rows: carried, short of the load, and what bounds those."""

from __future__ import annotations

import math

import numpy as np

from hybrid_case import dataset, row
from icmodel.hybrid.regimes import LIMITED, OVERLOAD, UNLIMITED, asked_too_much, regimes_of

SHORT = ((3e8, 3e8), (6e8, 5.8e8), (7e8, 5e8), (math.inf, 8e8))
"""Loads and goodputs [b/s]: a little less than asked may be in flight, a third less is not."""


def test_a_row_short_of_its_request_was_asked_for_too_much() -> None:
    points = [row("tcp", 512, load, "goodput_bps", np.full(3, got)) for load, got in SHORT]
    assert regimes_of(dataset(points), points) == [LIMITED, LIMITED, OVERLOAD, UNLIMITED]


def test_the_next_payload_bounds_those_that_were_asked_for_too_much() -> None:
    points = [
        row("tcp", payload, load, "goodput_bps", np.full(3, min(load, 1e6 * payload)))
        for payload in (64, 128, 256, 512)
        for load in (3e7, 1e8, math.inf)
    ]
    over = asked_too_much(dataset(points), points)
    found = [
        (p.payload_bytes, p.load_bps) for p, is_over in zip(points, over, strict=True) if is_over
    ]
    assert found == [(64, 1e8), (128, 1e8)]
