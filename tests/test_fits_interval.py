"""Widths: the rank that covers nine rows in ten, and ends that are always numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fits_case import sites
from icmodel.fits.blend import LEAST_ERROR, WIDEST, Blend, Widths, widths
from icmodel.fits.fit import fit
from icmodel.fits.observations import Observations
from icmodel.statistics import LONE_WIDTH

Floats = NDArray[np.float64]


def test_no_half_width_is_beyond_numbers() -> None:
    where = sites([64, 256, 1024, 4096, 16384, 65536])
    nothing = np.zeros(len(where))
    times = 2e-6 + 1e-9 * where.payload_bytes
    found = fit(Observations(where, times, nothing, nothing), np.log(times))
    wild = replace(found, widths=replace(found.widths, factor=1e300))
    half = wild.at(sites([512, 1e9]))[1]
    assert half.tolist() == [WIDEST, WIDEST]
    assert (found.at(sites([512, 1e9]))[1] < WIDEST).all()


ROWS = 20


def uniform(errors: Floats) -> Blend:
    """A blend in which all other rows count alike."""
    others = (1.0 - np.eye(len(errors))) / (len(errors) - 1)
    return Blend(errors[np.newaxis], errors, errors, np.zeros_like(errors), others)


def factor(count: int, chosen: int) -> tuple[float, Floats]:
    """The factor of so many rows and numbers fitted to them, and the scores in order by hand."""
    where = sites(np.geomspace(16, 65536, count))
    nothing = np.zeros(count)
    times = 2e-6 + 1e-9 * where.payload_bytes
    deviations = fit(Observations(where, times, nothing, nothing), np.log(times)).widths.deviations
    errors = np.random.default_rng(count).uniform(0.01, 0.5, count)
    scores = [
        errors[k]
        / (np.delete(errors, k).mean() + LEAST_ERROR)
        * (np.delete(deviations, k).mean() / deviations[k])
        for k in range(count)
    ]
    return widths(uniform(errors), deviations, nothing, chosen).factor, np.sort(scores)


@pytest.mark.parametrize(("count", "rank"), [(20, 19), (29, 27), (12, 12), (19, 18)])
def test_the_factor_is_the_rank_of_split_conformal_prediction(count: int, rank: int) -> None:
    """The ⌈0.9 (n + 1)⌉-th of n scores: a new row's is no greater with 90 %."""
    found, scores = factor(count, chosen=0)
    assert found == pytest.approx(scores[rank - 1])


@pytest.mark.parametrize(("chosen", "times"), [(5, 20 / 15), (10, 2.0), (15, 2.5), (40, 2.5)])
def test_numbers_fitted_to_the_rows_widen_the_interval(chosen: int, times: float) -> None:
    found, scores = factor(ROWS, chosen)
    assert found == pytest.approx(times * scores[18])


def test_of_too_few_rows_the_width_is_that_of_a_lone_point() -> None:
    """Of eight no rank covers nine in ten: a row as far off as the others has what is assumed."""
    where = sites(np.geomspace(16, 65536, 8))
    nothing = np.zeros(8)
    times = 2e-6 + 1e-9 * where.payload_bytes
    deviations = fit(Observations(where, times, nothing, nothing), np.log(times)).widths.deviations
    found = widths(uniform(np.full(8, 1e-3)), deviations, nothing, 0)
    assert found.factor == pytest.approx(LONE_WIDTH / (1e-3 + LEAST_ERROR))


def test_of_nine_rows_the_greatest_error_is_the_width() -> None:
    """The ninth of nine covers nine in ten, and nothing need be assumed where all are as far off."""
    where = sites(np.geomspace(16, 65536, 9))
    nothing = np.zeros(9)
    times = 2e-6 + 1e-9 * where.payload_bytes
    deviations = fit(Observations(where, times, nothing, nothing), np.log(times)).widths.deviations
    found = widths(uniform(np.full(9, 1e-3)), deviations, nothing, 0)
    assert found.factor < 0.1 * LONE_WIDTH / (1e-3 + LEAST_ERROR)


def of_errors(spread: Floats) -> tuple[Widths, Floats]:
    """Widths of rows that were all as far off, and how near a site is to each of them."""
    where = sites(np.geomspace(16, 65536, ROWS))
    nothing = np.zeros(ROWS)
    times = 2e-6 + 1e-9 * where.payload_bytes
    deviations = fit(Observations(where, times, nothing, nothing), np.log(times)).widths.deviations
    near = np.full((1, ROWS), 1 / ROWS)
    return widths(uniform(np.full(ROWS, 0.1)), deviations, spread, 0), near


def test_a_site_twice_as_uncertain_is_twice_as_wide() -> None:
    found, near = of_errors(np.zeros(ROWS))
    usual = near @ found.deviations
    nothing = np.zeros(1)
    half = [found.of_mean(near, times * usual, nothing)[0] for times in (0.5, 1.0, 2.0)]
    assert half[1] == pytest.approx(found.factor * (0.1 + LEAST_ERROR))
    assert [h / half[1] for h in half] == pytest.approx([0.5, 1.0, 2.0])


def test_where_candidates_differ_the_interval_is_wider_by_as_much_as_doubt_says() -> None:
    found, near = of_errors(np.zeros(ROWS))
    usual, apart = near @ found.deviations, np.array([0.05])
    doubt = found.blend.constants.doubt
    half = found.of_mean(near, usual, apart)[0]
    assert half == pytest.approx(found.factor * (0.1 + LEAST_ERROR + 0.05 * doubt))


def test_one_new_run_adds_its_own_spread_as_an_independent_error_does() -> None:
    """The normal quantile of nine in ten, 1.644854, and squares that add."""
    found, near = of_errors(np.full(ROWS, 0.2))
    assert found.of_run(np.array([0.0]), near) == pytest.approx(1.644854 * 0.2)
    assert found.of_run(np.array([0.4]), near) == pytest.approx(math.sqrt(0.16 + 0.3289708**2))


def test_no_interval_of_a_maximum_exceeds_the_greatest_corrected_error() -> None:
    """Of 20 rows and 4 fitted numbers: 20 / 16 of the greatest error."""
    found, near = of_errors(np.zeros(ROWS))
    errors = np.linspace(0.1, 2.0, ROWS)
    maximum = replace(uniform(errors), is_maximum=True)
    bounded = widths(maximum, found.deviations, np.zeros(ROWS), 4)
    apart = np.array([90.0])
    assert bounded.of_mean(near, np.ones(1), apart)[0] == pytest.approx(2.0 * 20 / 16)
    free = widths(uniform(errors), found.deviations, np.zeros(ROWS), 4)
    assert free.of_mean(near, np.ones(1), apart)[0] == WIDEST
