"""Loads that payloads do not achieve: what stands in for rows taken in overload, and where they begin."""

from __future__ import annotations

import numpy as np
import pytest

from icmodel.fits.observations import OVERLOADED
from icmodel.laws.corrected_tables import achieved, crossings, hold_overloads
from icmodel.laws.hybrid import hold_from_edge
from icmodel.tables import Configuration, Curve
from icmodel.tables.bilinear import EXTRAPOLATED

TABULATED = 1
TCP = Configuration("tcp", 4, 0)


def curve(payloads: list[float], values: list[float], load: float = 1e8) -> Curve:
    value = np.array(values)
    return Curve(
        load,
        np.array(payloads),
        np.stack([value, 0.9 * value, 1.1 * value]),
        np.full(len(values), TABULATED, dtype=np.int8),
        np.arange(len(values)),
    )


def best(payloads: list[float], achieved: list[bool], load: float = 1e8) -> Curve:
    """A goodput that achieves a load at some payloads, and half of it at the others."""
    return curve(payloads, [load if here else load / 2 for here in achieved], load=np.inf)


def test_load_curves_were_run_with_the_most_cores_and_without_a_switch() -> None:
    keys = [Configuration("tcp", 2, 0), TCP, Configuration("tcp", 4, 1)]
    curves = {key: [curve([1.0], [float(k)])] for k, key in enumerate(keys)}
    assert achieved(curves, keys[2]) is curves[TCP][0]
    assert achieved(curves, Configuration("udp", 4, 0)) is None


# --- rows taken in overload -----------------------------------------------------------------------


def test_an_overloaded_row_is_held_from_the_lower_curve_and_its_row_before() -> None:
    upper = curve([64, 128, 256], [10.0, 20.0, 30.0])
    lower = curve([64, 100, 256], [1.0, 2.0, 5.0], load=1e7)
    reached = best([64, 128, 256], [False, False, True])
    _, found = hold_overloads([upper, lower], reached)
    between = 2.0 + 3.0 * 28 / 156
    assert found.ends[0] == pytest.approx([1.0, between, 30.0])
    assert found.ends[1] == pytest.approx([0.9, 0.9 * between, 27.0])
    assert found.basis.tolist() == [EXTRAPOLATED, EXTRAPOLATED, TABULATED]
    assert found.rows.tolist() == [0, 1, 2]
    _, at_its_own = hold_overloads([upper, lower], best([64, 128, 256], [True, True, False]))
    assert at_its_own.rows.tolist() == [0, 1, 2]
    assert at_its_own.ends[0].tolist() == [10.0, 20.0, 5.0]


def test_a_row_before_the_lower_curve_is_held_from_its_first_and_behind_from_its_last() -> None:
    upper = curve([16, 4096], [10.0, 20.0])
    lower = curve([64, 128, 256], [1.0, 2.0, 5.0], load=1e7)
    _, found = hold_overloads([upper, lower], best([16, 4096], [False, False]))
    assert found.ends[0].tolist() == [1.0, 5.0]
    assert found.rows.tolist() == [0, 2]


def test_a_fitted_curve_is_held_from_the_nearest_point_that_was_carried() -> None:
    """Nearest in octaves: 100 is nearer to 160 than to 50."""
    whole = curve([50, 100, 160, 1000], [1.0, 2.0, 3.0, 4.0])
    (found,) = hold_from_edge([whole], best([50, 100, 160, 1000], [True, False, True, False]))
    assert found.ends[0].tolist() == [1.0, 3.0, 3.0, 3.0]
    assert found.rows.tolist() == [0, 2, 2, 2]
    assert found.basis.tolist() == [TABULATED, EXTRAPOLATED, TABULATED, EXTRAPOLATED]


@pytest.mark.parametrize("over", [True, False])
def test_a_fitted_curve_all_carried_or_all_overloaded_stays(over: bool) -> None:
    whole = curve([50, 100], [1.0, 2.0])
    assert hold_from_edge([whole], best([50, 100], [not over, not over]))[0] is whole


# --- crossings ------------------------------------------------------------------------------------


def test_a_goodput_crosses_a_load_between_two_whole_payloads() -> None:
    """1 Mb/s a byte from 10 B on: half a percent below 55.5 Mb/s is passed at 55.22 B."""
    straight = curve([10, 100], [10e6, 100e6])
    assert crossings({TCP: [straight]}, ["tcp"], np.array([55.5e6])) == (55.0, 56.0)
    assert crossings({TCP: [straight]}, ["tcp"], np.array([80e6])) == (79.0, 80.0)
    assert crossings({TCP: [straight]}, ["tcp"], np.array([200e6])) == ()
    assert crossings({TCP: [curve([10, 100], [5e6, 5e6])]}, ["tcp"], np.array([5e6 * 1.005])) == ()


def test_a_goodput_that_only_touches_a_load_crosses_it_there() -> None:
    peak = curve([10, 20, 30], [10e6, 20e6, 10e6])
    assert crossings({TCP: [peak]}, ["tcp"], OVERLOADED * np.array([20e6])) == (20.0, 21.0)
