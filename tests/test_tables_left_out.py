"""Intervals of rows and of gaps between them: against simulated truth, and by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import generated
from icmodel.dataset import RATIOS, Dataset, Point, catalogue, load
from icmodel.estimate.statistics import LONE_WIDTH, spread_half_width
from icmodel.tables import HIGH, LOW, VALUE, Configuration, Curve
from icmodel.tables import Row as TableRow
from icmodel.tables.curves import BUSY_CORES, curves_of, stated_range
from icmodel.tables.left_out import InterpolationErrors, interpolation_errors, own_half_widths
from points import Row
from search import times

Floats = NDArray[np.float64]
Truth = Callable[[Floats, int], Floats]

SIZES = (64, 128, 256, 512, 1024, 1448, 2048, 4096, 8192, 16384, 32768)
CURVES = 4
LINK = {"kind": "other"}


def point(value: float, **more: object) -> Point:
    """A row of one curve that says what is given, and nothing else."""
    fields = dict.fromkeys(Point._fields) | {"value": value, "basis": "measured"} | more
    return Point(**fields)  # type: ignore[arg-type]


# --- rows --------------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 10])
@pytest.mark.parametrize("said", ["spread", "range"])
def test_what_n_normal_runs_say_covers_a_new_one_in_ninety_percent(said: str, n: int) -> None:
    random, count = np.random.default_rng(n), times(5_000)
    runs, new = random.standard_normal((count, n)), random.standard_normal(count)
    mean = runs.mean(axis=1)
    if said == "spread":
        ends = {"std": runs.std(axis=1, ddof=1)}
    else:
        ends = {"low": runs.min(axis=1), "high": runs.max(axis=1)}
    inside = 0
    for k, value in enumerate(mean):
        half = own_half_widths(point(value, n=n, **{name: end[k] for name, end in ends.items()}))
        assert half is not None
        inside += bool(value - half[0] <= new[k] <= value + half[1])
    assert inside / len(new) == pytest.approx(0.9, abs=0.012)


@pytest.mark.parametrize("basis", ["stated", "assumed", "derived"])
def test_a_range_that_is_printed_or_assumed_stays_what_the_source_says(basis: str) -> None:
    assert own_half_widths(point(10.0, low=9.0, high=14.0, n=2, basis=basis)) == (1.0, 4.0)


def test_a_range_without_a_number_of_runs_stays_and_nothing_said_is_nothing() -> None:
    assert own_half_widths(point(10.0, low=9.0, high=14.0)) == (1.0, 4.0)
    assert own_half_widths(point(10.0)) is None


@given(
    st.floats(1, 1e6), st.floats(0, 0.5), st.integers(2, 20), st.floats(0, 0.9), st.floats(0, 0.9)
)
def test_a_row_is_never_narrower_than_its_spread_or_its_runs(
    value: float, spread: float, n: int, below: float, above: float
) -> None:
    low, high = value * (1 - below), value * (1 + above)
    half = own_half_widths(point(value, std=spread * value, n=n, low=low, high=high))
    assert half is not None
    assert min(half) >= spread_half_width(spread * value, n)
    assert half[0] >= value - low
    assert half[1] >= high - value


# --- bundled datasets --------------------------------------------------------------------------


@cache
def every_curve(name: str) -> tuple[tuple[str, str, Curve], ...]:
    """Each curve of each metric of a dataset, protocol by protocol."""
    return tuple(curves(load(name)))


def curves(data: Dataset) -> Iterator[tuple[str, str, Curve]]:
    for metric in data.metrics:
        rows = [(k, p) for k, p in enumerate(data.points) if p.metric == metric]
        groups: dict[tuple[object, ...], list[tuple[int, Point]]] = {}
        for k, p in rows:
            key = (p.protocol, p.options, p.endpoints, p.other_goodput_bps)
            groups.setdefault(key, []).append((k, p))
        for members in groups.values():
            for found in curves_of(data, [TableRow(*one) for one in members], metric).values():
                for curve in found:
                    yield metric, members[0][1].protocol, curve


@pytest.mark.parametrize("name", catalogue())
def test_ends_hold_the_value_between_the_limits_and_do_not_shrink_away_from_rows(
    name: str,
) -> None:
    data = load(name)
    for metric, protocol, curve in every_curve(name):
        least, most = stated_range(data, metric, protocol)
        own = curve.payload_bytes
        part = np.linspace(0, 1, 17)[:, None]
        at = (own[:-1] + part * np.diff(own)).T.ravel() if len(own) > 1 else own
        value, low, high = curve.at(at)
        slack = 1e-9 * np.abs(value)
        assert (low <= value + slack).all()
        assert (value <= high + slack).all()
        assert (low >= min(least, value.min()) - slack).all()
        assert (high <= max(most, value.max()) + slack).all()
        lines = np.stack([np.interp(at, own, end) for end in curve.ends])
        assert (low <= lines[LOW] + slack).all()
        assert (high >= lines[HIGH] - slack).all()
        assert np.array_equal(curve.at(own), curve.ends)
        assert np.array_equal(value, lines[VALUE])


@pytest.mark.parametrize("name", catalogue())
def test_a_row_of_several_runs_is_at_least_as_wide_as_their_spread(name: str) -> None:
    data = load(name)
    seen = 0
    for metric, protocol, curve in every_curve(name):
        least, most = curve.limits
        for k, index in enumerate(curve.rows.tolist()):
            row = data.points[index]
            if row.std is None:
                continue
            half = spread_half_width(row.std, row.n) * (1 - 1e-12)
            assert curve.ends[LOW, k] <= max(row.value - half, min(least, row.value))
            assert curve.ends[HIGH, k] >= min(row.value + half, max(most, row.value))
            assert (metric in RATIOS) <= (most <= 1), protocol
            seen += 1
    assert (seen > 0) == any(p.std is not None for p in data.points)


@pytest.mark.parametrize("name", catalogue())
def test_no_more_processors_are_busy_than_a_row_has(name: str) -> None:
    data = load(name)
    for metric, _, curve in every_curve(name):
        cores = data.points[int(curve.rows[0])].cores
        if metric.endswith(BUSY_CORES) and cores and curve.ends[VALUE].max() <= cores:
            assert curve.at(np.arange(1.0, 70_000.0, 97.0))[HIGH].max() <= cores * (1 + 1e-12)


# --- simulated truth ---------------------------------------------------------------------------


def smooth(size: Floats, curve: int) -> Floats:
    """A time that grows with the payload, as costs a byte and a cache's misses make it [s]."""
    return np.asarray(2e-5 + (curve + 1) * 8e-10 * size + 3e-6 * np.sqrt(size / 1000))


