"""Every door gives the same number or the same refusal: predict, predict_many, sweep, compare, evaluate, a system."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from drawn import wild
from icmodel import system as rooms
from icmodel.cli import main
from icmodel.dataset import load
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Estimate, Prediction
from icmodel.model import Model
from icmodel.model.model import DELAYS
from icmodel.scenario import NO_WORK, Scenario, scenario
from icmodel.sweep import sweep
from icmodel.system import SystemPrediction
from icmodel.usecase import Answer, UseCase, evaluate, read_usecase
from search import mostly_long, times
from system_case import Chain

FLOW = ("goodput_bps", "loss_rate", "cpu_send_cores", "cpu_recv_cores")
"""Metrics that do not depend on the delays of a path."""
MODELS = (
    ("ethernet-10g-2012", "corrected"),
    ("ethernet-10g-2012", "appendix-h"),
    ("lab-1g-2026", "hybrid"),
    ("lab-1g-2026", "corrected"),
    ("tcp-connectx7", "corrected"),
    ("infiniband-qdr-connectx2", "corrected"),
    ("rapidio-tsi721", "corrected"),
)
NEVER = "\0"
"""In no reason."""


@cache
def model_of(dataset: str, variant: str) -> Model:
    return Model(load(dataset), variant)


def drawn(model: Model, rng: np.random.Generator) -> dict[str, Any]:
    """A question with a rate and its cores said, often of another link, clock or work than was measured."""
    question = wild(model.data, rng)
    for name in ("requested_goodput_bps", "outside", "metrics"):
        question.pop(name, None)
    question = {name: value for name, value in question.items() if value == value}  # NaN: not said
    payload = int(question["payload_bytes"])
    question["rate_fps"] = 10 ** rng.uniform(6, 11) / (8 * payload)
    own = model.data.interconnect.line_rate_bps
    rate = rng.random()
    if rate < 0.2 and own is not None:
        question["line_rate_bps"] = own / 10
    elif rate < 0.4 and own is not None:
        question["line_rate_bps"] = own
    else:
        question.pop("line_rate_bps", None)
    question["cpu_clock_ratio"] = 2.0 if rng.random() < 0.15 else 1.0
    if rng.random() < 0.25:
        question["app_recv_s"] = 10 ** rng.uniform(-7, -3)
    asked = scenario(**question)
    counts = counts_of(model, asked)
    if counts:
        question.setdefault("cores", max(counts))
    return question


def counts_of(model: Model, asked: Scenario) -> tuple[int, ...]:
    try:
        return model.core_counts(asked.protocol, dict(asked.options))
    except OutOfDomain:
        return ()


def answer(model: Model, question: Mapping[str, Any]) -> Prediction | str:
    """What ``predict`` says, or why it says nothing."""
    try:
        return model.predict(**question)
    except OutOfDomain as refused:
        return str(refused)


def same(one: Estimate, other: Estimate) -> bool:
    return all(
        a == b or (math.isnan(a) and math.isnan(b))
        for a, b in zip(one.ends, other.ends, strict=True)
    )


def questions(model: Model, count: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    found: list[dict[str, Any]] = []
    while len(found) < count:
        try:
            found.append(drawn(model, rng))
        except ScenarioError:  # impossible in any dataset
            continue
    return found


# --- grids ----------------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize(("dataset", "variant"), mostly_long(MODELS, MODELS[:3]))
def test_many_questions_and_sweeps_answer_as_one_does(dataset: str, variant: str) -> None:
    model = model_of(dataset, variant)
    for question in questions(model, times(8), 28):
        expected = answer(model, question)
        for door in (model.predict_many, lambda **q: sweep(model, **q)):
            if isinstance(expected, str):
                with pytest.raises(OutOfDomain) as refused:
                    door(**question)
                assert expected.partition(";")[0] in str(refused.value), question
                continue
            found = door(**question)
            for name, one in expected.metrics.items():
                if name not in found:
                    continue
                ends = [float(found[name + end]) for end in ("", "_low", "_high")]
                assert ends == pytest.approx(one.ends, rel=0, abs=0, nan_ok=True), (question, name)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("dataset", "variant"),
    mostly_long((one for one in MODELS if one[1] != "appendix-h"), (MODELS[0], MODELS[2])),
)
def test_no_goodput_is_above_the_line_rate_that_is_asked(dataset: str, variant: str) -> None:
    model = model_of(dataset, variant)
    for question in questions(model, times(30), 31):
        expected = answer(model, question)
        rate_bps = question.get("line_rate_bps")
        if rate_bps is not None and not isinstance(expected, str):
            goodput = expected.goodput_bps
            assert goodput.absent or goodput.high <= rate_bps


@pytest.mark.parametrize(
    ("name", "values"),
    [("app_recv_s", [0.0, 1e-6, 0.0]), ("line_rate_bps", [1e10, 25e9, math.nan])],
)
def test_of_many_questions_those_that_are_refused_have_no_number(
    name: str, values: list[float]
) -> None:
    model = model_of("ethernet-10g-2012", "corrected")
    asked: dict[str, Any] = {"protocol": "tcp", "payload_bytes": 1448, "cores": 1}
    expected = model.predict(**asked).goodput_bps.value
    asked[name] = np.array(values)
    found = model.predict_many(**asked, outside="nan")
    assert np.array_equal(found["goodput_bps"], [expected, math.nan, expected], equal_nan=True)
    assert math.isnan(float(found["latency_mean_s"][1]))
    with pytest.raises(OutOfDomain, match=r"1 of 3 questions.*index \(1,\).*the variant hybrid"):
        model.predict_many(**asked)


OUTSIDE: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("ethernet-10g-2012", {"line_rate_bps": 1e9}, "the variant hybrid"),
    ("ethernet-10g-2012", {"line_rate_bps": 25e9}, "the variant hybrid"),
    ("ethernet-10g-2012", {"app_send_s": 1e-6}, "the variant hybrid"),
    ("ethernet-10g-2012", {"app_recv_s": 1e-6}, "the variant hybrid"),
    ("ethernet-10g-2012", {"cores": 7}, "7 cores are outside"),
    ("ethernet-10g-2012", {"options": {"nagle": "sometimes"}}, "sometimes"),
    ("ethernet-10g-2012", {"options": {"colour": "red"}}, "no axis 'colour'"),
    ("dds-1g", {"cores": 2}, "does not state how many cores"),
    ("infiniband-qdr-connectx2", {"endpoints": 2}, "no goodput of rc to divide"),
)
"""Parameters that no door answers, and a part of the reason that all give."""


@pytest.mark.parametrize(("dataset", "other", "reason"), OUTSIDE)
def test_each_parameter_is_refused_alike_through_each_door(
    dataset: str, other: dict[str, Any], reason: str
) -> None:
    model = model_of(dataset, "corrected")
    protocol = "rc" if dataset.startswith("infiniband") else model.data.default_protocol
    question: dict[str, Any] = {"protocol": protocol, "payload_bytes": 1448, "rate_fps": 1000.0}
    if model.core_counts(protocol, {}):
        question["cores"] = 1
    question |= other
    for door in (model.predict, model.predict_many, lambda **q: sweep(model, **q)):
        with pytest.raises(OutOfDomain, match=reason):
            door(**question)
    asked = scenario(**question)
    if not asked.work.send_s:  # the work of the use case here is the receiver's
        chosen = evaluate(usecase_of(asked, 1e6), model.data, "corrected").chosen
        assert chosen.answers[0].prediction is None
        assert reason in chosen.answers[0].why
        assert chosen.outcome == "undecided"
        assert all(reason in one.verdict.why for one in chosen.findings)
    if dataset == "ethernet-10g-2012" and "options" not in other and not asked.work.send_s:
        found = system_of(replace(asked, switches=1), f"{dataset}/corrected", 1e10)
        assert found.verdict == "undecided"
        assert reason in found.streams["s"].metrics["goodput_bps"].why


def test_compare_prints_the_same_numbers_and_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--payload", "1448 B", "--rate", "100000/s", "--cores", "1"]
    for more in ([], ["--line-rate", "1 Gb/s"], ["--cpu-clock", "2"], ["--app-recv", "1 ms"]):
        assert main(["compare", "--variant", "corrected,hybrid", *words, *more, "--json"]) == 0
        columns = json.loads(capsys.readouterr().out)["columns"]
        for column in columns:
            alone = main(["predict", "--variant", column["variant"], *words, *more, "--json"])
            said = capsys.readouterr()
            assert (alone == 0) == (column["prediction"] is not None)
            if alone:
                assert column["variant"] == "corrected"
                assert column["why"] in said.err
                assert "the variant hybrid" in column["why"]
            else:
                assert column["prediction"]["goodput_bps"] == json.loads(said.out)["goodput_bps"]


# --- a use case -----------------------------------------------------------------------------------

TEXT = """
schema_version = 1
name = "one"
title = "one stream"
question = "?"
source = "drawn"
default_candidate = "only"
[[devices]]
name = "sender"
sends = {{ s = 1 }}
[[devices]]
name = "receiver"
receives = {{ s = 1 }}
{work}
[[streams]]
name = "s"
kind = "goodput"
goodput_bps = {goodput!r}
{stream}
[[requirements]]
name = "in time"
metric = "latency_mean_s"
at_most = "1 s"
[[candidates]]
name = "only"
[candidates.scenarios.s]
{scenario}
"""
KEYS = ("protocol", "payload_bytes", "rate_fps", "cores", "switches", "endpoints")
MORE = ("other_goodput_bps", "distance_m", "line_rate_bps")


def usecase_of(asked: Scenario, goodput_bps: float, stream: str = "") -> UseCase:
    """A use case of one stream that asks a scenario."""
    lines = {name: getattr(asked, name) for name in (*KEYS, *MORE)}
    said = [f"{name} = {json.dumps(value)}" for name, value in lines.items() if value is not None]
    if asked.options:
        said.append(
            f"options = {{ {', '.join(f'{k} = {json.dumps(v)}' for k, v in asked.options.items())} }}"
        )
    work = f'app_recv = {{ s = "{asked.work.recv_s:.12f} s" }}' if asked.work else ""
    text = TEXT.format(work=work, goodput=goodput_bps, scenario="\n".join(said), stream=stream)
    return read_usecase(text)


def left_out(model: Model, asked: Scenario) -> Scenario | str:
    """What every door asks: the scenario without delays that the dataset does not know, or the refusal."""
    try:
        return model.fit_question(asked)[0]
    except OutOfDomain as refused:
        return str(refused)


@pytest.mark.sampled
@pytest.mark.parametrize(("dataset", "variant"), mostly_long(MODELS, MODELS[:3]))
def test_an_evaluation_says_what_predict_says(dataset: str, variant: str) -> None:
    model = model_of(dataset, variant)
    for question in questions(model, times(8), 29):
        asked = replace(scenario(**question), cpu_clock_ratio=1.0)  # a use case has no other clock
        if asked.work:
            asked = replace(asked, work=replace(asked.work, recv_s=round(asked.work.recv_s, 12)))
        case = usecase_of(asked, asked.requested_goodput_bps)
        chosen = evaluate(case, model.data, variant).chosen
        [told] = chosen.answers
        assert told.asked == asked
        _compare_answer(model, asked, told)
        if isinstance(answer_of(model, asked), str) and told.prediction is None:
            assert chosen.outcome != "met"
        arrives = chosen.findings[-1]
        assert arrives.verdict.requirement.name == "what is produced arrives"
        if told.prediction is not None and not told.prediction.goodput_bps.absent:
            assert same(arrives.verdict.estimate, told.prediction.goodput_bps)
        if arrives.outcome == "not met":  # then nothing that is produced is in time
            assert {one.outcome for one in chosen.findings} == {"not met"}


def _compare_answer(model: Model, asked: Scenario, told: Answer) -> None:
    """The same numbers and refusals as ``predict``; unknown delays leave out no more than the upper end."""
    fitted = left_out(model, asked)
    expected = fitted if isinstance(fitted, str) else answer_of(model, fitted)
    if isinstance(expected, str):
        assert told.prediction is None, asked
        assert told.why == expected
        return
    assert told.prediction is not None, told.why
    changed = [name for name in DELAYS if getattr(asked, name) != getattr(fitted, name)]
    for name, one in expected.metrics.items():
        found = told.prediction.metrics[name]
        if not changed or not name.startswith(("latency_", "rtt_")):
            assert same(found, one), (asked, name)
        elif not one.absent:
            assert found.value == one.value
            assert found.low <= one.low
            assert found.high >= one.high
            if asked.switches > getattr(fitted, "switches", 0):
                assert found.high == math.inf


def answer_of(model: Model, asked: Scenario) -> Prediction | str:
    try:
        return model.predict(asked)
    except OutOfDomain as refused:
        return str(refused)


# --- a system of one stream -----------------------------------------------------------------------


def system_of(asked: Scenario, dataset: str, own_bps: float | None) -> SystemPrediction:
    """Two hosts and one stream between them; the clock and the work are the receiver's."""
    hops = max(asked.switches, 1)
    rate = asked.line_rate_bps or own_bps or 4e11
    chain = Chain(
        (1,) * hops if hops > 1 else (2,), rate_bps=rate, trunk_bps=rate, dataset=dataset, cores=256
    )
    stream = chain.stream(
        "s",
        "h0",
        f"h{max(hops, 2) - 1}",
        asked.rate_fps,
        asked.protocol,
        asked.payload_bytes,
        cores=asked.cores,
        options=MappingProxyType(dict(asked.options)),
    )
    system = chain.system([stream])
    worked = {
        name: replace(one, cpu_clock_ratio=asked.cpu_clock_ratio, app_recv_s=asked.work.recv_s)
        for name, one in system.devices.items()
    }
    return rooms.predict(
        replace(system, devices=MappingProxyType(worked)), model_of(*asked_of(dataset)), worst=False
    )


