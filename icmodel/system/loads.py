"""Loads: the rate that the streams of a system request of each port, in bits on the wire."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from icmodel import theory
from icmodel.dataset import Interconnect
from icmodel.system.network import Link, Port, Stream, System
from icmodel.tables.wire import Wire


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a port.

    Parameters
    ----------
    streams : tuple of Stream
        Those that request a rate; unlimited ones request none.
    mean_bps : float
        Average rate [b/s].
    due_bps, due_s : float
        The greatest rate [b/s] at which messages due within a time [s] must be sent if all messages come at
        once, and that time; the average and 0 if no message is due before the next one comes.
    """

    port: Port
    streams: tuple[Stream, ...]
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
    ratios: dict[tuple[str, int, str, int], float] = {}
    for name, streams in system.streams_by_port().items():
        port = system.ports[name]
        asking = tuple(one for one in streams if math.isfinite(one.requested_goodput_bps))
        if asking:
            yield _load(port, asking, system.links[port.link], ratios)


def load_of(port: Port, streams: Iterable[Stream], link: Link) -> Load:
    """The load of streams on a port together."""
    return _load(port, tuple(streams), link, {})


def _load(
    port: Port,
    streams: tuple[Stream, ...],
    link: Link,
    ratios: dict[tuple[str, int, str, int], float],
) -> Load:
    messages = []
    for stream in streams:
        kind = (stream.protocol, stream.payload_bytes, link.interconnect, link.mtu_bytes)
        if kind not in ratios:
            ratios[kind] = wire_ratio(stream.protocol, stream.payload_bytes, link)
        messages.append(_message(stream, stream.requested_goodput_bps * ratios[kind]))
    mean = sum(one.rate_bps for one in messages)
    due_bps, due_s = max([(mean, 0.0), *_due(messages)])
    return Load(port, streams, mean, due_bps, due_s)


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


def wire(protocol: str, link: Link) -> Wire:
    """The wire of a protocol on a link; a plain one has no theory."""
    if link.interconnect == "plain":
        return Wire(protocol, Interconnect("plain", None, link.mtu_bytes))
    return Wire(protocol, Interconnect(link.interconnect, link.rate_bps, link.mtu_bytes))


def wire_ratio(protocol: str, payload_bytes: int, link: Link) -> float:
    """Least number of bits on the wire for each useful bit."""
    on = wire(protocol, link)
    if on.framing is None:
        return 1.0
    payload = np.array(float(payload_bytes))
    bound = on.goodput_bound_bps(payload, on.serialisation_s(payload))
    own = theory.wire_bits(payload_bytes, on.framing) / (8 * payload_bytes)
    return float(min(link.rate_bps / bound, own) if on.merges else own)
