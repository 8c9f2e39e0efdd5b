"""Loads of ports: the average rate, and the rate that deadlines need. Finds ports too slow for either."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from icmodel import units
from icmodel.system.network import Port, Stream, System
from icmodel.system.packing import Packing, packing
from icmodel.system.schedulers import greatest_rate_bps

TOLERANCE = 1e-9
"""Relative tolerance for rounding errors when sums of rates are compared."""


@dataclass(frozen=True, slots=True)
class PortLoad:
    """Load of a port: the rates that its streams request on average, and the rate that deadlines need.

    Parameters
    ----------
    streams : tuple of Stream
        Streams that request a rate; unlimited streams are left out.
    rates_bps : tuple of float
        Average rate of each stream on the line [b/s].
    mean_bps : float
        Sum of the average rates [b/s].
    due_bps, due_s : float
        Greatest rate that deadlines need if all messages come together [b/s], and the time in which these
        messages are due [s]. If no message has a deadline shorter than its period: the average rate, and 0 s.
    """

    port: Port
    streams: tuple[Stream, ...]
    rates_bps: tuple[float, ...]
    mean_bps: float
    due_bps: float
    due_s: float

    @property
    def ratio(self) -> float:
        """Average load, as a fraction of the port's rate."""
        return self.mean_bps / self.port.rate_bps


def port_loads(system: System, packets: Packing | None = None) -> Iterator[PortLoad]:
    """Load of each port that sends streams, in the file's order.

    ``packets`` are the packets of the system's streams, if already computed. The load counts the
    fewest bits that theory allows. TCP, and protocols over TCP, may merge frames into full packets. Such
    frames count as merged (IC2012 §6.1.1).

    Examples
    --------
    >>> from icmodel.system import load
    >>> busiest = max(port_loads(load("imaging")), key=lambda one: one.ratio)
    >>> busiest.port.name, round(busiest.ratio, 2)
    ('switch->qfhd-display#1', 0.75)
    """
    packed = packing(system) if packets is None else packets
    for name, streams in system.streams_by_port().items():
        port = system.ports[name]
        asking = tuple(stream for stream in streams if math.isfinite(stream.requested_goodput_bps))
        if asking:
            link = system.links[port.link]
            rates = [
                stream.requested_goodput_bps * packed.of(stream, link).ratio for stream in asking
            ]
            mean = sum(rates)
            messages = [_Message.of(*each) for each in zip(asking, rates, strict=True)]
            due_bps, due_s = max([(mean, 0.0), *_due_rates(messages)])
            yield PortLoad(port, asking, tuple(rates), mean, due_bps, due_s)


@dataclass(frozen=True, slots=True)
class _Message:
    """Messages of one stream at a port: average rate on the line [b/s], period [s], and deadline [s].

    The deadline of a message counts from its arrival.
    """

    rate_bps: float
    period_s: float
    due_s: float

    @classmethod
    def of(cls, stream: Stream, rate_bps: float) -> _Message:
        if stream.producer is None:  # frames at the rate that the sender is set to
            period = stream.payload_bytes * 8 / stream.requested_goodput_bps
            return cls(rate_bps, period, period)
        return cls(rate_bps, stream.producer.period_s, stream.producer.due_s)

    def due_bits(self, within_s: float) -> float:
        """Bits of all messages due within a time [s]; the time starts when the first message arrives."""
        if within_s < self.due_s:
            return 0.0
        count = math.floor((within_s - self.due_s) / self.period_s) + 1
        return count * self.rate_bps * self.period_s


def _due_rates(messages: list[_Message]) -> Iterator[tuple[float, float]]:
    """Yield pairs: a rate that deadlines need [b/s], and the time within which messages are due [s].

    The rate is the demand bound function at a time, divided by that time (S. K. Baruah, A. K. Mok and
    L. E. Rosier, Preemptively scheduling hard-real-time sporadic tasks on one processor, IEEE Real-Time Systems
    Symposium, 1990). At a lower rate, no order of sending meets all deadlines. The rate exceeds the average only if a
    deadline is shorter than the period of its stream.
    """
    for within in {message.due_s for message in messages if message.due_s < message.period_s}:
        yield sum(message.due_bits(within) for message in messages) / within, within


@dataclass(frozen=True, slots=True)
class Overload:
    """A port whose load exceeds its rate.

    Parameters
    ----------
    load : PortLoad
        Load of all streams of the port, or of the streams of one priority.
    asked_bps, most_bps : float
        Load of the port, and the greatest rate that the port can send [b/s].
    within_s : float
        Time in which messages are due [s], if only the rate that deadlines need is too high. 0 if the
        average rate is too high.
    priority : int, optional
        Priority whose share of the port is exceeded; ``None`` for all streams of the port.
    """

    load: PortLoad
    asked_bps: float
    most_bps: float
    within_s: float = 0.0
    priority: int | None = None

    @property
    def ratio(self) -> float:
        """Load of the overloaded port or priority, as a fraction of the greatest rate that can be sent."""
        return self.asked_bps / self.most_bps

    @property
    def beyond_allowed(self) -> bool:
        """Whether the average load is too high even without the data that may be lost (allowed shortfall)."""
        shares = zip(self.load.streams, self.load.rates_bps, strict=True)
        must = sum(rate * (1 - stream.allowed_shortfall_ratio) for stream, rate in shares)
        return _exceeds(must, self.most_bps)

    @property
    def when(self) -> str:
        """Part of `sentence`: the overloaded priority, or the time within which messages must be sent.

        Empty if the average load of the whole port is too high.
        """
        if self.within_s:
            time = units.format_seconds(self.within_s, 4)
            return f" within {time} where all messages come at once"
        return "" if self.priority is None else f" at the priority {self.priority}"

    def sentence(self, system: System) -> str:
        """Describe the overload in one sentence, with the port, its load, its rate and a fix."""
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


def overloads(at_ports: Iterable[PortLoad]) -> Iterator[Overload]:
    """Yield the overloads of all ports, given the load of each port.

    Each port has three checks in this order: the average rate, the rate that deadlines need, and the
    rates of single priorities. Only the first check that fails is reported.
    """
    for load in at_ports:
        rate = load.port.rate_bps
        if _exceeds(load.mean_bps, rate):
            yield Overload(load, load.mean_bps, rate)
        elif _exceeds(load.due_bps, rate):
            yield Overload(load, load.due_bps, rate, within_s=load.due_s)
        else:
            yield from _priority_overloads(load)


def _priority_overloads(load: PortLoad) -> Iterator[Overload]:
    """Yield an overload for each priority whose load exceeds the rate that the scheduler leaves to it."""
    port = load.port
    for priority in sorted({stream.priority for stream in load.streams}):
        most = greatest_rate_bps(port.scheduler, priority, port.rate_bps)
        if not 0 < most < port.rate_bps:
            continue
        asked = zip(load.streams, load.rates_bps, strict=True)
        here = [(stream, rate) for stream, rate in asked if stream.priority == priority]
        streams, rates = zip(*here, strict=True)
        own = replace(load, streams=streams, rates_bps=rates, mean_bps=sum(rates))
        if _exceeds(own.mean_bps, most):
            yield Overload(own, own.mean_bps, most, priority=priority)


def _exceeds(asked_bps: float, most_bps: float) -> bool:
    return asked_bps > most_bps * (1 + TOLERANCE)


def port_cycle(streams: Iterable[Stream]) -> tuple[str, ...]:
    """Names of ports that form a routing cycle, in which streams wait for each other; empty without one."""
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
