"""Validation: laws that are predicted exactly, wrong rows that change nothing, and the command."""

from __future__ import annotations

import csv
import gc
import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from icmodel.cli import main
from icmodel.dataset import Dataset, Point, load
from icmodel.errors import DatasetError, ScenarioError
from icmodel.fits.fits import Fits
from icmodel.model import Model
from icmodel.report.validation import error_plot
from icmodel.scenario import Scenario
from icmodel.validate import Validation, ValidationOptions, document, validate
from icmodel.validate.folds import answers, answers_of, leave_one_out, question
from icmodel.validate.validation import (
    HELD_OUT,
    KINDS,
    LEAVE_BREAK,
    LEAVE_CURVE,
    LEAVE_ONE,
    LEAVE_SIZES,
)
from validate_case import LOADS, METRICS, PAYLOADS, edited, is_limited, law


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return law(tmp_path_factory.mktemp("law"))


@pytest.fixture(scope="module")
def found(data: Dataset) -> Validation:
    return validate(data)


# --- questions --------------------------------------------------------------------------------


def test_no_fit_of_a_fold_outlives_it(data: Dataset) -> None:
    """Thousands of folds fit into memory, even if Python collects no cycles."""
    fold = next(iter(leave_one_out(data, most=1)))
    gc.collect()
    before = sum(isinstance(one, Fits) for one in gc.get_objects())
    gc.disable()
    try:
        assert not all(one.absent for one in answers(fold, "hybrid"))
        assert sum(isinstance(one, Fits) for one in gc.get_objects()) == before
    finally:
        gc.enable()


def test_a_row_is_the_question_that_it_answers(data: Dataset) -> None:
    limited = next(p for p in data.points if is_limited(p) and p.payload_bytes == 1024)
    asked = question(data, limited)
    assert asked.requested_goodput_bps == limited.load_bps
    assert (asked.protocol, asked.payload_bytes, asked.cores) == ("tcp", 1024, 1)
    unlimited = question(data, limited._replace(load_bps=math.inf, cores=None, switches=None))
    assert unlimited == Scenario("tcp", 1024)


def test_a_row_without_a_payload_is_asked_for_the_least() -> None:
    data = load("rmi-1g-2009")
    row = next(p for p in data.points if p.payload_bytes is None and p.metric == "frames_per_s")
    assert question(data, row).payload_bytes == 1
    assert Model(data).predict(question(data, row)).metrics["frames_per_s"].value == row.value


def test_what_cannot_be_answered_says_why(data: Dataset) -> None:
    (fold, *_) = leave_one_out(data)
    assert all("no variant" in one.why for one in answers(fold, "no-such"))
    alone = replace(fold, train=replace(fold.train, points=fold.train.points[:0]))
    assert all(one.absent and one.why for one in answers(alone))


def test_a_place_without_a_metric_takes_it_from_no_other() -> None:
    data = load("ethernet-10g-2012")
    wanted = ("goodput_bps", "latency_max_s")
    rows = [
        next(p for p in data.points if (p.protocol, p.metric) == of)
        for of in (("ethernet", "goodput_bps"), ("tcp", "latency_max_s"))
    ]
    told = answers_of(Model(data, "corrected"), data, rows, wanted)
    assert [one.value for one in told] == [row.value for row in rows]


# --- validation -------------------------------------------------------------------------------


def test_a_law_that_is_linear_between_its_points_is_answered_exactly(found: Validation) -> None:
    """Unlimited latency is affine in the payload, and `corrected` interpolates linearly there."""
    (trial,) = [t for t in found.trials if t.kind == LEAVE_ONE]
    inner = [
        one.error
        for one in trial.outcomes
        if one.point.metric == "latency_mean_s"
        and one.point.load_bps == math.inf
        and one.point.payload_bytes not in (PAYLOADS[0], PAYLOADS[-1])
    ]
    assert len(inner) == len(PAYLOADS) - 2
    assert max(inner) < 1e-4  # the law is written to the nanosecond


def test_every_kind_has_its_folds_and_every_metric_its_rows(found: Validation) -> None:
    folds = {trial.kind: trial.folds for trial in found.trials}
    points = len(PAYLOADS) * len(LOADS)
    assert folds == {
        LEAVE_ONE: points - 1,  # at 16 B two loads exceed the capacity: one point
        LEAVE_CURVE: len(LOADS),
        LEAVE_BREAK: len(LOADS) * len(METRICS),
        LEAVE_SIZES: len(METRICS),
    }
    one, _, near, sizes = found.trials
    for metric in METRICS:
        assert one.metrics[metric].score.n + one.metrics[metric].score.unanswered == points
        assert near.metrics[metric].score.n == 2 * len(LOADS)
        assert sizes.metrics[metric].score.n == 2 * len(LOADS)
    for metric in ("goodput_bps", "latency_mean_s"):
        assert found.noise[metric].run == pytest.approx(0.01, rel=1e-4)
    assert found.too_few == {}


