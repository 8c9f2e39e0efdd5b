"""System: devices, links, switches and streams, with groups expanded and routes found; frozen.

Everything is in SI, and names are keys: a group ``camera`` of six is ``camera-1`` to ``camera-6``, a
group of one keeps its name. A link is ``a<->b``, the port from which ``a`` sends into it ``a->b``;
where several links join the same two nodes, they end in ``#1``, ``#2`` and so on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from icmodel.errors import NetworkError
from icmodel.requirement import Requirement
from icmodel.system.schedulers import PRIORITIES, Fifo, Scheduler

FORWARDING = ("store-and-forward", "cut-through")
KINDS = ("hard", "firm", "soft")
MESSAGE, FRAME = JUDGED_OF = ("message", "frame")
"""Subjects of a latency requirement: the whole message, or a single frame of it."""


@dataclass(frozen=True, slots=True)
class Device:
    """A host: where streams begin and end.

    Parameters
    ----------
    group : str
        The group of the document it belongs to.
    interfaces : int
        How many links it can have.
    cores : int, optional
        Of its processor; ``None`` where nobody says.
    dataset : str, optional
        The dataset whose hosts it is like; ``None``: that of its links.
    cpu_clock_ratio : float
        Its clock relative to that of the dataset's hosts.
    app_send_s, app_recv_s : float
        Time its application itself takes for a frame it sends, and for one it receives [s].
    """

    name: str
    group: str
    interfaces: int = 1
    cores: int | None = None
    dataset: str | None = None
    cpu_clock_ratio: float = 1.0
    app_send_s: float = 0.0
    app_recv_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch, which forwards frames.

    Parameters
    ----------
    latency_s : float
        Added to each frame, besides queues and, for ``store-and-forward``, receiving it whole [s].
    buffer_bytes : float, optional
        Of each port [B]; ``None`` if not stated.
    """

    name: str
    group: str
    forwarding: str = "store-and-forward"
    latency_s: float = 0.0
    buffer_bytes: float | None = None
    scheduler: Scheduler = field(default_factory=Fifo)

    def __post_init__(self) -> None:
        _check_among(f"forwarding of the switch {self.name}", self.forwarding, FORWARDING)


@dataclass(frozen=True, slots=True)
class Link:
    """A cable between two nodes, full duplex.

    Parameters
    ----------
    rate_bps : float
        In each direction [b/s].
    length_m, delay_s : float
        Of the cable [m], and how long a bit takes through it [s].
    mtu_bytes : int
        Largest packet above the frame of the link [B].
    interconnect : str
        Whose theory holds: ``ethernet``, ``infiniband``, ``roce`` or ``rapidio``; on ``plain`` bits are
        bits, without headers, as network calculus has them.
    dataset : str, optional
        The dataset that speaks for streams over it, by name or path; ``None``: theory alone.
    burst_bytes : float
        What passes at once before the rate limits [B], where a token bucket stands for the cable.
    """

    name: str
    ends: tuple[str, str]
    rate_bps: float
    length_m: float = 0.0
    delay_s: float = 0.0
    mtu_bytes: int = 1500
    interconnect: str = "ethernet"
    dataset: str | None = None
    burst_bytes: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.rate_bps < math.inf:
            raise NetworkError(f"the link {self.name} has the rate {self.rate_bps:g} b/s: give one")


@dataclass(frozen=True, slots=True)
class Port:
    """One direction of a link, at the node that sends into it: the place where frames queue."""

    name: str
    link: str
    node: str
    peer: str
    rate_bps: float
    scheduler: Scheduler = field(default_factory=Fifo)


@dataclass(frozen=True, slots=True)
class Producer:
    """The messages of a stream: a number of bytes [B] every period [s].

    A message is a picture, the samples of one cycle, or a burst; for a plain goodput it is one frame.

    Parameters
    ----------
    kind : str
        ``image``, ``samples``, ``goodput`` or ``burst``, as in the document.
    within_s : float, optional
        Time in which the whole message must cross the network [s], if it is less than the period.
    """

    kind: str
    period_s: float
    message_bytes: float
    within_s: float | None = None

    def __post_init__(self) -> None:
        for value in (self.period_s, self.message_bytes, self.due_s):
            if not 0 < value < math.inf:
                raise NetworkError(
                    f"a message of {self.message_bytes:g} B every {self.period_s:g} s, due within "
                    f"{self.due_s:g} s, is none: give all of them above 0"
                )

    @property
    def due_s(self) -> float:
        """Time in which a message must cross the network [s]: as stated, else the period."""
        return self.period_s if self.within_s is None else self.within_s

    @property
    def goodput_bps(self) -> float:
        """Average goodput [b/s]."""
        return self.message_bytes * 8 / self.period_s

    @property
    def needed_bps(self) -> float:
        """Goodput at which a message crosses in the time it has [b/s]."""
        return self.message_bytes * 8 / self.due_s


