"""Valid ranges: single questions and arrays are refused with the same words."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import icmodel
from icmodel.errors import ScenarioError
from icmodel.ranges import MOST, VALID_RANGES

MODEL = icmodel.Model("ethernet-10g-2012", "hybrid")
ASKED: dict[str, Any] = {"protocol": "tcp", "payload_bytes": 1448}
WRONG = [
    (name, value)
    for name, possible in VALID_RANGES.items()
    for value in (-1, 0.5, MOST + 2, math.inf, 0)
    if not possible.allows(float(value))
    and not (value == math.inf and name in ("rate_fps", "requested_goodput_bps"))
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_one_and_many_are_refused_in_the_same_words(name: str, value: float) -> None:
    asked = {**ASKED, name: value}
    if name == "other_goodput_bps":
        asked["endpoints"] = 2
    columns: dict[str, Any] = {**asked, name: np.array([value]), "metrics": ("goodput_bps",)}
    with pytest.raises(ScenarioError, match=f"^{name} ") as many:
        MODEL.predict_many(**columns)
    assert f": give {VALID_RANGES[name].give}" in str(many.value)
    with pytest.raises(ScenarioError) as one:
        MODEL.predict(**asked)
    assert str(one.value).partition(": give")[2] == str(many.value).partition(": give")[2]


@pytest.mark.parametrize("value", [10**20, 1e20, "1e20", str(10**20), 10**400])
@pytest.mark.parametrize("name", [name for name, one in VALID_RANGES.items() if one.whole])
def test_a_count_above_its_maximum_is_told_the_maximum(name: str, value: object) -> None:
    asked: dict[str, Any] = {**ASKED, name: value}
    if name == "payload_bytes" and isinstance(value, str):
        return  # a size in bytes is a number
    for question in (MODEL.predict, MODEL.predict_many, partial(icmodel.sweep, MODEL)):
        with pytest.raises(ScenarioError, match=rf"^{name} .*: give a whole number .*{MOST}"):
            question(**asked)


@pytest.mark.parametrize("name", VALID_RANGES)
def test_of_an_array_each_number_is_allowed_as_it_is_by_itself(name: str) -> None:
    numbers = [-1.0, 0.0, 0.5, 1.0, 2.0, 1e12, float(MOST), MOST * 2.0, math.inf, math.nan]
    possible = VALID_RANGES[name]
    assert possible.allows(np.array(numbers)).tolist() == [
        bool(possible.allows(number)) for number in numbers
    ]
