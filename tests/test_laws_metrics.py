"""Statistics of a time in their order: what is known best stays, the others give way, none is invented."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import icmodel
from icmodel.laws.metrics import in_order, with_others

ENDINGS = ("_min_s", "_p10_s", "_p50_s", "_p90_s", "_p99_s", "_p999_s", "_max_s")
"""The least first."""
TIMES = st.lists(st.floats(1e-9, 1.0) | st.just(np.nan), min_size=4, max_size=4)


@given(st.dictionaries(st.sampled_from((*ENDINGS, "_mean_s")), TIMES, min_size=1))
def test_they_ascend_and_what_is_known_best_stays(told: dict[str, list[float]]) -> None:
    values = {f"latency{end}": np.array(some) for end, some in told.items()}
    found = in_order(values)
    for name, before in values.items():
        assert (np.isnan(found[name]) == np.isnan(before)).all()
        if name.endswith(("_mean_s", "_p50_s")):
            np.testing.assert_array_equal(found[name], before)
    for place in range(4):
        row = {end: found[f"latency{end}"][place] for end in told}
        known = [row[end] for end in ENDINGS if end in row and not np.isnan(row[end])]
        assert known == sorted(known)
        mean = row.get("_mean_s", np.nan)
        assert not row.get("_min_s", np.nan) > mean
        assert not row.get("_max_s", np.nan) < mean


@given(st.dictionaries(st.sampled_from(ENDINGS), TIMES, min_size=1))
def test_only_what_crosses_is_moved(told: dict[str, list[float]]) -> None:
    values = {f"rtt{end}": np.array(some) for end, some in told.items()}
    found = in_order(values)
    once_more = in_order(found)
    for name in values:
        np.testing.assert_array_equal(once_more[name], found[name])
        moved = ~np.isnan(values[name]) & (found[name] != values[name])
        assert not moved.any() or len(values) > 1


def test_of_two_quantiles_on_one_side_the_farther_gives_way() -> None:
    told = {"p10": 3.0, "p25": 2.0, "p50": 5.0, "p75": 9.0, "p90": 8.0}
    found = in_order({f"rtt_{which}_s": np.array([value]) for which, value in told.items()})
    assert [float(found[f"rtt_{which}_s"][0]) for which in told] == [2, 2, 5, 9, 9]


def test_numbers_by_themselves_are_ordered_as_arrays_are() -> None:
    told = {"mean": 4.0, "p99": 3.0, "p999": math.nan, "max": 2.0}
    found = in_order({f"latency_{which}_s": np.array(value) for which, value in told.items()})
    assert found["latency_max_s"] == 4
    assert np.isnan(found["latency_p999_s"])


def test_a_wider_interval_stays_wider() -> None:
    """Each end is ordered by itself, and no low end comes to lie above its value."""
    random = np.random.default_rng(3)
    names = [f"latency{end}" for end in (*ENDINGS, "_mean_s")]
    value = {name: random.uniform(1, 9, 500) for name in names}
    low = {name: value[name] * random.uniform(0.5, 1, 500) for name in names}
    ordered, lower = in_order(value), in_order(low)
    for name in names:
        assert (lower[name] <= ordered[name]).all(), name


def test_of_other_metrics_nothing_is_said() -> None:
    values = {"goodput_bps": np.ones(2), "latency_std_s": np.zeros(2), "latency_max_s": np.ones(2)}
    assert in_order(values).keys() == values.keys()


def test_one_that_may_be_moved_brings_the_others() -> None:
    known = [f"rtt{end}" for end in (*ENDINGS, "_mean_s")]
    assert with_others(["goodput_bps", "rtt_mean_s", "rtt_p50_s"], known) == {
        "goodput_bps",
        "rtt_mean_s",
        "rtt_p50_s",
    }
    assert with_others(["rtt_p99_s"], known) == set(known)
    assert with_others(["latency_p99_s"], known) == {"latency_p99_s"}


def test_a_model_tells_them_in_order_and_alike_whichever_are_asked_for() -> None:
    """Of ZeroMQ in the lab, whose separate fits cross at one place in five."""
    data = icmodel.load("lab-1g-2026")
    kinds = {"goodput_bps", *(f"latency{end}" for end in ENDINGS)}
    rows = [p for p in data.points if p.protocol == "zeromq" and p.metric in kinds]
    model = icmodel.Model(replace(data, points=tuple(rows)), "hybrid")
    payload = np.geomspace(64, 65535, 30).round()
    question: dict[str, Any] = {
        "protocol": "zeromq",
        "payload_bytes": payload,
        "requested_goodput_bps": 3e8,
    }
    told = model.predict_many(**question)
    names = [f"latency{end}" for end in ENDINGS if f"latency{end}" in told]
    assert len(names) > 3
    for part in ("", "_low", "_high"):
        assert (np.diff([told[name + part] for name in names], axis=0) >= 0).all()
    alone = model.predict_many(metrics=["latency_p99_s"], **question)
    assert (alone.latency_p99_s == told.latency_p99_s).all()
