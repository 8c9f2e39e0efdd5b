"""Least rate, payload or cores for a goodput: the solution achieves it, and less does not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import icmodel
from icmodel.cli import main
from icmodel.model.many import host_groups, question_table
from icmodel.scenario import Scenario, scenario
from icmodel.solve import (
    SOLVERS,
    least_cores,
    least_payload,
    least_rate,
    least_rate_fps,
    solved,
)
from search import times

MODELS = [
    icmodel.Model(name, variant)
    for name in ("ethernet-10g-2012", "mpi-csd3")
    for variant in ("corrected", "hybrid")
]
GOODPUTS = st.floats(1e6, 12e9)


def asked(model: icmodel.Model, payload_bytes: int = 1448) -> Scenario:
    return scenario(protocol=model.data.default_protocol, payload_bytes=payload_bytes)


def carries(model: icmodel.Model, one: Scenario, goodput_bps: float) -> bool:
    found = model.predict(one, metrics=["goodput_bps"]).metrics["goodput_bps"]
    return not found.absent and found.low >= goodput_bps


@pytest.mark.parametrize("model", MODELS, ids=repr)
@settings(max_examples=times(5))
@given(goodput_bps=GOODPUTS)
def test_the_least_rate_carries_and_one_frame_less_does_not(
    model: icmodel.Model, goodput_bps: float
) -> None:
    one = asked(model)
    rate = least_rate(model, one, goodput_bps)
    if rate is None:
        assert not carries(model, replace(one, rate_fps=None), 1.2 * goodput_bps)
        return
    assert carries(model, replace(one, rate_fps=float(rate)), goodput_bps)
    if rate > 1:
        assert not carries(model, replace(one, rate_fps=float(rate - 1)), goodput_bps)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@settings(max_examples=times(5))
@given(goodput_bps=GOODPUTS)
def test_the_least_payload_carries_and_one_byte_less_does_not(
    model: icmodel.Model, goodput_bps: float
) -> None:
    payload = least_payload(model, asked(model), goodput_bps)
    if payload is None:
        largest = max(p.payload_bytes or 0 for p in model.data.points if p.metric == "goodput_bps")
        assert not carries(model, asked(model, largest), goodput_bps)
        return
    assert carries(model, asked(model, payload), goodput_bps)
    least = min(p.payload_bytes or 1 for p in model.data.points if p.metric == "goodput_bps")
    if payload > least:
        assert not carries(model, asked(model, payload - 1), goodput_bps)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@settings(max_examples=times(5))
@given(goodput_bps=GOODPUTS)
def test_the_least_cores_carry_and_no_fewer_that_were_measured_do(
    model: icmodel.Model, goodput_bps: float
) -> None:
    one = asked(model)
    cores = least_cores(model, one, goodput_bps)
    counts = sorted({p.cores for p in model.data.points if p.cores})
    enough = [c for c in counts if carries(model, replace(one, cores=c), goodput_bps)]
    assert cores == (enough[0] if enough else None)


def test_what_was_found_is_asked_at_the_least_rate_that_carries() -> None:
    model, one = MODELS[0], scenario(protocol="tcp", payload="1448 B")
    assert solved(model, one, "rate", 7, 1e6).rate_fps == 7.0
    payload = solved(model, one, "payload", 100, 8e6)
    assert (payload.payload_bytes, payload.rate_fps) == (100, 10000.0)
    cores = solved(model, one, "cores", 2, 8e6)
    assert cores.rate_fps == float(least_rate_fps(8e6, 1448))


@pytest.mark.parametrize("variant", ["corrected", "hybrid"])
@pytest.mark.parametrize("parameter", ["payload", "cores"])
@pytest.mark.parametrize(
    ("name", "protocol", "goodput_bps"),
    [
        ("lab-1g-2026", "udp", 52e6),
        ("lab-1g-2026", "zeromq", 580e6),
        ("ethernet-10g-2012", "udp", 62e6),
    ],
)
def test_the_answer_for_what_was_found_carries_at_its_low_end(
    name: str, protocol: str, goodput_bps: float, parameter: str, variant: str
) -> None:
    """With lost frames, the rate of just the goodput is too low; some goodputs need an unlimited rate."""
    model = icmodel.Model(name, variant)
    one = scenario(protocol=protocol, payload="8192 B", endpoints=2, other_goodput="100 Mb/s")
    value = SOLVERS[parameter](model, one, goodput_bps)
    assert value is not None
    assert carries(model, solved(model, one, parameter, value, goodput_bps), goodput_bps)


def test_many_questions_about_the_dataset_s_own_link_are_one_group() -> None:
    columns = question_table(
        {"protocol": "tcp", "payload_bytes": np.arange(64, 99), "cpu_clock_ratio": 1.0}, ("tcp",)
    )
    assert len(list(host_groups(columns))) == 1


def test_the_command_line_tells_what_is_least(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--solve", "payload", "--goodput", "5 Gb/s"]) == 0
    assert "the least payload that carries 5 Gb/s: 147 B" in capsys.readouterr().out
    words = ["predict", "--payload", "65535 B", "--solve", "rate", "--goodput", "3.5 Gb/s"]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scenario"]["rate_fps"] == 6676


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--solve", "time", "--goodput", "1 Gb/s"], "is unknown: use rate, payload or cores"),
        (["--goodput", "1 Gb/s"], "use --requested-goodput"),
        (["--solve", "rate"], "--solve needs a goodput"),
        (["--solve", "cores", "--goodput", "90 Gb/s"], "no count of cores reaches 90 Gb/s"),
    ],
)
def test_what_cannot_be_solved_is_told(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", "--payload", "1448 B", *words]) == 2
    assert told in capsys.readouterr().err
