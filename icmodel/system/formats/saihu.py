"""Quantities as Saihu writes them: a number in the unit of its surroundings, or a text with its own.

A unit is a prefix (a f p n u m k M G T P E, powers of 1000) before b or B (data), s, m or h (time; m is
minutes), or data ``p`` time (rates): ``10kbps``, ``2kB``, ``1ms``.
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
from icmodel.system.formats.foreign import (
    FAST_BPS,
    Arrival,
    Foreign,
    Table,
    needed,
    plain_cable,
    stream_table,
    tables,
)
from icmodel.system.network import Stream, System
from icmodel.system.packing import Packing, packing, stream_arrival_curve

_POWERS = {"a": -6, "f": -5, "p": -4, "n": -3, "u": -2, "m": -1, "": 0,
           "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}  # fmt: skip
_DATA = {"b": 1, "B": 8}
_TIME = {"s": 1, "m": 60, "h": 3600}
_NUMBER = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµ]*)\s*")
KINDS = ("data", "rate", "time")


def factor(kind: str, unit: str) -> Fraction:
    """What one of a unit is in bits, b/s or seconds.

    Raises
    ------
    NetworkError
        If it is no unit of that kind.
    """
    bases: Mapping[str, Fraction] = {
        "data": {name: Fraction(n) for name, n in _DATA.items()},
        "time": {name: Fraction(n) for name, n in _TIME.items()},
        "rate": {f"{d}p{t}": Fraction(n, s) for d, n in _DATA.items() for t, s in _TIME.items()},
    }[kind]
    for name, base in bases.items():
        prefix = unit.removesuffix(name)
        if unit.endswith(name) and prefix in _POWERS:
            return base * Fraction(1000) ** _POWERS[prefix]
    raise NetworkError(
        f"{unit!r} is no unit of {kind}: write one such as "
        f"{ {'data': 'B or kb', 'rate': 'Mbps', 'time': 'us'}[kind] }"
    )


@dataclass(frozen=True, slots=True)
class Units:
    """The units of plain numbers at one place of a file."""

    data: str = "b"
    rate: str = "bps"
    time: str = "s"

    def within(self, table: Mapping[str, Any]) -> Units:
        """The units inside a table that may say its own (``data_unit``, ``rate_unit``, ``time_unit``)."""
        return Units(*(str(table.get(f"{kind}_unit", getattr(self, kind))) for kind in KINDS))

    def read(self, kind: str, given: object) -> float:
        """A quantity in bits, b/s or seconds.

        Raises
        ------
        NetworkError
            If it is no number with or without a unit.
        """
        if isinstance(given, bool) or not isinstance(given, int | float | str):
            raise NetworkError(f"{given!r} is no {kind}: write a number or a text with its unit")
        match = _NUMBER.fullmatch(str(given))
        try:
            assert match is not None
            number = Fraction(match[1])
        except (AssertionError, ValueError):
            raise NetworkError(
                f"{given!r} is no {kind}: write a number, or a text with its unit"
            ) from None
        return float(number * factor(kind, match[2] or getattr(self, kind)))


Way = list[str]
Services = Mapping[str, tuple[float, float]]
"""Rate [b/s] and latency [s] of each server."""
ARROW = "->"
"""In the names of our ports: from the node that sends to the one that receives."""


def import_ports(document: Mapping[str, Any], file: str) -> Foreign:
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


UNITS = Units(data="B", rate="Mbps", time="us")
"""Of plain numbers: bytes as the README says; the others are rarely plain."""
Element = ElementTree.Element


def import_physical(text: str, file: str) -> Foreign:
    """The system of a physical network.

    Raises
    ------
    NetworkError
        If it is no XML, or an element lacks what it needs.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise NetworkError(f"{file} is not valid XML: {error}") from error
    network = root.find("network")
    about = {} if network is None else dict(network.attrib)
    name = about.get("name", file)
    made = Foreign(name, name, f"{file}, a physical network of Saihu")
    _remark_technology(about, made)
    for element in root.iter("station"):
        made.devices.append({"name": made.named(element.get("name"))})
    for element in root.iter("switch"):
        made.switches.append(_switch(element, made))
    made.links.extend(_links(root, made))
    for element in root.iter("flow"):
        made.streams.extend(_flow(element, about, made))
    return made


def _remark_technology(about: dict[str, str], made: Foreign) -> None:
    if technology := about.get("technology"):
        made.remark(
            f"the technology {technology} chooses how Saihu analyses, and is not carried over; every "
            "scheduler is first come, first served"
        )


def _switch(element: Element, made: Foreign) -> Table:
    latency = UNITS.read("time", element.get("service-latency", "0"))
    name = made.named(element.get("name"))
    return {"name": name, "forwarding": "cut-through", "latency_s": latency}


def _links(root: Element, made: Foreign) -> Iterator[Table]:
    """A cable for each link, one for two that lead there and back."""
    nodes = {one.get("name"): one for kind in ("station", "switch") for one in root.iter(kind)}
    there: dict[tuple[str, str], list[float]] = {}
    for element in root.iter("link"):
        where = f"the link {element.get('name', '')}".rstrip()
        ends = [needed(dict(element.attrib), key, where) for key in ("from", "to")]
        for end in ends:
            if end not in nodes:
                raise NetworkError(f"{where} names {end!r}, which is no station and no switch")
        rate = _rate(element, nodes[ends[0]], where, made)
        back = there.get((ends[1], ends[0]))
        if back:
            _check_back(back.pop(0), rate, where, made)
            continue
        there.setdefault((ends[0], ends[1]), []).append(rate)
        yield plain_cable(made.named(ends[0]), made.named(ends[1]), rate)


