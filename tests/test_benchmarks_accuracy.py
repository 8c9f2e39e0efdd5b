"""The accuracy benchmark on laws it must find, and the race itself; no clock, no network."""

from __future__ import annotations

import io
import json
import math
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy import extra_p, race, table
from benchmarks.accuracy.curves import (
    Between,
    affine,
    akima,
    hockney,
    interpolated,
    linear,
    pchip,
    segments,
    simgrid_factors,
)
from benchmarks.accuracy.features import features
from benchmarks.accuracy.learners import boosting, gaussian_process
from benchmarks.accuracy.models import variant
from benchmarks.accuracy.predictor import (
    Answerer,
    Predictor,
    Unanswerable,
    along_load,
    along_payload,
    from_time,
    guess,
    one_by_one,
    to_time,
)
from benchmarks.journal import Journal
from icmodel.dataset import Dataset, Point
from icmodel.estimate import Estimate
from icmodel.fits import Constants
from icmodel.validate.folds import Fold, leave_one_out, scored
from icmodel.validate.scores import Score
from icmodel.validate.validation import LEAVE_BREAK, LEAVE_CURVE, LEAVE_ONE, LEAVE_SIZES
from icmodel.workers import pickled
from validate_case import LOADS, METRICS, PAYLOADS, edited, law


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return law(tmp_path_factory.mktemp("law"))


def by_law(data: Dataset, metric: str, values: Mapping[int, float]) -> Dataset:
    """The dataset with one metric, by payload alone."""

    def edit(point: Point) -> Point:
        return point._replace(value=values[point.payload_bytes or 0], std=None)

    only = replace(data, points=tuple(p for p in data.points if p.metric == metric))
    return edited(only, edit)


def errors(data: Dataset, predictor: Predictor, most: int | None = None) -> list[float]:
    """Relative errors of the answers with rows on both sides, leave-one-out."""
    folds = list(leave_one_out(data, most=most))
    answerer = predictor(data, folds)
    found = []
    for fold in folds:
        for point, said in zip(fold.test, answerer(fold), strict=True):
            if point.payload_bytes not in (PAYLOADS[0], PAYLOADS[-1]):
                assert not said.absent, said.why
                found.append(abs(said.value / point.value - 1))
    return found


# --- curves -------------------------------------------------------------------------------------


@pytest.mark.parametrize("between", [linear, pchip, akima])
def test_interpolation_finds_a_power_law(between: Between, data: Dataset) -> None:
    values = {payload: 3e-7 * payload**0.7 for payload in PAYLOADS}
    known = by_law(data, "latency_mean_s", values)
    assert max(errors(known, interpolated(between))) < 1e-9


def test_hockney_finds_its_line(data: Dataset) -> None:
    times = {payload: 5e-6 + 8e-9 * payload for payload in PAYLOADS}
    assert max(errors(by_law(data, "latency_mean_s", times), hockney)) < 1e-9
    rates = {payload: payload * 8 / seconds for payload, seconds in times.items()}
    assert max(errors(by_law(data, "goodput_bps", rates), hockney)) < 1e-9


def test_simgrid_factors_find_two_lines(data: Dataset) -> None:
    times = {p: (5e-6 + 8e-9 * p) * (2 if p > 700 else 1) for p in PAYLOADS}
    found = errors(by_law(data, "latency_mean_s", times), simgrid_factors)
    beside = 2 * len(LOADS)  # what stands beside the step may be given to the other line
    assert sorted(found)[: len(found) - beside][-1] < 1e-6


def test_segments_are_where_the_line_changes_and_one_where_it_does_not() -> None:
    x = np.array([2.0**k for k in range(14)])
    straight = 1e-6 + 1e-9 * x
    assert segments(x, straight) == [0, 14]
    assert segments(x, np.where(x > 100, 4 * straight, straight)) == [0, 7, 14]
    assert affine(x, straight) == pytest.approx((1e-6, 1e-9))


