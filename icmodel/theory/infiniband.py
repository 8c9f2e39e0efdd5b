"""InfiniBand: messages cut at the path MTU, SDR to NDR.

A packet carries 24 B around its data as port counters see it (LRH 8, BTH 12, ICRC 4), 2 B more on
the wire (VCRC), and the first packet of a write 16 B more (RETH). Header bytes as in Linux
``include/rdma/ib_pack.h``; lane rates as in the kernel's ``ib_rate_to_mbps``. Acknowledgements
travel the other way; credits, delimiters and skips of the link are left out, so a bound stays one.
"""

from __future__ import annotations

from dataclasses import dataclass

from icmodel.theory import _rdma, _wire
from icmodel.theory._rdma import PROPAGATION_S_PER_M as PROPAGATION_S_PER_M
from icmodel.theory._wire import choice
from icmodel.theory.bounds import *  # noqa: F403 - the functions of every link

LRH_BYTES = 8
VCRC_BYTES = 2
LANE_RATE_BPS = {
    "sdr": 2.5e9 * 8 / 10,
    "ddr": 5e9 * 8 / 10,
    "qdr": 10e9 * 8 / 10,
    "fdr": 14.0625e9 * 64 / 66,
    "edr": 25.78125e9 * 64 / 66,
    "hdr": 50e9,  # 53.125 Gb/s less RS(544,514) and 256b/257b
    "ndr": 100e9,  # 106.25 Gb/s less the same
}
LANES = (1, 2, 4, 8, 12)


@dataclass(frozen=True, slots=True)
class Framing(_rdma.RdmaFraming):
    """The parameters that determine a message's packets on InfiniBand.

    Parameters
    ----------
    mtu_bytes : 256, 512, 1024, 2048 or 4096
        Path MTU: data bytes of a full packet [B].
    operation : "send", "write", "read" or "datagram"
        A read is counted in the direction of its data.
    global_route : bool
        With the 40 B global route header, as between subnets.
    as_counted : bool
        As port counters see it: without the 2 B variant CRC.
    """

    mtu_bytes: int = _rdma.mtu(4096)
    operation: str = _rdma.operation()
    global_route: bool = choice(False, "With the 40 B global route header.")
    as_counted: bool = choice(False, "As port counters see it, not as on the wire.")

    @property
    def packet_bytes(self) -> int:
        """Bytes around the data of every packet [B]."""
        counted = LRH_BYTES + _rdma.BTH_BYTES + _rdma.ICRC_BYTES
        return counted + _rdma.GRH_BYTES * self.global_route + VCRC_BYTES * (not self.as_counted)


def link_rate_bps(generation: str = "qdr", lanes: int = 4) -> float:
    """Data rate of a link after coding [b/s]."""
    _wire.check_choice("generation", generation, tuple(LANE_RATE_BPS))
    _wire.check_choice("lanes", lanes, LANES)
    return lanes * LANE_RATE_BPS[generation]
