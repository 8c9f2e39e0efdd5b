"""Bounds against simulations, run tiny: what is counted, printed and refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.bounds import (
    cases,
    code,
    held,
    main,
    modules,
    spread,
    text,
    whole,
    whole_modules,
)


def test_the_document_says_what_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--systems", "8", "--whole", "6", "--flows", "100", "--seed", "3", "--json"]
    failed = main(words)
    document = json.loads(capsys.readouterr().out)
    assert failed == bool(document["whole"]["broken"])
    assert document["broken"] == []
    assert {row["scheduler"] for row in document["tightness"]} >= {"FIFO", "mixed"}
    assert all(row["least"] >= 1.0 - 1e-9 for row in document["tightness"])
    assert [one["flows"] for one in document["large"]] == [100, 100]
    assert document["cases"]["saihu"]["with the copy"]["separate flow"]["f1"] == pytest.approx(60.0)
    delays = [row for row in document["whole"]["tightness"] if row["what"] == "delay"]
    assert {row["by"] for row in delays} == {"scheduler", "forwarding", "form"}
    printed = text(document)
    assert "8 systems, 0 bounds too low" in printed
    assert "6 whole systems" in printed
    assert "Panco_PLP, as printed" in printed


def test_a_bound_that_is_too_low_is_said_and_fails() -> None:
    def lost(seed: int) -> Any:
        return modules().Held("FIFO", {"least": [0.5]}, [f"seed {seed}, FIFO, f0: least 1 below 2"])

    def fine(seed: int) -> Any:
        return whole_modules().Held([], 1, [])

    def wrong(seed: int) -> Any:
        ratio = whole_modules().Tightness("delay", "fifo", "cut-through", "udp", 0.5)
        return whole_modules().Held([ratio], 0, [f"seed {seed}: f0: bound 1, simulated 2"])

    others = {"cases": cases(), "large": []}
    document = {**held(lost, 2, 7), "whole": whole(fine, 2, 7), **others}
    assert code(document) == 1
    broken = {**held(lost, 2, 7), "broken": [], "whole": whole(wrong, 2, 7), **others}
    assert code(broken) == 1
    assert "too low: seed 8: f0: bound 1" in text(broken)
    assert code({**broken, "whole": document["whole"]}) == 0
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
