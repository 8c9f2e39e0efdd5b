"""RoCE: the InfiniBand transport over Ethernet (version 1) or over UDP and IP (version 2).

Version 1 carries 74 B around the data of a packet (Ethernet 14, GRH 40, BTH 12, ICRC 4, FCS 4),
version 2 over IPv4 62 B (IP 20 and UDP 8 in place of the GRH); 20 B more on the wire for preamble
and gap; 16 B more in the first packet of a write. Header bytes as in Linux
``include/rdma/ib_pack.h``. Acknowledgements travel the other way and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from icmodel.errors import ScenarioError
from icmodel.theory import _rdma
from icmodel.theory._rdma import PROPAGATION_S_PER_M as PROPAGATION_S_PER_M
from icmodel.theory._wire import AnyFraming, choice
from icmodel.theory.bounds import *  # noqa: F403 - the functions of every link

ETHERNET_BYTES = 14 + 4  # header, FCS
GAP_BYTES = 12
PREAMBLE_AND_GAP_BYTES = 8 + GAP_BYTES
VLAN_TAG_BYTES = 4
IP_BYTES = {4: 20, 6: 40}
UDP_BYTES = 8


@dataclass(frozen=True, slots=True)
class Framing(_rdma.RdmaFraming):
    """The parameters that determine a message's packets on RoCE.

    Parameters
    ----------
    version : 1 or 2
        1 directly on Ethernet, 2 over UDP and IP.
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

    version: int = choice(2, "1 or 2.", (1, 2))
    mtu_bytes: int = _rdma.mtu(1024)
    operation: str = _rdma.operation()
    vlan_tags: int = choice(0, "VLAN tags: 0, 1 or 2.", (0, 1, 2))
    ip_version: int = choice(4, "4 or 6.", (4, 6))
    as_counted: bool = choice(False, "As port counters see it, not as on the wire.")

    def __post_init__(self) -> None:
        AnyFraming.__post_init__(self)
        if self.version == 1 and self.ip_version == 6:
            raise ScenarioError(
                "RoCE version 1 has no IP version 6: leave ip_version out or use version 2"
            )

    @property
    def gap_bytes(self) -> int:
        """Of the gap behind each packet [B], which port counters do not see."""
        return 0 if self.as_counted else GAP_BYTES

    @property
    def packet_bytes(self) -> int:
        """Bytes around the data of every packet [B]."""
        network = _rdma.GRH_BYTES if self.version == 1 else IP_BYTES[self.ip_version] + UDP_BYTES
        link = ETHERNET_BYTES + VLAN_TAG_BYTES * self.vlan_tags
        uncounted = 0 if self.as_counted else PREAMBLE_AND_GAP_BYTES
        return link + network + _rdma.BTH_BYTES + _rdma.ICRC_BYTES + uncounted
