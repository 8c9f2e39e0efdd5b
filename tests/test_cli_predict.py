"""The short answers: what decides, on one screen, for every dataset."""

from __future__ import annotations

import math
import shlex
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel import Model
from icmodel.cli import main
from icmodel.cli.options import question_text
from icmodel.cli.output import text_of
from icmodel.cli.predict import (
    LINES,
    MORE,
    SHORT_METRICS,
    SLOTS,
    fit_notes,
    shown_metrics,
)
from icmodel.cli.predict import short_sections as short
from icmodel.dataset import catalogue, load
from icmodel.errors import OutOfDomain
from icmodel.estimate import WIDTH, Prediction, estimated, interval, metric_name
from icmodel.scenario import Scenario, scenario

TABLE_8_1 = (
    "predict --protocol tcp --payload '65535 B' --rate 6700/s --cores 4 --switches 1 "
    "--endpoints 2 --other-goodput '3.6 Gb/s'"
)


def questions(name: str) -> list[dict[str, object]]:
    """What some rows of a dataset were asked, of every protocol."""
    data = load(name)
    found = {(p.protocol, p.payload_bytes or 64, p.switches or 0, p.options) for p in data.points}
    kept = sorted(found)
    return [
        {
            "protocol": protocol,
            "payload_bytes": payload,
            "switches": switches,
            **{axis: value for axis, value in zip(data.option_axes, options, strict=True) if value},
        }
        for protocol, payload, switches, options in kept[:: max(len(kept) // 6, 1)]
    ]


@cache
def answers(name: str) -> tuple[Prediction, ...]:
    """Predictions of a dataset by its default variant, unlimited and paced."""
    model = Model(load(name))
    asked = [
        scenario(**said, **rate) for said in questions(name) for rate in ({}, {"rate_fps": 100.0})
    ]
    return tuple(answered(model, one) for one in asked)


def answered(model: Model, asked: Scenario) -> Prediction:
    """A prediction; extrapolated only where it must be, since fits are kept of measured payloads."""
    try:
        return model.predict(asked)
    except OutOfDomain:
        return model.predict(asked, outside="extrapolate")


@pytest.mark.parametrize("name", catalogue())
def test_an_answer_fits_one_screen_and_says_the_question_first(name: str) -> None:
    assert answers(name)
    for prediction in answers(name):
        lines = text_of(short(prediction)).splitlines()
        assert len(lines) <= LINES, "\n".join(lines)
        assert max(map(len, lines)) <= WIDTH
        assert " ".join(lines).startswith(question_text(prediction.scenario))
        assert lines[-1] == MORE
        assert MORE not in text_of(short(prediction, more=False))


@pytest.mark.parametrize("name", catalogue())
def test_each_number_has_the_digits_its_interval_carries_and_its_basis(name: str) -> None:
    for prediction in answers(name):
        shown = shown_metrics(prediction)
        text = text_of(short(prediction))
        for metric, one in shown.items():
            (line,) = [
                row for row in text.splitlines() if row.startswith(f"{metric_name(metric)}  ")
            ]
            cells = [cell.strip() for cell in line.split("  ") if cell.strip()]
            told = (metric_name(metric), estimated(metric, one), interval(metric, one), one.basis)
            assert cells == [cell for cell in told if cell]


@pytest.mark.parametrize("name", catalogue())
def test_every_slot_shows_what_is_known_of_it(name: str) -> None:
    for prediction in answers(name):
        shown = shown_metrics(prediction)
        for slot in SLOTS:
            known = [
                m for m in slot if m in prediction.metrics and not prediction.metrics[m].absent
            ]
            assert [metric for metric in shown if metric in slot] == known[:1]
        assert set(shown) <= SHORT_METRICS


@given(
    st.lists(st.text("abc ", min_size=1, max_size=300).filter(str.strip), max_size=8),
    st.integers(0, 12),
)
def test_notes_take_the_room_there_is_and_the_others_are_counted(
    notes: list[str], room: int
) -> None:
    lines = list(fit_notes(notes, room))
    assert len(lines) <= max(room, 1)
    assert all(len(line) <= WIDTH for line in lines)
    items = [line for line in lines if line.startswith("- ")]
    if lines and lines[-1].startswith("- and "):
        left = int(lines[-1].split()[2])
        assert len(items) - 1 + left == len(notes)
    else:
        assert len(items) == len(notes)
    assert len(list(fit_notes(notes, math.inf))) >= len(lines)


def printed(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints."""
    assert main(shlex.split(line)) in (0, 1, 3)
    return capsys.readouterr().out


def test_an_exact_answer_has_all_its_digits(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [" ".join(line.split()) for line in printed(TABLE_8_1, capsys).splitlines()]
    assert "goodput 3.512676 Gb/s exact derived" in lines
    assert "mean latency 113 µs 85 – 141 µs assumed" in lines
    assert "limited by the request; at most 5.8 Gb/s (share)" in lines


def test_all_and_why_give_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    brief = printed(TABLE_8_1, capsys)
    assert "latency_std_s" not in brief
    assert "serialisation" not in brief
    assert "latency_std_s" in printed(f"{TABLE_8_1} --all", capsys)
    why = printed(f"{TABLE_8_1} --why", capsys)
    assert why.startswith(brief.removesuffix(f"{MORE}\n"))
    for said in ("serialisation", "goodput, the least of", "rows it rests on"):
        assert said in why


def test_a_sweep_shows_its_first_points_and_counts_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = "sweep --payload '64 B..65535 B:25log' --cores 1..4"
    brief, whole = printed(line, capsys), printed(f"{line} --all", capsys)
    assert "and 80 points more: --all" in brief
    assert "points more" not in whole
    assert brief.count(" Gb/s") < whole.count(" Gb/s")
    first = [row for row in brief.splitlines() if row.startswith("         64 B")]
    assert len(first) == 4
    assert set(first) <= set(whole.splitlines())


def test_a_comparison_shows_what_a_prediction_does(capsys: pytest.CaptureFixture[str]) -> None:
    line = "compare --protocol tcp,udp --payload '1472 B'"
    brief, whole = printed(line, capsys), printed(f"{line} --all", capsys)
    assert "mean latency" in brief
    assert "σ of latency" not in brief
    assert "σ of latency" in whole
    assert len(brief.splitlines()) <= LINES + 3
