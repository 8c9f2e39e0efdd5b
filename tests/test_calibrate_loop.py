"""The loop on a made-up system: resumable at every cut, within its budget, and open about why."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chooser.synthetic import TUNING
from calibrate_case import Simulated, settings
from icmodel.calibrate import Progress, Refused, Result, Run, calibrate
from icmodel.calibrate.loop import Calibration
from icmodel.calibrate.planner import Planner, Score
from icmodel.calibrate.runs import Record, candidates, run_of, stolen
from icmodel.calibrate.settings import settings_of
from icmodel.calibrate.state import RECORDS, REFUSED, SETTINGS, Done, write
from icmodel.cli.calibrate import calibration_progress, calibration_sections
from icmodel.cli.output import text_of
from icmodel.dataset import load
from icmodel.errors import CalibrationError, MeasurementFailed, MeasuringError, RecordError
from search import mostly_long


def made(folder: Path) -> dict[str, bytes]:
    """Content of each file except the stop conditions."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != SETTINGS}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Calibration without interruption."""
    folder = tmp_path_factory.mktemp("whole") / "lab"
    result = calibrate(Simulated(), settings(), folder)
    assert (result.reason, len(result.records)) == ("budget", 46)
    write(folder, settings())
    return folder


# --- disturbed --------------------------------------------------------------------------------


class Disturbed(Simulated):
    """System whose first two repeats lose a tenth of the sender's core to the hypervisor."""

    def measure(self, run: Run, repeat: int) -> Record:
        record = super().measure(run, repeat)
        assert not isinstance(record, Refused)
        core = {"core": 0, "steal": 0.1 if repeat < 2 else 0.0}
        return {**record, "cores": {"send": [0]}, "cpu_modes": {"send": {"cores": [core]}}}


def test_first_runs_that_the_hypervisor_disturbed_are_asked_until_one_counts() -> None:
    plan, system = Planner(settings(most_steal=0.01)), Disturbed()
    before: list[Done] = []
    asked: list[set[Run]] = []
    for step in range(4):
        turns = plan.plan_step(step, before).turns
        before += [Done(step, run, repeat, system.measure(run, repeat)) for run, repeat in turns]
        asked.append({run for run, _ in turns})
    assert asked[1] <= asked[2]
    assert not asked[1] & asked[3]


