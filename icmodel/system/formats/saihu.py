"""Saihu's files: import its output-port and physical networks, export output-port networks.

An output-port network (JSON) has servers with service curves. Flows with arrival curves pass these servers. A
physical network (the XML of WOPANet) has stations, switches, links and flows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from icmodel.errors import NetworkError
from icmodel.system.formats.imported import (
    FAST_BPS,
    ImportedSystem,
    Table,
    TokenBucketFlow,
    needed,
    needed_list,
    plain_cable,
    tables,
)
from icmodel.system.network import Stream, System
from icmodel.system.prediction.bounding import stream_arrival_curve
from icmodel.system.traffic import Packing, packing

ServerPath = list[str]
Services = Mapping[str, tuple[float, float]]
"""Service curve of each server by name: rate [b/s] and latency [s]."""
ARROW = "->"
"""Separator in port names of icmodel: sending node, separator, receiving node."""


# --- import of output-port networks -----------------------------------------------------------


def import_ports(document: Mapping[str, Any], file: str) -> ImportedSystem:
    """Convert an output-port network (JSON of Saihu) to the tables of a system.

    Raises
    ------
    NetworkError
        If a required key is missing, or a flow passes a server that does not exist.
    """
    about = document.get("network")
    about = about if isinstance(about, dict) else {}
    units = Units().within(about)
    name = str(about.get("name") or file)
    made = ImportedSystem(name, name, f"{file}, an output-port network of Saihu")
    flows, servers = tables(document, "flows", file), tables(document, "servers", file)
    names = [str(needed(server, "name", "a server")) for server in servers]
    paths = {str(needed(flow, "name", "a flow")): _paths(flow, names) for flow in flows}
    every = [path for several in paths.values() for path in several]
    node_of = _nodes(names, every, made)

    multiplexing = about.get("multiplexing", "FIFO")
    orders = multiplexing if isinstance(multiplexing, list) else [multiplexing]
    if any(str(order).upper() != "FIFO" for order in orders):
        made.remark(
            f"the multiplexing {multiplexing} is not imported: every scheduler is first come, first "
            "served"
        )
    for key in ("packetizer", "analysis_option", "min_packet_length"):
        if about.get(key):
            made.remark(f"{key} of the network, {about[key]}, is not imported")

    services = {str(server["name"]): _service(server, units, made) for server in servers}
    _add_switches(services, node_of, made)
    peers = _add_links(services, node_of, every, made)
    for flow in flows:
        _add_flow(flow, paths[str(flow["name"])], node_of, peers, units.within(flow), made)
    return made


def _paths(flow: Mapping[str, Any], servers: list[str]) -> list[ServerPath]:
    """Paths of a flow as lists of servers; a multicast flow has several paths."""
    where = f"the flow {flow['name']}"
    branches = [flow, *tables(flow, "multicast", where)]
    paths = [[str(server) for server in needed_list(branch, "path", where)] for branch in branches]
    for server in (name for path in paths for name in path):
        if server not in servers:
            raise NetworkError(
                f"{where} passes {server!r}, which is not a server of the file: add this server"
            )
    return paths


def _nodes(servers: list[str], paths: list[ServerPath], made: ImportedSystem) -> dict[str, str]:
    """Map each server (sending port) to the node that has the port; the file has no nodes.

    A link ends at one node. So if paths lead from one server to several servers, these servers are ports of the same
    node. The node's name is the first part of its servers' names, if this part is the same in all of them: s1 for the
    servers s1-o0 and s1-o1, and s1 for the server s1->s2.
    """
    after: dict[str, list[str]] = {}
    for path in paths:
        for here, there in pairwise(path):
            after.setdefault(here, []).append(there)
    node = {name: name for name in servers}
    for group in after.values():
        kept = node[group[0]]
        joined = {node[name] for name in group}
        node = {name: kept if at in joined else at for name, at in node.items()}

    bases: dict[str, set[str]] = {}
    for server, at in node.items():
        base = server.partition(ARROW)[0] if ARROW in server else server.rpartition("-")[0]
        bases.setdefault(at, set()).add(base)
    common = {at: next(iter(of)) for at, of in bases.items() if len(of) == 1 and "" not in of}
    taken = list(common.values())
    name_of = {
        at: common[at] if at in common and taken.count(common[at]) == 1 else f"{at}-node"
        for at in bases
    }
    return {server: made.allowed_name(name_of[at]) for server, at in node.items()}


def _service(server: Mapping[str, Any], units: Units, made: ImportedSystem) -> tuple[float, float]:
    """Rate [b/s] and latency [s] of a server, from its service curve.

    If the curve has several pieces, the piece with the least latency is used.
    """
    where, own = f"the server {server['name']}", units.within(server)
    pieces = _pieces(
        server, "service_curve", (("latencies", "time"), ("rates", "rate")), own, where
    )
    if len(pieces) > 1:
        made.remark(
            "of a service curve with several pieces, only the piece with the least latency is kept: a lower curve, "
            "so that bounds stay valid"
        )
    capacity = server.get("capacity")
    if capacity is not None and own.read("rate", capacity) > max(rate for _, rate in pieces):
        made.remark(
            "a capacity above the service rate, which would shape the output of the port, is not imported: "
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
    """Pieces of a piecewise linear curve in the file, as pairs of numbers, such as burst [b] and rate [b/s].

    The file has the curve as two lists of equal length. ``lists`` has the name of each list, and the kind of its
    numbers: ``(("bursts", "data"), ("rates", "rate"))``.
    """
    curve = needed(table, key, where)
    first, second = (
        [units.read(kind, value) for value in needed_list(curve, name, where)]
        for name, kind in lists
    )
    if len(first) != len(second):
        raise NetworkError(
            f"{where} has {len(first)} {lists[0][0]} and {len(second)} {lists[1][0]}: give as many of both"
        )
    return list(zip(first, second, strict=True))


def _add_switches(services: Services, node_of: Mapping[str, str], made: ImportedSystem) -> None:
    """Add a switch for each node; its latency is the greatest latency of the node's servers (sending ports)."""
    latencies: dict[str, float] = {}
    for name, (_, own) in services.items():
        node = node_of[name]
        if latencies.setdefault(node, own) != own:
            made.remark(f"the servers of {node} have several latencies: all get the greatest")
        latencies[node] = max(latencies[node], own)
    for node, latency_s in latencies.items():
        made.switches.append({"name": node, "forwarding": "cut-through", "latency_s": latency_s})


