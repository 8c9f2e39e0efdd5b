"""Estimates and predictions: their order of bases, their absences, their JSON."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
from dataclasses import fields, replace
from functools import partial
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.estimate import (
    BASES,
    BOTTLENECKS,
    Estimate,
    Prediction,
    UsedRow,
    absent,
    interval,
    limit_name,
    long_name,
    metric_name,
    percent,
    plural,
    weakest,
)
from icmodel.scenario import Scenario

GOODPUT = Estimate(9.4e9, 9.35e9, 9.45e9, "stated", "", ("stated",))
ROW = UsedRow(7, "goodput_bps", 1448, math.inf, 9.4e9, "stated", "a table")


def prediction() -> Prediction:
    return Prediction(
        scenario=Scenario("tcp", 1448),
        dataset="some",
        sha256="0" * 64,
        variant="corrected",
        metrics=MappingProxyType({"goodput_bps": GOODPUT, "loss_rate": absent("not measured")}),
        bottleneck="wire",
        terms=MappingProxyType({"serialisation": 1e-6, "stack": math.nan}),
        bounds=MappingProxyType({"request": math.inf, "wire": 9.41e9}),
        rows=(ROW,),
        notes=("a note",),
    )


def test_the_order_of_bases_is_that_of_the_design() -> None:
    assert BASES == (
        "measured", "tabulated", "stated", "theory",
        "derived", "interpolated", "assumed", "extrapolated",
    )  # fmt: skip
    assert set(BOTTLENECKS) >= {"request", "cpu", "packet-rate", "wire", "share", "receiver"}


@given(st.lists(st.sampled_from(BASES), min_size=1))
def test_the_weakest_basis_is_never_stronger_than_another(bases: list[str]) -> None:
    least = weakest(bases)
    assert least in bases
    assert all(BASES.index(basis) <= BASES.index(least) for basis in bases)


def test_the_weakest_of_nothing_is_theory() -> None:
    assert weakest([]) == "theory"


@pytest.mark.parametrize(("a", "b"), list(itertools.pairwise(BASES)))
def test_of_two_neighbours_the_later_is_the_weaker(a: str, b: str) -> None:
    assert weakest((a, b)) == weakest((b, a)) == b


def test_an_absent_metric_is_nan_and_says_why() -> None:
    nothing = absent("not measured")
    assert nothing.absent
    assert math.isnan(nothing.value)
    assert nothing.why == "not measured"
    assert nothing.to_dict() == {
        "value": None, "low": None, "high": None, "basis": "", "bases": [], "why": "not measured",
    }  # fmt: skip
    assert not GOODPUT.absent


def test_metrics_are_attributes() -> None:
    told = prediction()
    assert told.goodput_bps is GOODPUT
    with pytest.raises(AttributeError, match=r"no metric 'goodput': did you mean goodput_bps"):
        _ = told.goodput  # type: ignore[attr-defined]
    with pytest.raises(KeyError, match=r"no metric 'speed': use one of goodput_bps, loss_rate"):
        _ = told["speed"]
    assert told["goodput_bps"] is GOODPUT
    assert float(told.goodput_bps) == GOODPUT.value
    assert math.isnan(float(told["loss_rate"]))
    assert list(told) == list(told.metrics)
    assert set(dir(told)) >= {"goodput_bps", "loss_rate", "explain"}
    assert not hasattr(told, "__array__")


def test_explain_gives_terms_and_bounds() -> None:
    why = prediction().explain()
    assert why.bottleneck == "wire"
    assert why.latency_terms["serialisation"] == 1e-6
    assert why.goodput_bounds["wire"] == 9.41e9


def test_the_json_document_is_plain_and_complete() -> None:
    document = prediction().to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["schema_version"] == 1
    assert document["dataset"] == {"id": "some", "sha256": "0" * 64}
    assert document["goodput_bps"] == GOODPUT.to_dict()
    assert document["loss_rate"] == absent("not measured").to_dict()
    assert document["terms"] == {"serialisation": 1e-6, "stack": None}
    assert document["bounds"] == {"request": None, "wire": 9.41e9}
    assert document["rows"] == [ROW.to_dict()]
    assert ROW.to_dict()["load_bps"] == "inf"


def test_predictions_cannot_be_written_into() -> None:
    told = prediction()
    with pytest.raises(AttributeError):
        told.bottleneck = "cpu"  # type: ignore[misc]
    with pytest.raises(TypeError):
        told.metrics["goodput_bps"] = GOODPUT  # type: ignore[index]
    with pytest.raises(AttributeError):
        GOODPUT.value = 1.0  # type: ignore[misc]


def test_an_estimate_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(GOODPUT)) == GOODPUT


def test_late_fields_are_computed_once_when_first_read() -> None:
    read: list[str] = []
    parts = {"basis": "stated", "why": "", "bases": ("stated",)}

    def compute(name: str) -> object:
        read.append(name)
        return parts[name]

    def late() -> Estimate:
        return Estimate.later(compute, value=9.4e9, low=9.35e9, high=9.45e9)

    one = late()
    assert (float(one), one.ends, one.absent, read) == (9.4e9, GOODPUT.ends, False, [])
    assert (one.basis, one.basis, read) == ("stated", "stated", ["basis"])
    assert pickle.loads(pickle.dumps(late())) == copy.deepcopy(late()) == GOODPUT == late()
    assert hash(late()) == hash(GOODPUT)
    assert replace(late(), why="so") == replace(GOODPUT, why="so")
    assert late().to_dict() == GOODPUT.to_dict()
    with pytest.raises(AttributeError, match="no attribute 'bass'"):
        _ = late().bass  # type: ignore[attr-defined]


def test_a_prediction_has_late_fields_too() -> None:
    told = prediction()
    names = ("terms", "bounds", "rows", "notes")
    known = {one.name: getattr(told, one.name) for one in fields(told) if one.name not in names}

    def late() -> Prediction:
        return Prediction.later(partial(getattr, told), **known)

    assert vars(late()).keys().isdisjoint(names)
    assert (late(), late().notes, late().goodput_bps) == (told, ("a note",), GOODPUT)
    assert {*names, "goodput_bps"} <= set(dir(late()))
    assert late().to_dict() == told.to_dict()
    assert copy.copy(late()) == told
    with pytest.raises(AttributeError, match="no metric 'note'"):
        _ = late().note  # type: ignore[attr-defined]


# --- words and numbers for people --------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("goodput_bps", "goodput"),
        ("latency_mean_s", "mean latency"),
        ("latency_p99_s", "p99 latency"),
        ("latency_std_s", "σ of latency"),
        ("rtt_half_max_s", "greatest half round trip"),
        ("rtt_mean_s", "mean round trip"),
        ("cpu_recv", "receiving CPU"),
        ("cpu_send_cores", "sending CPU in cores"),
        ("cpu_recv_process_cores", "receiving CPU of the process in cores"),
        ("cpu_send_softirq", "sending CPU, softirq time"),
        ("something_else_s", "something_else_s"),
    ],
)
def test_metrics_have_names(metric: str, name: str) -> None:
    assert metric_name(metric) == name


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1e-6, 2e-6, "1 – 2 µs"),
        (9e-7, 2e-6, "900 ns – 2 µs"),
        (0.0, 2e-6, "0 s – 2 µs"),
        (2e-6, 2e-6, "exact"),
        (1.00001e-6, 1.00002e-6, "1.00001 – 1.00002 µs"),
        (1e-6, 1.000000001e-6, "about 1 µs"),
        (8.5e-9, float("inf"), "at least 8.5 ns"),
    ],
)
def test_intervals_are_short(low: float, high: float, said: str) -> None:
    assert interval("latency_mean_s", Estimate(high, low, high, "measured")) == said


def test_an_absent_estimate_has_no_interval() -> None:
    assert interval("goodput_bps", absent("not measured")) == ""


def test_small_words() -> None:
    assert [plural(n, "switch") for n in (1, 2)] == ["1 switch", "2 switches"]
    assert plural(3, "row") == "3 rows"
    assert [percent(x) for x in (0.00742, 0.0508, 1.234, -0.5)] == [
        "0.74 %",
        "5.1 %",
        "123 %",
        "−50 %",
    ]
    assert [limit_name(x) for x in ("cpu", "unknown", "serialisation")] == [
        "the CPU",
        "",
        "serialisation",
    ]


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("goodput_bps_low", "goodput (low end of the interval)"),
        ("latency_mean_s_high", "mean latency (high end of the interval)"),
        ("cpu_recv_basis", "receiving CPU (weakest basis)"),
        ("payload_bytes", "payload bytes"),
        ("bottleneck", "bottleneck"),
    ],
)
def test_columns_have_long_names(column: str, name: str) -> None:
    assert long_name(column) == name
