"""System: devices, links, switches and streams, after groups are expanded and routes found; frozen.

All numbers are in SI, and names are keys. The six members of a group ``camera`` are ``camera-1`` to
``camera-6``; a single member has the group's name. A link is ``a<->b``; the port from which ``a`` sends to
``b`` is ``a->b``. If several links join the same two nodes, their names end in ``#1``, ``#2`` and so on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from icmodel.errors import NetworkError
from icmodel.estimate import quantity
from icmodel.frozen import FrozenMapping
from icmodel.requirement import ROUNDING, Requirement
from icmodel.system.schedulers import PRIORITIES, CreditBased, Fifo, Scheduler
from icmodel.system.traffic_sources import Producer
from icmodel.table import html_table

if TYPE_CHECKING:
    from icmodel.system.document import Costs

FORWARDING = ("store-and-forward", "cut-through")
KINDS = ("hard", "firm", "soft")
SIDES = (("source", "send"), ("sink", "recv"))
"""Ends of a stream, source and sink, each with the word for this end in names of CPU metrics."""
MESSAGE = "message"
"""Value of ``of`` in a latency requirement that applies to the whole message, not to a single ``frame``."""
SHORT_LAST = 0.02
"""Limit up to which short last frames are ignored: the fraction by which they increase the number of frames.