def test_regions_part_the_rows(found: Validation) -> None:
    regions = found.trials[0].metrics["goodput_bps"].regions
    rows = {name: part.n for name, part in regions.items()}
    small = sum(size <= 1500 for size in PAYLOADS) * len(LOADS)
    assert rows["payload up to the MTU"] == small
    assert rows["payload above the MTU"] == len(PAYLOADS) * len(LOADS) - small
    assert rows["load not limited"] == rows["load up to a third"] == len(PAYLOADS)
    assert rows["load up to two thirds"] == len(PAYLOADS)
    assert rows["beside a break"] == 2 * len(LOADS)
    ends = found.trials[0].metrics["latency_mean_s"].regions["extrapolated"].n
    assert ends >= len(LOADS)  # the ends of each curve, unless another load covers them


def test_nonsense_in_rows_that_are_not_scored_changes_no_score() -> None:
    data = load("ethernet-10g-2012")

    def nonsense(point: Point) -> Point:
        if point.basis in ("measured", "tabulated"):
            return point
        number = 0.9 if point.value <= 1 else 7e9
        return point._replace(value=number, std=None, low=number / 2, high=number)

    changed = edited(data, nonsense)
    assert sum(a != b for a, b in zip(data.points, changed.points, strict=True)) > 1500
    assert document(validate(changed)) == document(validate(data))


def test_too_few_rows_are_listed_and_not_scored(data: Dataset) -> None:
    few = replace(data, points=tuple(p for p in data.points if (p.payload_bytes or 0) < 1024))
    found = validate(few)
    assert found.trials == ()
    assert found.too_few == dict.fromkeys(METRICS, 18)
    stated = validate(edited(few, lambda point: point._replace(basis="stated")))
    assert stated.too_few == dict.fromkeys(METRICS, 0)
    mixed = [p for p in data.points if p.metric != "cpu_recv" or (p.payload_bytes or 0) < 1024]
    found = validate(replace(data, points=tuple(mixed)))
    assert found.too_few == {"cpu_recv": 18}
    assert found.trials[0].metrics.keys() == {"goodput_bps", "latency_mean_s"}


def with_held_out(folder: Path) -> Dataset:
    """The law with three held-out runs at an unmeasured point; the last run is far off."""
    data = law(folder)
    body = (data.folder / "points.csv").read_text(encoding="utf-8").splitlines()
    truth = 3 * (10e-6 + 3000 * 8e-9)
    rows = [
        f"run-{k},tcp,3000,inf,1,0,1,,latency_mean_s,{truth * times:.9f},,,,1,measured,run {k}"
        for k, times in enumerate((0.99, 1.0, 1.5))
    ]
    held = "\n".join([f"run,{body[0]}", *rows, ""]).encode()
    (data.folder / "held-out.csv").write_bytes(held)
    with (data.folder / "dataset.toml").open("a", encoding="utf-8") as toml:
        digest = hashlib.sha256(held).hexdigest()
        toml.write(f'\n[held_out]\nfile = "held-out.csv"\nsha256 = "{digest}"\nruns = 3\n')
    return load(data.folder)


def test_held_out_runs_are_asked_one_by_one(tmp_path: Path) -> None:
    found = validate(with_held_out(tmp_path), options=ValidationOptions(kinds=(HELD_OUT,)))
    (trial,) = found.trials
    ((metric, tested),) = trial.metrics.items()
    assert (trial.folds, metric, tested.score.n, tested.score.points) == (1, "latency_mean_s", 3, 1)
    assert tested.regions["at a new point"].n == 3
    assert [round(one.bias, 2) for one in trial.outcomes] == [0.01, 0.0, -0.33]
    assert [one.covered for one in trial.outcomes] == [True, True, False]


def test_kinds_without_a_fold_are_refused_with_the_reason(data: Dataset, tmp_path: Path) -> None:
    options = ValidationOptions(kinds=(LEAVE_BREAK, LEAVE_SIZES, HELD_OUT), breaks_bytes=(1,))
    with pytest.raises(DatasetError, match=r"sides of a break, and it has no held-out runs"):
        validate(data, options=options)
    with pytest.raises(DatasetError, match="no held-out runs of these metrics"):
        validate(
            with_held_out(tmp_path),
            options=ValidationOptions(kinds=(HELD_OUT,), metrics=("cpu_recv",)),
        )


