"""Kernels: covariances are ones, and their slopes are those of small steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fits_case import sites
from icmodel.fits.kernel import (
    JOINED,
    NUMBERS,
    PRODUCT,
    Covariance,
    Kernel,
    Known,
    groups_of,
    variance,
)
from icmodel.fits.observations import Sites

FORMS = st.sampled_from((PRODUCT, JOINED))


def mixed(payloads: list[int]) -> Sites:
    """Sites of two protocols and three options in turn."""
    labels = [["ab"[k % 2], "xyz"[k % 3]] for k in range(len(payloads))]
    loads = np.exp2(np.arange(len(payloads), dtype=np.float64) % 4)
    return replace(sites(payloads, labels), load_bps=loads)


def shares(count: int) -> np.ndarray:
    """Shares of three costs."""
    raw = np.abs(np.sin(np.arange(3.0 * count) + 1)).reshape(count, 3)
    return np.asarray(raw / raw.sum(axis=1, keepdims=True))


@given(
    st.lists(st.integers(1, 100_000), min_size=2, max_size=12, unique=True),
    FORMS,
    st.sampled_from((0.0, 0.5, 2.0)),
    st.sampled_from((0.001, 0.3, 20.0)),
)
def test_every_covariance_is_one(payloads: list[int], form: str, jump: float, far: float) -> None:
    where = mixed(payloads)
    groups = groups_of(where)[form]
    kernel = Kernel(form, jump=jump, label_distances=dict.fromkeys(groups, far))
    parts = shares(len(where))
    found = Covariance(kernel, Known(where, groups).distances(where), parts @ parts.T).values
    assert found == pytest.approx(found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-8
    assert np.diag(found) == pytest.approx(variance(kernel, parts))


@pytest.mark.parametrize("form", [PRODUCT, JOINED])
def test_slopes_are_those_of_small_steps(form: str) -> None:
    where = mixed([16, 100, 1000, 1500, 3000, 9000])
    groups = groups_of(where)[form]
    apart, parts = Known(where, groups).distances(where), shares(6)
    kernel = Kernel(form).on(groups)
    outer = np.cos(np.arange(36.0)).reshape(6, 6)
    outer = outer + outer.T
    told = Covariance(kernel, apart, parts @ parts.T).slopes(outer)
    numbers, step = kernel.numbers(), 1e-6
    for k in range(len(numbers)):
        if k == NUMBERS.index("noise"):
            continue
        both = []
        for sign in (1, -1):
            moved = numbers.copy()
            moved[k] *= np.exp(sign * step)
            values = Covariance(kernel.with_numbers(moved), apart, parts @ parts.T).values
            both.append(float((outer * values).sum()))
        assert told[k] == pytest.approx((both[0] - both[1]) / (2 * step), rel=1e-4, abs=1e-6)


def test_a_kernel_takes_what_it_knows_to_other_labels() -> None:
    known = Kernel(label_distances={(0, ""): 0.7}).on(((0, ""), (1, "")))
    assert known.label_distances[0, ""] == 0.7
    assert known.label_distances[1, ""] == Kernel().on(((1, ""),)).label_distances[1, ""]
    assert known.with_numbers(known.numbers()) == known
