"""Look-ups of many questions and metrics: which configuration answers, and with what number."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import generated
from icmodel.arrays import Floats
from icmodel.dataset import Dataset
from icmodel.estimate import BASES
from icmodel.tables import (
    HIGH,
    LOW,
    VALUE,
    Axes,
    Compiler,
    Configuration,
    Curve,
    Frames,
    Questions,
    TableQuery,
    Tables,
    opposite,
)
from icmodel.tables.curves import payload_knots
from icmodel.tables.tables import (
    DENSE,
    FEW,
    answering_configuration,
    nearest_configuration,
    without_goodput,
)
from points import Row
from search import times

LOADS = np.array([1e8, 3e8])
SIZES = [10.0, 20.0, 40.0]
KEYS = [Configuration("tcp", 2, 0), Configuration("tcp", 4, 0), Configuration("tcp", 4, 1)]


def row(metric: str, **more: Any) -> Row:
    return Row(
        "tcp", metric, 1, "measured", "a test", payload_bytes=10, load_bps=Decimal("inf"), **more
    )


DATA: Dataset = generated.from_rows([row("goodput_bps")], {"kind": "other"})


def curve(load: float, scale: float, place: int = 0) -> Curve:
    """Values of 1, 2 and 5 times a scale at three payloads, with a bulge between them."""
    value = scale * np.array([1.0, 2.0, 5.0])
    return Curve(
        load,
        np.array(SIZES),
        np.stack([value, 0.9 * value, 1.2 * value]),
        np.full(3, BASES.index("tabulated"), dtype=np.int8),
        np.arange(place, place + 3),
        between=np.array([0.3, 0.5]) * scale,
        limits=(0.0, np.inf),
    )


def tables(*, extend: bool = False) -> Tables:
    """Two metrics: one at each load and unlimited at 4 cores, one unlimited at 2 and 4 with a switch."""
    axes = Axes(("tcp", "udp"), (2, 4), 2, payload_knots([SIZES]), LOADS)
    compiler = Compiler(DATA, axes, extend)
    one = {KEYS[1]: [curve(load, k + 1.0) for k, load in enumerate((*LOADS, np.inf))]}
    other = {KEYS[0]: [curve(np.inf, 10.0)], KEYS[2]: [curve(np.inf, 20.0)]}
    made = {
        "latency_mean_s": compiler.table("latency_mean_s", one, any_cores=True),
        "rtt_mean_s": compiler.table("rtt_mean_s", other),
    }
    return Tables(compiler, made, DATA.interconnect)


def questions(payload: Floats, request: Floats, cores: int = 1, switches: int = 0) -> Questions:
    """Questions about TCP, their cores given by index."""
    n = len(payload)
    zero, none = np.zeros(n), np.zeros(n, dtype=np.int64)
    return Questions(
        protocol=none,
        payload_bytes=payload,
        requested_goodput_bps=request,
        core_index=none + cores,
        cores=zero + (2, 4)[cores],
        switches=none + switches,
        endpoints=zero + 1,
        other_goodput_bps=zero,
        distance_m=zero,
        frames=Frames(np.stack([zero, zero + np.inf, zero + 1, zero + 1, zero])),
        lossy=zero > 0,
    )


def ask(payload: float, request: float, **more: Any) -> TableQuery:
    made = tables(extend=more.pop("extend", False))
    return TableQuery(
        made, questions(np.array([payload]), np.array([request]), **more), intervals=True
    )


@settings(max_examples=times(60))
@given(
    payload=st.floats(10, 40),
    request=st.one_of(st.floats(1e8, 3e8), st.sampled_from([1e8, 3e8])),
    metrics=st.permutations(["latency_mean_s", "rtt_mean_s"]),
)
def test_between_curves_every_end_is_on_the_line_between_theirs(
    payload: float, request: float, metrics: list[str]
) -> None:
    query = ask(payload, request, switches=1)
    told = dict(zip(metrics, query.all(metrics, query.requested)[:, :, 0], strict=True))
    lower, upper = (curve(0.0, scale).at(np.array([payload]))[:, 0] for scale in (1.0, 2.0))
    share = (request - 1e8) / 2e8
    assert told["latency_mean_s"] == pytest.approx(lower + share * (upper - lower), rel=1e-9)
    unlimited = curve(0.0, 20.0).at(np.array([payload]))[:, 0]
    assert told["rtt_mean_s"] == pytest.approx(unlimited, rel=1e-9)


@pytest.mark.parametrize("size", [1, FEW, 3 * FEW])
def test_values_alone_are_those_of_the_intervals_however_many_are_asked(size: int) -> None:
    random = np.random.default_rng(size)
    payload, request = random.integers(10, 41, size).astype(float), random.uniform(1e7, 6e8, size)
    request[::3] = np.inf
    q = questions(payload, request)
    wide, values = (TableQuery(tables(), q, intervals=both) for both in (True, False))
    unlimited = np.stack([request > limit for limit in (3e8, 2e8, 4e8)])
    metrics = ["latency_mean_s", "rtt_mean_s"]
    told = wide.all(metrics, wide.load(unlimited))
    alone = values.all(metrics, values.load(unlimited[:1]))
    assert np.array_equal(told[:, VALUE], alone[:, VALUE], equal_nan=True)
    same = wide.values(metrics, wide.load(unlimited))
    assert np.array_equal(told[:, VALUE], same, equal_nan=True)
    high = wide.all(metrics, wide.unlimited)[:, HIGH]
    assert np.array_equal(wide.unlimited_highs(metrics), high, equal_nan=True)
    some = np.arange(0, size, 2)
    part = wide.take(some)
    again = part.all(metrics, wide.load(unlimited).take(some))
    assert np.array_equal(told[:, :, some], again, equal_nan=True)


def test_an_end_is_looked_up_at_the_load_that_goes_with_it() -> None:
    query = ask(10, 2e8)
    found = query("latency_mean_s", query.load(np.array([[False], [True], [False]])))[:, 0]
    between, unlimited = np.array([1.5, 1.35, 1.8]), np.array([3.0, 2.7, 3.6])
    assert found == pytest.approx([between[VALUE], unlimited[LOW], between[HIGH]])


def test_a_payload_beyond_the_dense_ones_is_searched() -> None:
    made = tables(extend=True)
    payload = np.full(2 * FEW, 15.0)
    payload[-1] = 2.0 * DENSE
    assert made.cells(payload)[[0, -1]].tolist() == made.cells(payload[[0, -1]]).tolist()


def test_what_nothing_answers_is_nan_and_of_the_strongest_basis() -> None:
    query = ask(9, 2e8)
    assert np.isnan(query.all(["latency_mean_s", "rtt_mean_s"], query.requested)).all()
    assert query.basis(["latency_mean_s"], query.requested).tolist() == [[0]]
    assert query.rows(["latency_mean_s"], query.requested) == [[]]


@pytest.mark.parametrize(
    ("payload", "request_bps", "basis"),
    [
        (10, 1e8, "tabulated"), (20, 3e8, "tabulated"), (40, np.inf, "tabulated"),
        (10, 2e8, "interpolated"), (15, 3e8, "interpolated"), (20, 0.5e8, "extrapolated"),
    ],
)  # fmt: skip
def test_on_a_measured_payload_and_load_the_basis_is_that_of_the_row(
    payload: float, request_bps: float, basis: str
) -> None:
    query = ask(payload, request_bps)
    ((found,),) = query.basis(["latency_mean_s"], query.requested)
    assert BASES[found] == basis


def test_each_question_has_the_counts_of_its_own_configuration() -> None:
    asked = questions(np.full(2, 15.0), np.full(2, 2e8))
    two = replace(asked, core_index=np.array([0, 1]), cores=np.array([2.0, 4.0]))
    query = TableQuery(tables(), two, intervals=True)
    assert query.cores(["latency_mean_s", "rtt_mean_s"]).tolist() == [[4, 4], [2, 0]]
    assert query.known("latency_mean_s").tolist() == [True, True]
    assert query.known("rtt_mean_s").tolist() == [True, False]


def test_one_core_is_a_count_as_others_are() -> None:
    axes = Axes(("tcp",), (1, 2), 1, payload_knots([SIZES]), LOADS)
    asked = questions(np.full(2, 15.0), np.full(2, 2e8))
    asked = replace(asked, core_index=np.array([0, 1]), cores=np.array([1.0, 2.0]))
    for own in (1, 2):
        compiler = Compiler(DATA, axes, extend=False)
        curves = {Configuration("tcp", own, 0): [curve(np.inf, 1.0)]}
        made = {"rtt_mean_s": compiler.table("rtt_mean_s", curves, any_cores=True)}
        query = TableQuery(Tables(compiler, made, DATA.interconnect), asked, intervals=True)
        assert query.core_ratio(["rtt_mean_s"]).tolist() == [[own, own / 2]]


def test_as_fast_as_it_goes_every_end_is_that_of_the_unlimited_curve() -> None:
    query = ask(15, 2e8)
    found = query.all(["latency_mean_s"], query.unlimited)[0, :, 0]
    assert found == pytest.approx(curve(np.inf, 3.0).at(np.array([15.0]))[:, 0])


def test_the_highest_load_that_answers() -> None:
    query = ask(15, 2e8, switches=1)
    assert query.top_load(["latency_mean_s", "rtt_mean_s"])[:, 0].tolist() == [3e8, 0]
    assert ask(9, 2e8).top_load(["latency_mean_s"])[0, 0] == np.inf


def test_counts_of_the_rows_that_answer() -> None:
    query = ask(15, 2e8, cores=0)
    assert query.cores(["latency_mean_s", "rtt_mean_s"])[:, 0].tolist() == [4, 2]
    assert query.core_ratio(["latency_mean_s", "rtt_mean_s"])[:, 0].tolist() == [2, 1]
    assert ask(15, 2e8, switches=1).switches(["rtt_mean_s"])[0, 0] == 1
    assert not ask(15, 2e8).known("rtt_mean_s")[0]
    assert query.payloads("latency_mean_s")[:, 0].tolist() == [10, 40]
    first, last = ask(15, 2e8).payloads("rtt_mean_s")[:, 0]
    assert first > last


def test_opposite_ends() -> None:
    ends = np.array([[1.0], [0.5], [2.0]])
    assert opposite(ends)[:, 0].tolist() == [1.0, 2.0, 0.5]
    assert opposite(ends[:1]).tolist() == [[1.0]]


# --- which configuration answers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "key"), [(1, KEYS[0]), (2, KEYS[0]), (3, KEYS[0]), (4, KEYS[2]), (9, KEYS[2])]
)
def test_the_nearest_count_answers_of_two_the_lesser_behind_the_most_switches(
    asked: int, key: Configuration
) -> None:
    assert nearest_configuration(KEYS, asked) == key
    assert nearest_configuration(KEYS[::-1], asked) == key


def test_a_configuration_that_says_no_cores_is_near_to_all() -> None:
    anyone = Configuration("tcp", None, 0)
    assert nearest_configuration([*KEYS, anyone], 3) == anyone
    assert nearest_configuration([], 3) is None


@pytest.mark.parametrize(
    ("asked", "any_cores", "key"),
    [
        (2, False, KEYS[0]),
        (4, False, KEYS[2]),
        (3, False, None),
        (3, True, KEYS[2]),
        (1, True, KEYS[2]),
    ],
)
def test_own_cores_answer_and_where_the_rule_scales_the_most_measured(
    asked: int, any_cores: bool, key: Configuration | None
) -> None:
    anyone = Configuration("tcp", None, 0)
    assert answering_configuration(KEYS, asked, any_cores=any_cores) == key
    assert answering_configuration([anyone], asked, any_cores=any_cores) == anyone
    assert answering_configuration([], asked, any_cores=any_cores) is None


def test_counts_with_rows_but_no_goodput_where_others_have_one() -> None:
    rows = [row("goodput_bps", cores=1), replace(row("cpu_send", cores=2), value=Decimal("0.5"))]
    assert without_goodput(generated.from_rows(rows, {"kind": "other"}).points) == {("tcp", 2)}
    assert without_goodput(generated.from_rows(rows[1:], {"kind": "other"}).points) == frozenset()