def test_wishes_choose(data: Dataset) -> None:
    options = ValidationOptions(kinds=(LEAVE_ONE,), metrics=("cpu_recv",), most=5, worst=2)
    steps: list[tuple[int, int]] = []
    found = validate(
        data, options=options, progress=lambda done, total: steps.append((done, total))
    )
    (trial,) = found.trials
    assert trial.folds == 5
    assert trial.metrics.keys() == {"cpu_recv"}
    assert len(trial.metrics["cpu_recv"].worst) == 2
    assert steps == [(k, 5) for k in range(1, 6)]


def test_what_is_no_kind_variant_or_metric_is_refused(data: Dataset) -> None:
    with pytest.raises(ScenarioError, match=r"no kind of fold 'fold'.*leave-one-out"):
        validate(data, options=ValidationOptions(kinds=("fold",)))
    with pytest.raises(ScenarioError, match="no variant"):
        validate(data, "best")
    with pytest.raises(
        DatasetError, match=r"no measured or tabulated rows of 'loss_rate'.*cpu_recv"
    ):
        validate(data, options=ValidationOptions(metrics=("loss_rate",)))


# --- document, plot, command ------------------------------------------------------------------


def test_the_document_is_json_and_names_dataset_and_variant(found: Validation) -> None:
    told = json.loads(json.dumps(document(found), allow_nan=False))
    assert told["dataset"] == {"id": "law-1g", "sha256": found.data.sha256}
    assert told["variant"] == "corrected"
    one = told["folds"][LEAVE_ONE]["metrics"]["latency_mean_s"]
    assert {"n", "median", "p95", "coverage", "coverage_low", "coverage_high"} <= one.keys()
    assert one["error"] == "relative"
    assert len(one["worst"]) == 5
    assert told["folds"][LEAVE_ONE]["metrics"]["cpu_recv"]["error"] == "absolute"


def test_the_plot_has_every_answer_once(found: Validation) -> None:
    plot = error_plot(found)
    drawn = sum(len(part["layer"][0]["data"]["values"]) for part in plot["concat"])
    answered = [o for t in found.trials for o in t.outcomes if not o.estimate.absent]
    assert drawn == len(answered)
    lines = plot["concat"][0]["layer"][1]["data"]["values"]
    assert [line["line"] for line in lines] == ["median error", "noise of one run"]


def test_the_legend_of_the_plot_names_no_more_than_is_drawn(found: Validation) -> None:
    plots = error_plot(found)["concat"]
    for plot in plots:
        assert "≤" in plot["encoding"]["y"]["axis"]["labelExpr"]  # lower values are there too
    parts = [plot["layer"][0] for plot in plots]
    met = {row["interval"] for part in parts for row in part["data"]["values"]}
    for part in parts:
        for channel in ("color", "shape"):
            scale = part["encoding"][channel]["scale"]
            assert set(scale["domain"]) == met
            assert len(scale["range"]) == len(met)


def test_the_plot_names_no_noise_where_none_is_known_and_few_sizes_one_by_one(
    found: Validation,
) -> None:
    near = [trial for trial in found.trials if trial.kind == LEAVE_SIZES]
    plot = error_plot(replace(found, noise={}, trials=tuple(near)))
    dots, rules = plot["concat"][0]["layer"]
    assert rules["encoding"]["strokeDash"]["scale"]["domain"] == ["median error"]
    sizes = {row["payload_bytes"] for row in dots["data"]["values"]}
    assert set(dots["encoding"]["x"]["axis"]["values"]) == sizes
    many = error_plot(found)["concat"][0]["layer"][0]
    assert "values" not in many["encoding"]["x"]["axis"]


def test_the_command_prints_json_table_and_files(
    data: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, plot, rows = str(data.folder), tmp_path / "p.json", tmp_path / "rows.csv"
    words = ["validate", folder, "--folds", "leave-one-out", "--most", "6"]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["folds"].keys() == {LEAVE_ONE}
    assert told["folds"][LEAVE_ONE]["folds"] == 6
    assert main([*words, "--plot", str(plot), "-o", str(rows)]) == 0
    assert "concat" in json.loads(plot.read_text(encoding="utf-8"))
    with rows.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["metric"] for line in lines} == set(METRICS)
    assert len(lines) == 6 * len(METRICS)
    capsys.readouterr()
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "law-1g, variant corrected" in printed
    assert "leave-one-out, 6 folds" in printed
    assert "worst points" in printed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--folds", "all"], f"one of {', '.join(KINDS)}"),
        (["--most", "none"], "--most 'none' is not possible"),
        (["--break", "1448"], "1448"),
        (["--plot", "errors.pdf"], "errors.pdf"),
        (["--metric", "speed"], "no measured or tabulated rows of 'speed'"),
    ],
)
def test_a_wrong_wish_is_one_sentence(
    words: list[str], sentence: str, data: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(data.folder), *words]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1
