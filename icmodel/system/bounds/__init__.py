"""Worst-case bounds of delay and backlog by network calculus, in pure numbers.

This room knows no document and no dataset: servers (ports) with service curves and schedulers,
flows with arrival curves, bits, bits per second and seconds. `bounds` gives the least sound bound of
each flow, `backlogs_bits` the greatest backlog of each server, `opened` a network whose cycles are cut::

    link = port("a", 1e9), port("b", 1e9, StrictPriority(), delay_s=2e-6)
    flow = Flow("control", ("a", "b"), token_bucket(12304.0, 1e6), 7, 12304.0, 672.0)
    bounds(network(link, [flow]))["control"].value_s
"""

from icmodel.system.bounds.bound import METHODS, Bound
from icmodel.system.bounds.curves import (
    Arrival,
    RateLatency,
    Service,
    TokenBucket,
    arrival,
    rate_latency,
    service,
    token_bucket,
)
from icmodel.system.bounds.cyclic import Opened, backlogs_bits, bounds, opened, uncut
from icmodel.system.bounds.network import Flow, Network, Server, network, port
from icmodel.system.bounds.schedulers import Arbitrary, Scheduler
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Fifo,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)

__all__ = [
    "METHODS",
    "Arbitrary",
    "Arrival",
    "Bound",
    "CreditBased",
    "DeficitRoundRobin",
    "Fifo",
    "Flow",
    "Gates",
    "Network",
    "Opened",
    "RateLatency",
    "Scheduler",
    "Server",
    "Service",
    "StrictPriority",
    "TokenBucket",
    "WeightedRoundRobin",
    "Window",
    "arrival",
    "backlogs_bits",
    "bounds",
    "network",
    "opened",
    "port",
    "rate_latency",
    "service",
    "token_bucket",
    "uncut",
]