def test_a_curve_has_the_rows_with_all_else_equal(data: Dataset) -> None:
    fold = next(
        fold
        for fold in leave_one_out(data, "latency_mean_s")
        if fold.test[0].payload_bytes == PAYLOADS[-1] and fold.test[0].load_bps == LOADS[0]
    )
    (point,) = fold.test
    line, load = along_payload(fold, point), along_load(fold, point)
    assert line.x.tolist() == [float(p) for p in PAYLOADS if p != point.payload_bytes]
    assert line.at == point.payload_bytes
    assert not line.inside  # the greatest payload: nothing above it
    assert set(load.x.tolist()) == {float(v) for v in LOADS if v.is_finite()} - {point.load_bps}


def test_times_and_rates_are_one_thing() -> None:
    payload = np.array([64.0, 1024.0])
    for metric in ("goodput_bps", "frames_per_s", "latency_mean_s"):
        value = np.array([3.0, 5.0])
        seconds = to_time(metric, payload, value)
        back = [
            from_time(metric, float(p), float(s)) for p, s in zip(payload, seconds, strict=True)
        ]
        assert back == pytest.approx(value.tolist())
    with pytest.raises(Unanswerable, match="not above 0"):
        from_time("goodput_bps", 64.0, -1.0)


def test_what_a_predictor_cannot_answer_is_an_absent_estimate_with_its_reason(
    data: Dataset,
) -> None:
    cpu = replace(data, points=tuple(p for p in data.points if p.metric == "cpu_recv"))
    fold = next(iter(leave_one_out(cpu)))
    (said,) = hockney(cpu, [fold])(fold)
    assert said.absent
    assert "not about cpu_recv" in said.why
    alone = replace(fold, train=replace(fold.train, points=fold.test))
    for predictor in (interpolated(linear), simgrid_factors, gaussian_process, boosting):
        (said,) = predictor(cpu, [alone])(alone)
        assert said.absent
        assert said.why
    assert guess(math.inf).absent


# --- learners -----------------------------------------------------------------------------------


def test_only_what_differs_is_a_feature(data: Dataset) -> None:
    rows = scored(data, "latency_mean_s")
    columns = features(data, rows).of(rows)
    assert columns.shape == (len(rows), 3)  # payload, load, and whether it is limited
    assert columns.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-12)
    assert columns.std(axis=0) == pytest.approx([1, 1, 1])


@pytest.mark.filterwarnings("ignore")  # the kernel's parameters may end at their bounds
def test_the_learners_find_a_smooth_law(data: Dataset) -> None:
    smooth = by_law(data, "latency_mean_s", {p: 3e-7 * p**0.7 for p in PAYLOADS})
    assert np.median(errors(smooth, gaussian_process, 10)) < 0.01
    assert np.median(errors(smooth, boosting, 10)) < 0.05  # other loads have the same values


@pytest.mark.filterwarnings("ignore")
def test_a_learner_answers_a_fold_alike_whichever_folds_it_answered_before(data: Dataset) -> None:
    """Each worker of a race answers other folds; all start from the kernel of the first one."""
    folds = list(leave_one_out(data, "latency_mean_s", most=3))
    said = [
        [answerer(fold) for fold in some]
        for some in (folds, folds[1:], folds[2:])
        for answerer in [gaussian_process(data, folds)]
    ]
    assert said[0][1:] == said[1]
    assert said[1][1:] == said[2]


@pytest.mark.parametrize("name", [one for one in command.PREDICTORS if one != "hybrid"])
@pytest.mark.filterwarnings("ignore")
def test_a_worker_s_copy_of_a_predictor_answers_alike(name: str, data: Dataset) -> None:
    lap = race.Lap(data, LEAVE_ONE, METRICS, 2)
    answerer = command.PREDICTORS[name](data, lap)
    sent = pickled((lap, answerer), "race")
    assert len(sent) < 2000
    other, copy = pickle.loads(sent)
    assert list(copy(other[1])) == list(answerer(lap[1]))


