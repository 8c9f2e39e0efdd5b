"""Check a system: unconnected, contradictory, overloaded or looped parts, one sentence a finding.

Findings that are alike for several members of a group are one, which counts them and names the worst.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from icmodel import units
from icmodel.estimate import plural
from icmodel.system.datasets import (
    Fault,
    datasets_of,
    misspelt_streams,
    other_kinds,
    silent_streams,
)
from icmodel.system.expansion import MOST_NAMES
from icmodel.system.network import Device, Port, Stream, System
from icmodel.system.packing import packing, wire
from icmodel.system.schedulers import CreditBased, greatest_rate_bps


def port_cycle(streams: Iterable[Stream]) -> tuple[str, ...]:
    """The ports of one cycle in which streams wait for each other; empty if there is none."""
    waiting: TopologicalSorter[str] = TopologicalSorter()
    for stream in streams:
        for here, there in pairwise(stream.path):
            waiting.add(here)
            waiting.add(there, here)
    try:
        waiting.prepare()
    except CycleError as error:
        return tuple(error.args[1][:-1])
    return ()


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a port.

    Parameters
    ----------
    streams : tuple of Stream
        Those that request a rate; unlimited ones request none.
    rates_bps : tuple of float
        Average rate of each [b/s].
    mean_bps : float
        That of all together [b/s].
    due_bps, due_s : float
        The greatest rate [b/s] at which messages due within a time [s] must be sent if all messages come at
        once, and that time; the average and 0 if no message is due before the next one comes.
    """

    port: Port
    streams: tuple[Stream, ...]
    rates_bps: tuple[float, ...]
    mean_bps: float
    due_bps: float
    due_s: float

    @property
    def ratio(self) -> float:
        """Average load over the port's rate."""
        return self.mean_bps / self.port.rate_bps


def loads(system: System) -> Iterator[Load]:
    """The load of each port that sends streams, in the file's order.

    The bits are the least that theory allows: streams that may be merged into full packets (TCP, and
    protocols over it) are counted so (IC2012 §6.1.1).
    """
    packed = packing(system)
    for name, streams in system.streams_by_port().items():
        port = system.ports[name]
        asking = tuple(one for one in streams if math.isfinite(one.requested_goodput_bps))
        if asking:
            link = system.links[port.link]
            rates = [one.requested_goodput_bps * packed.of(one, link).ratio for one in asking]
            mean = sum(rates)
            due_bps, due_s = max([(mean, 0.0), *_due([*map(_message, asking, rates)])])
            yield Load(port, asking, tuple(rates), mean, due_bps, due_s)


@dataclass(frozen=True, slots=True)
class _Message:
    """What one stream sends on the wire [b/s] every period [s], and the time until it is due [s]."""

    rate_bps: float
    period_s: float
    due_s: float

    def due_bits(self, within_s: float) -> float:
        """Bits that must be sent within a time that begins with a message [s]."""
        if within_s < self.due_s:
            return 0.0
        count = math.floor((within_s - self.due_s) / self.period_s) + 1
        return count * self.rate_bps * self.period_s


def _message(stream: Stream, rate_bps: float) -> _Message:
    made = stream.producer
    if made is None:  # frames at the rate its sender is set to
        period = stream.payload_bytes * 8 / stream.requested_goodput_bps
        return _Message(rate_bps, period, period)
    return _Message(rate_bps, made.period_s, made.due_s)


def _due(messages: list[_Message]) -> Iterator[tuple[float, float]]:
    """Rate needed for the messages due within each time [b/s], and the time [s].

    The demand bound function of S. K. Baruah, A. K. Mok and L. E. Rosier, Preemptively scheduling
    hard-real-time sporadic tasks on one processor, IEEE Real-Time Systems Symposium, 1990, divided by the
    time: no order of sending needs less. It exceeds the average only if messages are due before the next
    one comes.
    """
    for within in {one.due_s for one in messages if one.due_s < one.period_s}:
        yield sum(one.due_bits(within) for one in messages) / within, within


TOLERANCE = 1e-9
"""Relative rounding error of sums of rates."""