def asked_of(dataset: str) -> tuple[str, str]:
    name, _, variant = dataset.partition("/")
    return name, variant or "corrected"


ETHERNET = tuple(one for one in MODELS if one[0] in ("ethernet-10g-2012", "lab-1g-2026"))


@pytest.mark.sampled
@pytest.mark.parametrize(("dataset", "variant"), mostly_long(ETHERNET, ETHERNET[:3]))
def test_a_system_of_one_stream_says_what_predict_says(dataset: str, variant: str) -> None:
    model = model_of(dataset, variant)
    known = 0
    for question in questions(model, times(8), 30):
        asked = replace(scenario(**question), endpoints=1, other_goodput_bps=0.0, distance_m=None)
        asked = replace(asked, switches=max(asked.switches, 1))
        if asked.payload_bytes > 65507 or (
            asked.protocol == "ethernet" and asked.payload_bytes > 1500
        ):
            continue  # no system has frames that its links cannot carry
        found = system_of(asked, f"{dataset}/{variant}", model.data.interconnect.line_rate_bps)
        told = found.streams["s"].metrics
        fitted = left_out(model, asked)
        expected = fitted if isinstance(fitted, str) else answer_of(model, fitted)
        if isinstance(expected, str) or expected.goodput_bps.absent:
            assert (told["goodput_bps"].basis, told["goodput_bps"].low) == ("theory", 0.0)
            assert found.verdict != "met"
            continue
        known += 1
        for name in FLOW:
            assert same(told[name], expected.metrics[name]), (asked, name, told[name])
    assert known


