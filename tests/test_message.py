"""Latency of whole messages: closed forms, monotonicity, and absent values."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import icmodel
from icmodel.cli import main
from icmodel.errors import ScenarioError, UseCaseError
from icmodel.estimate import Estimate
from icmodel.message import AT_ONCE, CAPTURED, Message, as_captured, message_latency, with_message
from icmodel.scenario import scenario
from icmodel.usecase import load_usecase
from icmodel.usecase.files import find_usecase, read_usecase

MODEL = icmodel.Model("ethernet-10g-2012")
PICTURE = Message(1920 * 1920 * 4, 1 / 30)
PACED = scenario(protocol="tcp", payload="65535 B", rate="6780/s", cores=4, switches=1)


def test_a_picture_of_14_7_mb_takes_what_its_bits_take_at_9_4_gbps_and_one_frame_s_latency() -> (
    None
):
    frame = MODEL.predict(PACED).latency_mean_s
    found = message_latency(MODEL, MODEL.predict(PACED), PICTURE)
    behind = 8 * (PICTURE.size_bytes - 65535) / 9.4e9
    assert found[AT_ONCE].value == pytest.approx(frame.value + behind)
    assert found[AT_ONCE].value == pytest.approx(12.6e-3, rel=0.01)
    assert found[CAPTURED].value == pytest.approx(frame.value + (1 - 65535 / 14745600) / 30)


def test_two_pictures_at_one_interface_take_twice_as_long() -> None:
    beside = replace(PACED, endpoints=2, other_goodput_bps=3.6e9)
    alone, shared = (
        message_latency(MODEL, MODEL.predict(one), PICTURE)[AT_ONCE] for one in (PACED, beside)
    )
    assert shared.value == pytest.approx(2 * alone.value, rel=0.02)


@given(st.integers(1, 65535))
def test_a_message_of_one_frame_takes_that_frame_s_latency(size: int) -> None:
    found = message_latency(MODEL, MODEL.predict(PACED), Message(size, 1.0))
    frame = MODEL.predict(PACED).latency_mean_s
    for one in found.values():
        assert (one.value, one.low, one.high) == (frame.value, frame.low, frame.high)


@given(st.floats(1, 1e10), st.floats(1.0, 10.0))
def test_the_greater_a_message_the_longer_it_takes_and_its_ends_hold_it(
    size: float, times: float
) -> None:
    small, great = (
        message_latency(MODEL, MODEL.predict(PACED), Message(s, 0.1)) for s in (size, size * times)
    )
    for metric in (AT_ONCE, CAPTURED):
        if great[metric].absent:  # more is captured than the stream carries
            assert 8 * size * times / 0.1 > PACED.requested_goodput_bps
            continue
        assert small[metric].value <= great[metric].value
        assert great[metric].low <= great[metric].value <= great[metric].high


def test_a_message_whose_frames_are_lost_gets_no_number() -> None:
    asked = scenario(protocol="udp", payload="65112 B", rate="6800/s", cores=4)
    at_once = message_latency(MODEL, MODEL.predict(asked), PICTURE)[AT_ONCE]
    assert at_once.absent
    assert "no message arrives whole" in at_once.why


def test_without_a_one_way_latency_there_is_none_of_a_message() -> None:
    model = icmodel.Model("tcp-connectx7")
    asked = scenario(protocol="tcp", payload="128 KiB")
    found = message_latency(model, model.predict(asked), PICTURE)
    assert all(one.absent and one.why == "only goodput was measured" for one in found.values())


def test_what_is_captured_takes_at_least_its_capture() -> None:
    frame = Estimate(1e-4, 5e-5, 2e-4, "measured")
    found = as_captured(Message(1e6, 1e-2), 1000, frame, Estimate(1e9, 1e9, 1e9, "measured"))
    assert found.value == pytest.approx(1e-4 + 0.999e-2)
    assert found.basis == "derived"


@pytest.mark.parametrize("wrong", [(0.0, None), (-1.0, 1.0), (math.inf, None), (1.0, 0.0)])
def test_a_message_that_cannot_be_is_refused(wrong: tuple[float, float | None]) -> None:
    with pytest.raises(ScenarioError, match=r"of a message, .* is not possible: give"):
        Message(*wrong)


def test_a_prediction_can_have_a_message_among_its_metrics() -> None:
    told = with_message(MODEL, MODEL.predict(PACED), PICTURE)
    assert (
        told.metrics[AT_ONCE].value
        == message_latency(MODEL, MODEL.predict(PACED), PICTURE)[AT_ONCE].value
    )
    assert AT_ONCE in told.to_dict()


def test_nothing_is_told_as_captured_where_less_passes_than_is_captured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """118 Gb/s are captured, but the wire carries 10 Gb/s: the latency is not 2.2 ms."""
    asked = ["--payload", "65535 B", "--cores", "4", "--rate", "670000/s"]
    assert (
        main(["predict", *asked, "--message", "14.7 MB", "--message-within", "1 ms", "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told[AT_ONCE]["value"] == pytest.approx(13.65e-3, rel=0.01)
    assert told[CAPTURED]["value"] is None
    assert told[CAPTURED]["high"] is None
    assert "grows without limit" in told[CAPTURED]["why"]


@pytest.mark.parametrize(
    ("goodput", "known"),
    [((2e9, 1.9e9, 2.1e9), True), ((2e9, 0.9e9, 2.1e9), False), ((0.9e9, 0.8e9, 0.95e9), None)],
)
def test_a_captured_message_is_bounded_only_where_surely_all_of_it_passes(
    goodput: tuple[float, float, float], known: bool | None
) -> None:
    frame = Estimate(1e-4, 5e-5, 2e-4, "measured")
    passing = Estimate(*goodput, "measured")
    found = as_captured(Message(1e6, 8e-3), 1000, frame, passing)  # 1 Gb/s
    assert found.absent == (known is None)
    assert math.isfinite(found.high) == bool(known)


def test_a_captured_message_of_which_frames_are_lost_never_arrives_whole() -> None:
    frame, goodput = Estimate(1e-4, 5e-5, 2e-4, "measured"), Estimate(2e9, 2e9, 2e9, "measured")
    for loss, absent in (
        (Estimate(0.1, 0.01, 0.2, "measured"), True),
        (Estimate(0.1, 0, 0.2, "measured"), False),
    ):
        found = as_captured(Message(1e6, 8e-3), 1000, frame, goodput, loss)
        assert found.absent == absent
        assert not math.isfinite(found.high)


def test_the_command_line_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["predict", "--payload", "65535 B", "--message", "14.7 MB", "--message-within", "33 ms"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "whole message, sent at once" in said
    assert "whole message, as captured" in said
    assert main([*words[:3], "--message-within", "33 ms"]) == 2
    assert "--message-within needs" in capsys.readouterr().err


def test_imaging_reads_whole_pictures_both_ways_and_neither_decides() -> None:
    found = icmodel.evaluate("imaging", "ethernet-10g-2012", candidate="tcp-two-sets-of-cores")
    at_once, captured = found.chosen.readings
    assert at_once.verdict.estimate.value == pytest.approx(25e-3, rel=0.01)
    assert captured.verdict.estimate.value == pytest.approx(33.3e-3, rel=0.01)
    assert (at_once.outcome, captured.outcome) == ("not met", "not met")
    assert found.verdict == "met"
    document = found.to_dict()["candidates"]
    assert isinstance(document, list)
    assert all(len(candidate["readings"]) == 2 for candidate in document)


def test_only_pictures_are_messages_of_a_use_case() -> None:
    usecase = load_usecase("imaging")
    assert [reading.metric for reading in usecase.readings] == [AT_ONCE, CAPTURED]
    text = find_usecase("imaging").read_text(encoding="utf-8")
    text = text.replace('metric = "latency_max_s"', f'metric = "{AT_ONCE}"')
    with pytest.raises(UseCaseError, match="about whole messages, but the stream control"):
        read_usecase(text)


def test_a_message_that_is_asked_for_is_shown_also_if_its_latency_is_unknown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With loss at an unlimited rate no message is complete; the short answer gives the reason."""
    words = ["predict", "--protocol", "udp", "--payload", "1448 B", "--message", "10 MB"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "whole message, sent at once  unknown" in shown
    assert "no message arrives whole" in " ".join(shown.split())
