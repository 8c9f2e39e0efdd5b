"""Curves and surfaces against closed forms, cases worked by hand, and a slow clear twin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from icmodel.arrays import Bools, Floats
from icmodel.estimate import BASES
from icmodel.tables import HIGH, LOW, VALUE, Below, Curve
from icmodel.tables.bilinear import EXTRAPOLATED, INTERPOLATED, Surfaces, compile_surfaces
from icmodel.tables.curves import left_knots, payload_knots
from search import times

ASSUMED = BASES.index("assumed")
UNSAID, UNLIMITED = math.nan, math.inf
MEASURED, TABULATED, STATED = (BASES.index(name) for name in ("measured", "tabulated", "stated"))
Ends = tuple[float, float, float]


def numbers(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=float)


def curve(
    load: float,
    points: dict[float, float],
    *,
    basis: Sequence[int] = (),
    row: int = 0,
    anywhere: bool = False,
) -> Curve:
    """A curve whose ends are 0.9 and 1.2 times its values, in rows counted from ``row``."""
    value = numbers(list(points.values()))
    return Curve(
        load_bps=load,
        payload_bytes=numbers(list(points)),
        ends=np.stack([value, 0.9 * value, 1.2 * value]),
        basis=np.array(basis or [MEASURED] * len(points), dtype=np.int8),
        rows=np.arange(row, row + len(points), dtype=np.int64),
        anywhere=anywhere,
    )


def cell_of(payload_bytes: Floats, knots: Floats) -> NDArray[np.int64]:
    """The cell each payload falls into: 0 below the first knot, k from the k-th knot on."""
    return np.searchsorted(knots, payload_bytes, side="right")


@dataclass(frozen=True)
class Grid:
    """A compiled surface and how it is asked."""

    knots: Floats
    loads: Floats
    surfaces: Surfaces

    def slot(self, load: float) -> int:
        """The loads not above the request; the last slot where it is unlimited."""
        if math.isinf(load):
            return len(self.loads) + 1
        return int(np.count_nonzero(self.loads <= load))

    def _place(self, payload: float, load: float) -> tuple[int, int, float, float]:
        cell, slot = int(cell_of(numbers([payload]), self.knots)[0]), self.slot(load)
        dp = payload - float(left_knots(self.knots)[cell])
        floor = 0.0 if slot == 0 or math.isinf(load) else float(self.loads[slot - 1])
        return cell, slot, dp, 0.0 if math.isinf(load) else load - floor

    def ends(self, payload: float, load: float = UNLIMITED) -> Ends:
        """Value, low and high by the polynomial of the module's docstring; NaN where nothing is known."""
        cell, slot, dp, dr = self._place(payload, load)
        powers = numbers([1, dp, dp * dp, dr, dp * dr, dp * dp * dr])
        v, low, high = (powers @ self.surfaces.coefficients[:, :, slot, 0, cell]).tolist()
        return v, low, high

    def value(self, payload: float, load: float = UNLIMITED) -> float:
        return self.ends(payload, load)[VALUE]

    def basis(self, payload: float, load: float = UNLIMITED) -> int:
        cell, slot, dp, dr = self._place(payload, load)
        on_knot, on_level = dp == 0 and payload >= self.knots[0], dr == 0 and slot > 0
        return int(self.surfaces.basis[int(on_knot), int(on_level), slot, 0, cell])

    def rows(self, payload: float, load: float = UNLIMITED) -> list[int]:
        """Left and right row of the lower curve, then of the upper one."""
        cell, slot, _, _ = self._place(payload, load)
        found: list[int] = self.surfaces.rows[:, slot, 0, cell].tolist()
        return found


def grid(
    *curves: Curve,
    knots: Sequence[float] = (),
    loads: Sequence[float] = (),
    usable: Bools | None = None,
    below: Below = "held",
    extend: tuple[float, float] | None = None,
) -> Grid:
    """Curves compiled on their own knots and loads and some more."""
    every = payload_knots((c.payload_bytes.tolist() for c in curves if not c.anywhere), knots)
    levels = numbers(sorted({*loads, *(c.load_bps for c in curves if math.isfinite(c.load_bps))}))
    surfaces = compile_surfaces(
        [curves],
        every,
        levels,
        usable=[usable],
        below=below,
        extend=None if extend is None else numbers([extend]),
    )
    return Grid(every, levels, surfaces)


# --- what is added between points --------------------------------------------------------------


