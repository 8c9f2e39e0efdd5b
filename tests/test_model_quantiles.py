"""Quantiles in their order, each where it belongs and none of them new."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import icmodel
from icmodel.model.quantiles import ENDINGS, beside, in_order

TIMES = st.lists(st.floats(1e-9, 1.0), min_size=4, max_size=4)


@given(st.dictionaries(st.sampled_from(ENDINGS), TIMES, min_size=1))
def test_they_ascend_and_are_the_same_numbers(told: dict[str, list[float]]) -> None:
    told.setdefault("_max_s", [0.5] * 4)
    values = {f"latency{end}": np.array(some) for end, some in told.items()}
    found = in_order({**values, "latency_mean_s": np.zeros(4)})
    assert (found.pop("latency_mean_s") == 0).all()
    names = [f"latency{end}" for end in ENDINGS if end in told]
    ordered = np.stack([found[name] for name in names])
    assert (np.diff(ordered, axis=0) >= 0).all()
    before = np.sort(np.stack([values[name] for name in names]), axis=0)
    assert (ordered == before).all()


def test_what_is_not_known_stays_unknown_and_the_others_are_put_in_order() -> None:
    told = {"min": [np.nan, 1.0], "p99": [3.0, 3.0], "max": [2.0, np.nan]}
    found = in_order({f"latency_{name}_s": np.array(some) for name, some in told.items()})
    ordered = np.stack([found[f"latency_{name}_s"] for name in told])
    np.testing.assert_array_equal(ordered, [[np.nan, 1.0], [2.0, 3.0], [3.0, np.nan]])


def test_one_of_them_brings_the_others() -> None:
    assert beside(["goodput_bps"]) == {"goodput_bps"}
    assert {"rtt_p50_s", "rtt_max_s"} < beside(["rtt_p99_s", "goodput_bps"])
    assert "latency_max_s" not in beside(["rtt_p99_s"])


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
    for part in ("", "_low", "_high"):
        assert (np.diff([told[name + part] for name in names], axis=0) >= 0).all()
    alone = model.predict_many(metrics=["latency_p99_s"], **question)
    assert (alone.latency_p99_s == told.latency_p99_s).all()