@dataclass(frozen=True, slots=True)
class Overload:
    """A port whose load exceeds its rate.

    Parameters
    ----------
    load : Load
        Of all its streams, or of those of one priority.
    asked_bps, most_bps : float
        The load, and the most that the port can send [b/s].
    within_s : float
        Time in which messages are due [s] that exceeds the rate; 0 if the average does.
    priority : int, optional
        The priority whose share of the port is exceeded; ``None`` for all streams of the port.
    """

    load: Load
    asked_bps: float
    most_bps: float
    within_s: float = 0.0
    priority: int | None = None

    @property
    def ratio(self) -> float:
        """Load over the most that the port can send."""
        return self.asked_bps / self.most_bps

    @property
    def beyond_allowed(self) -> bool:
        """Whether the port cannot even send what must arrive, on average."""
        shares = zip(self.load.streams, self.load.rates_bps, strict=True)
        must = sum(rate * (1 - stream.allowed_shortfall_ratio) for stream, rate in shares)
        return _beyond(must, self.most_bps)

    @property
    def when(self) -> str:
        """The priority, or the time in which messages are due; empty for the average of all streams."""
        if self.within_s:
            time = units.format_seconds(self.within_s, 4)
            return f" within {time} where all messages come at once"
        return "" if self.priority is None else f" at the priority {self.priority}"

    def sentence(self, system: System) -> str:
        """A sentence with names, load and rate, and what to do."""
        port, streams = self.load.port, self.load.streams
        interface = port.node in system.devices or port.peer in system.devices
        device = port.node if port.node in system.devices else port.peer
        at = f"the interface of {device} at {port.name}" if interface else f"the link {port.name}"
        more = f" and {len(streams) - 1} more" if streams[1:] else ""
        return (
            f"{at} must carry {units.format_bps(self.asked_bps, 4)} of its "
            f"{units.format_bps(self.most_bps, 4)}{self.when} for the stream {streams[0].name}{more}: "
            "give it a higher rate, or the streams less to carry"
        )


def overloads(system: System) -> Iterator[Overload]:
    """The overload of each port that has one: the first of average, due messages and priorities."""
    for load in loads(system):
        yield from _overload(load)


def _overload(load: Load) -> Iterator[Overload]:
    rate = load.port.rate_bps
    if _beyond(load.mean_bps, rate):
        yield Overload(load, load.mean_bps, rate)
    elif _beyond(load.due_bps, rate):
        yield Overload(load, load.due_bps, rate, within_s=load.due_s)
    else:
        yield from _of_priorities(load)


def _of_priorities(load: Load) -> Iterator[Overload]:
    """Overloads of priorities that their scheduler limits to less than the port's rate."""
    port = load.port
    for priority in sorted({stream.priority for stream in load.streams}):
        most = greatest_rate_bps(port.scheduler, priority, port.rate_bps)
        if not 0 < most < port.rate_bps:
            continue
        asked = zip(load.streams, load.rates_bps, strict=True)
        here = [(stream, rate) for stream, rate in asked if stream.priority == priority]
        streams, rates = zip(*here, strict=True)
        own = replace(load, streams=streams, rates_bps=rates, mean_bps=sum(rates))
        if _beyond(own.mean_bps, most):
            yield Overload(own, own.mean_bps, most, priority=priority)


def _beyond(asked_bps: float, most_bps: float) -> bool:
    return asked_bps > most_bps * (1 + TOLERANCE)


REFUSED = ("unconnected", "contradictory")
"""Kinds of findings that make a system invalid; systems with other findings can be predicted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a check, as a sentence with names and numbers.

    ``kind`` is ``unconnected``, ``contradictory``, ``overloaded`` or ``looped``.
    """

    kind: str
    text: str

    @property
    def refused(self) -> bool:
        """Whether the finding makes the system invalid."""
        return self.kind in REFUSED

    def to_dict(self) -> dict[str, str]:
        """JSON form."""
        return {"kind": self.kind, "text": self.text}


def check(system: System) -> tuple[Finding, ...]:
    """All findings; loads and cycles are checked only if nothing is unconnected or contradictory.

    A cycle of ports is allowed, and reported.
    """
    refused = (
        *_told("unconnected", "node", _unconnected(system)),
        *_told("contradictory", "node", _too_many_links(system)),
        *_unfit_datasets(system),
        *_told("contradictory", "requirement", _unknown_wanted(system)),
        *_told("contradictory", "stream", _impossible_frames(system)),
        *_told("contradictory", "stream", _small_links(system)),
        *_told("contradictory", "stream", _unserved(system)),
        *_told("contradictory", "port", _slopes(system)),
    )
    return refused or (*_told("overloaded", "port", _overloaded(system)), *_looped(system))


def refusal(findings: Iterable[Finding]) -> str:
    """The first finding that makes a system invalid; empty where there is none."""
    return next((one.text for one in findings if one.refused), "")


def _told(kind: str, what: str, faults: Iterable[Fault]) -> Iterator[Finding]:
    """One finding for each key of faults: the most severe, with the count of the others."""
    alike: dict[object, list[Fault]] = {}
    for fault in faults:
        alike.setdefault(fault[0], []).append(fault)
    for some in alike.values():
        _, _, text = max(some, key=lambda fault: fault[1])
        more = f" (likewise {plural(len(some) - 1, what)} more)" if some[1:] else ""
        yield Finding(kind, text + more)


# --- unconnected ------------------------------------------------------------------------------