def broken(size: Floats, curve: int) -> Floats:
    """The same, with a step of 60 % somewhere between two rows of each curve."""
    return np.asarray(smooth(size, curve) * np.where(size > 700 * 2**curve, 1.6, 1.0))


def simulated(truth: Truth, sigma: float, runs: int, random: np.random.Generator) -> list[Row]:
    """Rows of four curves, each the mean of some runs, with their spread where there are several."""
    rows = []
    for curve in range(CURVES):
        for size in SIZES:
            exact = truth(np.array([float(size)]), curve)
            told = exact * (1 + sigma * random.standard_normal(runs))
            spread = Decimal(repr(float(told.std(ddof=1)))) if runs > 1 else None
            rows.append(
                Row(
                    "tcp", "rtt_mean_s", Decimal(repr(float(told.mean()))), "measured", "simulated",
                    payload_bytes=size, load_bps=Decimal("inf"), cores=curve + 1, std=spread, n=runs,
                )
            )  # fmt: skip
    return rows


def covered(truth: Truth, sigma: float, runs: int, seed: int, *, left_out: bool) -> Floats:
    """Whether each new run was covered: at a row that is left out, or at any payload between rows."""
    random = np.random.default_rng(seed)
    data = generated.from_rows(simulated(truth, sigma, runs, random), LINK)
    drawn = drawn_through(data)
    found = []
    for curve in range(CURVES):
        for _ in range(4):
            size = float(SIZES[random.integers(1, len(SIZES) - 1)])
            if left_out:
                drawn = drawn_through(without(data, curve, size))
            else:
                size = float(np.exp(random.uniform(np.log(SIZES[0]), np.log(SIZES[-1]))))
            _, low, high = drawn[curve].at(np.array([size]))[:, 0]
            new = truth(np.array([size]), curve)[0] * (1 + sigma * random.standard_normal())
            found.append(float(low <= new <= high))
    return np.array(found)


