"""Routes against a search that tries every way, and the sharing of parallel cables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.errors import NetworkError
from icmodel.system import Link, Port, Producer, Stream, Switch
from icmodel.system.routes import Cables, Topology, route_via, topology

HOSTS = ("h0", "h1", "h2")


def drawn(
    switches: int, joined: list[tuple[int, int, int]], at: list[int]
) -> tuple[Topology, dict[tuple[str, str], float]]:
    """A map of switches joined by links of whole microseconds, with a host at three of them."""
    names = {f"s{i}": Switch(f"s{i}", "s") for i in range(switches)}
    links = [
        Link(f"{i}", (f"s{a % switches}", f"s{b % switches}"), 1e9, delay_s=delay * 1e-6)
        for i, (a, b, delay) in enumerate(joined)
        if a % switches != b % switches
    ]
    links += [
        Link(host, (host, f"s{s % switches}"), 1e9) for host, s in zip(HOSTS, at, strict=True)
    ]
    delays: dict[tuple[str, str], float] = {}
    for link in links:
        for pair in (link.ends, link.ends[::-1]):
            delays[pair] = min(link.delay_s, delays.get(pair, link.delay_s))
    return topology([*names, *HOSTS], names, links), delays


def every_way(known: Topology, way: tuple[str, ...], sink: str) -> Iterator[tuple[str, ...]]:
    if way[-1] == sink:
        yield way
        return
    for name in known.neighbours[way[-1]]:
        if name not in way and (name == sink or name in known.switches):
            yield from every_way(known, (*way, name), sink)


@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), max_size=9),
    st.lists(st.integers(0, 5), min_size=3, max_size=3),
)
def test_a_route_has_fewest_hops_and_then_least_delay(
    switches: int, joined: list[tuple[int, int, int]], at: list[int]
) -> None:
    known, delays = drawn(switches, joined, at)

    def length(way: tuple[str, ...]) -> tuple[int, float]:
        return len(way), round(sum(delays[pair] for pair in pairwise(way)), 9)

    for sink in ("h1", "h2", "s0"):
        ways = list(every_way(known, ("h0",), sink))
        found = known.route("h0", sink)
        if not ways:
            assert found is None
        else:
            assert found is not None
            assert length(found) == min(length(way) for way in ways)


def test_of_equal_routes_the_first_of_the_file_is_taken() -> None:
    links = [
        Link(f"{a}{b}", (a, b), 1e9)
        for a, b in (
            ("h0", "s0"),
            ("s0", "s2"),
            ("s0", "s1"),
            ("s1", "s3"),
            ("s2", "s3"),
            ("s3", "h1"),
        )
    ]
    names = {f"s{i}": Switch(f"s{i}", "s") for i in range(4)}
    known = topology([*names, "h0", "h1"], names, links)
    assert known.route("h0", "h1") == ("h0", "s0", "s2", "s3", "h1")


def stream(name: str, goodput_bps: float = 1e8, multicast: str | None = None) -> Stream:
    made = Producer("goodput", 8000 / goodput_bps, 1000)
    return Stream(name, "g", "h0", "h1", made, "udp", 1000, (), multicast=multicast)


LINE = [("h0", "s0"), ("s0", "s1"), ("s1", "h1"), ("s1", "s2")]


def line() -> Topology:
    names = {f"s{i}": Switch(f"s{i}", "s") for i in range(3)}
    return topology([*names, "h0", "h1"], names, [Link(a + b, (a, b), 1e9) for a, b in LINE])


def test_a_given_way_passes_what_is_named() -> None:
    assert route_via(line(), stream("x"), ("s1",)) == ("h0", "s0", "s1", "h1")
    assert route_via(line(), stream("x"), ()) == ("h0", "s0", "s1", "h1")


@pytest.mark.parametrize(
    ("via", "said"),
    [
        (("s2",), "passes s1 twice on its route h0 -> s0 -> s1 -> s2 -> s1 -> h1"),
        (("h1",), "via h1, which is not a switch"),
    ],
)
def test_a_given_way_that_loops_or_passes_a_host_is_refused(
    via: tuple[str, ...], said: str
) -> None:
    with pytest.raises(NetworkError, match=said):
        route_via(line(), stream("x"), via)


def cables(n: int) -> Cables:
    return Cables(Port(f"h0->h1#{i}", f"{i}", "h0", "h1", 1e9) for i in range(n))


def test_streams_take_turns_on_parallel_cables() -> None:
    three = cables(3)
    taken = [three.path(stream(f"x{i}"), ("h0", "h1"))[0] for i in range(6)]
    assert taken == ["h0->h1#0", "h0->h1#1", "h0->h1#2"] * 2


def test_a_stream_takes_the_cable_that_carries_least() -> None:
    two = cables(2)
    taken = [
        two.path(stream(f"x{i}", rate), ("h0", "h1"))[0]
        for i, rate in enumerate((6e8, 1e8, 1e8, 1e8))
    ]
    assert taken == ["h0->h1#0", *["h0->h1#1"] * 3]


def test_copies_of_a_multicast_set_stay_on_one_cable() -> None:
    two = cables(2)
    copies = [two.path(stream(name, 1e8, "set"), ("h0", "h1")) for name in "abc"]
    assert len(set(copies)) == 1


class Counted(dict[str, Mapping[str, float]]):
    """A map's neighbours that count how often they are looked up."""

    looked_up = 0

    def __getitem__(self, name: str) -> Mapping[str, float]:
        self.looked_up += 1
        return super().__getitem__(name)


