"""Look-up tables: which place answers, and what stands in for rows taken in overload."""

from __future__ import annotations

import numpy as np
import pytest

from icmodel.interpolation import EXTRAPOLATED, Curve
from icmodel.model.lookup import (
    LOAD_TOLERANCE,
    _closest,
    _held,
    _held_from_edge,
    _standing_in,
    crossings,
    most_measured,
)
from icmodel.model.shelf import Place

TABULATED = 1
PLACES: list[Place] = [("tcp", 2, 0), ("tcp", 4, 0), ("tcp", 4, 1)]


def curve(payloads: list[float], values: list[float], load: float = 1e8) -> Curve:
    value = np.array(values)
    return Curve(
        load,
        np.array(payloads),
        np.stack([value, 0.9 * value, 1.1 * value]),
        np.full(len(values), TABULATED, dtype=np.int8),
        np.arange(len(values)),
    )


# --- places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "place"),
    [(1, PLACES[0]), (2, PLACES[0]), (3, PLACES[0]), (4, PLACES[2]), (9, PLACES[2])],
)
def test_the_closest_count_answers_of_two_the_lesser_behind_the_most_switches(
    asked: int, place: Place
) -> None:
    assert _closest(PLACES, asked) == place
    assert _closest(PLACES[::-1], asked) == place


def test_a_place_that_says_no_cores_is_close_to_all() -> None:
    anyone: Place = ("tcp", None, 0)
    assert _closest([*PLACES, anyone], 3) == anyone
    assert _closest([], 3) is None


@pytest.mark.parametrize(
    ("asked", "nearest", "place"),
    [
        (2, False, PLACES[0]),
        (4, False, PLACES[2]),
        (3, False, None),
        (3, True, PLACES[2]),
        (1, True, PLACES[2]),
    ],
)
def test_own_cores_stand_in_and_where_the_rule_scales_the_most_measured(
    asked: int, nearest: bool, place: Place | None
) -> None:
    assert _standing_in(PLACES, asked, nearest_cores=nearest) == place
    assert _standing_in([("tcp", None, 0)], asked, nearest_cores=nearest) == ("tcp", None, 0)
    assert _standing_in([], asked, nearest_cores=nearest) is None


def test_load_curves_were_run_with_the_most_cores_and_without_a_switch() -> None:
    curves = {place: [curve([1.0], [1.0])] for place in PLACES}
    assert most_measured(curves, "tcp") == PLACES[1]
    assert most_measured(curves, "udp") == ("udp", None, -1)


# --- rows taken in overload -----------------------------------------------------------------------


def test_an_overloaded_row_is_held_from_the_lower_curve_and_its_row_before() -> None:
    upper = curve([64, 128, 256], [10.0, 20.0, 30.0])
    lower = curve([64, 100, 256], [1.0, 2.0, 5.0], load=1e7)
    found = _held(upper, np.array([True, True, False]), lower)
    between = 2.0 + 3.0 * 28 / 156
    assert found.ends[0] == pytest.approx([1.0, between, 30.0])
    assert found.ends[1] == pytest.approx([0.9, 0.9 * between, 27.0])
    assert found.basis.tolist() == [EXTRAPOLATED, EXTRAPOLATED, TABULATED]
    assert found.rows.tolist() == [0, 1, 2]
    at_its_own = _held(upper, np.array([False, False, True]), lower)
    assert at_its_own.rows.tolist() == [0, 1, 2]
    assert at_its_own.ends[0].tolist() == [10.0, 20.0, 5.0]


def test_a_row_before_the_lower_curve_is_held_from_its_first_and_behind_from_its_last() -> None:
    upper = curve([16, 4096], [10.0, 20.0])
    lower = curve([64, 128, 256], [1.0, 2.0, 5.0], load=1e7)
    found = _held(upper, np.array([True, True]), lower)
    assert found.ends[0].tolist() == [1.0, 5.0]
    assert found.rows.tolist() == [0, 2]


def test_a_fitted_curve_is_held_from_the_nearest_point_that_was_carried() -> None:
    """Nearest in octaves: 100 is nearer to 160 than to 50."""
    whole = curve([50, 100, 160, 1000], [1.0, 2.0, 3.0, 4.0])
    found = _held_from_edge(whole, np.array([False, True, False, True]))
    assert found.ends[0].tolist() == [1.0, 3.0, 3.0, 3.0]
    assert found.rows.tolist() == [0, 2, 2, 2]
    assert found.basis.tolist() == [TABULATED, EXTRAPOLATED, TABULATED, EXTRAPOLATED]


@pytest.mark.parametrize("over", [True, False])
def test_a_fitted_curve_all_carried_or_all_overloaded_stays(over: bool) -> None:
    whole = curve([50, 100], [1.0, 2.0])
    assert _held_from_edge(whole, np.array([over, over])) is whole


# --- crossings ------------------------------------------------------------------------------------


def test_a_goodput_crosses_a_load_between_two_whole_payloads() -> None:
    """1 Mb/s a byte from 10 B on: half a percent below 55.5 Mb/s is passed at 55.22 B."""
    straight = curve([10, 100], [10e6, 100e6])
    assert crossings([[straight]], np.array([55.5e6])) == (55.0, 56.0)
    assert crossings([[straight]], np.array([80e6])) == (79.0, 80.0)
    assert crossings([[straight]], np.array([200e6])) == ()
    assert crossings([[curve([10, 100], [5e6, 5e6])]], np.array([5e6 * 1.005])) == ()


def test_a_goodput_that_only_touches_a_load_crosses_it_there() -> None:
    peak = curve([10, 20, 30], [10e6, 20e6, 10e6])
    assert crossings([[peak]], LOAD_TOLERANCE * np.array([20e6])) == (20.0, 21.0)
