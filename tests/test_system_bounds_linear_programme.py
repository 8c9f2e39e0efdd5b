"""The linear programme of a path: closed forms, the other analyses, and what it does not bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import linprog

from bounds_systems import bounds_by_method, system
from icmodel.system.bounds import (
    Arbitrary,
    Flow,
    Network,
    Scheduler,
    Server,
    network,
    port,
    rate_latency,
    token_bucket,
)
from icmodel.system.bounds.analyses import path_aggregates
from icmodel.system.bounds.linear_programme import (
    END,
    MOST_DATES,
    MOST_STAGES,
    TOLERANCE,
    Constraint,
    lp_dates,
    maximise_age_s,
)
from icmodel.system.bounds.propagation import propagate
from icmodel.system.schedulers import Fifo

METHOD = "linear programme"
RAISED = 2 * TOLERANCE


def tandem(hops: int, scheduler: Scheduler | None = None) -> Network:
    """A flow over some hops of 1 Mb/s after 1 ms; at each a flow enters that leaves at the end."""
    names = [f"s{index}" for index in range(hops)]
    servers = [Server(name, rate_latency(1e6, 1e-3), scheduler or Fifo()) for name in names]
    flows = [
        Flow(f"f{index}", tuple(names[index:]), token_bucket(1e4 * (index + 1), 1e5 / hops))
        for index in range(hops)
    ]
    return network(servers, flows)


@pytest.mark.parametrize("hops", [1, 2, 3, 4, 5])
def test_a_sink_tree_of_equal_servers_delays_by_its_latencies_and_its_bursts(hops: int) -> None:
    """The worst case of a sink tree in order is known, and every other analysis is above it.

    Sum of T + b/CR: while a burst b passes a server, flows of rate r that enter at the next add r b/R to
    it, and so on (Lenzini, Martorini, Mingozzi, Stea, Performance Evaluation 63, 2006). From four hops on not
    all dates have a start, which costs 1 % here.
    """
    every = bounds_by_method(tandem(hops))
    grows = 1.0 + 1e5 / hops / 1e6
    bursts = sum(1e4 * (index + 1) * grows ** (hops - 1 - index) for index in range(hops))
    worst = hops * 1e-3 + bursts / 1e6
    found = every.pop(METHOD)["f0"].value_s
    if hops <= 3:
        assert found == pytest.approx(worst, rel=RAISED)
    assert worst <= found <= 1.015 * worst
    if hops > 1:
        assert found < min(other["f0"].value_s for other in every.values())


def test_the_linear_programme_is_never_above_total_flow_and_rarely_above_another() -> None:
    count, tighter, looser = 0, 0, 0
    for seed in range(0, 240, 3):
        every = bounds_by_method(system(seed).network)
        for name, bound in every.pop(METHOD).items():
            least = min(found[name].value_s for found in every.values())
            if bound.value_s < math.inf:
                assert bound.value_s <= every["total flow"][name].value_s * (1 + RAISED)
                count += 1
                looser += bound.value_s > 1.02 * least
                tighter += bound.value_s < 0.98 * least
    assert tighter > 50
    assert looser <= 0.02 * count  # over four hops and more, where not all dates have a start


def by_scipy_s(
    constraints: Sequence[Constraint], date: int, unit_s: float, unit_bits: float
) -> float:
    """The greatest age of a date, from a dense matrix and scipy's own solver [s]."""
    names = sorted({name for one in constraints for name, _ in one.terms} - {END}, key=str)
    units = [unit_s if isinstance(name, int) else unit_bits for name in names]
    matrix = np.zeros((len(constraints), len(names)))
    for row, one in zip(matrix, constraints, strict=True):
        for name, factor in one.terms:
            if name != END:
                row[names.index(name)] += factor * units[names.index(name)]
    scale = np.abs(matrix).max(axis=1)
    most = np.array([one.most for one in constraints])
    aim = [-1.0 if name == date else 0.0 for name in names]
    found = linprog(aim, A_ub=matrix / scale[:, None], b_ub=most / scale, method="highs-ipm")
    return math.inf if found.fun is None else -float(found.fun) * unit_s


def test_programmes_are_solved_as_another_solver_solves_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solved = []

    def both(
        constraints: Sequence[Constraint], date: int, unit_s: float, unit_bits: float
    ) -> float:
        age_s = maximise_age_s(constraints, date, unit_s, unit_bits)
        assert age_s == pytest.approx(by_scipy_s(constraints, date, unit_s, unit_bits), rel=1e-6)
        solved.append(age_s)
        return age_s

    monkeypatch.setattr("icmodel.system.bounds.linear_programme.maximise_age_s", both)
    for seed in range(0, 60, 3):
        bounds_by_method(system(seed).network)
    assert len(solved) > 100


def test_a_date_that_nothing_limits_has_no_greatest_age() -> None:
    free = [Constraint([(1, -1.0), (2, 1.0)], 0.0)]
    assert maximise_age_s(free, 1, 1e-3, 1e3) == math.inf
    closed = [*free, Constraint([(1, 1.0)], 4e-3)]
    assert maximise_age_s(closed, 2, 1e-3, 1e3) == pytest.approx(4e-3)


def test_dates_grow_with_the_length_of_a_path_and_no_faster() -> None:
    path = max(path_aggregates(propagate(tandem(12))), key=lambda one: len(one.queues))
    inputs = [len(node.fifo) + len(node.starts) for node in lp_dates(path).upstream()]
    assert inputs == [2, 4, 8, *range(10, 28, 2)]
    assert inputs[2] == MOST_DATES


def test_arbitrary_multiplexing_has_no_linear_programme() -> None:
    found = bounds_by_method(tandem(3, Arbitrary()))
    assert found[METHOD]["f0"].value_s == math.inf
    assert found["separate flow"]["f0"].value_s < math.inf


def test_a_large_network_has_no_linear_programme() -> None:
    many = MOST_STAGES + 1
    flows = [Flow(f"f{index}", (f"s{index}",), token_bucket(1e3, 1.0)) for index in range(many)]
    made = network([port(f"s{index}", 1e6) for index in range(many)], flows)
    found = bounds_by_method(made)
    assert {bound.value_s for bound in found[METHOD].values()} == {math.inf}
    assert found["total flow"]["f0"].value_s == pytest.approx(1e-3)