def without(data: Dataset, curve: int, size: float) -> Dataset:
    """The dataset without one row of one curve."""
    gone = (curve + 1, size)
    return replace(data, points=tuple(p for p in data.points if (p.cores, p.payload_bytes) != gone))


def drawn_through(data: Dataset) -> list[Curve]:
    """The four curves through the rows of a dataset."""
    rows = [TableRow(*one) for one in enumerate(data.points)]
    found = curves_of(data, rows, "rtt_mean_s")
    return [found[Configuration("tcp", curve + 1, 0)][0] for curve in range(CURVES)]


CASES = [(smooth, 0.05, 6), (broken, 0.05, 3), (smooth, 0.05, 1), (broken, 0.02, 5)]


@pytest.mark.sampled
@pytest.mark.parametrize(("truth", "sigma", "runs"), CASES)
def test_new_runs_at_left_out_rows_are_covered_in_ninety_percent(
    truth: Truth, sigma: float, runs: int
) -> None:
    found = np.stack(
        [covered(truth, sigma, runs, seed, left_out=True) for seed in range(times(30))]
    )
    assert 0.85 <= found.mean() <= 0.95


@pytest.mark.sampled
@pytest.mark.parametrize(("truth", "sigma", "runs"), CASES)
def test_new_runs_between_rows_are_covered_a_little_more_often(
    truth: Truth, sigma: float, runs: int
) -> None:
    """The gaps there are half as wide as those that rows were left out of."""
    found = np.stack(
        [covered(truth, sigma, runs, seed, left_out=False) for seed in range(times(30))]
    )
    assert 0.85 <= found.mean() <= 0.97


# --- by hand -----------------------------------------------------------------------------------


def line(*values: float, metric: str = "rtt_mean_s") -> list[Row]:
    """Rows of one curve at 100, 200, 300 ... bytes."""
    return [
        Row(
            "tcp", metric, Decimal(repr(value)), "measured", "a test",
            payload_bytes=100 * (k + 1), load_bps=Decimal("inf"),
        )
        for k, value in enumerate(values)
    ]  # fmt: skip


def test_few_rows_are_given_twenty_percent_and_say_so() -> None:
    data = generated.from_rows(line(1.0, 2.0, 4.0), LINK)
    told = interpolation_errors(data, "rtt_mean_s")
    assert not told.enough
    assert told.median == pytest.approx(0.2)  # 2 where the line says 2.5
    for half in told.of_rows(data.points):
        assert half.tolist() == pytest.approx([0.2, 0.4, 0.8])
    sizes = np.array([100.0, 200.0, 300.0])
    between = told.between(sizes, np.array([1.0, 2.0, 4.0]))
    assert (between >= LONE_WIDTH * np.array([2.0, 4.0])).all()


def test_a_step_widens_the_gap_it_is_in_and_its_neighbours_only() -> None:
    values = [1.0 + 0.001 * (k % 3) for k in range(20)]
    values[12:] = [value + 1 for value in values[12:]]
    data = generated.from_rows(line(*values), LINK)
    told = interpolation_errors(data, "rtt_mean_s")
    assert told.enough
    gaps = told.between(
        np.array([p.payload_bytes for p in data.points], dtype=float), np.array(values)
    )
    usual = np.median(gaps)
    assert (gaps[10:13] > 50 * usual).all()
    assert (np.delete(gaps, [10, 11, 12]) < 10 * usual).all()


def test_shares_are_missed_in_parts_of_one_and_rows_that_never_miss_are_sure() -> None:
    data = generated.from_rows(line(*([0.25] * 12), metric="cpu_send"), LINK)
    told = interpolation_errors(data, "cpu_send")
    assert (told.relative, told.enough, told.median, told.factor) == (False, True, 0.0, 0.0)
    assert not told.of_rows(data.points).any()


def test_an_unknown_metric_has_no_misses() -> None:
    told = interpolation_errors(generated.from_rows(line(1.0), LINK), "latency_mean_s")
    assert (told.enough, told.factor) == (False, 0.0)


