"""Systems from and into files of other tools: Saihu's two formats and networkx's node-link JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import checkout
from drawn_systems import document, toml
from icmodel.errors import NetworkError
from icmodel.system import System, load, read_system
from icmodel.system.formats import export_system, import_system
from icmodel.system.formats.saihu import Units, factor
from system_case import Chain

PORTS = {
    "network": {
        "name": "demo",
        "packetizer": False,
        "multiplexing": "FIFO",
        "analysis_option": ["IS"],
        "time_unit": "us",
        "data_unit": "B",
        "rate_unit": "Mbps",
        "min_packet_length": 4,
    },
    "flows": [
        {
            "name": "f0",
            "path": ["s0-o0", "s1-o0"],
            "path_name": "p0",
            "multicast": [{"name": "p1", "path": ["s0-o0", "s1-o1"]}],
            "arrival_curve": {"bursts": [10, "2kB"], "rates": ["10kbps", 0.5]},
            "max_packet_length": 50,
            "rate_unit": "kbps",
        },
        {
            "name": "f1",
            "path": ["s0-o0", "s1-o1"],
            "arrival_curve": {"bursts": ["10B"], "rates": ["10kbps"]},
            "max_packet_length": 50,
        },
        {
            "name": "f2",
            "path": ["s1-o0"],
            "arrival_curve": {"bursts": [10], "rates": ["10kbps"]},
            "max_packet_length": "50B",
            "min_packet_length": "4B",
        },
    ],
    "servers": [
        {
            "name": "s0-o0",
            "service_curve": {"latencies": [10, "1ms"], "rates": ["4Mbps", "50Mbps"]},
            "capacity": 100,
        },
        {
            "name": "s1-o0",
            "service_curve": {"latencies": [10, "1ms"], "rates": [4, 50]},
            "capacity": 100,
            "time_unit": "us",
        },
        {
            "name": "s1-o1",
            "service_curve": {"latencies": [10], "rates": ["4Mbps"]},
            "capacity": 100,
        },
    ],
}
"""Saihu's demonstration as an output-port network (src/example/demo.json at 68955f6, MIT licence)."""

PHYSICAL = (checkout.ROOT / "tests/cases/formats/saihu_physical.xml").read_text(encoding="utf-8")
"""The same as a physical network (src/example/demo.xml at 68955f6, MIT licence)."""


def imported(text: str, folder: Path) -> tuple[System, tuple[str, ...]]:
    """The system of another tool's text, which has nothing to find, and the remarks."""
    file = folder / "foreign"
    file.write_text(text, encoding="utf-8")
    toml, remarks = import_system(file)
    system, findings = read_system(toml)
    assert findings == ()
    return system, remarks


def carried(system: System, form: str, folder: Path) -> System:
    """A system written in a format and read again."""
    return imported(export_system(system, form)[0], folder)[0]


# --- Saihu ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        ("data", 10, 80.0),
        ("data", "2kB", 16_000.0),
        ("data", "3 b", 3.0),
        ("rate", 4, 4e6),
        ("rate", "10kbps", 1e4),
        ("rate", "0.5MBps", 4e6),
        ("rate", "60bpm", 1.0),
        ("time", 10, 1e-5),
        ("time", "1ms", 1e-3),
        ("time", "2m", 120.0),
        ("time", "1e-2us", 1e-8),
    ],
)
def test_a_quantity_has_its_own_unit_or_that_of_its_surroundings(
    kind: str, given: object, wanted: float
) -> None:
    assert Units("B", "Mbps", "us").read(kind, given) == wanted


def test_a_table_may_say_units_of_its_own() -> None:
    own = Units("B", "Mbps", "us").within({"rate_unit": "kbps"})
    assert own == Units("B", "kbps", "us")
    assert factor("rate", "GBps") == 8_000_000_000


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("data", "10kbps"),
        ("data", "1e400B"),
        ("data", "1e999999999B"),
        ("rate", "10"),
        ("rate", "10 kb"),
        ("time", "ten"),
        ("time", None),
        ("data", True),
    ],
)
def test_a_wrong_quantity_is_refused(kind: str, given: object) -> None:
    with pytest.raises(NetworkError, match="write"):
        Units(data="x", rate="x", time="x").read(kind, given)