def bulging(load: float, between: Sequence[float], limits: tuple[float, float]) -> Curve:
    """A curve of 100, 300 and 200 at 10, 20 and 40 bytes, that may be off between them."""
    points = curve(load, {10: 100, 20: 300, 40: 200})
    return replace(points, between=numbers(between), limits=limits)


def test_errors_add_in_quadrature_in_the_middle_and_fall_to_nothing_at_the_points() -> None:
    told = grid(bulging(UNLIMITED, [30, 0], (0, math.inf)))
    # In the middle of the first gap the points' own ends are 20 below and 40 above.
    assert told.ends(15) == pytest.approx((200, 200 - math.hypot(20, 30), 200 + math.hypot(40, 30)))
    quarter = 0.75 * (math.hypot(20, 30) - 20)
    assert told.ends(12.5)[LOW] == pytest.approx(0.9 * 150 - quarter)
    assert told.ends(30) == pytest.approx((250, 225, 300))
    for size, value in ((10, 100), (20, 300), (40, 200)):
        assert told.ends(size) == pytest.approx((value, 0.9 * value, 1.2 * value))


def test_a_bulge_stops_at_a_limit() -> None:
    told = grid(bulging(UNLIMITED, [1e6, 1e6], (50, 400)))
    sizes = np.linspace(10, 40, 121)
    ends = np.array([told.ends(size) for size in sizes.tolist()])
    assert ends[:, LOW].min() == pytest.approx(50, rel=1e-3)
    assert ends[:, HIGH].max() == pytest.approx(400, rel=1e-3)
    assert (ends[:, LOW] >= 50 * (1 - 1e-12)).all()
    assert (ends[:, HIGH] <= 400 * (1 + 1e-12)).all()


def test_bulges_are_interpolated_between_loads_and_held_values_keep_their_bits() -> None:
    one = bulging(1e9, [30, 50], (0, math.inf))
    other = replace(bulging(3e9, [90, 10], (0, math.inf)), ends=2 * one.ends)
    told, plain = grid(one, other), grid(replace(one, between=None), replace(other, between=None))
    for size in (10, 11.0, 15, 20, 33, 40):
        below, middle, above = (told.ends(size, load) for load in (1e9, 2e9, 3e9))
        assert middle == pytest.approx([(a + b) / 2 for a, b in zip(below, above, strict=True)])
        assert told.value(size, 1.7e9) == plain.value(size, 1.7e9)
        assert np.allclose(below, one.at(numbers([size]))[:, 0], rtol=1e-12)


def test_points_beyond_a_limit_go_no_further_between_them() -> None:
    told = grid(bulging(UNLIMITED, [1e6, 1e6], (350, 400)))
    plain = grid(curve(UNLIMITED, {10: 100, 20: 300, 40: 200}))
    for size in (10, 12, 15, 30, 33, 40):
        assert told.ends(size)[LOW] == pytest.approx(plain.ends(size)[LOW])


def test_beyond_its_points_a_curve_that_bulges_is_held() -> None:
    told = bulging(UNLIMITED, [30, 50], (0, math.inf))
    assert told.at(numbers([1, 9000])) == pytest.approx(told.ends[:, [0, -1]])


def test_beyond_the_payloads_of_curves_that_bulge_nothing_changes_with_the_payload() -> None:
    """Nor does it between two loads that bulge differently."""
    one = bulging(1e9, [30, 50], (0, math.inf))
    other = replace(bulging(3e9, [90, 10], (0, math.inf)), ends=2 * one.ends)
    told = grid(one, other, knots=[1], extend=(0.0, math.inf))
    # At 10 B the curves are 100 and 200 with ends of 0.9 and 1.2 times these, and 150 between.
    expected = (150, 150 - 3 * 15 - 45, 150 + 3 * 30 + 45)
    for size in (1, 2, 9):
        assert told.ends(size, 2e9) == pytest.approx(expected)


def test_points_put_between_benchmarked_ones_name_the_rows_on_both_sides() -> None:
    """Benchmarked are 10, 20 and 40 B, in rows 5, 6 and 7."""
    points = curve(UNLIMITED, {10: 1, 15: 2, 20: 3, 30: 4, 40: 5})
    told = grid(
        replace(points, rows=np.array([5, 5, 6, 6, 7]), next_rows=np.array([6, 6, 7, 7, 7]))
    )
    for size, rows in ((10, [5, 6]), (12, [5, 6]), (17, [5, 6]), (20, [6, 7]), (39, [6, 7])):
        assert told.rows(size)[:2] == rows


