"""The blend: who is right nearby counts, and who has no answer does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fits_case import sites
from icmodel.fits.blend import EVERYWHERE, blend, nearness
from icmodel.fits.distances import Known

WHERE = sites([16, 32, 64, 128, 4096, 8192, 16384, 32768])
KNOWN = Known(WHERE, ())
APART = KNOWN.distances(WHERE)
RIGHT_BELOW = np.array([0, 0, 0, 0, 0.3, 0.3, 0.3, 0.3])


def test_a_blend_follows_the_candidate_that_is_right_nearby() -> None:
    blended = blend(APART, np.stack([RIGHT_BELOW, 0.3 - RIGHT_BELOW]))
    asked = sites([48, 12000])
    told = blended.mean(np.array([[1.0, 1.0], [2.0, 2.0]]), nearness(KNOWN.distances(asked)))
    assert told[0] == pytest.approx(1.0, abs=0.05)
    assert told[1] == pytest.approx(2.0, abs=0.05)
    assert np.abs(blended.errors).max() < 0.05


def test_one_that_says_nothing_does_not_count() -> None:
    nothing = np.full(8, np.nan)
    blended = blend(APART, np.stack([RIGHT_BELOW, nothing]))
    assert blended.errors == pytest.approx(RIGHT_BELOW)
    asked = sites([48])
    told = blended.mean(np.array([[1.0], [np.nan]]), nearness(KNOWN.distances(asked)))
    assert told[0] == pytest.approx(1.0)


def test_one_wild_row_does_not_decide() -> None:
    wild = np.array([0.01, 0.01, 0.01, 5.0, 0.01, 0.01, 0.01, 0.01])
    blended = blend(APART, np.stack([wild, np.full(8, 0.5)]))
    asked = sites([48])
    told = blended.mean(np.array([[1.0], [2.0]]), nearness(KNOWN.distances(asked)))
    assert told[0] == pytest.approx(1.0, abs=0.2)


def test_how_a_candidate_does_everywhere_counts_a_little() -> None:
    """Hardly better nearby and wildly wrong elsewhere is luck."""
    lucky = np.array([0.02, 0.02, 0.02, 0.02, 5.0, 5.0, 5.0, 5.0])
    blended = blend(APART, np.stack([lucky, np.full(8, 0.03)]))
    asked = sites([17])
    near = nearness(KNOWN.distances(asked))
    assert near.sum() == pytest.approx(1.0)
    assert near.min() >= EVERYWHERE / 8
    told = blended.mean(np.array([[1.0], [2.0]]), near)
    assert told[0] == pytest.approx(2.0, abs=0.05)


def test_a_row_left_out_says_nothing_of_itself() -> None:
    blended = blend(APART, np.stack([RIGHT_BELOW, 0.3 - RIGHT_BELOW]))
    own = np.eye(len(WHERE))
    for row, only_here in enumerate(own):
        told = blended.nearby_left_out(only_here)
        assert told[row] == 0.0
        assert np.delete(told, row).min() > 0.0
    assert blended.nearby_left_out(np.ones(len(WHERE))) == pytest.approx(1.0)


def test_a_row_of_another_label_counts_three_tenths() -> None:
    where = sites([64, 64], [["a"], ["b"]])
    known = Known(where, ((0, ""),))
    near = nearness(known.distances(sites([64], [["a"]])))
    counts = np.array([1.0, 0.3])
    assert near[0] == pytest.approx((1 - EVERYWHERE) * counts / counts.sum() + EVERYWHERE / 2)


def test_a_row_octaves_off_in_load_counts_less_by_the_exponential() -> None:
    where = replace(sites([64, 64]), load_bps=np.array([1e6, 4e6]))
    asked = replace(sites([64]), load_bps=np.array([1e6]))
    counts = np.exp([0.0, -2.0])
    near = nearness(Known(where, ()).distances(asked))
    assert near[0] == pytest.approx((1 - EVERYWHERE) * counts / counts.sum() + EVERYWHERE / 2)
