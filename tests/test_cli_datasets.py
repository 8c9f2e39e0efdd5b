"""``icmodel datasets``: lists, contents and rows."""

from __future__ import annotations

import csv
from pathlib import Path

import checkout
import icmodel
from cli_case import CENTRAL, RunIcmodel
from icmodel.dataset import catalogue


def test_every_dataset_is_listed_and_shown(run_icmodel: RunIcmodel) -> None:
    listed = run_icmodel("datasets list --json").json["datasets"]
    assert [entry["id"] for entry in listed] == list(catalogue())
    table = run_icmodel("datasets list").out
    for entry in listed:
        assert entry["id"] in table
        shown = run_icmodel(f"datasets show {entry['id']}")
        data = icmodel.load(entry["id"])
        for text in (data.citation, data.licence, *data.metrics, *data.known_limits):
            assert text in shown.out
        assert all(str(host["cpu"]) in shown.out for host in data.document["hosts"])  # type: ignore[attr-defined]


def test_shown_counts_are_those_of_the_rows(run_icmodel: RunIcmodel) -> None:
    data = icmodel.load(CENTRAL)
    document = run_icmodel(f"datasets show {CENTRAL} --json").json
    assert document["rows"] == len(data.points)
    assert sum(document["bases"].values()) == len(data.points)
    counted = {m: n for per in document["metrics"].values() for m, n in per.items()}
    assert set(counted) == set(data.metrics)
    assert sum(n for per in document["metrics"].values() for n in per.values()) == len(data.points)
    assert document["values"]["cores"] == [1, 2, 3, 4]
    assert document["values"]["load_bps"][-1] == "inf"


def test_points_are_filtered(run_icmodel: RunIcmodel, tmp_path: Path) -> None:
    line = f"datasets points {CENTRAL} --protocol udp --metric goodput_bps,loss_rate"
    points = run_icmodel(f"{line} --json").json["points"]
    wanted = [
        point.line
        for point in icmodel.load(CENTRAL).points
        if point.protocol == "udp" and point.metric in ("goodput_bps", "loss_rate")
    ]
    assert [point["line"] for point in points] == wanted
    assert f"{len(wanted)} rows" in run_icmodel(line).out
    one = "datasets points ethernet-1g-2010 --option offload=baseline --option machine=janos-csaba"
    assert run_icmodel(f"{one} -o rows.csv").code == 0
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text("utf-8").splitlines()))
    assert {(row["offload"], row["machine"]) for row in rows} == {("baseline", "janos-csaba")}


def test_points_as_csv_can_start_an_own_dataset(run_icmodel: RunIcmodel, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    assert run_icmodel(f"datasets points {CENTRAL} -o own/points.csv").code == 0
    text = (checkout.ROOT / "data" / CENTRAL / "dataset.toml").read_text(encoding="utf-8")
    (own / "dataset.toml").write_text(text.replace(f'id = "{CENTRAL}"', 'id = "own"'), "utf-8")
    assert run_icmodel("datasets check own").code == 2
    assert run_icmodel("datasets check own --seal").code == 0
    assert run_icmodel("datasets check own").code == 0
    assert icmodel.load(own).points == icmodel.load(CENTRAL).points
    assert run_icmodel("predict --dataset own --payload '1448 B'").code == 0
