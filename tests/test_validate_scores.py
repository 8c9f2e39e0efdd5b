"""Scores: errors, coverage and noise, against closed forms and simulated truth."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from icmodel.dataset import Point
from icmodel.dataset.rows import ABSOLUTE, RELATIVE, kind, noise, repeats
from icmodel.estimate import Estimate, absent
from icmodel.validate.scores import (
    TRUTH_IS_ZERO,
    Outcome,
    by_metric,
    coverage,
    outcome,
    score,
    wilson,
    worst,
)


def row(
    value: float, metric: str = "goodput_bps", std: float | None = None, n: int | None = None
) -> Point:
    return Point(
        line=2,
        protocol="tcp",
        payload_bytes=64,
        load_bps=math.inf,
        cores=None,
        switches=None,
        endpoints=None,
        other_goodput_bps=None,
        options=(),
        metric=metric,
        value=value,
        std=std,
        low=None,
        high=None,
        n=n,
        basis="measured",
        source="made",
    )


def said(value: float, half: float = math.nan) -> Estimate:
    return Estimate(value, value - half, value + half, "interpolated")


def off(value: float, truth: float, metric: str = "goodput_bps", half: float = 0.1) -> Outcome:
    return outcome("a fold", row(truth, metric), said(value, half))


def test_errors_are_relative_and_those_of_ratios_absolute() -> None:
    assert off(110.0, 100.0).error == pytest.approx(0.1)
    assert off(90.0, 100.0).bias == pytest.approx(-0.1)
    assert off(0.35, 0.05, "cpu_recv").error == pytest.approx(0.3)
    assert off(0.01, 0.0, "loss_rate").error == pytest.approx(0.01)
    assert [kind(name) for name in ("cpu_send", "loss_rate")] == [ABSOLUTE] * 2
    assert [kind(name) for name in ("cpu_send_cores", "latency_p99_s")] == [RELATIVE] * 2


def test_a_row_of_zero_has_no_relative_error_and_is_named() -> None:
    one = score([off(1.0, 0.0, "shortfall_bps"), off(1.0, 1.0, "shortfall_bps")])
    assert (one.n, one.unanswered, one.reasons) == (1, 1, {TRUTH_IS_ZERO: 1})


def test_what_is_not_answered_is_counted_by_its_reason() -> None:
    silent = [outcome("f", row(1.0), absent("no rows")) for _ in range(3)]
    one = score([*silent, off(2.0, 1.0)])
    assert (one.n, one.points, one.unanswered, one.reasons) == (1, 1, 3, {"no rows": 3})
    assert one.coverage is not None
    assert one.coverage.n == 1
    none = score(silent)
    assert none.n == 0
    assert math.isnan(none.errors.median)
    assert none.coverage is None


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=60), st.floats(1e-9, 1e9))
def test_quantiles_are_those_of_the_errors_whatever_the_unit(
    answers: list[float], unit: float
) -> None:
    one = score([off(a * unit, unit) for a in answers])
    errors = np.abs(np.array(answers) - 1)
    want = np.quantile(errors, [0.25, 0.5, 0.75, 0.95, 1.0])
    found = (one.errors.p25, one.errors.median, one.errors.p75, one.errors.p95, one.errors.greatest)
    assert found == pytest.approx(tuple(want), rel=1e-9, abs=1e-12)


def test_coverage_counts_intervals_that_hold_the_row_ends_included() -> None:
    assert off(100.0, 110.0, half=10.0).covered is True
    assert off(100.0, 110.1, half=10.0).covered is False
    assert off(100.0, 110.0, half=math.nan).covered is None
    one = score([off(100.0, 110.0, half=10.0), off(1.0, 2.0), off(1.0, 1.0, half=math.nan)])
    assert one.coverage is not None
    assert (one.coverage.inside, one.coverage.n, one.coverage.share) == (1, 2, 0.5)
    assert coverage([]) is None


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(pair: tuple[int, int]) -> None:
    inside, n = pair
    want = stats.binomtest(inside, n).proportion_ci(0.95, method="wilson")
    assert wilson(inside, n) == pytest.approx((want.low, want.high), abs=1e-9)


def test_a_perfect_interval_covers_its_share_of_simulated_runs() -> None:
    """Values are drawn from N(1, 0.05²); the interval is its 90 % interval."""
    generator = random.Random(1)
    half = 1.6448536269514722 * 0.05
    found = [off(1.0, generator.gauss(1.0, 0.05), half=half) for _ in range(2000)]
    one = score(found)
    assert one.coverage is not None
    assert one.coverage.low <= 0.9 <= one.coverage.high
    assert one.errors.median == pytest.approx(0.6745 * 0.05, rel=0.06)
    assert abs(one.errors.bias) < 0.005


def test_noise_is_the_median_spread_of_one_run_and_of_the_mean() -> None:
    rows = [row(100.0, std=s, n=4) for s in (1.0, 2.0, 9.0)]
    rows += [row(100.0, std=50.0, n=1), row(100.0, n=4), row(0.0, std=1.0, n=4)]
    rows += [row(0.5, "cpu_recv", std=0.02, n=9)]
    found = noise(rows)
    assert found.keys() == {"cpu_recv", "goodput_bps"}
    assert found["goodput_bps"].rows == 3
    assert found["goodput_bps"].run == pytest.approx(0.02)
    assert found["goodput_bps"].mean == pytest.approx(0.01)
    assert found["cpu_recv"].run == pytest.approx(0.02)  # absolute, as its errors are


def test_repeats_say_what_the_mean_of_the_others_would_have_scored() -> None:
    runs = [row(value) for value in (80.0, 100.0, 120.0)]
    runs += [row(value, "cpu_recv") for value in (0.0, 0.5)]
    runs += [row(0.0, "loss_rate"), row(5.0, "latency_mean_s"), row(0.0, "sent_bps")]
    found = repeats(runs)
    assert found.keys() == {"cpu_recv", "goodput_bps"}  # the other points have one run each
    assert (found["goodput_bps"].points, found["goodput_bps"].runs) == (1, 3)
    assert found["goodput_bps"].run == pytest.approx(0.2)
    assert found["goodput_bps"].error == pytest.approx(30 / 120)  # of 30/80, 0, 30/120
    assert found["cpu_recv"].error == pytest.approx(0.5)


def test_repeats_of_normal_runs_are_as_far_off_as_their_spread_says() -> None:
    source = random.Random(3)
    places = [
        row(source.gauss(1.0, 0.05))._replace(payload_bytes=k)
        for k in range(300)
        for _ in range(10)
    ]
    found = repeats(places)["goodput_bps"]
    assert found.run == pytest.approx(0.05, rel=0.1)
    assert found.error == pytest.approx(0.6745 * 0.05 * math.sqrt(10 / 9), rel=0.1)


def at(payload_bytes: int, error: float) -> Outcome:
    """Outcome with a given error, at a payload of its own."""
    point = row(1.0)._replace(payload_bytes=payload_bytes)
    return replace(off(1.0 + error, 1.0), point=point)


def test_the_worst_are_points_and_not_repeats_of_one() -> None:
    some = [at(8, 0.4), at(8, 0.5), at(8, 0.45), at(9, 0.1)]
    assert [(one.point.payload_bytes, round(one.error, 3)) for one in worst(some, 5)] == [
        (8, 0.5),
        (9, 0.1),
    ]


def test_the_worst_come_first_and_metrics_are_told_apart() -> None:
    some = [at(size, error) for size, error in ((8, 0.1), (9, 0.5), (10, 0.3))]
    other = off(2.0, 1.0, "latency_mean_s")
    silent = outcome("f", row(1.0), absent("no rows"))
    assert [round(one.error, 3) for one in worst([*some, silent], 2)] == [0.5, 0.3]
    groups = by_metric([other, *some])
    assert list(groups) == ["goodput_bps", "latency_mean_s"]
    assert groups["goodput_bps"] == some
