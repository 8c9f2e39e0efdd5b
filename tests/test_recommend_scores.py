"""Scores of all designs against a slow twin that expands and predicts every design."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.errors import NetworkError
from icmodel.recommend import recommend
from icmodel.recommend.alone import LoneStream
from icmodel.recommend.designs import SearchSpace, search_space
from icmodel.recommend.scores import OBJECTIVES, pareto_front, rounded, spread
from icmodel.requirement import MET, OUTCOMES
from icmodel.system import OpenSystem, System, SystemPrediction, load, load_open, predict
from icmodel.system.traffic import port_loads
from recommend_case import MODELS, SMALL, opened

CORES, LATENCY, FULLEST, INTERFACES, COST = range(len(OBJECTIVES))
COSTS = """
[costs]
currency = "EUR"
interface = 100
interface_per_gbps = 2
core = 10
link = 5
link_per_m = 1
switch = 1000
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SearchSpace:
    return search_space(opened(tmp_path_factory.mktemp("small"), SMALL + COSTS), MODELS)


@pytest.fixture(scope="module")
def predicted(small: SearchSpace) -> list[SystemPrediction]:
    return [predict(small.design(index).system(), MODELS) for index in range(len(small.scores))]


def test_every_combination_is_scored_once(small: SearchSpace) -> None:
    """Payloads 3 of TCP, 2 of UDP without 65535 B; 3 − 1 rates; 2 priorities; 2 counts of interfaces."""
    assert len(small.scores) == (3 + 2) * 2 * 2 * 2 == small.counts.all == small.counts.scored
    assert small.counts.exhaustive
    chosen = {tuple(small.design(index).chosen.items()) for index in range(len(small.scores))}
    assert len(chosen) == len(small.scores)
    changes = [len(small.design(index).changed) for index in range(len(small.scores))]
    assert changes == small.scores.changes.tolist() == sorted(changes)
    assert small.design(0).changed == {}


def test_a_score_is_never_worse_than_the_prediction(
    small: SearchSpace, predicted: list[SystemPrediction]
) -> None:
    for index, found in enumerate(predicted):
        assert OUTCOMES.index(found.verdict) >= small.scores.outcomes[index], small.design(
            index
        ).changed
        means = [one.metrics["latency_mean_s"] for one in found.streams.values()]
        most = max(math.inf if one.absent else one.value for one in means)
        assert most >= small.scores.objectives[index, LATENCY] * (1 - 1e-9)


def test_busy_cores_equal_the_prediction_without_overload(
    small: SearchSpace, predicted: list[SystemPrediction]
) -> None:
    compared = 0
    for index, found in enumerate(predicted):
        arriving = all(one.arrival.outcome == MET for one in found.streams.values())
        if not arriving or small.scores.objectives[index, FULLEST] > 1:
            continue
        cores = math.fsum(one.cpu_cores.value for one in found.devices.values())
        assert small.scores.objectives[index, CORES] == pytest.approx(cores, rel=1e-3)
        compared += 1
    assert compared >= 4


def test_the_front_is_that_of_predicting_every_design(
    small: SearchSpace, predicted: list[SystemPrediction]
) -> None:
    """Slow twin: predict all designs in full, and compare all pairs."""
    met = []
    for index, told in enumerate(predicted):
        if told.verdict != MET:
            continue
        points = small.scores.objectives[index].copy()
        points[CORES] = sum(one.cpu_cores.value for one in told.devices.values())
        points[LATENCY] = max(one.metrics["latency_mean_s"].value for one in told.streams.values())
        met.append(points)
    assert met
    found = recommend(small.file)
    for one in found.front:
        near = np.isclose(np.array(met), one.objectives, rtol=1e-9).all(axis=1)
        assert near.any()
    best = np.array([one.objectives for one in found.front])
    for point in met:  # whatever meets all is beaten, or as good as equalled, by one of the front
        assert (rounded(best) <= rounded(point) + 1).all(axis=1).any()


def fullest_port(system: System) -> float:
    return max(one.mean_bps / one.port.rate_bps for one in port_loads(system))


def test_the_fullest_is_no_less_than_the_fullest_port(small: SearchSpace) -> None:
    """A port's load is counted as `icmodel system check` does; hosts may be fuller."""
    ports = 0
    for index in range(len(small.scores)):
        port = fullest_port(small.design(index).system())
        score = small.scores.objectives[index, FULLEST]
        assert score >= port * (1 - 1e-6)
        ports += math.isclose(score, port, rel_tol=1e-6)
    assert ports


def test_interfaces_and_costs_are_counted(small: SearchSpace) -> None:
    """23 interfaces and links of 10 Gb/s and 25 m, one switch, 14 devices of 8 cores and one of 12."""
    own = small.scores.objectives[0]
    assert own[INTERFACES] == 23
    assert own[COST] == 23 * (100 + 2 * 10) + 23 * (5 + 25) + (14 * 8 + 12) * 10 + 1000
    less = next(
        index
        for index in range(len(small.scores))
        if "qfhd-display.interfaces" in small.design(index).changed
    )
    assert small.scores.objectives[less, INTERFACES] == 22
    assert small.scores.objectives[less, COST] == own[COST] - 120 - 30


# --- where all would be too many ----------------------------------------------------------------


def designs(some: SearchSpace) -> set[tuple[tuple[str, str], ...]]:
    return {tuple(some.design(index).chosen.items()) for index in range(len(some.scores))}


