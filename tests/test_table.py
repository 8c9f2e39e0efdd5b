"""Answers in a notebook: escaped tables, data frames, and xarray with units."""

from __future__ import annotations

import copy
import math
import sys
from html.parser import HTMLParser
from typing import Any

import pytest
import xarray as xr

import icmodel
from icmodel.estimate import Estimate, Metrics
from icmodel.system import SystemPrediction, predict
from icmodel.system import load as load_system
from icmodel.table import MOST_ROWS, Coloured, data_frame, html_table

DATASET = "ethernet-10g-2012"
MODEL = icmodel.Model(DATASET)
P = MODEL.predict(payload="1448 B", rate="6700/s")
SCRIPT = '<script>alert("x & y")</script>'


class Page(HTMLParser):
    """Checks that elements nest, and collects their names and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.names.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def system_prediction() -> SystemPrediction:
    return predict(load_system("lab-two-senders"))


def shown() -> dict[str, Any]:
    """One object of each kind with a table, and a text that its table must show."""
    evaluation = icmodel.evaluate("imaging", MODEL.data)
    system = system_prediction()
    return {
        "Gb/s": MODEL.predict(payload="1448 B"),
        "extrapolated": P,
        DATASET: MODEL.data,
        "model corrected on ": MODEL,
        "✗ not met: ": evaluation,
        "✗ not met": evaluation.chosen,
        "≥ 3.538944 Gb/s": evaluation.chosen.findings[0],
        "✗ not": evaluation.chosen.findings[0].verdict,
        "unlimited": system.system,
        "? undecided: ": system,
        "goodput_bps": next(iter(system.streams.values())),
    }


SHOWN = shown()


@pytest.mark.parametrize("text", SHOWN)
def test_an_object_has_a_table_and_a_short_repr(text: str) -> None:
    one = SHOWN[text]
    page = Page(one._repr_html_())
    assert any(text in said for said in page.texts), page.texts
    assert set(page.names) <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "span", "p"}
    assert len(repr(one)) < 250
    assert repr(one).startswith(type(one).__name__)


def test_a_table_of_a_prediction_has_value_interval_and_basis_of_every_metric() -> None:
    page = Page(P._repr_html_())
    assert page.names.count("tr") == 1 + len(P.metrics)
    assert {"metric", "value", "interval", "basis", "77.6128 Mb/s", "exact"} <= set(page.texts)


def test_texts_of_files_are_escaped() -> None:
    table = html_table(SCRIPT, (SCRIPT,), [(SCRIPT,), (Coloured(SCRIPT, "met"),)], [SCRIPT])
    page = Page(table)
    assert "script" not in page.names
    assert page.texts.count(SCRIPT) == 5
    system = load_system("lab-switch")
    object.__setattr__(system, "title", SCRIPT)
    assert "<script" not in system._repr_html_()
    assert "<script" not in predict(system)._repr_html_()


def test_a_long_table_counts_what_it_leaves_out() -> None:
    page = Page(html_table("many", ("row",), [(str(k),) for k in range(1000)], ["a note"]))
    assert page.names.count("td") == MOST_ROWS
    assert {f"{1000 - MOST_ROWS} more rows: convert to a data frame to see all", "a note"} <= set(
        page.texts
    )


def test_verdicts_have_a_sign_and_a_colour() -> None:
    found = icmodel.evaluate("imaging", MODEL.data)._repr_html_()
    assert "✗ not met</span>" in found
    assert "✓ met</span>" in found
    assert found.count("<span style=") == 1 + len(
        icmodel.evaluate("imaging", MODEL.data).chosen.findings
    )


# --- data frames ------------------------------------------------------------------------------


def test_a_data_frame_of_a_prediction_has_all_its_numbers() -> None:
    frame = P.to_dataframe()
    assert list(frame.index) == list(P)
    assert frame.index.name == "metric"
    for name, one in P.metrics.items():
        row = frame.loc[name]
        ends = (row["value"], row["low"], row["high"])
        assert all(a == b or math.isnan(a + b) for a, b in zip(ends, one.ends, strict=True))
        assert (row["basis"], row["why"]) == (one.basis, one.why)
    assert frame.loc["latency_mean_s", "unit"] == "s"


def test_a_data_frame_of_an_evaluation_has_every_requirement() -> None:
    evaluation = icmodel.evaluate("imaging", MODEL.data)
    frame = evaluation.to_dataframe()
    assert len(frame) == sum(len(one.findings) for one in evaluation.candidates)
    chosen = frame.loc[evaluation.candidate]
    assert list(chosen["outcome"]) == [one.outcome for one in evaluation.chosen.findings]


def test_a_system_has_a_frame_of_streams_and_one_of_requirements() -> None:
    found = system_prediction()
    frame = found.to_dataframe()
    assert set(frame.index.get_level_values("stream")) == set(found.streams)
    requirements = found.requirements_dataframe()
    assert len(requirements) == len(found.judged)


def test_without_pandas_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(icmodel.IcmodelError, match=r"needs pandas, .*: run `pip install pandas`"):
        data_frame([])
    with pytest.raises(icmodel.IcmodelError, match="pandas"):
        P.to_dataframe()


# --- xarray -----------------------------------------------------------------------------------


def test_the_xarray_of_a_prediction_is_a_point_of_a_sweep() -> None:
    point = P.to_xarray()
    grid = icmodel.sweep(MODEL, payload="1448 B", rate="6700/s")
    assert set(point.data_vars) <= set(grid.data_vars)
    for name, column in point.data_vars.items():
        assert column.attrs == grid[name].attrs
        assert column.dtype == grid[name].dtype
        assert column.equals(grid[name].drop_vars(list(grid.coords)).assign_coords(point.coords))
    assert point.attrs == grid.attrs
    assert point["rate_fps"].attrs["units"] == grid["rate_fps"].attrs["units"]


def test_points_concatenate_to_a_grid_that_plots() -> None:
    points = [MODEL.predict(payload_bytes=size).to_xarray() for size in (64, 1448)]
    grid = xr.concat(points, "payload_bytes")
    assert grid.sizes == {"payload_bytes": 2}
    assert icmodel.plotting.grid_plot(grid, "goodput_bps").spec["datasets"]["points"]


def test_the_xarray_of_a_system_has_a_dimension_of_streams_with_units() -> None:
    found = system_prediction()
    streams = found.to_xarray()
    for name, one in found.streams.items():
        here = streams.sel(stream=name)
        assert float(here["goodput_bps"]) == one.goodput_bps.value
        assert float(here["goodput_bps_high"]) == one.goodput_bps.high
    assert streams["latency_mean_s"].attrs == {"units": "s", "long_name": "mean latency"}


# --- metrics ----------------------------------------------------------------------------------


@pytest.mark.parametrize("one", [P, next(iter(system_prediction().streams.values()))])
def test_metrics_are_attributes_items_and_completions(one: Metrics) -> None:
    for name, estimate in one.metrics.items():
        assert one[name] is estimate
        assert getattr(one, name) is estimate
        assert name in dir(one)
        assert name in one
    assert len(dir(one)) == len(set(dir(one)))
    with pytest.raises(AttributeError, match="did you mean goodput_bps"):
        _ = one.goodputt_bps  # type: ignore[attr-defined]
    with pytest.raises(KeyError, match="did you mean goodput_bps"):
        _ = one["goodputt_bps"]
    assert copy.copy(one) == one


def test_an_estimate_is_a_number() -> None:
    assert float(P.goodput_bps) == P.goodput_bps.value
    assert float(P["goodput_bps"]) == 6700 * 1448 * 8
    again = MODEL.predict(payload="1448 B", requested_goodput_bps=float(P.goodput_bps))
    assert again.goodput_bps == P.goodput_bps
    assert math.isnan(float(Estimate(math.nan, 0.0, 1.0, "theory")))
