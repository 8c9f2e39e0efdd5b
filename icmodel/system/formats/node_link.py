"""Node-link JSON of networkx: nodes and edges of a graph with attributes, as written by ``node_link_data``.

Attributes with the names of system-file keys are read (``rate_bps`` or ``rate``, ``length``, ``latency``
...). The graph's attribute ``streams`` is a list of stream tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from icmodel.errors import NetworkError
from icmodel.reading import Document
from icmodel.system.document import Devices, Links, Streams, Switches
from icmodel.system.formats.imported import FAST_BPS, ImportedSystem, Table, tables
from icmodel.system.network import Stream, System

SWITCH, DEVICE = "switch", "device"
_MOST_NAMES = 8
_NOT_OF_NODES = ("name", "group", "scheduler")


# --- import -----------------------------------------------------------------------------------


def import_graph(document: Mapping[str, Any], file: str) -> ImportedSystem:
    """Convert a graph in node-link JSON to the tables of a system.

    A node without ``kind`` is a device if it has at most one edge, otherwise a switch.

    Raises
    ------
    NetworkError
        If a node has no id, or an edge names a missing node.
    """
    graph = document.get("graph")
    graph = graph if isinstance(graph, dict) else {}
    name = str(graph.get("name") or file)
    made = ImportedSystem(
        name, str(graph.get("title") or name), f"{file}, a graph in node-link JSON"
    )
    nodes: dict[str, Mapping[str, Any]] = {}
    for node in tables(document, "nodes", file):
        if node.get("id") is None:  # an id may be 0
            raise NetworkError("a node has no id: add an id, which is required")
        nodes[str(node["id"])] = node
    edges = tables(document, "edges" if "edges" in document else "links", file)
    ends_of = [(str(edge.get("source")), str(edge.get("target"))) for edge in edges]
    missing = next((end for ends in ends_of for end in ends if end not in nodes), None)
    if missing is not None:
        raise NetworkError(
            f"an edge ends at {missing!r}, which is not a node of the file: add this node"
        )

    degree = Counter(end for ends in ends_of for end in ends)
    for node_id, node in nodes.items():
        _add_node(node_id, node, degree[node_id], made)
    for edge, ends in zip(edges, ends_of, strict=True):
        rest = {key: value for key, value in edge.items() if key not in ("source", "target", "key")}
        own = _known_keys(rest, Links, "links", made)
        if not {"rate", "rate_bps"} & set(own):
            made.remark("links without a rate in the file have 1 Tb/s")
            own["rate_bps"] = FAST_BPS
        made.links.append({"between": [made.allowed_name(end) for end in ends], **own})
    for stream in tables(graph, "streams", file):
        made.streams.append(_known_keys(stream, Streams, "streams", made))
    return made


def _add_node(node_id: str, node: Mapping[str, Any], degree: int, made: ImportedSystem) -> None:
    """Add a node of the graph to the tables of the system, as a device or a switch."""
    kind = node.get("kind", node.get("type"))
    if kind is None:
        made.remark("nodes without kind are devices if they have one edge, otherwise switches")
    kind = kind or (DEVICE if degree <= 1 else SWITCH)
    if kind not in (SWITCH, DEVICE):
        made.remark(f"nodes of the kind {kind!r} are imported as devices")
    rest = {key: value for key, value in node.items() if key not in ("id", "kind", "type", "name")}
    name = {"name": made.allowed_name(node_id)}
    if kind != SWITCH:
        made.devices.append({**name, **_known_keys(rest, Devices, "devices", made)})
        return
    own = _known_keys(rest, Switches, "switches", made)
    has_latency = bool({"latency", "latency_s"} & set(own))
    if "forwarding" not in own or not has_latency:
        made.remark("switches without stated values store and forward, and add no latency")
    defaults: Table = {"forwarding": "store-and-forward"}
    if not has_latency:
        defaults["latency_s"] = 0.0
    made.switches.append({**name, **defaults, **own})


def _known_keys(
    table: Mapping[str, Any], model: type[Document], parts: str, made: ImportedSystem
) -> Table:
    """Attributes of a node, edge or stream that are keys of system files; a remark names all other attributes."""
    keys = {*model.model_fields, *model.text_spellings()}
    left_out = [key for key in table if key not in keys]
    if left_out:
        some = ", ".join(left_out[:_MOST_NAMES])
        made.remark(f"attributes of {parts} that are no keys of system files are left out: {some}")
    return {key: value for key, value in table.items() if key in keys and value is not None}


# --- export -----------------------------------------------------------------------------------


def export_graph(system: System) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Convert a system to an undirected multigraph, with remarks on features that the graph cannot express.

    The streams become an attribute of the graph.
    """
    nodes = []
    for kind, members in ((DEVICE, system.devices), (SWITCH, system.switches)):
        for node in members.values():
            kept = [
                attribute.name for attribute in fields(node) if attribute.name not in _NOT_OF_NODES
            ]
            own = {name: getattr(node, name) for name in kept}
            nodes.append(_without_none({"id": node.name, "kind": kind, **own}))

    edges = []
    parallel: Counter[frozenset[str]] = Counter()
    for link in system.links.values():
        table = {
            "source": link.ends[0],
            "target": link.ends[1],
            "key": parallel[frozenset(link.ends)],
            "rate_bps": link.rate_bps,
            "length_m": link.length_m,
            "propagation_s_per_m": link.delay_s / link.length_m if link.length_m else None,
            "mtu_bytes": link.mtu_bytes,
            "interconnect": link.interconnect,
            "dataset": link.dataset,
        }
        parallel[frozenset(link.ends)] += 1
        edges.append(_without_none(table))

    streams = [
        _stream(system, name, copies) for (_, name), copies in system.multicast_sets().items()
    ]
    document: dict[str, object] = {
        "directed": False,
        "multigraph": True,
        "graph": {"name": system.name, "title": system.title, "streams": streams},
        "nodes": nodes,
        "edges": edges,
    }
    remarks = ["groups are written as their members, and requirements are left out"]
    if any(port.scheduler.kind != "fifo" for port in system.ports.values()):
        remarks.append("schedulers are left out: every port is first come, first served")
    if any(stream.multicast for stream in system.streams.values()):
        remarks.append(
            "the routes of multicast copies are not kept: they are computed again when the file is read"
        )
    return document, tuple(remarks)