@pytest.mark.parametrize("text", [json.dumps(PORTS), PHYSICAL], ids=["ports", "physical"])
def test_saihus_demonstration_is_the_same_system_in_both_its_formats(
    text: str, tmp_path: Path
) -> None:
    system, _ = imported(text, tmp_path)
    assert list(system.switches) == ["s0", "s1"]
    assert {one.latency_s for one in system.switches.values()} == {1e-5}
    assert system.links["s0<->s1"].rate_bps == 4e6
    sets = {one.multicast or one.name for one in system.streams.values()}
    assert sets == {"f0", "f1", "f2"}
    for one in system.streams.values():
        assert one.producer is not None
        assert one.producer.message_bytes == 10
        assert one.requested_goodput_bps == pytest.approx(1e4)
    at = {name: len(there) for name, there in system.streams_by_port().items()}
    assert at["s0->s1"] == 2  # f0, whose copies are sent once, and f1
    assert sorted(at.values())[-3:] == [2, 2, 2]  # and at s1 f0 and f2, f0 and f1


def test_two_physical_links_there_and_back_are_one_cable(tmp_path: Path) -> None:
    back = (
        '<link from="s1" to="s0" fromPort="o2" toPort="i2" service-rate="{}" name="g"/></elements>'
    )
    for rate, told in (("4Mbps", False), ("2Mbps", True)):
        text = PHYSICAL.replace("</elements>", back.format(rate))
        system, remarks = imported(text, tmp_path)
        assert len(system.links) == 6
        assert any("opposite direction" in remark for remark in remarks) == told


def test_a_physical_link_has_its_service_rate_else_its_capacity(tmp_path: Path) -> None:
    system, _ = imported(PHYSICAL, tmp_path)
    assert system.links["s0<->s1"].rate_bps == 4e6
    bare = PHYSICAL.replace('service-rate="4Mbps"', "")
    assert imported(bare, tmp_path)[0].links["s0<->s1"].rate_bps == 10e6


def test_servers_of_several_latencies_get_the_greatest_and_a_remark(tmp_path: Path) -> None:
    slow = json.dumps(PORTS).replace('{"latencies": [10], "rates"', '{"latencies": [30], "rates"')
    system, remarks = imported(slow, tmp_path)
    assert system.switches["s1"].latency_s == 3e-5
    assert any("several latencies" in remark for remark in remarks)


def test_parts_of_saihus_files_that_are_left_out_have_remarks(tmp_path: Path) -> None:
    told = " ".join(imported(json.dumps(PORTS), tmp_path)[1])
    for word in ("analysis_option", "capacity", "service curve", "arrival curve", "1 Tb/s"):
        assert word in told
    told = " ".join(imported(PHYSICAL, tmp_path)[1])
    assert "FIFO+IS+PK" in told
    assert "capacity" in told


def test_flows_and_servers_survive_a_round_trip(tmp_path: Path) -> None:
    first = json.loads(export_system(imported(json.dumps(PORTS), tmp_path)[0], "saihu")[0])
    again = json.loads(export_system(imported(json.dumps(first), tmp_path)[0], "saihu")[0])
    assert again["flows"] == first["flows"]
    assert again["servers"] == first["servers"]
    assert [len(flow["path"]) for flow in first["flows"]] == [2, 2, 1]
    assert first["flows"][0]["multicast"][0]["path"] == ["s0->s1", "s1->s1-o1-sink"]
    for server in first["servers"]:
        assert server["capacity"] == 4e6
        assert server["service_curve"] == {"latencies": [1e-5], "rates": [4e6]}


