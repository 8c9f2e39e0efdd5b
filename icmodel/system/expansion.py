"""Expand the document of a system: replace groups by their members, make the links, and route streams."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from itertools import combinations, permutations, product
from typing import TypeVar

from icmodel.errors import NODES, Fault, Mistakes, NetworkError, Place, ScenarioError
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
from icmodel.system.routes import Cables, Route, Topology, route_via, topology
from icmodel.system.schedulers import Fifo, Scheduler
from icmodel.system.traffic import wire
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

NAMES: tuple[Place, ...] = (("devices", None, "name"), ("switches", None, "name"))
"""Places (paths of values in a file) that hold the names of nodes."""
ANY_LINK: Place = ("links", None, "ends")
"""Place (path of a value in a file) that stands for the ends of any link; no file contains this path.

If a link is left out because of a mistake, this place is marked as unknown. Later faults about nodes
without a link are then left out.
"""
ALL_LINKS: tuple[Place, ...] = (ANY_LINK, ("devices", None, "links"), ("switches", None, "links"))
"""Places (paths of values in a file) that stand for the links of any node; no file contains these paths.

If a link is left out because of a mistake, these places are marked as unknown. Later faults about missing
routes are then left out.
"""
Pairs = list[tuple[str, str]]
T = TypeVar("T", Device, Switch, Link, Port, Stream)


def expand(document: SystemDocument, requirements: tuple[StreamRequirement, ...] = ()) -> System:
    """Make a system from its document: expand groups of nodes, make links and ports, and route streams.

    Raises
    ------
    NetworkError
        If a name is unknown or used twice, the sizes of two groups do not fit their pairing, or a stream has
        no route. The message lists all these mistakes.
    """
    mistakes = Mistakes(document.name)
    system = expand_sound_part(document, requirements, mistakes)
    mistakes.refuse(NetworkError)
    return system


def expand_sound_part(
    document: SystemDocument, requirements: tuple[StreamRequirement, ...], mistakes: Mistakes
) -> System:
    """Make a system from the valid part of a document, and add the mistakes of the rest to ``mistakes``.

    The system lacks every link and stream that has a mistake. For a valid document, the result equals that of `expand`.

    Raises
    ------
    NetworkError
        If the system has too many nodes.
    """
    placed: list[tuple[Nodes, Place]] = [
        *((table, ("devices", number)) for number, table in enumerate(document.devices)),
        *((table, ("switches", number)) for number, table in enumerate(document.switches)),
    ]
    total = sum(table.count for table, _ in placed)
    with mistakes.at("devices"):
        check_count(total, "devices and switches")
    if total > MOST_PARTS:
        mistakes.refuse(NetworkError)
    named, nodes = Groups(), dict[str, Nodes]()
    for table, place in placed:
        try:
            named.add(table.name, table.count)
        except NetworkError as error:
            needs, also = ((*place, "count"),), ((NODES, table.name),)
            mistakes.add(Fault(str(error), (*place, "name"), needs, also=also))
        else:
            nodes |= dict.fromkeys(members(table.name, table.count), table)
    devices, switches = dict[str, Device](), dict[str, Switch]()
    for name, node in nodes.items():
        if isinstance(node, Devices):
            devices[name] = _from_table(Device, node, name=name, group=node.name)
        elif isinstance(node, Switches):
            own = node.scheduler or Fifo()
            switches[name] = _from_table(Switch, node, name=name, group=node.name, scheduler=own)
    links = {link.name: link for link in _links(document.links, named, mistakes)}
    peers = _schedulers(placed, named, mistakes)
    ports = {port.name: port for port in _ports(links.values(), nodes, peers)}
    network = topology(nodes, switches, links.values())
    cables = Cables(ports.values())
    return System(
        name=document.name,
        title=document.title,
        devices=FrozenMapping(devices),
        switches=FrozenMapping(switches),
        links=FrozenMapping(links),
        ports=FrozenMapping(ports),
        streams=FrozenMapping(_streams(document.streams, named, nodes, network, cables, mistakes)),
        requirements=requirements,
        source=document.source,
        known_limits=document.known_limits,
        usecase=document.usecase,
        costs=document.costs,
    )


def _from_table(kind: type[T], table: Document, **other_fields: object) -> T:
    """Make a device, switch, link or stream from its table in the system file.

    A field with the name of a key of the table gets the value of the key. ``other_fields`` has the values of the
    remaining fields, and of fields whose value differs from that in the table.
    """
    same = {each.name for each in fields(kind)} & type(table).model_fields.keys()
    return kind(**{name: getattr(table, name) for name in same} | other_fields)


# --- links and ports --------------------------------------------------------------------------


def _links(tables: Iterable[Links], named: Groups, mistakes: Mistakes) -> Iterator[Link]:
    """Make the links of all tables, one for each cable between two nodes.

    If several cables join the same two nodes, the names of their links are numbered.
    """
    pairs: list[tuple[tuple[str, str], Links]] = []
    if mistakes.left_out("links"):
        mistakes.forget(*ALL_LINKS)
    for number, table in enumerate(tables):
        where = f"links no. {mistakes.number_in_file('links', number) + 1}"
        with mistakes.at("links", number, "mtu_bytes", needs=(("links", number, "interconnect"),)):
            try:
                wire("ethernet", _link((where, where), table, "")).framing  # noqa: B018
            except ScenarioError as error:
                table = table.model_copy(update={"mtu_bytes": None})
                raise NetworkError(f"{where}: {error}") from error
        place: Place = ("links", number, "between")
        first, second = (
            named.nodes_of([name], where, (*place, at), mistakes)
            for at, name in enumerate(table.between)
        )
        if not first or not second:
            mistakes.forget(*ALL_LINKS)
            continue
        try:
            joined = link_pairs(first, second, table.pairing)
            check_count(len(pairs) + len(joined) * table.parallel, "links")
        except NetworkError as error:
            counts = ((NODES, name, "count") for name in table.between)
            text = f"{where} between {' and '.join(table.between)}: {error}"
            mistakes.add(
                Fault(
                    text,
                    place,
                    (("links", number, "pairing"), *counts),
                    also=(ANY_LINK, *((NODES, name, "links") for name in table.between)),
                )
            )
        else:
            pairs += [(pair, table) for pair in joined for _ in range(table.parallel)]

    count = Counter(frozenset(pair) for pair, _ in pairs)
    so_far: Counter[frozenset[str]] = Counter()
    for pair, table in pairs:
        ends_of_pair = frozenset(pair)
        so_far[ends_of_pair] += 1
        yield _link(pair, table, f"#{so_far[ends_of_pair]}" if count[ends_of_pair] > 1 else "")


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
        group=table.key,
        delay_s=table.length_m * propagation_s_per_m,
        mtu_bytes=table.mtu_bytes or _MTUS[table.interconnect],
    )


def _schedulers(
    placed: Iterable[tuple[Nodes, Place]], named: Groups, mistakes: Mistakes
) -> Mapping[tuple[str, str], Scheduler]:
    """Schedulers stated for single ports, as a mapping: (node of the port, neighbour behind its link) -> scheduler."""
    schedulers: dict[tuple[str, str], Scheduler] = {}
    for table, place in placed:
        for number, port in enumerate(table.ports):
            where = f"a port of {table.name}"
            peers = named.nodes_of([port.to], where, (*place, "ports", number, "to"), mistakes)
            for name in members(table.name, table.count):
                schedulers |= {(name, peer): port.scheduler for peer in peers}
    return schedulers


def _ports(
    links: Iterable[Link],
    nodes: Mapping[str, Nodes],
    schedulers: Mapping[tuple[str, str], Scheduler],
) -> Iterator[Port]:
    """Make the ports of all links, one for each direction of a link, at the node that sends.

    A port without a scheduler of its own gets the scheduler of this node.
    """
    for link in links:
        number = link.name[link.name.find("#") :] if "#" in link.name else ""
        for node, peer in (link.ends, link.ends[::-1]):
            own = schedulers.get((node, peer)) or nodes[node].scheduler or Fifo()
            name = f"{node}->{peer}{number}"
            yield Port(name, link.name, node, peer, link.rate_bps, own)


# --- streams ----------------------------------------------------------------------------------


def _streams(
    tables: Iterable[Streams],
    named: Groups,
    nodes: Mapping[str, Nodes],
    network: Topology,
    cables: Cables,
    mistakes: Mistakes,
) -> dict[str, Stream]:
    """Make the streams that all tables describe, and find the route of each stream."""
    streams: dict[str, Stream] = {}
    count = 0
    for number, table in enumerate(tables):
        where = f"the stream {table.name}"
        place: Place = ("streams", number)
        sources = named.nodes_of(table.source, where, (*place, "source"), mistakes)
        sinks = named.nodes_of(table.sink, where, (*place, "sink"), mistakes)
        via = named.nodes_of(table.via or (), where, (*place, "via"), mistakes)
        ends = tuple((NODES, name, "count") for name in (*table.source, *table.sink))
        made: dict[str, Stream] = {}
        with mistakes.at(*place, "sink", needs=((*place, "source"), (*place, "pairing"), *ends)):
            sets = _sinks_by_source(table, sources, sinks)
            count += sum(len(sinks) for _, sinks in sets) * table.count
            check_count(count, "streams")
            routed = _routed(table, sets, nodes, network, via, place, mistakes)
            made = {one.name: replace(one, path=cables.path(one, way)) for one, way in routed}
            if twice := next((name for name in made if name in streams), None):
                text = f"two streams are named {twice!r}: give each its own name"
                mistakes.add(Fault(text, (*place, "name")))
            streams |= made
        if not made:
            mistakes.forget((*place, "made"))
    return streams


def _routed(
    table: Streams,
    sets: list[tuple[str, tuple[str, ...]]],
    nodes: Mapping[str, Nodes],
    network: Topology,
    via: tuple[str, ...],
    place: Place,
    mistakes: Mistakes,
) -> list[tuple[Stream, Route]]:
    """Make the streams of a table, each with its route; empty if one of these streams has no route."""
    routed: list[tuple[Stream, Route]] = []
    lost: list[Stream] = []
    for stream in _unrouted(table, sets):
        for key, end in (("source", stream.source), ("sink", stream.sink)):
            if end in network.switches:
                text = f"the stream {stream.name} begins or ends at {end}, which is a switch: name a device"
                mistakes.add(Fault(text, (*place, key)))
                return []
        try:
            route = (
                route_via(network, stream, via)
                if via
                else network.route(stream.source, stream.sink)
            )
        except NetworkError as error:
            mistakes.add(Fault(str(error), (*place, "via"), ALL_LINKS))
            return []
        if route is None:
            lost.append(stream)
        else:
            routed.append((stream, route))
    if not lost:
        return routed
    first = lost[0]
    others = f" (likewise {len(lost) - 1} more)" if lost[1:] else ""
    text = (
        f"the stream {first.name} has no route from {first.source} to {first.sink}{others}: add "
        "the missing link"
    )
    ends = (first.source, first.sink)
    lone = [end for end in ends if not network.neighbours[end]]
    reached = dict.fromkeys(nodes[one].name for end in ends for one in network.reached(end))
    needs = tuple((NODES, name, "links") for name in reached)
    also = tuple((NODES, nodes[end].name, "links") for end in lone)
    cause = f"no link {lone[0]}" if lone else ""
    mistakes.add(Fault(text, (*place, "sink"), needs, cause, also))
    return []


def _sinks_by_source(
    table: Streams, sources: tuple[str, ...], sinks: tuple[str, ...]
) -> list[tuple[str, tuple[str, ...]]]:
    """Pairs of a source and its sinks, one pair for each stream that a table describes.

    A multicast stream has all sinks of its source. Every other stream has one sink.
    """
    if not sources or not sinks:
        return []
    pairing = table.pairing or ("each" if table.multicast else None)
    try:
        pairs = stream_pairs(sources, sinks, pairing)
    except NetworkError as error:
        raise NetworkError(f"the stream {table.name}: {error}") from error
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
    producer = table.produces.producer(table.payload_bytes)
    payload_bytes = table.frame_bytes(table.payload_bytes)
    if producer is not None:  # a frame holds no more than a message
        payload_bytes = min(payload_bytes, math.ceil(producer.message_bytes))
    for name, (source, sinks) in zip(names, every, strict=True):
        for sink in sinks:
            yield _from_table(
                Stream,
                table,
                name=f"{name}/{sink}" if table.multicast else name,
                group=table.name,
                source=source,
                sink=sink,
                producer=producer,
                payload_bytes=payload_bytes,
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
    """Names of all members of a group. If the group has one member, the member has the group's name.

    >>> members("camera", 3)
    ('camera-1', 'camera-2', 'camera-3')
    """
    return (name,) if count == 1 else tuple(f"{name}-{i + 1}" for i in range(count))


@dataclass(frozen=True, slots=True)
class Groups:
    """Nodes by name. A group's name stands for all its members, and a member's name for a single node."""

    members: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, name: str, where: str) -> tuple[str, ...]:
        """Nodes for which a name stands: all members of a group, or a single member.

        ``where`` is the subject of the error message: the table that uses the name, such as ``the stream picture``.

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
        raise NetworkError(
            f"{where} names {name!r}, which is neither a device nor a switch: {take}"
        )

    def nodes_of(
        self, names: Iterable[str], where: str, place: Place, mistakes: Mistakes
    ) -> tuple[str, ...]:
        """Find the nodes that a list of names stands for, each node once. The name of a group stands for all members.

        Each unknown name adds a mistake to ``mistakes``, and the most similar known name is used in its place. If an
        unknown name has no similar name, the result is empty.
        """
        found: dict[str, None] = {}
        wrong = False
        for at, name in enumerate(names):
            try:
                found |= dict.fromkeys(self.of(name, where))
            except NetworkError as error:
                group = name.rpartition("-")[0]
                needs = (*NAMES, (NODES, name), *([(NODES, group, "count")] if group else []))
                told = mistakes.add(Fault(str(error), (*place, at), needs))
                near = get_close_matches(name, self.members, 1) if told else []
                found |= dict.fromkeys(node for one in near for node in self.members[one])
                wrong = wrong or not near
        return () if wrong else tuple(found)

    def add(self, name: str, count: int) -> None:
        """Add a group of equal nodes.

        Raises
        ------
        NetworkError
            If one of the new names (of the group, or of a node in it) is already in use.
        """
        own = members(name, count)
        added = {member: own if member == name else (member,) for member in (name, *own)}
        for member in added:
            if member in self.members:
                raise NetworkError(
                    f"two nodes are named {member!r} (a group with a count has members such as "
                    f"{members(name, 2)[0]}): give each group its own name"
                )
        self.members.update(added)


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
        If both groups have several members, but no pairing is stated; or if the pairing does not fit the group sizes,
        or pairs a member with itself.
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
        raise NetworkError(f"{itself} is paired with itself: name two different nodes")
    return pairs