# --- known answers --------------------------------------------------------------------------------


def evaluated(asked: Scenario, goodput_bps: float, variant: str = "corrected", **more: str) -> str:
    return evaluate(usecase_of(asked, goodput_bps, **more), "ethernet-10g-2012", variant).verdict


FAST = Scenario("tcp", 65535, 9537.0, cores=4)
"""5 Gb/s."""


def test_another_line_rate_is_refused_and_theory_says_what_it_surely_cannot_carry() -> None:
    for rate_bps, outcome in ((1e9, "not met"), (25e9, "undecided"), (10e9, "met")):
        assert evaluated(replace(FAST, line_rate_bps=rate_bps), 4.99e9) == outcome
    slow = Scenario("tcp", 65535, 200.0, cores=4, line_rate_bps=1e9)
    assert evaluated(slow, 1e8) == "undecided"
    assert evaluated(slow, 1e8, "hybrid") == "met"


def test_work_that_no_core_has_time_for_is_not_met() -> None:
    for seconds, outcome in ((1e-3, "not met"), (1e-6, "undecided")):
        work = replace(NO_WORK, recv_s=seconds)
        assert evaluated(replace(FAST, work=work), 4.99e9) == outcome


@pytest.mark.parametrize(
    "other",
    [{"line_rate_bps": 25e9}, {"cpu_clock_ratio": 0.01}, {"work": replace(NO_WORK, recv_s=1e-5)}],
)
def test_a_system_is_undecided_where_its_dataset_refuses(other: dict[str, Any]) -> None:
    asked = replace(Scenario("tcp", 65535, 4000.0, cores=4, switches=1), **other)
    found = system_of(asked, "ethernet-10g-2012/corrected", 1e10)
    assert found.verdict == "undecided"
    assert any("the variant hybrid" in note for note in found.notes)
    assert found.streams["s"].metrics["goodput_bps"].basis == "theory"


