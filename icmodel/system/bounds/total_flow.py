"""Total flow analysis: at each server the delay of all that waits there; a path is their sum.

Le Boudec and Thiran, *Network Calculus* (2001), §2.4; called TFA since Schmitt and Zdarsky, *The
DISCO network calculator* (VALUETOOLS 2006). With line shaping it is TFA++ (Mifdaoui and Leydier,
*Beyond the accuracy-complexity tradeoffs of compositional analyses*, 2017).
"""

from __future__ import annotations

from icmodel.system.bounds.paths import Path


def total_flow(path: Path) -> dict[str, float]:
    """Delay bound in s of each flow: waiting, and the packet's own time, summed over its servers.

    Behind a cut-through switch a packet waits for its header, not for its end, but at the last.
    """
    found = {}
    for flow in path.flows:
        bits, delay = flow.min_packet_bits, 0.0
        for index, hop in enumerate(path.hops):
            wait = path.propagation.arrivals.wait_s(hop, bits)
            passing = hop.server.packet_s(path.onward_bits(index, bits))
            delay += wait + passing + path.onward_s(index)
        found[flow.name] = delay
    return found
