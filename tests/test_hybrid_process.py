"""Processes: what is left out in closed form is what leaving out gives, and far rows are unsure."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_case import PAYLOADS, sites
from icmodel.hybrid.kernel import JOINED, PRODUCT, Covariance, Kernel, distances, groups_of
from icmodel.hybrid.mechanism import COSTS, Mechanism
from icmodel.hybrid.process import Process, process


def one(form: str) -> tuple[Process, np.ndarray]:
    """A process through noisy rows of two configurations, and their log times."""
    random = np.random.default_rng(4)
    where = sites([*PAYLOADS, *PAYLOADS], [["a"]] * len(PAYLOADS) + [["b"]] * len(PAYLOADS))
    log_time = np.log(1e-6 + 1e-9 * where.payload_bytes) + 0.1 * random.standard_normal(len(where))
    groups = groups_of(where)[form]
    mechanism = Mechanism(COSTS, where, log_time)
    residual = log_time - mechanism.log_time(where)
    kernel = Kernel(form).on(groups)
    apart = distances(where, where, groups)
    return process(mechanism, kernel, where, apart, residual, np.full(len(where), 1e-4)), residual


@pytest.mark.parametrize("form", [PRODUCT, JOINED])
def test_leaving_out_in_closed_form_is_leaving_out(form: str) -> None:
    found, residual = one(form)
    covariance = np.linalg.inv(found.inverse)
    for k in (0, 7, 20):
        rest = np.delete(np.arange(len(residual)), k)
        among, cross = covariance[np.ix_(rest, rest)], covariance[k, rest]
        told = cross @ np.linalg.solve(among, residual[rest])
        assert found.errors[k] == pytest.approx(residual[k] - told, rel=1e-6, abs=1e-9)
        spread = covariance[k, k] - cross @ np.linalg.solve(among, cross)
        assert found.deviations[k] == pytest.approx(found.scale * np.sqrt(spread), rel=1e-6)


@pytest.mark.parametrize("form", [PRODUCT, JOINED])
def test_it_is_less_sure_far_from_its_rows(form: str) -> None:
    found, _ = one(form)
    known = sites([*PAYLOADS, *PAYLOADS], [["a"]] * len(PAYLOADS) + [["b"]] * len(PAYLOADS))
    groups = groups_of(known)[form]
    asked = sites([3000, 10_000_000], [["a"], ["a"]])
    near, far = found.deviation(asked, distances(asked, known, groups))
    assert far > 1.5 * near


def test_its_covariance_is_that_of_its_kernel() -> None:
    found, _ = one(PRODUCT)
    where = sites([*PAYLOADS, *PAYLOADS], [["a"]] * len(PAYLOADS) + [["b"]] * len(PAYLOADS))
    apart = distances(where, where, groups_of(where)[PRODUCT])
    told = Covariance(found.kernel, apart, found.shares, found.shares).values
    noise = np.linalg.inv(found.inverse) - told
    expected = found.kernel.noise + 1e-4 / found.scale**2
    assert np.diag(noise) == pytest.approx(expected, rel=1e-6)
