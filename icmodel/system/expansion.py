"""Expansion of a document: groups into members, tables into links, streams onto routes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from itertools import combinations, permutations, product
from types import MappingProxyType
from typing import TypeVar

from icmodel.errors import NetworkError, ScenarioError
from icmodel.reading import Document
from icmodel.system.document import (
    MOST_PARTS,
    Devices,
    Links,
    Nodes,
    Streams,
    Switches,
    SystemDocument,
    frame_bytes,
    producer,
    scheduler,
)
from icmodel.system.network import (
    Cables,
    Device,
    Link,
    Map,
    Port,
    Stream,
    Switch,
    System,
    Wanted,
    given_way,
    neighbours,
)
from icmodel.system.packing import wire
from icmodel.system.schedulers import Fifo, Scheduler
from icmodel.theory import AnyFraming, ethernet, infiniband, rapidio, roce

Pairs = list[tuple[str, str]]
MOST_NAMES = 8
"""Greatest number of names in a message."""


def check_number(count: int, what: str) -> None:
    """Refuse more parts of a kind than a system can have, before they are made.

    Raises
    ------
    NetworkError
        If there are more than `MOST_PARTS`.
    """
    if count > MOST_PARTS:
        raise NetworkError(
            f"the system has {count} {what}, at most {MOST_PARTS} are possible: take fewer"
        )


def members(name: str, count: int) -> tuple[str, ...]:
    """``camera-1`` to ``camera-6`` for six cameras; for one the name itself."""
    return (name,) if count == 1 else tuple(f"{name}-{i + 1}" for i in range(count))


@dataclass(frozen=True, slots=True)
class Groups:
    """The members of every name: all of a group, or the member itself."""

    members: Mapping[str, tuple[str, ...]]

    def of(self, name: str, where: str) -> tuple[str, ...]:
        """The members of a name; ``where`` names the table in the message.

        Raises
        ------
        NetworkError
            If no group and no member has that name.
        """
        if name in self.members:
            return self.members[name]
        close = get_close_matches(name, self.members, 1)
        some = list(self.members)[:MOST_NAMES]
        take = f"is {close[0]} meant" if close else f"take one of {', '.join(some)}"
        raise NetworkError(f"{where} names {name!r}, which is no device and no switch: {take}")

    def of_all(self, names: Iterable[str], where: str) -> tuple[str, ...]:
        """The members of several names, each once."""
        return tuple(dict.fromkeys(one for name in names for one in self.of(name, where)))


def groups(counts: Iterable[tuple[str, int]]) -> Groups:
    """The groups of names and counts.

    Raises
    ------
    NetworkError
        If two groups, or a group and a member of another, have the same name.
    """
    found: dict[str, tuple[str, ...]] = {}
    given = list(counts)
    check_number(sum(count for _, count in given), "devices and switches")
    for name, count in given:
        own = members(name, count)
        for one in dict.fromkeys((name, *own)):
            if one in found:
                raise NetworkError(
                    f"two nodes are named {one!r}, counting members such as {members(name, 2)[0]}: "
                    "give each group its own name"
                )
            found[one] = own if one == name else (one,)
    return Groups(found)


def link_pairs(first: tuple[str, ...], second: tuple[str, ...], pairing: str | None) -> Pairs:
    """The pairs of members that a table of links joins; within one group each pair once.

    Raises
    ------
    NetworkError
        As `stream_pairs`.
    """
    if first == second and pairing == "each":
        check_number(len(first) * (len(first) - 1) // 2, "pairs of one group")
        return list(combinations(first, 2))
    return _no_own(_pairs(first, second, pairing))


def stream_pairs(first: tuple[str, ...], second: tuple[str, ...], pairing: str | None) -> Pairs:
    """The pairs of source and sink; within one group each member to every other.

    Raises
    ------
    NetworkError
        If the pairing is missing though both have several members, does not fit the counts, or pairs a
        member with itself.
    """
    if first == second and pairing == "each":
        check_number(len(first) * (len(first) - 1), "pairs of one group")
        return list(permutations(first, 2))
    return _no_own(_pairs(first, second, pairing))


def _pairs(first: tuple[str, ...], second: tuple[str, ...], pairing: str | None) -> Pairs:
    if pairing is None and min(len(first), len(second)) > 1:
        raise NetworkError(
            f"{len(first)} and {len(second)} nodes can pair in several ways: say "
            'pairing = "each", "one-to-one" or "spread"'
        )
    if pairing == "one-to-one" and len(first) != len(second):
        raise NetworkError(
            f'{len(first)} and {len(second)} nodes do not pair one to one: take pairing = "each" '
            'or "spread", or equal counts'
        )
    if pairing in ("one-to-one", "spread"):
        n = max(len(first), len(second))
        return [(first[i % len(first)], second[i % len(second)]) for i in range(n)]
    check_number(len(first) * len(second), "pairs of two groups")
    return list(product(first, second))


def _no_own(pairs: Pairs) -> Pairs:
    for a, b in pairs:
        if a == b:
            raise NetworkError(f"{a} is paired with itself: name two different ends")
    return pairs


_MTUS = {"ethernet": 1500, "infiniband": 4096, "roce": 4096, "rapidio": 256, "plain": 1500}
"""MTU [B] where a table of links states none, the same as `icmodel.tables.wire` assumes for a dataset."""

Sets = list[tuple[str, tuple[str, ...]]]
"""Sources, each with the sinks of one stream."""
T = TypeVar("T", Device, Switch, Link, Port, Stream)
_MEDIA = {"copper": ethernet.PROPAGATION_S_PER_M, "fibre": infiniband.PROPAGATION_S_PER_M}
_USUAL: Mapping[str, type[AnyFraming]] = {
    "ethernet": ethernet.Framing,
    "infiniband": infiniband.Framing,
    "roce": roce.Framing,
    "rapidio": rapidio.Framing,
    "plain": ethernet.Framing,
}


def expand(document: SystemDocument, requirements: tuple[Wanted, ...] = ()) -> System:
    """The system of a document, every stream on its route.

    Raises
    ------
    NetworkError
        If a name is unknown or used twice, groups do not fit their pairing, or a stream has no route.
    """
    tables = (*document.devices, *document.switches)
    named = groups((table.name, table.count) for table in tables)
    nodes = {one: table for table in tables for one in members(table.name, table.count)}
    devices = _by_name(_device(one, t) for one, t in nodes.items() if isinstance(t, Devices))
    switches = _by_name(_switch(one, t) for one, t in nodes.items() if isinstance(t, Switches))
    links = _by_name(_links(document.links, named))
    ports = _by_name(_ports(links.values(), _schedulers(nodes, named)))
    known = neighbours(nodes, switches, links.values())
    streams = _by_name(_routed(document.streams, named, known, Cables(ports.values())))
    return System(
        name=document.name,
        title=document.title,
        devices=devices,
        switches=switches,
        links=links,
        ports=ports,
        streams=streams,
        requirements=requirements,
        source=document.source,
        known_limits=document.known_limits,
        usecase=document.usecase,
    )


def _by_name(found: Iterable[T]) -> Mapping[str, T]:
    made: dict[str, T] = {}
    for one in found:
        if one.name in made:
            raise NetworkError(
                f"two {type(one).__name__.lower()}s are named {one.name!r}: give each its own name"
            )
        made[one.name] = one
    return MappingProxyType(made)


def _made(kind: type[T], table: Document, **own: object) -> T:
    """A value of a table: what both have under one name, and what is given."""
    alike = {one.name for one in fields(kind)} & type(table).model_fields.keys()
    return kind(**{name: getattr(table, name) for name in alike} | own)


# --- nodes ------------------------------------------------------------------------------------


def _device(name: str, table: Devices) -> Device:
    return _made(Device, table, name=name, group=table.name)


def _switch(name: str, table: Switches) -> Switch:
    return _made(Switch, table, name=name, group=table.name, scheduler=_own_scheduler(table))


def _own_scheduler(table: Nodes) -> Scheduler:
    return Fifo() if table.scheduler is None else scheduler(table.scheduler)


# --- links and ports --------------------------------------------------------------------------


def _links(tables: Iterable[Links], named: Groups) -> Iterator[Link]:
    """A link for each pair of members and each parallel cable, numbered where a pair has several."""
    pairs: list[tuple[tuple[str, str], Links]] = []
    for no, table in enumerate(tables, 1):
        joined = _joined(table, named, f"links no. {no}")
        check_number(len(pairs) + len(joined) * table.parallel, "links")
        pairs += [(pair, table) for pair in joined for _ in range(table.parallel)]
    count = Counter(frozenset(pair) for pair, _ in pairs)
    so_far: Counter[frozenset[str]] = Counter()
    for pair, table in pairs:
        so_far[frozenset(pair)] += 1
        several = count[frozenset(pair)] > 1
        yield _link(pair, table, f"#{so_far[frozenset(pair)]}" if several else "")


def _joined(table: Links, named: Groups, where: str) -> Pairs:
    """The pairs of a table of links, after a check of its MTU."""
    try:
        wire("ethernet", _link((where, where), table, "")).framing  # noqa: B018
    except ScenarioError as error:
        raise NetworkError(f"{where}: {error}") from error
    first, second = (named.of(name, where) for name in table.between)
    try:
        return link_pairs(first, second, table.pairing)
    except NetworkError as error:
        raise NetworkError(f"{where} between {' and '.join(table.between)}: {error}") from error


def _link(ends: tuple[str, str], table: Links, number: str) -> Link:
    return _made(
        Link,
        table,
        name=f"{ends[0]}<->{ends[1]}{number}",
        ends=ends,
        delay_s=table.length_m * _propagation_s_per_m(table),
        mtu_bytes=table.mtu_bytes or _MTUS[table.interconnect],
    )


def _propagation_s_per_m(table: Links) -> float:
    if table.propagation_s_per_m is not None:
        return table.propagation_s_per_m
    if table.medium is not None:
        return _MEDIA[table.medium]
    return _USUAL[table.interconnect].propagation_s_per_m


def _ports(
    links: Iterable[Link], schedulers: Mapping[tuple[str, str | None], Scheduler]
) -> Iterator[Port]:
    """Both directions of each link."""
    for link in links:
        number = link.name[link.name.find("#") :] if "#" in link.name else ""
        for node, peer in (link.ends, link.ends[::-1]):
            served = schedulers.get((node, peer)) or schedulers[node, None]
            name = f"{node}->{peer}{number}"
            yield Port(name, link.name, node, peer, link.rate_bps, served)


def _schedulers(
    nodes: Mapping[str, Nodes], named: Groups
) -> Mapping[tuple[str, str | None], Scheduler]:
    """The scheduler of each node, and of its ports to single neighbours."""
    found: dict[tuple[str, str | None], Scheduler] = {}
    for name, table in nodes.items():
        found[name, None] = _own_scheduler(table)
        for port in table.ports:
            for peer in named.of(port.to, f"a port of {name}"):
                found[name, peer] = scheduler(port.scheduler)
    return found


# --- streams ----------------------------------------------------------------------------------


def _check_ends(stream: Stream, known: Map) -> None:
    for end in (stream.source, stream.sink):
        if end in known.switches:
            raise NetworkError(
                f"the stream {stream.name} begins or ends at {end}, which is a switch: name a device"
            )


def _routed(
    tables: Iterable[Streams], named: Groups, known: Map, cables: Cables
) -> Iterator[Stream]:
    lost: list[Stream] = []
    count = 0
    for table in tables:
        sets = _sets(table, named)
        count += sum(len(sinks) for _, sinks in sets) * table.count
        check_number(count, "streams")
        via = None if table.via is None else named.of_all(table.via, f"the stream {table.name}")
        for stream in _streams(table, sets):
            _check_ends(stream, known)
            ends = stream.source, stream.sink
            way = known.way(*ends) if via is None else given_way(known, stream, via)
            if way is None:
                lost.append(stream)
            else:
                yield replace(stream, path=cables.path(stream, way))
    if lost:
        first = lost[0]
        others = f", nor have {len(lost) - 1} more" if lost[1:] else ""
        raise NetworkError(
            f"the stream {first.name} has no way from {first.source} to {first.sink}{others}: add "
            "the link that is missing"
        )


def _streams(table: Streams, sets: Sets) -> Iterator[Stream]:
    """The streams of a table, without routes; numbered if there are several."""
    every = [one for one in sets for _ in range(table.count)]
    numbered = members(table.name, len(every))
    for name, (source, sinks) in zip(numbered, every, strict=True):
        for sink in sinks:
            own = f"{name}/{sink}" if table.multicast else name
            yield _stream(table, (source, sink), own, name if table.multicast else None)


def _sets(table: Streams, named: Groups) -> Sets:
    """Each source with the sinks of one of its streams: one, or all of a multicast set; of ``count`` once."""
    where = f"the stream {table.name}"
    sources, sinks = named.of_all(table.source, where), named.of_all(table.sink, where)
    pairing = table.pairing or ("each" if table.multicast else None)
    try:
        pairs = stream_pairs(sources, sinks, pairing)
    except NetworkError as error:
        raise NetworkError(f"{where}: {error}") from error
    if not table.multicast:
        return [(source, (sink,)) for source, sink in pairs]
    of: dict[str, list[str]] = {}
    for source, sink in pairs:
        of.setdefault(source, []).append(sink)
    return [(source, tuple(to)) for source, to in of.items()]


def _stream(table: Streams, ends: tuple[str, str], name: str, multicast: str | None) -> Stream:
    return _made(
        Stream,
        table,
        name=name,
        group=table.name,
        source=ends[0],
        sink=ends[1],
        producer=producer(table.produces, table.payload_bytes),
        payload_bytes=frame_bytes(table.produces, table.payload_bytes),
        path=(),
        multicast=multicast,
        paced_fps=table.rate_fps,
        options=MappingProxyType(dict(table.options)),
    )
