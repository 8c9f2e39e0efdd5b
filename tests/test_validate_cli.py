"""Text output of ``icmodel validate``, including failures and the number of hidden lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import python_calamine

from icmodel.cli import main
from icmodel.cli.validate import validation_sections
from icmodel.dataset import load
from icmodel.estimate import absent
from icmodel.validate.scores import outcome, score
from icmodel.validate.validation import KINDS, Trial, Validation
from icmodel.validate.validation import Tested as OfMetric


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Output of the command."""
    assert main(["validate", *words]) == 0
    return capsys.readouterr().out


def test_a_kind_without_folds_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("zeromq-1g-2010", "--folds", "held-out, leave-one-out", "--most", "1")
    said = told(capsys, *words, "--metric", "goodput_bps")
    assert "without folds, since there is nothing to leave out\n- held-out\n" in said


def test_too_few_rows_differ_from_nothing_to_leave_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("ethernet-10g-2012", "--folds", "leave-one-out", "--metric", "loss_rate")
    said = told(capsys, *words)
    assert "too few measured or tabulated rows to score" in said
    assert "without folds" not in said


def test_no_fold_at_all_is_one_sentence_that_says_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["validate", "zeromq-1g-2010", "--folds", "held-out"]) == 2
    printed, said = capsys.readouterr()
    assert printed == ""
    assert "zeromq-1g-2010 has no folds of the kind held-out: it has no held-out runs" in said
    assert "such as leave-one-out" in said


def test_only_folds_that_ask_for_a_metric_are_made(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("rmi-1g-2009", "--folds", "leave-one-out", "--metric", "goodput_bps")
    said = told(capsys, *words)
    assert "leave-one-out, 40 folds" in said
    assert "leave-one-out, 4 folds" in told(capsys, *words, "--most", "4")


def silent(reasons: int) -> Validation:
    """Validation of many rows without a prediction, each with its own reason."""
    data = load("zeromq-1g-2010")
    points = [p for p in data.points if p.metric == "goodput_bps"][:reasons]
    unanswered = [outcome("a fold", p, absent(f"reason {at}")) for at, p in enumerate(points)]
    tested = OfMetric(score(unanswered), {"somewhere": score(unanswered)}, ())
    trial = Trial("leave-one-out", reasons, {"goodput_bps": tested}, tuple(unanswered))
    return Validation(data, "corrected", (trial,), {}, {})


@pytest.mark.parametrize("reasons", [2, 3, 5])
def test_no_table_stands_empty_and_no_reason_is_dropped_silently(reasons: int) -> None:
    found = {
        section.heading: section.body for section in validation_sections(silent(reasons), KINDS[:1])
    }
    assert "by region" not in found
    lines = found["without an answer"]
    assert isinstance(lines, tuple)
    assert sum(int(line.split()[2]) for line in lines) == reasons
    assert ("for other reasons (--json has all)" in lines[-1]) is (reasons > 3)


def test_a_workbook_has_intervals_basis_and_sources_of_every_test_row(tmp_path: Path) -> None:
    place = tmp_path / "errors.xlsx"
    words = ["tcp-connectx7", "--folds", "leave-one-out", "--metric", "goodput_bps", "--most", "3"]
    assert main(["validate", *words, "-o", str(place)]) == 0
    book = python_calamine.CalamineWorkbook.from_path(str(place))
    assert book.sheet_names == ["answers", "intervals", "basis", "sources"]
    sheets: list[list[list[Any]]] = [
        book.get_sheet_by_name(name).to_python() for name in book.sheet_names
    ]
    answers, intervals, basis, sources = sheets
    assert len(answers) == len(intervals) == len(basis) == len(sources) == 4
    predicted, low = answers[0].index("predicted"), answers[0].index("low")
    for row, interval in zip(answers[1:], intervals[1:], strict=True):
        assert interval[0].startswith("leave-one-out / row ")
        assert interval[1] == "goodput"
        assert [interval[2], interval[3]] == pytest.approx([row[low] / 1e9, row[predicted] / 1e9])
    data = load("tcp-connectx7")
    values = {point.line: point.value for point in data.points}
    assert [values[int(row[0])] for row in sources[1:]] == [row[4] for row in sources[1:]]
