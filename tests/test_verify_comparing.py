"""Comparing predictions with made-up measurements, so that every answer is known."""

from __future__ import annotations

import math
from typing import Any

import pytest

from icmodel.verify import comparing
from icmodel.verify.comparing import Bounded, Compared, most_outside
from verify_case import passes, small


def estimate(value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "basis": "measured", "bases": [], "why": ""}


def predicted(**metrics: Any) -> dict[str, Any]:
    """The same prediction for both streams of the small system."""
    bound = {"value": 5e-3, "method": "made up", "covers": ["packetised", comparing.HOSTS]}
    one = {
        "goodput_bps": estimate(10e6, 9e6, 11e6),
        "latency_mean_s": estimate(1e-3, 0.5e-3, 2e-3),
        "latency_p99_s": estimate(None, 1e-3, None),
        "loss_rate": estimate(0.0, 0.0, 0.0),
        "cpu_send_process_cores": estimate(0.1, 0.05, 0.2),
        "cpu_recv_process_cores": estimate(0.2, 0.1, 0.3),
        "latency_bound_s": bound,
        **metrics,
    }
    return {"streams": {"measured": one, "other": one}}


RESULT = {
    "goodput_bps": 10.5e6,
    "latency_mean_s": 2.5e-3,
    "latency_p99_s": 4e-3,
    "latency_max_s": 4.5e-3,
    "loss_rate": 0.0,
    "cpu_send_process_cores": 0.12,
    "cpu_recv_process_cores": 0.35,
}
BOTH = {"measured": RESULT, "other": RESULT}


def test_medians_are_inside_or_not() -> None:
    found = comparing.streams(small(), predicted(), passes(BOTH), {})["measured"]
    assert found["goodput_bps"].inside
    assert found["goodput_bps"].ratio == pytest.approx(1.05)
    assert not found["latency_mean_s"].inside
    assert found["latency_mean_s"].judged
    assert not found["latency_p99_s"].judged  # the length is not stated
    assert "loss_rate" not in found  # TCP


def test_the_median_of_the_passes_counts() -> None:
    results = [
        {"measured": {**RESULT, "goodput_bps": one}, "other": RESULT} for one in (8e6, 9e6, 40e6)
    ]
    found = comparing.streams(small(), predicted(), passes(*results), {})["measured"]["goodput_bps"]
    assert (found.median, min(found.measured), max(found.measured)) == (9e6, 8e6, 40e6)
    assert found.inside


def test_a_difference_of_one_frame_is_inside() -> None:
    one_frame = 8 * 16384 / 2.0
    for beyond, inside in ((0.9 * one_frame, True), (1.1 * one_frame, False)):
        result = {"measured": {**RESULT, "goodput_bps": 11e6 + beyond}, "other": RESULT}
        found = comparing.streams(small(), predicted(), passes(result), {})["measured"]
        assert found["goodput_bps"].inside is inside


def test_the_processes_of_a_device_are_summed() -> None:
    found = comparing.devices(small(), predicted(), passes(BOTH))
    assert set(found) == {"A", "B", "C"}
    assert found["B"].value == pytest.approx(0.4)
    assert found["B"].median == pytest.approx(0.7)
    assert not found["B"].inside
    assert found["A"].inside


def test_a_bound_is_held_by_the_greatest_of_all_passes() -> None:
    late = {"measured": {**RESULT, "latency_max_s": 6e-3}, "other": RESULT}
    found = comparing.bounds(small(), predicted(), passes(BOTH, late))
    assert found["measured"].held is False
    assert found["other"].held is True


def test_a_pass_with_stolen_time_does_not_judge_a_bound() -> None:
    some = passes(BOTH, {"measured": {**RESULT, "latency_max_s": 9e-3}, "other": RESULT})
    some[1].records["measured"]["flags"].append("steal")
    found = comparing.bounds(small(), predicted(), some)["measured"]
    assert found.held is True
    assert (found.stolen, found.stolen_s) == (1, 9e-3)


@pytest.mark.parametrize(
    "bound", [None, {"value": 1e-3, "covers": ["the network without its hosts"]}]
)
def test_a_bound_without_hosts_is_not_judged(bound: Any) -> None:
    found = comparing.bounds(small(), predicted(latency_bound_s=bound), passes(BOTH))
    assert found["measured"].held is None


def test_nothing_measured_judges_nothing() -> None:
    found = comparing.streams(small(), predicted(), [], {})
    assert not any(one.judged for metrics in found.values() for one in metrics.values())
    assert Compared(1.0, 0.0, 2.0, ()).to_dict()["measured"] is None
    assert Bounded(1.0, math.nan, ()).held is None


@pytest.mark.parametrize(("count", "outside"), [(1, 1), (10, 4), (100, 18), (1000, 123)])
def test_most_outside_is_the_binomial_quantile(count: int, outside: int) -> None:
    """Quantiles of the binomial distribution at 10 % and 99 %, as tables have them."""
    assert most_outside(count) == outside
