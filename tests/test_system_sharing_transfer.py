"""Packets over lines that nothing else uses, against a twin that plays them one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.system.prediction.path_times import Run, pipelined_s, storing
from pipeline import Hop, lone_frame_s

GAP = 96.0
RATES = st.sampled_from([1e8, 1e9, 2.5e9, 1e10])
RUNS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([672, 800, 5000, 12_304])),
    min_size=1,
    max_size=4,
)


@given(
    lines=st.lists(st.tuples(RATES, st.booleans()), min_size=1, max_size=6),
    runs=RUNS,
)
def test_runs_of_packets_take_the_time_of_packets_played_one_by_one(
    lines: list[tuple[float, bool]], runs: list[tuple[int, int]]
) -> None:
    rates = [rate for rate, _ in lines]
    stores = storing([through for _, through in lines[:-1]], rates)
    total_s = pipelined_s(
        [Run(n, np.full(len(rates), float(b))) for n, b in runs], rates, stores, GAP
    )
    packets = [bits / 8 for number, bits in runs for _ in range(number)]
    hops = [Hop(rate, through=through) for rate, through in lines]
    assert total_s == pytest.approx(lone_frame_s([packets] * len(hops), 12, hops), rel=1e-12)


@pytest.mark.parametrize(
    ("rates", "through", "expected"),
    [
        ((1e9, 1e9), True, False),
        ((1e9, 1e8), True, False),
        ((1e8, 1e9), True, True),
        ((1e9, 1e9), False, True),
    ],
)
def test_no_switch_cuts_through_to_a_faster_line(
    rates: tuple[float, float], through: bool, expected: bool
) -> None:
    assert storing([through], rates) == [expected]