Assumed, since no dataset resolves smaller differences.
"""


@dataclass(frozen=True, slots=True)
class Device:
    """A host, the source or sink of streams.

    Parameters
    ----------
    group : str
        Group of the document to which the device belongs.
    interfaces : int
        Greatest number of links of the device.
    cores : int, optional
        Number of cores of the processor; ``None`` if unknown.
    dataset : str, optional
        Dataset measured with hosts like this one; ``None`` stands for the dataset of the device's links.
    cpu_clock_ratio : float
        CPU clock of the device, divided by the CPU clock of the dataset's hosts.
    app_send_s, app_recv_s : float
        Time that the application adds to each sent frame, and to each received frame [s].
    latency_s : tuple of two floats, optional
        Least and greatest time that the device states for each frame it sends or receives [s]; ``None``: a
        dataset gives the time.
    core_time_s : tuple of two floats, optional
        Least and greatest core time that the device states for each frame [s].
    source : str
        Origin of the stated times, such as a data sheet.
    """

    name: str
    group: str
    interfaces: int = 1
    cores: int | None = None
    dataset: str | None = None
    cpu_clock_ratio: float = 1.0
    app_send_s: float = 0.0
    app_recv_s: float = 0.0
    latency_s: tuple[float, float] | None = None
    core_time_s: tuple[float, float] | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch, which forwards frames.

    Parameters
    ----------
    forwarding : str
        ``store-and-forward`` or ``cut-through``.
    latency_s : float
        Time added to each frame [s]. Time in queues is not included, nor is the time in which a
        ``store-and-forward`` switch receives a packet.
    buffer_bytes : float, optional
        Buffer of each port [B]; ``None`` if not stated.
    scheduler : Scheduler
        Order of sending at the switch's ports, unless a port has its own scheduler.

    Raises
    ------
    NetworkError
        If ``forwarding`` has another value.
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
        Rate in each direction [b/s].
    length_m, delay_s : float
        Length of the cable [m], and propagation delay of the whole cable [s].
    mtu_bytes : int
        Largest packet inside a frame of the link, without the frame's headers [B].
    interconnect : str
        Protocol of the link: ``ethernet``, ``infiniband``, ``roce``, ``rapidio`` or ``plain``. A
        ``plain`` link has no headers, as in network calculus.
    dataset : str, optional
        Dataset for streams over the link, by name or path; ``None`` uses theory alone.
    burst_bytes : float
        Size of the token bucket that limits the link [B]. A burst of this size passes immediately; then
        ``rate_bps`` limits the rate. 0 without a token bucket.
    group : str
        Name of the link's table in a system file: the names of both groups, such as ``camera<->switch``.

    Raises
    ------
    NetworkError
        If the rate is not above 0 and finite.
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
    group: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.rate_bps <= 1e18:
            raise NetworkError(
                f"the link {self.name} has the rate {self.rate_bps:g} b/s: give a rate from 1 to 1e18 b/s"
            )


@dataclass(frozen=True, slots=True)
class Port:
    """One direction of a link: the port of the sending node, where frames queue."""

    name: str
    link: str
    node: str
    peer: str
    rate_bps: float
    scheduler: Scheduler = field(default_factory=Fifo)

    def paced_bps(self, priority: int) -> float:
        """Greatest rate at which waiting packets of a class leave the port [b/s].

        It is the rate of the port, or the idle slope of a class with a credit-based shaper. Such a class earns credit
        only while it waits, so packets that arrive together leave at the idle slope (IEEE 802.1Q-2022 §8.6.8.2).
        """
        if not isinstance(self.scheduler, CreditBased):
            return self.rate_bps
        return min(self.rate_bps, self.scheduler.idle_slopes_bps.get(priority, math.inf))


@dataclass(frozen=True, slots=True)
class Stream:
    """Traffic from one device to another over a route.

    Parameters
    ----------
    producer : Producer, optional
        Source of the stream's messages; ``None`` sends at full speed.
    protocol : str
        Protocol of the frames, as the dataset names the protocol.
    payload_bytes : int
        Useful bytes per frame [B].
    path : tuple of str
        Names of the ports on the route, beginning with the port of the source.
    priority : int
        Priority from 0 to 7; 7 is the most urgent.
    kind : str
        Kind of deadline, shown in reports: ``hard``, ``firm`` or ``soft``.
    cores : int, optional
        Number of parallel processes; ``None`` is one connection, which uses one core.
    multicast : str, optional
        Name of the multicast set. The set has one stream (a copy) for each sink. The copies share the ports
        at the beginning of their routes.
    paced_fps : float, optional
        Frame rate that the sender is set to [1/s], if it differs from the produced rate.
    window_bytes : float, optional
        TCP window: greatest number of unacknowledged bytes [B]; ``None`` if the window is no limit.
    options : mapping
        Options of the scenario, such as ``nagle``, as the dataset names the options.
    allowed_shortfall_ratio : float
        Share of the produced data that need not arrive, 0 to 1.

    Raises
    ------
    NetworkError
        If a value is outside its range.
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
                f"the stream {self.name} has the priority {self.priority}: give a priority from 0 to 7"
            )
        if self.payload_bytes < 1:
            raise NetworkError(f"the stream {self.name} has no payload: give it at least 1 B")
        if not 0 <= self.allowed_shortfall_ratio <= 1:
            raise NetworkError(
                f"the stream {self.name} has allowed_shortfall_ratio = {self.allowed_shortfall_ratio:g}: "
                "give a share from 0 to 1"
            )

    def __repr__(self) -> str:
        way = f"{self.source} -> {self.sink}"
        return f"Stream({self.name!r}: {way}, {self.protocol}, {self.payload_bytes} B)"

    @property
    def rate_fps(self) -> float | None:
        """Frame rate of the stream on average [1/s]: the rate set at the sender, but no more than is produced.

        ``None`` if the sender is unlimited.
        """
        if self.producer is None:
            return self.paced_fps
        if self.paced_fps is None:
            return self.producer.goodput_bps / (8 * self.payload_bytes)
        made_fps = self.producer.goodput_bps / (8 * self.mean_frame_bytes)
        return self.paced_fps if self.paced_fps <= made_fps * (1 + ROUNDING) else made_fps

    @property
    def multicast_key(self) -> tuple[str, str]:
        """Key that all copies of a multicast set share: the group, and the name of the set.

        A port sends only one copy of the packets of streams with the same key. A stream outside a multicast set has a
        key of its own.
        """
        return self.group, self.multicast or self.name

    @property
    def requested_goodput_bps(self) -> float:
        """Goodput that the stream requests on average [b/s]; infinite if the sender is unlimited.

        If no frame rate is set at the sender, this is the produced goodput. Otherwise it is the smaller of the produced
        goodput and ``frame rate * mean_frame_bytes * 8``.
        """
        made_bps = math.inf if self.producer is None else self.producer.goodput_bps
        if self.paced_fps is None:
            return made_bps
        return min(self.paced_fps * self.mean_frame_bytes * 8, made_bps)

    @property
    def produced_bps(self) -> float:
        """Mean rate of the data that the sender produces [b/s]; 0 if the sender is unlimited."""
        if self.producer is not None:
            return self.producer.goodput_bps
        return 0.0 if self.paced_fps is None else self.requested_goodput_bps

    @property
    def must_arrive_bps(self) -> float:
        """Least goodput that must arrive: the produced goodput less the allowed shortfall [b/s].

        0 if the sender is unlimited.
        """
        return self.produced_bps * (1 - self.allowed_shortfall_ratio)

    @property
    def frames_a_message(self) -> int:
        """Number of frames of one message; 1 if the sender is unlimited."""
        if self.producer is None:
            return 1
        return math.ceil(self.producer.message_bytes / self.payload_bytes)

    @property
    def interval_s(self) -> float:
        """Time between two moments at which the stream gets data to send [s]; 0 if the sender is unlimited.

        If the producer hands over whole messages, this is its period. If it hands over frames one by one, this is the
        time between two frames.
        """
        made = self.producer
        if made is not None and made.at_once:
            return made.period_s
        if self.paced_fps is not None:
            return 1 / self.paced_fps
        return 0.0 if made is None else made.period_s / self.frames_a_message

    @property
    def spaced_fps(self) -> float:
        """Rate at which the sender sends the frames of one message [1/s]; infinite if it does not space them.

        If the producer hands over whole messages, this is the frame rate set at the sender, or infinite if none is
        set. If the producer hands over frames one by one, it is infinite, since the sender then has no frames to space.
        """
        return self.paced_fps if self.sent_at_once and self.paced_fps is not None else math.inf

    @property
    def sent_at_once(self) -> bool:
        """Whether the producer hands over all frames of a message together; False if the sender is unlimited."""
        return self.producer is not None and self.producer.at_once

    @property
    def last_frame_paced_s(self) -> float:
        """Time between the first and the last frame of a message if the sender sends at its set rate [s].

        It is (frames per message − 1) / rate, or 0 if no rate is set at the sender.
        """
        return 0.0 if self.paced_fps is None else (self.frames_a_message - 1) / self.paced_fps

    @property
    def mean_frame_bytes(self) -> float:
        """Mean useful bytes of a frame [B].

        If the last frame of a message is so short that it changes the mean noticeably, the result is the mean over the
        message: message size / frames per message. Otherwise the result is the payload. The limit is
        ``frames per message * payload > message size * (1 + SHORT_LAST)``.
        """
        frames, made = self.frames_a_message, self.producer
        if made is None or frames * self.payload_bytes <= made.message_bytes * (1 + SHORT_LAST):
            return float(self.payload_bytes)
        return made.message_bytes / frames

    def core_time_per_bit_s(self, device: Device, side: str) -> tuple[float, float]:
        """Least and greatest core time of a device for each bit of goodput [s], from the core time stated for a frame.

        ``side`` is ``send`` or ``recv``; the application's time per frame at this side is included. The last frame of
        a message may be short. For the least time, a short frame takes core time in proportion to its size. For the
        greatest time, it takes as much core time as a full frame.
        """
        application_s = device.app_send_s if side == "send" else device.app_recv_s
        least, most = device.core_time_s or (0.0, 0.0)
        frames = full = 1 / (8 * self.payload_bytes)
        made = self.producer
        if made is not None and made.message_bytes > 0:
            frames = max(full, self.frames_a_message / (8 * made.message_bytes))
        return (least + application_s) * full, (most + application_s) * frames


