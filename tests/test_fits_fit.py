"""Fits: what is a multiple of what, how sure that is, and rows that are far off count less."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fits_case import dataset, lab, row, truth
from fits_case import sites as made_sites
from icmodel.dataset import Dataset
from icmodel.fits.fit import MOST_ROWS, TheoryPackets, fit, robust_variance, stall
from icmodel.fits.fits import Fits
from icmodel.fits.observations import (
    LIMITED,
    OVERLOAD,
    UNLIMITED,
    Observations,
    Sites,
    label,
    observations,
    sites,
)
from icmodel.fits.process import OWN_ROWS, REST
from icmodel.model import Model
from icmodel.tables.wire import frames_on_wire

Floats = NDArray[np.float64]

LAB = lab()
FITS = Fits(LAB, partial(frames_on_wire, LAB))
SIZES = (64, 128, 512, 1472, 1473, 4096)


def test_a_median_is_fitted_for_itself_and_the_rest_of_its_kind_over_it() -> None:
    rows = [p._replace(metric="latency_p50_s") for p in LAB.points if p.metric == "latency_mean_s"]
    data = replace(LAB, points=(*LAB.points, *rows))
    fits = Fits(data, partial(frames_on_wire, data))
    median, mean = fits.fitted_metric("latency_p50_s"), fits.fitted_metric("latency_mean_s")
    assert median is not None
    assert mean is not None
    assert median.over is None
    assert mean.over is median


def maxima(seed: int, scatter: float) -> tuple[Dataset, Floats, Floats]:
    """Means of 20 µs to 5 ms with a packet break, and one stall of 1 ms in each run.

    Returns the dataset of every second size, all sizes, and the greatest latency [s] of each.
    """
    random = np.random.default_rng(seed)
    sizes = np.geomspace(64, 65536, 33).round()
    mean = 2e-5 + 7e-8 * sizes + 3e-5 * (sizes > 1472)
    greatest = mean + 1e-3 * np.exp(scatter * random.standard_normal(len(sizes)))
    rows = [
        row("udp", int(size), math.inf, metric, np.full(3, value))
        for metric, values in (("latency_mean_s", mean), ("latency_max_s", greatest))
        for size, value in list(zip(sizes, values, strict=True))[::2]
    ]
    return dataset(rows), sizes, greatest


def predicted(data: Dataset, sizes: Floats) -> tuple[Floats, Floats]:
    """Log of the predicted greatest latency at each size, and its half-width."""
    fitted = Fits(data, partial(frames_on_wire, data)).fitted_metric("latency_max_s")
    assert fitted is not None
    return fitted.at(places(data, sizes.tolist(), math.inf, UNLIMITED))


def test_a_greatest_latency_is_the_mean_plus_a_stall() -> None:
    data, sizes, greatest = maxima(seed=0, scatter=0.0)
    told, half = predicted(data, sizes)
    assert np.exp(told) == pytest.approx(greatest, rel=0.02)
    assert (np.abs(told - np.log(greatest)) <= half + 1e-6).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_greatest_latency_is_above_the_mean_however_stalls_scatter(seed: int) -> None:
    """Stalls from a thousandth to a thousand times the mean, and so maxima that lean low."""
    data, sizes, _ = maxima(seed, scatter=3.0)
    mean = Fits(data, partial(frames_on_wire, data)).fitted_metric("latency_mean_s")
    assert mean is not None
    told, _ = predicted(data, sizes)
    assert (told > mean.at(places(data, sizes.tolist(), math.inf, UNLIMITED))[0]).all()


@given(
    mean=st.floats(1e-7, 1.0),
    ratio=st.floats(0.5, 1e6),
    size=st.sampled_from([64.0, 100.0, 1473.0]),
)
def test_a_stall_is_finite_and_no_shorter_than_the_mean_is_unsure(
    mean: float, ratio: float, size: float
) -> None:
    """Maxima below, at and far above the mean, of other runs than those of the mean."""
    data = dataset(
        [row("udp", each, math.inf, "latency_mean_s", np.full(2, mean)) for each in SIZES]
    )
    fitted = Fits(data, partial(frames_on_wire, data)).fitted_metric("latency_mean_s")
    assert fitted is not None
    where = places(data, [size], math.inf, UNLIMITED)
    found = np.exp(stall(np.log([mean * ratio]), fitted, where))
    assert np.isfinite(found).all()
    assert found[0] >= 0.999 * mean * np.expm1(fitted.at(where)[1][0])
    assert found[0] >= 0.99 * mean * (ratio - 1)


def test_a_metric_of_two_rows_has_no_fit() -> None:
    few = dataset([row("udp", size, math.inf, "latency_mean_s", np.ones(2)) for size in (64, 128)])
    fits = Fits(few, partial(frames_on_wire, few))
    assert fits.fitted_metric("latency_mean_s") is None
    assert np.isnan(fits.value("latency_mean_s", places(few, [64.0], math.inf, UNLIMITED))).all()


def test_every_metric_is_fitted_once_and_the_watch_is_told() -> None:
    told: list[tuple[int, int]] = []
    fits = Fits(LAB, partial(frames_on_wire, LAB), lambda done, of: told.append((done, of)))
    first = fits.fitted_metric("sent_bps")
    assert fits.fitted_metric("sent_bps") is first
    assert told == [(1, len(LAB.metrics)), (2, len(LAB.metrics))]  # beside it the goodput


def places(data: Dataset, payloads: list[float], load_bps: float, regime: str) -> Sites:
    """Payloads of UDP at one load."""
    one = next(p for p in LAB.points if p.protocol == "udp")
    payload = np.array(payloads)
    load = np.full(len(payload), load_bps)
    labels = [label(data, one, regime)] * len(payload)
    return sites(data, partial(frames_on_wire, data), payload, load, labels)


def test_values_of_two_loads_are_kept_apart() -> None:
    low, high = (places(LAB, [512.0], load, LIMITED) for load in (1e7, 8e8))
    assert FITS.value("latency_mean_s", low) != FITS.value("latency_mean_s", high)


def wire() -> TheoryPackets:
    goodput = FITS.fitted_metric("goodput_bps")
    assert goodput is not None
    return TheoryPackets(goodput)


def test_packets_of_a_carried_load_are_those_of_the_frames_asked_for_and_sure() -> None:
    where = FITS.flowing("latency_mean_s", places(LAB, [1472.0, 1473.0, 14_000.0], 1e8, LIMITED))
    assert wire().per_s(where) == pytest.approx(
        1e8 / 8 / where.payload_bytes * np.array([1, 2, 10]), rel=1e-9
    )
    assert not wire().half(where).any()


@pytest.mark.parametrize("regime", [UNLIMITED, OVERLOAD])
def test_packets_at_the_limit_are_as_sure_as_the_goodput(regime: str) -> None:
    where = FITS.flowing("latency_mean_s", places(LAB, [100.0, 300.0], 6e9, regime))
    expected = [truth("udp", size, math.inf)["goodput_bps"] / 8 / size for size in (100, 300)]
    assert wire().per_s(where) == pytest.approx(np.array(expected), rel=0.05)
    assert (wire().half(where) > 0.001).all()


def test_where_less_flows_than_is_asked_packets_are_not_sure() -> None:
    where = FITS.flowing("latency_mean_s", places(LAB, [64.0], 9e9, LIMITED))
    assert where.frames_per_s[0] < 9e9 / 8 / 64
    assert wire().half(where)[0] > 0.001


# --- one fit in log time ---


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
    where = made_sites(np.tile(sizes, 2), [["calm"]] * OWN_ROWS + [["wild"]] * OWN_ROWS)
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