# --- knots and cells ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("curves", "extra", "knots"),
    [
        ([[1, 10]], [], [1, 10, 11]),
        ([[10], [1, 10, 20]], [], [1, 10, 11, 20, 21]),
        ([[1, 10], [1, 11]], [], [1, 10, 11, 12]),
        ([[5]], [3, 100], [3, 5, 6, 100]),
        ([[], [5]], [], [5, 6]),
        ([[]], [], [1]),
        ([], [], [1]),
        ([], [7], [7]),
    ],
)
def test_knots_are_every_payload_and_one_more_behind_each_end(
    curves: list[list[float]], extra: list[float], knots: list[float]
) -> None:
    assert payload_knots(curves, extra).tolist() == knots


def test_a_payload_falls_into_the_cell_of_the_knot_at_or_below_it() -> None:
    knots = numbers([2, 10, 11])
    asked = numbers([1, 1.99, 2, 2.01, 9.99, 10, 10.5, 11, 12, 1e12])
    assert cell_of(asked, knots).tolist() == [0, 0, 1, 1, 1, 2, 2, 3, 3, 3]
    assert left_knots(knots).tolist() == [2, 2, 10, 11]


# --- one curve ---------------------------------------------------------------------------------


def test_a_curve_through_known_points() -> None:
    told = curve(UNLIMITED, {64: 100, 128: 300, 1024: 80})
    assert (told.first, told.last) == (64, 1024)
    asked = numbers([64, 96, 128, 576, 1024])
    assert told.at(asked)[VALUE].tolist() == [100, 200, 300, 190, 80]
    assert told.at(asked)[LOW] == pytest.approx([90, 180, 270, 171, 72])
    assert told.at(asked)[HIGH] == pytest.approx([120, 240, 360, 228, 96])
    assert told.at(numbers([1, 9000]))[VALUE].tolist() == [100, 80]


def test_a_surface_of_one_curve_is_exact_at_knots_and_linear_between() -> None:
    told = grid(curve(UNLIMITED, {64: 100, 128: 300, 1024: 80}), knots=[100, 500])
    assert told.ends(64) == (100, 90, 120)
    assert told.ends(1024) == (80, 72, 96)
    assert [told.value(p) for p in (96, 128, 576)] == pytest.approx([200, 300, 190])
    assert told.value(100) == pytest.approx(100 + 200 * 36 / 64)
    assert (told.surfaces.first[0], told.surfaces.last[0]) == (64, 1024)


@pytest.mark.parametrize("payload", [1, 63, 1025, 9000])
def test_a_surface_knows_nothing_outside_its_payloads(payload: float) -> None:
    told = grid(curve(UNLIMITED, {64: 100, 1024: 80}), knots=[1, 32, 2048])
    assert all(map(math.isnan, told.ends(payload)))
    assert told.rows(payload) == [-1] * 4


@pytest.mark.parametrize("load", [UNSAID, UNLIMITED])
def test_a_number_without_a_payload_holds_everywhere_as_extrapolated(load: float) -> None:
    told = grid(curve(load, {1: 7.0}, row=4, anywhere=True), knots=[64, 1024])
    for payload in (1, 63, 64, 500, 1024, 1e9):
        for asked in (1.0, 1e9, UNLIMITED):
            assert told.ends(payload, asked) == pytest.approx((7, 6.3, 8.4))
            assert told.basis(payload, asked) == EXTRAPOLATED
            assert told.rows(payload, asked) == [4, 4, -1, -1]
    assert (told.surfaces.first[0], told.surfaces.last[0]) == (1, math.inf)


def test_a_number_without_a_payload_serves_between_loads_as_well() -> None:
    low, high = curve(100, {1: 10.0}, anywhere=True), curve(200, {8: 20.0, 16: 40.0}, row=1)
    told = grid(low, high)
    assert told.value(8, 150) == pytest.approx(15)
    assert told.value(12, 150) == pytest.approx(20)
    assert told.value(4, 150) == 10
    assert told.basis(8, 150) == told.basis(8, 100) == EXTRAPOLATED
    assert told.basis(8, 200) == MEASURED


# --- between load curves -----------------------------------------------------------------------