@dataclass(frozen=True, slots=True)
class StreamRequirement:
    """A requirement, and the stream or device to which it applies.

    Parameters
    ----------
    stream : str
        A stream, or a group of streams. Each stream of the group must meet the requirement.
    device : str, optional
        A device, or a group of devices. Each device must meet the requirement with all of its streams.
    of : str
        Kind of latency that is limited: ``message`` for the whole message, or ``frame`` for a single frame.
    """

    requirement: Requirement
    stream: str
    device: str | None = None
    of: str = MESSAGE


@dataclass(frozen=True, slots=True)
class System:
    """A whole system: devices, switches, links, ports and streams, each a mapping by name in the order of the file.

    ``file`` is the name of the system's file. It is empty for a bundled system or a system made in
    Python. ``sha256`` is the hash of the file, empty for a system made in Python. ``costs`` has the costs
    stated in the file.

    Raises
    ------
    NetworkError
        If a name is unknown, or the path of a stream does not lead from the stream's source to its sink.

    Examples
    --------
    >>> from icmodel.system import load
    >>> system = load("imaging")
    >>> system
    System('imaging': 15 devices, 1 switches, 17 links, 14 streams)
    >>> system.streams["picture-1"].path
    ('capturing-device-1->switch', 'switch->qfhd-display#1')
    """

    name: str
    title: str
    devices: Mapping[str, Device]
    switches: Mapping[str, Switch]
    links: Mapping[str, Link]
    ports: Mapping[str, Port]
    streams: Mapping[str, Stream]
    requirements: tuple[StreamRequirement, ...] = ()
    source: str = ""
    known_limits: tuple[str, ...] = ()
    usecase: str | None = None
    file: str = ""
    sha256: str = ""
    costs: Costs | None = None

    def __post_init__(self) -> None:
        ends = [(f"the link {link.name}", end) for link in self.links.values() for end in link.ends]
        for stream in self.streams.values():
            ends += [(f"the stream {stream.name}", end) for end in (stream.source, stream.sink)]
        for part, end in ends:
            if end not in self.devices and end not in self.switches:
                raise NetworkError(
                    f"{part} names {end!r}, which is neither a device nor a switch: add it or correct the name"
                )
        for stream in self.streams.values():
            nodes = list(self.nodes_of(stream))
            ports = [self.ports[name] for name in stream.path]
            joined = all(before.peer == after.node for before, after in pairwise(ports))
            if not ports or (nodes[0], nodes[-1]) != (stream.source, stream.sink) or not joined:
                raise NetworkError(
                    f"the path of the stream {stream.name} is {', '.join(nodes) or 'empty'}, which does not "
                    f"join {stream.source} and {stream.sink} by links: correct the path"
                )

    def __repr__(self) -> str:
        return (
            f"System({self.name!r}: {len(self.devices)} devices, {len(self.switches)} switches, "
            f"{len(self.links)} links, {len(self.streams)} streams)"
        )

    def _repr_html_(self) -> str:
        """Return a table of the system's streams in HTML, for a notebook."""
        rows = (
            (
                one.name,
                f"{one.source} → {one.sink}",
                one.protocol,
                quantity("payload_bytes", one.payload_bytes),
                "unlimited"
                if math.isinf(one.requested_goodput_bps)
                else quantity("goodput_bps", one.requested_goodput_bps, 4),
            )
            for one in self.streams.values()
        )
        columns = ("stream", "from → to", "protocol", "#payload", "#requested goodput")
        return html_table(f"{self.title} ({self!r})", columns, rows, self.known_limits)

    @property
    def states_devices(self) -> bool:
        """Whether any device states its own latency, instead of using a dataset."""
        return any(one.latency_s is not None for one in self.devices.values())

    @property
    def interface_count(self) -> int:
        """Number of device interfaces that are connected to a link."""
        return sum(end in self.devices for link in self.links.values() for end in link.ends)

    @property
    def cost(self) -> float:
        """Total cost of all interfaces, cores, links and switches; 0 if the file states no costs."""
        per = self.costs
        if per is None:
            return 0.0
        total = per.switch * len(self.switches)
        total += per.core * sum(one.cores or 0 for one in self.devices.values())
        for link in self.links.values():
            ends = sum(end in self.devices for end in link.ends)
            total += ends * (per.interface + per.interface_per_gbps * link.rate_bps / 1e9)
            total += per.link + per.link_per_m * link.length_m
        return total

    def node(self, name: str) -> Device | Switch:
        """Device or switch with the given name."""
        return self.devices[name] if name in self.devices else self.switches[name]

    def nodes_of(self, stream: Stream) -> Iterator[str]:
        """Names of the nodes on a stream's path, from source to sink."""
        for name in stream.path:
            if name not in self.ports:
                raise NetworkError(
                    f"the path of the stream {stream.name} names {name!r}, which is not a port: correct the path"
                )
            yield self.ports[name].node
        if stream.path:
            yield self.ports[stream.path[-1]].peer

    def stating_devices(self, stream: Stream) -> dict[str, Device]:
        """Map ``send`` to a stream's source and ``recv`` to its sink; a device without a stated latency is left out."""
        devices = {side: self.devices[getattr(stream, end)] for end, side in SIDES}
        return {side: device for side, device in devices.items() if device.latency_s is not None}

    def switches_of(self, stream: Stream) -> tuple[Switch, ...]:
        """Switches on a stream's path, in order."""
        return tuple(self.switches[name] for name in list(self.nodes_of(stream))[1:-1])

    def links_of(self, stream: Stream) -> tuple[Link, ...]:
        """Links on a stream's path, in order."""
        return tuple(self.links[self.ports[name].link] for name in stream.path)

    def propagation_s(self, stream: Stream) -> float:
        """Sum of the propagation delays of all cables on a stream's path [s]."""
        return sum(link.delay_s for link in self.links_of(stream))

    def multicast_sets(self) -> Mapping[tuple[str, str], list[Stream]]:
        """Group the streams by `Stream.multicast_key`: all copies of a multicast set are one group.

        Every other stream is alone in its group.
        """
        sets: dict[tuple[str, str], list[Stream]] = {}
        for stream in self.streams.values():
            sets.setdefault(stream.multicast_key, []).append(stream)
        return sets

    def stated_buffers_bits(self) -> dict[str, float]:
        """Sizes of the stated buffers of switches, by name of the port [b]."""
        buffers = {name: one.buffer_bytes for name, one in self.switches.items()}
        sizes = {name: buffers.get(port.node) for name, port in self.ports.items()}
        return {name: 8.0 * size for name, size in sizes.items() if size is not None}

    def streams_by_port(self) -> Mapping[str, tuple[Stream, ...]]:
        """Map the name of each port to the streams that the port sends, in the order of the file.

        A port sends one copy for all streams of a multicast set, so only the set's first stream is included.
        """
        at: dict[str, dict[tuple[str, str], Stream]] = {name: {} for name in self.ports}
        for stream in self.streams.values():
            for port in stream.path:
                at[port].setdefault(stream.multicast_key, stream)
        return FrozenMapping({port: tuple(there.values()) for port, there in at.items()})


def _check_among(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise NetworkError(f"the {what} is {value!r}: use one of {', '.join(allowed)}")
