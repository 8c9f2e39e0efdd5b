"""Separate flow analysis: what the others leave at each server, then all of that as one server.

Le Boudec and Thiran, *Network Calculus* (2001), §1.4.3: concatenated first, the burst of the flow
itself delays it once and not at every server. Called SFA since Schmitt and Zdarsky (2006).
"""

from __future__ import annotations

from icmodel.system.bounds.curves import Service, in_a_row
from icmodel.system.bounds.paths import Path, choices


def separate_flow(path: Path) -> dict[str, float]:
    """Delay bound in s of each flow."""
    served = left_over(path)
    return {flow.name: min(path.delay_s(flow, one) for one in served) for flow in path.flows}


def left_over(path: Path) -> list[Service]:
    """What flows that go the same way get on all of it, for each choice of a service at each hop.

    Where packets are passed on whole, what is not yet whole is not there: the curve less one packet
    (the packetizer; Le Boudec and Thiran, theorem 1.7.1), once for each hop but the last.
    """
    last = len(path.hops) - 1
    left = []
    for index, (hop, others) in enumerate(zip(path.hops, path.others, strict=True)):
        begun = 0.0 if index == last else path.onward_bits(index, path.max_packet_bits)
        left.append([curve.less(begun) for curve in hop.left_for(path.arrival, others)])
    return [in_a_row(chosen) for chosen in choices(left)]
