"""``icmodel evaluate`` and ``icmodel usecases``: verdicts, reports and lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_case import CENTRAL, IMAGING, RunIcmodel
from icmodel.usecase import usecase_names


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
    run_icmodel: RunIcmodel, line: str, code: int, verdict: str
) -> None:
    printed = run_icmodel(f"{line} --json")
    assert printed.code == code
    assert printed.json["verdict"] == verdict


def test_evaluate_prints_verdict_dataset_and_variant(run_icmodel: RunIcmodel) -> None:
    printed = run_icmodel(f"{IMAGING} --variant appendix-h")
    for text in ("not met", CENTRAL, "appendix-h", "0.74 %", "6751 frames/s"):
        assert text in printed.out


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_evaluate_writes_a_report(run_icmodel: RunIcmodel, tmp_path: Path, ending: str) -> None:
    """On few rows: the guide to reports writes those on imaging."""
    printed = run_icmodel(f"evaluate motion-control --dataset rapidio-tsi721 -o drives.{ending}")
    assert printed.code == 3
    assert printed.out == (
        "motion-control on rapidio-tsi721, variant corrected: undecided; "
        f"the report is drives.{ending}\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == [f"drives.{ending}"]
    assert "rapidio-tsi721" in (tmp_path / f"drives.{ending}").read_text(encoding="utf-8")


def test_usecases_are_listed_and_shown(run_icmodel: RunIcmodel) -> None:
    listed = run_icmodel("usecases list --json").json["usecases"]
    assert [case["name"] for case in listed] == list(usecase_names())
    assert all(case["name"] in run_icmodel("usecases list").out for case in listed)
    shown = run_icmodel("usecases show imaging")
    assert "3.538944 Gb/s" in shown.out
    assert "original (default)" in shown.out
    document = run_icmodel("usecases show imaging --json").json
    derived = {one["name"]: one["value"] for one in document["derivations"]}
    assert derived["picture.goodput_bps"] == 3538944000.0
    assert document["default_candidate"] == "original"


def test_a_new_usecase_evaluates_and_is_never_overwritten(
    run_icmodel: RunIcmodel, tmp_path: Path
) -> None:
    assert run_icmodel("usecases new my-own").code == 0
    text = (tmp_path / "my-own.toml").read_text(encoding="utf-8")
    assert 'name = "my-own"' in text
    assert run_icmodel("evaluate my-own.toml").code == 0
    again = run_icmodel("usecases new my-own")
    assert again.code == 2
    assert "my-own.toml already exists" in again.err
    assert (tmp_path / "my-own.toml").read_text(encoding="utf-8") == text
    assert run_icmodel("usecases new my-own -o other.toml").code == 0
    assert (tmp_path / "other.toml").read_text(encoding="utf-8") == text