LOWER = curve(100, {10: 1, 20: 2}, basis=[MEASURED, TABULATED])
UPPER = curve(300, {10: 5, 20: 10}, basis=[STATED, ASSUMED], row=2)


def test_between_two_load_curves_both_ways_are_linear() -> None:
    told = grid(LOWER, UPPER)
    assert told.ends(10, 100) == (1, 0.9, 1.2)
    assert told.ends(20, 300) == (10, 9, 12)
    assert told.ends(10, 200) == pytest.approx((3, 2.7, 3.6))
    assert told.ends(15, 200) == pytest.approx((4.5, 4.05, 5.4))
    assert told.value(15, 150) == pytest.approx(1.5 + (7.5 - 1.5) / 4)


def test_the_order_of_curves_does_not_matter() -> None:
    one, other = grid(LOWER, UPPER), grid(UPPER, LOWER)
    for load in (50, 100, 250, 300, 400):
        assert one.ends(15, load) == other.ends(15, load)
        assert one.rows(15, load) == other.rows(15, load)


def test_a_level_of_another_metric_changes_nothing() -> None:
    plain, more = grid(LOWER, UPPER), grid(LOWER, UPPER, loads=[50, 180, 1000], knots=[13])
    for load in (40, 50, 100, 150, 180, 250, 300, 2000):
        for payload in (10, 13, 15, 20):
            assert more.ends(payload, load) == pytest.approx(plain.ends(payload, load))
            assert more.basis(payload, load) == plain.basis(payload, load)


@pytest.mark.parametrize("load", [300, 301, 1e12])
def test_above_the_highest_curve_it_is_held(load: float) -> None:
    assert grid(LOWER, UPPER).ends(15, load) == pytest.approx((7.5, 6.75, 9))


@pytest.mark.parametrize("load", [0, 1, 25, 99, 99.999])
def test_below_the_lowest_curve_it_is_held_and_its_ends_widen(load: float) -> None:
    """Towards a load of nothing the half-widths grow to three times, and 30 % of the value more."""
    told = grid(LOWER, UPPER, below="held", loads=[20, 50])
    away = 1 - load / 100
    low = 1.5 - 0.15 * (1 + 2 * away) - 0.45 * away
    high = 1.5 + 0.3 * (1 + 2 * away) + 0.45 * away
    assert told.ends(15, load) == pytest.approx((1.5, low, high))
    assert BASES[told.basis(15, load)] == "extrapolated"
    assert told.ends(15, 100) == pytest.approx((1.5, 1.35, 1.8))


@pytest.mark.parametrize("load", [0, 1, 25, 99])
def test_below_the_lowest_curve_it_is_in_proportion(load: float) -> None:
    told = grid(LOWER, UPPER, below="proportion", loads=[20, 50])
    share = load / 100
    assert told.ends(15, load) == pytest.approx((1.5 * share, 1.35 * share, 1.8))
    assert told.ends(15, 100) == pytest.approx((1.5, 1.35, 1.8))


@pytest.mark.parametrize("load", [0, 1, 25, 99])
def test_below_the_lowest_curve_it_goes_to_one(load: float) -> None:
    """And its ends to as far from 1, or to the curve's own where they lie farther out."""
    told = grid(LOWER, UPPER, below="one", loads=[20, 50])
    share = load / 100
    assert told.ends(20, load) == pytest.approx((1 + share, 0.8 + share, 2.4))
    assert told.value(15, load) == pytest.approx(1 + 0.5 * share)
    assert told.ends(20, 100) == pytest.approx((2, 1.8, 2.4))


def test_below_the_lowest_curve_ends_are_no_nearer_than_the_curves_own() -> None:
    """Of a curve below 1 the lower end is its own at a load of nothing too, and above 1 the upper."""
    low = grid(curve(100, {10: 0.5}), below="one")
    assert low.ends(10, 0) == pytest.approx((1, 0.45, 1.1))
    assert low.ends(10, 50) == pytest.approx((0.75, 0.45, 0.85))
    high = grid(curve(100, {10: 2.0}), below="one")
    assert high.ends(10, 0) == pytest.approx((1, 0.8, 2.4))


@pytest.mark.parametrize("load", [0, 1, 99])
def test_below_the_lowest_curve_there_is_nothing(load: float) -> None:
    told = grid(LOWER, UPPER, below="nothing")
    assert math.isnan(told.value(15, load))
    assert told.rows(15, load) == [-1] * 4
    assert told.value(15, 100) == pytest.approx(1.5)


