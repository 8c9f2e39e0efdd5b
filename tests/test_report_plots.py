"""Plots: the numbers and encodings of the specifications, and pictures of them."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import checkout
from conftest import run
from fits_case import lab
from icmodel.dataset import catalogue, load
from icmodel.errors import OutOfDomain, ReportError, ScenarioError
from icmodel.model import Model
from icmodel.plotting import drawable, save, svg, ticks
from icmodel.report.plots import BORROWED, metric_plot, profile
from icmodel.report.vega import (
    HERE,
    LIMIT,
    PREDICTED,
    REQUESTED,
    SHADES,
    SHAPES,
    THEORY,
    is_small,
)
from icmodel.requirement import Requirement
from icmodel.scenario import Options, Scenario, scenario
from search import mostly_long, times
from small_case import GOODPUT_BPS, LATENCY_S, LOADS, small_dataset

ASKED = scenario(protocol="tcp", payload_bytes=1024, requested_goodput="200 Mb/s")
FASTEST = scenario(protocol="tcp", payload_bytes=1024)
Spec = dict[str, Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return Model(small_dataset(tmp_path_factory.mktemp("small")))


def layers(spec: Spec, data: str) -> list[Spec]:
    """Layers that draw some rows, with the encoding that all layers share."""
    return [
        layer | {"encoding": merged(spec["encoding"], layer["encoding"])}
        for layer in spec["layer"]
        if layer["data"]["name"] == data
    ]


def merged(shared: Spec, own: Spec) -> Spec:
    """A layer's encoding as Vega-Lite reads it: each channel over the one that all layers share."""
    return shared | {
        name: shared.get(name, {}) | channel if isinstance(channel, dict) else channel
        for name, channel in own.items()
    }


def by(rows: list[Spec], field: str) -> dict[float, Spec]:
    return {row[field]: row for row in rows}


# --- the numbers ------------------------------------------------------------------------------


def test_goodput_over_payload_has_the_benchmarks_the_bound_and_the_request(model: Model) -> None:
    wanted = Requirement("arrives", "goodput_bps", at_least=4e8)
    spec = metric_plot(model, "goodput_bps", "payload", ASKED, requirement=wanted)
    data = spec["datasets"]
    predicted = by(data["predicted"], "payload_bytes")
    for payload, goodput in GOODPUT_BPS.items():
        assert predicted[payload]["goodput_bps"] == goodput
    points = {row["payload_bytes"]: row for row in data["benchmarked"]}
    assert {payload: row["goodput_bps"] for payload, row in points.items()} == GOODPUT_BPS
    assert all(row["low"] == 0.9 * row["goodput_bps"] for row in points.values())
    assert {row["basis"] for row in points.values()} == {"measured"}
    assert {row["goodput_bps"] for row in data["requested"]} == {2e8}
    assert [row["goodput_bps"] for row in data["limit"]] == [4e8]
    assert len(data["here"]) == 1
    assert data["here"][0]["payload_bytes"] == 1024
    assert data["here"][0]["goodput_bps"] == 2e8
    for row in data["theory"]:
        asked = scenario(protocol="tcp", payload_bytes=int(row["payload_bytes"]))
        assert row["goodput_bps"] == model.greatest_goodput_bps(asked)


def test_every_step_is_what_the_model_predicts(model: Model) -> None:
    spec = metric_plot(model, "latency_mean_s", "load", ASKED)
    assert len(spec["datasets"]["predicted"]) > 48
    for row in spec["datasets"]["predicted"]:
        rate = row["requested_goodput_bps"] / (1024 * 8)
        found = model.predict(protocol="tcp", payload_bytes=1024, rate_fps=rate).latency_mean_s
        assert (row["latency_mean_s"], row["low"], row["high"]) == (
            found.value,
            found.low,
            found.high,
        )
        assert row["basis"] == found.basis


def test_over_payload_the_requested_goodput_stays(model: Model) -> None:
    spec = metric_plot(model, "latency_mean_s", "payload", ASKED)
    for row in spec["datasets"]["predicted"]:
        payload = int(row["payload_bytes"])
        found = model.predict(
            protocol="tcp", payload_bytes=payload, requested_goodput_bps=2e8
        ).latency_mean_s
        assert row["latency_mean_s"] == pytest.approx(found.value, rel=1e-12)