def _stream(system: System, name: str, copies: list[Stream]) -> dict[str, object]:
    """Make the table of a stream for export, or a single table for all copies of a multicast set.

    The export replaces every periodic traffic source by one of the kind ``samples``, with one sample per period, as
    large as a message. So message size, period and the time limit ``within`` stay the same. A stream without such a
    source becomes ``unlimited``.
    """
    first = copies[0]
    multicast = first.multicast is not None
    via = None if multicast else list(system.nodes_of(first))[1:-1]
    produces: dict[str, object] = {"kind": "unlimited"}
    if first.producer is not None:
        produces = {
            "kind": "samples",
            "samples": 1,
            "size_bits": first.producer.message_bytes * 8,
            "cycle_hz": 1 / first.producer.period_s,
            "within_s": first.producer.within_s,
        }
    return _without_none(
        {
            "name": name,
            "source": first.source,
            "sink": [copy.sink for copy in copies] if multicast else first.sink,
            "multicast": multicast or None,
            "produces": _without_none(produces),
            "protocol": first.protocol,
            "payload_bytes": first.payload_bytes,
            "rate_fps": first.paced_fps,
            "allowed_shortfall_ratio": first.allowed_shortfall_ratio or None,
            "window_bytes": first.window_bytes,
            "cores": first.cores,
            "options": dict(first.options) or None,
            "priority": first.priority,
            "kind": first.kind,
            "via": via or None,
        }
    )


def _without_none(table: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in table.items() if value is not None}