# --- Extra-P ------------------------------------------------------------------------------------

STAND_IN = """
import json, sys
print(json.dumps({"value": 1.0}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    known = len(asked["x"]) > 4
    told = {"value": 2 * asked["at"]} if known else {"why": "too short"}
    print(json.dumps(told), flush=True)
"""


def test_extra_p_is_asked_line_by_line(data: Dataset) -> None:
    """A stand-in that speaks the worker's protocol; Extra-P itself needs a network to install."""
    command = (sys.executable, "-c", STAND_IN)
    fold = next(iter(leave_one_out(data, "latency_mean_s")))
    answerer = extra_p.asking_extra_p(command, data, [fold])
    (said,) = answerer(fold)
    size = fold.test[0].payload_bytes or 0
    assert said.value == pytest.approx(2 * size * extra_p.MICRO)
    few = replace(fold, train=replace(fold.train, points=fold.train.points[:9]))
    (said,) = answerer(few)
    assert (said.absent, said.why) == (True, "too short")
    extra_p.started(command).communicate()


def test_extra_p_s_pins_are_whole_and_leave_its_window_toolkit_out() -> None:
    lines = [
        line for line in extra_p.PINS.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]  # fmt: skip
    assert all(line.count("==") == 1 and "://" not in line for line in lines)
    assert any(line.startswith("extrap==") for line in lines)
    assert not any(line.lower().startswith("pyside") for line in lines)


# --- the race -----------------------------------------------------------------------------------


def always(times: float) -> Predictor:
    """A predictor that is told the truth, and gives it times a number."""

    def predictor(data: Dataset, folds: Sequence[Fold]) -> Answerer:
        del data, folds

        def answer(fold: Fold, point: Point) -> Estimate:
            return guess(point.value * times, point.value, point.value * times)

        return one_by_one(answer)

    return predictor


def silent(data: Dataset, folds: Sequence[Fold]) -> Answerer:
    del data, folds

    def answer(fold: Fold, point: Point) -> Estimate:
        raise Unanswerable("will not say")

    return one_by_one(answer)


def some_metric(factor: float) -> Predictor:
    """Answers the goodput alone."""

    def answer(fold: Fold, point: Point) -> Estimate:
        if point.metric != "goodput_bps":
            raise Unanswerable("another metric")
        return guess(factor * point.value)

    return lambda data, folds: one_by_one(answer)


FIELD: dict[str, Predictor] = {
    "hybrid": always(1.02),
    "linear": always(1.1),
    "shy": silent,
}


def quiet(text: str) -> None:
    del text


@pytest.mark.parametrize("kind", [LEAVE_ONE, LEAVE_CURVE, LEAVE_BREAK, LEAVE_SIZES])
def test_all_have_the_same_rows_and_their_errors_are_ratios(kind: str, data: Dataset) -> None:
    one = race.race(data, FIELD, kind=kind, most=6, say=quiet)
    told = json.loads(json.dumps(race.document([one]), allow_nan=False))["law-1g"]
    assert list(told) == list(FIELD)
    for metric in METRICS:
        ours, shy = told["hybrid"][metric], told["shy"][metric]
        assert ours["n"] == told["linear"][metric]["n"] == shy["unanswered"] > 0
        assert ours["coverage"] == 1.0
        assert (shy["n"], shy["median"], shy["reasons"]) == (0, None, {"will not say": ours["n"]})
    assert told["hybrid"]["goodput_bps"]["median"] == pytest.approx(0.02)
    assert told["hybrid"]["cpu_recv"]["error"] == "absolute"


