"""Total flow analysis: at each server the delay of all that waits there; a path is their sum.

Le Boudec and Thiran, *Network Calculus* (2001), §2.4; called TFA since Schmitt and Zdarsky, *The
DISCO network calculator* (VALUETOOLS 2006). With line shaping it is TFA++ (Mifdaoui and Leydier,
*Beyond the accuracy-complexity tradeoffs of compositional analyses*, 2017).
"""

from __future__ import annotations

from icmodel.system.bounds.paths import passed_on_bits
from icmodel.system.bounds.propagation import Propagation


def total_flow(propagation: Propagation) -> dict[str, float]:
    """Delay bound in s of each flow: waiting, and the packet's own time, summed over its servers.

    Behind a cut-through switch a packet waits for its header, not for its end, but at the last.
    """
    found = {}
    for name, flow in propagation.network.flows.items():
        bits, delay = flow.min_packet_bits, 0.0
        for server in flow.path:
            queue = propagation.queue(flow, server)
            wait = propagation.arrivals.wait_s(queue, bits)
            passing = bits if server == flow.path[-1] else passed_on_bits(queue.server, bits)
            delay += wait + queue.server.packet_s(passing) + queue.server.delay_s
        found[name] = delay
    return found