def test_a_flow_that_ends_in_the_middle_leaves_by_the_port_that_its_path_names(
    tmp_path: Path,
) -> None:
    """Two ports of one node lead to two others; an added device receives a third flow behind the second."""
    curve = {"bursts": [10], "rates": ["10kbps"]}
    paths = {"f0": ["s0", "s1-o0", "a"], "f1": ["s0", "s1-o1", "b"], "f2": ["s0", "s1-o1"]}
    document = {
        "network": {"time_unit": "us", "data_unit": "B", "rate_unit": "Mbps"},
        "flows": [
            {"name": name, "path": path, "arrival_curve": curve, "max_packet_length": 5}
            for name, path in paths.items()
        ],
        "servers": [
            {"name": name, "service_curve": {"latencies": [0], "rates": [4]}, "capacity": 4}
            for name in ("s0", "s1-o0", "s1-o1", "a", "b")
        ],
    }
    system, _ = imported(json.dumps(document), tmp_path)
    through = {name: one.path for name, one in system.streams.items()}
    assert through["f2"][1:3] == through["f1"][1:3]
    assert through["f2"][2] != through["f0"][2]


@pytest.mark.parametrize("name", ["imaging", "motion-control", "lab-chain", "lab-unequal"])
def test_what_is_exported_for_saihu_can_be_imported_again(name: str, tmp_path: Path) -> None:
    """Also if a node sends and receives, so that its name stands for a switch and for a sink."""
    exported = export_system(load(name), "saihu")[0]
    again = json.loads(export_system(imported(exported, tmp_path)[0], "saihu")[0])
    assert [len(one["path"]) for one in again["flows"]] == [
        len(one["path"]) for one in json.loads(exported)["flows"]
    ]


def test_saihu_gets_the_bits_on_the_wire(tmp_path: Path) -> None:
    document = json.loads(export_system(load("lab-two-switches"), "saihu")[0])
    (flow,) = document["flows"]
    assert flow["path"] == ["A->S", "S->T", "T->B"]
    assert flow["arrival_curve"]["bursts"] == [pytest.approx(1538 * 8)]
    assert flow["arrival_curve"]["rates"] == [pytest.approx(50e6 * 1538 / 1472)]
    assert [one["capacity"] for one in document["servers"]] == [100e6] * 3


def test_parts_that_saihu_cannot_express_have_remarks() -> None:
    _, remarks = export_system(load("lab-dscp"), "saihu")
    told = " ".join(remarks)
    assert "expedited sends at full speed" in told
    assert "priorities" in told


# --- node-link -----------------------------------------------------------------------------------


def as_carried(system: System) -> dict[str, object]:
    """What node-link JSON carries of a system: all but groups, requirements, schedulers, producers' kinds."""
    streams = {
        stream.name: replace(
            stream,
            group="",
            producer=None,
            multicast=None,
            options={},
        )
        for stream in system.streams.values()
    }
    return {
        "devices": {n: replace(one, group="") for n, one in system.devices.items()},
        "switches": {n: (one.forwarding, one.latency_s, one.buffer_bytes) for n, one in system.switches.items()},
        "links": {n: replace(one, delay_s=round(one.delay_s, 15)) for n, one in system.links.items()},
        "ports": list(system.ports),
        "streams": streams,
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["imaging", "motion-control", "industrial-line", "lab-direct", "lab-dscp"]
)
def test_node_link_keeps_everything_without_a_remark(name: str, tmp_path: Path) -> None:
    assert_kept(load(name), tmp_path)


@pytest.mark.parametrize("seed", [4, 6, 11, 15, 22, 42, 49, 58])
def test_node_link_keeps_random_systems(seed: int, tmp_path: Path) -> None:
    """Among them streams that may fall short, with cores and paced rates."""
    system, _ = read_system(toml(document(seed)))
    assert_kept(system, tmp_path)


def assert_kept(system: System, tmp_path: Path) -> None:
    """Check that a system is the same after export and import, except for what remarks name."""
    text, remarks = export_system(system, "node-link")
    again, _ = read_system(import_system(_written(tmp_path, text))[0])
    assert as_carried(again) == as_carried(system)
    for mine, other in zip(system.streams.values(), again.streams.values(), strict=True):
        assert other.requested_goodput_bps == pytest.approx(mine.requested_goodput_bps)
        assert other.multicast == mine.multicast
    schedulers = any(one.scheduler.kind != "fifo" for one in system.ports.values())
    assert schedulers == any("schedulers" in remark for remark in remarks)


