"""Ranking of interconnects: classes, order and sentences, and no link that wrongly carries."""

from __future__ import annotations

import csv
import functools
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_case import RunIcmodel
from icmodel.cli.compare import ANSWERS, RANKING
from icmodel.errors import IcmodelError, ScenarioError, UnitError
from icmodel.interconnects import Comparison, Ranked, compare_interconnects, ranked
from icmodel.interconnects.result import (
    CARRIES,
    CLASSES,
    HOSTS_FAIL,
    HOSTS_OPEN,
    IMPOSSIBLE,
    THEORY,
)
from icmodel.questions.predicting import parse_rates
from icmodel.requirement import MET, NOT_MET, UNDECIDED
from icmodel.usecase import evaluate, load_usecase
from icmodel.usecase.document import Candidate, Question
from search import times
from small_case import USECASE, small_dataset

TEN_GIGABIT, RAPIDIO = "ethernet-10g-2012", "rapidio-tsi721"
RATES_BPS = (1e9, 10e9, 16e9, 25e9)


@functools.cache
def compared(name: str) -> Comparison:
    return compare_interconnects(name, (TEN_GIGABIT, RAPIDIO), rates_bps=RATES_BPS)


def of(name: str, kind: str, rate: float, protocol: str) -> Ranked:
    return next(
        one
        for one in ranked(compared(name))
        if (one.row.link.kind, one.row.link.line_rate_bps, one.row.link.protocol)
        == (kind, rate, protocol)
    )


CASES = ("cameras", "imaging", "motion-control")


@pytest.mark.parametrize("name", CASES)
def test_only_the_asked_rates_are_compared(name: str) -> None:
    links = {(row.link.kind, row.link.line_rate_bps) for row in compared(name).rows}
    assert {rate for kind, rate in links if kind == "ethernet"} == set(RATES_BPS)
    assert {rate for kind, rate in links if kind == "roce"} == {10e9, 16e9, 25e9}
    assert {rate for kind, rate in links if kind == "rapidio"} == {10e9, 16e9}
    assert not [rate for kind, rate in links if kind == "infiniband"]


@pytest.mark.parametrize("name", CASES)
def test_a_class_says_what_the_verdict_says(name: str) -> None:
    for one in ranked(compared(name)):
        row = one.row
        assert (one.kind == IMPOSSIBLE) == row.refuted
        if one.kind == CARRIES:
            assert row.outcome == MET
            assert row.source.ground != THEORY
        if one.kind == HOSTS_OPEN:
            assert row.outcome == UNDECIDED
        if one.kind == HOSTS_FAIL:
            assert row.outcome == NOT_MET
            assert row.source.ground != THEORY
        if one.wire_headroom < 0:
            assert one.kind == IMPOSSIBLE


@pytest.mark.parametrize("name", CASES)
def test_ranks_go_from_the_best_class_to_the_worst(name: str) -> None:
    found = ranked(compared(name))
    assert [one.rank for one in found] == list(range(1, len(found) + 1))
    order = [CLASSES.index(one.kind) for one in found]
    assert order == sorted(order)
    assert {id(one.row) for one in found} == {id(row) for row in compared(name).rows}


def test_the_numbers_are_those_of_evaluate() -> None:
    """The best choice of each row, judged as a candidate of the use case."""
    checked = 0
    for name in CASES:
        for one in ranked(compared(name)):
            source = one.row.source
            if source.ground == THEORY:
                continue
            answers = source.result.answers
            scenarios = {
                answer.stream: Question(
                    protocol=answer.asked.protocol,
                    payload_bytes=answer.asked.payload_bytes,
                    cores=answer.asked.cores,
                    switches=answer.asked.switches,
                    distance_m=answer.asked.distance_m,
                    line_rate_bps=answer.asked.line_rate_bps,
                    options=dict(answer.asked.options),
                )
                for answer in answers
            }
            candidate = Candidate(name="choice", dataset=source.dataset, scenarios=scenarios)
            case = load_usecase(name).model_copy(
                update={"candidates": (candidate,), "default_candidate": "choice"}
            )
            judged = evaluate(case, source.dataset, source.variant).chosen
            assert judged.outcome == one.row.outcome or one.row.refuted
            for ours, theirs in zip(source.result.findings, judged.findings, strict=True):
                assert ours.verdict.outcome == theirs.verdict.outcome
                assert ours.verdict.estimate.ends == pytest.approx(
                    theirs.verdict.estimate.ends, nan_ok=True
                )
            checked += 1
    assert checked > 10