@pytest.mark.parametrize("variant", ["corrected", "hybrid"])
def test_work_of_twenty_cores_is_more_than_one_connection_does(variant: str) -> None:
    """20 200 frames/s of 1 ms each, on hosts that do not say how many cores they have."""
    work = replace(NO_WORK, recv_s=1e-3)
    asked = Scenario("tcp", 1448, 20_200.0, switches=1, work=work)
    found = system_of(asked, f"ethernet-10g-2012/{variant}", 1e10)
    assert found.verdict == "not met"
    assert found.streams["s"].metrics["goodput_bps"].high < 8 * 1448 * 1_100


def test_a_default_said_aloud_changes_nothing() -> None:
    """The options choose a link of 25 Gb/s; the dataset's own defaults are another, of 100 Gb/s."""
    model = Model(load("mpi-infiniband-roce"), "corrected")
    asked: dict[str, Any] = {
        "protocol": "mpi",
        "payload_bytes": 1 << 20,
        "options": {"partition": "roce-gcc9-openmpi4-ucx"},
    }
    plain, aloud = model.predict(**asked), model.predict(**asked, line_rate_bps=25e9)
    assert all(same(one, aloud.metrics[name]) for name, one in plain.metrics.items())
    many = model.predict_many(**asked, line_rate_bps=np.array([25e9, math.nan]))
    assert set(many["goodput_bps"].values.tolist()) == {plain.goodput_bps.value}
    with pytest.raises(OutOfDomain, match="was measured at 25 Gb/s"):
        model.predict(**asked, line_rate_bps=100e9)


