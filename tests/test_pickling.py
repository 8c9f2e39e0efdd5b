"""What people keep or send to another process pickles, deep-copies and compares: the copy is equal."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import checkout
import icmodel
from icmodel.documents import json_text
from icmodel.frozen import FrozenMapping
from icmodel.requirement import Requirement, judge
from icmodel.system import load as load_system
from icmodel.system import predict
from search import times

DATASET = "ethernet-10g-2012"
QUESTION: dict[str, Any] = {"protocol": "tcp", "payload": "1448 B", "rate": "6700/s", "cores": 4}


MAKERS: dict[str, Callable[[], Any]] = {
    "dataset": lambda: icmodel.load(DATASET),
    "model": lambda: icmodel.Model(DATASET),
    "scenario": lambda: icmodel.Scenario("tcp", 1448),
    "prediction": lambda: icmodel.Model(DATASET).predict(**QUESTION),
    "evaluation": lambda: icmodel.evaluate("imaging", DATASET),
    "system": lambda: load_system("imaging"),
    "system prediction": lambda: predict(load_system("lab-two-senders")),
    "comparison": lambda: icmodel.compare_interconnects("imaging", [DATASET]),
    "recommendation": lambda: icmodel.recommend("imaging"),
}
"""One object of each kind."""


@cache
def made(kind: str) -> Any:
    """The object of a kind that tests share."""
    return MAKERS[kind]()


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_says_the_same(kind: str, again: Any) -> None:
    one = made(kind)
    other = again(one)
    assert type(other) is type(one)
    assert other == one
    if hasattr(one, "to_dict"):
        assert json_text(other.to_dict()) == json_text(one.to_dict())


def test_what_is_made_twice_is_equal_and_what_differs_is_not() -> None:
    first = {kind: made(kind) for kind in MAKERS}
    again = {kind: make() for kind, make in MAKERS.items()}
    assert again == first
    kinds = list(again)
    assert not any(again[one] == again[other] for one in kinds for other in kinds if one != other)
    data = first["dataset"]
    assert icmodel.Model(data, "hybrid") != icmodel.Model(data)
    assert hash(icmodel.Model(data)) == hash(first["model"])
    assert hash(icmodel.load(DATASET)) == hash(data)
    assert icmodel.load("ethernet-1g-2010") != data
    assert icmodel.Model(data).predict(**QUESTION | {"cores": 1}) != first["prediction"]
    assert icmodel.evaluate("imaging", data, strict=True) != first["evaluation"]


numbers = st.sampled_from((0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, float("nan")))


@settings(max_examples=times(30))
@given(numbers, numbers, numbers)
def test_absent_numbers_of_estimates_are_equal(value: float, low: float, high: float) -> None:
    """A copy has other NaNs than the original, as every new computation has."""
    one = icmodel.Estimate(value, low, high, "measured")
    fresh = icmodel.Estimate(float(repr(value)), float(repr(low)), float(repr(high)), "measured")
    limit = Requirement("in time", "latency_mean_s", at_most=1.0)
    assert fresh == one
    assert hash(fresh) == hash(one)
    assert judge(limit, fresh) == judge(limit, one)
    assert hash(judge(limit, fresh)) == hash(judge(limit, one))
    assert FrozenMapping({"a": one, "b": value}) == {"a": fresh, "b": fresh.value}
    assert icmodel.Estimate(value, low, high, "derived") != one
    assert icmodel.Estimate(2.5, low, high, "measured") != one
    assert one != one.ends


@pytest.mark.parametrize("variant", ["appendix-h", "corrected", "hybrid"])
def test_a_model_answers_alike_in_another_process(variant: str, tmp_path: Path) -> None:
    model = icmodel.Model(DATASET, variant)
    (tmp_path / "model").write_bytes(pickle.dumps(model))
    script = f"""
import json, pickle
model = pickle.load(open("model", "rb"))
print(json.dumps(model.predict(**{QUESTION!r}).goodput_bps.value))
"""
    environment = {
        "PYTHONPATH": str(checkout.ROOT),
        "HOME": str(tmp_path),
        "ICMODEL_CACHE": os.environ["ICMODEL_CACHE"],
    }
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(found.stdout) == model.predict(**QUESTION).goodput_bps.value


def test_a_frozen_mapping_equals_its_dict_and_cannot_be_changed() -> None:
    frozen = FrozenMapping({"cores": 4})
    assert frozen == {"cores": 4}
    assert list(frozen.items()) == [("cores", 4)]
    with pytest.raises(TypeError):
        frozen["cores"] = 5  # type: ignore[index]
