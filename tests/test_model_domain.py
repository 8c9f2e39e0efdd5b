"""The domain: which counts answer, and which parameters a protocol has neither rows nor rules for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fits_case import dataset, row
from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.model.domain import Domains, ProtocolDomain, problems, protocol_domain
from icmodel.scenario import Scenario

ALL = ProtocolDomain("udp", True, (1, 4), (2,), 0, np.inf, distance=True, sharing=True)
NOTHING = ProtocolDomain("tcp", True, (), (), 1, 2, distance=False, sharing=False)


@pytest.mark.parametrize(
    ("counts", "asked", "answering"),
    [
        ((1, 4), 1, 1),
        ((1, 4), 2, 1),
        ((1, 4), 3, 4),
        ((1, 4), 4, 4),
        ((1, 4), 40, 4),
        ((2, 4), 3, 2),
        ((4, 2), 3, 2),
        ((3, 8), 1, 3),
        ((), 3, 0),
    ],
)
def test_the_nearest_count_answers_and_of_two_the_lesser(
    counts: tuple[int, ...], asked: int, answering: int
) -> None:
    rules = ALL._replace(cores=counts, other_cores=())
    assert rules.answering_cores(asked) == answering


def test_a_count_of_other_metrics_answers_for_itself() -> None:
    assert ALL.answering_cores(2) == 2
    assert ALL.answering_cores(3) == 4


def test_the_default_is_the_most_measured_count() -> None:
    assert ALL._replace(cores=(1, 4, 2)).default_cores == 4
    assert NOTHING.default_cores == 0


def point(metric: str, cores: int | None = 1, switches: int | None = 0) -> Point:
    one = row("udp", 512, np.inf, metric, np.ones(3))
    return one._replace(cores=cores, switches=switches)


def domain(data: Dataset) -> ProtocolDomain:
    """What UDP can be asked."""
    return protocol_domain("udp", data.select("udp", {}), data.interconnect)


def test_rules_come_from_the_rows_of_the_goodput_and_the_link() -> None:
    points = [point("goodput_bps", 1, 1), point("goodput_bps", 4, 3), point("cpu_send", 2, 0)]
    found = domain(dataset(points))
    assert found == ProtocolDomain("udp", True, (1, 4), (2,), 1, 3, distance=False, sharing=True)
    without = domain(dataset(points[2:]))
    assert without == ProtocolDomain("udp", True, (2,), (), 0, 0, distance=False, sharing=False)


def test_rows_of_any_metric_say_how_many_switches_there_may_be() -> None:
    points = [point("goodput_bps", switches=0), point("latency_mean_s", switches=3)]
    assert domain(dataset(points)).most_switches == 3


def test_a_switch_latency_answers_for_any_number_of_switches() -> None:
    link = Interconnect("ethernet", 1e10, 1500, switch_latency_s=2e-6)
    data = replace(dataset([point("goodput_bps", None, None)]), interconnect=link)
    assert domain(data) == ProtocolDomain(
        "udp", True, (), (), 0, np.inf, distance=False, sharing=True
    )


@pytest.mark.parametrize("known", [(5e-9, None), (None, 3.0), (5e-9, 3.0)])
def test_a_distance_needs_both_the_propagation_and_the_cable_measured_with(
    known: tuple[float | None, float | None],
) -> None:
    link = Interconnect(
        "ethernet", 1e10, 1500, propagation_s_per_m=known[0], cable_length_m=known[1]
    )
    data = replace(dataset([point("goodput_bps")]), interconnect=link)
    assert domain(data).distance == (None not in known)


ASKED = {
    "switches": Scenario("tcp", 100, switches=3),
    "cores": Scenario("tcp", 100, cores=1, switches=1),
    "distance_m": Scenario("tcp", 100, distance_m=0.0, switches=1),
    "endpoints": Scenario("tcp", 100, endpoints=2, switches=1),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_parameter_without_rows_or_rule_is_a_problem_and_no_other_is(name: str) -> None:
    data = dataset([point("goodput_bps")])
    assert list(problems(data, NOTHING, ASKED[name])) == [name]
    assert not problems(data, ALL._replace(protocol="tcp"), ASKED[name])


@pytest.mark.parametrize(("switches", "wrong"), [(0, True), (1, False), (2, False), (3, True)])
def test_switches_outside_those_measured_are_a_problem(switches: int, wrong: bool) -> None:
    found = problems(
        dataset([point("goodput_bps")]), NOTHING, Scenario("tcp", 9, switches=switches)
    )
    assert list(found) == (["switches"] if wrong else [])


QUESTIONS = st.tuples(
    st.sampled_from((0, 1)),
    st.one_of(st.none(), st.integers(1, 12)),
    st.integers(0, 4),
    st.integers(1, 3),
    st.one_of(st.none(), st.just(1.0)),
)


@given(QUESTIONS)
@example((1, None, 2, 1, None))
@example((1, None, 1, 1, None))
def test_the_rules_of_many_questions_are_those_of_one(
    question: tuple[int, int | None, int, int, float | None],
) -> None:
    which, cores, switches, endpoints, distance = question
    own = (ALL, NOTHING)[which]
    scenario = Scenario(
        own.protocol, 100, cores=cores, switches=switches, endpoints=endpoints, distance_m=distance
    )
    columns = [np.array([np.nan if x is None else float(x)]) for x in question]
    rules = Domains((ALL, NOTHING), (1, 2, 4))
    protocol = np.array([which])
    names = ("cores", "switches", "endpoints", "distance_m")
    wrong = rules.refused(protocol, dict(zip(names, columns[1:], strict=True)))
    assert bool(wrong[0]) == bool(problems(dataset([point("goodput_bps")]), own, scenario))
    asked, index, other = rules.cores(protocol, columns[1])
    count = own.default_cores if cores is None else cores
    assert asked[0] == count
    if own.cores:
        assert (1, 2, 4)[index[0]] == own.answering_cores(count)
        assert bool(other[0]) == (count not in own.cores)


def test_half_a_core_is_no_measured_count() -> None:
    rules = Domains((ALL,), (1, 2, 4))
    asked, _, other = rules.cores(np.array([0, 0]), np.array([1.0, 1.5]))
    assert asked.tolist() == [1.0, 1.5]
    assert other.tolist() == [False, True]
