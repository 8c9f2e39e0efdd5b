"""System and its parts: names, paths, multicast sets, and refused values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

import pytest

from icmodel.errors import NetworkError
from icmodel.system import (
    Device,
    Link,
    Port,
    Producer,
    Stream,
    Switch,
    System,
)

PICTURE = Producer("image", 1 / 30, 1920 * 1920 * 4)


def port(node: str, peer: str, link: str) -> Port:
    return Port(f"{node}->{peer}", link, node, peer, 1e9)


PORTS = [
    port("a", "s", "a<->s"),
    port("s", "a", "a<->s"),
    port("b", "s", "b<->s"),
    port("s", "b", "b<->s"),
    port("c", "s", "c<->s"),
    port("s", "c", "c<->s"),
]


def stream(name: str = "p", sink: str = "b", multicast: str | None = None) -> Stream:
    path = ("a->s", f"s->{sink}")
    return Stream(name, "p", "a", sink, PICTURE, "tcp", 65535, path, multicast=multicast)


def system(*streams: Stream) -> System:
    return System(
        name="small",
        title="two into one switch",
        devices=MappingProxyType({name: Device(name, name) for name in "abc"}),
        switches=MappingProxyType({"s": Switch("s", "s")}),
        links=MappingProxyType({f"{n}<->s": Link(f"{n}<->s", (n, "s"), 1e9) for n in "abc"}),
        ports=MappingProxyType({one.name: one for one in PORTS}),
        streams=MappingProxyType({one.name: one for one in streams}),
    )


def test_a_stream_knows_what_it_asks_for() -> None:
    sent = stream()
    assert sent.requested_goodput_bps == pytest.approx(3.538944e9)  # IC2012 §1.4.3.1
    assert sent.rate_fps == pytest.approx(3.538944e9 / 8 / 65535)
    assert replace(sent, paced_fps=6700.0).requested_goodput_bps == 3.512676e9  # its table 8-2
    assert replace(sent, producer=None).rate_fps is None
    assert replace(sent, producer=None).requested_goodput_bps == math.inf


def test_a_message_due_before_its_period_needs_more_goodput() -> None:
    samples = Producer("samples", 50e-6, 8000, within_s=3e-6)
    assert samples.goodput_bps == pytest.approx(1.28e9)
    assert samples.needed_bps == pytest.approx(21.333e9, rel=1e-4)  # IC2012 §1.4.3.2
    assert PICTURE.needed_bps == PICTURE.goodput_bps


def test_a_stream_passes_nodes_switches_and_links_in_order() -> None:
    small = system(stream())
    assert list(small.nodes_of(small.streams["p"])) == ["a", "s", "b"]
    assert [one.name for one in small.switches_of(small.streams["p"])] == ["s"]
    assert [one.name for one in small.links_of(small.streams["p"])] == ["a<->s", "b<->s"]
    assert len(repr(small)) < 100


def test_copies_of_a_multicast_set_are_sent_once_where_they_share_a_port() -> None:
    both = system(stream("p/b", "b", "p"), stream("p/c", "c", "p"), stream("q", "b"))
    found = {name: [one.name for one in there] for name, there in both.streams_by_port().items()}
    assert found["a->s"] == ["p/b", "q"]
    assert found["s->b"] == ["p/b", "q"]
    assert found["s->c"] == ["p/c"]
    assert found["s->a"] == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ((), "is empty, which does not join a and b"),
        (("a->s",), "is a, s, which does not join a and b by links"),
        (("a->s", "s->c"), "is a, s, c, which"),
        (("a->s", "c->s", "s->b"), "does not join a and b by links"),
        (("a->x",), "'a->x', which is not a port"),
    ],
)
def test_a_path_that_is_not_joined_is_refused(path: tuple[str, ...], said: str) -> None:
    with pytest.raises(NetworkError, match=said):
        system(replace(stream(), path=path))


def test_a_name_that_is_nowhere_is_refused() -> None:
    small = system(stream())
    with pytest.raises(NetworkError, match="'d', which is neither a device"):
        replace(small, links={"d<->s": Link("d<->s", ("d", "s"), 1e9)})
    with pytest.raises(NetworkError, match="'d', which is neither a device"):
        system(replace(stream(), sink="d"))


@pytest.mark.parametrize(
    "made",
    [
        lambda: Producer("burst", 0.0, 64),
        lambda: Producer("burst", 1.0, math.nan),
        lambda: Producer("burst", 1.0, 64, within_s=0.0),
        lambda: Link("a<->b", ("a", "b"), 0.0),
        lambda: Switch("s", "s", forwarding="store and forward"),
        lambda: replace(stream(), priority=8),
        lambda: replace(stream(), kind="firmer"),
        lambda: replace(stream(), payload_bytes=0),
    ],
)
def test_a_value_out_of_range_is_refused_in_a_sentence(made: Callable[[], object]) -> None:
    with pytest.raises(NetworkError, match=r"give|take|use"):
        made()
