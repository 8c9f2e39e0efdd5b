"""Errors of leaving out whole configurations: in closed form, and by fitting anew without them."""

from __future__ import annotations

import numpy as np
import pytest

from fits_case import lab, sites
from icmodel.fits.fit import fit
from icmodel.fits.kernel import Kernel, Known, groups_of
from icmodel.fits.mechanism import CONSTANT, Mechanism
from icmodel.fits.observations import Observations, observations
from icmodel.fits.process import (
    REST,
    Part,
    Process,
    ProtocolProcesses,
    half_width,
    left_out_together,
    process,
)
from icmodel.statistics import LONE_WIDTH
from icmodel.tables.wire import frames_on_wire

PAYLOADS = np.tile([64.0, 512.0, 4096.0], 4)
NAMES = np.repeat(["a", "b", "c", "d"], 3)[:, None]
LOG_TIME = np.random.default_rng(3).normal(size=12) + np.repeat([0.0, 1.0, 2.0, 3.0], 3)


def through(rows: np.ndarray) -> Process:
    """The same process, its mechanism that of all rows, through some of them."""
    where = sites(PAYLOADS, NAMES)
    mechanism = Mechanism(CONSTANT, where, LOG_TIME)
    groups = groups_of(where)["product"]
    some = where.take(rows)
    observed = Observations(some, np.exp(LOG_TIME[rows]), np.zeros(len(rows)), np.zeros(len(rows)))
    apart = Known(some, groups).distances(some)
    return process(mechanism, Kernel().on(groups), observed, apart, LOG_TIME[rows])


def test_the_closed_form_is_that_of_fitting_without_them() -> None:
    whole = through(np.arange(12))
    found = left_out_together(whole, NAMES)
    where = sites(PAYLOADS, NAMES)
    for k in range(4):
        own = np.arange(3 * k, 3 * k + 3)
        rest = np.setdiff1d(np.arange(12), own)
        without = through(rest)
        apart = Known(where.take(rest), groups_of(where)["product"]).distances(where.take(own))
        modelled = without.mechanism.at(where.take(own))
        told = without.log_time(modelled, without.covariance(modelled, apart))
        assert found[k] == pytest.approx(np.sqrt(np.mean((LOG_TIME[own] - told) ** 2)))


def test_of_few_configurations_the_greatest_error_counts_and_no_less_than_a_lone_point_s() -> None:
    rows = np.arange(12)
    whole = through(rows)
    found = half_width(ProtocolProcesses({REST: Part(rows, whole)}), NAMES)
    assert found == max(left_out_together(whole, NAMES).max(), LONE_WIDTH)
    data = lab(protocols=("udp",), noise=1e-6)

    def carrier(protocol: str, options: object, payload_bytes: np.ndarray) -> object:
        return frames_on_wire(data, protocol, {}, payload_bytes)

    observed = observations(data, "latency_mean_s", carrier)  # type: ignore[arg-type]
    assert observed is not None
    one = fit(observed, np.log(observed.values)).processes[0]
    assert half_width(one, observed.sites.labels[:, :1]) >= LONE_WIDTH
