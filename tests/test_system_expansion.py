"""Expansion of tables into members, links, ports and streams."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.errors import Mistakes, NetworkError
from icmodel.system import (
    CreditBased,
    DeficitRoundRobin,
    Device,
    Fifo,
    Gates,
    StrictPriority,
    System,
    WeightedRoundRobin,
    read_system,
)
from icmodel.system.expansion import Groups, link_pairs, members, stream_pairs

HEAD = 'schema_version = 1\nname = "own"\ntitle = "own"\nsource = "a test"\n'
STREAM = """
[[streams]]
name = "x"
source = "{source}"
sink = "{sink}"
produces = {{ kind = "burst", period = "1 ms", size = "64 B" }}
protocol = "udp"
"""


def read(text: str) -> System:
    system, findings = read_system(HEAD + text)
    assert findings == ()
    return system


def switched(scheduler: str = "", links: str = 'rate = "1 Gb/s"', stream: str = "") -> str:
    """Two devices on a switch, and a stream between them."""
    return (
        f'[[devices]]\nname = "a"\n[[devices]]\nname = "b"\n[[switches]]\nname = "s"\n'
        f'forwarding = "store-and-forward"\nlatency = "1 us"\n{scheduler}\n'
        f'[[links]]\nbetween = ["a", "s"]\n{links}\n[[links]]\nbetween = ["b", "s"]\n{links}\n'
        + STREAM.format(source="a", sink="b")
        + stream
    )


@pytest.mark.parametrize(
    ("table", "made"),
    [
        ("", Fifo()),
        ('scheduler = { kind = "fifo" }', Fifo()),
        ('scheduler = { kind = "strict-priority" }', StrictPriority()),
        (
            'scheduler = { kind = "wrr", weights = { 0 = 2, 5 = 7 } }',
            WeightedRoundRobin(weights={0: 2, 5: 7}),
        ),
        (
            'scheduler = { kind = "drr", quanta = { 0 = "3 kB" } }',
            DeficitRoundRobin(quanta_bytes={0: 3000}),
        ),
        (
            'scheduler = { kind = "drr", quanta_bytes = { 0 = 3000 } }',
            DeficitRoundRobin(quanta_bytes={0: 3000}),
        ),
        (
            'scheduler = { kind = "cbs", idle_slopes = { 6 = "20 Mb/s" } }',
            CreditBased(idle_slopes_bps={6: 20e6}),
        ),
    ],
)
def test_a_port_serves_as_the_table_of_its_node_says(table: str, made: object) -> None:
    ports = read(switched(table)).ports
    assert ports["s->a"].scheduler == ports["s->b"].scheduler == made
    assert ports["a->s"].scheduler == Fifo()


def test_gates_have_windows_and_a_port_may_differ_from_the_others() -> None:
    windows = '[{ open = [7, 0], duration = "1 ms" }, { open = [1], duration = "2 ms" }]'
    text = f'ports = [{{ to = "b", scheduler = {{ kind = "gates", windows = {windows} }} }}]'
    ports = read(switched(text)).ports
    gates = ports["s->b"].scheduler
    assert isinstance(gates, Gates)
    assert [(one.open, one.duration_s) for one in gates.windows] == [
        ((7, 0), 1e-3),
        ((1,), 2e-3),
    ]
    assert ports["s->a"].scheduler == Fifo()


@pytest.mark.parametrize(
    ("keys", "per_metre"),
    [
        ("", 4.27e-9),  # Cat 6a, IC2012 §6.2
        ('medium = "fibre"', 5e-9),
        ('interconnect = "infiniband"', 5e-9),
        ('interconnect = "rapidio"', 4.87e-9),
        ("propagation_s_per_m = 4e-9", 4e-9),
    ],
)
def test_a_cable_delays_by_its_length_and_medium(keys: str, per_metre: float) -> None:
    text = switched(links=f'rate = "1 Gb/s"\nlength = "50 m"\n{keys}')
    assert read(text).links["a<->s"].delay_s == pytest.approx(50 * per_metre)


@pytest.mark.parametrize(
    ("kind", "mtu"), [("ethernet", 1500), ("infiniband", 4096), ("roce", 4096)]
)
def test_packets_are_as_large_as_is_usual_for_the_interconnect(kind: str, mtu: int) -> None:
    links = read(switched(links=f'rate = "8 Gb/s"\ninterconnect = "{kind}"')).links
    assert {one.mtu_bytes for one in links.values()} == {mtu}


def test_packets_that_an_interconnect_has_not_are_refused() -> None:
    with pytest.raises(NetworkError, match=r"links no\. 1: mtu_bytes 1500 is unknown"):
        read(switched(links='rate = "8 Gb/s"\nmtu = "1500 B"\ninterconnect = "infiniband"'))


def test_parallel_cables_are_numbered_and_their_ports_with_them() -> None:
    text = switched(links='rate = "1 Gb/s"\nparallel = 2').replace(
        'name = "a"', 'name = "a"\ninterfaces = 2'
    )
    system = read(text.replace('name = "b"', 'name = "b"\ninterfaces = 2'))
    assert list(system.links) == ["a<->s#1", "a<->s#2", "b<->s#1", "b<->s#2"]
    assert list(system.ports)[:4] == ["a->s#1", "s->a#1", "a->s#2", "s->a#2"]
    assert system.ports["s->a#2"].link == "a<->s#2"


GROUPS = """
[[devices]]
name = "a"
count = 3
[[devices]]
name = "b"
count = 3
[[switches]]
name = "s"
forwarding = "cut-through"
latency = "0 s"
[[links]]
between = ["a", "s"]
rate = "1 Gb/s"
[[links]]
between = ["b", "s"]
rate = "1 Gb/s"
"""


def ends(system: System) -> list[tuple[str, str, str]]:
    return [(one.name, one.source, one.sink) for one in system.streams.values()]


def test_streams_are_numbered_in_the_order_of_their_pairs() -> None:
    text = GROUPS + STREAM.format(source="a", sink="b") + 'pairing = "one-to-one"\ncount = 2\n'
    assert ends(read(text))[:3] == [
        ("x-1", "a-1", "b-1"),
        ("x-2", "a-1", "b-1"),
        ("x-3", "a-2", "b-2"),
    ]


def test_a_member_can_stand_for_its_group() -> None:
    text = GROUPS + STREAM.format(source="a-2", sink="b")
    assert ends(read(text)) == [("x-1", "a-2", "b-1"), ("x-2", "a-2", "b-2"), ("x-3", "a-2", "b-3")]


def test_several_groups_are_one_list() -> None:
    text = GROUPS + STREAM.format(source="a", sink="b-1").replace('"a"', '["a-1", "b-3"]')
    assert [one[1:] for one in ends(read(text))] == [("a-1", "b-1"), ("b-3", "b-1")]


def test_a_multicast_set_has_a_copy_for_each_sink() -> None:
    text = GROUPS + STREAM.format(source="a", sink="b") + "multicast = true\n"
    system = read(text)
    assert len(system.streams) == 9
    assert ends(system)[:2] == [("x-1/b-1", "a-1", "b-1"), ("x-1/b-2", "a-1", "b-2")]
    at = system.streams_by_port()
    assert len(at["a-1->s"]) == 1
    assert len(at["s->b-1"]) == 3


def test_a_stream_neither_begins_nor_ends_at_a_switch() -> None:
    with pytest.raises(NetworkError, match="ends at s, which is a switch"):
        read(GROUPS + STREAM.format(source="a-1", sink="s"))


@pytest.mark.parametrize(
    ("produces", "message", "period", "payload"),
    [
        (
            'kind = "image", width_px = 10, height_px = 10, depth = "8 bit", rate = "25 Hz"',
            100,
            0.04,
            64,
        ),
        ('kind = "goodput", goodput = "1 Mb/s"', 64, 64 * 8e-6, 64),
        ('kind = "burst", period = "1 s", burst = 3, size = "100 B"', 300, 1.0, 100),
        ('kind = "samples", samples = 3, size = "4 bit", cycle = "1 kHz"', 1.5, 1e-3, 2),
    ],
)
def test_a_producer_is_a_message_every_period(
    produces: str, message: float, period: float, payload: int
) -> None:
    text = switched().replace('kind = "burst", period = "1 ms", size = "64 B"', produces)
    if payload == 64:
        text += 'payload = "64 B"\n'
    stream = read(text).streams["x"]
    assert stream.producer is not None
    assert stream.producer.message_bytes == message
    assert stream.producer.period_s == pytest.approx(period)
    assert stream.payload_bytes == payload


def test_a_rate_of_frames_is_what_the_sender_is_set_to() -> None:
    stream = read(switched(stream='rate = "500/s"\n')).streams["x"]
    assert stream.rate_fps == 500
    assert stream.requested_goodput_bps == 500 * 64 * 8
    made_bps = stream.produced_bps
    faster = read(switched(stream='rate = "2000/s"\n')).streams["x"]
    assert (faster.rate_fps, faster.paced_fps) == (made_bps / 512, 2000)
    assert faster.requested_goodput_bps == made_bps


def test_every_key_of_a_device_a_switch_and_a_stream_arrives() -> None:
    text = switched(
        'buffer = "64 KiB"',
        stream='cores = 3\noptions = { nagle = "off" }\npriority = 5\nkind = "firm"\n',
    ).replace(
        'name = "a"\n',
        'name = "a"\ninterfaces = 2\ncores = 8\ndataset = "lab-1g-2026"\ncpu_clock_ratio = 1.5\n'
        'app_send = "5 us"\napp_recv = "7 us"\n',
        1,
    )
    system = read(text)
    assert system.devices["a"] == Device("a", "a", 2, 8, "lab-1g-2026", 1.5, 5e-6, 7e-6)
    assert system.switches["s"].buffer_bytes == 65536
    assert system.switches["s"].latency_s == 1e-6
    stream = system.streams["x"]
    assert (stream.cores, dict(stream.options)) == (3, {"nagle": "off"})
    assert (stream.priority, stream.kind) == (5, "firm")


def test_a_connection_of_tcp_has_one_receiver() -> None:
    copied = switched().replace("[[streams]]", "[[streams]]\nmulticast = true")
    read(copied)
    with pytest.raises(NetworkError, match="tcp has one receiver, so it has no multicast"):
        read(copied.replace('"udp"', '"tcp"'))


def test_a_window_is_that_of_the_table_and_tcps_alone() -> None:
    windowed = switched().replace("[[streams]]", '[[streams]]\nwindow = "64 KiB"')
    found = read(windowed.replace('"udp"', '"tcp"'))
    assert next(iter(found.streams.values())).window_bytes == 65536
    with pytest.raises(
        NetworkError, match="udp has no window: leave window out, or give the protocol"
    ):
        read(windowed)


# --- groups --------------------------------------------------------------------------------------


def groups(counts: list[tuple[str, int]]) -> Groups:
    made = Groups()
    for name, count in counts:
        made.add(name, count)
    return made


CAMERAS, SWITCHES = members("camera", 5), members("switch", 2)


def test_a_group_of_one_keeps_its_name() -> None:
    assert members("switch", 1) == ("switch",)
    assert members("camera", 3) == ("camera-1", "camera-2", "camera-3")


def test_a_name_stands_for_a_group_or_a_member() -> None:
    found = groups([("camera", 2), ("switch", 1)])
    assert found.of("camera", "here") == ("camera-1", "camera-2")
    assert found.of("camera-2", "here") == ("camera-2",)
    told = Mistakes("own.toml")
    assert found.nodes_of(["camera-2", "camera", "switch"], "here", (), told) == (
        "camera-2",
        "camera-1",
        "switch",
    )
    assert not told
    assert found.nodes_of(["camera", "x"], "here", ("streams", 0, "sink"), told) == ()
    assert told


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
        (CAMERAS, SWITCHES, None, "5 and 2 nodes can be paired in several ways"),
        (CAMERAS, SWITCHES, "one-to-one", "5 and 2 nodes cannot be paired one to one"),
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