def test_over_load_an_unlimited_row_stands_at_the_right_end(model: Model) -> None:
    spec = metric_plot(model, "latency_mean_s", "load", FASTEST)
    data = spec["datasets"]
    right = data["predicted"][-1]["requested_goodput_bps"]
    found = {row["load"]: row for row in data["benchmarked"]}
    assert set(found) == {"10 Mb/s", "500 Mb/s", "unlimited"}
    assert found["unlimited"]["requested_goodput_bps"] == right
    assert found["500 Mb/s"]["requested_goodput_bps"] == 5e8
    for (_, as_long, _), said in zip(LOADS, found, strict=True):
        assert found[said]["latency_mean_s"] == pytest.approx(float(LATENCY_S[1024]) * as_long)
    assert data["here"][0]["requested_goodput_bps"] == right
    assert right > max(GOODPUT_BPS.values())


def test_goodput_over_load_meets_the_diagonal_until_capacity(model: Model) -> None:
    data = metric_plot(model, "goodput_bps", "load", ASKED)["datasets"]
    assert all(row["goodput_bps"] == row["requested_goodput_bps"] for row in data["requested"])
    for row in data["predicted"]:
        capacity = GOODPUT_BPS[1024]
        assert row["goodput_bps"] == pytest.approx(min(row["requested_goodput_bps"], capacity))


def test_extrapolated_steps_are_pieces_of_their_own_without_a_gap(model: Model) -> None:
    rows = metric_plot(model, "cpu_recv", "load", ASKED)["datasets"]["predicted"]
    pieces: dict[int, list[Spec]] = {}
    for row in rows:
        pieces.setdefault(row["piece"], []).append(row)
    assert len(pieces) > 1
    for piece in pieces.values():
        assert len({row["extrapolated"] for row in piece}) == 1
        if not piece[0]["extrapolated"]:
            assert "extrapolated" not in {row["basis"] for row in piece}
    for left, right in zip(list(pieces.values()), list(pieces.values())[1:], strict=False):
        assert left[-1]["requested_goodput_bps"] == right[0]["requested_goodput_bps"]


def test_over_cores_each_benchmarked_count_is_a_step() -> None:
    model = Model(load("ethernet-10g-2012"))
    asked = scenario(protocol="ethernet", payload_bytes=512)
    data = metric_plot(model, "goodput_bps", "cores", asked)["datasets"]
    assert [row["cores"] for row in data["predicted"][1:]] == [1, 2, 3, 4][1:]
    assert {row["cores"] for row in data["benchmarked"]} == {1, 2, 3, 4}
    assert data["here"][0]["cores"] == 4


def test_the_points_are_the_rows_the_predictions_rest_on(model: Model) -> None:
    walk = profile(model, ASKED, "payload")
    used = {row.line for step in walk.steps for row in step.prediction.rows}
    lines = {point.line for point in walk.points("latency_mean_s")}
    assert lines <= used
    assert {p.metric for p in walk.points("latency_mean_s")} == {"latency_mean_s"}
    assert {p.load_bps for p in walk.points("latency_mean_s")} >= {1e7, 5e8}


def test_over_load_the_axis_holds_every_point_the_predictions_rest_on() -> None:
    """Benchmarks ask for up to 6 Gb/s of frames that could never carry it."""
    model = Model(lab(protocols=("udp",)), "hybrid")
    for payload in (16, 24, 64):
        spec = metric_plot(model, "goodput_bps", "load", Scenario("udp", payload))
        left, right = layers(spec, "predicted")[0]["encoding"]["x"]["scale"]["domain"]
        rows = spec["datasets"]["benchmarked"]
        loads = [row["requested_goodput_bps"] for row in rows]
        assert left <= min(loads) <= max(loads) <= right
        assert spec["datasets"]["predicted"][-1]["requested_goodput_bps"] == right
        assert max(loads) >= 6e9


def test_points_of_other_payloads_are_named_and_shaded(model: Model) -> None:
    between = scenario(protocol="tcp", payload_bytes=256)
    spec = metric_plot(model, "goodput_bps", "load", between)
    rows = spec["datasets"]["benchmarked"]
    assert {row["payload"]: row["group"] for row in rows} == {
        "64 B": "measured, 64 B",
        "1024 B": "measured, 1024 B",
    }
    points = layers(spec, "benchmarked")[-1]["encoding"]
    assert "payload" in [tip["field"] for tip in points["tooltip"]]
    names = ["measured, 64 B", "measured, 1024 B"]
    assert points["shape"]["scale"]["domain"] == [*names, HERE]
    fills = [one["value"] for one in points["fill"]["condition"]]
    assert fills == list(SHADES[1:])
    legend = points["shape"]["legend"]["encoding"]["symbols"]["fill"]["condition"]
    assert [one["value"] for one in legend[1:]] == fills
    for name in names:
        assert name in svg(spec)
    own = metric_plot(model, "goodput_bps", "load", FASTEST)["datasets"]["benchmarked"]
    assert {(row["group"], row["shade"]) for row in own} == {("measured", 0)}
    over = metric_plot(model, "goodput_bps", "payload", between)["datasets"]["benchmarked"]
    assert {(row["group"], row["shade"]) for row in over} == {("measured", 0)}