@dataclass(frozen=True, slots=True)
class Stream:
    """What one device sends to another over a route.

    Parameters
    ----------
    producer : Producer, optional
        ``None``: it sends as fast as it goes.
    payload_bytes : int
        Useful bytes per frame [B].
    cores : int, optional
        Parallel processes; ``None`` is the most its dataset measured.
    path : tuple of str
        Names of the ports it is sent from, the source's first.
    multicast : str, optional
        The set whose copies share the ports of their common beginning; a stream for each sink.
    paced_fps : float, optional
        Frames per second its sender is set to [1/s], where that is not what the producer asks for.
    window_bytes : float, optional
        The most that is on its way unacknowledged [B], of TCP; ``None``: more than limits it.
    options : mapping
        Options of the scenario, such as ``nagle``, as its dataset names them.
    allowed_shortfall_ratio : float
        Share of what is produced that need not arrive, 0 to 1.
    """

    name: str
    group: str
    source: str
    sink: str
    producer: Producer | None
    protocol: str
    payload_bytes: int
    path: tuple[str, ...]
    priority: int = 0
    kind: str = "soft"
    cores: int | None = None
    multicast: str | None = None
    paced_fps: float | None = None
    window_bytes: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    allowed_shortfall_ratio: float = 0.0

    def __post_init__(self) -> None:
        _check_among(f"kind of the stream {self.name}", self.kind, KINDS)
        if self.priority not in PRIORITIES:
            raise NetworkError(
                f"the stream {self.name} has the priority {self.priority}: take one from 0 to 7"
            )
        if self.payload_bytes < 1:
            raise NetworkError(f"the stream {self.name} has no payload: give it at least 1 B")
        if not 0 <= self.allowed_shortfall_ratio <= 1:
            raise NetworkError(
                f"the stream {self.name} may fall short by {self.allowed_shortfall_ratio:g}: give a "
                "share from 0 to 1"
            )

    @property
    def rate_fps(self) -> float | None:
        """Frames per second [1/s]: as paced, else from the produced bytes; ``None``: unlimited."""
        if self.paced_fps is not None:
            return self.paced_fps
        if self.producer is None:
            return None
        return self.producer.goodput_bps / (8 * self.payload_bytes)

    @property
    def sent_as(self) -> tuple[str, str]:
        """Identity of what is sent once at a port: the group, and in it the stream or the multicast set."""
        return self.group, self.multicast or self.name

    @property
    def requested_goodput_bps(self) -> float:
        """Average requested goodput [b/s]; infinite if the sender is unlimited."""
        if self.paced_fps is not None:
            return self.paced_fps * self.payload_bytes * 8
        return math.inf if self.producer is None else self.producer.goodput_bps

    @property
    def produced_bps(self) -> float:
        """Goodput that carries all that is produced and sent [b/s]; 0 if the sender is unlimited."""
        if self.producer is None and self.paced_fps is None:
            return 0.0
        made_bps = 0.0 if self.producer is None else self.producer.goodput_bps
        return max(self.requested_goodput_bps, made_bps)

    @property
    def must_arrive_bps(self) -> float:
        """Least goodput that brings what must arrive [b/s]; 0 if the sender is unlimited."""
        return self.produced_bps * (1 - self.allowed_shortfall_ratio)

    @property
    def frames_a_message(self) -> int:
        """Number of frames that one message takes; 1 of an unlimited sender."""
        if self.producer is None:
            return 1
        return math.ceil(self.producer.message_bytes / self.payload_bytes)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A requirement, and the stream or device to which it applies.

    Parameters
    ----------
    stream : str
        A stream, or a group of streams each of which must meet it.
    device : str, optional
        A device, or a group of devices each of which must meet it with all streams it handles.
    of : str
        Subject of a latency: ``message``, or ``frame`` for a single frame of it.
    """

    requirement: Requirement
    stream: str
    device: str | None = None
    of: str = MESSAGE


@dataclass(frozen=True, slots=True)
class System:
    """A whole system, by name and in the order of its file.

    ``file`` is the name of its file; empty of a bundled one, and of one made in Python.

    Raises
    ------
    NetworkError
        If a name is unknown, or a path does not lead from its source to its sink.
    """

    name: str
    title: str
    devices: Mapping[str, Device]
    switches: Mapping[str, Switch]
    links: Mapping[str, Link]
    ports: Mapping[str, Port]
    streams: Mapping[str, Stream]
    requirements: tuple[Wanted, ...] = ()
    source: str = ""
    known_limits: tuple[str, ...] = ()
    usecase: str | None = None
    file: str = ""

    def __post_init__(self) -> None:
        for link in self.links.values():
            for end in link.ends:
                self._check_node(end, f"the link {link.name}")
        for stream in self.streams.values():
            for end in (stream.source, stream.sink):
                self._check_node(end, f"the stream {stream.name}")
            self._check_path(stream)

    def __repr__(self) -> str:
        return (
            f"System({self.name!r}: {len(self.devices)} devices, {len(self.switches)} switches, "
            f"{len(self.links)} links, {len(self.streams)} streams)"
        )

    def _check_node(self, name: str, what: str) -> None:
        if name not in self.devices and name not in self.switches:
            raise NetworkError(f"{what} names {name!r}, which is no device and no switch")

    def _check_path(self, stream: Stream) -> None:
        nodes = list(self.nodes_of(stream))
        ports = [self.ports[name] for name in stream.path]
        joined = all(before.peer == after.node for before, after in pairwise(ports))
        if not ports or (nodes[0], nodes[-1]) != (stream.source, stream.sink) or not joined:
            raise NetworkError(
                f"the path of the stream {stream.name} leads over {', '.join(nodes) or 'nothing'}, "
                f"and not from {stream.source} to {stream.sink} link by link"
            )

    def node(self, name: str) -> Device | Switch:
        """The device or switch with a name."""
        return self.devices[name] if name in self.devices else self.switches[name]

    def nodes_of(self, stream: Stream) -> Iterator[str]:
        """The nodes a stream passes, its source first and its sink last."""
        for name in stream.path:
            if name not in self.ports:
                raise NetworkError(f"the stream {stream.name} names {name!r}, which is no port")
            yield self.ports[name].node
        if stream.path:
            yield self.ports[stream.path[-1]].peer

    def switches_of(self, stream: Stream) -> tuple[Switch, ...]:
        """The switches a stream passes, in their order."""
        return tuple(self.switches[name] for name in list(self.nodes_of(stream))[1:-1])

    def links_of(self, stream: Stream) -> tuple[Link, ...]:
        """The links a stream passes, in their order."""
        return tuple(self.links[self.ports[name].link] for name in stream.path)

    def cables_s(self, stream: Stream) -> float:
        """How long a bit takes through all cables of a stream [s]."""
        return sum(link.delay_s for link in self.links_of(stream))

    def copies(self) -> Mapping[tuple[str, str], list[Stream]]:
        """The streams of each multicast set, others by themselves, as `Stream.sent_as` has them."""
        sets: dict[tuple[str, str], list[Stream]] = {}
        for stream in self.streams.values():
            sets.setdefault(stream.sent_as, []).append(stream)
        return sets

    def streams_by_port(self) -> Mapping[str, tuple[Stream, ...]]:
        """The streams that each port sends, in the file's order, for all ports.

        Of the copies of a multicast set at a port only the first is included: it is sent once.
        """
        at: dict[str, dict[tuple[str, str], Stream]] = {name: {} for name in self.ports}
        for stream in self.streams.values():
            for port in stream.path:
                at[port].setdefault(stream.sent_as, stream)
        return MappingProxyType({port: tuple(there.values()) for port, there in at.items()})


def _check_among(what: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise NetworkError(f"the {what} is {given!r}: take one of {', '.join(allowed)}")


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