def test_the_closest_is_named_and_where_we_are_not(data: Dataset) -> None:
    one = race.race(data, FIELD, kind=LEAVE_ONE, most=6, say=quiet)
    assert table.won_datasets(table.finals([one])) == {"median": (1, 1), "p95": (1, 1)}
    printed = table.text([one], LEAVE_ONE)
    assert "hybrid has the lowest median on most metrics of 1 of 1 datasets" in printed
    assert "not closest" not in printed
    assert "hybrid has the lowest p95 over all metrics on 1 of 1 datasets" in printed
    swapped = {**FIELD, "hybrid": FIELD["linear"], "linear": FIELD["hybrid"]}
    other = race.race(data, swapped, kind=LEAVE_ONE, most=6, say=quiet)
    printed = table.text([other], LEAVE_ONE)
    assert "most metrics of 0 of 1 datasets" in printed
    assert "hybrid has the lowest median over all metrics on 0 of 1 datasets" in printed
    assert "law-1g, goodput_bps, median: 10.00 % against 2.00 % of linear" in printed


def test_ranks_are_means_over_all_metrics_ties_share_and_the_silent_are_last(data: Dataset) -> None:
    field = {**FIELD, "also": FIELD["linear"]}
    one = race.race(data, field, kind=LEAVE_ONE, most=6, say=quiet)
    for number in table.NUMBERS:
        ranks = table.mean_ranks([one, one], number)
        assert ranks == {"hybrid": 1.0, "linear": 2.5, "also": 2.5, "shy": 4.0}
        assert next(iter(ranks)) == "hybrid"
    assert "mean rank over all metrics" in table.text([one], LEAVE_ONE)


def test_who_answers_the_easy_rows_alone_is_not_the_closest(data: Dataset) -> None:
    def choosy(data: Dataset, folds: Sequence[Fold]) -> Answerer:
        del data, folds

        def answer(fold: Fold, point: Point) -> Estimate:
            if (point.payload_bytes or 0) > 100:
                raise Unanswerable("too large")
            return guess(point.value)

        return one_by_one(answer)

    field = {**FIELD, "choosy": choosy}
    judged = table.finals([race.race(data, field, kind=LEAVE_ONE, most=None, say=quiet)])
    assert {final.best for final in judged} == {("hybrid",)}


def test_all_metrics_together_are_the_geometric_mean_of_ratios_the_nearest_first(
    data: Dataset,
) -> None:
    field = {**FIELD, "linear": always(1.2), "near": always(1.05), "picky": some_metric(1.0)}
    one = race.race(data, field, kind=LEAVE_ONE, most=6, say=quiet)
    rivals = [r for r in table.together([one]) if r.number == "median"]
    assert [r.rival for r in rivals] == ["near", "linear"]  # who leaves metrics out is no rival
    own, other = (one.scores[name] for name in ("hybrid", "near"))
    product = math.prod(
        other[metric].errors.median / own[metric].errors.median for metric in METRICS
    )
    assert rivals[0].metrics == len(METRICS)
    assert rivals[0].ratio == pytest.approx(product ** (1 / len(METRICS)))


def test_a_metric_that_nobody_tells_decides_nothing(data: Dataset) -> None:
    wild = {"hybrid": always(30.0), "linear": always(10.0)}
    one = race.race(data, wild, kind=LEAVE_ONE, most=6, say=quiet)
    relative = [m for m in METRICS if one.scores["linear"][m].kind != "absolute"]
    assert [one.scores["linear"][m].errors.median for m in relative] == pytest.approx(
        [9.0] * len(relative)
    )
    only = replace(one, scores={n: {m: s[m] for m in relative} for n, s in one.scores.items()})
    assert relative
    assert table.together([only]) == []


def test_a_race_that_was_cut_off_goes_on_from_its_journal(data: Dataset, tmp_path: Path) -> None:
    def gone(data: Dataset, folds: Sequence[Fold]) -> Answerer:
        raise AssertionError("asked again")

    def run(field: Mapping[str, Predictor], most: int = 6) -> Mapping[str, Mapping[str, Score]]:
        kept = Journal(tmp_path / "journal.jsonl")
        return race.race(data, field, kind=LEAVE_ONE, most=most, say=quiet, journal=kept).scores

    field = {"hybrid": FIELD["hybrid"], "linear": FIELD["linear"]}
    first = run(field)
    assert run({**dict.fromkeys(field, gone), "late": always(1.1)}) == {
        **first,
        "late": first["linear"],
    }
    other = run({"linear": always(1.3)}, most=3)
    assert other["linear"]["goodput_bps"].errors.median == pytest.approx(0.3)


