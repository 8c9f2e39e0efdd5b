"""Saihu's output-port network: servers, and flows over them, as JSON.

As the README of Saihu (C.-T. Tsai et al., Saihu: a common interface of worst-case delay analysis tools for
time-sensitive networks, arXiv 2303.14565, 2023) describes it; ``multicast`` as in its demonstration.
A server is the port of a node: those that follow one server stand at one node, which its link leads to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from icmodel.errors import NetworkError
from icmodel.system.formats.arrivals import Arrival, stream_table
from icmodel.system.formats.foreign import FAST_BPS, Foreign, Table, needed, plain_cable, tables
from icmodel.system.formats.saihu_units import Units

Way = list[str]
Services = Mapping[str, tuple[float, float]]
"""Rate [b/s] and latency [s] of each server."""
ARROW = "->"
"""In the names of our ports: from the node that sends to the one that receives."""


def imported(document: Mapping[str, Any], file: str) -> Foreign:
    """The system of an output-port network.

    Raises
    ------
    NetworkError
        If something needed is missing, or flows go over servers that are not there.
    """
    about = document.get("network")
    about = about if isinstance(about, dict) else {}
    units = Units().within(about)
    name = str(about.get("name") or file)
    made = Foreign(name, name, f"{file}, an output-port network of Saihu")
    flows, servers = tables(document, "flows", file), tables(document, "servers", file)
    names = [str(needed(one, "name", "a server")) for one in servers]
    ways = {str(needed(one, "name", "a flow")): _ways(one, names) for one in flows}
    every = [way for several in ways.values() for way in several]
    node_of = _nodes(names, every, made)
    _remark_options(about, made)
    services = {str(one["name"]): _service(one, units, made) for one in servers}
    made.switches.extend(_switches(services, node_of, made))
    _add_links(services, node_of, every, made)
    for flow in flows:
        _add_flow(flow, ways[str(flow["name"])], node_of, units.within(flow), made)
    return made


def _remark_options(about: Mapping[str, Any], made: Foreign) -> None:
    given = about.get("multiplexing", "FIFO")
    first = given if isinstance(given, list) else [given]
    if any(str(one).upper() != "FIFO" for one in first):
        made.remark(
            f"the multiplexing {given} is not carried over: every scheduler is first come, first served"
        )
    for key in ("packetizer", "analysis_option", "min_packet_length"):
        if about.get(key):
            made.remark(f"{key} of the network, {about[key]}, is not carried over")


def _ways(flow: Mapping[str, Any], servers: list[str]) -> list[Way]:
    """The servers of a flow's path, and of each further one of a multicast."""
    where = f"the flow {flow['name']}"
    branches = [flow, *tables(flow, "multicast", where)]
    found = [[str(one) for one in needed(branch, "path", where)] for branch in branches]
    for server in (one for way in found for one in way):
        if server not in servers:
            raise NetworkError(f"{where} goes over {server!r}, which is no server of the file")
    return found


def _nodes(servers: list[str], ways: list[Way], made: Foreign) -> dict[str, str]:
    """The node of each server: all that come after one server stand at one node."""
    after: dict[str, list[str]] = {}
    for way in ways:
        for here, there in pairwise(way):
            after.setdefault(here, []).append(there)
    node = {name: name for name in servers}
    for group in after.values():
        kept = node[group[0]]
        gone = {node[name] for name in group}
        node = {name: kept if at in gone else at for name, at in node.items()}
    return _node_names(node, made)


def _node_names(node: Mapping[str, str], made: Foreign) -> dict[str, str]:
    """Names of nodes: what the servers of one have in common, as s1 of s1-o0 and s1-o1, or of s1->s2."""
    bases: dict[str, set[str]] = {}
    for server, at in node.items():
        base = server.partition(ARROW)[0] if ARROW in server else server.rpartition("-")[0]
        bases.setdefault(at, set()).add(base)
    common = {at: next(iter(of)) for at, of in bases.items() if len(of) == 1 and "" not in of}
    taken = list(common.values())
    named = {
        at: common[at] if at in common and taken.count(common[at]) == 1 else f"{at}-node"
        for at in bases
    }
    return {server: made.named(named[at]) for server, at in node.items()}


def _switches(services: Services, node_of: Mapping[str, str], made: Foreign) -> Iterator[Table]:
    """A switch for each node, with the greatest latency of its servers."""
    latency: dict[str, float] = {}
    for name, (_, own) in services.items():
        node = node_of[name]
        if latency.setdefault(node, own) != own:
            made.remark(f"the servers of {node} have several latencies: all get the greatest")
        latency[node] = max(latency[node], own)
    for node, value in latency.items():
        yield {"name": node, "forwarding": "cut-through", "latency_s": value}


