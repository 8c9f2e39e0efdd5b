"""RoCE: the InfiniBand transport over Ethernet (version 1) or over UDP and IP (version 2).

Bytes around the data of a packet::

    version 1:  Ethernet 14 + GRH 40 + BTH 12 + ICRC 4 + FCS 4                         = 74
    version 2:  Ethernet 14 + IPv4 20 or IPv6 40 + UDP 8 + BTH 12 + ICRC 4 + FCS 4     = 62 or 82

The wire adds 20 B for preamble and gap. The first packet of a write adds a RETH of 16 B.
Acknowledgements travel in the other direction, and are neglected. Sources: InfiniBand Architecture
Specification, annexes A16 (version 1) and A17 (version 2), and Linux ``include/rdma/ib_pack.h``.
"""

from __future__ import annotations

from dataclasses import dataclass

from icmodel.errors import ScenarioError
from icmodel.theory import *  # noqa: F403 - each link exports these functions
from icmodel.theory import AnyFraming, choice, infiniband
from icmodel.theory.infiniband import PROPAGATION_S_PER_M as PROPAGATION_S_PER_M

ETHERNET_BYTES = 14 + 4  # header, FCS
GAP_BYTES = 12
PREAMBLE_AND_GAP_BYTES = 8 + GAP_BYTES
VLAN_TAG_BYTES = 4
IP_BYTES = {4: 20, 6: 40}
UDP_BYTES = 8


@dataclass(frozen=True, slots=True)
class Framing(infiniband.RdmaFraming):
    """Framing of RoCE: the parameters that determine how a message is cut into packets.

    Parameters
    ----------
    version : 1 or 2
        Version of RoCE: 1 runs directly on Ethernet, 2 over UDP and IP.
    mtu_bytes : 256, 512, 1024, 2048 or 4096
        RDMA path MTU, not Ethernet's: data bytes of a full packet [B].
    operation : "send", "write", "read" or "datagram"
        RDMA operation. The packets of a read are those that carry its data, without its requests.
    vlan_tags : 0, 1 or 2
        Number of VLAN tags of 4 B.
    ip_version : 4 or 6
        IP version of RoCE version 2; version 1 has no IP.
    as_counted : bool
        Whether to count bytes as port counters do: without preamble and gap.

    Raises
    ------
    ScenarioError
        If a value is not allowed, or version 1 is combined with IP version 6.

    Examples
    --------
    Version 2 over IPv4 has 62 B around the data, and 82 B with preamble and gap.  This overhead is
    ``packet_bytes``, which does not include the data.

    >>> Framing(as_counted=True).packet_bytes, Framing().packet_bytes
    (62, 82)
    >>> round(float(max_goodput_bps(1024, Framing(mtu_bytes=1024), 10e9)) / 1e9, 3)
    9.259
    """

    version: int = choice(2, "Version of RoCE: 1 or 2.", (1, 2))
    mtu_bytes: int = infiniband.mtu(1024)
    operation: str = infiniband.operation()
    vlan_tags: int = choice(0, "Number of VLAN tags: 0, 1 or 2.", (0, 1, 2))
    ip_version: int = choice(4, "IP version: 4 or 6.", (4, 6))
    as_counted: bool = choice(False, "Count bytes as port counters do, not as on the wire.")

    def __post_init__(self) -> None:
        AnyFraming.__post_init__(self)
        if self.version == 1 and self.ip_version == 6:
            raise ScenarioError(
                "RoCE version 1 has no IP version 6: leave ip_version out or use version 2"
            )

    @property
    def gap_bytes(self) -> int:
        """Interpacket gap [B]; 0 if ``as_counted`` is set, since port counters do not count the gap."""
        return 0 if self.as_counted else GAP_BYTES

    @property
    def packet_bytes(self) -> int:
        """Overhead of a packet [B]: its size minus the size of its data.

        Preamble and gap are included, except if ``as_counted`` is set, since port counters do not count them.
        """
        network = (
            infiniband.GRH_BYTES if self.version == 1 else IP_BYTES[self.ip_version] + UDP_BYTES
        )
        link = ETHERNET_BYTES + VLAN_TAG_BYTES * self.vlan_tags
        uncounted = 0 if self.as_counted else PREAMBLE_AND_GAP_BYTES
        return link + network + infiniband.BTH_BYTES + infiniband.ICRC_BYTES + uncounted