@settings(max_examples=times(50))
@given(st.lists(st.floats(0.1, 100), min_size=3, max_size=30), st.sampled_from([0.001, 8.0, 1e4]))
def test_widths_follow_the_unit(values: list[float], unit: float) -> None:
    told = interpolation_errors(generated.from_rows(line(*values), LINK), "rtt_mean_s")
    scaled = interpolation_errors(
        generated.from_rows(line(*(unit * v for v in values)), LINK), "rtt_mean_s"
    )
    assert scaled.median == pytest.approx(told.median, rel=1e-6, abs=1e-9)
    value = np.array(values)
    sizes = np.arange(100.0, 100 * len(values) + 1, 100.0)
    assert np.allclose(
        scaled.between(sizes, unit * value), unit * told.between(sizes, value), rtol=1e-5, atol=0
    ) or math.isclose(told.factor, 0.0, abs_tol=1e-6)


# --- rows left out, by hand --------------------------------------------------------------------


def left_out(
    miss: list[float], *, low: float = 0.0, high: float = 0.0, at: int = 200
) -> InterpolationErrors:
    """What curves of three rows say, each of its own level, whose middle one misses the line by a share.

    ``low`` and ``high`` are what the rows' ranges say, in shares of their values.
    """
    rows = []
    for k, share in enumerate(miss):
        level = Decimal(k + 1)
        for size, off in ((100, 0.0), (at, share), (300, 0.0)):
            value = level * Decimal(repr(1 + off))
            rows.append(
                Row(
                    "tcp", "rtt_mean_s", value, "measured", "a test", payload_bytes=size,
                    load_bps=Decimal("inf"), cores=k + 1, low=value * Decimal(repr(1 - low)),
                    high=value * Decimal(repr(1 + high)),
                )
            )  # fmt: skip
    return interpolation_errors(generated.from_rows(rows, LINK), "rtt_mean_s")


@pytest.mark.parametrize(("count", "enough"), [(1, False), (8, False), (9, True), (10, True)])
def test_nine_rows_that_can_be_left_out_are_enough(count: int, enough: bool) -> None:
    assert left_out([0.1] * count).enough == enough


@pytest.mark.parametrize(("count", "rank"), [(9, 9), (15, 15), (19, 18), (20, 19), (29, 27)])
def test_the_factor_is_the_rank_that_covers_a_new_row_with_ninety_percent(
    count: int, rank: int
) -> None:
    """The ⌈0.9 (n + 1)⌉-th of n misses, each in scales: of curves that do not bend, the median one."""
    shares = [0.01 * (k + 1) for k in range(count)]
    told = left_out(shares)
    assert told.factor == pytest.approx(shares[rank - 1] / np.median(shares))


@pytest.mark.parametrize("half", [0.0, 0.02, 0.05])
def test_where_all_misses_are_alike_the_gap_reaches_just_to_the_row_left_out(half: float) -> None:
    """What the rows themselves may be off, and what the line between them may, add in quadrature."""
    told = left_out([0.1] * 12, low=half, high=half)
    for level in (1.0, 7.0):
        (between,) = told.between(np.array([100.0, 300.0]), np.array([level, level]))
        assert math.hypot(half * level, between) == pytest.approx(0.1 * level)


@pytest.mark.parametrize("miss", [0.1, -0.1])
def test_a_row_above_the_line_is_missed_by_what_passes_the_upper_ends(miss: float) -> None:
    above, below = left_out([miss] * 12, high=0.15).factor, left_out([miss] * 12, low=0.15).factor
    inside, outside = (above, below) if miss > 0 else (below, above)
    assert inside == 0
    assert outside == pytest.approx(1)


def test_a_miss_beside_a_row_says_no_more_of_the_middle_than_one_farther_off() -> None:
    """At a part t of the way 4·t·(1 − t) of the middle's is seen; less than a tenth counts as that."""
    seen = 4 * 0.25 * 0.75
    assert left_out([0.1] * 12, at=150).factor == pytest.approx(1 / seen)
    assert left_out([0.1] * 12, at=101).factor == pytest.approx(10)
