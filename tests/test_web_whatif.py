"""The answers of the what-if page: the numbers and texts of the model, refusals at their field, and verdicts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icmodel.dataset import load
from icmodel.errors import IcmodelError
from icmodel.estimate import estimated, interval
from icmodel.model import Model
from icmodel.requirement import judge
from icmodel.web.curves import curve, form
from icmodel.web.whatif import Question, answer, parse_requirement
from search import times

CENTRAL = "ethernet-10g-2012"
WORDS = st.sampled_from(
    [
        "1448 B",
        "64 KiB",
        "6700/s",
        "5 Gb/s",
        "3",
        "0",
        "",
        "x",
        "-1 B",
        "1e999 B",
        "nan",
        "10 m",
        "25 Gb/s",
        "9" * 40,
    ]
)
NAMES = st.sampled_from(
    [
        "payload",
        "rate",
        "requested_goodput",
        "cores",
        "switches",
        "endpoints",
        "other_goodput",
        "distance",
        "line_rate",
        "cpu_clock",
        "app_send",
        "nonsense",
    ]
)


def asked(**words: str) -> Question:
    return Question(dataset=CENTRAL, words=words)


def test_an_answer_is_the_models() -> None:
    found = answer(asked(payload="1448 B", rate="6700/s"), [])
    model = Model(load(CENTRAL)).predict(protocol="tcp", payload_bytes=1448, rate_fps=6700.0)
    for one in found.metrics:
        metric = model.metrics[one.name]
        assert (one.text, one.interval, one.basis) == (
            estimated(one.name, metric),
            interval(one.name, metric),
            metric.basis,
        )
        assert one.value == (None if metric.absent else metric.value)
    assert found.notes == list(model.notes)
    assert [bar.name for bar in found.bounds] == list(model.bounds)
    assert [bar.name for bar in found.bounds if bar.decides] == ["request"]


@settings(max_examples=times(60), deadline=None)
@given(
    st.dictionaries(NAMES, WORDS, max_size=6),
    st.sampled_from([CENTRAL, "lab-1g-2026", "../data", ""]),
    st.booleans(),
)
def test_any_question_is_answered_or_refused(
    words: dict[str, str], dataset: str, beyond: bool
) -> None:
    question = Question(dataset=dataset, words=words, extrapolate=beyond)
    found = answer(question, ["goodput > 1 b/s"])
    assert bool(found.error) != bool(found.metrics)
    if found.metrics:
        assert found.command.startswith("icmodel predict")
        head, row = found.sheet.splitlines()
        assert head.count("\t") == row.count("\t")
    drawn = curve(question, "payload", "goodput_bps")
    assert bool(drawn.error) != bool(drawn.x)


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"payload": "64 KB"}, "payload"),
        ({"payload": "70000 B"}, "payload"),
        ({"payload": "1448 B", "cores": "many"}, "cores"),
        ({"payload": "1448 B", "cores": "9"}, "cores"),
        ({"payload": "1448 B", "line_rate": "25 Gb/s"}, "line_rate"),
        ({"payload": "1448 B", "app_send": "2 us"}, "app_send"),
        ({"payload": "1448 B", "other_goodput": "1 Gb/s"}, "other_goodput"),
        ({}, "payload"),
    ],
)
def test_a_refusal_names_its_field(words: dict[str, str], field: str) -> None:
    found = answer(asked(**words), [])
    assert found.error
    assert found.field == field


@settings(max_examples=times(40), deadline=None)
@given(st.floats(1e3, 1e11), st.sampled_from(["≤", "<=", "at most", "≥", ">=", "at least"]))
def test_a_requirement_is_judged_by_the_rules_of_use_cases(limit_bps: float, sign: str) -> None:
    found = answer(asked(payload="512 B"), [f"goodput {sign} {limit_bps!r} b/s"])
    estimate = Model(load(CENTRAL)).predict(protocol="tcp", payload_bytes=512).goodput_bps
    requirement = parse_requirement(f"goodput {sign} {limit_bps!r} b/s", ("goodput_bps",))
    assert found.verdicts[0].outcome == judge(requirement, estimate).outcome
    assert (requirement.at_most is not None) == (sign in ("≤", "<=", "at most"))


@pytest.mark.parametrize(
    "text", ["", "goodput", "goodput ≤", "speed ≤ 3 b/s", "goodput ≤ 3 kg", "goodput ≤ nan b/s"]
)
def test_a_wrong_requirement_is_refused(text: str) -> None:
    with pytest.raises(IcmodelError):
        parse_requirement(text, ("goodput_bps", "latency_mean_s"))


@pytest.mark.parametrize(
    ("text", "metric", "limit"),
    [
        ("latency mean <= 100 us", "latency_mean_s", 1e-4),
        ("latency < 1 ms", "latency_mean_s", 1e-3),
        ("max latency at most 2 ms", "latency_max_s", 2e-3),
        ("CPU receiving ≤ 50 %", "cpu_recv", 0.5),
        ("cpu_recv_cores ≤ 2", "cpu_recv_cores", 2.0),
        ("frames ≥ 1000/s", "frames_per_s", 1000.0),
        ("loss ≤ 0.1 %", "loss_rate", 1e-3),
    ],
)
def test_words_of_a_requirement(text: str, metric: str, limit: float) -> None:
    metrics = (
        "latency_mean_s",
        "latency_max_s",
        "cpu_recv",
        "cpu_recv_cores",
        "frames_per_s",
        "loss_rate",
    )
    found = parse_requirement(text, metrics)
    assert found.metric == metric
    assert math.isclose(found.limit, limit)


def test_a_curve_goes_through_the_predictions_and_names_its_points() -> None:
    drawn = curve(asked(payload="1448 B", requested_goodput="2 Gb/s"), "payload", "latency_mean_s")
    model = Model(load(CENTRAL))
    for at in range(0, len(drawn.x), 17):
        one = model.predict(
            protocol="tcp", payload_bytes=int(drawn.x[at]), requested_goodput_bps=2e9
        ).latency_mean_s
        assert (drawn.value[at], drawn.low[at], drawn.high[at]) == (
            (None, None, None) if one.absent else pytest.approx(one.ends)
        )
    assert {point.other for point in drawn.points} == {True}  # no row was measured at 2 Gb/s
    unlimited = curve(asked(), "payload", "goodput_bps")
    assert {point.x for point in unlimited.points} <= set(unlimited.x)
    assert not any(point.other for point in unlimited.points)


def test_every_dataset_has_a_form_and_answers_in_its_range() -> None:
    for dataset in (
        "zeromq-1g-2007",
        "rmi-loopback",
        "rdma-connectx7",
        "infiniband-qdr-connectx2",
        "tcp-connectx7",
    ):
        shown = form(dataset, "", "")
        assert all(
            one.least < one.greatest or not one.works
            for one in shown.ranges
            if one.name != "payload"
        )
        size = int(next(one.greatest for one in shown.ranges if one.name == "payload"))
        found = answer(Question(dataset=dataset, words={"payload": f"{size} B"}), [])
        assert found.metrics or found.field


def test_a_curve_without_an_answer_has_the_reason_of_one_question() -> None:
    dataset, needs = "zeromq-100g-2019", {"switches": "1"}
    asked = Question(dataset=dataset, protocol="zeromq", extrapolate=True)
    assert curve(asked, "payload", "goodput_bps", beyond=True).error == (
        f"{dataset} measured zeromq with switches = 1 only, not with 0: set switches = 1"
    )
    drawn = curve(asked.model_copy(update={"words": needs}), "payload", "goodput_bps", beyond=True)
    assert drawn.error == ""
    assert set(drawn.value) == {22.5e9}