def test_a_dataset_that_meets_all_carries_with_its_least_cores(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(USECASE, encoding="utf-8")
    found = ranked(compare_interconnects(path, [small_dataset(tmp_path)], rates_bps=(1e9,)))
    best = found[0]
    assert best.kind == CARRIES
    assert best.least_cores == 1
    assert best.host_headroom > 0
    assert best.sentence.startswith(
        "small-1g (published) meets 3 requirements with 1 core; the wire"
    )
    assert [one.kind for one in found[1:]] == [HOSTS_OPEN, HOSTS_OPEN]
    assert all("by" not in one.sentence.partition(";")[2].split(":")[0] for one in found[1:])


@given(needed=st.floats(6, 12))
@settings(max_examples=times(15), deadline=None)
def test_theory_alone_never_carries_and_refutes_what_exceeds_the_wire(needed: float) -> None:
    for one in ranked(compare_interconnects("imaging", [], rates_bps=(10**needed, 1e9))):
        assert one.kind in (HOSTS_OPEN, IMPOSSIBLE)
        assert one.least_cores is None
        assert math.isnan(one.host_headroom)
        assert (one.wire_headroom < 0) <= (one.kind == IMPOSSIBLE)


def test_an_impossible_link_says_that_no_host_can() -> None:
    one = of("imaging", "ethernet", 1e9, "tcp")
    assert one.kind == IMPOSSIBLE
    assert one.sentence == "no host can: goodput at most 990 Mb/s (≥ 3.54 Gb/s)"
    assert one.least_cores is None


def test_the_headroom_is_that_of_the_wire_and_of_the_hosts() -> None:
    one = of("imaging", "ethernet", 10e9, "tcp")
    assert one.wire_headroom == pytest.approx(0.80, abs=0.01)
    finding = one.row.source.result.findings[0]
    assert one.host_headroom == finding.verdict.margin
    assert "the wire carries 1.8 times the required goodput" in one.sentence


def test_the_headroom_of_undecided_hosts_is_that_to_their_capacity() -> None:
    one = of("imaging", "ethernet", 25e9, "tcp")
    finding = one.row.source.result.findings[0]
    assert finding.verdict.outcome == UNDECIDED
    assert 0 <= finding.verdict.margin < 1e-4  # a stream carries no more than it requests
    prediction = one.row.source.result.answers[0].prediction
    assert prediction is not None
    limit_bps = finding.verdict.requirement.limit
    assert one.host_headroom == pytest.approx(prediction.bounds["share"] / limit_bps - 1)


def test_an_unlikely_link_comes_after_a_likely_one_of_its_class() -> None:
    found = [one for one in ranked(compared("imaging")) if one.kind == HOSTS_OPEN]
    unlikely = [
        any(finding.verdict.margin < 0 for finding in one.row.source.result.findings)
        for one in found
    ]
    assert unlikely == sorted(unlikely)
    assert len(set(unlikely)) == 2


def test_a_refuted_row_is_impossible_whatever_its_dataset_says() -> None:
    row = of("imaging", "ethernet", 1e9, "tcp").row
    carrying = of("imaging", "ethernet", 10e9, "tcp").row.source
    hopeful = replace(row, source=carrying, others=(row.source, *row.others))
    assert hopeful.refuted
    assert Ranked(1, hopeful).kind == IMPOSSIBLE


# --- the command ------------------------------------------------------------------------------


def test_rates_are_numbers_of_gbps_or_quantities() -> None:
    assert parse_rates("10,25 Gb/s, 2.5,10") == (10e9, 25e9, 2.5e9)
    for text in ("", ",", " , "):
        with pytest.raises(ScenarioError, match="has no rate"):
            parse_rates(text)
    for text in ("10 GB", "fast", "-1", "1e3"):
        with pytest.raises(UnitError):
            parse_rates(text)


@pytest.mark.parametrize("rates", [(), (0.0,), (-1.0,), (math.inf,), (math.nan,)])
def test_impossible_rates_are_refused(rates: tuple[float, ...]) -> None:
    with pytest.raises(IcmodelError, match="give at least one rate, each above 0"):
        compare_interconnects("imaging", [], rates_bps=rates)


LINE = f"compare --usecase imaging --rates 1,10 --dataset {TEN_GIGABIT}"


def test_people_get_the_best_a_table_and_a_sentence_each(run_icmodel: RunIcmodel) -> None:
    printed = run_icmodel(LINE)
    assert printed.code == 3
    assert "the best undecided is Ethernet tcp 10 Gb/s: the wire carries 1.8" in printed.out
    rows = [cells for cells in printed.rows if len(cells) > 5 and cells[0].isdigit()]
    assert [int(cells[0]) for cells in rows] == list(range(1, len(rows) + 1))
    assert all(f"\n{n}. " in printed.out for n in range(1, len(rows) + 1))
    assert "answered by" in run_icmodel(f"{LINE} --why").out


def test_each_class_has_an_answer() -> None:
    assert tuple(ANSWERS) == CLASSES
    best = ranked(compared("imaging"))[0]
    assert set(RANKING) <= best.to_dict().keys()


def test_json_csv_and_text_say_the_same(run_icmodel: RunIcmodel) -> None:
    ranking = run_icmodel(f"{LINE} --json").json["ranking"]
    assert run_icmodel(f"{LINE} -o which.csv").code == 3
    lines = list(csv.DictReader(Path("which.csv").read_text("utf-8").splitlines()))
    assert [line["sentence"] for line in lines] == [one["sentence"] for one in ranking]
    assert [int(line["rank"]) for line in lines] == [one["rank"] for one in ranking]
    assert [line["class"] for line in lines] == [one["class"] for one in ranking]
    assert {one["class"] for one in ranking} == {HOSTS_OPEN, IMPOSSIBLE}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("compare --payload '64 B' --rates 10", "--rates needs --usecase"),
        ("compare --usecase imaging --rates 10GB", "is an amount where a rate is needed"),
        ("compare --usecase imaging --rates 0", "give at least one rate, each above 0"),
    ],
)
def test_wrong_rates_end_with_2(run_icmodel: RunIcmodel, line: str, says: str) -> None:
    printed = run_icmodel(line)
    assert (printed.code, printed.out) == (2, "")
    assert says in printed.err
