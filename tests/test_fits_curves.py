"""Curves by themselves: cubic pieces beside scipy's, costs exact, errors those of leaving out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import Akima1DInterpolator, PchipInterpolator

from fits_case import sites
from icmodel.fits.curves import (
    METHODS,
    Curves,
    affine_pieces,
    akima,
    extrapolated,
    monotone,
    place,
    straight,
)
from icmodel.fits.mechanism import COSTS, Mechanism

VALUES = st.integers(-3000, 3000).map(lambda thousandths: thousandths / 1000)
"""Not the least floats there are: their slopes overflow in scipy too."""
STEPS = st.lists(st.tuples(st.floats(0.2, 3.0), VALUES), min_size=3, max_size=12)
STRAIGHT, AFFINE, MONOTONE, A_BYTE, LOCAL, OWN_COSTS = range(len(METHODS))


@given(STEPS, st.floats(0, 1))
def test_pieces_are_those_of_scipy_and_numpy(steps: list[tuple[float, float]], part: float) -> None:
    x = np.cumsum([step for step, _ in steps])
    y = np.array([value for _, value in steps])
    at = np.minimum([x[0] + part * (x[-1] - x[0])], x[-1])  # not beyond it by rounding
    where = place(x, at)
    assert straight(x, y, where) == pytest.approx(np.interp(at, x, y))
    assert monotone(x, y, where) == pytest.approx(PchipInterpolator(x, y)(at), abs=1e-7)
    expected = Akima1DInterpolator(x, y, method="makima")(at)
    assert akima(x, y, where) == pytest.approx(expected, abs=1e-7)


def test_the_step_across_a_break_is_not_followed_beyond_it() -> None:
    x = np.log2([256.0, 512.0, 1024.0, 1472.0, 1473.0, 2952.0, 5904.0])
    level = np.array([1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]) + 0.1 * x
    at = np.log2([1200.0, 2000.0, 4000.0])
    assert akima(x, level, place(x, at)) == pytest.approx([1.0, 2.0, 2.0] + 0.1 * at, abs=0.01)


def test_a_stack_of_curves_says_what_each_says() -> None:
    random = np.random.default_rng(2)
    x = np.cumsum(random.uniform(0.5, 2.0, (3, 6)), axis=1)
    y, at = random.normal(size=(3, 6)), random.uniform(-1, 14, (3, 9))
    for between in (straight, affine_pieces, monotone, akima):
        alone = [between(x[k], y[k], place(x[k], at[k])) for k in range(3)]
        told = between(x, y, place(x, at))
        assert told == pytest.approx(np.stack(alone), nan_ok=True)
    assert extrapolated(x, y, at) == pytest.approx(
        np.stack([extrapolated(x[k], y[k], at[k]) for k in range(3)])
    )


def test_two_points_are_joined_by_a_line() -> None:
    x, y, at = np.array([0.0, 2.0]), np.array([1.0, 5.0]), np.array([0.5])
    assert extrapolated(x, y, at)[0] == pytest.approx(2.0)
    for between in (straight, monotone, akima):
        assert between(x, y, place(x, at))[0] == pytest.approx(2.0)


def test_a_curve_of_costs_is_exact_also_beyond_its_ends() -> None:
    where = sites([64, 512, 4096, 16384])
    curves = Curves(where, np.log(2e-6 + 1e-9 * where.payload_bytes), np.zeros(4))
    asked = sites([1, 1000, 1_000_000])
    told = curves.log_time(asked, np.zeros(3))[OWN_COSTS]
    assert np.exp(told) == pytest.approx(2e-6 + 1e-9 * asked.payload_bytes)
    assert curves.errors[OWN_COSTS] == pytest.approx(0.0, abs=1e-9)


def test_costs_that_change_on_the_way_are_met_between_any_two_points() -> None:
    """A stack that copies no more above 4 KiB: affine on both sides, and by hand in between."""
    sizes = np.array([64.0, 1024.0, 4096.0, 8192.0, 65536.0])
    time = np.where(sizes > 4096, 5e-6 + 1e-10 * sizes, 1e-6 + 1e-9 * sizes)
    asked = np.array([512.0, 6144.0, 16384.0, 131072.0])
    told = np.exp(_affine(sizes, time, asked))
    between = (time[2] + time[3]) / 2
    assert told == pytest.approx([1e-6 + 512e-9, between, 5e-6 + 16384e-10, 5e-6 + 131072e-10])
    falling = _affine(sizes[:2], np.array([2e-6, 1e-6]), np.array([1e6]))
    assert np.isnan(falling).all()


def _affine(sizes: np.ndarray, time: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Log of the time at some sizes."""
    x = np.log(sizes)
    return affine_pieces(x, np.log(time), place(x, np.log(asked)))