@pytest.mark.parametrize("most", [1, 12, 20, 39])
def test_designs_left_out_are_counted(small: SearchSpace, most: int) -> None:
    some = search_space(small.file, MODELS, most)
    counts = some.counts
    assert counts.all == small.counts.all
    assert counts.all == counts.scored + counts.contradictory + counts.dominated + counts.far
    assert designs(some) <= designs(small)
    assert len(designs(some)) == counts.scored <= max(most, 1 + 2 * 13)
    assert some.design(0).changed == {}
    assert counts.exhaustive == (counts.far == 0)


def test_leaving_out_dominated_variants_keeps_the_front(small: SearchSpace) -> None:
    some = search_space(small.file, MODELS, 39)
    assert some.counts.dominated
    assert not some.counts.far
    for tier in range(len(OUTCOMES)):
        told = []
        for one in (small, some):
            points = one.scores.objectives[one.scores.outcomes <= tier]
            told.append(np.unique(points[pareto_front(points)], axis=0).tolist())
        assert told[0] == told[1]


def test_a_network_that_contradicts_itself_is_counted_and_left(tmp_path: Path) -> None:
    """A dataset of RapidIO cannot predict Ethernet."""
    file: OpenSystem = opened(tmp_path, '\n[choices.links."*"]\ndataset = ["rapidio-tsi721"]\n')
    told = search_space(file, MODELS)
    assert (told.counts.all, told.counts.scored, told.counts.contradictory) == (2, 1, 1)


def test_a_system_without_streams_or_requirements_is_refused() -> None:
    file = load_open("lab-direct")
    bare = replace(file, document=file.document.model_copy(update={"streams": ()}))
    with pytest.raises(NetworkError, match="has no streams: add streams"):
        search_space(bare, MODELS)
    with pytest.raises(NetworkError, match="has no requirements, and its streams have"):
        search_space(file, MODELS)


MULTICAST = """
schema_version = 1
name = "heard"
title = "One host is heard by three"
source = "made for this test"

[[devices]]
name = "speaker"
cores = 4

[[devices]]
name = "listener"
count = 3
cores = 4

[[switches]]
name = "S"
forwarding = "store-and-forward"
latency = "5.9 us"

[[links]]
between = ["speaker", "S"]
rate = "10 Gb/s"
dataset = "ethernet-10g-2012"

[[links]]
between = ["listener", "S"]
rate = "10 Gb/s"
dataset = "ethernet-10g-2012"

[[streams]]
name = "news"
source = "speaker"
sink = "listener"
multicast = true
produces = { kind = "goodput", goodput = "1 Gb/s" }
protocol = "udp"
payload = "1472 B"
cores = 1

[choices.streams.news]
payload = ["1472 B", "8192 B"]
"""


def test_copies_of_a_multicast_cost_their_sender_once_in_scores_too(tmp_path: Path) -> None:
    some = search_space(opened(tmp_path, MULTICAST, ""), MODELS)
    for index in range(len(some.scores)):
        found = predict(some.design(index).system(), MODELS)
        cores = math.fsum(one.cpu_cores.value for one in found.devices.values())
        assert some.scores.objectives[index, CORES] == pytest.approx(cores, rel=1e-3)


def test_streams_with_equal_identities_differ_in_names_alone() -> None:
    """Equal streams are predicted once; every property that changes a prediction must distinguish streams."""
    system = load("lab-two-senders")
    stream = next(iter(system.streams.values()))
    others = [
        replace(stream, payload_bytes=stream.payload_bytes + 1),
        replace(stream, paced_fps=1e3),
        replace(stream, priority=5),
        replace(stream, cores=2),
    ]
    alone = [LoneStream("one", system, one).identity for one in (stream, *others)]
    assert len(set(alone)) == len(alone)
    renamed = replace(stream, name="another")
    assert LoneStream("two", system, renamed).identity == alone[0]


# --- fronts of points, against comparing each with each -------------------------------------------


NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.just(np.inf), st.just(-np.inf))
POINTS = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(NUMBERS, min_size=width, max_size=width), min_size=1, max_size=30
    )
)


def dominates(one: list[float], other: list[float]) -> bool:
    pairs = list(zip(one, other, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


@given(POINTS)
def test_a_front_has_all_points_that_none_dominates(points: list[list[float]]) -> None:
    found = pareto_front(np.array(points)).tolist()
    best = [one for one in points if not any(dominates(other, one) for other in points)]
    assert sorted(points[index] for index in found) == sorted(
        map(list, {tuple(one) for one in best})
    )
    for index in found:
        assert points.index(points[index]) == index, "of equal points the first"


@given(POINTS, st.randoms())
def test_a_front_does_not_depend_on_the_order_of_points(
    points: list[list[float]], chance: np.random.Generator
) -> None:
    shuffled = points[:]
    chance.shuffle(shuffled)
    told = [np.array(some)[pareto_front(np.array(some))].tolist() for some in (points, shuffled)]
    assert told[0] == told[1]


@given(POINTS, st.integers(4, 8))
def test_a_spread_has_the_best_of_each_column(points: list[list[float]], most: int) -> None:
    found = spread(np.array(points), most).tolist()
    assert len(set(found)) == len(found) == min(len(found), max(most, 0))
    for column in range(len(points[0])):
        assert min(points[k][column] for k in found) == min(one[column] for one in points)


def test_no_points_have_no_front() -> None:
    assert pareto_front(np.empty((0, 3))).tolist() == []
