"""Fronts of points, against comparing each with each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from icmodel.recommend.scores import pareto_front, spread

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
