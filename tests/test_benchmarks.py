"""The benchmarks, run tiny and without looking at a clock: what they check, and what they print."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import checkout
from benchmarks import checking, limit, memory, page, rivals, speed, start, tables
from benchmarks.pairs import (
    Document,
    TimedCall,
    Turn,
    cpus_used,
    interleave,
    points_per_s,
    speed_ratio,
    spread,
    time_ratio,
)
from benchmarks.questions import (
    DATASET,
    DRAWN_AT_ONCE,
    Columns,
    answer,
    payload_ranges,
    questions,
)
from benchmarks.throughput import LIMITS, OURS, RIVALS, Sizes, throughput
from conftest import Distributions, Installed
from icmodel.dataset import load
from icmodel.model import Model
from test_wheel import wheel_names

TINY = Sizes(
    points=300,
    one_protocol_points=250,
    full_repeats=1,
    repeat_points=200,
    repeats=2,
    checked=40,
    xarray_points=100,
)
SPREAD = {"median", "least", "greatest", "repeats"}


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(load(DATASET))


@pytest.fixture(scope="module")
def asked(model: Model) -> Columns:
    return questions(model.data, 400)


@pytest.fixture(scope="module")
def answers(model: Model, asked: Columns) -> xr.Dataset:
    return answer(model, asked)


FEW = 30
"""Questions that the slow twin answers in a moment."""


@pytest.fixture(scope="module")
def few(asked: Columns) -> Columns:
    return {name: column[:FEW] for name, column in asked.items()}


@pytest.fixture(scope="module")
def few_answers(model: Model, few: Columns) -> xr.Dataset:
    return answer(model, few)


def assert_spread(found: Document, repeats: int) -> None:
    assert found.keys() == SPREAD
    assert found["repeats"] == repeats
    assert 0 < found["least"] <= found["median"] <= found["greatest"]


# --- pairs ------------------------------------------------------------------------------------


def test_contestants_take_turns_and_the_first_round_is_not_counted() -> None:
    order: list[str] = []
    calls = {name: TimedCall(partial(order.append, name), 10) for name in "ab"}
    rounds = interleave(calls, 2, "a test")
    assert "".join(order) == "ababab"
    assert {name: len(turns) for name, turns in rounds.items()} == {"a": 2, "b": 2}
    assert all(turn.points == 10 for turns in rounds.values() for turn in turns)


def test_ratios_are_of_the_turns_of_one_round() -> None:
    ours = [Turn(1.0, 2.0, 100), Turn(2.0, 2.0, 100), Turn(1.0, 2.0, 100)]
    theirs = [Turn(4.0, 1.0, 50), Turn(16.0, 1.0, 50), Turn(1.0, 1.0, 50)]
    rounds = {"ours": ours, "theirs": theirs}
    assert speed_ratio(rounds, "ours", "theirs") == spread([8.0, 16.0, 2.0])
    assert speed_ratio(rounds, "ours", "theirs", cpu=True) == spread([1.0, 1.0, 1.0])
    assert time_ratio(rounds, "ours", "theirs") == spread([0.25, 0.125, 1.0])
    assert cpus_used(ours) == spread([2.0, 1.0, 2.0])
    assert points_per_s(ours) == spread([100.0, 50.0, 100.0])


def test_a_spread_is_median_least_and_greatest() -> None:
    assert spread([3.0, 1.0, 2.0]).to_dict() == {
        "median": 2.0,
        "least": 1.0,
        "greatest": 3.0,
        "repeats": 3,
    }
    with pytest.raises(ValueError, match="no repeats"):
        spread([])


# --- questions --------------------------------------------------------------------------------


def test_every_parameter_varies_over_its_whole_range(model: Model) -> None:
    drawn = questions(model.data, DRAWN_AT_ONCE)
    assert {int(value) for value in drawn["cores"]} == {1, 2, 3, 4}
    assert {int(value) for value in drawn["switches"]} == {0, 1, 2}
    assert {int(value) for value in drawn["endpoints"]} == {1, 2, 3, 4}
    for code, (least, most) in enumerate(payload_ranges(model.data)):
        payload = drawn["payload_bytes"][drawn["protocol"] == code]
        assert least <= payload.min() < least + (most - least) / 1000
        assert most - (most - least) / 1000 < payload.max() <= most
    assert 1.0 <= drawn["rate_fps"].min() < 1.01
    assert 9.9e6 < drawn["rate_fps"].max() <= 1e7
    assert 99.0 < drawn["distance_m"].max() <= 100.0
    alone = drawn["endpoints"] == 1
    assert (drawn["other_goodput_bps"][alone] == 0).all()
    assert 8.9e9 < drawn["other_goodput_bps"][~alone].max() <= 9e9


def test_scenarios_of_one_protocol_are_of_its_payloads(model: Model) -> None:
    drawn = questions(model.data, 400, protocols=("udp",))
    code = model.data.protocols.index("udp")
    least, most = payload_ranges(model.data)[code]
    assert (drawn["protocol"] == code).all()
    assert ((drawn["payload_bytes"] >= least) & (drawn["payload_bytes"] <= most)).all()


def test_the_scenarios_are_the_same_however_many_are_drawn(model: Model, asked: Columns) -> None:
    many = questions(model.data, DRAWN_AT_ONCE + 100)
    rest = questions(model.data, 100, DRAWN_AT_ONCE)
    for name, column in many.items():
        np.testing.assert_array_equal(column[:400], asked[name])
        np.testing.assert_array_equal(column[DRAWN_AT_ONCE:], rest[name])
        assert not np.array_equal(column[:100], rest[name])


# --- what is timed, and that it is right ------------------------------------------------------


def test_the_answers_are_those_of_the_slow_twin(
    model: Model, asked: Columns, answers: xr.Dataset
) -> None:
    assert checking.check(model, asked, answers, 100) == 100


@pytest.mark.parametrize("name", ["goodput_bps", "latency_mean_s", "cpu_recv", "bottleneck"])
def test_one_wrong_answer_is_found(
    model: Model, few: Columns, few_answers: xr.Dataset, name: str
) -> None:
    wrong = few_answers.copy(deep=True)
    known = np.flatnonzero(~np.isnan(wrong[name].to_numpy().astype(float)))
    column = wrong[name].to_numpy()
    column[known[3]] = (
        (column[known[3]] + 1) % 3 if name == "bottleneck" else column[known[3]] * (1 + 1e-7)
    )
    with pytest.raises(checking.WrongAnswerError, match=rf"1 answers differ.*{name} of Scenario"):
        checking.check(model, few, wrong, FEW)


def test_a_missing_answer_is_found(model: Model, few: Columns, few_answers: xr.Dataset) -> None:
    wrong = few_answers.copy(deep=True)
    wrong["goodput_bps"].to_numpy()[7] = np.nan
    with pytest.raises(checking.WrongAnswerError, match=r"goodput_bps of Scenario.*: nan, not"):
        checking.check(model, few, wrong, FEW)
    with pytest.raises(checking.WrongAnswerError, match="cpu_send of Scenario"):
        checking.check(model, few, few_answers.drop_vars("cpu_send"), FEW)


def test_the_grid_holds_what_the_model_answers(model: Model, asked: Columns) -> None:
    on = rivals.grid(model)
    assert on.values.shape == tuple(map(len, on.axes))
    assert on.values.shape[2:] == (4, 3, 4)
    payloads, loads = rivals.knots(model)
    assert len(on.axes[0]) == len(payloads) > 30
    assert len(on.axes[1]) == len(loads) + 1
    inner = (np.searchsorted(payloads, 1448), 2, 3, 1, 1)
    told = model.predict(
        protocol="tcp",
        payload_bytes=int(payloads[inner[0]]),
        requested_goodput_bps=loads[2],
        cores=4,
        switches=1,
        endpoints=2,
        other_goodput_bps=loads[2],
    )
    assert on.values[inner] == pytest.approx(told.metrics["latency_mean_s"].value, rel=1e-12)


def test_the_rivals_answer_the_same_points_alike(model: Model, asked: Columns) -> None:
    on = rivals.grid(model)
    scipy = rivals.Scipy(on, asked)
    assert (scipy.places.min(axis=0) >= [axis[0] for axis in on.axes]).all()
    assert (scipy.places.max(axis=0) <= [axis[-1] for axis in on.axes]).all()
    whole = scipy.whole()
    assert whole.shape == (400,)
    assert (whole > 0).any()
    np.testing.assert_array_equal(scipy.in_blocks(64), whole)
    labelled = rivals.Xarray(on, asked, 50).whole()
    np.testing.assert_allclose(labelled.to_numpy(), whole[:50], rtol=1e-12)


def test_the_copy_is_of_as_many_bytes_as_the_answers(answers: xr.Dataset) -> None:
    copy = rivals.Copy(answers)
    assert copy.nbytes == answers.nbytes
    copy.target[0][:] = -1
    copy.whole()
    np.testing.assert_array_equal(copy.target[0], copy.source[0])


def test_the_limit_reads_the_same_tables(model: Model) -> None:
    asked = questions(model.data, 60, protocols=("tcp",))
    asked |= {"endpoints": np.ones(60, dtype=np.int64), "other_goodput_bps": np.zeros(60)}
    names = ("latency_std_s", "cpu_recv_cores")
    found = limit.Limit(model, asked, names).whole(2)
    told = answer(model, asked, metrics=("latency_std_s", "goodput_bps"))
    np.testing.assert_allclose(found[0], told["latency_std_s"], rtol=1e-12)
    np.testing.assert_allclose(found[1], told["goodput_bps"], rtol=1e-3)  # no wire's bound


# --- sections ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def raced() -> Document:
    return throughput(TINY)


def test_throughput_says_its_sizes_and_all_ratios_with_their_spread(raced: Document) -> None:
    assert raced["dataset"] == DATASET
    assert len(raced["grid"]["shape"]) == 5
    for part, points, repeats in (("repeats", 200, 2), ("one_protocol", 250, 2), ("full", 300, 1)):
        race = raced[part]
        assert (race["points"], race["checked"], race["xarray_points"]) == (points, 40, 100)
        assert race["metrics"] >= 11
        assert race["bytes"] == points * (8 * race["metrics"] + 1)
        others = {*RIVALS, *(LIMITS if part == "one_protocol" else ())}
        for each in ("points_per_s", "cpus"):
            assert race[each].keys() == OURS.keys() | others
        for kind in ("ratios", "cpu_ratios"):
            assert race[kind].keys() == OURS.keys()
        for ours in OURS:
            assert race["ratios"][ours].keys() == others
            for rival in others:
                assert_spread(race["ratios"][ours][rival], repeats)


@pytest.fixture(scope="module")
def remembered() -> Document:
    return memory.memory((1000, 2000), repeats=1)


@pytest.mark.long
def test_memory_is_told_beyond_answers_and_questions(remembered: Document) -> None:
    for how in (memory.SWEPT, memory.AT_ONCE):
        found = remembered[how]
        assert found["beyond_bytes"].keys() == {"1000", "2000"}
        assert found["answers_bytes"]["2000"] == 2 * found["answers_bytes"]["1000"] > 0
        for beyond in found["beyond_bytes"].values():
            assert_spread(beyond, 1)
            assert 10e6 < beyond["least"] < 2e9
        assert_spread(found["growth"], 1)
    assert remembered[memory.SWEPT]["questions_bytes"] == {"1000": 0, "2000": 0}
    assert remembered[memory.AT_ONCE]["questions_bytes"]["2000"] == 2000 * 8 * 8


def test_the_blocks_of_a_sweep_are_put_together() -> None:
    points = memory.BLOCK + 10
    assert (
        memory.probe(memory.SWEPT, points)["answers_bytes"]
        == (memory.probe(memory.AT_ONCE, points)["answers_bytes"])
    )


def test_the_peak_is_not_that_of_the_process_that_starts_the_probe() -> None:
    held = np.ones(25_000_000)
    code = "from benchmarks.memory import peak_bytes; print(peak_bytes())"
    command = [sys.executable, "-c", memory.SMALL, sys.executable, "-c", code]
    told = subprocess.run(command, cwd=checkout.ROOT, stdout=subprocess.PIPE, text=True, check=True)
    assert memory.peak_bytes() > held.nbytes > int(told.stdout) > 1e6


@pytest.fixture(scope="module")
def started(installed_wheel: Installed) -> Document:
    return start.cold_start(installed_wheel.python.parent, repeats=1)


@pytest.mark.long
def test_the_cold_start_is_that_of_the_installed_wheel(started: Document) -> None:
    commands = started["targets"].keys()
    assert all(command.startswith("icmodel predict --protocol tcp") for command in commands)
    assert started["ratios"].keys() == commands
    for ratios in started["ratios"].values():
        assert ratios.keys() == {"import numpy", "python"}
        for ratio in ratios.values():
            assert_spread(ratio, 1)
    assert started["seconds"].keys() == commands | {"import numpy", "python"}


def test_a_checkout_is_no_installed_wheel() -> None:
    with pytest.raises(start.CommandError, match="not an installed copy with bytecode"):
        start.cold_start(Path(sys.executable).parent, repeats=1)


def test_a_command_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(start.CommandError, match="exit 3: told"):
        start.run((sys.executable, "-c", "print('told'); raise SystemExit(3)"), tmp_path, (0, 1))


@pytest.mark.long
def test_the_wheel_that_is_timed_is_the_wheel(distributions: Distributions, tmp_path: Path) -> None:
    assert wheel_names(start.wheel(tmp_path)) == wheel_names(distributions.wheel)


@pytest.fixture(scope="module")
def written(installed_wheel: Installed) -> Document:
    return page.page(installed_wheel.python.parent, repeats=1)


@pytest.mark.long
def test_the_report_is_one_whole_page(written: Document) -> None:
    assert written["use_case"] == "imaging"
    assert written["bytes"] > 10_000
    assert_spread(written["ratio"], 1)
    assert_spread(written["seconds"], 1)


# --- the command ------------------------------------------------------------------------------


def test_the_command_prints_one_document_and_its_progress_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert speed.main(["--only", "throughput", "--points", "60", "--repeats", "1", "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert document.keys() == {"schema_version", "machine", "throughput", "load_average_at_end"}
    assert document["machine"].keys() >= {"python", "numpy", "cpus", "load_average"}
    assert document["throughput"]["full"]["points"] == 60
    assert "60 points: repeat 1 of 1" in said.err


@pytest.mark.parametrize("words", [["--points", "0"], ["--only", "nothing"], ["--repeats", "x"]])
def test_a_wrong_question_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        speed.main(words)


def test_a_section_is_printed_with_its_spread(raced: Document) -> None:
    printed = tables.text(speed.measure((), 1, 1) | {"throughput": raced})
    assert all(rival in printed for rival in RIVALS)
    assert_ratio_printed(raced, printed)


def assert_ratio_printed(raced: Document, printed: str) -> None:
    ratio = raced["repeats"]["ratios"]["predict_many"]["xarray.interp"]
    assert f"{ratio['median']:.3g} ({ratio['least']:.3g} .. {ratio['greatest']:.3g})" in printed


@pytest.mark.long
def test_every_section_is_printed_with_its_spread(
    raced: Document, remembered: Document, started: Document, written: Document
) -> None:
    document = speed.measure((), 1, 1) | {
        "throughput": raced,
        "memory": remembered,
        "start": started,
        "report": written,
    }
    assert json.loads(json.dumps(document)) == document
    printed = tables.text(document)
    for rival in RIVALS:
        assert rival in printed
    for needed in (
        "numpy",
        "CPUs",
        "load average",
        "40 of the points checked against the slow twin",
        " = ",
        "in blocks, 2,000 points",
        "icmodel predict --protocol tcp",
        "target at most 2.5 x import numpy",
        "HTML report of imaging",
    ):
        assert needed in printed
    assert_ratio_printed(raced, printed)
