"""The blend: who is right nearby counts, and who has no answer does not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fits_case import sites
from icmodel.estimate.statistics import LONE_WIDTH
from icmodel.fits import SHIPPED, Constants
from icmodel.fits.blend import (
    LEAST_ERROR,
    PER_TYPICAL,
    WIDEST,
    Blend,
    Widths,
    blend,
    widths,
)
from icmodel.fits.fit import fit
from icmodel.fits.kernel import MeasuredSites
from icmodel.fits.observations import Observations, Sites

WHERE = sites([16, 32, 64, 128, 4096, 8192, 16384, 32768])
MEASURED = MeasuredSites(WHERE, ())
LABEL_DISTANCE = MEASURED.distances(WHERE)
RIGHT_BELOW = np.array([0, 0, 0, 0, 0.3, 0.3, 0.3, 0.3])


def row_weights(known: MeasuredSites, constants: Constants, asked: Sites) -> np.ndarray:
    """How much each known row counts at one site."""
    rows = len(known.sites)
    nothing = np.zeros((1, rows))
    rows_of_none = nothing[0], nothing[0], nothing[0]
    blended = Blend(nothing, *rows_of_none, nothing, constants=constants)
    return np.asarray(blended.row_weights(known.distances(asked))[0])


def test_a_blend_follows_the_candidate_that_is_right_nearby() -> None:
    blended = blend(LABEL_DISTANCE, np.stack([RIGHT_BELOW, 0.3 - RIGHT_BELOW]))
    asked = sites([48, 12000])
    told, _ = blended.at(
        np.array([[1.0, 1.0], [2.0, 2.0]]), blended.row_weights(MEASURED.distances(asked))
    )
    assert told[0] == pytest.approx(1.0, abs=0.05)
    assert told[1] == pytest.approx(2.0, abs=0.05)
    assert np.abs(blended.errors).max() < 0.05


def test_one_that_says_nothing_does_not_count() -> None:
    nothing = np.full(8, np.nan)
    blended = blend(LABEL_DISTANCE, np.stack([RIGHT_BELOW, nothing]))
    assert blended.errors == pytest.approx(RIGHT_BELOW)
    asked = sites([48])
    told, _ = blended.at(
        np.array([[1.0], [np.nan]]), blended.row_weights(MEASURED.distances(asked))
    )
    assert told[0] == pytest.approx(1.0)


def test_one_wild_row_does_not_decide() -> None:
    wild = np.array([0.01, 0.01, 0.01, 5.0, 0.01, 0.01, 0.01, 0.01])
    blended = blend(LABEL_DISTANCE, np.stack([wild, np.full(8, 0.5)]))
    asked = sites([48])
    told, _ = blended.at(np.array([[1.0], [2.0]]), blended.row_weights(MEASURED.distances(asked)))
    assert told[0] == pytest.approx(1.0, abs=0.2)


def test_how_a_candidate_does_everywhere_counts_a_little() -> None:
    """Hardly better nearby and wildly wrong elsewhere is luck."""
    lucky = np.array([0.02, 0.02, 0.02, 0.02, 5.0, 5.0, 5.0, 5.0])
    blended = blend(LABEL_DISTANCE, np.stack([lucky, np.full(8, 0.03)]))
    asked = sites([17])
    near = blended.row_weights(MEASURED.distances(asked))
    assert near.sum() == pytest.approx(1.0)
    assert near.min() >= SHIPPED.everywhere / 8
    told, _ = blended.at(np.array([[1.0], [2.0]]), near)
    assert told[0] == pytest.approx(2.0, abs=0.05)


def test_a_row_left_out_says_nothing_of_itself() -> None:
    blended = blend(LABEL_DISTANCE, np.stack([RIGHT_BELOW, 0.3 - RIGHT_BELOW]))
    own = np.eye(len(WHERE))
    for row, only_here in enumerate(own):
        told = blended.nearby_left_out(only_here)
        assert told[row] == 0.0
        assert np.delete(told, row).min() > 0.0
    assert blended.nearby_left_out(np.ones(len(WHERE))) == pytest.approx(1.0)


def test_a_row_of_another_label_counts_three_tenths() -> None:
    where = sites([64, 64], [["a"], ["b"]])
    known = MeasuredSites(where, ((0, ""),))
    near = row_weights(known, Constants(other_label=0.3, everywhere=0.1), sites([64], [["a"]]))
    counts = np.array([1.0, 0.3])
    assert near == pytest.approx(0.9 * counts / counts.sum() + 0.1 / 2)


def test_a_row_octaves_off_in_load_counts_less_by_the_exponential() -> None:
    where = replace(sites([64, 64]), load_bps=np.array([1e6, 4e6]))
    asked = replace(sites([64]), load_bps=np.array([1e6]))
    counts = np.exp([0.0, -2.0])
    near = row_weights(MeasuredSites(where, ()), Constants(everywhere=0.1), asked)
    assert near == pytest.approx(0.9 * counts / counts.sum() + 0.1 / 2)


def test_beyond_the_ends_of_a_curve_errors_at_ends_count_and_between_the_others() -> None:
    constants = Constants(octaves=1e9, other_end=0.1, everywhere=0.0)
    beyond, between = (row_weights(MEASURED, constants, sites([size])) for size in (131072, 1024))
    at_upper_end = np.array([0.1] * 7 + [1.0])
    inside = np.array([0.1, *[1.0] * 6, 0.1])
    assert beyond == pytest.approx(at_upper_end / at_upper_end.sum())
    assert between == pytest.approx(inside / inside.sum())


def test_with_a_lower_root_a_wild_row_decides_less() -> None:
    """One candidate is wild once and else right, the other always a little wrong."""
    wild = np.array([0.001, 0.001, 0.001, 0.5, 0.001, 0.001, 0.001, 0.001])
    told = []
    for root in (0.25, 2.0):
        constants = Constants(octaves=1e9, other_end=1.0, root=root)
        errors = np.stack([wild, np.full(8, 0.05)])
        blended = blend(LABEL_DISTANCE, errors, constants=constants)
        near = blended.row_weights(MEASURED.distances(sites([48])))
        told.append(blended.at(np.array([[1.0], [2.0]]), near)[0][0])
    assert told[0] < 1.01
    assert told[1] > 1.9


def test_how_far_candidates_are_apart_is_their_mean_distance_from_the_blend() -> None:
    """Two that were as wrong nearby count alike: the blend is half way, and both as far from it."""
    blended = blend(LABEL_DISTANCE, np.full((2, 8), 0.1))
    near = blended.row_weights(MEASURED.distances(sites([48])))
    told, apart = blended.at(np.array([[1.0], [2.0]]), near)
    assert (told[0], apart[0]) == (pytest.approx(1.5), pytest.approx(0.5))
    assert blended.disagreement == pytest.approx(0.0)


def blended_maximum(errors: np.ndarray) -> tuple[Blend, float]:
    """A maximum's blend of two candidates that predict log times of 1 and 2, and its log time at one site."""
    found = blend(LABEL_DISTANCE, errors, is_maximum=True)
    near = found.row_weights(MEASURED.distances(sites([48])))
    return found, float(found.at(np.array([[1.0], [2.0]]), near)[0][0])


