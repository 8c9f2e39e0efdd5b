"""The measured lab dataset: rebuilt from its records, accounted for, and nothing of its place."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

import checkout
from icmodel.cli import main
from icmodel.dataset import Dataset, load
from icmodel.dataset.check import check_dataset
from icmodel.dataset.rows import noise, repeats

NAME = "lab-1g-2026"
FOLDER = checkout.ROOT / "data" / NAME
MADE = ("points.csv", "held-out.csv", "dataset.toml", "README.md", "folded.json")
WATCHED = ("goodput_bps", "latency_mean_s", "cpu_send", "cpu_recv")


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load(NAME)


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return gzip.decompress((FOLDER / "records.jsonl.gz").read_bytes()).decode().splitlines()


@pytest.mark.long
def test_one_command_rebuilds_it_byte_for_byte(tmp_path: Path) -> None:
    copy = shutil.copytree(FOLDER, tmp_path / NAME)
    for name in MADE[:3]:
        (copy / name).unlink()
    assert main(["fold", str(copy)]) == 0
    for name in (*MADE, "records.jsonl.gz"):
        assert (copy / name).read_bytes() == (FOLDER / name).read_bytes(), name


def test_it_is_in_order_and_every_record_has_one_fate(data: Dataset, lines: list[str]) -> None:
    assert check_dataset(FOLDER).sha256 == data.sha256
    account = json.loads((FOLDER / "folded.json").read_bytes())
    assert len(account["runs"]) == len(lines) == account["records"]["runs"]
    apart = sum(account["kept_apart"].values())
    assert account["used"] + account["held_out"] + apart == len(lines)
    assert len(data.held_out_runs) == account["held_out"]


def test_the_plans_beside_it_are_those_that_measured_it(lines: list[str]) -> None:
    plans = {
        tomllib.loads(path.read_text(encoding="utf-8"))["name"]
        for path in (FOLDER / "campaign").glob("plan-*.toml")
    }
    assert plans == {re.findall('"plan":{"name":"([^"]+)"', line)[0] for line in lines}
    for path in (FOLDER / "campaign").glob("plan-*.toml"):
        plan = tomllib.loads(path.read_text(encoding="utf-8"))
        assert (FOLDER / "campaign" / plan["lab"]["topology"]).is_file()


def test_the_records_name_no_place(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert set(re.findall(r'"kernel_cmdline":"([^"]*)"', text)) == {"withheld"}
    assert not re.search(r'"/[a-z]', text)  # no path of a machine
    assert set(re.findall(r'"hostname":"([^"]*)"', text)) == {"vm"}


def test_there_are_two_hundred_held_out_results_of_each_metric(data: Dataset) -> None:
    for metric in WATCHED:
        assert sum(point.metric == metric for point in data.held_out) >= 200
    known = {point[1:9] for point in data.points}
    assert known.isdisjoint({point[1:9] for point in data.held_out})


def test_one_factor_at_a_time_is_there_for_every_factor(data: Dataset) -> None:
    rows = [p for p in data.points if p.metric == "goodput_bps"]
    assert {p.switches for p in rows} == {0, 1, 2}
    assert {p.endpoints for p in rows} == {1, 2, 3}
    assert {p.cores for p in data.points} == {1, 2}
    two_cores = {p.metric for p in data.points if p.cores == 2}
    assert two_cores == {"cpu_send_process_cores", "cpu_recv_process_cores"}
    beside = [p for p in data.points if (p.endpoints or 1) > 1]
    assert {p.metric for p in beside} == {"goodput_bps", "loss_rate"}
    assert len({(p.endpoints, p.protocol, p.payload_bytes) for p in beside}) == 9
    assert sum(p.n or 0 for p in beside if p.metric == "goodput_bps") == 16


def test_the_readme_s_noise_is_that_of_the_rows(data: Dataset) -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    there = repeats(data.held_out)
    for metric in WATCHED:
        cells = [
            cell.strip()
            for cell in re.findall(rf"(?m)^\| `{metric}` \|(.*)\|$", page)[0].split("|")
        ]
        found = [noise(p for p in data.points if p.protocol == name) for name in data.protocols]
        numbers = [*(one[metric].run for one in found), there[metric].run, there[metric].error]
        absolute = metric.startswith("cpu")
        told = [f"{n:.4f}" if absolute else f"{float(f'{100 * n:.2g}'):g} %" for n in numbers]
        assert cells == told


def test_show_says_the_noise_and_how_many_runs_were_held_out(
    data: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["datasets", "show", NAME]) == 0
    shown = capsys.readouterr().out
    assert f"{len(data.held_out_runs)} runs at 78 points" in shown
    assert re.search(r"(?m)^latency_mean_s( +[0-9.]+ % \([0-9]+\)){4}$", shown)
    assert main(["datasets", "show", NAME, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    tcp = noise(point for point in data.points if point.protocol == "tcp")["goodput_bps"]
    assert told["noise"]["tcp"]["goodput_bps"] == {"rows": tcp.rows, "run": tcp.run}
    assert main(["datasets", "show", "ethernet-10g-2012"]) == 0
    assert "held out from every fit" not in capsys.readouterr().out