def _add_links(
    services: Services, node_of: Mapping[str, str], paths: list[ServerPath], made: ImportedSystem
) -> dict[str, str]:
    """Add a link from each server (sending port) to the next node, or to a new device if all its flows end there.

    Returns a mapping: name of a server -> name of the node or device at the other end of its link.
    """
    peers = {here: node_of[there] for path in paths for here, there in pairwise(path)}
    for name, (rate, _) in services.items():
        if name not in peers:
            peers[name] = _sink_name(name, node_of, made)
            made.devices.append({"name": peers[name]})
        made.links.append(plain_cable(node_of[name], peers[name], rate))
    return peers


def _sink_name(server: str, node_of: Mapping[str, str], made: ImportedSystem) -> str:
    """Name of the device that receives from a server; ends in ``-sink`` if a node has the same name."""
    name = made.allowed_name(server.partition(ARROW)[2].replace("#", "-") or f"{server}-sink")
    return f"{name}-sink" if name in node_of.values() else name


def _add_flow(
    flow: Mapping[str, Any],
    paths: list[ServerPath],
    node_of: Mapping[str, str],
    peers: Mapping[str, str],
    units: Units,
    made: ImportedSystem,
) -> None:
    """Add a device that sends a flow, and a stream from it to the receivers of the flow.

    The flow has a receiver at the end of each of its ``paths``. Several receivers make the stream a multicast.
    """
    name, where = made.allowed_name(flow["name"]), f"the flow {flow['name']}"
    source = f"{name}-source"
    made.devices.append({"name": source})
    made.links.append(plain_cable(source, node_of[paths[0][0]], FAST_BPS))
    made.remark("the links of sending devices are not in the file: they have 1 Tb/s")
    sinks = [_sink(path[-1], node_of, peers, made) for path in paths]

    pieces = _pieces(flow, "arrival_curve", (("bursts", "data"), ("rates", "rate")), units, where)
    if len(pieces) > 1:
        made.remark(
            "of an arrival curve with several pieces, only the piece with the least burst is kept: a higher curve, "
            "so that bounds stay valid"
        )
    burst, rate = min(pieces)
    packet = flow.get("max_packet_length")
    bucket = TokenBucketFlow(burst, rate, 0.0 if packet is None else units.read("data", packet))
    table: Table = {**bucket.stream_table(name, made), "source": source}
    if len(paths) == 1:
        via = list(dict.fromkeys(node_of[server] for server in paths[0]))
        made.streams.append({**table, "sink": sinks[0], "via": via})
    else:
        made.streams.append({**table, "sink": sinks, "multicast": True})