def test_runs_that_the_hypervisor_disturbed_are_told_early_and_in_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Progress counts the runs that cannot be used."""
    limits = settings(most_steal=0.01)
    with calibration_progress() as watch:
        result = calibrate(Disturbed(), limits, tmp_path / "lab", watch)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "10 runs, 10 of 46 s: first rounds, no error is known yet"
    assert told[1].startswith("the hypervisor disturbed 12 of the first 12 runs")
    assert len([line for line in told if "of the first" in line]) == 1
    assert result.progress.disturbed == sum(stolen(one) > 0.01 for one in result.records) > 12
    made = Calibration("lab", tmp_path / "lab", "lab", "", "hybrid", result)
    assert made.to_dict()["disturbed"] == result.progress.disturbed
    assert made.to_dict()["requirements"] == {}
    assert f"{result.progress.disturbed} runs not used because the hypervisor" in text_of(
        calibration_sections(made)
    )


def progress(runs: int, *, scored: bool = False) -> Progress:
    scores = (Score("goodput_bps", 3, 0.1, 0.2, 0.01),) if scored else ()
    return Progress(1, runs, 0, float(runs), 42.0, None, scores)


def test_once_an_error_was_told_it_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    """Chosen runs may have an early step; refused runs are not new."""
    with calibration_progress() as watch:
        for stand in (progress(0), progress(0), progress(10), progress(10), progress(19)):
            watch(stand)
        watch(progress(20))
        watch(progress(24, scored=True))
        for runs in (30, 40):
            watch(progress(runs))
    told = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in told] == [
        "10 runs, 10 of 42 s",
        "20 runs, 20 of 42 s",
        "24 runs, 24 of 42 s",
    ]


def test_runs_that_flags_spoilt_are_counted(tmp_path: Path) -> None:
    whole_run = Simulated().measure(Run("udp", 1000), 0)
    assert not isinstance(whole_run, Refused)
    spoilt = {**whole_run, "flags": ["incomplete"]}
    stand = progress(2)
    made = Calibration(
        "lab", tmp_path, "lab", "", "hybrid", Result("budget", (whole_run, spoilt), (), stand)
    )
    assert made.to_dict()["spoilt"] == {"runs": 1, "flags": {"incomplete": 1}}
    assert "1 run not used because of flags: incomplete 1" in text_of(calibration_sections(made))


def test_undisturbed_runs_are_no_news(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = settings(most_steal=0.01, budget_s=20.0)
    with calibration_progress() as watch:
        result = calibrate(Simulated(), limits, tmp_path / "lab", watch)
    assert result.progress.disturbed == 0
    assert "disturbed" not in capsys.readouterr().err


def test_what_the_hypervisor_took_is_that_of_the_cores_in_use() -> None:
    cores = [{"core": 0, "steal": 0.5}, {"core": 1, "steal": 0.02}, {"core": 2}]
    modes = {"send": {"cores": cores}, "recv": {"cores": cores}}
    assert stolen({"cores": {"send": [1], "recv": [2]}, "cpu_modes": modes}) == 0.02
    assert stolen({"cores": {"send": [2], "recv": [0]}, "cpu_modes": modes}) == 0.5
    assert stolen({"point": {}}) == 0.0
    with pytest.raises(CalibrationError, match="less than 100 %"):
        settings(most_steal=1.0)


# --- cut off ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cut_after", mostly_long([0, 41], [41]))
def test_cut_off_after_any_run_the_same_dataset_comes_out(
    cut_after: int, whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "lab"
    with pytest.raises(KeyboardInterrupt):
        calibrate(Simulated(cut_after), settings(), folder)
    calibrate(Simulated(), settings(), folder)
    write(folder, settings())
    assert made(folder) == made(whole)


def test_cut_off_again_and_again_with_torn_lines(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    for _ in range(6):
        with pytest.raises(KeyboardInterrupt):
            calibrate(Simulated(6), settings(), folder)
        with (folder / RECORDS).open("ab") as file:
            file.write(b'{"point": {"protoc')
    calibrate(Simulated(), settings(), folder)
    write(folder, settings())
    assert made(folder) == made(whole)


def test_a_greater_budget_goes_on_where_the_smaller_one_ended(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    for budget_s in (0.5, 1.0, 12.5, 33.0, 46.0):
        short = settings(budget_s=budget_s)
        if budget_s < 1.0:
            with pytest.raises(CalibrationError, match="too short for one run"):
                calibrate(Simulated(), short, folder)
        else:
            assert len(calibrate(Simulated(), short, folder).records) == int(budget_s)
    write(folder, settings())
    assert made(folder) == made(whole)


def test_what_is_done_is_not_measured_again(whole: Path) -> None:
    system = Simulated()
    assert calibrate(system, settings(), whole).reason == "budget"
    assert system.asked == []


@contextmanager
def another_process(folder: Path, runs: int) -> Iterator[None]:
    """Process that calibrates into a folder, and is killed after a number of runs."""
    root = Path(__file__).resolve().parent
    paths = {"PYTHONPATH": os.pathsep.join((str(root.parent), str(root)))}
    command = [sys.executable, str(root / "calibrate_case.py"), str(folder)]
    records = folder / RECORDS
    with subprocess.Popen(command, env={**os.environ, **paths}) as process:
        while process.poll() is None:
            if records.exists() and records.read_bytes().count(b"\n") >= runs:
                break
            time.sleep(0.002)
        yield
        process.kill()


@pytest.mark.long
def test_killed_at_any_moment_the_same_dataset_comes_out(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    for runs in (0, 7, 33):
        with another_process(folder, runs):
            pass
    calibrate(Simulated(), settings(), folder)
    write(folder, settings())
    assert made(folder) == made(whole)


def test_two_processes_do_not_calibrate_into_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    busy = pytest.raises(MeasuringError, match="another process is measuring into")
    with another_process(folder, 1), busy:
        calibrate(Simulated(), settings(), folder)
    assert calibrate(Simulated(), settings(budget_s=5), folder).reason == "budget"


def test_killed_before_its_settings_stood_there_a_folder_is_taken_anew(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).with_suffix(".new").write_text("{", encoding="utf-8")
    assert len(calibrate(Simulated(), settings(budget_s=1), tmp_path).records) == 1


# --- what ends it -----------------------------------------------------------------------------


def test_it_ends_at_the_stated_error_and_tells_it_on_the_way(tmp_path: Path) -> None:
    told: list[Progress] = []
    asked = settings(error_ratio=0.5, budget_s=300.0, metrics=("goodput_bps", "cpu_send"))
    result = calibrate(Simulated(), asked, tmp_path / "lab", told.append)
    assert result.reason == "error"
    assert 0 <= result.progress.error <= 0.5
    assert result.progress.spent_s == len(result.records) < 300
    assert [one.runs for one in told] == sorted(one.runs for one in told)
    assert {one.metric for one in result.progress.scores} == {"goodput_bps", "cpu_send"}


def test_records_are_folded_into_a_dataset_of_the_folder_s_name(whole: Path) -> None:
    data = load(whole)
    assert (data.id, data.default_variant) == ("lab", "corrected")
    assert data.interconnect.line_rate_bps == TUNING.line_rate_bps
    runs = sum(point.n or 0 for point in data.points if point.metric == "goodput_bps")
    assert runs == 46


def test_records_say_the_step_they_were_chosen_in(whole: Path) -> None:
    lines = (whole / RECORDS).read_text(encoding="utf-8").splitlines()
    marks = [json.loads(line)["plan"] for line in lines]
    steps = [int(mark["name"].rpartition(" ")[2]) for mark in marks]
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert steps.count(4) == settings().sampling.batch
    third = [run_of(json.loads(line)) for line, step in zip(lines, steps, strict=True) if step == 3]
    grid = candidates(settings(), TUNING.line_rate_bps)
    assert third
    assert not set(third) & set(grid)
    assert not any(mark["held_out"] for mark in marks)


# --- what goes wrong --------------------------------------------------------------------------


def test_a_failure_is_tried_once_more_and_then_said(tmp_path: Path) -> None:
    assert len(calibrate(Simulated(failures=1), settings(budget_s=2), tmp_path / "a").records) == 2
    with pytest.raises(MeasurementFailed, match="the cable is out"):
        calibrate(Simulated(failures=2), settings(budget_s=2), tmp_path / "b")
    assert len(calibrate(Simulated(), settings(budget_s=2), tmp_path / "b").records) == 2


def test_a_refused_run_costs_nothing_and_is_not_asked_again(tmp_path: Path) -> None:
    refused = Run("udp", 65507, 9e9)
    system = Simulated(refused=frozenset({refused}))
    result: Result = calibrate(system, settings(budget_s=34), tmp_path / "lab")
    assert system.asked.count(refused) == 1
    assert {one.run for one in result.refused} == {refused}
    assert len(result.records) == 34
    assert (tmp_path / "lab" / REFUSED).read_text(encoding="utf-8").count("\n") == 1


def test_a_run_whose_records_are_spoilt_is_given_up(tmp_path: Path) -> None:
    class Unsteady(Simulated):
        def measure(self, run: Run, repeat: int) -> Record | Refused:
            record = super().measure(run, repeat)
            spoilt = run.payload_bytes == 32 and not isinstance(record, Refused)
            return {**record, "flags": ["pacing-error"]} if spoilt else record  # type: ignore[dict-item]

    system = Unsteady()
    calibrate(system, settings(budget_s=60), tmp_path / "lab")
    assert max(system.asked.count(run) for run in system.asked if run.payload_bytes == 32) <= 3


def test_hosts_that_refuse_everything_are_said(tmp_path: Path) -> None:
    class Refusing(Simulated):
        def measure(self, run: Run, repeat: int) -> Record | Refused:
            return Refused("no such interface")

    with pytest.raises(
        CalibrationError, match=r"no run gave a goodput in its place \(no such interface\)"
    ):
        calibrate(Refusing(), settings(line_rate_bps=None), tmp_path / "a")
    with pytest.raises(CalibrationError, match=r"refuse every run \(no such interface\)"):
        calibrate(Refusing(), settings(), tmp_path / "b")


def test_another_calibration_s_folder_is_refused(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="other settings"):
        calibrate(Simulated(), settings(seed=2), whole)
    with pytest.raises(CalibrationError, match="of 'made up'"):
        calibrate(Simulated(description="other"), settings(), whole)
    (tmp_path / "note.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(CalibrationError, match="not empty"):
        calibrate(Simulated(), settings(), tmp_path)


def test_where_nothing_was_measured_other_settings_may_take_the_folder(tmp_path: Path) -> None:
    class Refusing(Simulated):
        def measure(self, run: Run, repeat: int) -> Record | Refused:
            return Refused("no such interface")

    with pytest.raises(CalibrationError, match="refuse every run"):
        calibrate(Refusing(), settings(), tmp_path / "lab")
    assert (tmp_path / "lab" / REFUSED).exists()
    # After a mend, the same runs are measured again, with the same or other settings.
    shutil.copytree(tmp_path / "lab", tmp_path / "other")
    for name, wish in (("lab", settings(budget_s=3)), ("other", settings(budget_s=3, seed=2))):
        made = calibrate(Simulated(), wish, tmp_path / name)
        assert made.records
        assert not made.refused
        assert not (tmp_path / name / REFUSED).exists()


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'{"schema_version": 2}', b'{"schema_version": 1}', b"\xff"]
)
def test_damaged_settings_are_said(body: bytes, tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_bytes(body)
    with pytest.raises(CalibrationError, match=r"loop\.json cannot be read"):
        calibrate(Simulated(), settings(), tmp_path)


@pytest.mark.parametrize("damage", [{"loads": [10**400, None]}, {"most_steal": 10**400}])
def test_a_number_beyond_all_floats_is_damage(damage: dict[str, Any]) -> None:
    text = json.dumps({**json.loads(settings().to_json()), **damage})
    with pytest.raises(CalibrationError, match=r"loop\.json cannot be read"):
        settings_of(text)


def test_damaged_records_are_said(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    calibrate(Simulated(), settings(budget_s=3), folder)
    good = (folder / RECORDS).read_bytes()
    for bad, said in (
        (b"{\n", "line 1 is not valid JSON"),
        (b'{"plan": {}}\n', "has an invalid line"),
        (good.replace(b'"repeat":0', b'"repeat":1e400'), "has an invalid line"),
    ):
        (folder / RECORDS).write_bytes(bad + good)
        with pytest.raises(CalibrationError, match=said):
            calibrate(Simulated(), settings(), folder)
    (folder / RECORDS).write_bytes(re.sub(rb'("payload_bytes":)[0-9]+', rb"\g<1>1e400", good))
    with pytest.raises(RecordError, match="no complete table"):
        calibrate(Simulated(), settings(), folder)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"protocols": ("carrier pigeon",)}, r"protocols \(carrier pigeon\): give"),
        ({"protocols": ()}, r"protocols \(none given\): give"),
        ({"least_payload_bytes": 0}, "are not a range"),
        ({"loads": (0.5,)}, "the loads 0.5 are not possible"),
        ({"budget_s": 0.0}, "a budget of 0 s is too short for a run"),
        ({"error_ratio": 1.0}, "an error of 100 % is not possible"),
        ({"cores": 0}, "0 cores are not possible: give 1 to 64"),
        ({"mtu_bytes": 10}, "an MTU of 10 B is not possible"),
        ({"window_s": 0.0}, "a window of 0 s is not possible"),
        ({"line_rate_bps": 0.0}, "a line rate of 0 b/s is not possible"),
    ],
)
def test_settings_that_cannot_be_are_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(CalibrationError, match=said):
        settings(**words)
