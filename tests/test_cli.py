"""The commands: what they print for people and machines, what they write, how they end."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import checkout
import icmodel
from conftest import clean_environment
from icmodel.cli import COMMANDS, main
from icmodel.dataset import catalogue
from icmodel.estimate import BASES
from icmodel.usecase import usecase_names
from test_docs import documents, executed, steps

CENTRAL = "ethernet-10g-2012"
TABLE_8_1 = (
    "predict --protocol tcp --payload '65535 B' --rate 6700/s --cores 4 --switches 1 --endpoints 2 "
    "--other-goodput '3.6 Gb/s'"
)
IMAGING = "evaluate imaging"


def words(line: str) -> list[str]:
    """The words of a command line, as a shell cuts them."""
    return shlex.split(line)


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """Printed lines cut at two or more blanks."""
        lines = [line.strip() for line in self.out.splitlines()]
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


@pytest.fixture
def icmodel_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Run a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> Said:
        code = main(words(line))
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return run


def own_process(*line: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "icmodel", *line],
        cwd=cwd,
        env={**clean_environment(), "PYTHONPATH": str(checkout.ROOT), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


# --- predict ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["corrected", "appendix-h"])
def test_table_8_1_gives_table_8_2(icmodel_says: Any, variant: str) -> None:
    said = icmodel_says(f"{TABLE_8_1} --variant {variant} --all")
    values = {row[0]: row[1] for row in said.rows if len(row) > 1}
    assert said.code == 0
    assert values["goodput_bps"] == "3.512676 Gb/s"
    assert values["latency_mean_s"] == "112.9565 µs"
    assert values["latency_std_s"] == "19.86169 µs"
    assert (values["cpu_send"], values["cpu_recv"]) == ("7.06 %", "15.82 %")
    assert values["loss_rate"] == "0 %"
    assert said.out.startswith(f"{CENTRAL}, variant {variant}\n")


def test_predict_json_is_the_prediction(icmodel_says: Any) -> None:
    said = icmodel_says(f"{TABLE_8_1} --json")
    model = icmodel.Model(icmodel.load(CENTRAL))
    wanted = model.predict(
        protocol="tcp",
        payload="65535 B",
        rate="6700/s",
        cores=4,
        switches=1,
        endpoints=2,
        other_goodput="3.6 Gb/s",
    )
    assert said.json == json.loads(json.dumps(wanted.to_dict()))
    assert said.json["latency_mean_s"]["value"] == pytest.approx(112.9564994e-6, abs=5e-15)


def test_predict_says_what_limits_what_sums_and_what_it_rests_on(icmodel_says: Any) -> None:
    said = icmodel_says(f"{TABLE_8_1} --all --why")
    assert "bottleneck: request\n" in said.out
    terms = said.out.partition("mean latency, the sum of\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in terms.splitlines()] == [
        "term",
        "serialisation",
        "propagation",
        "switches",
        "stack",
        "together",
    ]
    assert terms.splitlines()[-1].split()[1:] == ["112.9565", "µs"]
    bounds = said.out.partition("the least of\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in bounds.splitlines()[1:]] == [
        "request",
        "wire",
        "benchmark",
        "share",
    ]
    assert "IC2012 table 8-2: a prediction of the original, not a measurement" in said.out
    assert "- each switch adds the dataset's switch latency" in said.out
    assert any(basis in said.out for basis in BASES)


def test_the_defaults_of_predict(icmodel_says: Any) -> None:
    scenario = icmodel_says("predict --payload '1448 B' --json").json["scenario"]
    assert scenario == {
        "protocol": "tcp",
        "payload_bytes": 1448,
        "rate_fps": None,
        "requested_goodput_bps": None,
        "cores": 4,
        "switches": 0,
        "endpoints": 1,
        "other_goodput_bps": 0.0,
        "distance_m": None,
        "options": {},
        "line_rate_bps": None,
        "cpu_clock_ratio": 1.0,
        "app_send_s": 0.0,
        "app_recv_s": 0.0,
        "app_send_s_per_byte": 0.0,
        "app_recv_s_per_byte": 0.0,
    }


def test_every_parameter_reaches_the_scenario(icmodel_says: Any) -> None:
    said = icmodel_says(
        "predict --protocol tcp --payload '1 kB' --requested-goodput '80 Mb/s' --cores 4 --switches 1 "
        "--endpoints 3 --other-goodput '1 Gb/s' --distance '50 m' --option nagle=off --json"
    )
    assert said.json["scenario"] == {
        "protocol": "tcp",
        "payload_bytes": 1000,
        "rate_fps": 10_000.0,
        "requested_goodput_bps": 80e6,
        "cores": 4,
        "switches": 1,
        "endpoints": 3,
        "other_goodput_bps": 1e9,
        "distance_m": 50.0,
        "options": {"nagle": "off"},
        "line_rate_bps": None,
        "cpu_clock_ratio": 1.0,
        "app_send_s": 0.0,
        "app_recv_s": 0.0,
        "app_send_s_per_byte": 0.0,
        "app_recv_s_per_byte": 0.0,
    }


def test_extrapolation_is_marked(icmodel_says: Any) -> None:
    said = icmodel_says("predict --payload '70000 B' --extrapolate --json")
    assert said.code == 0
    assert said.json["goodput_bps"]["basis"] == "extrapolated"
    assert "payload" in said.json["latency_mean_s"]["why"]


def test_a_note_of_many_metrics_is_said_once_to_people(icmodel_says: Any) -> None:
    line = 'predict --payload "1448 B" --cores 6 --extrapolate'
    said, told = icmodel_says(f"{line} --all").out, icmodel_says(f"{line} --json").json
    why = told["goodput_bps"]["why"]
    assert told["cpu_send"]["why"] == told["latency_mean_s"]["why"] == why
    assert [line for line in said.splitlines() if line.endswith(why)] == [f"[1] {why}"]
    assert re.search(r"(?m)^cpu_send .* \[1\]$", said)


@pytest.mark.parametrize("ending", ["json", "csv", "txt"])
def test_predict_writes_a_file_by_its_ending(
    icmodel_says: Any, tmp_path: Path, ending: str
) -> None:
    said = icmodel_says(f"predict --payload '1448 B' -o answer.{ending}")
    text = (tmp_path / f"answer.{ending}").read_text(encoding="utf-8")
    assert (said.code, said.out) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == [f"answer.{ending}"]
    if ending == "json":
        assert json.loads(text) == icmodel_says("predict --payload '1448 B' --json").json
    elif ending == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        goodput = next(row for row in rows if row["metric"] == "goodput_bps")
        assert float(goodput["value"]) == 9.4106e9
        assert (goodput["dataset"], goodput["variant"]) == (CENTRAL, "corrected")
        assert (goodput["payload_bytes"], goodput["cores"], goodput["rate_fps"]) == (
            "1448",
            "4",
            "",
        )
    else:
        assert text == icmodel_says("predict --payload '1448 B'").out


def test_the_same_question_gives_the_same_bytes(tmp_path: Path) -> None:
    answers = {own_process(*words(TABLE_8_1), cwd=tmp_path).stdout for _ in range(2)}
    assert len(answers) == 1
    assert "3.512676 Gb/s" in answers.pop()


# --- sweep and compare ------------------------------------------------------------------------


def test_sweep_prints_a_line_a_point(icmodel_says: Any) -> None:
    said = icmodel_says("sweep --protocol tcp,udp --payload '64 B, 1448 B' --cores 1,4")
    header = next(row for row in said.rows if row and row[0] == "protocol")
    assert header[:4] == ["protocol", "payload_bytes", "cores", "goodput_bps"]
    assert header[-1] == "bottleneck"
    points = [row for row in said.rows if row and row[0] in ("tcp", "udp")]
    assert len(points) == 8
    assert points[3][:4] == ["tcp", "1448 B", "4", "9.4106 Gb/s"]
    assert said.out.startswith(f"{CENTRAL}, variant corrected\n")


def test_sweep_marks_what_is_extrapolated(icmodel_says: Any) -> None:
    line = "sweep --payload '64 B, 128 KiB' --metric goodput_bps,loss_rate"
    said = icmodel_says(f"{line} --extrapolate")
    cells = {row[0]: row[1:3] for row in said.rows if row and row[0] in ("64 B", "131072 B")}
    assert cells == {"64 B": ["2.35 Gb/s", "0 %"], "131072 B": ["9.4 Gb/s*", "0 %"]}
    assert "\n* extrapolated: beyond what was measured." in said.out
    points = icmodel_says(f"{line} --extrapolate --json").json["points"]
    assert [point["goodput_bps"]["basis"] for point in points] == ["derived", "extrapolated"]
    within = icmodel_says("sweep --payload '64 B, 1448 B' --metric goodput_bps").out
    assert "*" not in within


def test_sweep_json_is_what_predict_says(icmodel_says: Any) -> None:
    grid = icmodel_says("sweep --payload '64 B, 1448 B' --rate '1000/s, unlimited' --json").json
    assert (grid["swept"], grid["fixed"]) == (["payload_bytes", "rate_fps"], {"protocol": "tcp"})
    assert grid["dataset"]["id"] == CENTRAL
    assert [point["rate_fps"] for point in grid["points"]] == [1000.0, None] * 2
    for point in grid["points"]:
        rate = "" if point["rate_fps"] is None else f"--rate {point['rate_fps']:.0f}/s"
        one = icmodel_says(f"predict --payload '{point['payload_bytes']} B' {rate} --json").json
        for metric in ("goodput_bps", "latency_mean_s", "cpu_recv"):
            assert point[metric]["value"] == pytest.approx(one[metric]["value"], rel=1e-12)
            assert point[metric]["basis"] == one[metric]["basis"]
        assert point["bottleneck"] == one["bottleneck"]


def test_sweep_writes_csv_with_all_parameters_metrics_and_parts(
    icmodel_says: Any, tmp_path: Path
) -> None:
    line = "sweep --payload '64 B..1 kB' --option nagle=on,off --switches 1 -o grid.csv"
    said = icmodel_says(line)
    assert (said.code, said.out) == (0, "")
    with (tmp_path / "grid.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    fixed = ["dataset", "variant", "protocol", "switches", "payload_bytes", "nagle"]
    assert list(rows[0])[: len(fixed)] == fixed
    assert {"goodput_bps", "goodput_bps_low", "goodput_bps_high", "goodput_bps_basis"} <= set(
        rows[0]
    )
    assert {row["nagle"] for row in rows} == {"on", "off"}
    assert {row["switches"] for row in rows} == {"1"}


def test_sweep_writes_netcdf(icmodel_says: Any, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    said = icmodel_says("sweep --protocol tcp,udp --payload '64 B, 1448 B' -o grid.nc")
    assert said.code == 0
    with xarray.open_dataset(tmp_path / "grid.nc", engine="h5netcdf") as grid:
        assert dict(grid.sizes) == {"protocol": 2, "payload_bytes": 2}
        assert grid["goodput_bps"].sel(protocol="tcp", payload_bytes=1448).item() == 9.4106e9
        assert grid.attrs["variant"] == "corrected"


def test_sweep_leaves_gaps_only_when_asked(icmodel_says: Any) -> None:
    line = "sweep --protocol tcp,udp --payload '64 B, 65535 B'"
    assert icmodel_says(line).code == 2
    points = icmodel_says(f"{line} --allow-gaps --json").json["points"]
    assert [point["goodput_bps"]["value"] is None for point in points] == [False] * 3 + [True]
    said = icmodel_says(f"{line} --allow-gaps")
    assert said.code == 0
    assert any(row[:3] == ["udp", "65535 B", "–"] for row in said.rows)


def test_sweep_answers_only_the_wanted_metrics(icmodel_says: Any) -> None:
    point = icmodel_says("sweep --payload '64 B' --metric cpu_send,latency_std_s --json").json[
        "points"
    ][0]
    assert list(point) == ["cpu_send", "latency_std_s", "bottleneck"]


def test_compare_puts_every_combination_side_by_side(icmodel_says: Any) -> None:
    said = icmodel_says(
        "compare --variant appendix-h,corrected --protocol tcp --protocol udp --payload '1472 B' --json"
    )
    columns = said.json["columns"]
    assert [(c["protocol"], c["variant"]) for c in columns] == [
        ("tcp", "appendix-h"),
        ("tcp", "corrected"),
        ("udp", "appendix-h"),
        ("udp", "corrected"),
    ]
    goodput = [c["prediction"]["goodput_bps"]["value"] for c in columns]
    assert goodput[2] == 9.6e9
    assert goodput[3] == pytest.approx(1472 / 1538 * 1e10)


def test_compare_takes_each_datasets_own_protocol_and_says_who_cannot_answer(
    icmodel_says: Any,
) -> None:
    line = f"compare --dataset {CENTRAL},infiniband-qdr-connectx2,rapidio-tsi721 --payload '4 KiB'"
    said = icmodel_says(line)
    assert said.code == 0
    assert f"{CENTRAL}" in said.out
    assert "rc, 4096 B a frame" in said.out
    silent = said.out.partition("without an answer\n")[2]
    assert silent.startswith("- rapidio-tsi721, corrected, dma-write: payload 4096 B is outside")
    missing = [c for c in icmodel_says(f"{line} --json").json["columns"] if not c["prediction"]]
    assert [column["dataset"] for column in missing] == ["rapidio-tsi721"]


def test_compare_is_an_error_when_nobody_can_answer(icmodel_says: Any) -> None:
    said = icmodel_says(f"compare --dataset {CENTRAL} --payload '70000 B' --variant corrected")
    assert (said.code, said.out) == (2, "")
    assert "70000 B" in said.err


def test_compare_writes_csv(icmodel_says: Any, tmp_path: Path) -> None:
    icmodel_says("compare --protocol tcp,udp --payload '1448 B' -o both.csv")
    rows = list(csv.DictReader((tmp_path / "both.csv").read_text("utf-8").splitlines()))
    assert {row["protocol"] for row in rows} == {"tcp", "udp"}


# --- evaluate and use cases -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "verdict"),
    [
        (IMAGING, 1, "not met"),
        (f"{IMAGING} --candidate tcp-two-sets-of-cores", 0, "met"),
        (f"{IMAGING} --candidate tcp-whole-pictures", 3, "undecided"),
        ("evaluate motion-control", 1, "not met"),
        ("evaluate motion-control --dataset rapidio-tsi721", 3, "undecided"),
    ],
)
def test_the_exit_code_is_the_verdict(
    icmodel_says: Any, line: str, code: int, verdict: str
) -> None:
    said = icmodel_says(f"{line} --json")
    assert said.code == code
    assert said.json["verdict"] == verdict


def test_evaluate_prints_verdict_dataset_and_variant(icmodel_says: Any) -> None:
    said = icmodel_says(f"{IMAGING} --variant appendix-h")
    for text in ("not met", CENTRAL, "appendix-h", "0.74 %", "6751 frames/s"):
        assert text in said.out


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_evaluate_writes_a_report(icmodel_says: Any, tmp_path: Path, ending: str) -> None:
    """On few rows: the guide to reports writes those on imaging."""
    said = icmodel_says(f"evaluate motion-control --dataset rapidio-tsi721 -o drives.{ending}")
    assert said.code == 3
    assert said.out == (
        "motion-control on rapidio-tsi721, variant corrected: undecided; "
        f"the report is drives.{ending}\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == [f"drives.{ending}"]
    assert "rapidio-tsi721" in (tmp_path / f"drives.{ending}").read_text(encoding="utf-8")


def test_usecases_are_listed_and_shown(icmodel_says: Any) -> None:
    listed = icmodel_says("usecases list --json").json["usecases"]
    assert [case["name"] for case in listed] == list(usecase_names())
    assert all(case["name"] in icmodel_says("usecases list").out for case in listed)
    shown = icmodel_says("usecases show imaging")
    assert "3.538944 Gb/s" in shown.out
    assert "original (default)" in shown.out
    document = icmodel_says("usecases show imaging --json").json
    derived = {one["name"]: one["value"] for one in document["derivations"]}
    assert derived["picture.goodput_bps"] == 3538944000.0
    assert document["default_candidate"] == "original"


def test_a_new_usecase_evaluates_and_is_never_overwritten(
    icmodel_says: Any, tmp_path: Path
) -> None:
    assert icmodel_says("usecases new my-own").code == 0
    text = (tmp_path / "my-own.toml").read_text(encoding="utf-8")
    assert 'name = "my-own"' in text
    assert icmodel_says("evaluate my-own.toml").code == 0
    again = icmodel_says("usecases new my-own")
    assert again.code == 2
    assert "my-own.toml is there already" in again.err
    assert (tmp_path / "my-own.toml").read_text(encoding="utf-8") == text
    assert icmodel_says("usecases new my-own -o other.toml").code == 0
    assert (tmp_path / "other.toml").read_text(encoding="utf-8") == text


# --- datasets ---------------------------------------------------------------------------------


def test_every_dataset_is_listed_and_shown(icmodel_says: Any) -> None:
    listed = icmodel_says("datasets list --json").json["datasets"]
    assert [entry["id"] for entry in listed] == list(catalogue())
    table = icmodel_says("datasets list").out
    for entry in listed:
        assert entry["id"] in table
        shown = icmodel_says(f"datasets show {entry['id']}")
        data = icmodel.load(entry["id"])
        for text in (data.citation, data.licence, *data.metrics, *data.known_limits):
            assert text in shown.out
        assert all(str(host["cpu"]) in shown.out for host in data.document["hosts"])  # type: ignore[attr-defined]


def test_shown_counts_are_those_of_the_rows(icmodel_says: Any) -> None:
    data = icmodel.load(CENTRAL)
    document = icmodel_says(f"datasets show {CENTRAL} --json").json
    assert document["rows"] == len(data.points)
    assert sum(document["bases"].values()) == len(data.points)
    counted = {m: n for per in document["metrics"].values() for m, n in per.items()}
    assert set(counted) == set(data.metrics)
    assert sum(n for per in document["metrics"].values() for n in per.values()) == len(data.points)
    assert document["values"]["cores"] == [1, 2, 3, 4]
    assert document["values"]["load_bps"][-1] == "inf"


def test_points_are_filtered(icmodel_says: Any, tmp_path: Path) -> None:
    line = f"datasets points {CENTRAL} --protocol udp --metric goodput_bps,loss_rate"
    points = icmodel_says(f"{line} --json").json["points"]
    wanted = [
        point.line
        for point in icmodel.load(CENTRAL).points
        if point.protocol == "udp" and point.metric in ("goodput_bps", "loss_rate")
    ]
    assert [point["line"] for point in points] == wanted
    assert f"{len(wanted)} rows" in icmodel_says(line).out
    one = "datasets points ethernet-1g-2010 --option offload=baseline --option machine=janos-csaba"
    assert icmodel_says(f"{one} -o rows.csv").code == 0
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text("utf-8").splitlines()))
    assert {(row["offload"], row["machine"]) for row in rows} == {("baseline", "janos-csaba")}


def test_points_as_csv_can_start_a_dataset_of_ones_own(icmodel_says: Any, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    assert icmodel_says(f"datasets points {CENTRAL} -o own/points.csv").code == 0
    text = (checkout.ROOT / "data" / CENTRAL / "dataset.toml").read_text(encoding="utf-8")
    (own / "dataset.toml").write_text(text.replace(f'id = "{CENTRAL}"', 'id = "own"'), "utf-8")
    assert icmodel_says("datasets check own").code == 2
    assert icmodel_says("datasets check own --seal").code == 0
    assert icmodel_says("datasets check own").code == 0
    assert icmodel.load(own).points == icmodel.load(CENTRAL).points
    assert icmodel_says("predict --dataset own --payload '1448 B'").code == 0


# --- theory and plots -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "name", "values"),
    [
        ("ethernet --protocol udp --payload '1472 B, 1473 B'", "packets", [1, 2]),
        ("ethernet --protocol udp --payload '1472 B, 1473 B'", "aligned", [True, False]),
        ("ethernet --payload '1448 B..5 kB'", "payload_bytes", [1448, 2896, 4344]),
        (
            "ethernet --protocol ethernet --payload '1 B' --unpadded",
            "send_interval_s",
            [0.0312e-6],
        ),
        (
            "ethernet --payload '1448 B' --distance '50 m' --switches 1 --switch-latency '1 us'",
            "min_latency_s",
            [1.2208e-6 + 50 * 4.27e-9 + 1e-6],
        ),
        (
            "ethernet --protocol ethernet --vlan-tags 1 --payload '54 B' --line-rate '100 Mb/s' --switches 1 "
            "--switch-latency '4 us' --switching store-and-forward",
            "min_latency_s",
            [10.72e-6 + 6.72e-6],
        ),
        ("ethernet --payload '9948 B' --mtu '10000 B' --line-rate '100 Gb/s'", "packets", [1]),
        (
            "ethernet --payload '1460 B' --no-timestamps",
            "max_goodput_bps",
            [1460 / 1538 * 1e10],
        ),
        ("infiniband --payload '4096 B' --as-counted", "wire_bits", [8 * (4096 + 24)]),
        ("infiniband --generation edr --payload '4 KiB' --global-route", "wire_bits", [8 * 4162]),
        ("roce --version 1 --payload '1 KiB' --as-counted", "wire_bits", [8 * (1024 + 74)]),
        ("roce --payload '1 KiB' --operation write", "wire_bits", [8 * (1024 + 62 + 20 + 16)]),
        ("rapidio --payload '256 B, 257 B'", "packets", [1, 2]),
        ("rapidio --payload '256 B' --baud '3.125 GHz'", "max_goodput_bps", [256 / 272 * 1e10]),
    ],
)
def test_theory_says_what_the_wire_allows(
    icmodel_says: Any, line: str, name: str, values: list[float]
) -> None:
    said = icmodel_says(f"theory {line} --json")
    assert said.code == 0, said.err
    assert [point[name] for point in said.json["points"]] == pytest.approx(values, rel=1e-12)


def test_theory_prints_a_table_and_writes_csv(icmodel_says: Any, tmp_path: Path) -> None:
    said = icmodel_says("theory ethernet --protocol udp --payload '1472 B, 1473 B'")
    assert ["1472 B", "1", "12304", "9.570871 Gb/s", "1.2304 µs", "1.2208 µs", "yes"] in said.rows
    assert icmodel_says("theory rapidio --payload '256 B' -o wire.csv").code == 0
    assert (tmp_path / "wire.csv").read_text("utf-8").startswith("payload_bytes,packets,wire_bits,")


def test_plot_writes_pictures_and_the_specification(icmodel_says: Any, tmp_path: Path) -> None:
    said = icmodel_says("plot goodput_bps --protocol udp -o goodput.svg")
    assert said.code == 0, said.err
    assert said.out == f"goodput_bps over payload on {CENTRAL}, variant corrected: goodput.svg\n"
    assert (tmp_path / "goodput.svg").read_bytes().startswith(b"<svg")
    line = "plot latency_mean_s --over load --payload '65535 B' --rate 6700/s"
    assert icmodel_says(f"{line} -o latency.png").code == 0
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")
    spec = icmodel_says(f"{line} --json").json
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert icmodel_says(f"{line} -o latency.json").code == 0
    assert json.loads((tmp_path / "latency.json").read_text("utf-8")) == spec
    assert {p["basis"] for p in spec["datasets"]["benchmarked"]} <= set(BASES)
    assert icmodel_says("plot cpu_recv --over cores --payload '1448 B' -o cores.svg").code == 0


# --- help, version, streams -------------------------------------------------------------------

PATHS = [
    (),
    *((name,) for name in COMMANDS),
    *(("datasets", name) for name in ("list", "show", "points", "check")),
    *(("usecases", name) for name in ("list", "show", "new")),
    *(("system", name) for name in ("predict", "list", "show", "check", "import", "export")),
    *(("theory", name) for name in ("ethernet", "infiniband", "roce", "rapidio")),
]


@pytest.mark.parametrize("path", PATHS)
def test_help_explains_and_shows_examples(icmodel_says: Any, path: tuple[str, ...]) -> None:
    said = icmodel_says(" ".join((*path, "--help")))
    assert said.code == 0
    assert said.out.startswith(f"Usage: {' '.join(('icmodel', *path))} ")
    examples = [line.strip() for line in said.out.splitlines() if line.startswith("  icmodel ")]
    assert examples
    assert said.out.split("\n\n")[1].strip()


def examples() -> Iterator[str]:
    """The examples of all help texts that need no file of one's own."""
    from icmodel.cli import app

    import typer  # isort: skip

    def texts(command: Any) -> Iterator[str]:
        yield command.help
        context = typer.Context(command)
        names = command.list_commands(context) if hasattr(command, "list_commands") else []
        for name in names:
            yield from texts(command.get_command(context, name))

    for text in texts(typer.main.get_command(app)):
        joined = text.replace("\\\n", " ")
        for line in joined.splitlines():
            own = any(word in line for word in ("my-", "path/of", "COMMAND"))
            if line.strip().startswith("icmodel ") and not own:
                yield " ".join(line.split())


