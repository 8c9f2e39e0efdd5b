"""Loads: what the streams of a system ask each port to send, in bits on the wire."""

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
    """What is asked of a port.

    Parameters
    ----------
    streams : tuple of Stream
        Those that ask for a rate; what sends as fast as it goes asks for none.
    mean_bps : float
        On average [b/s].
    due_bps : float
        While every message crosses within the time it has [b/s].
    """

    port: Port
    streams: tuple[Stream, ...]
    mean_bps: float
    due_bps: float

    @property
    def ratio(self) -> float:
        """Of the port's rate, on average."""
        return self.mean_bps / self.port.rate_bps


def loads(system: System) -> Iterator[Load]:
    """The load of each port from which streams are sent, in the file's order.

    The bits are the least that theory allows: what may be merged into full packets (TCP, and all
    that runs over it) is counted so (IC2012 §6.1.1).
    """
    ratios: dict[tuple[str, int, str, int], float] = {}
    for name, streams in system.streams_by_port().items():
        port = system.ports[name]
        asking = tuple(one for one in streams if math.isfinite(one.requested_goodput_bps))
        if asking:
            yield _load(port, asking, system.links[port.link], ratios)


def load_of(port: Port, streams: Iterable[Stream], link: Link) -> Load:
    """What streams ask of a port together."""
    return _load(port, tuple(streams), link, {})


def _load(
    port: Port,
    streams: tuple[Stream, ...],
    link: Link,
    ratios: dict[tuple[str, int, str, int], float],
) -> Load:
    mean = due = 0.0
    for stream in streams:
        kind = (stream.protocol, stream.payload_bytes, link.interconnect, link.mtu_bytes)
        if kind not in ratios:
            ratios[kind] = wire_ratio(stream.protocol, stream.payload_bytes, link)
        asked = stream.requested_goodput_bps * ratios[kind]
        mean += asked
        due += asked * _hurry(stream)
    return Load(port, streams, mean, due)


def _hurry(stream: Stream) -> float:
    """How much faster than on average a message is sent to be there in time."""
    made = stream.producer
    return 1.0 if made is None else max(made.period_s / made.due_s, 1.0)


def wire(protocol: str, link: Link) -> Wire:
    """The wire of a protocol on a link; a plain one has no theory."""
    if link.interconnect == "plain":
        return Wire(protocol, Interconnect("plain", None, link.mtu_bytes))
    return Wire(protocol, Interconnect(link.interconnect, link.rate_bps, link.mtu_bytes))


def wire_ratio(protocol: str, payload_bytes: int, link: Link) -> float:
    """Bits on the wire for each useful bit, at least."""
    on = wire(protocol, link)
    if on.framing is None:
        return 1.0
    payload = np.array(float(payload_bytes))
    bound = on.goodput_bound_bps(payload, on.serialisation_s(payload))
    own = theory.wire_bits(payload_bytes, on.framing) / (8 * payload_bytes)
    return float(min(link.rate_bps / bound, own) if on.merges else own)
