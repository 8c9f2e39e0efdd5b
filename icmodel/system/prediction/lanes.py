"""The lanes of a system and its streams as flows over them: ports, interfaces and processors in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.model.placing import RELIABLE
from icmodel.system.network import Port, Stream, System
from icmodel.system.packing import Packing
from icmodel.system.prediction.asking import Answers
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Dscp,
    Fifo,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
)
from icmodel.system.sharing.allocation import Allocation, Flows, Lanes
from icmodel.system.sharing.disciplines import (
    Classes,
    Discipline,
    differentiated,
    gated,
    shaped,
    strict_priority,
    weighted,
)
from icmodel.system.sharing.loss import NOWHERE
from icmodel.system.sharing.windows import Windows, share

PROCESSOR, OWN_CORES, PORT, INTERFACE = "processor", "own cores", "port", "interface"
HOSTS = (PROCESSOR, OWN_CORES)
"""Lanes of a host's cores: all of them, and those that a stream with work of its application may take."""
ORIGIN = 3
"""The first hops of a flow are its sender's own: its processor, its own cores and its interface."""


Lane = tuple[str, str, int]
"""Kind, place and class."""
Hop = tuple[Lane, float]
"""A lane on the way of a stream, and how much of it 1 b/s takes."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A system as flows over lanes, and which lane is what: its kind, where it is, its class."""

    lanes: Lanes
    flows: Flows
    keys: Sequence[Lane]

    def allocation(self, offered_bps: Floats, windows: Windows) -> Allocation:
        """What every stream gets when it asks for this much [b/s] and has such a window."""
        return share(replace(self.flows, offered_bps=offered_bps), self.lanes, windows)

    def by_place(self, of_lanes: Floats | Ints) -> dict[tuple[str, str], float]:
        """Sums of a number of each lane over all classes, by kind and place."""
        found: dict[tuple[str, str], float] = {}
        for (kind, where, _), value in zip(self.keys, of_lanes.tolist(), strict=True):
            found[kind, where] = found.get((kind, where), 0.0) + value
        return found


def is_elastic(stream: Stream) -> bool:
    """Whether a stream gives way to what it meets, and loses nothing."""
    return stream.protocol in RELIABLE


def shared(system: System, packed: Packing, alone: Answers, capacity_bps: Floats) -> Shared:
    """The lanes and flows of a system.

    Parameters
    ----------
    alone : Answers
        Of each stream without the others, as it asks.
    capacity_bps : array (streams,)
        What each reaches alone as fast as it goes; infinite where nobody knows.
    """
    streams = list(system.streams.values())
    paths = [
        list(_hops(system, stream, packed, k, alone, capacity_bps))
        for k, stream in enumerate(streams)
    ]
    numbered: dict[Lane, int] = {}
    width = max((len(path) for path in paths), default=0)
    path = np.full((len(streams), width), NOWHERE)
    usage = np.zeros((len(streams), width))
    sent: set[tuple[object, ...]] = set()
    with_first = sent_with(streams)
    for k, hops in enumerate(paths):
        for place, hop in enumerate(hops):
            if hop is None:
                continue
            lane, used = hop
            path[k, place] = numbered.setdefault(lane, len(numbered))
            once = (lane, streams[k].sent_as)
            copied = lane[0] == PORT and streams[k].multicast is not None and once in sent
            copied |= place < ORIGIN - 1 and with_first[k] != k  # its sender does the work once
            usage[k, place] = 0.0 if copied else used
            sent.add(once)
    elastic = np.array([is_elastic(stream) for stream in streams], dtype=bool)
    none = np.zeros(len(streams))
    flows = Flows(none, np.ones(len(streams)), elastic, path, usage, ORIGIN, with_first)
    return Shared(_lanes(system, streams, list(numbered)), flows, list(numbered))


def sent_with(streams: Sequence[Stream]) -> Ints:
    """The first stream of the multicast set that leaves by the same port, (streams,)."""
    first: dict[tuple[object, ...], int] = {}
    sent = [first.setdefault((*one.sent_as, one.path[0]), k) for k, one in enumerate(streams)]
    return np.array(sent, dtype=np.int64)


def _hops(
    system: System,
    stream: Stream,
    packed: Packing,
    index: int,
    alone: Answers,
    capacity_bps: Floats,
) -> Iterator[Hop | None]:
    """The lanes of a stream in their order: the source's cores, ports, the sink's interface, its cores."""
    yield from _cores(system, stream, index, alone, "send")
    for name in stream.path:
        port = system.ports[name]
        ratio = packed.of(stream, system.links[port.link]).ratio
        priority = 0 if isinstance(port.scheduler, Fifo) else stream.priority
        yield (PORT, name, priority), ratio
    most = float(capacity_bps[index])
    yield ((INTERFACE, port.name, priority), 1 / most) if 0 < most < np.inf else None
    yield from _cores(system, stream, index, alone, "recv")


