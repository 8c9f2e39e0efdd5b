"""Application work of a device: read, checked, derived and predicted."""

from __future__ import annotations

import pytest

from fits_case import lab
from icmodel.errors import UseCaseError
from icmodel.scenario import ApplicationWork
from icmodel.usecase import derive, evaluate, read_usecase

DATA = lab()
TEXT = """
schema_version = 1
name = "toy"
title = "toy"
question = "?"
source = "made up"
default_candidate = "a"
[[devices]]
name = "camera"
sends = {{ s = 1 }}
{camera}
[[devices]]
name = "display"
receives = {{ s = 1 }}
{display}
[[streams]]
name = "s"
kind = "goodput"
goodput = "100 Mb/s"
[[requirements]]
name = "it"
metric = "goodput_bps"
at_least = "100 Mb/s"
[[candidates]]
name = "a"
[candidates.scenarios.s]
protocol = "tcp"
payload = "1024 B"
rate = "14000/s"
"""


def text(camera: str = "", display: str = "") -> str:
    return TEXT.format(camera=camera, display=display)


def test_the_work_of_both_ends_is_asked_of_the_model() -> None:
    case = read_usecase(
        text(
            'app_send = { s = "3 us" }',
            'app_recv = { s = "5 us" }\napp_recv_per_byte = { s = "1 ns" }',
        )
    )
    work = ApplicationWork(send_s=3e-6, recv_s=5e-6, recv_s_per_byte=1e-9)
    assert case.work("s") == work
    [answer] = evaluate(case, DATA).candidates[0].answers
    assert answer.scenario.work == work
    assert answer.prediction is not None
    assert answer.prediction.cpu_send.value > 3e-6 * 100e6 / (8 * 1024)


def test_too_much_work_makes_a_verdict_fail() -> None:
    assert evaluate(read_usecase(text()), DATA).verdict == "met"
    busy = evaluate(read_usecase(text(display='app_recv = { s = "200 us" }')), DATA)
    assert busy.verdict == "not met"
    assert busy.candidates[0].findings[0].verdict.limiting in ("receiver", "application_recv")


def test_another_variant_refuses_it_as_predict_does_and_names_the_variant_that_answers() -> None:
    case = read_usecase(text('app_send = { s = "3 us" }'))
    found = evaluate(case, DATA, variant="corrected")
    [answer] = found.chosen.answers
    assert answer.prediction is None
    assert "the variant hybrid" in answer.why
    assert found.verdict == "undecided"
    assert all("the variant hybrid" in one.verdict.why for one in found.chosen.findings)


def test_work_that_no_core_can_do_in_time_is_refused_by_theory_alone() -> None:
    found = evaluate(read_usecase(text('app_send = { s = "1 ms" }')), DATA, variant="corrected")
    assert found.verdict == "not met"  # 14000 frames/s of 1 ms each on one core
    [goodput] = found.chosen.findings
    assert goodput.verdict.estimate.high == pytest.approx(8 * 1024 / 1e-3)
    assert goodput.rests_on.basis == "theory"


def test_it_is_told_among_the_derived_numbers() -> None:
    made = derive(read_usecase(text('app_send = { s = "3 us" }')))
    assert made["s.app_send_s"].value == 3e-6
    assert made["s.app_send_s"].formula == "stated, 3 µs of camera"
    assert "s.app_recv_s" not in made


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ('app_send = { s = "3" }', "has no unit"),
        ('app_recv = { s = "3 us" }', "a stream that camera does not receive"),
        ('app_send = { other = "3 us" }', "a stream that camera does not send"),
        ('app_send_per_byte = { s = "3 B" }', "time a byte"),
    ],
)
def test_a_wrong_work_is_refused_in_one_sentence(camera: str, message: str) -> None:
    with pytest.raises(UseCaseError, match=message):
        read_usecase(text(camera))
