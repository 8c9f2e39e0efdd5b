"""Likelihood: its value is the normal density's, its slopes those of small steps, its best is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fits_case import sites
from icmodel.fits.kernel import JOINED, PRODUCT, Covariance, Kernel, MeasuredSites, groups_of
from icmodel.fits.likelihood import Piece, likeliest, negative_log_likelihood, piece_of
from icmodel.fits.observations import Sites


def covariance(kernel: Kernel, where: Sites) -> np.ndarray:
    """Covariance of sites whose only cost takes all the time."""
    apart = MeasuredSites(where, tuple(kernel.label_distances)).distances(where)
    return Covariance(kernel, apart, np.ones((len(where), len(where)))).values


def drawn(form: str, seed: int, noise: float, count: int = 40) -> tuple[Kernel, Piece, Sites]:
    """Rows drawn from a process with known numbers, a kernel that knows none of them, and the rows' sites."""
    random = np.random.default_rng(seed)
    payloads = np.unique(np.round(2 ** random.uniform(4, 16, count)))
    where = sites(payloads, [["ab"[k % 2]] for k in range(len(payloads))])
    where = replace(where, load_bps=np.exp2(np.arange(len(payloads), dtype=np.float64) % 4))
    groups = groups_of(where)[form]
    noisy = covariance(Kernel(form, noise=noise, length=3.0).on(groups), where)
    noisy += noise * np.eye(len(where))
    values = np.linalg.cholesky(noisy) @ random.standard_normal(len(where))
    rows = piece_of(
        MeasuredSites(where, groups).distances(where),
        np.ones((len(where), 1)),
        values,
        np.zeros(len(where)),
    )
    return Kernel(form).on(groups), rows, where


@pytest.mark.parametrize("form", [PRODUCT, JOINED])
def test_it_is_the_normal_density_and_its_slopes(form: str) -> None:
    kernel, rows, where = drawn(form, 1, 0.01, 12)
    value, slopes = negative_log_likelihood(kernel, rows)
    count = len(rows.residual)
    noisy = covariance(kernel, where) + kernel.noise * np.eye(count)
    density = multivariate_normal(np.zeros(count), noisy).logpdf(rows.residual)
    assert value == pytest.approx(-density - 0.5 * count * np.log(2 * np.pi))
    numbers, step = kernel.numbers(), 1e-5
    for k, told in enumerate(slopes):
        up, down = numbers.copy(), numbers.copy()
        up[k] *= np.exp(step)
        down[k] *= np.exp(-step)
        more = negative_log_likelihood(kernel.with_numbers(up), rows)[0]
        less = negative_log_likelihood(kernel.with_numbers(down), rows)[0]
        assert told == pytest.approx((more - less) / (2 * step), rel=1e-3, abs=1e-4)


def test_a_search_near_known_numbers_ends_likelier_and_stays_at_the_likeliest() -> None:
    prior, rows, _ = drawn(PRODUCT, 3, 0.01)
    best = likeliest(prior, [rows])
    assert likeliest(prior, [rows], best).numbers() == pytest.approx(best.numbers(), rel=0.05)
    off = best.with_numbers(best.numbers() * 1.5)
    nearer = likeliest(prior, [rows], off)
    assert negative_log_likelihood(nearer, rows)[0] < negative_log_likelihood(off, rows)[0]


def test_noise_is_told_from_shape() -> None:
    for noise in (1e-4, 1e-3, 0.05, 0.3):  # the prior says 0.01
        found = [likeliest(*_alone(drawn(PRODUCT, seed, noise, 150))).noise for seed in range(5)]
        assert noise / 2 < np.median(found) < noise * 2


def _alone(made: tuple[Kernel, Piece, Sites]) -> tuple[Kernel, list[Piece]]:
    kernel, rows, _ = made
    return kernel, [rows]


def test_the_likeliest_is_likelier_than_the_start() -> None:
    kernel, rows, _ = drawn(JOINED, 3, 1e-3)
    found = likeliest(kernel, [rows])
    assert negative_log_likelihood(found, rows)[0] < negative_log_likelihood(kernel, rows)[0]
