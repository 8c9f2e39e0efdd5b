"""InfiniBand: messages cut at the path MTU, SDR to NDR.

Bytes of a packet on the wire, with n bytes of data::

    LRH 8 + GRH 40 between subnets + BTH 12 + n to a multiple of 4 + ICRC 4 + VCRC 2

The first packet of a write adds a RETH of 16 B. A datagram adds a DETH of 8 B. The first and last
packet of a read's response add an AETH of 4 B each. Port counters do not count the VCRC. Header
bytes: Linux ``include/rdma/ib_pack.h``; lane rates: the kernel's ``ib_rate_to_mbps``.

Acknowledgements travel in the other direction. Credits, delimiters and skip symbols of the link
are neglected. So goodputs stay upper bounds, and latencies lower bounds.
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
    "ndr": 100e9,  # 106.25 Gb/s less the same codes
}
LANES = (1, 2, 4, 8, 12)


@dataclass(frozen=True, slots=True)
class Framing(_rdma.RdmaFraming):
    """Framing of InfiniBand: the parameters that determine how a message is cut into packets.

    Parameters
    ----------
    mtu_bytes : 256, 512, 1024, 2048 or 4096
        Path MTU: data bytes of a full packet [B].
    operation : "send", "write", "read" or "datagram"
        RDMA operation. For a read, only packets in the direction of its data count.
    global_route : bool
        Whether packets carry the global route header of 40 B, as between subnets.
    as_counted : bool
        Whether to count bytes as port counters do: without the variant CRC of 2 B.

    Examples
    --------
    A full packet has 26 B around its 4096 B of data; 4096 / 4122 of 32 Gb/s carry data.

    >>> Framing().packet_bytes
    26
    >>> round(float(max_goodput_bps(4096, Framing(), link_rate_bps("qdr", 4))) / 1e9, 3)
    31.798
    """

    mtu_bytes: int = _rdma.mtu(4096)
    operation: str = _rdma.operation()
    global_route: bool = choice(False, "Carry the global route header of 40 B in packets.")
    as_counted: bool = choice(False, "Count bytes as port counters do, not as on the wire.")

    @property
    def packet_bytes(self) -> int:
        """Overhead of every packet [B]: the headers and checksums around its data."""
        counted = LRH_BYTES + _rdma.BTH_BYTES + _rdma.ICRC_BYTES
        return counted + _rdma.GRH_BYTES * self.global_route + VCRC_BYTES * (not self.as_counted)


def link_rate_bps(generation: str = "qdr", lanes: int = 4) -> float:
    """Data rate of an InfiniBand link after line coding [b/s]: lanes × lane rate.

    Parameters
    ----------
    generation : "sdr", "ddr", "qdr", "fdr", "edr", "hdr" or "ndr"
        Generation, which determines the rate of a lane.
    lanes : 1, 2, 4, 8 or 12
        Number of lanes.

    Raises
    ------
    ScenarioError
        If the generation or the number of lanes is unknown.

    Examples
    --------
    Four lanes of QDR: 4 × 10 Gb/s × 8/10.

    >>> link_rate_bps("qdr", 4) / 1e9
    32.0
    """
    _wire.check_choice("generation", generation, tuple(LANE_RATE_BPS))
    _wire.check_choice("lanes", lanes, LANES)
    return lanes * LANE_RATE_BPS[generation]
