"""Routes: fewest hops, then least delay, then the order of the file; hosts do not forward.

There is one breadth-first search for each switch at which a route begins, whatever the number of streams:
all hosts at a switch share its search.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from icmodel.errors import NetworkError
from icmodel.system.network import Link, Port, Stream, Switch

Way = tuple[str, ...]
"""Names of nodes, from source to sink."""


class _Reached(NamedTuple):
    """How a search reached a switch: hops, delay [s], and the previous switch."""

    hops: int
    delay_s: float
    before: str


@dataclass(frozen=True)
class Map:
    """Neighbours of each node, and the searches done so far.

    Parameters
    ----------
    switches : mapping
        The forwarding nodes, by name.
    near : mapping
        Node -> its neighbours and the least delay [s] of a link to each, in the file's order.
    """

    switches: Mapping[str, Switch]
    near: Mapping[str, Mapping[str, float]]
    _searched: dict[str, dict[str, _Reached]] = field(default_factory=dict)
    _stepped: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    def way(self, source: str, sink: str) -> Way | None:
        """The nodes of the route between two; ``None`` if there is none."""
        if sink in self.near[source]:
            return (source, sink)
        best: tuple[int, float] | None = None
        between: Way = ()
        for entry, first_s in self._beside(source).items():
            reached = self._search(entry)
            for leave, last_s in self._beside(sink).items():
                if leave in reached:
                    length = reached[leave].hops, first_s + reached[leave].delay_s + last_s
                    if best is None or length < best:
                        best, between = length, self._back(entry, leave)
        if best is None:
            return None
        return tuple(dict.fromkeys((source, *between, sink)))

    def _beside(self, node: str) -> Mapping[str, float]:
        """The switches next to a node, and the delay to each [s]; for a switch itself."""
        if node in self.switches:
            return {node: 0.0}
        return {name: delay for name, delay in self.near[node].items() if name in self.switches}

    def _search(self, start: str) -> dict[str, _Reached]:
        """All switches that one reaches, from a search done once."""
        if start not in self._searched:
            self._searched[start] = self._breadth_first(start)
        return self._searched[start]

    def _breadth_first(self, start: str) -> dict[str, _Reached]:
        reached = {start: _Reached(0, self.switches[start].latency_s, "")}
        level = [start]
        while level:
            further: dict[str, None] = {}
            for node in level:
                hops, so_far, _ = reached[node]
                for name, step_s in self._steps(node):
                    known = reached.get(name)
                    if known is None or (known[0] > hops and so_far + step_s < known[1]):
                        reached[name] = _Reached(hops + 1, so_far + step_s, node)
                        further[name] = None
            level = list(further)
        return reached

    def _steps(self, node: str) -> tuple[tuple[str, float], ...]:
        """The switches next to one, and the delay of link and switch to each [s], computed once."""
        if node not in self._stepped:
            self._stepped[node] = tuple(
                (name, link_s + self.switches[name].latency_s)
                for name, link_s in self.near[node].items()
                if name in self.switches
            )
        return self._stepped[node]

    def _back(self, entry: str, leave: str) -> Way:
        """The switches from one to another, read back from the search."""
        ways = [leave]
        while ways[-1] != entry:
            ways.append(self._searched[entry][ways[-1]].before)
        return tuple(reversed(ways))


def neighbours(nodes: Iterable[str], switches: Mapping[str, Switch], links: Iterable[Link]) -> Map:
    """The map of nodes and the links between them."""
    near: dict[str, dict[str, float]] = {name: {} for name in nodes}
    for link in links:
        for here, there in (link.ends, link.ends[::-1]):
            near[here][there] = min(link.delay_s, near[here].get(there, link.delay_s))
    return Map(switches, near)


def given_way(known: Map, stream: Stream, via: Way) -> Way | None:
    """The route of a stream over given nodes in their order.

    Raises
    ------
    NetworkError
        If one is a host, or the route would pass a node twice.
    """
    for name in via:
        if name not in known.switches:
            raise NetworkError(
                f"the stream {stream.name} leads via {name}, which forwards nothing: name switches"
            )
    nodes: list[str] = [stream.source]
    for here, there in pairwise((stream.source, *via, stream.sink)):
        further = known.way(here, there)
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
    """The ports between each two nodes, and their load so far.

    A stream takes the least loaded of parallel cables, relative to its rate, the first of equals; the
    copies of a multicast set stay on one.
    """

    def __init__(self, ports: Iterable[Port]) -> None:
        self._between: dict[tuple[str, str], list[Port]] = {}
        for port in ports:
            self._between.setdefault((port.node, port.peer), []).append(port)
        self._load: dict[str, float] = {}
        self._taken: dict[tuple[tuple[str, str], str, str], str] = {}

    def path(self, stream: Stream, way: Way) -> tuple[str, ...]:
        """The ports of a stream over the nodes of its route."""
        return tuple(self._port(stream, here, there) for here, there in pairwise(way))

    def _port(self, stream: Stream, here: str, there: str) -> str:
        of_set = (stream.sent_as, here, there)
        if of_set not in self._taken:
            port = min(self._between[here, there], key=lambda one: self._load.get(one.name, 0.0))
            share = min(stream.requested_goodput_bps / port.rate_bps, 1.0)
            self._load[port.name] = self._load.get(port.name, 0.0) + share
            self._taken[of_set] = port.name
        return self._taken[of_set]