def test_who_could_not_answer_is_asked_again(data: Dataset, tmp_path: Path) -> None:
    def missing(data: Dataset, folds: Sequence[Fold]) -> Answerer:
        raise ImportError("no such package", name="package")

    for predictor, answered in ((missing, 0), (always(1.1), 6)):
        kept = Journal(tmp_path / "journal.jsonl")
        one = race.race(data, {"late": predictor}, kind=LEAVE_ONE, most=6, say=quiet, journal=kept)
        assert one.scores["late"]["goodput_bps"].n == answered


def test_how_far_a_long_race_is_gets_said(data: Dataset) -> None:
    said: list[str] = []
    race.race(data, {"linear": FIELD["linear"]}, kind=LEAVE_ONE, most=20, say=said.append)
    assert said[0] == "law-1g: linear, 20 folds"
    assert said[1] == "law-1g: linear, 2 of 20"
    assert len(said) == 10


def test_datasets_of_one_name_count_as_one(data: Dataset) -> None:
    """Fifteen rows a metric are too few, three times fifteen are not."""
    few = replace(data, points=data.points[:45])
    assert race.race(few, FIELD, kind=LEAVE_ONE, most=2, say=quiet).folds == 0
    both = race.race_together("all", [few] * 3, FIELD, kind=LEAVE_ONE, most=2, say=quiet)
    assert (both.dataset, both.folds) == ("all", 6)
    for metric in METRICS:
        score = both.scores["hybrid"][metric]
        assert score.n >= 6
        assert score.kind == "absolute" or score.errors.median == pytest.approx(0.02)


def test_the_constants_of_hybrid_may_depend_on_the_dataset(data: Dataset) -> None:
    """Two settings tell two answers, and the dataset says which."""
    fold = next(iter(leave_one_out(data, "latency_mean_s")))
    asked: list[str] = []

    def chosen(power: float) -> Callable[[Dataset], Constants]:
        def constants(one: Dataset) -> Constants:
            asked.append(one.id)
            return Constants(power=power, everywhere=1.0)

        return constants

    said = [
        variant("hybrid", chosen(power))(data, [fold])(fold)[0].value for power in (0.0, 10.0, 10.0)
    ]
    assert asked == ["law-1g"] * 3
    assert said[0] != said[1] == said[2]


def test_a_dataset_with_too_few_rows_is_named_and_has_no_entry(data: Dataset) -> None:
    few = replace(data, points=data.points[:20])
    one = race.race(few, FIELD, kind=LEAVE_ONE, most=None, say=quiet)
    assert race.document([one]) == {}
    assert "law-1g: too few" in table.text([one], LEAVE_ONE)


def test_the_command_prints_one_document(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()
    monkeypatch.setattr(sys, "stdout", printed)
    words = ["--only", str(data.folder), "--predictor", "corrected", "--predictor", "pchip"]
    assert command.main([*words, "--most", "4", "--json"]) == 0
    told = json.loads(printed.getvalue())
    assert told.keys() == {"law-1g"}
    assert told["law-1g"].keys() == {"corrected", "pchip"}
    assert {"n", "median", "p95", "coverage"} <= told["law-1g"]["pchip"]["goodput_bps"].keys()


def test_every_predictor_of_the_list_is_there() -> None:
    assert command.NAMES == (
        "appendix-h", "corrected", "hybrid", "linear", "pchip", "akima", "gaussian-process",
        "boosting", "hockney", "simgrid-factors", "extra-p",
    )  # fmt: skip
    assert Path(extra_p.WORKER).is_file()
