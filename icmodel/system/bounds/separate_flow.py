"""Separate flow analysis: what the others leave at each server, then all of that as one server.

Le Boudec and Thiran, *Network Calculus* (2001), §1.4.3: concatenated first, the burst of the flow
itself delays it once and not at every server. Called SFA since Schmitt and Zdarsky (2006).
"""

from __future__ import annotations

from icmodel.system.bounds.curves import Service, in_a_row
from icmodel.system.bounds.paths import Path, passed_on_bits


def separate_flow(path: Path) -> dict[str, float]:
    """Delay bound in s of each flow."""
    served = left_over(path)
    return {flow.name: path.delay_s(flow, served) for flow in path.flows}


def left_over(path: Path) -> Service:
    """What flows that go the same way get on all of it.

    Where packets are passed on whole, what is not yet whole is not there: the curve less one packet
    (the packetizer; Le Boudec and Thiran, theorem 1.7.1), once for each hop but the last.
    """
    left = []
    for hop, others in zip(path.hops, path.others, strict=True):
        curve = hop.left_for(path.arrival, others)
        last = hop is path.hops[-1]
        left.append(curve if last else curve.less(passed_on_bits(hop.server, path.max_packet_bits)))
    return in_a_row(left)