def test_a_logarithmic_load_axis_holds_smaller_loads_than_the_request(model: Model) -> None:
    small = scenario(protocol="tcp", payload_bytes=1024, requested_goodput="19 Mb/s")
    spec = metric_plot(model, "latency_mean_s", "load", small)
    x = layers(spec, "predicted")[0]["encoding"]["x"]["scale"]
    assert x["type"] == "log"
    drawn = [row["requested_goodput_bps"] for row in spec["datasets"]["predicted"]]
    assert x["domain"][0] == min(drawn)


# --- the encodings ----------------------------------------------------------------------------


def test_payload_is_logarithmic_and_axes_name_what_they_show(model: Model) -> None:
    spec = metric_plot(model, "goodput_bps", "payload", ASKED)
    line = layers(spec, "predicted")[-1]["encoding"]
    assert line["x"]["scale"]["type"] == "log"
    assert line["x"]["title"] == "payload [B]"
    assert line["y"]["title"] == "greatest goodput"
    assert line["y"]["field"] == "goodput_bps"
    assert "Ki" in line["x"]["axis"]["labelExpr"]
    load_axis = metric_plot(model, "latency_mean_s", "load", ASKED)["encoding"]
    assert load_axis["x"]["title"] == "requested goodput"
    assert load_axis["y"]["title"] == "mean latency"


def test_the_interval_is_a_band_and_bases_are_shapes(model: Model) -> None:
    spec = metric_plot(model, "latency_max_s", "payload", ASKED)
    band = layers(spec, "predicted")[0]
    assert band["mark"]["type"] == "area"
    assert (band["encoding"]["y"]["field"], band["encoding"]["y2"]["field"]) == ("low", "high")
    points = layers(spec, "benchmarked")[-1]
    shape = points["encoding"]["shape"]
    assert shape["field"] == "group"
    assert {row["group"] for row in spec["datasets"]["benchmarked"]} == {"stated"}
    assert shape["scale"]["domain"] == ["stated", HERE]
    assert shape["scale"]["range"] == [SHAPES["stated"], SHAPES[HERE]]


def test_each_line_has_a_colour_and_a_dash_of_its_own(model: Model) -> None:
    wanted = Requirement("arrives", "goodput_bps", at_least=4e8)
    spec = metric_plot(model, "goodput_bps", "payload", ASKED, requirement=wanted)
    encoding = layers(spec, "theory")[0]["encoding"]
    names = [PREDICTED, THEORY, REQUESTED, LIMIT]
    for channel in ("color", "strokeDash"):
        assert encoding[channel]["scale"]["domain"] == names
        ranges = encoding[channel]["scale"]["range"]
        assert len({json.dumps(value) for value in ranges}) == len(names)


def test_tooltips_say_units(model: Model) -> None:
    spec = metric_plot(model, "latency_mean_s", "payload", ASKED)
    for layer in spec["layer"]:
        for field in (tip["field"] for tip in layer["encoding"].get("tooltip", [])):
            for row in spec["datasets"][layer["data"]["name"]]:
                assert row[field] not in (None, ""), (layer["data"], field)
    said = layers(spec, "benchmarked")[-1]["encoding"]["tooltip"]
    assert [tip["field"] for tip in said] == ["at", "said", "load", "basis", "source"]
    assert spec["datasets"]["benchmarked"][0]["said"].endswith(" µs")


def test_the_title_names_dataset_variant_and_what_is_held(model: Model) -> None:
    spec = metric_plot(model, "latency_mean_s", "load", ASKED)
    assert spec["title"]["text"] == "Mean latency over requested goodput"
    assert spec["title"]["subtitle"] == ["small-1g, corrected: tcp, 1024 B, 1 core"]
    assert "This scenario: 55.5102 µs." in spec["description"]


def test_a_request_that_would_drown_gets_logarithmic_axes(model: Model) -> None:
    small = scenario(protocol="tcp", payload_bytes=64, requested_goodput="64 kb/s")
    load_plot = metric_plot(model, "latency_mean_s", "load", small)
    x = load_plot["encoding"]["x"]
    assert x["scale"]["type"] == "log"
    assert x["scale"]["domain"][0] < 64_000 < x["scale"]["domain"][1]
    steps = [row["requested_goodput_bps"] for row in load_plot["datasets"]["predicted"]]
    assert sum(step < 1e6 for step in steps) > 5
    y = metric_plot(model, "goodput_bps", "payload", small)["encoding"]["y"]
    assert y["scale"]["type"] == "log"
    assert not is_small(1.0, 50.0)


