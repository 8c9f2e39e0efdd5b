"""Members of groups, and how the members of two pair."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.errors import NetworkError
from icmodel.system.expansion import groups, link_pairs, members, stream_pairs

CAMERAS, SWITCHES = members("camera", 5), members("switch", 2)


def test_a_group_of_one_keeps_its_name() -> None:
    assert members("switch", 1) == ("switch",)
    assert members("camera", 3) == ("camera-1", "camera-2", "camera-3")


def test_a_name_stands_for_a_group_or_a_member() -> None:
    found = groups([("camera", 2), ("switch", 1)])
    assert found.of("camera", "here") == ("camera-1", "camera-2")
    assert found.of("camera-2", "here") == ("camera-2",)
    assert found.of_all(["camera-2", "camera", "switch"], "here") == (
        "camera-2",
        "camera-1",
        "switch",
    )


def test_a_name_that_is_nowhere_gets_the_nearest_one() -> None:
    with pytest.raises(NetworkError, match=r"links no\. 1 names 'camrea', .* is camera meant"):
        groups([("camera", 2)]).of("camrea", "links no. 1")
    with pytest.raises(NetworkError, match="take one of camera, camera-1, camera-2"):
        groups([("camera", 2)]).of("x", "links no. 1")


@pytest.mark.parametrize("counts", [[("a", 1), ("a", 2)], [("a", 3), ("a-2", 1)]])
def test_no_two_nodes_have_one_name(counts: list[tuple[str, int]]) -> None:
    with pytest.raises(NetworkError, match="two nodes are named"):
        groups(counts)


def test_each_spread_and_one_to_one() -> None:
    assert len(link_pairs(CAMERAS, SWITCHES, "each")) == 10
    assert link_pairs(CAMERAS, SWITCHES, "spread") == [
        ("camera-1", "switch-1"),
        ("camera-2", "switch-2"),
        ("camera-3", "switch-1"),
        ("camera-4", "switch-2"),
        ("camera-5", "switch-1"),
    ]
    assert stream_pairs(SWITCHES, CAMERAS, "spread")[-1] == ("switch-1", "camera-5")
    assert stream_pairs(SWITCHES, ("x", "y"), "one-to-one") == [
        ("switch-1", "x"),
        ("switch-2", "y"),
    ]


def test_within_a_group_a_link_joins_a_pair_once_and_streams_go_both_ways() -> None:
    three = members("switch", 3)
    assert len(link_pairs(three, three, "each")) == 3
    assert len(stream_pairs(three, three, "each")) == 6


@pytest.mark.parametrize(
    ("first", "second", "pairing", "said"),
    [
        (CAMERAS, SWITCHES, None, "5 and 2 nodes can pair in several ways"),
        (CAMERAS, SWITCHES, "one-to-one", "5 and 2 nodes do not pair one to one"),
        (SWITCHES, SWITCHES, "one-to-one", "switch-1 is paired with itself"),
        (("a",), ("a",), None, "a is paired with itself"),
    ],
)
def test_what_does_not_pair_says_why(
    first: tuple[str, ...], second: tuple[str, ...], pairing: str | None, said: str
) -> None:
    with pytest.raises(NetworkError, match=said):
        stream_pairs(first, second, pairing)


@given(st.integers(1, 12), st.integers(1, 12))
def test_spread_is_even_and_leaves_nobody_out(n: int, m: int) -> None:
    first, second = members("a", n), members("b", m)
    pairs = stream_pairs(first, second, "spread")
    assert len(pairs) == max(n, m)
    for side, names in ((0, first), (1, second)):
        counts = [sum(pair[side] == name for pair in pairs) for name in names]
        assert max(counts) - min(counts) <= 1
        assert min(counts) >= 1