def test_one_wild_row_of_a_maximum_does_not_decide() -> None:
    """Predicted too high by a factor of 100 once, and else right within 1 %."""
    wild = np.array([-0.01, -0.01, -0.01, -0.01, -0.01, -0.01, -0.01, -np.log(100)])
    _, told = blended_maximum(np.stack([wild, np.full(8, 0.3)]))
    assert told == pytest.approx(1.0, abs=0.05)


def test_a_maximum_leans_to_the_harmonic_mean_of_values_an_error_above_and_below() -> None:
    error = PER_TYPICAL * np.log(3)
    off = np.log(3) * np.array([1, -1, 1, -1, 1, -1, 1, -1])
    told = blended_maximum(np.stack([off, off]))[1]
    harmonic = 2 / (np.exp(-error) + np.exp(error))
    assert told == pytest.approx(1.5 + np.log(harmonic), rel=1e-6)


def test_a_maximum_does_not_lean_at_a_row_without_noise() -> None:
    off = np.log(3) * np.array([1, -1, 1, -1, 1, -1, 1, -1])
    found = blend(LABEL_DISTANCE, np.stack([off, off]), is_maximum=True)
    near = found.row_weights(MEASURED.distances(sites([48, 48, 48])))
    predicted, unsure = np.array([[1.0] * 3, [2.0] * 3]), np.array([0.0, 0.5, 1.0])
    told = found.at(predicted, near, unsure)[0]
    assert told[0] == pytest.approx(1.5)
    assert told[0] > told[1] > told[2]


def test_a_candidate_wild_beyond_numbers_leaves_a_maximum_finite() -> None:
    wild = np.stack([np.full(8, 0.1), np.full(8, -1e6)])
    found, told = blended_maximum(wild)
    assert np.isfinite(found.errors).all()
    assert told == pytest.approx(1.0, abs=0.02)


def test_of_a_metric_that_is_no_maximum_the_sign_of_errors_does_not_matter() -> None:
    errors = np.stack([np.full(8, 0.7), np.full(8, -0.7)])
    found = blend(LABEL_DISTANCE, errors)
    near = found.row_weights(MEASURED.distances(sites([48])))
    assert found.at(np.array([[1.0], [2.0]]), near)[0][0] == pytest.approx(1.5)
    assert found.errors is found.plain


# --- intervals ---


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
