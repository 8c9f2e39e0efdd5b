"""The blend: who is right nearby counts, and who has no answer does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fits_case import sites
from icmodel.fits.blend import Blend, blend
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.fits.kernel import Known
from icmodel.fits.observations import Sites

WHERE = sites([16, 32, 64, 128, 4096, 8192, 16384, 32768])
KNOWN = Known(WHERE, ())
LABEL_DISTANCE = KNOWN.distances(WHERE)
RIGHT_BELOW = np.array([0, 0, 0, 0, 0.3, 0.3, 0.3, 0.3])


def nearness(known: Known, constants: Constants, asked: Sites) -> np.ndarray:
    """How much each known row counts at one site."""
    rows = len(known.sites)
    nothing = np.zeros((1, rows))
    rows_of_none = nothing[0], nothing[0], nothing[0]
    blended = Blend(nothing, *rows_of_none, nothing, constants=constants)
    return np.asarray(blended.nearness(known.distances(asked))[0])


def test_a_blend_follows_the_candidate_that_is_right_nearby() -> None:
    blended = blend(LABEL_DISTANCE, np.stack([RIGHT_BELOW, 0.3 - RIGHT_BELOW]))
    asked = sites([48, 12000])
    told, _ = blended.at(
        np.array([[1.0, 1.0], [2.0, 2.0]]), blended.nearness(KNOWN.distances(asked))
    )
    assert told[0] == pytest.approx(1.0, abs=0.05)
    assert told[1] == pytest.approx(2.0, abs=0.05)
    assert np.abs(blended.errors).max() < 0.05


def test_one_that_says_nothing_does_not_count() -> None:
    nothing = np.full(8, np.nan)
    blended = blend(LABEL_DISTANCE, np.stack([RIGHT_BELOW, nothing]))
    assert blended.errors == pytest.approx(RIGHT_BELOW)
    asked = sites([48])
    told, _ = blended.at(np.array([[1.0], [np.nan]]), blended.nearness(KNOWN.distances(asked)))
    assert told[0] == pytest.approx(1.0)


def test_one_wild_row_does_not_decide() -> None:
    wild = np.array([0.01, 0.01, 0.01, 5.0, 0.01, 0.01, 0.01, 0.01])
    blended = blend(LABEL_DISTANCE, np.stack([wild, np.full(8, 0.5)]))
    asked = sites([48])
    told, _ = blended.at(np.array([[1.0], [2.0]]), blended.nearness(KNOWN.distances(asked)))
    assert told[0] == pytest.approx(1.0, abs=0.2)


def test_how_a_candidate_does_everywhere_counts_a_little() -> None:
    """Hardly better nearby and wildly wrong elsewhere is luck."""
    lucky = np.array([0.02, 0.02, 0.02, 0.02, 5.0, 5.0, 5.0, 5.0])
    blended = blend(LABEL_DISTANCE, np.stack([lucky, np.full(8, 0.03)]))
    asked = sites([17])
    near = blended.nearness(KNOWN.distances(asked))
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
    known = Known(where, ((0, ""),))
    near = nearness(known, Constants(other_label=0.3, everywhere=0.1), sites([64], [["a"]]))
    counts = np.array([1.0, 0.3])
    assert near == pytest.approx(0.9 * counts / counts.sum() + 0.1 / 2)


def test_a_row_octaves_off_in_load_counts_less_by_the_exponential() -> None:
    where = replace(sites([64, 64]), load_bps=np.array([1e6, 4e6]))
    asked = replace(sites([64]), load_bps=np.array([1e6]))
    counts = np.exp([0.0, -2.0])
    near = nearness(Known(where, ()), Constants(everywhere=0.1), asked)
    assert near == pytest.approx(0.9 * counts / counts.sum() + 0.1 / 2)


def test_beyond_the_ends_of_a_curve_errors_at_ends_count_and_between_the_others() -> None:
    constants = Constants(octaves=1e9, other_end=0.1, everywhere=0.0)
    beyond, between = (nearness(KNOWN, constants, sites([size])) for size in (131072, 1024))
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
        near = blended.nearness(KNOWN.distances(sites([48])))
        told.append(blended.at(np.array([[1.0], [2.0]]), near)[0][0])
    assert told[0] < 1.01
    assert told[1] > 1.9


def test_how_far_candidates_are_apart_is_their_mean_distance_from_the_blend() -> None:
    """Two that were as wrong nearby count alike: the blend is half way, and both as far from it."""
    blended = blend(LABEL_DISTANCE, np.full((2, 8), 0.1))
    near = blended.nearness(KNOWN.distances(sites([48])))
    told, apart = blended.at(np.array([[1.0], [2.0]]), near)
    assert (told[0], apart[0]) == (pytest.approx(1.5), pytest.approx(0.5))
    assert blended.disagreement == pytest.approx(0.0)


def blended_maximum(errors: np.ndarray) -> tuple[Blend, float]:
    """A maximum's blend of two candidates that predict log times of 1 and 2, and its log time at one site."""
    found = blend(LABEL_DISTANCE, errors, is_maximum=True)
    near = found.nearness(KNOWN.distances(sites([48])))
    return found, float(found.at(np.array([[1.0], [2.0]]), near)[0][0])


@given(off=st.floats(1e-3, 9.0))
def test_a_maximum_follows_the_candidate_that_is_too_low_rather_than_too_high(off: float) -> None:
    low, high = np.full(8, off), np.full(8, -off)
    assert blended_maximum(np.stack([low, high]))[1] < 1.5
    assert blended_maximum(np.stack([high, low]))[1] > blended_maximum(np.stack([low, high]))[1]


def test_an_error_of_a_maximum_counts_as_its_exponential_if_the_value_is_too_high() -> None:
    """Errors of log 2 too high and of the loss of that too low count alike: the blend is half way, less its lean."""
    loss = (2**SHIPPED.steep - 1) / SHIPPED.steep
    found, told = blended_maximum(np.stack([np.full(8, -np.log(2)), np.full(8, loss)]))
    plain = (loss - np.log(2)) / 2
    assert found.plain == pytest.approx(plain, rel=1e-4)
    assert told == pytest.approx(1.5 - np.log(np.cosh(plain)), rel=1e-4)


def test_a_maximum_leans_to_the_harmonic_mean_of_values_a_typical_error_above_and_below() -> None:
    off = np.log(3) * np.array([1, -1, 1, -1, 1, -1, 1, -1])
    told = blended_maximum(np.stack([off, off]))[1]
    harmonic = 2 / (1 / 3 + 3)
    assert told == pytest.approx(1.5 + np.log(harmonic), rel=1e-6)


def test_a_candidate_wild_beyond_numbers_leaves_a_maximum_finite() -> None:
    wild = np.stack([np.full(8, 0.1), np.full(8, -1e6)])
    found, told = blended_maximum(wild)
    assert np.isfinite(found.errors).all()
    assert told == pytest.approx(1.0, abs=0.01)


def test_of_a_metric_that_is_no_maximum_the_sign_of_errors_does_not_matter() -> None:
    errors = np.stack([np.full(8, 0.7), np.full(8, -0.7)])
    found = blend(LABEL_DISTANCE, errors)
    near = found.nearness(KNOWN.distances(sites([48])))
    assert found.at(np.array([[1.0], [2.0]]), near)[0][0] == pytest.approx(1.5)
    assert found.errors is found.plain
