"""Node-link JSON of networkx: a graph's nodes and edges with attributes, as ``node_link_data`` writes it.

Attributes that are keys of system files are read as such (``rate_bps`` or ``rate``, ``length``, ``latency`` ...);
streams stand in the graph's own attributes, each a table of a system file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from icmodel.errors import NetworkError
from icmodel.reading import Document
from icmodel.system.document import Devices, Links, Streams, Switches
from icmodel.system.formats.foreign import FAST_BPS, Foreign, Table, tables
from icmodel.system.network import Device, Link, Stream, Switch, System

SWITCH, DEVICE = "switch", "device"
_SOME = 8
_NOT_OF_NODES = ("name", "group", "scheduler")


# --- import -----------------------------------------------------------------------------------


def imported(document: Mapping[str, Any], file: str) -> Foreign:
    """The system of a graph; a node without ``kind`` is a device where one edge ends at it, else a switch.

    Raises
    ------
    NetworkError
        If a node has no id, or an edge ends nowhere.
    """
    graph = document.get("graph")
    graph = graph if isinstance(graph, dict) else {}
    name = str(graph.get("name") or file)
    made = Foreign(name, str(graph.get("title") or name), f"{file}, a graph in node-link JSON")
    edges = tables(document, "edges" if "edges" in document else "links", file)
    nodes = {needed_id(node): node for node in tables(document, "nodes", file)}
    degree = Counter(end for edge in edges for end in _ends(edge, nodes))
    for node_id, node in nodes.items():
        _add_node(node_id, node, degree[node_id], made)
    made.links.extend(_link(edge, nodes, made) for edge in edges)
    for stream in tables(graph, "streams", file):
        made.streams.append(_known(stream, Streams, "streams", made))
    return made


def needed_id(node: Mapping[str, Any]) -> str:
    """The id of a node as a text; that may be 0."""
    if node.get("id") is None:
        raise NetworkError("a node has no id: it is needed")
    return str(node["id"])


def _ends(edge: Mapping[str, Any], nodes: Mapping[str, object]) -> tuple[str, str]:
    found = str(edge.get("source")), str(edge.get("target"))
    for end in found:
        if end not in nodes:
            raise NetworkError(f"an edge ends at {end!r}, which is no node of the file")
    return found


def _add_node(node_id: str, node: Mapping[str, Any], degree: int, made: Foreign) -> None:
    given = node.get("kind", node.get("type"))
    if given is None:
        made.remark("nodes without kind are devices where one edge ends at them, else switches")
    kind = given or (DEVICE if degree <= 1 else SWITCH)
    if kind not in (SWITCH, DEVICE):
        made.remark(f"nodes of the kind {kind!r} are devices here")
    rest = {key: value for key, value in node.items() if key not in ("id", "kind", "type", "name")}
    name = {"name": made.named(node_id)}
    if kind != SWITCH:
        made.devices.append({**name, **_known(rest, Devices, "devices", made)})
        return
    own = _known(rest, Switches, "switches", made)
    if "forwarding" not in own or not {"latency", "latency_s"} & set(own):
        made.remark("switches store and forward and add nothing where the file says nothing else")
    if not {"latency", "latency_s"} & set(own):
        own = {"latency_s": 0.0, **own}
    made.switches.append({**name, "forwarding": "store-and-forward", **own})


def _link(edge: Mapping[str, Any], nodes: Mapping[str, object], made: Foreign) -> Table:
    between = [made.named(end) for end in _ends(edge, nodes)]
    rest = {key: value for key, value in edge.items() if key not in ("source", "target", "key")}
    own = _known(rest, Links, "links", made)
    if not {"rate", "rate_bps"} & set(own):
        made.remark("links of which the file says no rate have 1 Tb/s")
        own["rate_bps"] = FAST_BPS
    return {"between": between, **own}


def _known(table: Mapping[str, Any], model: type[Document], what: str, made: Foreign) -> Table:
    """The attributes that are keys of a table of system files; the others are named in a remark."""
    keys = {*model.model_fields, *model.text_spellings()}
    left = [key for key in table if key not in keys]
    if left:
        some = ", ".join(left[:_SOME])
        made.remark(f"attributes of {what} that are no keys of system files are left out: {some}")
    return {key: value for key, value in table.items() if key in keys and value is not None}


# --- export -----------------------------------------------------------------------------------


def exported(system: System) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """An undirected graph of which two nodes can have several edges; streams among its attributes."""
    devices = (_node(device, DEVICE) for device in system.devices.values())
    switches = (_node(switch, SWITCH) for switch in system.switches.values())
    numbers: Counter[frozenset[str]] = Counter()
    document: dict[str, object] = {
        "directed": False,
        "multigraph": True,
        "graph": {
            "name": system.name,
            "title": system.title,
            "streams": list(_streams(system)),
        },
        "nodes": [*devices, *switches],
        "edges": [_edge(link, numbers) for link in system.links.values()],
    }
    remarks = ["groups are written as their members, and requirements are left out"]
    if any(one.scheduler.kind != "fifo" for one in system.ports.values()):
        remarks.append("schedulers are left out: every port is first come, first served")
    if any(stream.multicast for stream in system.streams.values()):
        remarks.append("the ways of multicast copies are found anew when the file is read")
    return document, tuple(remarks)


def _said(table: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in table.items() if value is not None}


def _node(node: Device | Switch, kind: str) -> dict[str, object]:
    """What a device or switch has, but for its group and its scheduler."""
    kept = [field.name for field in fields(node) if field.name not in _NOT_OF_NODES]
    return _said({"id": node.name, "kind": kind, **{name: getattr(node, name) for name in kept}})


def _edge(link: Link, numbers: Counter[frozenset[str]]) -> dict[str, object]:
    pair = frozenset(link.ends)
    numbers[pair] += 1
    return _said(
        {
            "source": link.ends[0],
            "target": link.ends[1],
            "key": numbers[pair] - 1,
            "rate_bps": link.rate_bps,
            "length_m": link.length_m,
            "propagation_s_per_m": link.delay_s / link.length_m if link.length_m else None,
            "mtu_bytes": link.mtu_bytes,
            "interconnect": link.interconnect,
            "dataset": link.dataset,
        }
    )


def _streams(system: System) -> Iterable[dict[str, object]]:
    """A table of a system file for each stream, and one for all copies of a multicast set."""
    for (_, name), copies in system.multicast_sets().items():
        first = copies[0]
        multicast = first.multicast is not None
        via = None if multicast else list(system.nodes_of(first))[1:-1]
        yield _said(
            {
                "name": name,
                "source": first.source,
                "sink": [one.sink for one in copies] if multicast else first.sink,
                "multicast": multicast or None,
                "produces": _produced(first),
                "protocol": first.protocol,
                "payload_bytes": first.payload_bytes,
                "rate_fps": first.paced_fps,
                "window_bytes": first.window_bytes,
                "cores": first.cores,
                "options": dict(first.options) or None,
                "priority": first.priority,
                "kind": first.kind,
                "via": via or None,
            }
        )


def _produced(stream: Stream) -> dict[str, object]:
    """Whatever produced a stream as one sample a period, which says message, period and time."""
    made = stream.producer
    if made is None:
        return {"kind": "unlimited"}
    return _said(
        {
            "kind": "samples",
            "samples": 1,
            "size_bits": made.message_bytes * 8,
            "cycle_hz": 1 / made.period_s,
            "within_s": made.within_s,
        }
    )