JUDGES = re.compile(" (evaluate|recommend|verify|compare --usecase|system imaging) ")


def examples_no_document_shows() -> list[str]:
    """The others are run, and what they print is compared, where `test_docs` runs that document."""
    shown = [
        words(step.command.partition(" # exit")[0])
        for name in documents()
        for block in executed(name)
        if block.language == "console"
        for step in steps(block)
        if step.command.startswith("icmodel ")
    ]
    return [line for line in sorted(set(examples())) if words(line) not in shown]


@pytest.mark.parametrize("line", examples_no_document_shows())
def test_the_examples_of_the_help_work(
    line: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = main(shlex.split(line)[1:])
    said = capsys.readouterr()
    assert code in ((0, 1, 3) if JUDGES.search(line) else (0,)), said.err
    assert said.err == ""


def test_the_version_is_said(icmodel_says: Any, tmp_path: Path) -> None:
    assert icmodel_says("--version").out == f"icmodel {icmodel.__version__}\n"
    assert own_process("--version", cwd=tmp_path).stdout == f"icmodel {icmodel.__version__}\n"


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    reader, writer = pty.openpty()
    try:
        yield reader, writer
    finally:
        os.close(reader)


def test_tables_are_drawn_on_a_terminal_and_plain_when_piped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "icmodel", *words("predict --payload '1448 B' --why")]
    environment = {
        **clean_environment(),
        "PYTHONPATH": str(checkout.ROOT),
        "TERM": "xterm-256color",
        "COLUMNS": "140",
    }
    with terminal() as (reader, writer):
        done = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=writer)
        os.close(writer)
        drawn = b""
        try:
            while chunk := os.read(reader, 65536):
                drawn += chunk
        except OSError:  # the terminal is closed when its last writer ends
            pass
        assert done.wait() == 0
    piped = own_process(*words("predict --payload '1448 B' --why"), cwd=tmp_path).stdout
    assert "─" in drawn.decode()
    assert "9.4106 Gb/s" in drawn.decode()
    assert "─" not in piped
    assert "\x1b" not in piped
    assert "9.4106 Gb/s" in piped


@pytest.mark.parametrize("line", [f"datasets points {CENTRAL}", f"{TABLE_8_1} --json", "--help"])
def test_a_reader_that_leaves_is_no_error(line: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "icmodel", *words(line)],
            cwd=tmp_path,
            env={**clean_environment(), "PYTHONPATH": str(checkout.ROOT)},
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 141


def test_a_file_replaces_an_older_one_whole(icmodel_says: Any, tmp_path: Path) -> None:
    old = tmp_path / "answer.json"
    old.write_text("old", encoding="utf-8")
    link = tmp_path / "other.json"
    os.link(old, link)
    assert icmodel_says("predict --payload '1448 B' -o answer.json").code == 0
    assert json.loads(old.read_text("utf-8"))["variant"] == "corrected"
    assert link.read_text("utf-8") == "old"  # a new file took the place, the old one is untouched


def test_a_device_is_written_in_place(icmodel_says: Any, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as cat:
        assert icmodel_says("predict --payload '1448 B' -o pipe.txt").code == 0
        read, _ = cat.communicate()
    assert read == icmodel_says("predict --payload '1448 B'").out
    assert pipe.is_fifo()
