"""What streams wait for each other at the ports of a system, and what queues there on average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.system.loads import wire_ratio
from icmodel.system.network import Port, Stream, System
from icmodel.system.prediction.sharing import PORT, Shared
from icmodel.system.schedulers import CreditBased, Fifo, Gates, StrictPriority
from icmodel.system.sharing.allocation import Allocation
from icmodel.system.sharing.overload import NOWHERE
from icmodel.system.sharing.periodic import Arrivals, waits

AT_ONCE = ("burst", "samples")
"""What is produced and sent at once; a picture or a plain goodput is sent frame by frame, evenly."""
WHOLE_PORT = (Fifo, StrictPriority, CreditBased)
"""Schedulers whose classes wait for one another; of others each class has a rate of its own."""


@dataclass(frozen=True, slots=True)
class Queues:
    """What each stream waits at each hop beside what its dataset measured, and what queues at ports.

    ``mean_s``, ``variance_s2`` and ``burst_s`` are (streams, hops), infinite where a queue grows without
    end, 0 at hops that are no ports; ``burst_s`` is what all others of the port send at once, each once.
    ``backlog_bytes`` is by port.
    """

    mean_s: Floats
    variance_s2: Floats
    burst_s: Floats
    backlog_bytes: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A stream's frames at a port: which stream and hop, its server and source, rate and times."""

    stream: int
    hop: int
    port: Port
    server: object
    source: object
    priority: int
    wire_bps: float
    load: float
    burst_s: float
    packet_s: float
    closed_s: tuple[float, float]


def queues(system: System, found: Shared, allocation: Allocation) -> Queues:
    """What streams wait at ports, by the load there and by what each sends at once."""
    streams = list(system.streams.values())
    entries = _entries(system, streams, found, allocation)
    shape = found.flows.path.shape
    mean, variance, burst = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    if not entries:
        return Queues(mean, variance, burst, {})
    at = _arrivals(entries)
    waited = waits(at)
    gates = np.array([one.closed_s for one in entries])
    means, squares = waited.mean_s + gates[:, 0], waited.variance_s2 + gates[:, 1]
    once = _once(at)
    place = {(one.port.name, streams[one.stream].sent_as): k for k, one in enumerate(entries)}
    keys = found.keys
    for k, stream in enumerate(streams):
        for hop, lane in enumerate(found.flows.path[k].tolist()):
            entry = place.get((keys[lane][1], stream.sent_as), -1) if lane != NOWHERE else -1
            if entry >= 0 and keys[lane][0] == PORT:
                mean[k, hop], variance[k, hop] = means[entry], squares[entry]
                burst[k, hop] = once[entry]
    return Queues(mean, variance, burst, _backlogs(entries, means))


def _entries(
    system: System, streams: Sequence[Stream], found: Shared, allocation: Allocation
) -> list[_Entry]:
    entries = []
    for k, stream in enumerate(streams):
        before: Port | None = None
        for hop, lane in enumerate(found.flows.path[k].tolist()):
            if lane == NOWHERE or found.keys[lane][0] != PORT:
                continue
            port = system.ports[found.keys[lane][1]]
            usage = float(found.flows.usage[k, hop])
            if usage > 0:
                wire_bps = float(allocation.entering_bps[k, hop]) * usage
                could = float(allocation.could[lane])
                entries.append(_entry(system, stream, k, hop, port, before, wire_bps, could))
            before = port
    return entries


def _entry(
    system: System,
    stream: Stream,
    index: int,
    hop: int,
    port: Port,
    before: Port | None,
    wire_bps: float,
    could_bps: float,
) -> _Entry:
    whole = isinstance(port.scheduler, WHOLE_PORT)
    rate = port.rate_bps if whole else max(could_bps, 1e-9 * port.rate_bps)
    link = system.links[port.link]
    ratio = wire_ratio(stream.protocol, stream.payload_bytes, link)
    packet = min(stream.payload_bytes, link.mtu_bytes) * 8 * ratio
    in_line = before is not None and before.rate_bps <= rate
    return _Entry(
        stream=index,
        hop=hop,
        port=port,
        server=port.name if whole else (port.name, stream.priority),
        source=(port.name, before.name)
        if before is not None and in_line
        else (port.name, stream.name),
        priority=0 if isinstance(port.scheduler, Fifo) or not whole else stream.priority,
        wire_bps=wire_bps,
        load=wire_bps / rate,
        burst_s=burst_bytes(stream) * 8 * ratio / rate,
        packet_s=packet / rate,
        closed_s=_closed(port, stream.priority),
    )


def burst_bytes(stream: Stream) -> float:
    """What a stream sends at once [B]: its message where that is produced at once, else a frame."""
    made = stream.producer
    if made is None or made.kind not in AT_ONCE:
        return float(stream.payload_bytes)
    return max(made.message_bytes, float(stream.payload_bytes))


def _closed(port: Port, priority: int) -> tuple[float, float]:
    """Mean [s] and variance [s²] of the wait for a gate to open, at a random moment of its cycle."""
    if not isinstance(port.scheduler, Gates):
        return 0.0, 0.0
    windows = port.scheduler.windows
    first = next((k for k, one in enumerate(windows) if priority in one.priorities), None)
    if first is None:
        return np.inf, np.inf
    gaps, gap = [], 0.0
    for one in (*windows[first:], *windows[:first]):
        gap = 0.0 if priority in one.priorities else gap + one.duration_s
        gaps.append(gap)
    longest = [
        gap for gap, after in zip(gaps, (*gaps[1:], 0.0), strict=True) if gap > 0 and after == 0
    ]
    cycle = port.scheduler.cycle_s
    mean = sum(gap**2 for gap in longest) / (2 * cycle)
    return mean, sum(gap**3 for gap in longest) / (3 * cycle) - mean**2


def _arrivals(entries: Sequence[_Entry]) -> Arrivals:
    return Arrivals(
        port=_numbered([one.server for one in entries]),
        source=_numbered([one.source for one in entries]),
        priority=np.array([one.priority for one in entries], dtype=np.int64),
        load=np.array([one.load for one in entries]),
        burst_s=np.array([one.burst_s for one in entries]),
        packet_s=np.array([one.packet_s for one in entries]),
    )


def _numbered(names: Sequence[object]) -> Ints:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _once(at: Arrivals) -> Floats:
    """What an entry waits if all others send at once [s]: bursts no less urgent, and one packet that is.

    Those of its own source come one after the other.
    """
    found = np.zeros(len(at.port))
    for priority in np.unique(at.priority):
        burst = np.where(at.priority >= priority, at.burst_s, 0.0)
        packet = np.zeros(int(at.port.max()) + 1)
        np.maximum.at(packet, at.port, np.where(at.priority < priority, at.packet_s, 0.0))
        others = np.bincount(at.port, burst)[at.port] - np.bincount(at.source, burst)[at.source]
        here = at.priority == priority
        found[here] = (others + packet[at.port])[here]
    return found


def _backlogs(entries: Sequence[_Entry], waited_s: Floats) -> dict[str, float]:
    """Mean bytes that wait at each port: what arrives in the time it waits (J. D. C. Little, 1961)."""
    found: dict[str, float] = {}
    for one, wait_s in zip(entries, waited_s.tolist(), strict=True):
        waiting = one.wire_bps * wait_s / 8 if one.wire_bps > 0 else 0.0
        found[one.port.name] = found.get(one.port.name, 0.0) + waiting
    return found
