"""Fits: rows that are far off count less, medians carry the others, kinds share their numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fits_case import dataset, lab, row, sites
from icmodel.fits.fit import MOST_ROWS, fit, robust_variance
from icmodel.fits.observations import Observations, observations
from icmodel.fits.process import OWN_ROWS, REST
from icmodel.model import Model
from icmodel.tables.wire import frames_on_wire

LAB = lab()


def carrier(protocol: str, options: object, payload_bytes: np.ndarray) -> object:
    return frames_on_wire(LAB, protocol, {}, payload_bytes)


def test_a_row_far_off_is_doubted_and_one_at_its_word_is_not() -> None:
    observed = observations(LAB, "latency_mean_s", carrier)  # type: ignore[arg-type]
    assert observed is not None
    log_time = np.log(observed.values)
    log_time[17] += 1.0
    found = fit(observed, log_time).processes[0]
    variance = robust_variance(found, observed.variance)
    assert (variance >= observed.variance).all()
    assert variance[17] > 10 * np.median(variance)
    assert not robust_variance(found, np.zeros_like(variance)).any()


def test_a_multiple_of_the_first_of_its_kind_is_told_as_the_first() -> None:
    observed = observations(LAB, "latency_mean_s", carrier)  # type: ignore[arg-type]
    assert observed is not None
    assert len(observed.sites) > MOST_ROWS
    first = fit(observed, np.log(observed.values))
    second = fit(observed, np.log(3 * observed.values), first)
    assert second.at(observed.sites)[0] == pytest.approx(
        np.log(3) + first.at(observed.sites)[0], abs=0.01
    )


def test_a_mean_that_stalls_disturb_is_told_by_the_median_and_a_smooth_multiple() -> None:
    """Every fifth run has stalls that treble its mean and leave its median."""
    random = np.random.default_rng(2)
    points = []
    for k, payload in enumerate(np.unique(np.round(2 ** np.linspace(5, 13, 40))).astype(int)):
        median = 1e-5 + 2e-9 * payload
        runs = median * np.exp(0.01 * random.standard_normal(3))
        points.append(row("udp", int(payload), math.inf, "latency_p50_s", runs))
        stall = 3.0 if k % 5 == 0 else 1.0
        points.append(row("udp", int(payload), math.inf, "latency_mean_s", 1.2 * stall * runs))
    whole = dataset([*points, *(p for p in LAB.points if p.metric == "goodput_bps")])
    model = Model(whole, "hybrid")
    errors = []
    for payload in (100, 300, 900, 2500, 7000):
        told = model.predict(protocol="udp", payload_bytes=payload).latency_mean_s
        errors.append(abs(told.value / (1.2 * (1e-5 + 2e-9 * payload)) - 1))
    assert np.median(errors) < 0.2


def test_a_wild_protocol_makes_no_other_unsure() -> None:
    sizes = np.geomspace(64, 65536, OWN_ROWS).round()
    where = sites(np.tile(sizes, 2), [["calm"]] * OWN_ROWS + [["wild"]] * OWN_ROWS)
    random = np.random.default_rng(8)
    calm = np.log(1e-6 + 1e-9 * sizes) + 0.01 * random.standard_normal(OWN_ROWS)
    log_time = np.concatenate([calm, random.normal(-10.0, 2.0, OWN_ROWS)])
    nothing = np.zeros(len(where))
    found = fit(Observations(where, np.exp(log_time), nothing, nothing), log_time)
    own, together = found.processes[0], found.processes[2]
    assert [*own.kernels] == ["calm", "wild"]
    assert [*together.kernels] == [REST]
    assert np.median(own.deviations[:OWN_ROWS]) < 0.02
    assert np.median(together.deviations[:OWN_ROWS]) > 0.2
