"""A system as `icmodel system show` prints it: groups, streams with their routes, the busiest ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from icmodel import units
from icmodel.cli.output import Section, Table
from icmodel.documents import plain

if TYPE_CHECKING:
    from icmodel.system import Stream, System
    from icmodel.system.loads import Load

MOST_LINES = 20
"""Ports, or streams, that are shown; JSON has all."""


def counts(one: System) -> dict[str, object]:
    """Name, title, and the number of devices, switches, links and streams."""
    return {
        "name": one.name,
        "title": one.title,
        "devices": len(one.devices),
        "switches": len(one.switches),
        "links": len(one.links),
        "streams": len(one.streams),
    }


# --- for people -------------------------------------------------------------------------------


def sections(one: System, at: tuple[Load, ...]) -> Iterator[Section]:
    """The system, and the load of its ports."""
    yield Section(f"{one.name}: {one.title}", (f"source: {one.source}",))
    yield Section("groups", _groups(one))
    if one.streams:
        yield Section(_heading("streams", len(one.streams)), _streams(one))
    if at:
        yield Section(_heading("busiest ports", len(at)), _ports(at))
    if one.known_limits:
        yield Section("known limits", tuple(f"- {limit}" for limit in one.known_limits))


def _heading(what: str, count: int) -> str:
    return what if count <= MOST_LINES else f"{what}, {MOST_LINES} of {count}"


def _groups(one: System) -> Table:
    """Each group, and how many links its members have in all."""
    ends = Counter(end for link in one.links.values() for end in link.ends)
    count: Counter[tuple[str, str]] = Counter()
    links: Counter[tuple[str, str]] = Counter()
    for name in (*one.devices, *one.switches):
        key = one.node(name).group, "device" if name in one.devices else "switch"
        count[key] += 1
        links[key] += ends[name]
    rows = tuple((*key, str(n), str(links[key])) for key, n in count.items())
    return Table(("group", "kind", "#count", "#links"), rows)


def _streams(one: System) -> Table:
    rows = tuple(
        (
            stream.name,
            " → ".join(one.nodes_of(stream)),
            stream.protocol,
            units.format_bytes(stream.payload_bytes),
            units.format_bps(stream.requested_goodput_bps),
            str(stream.priority),
            stream.kind,
        )
        for stream in list(one.streams.values())[:MOST_LINES]
    )
    columns = ("stream", "way", "protocol", "#payload", "#asks for", "#priority", "kind")
    return Table(columns, rows)


def _ports(at: tuple[Load, ...]) -> Table:
    busiest = sorted(at, key=lambda load: -load.ratio)[:MOST_LINES]
    rows = tuple(
        (
            load.port.name,
            str(len(load.streams)),
            units.format_bps(load.mean_bps, 4),
            units.format_bps(load.port.rate_bps),
            units.format_ratio(load.ratio, 3),
        )
        for load in busiest
    )
    return Table(("port", "#streams", "#on the wire", "#of", "#load"), rows)


# --- for machines -----------------------------------------------------------------------------


def document(one: System, at: tuple[Load, ...]) -> dict[str, object]:
    """The system, by name in the order of its file."""
    nodes = {name: one.node(name).group for name in (*one.devices, *one.switches)}
    links = {
        link.name: {"ends": list(link.ends), "rate_bps": link.rate_bps, "dataset": link.dataset}
        for link in one.links.values()
    }
    requirements = [
        {**wanted.requirement.to_dict(), "stream": wanted.stream, "device": wanted.device}
        for wanted in one.requirements
    ]
    return {
        "schema_version": 1,
        "system": counts(one),
        "source": one.source,
        "known_limits": list(one.known_limits),
        "nodes": nodes,
        "links": links,
        "ports": {load.port.name: _port(load) for load in at},
        "streams": {stream.name: _stream(stream) for stream in one.streams.values()},
        "requirements": requirements,
    }


def _port(load: Load) -> dict[str, object]:
    streams = [stream.name for stream in load.streams]
    return {"load_bps": load.mean_bps, "load_ratio": load.ratio, "streams": streams}


def _stream(stream: Stream) -> dict[str, object]:
    names = ("group", "source", "sink", "path", "priority", "kind", "multicast")
    return {name: plain(getattr(stream, name)) for name in names}
