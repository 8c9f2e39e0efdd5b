"""Stated buffers of switches: the frames they drop where bursts meet, and the longest that a frame waits there.

A stream without back-pressure loses what does not fit.  Low is what it loses if no two bursts meet, high if all come at
once; between them stands the share expected of phases that are independent and even.  TCP gives way: what its packets
lose is sent again, of which no figure is given.  A buffer is taken to hold all frames of its port, in one queue, until
they are sent (assumed).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from icmodel.arrays import Floats
from icmodel.system import bounds
from icmodel.system.network import Port, Stream, Switch, System
from icmodel.system.packing import Packing
from icmodel.system.prediction import path_times
from icmodel.system.prediction.bounding import Bounded
from icmodel.system.prediction.lanes import PORT, Shared, is_elastic
from icmodel.system.prediction.queues import Queues, burst_bytes
from icmodel.system.schedulers import Fifo, StrictPriority
from icmodel.system.sharing.allocation import FULL, Allocation
from icmodel.system.sharing.loss import NOWHERE, Curve, beyond_bits, expected_beyond

BUFFERS = "stated buffers"
"""The method of a bound that adds up what stated buffers hold."""
ARRIVING = "frames that arrive"
BUNCHED_S = 1.0
"""Hosts hold frames back by their greatest latency, and bunch them, at most once in this time [s]: a greatest latency is
that of a whole run, and runs take a second or more (assumed)."""


@dataclass(frozen=True, slots=True)
class Spill:
    """The share of what comes of a stream that full buffers drop: value, low and high, and the port of most of it."""

    value: float
    low: float
    high: float
    at: str


@dataclass(frozen=True, slots=True)
class Buffers:
    """What stated buffers do to the streams and ports of a system.

    Parameters
    ----------
    spills : mapping
        By index of stream; only streams that may lose something.
    overflowing : frozenset of str
        Ports whose queue may be greater than their buffer.
    queued : Queues
        Queues that no buffer is less than.
    bound : Bounded
        Bounds that no buffer is less than, and none of TCP streams that a full buffer may delay.
    sizes : mapping
        Stated buffers [b] by port.
    """

    spills: Mapping[int, Spill]
    overflowing: frozenset[str]
    queued: Queues
    bound: Bounded
    sizes: Mapping[str, float]


def buffers(
    system: System,
    packed: Packing,
    found: Shared,
    allocation: Allocation,
    queued: Queues,
    bound: Bounded,
) -> Buffers:
    """What stated buffers drop, and what they hold."""
    sizes = dict(_sizes(system))
    if not sizes:
        return Buffers({}, frozenset(), queued, bound, sizes)
    drops: dict[int, list[Spill]] = {}
    overflowing = set()
    for one in _meetings(system, packed, found, allocation, sizes):
        bits = bound.backlog_bytes.get(one.port.name, math.inf) * 8
        if one.full or one.beyond[0] or one.bits < bits < math.inf:
            overflowing.add(one.port.name)
        for index, spill in one.spills(queued, bits):
            drops.setdefault(index, []).append(spill)
    ports = _ports(system, packed, sizes)
    return Buffers(
        spills={index: _together(some) for index, some in drops.items()},
        overflowing=frozenset(overflowing),
        queued=_held(found, ports, queued),
        bound=_within(system, packed, bound, ports, overflowing),
        sizes=sizes,
    )


def _sizes(system: System) -> Iterator[tuple[str, float]]:
    """Stated buffers [b] by port."""
    for name, port in system.ports.items():
        node = system.node(port.node)
        if isinstance(node, Switch) and node.buffer_bytes is not None:
            yield name, 8.0 * node.buffer_bytes


def _together(some: Sequence[Spill]) -> Spill:
    """The share that several ports drop, one behind the other."""
    kept = [math.prod(1 - getattr(one, end) for one in some) for end in ("value", "low", "high")]
    value, low, high = (1 - part for part in kept)
    return Spill(value, low, high, max(some, key=lambda one: one.high).at)


# --- what is dropped --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Crossing:
    """A stream at a port: its index and hop, what comes of it, and the indices of its copies.

    ``frames`` are those of a burst, ``packets`` those of a frame; ``slowest_bps`` is the rate of the slowest line before.
    """

    index: int
    hop: int
    elastic: bool
    curve: Curve
    slowest_bps: float
    frames: int
    packets: int
    packet_bits: float
    copies: tuple[int, ...]


@dataclass(frozen=True)
class _Meeting:
    """Streams that meet at a port with a buffer of so many bits; of copies only the first."""

    port: Port
    bits: float
    crossings: Sequence[_Crossing]

    @property
    def came_bps(self) -> float:
        """What comes on average [b/s]."""
        return sum(one.curve.rate_bps for one in self.crossings)

    @property
    def full(self) -> bool:
        """Whether what comes fills the port on average."""
        return self.came_bps >= FULL * self.port.rate_bps

    @cached_property
    def beyond(self) -> tuple[float, float]:
        """What does not fit if all bursts come at once, and what came [b].

        Of each link a packet may stand in the buffer that is not there whole yet, and one that is being sent.
        """
        packets: dict[str, float] = {}
        for one in self.crossings:
            link = one.curve.link
            packets[link] = max(packets.get(link, 0.0), one.packet_bits)
        curves = [one.curve for one in self.crossings]
        room_bits = self.bits - sum(packets.values()) - max(packets.values(), default=0.0)
        return beyond_bits(curves, self.port.rate_bps, room_bits)

    def spills(self, queued: Queues, bound_bits: float) -> Iterator[tuple[int, Spill]]:
        """What is dropped of each stream that does not give way; what an overloaded port drops anyway shares tell.

        Where bursts that come at once fit, only frames that hosts bunch may be lost: what the bound of the queue is
        beyond the buffer, once in the time of `BUNCHED_S`.  A frame is lost with any of its packets, and a burst
        loses whole frames.
        """
        rate = self.port.rate_bps
        excess, came = self.beyond
        over = self.came_bps > rate * (2 - FULL)
        bunched = not excess and math.isfinite(bound_bits)
        if bunched:
            excess = max(bound_bits - self.bits, 0.0)
            came = max(bound_bits, self.came_bps * BUNCHED_S)
        for one in self.crossings:
            if excess <= 0 or one.elastic:
                continue
            curve = one.curve
            own, of = beyond_bits([replace(curve, peak_bps=one.slowest_bps)], rate, self.bits)
            low = own / of if of and not over else 0.0
            share = one.packets * excess / came if came > 0 else 1.0
            if not bunched:
                share = math.ceil(share * one.frames * FULL) / one.frames
            high = max(min(share, 1.0), low)
            mean, variance = (
                float(waits[one.index, one.hop])
                for waits in (queued.last_mean_s, queued.last_variance_s2)
            )
            room_s = max(self.bits - own, 0.0) / rate
            found = expected_beyond(mean, variance, room_s, curve.burst_bits / rate)
            value = low if bunched else min(max(one.packets * found, low), high)
            spill = Spill(value, low, high, self.port.name)
            yield from ((index, spill) for index in (one.index, *one.copies))


def _meetings(
    system: System,
    packed: Packing,
    found: Shared,
    allocation: Allocation,
    sizes: Mapping[str, float],
) -> Iterator[_Meeting]:
    """The streams of each port with a stated buffer."""
    copies: dict[tuple[str, tuple[str, str]], list[int]] = {}
    usage, at = found.flows.usage, {name: list[_Crossing]() for name in sizes}
    for index, stream in enumerate(system.streams.values()):
        for hop, lane in enumerate(found.flows.path[index].tolist()):
            if lane == NOWHERE or found.keys[lane][0] != PORT or found.keys[lane][1] not in sizes:
                continue
            port = system.ports[found.keys[lane][1]]
            if usage[index, hop] <= 0:
                copies.setdefault((port.name, stream.multicast_key), []).append(index)
                continue
            frames = packed.of(stream, system.links[port.link])
            came_over = stream.path[: stream.path.index(port.name)]
            before = system.ports[came_over[-1]]
            burst = 8 * burst_bytes(stream) * frames.ratio
            rate = float(allocation.entering_bps[index, hop] * usage[index, hop])
            packets = 8 * stream.payload_bytes * frames.ratio / frames.packet_bits
            at[port.name].append(
                _Crossing(
                    index=index,
                    hop=hop,
                    elastic=is_elastic(stream),
                    curve=Curve(before.name, before.rate_bps, burst, rate),
                    slowest_bps=min(system.ports[name].rate_bps for name in came_over),
                    frames=max(round(burst_bytes(stream) / stream.payload_bytes), 1),
                    packets=math.ceil(packets * FULL),
                    packet_bits=frames.packet_bits,
                    copies=(),
                )
            )
    streams = list(system.streams.values())
    for name, some in at.items():
        told = [
            replace(one, copies=tuple(copies.get((name, streams[one.index].multicast_key), ())))
            for one in some
        ]
        yield _Meeting(system.ports[name], sizes[name], told)


# --- what is held -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Held:
    """What may wait at a port: the bits of its buffer, its longest packet [b], and its most urgent priority."""

    port: Port
    bits: float
    packet_bits: float
    urgent: int

    def rate_bps(self, priority: int) -> float | None:
        """The rate at which a full buffer drains before a frame; ``None`` if others may overtake it."""
        if isinstance(self.port.scheduler, Fifo):
            return self.port.rate_bps
        first = isinstance(self.port.scheduler, StrictPriority) and priority == self.urgent
        return self.port.rate_bps if first else None


def _ports(system: System, packed: Packing, sizes: Mapping[str, float]) -> dict[str, _Held]:
    """All ports that send something; without a stated buffer any number of bits may wait."""
    found = {}
    for name, streams in system.streams_by_port().items():
        port = system.ports[name]
        packets = [packed.of(one, system.links[port.link]).packet_bits for one in streams]
        urgent = max((one.priority for one in streams), default=0)
        found[name] = _Held(port, sizes.get(name, math.inf), max(packets, default=0.0), urgent)
    return found


def _held(found: Shared, ports: Mapping[str, _Held], queued: Queues) -> Queues:
    """Queues, none of them greater than the buffer of its port."""
    most = np.full(found.flows.path.shape, np.inf)
    for lane, (kind, name, priority) in enumerate(found.keys):
        rate = ports[name].rate_bps(priority) if kind == PORT else None
        if rate is not None:
            most[found.flows.path == lane] = ports[name].bits / rate
    endless = np.isinf(queued.mean_s)
    first = np.where(endless, np.inf, np.minimum(queued.mean_s, most))
    last = np.where(endless, np.inf, np.minimum(queued.last_mean_s, most))
    return replace(
        queued,
        mean_s=first,
        variance_s2=np.where(endless, np.inf, _at_most(queued.variance_s2, first, most)),
        last_mean_s=last,
        last_variance_s2=np.where(endless, np.inf, _at_most(queued.last_variance_s2, last, most)),
        # what waits at a full port is all that its buffer holds, the bursts of others among it
        burst_s=np.where(endless & np.isfinite(most), 0.0, np.minimum(queued.burst_s, most)),
        backlog_bytes={
            name: waiting if math.isinf(waiting) else min(waiting, ports[name].bits / 8)
            for name, waiting in queued.backlog_bytes.items()
        },
    )


def _at_most(variance: Floats, mean: Floats, most: Floats) -> Floats:
    """Variances of waits between 0 and a greatest one, of this mean (Bhatia and Davis, 2000)."""
    with np.errstate(invalid="ignore"):
        greatest = np.where(np.isfinite(most) & np.isfinite(mean), mean * (most - mean), np.inf)
    return np.minimum(variance, greatest)


def _within(
    system: System,
    packed: Packing,
    bound: Bounded,
    ports: Mapping[str, _Held],
    overflowing: set[str],
) -> Bounded:
    """Bounds that stated buffers lower, and no bound of TCP where one may overflow."""
    if bound.why:
        return bound
    network = dict(bound.network)
    for name, stream in system.streams.items():
        overflows = not overflowing.isdisjoint(stream.path)
        if is_elastic(stream):
            if overflows:
                network.pop(name, None)
            continue
        known, held_s = network.get(name), _held_s(system, packed, bound, ports, stream)
        covers = (*(known.covers if known else ()), ARRIVING)
        if held_s < (known.value_s if known else math.inf):
            network[name] = bounds.Bound(held_s, BUFFERS, covers)
        elif known is not None and overflows:
            network[name] = replace(known, covers=covers)
    waiting = {
        name: min(bound.backlog_bytes.get(name, math.inf), one.bits / 8)
        for name, one in ports.items()
    }
    known_bytes = {name: most for name, most in waiting.items() if math.isfinite(most)}
    return replace(bound, network=network, backlog_bytes={**bound.backlog_bytes, **known_bytes})


def _held_s(
    system: System,
    packed: Packing,
    bound: Bounded,
    ports: Mapping[str, _Held],
    stream: Stream,
) -> float:
    """The longest time of a frame that arrives, by what waits at most at each port of its path [s].

    At a port of one queue a frame waits no longer than all that can stand before it takes, and a packet that is on the
    wire already.
    """
    if all(math.isinf(ports[name].bits) for name in stream.path):
        return math.inf
    total = path_times.least_s(system, packed, stream)
    for name in stream.path:
        one = ports[name]
        rate = one.rate_bps(stream.priority)
        waiting = min(8 * bound.backlog_bytes.get(name, math.inf), one.bits)
        if rate is None or math.isinf(waiting):
            return math.inf
        total += (waiting + one.packet_bits) / rate
    return total