def test_no_limited_curve_answers_an_unlimited_request() -> None:
    assert math.isnan(grid(LOWER, UPPER).value(15, UNLIMITED))


def test_the_unlimited_curve_answers_unlimited_requests_only_beside_load_curves() -> None:
    told = grid(LOWER, UPPER, curve(UNLIMITED, {10: 50, 20: 50, 30: 50}, row=4))
    assert told.value(15, UNLIMITED) == 50
    assert told.value(15, 1e12) == pytest.approx(7.5)
    assert told.value(15, 50) == pytest.approx(1.5)
    assert told.value(25, 200) == 50  # where no load curve reaches
    assert told.surfaces.top_load[0, cell_of(numbers([15, 25]), told.knots)].tolist() == [300, 0]


def test_a_curve_without_a_said_load_answers_every_request_no_load_curve_does() -> None:
    unsaid = curve(UNSAID, {10: 6, 30: 8}, row=7)
    told = grid(LOWER, unsaid)
    assert told.value(15, 100) == pytest.approx(1.5)
    assert told.value(25, 100) == pytest.approx(7.5)
    assert told.value(25, UNLIMITED) == pytest.approx(7.5)
    assert (told.surfaces.top_load > 0).all()
    beside = grid(unsaid, curve(UNLIMITED, {10: 50, 20: 50}, row=9))
    assert (beside.value(10, 100), beside.value(10, UNLIMITED)) == (6, 50)
    assert math.isnan(beside.value(25, UNLIMITED))


def test_the_highest_load_that_answers_is_told_by_cell() -> None:
    told = grid(LOWER, curve(300, {20: 5, 30: 5}, row=2))
    asked = cell_of(numbers([9, 10, 19, 20, 21, 30, 31]), told.knots)
    assert told.surfaces.top_load[0, asked].tolist() == [
        math.inf,
        100,
        100,
        300,
        300,
        300,
        math.inf,
    ]


def test_a_curve_answers_only_where_it_may_be_used() -> None:
    knots = payload_knots([[10, 20]])
    usable = np.ones((2, len(knots) + 1), dtype=bool)
    usable[1, cell_of(numbers([10]), knots)] = False
    told = grid(LOWER, UPPER, usable=usable)
    assert told.value(15, 200) == pytest.approx(1.5)
    assert told.value(15, 300) == pytest.approx(1.5)
    assert told.basis(15, 300) == EXTRAPOLATED
    assert told.value(20, 300) == 10
    assert told.surfaces.top_load[0, cell_of(numbers([15, 20]), knots)].tolist() == [100, 300]


def test_load_curves_need_not_reach_equally_far() -> None:
    told = grid(LOWER, curve(300, {15: 8, 40: 8}, row=2))
    assert told.value(12, 200) == pytest.approx(1.2)  # only the lower one, held
    assert told.value(16, 200) == pytest.approx((1.6 + 8) / 2)
    assert told.value(30, 200) == 8  # only the upper one, held below


def test_a_surface_reaches_as_far_as_any_of_its_curves() -> None:
    told = grid(curve(100, {10: 1, 20: 2}), curve(300, {5: 1, 15: 2}), curve(900, {12: 1, 40: 2}))
    assert (told.surfaces.first[0], told.surfaces.last[0]) == (5, 40)


# --- what it rests on --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "load", "basis"),
    [
        (10, 100, MEASURED),
        (20, 100, TABULATED),
        (10, 300, STATED),
        (20, 300, ASSUMED),
        (15, 100, INTERPOLATED),
        (15, 300, ASSUMED),  # between a stated and an assumed one
        (10, 200, INTERPOLATED),
        (20, 200, ASSUMED),
        (15, 200, ASSUMED),
        (10, 99, EXTRAPOLATED),
        (10, 301, EXTRAPOLATED),
        (15, 1e9, EXTRAPOLATED),
    ],
)
def test_the_basis_on_and_off_knots_and_levels(payload: float, load: float, basis: int) -> None:
    assert BASES[grid(LOWER, UPPER).basis(payload, load)] == BASES[basis]


def test_a_knot_of_another_curve_is_no_measurement_of_this_one() -> None:
    told = grid(LOWER, UPPER, knots=[15], loads=[200])
    assert told.basis(15, 100) == INTERPOLATED
    assert told.basis(10, 200) == INTERPOLATED