def _sink(
    server: str, node_of: Mapping[str, str], peers: Mapping[str, str], made: ImportedSystem
) -> str:
    """Name of the device that receives a flow: the device behind the flow's last server.

    If other flows go on from that server to further servers, a node is behind it instead of a device. Then a new device
    is made, linked to this node, and receives the flow.
    """
    own = _sink_name(server, node_of, made)
    if any(device["name"] == own for device in made.devices):
        return own
    made.devices.append({"name": own})
    made.links.append(plain_cable(peers[server], own, FAST_BPS))
    made.remark(
        "where one flow ends and another goes on, an added device receives the flow that ends, over a link of 1 Tb/s"
    )
    return own


# --- import of physical networks --------------------------------------------------------------

Element = ElementTree.Element


def import_physical(text: str, file: str) -> ImportedSystem:
    """Convert a physical network (XML of WOPANet) to the tables of a system.

    Raises
    ------
    NetworkError
        If the file is not valid XML, or an element lacks a required attribute.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise NetworkError(f"{file} is not valid XML: {error}") from error
    network = root.find("network")
    about = {} if network is None else dict(network.attrib)
    name = about.get("name", file)
    made = ImportedSystem(name, name, f"{file}, a physical network of Saihu")
    if technology := about.get("technology"):
        made.remark(
            f"the technology {technology} selects Saihu's analysis, and is not imported; every "
            "scheduler is first come, first served"
        )
    for element in root.iter("station"):
        made.devices.append({"name": made.allowed_name(element.get("name"))})
    for element in root.iter("switch"):
        latency_s = PHYSICAL_UNITS.read("time", element.get("service-latency", "0"))
        switch = made.allowed_name(element.get("name"))
        made.switches.append({"name": switch, "forwarding": "cut-through", "latency_s": latency_s})
    made.links.extend(_physical_links(root, made))
    for element in root.iter("flow"):
        made.streams.append(_physical_flow(element, about, made))
    return made


def _physical_links(root: Element, made: ImportedSystem) -> Iterator[Table]:
    """Yield the table of a cable for each link; two links in opposite directions form one cable."""
    nodes = {node.get("name"): node for kind in ("station", "switch") for node in root.iter(kind)}
    one_way: dict[tuple[str, str], list[float]] = {}
    for element in root.iter("link"):
        where = f"the link {element.get('name', '')}".rstrip()
        here, there = (needed(dict(element.attrib), key, where) for key in ("from", "to"))
        for end in (here, there):
            if end not in nodes:
                raise NetworkError(
                    f"{where} names {end!r}, which is neither a station nor a switch: add this node"
                )
        rate = _physical_rate_bps(element, nodes[here], made)
        if back := one_way.get((there, here)):
            if back.pop(0) != rate:
                made.remark(
                    f"{where} and its opposite direction have different rates: the cable has the rate of the first"
                )
            continue
        one_way.setdefault((here, there), []).append(rate)
        yield plain_cable(made.allowed_name(here), made.allowed_name(there), rate)


def _physical_rate_bps(link: Element, node: Element, made: ImportedSystem) -> float:
    """Rate of a cable [b/s]: the first rate that the file states for the link or for the node that sends over it.

    The order is: service rate of the link, service rate of the node, transmission capacity of the link, transmission
    capacity of the node. If the file states none of them, the rate is 1 Tb/s.
    """
    rates = [
        PHYSICAL_UNITS.read("rate", element.get(key))
        for key in ("service-rate", "transmission-capacity")
        for element in (link, node)
        if element.get(key) is not None
    ]
    if not rates:
        made.remark("links without a rate in the file have 1 Tb/s")
        return FAST_BPS
    if rates[0] < max(rates):
        made.remark(
            "a transmission capacity above the service rate, which would shape the output of the port, is not "
            "imported: the link has the service rate"
        )
    return rates[0]


def _physical_flow(element: Element, about: Mapping[str, str], made: ImportedSystem) -> Table:
    """Make the table of a stream for a flow; a flow with several targets becomes a multicast stream."""
    where = f"the flow {element.get('name', '')}".rstrip()
    table = dict(element.attrib)
    if table.get("arrival-curve", "leaky-bucket") != "leaky-bucket":
        raise NetworkError(
            f"{where} has the arrival curve {table['arrival-curve']!r}, but icmodel reads only "
            "leaky-bucket: use leaky-bucket"
        )
    packet = table.get("maximum-packet-size", about.get("maximum-packet-size"))
    bucket = TokenBucketFlow(
        PHYSICAL_UNITS.read("data", needed(table, "lb-burst", where)),
        PHYSICAL_UNITS.read("rate", needed(table, "lb-rate", where)),
        PHYSICAL_UNITS.read("data", packet) if packet else 0.0,
    )
    name = made.allowed_name(needed(table, "name", where))
    source = made.allowed_name(needed(table, "source", where))
    paths = [
        [made.allowed_name(node.get("node")) for node in target]
        for target in element.iter("target")
    ]
    if not paths or not all(paths):
        raise NetworkError(f"{where} has a target without a path: name the nodes of the path")
    stream = {**bucket.stream_table(name, made), "source": source}
    if len(paths) == 1:
        return {**stream, "sink": paths[0][-1], "via": paths[0][:-1]}
    made.remark(
        f"the routes of the copies of {name} are not kept from the file: they are computed again"
    )
    sinks = list(dict.fromkeys(path[-1] for path in paths))
    return {**stream, "sink": sinks, "multicast": True}


# --- export of output-port networks -----------------------------------------------------------

NOT_IN_SAIHU = (
    "Saihu's file cannot hold schedulers, priorities, buffers, datasets, cores and requirements: every "
    "port is first come, first served"
)


def export_ports(system: System) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Convert a system to an output-port network, with remarks on features that the network cannot express.

    Each sending port becomes a server. Each stream becomes a flow, counted in bits on the wire.
    """
    packed = packing(system)
    streams = system.streams.values()
    limited = [stream for stream in streams if stream.producer is not None]
    used = dict.fromkeys(name for stream in limited for name in _known_ports(system, stream))
    servers = []
    for name in used:
        port = system.ports[name]
        node = system.switches.get(port.node)
        latency = (node.latency_s if node else 0.0) + system.links[port.link].delay_s
        curve = {"latencies": [latency], "rates": [port.rate_bps]}
        servers.append({"name": name, "service_curve": curve, "capacity": port.rate_bps})
    document: dict[str, object] = {
        "network": {
            "name": system.name,
            "packetizer": True,
            "multiplexing": "FIFO",
            "time_unit": "s",
            "data_unit": "b",
            "rate_unit": "bps",
        },
        "flows": [
            _flow(system, packed, name, copies)
            for (_, name), copies in system.multicast_sets().items()
            if copies[0].producer is not None
        ],
        "servers": servers,
    }

    remarks = [
        NOT_IN_SAIHU,
        "bursts and rates are those on the wire, with headers, preamble and gap",
    ]
    if len(used) < len({name for stream in limited for name in stream.path}):
        remarks.append("ports of 1 Tb/s, which stand for links without a stated rate, are left out")
    remarks += [
        f"{stream.name} sends at full speed, which no arrival curve can express: left out"
        for stream in streams
        if stream.producer is None
    ]
    return document, tuple(remarks)


