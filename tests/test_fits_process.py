"""Processes: what is left out in closed form is what leaving out gives, and far rows are unsure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fits_case import PAYLOADS, sites
from icmodel.fits.kernel import JOINED, PRODUCT, Covariance, Kernel, Known, groups_of
from icmodel.fits.mechanism import COSTS, Mechanism
from icmodel.fits.observations import Observations
from icmodel.fits.process import Process, process

WHERE = sites([*PAYLOADS, *PAYLOADS], [["a"]] * len(PAYLOADS) + [["b"]] * len(PAYLOADS))


def one(form: str) -> tuple[Process, np.ndarray]:
    """A process through noisy rows of two configurations, and their log times."""
    random = np.random.default_rng(4)
    log_time = np.log(1e-6 + 1e-9 * WHERE.payload_bytes) + 0.1 * random.standard_normal(len(WHERE))
    groups = groups_of(WHERE)[form]
    mechanism = Mechanism(COSTS, WHERE, log_time)
    observed = Observations(
        WHERE, np.exp(log_time), np.full(len(WHERE), 1e-4), np.full(len(WHERE), 0.01)
    )
    apart = Known(WHERE, groups).distances(WHERE)
    found = process(mechanism, Kernel(form).on(groups), observed, apart, log_time)
    return found, log_time - mechanism.at(WHERE).log_time


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
    asked = sites([3000, 10_000_000], [["a"], ["a"]])
    apart = Known(WHERE, groups_of(WHERE)[form]).distances(asked)
    modelled = found.mechanism.at(asked)
    near, far = found.deviation(modelled, found.covariance(modelled, apart))
    assert far > 1.5 * near


def test_its_covariance_is_that_of_its_kernel() -> None:
    found, _ = one(PRODUCT)
    apart = Known(WHERE, groups_of(WHERE)[PRODUCT]).distances(WHERE)
    told = Covariance(found.kernel, apart, found.shares @ found.shares.T).values
    noise = np.linalg.inv(found.inverse) - told
    expected = found.kernel.noise + 1e-4 / found.scale**2
    assert np.diag(noise) == pytest.approx(expected, rel=1e-6)


def test_twins_leave_together() -> None:
    """Requests above the capacity are one point whatever they ask: none tells of the other."""
    labels = [["a", "overload"]] * 8
    where = sites([64, 64, 64, 1024, 1024, 4096, 16384, 16384], labels)
    where = replace(where, load_bps=np.array([1e9, 2e9, 4e9, 1e9, 2e9, 4e9, 1e9, 1e9]))
    log_time = np.log(1e-6 + 1e-9 * where.payload_bytes) + 0.1 * np.arange(8)
    nothing = np.zeros(8)
    mechanism = Mechanism(COSTS, where, log_time)
    apart = Known(where, ()).distances(where)
    observed = Observations(where, np.exp(log_time), nothing, nothing)
    found = process(mechanism, Kernel().on(()), observed, apart, log_time)
    residual = log_time - mechanism.at(where).log_time
    covariance = np.linalg.inv(found.inverse)
    for left in ([0, 1, 2], [3, 4], [5], [6, 7]):
        rest, out = np.setdiff1d(np.arange(8), left), np.array(left)
        among, cross = covariance[np.ix_(rest, rest)], covariance[np.ix_(out, rest)]
        told = cross @ np.linalg.solve(among, residual[rest])
        assert found.errors[left] == pytest.approx(residual[left] - told, rel=1e-6, abs=1e-9)
        spread = covariance[np.ix_(out, out)] - cross @ np.linalg.solve(among, cross.T)
        expected = found.scale * np.sqrt(np.diag(spread))
        assert found.deviations[left] == pytest.approx(expected, rel=1e-6)
