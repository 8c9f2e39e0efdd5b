"""Routes of streams: the shortest between two nodes, and the parallel cable that each stream takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from icmodel.errors import NetworkError
from icmodel.system.network import Link, Port, Stream, Switch

Route = tuple[str, ...]
"""Names of nodes, from source to sink."""


class _Visit(NamedTuple):
    """Best way of a search to a switch: hops, delay [s], and the previous switch."""

    hops: int
    delay_s: float
    before: str


@dataclass(frozen=True)
class Topology:
    """Neighbours of each node, and the searches done so far.

    Parameters
    ----------
    switches : mapping
        Forwarding nodes, by name.
    neighbours : mapping
        Node -> its neighbours and the least delay [s] of a link to each, in the file's order.
    """

    switches: Mapping[str, Switch]
    neighbours: Mapping[str, Mapping[str, float]]
    _searches: dict[str, dict[str, _Visit]] = field(default_factory=dict)
    _steps: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    def route(self, source: str, sink: str) -> Route | None:
        """Route with the fewest hops, then the least delay, over switches; ``None`` if there is none."""
        if sink in self.neighbours[source]:
            return (source, sink)
        best: tuple[int, float] | None = None
        between: list[str] = []
        for entry, first_s in self._switches_at(source).items():
            visits = self._search(entry)
            for leave, last_s in self._switches_at(sink).items():
                if leave not in visits:
                    continue
                length = visits[leave].hops, first_s + visits[leave].delay_s + last_s
                if best is None or length < best:
                    best, between = length, [leave]
                    while between[-1] != entry:
                        between.append(visits[between[-1]].before)
        if best is None:
            return None
        return tuple(dict.fromkeys((source, *reversed(between), sink)))

    def _switches_at(self, node: str) -> Mapping[str, float]:
        """Switches next to a node, and the delay to each [s]; a switch itself."""
        if node in self.switches:
            return {node: 0.0}
        return {name: s for name, s in self.neighbours[node].items() if name in self.switches}

    def _search(self, start: str) -> dict[str, _Visit]:
        """Breadth-first search of all switches from one, done once."""
        if start in self._searches:
            return self._searches[start]
        visits = {start: _Visit(0, self.switches[start].latency_s, "")}
        level = [start]
        while level:
            further: dict[str, None] = {}
            for node in level:
                hops, so_far, _ = visits[node]
                for name, step_s in self._steps_from(node):
                    known = visits.get(name)
                    if known is None or (known.hops > hops and so_far + step_s < known.delay_s):
                        visits[name] = _Visit(hops + 1, so_far + step_s, node)
                        further[name] = None
            level = list(further)
        self._searches[start] = visits
        return visits

    def _steps_from(self, node: str) -> tuple[tuple[str, float], ...]:
        """Switches next to a switch, and the delay of link and switch to each [s], computed once."""
        if node not in self._steps:
            self._steps[node] = tuple(
                (name, link_s + self.switches[name].latency_s)
                for name, link_s in self.neighbours[node].items()
                if name in self.switches
            )
        return self._steps[node]


def topology(
    nodes: Iterable[str], switches: Mapping[str, Switch], links: Iterable[Link]
) -> Topology:
    """Topology of nodes and the links between them."""
    neighbours: dict[str, dict[str, float]] = {name: {} for name in nodes}
    for link in links:
        for here, there in (link.ends, link.ends[::-1]):
            at = neighbours[here]
            at[there] = min(link.delay_s, at.get(there, link.delay_s))
    return Topology(switches, neighbours)


def route_via(network: Topology, stream: Stream, via: Route) -> Route | None:
    """Route of a stream over some switches in their order; ``None`` if there is none.

    Raises
    ------
    NetworkError
        If one is a host, or the route would pass a node twice.
    """
    for name in via:
        if name not in network.switches:
            raise NetworkError(
                f"the stream {stream.name} leads via {name}, which forwards nothing: name switches"
            )
    nodes: list[str] = [stream.source]
    for here, there in pairwise((stream.source, *via, stream.sink)):
        further = network.route(here, there)
        if further is None:
            return None
        nodes.extend(further[1:])
    twice = next((name for name in nodes if nodes.count(name) > 1), None)
    if twice is not None:
        raise NetworkError(
            f"the stream {stream.name} passes {twice} twice on its way {' -> '.join(nodes)}: it "
            "loops, so correct via"
        )
    return tuple(nodes)


class Cables:
    """Ports between each two nodes, and their load so far.

    A stream takes the least loaded of parallel cables, relative to its rate, the first of equals. The
    copies of a multicast set stay on one.
    """

    def __init__(self, ports: Iterable[Port]) -> None:
        self._between: dict[tuple[str, str], list[Port]] = {}
        for port in ports:
            self._between.setdefault((port.node, port.peer), []).append(port)
        self._load: dict[str, float] = {}
        self._taken: dict[tuple[tuple[str, str], str, str], str] = {}

    def path(self, stream: Stream, route: Route) -> tuple[str, ...]:
        """Names of the ports of a stream along its route."""
        path = []
        for here, there in pairwise(route):
            key = (stream.multicast_key, here, there)
            if key not in self._taken:
                port = min(
                    self._between[here, there], key=lambda port: self._load.get(port.name, 0.0)
                )
                share = min(stream.requested_goodput_bps / port.rate_bps, 1.0)
                self._load[port.name] = self._load.get(port.name, 0.0) + share
                self._taken[key] = port.name
            path.append(self._taken[key])
        return tuple(path)
