"""RoCE: the InfiniBand transport over Ethernet (version 1) or over UDP and IP (version 2).

Version 1 carries 74 B around the data of a packet (Ethernet 14, GRH 40, BTH 12, ICRC 4, FCS 4),
version 2 over IPv4 62 B (IP 20 and UDP 8 in place of the GRH); 20 B more on the wire for preamble
and gap; 16 B more in the first packet of a write. Header bytes as in Linux
``include/rdma/ib_pack.h``. Acknowledgements travel the other way and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from icmodel.errors import ScenarioError
from icmodel.theory import _rdma, _wire

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

ETHERNET_BYTES = 14 + 4  # header, FCS
PREAMBLE_AND_GAP_BYTES = 8 + 12
VLAN_TAG_BYTES = 4
IP_BYTES = {4: 20, 6: 40}
UDP_BYTES = 8
PROPAGATION_S_PER_M = 5e-9
"""Fibre with a refractive index of 1.5; also the usual rule of thumb for any cable."""


@dataclass(frozen=True, slots=True)
class Framing:
    """The choices that decide what a message becomes on a RoCE wire.

    Parameters
    ----------
    version : 1 or 2
        1 straight on Ethernet, 2 over UDP and IP.
    mtu_bytes : 256, 512, 1024, 2048 or 4096
        RDMA path MTU, not Ethernet's: data bytes of a full packet [B].
    operation : "send", "write", "read" or "datagram"
        A read is counted in the direction of its data.
    vlan_tags : 0, 1 or 2
        4 B each.
    ip_version : 4 or 6
        Of version 2; version 1 has no IP.
    as_counted : bool
        As port counters see it: without preamble and gap.
    """

    version: int = 2
    mtu_bytes: int = 1024
    operation: str = "send"
    vlan_tags: int = 0
    ip_version: int = 4
    as_counted: bool = False

    def __post_init__(self) -> None:
        _wire.check_choice("version", self.version, (1, 2))
        _rdma.check(self.mtu_bytes, self.operation)
        _wire.check_choice("vlan_tags", self.vlan_tags, (0, 1, 2))
        _wire.check_choice("ip_version", self.ip_version, (4, 6))
        if self.version == 1 and self.ip_version == 6:
            raise ScenarioError(
                "RoCE version 1 has no IP version 6: leave ip_version out or use version 2"
            )


def _packet_bytes(framing: Framing) -> int:
    """Bytes around the data of every packet."""
    network = _rdma.GRH_BYTES if framing.version == 1 else IP_BYTES[framing.ip_version] + UDP_BYTES
    link = ETHERNET_BYTES + VLAN_TAG_BYTES * framing.vlan_tags
    uncounted = 0 if framing.as_counted else PREAMBLE_AND_GAP_BYTES
    return link + network + _rdma.BTH_BYTES + _rdma.ICRC_BYTES + uncounted


def _train(payload_bytes: ArrayLike, framing: Framing) -> _wire.Train:
    packet_bytes = _packet_bytes(framing)
    return _rdma.train(payload_bytes, framing.mtu_bytes, framing.operation, packet_bytes)


def packets(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.int64]:
    """Packets one message becomes; shape of `payload_bytes` [B]."""
    return _train(payload_bytes, framing).packets


def wire_bits(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.int64]:
    """Bits of one message on the wire; shape of `payload_bytes` [B]."""
    return _train(payload_bytes, framing).wire_bits


def max_goodput_bps(
    payload_bytes: ArrayLike, framing: Framing, line_rate_bps: float
) -> NDArray[np.float64]:
    """Goodput of messages back to back [b/s]."""
    return _train(payload_bytes, framing).goodput_bps(line_rate_bps)


def send_interval_s(
    payload_bytes: ArrayLike, framing: Framing, line_rate_bps: float
) -> NDArray[np.float64]:
    """Least time between the starts of two messages [s]."""
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
    """Least one-way latency: propagation, all bits of the message, and the switches [s].

    A switch adds its latency; one that stores and forwards receives the whole first packet
    before it sends. Of a read only the answer is counted, not the request before it.
    """
    path = _wire.Path(distance_m, propagation_s_per_m, switches, switch_latency_s, switching)
    return _train(payload_bytes, framing).latency_s(line_rate_bps, path)


def aligned(payload_bytes: ArrayLike, framing: Framing) -> NDArray[np.bool_]:
    """Whether a message fills its packets to the last byte; shape of `payload_bytes` [B]."""
    return _rdma.aligned(payload_bytes, framing.mtu_bytes, framing.operation)


def aligned_payloads(framing: Framing, up_to_bytes: int) -> NDArray[np.int64]:
    """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""
    return _wire.multiples(framing.mtu_bytes, up_to_bytes, max_payload_bytes(framing))


def stream_goodput_bps(framing: Framing, line_rate_bps: float) -> float:
    """Bound of any stream: the largest message, all its packets full [b/s]."""
    return float(max_goodput_bps(max_payload_bytes(framing), framing, line_rate_bps))


def max_payload_bytes(framing: Framing) -> int:
    """Largest message [B]: 2**31; a datagram is one packet."""
    return _rdma.max_message_bytes(framing.mtu_bytes, framing.operation)
