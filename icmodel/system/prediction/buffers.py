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
    overflowing : set of str
        Ports whose queue may be greater than their buffer.
    queued : Queues
        Queues that no buffer is less than.
    bound : Bounded
        Bounds that no buffer is less than, and none of TCP streams that a full buffer may delay.
    """

    spills: Mapping[int, Spill]
    overflowing: frozenset[str]
    queued: Queues
    bound: Bounded


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
        return Buffers({}, frozenset(), queued, bound)
    meetings = [_Meeting(system, packed, found, allocation, name, sizes[name]) for name in sizes]
    drops: dict[int, list[Spill]] = {}
    overflowing = set()
    for one in meetings:
        bits = bound.backlog_bytes.get(one.port.name, math.inf) * 8
        if one.excess_bits or (math.isfinite(bits) and bits > one.bits) or one.full:
            overflowing.add(one.port.name)
        for index, spill in one.spills(queued, bits):
            drops.setdefault(index, []).append(spill)
    return Buffers(
        spills={index: _together(some) for index, some in drops.items()},
        overflowing=frozenset(overflowing),
        queued=_held(system, found, queued, sizes),
        bound=_within(system, packed, bound, sizes, overflowing),
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


@dataclass(frozen=True)
class _Meeting:
    """Streams that meet at a port with a buffer of so many bits, on average or all at once."""

    system: System
    packed: Packing
    found: Shared
    allocation: Allocation
    name: str
    bits: float

    @property
    def port(self) -> Port:
        return self.system.ports[self.name]

    @property
    def curves(self) -> dict[int, Curve]:
        """What comes of each stream, by index; of copies only the first."""
        return {index: curve for index, _, curve in self._crossings()}

    def _crossings(self) -> Iterator[tuple[int, int, Curve]]:
        """Index, hop and curve of each stream at the port."""
        streams = list(self.system.streams.values())
        path, usage = self.found.flows.path, self.found.flows.usage
        for lane, key in enumerate(self.found.keys):
            if key[:2] != (PORT, self.name):
                continue
            for index, hop in np.argwhere(path == lane).tolist():
                stream = streams[index]
                before = stream.path[stream.path.index(self.name) - 1]
                link = self.system.links[self.port.link]
                burst = 8 * burst_bytes(stream) * self.packed.of(stream, link).ratio
                rate = float(self.allocation.entering_bps[index, hop] * usage[index, hop])
                if usage[index, hop] > 0:
                    peak = self.system.ports[before].rate_bps
                    yield index, hop, Curve(before, peak, burst, rate)

    @property
    def full(self) -> bool:
        """Whether what comes fills the port on average."""
        return sum(one.rate_bps for one in self.curves.values()) >= FULL * self.port.rate_bps

    @property
    def excess_bits(self) -> float:
        """What does not fit if all bursts come at once [b]; 0 at a port that is full on average."""
        return (
            0.0
            if self.full
            else beyond_bits(self.curves.values(), self.port.rate_bps, self.bits)[0]
        )

    def spills(self, queued: Queues, bound_bits: float) -> Iterator[tuple[int, Spill]]:
        """What is dropped of each stream that does not give way; what a full port drops shares tell.

        Where bursts that come at once fit, and the bound of the queue does not, what is beyond the bound may be lost.
        """
        if self.full:
            return
        rate = self.port.rate_bps
        excess, came = beyond_bits(self.curves.values(), rate, self.bits)
        if not excess and math.isfinite(bound_bits):
            excess = max(bound_bits - self.bits, 0.0)
            came = max(sum(one.burst_bits for one in self.curves.values()), bound_bits)
        streams = list(self.system.streams.values())
        for index, hop, curve in self._crossings():
            if excess <= 0 or is_elastic(streams[index]):
                continue
            own, of = beyond_bits([curve], rate, self.bits)
            low, high = own / of if of else 0.0, min(excess / came, 1.0)
            left_s = max(self.bits - own, 0.0) / rate
            mean, variance = float(queued.mean_s[index, hop]), float(queued.variance_s2[index, hop])
            value = expected_beyond(mean, variance, left_s, curve.burst_bits / rate)
            yield index, Spill(min(max(value, low), max(high, low)), low, max(high, low), self.name)


# --- what is held -----------------------------------------------------------------------------


def _rate_bps(system: System, port: Port, stream: Stream) -> float | None:
    """The rate at which a full buffer drains before a frame of a stream; ``None`` if others may overtake it."""
    if isinstance(port.scheduler, Fifo):
        return port.rate_bps
    if not isinstance(port.scheduler, StrictPriority):
        return None
    there = (one.priority for one in system.streams.values() if port.name in one.path)
    return port.rate_bps if stream.priority == max(there) else None


def _held(system: System, found: Shared, queued: Queues, sizes: Mapping[str, float]) -> Queues:
    """Queues, none of them greater than the buffer of its port."""
    most = np.full(found.flows.path.shape, np.inf)
    for index, stream in enumerate(system.streams.values()):
        for hop, lane in enumerate(found.flows.path[index].tolist()):
            if lane == NOWHERE or found.keys[lane][0] != PORT or found.keys[lane][1] not in sizes:
                continue
            port = system.ports[found.keys[lane][1]]
            rate = _rate_bps(system, port, stream)
            if rate is not None:
                most[index, hop] = sizes[port.name] / rate
    endless = np.isinf(queued.mean_s)
    mean = np.where(endless, np.inf, np.minimum(queued.mean_s, most))
    return replace(
        queued,
        mean_s=mean,
        variance_s2=np.where(endless, np.inf, _at_most(queued.variance_s2, mean, most)),
        # what waits at a full port is all that its buffer holds, the bursts of others among it
        burst_s=np.where(endless & np.isfinite(most), 0.0, np.minimum(queued.burst_s, most)),
        backlog_bytes={
            name: min(waiting, sizes[name] / 8)
            if name in sizes and math.isfinite(waiting)
            else waiting
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
    sizes: Mapping[str, float],
    overflowing: set[str],
) -> Bounded:
    """Bounds that stated buffers lower, and no bound of TCP where one may overflow."""
    if bound.why:
        return bound
    network = dict(bound.network)
    for name, stream in system.streams.items():
        full = next((port for port in stream.path if port in overflowing), None)
        if is_elastic(stream):
            if full is not None:
                network.pop(name, None)
            continue
        held_s = _held_s(system, packed, bound, sizes, stream)
        known = network.get(name)
        lost = () if full is None else (ARRIVING,)
        if held_s < (math.inf if known is None else known.value_s):
            network[name] = bounds.Bound(
                held_s, BUFFERS, (*(known.covers if known else ()), ARRIVING)
            )
        elif known is not None and lost:
            network[name] = replace(known, covers=(*known.covers, *lost))
    backlog = {
        name: min(bound.backlog_bytes.get(name, math.inf), sizes.get(name, math.inf) / 8)
        for name in {*bound.backlog_bytes, *sizes}
    }
    return replace(bound, network=network, backlog_bytes=backlog)


def _held_s(
    system: System, packed: Packing, bound: Bounded, sizes: Mapping[str, float], stream: Stream
) -> float:
    """The longest time of a frame that arrives, by what waits at most at each port of its path [s].

    At a port of one queue a frame waits no longer than all that can stand before it takes, and a packet that is on the
    wire already.
    """
    if not any(name in sizes for name in stream.path):
        return math.inf
    total = path_times.least_s(system, packed, stream)
    for name in stream.path:
        port = system.ports[name]
        rate = _rate_bps(system, port, stream)
        waiting = 8 * bound.backlog_bytes.get(name, math.inf)
        if rate is None or math.isinf(least := min(waiting, sizes.get(name, math.inf))):
            return math.inf
        link = system.links[port.link]
        there = (one for one in system.streams.values() if name in one.path)
        total += (least + max(packed.of(one, link).packet_bits for one in there)) / rate
    return total
