"""Folds: rows that are left out together, training rows, and points next to a break."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.dataset import Dataset, Point, load
from icmodel.errors import DatasetError
from icmodel.fits.observations import run_shares
from icmodel.model import Model
from icmodel.validate.folds import (
    answers_of,
    counts,
    curve_key,
    held_out,
    leave_a_break_out,
    leave_a_curve_out,
    leave_break_sizes_out,
    leave_one_out,
    next_to_break,
    point_key,
    question,
    runs_of,
    scored,
    step,
    training,
)
from validate_case import LOADS, METRICS, PAYLOADS, law


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return law(tmp_path_factory.mktemp("law"))


def test_a_point_leaves_with_all_its_metrics(data: Dataset) -> None:
    folds = list(leave_one_out(data))
    assert len(folds) == len(PAYLOADS) * len(LOADS) - 1  # at 16 B two loads exceed the capacity
    for fold in folds:
        asked = {point_key(data, point) for point in fold.test}
        assert {point.payload_bytes for point in fold.test} == {PAYLOADS[0]} or len(asked) == 1
        assert sorted(point.metric for point in fold.test) == sorted(METRICS * len(asked))
        assert not asked & {point_key(data, point) for point in fold.train.points}
        assert len(fold.train.points) == len(data.points) - len(fold.test)
    assert Counter(point for fold in folds for point in fold.test) == Counter(data.points)


def test_one_metric_is_asked_and_the_others_of_its_point_leave_all_the_same(data: Dataset) -> None:
    for fold in leave_one_out(data, "goodput_bps"):
        assert {point.metric for point in fold.test} == {"goodput_bps"}
        assert len(fold.train.points) == len(data.points) - len(METRICS) * len(fold.test)


def test_rows_that_answer_the_same_question_leave_together() -> None:
    """Empty load and switches, and an option at its default, give the same question."""
    data = load("mpi-infiniband-roce")
    twins = [
        p for p in data.points if p.payload_bytes == 1024 and p.options[0] == "ib-gcc9-impi-verbs"
    ]
    osu = [p for p in twins if p.options[1] == "osu"]
    assert {p.load_bps for p in osu} == {None, math.inf}
    (fold,) = [f for f in leave_one_out(data) if osu[0] in f.test]
    assert set(osu) == set(fold.test)
    unsaid = twins[0]._replace(options=("ib-gcc9-impi-verbs", ""), switches=0, endpoints=None)
    assert point_key(data, unsaid) == point_key(data, osu[0])
    imb = next(p for p in twins if p.options[1] == "imb")
    assert point_key(data, imb) != point_key(data, osu[0])


def test_requests_above_what_can_be_had_leave_together_whatever_their_load(data: Dataset) -> None:
    """Two loads above the capacity of a payload: the same run in two rows."""
    size = PAYLOADS[8]
    reached = max(
        p.value for p in data.points if (p.metric, p.payload_bytes) == ("goodput_bps", size)
    )
    full = [p for p in data.points if p.payload_bytes == size and p.load_bps == math.inf]
    more = [p._replace(load_bps=times * reached) for times in (2, 4) for p in full]
    folds = list(leave_one_out(replace(data, points=(*data.points, *more))))
    (together,) = [fold for fold in folds if more[0] in fold.test]
    assert set(together.test) == set(more)
    assert not set(more) & set(together.train.points)
    assert "overload" in together.name
    assert len(folds) == len(leave_one_out(data)) + 1


def test_only_measured_and_tabulated_rows_are_learned_from() -> None:
    data = load("ethernet-10g-2012")
    assert {p.basis for p in data.points} > {"assumed", "derived", "stated"}
    assert {p.basis for p in training(data).points} == {"tabulated"}
    for fold in leave_one_out(data, most=5):
        assert {p.basis for p in (*fold.train.points, *fold.test)} == {"tabulated"}
    assert counts(scored(data))["goodput_bps"] == 35


def test_a_curve_leaves_whole(data: Dataset) -> None:
    folds = list(leave_a_curve_out(data))
    assert len(folds) == len(LOADS)
    for fold in folds:
        (line,) = {curve_key(data, point) for point in fold.test}
        assert line not in {curve_key(data, point) for point in fold.train.points}
        assert len(fold.test) == len(PAYLOADS) * len(METRICS)


def test_both_points_beside_a_break_leave_together(data: Dataset) -> None:
    folds = list(leave_a_break_out(data, "latency_mean_s"))
    assert len(folds) == len(LOADS)
    for fold in folds:
        assert [p.payload_bytes for p in fold.test] == [1024, 2048]  # TCP's 1448 lies between
        assert not {1024, 2048} & {
            p.payload_bytes
            for p in fold.train.points
            if curve_key(data, p) == curve_key(data, fold.test[0])
        }


def test_the_sizes_beside_a_break_leave_on_every_curve(data: Dataset) -> None:
    (fold,) = leave_break_sizes_out(data, "latency_mean_s")
    assert Counter(p.payload_bytes for p in fold.test) == {1024: len(LOADS), 2048: len(LOADS)}
    assert {p.metric for p in fold.test} == {"latency_mean_s"}
    assert not {1024, 2048} & {p.payload_bytes for p in fold.train.points}
    assert len(fold.train.points) == len(data.points) - 2 * len(LOADS) * len(METRICS)
    mpi = load("mpi-infiniband-roce")  # breaks found per curve: each pair of sizes is a fold
    folds = list(leave_break_sizes_out(mpi, "rtt_half_mean_s"))
    near = next_to_break(mpi, scored(mpi, "rtt_half_mean_s"))
    assert len(folds) == len({at[-2:] for at in near.values()})
    assert sum(len(fold.test) for fold in folds) == len(near)


def test_a_break_can_be_named(data: Dataset) -> None:
    sizes = [
        sorted({p.payload_bytes for p in fold.test if p.payload_bytes is not None})
        for fold in leave_a_break_out(data, "latency_mean_s", breaks_bytes=(100, 8192, 10**6))
    ]
    assert sizes == [[64, 128], [8192, 16384]] * len(LOADS)  # nothing above 1 MB: no fold


def test_fewer_folds_are_drawn_evenly_and_the_same_each_time(data: Dataset) -> None:
    names = [fold.name for fold in leave_one_out(data)]
    drawn = [fold.name for fold in leave_one_out(data, most=12)]
    assert len(set(drawn)) == len(drawn) == 12
    assert drawn == [fold.name for fold in leave_one_out(data, most=12)]
    assert [name for name in names if name in drawn] == drawn
    assert len(leave_one_out(data, most=1000)) == len(names)


def test_without_held_out_runs_there_is_no_fold_of_them(data: Dataset) -> None:
    assert held_out(data) == ()


@given(st.integers(3, 13), st.floats(1.5, 10.0), st.floats(-1.0, 1.0))
def test_a_step_in_a_power_law_is_found(at: int, jump: float, slope: float) -> None:
    sizes = [2**k for k in range(17)]
    values = [float(s) ** slope * (jump if s > 2**at else 1.0) for s in sizes]
    assert step(sizes, values) == (2**at, 2 ** (at + 1))


def test_a_short_curve_has_no_step() -> None:
    assert step([1, 2, 4], [1.0, 2.0, 8.0]) is None
    assert step([1, 2, 4, 8], [0.0, 2.0, 8.0, 9.0]) is None


def test_where_there_are_no_packets_the_curve_shows_its_own_break() -> None:
    data = load("mpi-infiniband-roce")
    near = next_to_break(data, scored(data, "rtt_half_mean_s"))
    curves = {curve_key(data, point) for point in scored(data, "rtt_half_mean_s")}
    assert len(near) == 2 * len(curves)
    jumping = {at[-2:] for key, at in near.items() if "ib-gcc9-impi-verbs" in key and "osu" in key}
    assert jumping == {(131072.0, 262144.0)}  # its README: threefold from 128 to 256 KiB


def test_the_dataset_itself_is_not_changed(data: Dataset) -> None:
    before = data.points
    list(leave_one_out(data, most=3))
    assert data.points is before
    assert isinstance(before[0], Point)
    assert np.isfinite([p.value for p in before]).all()


def test_only_folds_that_ask_for_some_metrics_are_made_and_drawn() -> None:
    data = load("rmi-1g-2009")
    asked = leave_one_out(data, "goodput_bps")
    assert len(asked) < len(leave_one_out(data))
    assert len(leave_one_out(data, "goodput_bps", "frames_per_s")) == len(leave_one_out(data))
    for folds in (asked, leave_one_out(data, "goodput_bps", most=5)):
        assert all({p.metric for p in fold.test} == {"goodput_bps"} for fold in folds)


def test_the_runs_of_another_dataset_are_asked_for_at_this_ones_axes() -> None:
    lab = load("lab-1g-2026")
    assert runs_of(lab, lab) == lab.held_out
    with pytest.raises(DatasetError, match="has no held-out runs"):
        runs_of(lab, load("dds-1g"))
    central = load("ethernet-10g-2012")
    told = runs_of(central, lab)
    assert {len(point.options) for point in told} == {len(central.option_axes)}
    assert [point.value for point in told] == [point.value for point in lab.held_out]
    first, *rest = lab.held_out_runs.items()
    polled = tuple(p._replace(options=("", "", "", "polling")) for p in first[1])
    other = replace(lab)
    vars(other)["held_out_runs"] = {first[0]: polled, **dict(rest)}
    assert runs_of(lab, other)[0].options == ("", "", "", "polling")
    with pytest.raises(DatasetError, match="waiting"):
        runs_of(central, other)


# --- runs below capacity ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "beyond"), [(9, None), (10, 0), (20, 0), (38, 0), (39, 1), (45, 1), (60, 2)]
)
def test_a_tenth_of_the_runs_below_capacity_lies_outside(
    data: Dataset, count: int, beyond: int | None
) -> None:
    """The ⌊(n + 1) / 20⌋-th run from either end; few runs say nothing."""
    shares = [0.98 + 0.001 * k for k in range(count)]
    first = next(point for point in data.points if point.metric == "goodput_bps")
    rows = tuple(
        first._replace(payload_bytes=1000 + k, load_bps=load, value=goodput)
        for k, share in enumerate(shares)
        for load, goodput in ((1e8, 1e8 * share), (math.inf, 2e8))
    )
    found = run_shares(replace(data, points=rows))
    if beyond is None:
        assert found == {}
    else:
        expected = (min(shares[beyond], 1), max(shares[-1 - beyond], 1))
        assert found["tcp"] == pytest.approx(expected)


def test_a_run_shows_a_little_less_or_more_than_the_request() -> None:
    data = load("lab-1g-2026")
    rows = [
        point
        for point in data.points
        if (point.protocol, point.metric, point.load_bps) == ("tcp", "goodput_bps", 20e6)
    ]
    model = Model(data, "hybrid")
    told = answers_of(model, data, rows)
    low, high = run_shares(data)["tcp"]
    for point, found in zip(rows, told, strict=True):
        sustained = model.predict(question(data, point)).goodput_bps
        assert (sustained.low, sustained.value, sustained.high) == pytest.approx((20e6,) * 3)
        assert (found.low, found.high) == pytest.approx((low * 20e6, high * 20e6))
    inside = sum(
        found.low <= point.value <= found.high for point, found in zip(rows, told, strict=True)
    )
    assert inside >= 0.8 * len(rows)


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("variant", ["corrected", "hybrid"])
def test_goodput_that_is_missing_counts_as_loss_if_no_loss_was_measured(
    variant: str, told: bool
) -> None:
    """UDP delivered 93 to 100 % of its request, and no row says whether the rest was lost or not sent."""
    data = load("lab-1g-2026")
    rows = [point for point in data.points if point.protocol in ("udp", "tcp")]
    short = [
        point._replace(value=point.value * (0.93 + 0.01 * (number % 8)))
        if point.metric == "goodput_bps" and point.load_bps not in (None, math.inf)
        else point
        for number, point in enumerate(rows)
        if told or point.metric != "loss_rate"
    ]
    model = Model(replace(data, points=tuple(short)), variant, cache=False)
    found = {
        name: model.predict(protocol=name, payload="1448 B", rate="1000/s").goodput_bps
        for name in ("tcp", "udp")
    }
    request = 8 * 1448 * 1000
    assert found["tcp"].low == pytest.approx(request)
    if told:
        assert found["udp"].value == pytest.approx(request, rel=1e-3)
    else:
        assert found["udp"].low < 0.94 * request < found["udp"].value < 0.99 * request
