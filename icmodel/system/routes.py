"""Routes of streams: the shortest route between two nodes, and the choice among parallel cables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from icmodel.errors import NetworkError
from icmodel.system.network import Link, Port, Stream, Switch

Route = tuple[str, ...]
"""A route through the network: names of the nodes, from source to sink."""


class _Visit(NamedTuple):
    """Best route to a switch found so far by a search: number of hops, delay [s], and previous switch."""

    hops: int
    delay_s: float
    before: str


@dataclass(frozen=True)
class Topology:
    """Neighbours of each node, with a cache of route searches.

    Parameters
    ----------
    switches : mapping
        Switches by name; only switches forward frames.
    neighbours : mapping
        Node -> neighbour -> least delay of a link to this neighbour [s], in the order of the file.
    """

    switches: Mapping[str, Switch]
    neighbours: Mapping[str, Mapping[str, float]]
    _searches: dict[str, dict[str, _Visit]] = field(default_factory=dict)
    _steps: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    def route(self, source: str, sink: str) -> Route | None:
        """Route over switches with the fewest hops, and among these with the least delay; ``None`` without a route."""
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

    def reached(self, node: str) -> set[str]:
        """Nodes that frames of a node can reach over switches, including the node itself."""
        found, open_ones = {node}, [node]
        while open_ones:
            for name in self.neighbours[open_ones.pop()]:
                if name not in found:
                    found.add(name)
                    open_ones += [name] if name in self.switches else []
        return found

    def _switches_at(self, node: str) -> Mapping[str, float]:
        """Switches linked to a device, each with the link's delay [s]; for a switch, only itself with 0 s."""
        if node in self.switches:
            return {node: 0.0}
        return {name: s for name, s in self.neighbours[node].items() if name in self.switches}

    def _search(self, start: str) -> dict[str, _Visit]:
        """Find the best route from one switch to every switch that it reaches (breadth-first search); cached."""
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
        """Return the neighbouring switches of a switch as pairs of name and delay [s]; cached.

        The delay is that of the link to the neighbour plus that of the neighbour itself.
        """
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
    """Make the `Topology` of a network from the names of its nodes, its switches and its links."""
    neighbours: dict[str, dict[str, float]] = {name: {} for name in nodes}
    for link in links:
        for here, there in (link.ends, link.ends[::-1]):
            at = neighbours[here]
            at[there] = min(link.delay_s, at.get(there, link.delay_s))
    return Topology(switches, neighbours)


def route_via(network: Topology, stream: Stream, via: Route) -> Route | None:
    """Route of a stream over the given switches in this order; ``None`` if no route exists.

    Raises
    ------
    NetworkError
        If a name in ``via`` is no switch, or the route would pass a node twice.
    """
    for name in via:
        if name not in network.switches:
            raise NetworkError(
                f"the stream {stream.name} leads via {name}, which is not a switch: list only switches under via"
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
            f"the stream {stream.name} passes {twice} twice on its route {' -> '.join(nodes)}: "
            "correct via, so that the route has no loop"
        )
    return tuple(nodes)


class Cables:
    """Choice of cables: the ports between each pair of nodes, and the load of each port so far.

    Among parallel cables, a stream takes the cable with the least ratio of load to rate. If several cables
    have this ratio, the stream takes the first of them, in the order of the ports. All copies of a multicast set
    take the same cable.
    """

    def __init__(self, ports: Iterable[Port]) -> None:
        self._between: dict[tuple[str, str], list[Port]] = {}
        for port in ports:
            self._between.setdefault((port.node, port.peer), []).append(port)
        self._load: dict[str, float] = {}
        self._taken: dict[tuple[tuple[str, str], str, str], str] = {}

    def path(self, stream: Stream, route: Route) -> tuple[str, ...]:
        """Names of the ports along the route of a stream, in order."""
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
