"""Expand the document of a system: replace groups by their members, make the links, and route streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from itertools import combinations, permutations, product
from typing import TypeVar

from icmodel.errors import NetworkError, ScenarioError
from icmodel.frozen import FrozenMapping
from icmodel.reading import Document
from icmodel.system.document import (
    MOST_PARTS,
    Devices,
    Links,
    Nodes,
    Streams,
    Switches,
    SystemDocument,
)
from icmodel.system.network import (
    Device,
    Link,
    Port,
    Stream,
    StreamRequirement,
    Switch,
    System,
)
from icmodel.system.packing import wire
from icmodel.system.routes import Cables, Topology, route_via, topology
from icmodel.system.schedulers import Fifo, Scheduler
from icmodel.theory import AnyFraming, ethernet, infiniband, rapidio, roce

MOST_NAMES = 8
"""Greatest number of names listed in an error message."""
_MTUS = {"ethernet": 1500, "infiniband": 4096, "roce": 4096, "rapidio": 256, "plain": 1500}
"""Default MTU of links [B], by interconnect. `icmodel.tables.wire` assumes the same for a dataset."""
_MEDIA = {"copper": ethernet.PROPAGATION_S_PER_M, "fibre": infiniband.PROPAGATION_S_PER_M}
_USUAL_CABLES: Mapping[str, type[AnyFraming]] = {
    "ethernet": ethernet.Framing,
    "infiniband": infiniband.Framing,
    "roce": roce.Framing,
    "rapidio": rapidio.Framing,
    "plain": ethernet.Framing,
}

Pairs = list[tuple[str, str]]
T = TypeVar("T", Device, Switch, Link, Port, Stream)


def expand(document: SystemDocument, requirements: tuple[StreamRequirement, ...] = ()) -> System:
    """Make a system from its document: expand groups of nodes, make links and ports, and route streams.

    Raises
    ------
    NetworkError
        If a name is unknown or used twice, the sizes of two groups do not fit their pairing, or a stream
        has no route.
    """
    tables = (*document.devices, *document.switches)
    named = groups((table.name, table.count) for table in tables)
    nodes = {member: table for table in tables for member in members(table.name, table.count)}
    devices, switches = [], []
    for name, node in nodes.items():
        if isinstance(node, Devices):
            devices.append(_from_table(Device, node, name=name, group=node.name))
        elif isinstance(node, Switches):
            own = node.scheduler or Fifo()
            switch = _from_table(Switch, node, name=name, group=node.name, scheduler=own)
            switches.append(switch)
    device_of, switch_of = _by_name(devices), _by_name(switches)
    links = _by_name(_links(document.links, named))
    ports = _by_name(_ports(links.values(), nodes, named))
    network = topology(nodes, switch_of, links.values())
    streams = _by_name(_streams(document.streams, named, network, Cables(ports.values())))
    return System(
        name=document.name,
        title=document.title,
        devices=device_of,
        switches=switch_of,
        links=links,
        ports=ports,
        streams=streams,
        requirements=requirements,
        source=document.source,
        known_limits=document.known_limits,
        usecase=document.usecase,
        costs=document.costs,
    )


def _by_name(parts: Iterable[T]) -> Mapping[str, T]:
    by_name: dict[str, T] = {}
    for part in parts:
        if part.name in by_name:
            kind = type(part).__name__.lower()
            raise NetworkError(f"two {kind}s are named {part.name!r}: give each its own name")
        by_name[part.name] = part
    return FrozenMapping(by_name)


def _from_table(kind: type[T], table: Document, **own: object) -> T:
    """Make a device, switch, link or stream from its table in the system file.

    Fields take the table's values of the same names. ``own`` has the values of all other fields.
    """
    same = {each.name for each in fields(kind)} & type(table).model_fields.keys()
    return kind(**{name: getattr(table, name) for name in same} | own)


# --- links and ports --------------------------------------------------------------------------


def _links(tables: Iterable[Links], named: Groups) -> Iterator[Link]:
    """Make the links of all tables, one for each cable between two nodes.

    If several cables join the same two nodes, the names of their links are numbered.
    """
    pairs: list[tuple[tuple[str, str], Links]] = []
    for number, table in enumerate(tables, 1):
        where = f"links no. {number}"
        try:
            wire("ethernet", _link((where, where), table, "")).framing  # noqa: B018
        except ScenarioError as error:
            raise NetworkError(f"{where}: {error}") from error
        first, second = (named.of(name, where) for name in table.between)
        try:
            joined = link_pairs(first, second, table.pairing)
        except NetworkError as error:
            raise NetworkError(f"{where} between {' and '.join(table.between)}: {error}") from error
        check_count(len(pairs) + len(joined) * table.parallel, "links")
        pairs += [(pair, table) for pair in joined for _ in range(table.parallel)]

    count = Counter(frozenset(pair) for pair, _ in pairs)
    so_far: Counter[frozenset[str]] = Counter()
    for pair, table in pairs:
        ends = frozenset(pair)
        so_far[ends] += 1
        yield _link(pair, table, f"#{so_far[ends]}" if count[ends] > 1 else "")


def _link(ends: tuple[str, str], table: Links, number: str) -> Link:
    propagation_s_per_m = table.propagation_s_per_m
    if propagation_s_per_m is None and table.medium is not None:
        propagation_s_per_m = _MEDIA[table.medium]
    if propagation_s_per_m is None:
        propagation_s_per_m = _USUAL_CABLES[table.interconnect].propagation_s_per_m
    return _from_table(
        Link,
        table,
        name=f"{ends[0]}<->{ends[1]}{number}",
        ends=ends,
        delay_s=table.length_m * propagation_s_per_m,
        mtu_bytes=table.mtu_bytes or _MTUS[table.interconnect],
    )


def _ports(links: Iterable[Link], nodes: Mapping[str, Nodes], named: Groups) -> Iterator[Port]:
    """Make the ports of all links, one for each direction of a link.

    A port without its own scheduler gets the scheduler of the node that sends.
    """
    schedulers: dict[tuple[str, str], Scheduler] = {}
    for name, table in nodes.items():
        for port in table.ports:
            for peer in named.of(port.to, f"a port of {name}"):
                schedulers[name, peer] = port.scheduler
    for link in links:
        number = link.name[link.name.find("#") :] if "#" in link.name else ""
        for node, peer in (link.ends, link.ends[::-1]):
            own = schedulers.get((node, peer)) or nodes[node].scheduler or Fifo()
            name = f"{node}->{peer}{number}"
            yield Port(name, link.name, node, peer, link.rate_bps, own)


# --- streams ----------------------------------------------------------------------------------


def _streams(
    tables: Iterable[Streams], named: Groups, network: Topology, cables: Cables
) -> Iterator[Stream]:
    """Make the streams that all tables describe, and find the route of each stream."""
    lost: list[Stream] = []
    count = 0
    for table in tables:
        sets = _sinks_by_source(table, named)
        count += sum(len(sinks) for _, sinks in sets) * table.count
        check_count(count, "streams")
        via = None if table.via is None else named.of_all(table.via, f"the stream {table.name}")
        for stream in _unrouted(table, sets):
            for end in (stream.source, stream.sink):
                if end in network.switches:
                    raise NetworkError(
                        f"the stream {stream.name} begins or ends at {end}, which is a switch: name "
                        "a device"
                    )
            if via is None:
                route = network.route(stream.source, stream.sink)
            else:
                route = route_via(network, stream, via)
            if route is None:
                lost.append(stream)
            else:
                yield replace(stream, path=cables.path(stream, route))
    if lost:
        first = lost[0]
        others = f" (likewise {len(lost) - 1} more)" if lost[1:] else ""
        raise NetworkError(
            f"the stream {first.name} has no route from {first.source} to {first.sink}{others}: add "
            "the missing link"
        )


def _sinks_by_source(table: Streams, named: Groups) -> list[tuple[str, tuple[str, ...]]]:
    """Source and sinks of each stream that a table describes.

    A multicast stream has all sinks of its source. Every other stream has one sink.
    """
    where = f"the stream {table.name}"
    sources, sinks = named.of_all(table.source, where), named.of_all(table.sink, where)
    pairing = table.pairing or ("each" if table.multicast else None)
    try:
        pairs = stream_pairs(sources, sinks, pairing)
    except NetworkError as error:
        raise NetworkError(f"{where}: {error}") from error
    if not table.multicast:
        return [(source, (sink,)) for source, sink in pairs]
    sinks_of: dict[str, list[str]] = {}
    for source, sink in pairs:
        sinks_of.setdefault(source, []).append(sink)
    return [(source, tuple(to)) for source, to in sinks_of.items()]


def _unrouted(table: Streams, sets: list[tuple[str, tuple[str, ...]]]) -> Iterator[Stream]:
    """Make the streams of a table, with empty paths; names are numbered if the table has several streams."""
    every = [pair for pair in sets for _ in range(table.count)]
    names = members(table.name, len(every))
    for name, (source, sinks) in zip(names, every, strict=True):
        for sink in sinks:
            yield _from_table(
                Stream,
                table,
                name=f"{name}/{sink}" if table.multicast else name,
                group=table.name,
                source=source,
                sink=sink,
                producer=table.produces.producer(table.payload_bytes),
                payload_bytes=table.frame_bytes(table.payload_bytes),
                path=(),
                multicast=name if table.multicast else None,
                paced_fps=table.rate_fps,
                options=FrozenMapping(dict(table.options)),
            )


# --- groups -----------------------------------------------------------------------------------


def check_count(count: int, parts: str) -> None:
    """Refuse a system with too many nodes, links, streams or pairs, before they are made.

    Raises
    ------
    NetworkError
        If the count exceeds `MOST_PARTS`.
    """
    if count > MOST_PARTS:
        raise NetworkError(
            f"the system has {count} {parts}, but at most {MOST_PARTS} are possible: use fewer"
        )


def members(name: str, count: int) -> tuple[str, ...]:
    """Names of the members of a group of equal nodes. The member of a group of one has the group's name.

    >>> members("camera", 3)
    ('camera-1', 'camera-2', 'camera-3')
    """
    return (name,) if count == 1 else tuple(f"{name}-{i + 1}" for i in range(count))


@dataclass(frozen=True, slots=True)
class Groups:
    """Nodes for which a name in a system file stands.

    The name of a group stands for all its members. The name of a member stands for this member.
    """

    members: Mapping[str, tuple[str, ...]]

    def of(self, name: str, where: str) -> tuple[str, ...]:
        """Nodes for which a name stands: all members of a group, or a single member.

        ``where`` describes the table that uses the name, for the error message.

        Raises
        ------
        NetworkError
            If no group and no member has the name.
        """
        if name in self.members:
            return self.members[name]
        close = get_close_matches(name, self.members, 1)
        some = list(self.members)[:MOST_NAMES]
        take = f"is {close[0]} meant" if close else f"take one of {', '.join(some)}"
        raise NetworkError(f"{where} names {name!r}, which is no device and no switch: {take}")

    def of_all(self, names: Iterable[str], where: str) -> tuple[str, ...]:
        """Nodes for which several names stand, each node once; ``where`` as in `of`."""
        return tuple(dict.fromkeys(member for name in names for member in self.of(name, where)))


def groups(counts: Iterable[tuple[str, int]]) -> Groups:
    """Make `Groups` from the name and the number of members of each group.

    Raises
    ------
    NetworkError
        If two groups, or a group and a member of another, have the same name.
    """
    members_of: dict[str, tuple[str, ...]] = {}
    each = list(counts)
    check_count(sum(count for _, count in each), "devices and switches")
    for name, count in each:
        own = members(name, count)
        for member in dict.fromkeys((name, *own)):
            if member in members_of:
                raise NetworkError(
                    f"two nodes are named {member!r} (a group with a count has members such as "
                    f"{members(name, 2)[0]}): give each group its own name"
                )
            members_of[member] = own if member == name else (member,)
    return Groups(members_of)


def link_pairs(first: tuple[str, ...], second: tuple[str, ...], pairing: str | None) -> Pairs:
    """Pairs of nodes that a table of links joins, given the members of its two groups.

    If a group is joined with itself, each pair of its members occurs once.

    Raises
    ------
    NetworkError
        If the members cannot be paired; see `stream_pairs`.
    """
    if first == second and pairing == "each":
        check_count(len(first) * (len(first) - 1) // 2, "pairs of one group")
        return list(combinations(first, 2))
    return _pairs(first, second, pairing)


def stream_pairs(first: tuple[str, ...], second: tuple[str, ...], pairing: str | None) -> Pairs:
    """Pairs of source and sink, given the members of the source group and the sink group.

    If both are the same group, each member sends to every other member.

    Raises
    ------
    NetworkError
        If the pairing is missing although both groups have several members. If the pairing does not fit
        the counts, or pairs a member with itself.
    """
    if first == second and pairing == "each":
        check_count(len(first) * (len(first) - 1), "pairs of one group")
        return list(permutations(first, 2))
    return _pairs(first, second, pairing)


def _pairs(first: tuple[str, ...], second: tuple[str, ...], pairing: str | None) -> Pairs:
    if pairing is None and min(len(first), len(second)) > 1:
        raise NetworkError(
            f"groups of {len(first)} and {len(second)} nodes can be paired in several ways: give "
            'pairing = "each", "one-to-one" or "spread"'
        )
    if pairing == "one-to-one" and len(first) != len(second):
        raise NetworkError(
            f"groups of {len(first)} and {len(second)} nodes cannot be paired one to one: give "
            'pairing = "each" or "spread", or equal counts'
        )
    if pairing in ("one-to-one", "spread"):
        n = max(len(first), len(second))
        pairs = [(first[i % len(first)], second[i % len(second)]) for i in range(n)]
    else:
        check_count(len(first) * len(second), "pairs of two groups")
        pairs = list(product(first, second))
    itself = next((a for a, b in pairs if a == b), None)
    if itself is not None:
        raise NetworkError(f"{itself} is paired with itself: name two different ends")
    return pairs
