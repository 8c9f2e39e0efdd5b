"""``icmodel sweep``: tables, files and gaps."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cli_case import CENTRAL, RunIcmodel


def test_sweep_prints_a_line_for_each_point(run_icmodel: RunIcmodel) -> None:
    printed = run_icmodel("sweep --protocol tcp,udp --payload '64 B, 1448 B' --cores 1,4")
    header = next(row for row in printed.rows if row and row[0] == "protocol")
    assert header[:4] == ["protocol", "payload_bytes", "cores", "goodput_bps"]
    assert header[-1] == "bottleneck"
    points = [row for row in printed.rows if row and row[0] in ("tcp", "udp")]
    assert len(points) == 8
    assert points[3][:4] == ["tcp", "1448 B", "4", "9.4106 Gb/s"]
    assert printed.out.startswith(f"{CENTRAL}, variant corrected\n")


def test_sweep_marks_what_is_extrapolated(run_icmodel: RunIcmodel) -> None:
    line = "sweep --payload '64 B, 128 KiB' --metric goodput_bps,loss_rate"
    printed = run_icmodel(f"{line} --extrapolate")
    cells = {row[0]: row[1:3] for row in printed.rows if row and row[0] in ("64 B", "131072 B")}
    assert cells == {"64 B": ["2.35 Gb/s", "0 %"], "131072 B": ["9.4 Gb/s*", "0 %"]}
    assert "\n* extrapolated: beyond the measured range." in printed.out
    points = run_icmodel(f"{line} --extrapolate --json").json["points"]
    assert [point["goodput_bps"]["basis"] for point in points] == ["derived", "extrapolated"]
    within = run_icmodel("sweep --payload '64 B, 1448 B' --metric goodput_bps").out
    assert "*" not in within


def test_sweep_json_equals_predict(run_icmodel: RunIcmodel) -> None:
    grid = run_icmodel("sweep --payload '64 B, 1448 B' --rate '1000/s, unlimited' --json").json
    assert (grid["swept"], grid["fixed"]) == (["payload_bytes", "rate_fps"], {"protocol": "tcp"})
    assert grid["dataset"]["id"] == CENTRAL
    assert [point["rate_fps"] for point in grid["points"]] == [1000.0, None] * 2
    for point in grid["points"]:
        rate = "" if point["rate_fps"] is None else f"--rate {point['rate_fps']:.0f}/s"
        one = run_icmodel(f"predict --payload '{point['payload_bytes']} B' {rate} --json").json
        for metric in ("goodput_bps", "latency_mean_s", "cpu_recv"):
            assert point[metric]["value"] == pytest.approx(one[metric]["value"], rel=1e-12)
            assert point[metric]["basis"] == one[metric]["basis"]
        assert point["bottleneck"] == one["bottleneck"]


def test_sweep_writes_csv_with_all_parameters_metrics_and_parts(
    run_icmodel: RunIcmodel, tmp_path: Path
) -> None:
    line = "sweep --payload '64 B..1 kB' --option nagle=on,off --switches 1 -o grid.csv"
    printed = run_icmodel(line)
    assert (printed.code, printed.out) == (0, "")
    with (tmp_path / "grid.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    fixed = ["dataset", "variant", "protocol", "switches", "payload_bytes", "nagle"]
    assert list(rows[0])[: len(fixed)] == fixed
    assert {"goodput_bps", "goodput_bps_low", "goodput_bps_high", "goodput_bps_basis"} <= set(
        rows[0]
    )
    assert {row["nagle"] for row in rows} == {"on", "off"}
    assert {row["switches"] for row in rows} == {"1"}


def test_sweep_writes_netcdf(run_icmodel: RunIcmodel, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    printed = run_icmodel("sweep --protocol tcp,udp --payload '64 B, 1448 B' -o grid.nc")
    assert printed.code == 0
    with xarray.open_dataset(tmp_path / "grid.nc", engine="h5netcdf") as grid:
        assert dict(grid.sizes) == {"protocol": 2, "payload_bytes": 2}
        assert grid["goodput_bps"].sel(protocol="tcp", payload_bytes=1448).item() == 9.4106e9
        assert grid.attrs["variant"] == "corrected"


def test_sweep_leaves_gaps_only_with_allow_gaps(run_icmodel: RunIcmodel) -> None:
    line = "sweep --protocol tcp,udp --payload '64 B, 65535 B'"
    assert run_icmodel(line).code == 2
    points = run_icmodel(f"{line} --allow-gaps --json").json["points"]
    assert [point["goodput_bps"]["value"] is None for point in points] == [False] * 3 + [True]
    printed = run_icmodel(f"{line} --allow-gaps")
    assert printed.code == 0
    assert any(row[:3] == ["udp", "65535 B", "–"] for row in printed.rows)


def test_sweep_answers_only_the_requested_metrics(run_icmodel: RunIcmodel) -> None:
    point = run_icmodel("sweep --payload '64 B' --metric cpu_send,latency_std_s --json").json[
        "points"
    ][0]
    assert list(point) == ["cpu_send", "latency_std_s", "bottleneck"]


def test_a_sweep_shows_its_first_points_and_counts_the_others(
    run_icmodel: RunIcmodel,
) -> None:
    line = "sweep --payload '64 B..65535 B:25log' --cores 1..4"
    brief, whole = run_icmodel(line).out, run_icmodel(f"{line} --all").out
    assert "and 80 more points: show all points with --all" in brief
    assert "more points" not in whole
    assert brief.count(" Gb/s") < whole.count(" Gb/s")
    first = [row for row in brief.splitlines() if row.startswith("         64 B")]
    assert len(first) == 4
    assert set(first) <= set(whole.splitlines())
