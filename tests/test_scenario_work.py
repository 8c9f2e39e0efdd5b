"""Application work: valid values in both spellings, and their place in a scenario."""

from __future__ import annotations

import math

import pytest

import icmodel
from icmodel.errors import ScenarioError, UnitError
from icmodel.scenario import NO_WORK, ApplicationWork, scenario, take_work


def test_a_time_a_frame_and_a_time_a_byte_add_up() -> None:
    work = ApplicationWork(1e-6, 2e-6, 1e-9, 3e-9)
    assert work.sending_s(1000) == pytest.approx(2e-6)
    assert work.receiving_s(1000) == pytest.approx(5e-6)


def test_no_work_is_none() -> None:
    assert not NO_WORK
    assert ApplicationWork(recv_s_per_byte=1e-12)


def test_both_spellings_make_the_same_question() -> None:
    words = scenario(
        protocol="tcp",
        payload="64 B",
        app_send="1.5 us",
        app_recv="2 ms",
        app_send_per_byte="0.3 ns/B",
        app_recv_per_byte="0.1 ns",
    )
    numbers = scenario(
        protocol="tcp",
        payload_bytes=64,
        app_send_s=1.5e-6,
        app_recv_s=2e-3,
        app_send_s_per_byte=3e-10,
        app_recv_s_per_byte=1e-10,
    )
    assert words == numbers
    assert words.work == ApplicationWork(1.5e-6, 2e-3, 3e-10, 1e-10)
    assert words.to_dict()["app_send_s_per_byte"] == 3e-10


def test_what_is_said_twice_is_refused() -> None:
    with pytest.raises(ScenarioError, match="app_send_s is given twice"):
        scenario(protocol="tcp", payload="64 B", app_send="1 us", app_send_s=1e-6)


@pytest.mark.parametrize("wrong", [-1e-9, math.nan, math.inf])
def test_no_time_is_refused_in_one_sentence(wrong: float) -> None:
    with pytest.raises(ScenarioError, match=r"app_recv_s .* is not a time: give a finite number"):
        ApplicationWork(recv_s=wrong)


def test_a_time_without_a_unit_is_refused() -> None:
    with pytest.raises(UnitError, match="has no unit"):
        scenario(protocol="tcp", payload="64 B", app_send="1.5")


def test_the_words_of_the_work_are_taken_out_of_a_question() -> None:
    numbers = {"app_send_s": 1e-6, "payload_bytes": 64.0}
    assert take_work(numbers) == ApplicationWork(send_s=1e-6)
    assert numbers == {"payload_bytes": 64.0}
    assert take_work(numbers) is NO_WORK


def test_a_question_about_another_variant_is_refused_naming_hybrid() -> None:
    for variant in ("corrected", "appendix-h"):
        model = icmodel.Model("ethernet-10g-2012", variant)
        with pytest.raises(icmodel.OutOfDomain, match=f"{variant} predicts .* the variant hybrid"):
            model.predict(protocol="tcp", payload="64 B", app_send="1 us")
        with pytest.raises(icmodel.OutOfDomain, match="the variant hybrid"):
            model.predict_many(protocol="tcp", payload_bytes=[64, 65], app_recv_s=[0.0, 1e-6])
