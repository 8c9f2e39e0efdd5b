"""Ethernet: TCP, UDP with IP fragmentation, frames directly on Ethernet, and the header of ZeroMQ messages on TCP.

Bytes of a packet on the wire, with n bytes of data after its headers::

    preamble 8 + header 14 + VLAN tags 4 each + max(IP + transport headers + n, 46 - tags)
    + FCS 4 + gap 12

=====================  ======  ===============================================
part                   bytes   source
=====================  ======  ===============================================
preamble, delimiter    8       IEEE 802.3-2022 §3.2.1, §3.2.2
header, FCS            14, 4   IEEE 802.3-2022 §3.1.1
interpacket gap        12      IEEE 802.3-2022 §4A.4.2
least frame            64      IEEE 802.3-2022 §3.2.8, §4A.4.2 (minFrameSize)
VLAN tag               4       IEEE 802.1Q
IPv4 header            20      RFC 791 §3.1; an MTU of at least 68 B
IPv6 header            40      RFC 8200 §3; an MTU of at least 1280 B (§5)
IPv6 fragment header   8       RFC 8200 §4.5
UDP header             8       RFC 768
TCP header             20      RFC 9293 §3.1
TCP timestamps         12      RFC 7323 §3.2 and appendix A
=====================  ======  ===============================================

The overheads are from IC2012 §6 ("High speed local area interconnects", tables 6-1 and 6-3). Its
equations are reconstructed from the printed numbers. IC2012 ignores the least frame size, and
includes the last gap in a latency; ``padded=False`` does the same. The line rate is the rate of the
MAC: 1 to 400 Gb/s.

A ZeroMQ header has one byte of flags and the size of the body. The size takes 1 byte for a body of
up to 255 B, and 8 bytes for a longer body (RFC 15/ZMTP 2.0 of ØMQ 3, RFC 23/ZMTP 3.0 of ØMQ 4). The
header of ØMQ 2 has 10 B for bodies of at least 254 B (RFC 13/ZMTP 1.0); this is neglected. All
messages have one part.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icmodel.errors import ScenarioError
from icmodel.theory import *  # noqa: F403 - each link exports these functions
from icmodel.theory import AnyFraming, Train, ceil_div, choice, payload_array

GAP_BYTES = 12
ETHERNET_BYTES = 8 + 14 + 4 + GAP_BYTES  # preamble with start delimiter, header, FCS, gap
VLAN_TAG_BYTES = 4
MIN_PACKET_BYTES = 46
"""Least number of bytes between Ethernet header and FCS of an untagged frame [B].