def _known_ports(system: System, stream: Stream) -> list[str]:
    """Names of the ports on a stream's path whose link has a known rate; all ports if no link has a known rate."""
    known = [name for name in stream.path if system.ports[name].rate_bps != FAST_BPS]
    return known or list(stream.path)


def _flow(system: System, packed: Packing, name: str, copies: list[Stream]) -> dict[str, object]:
    first = copies[0]
    on_links = [packed.of(copy, link) for copy in copies for link in system.links_of(copy)]
    longest = max(on.waiting.longest_bits for on in on_links)
    line_bps = system.ports[first.path[0]].rate_bps
    buckets = stream_arrival_curve(first, on_links, longest, line_bps).buckets
    flow: dict[str, object] = {
        "name": name,
        "path": _known_ports(system, first),
        "arrival_curve": {
            "bursts": [bucket.burst_bits for bucket in buckets],
            "rates": [bucket.rate_bps for bucket in buckets],
        },
        "max_packet_length": longest,
    }
    if copies[1:]:
        flow["multicast"] = [
            {"name": copy.name, "path": _known_ports(system, copy)} for copy in copies[1:]
        ]
    return flow


# --- quantities -------------------------------------------------------------------------------

_POWERS = {"a": -6, "f": -5, "p": -4, "n": -3, "u": -2, "m": -1, "": 0,
           "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}  # fmt: skip
_DATA = {"b": 1, "B": 8}
_TIME = {"s": 1, "m": 60, "h": 3600}
_BASES: Mapping[str, Mapping[str, Fraction]] = {
    "data": {name: Fraction(n) for name, n in _DATA.items()},
    "rate": {f"{d}p{t}": Fraction(n, s) for d, n in _DATA.items() for t, s in _TIME.items()},
    "time": {name: Fraction(n) for name, n in _TIME.items()},
}
_EXAMPLES = {"data": "B or kb", "rate": "Mbps", "time": "us"}
_NUMBER = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-zµ]*)\s*")


