"""What a prediction notes stands where people see it, whichever command asked."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import icmodel
from icmodel.cli import main

QUESTIONS = {
    "corrected": "--payload '64 B' --cores 8",
    "appendix-h": "--payload '64 B' --distance '50 m'",
}
"""By variant, something that is noted."""


def notes(variant: str) -> tuple[str, ...]:
    """What a prediction of the question notes."""
    model = icmodel.Model("ethernet-10g-2012", variant)
    if variant == "corrected":
        return model.predict(protocol="tcp", payload="64 B", cores=8, outside="extrapolate").notes
    return model.predict(protocol="tcp", payload="64 B", distance="50 m").notes


@pytest.mark.parametrize("variant", QUESTIONS)
@pytest.mark.parametrize("command", ["predict", "sweep", "compare"])
def test_a_note_is_printed(command: str, variant: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = f"{command} {QUESTIONS[variant]} --variant {variant} --extrapolate"
    assert main(shlex.split(line)) == 0
    said = capsys.readouterr().out
    assert notes(variant)
    assert all(note in said for note in notes(variant)), said
    assert main([*shlex.split(line), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    told = document["columns"][0]["prediction"] if command == "compare" else document
    assert tuple(told["notes"][-len(notes(variant)) :]) == notes(variant)


def test_a_sweep_has_the_notes_of_its_last_point(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split("sweep --payload '64 B' --cores 1..8 --extrapolate --all")) == 0
    said = capsys.readouterr().out
    assert all(f"- {note}" in said for note in notes("corrected"))


def test_a_plot_prints_the_notes_of_its_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"plot goodput_bps {QUESTIONS['appendix-h']} --variant appendix-h"
    assert main([*shlex.split(line), "-o", str(tmp_path / "plot.json")]) == 0
    said = capsys.readouterr().out
    assert all(f"note: {note}" in said for note in notes("appendix-h"))
