"""Ethernet: TCP, UDP with IP fragmentation, and frames straight on Ethernet.

Bytes around a packet, preamble and gap included, as in IC2012 §6 ("High speed local area
interconnects", tables 6-1 and 6-3), its equations reconstructed from the numbers it prints;
IPv6 and its fragment header: RFC 8200; VLAN tag: IEEE 802.1Q. With ``padded=False`` this is what
IC2012 prints, which ignores Ethernet's 46 B minimum. The line rate is the MAC's: 1 to 400 Gb/s.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from icmodel.errors import ScenarioError
from icmodel.theory import _wire

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

ETHERNET_BYTES = 8 + 14 + 4 + 12  # preamble with start delimiter, header, FCS, gap
VLAN_TAG_BYTES = 4
MIN_PACKET_BYTES = 46
IP_BYTES = {4: 20, 6: 40}
FRAGMENT_HEADER_BYTES = {4: 0, 6: 8}
UDP_BYTES = 8
TCP_BYTES = 20
TIMESTAMP_BYTES = 12
MIN_MTU_BYTES = {4: 68, 6: 1280}  # RFC 791, RFC 8200
MAX_MTU_BYTES = 65535
MAX_UDP_PAYLOAD_BYTES = {4: 65535 - 20 - 8, 6: 65535 - 8}
PROPAGATION_S_PER_M = 4.27e-9
"""Cat 6a cable of IC2012 §6.2."""


@dataclass(frozen=True, slots=True)
class Framing:
    """The choices that decide what a frame becomes on an Ethernet wire.

    Parameters
    ----------
    protocol : "tcp", "udp" or "ethernet"
        ``ethernet`` is the payload straight behind the Ethernet header, one packet a frame.
    mtu_bytes : int
        Most bytes of one packet, IP header included [B].
    ip_version : 4 or 6
        Says nothing for ``ethernet``.
    timestamps : bool
        The TCP timestamp option, 12 B a packet.
    vlan_tags : 0, 1 or 2
        4 B each; the 46 B minimum stands behind the tags.
    padded : bool
        Short packets are filled to 46 B, as every wire does; IC2012's theory does not.
    """

    protocol: str = "tcp"
    mtu_bytes: int = 1500
    ip_version: int = 4
    timestamps: bool = True
    vlan_tags: int = 0
    padded: bool = True

    def __post_init__(self) -> None:
        _wire.check_choice("protocol", self.protocol, ("tcp", "udp", "ethernet"))
        _wire.check_choice("ip_version", self.ip_version, (4, 6))
        _wire.check_choice("vlan_tags", self.vlan_tags, (0, 1, 2))
        least = MIN_MTU_BYTES[4 if self.protocol == "ethernet" else self.ip_version]
        whole = isinstance(self.mtu_bytes, Integral)
        if not whole or not least <= self.mtu_bytes <= MAX_MTU_BYTES:
            raise ScenarioError(
                f"mtu_bytes {self.mtu_bytes!r} is impossible for {self.protocol} over IP version "
                f"{self.ip_version}: give whole bytes from {least} to {MAX_MTU_BYTES}"
            )


@dataclass(frozen=True, slots=True)
class _Cut:
    """How a frame is cut into packets; bytes of data exclude the headers of each packet."""

    once: int  # header bytes once a frame, cut along with the payload
    header: int  # bytes before the data of every packet, behind the Ethernet header
    whole: int  # most data of a frame that stays one packet
    full: int  # data of every packet but the last of a frame that is cut
    last: int  # most data of that last packet
    fragment_header: int  # added to every packet of a frame that is cut


def _cut(framing: Framing) -> _Cut:
    mtu = framing.mtu_bytes
    if framing.protocol == "ethernet":
        return _Cut(once=0, header=0, whole=mtu, full=mtu, last=mtu, fragment_header=0)
    ip = IP_BYTES[framing.ip_version]
    if framing.protocol == "tcp":
        header = ip + TCP_BYTES + TIMESTAMP_BYTES * framing.timestamps
        segment = mtu - header
        return _Cut(0, header, whole=segment, full=segment, last=segment, fragment_header=0)
    fragment_header = FRAGMENT_HEADER_BYTES[framing.ip_version]
    last = mtu - ip - fragment_header
    return _Cut(
        once=UDP_BYTES,
        header=ip,
        whole=mtu - ip,
        full=last // 8 * 8,  # offsets count in 8 B, so all fragments but the last are multiples
        last=last,
        fragment_header=fragment_header,
    )


def _train(payload_bytes: ArrayLike, framing: Framing) -> _wire.Train:
    cut = _cut(framing)
    carrier = f"{framing.protocol} with an MTU of {framing.mtu_bytes} B"
    payload = _wire.payload_array(payload_bytes, max_payload_bytes(framing), carrier)
    data = payload + cut.once
    uncut = data <= cut.whole
    count = np.where(uncut, 1, 1 + _wire.ceil_div(data - cut.last, cut.full))
    header = cut.header + np.where(uncut, 0, cut.fragment_header)
    wire = data + count * (header + _link_bytes(framing))
    if framing.padded:
        short = MIN_PACKET_BYTES - header - (data - (count - 1) * cut.full)
        wire = wire + np.maximum(short, 0)
    full_packet = cut.header + cut.fragment_header + cut.full + _link_bytes(framing)
    return _wire.Train(payload, np.asarray(count), np.asarray(wire), full_packet)


def _link_bytes(framing: Framing) -> int:
    return ETHERNET_BYTES + VLAN_TAG_BYTES * framing.vlan_tags


def packets(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.int64]:
    """Packets one frame becomes; shape of `payload_bytes` [B]."""
    return _train(payload_bytes, framing).packets


def wire_bits(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.int64]:
    """Bits of one frame on the wire, preambles and gaps included; shape of `payload_bytes` [B]."""
    return _train(payload_bytes, framing).wire_bits


def max_goodput_bps(
    payload_bytes: ArrayLike, framing: Framing, line_rate_bps: float
) -> NDArray[np.float64]:
    """Goodput of frames back to back, each in packets of its own [b/s].

    TCP may merge small frames into full packets and exceed it: see `stream_goodput_bps`.
    """
    return _train(payload_bytes, framing).goodput_bps(line_rate_bps)


def send_interval_s(
    payload_bytes: ArrayLike, framing: Framing, line_rate_bps: float
) -> NDArray[np.float64]:
    """Least time between the starts of two frames [s]."""
    return _train(payload_bytes, framing).interval_s(line_rate_bps)


def min_latency_s(
    payload_bytes: ArrayLike,
    framing: Framing,
    line_rate_bps: float,
    distance_m: float = 0.0,
    propagation_s_per_m: float = PROPAGATION_S_PER_M,
    switches: int = 0,
    switch_latency_s: float = 0.0,
    switching: str = "cut-through",
) -> NDArray[np.float64]:
    """Least one-way latency: propagation, all bits of the frame, and the switches [s].

    As IC2012 §6.2 counts, with the last gap. A switch adds its latency; one that stores and
    forwards receives the whole first packet before it sends. The default propagation is Cat 6a.
    """
    path = _wire.Path(distance_m, propagation_s_per_m, switches, switch_latency_s, switching)
    return _train(payload_bytes, framing).latency_s(line_rate_bps, path)


def aligned(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.bool_]:
    """Whether a frame fills its packets to the last byte; shape of `payload_bytes` [B]."""
    cut = _cut(framing)
    data = _train(payload_bytes, framing).payload_bytes + cut.once
    fills_last = (data > cut.whole) & ((data - cut.last) % cut.full == 0)
    return np.asarray((data == cut.whole) | fills_last)


def aligned_payloads(framing: Framing, up_to_bytes: int) -> NDArray[np.int64]:
    """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""
    cut = _cut(framing)
    limit = max_payload_bytes(framing)
    most = up_to_bytes if limit is None else min(up_to_bytes, limit)
    split = np.arange(cut.last + cut.full, most + cut.once + 1, cut.full, dtype=np.int64)
    payloads = np.concatenate(([cut.whole], split)) - cut.once
    return payloads[payloads <= most]


def stream_goodput_bps(framing: Framing, line_rate_bps: float) -> float:
    """Bound of any stream: TCP merged into full packets, the others at their best payload [b/s]."""
    limit = max_payload_bytes(framing) or _cut(framing).whole
    candidates = np.append(aligned_payloads(framing, limit), limit)
    return float(max_goodput_bps(candidates, framing, line_rate_bps).max())


def max_payload_bytes(framing: Framing) -> int | None:
    """Largest frame [B]: UDP 65 507 (IPv6: 65 527), direct Ethernet the MTU, TCP None (a stream)."""
    if framing.protocol == "tcp":
        return None
    if framing.protocol == "udp":
        return MAX_UDP_PAYLOAD_BYTES[framing.ip_version]
    return framing.mtu_bytes
