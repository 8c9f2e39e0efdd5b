"""How the frames of streams are packed on links: bits on the wire, worked out once for frames that are alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from icmodel import theory
from icmodel.dataset import Interconnect
from icmodel.system.network import Link, Stream, System
from icmodel.tables.wire import Wire

Kind = tuple[str, int, str, int]
"""Protocol, payload, interconnect and MTU."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Bits on the wire for each useful bit, at least, and of the largest packet of a frame."""

    ratio: float
    packet_bits: float


@dataclass(frozen=True, slots=True)
class Packing:
    """The packets of every kind of frame on every kind of link of a system."""

    known: Mapping[Kind, Packed]

    def of(self, stream: Stream, link: Link) -> Packed:
        """The frames of a stream on a link of its path."""
        return self.known[_kind(stream, link)]


def packing(system: System) -> Packing:
    """Work out all kinds of frames on the links they pass."""
    found: dict[Kind, Packed] = {}
    for stream in system.streams.values():
        for link in system.links_of(stream):
            kind = _kind(stream, link)
            if kind not in found:
                found[kind] = _packed(stream, link)
    return Packing(found)


def _kind(stream: Stream, link: Link) -> Kind:
    return stream.protocol, stream.payload_bytes, link.interconnect, link.mtu_bytes


def _packed(stream: Stream, link: Link) -> Packed:
    ratio = wire_ratio(stream.protocol, stream.payload_bytes, link)
    framing = wire(stream.protocol, link).framing
    if framing is None:
        return Packed(ratio, 8.0 * min(stream.payload_bytes, link.mtu_bytes))
    train = framing.train(stream.payload_bytes)
    return Packed(ratio, 8.0 * min(float(train.wire_bytes), float(train.full_packet_bytes)))


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
