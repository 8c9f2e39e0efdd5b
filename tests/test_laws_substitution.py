"""Rows of the nearest options, and what hybrid answers where options were never measured together."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fits_case import dataset, row
from icmodel.dataset import Dataset, Point
from icmodel.errors import DatasetError, OutOfDomain
from icmodel.laws.substitution import nearest_rows, own_rows
from icmodel.model import Model
from icmodel.validate.folds import question

PAYLOADS = (64, 256, 1024, 4096, 16384)
FACTORS = {("a", "on"): 1.0, ("a", "off"): 1.3, ("b", "on"): 2.0, ("b", "off"): 2.6}
"""How much longer a frame takes on each machine, with an option on or off."""


def truth_bps(payload_bytes: int, options: tuple[str, ...]) -> float:
    return 8 * payload_bytes / (FACTORS[options[:2]] * (2e-6 + 1e-9 * payload_bytes))  # type: ignore[index]


def measured(payload: int | None, options: tuple[str, ...], value: float, metric: str) -> Point:
    one = row("tcp", payload or 1, math.inf, metric, np.array([value, value]))
    return one._replace(options=options, payload_bytes=payload)


def machines(*missing: tuple[str, str]) -> Dataset:
    """Two machines with an option on and off, but for some combinations."""
    points = [
        measured(payload, (*options, ""), truth_bps(payload, options), "goodput_bps")
        for options in FACTORS
        if options not in missing
        for payload in PAYLOADS
    ]
    return replace(
        dataset(points),
        option_axes=("machine", "merging", "other"),
        option_defaults={"machine": "a", "merging": "on", "other": "x"},
    )


DATA = machines(("b", "off"))


def test_own_rows_come_before_any_others() -> None:
    found = nearest_rows(DATA, "tcp", {"machine": "b", "merging": "on"})
    assert not found.substituted
    assert {point.options for point in found.points} == {("b", "on", "")}


def test_the_options_that_differ_least_stand_in() -> None:
    found = nearest_rows(DATA, "tcp", {"machine": "b", "merging": "off"})
    assert {point.options for point in found.points} == {("a", "off", ""), ("b", "on", "")}
    assert found.substituted.startswith("extrapolated on machine, merging")
    assert (
        "at machine = b, merging = off;" in found.substituted
    )  # tcp has nothing of the third axis
    assert not own_rows(DATA, "tcp", {"machine": "b", "merging": "off"}).points


def test_an_option_that_the_protocol_does_not_have_is_not_borrowed_over() -> None:
    of_udp = DATA.points[0]._replace(protocol="udp", options=("a", "on", "y"))
    data = replace(DATA, points=(*DATA.points, of_udp))
    assert not nearest_rows(data, "tcp", {"machine": "b", "other": "y"}).points
    assert nearest_rows(data, "udp", {"machine": "b", "other": "y"}).points == (of_udp,)
    with pytest.raises(DatasetError, match="no rows at merging"):
        nearest_rows(DATA, "tcp", {"merging": "maybe"})


@pytest.mark.parametrize("missing", [("a", "off"), ("b", "on"), ("b", "off")])
def test_hybrid_answers_options_never_measured_together_and_says_so(
    missing: tuple[str, str],
) -> None:
    data = machines(missing)
    options = {"machine": missing[0], "merging": missing[1]}
    asked: dict[str, Any] = {"protocol": "tcp", "payload_bytes": 1000, **options}
    found = Model(data, "hybrid").predict(**asked).goodput_bps
    assert found.basis == "extrapolated"
    assert "no rows of tcp at machine" in found.why
    assert found.low <= truth_bps(1000, missing) <= found.high
    assert found.value == pytest.approx(truth_bps(1000, missing), rel=0.3)
    many = Model(data, "hybrid").predict_many(**asked)
    assert float(many.goodput_bps) == found.value
    with pytest.raises(OutOfDomain, match="no rows"):
        Model(data, "corrected").predict(**asked)


def test_a_row_without_payload_is_answered_from_its_likes() -> None:
    """Calls without data on six machines, each with an option on and off; off costs a tenth more."""
    calls = [
        measured(None, (machine, merging, ""), 1e5 / speed / cost, "frames_per_s")
        for machine, speed in zip("abcdef", (1.0, 1.2, 0.9, 1.1, 0.8, 1.3), strict=True)
        for merging, cost in (("on", 1.0), ("off", 1.1))
    ]
    left_out = calls.pop()
    data = replace(DATA, points=tuple(calls))
    found = Model(data, "hybrid").predict(question(data, left_out)).metrics["frames_per_s"]
    assert found.value == pytest.approx(left_out.value, rel=0.15)
    assert found.low <= left_out.value <= found.high
    assert found.basis == "extrapolated"