def _check_back(there_bps: float, back_bps: float, where: str, made: Foreign) -> None:
    if there_bps != back_bps:
        made.remark(
            f"{where} is slower or faster than the way back: the cable has the rate of the first"
        )


def _rate(link: Element, node: Element, where: str, made: Foreign) -> float:
    """The service rate of a link or of the node it leaves, else the capacity, else as good as none."""
    rates = [
        UNITS.read("rate", one.get(key))
        for key in ("service-rate", "transmission-capacity")
        for one in (link, node)
        if one.get(key) is not None
    ]
    if not rates:
        made.remark("links of which the file says no rate have 1 Tb/s")
        return FAST_BPS
    if rates[0] < max(rates):
        made.remark(
            "a transmission capacity above the service rate, which shapes what leaves a port, is not "
            "carried over: the link has the service rate"
        )
    return rates[0]


def _flow(element: Element, about: dict[str, str], made: Foreign) -> Iterator[Table]:
    """A stream for each target; Saihu counts them as flows of their own."""
    where = f"the flow {element.get('name', '')}".rstrip()
    table = dict(element.attrib)
    if table.get("arrival-curve", "leaky-bucket") != "leaky-bucket":
        raise NetworkError(
            f"{where} has the arrival curve {table['arrival-curve']!r}: icmodel reads leaky-bucket"
        )
    packet = table.get("maximum-packet-size", about.get("maximum-packet-size"))
    arrival = Arrival(
        UNITS.read("data", needed(table, "lb-burst", where)),
        UNITS.read("rate", needed(table, "lb-rate", where)),
        UNITS.read("data", packet) if packet else 0.0,
    )
    name, source = (
        made.named(needed(table, "name", where)),
        made.named(needed(table, "source", where)),
    )
    ways = [[made.named(one.get("node")) for one in target] for target in element.iter("target")]
    if not ways or not all(ways):
        raise NetworkError(f"{where} has a target without a path: name its nodes")
    if len(ways) == 1:
        yield {**stream_table(name, arrival, made), "source": source, "sink": ways[0][-1],
               "via": ways[0][:-1]}  # fmt: skip
        return
    sinks = list(dict.fromkeys(way[-1] for way in ways))
    made.remark(f"the ways of the copies of {name} are found anew: those of the file are not kept")
    yield {**stream_table(name, arrival, made), "source": source, "sink": sinks, "multicast": True}


NOT_SAID = (
    "schedulers, priorities, buffers, datasets, cores and requirements have no place in Saihu's file: every "
    "port is first come, first served"
)


def exported(system: System) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Servers for all ports that send, flows with the bits they have on the wire; and remarks."""
    packed = packing(system)
    kept = [stream for stream in system.streams.values() if stream.producer is not None]
    used = dict.fromkeys(name for stream in kept for name in _path(system, stream))
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
            _exported_flow(system, packed, name, copies)
            for (_, name), copies in system.multicast_sets().items()
            if copies[0].producer is not None
        ],
        "servers": [_server(system, name) for name in used],
    }
    return document, tuple(_remarks(system, len(used)))


def _remarks(system: System, servers: int) -> Iterator[str]:
    yield NOT_SAID
    yield "bursts and rates are those on the wire, with all that goes around a frame"
    streams = system.streams.values()
    if servers < len({name for one in streams if one.producer for name in one.path}):
        yield "ports of 1 Tb/s, which stand for links of which nobody said a rate, are left out"
    for stream in streams:
        if stream.producer is None:
            yield f"{stream.name} sends as fast as it goes, which no arrival curve says: left out"


def _path(system: System, stream: Stream) -> list[str]:
    """The ports of a stream, without those that stand for no link of a known rate."""
    said = [name for name in stream.path if system.ports[name].rate_bps != FAST_BPS]
    return said or list(stream.path)


def _server(system: System, name: str) -> dict[str, object]:
    port = system.ports[name]
    node = system.switches.get(port.node)
    latency = (node.latency_s if node else 0.0) + system.links[port.link].delay_s
    return {
        "name": name,
        "service_curve": {"latencies": [latency], "rates": [port.rate_bps]},
        "capacity": port.rate_bps,
    }


def _exported_flow(
    system: System, packed: Packing, name: str, copies: list[Stream]
) -> dict[str, object]:
    first = copies[0]
    each = [packed.of(one, link) for one in copies for link in system.links_of(one)]
    longest = max(on.waiting.longest_bits for on in each)
    buckets = stream_arrival_curve(
        first, each, longest, system.ports[first.path[0]].rate_bps
    ).buckets
    found: dict[str, object] = {
        "name": name,
        "path": _path(system, first),
        "arrival_curve": {
            "bursts": [bucket.burst_bits for bucket in buckets],
            "rates": [bucket.rate_bps for bucket in buckets],
        },
        "max_packet_length": longest,
    }
    if copies[1:]:
        found["multicast"] = [{"name": one.name, "path": _path(system, one)} for one in copies[1:]]
    return found
