"""An unknown keyword is refused by its name, and the nearest right name is offered."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import icmodel
from icmodel.keywords import advice, nearest
from icmodel.scenario import PARAMETERS, ScenarioArrays, ScenarioKeywords, scenario
from icmodel.sweep import sweep_to_file
from icmodel.system import predict
from search import times

MODEL = icmodel.Model("ethernet-10g-2012")
"""Model with the option axes nagle, priority, read and test."""


def asks(**keywords: object) -> list[Callable[[], object]]:
    """The calls that take the keywords of a question."""
    unchecked: dict[str, Any] = keywords
    return [
        lambda: MODEL.predict(**unchecked),
        lambda: MODEL.predict_many(**unchecked),
        lambda: icmodel.sweep(MODEL, **unchecked),
    ]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("protokol", "protocol"),
        ("paylod_bytes", "payload_bytes"),
        ("core", "cores"),
        ("nagel", "nagle"),
        ("outsde", "outside"),
        ("metric", "metrics"),
        ("option", "options"),
    ],
)
def test_a_misspelt_keyword_of_a_question_is_named_with_the_right_one(
    wrong: str, right: str
) -> None:
    for ask in asks(payload="64 B", **{wrong: "1"}):
        with pytest.raises(icmodel.ScenarioError, match=rf"{wrong!r}.* did you mean {right}\?"):
            ask()


def test_a_keyword_like_no_other_is_named_with_all() -> None:
    for ask in asks(payload="64 B", colour="red"):
        with pytest.raises(
            icmodel.ScenarioError, match=r"'colour'.* use one of app_recv, .* nagle, "
        ):
            ask()


def test_a_scenario_refuses_what_resembles_a_parameter_and_takes_other_axes() -> None:
    with pytest.raises(icmodel.ScenarioError, match=r"'protokol': did you mean protocol\?"):
        scenario(protokol="tcp", payload="64 B")
    assert scenario(protocol="tcp", payload="64 B", colour="red").options == {"colour": "red"}
    assert scenario(protocol="tcp", payload="64 B", options={"core": "x"}).options["core"] == "x"


CALLS: dict[str, tuple[Callable[..., object], tuple[object, ...]]] = {
    "varaint": (icmodel.evaluate, ("imaging", MODEL.data)),
    "variamt": (icmodel.Model, (MODEL.data,)),
    "dataset": (icmodel.compare_interconnects, ("imaging",)),
    "chache": (icmodel.recommend, ("imaging",)),
    "option": (icmodel.verify, ("imaging", "nowhere")),
    "cycels": (predict, (icmodel.system.load("lab-switch"),)),
}
RIGHT = {
    "varaint": "variant",
    "variamt": "variant",
    "dataset": "datasets",
    "chache": "cache",
    "option": "options",
    "cycels": "cycles",
}


@pytest.mark.parametrize("wrong", CALLS)
def test_a_misspelt_keyword_of_a_function_is_named_with_the_right_one(wrong: str) -> None:
    function, arguments = CALLS[wrong]
    with pytest.raises(TypeError, match=rf"{wrong!r}: did you mean {RIGHT[wrong]}\?"):
        function(*arguments, **{wrong: 1})


@settings(max_examples=times(30))
@given(st.sampled_from(PARAMETERS), st.data())
def test_a_name_with_one_letter_changed_is_found(name: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(name) - 1))
    wrong = f"{name[:place]}{name[place + 1 :]}"
    found = nearest(wrong, PARAMETERS)
    assert found
    assert advice(wrong, PARAMETERS) == f"did you mean {found}?"


def test_the_default_protocol_is_that_of_the_dataset() -> None:
    default = MODEL.data.default_protocol
    assert MODEL.predict(payload="64 B") == MODEL.predict(protocol=default, payload="64 B")
    many = MODEL.predict_many(payload_bytes=[64, 1448])
    assert many.identical(MODEL.predict_many(protocol=default, payload_bytes=[64, 1448]))
    grid = icmodel.sweep(MODEL, payload="64 B, 1448 B")
    assert grid.identical(icmodel.sweep(MODEL, payload="64 B, 1448 B", protocol=default))
    assert str(grid["protocol"].item()) == default


def test_a_scenario_beside_keywords_is_refused() -> None:
    with pytest.raises(
        icmodel.ScenarioError, match=r"as a Scenario and as keywords .rate.: give only one"
    ):
        MODEL.predict(icmodel.Scenario("tcp", 64), rate="1/s")


@pytest.mark.parametrize(
    ("function", "keywords"),
    [
        (icmodel.Model.predict, ScenarioKeywords),
        (icmodel.Model.predict_many, ScenarioArrays),
        (icmodel.Model.predict_arrays, ScenarioArrays),
        (icmodel.sweep, ScenarioArrays),
        (sweep_to_file, ScenarioArrays),
    ],
)
def test_help_and_tab_show_every_keyword_of_a_question(
    function: Callable[..., object], keywords: type
) -> None:
    listed = inspect.signature(function).parameters
    assert list(listed)[-1 - len(keywords.__annotations__) : -1] == list(keywords.__annotations__)
    assert "rate_fps: " in pydoc.render_doc(function)
    assert "ForwardRef" not in pydoc.render_doc(function)
