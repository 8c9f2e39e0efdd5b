"""Plots of grids: every point with its interval and basis, and pictures of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import icmodel
from icmodel.errors import ReportError
from icmodel.estimate import BASES
from icmodel.plotting import MIME, Plot, grid_plot

MODEL = icmodel.Model("ethernet-10g-2012")


@pytest.fixture(scope="module")
def grid() -> xr.Dataset:
    return icmodel.sweep(MODEL, payload="64 B..8192 B", cores="1, 4")


def points(plot: Plot) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plot.spec["datasets"]["points"]
    return found


def test_every_point_has_its_value_interval_and_basis(grid: xr.Dataset) -> None:
    found = points(grid_plot(grid, "latency_mean_s"))
    assert len(found) == grid["latency_mean_s"].size
    for row in found:
        cores = int(str(row["line"]).split()[0])
        here = grid.sel(payload_bytes=row["x"], cores=cores)
        ends = (row["value"], row["low"], row["high"])
        names = ("latency_mean_s", "latency_mean_s_low", "latency_mean_s_high")
        assert ends == tuple(here[name].item() for name in names)
        assert row["basis"] == BASES[here["latency_mean_s_basis"].item()]
        assert row["extrapolated"] == (row["basis"] == "extrapolated")


def test_every_grid_has_the_method(grid: xr.Dataset) -> None:
    accessor: Any = grid
    assert accessor.icmodel.plot("goodput_bps") == grid_plot(grid, "goodput_bps")
    many: Any = MODEL.predict_many(payload_bytes=[64, 1448], metrics=["loss_rate"])
    assert len(points(many.icmodel.plot("loss_rate"))) == 2


def test_the_axis_can_be_chosen(grid: xr.Dataset) -> None:
    few = grid.isel(payload_bytes=slice(3))
    plot = grid_plot(few, "goodput_bps", over="cores")
    assert {row["x"] for row in points(plot)} == {1, 4}
    assert {row["line"] for row in points(plot)} == {"64 B", "128 B", "256 B"}
    assert plot.spec["encoding"]["x"]["title"] == "cores"


def test_two_datasets_are_two_lines() -> None:
    sizes = [64, 512, 1448]
    names = ["ethernet-10g-2012", "ethernet-1g-2010"]
    grids = [
        icmodel.sweep(icmodel.Model(name), protocol="tcp", payload_bytes=sizes, outside="nan")
        for name in names
    ]
    both = xr.concat(grids, xr.Variable("dataset", names), combine_attrs="drop", join="outer")
    assert {row["line"] for row in points(grid_plot(both, "goodput_bps"))} == set(names)


def test_what_is_not_answered_is_not_drawn(grid: xr.Dataset) -> None:
    holes = grid.where(grid["payload_bytes"] > 64)
    assert {row["x"] for row in points(grid_plot(holes))} == set(grid["payload_bytes"].values[1:])
    with pytest.raises(ReportError, match="no value of goodput_bps"):
        grid_plot(grid.where(np.False_))


@pytest.mark.parametrize(
    ("change", "words", "sentence"),
    [
        ({}, {"metric": "godput_bps"}, "no metric 'godput_bps': did you mean goodput_bps?"),
        ({}, {"over": "payload"}, "no dimension 'payload': did you mean payload_bytes?"),
        ({"payload_bytes": 0, "cores": 0}, {}, "no dimension of numbers to plot over"),
        ({}, {"over": "cores"}, "lines of 2 points: select at most 6 lines by grid.sel"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(
    grid: xr.Dataset, change: dict[str, int], words: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ReportError) as refused:
        grid_plot(grid.isel(change), **words)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_notebook_gets_the_specification_and_a_picture(grid: xr.Dataset) -> None:
    plot = grid_plot(grid)
    bundle = plot._repr_mimebundle_()
    assert json.loads(json.dumps(bundle[MIME], allow_nan=False)) == plot.spec
    assert bundle["text/plain"] == "Plot('Goodput over payload')"
    picture = bundle["image/svg+xml"]
    for text in ("1 core", "4 cores", "Goodput over payload", "band: 90 % interval", "payload [B]"):
        assert text in picture
    assert "undefined" not in picture
    assert "NaN" not in picture


def test_a_plot_is_saved_by_its_ending(grid: xr.Dataset, tmp_path: Path) -> None:
    plot = grid_plot(grid)
    for ending, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".json", b"{")):
        plot.save(tmp_path / f"plot{ending}")
        assert (tmp_path / f"plot{ending}").read_bytes().startswith(start)
    with pytest.raises(ReportError, match=r"plot\.gif is not a picture"):
        plot.save(tmp_path / "plot.gif")