def _written(folder: Path, text: str) -> Path:
    file = folder / "graph.json"
    file.write_text(text, encoding="utf-8")
    return file


GRAPH = {
    "directed": False,
    "multigraph": False,
    "graph": {},
    "nodes": [{"id": 0}, {"id": 1, "vendor": "x"}, {"id": "rack 7"}],
    "links": [
        {"source": 0, "target": 1, "rate": "1 Gb/s", "weight": 3},
        {"source": 1, "target": "rack 7"},
    ],
}
"""As networkx writes a path of three nodes, with some attributes."""


def test_a_graph_with_other_attributes_is_read_with_remarks(tmp_path: Path) -> None:
    system, remarks = imported(json.dumps(GRAPH), tmp_path)
    assert list(system.devices) == ["0", "rack-7"]
    assert list(system.switches) == ["1"]
    assert [link.rate_bps for link in system.links.values()] == [1e9, 1e12]
    told = " ".join(remarks)
    for word in ("vendor", "weight", "'rack 7' is named 'rack-7'", "1 Tb/s", "without kind"):
        assert word in told


def test_a_device_at_which_two_edges_end_gets_two_interfaces(tmp_path: Path) -> None:
    nodes = [{"id": "a", "kind": "device"}, {"id": "b"}, {"id": "c"}]
    edges = [{"source": "a", "target": end, "rate": "1 Gb/s"} for end in ("b", "c")]
    system, _ = imported(json.dumps({"nodes": nodes, "edges": edges}), tmp_path)
    assert [one.interfaces for one in system.devices.values()] == [2, 1, 1]


def _ports(parts: str, key: str, value: object) -> str:
    """The output-port network, with a key of its first server or flow changed."""
    first, *others = PORTS[parts]
    assert isinstance(first, dict)
    return json.dumps({**PORTS, parts: [{**first, key: value}, *others]})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "neither JSON nor XML"),
        ("[]", "is unknown: give"),
        ('{"a": 1}', "is unknown: give"),
        ("<elements>", "is not valid XML"),
        (_ports("servers", "service_curve", 1), "the server s0-o0 has no list of latencies"),
        (_ports("flows", "arrival_curve", 1), "the flow f0 has no list of bursts"),
        (_ports("flows", "path", {"a": 1}), "the flow f0 has no list of path"),
        ('{"servers": 3}', "servers must be a list"),
        ('{"servers": [{}]}', "a server has no name"),
        ('{"servers": [], "flows": [{"name": "f", "path": ["x"]}]}', "'x', which is not a server"),
        (json.dumps(PORTS).replace('"10B"', '"10 apples"'), "'apples' is not a unit of data"),
        (json.dumps(PORTS).replace('[10, "1ms"]', "[10]"), "1 latencies and 2 rates"),
        (json.dumps(PORTS).replace('"10kbps"', "0"), "no burst or no rate"),
        (PHYSICAL.replace('to="sink1"', 'to="sink9"'), "'sink9', which is neither a station"),
        (PHYSICAL.replace('"leaky-bucket"', '"periodic"'), "icmodel reads only leaky-bucket"),
        (PHYSICAL.replace('lb-rate="10kbps"', ""), "has no lb-rate"),
        ('{"nodes": [{}]}', "a node has no id"),
        (
            '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}',
            "'2', which is not a node",
        ),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=said):
        import_system(_written(tmp_path, text))


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(NetworkError, match="use one of saihu, node-link"):
        export_system(load("lab-direct"), "dot")


def test_saihu_gets_the_arrival_curve_with_and_without_merging() -> None:
    """Frames of 100 B are 190 B each on the wire, and merged they are packets of 1538 B."""
    chain = Chain((2,), dataset=None)
    system = chain.system([chain.stream("a", "h0", "h1", 1000.0, "tcp", 100)])
    (flow,) = json.loads(export_system(system, "saihu")[0])["flows"]
    assert flow["arrival_curve"]["bursts"] == [1538 * 8]
    assert flow["arrival_curve"]["rates"] == [pytest.approx(1000 * 190 * 8)]
    assert flow["max_packet_length"] == 1538 * 8