LINKS = """
schema_version = 1
name = "links"
title = "one stream"
source = "made up"
[[devices]]
name = "a"
cores = 8
[[devices]]
name = "b"
cores = 8
[[links]]
between = ["a", "b"]
rate = "10 Gb/s"
length = "2 m"
dataset = "ethernet-10g-2012"
[[streams]]
name = "s"
source = "a"
sink = "b"
produces = { kind = "goodput", goodput = "21.2 Gb/s" }
protocol = "tcp"
payload = "65535 B"
cores = 4
[choices.links."*"]
rate = ["10 Gb/s", "25 Gb/s", "100 Gb/s"]
"""


def test_a_recommendation_fails_no_link_that_its_dataset_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """21.2 Gb/s surely fail on 10 Gb/s; what 25 and 100 Gb/s carry, hosts measured at 10 do not say."""
    file = tmp_path / "links.toml"
    file.write_text(LINKS, encoding="utf-8")
    assert main(["recommend", str(file)]) == 3
    assert "1 surely fail" in capsys.readouterr().out
    file.write_text(LINKS.replace('rate = "10 Gb/s"', 'rate = "25 Gb/s"'), encoding="utf-8")
    assert main(["system", str(file)]) == 3
    assert "was measured at 10 Gb/s" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("text", ["1.5", "150 %"])