def _service(server: Mapping[str, Any], units: Units, made: Foreign) -> tuple[float, float]:
    """Rate [b/s] and latency [s] of the piece of a service curve that begins first."""
    where, own = f"the server {server['name']}", units.within(server)
    pieces = _pieces(
        server, "service_curve", (("latencies", "time"), ("rates", "rate")), own, where
    )
    if len(pieces) > 1:
        made.remark(
            "of a service curve of several pieces the one that begins first is kept: a lower one, "
            "so that bounds stay bounds"
        )
    if server.get("capacity") is not None and own.read("rate", server["capacity"]) > max(
        rate for _, rate in pieces
    ):
        made.remark(
            "a capacity above the service rate, which shapes what leaves a port, is not carried over: "
            "the link has the service rate"
        )
    latency, rate = min(pieces)
    return rate, latency


def _pieces(
    table: Mapping[str, Any],
    key: str,
    lists: tuple[tuple[str, str], tuple[str, str]],
    units: Units,
    where: str,
) -> list[tuple[float, float]]:
    """The pieces of a curve: a pair of numbers each, of two lists of some kinds of quantity."""
    curve = needed(table, key, where)
    first, second = (
        [units.read(kind, one) for one in needed(curve, name, where)] for name, kind in lists
    )
    if len(first) != len(second):
        raise NetworkError(
            f"{where} has {len(first)} {lists[0][0]} and {len(second)} {lists[1][0]}: give as many"
        )
    return list(zip(first, second, strict=True))


def _add_links(
    services: Services, node_of: Mapping[str, str], ways: list[Way], made: Foreign
) -> None:
    """The link of each server to the node of those that follow; to a device where flows end there too."""
    leads = {here: node_of[there] for way in ways for here, there in pairwise(way)}
    for name, (rate, _) in services.items():
        peer = leads.get(name)
        if peer is None:
            peer = made.named(_sink_name(name))
            made.devices.append({"name": peer})
        made.links.append(plain_cable(node_of[name], peer, rate))


def _sink_name(server: str) -> str:
    return server.partition(ARROW)[2].replace("#", "-") or f"{server}-sink"


def _add_flow(
    flow: Mapping[str, Any],
    ways: list[Way],
    node_of: Mapping[str, str],
    units: Units,
    made: Foreign,
) -> None:
    """A device that sends a flow, and the stream from it to where the flow ends."""
    name = made.named(flow["name"])
    source = f"{name}-source"
    made.devices.append({"name": source})
    made.links.append(plain_cable(source, node_of[ways[0][0]], FAST_BPS))
    made.remark("devices that send have links of 1 Tb/s, which the file does not know")
    sinks = [_sink(way, node_of, made) for way in ways]
    table: Table = {**stream_table(name, _arrival(flow, units, made), made), "source": source}
    if len(ways) == 1:
        via = list(dict.fromkeys(node_of[server] for server in ways[0]))
        made.streams.append({**table, "sink": sinks[0], "via": via})
    else:
        made.streams.append({**table, "sink": sinks, "multicast": True})


def _sink(way: Way, node_of: Mapping[str, str], made: Foreign) -> str:
    """The device a flow ends at: that of its last server, else one beside the node it leads to."""
    own = made.named(_sink_name(way[-1]))
    if any(device["name"] == own for device in made.devices):
        return own
    made.devices.append({"name": own})
    node = next(link["between"][1] for link in made.links if link["between"][0] == node_of[way[-1]])
    made.links.append(plain_cable(node, own, FAST_BPS))
    made.remark("devices at which flows end before others go on have links of 1 Tb/s")
    return own


def _arrival(flow: Mapping[str, Any], units: Units, made: Foreign) -> Arrival:
    """The piece of an arrival curve with the least burst."""
    where = f"the flow {flow['name']}"
    pieces = _pieces(flow, "arrival_curve", (("bursts", "data"), ("rates", "rate")), units, where)
    if len(pieces) > 1:
        made.remark(
            "of an arrival curve of several pieces the one with the least burst is kept: a higher one, "
            "so that bounds stay bounds"
        )
    burst, rate = min(pieces)
    packet = flow.get("max_packet_length")
    return Arrival(burst, rate, units.read("data", packet) if packet is not None else 0.0)
