"""Loads: the rate that the streams of a system request of each port, in bits on the wire."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from icmodel.system.network import Port, Stream, System
from icmodel.system.packing import packing


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
