"""Bounds against simulations, run tiny: what is counted, printed and refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.bounds import cases, code, held, main, modules, spread, text


def test_the_document_says_what_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--systems", "8", "--flows", "100", "--seed", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["broken"] == []
    assert {row["scheduler"] for row in document["tightness"]} >= {"FIFO", "mixed"}
    assert all(row["least"] >= 1.0 - 1e-9 for row in document["tightness"])
    assert [one["flows"] for one in document["large"]] == [100, 100]
    assert document["cases"]["saihu"]["with the copy"]["separate flow"]["f1"] == pytest.approx(60.0)
    printed = text(document)
    assert "8 systems, 0 bounds too low" in printed
    assert "Panco_PLP, as printed" in printed


def test_a_bound_that_is_too_low_is_said_and_fails() -> None:
    def lost(seed: int) -> Any:
        return modules().Held("FIFO", {"least": [0.5]}, [f"seed {seed}, FIFO, f0: least 1 below 2"])

    document = {**held(lost, 2, 7), "cases": cases(), "large": []}
    assert code(document) == 1
    printed = text(document)
    assert "too low: seed 8, FIFO, f0" in printed
    assert "2 systems, 2 bounds too low" in printed


def test_a_spread_counts_what_is_not_bounded_apart() -> None:
    found = spread([1.0, 3.0, 2.0, float("inf")])
    assert found == {"count": 4, "finite": 3, "least": 1.0, "median": 2.0, "p95": 2.0}


@pytest.mark.parametrize("words", [["--systems", "0"], ["--flows", "x"]])
def test_a_wrong_question_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