def _unconnected(system: System) -> Iterator[Fault]:
    linked = {end for link in system.links.values() for end in link.ends}
    for name in (*system.devices, *system.switches):
        if name not in linked:
            yield system.node(name).group, 0.0, f"{name} has no link: connect it, or remove it"


# --- contradictory ----------------------------------------------------------------------------


def _too_many_links(system: System) -> Iterator[Fault]:
    count = Counter(end for link in system.links.values() for end in link.ends)
    for device in system.devices.values():
        if count[device.name] > device.interfaces:
            text = (
                f"{device.name} has {count[device.name]} links and interfaces = {device.interfaces}: "
                "give it as many interfaces as links, or fewer links"
            )
            yield device.group, count[device.name], text


def _unfit_datasets(system: System) -> tuple[Finding, ...]:
    """Datasets that do not fit the links or devices that name them."""
    known, missing = datasets_of(system)
    found = (
        *_told("contradictory", "dataset", missing),
        *_told("contradictory", "link", other_kinds(system, known)),
    )
    return (
        found
        or tuple(_told("contradictory", "stream", silent_streams(system, known)))
        or tuple(_told("contradictory", "stream", misspelt_streams(system, known)))
    )


def _unknown_wanted(system: System) -> Iterator[Fault]:
    """Requirements about streams or devices that do not exist."""
    streams, devices = _named(system.streams.values()), _named(system.devices.values())
    for one in system.requirements:
        for what, name, there in (("stream", one.stream, streams), ("device", one.device, devices)):
            if name is not None and name not in there:
                some = ", ".join(list(dict.fromkeys(there.values()))[:MOST_NAMES]) or "none"
                text = (
                    f"the requirement {one.requirement.name!r} is about the {what} {name}, which is "
                    f"not there: name one of {some}"
                )
                yield name, 0.0, text


def _named(members: Iterable[Stream | Device]) -> dict[str, str]:
    """Every name that a requirement can use, with its group."""
    return {name: one.group for one in members for name in (one.group, one.name)}


def _impossible_frames(system: System) -> Iterator[Fault]:
    """Frames that the protocol of a stream cannot carry over its first link."""
    for stream in system.streams.values():
        link = system.links[system.ports[stream.path[0]].link]
        most = wire(stream.protocol, link).greatest_payload_bytes()
        if most is not None and stream.payload_bytes > most:
            text = (
                f"the stream {stream.name} sends {stream.payload_bytes} B a frame, and "
                f"{stream.protocol} carries at most {most} B over {link.name}: give a smaller payload"
            )
            yield stream.group, stream.payload_bytes, text


def _small_links(system: System) -> Iterator[Fault]:
    """Links with a smaller MTU than the first link of a stream."""
    for stream in system.streams.values():
        for before, after in pairwise(system.links_of(stream)):
            if after.mtu_bytes < before.mtu_bytes:
                text = (
                    f"the stream {stream.name} comes over {before.name} in packets of "
                    f"{before.mtu_bytes} B, and {after.name} takes {after.mtu_bytes} B: give all "
                    "links on its way one MTU"
                )
                yield stream.group, before.mtu_bytes, text


def _unserved(system: System) -> Iterator[Fault]:
    """Streams whose priority is never sent by a port on their route."""
    for stream in system.streams.values():
        ports = (system.ports[name] for name in stream.path)
        port = next((one for one in ports if not one.scheduler.serves(stream.priority)), None)
        if port is not None:
            text = (
                f"the stream {stream.name} has the priority {stream.priority}, which the "
                f"{port.scheduler.kind} scheduler of {port.name} never serves: name it there, "
                "or give the stream another"
            )
            yield stream.group, 0.0, text


def _slopes(system: System) -> Iterator[Fault]:
    for port in system.ports.values():
        if isinstance(port.scheduler, CreditBased):
            total = sum(port.scheduler.idle_slopes_bps.values())
            if total > port.rate_bps:
                text = (
                    f"the idle slopes of {port.name} add up to {units.format_bps(total)} of its "
                    f"{units.format_bps(port.rate_bps)}: give the classes less"
                )
                yield port.node, total / port.rate_bps, text


# --- overloaded and looped --------------------------------------------------------------------


def _overloaded(system: System) -> Iterator[Fault]:
    for over in overloads(system):
        greatest = max(over.load.streams, key=lambda stream: stream.requested_goodput_bps)
        alike = (greatest.group, over.most_bps, over.when)
        yield alike, over.ratio, over.sentence(system)


def _looped(system: System) -> Iterator[Finding]:
    """A cycle in which the streams of each port wait for those of the next."""
    cycle = port_cycle(system.streams.values())
    if cycle:
        yield Finding(
            "looped",
            f"the ways of streams close a cycle of ports, {', then '.join(cycle)} and again: means "
            "are predicted, and worst-case bounds need another route for one of the streams",
        )
