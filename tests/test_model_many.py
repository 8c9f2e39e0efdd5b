"""Whole arrays of questions: broadcasting, labels, choice of metrics, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import generated
from icmodel.dataset import Dataset, catalogue, load
from icmodel.errors import IcmodelError, OutOfDomain, ScenarioError, UnitError
from icmodel.estimate import BASES, BOTTLENECKS, Prediction
from icmodel.model import PUBLISHED, Model
from icmodel.model.many import even_block
from icmodel.scenario import Scenario
from points import Row
from search import times

CENTRAL = load("ethernet-10g-2012")
MODEL = Model(CENTRAL)
TCP = CENTRAL.protocols.index("tcp")
UDP = CENTRAL.protocols.index("udp")


# --- the same answers as one by one -------------------------------------------------------------


def ask_all(model: Model, scenarios: Sequence[Scenario], outside: str) -> xr.Dataset:
    """The scenarios, which share their options, as columns."""

    def column(
        values: list[float | None], unsaid: float
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([unsaid if value is None else float(value) for value in values])

    options: dict[str, Any] = dict(scenarios[0].options)
    return model.predict_many(
        protocol=np.array([model.data.protocols.index(s.protocol) for s in scenarios]),
        payload_bytes=np.array([s.payload_bytes for s in scenarios]),
        rate_fps=column([s.rate_fps for s in scenarios], math.inf),
        cores=column([s.cores for s in scenarios], math.nan),
        switches=np.array([s.switches for s in scenarios]),
        endpoints=np.array([s.endpoints for s in scenarios]),
        other_goodput_bps=np.array([s.other_goodput_bps for s in scenarios]),
        distance_m=column([s.distance_m for s in scenarios], math.nan),
        outside=outside,
        **options,
    )


def columns_of(many: xr.Dataset) -> dict[str, NDArray[Any]]:
    """The answers without labels."""
    return {str(name): column.to_numpy() for name, column in many.variables.items()}


def check(many: Mapping[str, NDArray[Any]], index: int, one: Prediction) -> None:
    """Every metric, interval, basis and the bottleneck to the last bit."""
    assert BOTTLENECKS[int(many["bottleneck"][index])] == one.bottleneck, one.scenario
    for name in (name for name in many if f"{name}_basis" in many):
        found = [float(many[name + ending][index]) for ending in ("", "_low", "_high")]
        code = int(many[f"{name}_basis"][index])
        estimate = one.metrics.get(name)
        if estimate is None or estimate.absent:
            assert all(map(math.isnan, found)), (name, one.scenario, found)
            assert code == -1, (name, one.scenario)
        else:
            assert found == [estimate.value, estimate.low, estimate.high], (name, one.scenario)
            assert BASES[code] == estimate.basis, (name, one.scenario)


def compare(data: Dataset, variant: str, scenarios: Sequence[Scenario], outside: str) -> None:
    model = Model(data, variant)
    for options in sorted({scenario.options for scenario in scenarios}, key=repr):
        alike = [scenario for scenario in scenarios if scenario.options == options]
        try:
            many = columns_of(ask_all(model, alike, "nan" if outside == "refuse" else outside))
        except OutOfDomain:  # no row of any protocol: then none alone either
            many = None
        for index, scenario in enumerate(alike):
            try:
                one = model.predict(scenario, outside=outside)
            except OutOfDomain:
                assert many is None or math.isnan(many["goodput_bps"][index])
                continue
            assert many is not None
            check(many, index, one)


@pytest.mark.sampled
@pytest.mark.parametrize("variant", PUBLISHED)
@pytest.mark.parametrize("outside", ["refuse", "extrapolate"])
def test_the_central_dataset_is_answered_as_one_by_one(variant: str, outside: str) -> None:
    asker = generated.Asker(CENTRAL, seed=11, beyond=outside == "extrapolate")
    compare(CENTRAL, variant, asker.scenarios(times(30)), outside)


@pytest.mark.sampled
@pytest.mark.parametrize("name", catalogue())
def test_every_bundled_dataset_is_answered_as_one_by_one(name: str) -> None:
    data = load(name)
    compare(data, "corrected", generated.Asker(data, seed=12).scenarios(times(6)), "refuse")


@settings(max_examples=times(10))
@given(generated.datasets, st.integers(0, 1000), st.sampled_from(PUBLISHED), st.booleans())
def test_generated_datasets_are_answered_as_one_by_one(
    data: Dataset, seed: int, variant: str, beyond: bool
) -> None:
    scenarios = generated.Asker(data, seed, beyond=beyond).scenarios(10)
    compare(data, variant, scenarios, "extrapolate" if beyond else "refuse")


@pytest.mark.parametrize("name", catalogue())
def test_a_protocol_alone_is_answered_as_among_others(name: str) -> None:
    """The same columns in the same order, with the same bits."""
    model, payload = Model(name), np.array([1, 64, 1448, 65_000])
    every, count = len(model.data.protocols), len(payload)
    together = model.predict_many(
        protocol=np.arange(every).repeat(count),
        payload_bytes=np.tile(payload, every),
        outside="nan",
    )
    for k, protocol in enumerate(model.data.protocols):
        alone = model.predict_many(protocol=protocol, payload_bytes=payload, outside="nan")
        assert alone.identical(together.isel(point=slice(k * count, (k + 1) * count)))


@pytest.mark.parametrize("count", [1, 9, 10, 11, 99, 100, 101, 1234])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_blocks_are_no_larger_than_allowed_and_end_together(count: int, threads: int) -> None:
    block = even_block(count, 10, threads)
    assert 1 <= block <= 10
    if count > 10:
        rounds = math.ceil(math.ceil(count / block) / threads)
        assert rounds * block < count / threads + rounds + 1


def test_blocks_and_threads_change_nothing() -> None:
    rng = np.random.default_rng(1)
    question: dict[str, Any] = {
        "protocol": rng.integers(0, 3, 70_001),
        "payload_bytes": rng.integers(1, 1501, 70_001),
        "rate_fps": np.exp(rng.uniform(0, 18, 70_001)),
        "cores": rng.integers(1, 5, 70_001),
    }
    names = ["goodput_bps", "latency_mean_s", "cpu_send", "loss_rate", "bottleneck"]
    whole = MODEL.predict_many(**question, metrics=names, threads=2)
    part = MODEL.predict_many(**{k: v[40_000:40_100] for k, v in question.items()}, metrics=names)
    xr.testing.assert_identical(whole.isel(point=slice(40_000, 40_100)), part)
    xr.testing.assert_identical(whole, MODEL.predict_many(**question, metrics=names, threads=1))


# --- shapes and labels ----------------------------------------------------------------------------


def test_one_question_gives_numbers_without_dimension() -> None:
    told = MODEL.predict_many(protocol="tcp", payload="65535 B", rate="6700/s")
    assert told.goodput_bps.shape == ()
    assert float(told.goodput_bps) == 3_512_676_000


def test_arrays_broadcast_as_numpy_does() -> None:
    told = MODEL.predict_many(
        protocol="tcp", payload_bytes=np.array([[1000], [2000]]), rate_fps=np.array([1.0, 2.0, 3.0])
    )
    assert told.goodput_bps.dims == ("dim_0", "dim_1")
    assert told.goodput_bps.values.tolist() == [[8e3, 16e3, 24e3], [16e3, 32e3, 48e3]]
    line = MODEL.predict_many(protocol="tcp", payload_bytes=[1000, 2000], rate_fps=1.0)
    assert line.goodput_bps.dims == ("point",)
    assert line.goodput_bps.values.tolist() == [8e3, 16e3]


def test_labelled_arrays_broadcast_by_dimension_and_keep_their_labels() -> None:
    payload = xr.DataArray([1000, 2000], dims="payload", coords={"payload": [1000, 2000]})
    rate = xr.DataArray([1.0, 2.0, 3.0], dims="rate")
    told = MODEL.predict_many(protocol="tcp", payload_bytes=payload, rate_fps=rate, cores=4)
    assert told.goodput_bps.dims == ("payload", "rate")
    assert told.payload.values.tolist() == [1000, 2000]
    assert float(told.goodput_bps.sel(payload=2000).isel(rate=2)) == 48e3
    turned = MODEL.predict_many(protocol="tcp", rate_fps=rate, payload_bytes=payload, cores=4)
    xr.testing.assert_equal(told, turned.transpose(*told.goodput_bps.dims))


def test_variables_without_labels_serve_too() -> None:
    told = MODEL.predict_many(
        protocol="tcp", payload_bytes=xr.Variable("p", [1000, 2000]), rate_fps=1
    )
    assert told.goodput_bps.dims == ("p",)


def test_no_questions_give_no_answers() -> None:
    told = MODEL.predict_many(protocol="tcp", payload_bytes=np.array([], dtype=int))
    assert told.goodput_bps.shape == (0,)


def test_protocols_and_options_are_one_text_or_codes() -> None:
    nagle = CENTRAL.option_values("nagle")
    told = MODEL.predict_many(
        protocol=[TCP, TCP],
        payload_bytes=64,
        options={"nagle": [nagle.index("on"), nagle.index("off")]},
    )
    for index, value in enumerate(("on", "off")):
        one = MODEL.predict(protocol="tcp", payload_bytes=64, options={"nagle": value})
        check(columns_of(told), index, one)
    assert told.goodput_bps[0] > told.goodput_bps[1]
    text = MODEL.predict_many(protocol="tcp", payload_bytes=[64], nagle="off")  # type: ignore[call-arg]
    assert float(text.goodput_bps[0]) == float(told.goodput_bps[1])


# --- what comes back ------------------------------------------------------------------------------


def test_every_metric_has_its_interval_and_basis() -> None:
    told = MODEL.predict_many(protocol="udp", payload_bytes=[64, 1472])
    one = MODEL.predict(protocol="udp", payload_bytes=64)
    names = set(map(str, told.data_vars))
    for metric in one.metrics:
        assert {metric, f"{metric}_low", f"{metric}_high", f"{metric}_basis"} <= names
    assert "bottleneck" in names


def test_codes_say_what_they_mean() -> None:
    told = MODEL.predict_many(protocol="udp", payload_bytes=[64])
    assert told.attrs == {
        "dataset": CENTRAL.id,
        "sha256": CENTRAL.sha256,
        "variant": "corrected",
    }
    assert told.bottleneck.dtype == np.int8
    for name, variable in told.data_vars.items():
        assert variable.attrs["long_name"], name
        assert ("units" in variable.attrs) is not ("flag_meanings" in variable.attrs), name
    assert told.latency_mean_s.attrs["units"] == "s"
    assert told.cpu_send.attrs["units"] == "1"
    assert told.goodput_bps_low.attrs["long_name"] == "goodput (low end of the interval)"
    assert told.bottleneck.attrs["flag_meanings"].split() == list(BOTTLENECKS)
    assert told.goodput_bps_basis.dtype == np.int8
    assert told.goodput_bps_basis.attrs["flag_meanings"].split() == list(BASES)
    assert told.goodput_bps_basis.attrs["flag_values"] == list(range(len(BASES)))


def test_only_the_wanted_metrics_come_back() -> None:
    told = MODEL.predict_many(
        protocol="tcp", payload_bytes=[64], metrics=("cpu_send", "bottleneck"), intervals=False
    )
    assert set(told.data_vars) == {"cpu_send", "bottleneck"}
    whole = MODEL.predict_many(protocol="tcp", payload_bytes=[64])
    assert float(told.cpu_send[0]) == float(whole.cpu_send[0])
    assert int(told.bottleneck[0]) == int(whole.bottleneck[0])


@pytest.mark.parametrize("name", ["goodput_bps", "loss_rate", "shortfall_bps", "frames_per_s"])
def test_a_metric_alone_is_the_metric_among_all(name: str) -> None:
    payload = np.array([64, 1472, 65507])
    whole = MODEL.predict_many(protocol="udp", payload_bytes=payload)
    alone = MODEL.predict_many(protocol="udp", payload_bytes=payload, metrics=[name])
    endings = ("", "_low", "_high", "_basis")
    assert set(alone.data_vars) == {name + ending for ending in endings}
    xr.testing.assert_identical(alone, whole[[name + ending for ending in endings]])


def test_without_intervals_the_values_are_the_same() -> None:
    payload = np.arange(1, 65508, 97)
    whole = MODEL.predict_many(protocol="udp", payload_bytes=payload, rate_fps=20_000.0)
    bare = MODEL.predict_many(
        protocol="udp", payload_bytes=payload, rate_fps=20_000.0, intervals=False
    )
    assert not [name for name in bare.data_vars if str(name).endswith(("_low", "_high", "_basis"))]
    for name in bare.data_vars:
        np.testing.assert_array_equal(bare[name], whole[name])


def test_a_metric_the_dataset_lacks_is_nan_not_memory() -> None:
    told = Model(load("dds-1g")).predict_many(protocol="dds", payload_bytes=np.full(1000, 1000))
    assert np.isnan(told.latency_mean_s).all()
    assert np.isnan(told.latency_mean_s_low).all()
    assert (told.latency_mean_s_basis == -1).all()


# --- outside --------------------------------------------------------------------------------------

OUTSIDE: dict[str, Any] = {
    "protocol": "udp",
    "payload_bytes": np.array([100, 65508, 200]),
    "cores": np.array([4, 4, 5]),
}


def test_outside_refuses_naming_the_first_and_the_count() -> None:
    with pytest.raises(
        OutOfDomain, match=r"2 of 3 questions are outside ethernet-10g-2012.*\(1,\)"
    ):
        MODEL.predict_many(**OUTSIDE)


def test_outside_can_be_nan() -> None:
    told = MODEL.predict_many(**OUTSIDE, outside="nan")
    assert np.isnan(told.goodput_bps.values).tolist() == [False, True, True]
    assert np.isnan(told.cpu_send_high.values).tolist() == [False, True, True]
    assert told.cpu_send_basis.values.tolist()[1:] == [-1, -1]
    assert BOTTLENECKS[int(told.bottleneck[1])] == "unknown"


def test_outside_can_be_extrapolated_but_never_the_impossible() -> None:
    beyond = MODEL.predict_many(
        protocol="udp", payload_bytes=[100], cores=[5], outside="extrapolate"
    )
    assert BASES[int(beyond.goodput_bps_basis[0])] == "extrapolated"
    with pytest.raises(OutOfDomain, match="1 of 1 questions"):
        MODEL.predict_many(protocol="udp", payload_bytes=[65508], outside="extrapolate")


def test_many_payloads_far_outside_have_the_theory_of_their_own() -> None:
    rows = [
        Row("tcp", metric, Decimal(value), "measured", "a test", payload_bytes=1000)
        for metric, value in (("goodput_bps", "900000000"), ("latency_mean_s", "0.000001"))
    ]
    link = {"kind": "ethernet", "line_rate_bps": 1e9, "mtu_bytes": 1500}
    model = Model(generated.from_rows(rows, link))
    payload = np.arange(1001, 4001)
    many = model.predict_many(protocol="tcp", payload_bytes=payload, outside="extrapolate")
    for index in (0, 1000, 2999):
        scenario = Scenario("tcp", int(payload[index]))
        check(columns_of(many), index, model.predict(scenario, outside="extrapolate"))
        assert float(many.latency_mean_s[index]) == model.least_latency_s(scenario)


def test_what_a_dataset_has_no_rule_for_is_outside() -> None:
    model = Model(load("dds-1g"))
    for extra in ({"switches": 1}, {"distance_m": 5.0}, {"cores": 4}):
        for outside in ("refuse", "extrapolate"):
            with pytest.raises(OutOfDomain):
                model.predict_many(protocol="dds", payload_bytes=[1000], outside=outside, **extra)


@pytest.mark.parametrize(
    ("question", "error", "named"),
    [
        ({"protocol": "sctp"}, OutOfDomain, ("sctp", "ethernet, tcp, udp")),
        ({"protocol": [0, 3]}, ScenarioError, ("protocol", "0 to 2")),
        ({"protocol": [0.5]}, ScenarioError, ("protocol", "whole numbers")),
        ({"payload_bytes": None}, ScenarioError, ("no payload",)),
        ({"payload_bytes": 0}, ScenarioError, ("payload_bytes",)),
        ({"payload_bytes": [1.5]}, ScenarioError, ("payload_bytes", "whole")),
        ({"payload_bytes": [math.nan]}, ScenarioError, ("payload_bytes",)),
        ({"payload": 64}, ScenarioError, ("payload", "unit")),
        ({"payload": "64"}, UnitError, ("64",)),
        ({"payload": "64 B", "payload_bytes": 64}, ScenarioError, ("payload_bytes", "twice")),
        ({"rate_fps": 0}, ScenarioError, ("rate_fps", "above 0")),
        ({"rate_fps": [1.0, -1.0]}, ScenarioError, ("rate_fps",)),
        ({"rate_fps": math.nan}, ScenarioError, ("rate_fps",)),
        ({"rate_fps": 1, "requested_goodput_bps": 8}, ScenarioError, ("both",)),
        ({"cores": 0}, ScenarioError, ("cores",)),
        ({"cores": [2.5]}, ScenarioError, ("cores", "whole")),
        ({"switches": -1}, ScenarioError, ("switches",)),
        ({"endpoints": 0}, ScenarioError, ("endpoints",)),
        ({"other_goodput_bps": 1e9}, ScenarioError, ("endpoints", "others")),
        ({"endpoints": 2, "other_goodput_bps": -1.0}, ScenarioError, ("other_goodput_bps",)),
        ({"endpoints": 2, "other_goodput_bps": math.inf}, ScenarioError, ("other_goodput_bps",)),
        ({"distance_m": -1.0}, ScenarioError, ("distance_m",)),
        ({"distance_m": math.inf}, ScenarioError, ("distance_m",)),
        ({"nagle": "maybe"}, OutOfDomain, ("nagle", "maybe", "off, on")),
        ({"nagle": [9]}, ScenarioError, ("nagle", "off, on")),
        ({"colour": "red"}, ScenarioError, ("colour", "nagle")),
        ({"options": {"colour": [0]}}, OutOfDomain, ("colour",)),
        ({"metrics": ["speed"]}, OutOfDomain, ("speed", "goodput_bps")),
        ({"outside": "maybe"}, ScenarioError, ("maybe", "refuse, nan, extrapolate")),
        (
            {"payload_bytes": np.ones(2, dtype=int), "rate_fps": np.ones(3)},
            ScenarioError,
            ("broadcast", "payload_bytes", "rate_fps"),
        ),
        (
            {"payload_bytes": xr.DataArray([64], dims="p"), "rate_fps": np.ones(3)},
            ScenarioError,
            ("labelled",),
        ),
        (
            {
                "payload_bytes": xr.DataArray([64, 65], dims="p", coords={"p": [0, 1]}),
                "cores": xr.DataArray([1, 2], dims="p", coords={"p": [1, 2]}),
            },
            ScenarioError,
            ("label",),
        ),
    ],
)
def test_a_wrong_question_is_refused_in_one_sentence(
    question: dict[str, object], error: type[IcmodelError], named: tuple[str, ...]
) -> None:
    whole: dict[str, Any] = {"protocol": "tcp"}
    if "payload" not in question:
        whole["payload_bytes"] = 64
    with pytest.raises(error) as refused:
        MODEL.predict_many(**(whole | question))
    message = str(refused.value)
    assert "\n" not in message
    for word in named:
        assert word in message


def test_wrong_questions_are_found_wherever_they_stand() -> None:
    rate = np.ones(100_000)
    rate[77_777] = -1
    with pytest.raises(ScenarioError, match="rate_fps"):
        MODEL.predict_many(protocol="tcp", payload_bytes=64, rate_fps=rate)


@pytest.mark.parametrize("outside", ["refuse", "extrapolate"])
@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("ethernet-10g-2012", {"protocol": "ethernet", "payload_bytes": 64, "read": "blocking"}),
        ("ethernet-10g-2012", {"protocol": "udp", "payload_bytes": 64, "nagle": "off"}),
        ("dds-1g", {"protocol": "dds", "payload_bytes": 64, "switches": 1}),
        ("ethernet-10g-2012", {"protocol": "udp", "payload_bytes": 65_508}),
    ],
)
def test_many_are_refused_where_one_is_and_for_the_same_reason(
    name: str, question: dict[str, Any], outside: str
) -> None:
    model = Model(load(name))
    with pytest.raises(OutOfDomain) as one:
        model.predict(**question, outside=outside)
    with pytest.raises(OutOfDomain) as many:
        model.predict_many(**question, outside=outside)
    assert str(one.value) in str(many.value)


def test_where_an_option_has_no_rows_of_a_protocol_there_is_no_answer() -> None:
    told = MODEL.predict_many(
        protocol=[0, 1, 2],
        payload_bytes=64,
        options={"nagle": "off"},
        outside="nan",
        metrics=["goodput_bps"],
    )
    has = [bool(CENTRAL.select(name, {"nagle": "off"})) for name in CENTRAL.protocols]
    assert list(~np.isnan(told.goodput_bps.values)) == has
    with pytest.raises(OutOfDomain, match="2 of 3"):
        MODEL.predict_many(protocol=[0, 1, 2], payload_bytes=64, options={"nagle": "off"})


@pytest.mark.parametrize("name", catalogue())
def test_a_default_said_aloud_changes_nothing(name: str) -> None:
    data = load(name)
    model = Model(data, "corrected")
    for protocol in data.protocols:
        sizes = sorted({p.payload_bytes for p in data.select(protocol, {}) if p.payload_bytes})
        question: dict[str, Any] = {"protocol": protocol, "payload_bytes": sizes or [64]}
        try:
            unsaid = model.predict_many(**question, outside="nan")
        except OutOfDomain:  # it has no rows at the defaults
            continue
        for axis, value in data.option_defaults.items():
            if value:
                aloud = {**question, axis: value}
                said = model.predict_many(**aloud, outside="nan")
                xr.testing.assert_identical(said, unsaid)
        said = model.predict_many(**question, endpoints=1, other_goodput_bps=0.0, outside="nan")
        xr.testing.assert_identical(said, unsaid)


def test_plain_arrays_are_those_of_the_dataset() -> None:
    asked: dict[str, Any] = {"protocol": "tcp", "payload_bytes": [[64, 1448]], "rate_fps": 1e3}
    grid, arrays = MODEL.predict_many(**asked), MODEL.predict_arrays(**asked)
    assert list(arrays) == list(grid.data_vars)
    for name, values in arrays.items():
        assert np.array_equal(values, grid[name].values, equal_nan=values.dtype.kind == "f")