@pytest.mark.parametrize(
    ("load", "limited", "unlimited"),
    [(UNLIMITED, EXTRAPOLATED, MEASURED), (UNSAID, MEASURED, MEASURED)],
)
def test_the_basis_of_curves_without_a_load(load: float, limited: int, unlimited: int) -> None:
    told = grid(curve(load, {10: 1, 20: 2}), loads=[100])
    for asked in (50, 100, 500):
        assert told.basis(10, asked) == limited
        assert told.basis(15, asked) == max(limited, INTERPOLATED)
    assert told.basis(20, UNLIMITED) == unlimited
    assert told.basis(15, UNLIMITED) == INTERPOLATED


@pytest.mark.parametrize(
    ("payload", "load", "rows"),
    [
        (10, 100, [0, 1, 2, 3]),
        (15, 200, [0, 1, 2, 3]),
        (20, 100, [1, 1, 3, 3]),
        (20, 200, [1, 1, 3, 3]),
        (15, 50, [0, 1, -1, -1]),
        (15, 300, [2, 3, -1, -1]),
        (20, 500, [3, 3, -1, -1]),
        (9, 200, [-1, -1, -1, -1]),
        (21, 200, [-1, -1, -1, -1]),
    ],
)
def test_the_rows_are_those_to_the_left_and_right(
    payload: float, load: float, rows: list[int]
) -> None:
    assert grid(LOWER, UPPER).rows(payload, load) == rows


# --- beyond the payloads -----------------------------------------------------------------------


@pytest.mark.parametrize(("payload", "value"), [(1, 10.0), (9, 10.0), (21, 20.0), (1e9, 20.0)])
def test_beyond_its_payloads_a_curve_is_held_widened_and_marked(
    payload: float, value: float
) -> None:
    told = grid(curve(UNLIMITED, {10: 10, 20: 20}, row=3), extend=(0.0, math.inf))
    half_low, half_high, more = 3 * 0.1 * value, 3 * 0.2 * value, 0.3 * value
    expected = (value, value - half_low - more, value + half_high + more)
    for load in (5, UNLIMITED):
        assert told.ends(payload, load) == pytest.approx(expected)
        assert told.basis(payload, load) == EXTRAPOLATED
    assert told.rows(payload)[0] == (3 if payload < 10 else 4)


def test_within_its_payloads_extending_changes_nothing() -> None:
    plain, wide = grid(LOWER, UPPER), grid(LOWER, UPPER, extend=(0.0, 1.0))
    for load in (50, 100, 200, 300, 500):
        for payload in (10, 15, 20):
            assert wide.ends(payload, load) == plain.ends(payload, load)
            assert wide.basis(payload, load) == plain.basis(payload, load)
    assert (wide.surfaces.first[0], wide.surfaces.last[0]) == (10, 20)


@pytest.mark.parametrize(
    ("limits", "ends"),
    [
        ((0.0, 1.0), (0.8, 0.32, 1.0)),
        ((0.5, 0.9), (0.8, 0.5, 0.9)),
        ((0.0, math.inf), (0.8, 0.32, 1.52)),
        ((0.85, 0.9), (0.8, 0.8, 0.9)),  # limits never cut the value itself off
        ((0.0, 0.7), (0.8, 0.32, 0.8)),
    ],
)
def test_widened_ends_stay_within_the_limits(limits: tuple[float, float], ends: Ends) -> None:
    told = grid(curve(UNLIMITED, {10: 0.8, 20: 0.8}), extend=limits)
    assert told.ends(5) == told.ends(30) == pytest.approx(ends)


def test_beyond_the_payloads_the_load_still_counts() -> None:
    told = grid(LOWER, UPPER, extend=(0.0, math.inf))
    assert [told.value(30, load) for load in (50, 100, 200, 300, 400)] == [2, 2, 6, 10, 10]
    assert [told.value(5, load) for load in (50, 100, 200, 300, 400)] == [1, 1, 3, 5, 5]
    asked = cell_of(numbers([5, 30]), told.knots)
    assert told.surfaces.top_load[0, asked].tolist() == [300, 300]
    assert math.isnan(told.value(5, UNLIMITED))


def test_beyond_the_payloads_of_an_unlimited_curve_limited_requests_stay_marked() -> None:
    told = grid(curve(UNLIMITED, {10: 1, 20: 2}), extend=(0.0, math.inf))
    assert (told.surfaces.top_load == 0).all()


# --- the slow clear twin -----------------------------------------------------------------------


