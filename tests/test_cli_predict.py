"""``icmodel predict``: numbers, files, and a short answer that fits one screen for every dataset."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import icmodel
from cli_case import CENTRAL, TABLE_8_1, RunIcmodel, own_process
from icmodel import Model
from icmodel.cli.options import question_text
from icmodel.cli.output import Hanging, text_of
from icmodel.cli.predict import (
    LINES,
    MORE,
    SHORT_METRICS,
    SLOTS,
    fit_notes,
    short_sections,
    shown_metrics,
)
from icmodel.dataset import catalogue, load
from icmodel.errors import OutOfDomain
from icmodel.estimate import BASES, WIDTH, Prediction, estimated, interval, metric_name
from icmodel.scenario import Scenario, scenario


@pytest.mark.parametrize("variant", ["corrected", "appendix-h"])
def test_table_8_1_gives_table_8_2(run_icmodel: RunIcmodel, variant: str) -> None:
    printed = run_icmodel(f"{TABLE_8_1} --variant {variant} --all")
    values = {row[0]: row[1] for row in printed.rows if len(row) > 1}
    assert printed.code == 0
    assert values["goodput_bps"] == "3.512676 Gb/s"
    assert values["latency_mean_s"] == "112.9565 µs"
    assert values["latency_std_s"] == "19.86169 µs"
    assert (values["cpu_send"], values["cpu_recv"]) == ("7.06 %", "15.82 %")
    assert values["loss_rate"] == "0 %"
    assert printed.out.startswith(f"{CENTRAL}, variant {variant}\n")


def test_predict_json_is_the_prediction(run_icmodel: RunIcmodel) -> None:
    printed = run_icmodel(f"{TABLE_8_1} --json")
    model = icmodel.Model(icmodel.load(CENTRAL))
    wanted = model.predict(
        protocol="tcp",
        payload="65535 B",
        rate="6700/s",
        cores=4,
        switches=1,
        endpoints=2,
        other_goodput="3.6 Gb/s",
    )
    assert printed.json == json.loads(json.dumps(wanted.to_dict()))
    assert printed.json["latency_mean_s"]["value"] == pytest.approx(112.9564994e-6, abs=5e-15)


def test_predict_prints_bottleneck_terms_bounds_and_rows(run_icmodel: RunIcmodel) -> None:
    printed = run_icmodel(f"{TABLE_8_1} --all --why")
    assert "bottleneck: request\n" in printed.out
    terms = printed.out.partition("mean latency, the sum of\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in terms.splitlines()] == [
        "term",
        "serialisation",
        "propagation",
        "switches",
        "stack",
        "together",
    ]
    assert terms.splitlines()[-1].split()[1:] == ["112.9565", "µs"]
    bounds = printed.out.partition("the least of\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in bounds.splitlines()[1:]] == [
        "request",
        "wire",
        "benchmark",
        "share",
    ]
    assert "IC2012 table 8-2: a prediction of the original, not a measurement" in printed.out
    assert "- each switch adds the dataset's switch latency" in printed.out
    assert any(basis in printed.out for basis in BASES)


def test_the_defaults_of_predict(run_icmodel: RunIcmodel) -> None:
    scenario = run_icmodel("predict --payload '1448 B' --json").json["scenario"]
    assert scenario == {
        "protocol": "tcp",
        "payload_bytes": 1448,
        "rate_fps": None,
        "requested_goodput_bps": None,
        "cores": 4,
        "switches": 0,
        "endpoints": 1,
        "other_goodput_bps": 0.0,
        "distance_m": None,
        "options": {},
        "line_rate_bps": None,
        "cpu_clock_ratio": 1.0,
        "app_send_s": 0.0,
        "app_recv_s": 0.0,
        "app_send_s_per_byte": 0.0,
        "app_recv_s_per_byte": 0.0,
    }


def test_every_parameter_reaches_the_scenario(run_icmodel: RunIcmodel) -> None:
    printed = run_icmodel(
        "predict --protocol tcp --payload '1 kB' --requested-goodput '80 Mb/s' --cores 4 --switches 1 "
        "--endpoints 3 --other-goodput '1 Gb/s' --distance '50 m' --option nagle=off --json"
    )
    assert printed.json["scenario"] == {
        "protocol": "tcp",
        "payload_bytes": 1000,
        "rate_fps": 10_000.0,
        "requested_goodput_bps": 80e6,
        "cores": 4,
        "switches": 1,
        "endpoints": 3,
        "other_goodput_bps": 1e9,
        "distance_m": 50.0,
        "options": {"nagle": "off"},
        "line_rate_bps": None,
        "cpu_clock_ratio": 1.0,
        "app_send_s": 0.0,
        "app_recv_s": 0.0,
        "app_send_s_per_byte": 0.0,
        "app_recv_s_per_byte": 0.0,
    }


def test_extrapolation_is_marked(run_icmodel: RunIcmodel) -> None:
    printed = run_icmodel("predict --payload '70000 B' --extrapolate --json")
    assert printed.code == 0
    assert printed.json["goodput_bps"]["basis"] == "extrapolated"
    assert "payload" in printed.json["latency_mean_s"]["why"]


def test_a_note_of_many_metrics_is_printed_once(run_icmodel: RunIcmodel) -> None:
    line = 'predict --payload "1448 B" --cores 6 --extrapolate'
    printed, told = run_icmodel(f"{line} --all").out, run_icmodel(f"{line} --json").json
    why = told["goodput_bps"]["why"]
    assert told["cpu_send"]["why"] == told["latency_mean_s"]["why"] == why
    assert [line for line in printed.splitlines() if line.endswith(why)] == [f"[1] {why}"]
    assert re.search(r"(?m)^cpu_send .* \[1\]$", printed)


@pytest.mark.parametrize("ending", ["json", "csv", "txt"])
def test_predict_writes_a_file_by_its_extension(
    run_icmodel: RunIcmodel, tmp_path: Path, ending: str
) -> None:
    printed = run_icmodel(f"predict --payload '1448 B' -o answer.{ending}")
    text = (tmp_path / f"answer.{ending}").read_text(encoding="utf-8")
    assert (printed.code, printed.out) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == [f"answer.{ending}"]
    if ending == "json":
        assert json.loads(text) == run_icmodel("predict --payload '1448 B' --json").json
    elif ending == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        goodput = next(row for row in rows if row["metric"] == "goodput_bps")
        assert float(goodput["value"]) == 9.4106e9
        assert (goodput["dataset"], goodput["variant"]) == (CENTRAL, "corrected")
        assert (goodput["payload_bytes"], goodput["cores"], goodput["rate_fps"]) == (
            "1448",
            "4",
            "",
        )
    else:
        assert text == run_icmodel("predict --payload '1448 B'").out


def test_the_same_question_gives_the_same_bytes(tmp_path: Path) -> None:
    answers = {own_process(*shlex.split(TABLE_8_1), cwd=tmp_path).stdout for _ in range(2)}
    assert len(answers) == 1
    assert "3.512676 Gb/s" in answers.pop()


# --- the short answer -------------------------------------------------------------------------


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
        lines = text_of(short_sections(prediction)).splitlines()
        assert len(lines) <= LINES, "\n".join(lines)
        assert max(map(len, lines)) <= WIDTH
        assert " ".join(map(str.strip, lines)).startswith(question_text(prediction.scenario))
        assert lines[-1] == MORE
        assert MORE not in text_of(short_sections(prediction, more=False))


@pytest.mark.parametrize("name", catalogue())
def test_each_number_has_the_digits_its_interval_carries_and_its_basis(name: str) -> None:
    for prediction in answers(name):
        shown = shown_metrics(prediction)
        text = text_of(short_sections(prediction))
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
def test_notes_fill_the_room_and_the_others_are_counted(notes: list[str], room: int) -> None:
    lines = Hanging(tuple(fit_notes(notes, room))).lines()
    assert len(lines) <= max(room, 1)
    assert all(len(line) <= WIDTH for line in lines)
    items = [line for line in lines if line.startswith("- ")]
    if lines and lines[-1].startswith("- and "):
        left = int(lines[-1].split()[2])
        assert len(items) - 1 + left == len(notes)
    else:
        assert len(items) == len(notes)
    assert len(Hanging(tuple(fit_notes(notes, math.inf))).lines()) >= len(lines)


def test_an_exact_answer_has_all_its_digits(run_icmodel: RunIcmodel) -> None:
    lines = [" ".join(line.split()) for line in run_icmodel(TABLE_8_1).out.splitlines()]
    assert "goodput 3.512676 Gb/s exact derived" in lines
    assert "mean latency 113 µs 85 – 141 µs assumed" in lines
    assert "limited by the request; at most 5.8 Gb/s (share)" in lines


def test_all_and_why_show_the_rest(run_icmodel: RunIcmodel) -> None:
    brief = run_icmodel(TABLE_8_1).out
    assert "latency_std_s" not in brief
    assert "serialisation" not in brief
    assert "latency_std_s" in run_icmodel(f"{TABLE_8_1} --all").out
    why = run_icmodel(f"{TABLE_8_1} --why").out
    assert why.startswith(brief.removesuffix(f"{MORE}\n"))
    for said in ("serialisation", "goodput, the least of", "dataset rows used"):
        assert said in why