Each VLAN tag takes 4 of these bytes.
"""
IP_BYTES = {4: 20, 6: 40}
FRAGMENT_HEADER_BYTES = {4: 0, 6: 8}
UDP_BYTES = 8
TCP_BYTES = 20
TIMESTAMP_BYTES = 12
MIN_MTU_BYTES = {4: 68, 6: 1280}  # RFC 791, RFC 8200
MAX_MTU_BYTES = 65535
MAX_UDP_PAYLOAD_BYTES = {4: 65535 - 20 - 8, 6: 65535 - 8}
PROPAGATION_S_PER_M = 4.27e-9
"""Propagation delay of the Cat 6a cable of IC2012 §6.2 [s/m]."""


class _Cut(NamedTuple):
    """Sizes [B] that determine how a frame is cut into packets; *data* are the bytes after packet headers."""

    once: int  # header bytes once per frame, cut together with the payload
    header: int  # bytes between the Ethernet header and the data of every packet
    whole: int  # greatest data of a frame that fits in one packet
    full: int  # data of every packet except the last, if a frame is cut
    last: int  # greatest data of the last packet, if a frame is cut
    fragment_header: int  # header bytes added to every packet, if a frame is cut


@dataclass(frozen=True, slots=True)
class Framing(AnyFraming):
    """Framing of Ethernet: the parameters that determine how a frame is cut into packets.

    Parameters
    ----------
    protocol : "tcp", "udp" or "ethernet"
        For ``ethernet``, the payload directly follows the Ethernet header, and each frame is one
        packet.
    mtu_bytes : int
        Greatest size of one packet, with its IP header [B].
    ip_version : 4 or 6
        IP version; it has no effect for ``ethernet``.
    timestamps : bool
        Whether packets carry the TCP timestamp option of 12 B.
    vlan_tags : 0, 1 or 2
        Number of VLAN tags of 4 B, which count towards the least frame size.
    padded : bool
        If True, short frames are padded to 64 B, as on every wire, and a latency does not include
        the gap after the last packet. If False, nothing is padded and a latency includes this gap,
        as in IC2012.

    Raises
    ------
    ScenarioError
        If a value is not allowed, or if the IP version does not allow the MTU.

    Examples
    --------
    Least frame size: 1 B of UDP takes 84 B on the wire, with preamble and gap.

    >>> int(wire_bits(1, Framing("udp"))) / 8
    84.0
    """

    propagation_s_per_m: ClassVar[float] = PROPAGATION_S_PER_M
    protocol: str = choice("tcp", "Protocol: tcp, udp or ethernet.", ("tcp", "udp", "ethernet"))
    mtu_bytes: int = choice(1500, "MTU: greatest size of one packet, with its IP header.")
    ip_version: int = choice(4, "IP version: 4 or 6.", (4, 6))
    timestamps: bool = choice(True, "Carry TCP timestamps of 12 B in every packet.")
    vlan_tags: int = choice(0, "Number of VLAN tags: 0, 1 or 2.", (0, 1, 2))
    padded: bool = choice(True, "Pad short frames to 64 B.")

    def __post_init__(self) -> None:
        AnyFraming.__post_init__(self)
        least = MIN_MTU_BYTES[4 if self.protocol == "ethernet" else self.ip_version]
        whole = isinstance(self.mtu_bytes, Integral)
        if not whole or not least <= self.mtu_bytes <= MAX_MTU_BYTES:
            raise ScenarioError(
                f"mtu_bytes {self.mtu_bytes!r} is impossible for {self.protocol} over IP version "
                f"{self.ip_version}: give whole bytes from {least} to {MAX_MTU_BYTES}"
            )

    @property
    def max_payload_bytes(self) -> int | None:
        """Largest payload of a frame [B]: 65 507 for UDP (IPv6: 65 527), the MTU for raw Ethernet.

        It is ``None`` for TCP, which has no limit.
        """
        if self.protocol == "tcp":
            return None
        return MAX_UDP_PAYLOAD_BYTES[self.ip_version] if self.protocol == "udp" else self.mtu_bytes

    @property
    def gap_bytes(self) -> int:
        """Gap behind each packet [B] that occupies the wire, but does not count in the packet's latency.

        It is 0 if ``padded`` is False, since a latency then includes the gap, as in the thesis IC2012.
        """
        return GAP_BYTES if self.padded else 0

    def train(self, payload_bytes: ArrayLike) -> Train:
        """Cut frames with the given payloads [B] into packets, and count packets and bytes on the wire.

        The arrays of the result have the shape of `payload_bytes`.
        """
        cut = self._cut()
        carrier = f"{self.protocol} with an MTU of {self.mtu_bytes} B"
        payload = payload_array(payload_bytes, self.max_payload_bytes, carrier)
        data = payload + cut.once
        uncut = data <= cut.whole
        count = np.where(uncut, 1, 1 + ceil_div(data - cut.last, cut.full))
        header = cut.header + np.where(uncut, 0, cut.fragment_header)
        link = ETHERNET_BYTES + VLAN_TAG_BYTES * self.vlan_tags
        wire = data + count * (header + link)
        if self.padded:
            least = MIN_PACKET_BYTES - VLAN_TAG_BYTES * self.vlan_tags
            short = least - header - (data - (count - 1) * cut.full)
            wire = wire + np.maximum(short, 0)
        filled = np.where(uncut, data == cut.whole, (data - cut.last) % cut.full == 0)
        full_packet = cut.header + cut.fragment_header + cut.full + link
        last = np.asarray(wire - (count - 1) * full_packet)
        return Train(
            payload, np.asarray(count), np.asarray(wire), filled, full_packet, last, self.gap_bytes
        )

    def aligned_payloads(self, up_to_bytes: int) -> NDArray[np.int64]:
        """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""
        cut, limit = self._cut(), self.max_payload_bytes
        most = up_to_bytes if limit is None else min(up_to_bytes, limit)
        split = np.arange(cut.last + cut.full, most + cut.once + 1, cut.full, dtype=np.int64)
        payloads = np.concatenate(([cut.whole], split)) - cut.once
        return payloads[payloads <= most]

    def best_payloads(self) -> NDArray[np.int64]:
        """Candidate payloads [B], one of which has the greatest goodput.

        For TCP, the only candidate is the payload of a full packet. Other protocols limit the payload
        of a frame. Their candidates are the largest payload, and all payloads that are cut into full
        packets only.
        """
        limit = self.max_payload_bytes or self._cut().whole
        return np.append(self.aligned_payloads(limit), limit)

    def _cut(self) -> _Cut:
        mtu = self.mtu_bytes
        if self.protocol == "ethernet":
            return _Cut(once=0, header=0, whole=mtu, full=mtu, last=mtu, fragment_header=0)
        ip = IP_BYTES[self.ip_version]
        if self.protocol == "tcp":
            header = ip + TCP_BYTES + TIMESTAMP_BYTES * self.timestamps
            segment = mtu - header
            return _Cut(0, header, whole=segment, full=segment, last=segment, fragment_header=0)
        fragment_header = FRAGMENT_HEADER_BYTES[self.ip_version]
        last = mtu - ip - fragment_header
        return _Cut(
            once=UDP_BYTES,
            header=ip,
            whole=mtu - ip,
            full=last // 8 * 8,  # fragment offsets are multiples of 8 B
            last=last,
            fragment_header=fragment_header,
        )


SHORT_BYTES, LONG_BYTES = 2, 9
MOST_SHORT_BYTES = 255
"""Greatest body of a ZeroMQ message with the short header [B]."""


def framed_bytes(payload_bytes: ArrayLike) -> NDArray[np.float64]:
    """Size of ZeroMQ messages with their headers [B]; the result has the shape of `payload_bytes` [B].

    Examples
    --------
    >>> framed_bytes([255, 256]).tolist()
    [257.0, 265.0]
    """
    payload = np.asarray(payload_bytes, dtype=np.float64)
    return payload + np.where(payload > MOST_SHORT_BYTES, LONG_BYTES, SHORT_BYTES)


def payload_of(framed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Greatest ZeroMQ message [B] that fits, with its header, into each size in `framed` [B].

    Sizes without space for a message are left out of the result.

    Examples
    --------
    >>> payload_of(np.array([2, 257, 1448])).tolist()
    [255, 1439]
    """
    most_short = MOST_SHORT_BYTES + SHORT_BYTES
    long = framed > MOST_SHORT_BYTES + LONG_BYTES
    payload = np.where(long, framed - LONG_BYTES, np.minimum(framed, most_short) - SHORT_BYTES)
    return np.asarray(payload[payload > 0], dtype=np.int64)
