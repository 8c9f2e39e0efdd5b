"""Files of a sweep: CSV against a slow twin, Parquet read back, and errors for bad paths."""

from __future__ import annotations

import csv
import io
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import xarray as xr

from icmodel.cli import main
from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.model import Model
from icmodel.sweep import files, sweep
from icmodel.sweep.files import (
    BLOCK,
    Columns,
    columns_of,
    csv_cells,
    write_grid_csv,
    write_parquet,
)

METRICS = ["goodput_bps", "latency_mean_s", "loss_rate"]
GRID = sweep(
    Model("ethernet-10g-2012", "corrected"),
    outside="nan",
    protocol="tcp,udp,ethernet",
    payload="64 B, 1448 B, 65535 B",
    cores="1,4",
    rate_fps=[100.0, math.inf],
)
FIXED: dict[str, object] = {"switches": 0, "distance_m": None, "note": 'a, "b"'}


def by_hand() -> str:
    """The CSV of the grid, one point after another by the standard library's writer."""
    names = [name + part for name in METRICS for part in ("", "_low", "_high", "_basis")]
    labels = [GRID[name].to_numpy().tolist() for name in GRID.sizes]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["dataset", "variant", *FIXED, *GRID.sizes, *names, "bottleneck"])
    said = [GRID.attrs["dataset"], GRID.attrs["variant"], *FIXED.values()]
    for place, values in enumerate(product(*labels)):
        told = [GRID[name].to_numpy().reshape(-1)[place].item() for name in [*names, "bottleneck"]]
        known = [text(n, v) for n, v in zip([*names, "bottleneck"], told, strict=True)]
        writer.writerow([*said, *(text("", value) for value in values), *known])
    return file.getvalue()


def text(name: str, value: Any) -> object:
    """Text of a cell."""
    if name.endswith("_basis"):
        return BASES[value] if value >= 0 else ""
    if name == "bottleneck":
        return BOTTLENECKS[value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def test_csv_is_that_of_the_standard_library(tmp_path: Path) -> None:
    write_grid_csv(columns_of(GRID, METRICS, FIXED), tmp_path / "grid.csv")
    assert (tmp_path / "grid.csv").read_text(encoding="utf-8") == by_hand()


def test_a_grid_of_many_blocks_is_written_whole_with_progress(tmp_path: Path) -> None:
    rows = 3 * BLOCK + 7
    columns = Columns(
        {"dataset": "x"}, {"k": np.arange(float(rows))}, {"v": np.arange(rows) / 3}, (rows,)
    )
    told: list[tuple[int, int]] = []
    write_grid_csv(columns, tmp_path / "many.csv", lambda done, of: told.append((done, of)))
    lines = (tmp_path / "many.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "dataset,k,v"
    assert lines[1:] == [f"x,{float(k)!r},{k / 3!r}" for k in range(rows)]
    assert told == [(start, rows) for start in range(0, rows, BLOCK)]


def test_numbers_keep_all_their_digits_and_unknown_ones_are_empty() -> None:
    numbers = np.array([0.1 + 0.2, -0.0, 0.0, math.nan, math.inf, 1e-300, 0.1 + 0.2])
    assert csv_cells("latency_mean_s", numbers) == [
        "0.30000000000000004", "-0.0", "0.0", "", "", "1e-300", "0.30000000000000004",
    ]  # fmt: skip


def test_parquet_is_read_back_with_units_names_and_nothing_for_unknown(tmp_path: Path) -> None:
    write_parquet(columns_of(GRID, METRICS, {"switches": 0}), tmp_path / "grid.parquet")
    read = pq.read_table(tmp_path / "grid.parquet")
    assert read.schema.field("goodput_bps").metadata[b"units"] == b"bit/s"
    assert read.schema.metadata[b"sha256"].decode() == GRID.attrs["sha256"]
    assert set(read.column("dataset").to_pylist()) == {"ethernet-10g-2012"}
    for name in ("goodput_bps", "latency_mean_s_high", "loss_rate"):
        found = [math.nan if v is None else v for v in read.column(name).to_pylist()]
        assert np.array_equal(found, GRID[name].to_numpy().reshape(-1), equal_nan=True)
    codes = GRID["goodput_bps_basis"].to_numpy().reshape(-1).tolist()
    bases = [BASES[code] if code >= 0 else None for code in codes]
    assert read.column("goodput_bps_basis").to_pylist() == bases


def test_a_format_without_its_extra_is_refused_before_computing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(files.EXTRAS, ".parquet", ("parquet", ("no_such_module",)))
    target = tmp_path / "grid.parquet"
    assert main(["sweep", "--payload", "64 B, 1448 B", "-o", str(target)]) == 2
    said = capsys.readouterr().err
    assert "needs no_such_module, which is not installed" in said
    assert "icmodel[parquet]" in said
    assert not target.exists()


@pytest.mark.parametrize("variant", ["appendix-h", "corrected"])
@pytest.mark.parametrize("ending", ["csv", "json", "nc", "parquet", "txt"])
def test_a_sweep_of_one_point_is_written_in_every_form(
    ending: str, variant: str, tmp_path: Path
) -> None:
    target = tmp_path / f"point.{ending}"
    words = ["--protocol", "tcp", "--payload", "1448 B", "--rate", "1000/s", "--variant", variant]
    assert main(["sweep", *words, "-o", str(target)]) == 0
    if ending == "parquet":
        assert pq.read_table(target).column("goodput_bps").to_pylist() == [11584000.0]
    elif ending == "nc":
        assert float(xr.open_dataset(target, engine="h5netcdf")["goodput_bps"]) == 11584000.0
    else:
        told = target.read_text(encoding="utf-8")
        assert ("11.584 Mb/s" if ending == "txt" else "11584000.0") in told
        assert ending != "csv" or len(told.splitlines()) == 2


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_writes_every_point(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"grid.{ending}"
    words = ["sweep", "--payload", "64 B, 1448 B, 65535 B", "--cores", "1,4", "-o", str(target)]
    assert main(words) == 0
    if ending == "csv":
        assert len(target.read_text(encoding="utf-8").splitlines()) == 7
    else:
        assert pq.read_table(target).num_rows == 6
