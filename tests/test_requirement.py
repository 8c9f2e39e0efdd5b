"""Requirements and verdicts: met, not met, and undecided where the interval straddles the limit."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.errors import UseCaseError
from icmodel.estimate import Estimate, absent
from icmodel.requirement import (
    MET,
    NOT_MET,
    OUTCOMES,
    UNDECIDED,
    Requirement,
    judge,
    verdict_record,
    while_all_passes,
    worst_outcome,
)

AT_LEAST = Requirement("stream", "goodput_bps", at_least=100.0)
AT_MOST = Requirement("budget", "latency_mean_s", at_most=100.0)


def estimate(low: float, value: float, high: float) -> Estimate:
    return Estimate(value, low, high, "measured", "because")


@pytest.mark.parametrize(
    ("low", "value", "high", "at_least", "at_most"),
    [
        (110, 120, 130, MET, NOT_MET),
        (100, 120, 130, MET, UNDECIDED),
        (90, 120, 130, UNDECIDED, UNDECIDED),
        (90, 95, 100, UNDECIDED, MET),
        (80, 90, 99, NOT_MET, MET),
        (100, 100, 100, MET, MET),
    ],
)
def test_the_whole_interval_decides(
    low: float, value: float, high: float, at_least: str, at_most: str
) -> None:
    assert judge(AT_LEAST, estimate(low, value, high)).outcome == at_least
    assert judge(AT_MOST, estimate(low, value, high)).outcome == at_most


def test_an_absent_metric_is_undecided_and_keeps_its_reason() -> None:
    verdict = judge(AT_LEAST, absent("not measured"), "wire")
    assert verdict.outcome == UNDECIDED
    assert verdict.why == "not measured"
    assert verdict.limiting == "wire"
    assert math.isnan(verdict.margin)
    assert verdict.to_dict()["margin"] is None


def test_the_margin_is_relative_and_positive_when_met() -> None:
    assert judge(AT_LEAST, estimate(110, 120, 130)).margin == pytest.approx(0.2)
    assert judge(AT_LEAST, estimate(80, 90, 99)).margin == pytest.approx(-0.1)
    assert judge(AT_MOST, estimate(80, 90, 99)).margin == pytest.approx(0.1)
    assert judge(AT_MOST, estimate(110, 120, 130)).margin == pytest.approx(-0.2)


def test_a_limit_of_zero_has_an_absolute_margin() -> None:
    lossless = Requirement("no loss", "loss_rate", at_most=0.0)
    assert lossless.limit == 0.0
    assert judge(lossless, estimate(0, 0, 0)).outcome == MET
    lost = judge(lossless, estimate(0.01, 0.02, 0.03))
    assert lost.outcome == NOT_MET
    assert lost.margin == pytest.approx(-0.02)


@given(st.floats(1, 1e12), st.floats(0, 1), st.floats(0, 1), st.floats(1, 1e12))
def test_at_least_and_at_most_agree_only_at_the_limit(
    value: float, below: float, above: float, limit: float
) -> None:
    told = estimate(value * (1 - below), value, value * (1 + above))
    least = judge(Requirement("a", "m", at_least=limit), told)
    most = judge(Requirement("a", "m", at_most=limit), told)
    assert least.margin == -most.margin
    if least.outcome == most.outcome == MET:
        assert told.low == told.high == limit
    assert not (least.outcome == most.outcome == NOT_MET)
    if least.outcome == MET:
        assert told.value >= limit
    if least.outcome == NOT_MET:
        assert told.value < limit


@pytest.mark.parametrize("sides", [{}, {"at_least": 1.0, "at_most": 2.0}])
def test_exactly_one_side_is_needed(sides: dict[str, float]) -> None:
    with pytest.raises(UseCaseError, match="'stream' needs exactly one of at_least and at_most"):
        Requirement("stream", "goodput_bps", **sides)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [math.inf, math.nan])
def test_the_limit_is_a_finite_number(limit: float) -> None:
    with pytest.raises(UseCaseError, match="finite"):
        Requirement("stream", "goodput_bps", at_least=limit)


def test_the_worst_outcome_stands_for_all() -> None:
    assert worst_outcome([MET, MET]) == MET
    assert worst_outcome([MET, UNDECIDED]) == UNDECIDED
    assert worst_outcome([UNDECIDED, NOT_MET, MET]) == NOT_MET
    assert worst_outcome([]) == UNDECIDED
    assert OUTCOMES == (MET, UNDECIDED, NOT_MET)


def test_the_json_form_is_plain() -> None:
    document = judge(AT_MOST, estimate(80, 90, 99), "cpu").to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["outcome"] == MET
    assert document["requirement"] == AT_MOST.to_dict()


def test_a_record_has_the_limit_on_its_side() -> None:
    least, most = (verdict_record(judge(one, estimate(80, 90, 99))) for one in (AT_LEAST, AT_MOST))
    assert least["at_least"] == most["at_most"] == 100.0
    assert math.isnan(least["at_most"])  # type: ignore[arg-type]
    assert math.isnan(most["at_least"])  # type: ignore[arg-type]
    assert (least["value"], least["low"], least["high"]) == (90, 80, 99)


ENDS = st.tuples(*[st.floats(1e3, 1e12)] * 3).map(sorted)


@given(ENDS, st.floats(1e3, 1e12))
def test_no_latency_is_met_where_less_passes_than_is_produced(
    ends: list[float], produced_bps: float
) -> None:
    low, value, high = ends
    goodput = Estimate(value, low, high, "measured")
    latency = Estimate(1e-3, 5e-4, 2e-3, "measured")
    held = while_all_passes(latency, goodput, produced_bps)
    outcome = judge(Requirement("in time", "latency_mean_s", at_most=1.0), held).outcome
    if high < produced_bps * (1 - 1e-9):
        assert (outcome, held.absent) == (NOT_MET, True)
        assert "grows without limit" in held.why
    elif low < produced_bps * (1 - 1e-9):
        assert (outcome, held.ends[:2], held.high) == (UNDECIDED, latency.ends[:2], math.inf)
    else:
        assert held == latency


def test_an_unknown_goodput_leaves_a_latency_as_it_is() -> None:
    latency = Estimate(1e-3, 5e-4, 2e-3, "measured")
    for goodput in (absent("unknown"), Estimate(math.nan, 0.0, 1e9, "theory")):
        assert while_all_passes(latency, goodput, 5e8) == latency