@pytest.mark.parametrize(
    ("metric", "top", "labels"),
    [
        ("goodput_bps", 9.4e9, ["0 Gb/s", "2 Gb/s", "4 Gb/s", "6 Gb/s", "8 Gb/s"]),
        ("goodput_bps", 12.0, [f"{at} b/s" for at in range(0, 13, 2)]),
        ("latency_mean_s", 2e-3, ["0 ms", "0.5 ms", "1 ms", "1.5 ms", "2 ms"]),
        ("latency_mean_s", 9e-7, ["0 ns", "200 ns", "400 ns", "600 ns", "800 ns"]),
        ("frames_per_s", 6700.0, [f"{at} k/s" for at in range(7)]),
        ("cpu_recv", 0.5, ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %"]),
        ("cpu_recv_cores", 0.5, ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
    ],
)
def test_each_tick_has_its_unit(metric: str, top: float, labels: list[str]) -> None:
    axis = ticks(metric) | {"tickCount": 5, "title": None}
    y = {"field": "y", "type": "quantitative", "axis": axis, "scale": {"domain": [0, top]}}
    drawn = svg({"data": {"values": [{"y": top}]}, "mark": "tick", "encoding": {"y": y}})
    assert re.findall(r"<text[^>]*>([^<]+)</text>", drawn) == labels


def test_a_logarithmic_axis_labels_round_values_with_their_own_prefix(model: Model) -> None:
    small = scenario(protocol="tcp", payload_bytes=64, requested_goodput="64 kb/s")
    drawn = svg(metric_plot(model, "latency_mean_s", "load", small))
    found = re.findall(r"<text[^>]*>([0-9.]+ [kMG]?b/s)</text>", drawn)
    assert {"100 kb/s", "1 Mb/s", "100 Mb/s"} <= set(found)


# --- refusals ---------------------------------------------------------------------------------


def test_an_unknown_axis_is_refused(model: Model) -> None:
    with pytest.raises(
        ReportError, match="the axis 'time' is unknown: use one of payload, load, cores"
    ):
        metric_plot(model, "goodput_bps", "time", ASKED)


def test_an_absent_metric_is_refused_with_the_reason_and_the_others(model: Model) -> None:
    with pytest.raises(ReportError, match=r"small-1g gives no cpu_send here .*plot one of goodput"):
        metric_plot(model, "cpu_send", "payload", ASKED)
    with pytest.raises(ReportError, match="small-1g gives no nonsense here: plot one of"):
        metric_plot(model, "nonsense", "payload", ASKED)


def test_a_question_the_dataset_cannot_answer_is_refused_as_predict_does(model: Model) -> None:
    with pytest.raises(OutOfDomain, match="no protocol 'smoke'"):
        metric_plot(model, "goodput_bps", "payload", Scenario("smoke", 64))


def test_an_axis_without_rows_is_refused() -> None:
    model = Model(load("rapidio-tsi721"))
    with pytest.raises(ReportError, match="no rows of dma-write along cores: plot over payload"):
        metric_plot(model, "goodput_bps", "cores", Scenario("dma-write", 65536))


def test_options_never_measured_together_are_drawn_over_the_payloads_of_those_most_alike() -> None:
    model = Model(load("lab-1g-2026"), "hybrid")
    options = (("batch_frames", "16"), ("waiting", "polling"))
    assert model.data.select("udp", dict(options)) == ()
    spec = metric_plot(
        model, "goodput_bps", "payload", Scenario("udp", 1472, options=Options(options))
    )
    drawn, points = spec["datasets"]["predicted"], spec["datasets"]["benchmarked"]
    alike = [model.data.select("udp", dict([option])) for option in options]
    sizes = {row.payload_bytes for rows in alike for row in rows}
    assert {row["payload_bytes"] for row in drawn} >= sizes
    assert {row["payload_bytes"] for row in points} <= sizes
    assert all(row["extrapolated"] for row in drawn)
    assert spec["title"]["subtitle"][-1] == BORROWED
    measured = Scenario("udp", 1472, options=Options(options[:1]))
    told = metric_plot(model, "goodput_bps", "payload", measured)["title"]["subtitle"]
    assert BORROWED not in told
    with pytest.raises(OutOfDomain, match="no rows of udp at batch_frames = 16, waiting = polling"):
        metric_plot(
            Model(model.data, "corrected"),
            "goodput_bps",
            "payload",
            Scenario("udp", 1472, options=Options(options)),
        )


# --- pictures ---------------------------------------------------------------------------------


def test_a_plot_is_saved_as_svg_and_png(model: Model, tmp_path: Path) -> None:
    spec = metric_plot(model, "goodput_bps", "payload", ASKED)
    save(spec, tmp_path / "plot.svg")
    save(spec, tmp_path / "PLOT.PNG")
    drawn = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    for said in ("Greatest goodput over payload", "payload [B]", THEORY, HERE, "measured"):
        assert said in drawn, said
    assert (tmp_path / "PLOT.PNG").read_bytes().startswith(b"\x89PNG\r\n")
    assert spec["background"] is None
    assert len(list(tmp_path.iterdir())) == 2


def test_the_same_plot_is_the_same_picture_every_time(model: Model) -> None:
    spec = metric_plot(model, "latency_mean_s", "load", ASKED)
    assert svg(spec) == svg(spec)
    assert 'id="' not in svg(spec)


@pytest.mark.parametrize("name", ["plot.pdf", "plot", "svg"])
def test_another_picture_is_refused(model: Model, tmp_path: Path, name: str) -> None:
    spec = metric_plot(model, "goodput_bps", "payload", ASKED)
    with pytest.raises(ReportError, match=r"is not a picture file: end the name in \.svg or \.png"):
        save(spec, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_spec_that_cannot_be_drawn_is_one_sentence() -> None:
    with pytest.raises(ReportError, match="the plot cannot be drawn"):
        svg({"mark": "no such mark"})


def test_without_the_extra_a_picture_names_it(tmp_path: Path) -> None:
    script = """
import sys
sys.modules["vl_convert"] = None
from icmodel.errors import ReportError
from icmodel.plotting import drawable, save
try:
    save({}, "plot.svg")
except ReportError as error:
    print(drawable(), error)
"""
    said = run(sys.executable, "-c", script, cwd=tmp_path, env={"PYTHONPATH": str(checkout.ROOT)})
    assert said.startswith("False ")
    assert "install icmodel[report]" in said
    assert list(tmp_path.iterdir()) == []
    assert drawable()


def test_plotting_loads_no_pydantic_and_no_xarray(tmp_path: Path) -> None:
    script = """
import json, sys
import icmodel
from icmodel.report.plots import metric_plot
from icmodel.scenario import Scenario
model = icmodel.Model(icmodel.load("rapidio-tsi721"))
spec = metric_plot(model, "goodput_bps", "payload", Scenario("dma-write", 65536))
print(json.dumps([len(spec["layer"]), sorted({"pydantic", "xarray", "scipy"} & set(sys.modules))]))
"""
    said = run(sys.executable, "-c", script, cwd=tmp_path, env={"PYTHONPATH": str(checkout.ROOT)})
    assert json.loads(said)[1] == []


# --- every dataset ----------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("name", mostly_long(catalogue(), list(catalogue())[::3]))
def test_every_metric_of_every_dataset_can_be_plotted_or_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every benchmarked point of an axis, and at few between."""
    monkeypatch.setattr(sys.modules["icmodel.report.plots"], "STEPS", times(6))
    data = load(name)
    model = Model(data, "corrected" if data.default_variant == "hybrid" else None)  # fits no curve
    drawn = 0
    for protocol in data.protocols:
        point = next((p for p in data.points if p.protocol == protocol and p.payload_bytes), None)
        if point is None or point.payload_bytes is None:
            continue
        given = {a: v for a, v in zip(data.option_axes, point.options, strict=True) if v}
        asked = Scenario(
            protocol,
            point.payload_bytes,
            switches=point.switches or 0,
            options=Options(given),
        )
        for over in ("payload", "load", "cores"):
            try:
                spec = metric_plot(model, point.metric, over, asked)
            except (ReportError, OutOfDomain, ScenarioError):
                continue
            drawn += 1
            check_spec(spec, point.metric)
    assert drawn or name == "zeromq-1g-2007"  # whose only number has no payload


def check_spec(spec: Spec, metric: str) -> None:
    """What every specification must hold: finite numbers, and a y axis that reaches them."""
    document = json.loads(json.dumps(spec, allow_nan=False))
    y = document["encoding"]["y"]["scale"]["domain"]
    values = [row[metric] for rows in document["datasets"].values() for row in rows]
    assert values
    assert all(math.isfinite(value) and value <= y[1] for value in values)
    assert document["datasets"]["predicted"]
