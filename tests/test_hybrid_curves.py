"""Curves by themselves: cubic pieces beside scipy's, costs exact, errors those of leaving out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import Akima1DInterpolator, PchipInterpolator

from hybrid_case import sites
from icmodel.hybrid.curves import Curves, local, monotone, straight
from icmodel.hybrid.mechanism import COSTS, Mechanism

STEPS = st.lists(st.tuples(st.floats(0.1, 3.0), st.floats(-3.0, 3.0)), min_size=3, max_size=12)


@given(STEPS, st.floats(0, 1))
def test_cubic_pieces_are_those_of_scipy(steps: list[tuple[float, float]], part: float) -> None:
    x = np.cumsum([step for step, _ in steps])
    y = np.array([value for _, value in steps])
    at = np.array([x[0] + part * (x[-1] - x[0])])
    assert monotone(x, y, at) == pytest.approx(PchipInterpolator(x, y)(at), abs=1e-7)
    expected = Akima1DInterpolator(x, y, method="makima")(at)
    assert local(x, y, at) == pytest.approx(expected, abs=1e-7)


def test_two_points_are_joined_by_a_line() -> None:
    x, y, at = np.array([0.0, 2.0]), np.array([1.0, 5.0]), np.array([0.5])
    for between in (straight, monotone, local):
        assert between(x, y, at)[0] == pytest.approx(2.0)


def test_a_curve_of_costs_is_exact_also_beyond_its_ends() -> None:
    where = sites([64, 512, 4096, 16384])
    curves = Curves(None, None, where, np.log(2e-6 + 1e-9 * where.payload_bytes))
    asked = sites([1, 1000, 1_000_000])
    assert np.exp(curves.log_time(asked)) == pytest.approx(2e-6 + 1e-9 * asked.payload_bytes)
    assert curves.errors == pytest.approx(0.0, abs=1e-9)


def test_errors_are_those_of_leaving_out_a_payload_with_all_its_rows() -> None:
    where = sites([64, 64, 512, 4096, 16384])
    log_time = np.array([1.0, 1.2, 2.0, 2.5, 4.0])
    curves = Curves(straight, None, where, log_time)
    logs = np.log([64, 4096])
    told = np.interp(np.log(512), logs, [1.1, 2.5])
    assert curves.errors[2] == pytest.approx(2.0 - told)
    assert np.isnan(curves.errors[[0, 1, 4]]).all()


def test_beyond_its_ends_a_curve_goes_on_as_the_mechanism_or_says_nothing() -> None:
    where = sites([64, 512, 4096, 8192, 16384])
    log_time = np.log(3 * (2e-6 + 1e-9 * where.payload_bytes))
    mechanism = Mechanism(COSTS, where, log_time - np.log(3))
    asked = sites([1_000_000])
    told = Curves(straight, mechanism, where, log_time).log_time(asked)
    assert np.exp(told)[0] == pytest.approx(3 * (2e-6 + 1e-3), rel=1e-6)
    assert np.isnan(Curves(monotone, None, where, log_time).log_time(asked)[0])


def test_of_a_curve_it_does_not_know_it_says_nothing() -> None:
    curves = Curves(straight, None, sites([64, 512], [["a"], ["a"]]), np.zeros(2))
    assert np.isnan(curves.log_time(sites([100], [["b"]])))[0]