def test_streams_that_begin_at_one_switch_share_its_search() -> None:
    """A ring of 40 switches with 25 hosts each, every host to five others: 5000 routes."""
    names = {f"s{i}": Switch(f"s{i}", "s") for i in range(40)}
    hosts = [f"h{i}" for i in range(1000)]
    links = [Link(f"s{i}", (f"s{i}", f"s{(i + 1) % 40}"), 1e9) for i in range(40)]
    links += [Link(host, (host, f"s{i % 40}"), 1e9) for i, host in enumerate(hosts)]
    known = topology([*names, *hosts], names, links)
    near = Counted(known.neighbours)
    counted = Topology(names, near)
    for i, host in enumerate(hosts):
        for step in (1, 7, 13, 111, 420):
            assert counted.route(host, hosts[(i + step) % 1000]) is not None
    searches, ends = 40 * 40, 3 * 5000
    assert near.looked_up <= searches + ends


def two_homed(first_us: float, second_us: float) -> Topology:
    """A host at two switches, which both lead to another host."""
    names = {f"s{i}": Switch(f"s{i}", "s") for i in range(2)}
    links = [
        Link("h0s0", ("h0", "s0"), 1e9, delay_s=first_us * 1e-6),
        Link("h0s1", ("h0", "s1"), 1e9, delay_s=second_us * 1e-6),
        Link("s0h1", ("s0", "h1"), 1e9),
        Link("s1h1", ("s1", "h1"), 1e9),
    ]
    return topology([*names, "h0", "h1"], names, links)


@pytest.mark.parametrize(("first", "second", "over"), [(5, 1, "s1"), (1, 5, "s0"), (2, 2, "s0")])
def test_a_host_at_two_switches_takes_the_nearer_and_then_the_first(
    first: float, second: float, over: str
) -> None:
    assert two_homed(first, second).route("h0", "h1") == ("h0", over, "h1")


def test_of_parallel_cables_the_quicker_counts() -> None:
    cables = [
        Link(f"h0s{i}{us}", ("h0", f"s{i}"), 1e9, delay_s=us * 1e-6)
        for i, us in ((0, 3), (1, 2), (1, 9))
    ]
    names = {f"s{i}": Switch(f"s{i}", "s") for i in range(2)}
    ends = [Link(f"s{i}h1", (f"s{i}", "h1"), 1e9) for i in range(2)]
    known = topology([*names, "h0", "h1"], names, [*cables, *ends])
    assert known.route("h0", "h1") == ("h0", "s1", "h1")
