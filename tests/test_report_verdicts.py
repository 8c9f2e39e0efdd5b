"""The verdicts of a report: the conclusion in a sentence, margins as text, and gauges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.estimate import Estimate, absent
from icmodel.report.verdicts import conclude, gauge, margin_text
from icmodel.requirement import NOT_MET, Requirement, judge
from icmodel.usecase import Evaluation, Finding, evaluate
from small_case import small_evaluation


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return small_evaluation(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def imaging() -> Evaluation:
    return evaluate("imaging", "ethernet-10g-2012")


def test_the_answer_names_verdict_margin_limit_and_least_change(imaging: Evaluation) -> None:
    told = conclude(imaging)
    assert told.outcome == NOT_MET
    assert told.sentence.startswith(
        "Not met, on derived goodput: original misses 3 of 7 requirements, worst “every picture stream "
        "arrives whole”: goodput is 3.512676 Gb/s where at least 3.538944 Gb/s is needed, 0.74 % short, limited "
        "by the request; 6751 frames/s is the least rate that achieves it"
    )
    assert dict(told.parts)["Limited by"] == "the request"


@pytest.mark.parametrize(
    ("candidate", "beginning"),
    [
        (
            "right",
            "Met, on interpolated mean latency and greatest latency: right meets its 3 requirements, most narrowly “",
        ),
        ("nowhere", "Undecided: nowhere leaves 3 of 3 requirements open, first “"),
        ("slow", "Not met, on measured goodput: slow misses 3 of 3 requirements, worst “it arrive"),
    ],
)
def test_each_outcome_has_its_sentence(tmp_path: Path, candidate: str, beginning: str) -> None:
    assert conclude(small_evaluation(tmp_path, candidate)).sentence.startswith(beginning)


def test_a_candidate_that_meets_everything_is_the_change_that_would_do(tmp_path: Path) -> None:
    for candidate in ("slow", "nowhere"):
        told = conclude(small_evaluation(tmp_path, candidate))
        assert dict(told.parts)["What would do"].endswith(
            "the candidate right meets every requirement"
        )
    assert "What would do" not in dict(conclude(small_evaluation(tmp_path, "right")).parts)


def test_the_least_margin_of_the_worst_outcome_decides(small: Evaluation) -> None:
    one = small.chosen.findings[0]
    wanted = Requirement("r", "goodput_bps", at_least=100.0)

    def finding(low: float, value: float, high: float) -> Finding:
        return replace(one, verdict=judge(wanted, Estimate(value, low, high, "measured")))

    findings = (finding(10, 20, 30), finding(5, 6, 7), finding(200, 300, 400))
    judged = replace(small.chosen, findings=findings)
    assert judged.outcome == NOT_MET
    assert judged.decisive is findings[1]


@pytest.mark.parametrize(
    ("requirement", "value", "said"),
    [
        (Requirement("r", "goodput_bps", at_least=3538944000.0), 3512676000.0, "0.74 % short"),
        (Requirement("r", "cpu_recv", at_most=1.0), 0.9492, "5.1 % to spare"),
        (Requirement("r", "latency_mean_s", at_most=3e-6), 3.3e-6, "10 % over"),
        (Requirement("r", "latency_mean_s", at_most=3e-6), 3e-5, "10 times the limit"),
        (Requirement("r", "loss_rate", at_most=0.0), 0.0, "just met"),
        (Requirement("r", "loss_rate", at_most=0.0), 0.02, "2 % over"),
    ],
)
def test_margins_are_said_as_people_say_them(
    requirement: Requirement, value: float, said: str
) -> None:
    assert margin_text(judge(requirement, Estimate(value, value, value, "measured"))) == said


def test_an_unknown_margin_is_not_said() -> None:
    wanted = Requirement("r", "goodput_bps", at_least=1.0)
    assert margin_text(judge(wanted, absent("nothing"))) == ""


positive = st.floats(1e-9, 1e9, allow_nan=False)


@given(
    limit=positive, low=positive, up=st.floats(0, 1e9) | st.just(float("inf")), least=st.booleans()
)
def test_a_gauge_stays_inside_its_width(limit: float, low: float, up: float, least: bool) -> None:
    wanted = Requirement("r", "latency_mean_s", limit if least else None, None if least else limit)
    estimate = Estimate(low, low, low + up, "measured")
    shown = gauge(judge(wanted, estimate))
    assert shown is not None
    assert shown.value is not None
    assert 0 <= shown.low <= shown.value <= shown.high <= 1
    assert 0 < shown.limit < 1
    assert (shown.low < shown.limit) == (low < limit)


def test_no_gauge_is_drawn_of_nothing() -> None:
    assert gauge(judge(Requirement("r", "goodput_bps", at_least=1.0), absent("none"))) is None
    zero = Requirement("r", "loss_rate", at_most=0.0)
    assert gauge(judge(zero, Estimate(0.0, 0.0, 0.0, "stated"))) is None