@dataclass(frozen=True, slots=True)
class Units:
    """Default units for plain numbers in one table of Saihu's file.

    A unit is a prefix and a base unit. The prefixes are a f p n u m k M G T P E, powers of 1000. The base unit of
    data is b or B. The base unit of time is s, m (minutes) or h. The base unit of a rate consists of both, with
    ``p`` between them. Examples are ``2kB``, ``1ms`` and ``10kbps``.
    """

    data: str = "b"
    rate: str = "bps"
    time: str = "s"

    def within(self, table: Mapping[str, Any]) -> Units:
        """Return the default units of ``table``, a table nested in the one to which these units belong.

        The nested table may state its own in the keys ``data_unit``, ``rate_unit`` and ``time_unit``. For a missing
        key, these units apply.
        """
        return Units(*(str(table.get(f"{kind}_unit", getattr(self, kind))) for kind in _BASES))

    def read(self, kind: str, value: object) -> float:
        """Read a quantity of a kind (data, rate or time), and convert it to bits, b/s or seconds.

        Raises
        ------
        NetworkError
            If the value is no number, with or without a unit.

        Examples
        --------
        >>> Units(data="B").read("data", 10), Units().read("rate", "10kbps")
        (80.0, 10000.0)
        """
        number = isinstance(value, int | float | str) and not isinstance(value, bool)
        match = _NUMBER.fullmatch(str(value)) if number else None
        try:
            if match is None:
                raise ValueError
            return float(Fraction(match[1]) * factor(kind, match[2] or getattr(self, kind)))
        except (ValueError, OverflowError):
            raise NetworkError(
                f"{value!r} cannot be read as {kind}: write a number, or a text with number and unit"
            ) from None


PHYSICAL_UNITS = Units(data="B", rate="Mbps", time="us")
"""Default units in physical networks: bytes by Saihu's README; Mb/s and µs are assumed."""


def factor(kind: str, unit: str) -> Fraction:
    """Size of a unit in bits, b/s or seconds.

    Raises
    ------
    NetworkError
        If the text is no unit of this kind.
    """
    for name, base in _BASES[kind].items():
        prefix = unit.removesuffix(name)
        if unit.endswith(name) and prefix in _POWERS:
            return base * Fraction(1000) ** _POWERS[prefix]
    raise NetworkError(f"{unit!r} is not a unit of {kind}: write a unit such as {_EXAMPLES[kind]}")
