"""From an own use case and an own CSV file to a verdict, by the blocks of the guides."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import checkout
import test_docs as docs
from conftest import clean_environment

OWN_DATASET = "docs/guides/own-dataset.md"
OWN_USECASE = "docs/guides/own-usecase.md"
EVALUATE = "icmodel evaluate my-camera.toml --dataset office-25g --json"


def follow(guide: str, folder: Path) -> None:
    """Follow a guide in a folder: write its files, run its commands, and compare their outputs."""
    for block in docs.executed(guide):
        if block.title:
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            docs.run_console(block, folder)


def command(line: str, folder: Path) -> tuple[int, str, str]:
    """Run a command line; return exit code, standard output and standard error."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**clean_environment(), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def code_of_icmodel() -> str:
    """Hash of all bundled files."""
    folders = ("icmodel", "data", "usecases")
    names = [name for name in checkout.files() if name.parts[0] in folders]
    return hashlib.sha256(b"".join((checkout.ROOT / n).read_bytes() for n in names)).hexdigest()


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder after following the guide on own measurements."""
    folder = tmp_path_factory.mktemp("followed")
    follow(OWN_DATASET, folder)
    return folder


@pytest.fixture
def own(followed: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return shutil.copytree(followed, tmp_path, dirs_exist_ok=True)


def test_the_guide_leads_from_a_csv_to_a_verdict_without_touching_icmodel(tmp_path: Path) -> None:
    before = code_of_icmodel()
    follow(OWN_DATASET, tmp_path)
    code, printed, _ = command(EVALUATE, tmp_path)
    answer = json.loads(printed)
    assert code == 0
    assert answer["verdict"] == "met"
    assert answer["usecase"]["name"] == "my-camera"
    assert answer["dataset"]["id"] == "office-25g"
    sealed = hashlib.sha256((tmp_path / "office-25g" / "points.csv").read_bytes()).hexdigest()
    assert answer["dataset"]["sha256"] == sealed
    assert code_of_icmodel() == before


def test_the_verdict_rests_on_the_lines_of_the_own_csv(own: Path) -> None:
    _, printed = docs.run_here(shlex.split(EVALUATE)[1:], own)
    chosen = json.loads(printed)["candidates"][0]
    rows = chosen["answers"][0]["prediction"]["rows"]
    assert rows
    assert {row["source"].partition(" line ")[0] for row in rows} == {"measurements.csv"}


def test_slower_measurements_turn_the_verdict(own: Path) -> None:
    with (own / "measurements.csv").open(encoding="utf-8", newline="") as file:
        runs = list(csv.DictReader(file))
    for run in runs:
        if run["limit_Gbps"] == "max":
            run["goodput_Gbps"] = "2.1"  # the camera sends 2.49
    with (own / "measurements.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(runs[0]))
        writer.writeheader()
        writer.writerows(runs)
    line = "python build_points.py && icmodel datasets check office-25g --seal >&2"
    assert command(line, own)[0] == 0
    code, printed = docs.run_here(shlex.split(EVALUATE)[1:], own)
    assert code == 1
    outcomes = {
        finding["requirement"]["name"]: finding["outcome"]
        for finding in json.loads(printed)["candidates"][0]["findings"]
    }
    assert outcomes["the stream arrives"] == "not met"


def test_points_changed_after_sealing_are_refused(own: Path) -> None:
    points = own / "office-25g" / "points.csv"
    points.write_text(points.read_text(encoding="utf-8").replace("0.093", "0.083"), "utf-8")
    code, printed, told = command(EVALUATE, own)
    assert code == 2
    assert json.loads(printed)["error"]["message"] in told
    assert "office-25g/points.csv does not match the sha256" in told
    assert "--seal" in told
    assert "Traceback" not in told


def test_a_bad_row_is_named_and_nothing_is_sealed(own: Path) -> None:
    points, toml = own / "office-25g" / "points.csv", own / "office-25g" / "dataset.toml"
    points.write_text(points.read_text(encoding="utf-8").replace("0.093", "93"), "utf-8")
    before = toml.read_bytes()
    code, _, told = command("icmodel datasets check office-25g --seal", own)
    assert code == 2
    assert "points.csv line 2" in told
    assert toml.read_bytes() == before


def test_the_own_use_case_is_judged_on_the_own_data(own: Path) -> None:
    follow(OWN_USECASE, own)
    code, printed, _ = command("icmodel evaluate inspection.toml --dataset office-25g --json", own)
    answer = json.loads(printed)
    assert (code, answer["verdict"]) == (0, "met")
    outcomes = {candidate["name"]: candidate["outcome"] for candidate in answer["candidates"]}
    assert outcomes == {"one-interface": "met", "udp": "undecided"}
