"""Sites: grouped by protocol, configuration and curve; one curve's are those of many sites alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fits_case import dataset, row, sites
from icmodel.dataset import Point, load
from icmodel.fits.fits import Fits
from icmodel.fits.observations import (
    LIMITED,
    OVERLOAD,
    UNLIMITED,
    curve_sites,
    label,
    observations,
    regimes_of,
    rows_in_overload,
    unlimited,
)
from icmodel.fits.observations import sites as sites_of
from icmodel.fits.refine import Refiner
from icmodel.laws.hybrid import measured_in_overload
from icmodel.model import Model
from icmodel.tables import Row
from icmodel.tables.wire import frames_on_wire

ROW = st.tuples(
    st.sampled_from(("tcp", "udp")),
    st.sampled_from(("on", "off")),
    st.sampled_from((LIMITED, UNLIMITED, OVERLOAD)),
    st.sampled_from((1.0, 8e6, 1e9)),
)


@given(st.lists(ROW, min_size=1, max_size=12))
def test_every_site_is_in_the_group_of_its_labels(rows: list[tuple[str, str, str, float]]) -> None:
    labels = [list(row[:3]) for row in rows]
    loads = np.array([row[3] for row in rows])
    where = replace(sites(np.arange(1.0, len(rows) + 1), labels), load_bps=loads)
    for found, key_of in (
        (where.by_protocol, lambda row: row[0]),
        (where.by_configuration, lambda row: row[:3]),
        (where.by_curve, lambda row: (row[:3], row[3])),
    ):
        expected: dict[object, list[int]] = {}
        for k, one in enumerate(rows):
            expected.setdefault(key_of(one), []).append(k)
        assert {key: members.tolist() for key, members in found.items()} == expected
    assert where.at_limit.tolist() == [row[2] != LIMITED for row in rows]


def test_the_sites_of_a_curve_are_those_of_many_sites_that_are_alike() -> None:
    data = load("ethernet-10g-2012")
    point = next(p for p in data.points if p.protocol == "udp")
    own, carrier = label(data, point, LIMITED), partial(frames_on_wire, data)
    payload = np.array([1.0, 1472.0, 1473.0, 65507.0])
    one = curve_sites(data, carrier, payload, 1e9, own)
    many = sites_of(data, carrier, payload, np.full(4, 1e9), [own] * 4)
    for column in fields(many):
        assert getattr(one, column.name).tolist() == getattr(many, column.name).tolist()


def test_unlimited_sites_keep_all_labels_but_the_regime() -> None:
    where = sites([64, 128], [["tcp", "on", LIMITED], ["udp", "off", OVERLOAD]])
    found = unlimited(where)
    assert found.labels.tolist() == [["tcp", "on", UNLIMITED], ["udp", "off", UNLIMITED]]
    assert found.load_bps.tolist() == [1.0, 1.0]


# --- regimes of rows: carried, short of the load, and what bounds those ---------------------------


SHORT = ((3e8, 3e8), (6e8, 5.8e8), (7e8, 5e8), (math.inf, 8e8))
"""Loads and goodputs [b/s]: a little less than asked may be in flight, a third less is not."""


def test_a_row_short_of_its_request_was_asked_for_too_much() -> None:
    points = [row("tcp", 512, load, "goodput_bps", np.full(3, got)) for load, got in SHORT]
    assert regimes_of(dataset(points), points) == [LIMITED, LIMITED, OVERLOAD, UNLIMITED]


@pytest.mark.parametrize(("times", "regime"), [(1.004, LIMITED), (1.006, OVERLOAD)])
def test_a_limit_within_half_a_percent_of_the_best_goodput_is_carried(
    times: float, regime: str
) -> None:
    loads = ((times * 1e8, 1e8), (math.inf, 1e8))
    points = [row("tcp", 512, load, "goodput_bps", np.full(3, got)) for load, got in loads]
    assert regimes_of(dataset(points), points) == [regime, UNLIMITED]


@pytest.mark.parametrize(("times", "regime"), [(1.09, LIMITED), (1.11, OVERLOAD)])
def test_a_limit_within_a_tenth_of_its_own_goodput_is_carried(times: float, regime: str) -> None:
    loads = ((times * 1e8, 1e8), (math.inf, 9e8))
    points = [row("tcp", 512, load, "goodput_bps", np.full(3, got)) for load, got in loads]
    assert regimes_of(dataset(points), points) == [regime, UNLIMITED]


def test_the_best_goodput_counts_in_whatever_order_the_rows_stand() -> None:
    loads = ((math.inf, 9e8), (3e8, 3e8), (1e8, 1e8))
    points = [row("tcp", 512, load, "goodput_bps", np.full(3, got)) for load, got in loads]
    assert regimes_of(dataset(points), points) == [UNLIMITED, LIMITED, LIMITED]


@pytest.mark.parametrize("reached", [(3e8, 2e8), (2e8, 3e8)])
def test_of_several_rows_at_a_load_the_best_says_whether_it_was_carried(
    reached: tuple[float, float],
) -> None:
    points = [row("tcp", 512, 3e8, "goodput_bps", np.full(3, got)) for got in reached]
    points.append(row("tcp", 512, math.inf, "goodput_bps", np.full(3, 9e8)))
    assert regimes_of(dataset(points), points) == [LIMITED, LIMITED, UNLIMITED]


def test_the_nearest_payload_below_and_above_bound_an_overloaded_one() -> None:
    reached = {64: 1e8, 128: 1e8, 256: 5e7, 512: 1e8, 1024: 1e8}
    points = [
        row("tcp", payload, 1e8, "goodput_bps", np.full(3, got)) for payload, got in reached.items()
    ]
    assert asked_for_too_much(points) == [(128, 1e8), (256, 1e8), (512, 1e8)]


def of_a_host(loads: Sequence[float], payloads: Sequence[int]) -> list[Point]:
    """A goodput of 1 Mb/s a byte of payload up to 900 Mb/s, or what was asked."""
    return [
        row("tcp", payload, load, "goodput_bps", np.full(3, min(load, 1e6 * payload, 9e8)))
        for payload in payloads
        for load in loads
    ]


def asked_for_too_much(points: list[Point]) -> list[tuple[int | None, float | None]]:
    over = rows_in_overload(dataset(points), points)
    return [
        (p.payload_bytes, p.load_bps) for p, is_over in zip(points, over, strict=True) if is_over
    ]


def test_the_next_payload_bounds_those_that_were_asked_for_too_much() -> None:
    points = of_a_host((3e7, 1.2e8, math.inf), (64, 128, 256, 512))
    assert asked_for_too_much(points) == [(64, 1.2e8), (128, 1.2e8)]


def test_a_limit_far_below_what_can_be_had_bounds_nothing_but_the_unlimited_row_does() -> None:
    points = of_a_host((3e7, 1e8, math.inf), (64, 4096))
    assert asked_for_too_much(points) == [(64, 1e8), (4096, math.inf)]
    limited = [p for p in points if p.payload_bytes == 64 or p.load_bps != math.inf]
    assert asked_for_too_much(limited) == [(64, 1e8), (4096, 1e8)]
    alone = of_a_host((3e7, 1e8, math.inf), (64,))
    assert asked_for_too_much(alone) == [(64, 1e8)]


@pytest.mark.parametrize(("times", "bound"), [(1.09, True), (1.11, False)])
def test_a_limit_within_a_tenth_of_what_can_be_had_bounds_instead_of_the_unlimited_row(
    times: float, bound: bool
) -> None:
    load = 1.28e8 / times
    points = of_a_host((load, math.inf), (64, 128))
    assert asked_for_too_much(points) == [(64, load), (128, load if bound else math.inf)]


def test_a_load_is_carried_between_tiny_frames_that_were_not_and_large_ones() -> None:
    points = of_a_host((1e8, math.inf), (64, 16384, 65000))
    model = Model(dataset(points), "hybrid")
    said = model.predict(protocol="tcp", payload_bytes=1024, rate_fps=1e8 / 8192)
    assert said.metrics["goodput_bps"].value == pytest.approx(1e8, rel=0.01)
    assert said.bottleneck == "request"


def of_a_paced_host(reached: float, cpu_unlimited: bool = True) -> list[Point]:
    """A host that paces at ``reached`` of what it can where too much is asked, 8 us a frame."""
    points = []
    for payload in (32, 64, 128, 256, 512, 1024, 4096, 16384):
        able = 8 * payload / (8e-6 + 8 * payload / 1e9)
        for load_bps in (1e7, 1e8, math.inf):
            late = load_bps > able
            goodput = able if math.isinf(load_bps) else able * reached if late else load_bps
            found = {"goodput_bps": goodput}
            if cpu_unlimited or math.isfinite(load_bps):
                found["cpu_send"] = 1.0 if late else load_bps / able
                found["latency_mean_s"] = 1e-3 if late else 5e-5
            points += [
                row("tcp", payload, load_bps, metric, value * (1 + 0.01 * np.array([-1, 0, 1])))
                for metric, value in found.items()
            ]
    return points


def test_a_load_that_was_carried_is_told_as_carried_also_beside_those_that_were_not() -> None:
    model = Model(dataset(of_a_paced_host(0.6)), "hybrid")
    said = model.predict(protocol="tcp", payload_bytes=128, rate_fps=1e8 / 1024)
    assert said.metrics["goodput_bps"].value == pytest.approx(1e8, rel=0.01)
    assert said.metrics["latency_mean_s"].value == pytest.approx(5e-5, rel=0.1)
    late = model.predict(protocol="tcp", payload_bytes=64, rate_fps=1e8 / 512)
    assert late.metrics["goodput_bps"].value == pytest.approx(0.6 * 60.2e6, rel=0.05)
    assert late.metrics["latency_mean_s"].value == pytest.approx(1e-3, rel=0.1)


def test_what_was_measured_at_limits_alone_is_told_between_those_that_were_asked_too_much() -> None:
    model = Model(dataset(of_a_paced_host(1.0, cpu_unlimited=False)), "hybrid")
    said = model.predict(protocol="tcp", payload_bytes=90, rate_fps=1e8 / 720)
    assert said.metrics["cpu_send"].value == pytest.approx(1.0, abs=0.1)
    assert said.metrics["latency_mean_s"].value > 1e-4


def test_rows_beside_other_traffic_do_not_displace_those_of_a_lone_stream() -> None:
    alone = of_a_host((1e8, math.inf), (64, 512))
    beside = [p._replace(other_goodput_bps=5e8) for p in of_a_host((math.inf,), (64, 512))]
    beside += [p._replace(other_goodput_bps=5e8) for p in of_a_host((1e8,), (16,))]
    data = dataset([*alone, *beside])
    refiner = Refiner(Fits(data, partial(frames_on_wire, data)))
    kept = [
        row.point
        for row in measured_in_overload([Row(*pair) for pair in enumerate(data.points)], refiner)
    ]
    assert [p.payload_bytes for p in kept if not p.other_goodput_bps] == [64, 512]


def test_an_unlimited_run_that_bounds_others_is_fitted_as_what_it_is() -> None:
    data = dataset(of_a_host((1e8, math.inf), (64, 4096, 16384)))
    found = observations(data, "goodput_bps", partial(frames_on_wire, data))
    assert found is not None
    regimes = list(zip(found.sites.payload_bytes, found.sites.labels[:, -1], strict=True))
    assert sorted(regimes) == [
        (64, OVERLOAD), (64, UNLIMITED), (4096, UNLIMITED), (16384, UNLIMITED),
    ]  # fmt: skip
