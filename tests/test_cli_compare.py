"""``icmodel compare``: columns of datasets, protocols and variants."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cli_case import CENTRAL, RunIcmodel
from icmodel.cli.predict import LINES


def test_compare_puts_every_combination_side_by_side(run_icmodel: RunIcmodel) -> None:
    printed = run_icmodel(
        "compare --variant appendix-h,corrected --protocol tcp --protocol udp --payload '1472 B' --json"
    )
    columns = printed.json["columns"]
    assert [(c["protocol"], c["variant"]) for c in columns] == [
        ("tcp", "appendix-h"),
        ("tcp", "corrected"),
        ("udp", "appendix-h"),
        ("udp", "corrected"),
    ]
    goodput = [c["prediction"]["goodput_bps"]["value"] for c in columns]
    assert goodput[2] == 9.6e9
    assert goodput[3] == pytest.approx(1472 / 1538 * 1e10)


def test_compare_takes_each_datasets_own_protocol_and_names_those_without_answer(
    run_icmodel: RunIcmodel,
) -> None:
    line = f"compare --dataset {CENTRAL},infiniband-qdr-connectx2,rapidio-tsi721 --payload '4 KiB'"
    printed = run_icmodel(line)
    assert printed.code == 0
    assert f"{CENTRAL}" in printed.out
    assert "rc, 4096 B a frame" in printed.out
    silent = printed.out.partition("without an answer\n")[2]
    assert silent.startswith("- rapidio-tsi721, corrected, dma-write: payload 4096 B is outside")
    missing = [c for c in run_icmodel(f"{line} --json").json["columns"] if not c["prediction"]]
    assert [column["dataset"] for column in missing] == ["rapidio-tsi721"]


def test_compare_is_an_error_if_no_dataset_can_answer(run_icmodel: RunIcmodel) -> None:
    printed = run_icmodel(f"compare --dataset {CENTRAL} --payload '70000 B' --variant corrected")
    assert (printed.code, printed.out) == (2, "")
    assert "70000 B" in printed.err


def test_compare_writes_csv(run_icmodel: RunIcmodel, tmp_path: Path) -> None:
    run_icmodel("compare --protocol tcp,udp --payload '1448 B' -o both.csv")
    rows = list(csv.DictReader((tmp_path / "both.csv").read_text("utf-8").splitlines()))
    assert {row["protocol"] for row in rows} == {"tcp", "udp"}


def test_a_comparison_shows_what_a_prediction_does(run_icmodel: RunIcmodel) -> None:
    line = "compare --protocol tcp,udp --payload '1472 B'"
    brief, whole = run_icmodel(line).out, run_icmodel(f"{line} --all").out
    assert "mean latency" in brief
    assert "σ of latency" not in brief
    assert "σ of latency" in whole
    assert len(brief.splitlines()) <= LINES + 3


@pytest.mark.parametrize("option", ["author", "project", "revision", "date", "template"])
@pytest.mark.parametrize("output", ["", " -o both.html"])
def test_compare_without_a_use_case_refuses_options_of_a_report(
    run_icmodel: RunIcmodel, option: str, output: str
) -> None:
    printed = run_icmodel(f"compare --payload '64 B' --{option} A{output}")
    assert (printed.code, printed.out) == (2, "")
    fix = f"add --usecase NAME, or leave --{option} out"
    assert printed.err == f"icmodel: --{option} needs --usecase: {fix}\n"
