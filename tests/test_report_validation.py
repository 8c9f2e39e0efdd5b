"""The report of a validation: the verdict on coverage, the worst first, and the command."""

from __future__ import annotations

import pytest

from icmodel.dataset import load
from icmodel.dataset.dataset import PROMISED
from icmodel.report import page_of
from icmodel.report.validation import conclude, verdicts, words
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED
from icmodel.validate import Validation, ValidationOptions, validate


@pytest.fixture(scope="module")
def found() -> Validation:
    return validate(
        load("mpi-infiniband-roce"), "corrected", ValidationOptions(("leave-one-out",), most=40)
    )


def test_coverage_decides_and_the_worst_comes_first(found: Validation) -> None:
    judged = verdicts(found)
    assert judged
    ranks = [OUTCOMES.index(verdict.outcome) for *_, verdict in judged]
    assert ranks == sorted(ranks, reverse=True)
    for _, score, verdict in judged:
        assert score.coverage is not None
        low, high = score.coverage.low, score.coverage.high
        expected = MET if low >= PROMISED[0] else NOT_MET if high < PROMISED[0] else UNDECIDED
        assert verdict.outcome == expected
    assert conclude(found, judged).outcome == judged[0][2].outcome


def test_the_first_page_has_the_shares_of_the_scores(found: Validation) -> None:
    front = page_of(found).front
    assert front is not None
    for row, (_, score, _) in zip(front.numbers.rows, verdicts(found), strict=False):
        assert score.coverage is not None
        assert row[2].text == f"{100 * score.coverage.share:.1f} %"
        assert row[5].text == f"{score.n} rows"
    assert front.picture is not None


def test_the_command_has_every_option_that_was_given() -> None:
    data = load("dds-1g")
    options = ValidationOptions(("leave-one-out",), ("goodput_bps",), (1448,), 3, 0, data)
    line = " ".join(words(Validation(data, "corrected", (), {}, {}, {}, options)))
    assert line == (
        "validate dds-1g --variant corrected --folds leave-one-out --metric goodput_bps --break 1448 B "
        "--most 3 --worst 0 --runs dds-1g"
    )
    assert words(Validation(data, "corrected", (), {}, {})) == [
        "validate",
        "dds-1g",
        "--variant",
        "corrected",
    ]
