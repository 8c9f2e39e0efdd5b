"""Half-widths of intervals for one new run: against SciPy's Student t."""

from __future__ import annotations

import math

import pytest
import scipy.stats

from icmodel.estimate.statistics import spread_half_width


@pytest.mark.parametrize("n", range(2, 60))
def test_the_spread_of_few_runs_widens_by_students_t(n: int) -> None:
    quantile = scipy.stats.t.ppf(0.95, n - 1)
    expected = quantile * 0.25 * math.sqrt(1 + 1 / n)
    assert spread_half_width(0.25, n) == pytest.approx(expected, rel=3e-5)


@pytest.mark.parametrize("n", [None, 1])
def test_the_spread_of_unsaid_runs_is_taken_as_normal(n: int | None) -> None:
    expected = scipy.stats.norm.ppf(0.95) * 4
    assert spread_half_width(4.0, n) == pytest.approx(expected, rel=2e-4)


def test_no_spread_has_no_width() -> None:
    assert [spread_half_width(0.0, n) for n in (None, 2, 40)] == [0, 0, 0]


def test_more_runs_never_widen() -> None:
    widths = [spread_half_width(1.0, n) for n in range(2, 60)]
    assert widths == sorted(widths, reverse=True)
