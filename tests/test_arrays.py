"""Choosing between numbers: equal to ``np.where`` to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.arrays import FEW, fast_where

MANY = 3 * FEW
SHAPES = (((MANY,), (MANY,)), ((1, MANY), (MANY,)), ((MANY,), (2, 3, MANY)), ((2, 1, MANY), ()))


def numbers(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Floats with any bits, including subnormal numbers, infinities and many NaN."""
    return rng.integers(-(2**63), 2**63 - 1, shape).view(np.float64)


def bits(found: np.ndarray) -> np.ndarray:
    return found.view(np.int64)


@pytest.mark.parametrize(("of_choice", "of_numbers"), SHAPES)
@given(seed=st.integers(0, 10**9), share=st.sampled_from([0.0, 0.5, 1.0]))
def test_floats_are_chosen_to_the_bit(
    of_choice: tuple[int, ...], of_numbers: tuple[int, ...], seed: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    chosen = rng.random(of_choice) < share
    one = np.asarray(numbers((*of_numbers, 1), rng)[..., 0])
    other = np.asarray(numbers((*of_numbers, 1), rng)[..., 0])
    told = np.where(chosen, one, other)
    found = fast_where(chosen, one, other)
    assert found.dtype == told.dtype
    assert found.shape == told.shape
    assert (bits(found) == bits(told)).all()


@pytest.mark.parametrize("count", [0, 1, FEW - 1, FEW, MANY])
@pytest.mark.parametrize(
    ("one", "other"),
    [(1.0, np.nan), (-0.0, 0.0), (7, 2), (7, 2.5), (np.int8(3), np.int8(-1)), (True, False)],
)
def test_numbers_alone_and_other_kinds_are_too(
    one: float | np.int8, other: float | np.int8, count: int
) -> None:
    chosen = np.arange(count) % 3 == 0
    told, found = np.where(chosen, one, other), fast_where(chosen, one, other)
    assert found.dtype == told.dtype
    assert found.tobytes() == told.tobytes()


@pytest.mark.parametrize("all_of_them", [True, False])
def test_what_is_chosen_is_no_view_of_what_it_was_chosen_from(all_of_them: bool) -> None:
    one, other = np.ones(MANY), np.zeros(MANY)
    fast_where(np.full(MANY, all_of_them), one, other)[:] = 7.0
    assert one.all()
    assert not other.any()


def test_views_with_gaps_are_read_as_they_are() -> None:
    table = np.arange(4.0 * MANY).reshape(MANY, 4)
    chosen = table[:, 0] % 8 == 0
    found = fast_where(chosen, table[:, 1], table[:, 2])
    assert found.tolist() == [row[1] if row[0] % 8 == 0 else row[2] for row in table.tolist()]
