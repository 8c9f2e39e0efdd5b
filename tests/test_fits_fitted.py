"""Fitted metrics: what is a multiple of what, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from fits_case import dataset, lab, row, truth
from icmodel.dataset import Dataset
from icmodel.fits.fits import Fits
from icmodel.fits.fitted import TheoryPackets
from icmodel.fits.observations import LIMITED, OVERLOAD, UNLIMITED, Sites, label, sites
from icmodel.tables.wire import frames_on_wire

LAB = lab()
FITS = Fits(LAB, partial(frames_on_wire, LAB))


def test_a_median_is_fitted_for_itself_and_the_rest_of_its_kind_over_it() -> None:
    rows = [p._replace(metric="latency_p50_s") for p in LAB.points if p.metric == "latency_mean_s"]
    data = replace(LAB, points=(*LAB.points, *rows))
    fits = Fits(data, partial(frames_on_wire, data))
    median, mean = fits.fitted_metric("latency_p50_s"), fits.fitted_metric("latency_mean_s")
    assert median is not None
    assert mean is not None
    assert median.over is None
    assert mean.over is median


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