def _cores(
    system: System, stream: Stream, index: int, alone: Answers, side: str
) -> Iterator[Hop | None]:
    """The cores of one end: all of a host that says how many it has, and those that the stream may take.

    A dataset that speaks for the stream counts its application's work, and holds it to its own cores.  Of others
    only that work is known: a core handles one frame at a time.
    """
    device = system.devices[stream.source if side == "send" else stream.sink]
    own_s = device.app_send_s if side == "send" else device.app_recv_s
    goodput = float(alone.value("goodput_bps")[index])
    busy = float(alone.value(f"cpu_{side}_cores")[index])
    used = busy / goodput if busy > 0 and goodput > 0 else own_s / (8 * stream.payload_bytes)
    if not used > 0:
        yield from (None, None)
        return
    yield None if device.cores is None else ((PROCESSOR, device.name, 0), used)
    own = OWN_CORES, f"{device.name} for {stream.name}", 0
    yield (own, used / (stream.cores or 1)) if math.isnan(goodput) else None


def _lanes(system: System, streams: Sequence[Stream], keys: Sequence[Lane]) -> Lanes:
    """What each lane can carry; classes of a port share its rate, and alike what its receiver takes."""
    numbers: dict[tuple[str, str], int] = {}
    disciplines: dict[int, Discipline] = {}
    sizes = _packet_sizes(system, streams)
    for kind, where, _ in keys:
        if kind in HOSTS or (kind, where) in numbers:
            continue
        number = numbers[kind, where] = len(numbers)
        rule = _discipline(system.ports[where], sizes[where])
        if rule is not None:
            rate = system.ports[where].rate_bps
            disciplines[number] = rule if kind == PORT else partial(_scaled, rule=rule, to_bps=rate)
    return Lanes(
        capacity=np.array([_capacity(system, kind, where) for kind, where, _ in keys]),
        port=np.array([numbers.get(key[:2], NOWHERE) for key in keys], dtype=np.int64),
        priority=np.array([priority for _, _, priority in keys], dtype=np.int64),
        disciplines=disciplines,
    )


def _capacity(system: System, kind: str, where: str) -> float:
    if kind == PORT:
        return system.ports[where].rate_bps
    return float(system.devices[where].cores or 1) if kind == PROCESSOR else 1.0


def _scaled(whole: float, asked: Classes, *, rule: Discipline, to_bps: float) -> dict[int, float]:
    """A rule of a port's rate for parts of a whole."""
    scale = to_bps / whole
    given = rule(to_bps, {one: part * scale for one, part in asked.items()})
    return {one: value / scale for one, value in given.items()}


def _packet_sizes(system: System, streams: Sequence[Stream]) -> Mapping[str, Mapping[int, float]]:
    """Mean packet of each priority at each port [B], as turns of frames weigh them."""
    sizes: dict[str, dict[int, list[float]]] = {}
    for stream in streams:
        most = min(link.mtu_bytes for link in system.links_of(stream))
        for port in stream.path:
            here = sizes.setdefault(port, {}).setdefault(stream.priority, [])
            here.append(min(stream.payload_bytes, most))
    return {
        port: {priority: sum(some) / len(some) for priority, some in here.items()}
        for port, here in sizes.items()
    }


def _discipline(port: Port, sizes: Mapping[int, float]) -> Discipline | None:
    """How the classes of a port share its rate; ``None`` where all wait in one queue."""
    match port.scheduler:
        case StrictPriority():
            return strict_priority
        case CreditBased(idle_slopes_bps=slopes):
            return partial(shaped, slopes_bps=slopes)
        case DeficitRoundRobin(quanta_bytes=quanta):
            return partial(weighted, weights={k: float(v) for k, v in quanta.items()})
        case WeightedRoundRobin(weights=frames):
            return partial(weighted, weights={k: v * sizes.get(k, 1.0) for k, v in frames.items()})
        case Dscp(classes=behaviours):
            return partial(differentiated, behaviours=behaviours)
        case Gates(windows=windows):
            return partial(gated, windows=[(one.duration_s, one.priorities) for one in windows])
    return None


def meeting(found: Shared, allocation: Allocation, lanes: Ints) -> tuple[Ints, Floats, Floats]:
    """What each stream meets at one lane: how many streams cross it, what it has there, and the others [b/s].

    Parameters
    ----------
    lanes : array of int (streams,)
        The lane of each; ``NOWHERE`` where it meets nobody.
    """
    path = found.flows.path
    crossed = (path != NOWHERE) & (found.flows.usage > 0)
    size = len(found.keys) + 1
    total = np.bincount(path[crossed], allocation.entering_bps[crossed], size)
    count = np.bincount(path[crossed], minlength=size)
    own = np.where(path == lanes[:, None], allocation.entering_bps, 0.0).max(axis=1, initial=0.0)
    others = np.where(lanes == NOWHERE, 0.0, np.maximum(total[lanes] - own, 0.0))
    return count[lanes], own, others
