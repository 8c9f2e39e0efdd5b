"""``icmodel fold``: from records to a dataset and back, and refusals in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fold_case import line, write
from icmodel.cli import main
from icmodel.dataset.check import check_dataset


@pytest.fixture
def records(tmp_path: Path) -> Path:
    held = {"held_out": True, "kind": "held-out"}
    return write(
        tmp_path / "r.jsonl",
        line("a", flags=("stalled",)),
        line("b"),
        line("c", payload_bytes=700, plan=held),
        line("d", flags=("incomplete",)),
    )


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert main(["fold", *map(str, words)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_records_become_a_dataset(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "lab"
    words = ["fold", str(records), "-o", str(target), "--line-rate", "100 Mb/s", "--title", "Mine"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "Mine" in said
    assert "its flags spoil every metric: incomplete" in said
    data = check_dataset(target)
    assert data.interconnect.line_rate_bps == 1e8
    assert (len(data.points), len(data.held_out_runs)) == (3, 1)


def test_json_equals_the_text(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fold", str(records), "-o", str(tmp_path / "lab"), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["used"], made["held_out"], made["points"]) == (2, 1, 3)
    assert main(["fold", str(tmp_path / "lab"), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == made


def test_records_given_twice_are_reported(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fold", str(records), "-o", str(tmp_path / "once")]) == 0
    assert "given twice" not in capsys.readouterr().out
    words = ["fold", str(records), str(records), "-o", str(tmp_path / "lab")]
    assert main(words) == 0
    said = [" ".join(text.split()) for text in capsys.readouterr().out.splitlines()]
    assert "4 records given twice, counted once" in said
    assert "2 runs used for points" in said
    assert main([*words[:3], "-o", str(tmp_path / "other"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"]["given_twice"] == 4


def test_an_about_file_describes_the_dataset(records: Path, tmp_path: Path) -> None:
    about = tmp_path / "about.toml"
    about.write_text('licence = "CC0-1.0"\n[interconnect]\ncable_length_m = 2.0\n')
    target = tmp_path / "lab"
    assert main(["fold", str(records), "-o", str(target), "--about", str(about)]) == 0
    assert check_dataset(target).interconnect.cable_length_m == 2.0


def test_refusals_are_sentences(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "the folder of the dataset is missing" in refused(capsys, records)
    assert "contains no dataset made by icmodel fold" in refused(capsys, tmp_path)
    assert "cannot be read" in refused(capsys, tmp_path / "none", "-o", tmp_path / "x")
    assert "is not a flag" in refused(capsys, records, "-o", tmp_path / "x", "--refuse", "slow")
    assert "--apart 'mac' is not compared" in refused(
        capsys, records, "-o", tmp_path / "x", "--apart", "mac"
    )
    assert "--most-steal 1 is not possible" in refused(
        capsys, records, "-o", tmp_path / "x", "--most-steal", "100 %"
    )
    assert "not valid TOML" in refused(capsys, records, "-o", tmp_path / "x", "--about", records)
    assert "no variant 'best'" in refused(capsys, tmp_path / "none", "--variant", "best")
    assert "'Bad Name' cannot be the id" in refused(
        capsys, tmp_path / "none", "-o", tmp_path / "Bad Name"
    )
    assert not (tmp_path / "x").exists()
    main(["fold", str(records), "-o", str(tmp_path / "lab")])
    capsys.readouterr()
    assert "with the settings in its folded.json" in refused(
        capsys, tmp_path / "lab", "--title", "New"
    )


def test_runs_are_kept_apart_and_records_cut_as_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "r.jsonl", line("a"), line("b", steal=0.2))
    words = ["fold", str(file), "-o", str(tmp_path / "lab"), "--most-steal", "5 %"]
    assert main([*words, "--withhold", "hostname", "--histogram-digits", "1", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["kept_apart"] == {"the hypervisor took more than 5 % of a core in use": 1}
    assert made["settings"]["most_steal"] == 0.05
    assert made["settings"]["withhold"] == ["hostname"]
    assert check_dataset(tmp_path / "lab").document["hosts"][0]["name"] == "withheld (caller)"  # type: ignore[index]