def test_errors_are_those_of_leaving_out_a_payload_with_all_its_rows() -> None:
    where = sites([64, 64, 512, 4096, 16384])
    log_time = np.array([1.0, 1.2, 2.0, 2.5, 4.0])
    curves = Curves(where, log_time, np.zeros(5))
    logs = np.log([64, 512, 4096, 16384])
    mean = np.array([1.1, 2.0, 2.5, 4.0])
    rest = [0, 2, 3]
    assert curves.errors[STRAIGHT, 2] == pytest.approx(
        2.0 - np.interp(logs[1], logs[rest], mean[rest])
    )
    left_out = PchipInterpolator(logs[rest], mean[rest])(logs[1])
    assert curves.errors[MONOTONE, 2] == pytest.approx(2.0 - left_out)
    assert np.isnan(curves.errors[MONOTONE][[0, 1, 4]]).all()
    assert curves.errors[STRAIGHT, 4] == pytest.approx(4.0 - 2.5)


def test_a_goodput_that_stays_level_is_met_by_the_time_a_byte() -> None:
    where = sites([64, 512, 2048, 8192, 16384, 65536])
    logs = np.log(where.payload_bytes)
    log_time = logs - np.minimum(logs, np.log(1024.0))  # rises with the payload, then level
    errors = Curves(where, log_time, np.zeros(6)).errors
    assert errors[A_BYTE, 3:5] == pytest.approx([0, 0], abs=1e-12)
    rest = [0, 2, 3, 4, 5]
    told = PchipInterpolator(logs[rest], (log_time - logs)[rest])(logs[1]) + logs[1]
    assert errors[A_BYTE, 1] == pytest.approx(log_time[1] - told)


def test_beyond_its_ends_a_curve_goes_on_as_the_mechanism_or_says_nothing() -> None:
    where = sites([64, 512, 4096, 8192, 16384])
    log_time = np.log(3 * (2e-6 + 1e-9 * where.payload_bytes))
    mechanism = Mechanism(COSTS, where, log_time - np.log(3))
    asked = sites([1_000_000])
    curves = Curves(where, log_time, mechanism.at(where).log_time)
    told = curves.log_time(asked, mechanism.at(asked).log_time)
    assert np.exp(told[STRAIGHT, 0]) == pytest.approx(3 * (2e-6 + 1e-3), rel=1e-6)
    assert np.isnan(told[[MONOTONE, A_BYTE], 0]).all()
    line = np.polyfit(np.log([8192, 16384]), log_time[-2:], 1)
    expected = np.polyval(line, np.log(1_000_000))
    assert told[LOCAL, 0] == pytest.approx(expected)
    assert np.exp(told[AFFINE, 0]) == pytest.approx(3 * (2e-6 + 1e-3), rel=1e-6)


def test_of_curves_that_it_does_not_know_or_that_have_one_point_it_says_nothing() -> None:
    where = sites([64, 512, 64], [["a"], ["a"], ["one"]])
    curves = Curves(where, np.zeros(3), np.zeros(3))
    assert np.isnan(curves.errors).all()
    asked = sites([100, 100, 100], [["a"], ["b"], ["one"]])
    told = curves.log_time(asked, np.zeros(3))
    assert not np.isnan(told[:, 0]).any()
    assert np.isnan(told[:, 1:]).all()