def on_line(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """The straight line between the two knots beside ``x``, in plain Python."""
    for left, right, before, after in zip(xs, xs[1:], ys, ys[1:], strict=False):
        if left <= x <= right:
            return before + (after - before) * (x - left) / (right - left)
    assert x == xs[-1]
    return ys[-1]


@dataclass(frozen=True)
class Twin:
    """What a surface says, one question at a time."""

    curves: tuple[Curve, ...]
    usable: dict[tuple[float, float], bool]
    below: Below

    def at(self, told: Curve, payload: float) -> tuple[Ends, int]:
        """A curve at a payload it covers."""
        xs: list[float] = told.payload_bytes.tolist()
        v, low, high = (on_line(payload, xs, end.tolist()) for end in told.ends)
        if payload in xs:
            return (v, low, high), int(told.basis[xs.index(payload)])
        right = next(k for k, x in enumerate(xs) if x > payload)
        return (v, low, high), max(INTERPOLATED, *told.basis[right - 1 : right + 1].tolist())

    def answer(self, payload: float, load: float) -> tuple[Ends, int] | None:
        here = [c for c in self.curves if c.first <= payload <= c.last]
        limited = sorted(
            (c for c in here if self.usable.get((c.load_bps, payload), False)),
            key=lambda c: c.load_bps,
        )
        unsaid = [c for c in here if math.isnan(c.load_bps)]
        unlimited = [c for c in here if math.isinf(c.load_bps)]
        if math.isinf(load):
            if any(math.isinf(c.load_bps) for c in self.curves):
                return self.at(unlimited[0], payload) if unlimited else None
            return self.at(unsaid[0], payload) if unsaid and not limited else None
        if limited:
            return self.between(limited, payload, load)
        if unsaid:
            return self.at(unsaid[0], payload)
        return (self.at(unlimited[0], payload)[0], EXTRAPOLATED) if unlimited else None

    def between(self, curves: list[Curve], payload: float, load: float) -> tuple[Ends, int] | None:
        levels = [c.load_bps for c in curves]
        found = [self.at(c, payload) for c in curves]
        if load in levels:
            return found[levels.index(load)]
        if load > levels[-1]:
            return found[-1][0], EXTRAPOLATED
        if load < levels[0]:
            return self.lowest(found[0][0], load / levels[0])
        ends = [on_line(load, levels, [f[0][part] for f in found]) for part in (VALUE, LOW, HIGH)]
        upper = next(k for k, level in enumerate(levels) if level > load)
        basis = max(INTERPOLATED, found[upper - 1][1], found[upper][1])
        return (ends[VALUE], ends[LOW], ends[HIGH]), basis

    def lowest(self, ends: Ends, share: float) -> tuple[Ends, int] | None:
        if self.below == "nothing":
            return None
        if self.below == "held":
            value, low, high = ends
            wide = (
                value,
                value - 3 * (value - low) - 0.3 * value,
                1.3 * value + 3 * (high - value),
            )
            mixed = [far + share * (near - far) for near, far in zip(ends, wide, strict=True)]
            return (mixed[VALUE], mixed[LOW], mixed[HIGH]), EXTRAPOLATED
        return (ends[VALUE] * share, ends[LOW] * share, ends[HIGH]), EXTRAPOLATED


FILE_BASES = st.sampled_from([k for k, name in enumerate(BASES) if not name.endswith("polated")])


@st.composite
def generated_curve(draw: st.DrawFn, load: float, row: int) -> Curve:
    payloads = sorted(draw(st.sets(st.integers(1, 40), min_size=1, max_size=5)))
    count = len(payloads)
    some = st.lists(st.floats(0, 1e6), min_size=count, max_size=count)
    ends = np.sort(numbers([draw(some), draw(some), draw(some)]), axis=0)[[1, 0, 2]]
    return Curve(
        load_bps=load,
        payload_bytes=numbers(payloads),
        ends=ends,
        basis=np.array([draw(FILE_BASES) for _ in payloads], dtype=np.int8),
        rows=np.arange(row, row + count, dtype=np.int64),
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Grid, Twin]:
    """Some curves of every kind, on knots and loads that other metrics have too."""
    levels = sorted(draw(st.sets(st.integers(1, 30), max_size=3)))
    single = [load for load in (UNSAID, UNLIMITED) if draw(st.booleans())]
    loads: list[float] = [*levels, *single] or [UNLIMITED]
    curves = [draw(generated_curve(load, 10 * k)) for k, load in enumerate(loads)]
    knots = payload_knots(
        (c.payload_bytes.tolist() for c in curves), draw(st.sets(st.integers(1, 45), max_size=4))
    )
    below: Below = draw(st.sampled_from(("held", "proportion", "nothing")))
    usable: Bools | None = None
    if draw(st.booleans()):
        seed = draw(st.integers(0, 2**32))
        usable = np.random.default_rng(seed).random((len(levels), len(knots) + 1)) < 0.7
    told = grid(
        *draw(st.permutations(curves)),
        knots=knots.tolist(),
        loads=draw(st.lists(st.integers(1, 30), max_size=2)),
        usable=usable,
        below=below,
    )
    allowed = {
        (float(level), float(payload)): usable is None
        or bool(usable[k, cell_of(numbers([payload]), knots)[0]])
        for k, level in enumerate(levels)
        for payload in range(1, 51)
    }
    return told, Twin(tuple(curves), allowed, below)


@given(cases(), st.lists(st.tuples(st.integers(1, 50), st.integers(0, 40)), min_size=20))
@settings(max_examples=times(40))
def test_a_surface_says_what_the_twin_says(
    case: tuple[Grid, Twin], asked: list[tuple[int, int]]
) -> None:
    told, twin = case
    corners = [(int(p), int(load)) for p in told.knots for load in (0, *told.loads)]
    for payload, load in [*asked, *corners]:
        agree(told, twin, payload, load)
        agree(told, twin, payload, UNLIMITED)


def agree(told: Grid, twin: Twin, payload: int, load: float) -> None:
    expected = twin.answer(payload, load)
    if expected is None:
        assert all(map(math.isnan, told.ends(payload, load))), (payload, load)
        assert told.rows(payload, load) == [-1] * 4
        return
    ends, basis = expected
    assert told.ends(payload, load) == pytest.approx(ends, rel=1e-9, abs=1e-6), (payload, load)
    assert BASES[told.basis(payload, load)] == BASES[basis], (payload, load)
    assert told.rows(payload, load)[0] >= 0


@given(cases())
@settings(max_examples=times(30))
def test_a_benchmarked_point_comes_back_exactly(case: tuple[Grid, Twin]) -> None:
    told, twin = case
    for benchmarked in twin.curves:
        load = benchmarked.load_bps
        if math.isnan(load):
            continue
        for k, payload in enumerate(benchmarked.payload_bytes):
            if twin.usable.get((load, payload), math.isinf(load)):
                assert told.ends(payload, load) == tuple(benchmarked.ends[:, k])
                assert told.basis(payload, load) == benchmarked.basis[k]
                assert told.rows(payload, load)[0] == benchmarked.rows[k]


@given(cases())
@settings(max_examples=times(30))
def test_ends_stay_around_the_value(case: tuple[Grid, Twin]) -> None:
    told, _ = case
    for payload in range(1, 50, 3):
        for load in (0, 3, 7.5, 12, 25, 40, UNLIMITED):
            value, low, high = told.ends(payload, load)
            assert math.isnan(value) or low - 1e-6 <= value <= high + 1e-6


@given(st.lists(cases(), min_size=2, max_size=3), st.sampled_from(("held", "proportion", "one")))
@settings(max_examples=times(20))
def test_among_others_a_surface_has_the_same_bits_as_alone(
    drawn: list[tuple[Grid, Twin]], below: Below
) -> None:
    every = [twin.curves for _, twin in drawn]
    knots = np.unique(np.concatenate([told.knots for told, _ in drawn]))
    loads = np.unique(np.concatenate([told.loads for told, _ in drawn]))
    extend = numbers([[0, math.inf]] * len(every))
    together = compile_surfaces(every, knots, loads, below=below, extend=extend)
    for k, curves in enumerate(every):
        alone = compile_surfaces([curves], knots, loads, below=below, extend=extend[[k]])
        for one, other in (
            (together.coefficients[..., k, :], alone.coefficients[..., 0, :]),
            (together.basis[..., k, :], alone.basis[..., 0, :]),
            (together.rows[..., k, :], alone.rows[..., 0, :]),
            (together.top_load[k], alone.top_load[0]),
        ):
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def test_without_configurations_there_is_no_surface() -> None:
    assert compile_surfaces([], numbers([10]), numbers([])).top_load.shape == (0, 2)