def test_a_clock_is_read_alike_in_a_file_and_on_the_command_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "clock.toml"
    file.write_text(
        LINKS.replace("cores = 8", f'cores = 8\ncpu_clock = "{text}"'), encoding="utf-8"
    )
    assert rooms.load(file).devices["a"].cpu_clock_ratio == 1.5
    assert scenario(protocol="tcp", payload="1 B", cpu_clock=text).cpu_clock_ratio == 1.5


FOUR = """
schema_version = 1
name = "four"
title = "four streams"
question = "?"
source = "made up"
default_candidate = "only"
[[devices]]
name = "camera"
count = 4
sends = { s = 1 }
[[devices]]
name = "display"
interfaces = 1
receives = { s = 4 }
[[streams]]
name = "s"
kind = "goodput"
goodput = "GOODPUT"
SHORTFALL
[[requirements]]
name = "it arrives in time"
metric = "latency_mean_s"
at_most = "1 s"
[[candidates]]
name = "only"
[candidates.scenarios.s]
protocol = "tcp"
payload = "65535 B"
cores = 4
"""


@pytest.mark.parametrize(
    ("goodput", "shortfall", "outcome"),
    [
        ("249 Gb/s", "", "not met"),
        ("249 Gb/s", 'allowed_shortfall = "5 %"', "not met"),
        ("249 Gb/s", 'allowed_shortfall = "100 %"', "undecided"),  # the wait at the full interface
        ("2 Gb/s", "", "met"),
        ("2.4 Gb/s", "", "not met"),  # four times 2.4 of 9.4 Gb/s
        ("2.4 Gb/s", 'allowed_shortfall = "5 %"', "undecided"),
        ("1 Tb/s", "", "not met"),
    ],
)
def test_what_is_produced_must_arrive_beside_every_other_requirement(
    goodput: str, shortfall: str, outcome: str
) -> None:
    text = FOUR.replace("GOODPUT", goodput).replace("SHORTFALL", shortfall)
    found = evaluate(read_usecase(text), "ethernet-10g-2012")
    assert found.verdict == outcome
    in_time = found.chosen.findings[0]
    assert in_time.outcome == outcome
    if outcome == "not met":
        assert in_time.grows
        assert found.chosen.decisive.title == "what is produced arrives, s"


@pytest.mark.parametrize(("goodput", "outcome"), [("2 Gb/s", "met"), ("4 Gb/s", "not met")])
def test_streams_that_leave_over_one_interface_share_it(goodput: str, outcome: str) -> None:
    """Four streams of 4 Gb/s from one interface of 10 Gb/s, each to a display of its own."""
    text = FOUR.replace("GOODPUT", goodput).replace("SHORTFALL", "")
    text = text.replace("count = 4\nsends = { s = 1 }", "interfaces = 1\nsends = { s = 4 }")
    text = text.replace("interfaces = 1\nreceives = { s = 4 }", "count = 4\nreceives = { s = 1 }")
    assert evaluate(read_usecase(text), "ethernet-10g-2012").verdict == outcome
