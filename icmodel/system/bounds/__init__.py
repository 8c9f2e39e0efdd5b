"""Worst-case bounds of delay and backlog by network calculus, in pure numbers.

This room knows no document and no dataset: servers (ports) with service curves and schedulers,
flows with arrival curves, bits, bits per second and seconds. `bounds` gives the least sound bound of
each flow, `backlogs_bits` the greatest backlog of each server, `opened` a network whose cycles are cut::

    link = port("a", 1e9), port("b", 1e9, StrictPriority(), delay_s=2e-6)
    flow = Flow("control", ("a", "b"), token_bucket(12304.0, 1e6), 7, 12304.0, 672.0)
    bounds(network(link, [flow]))["control"].value_s
"""

from icmodel.system.bounds.bound import (
    METHODS,
    Bound,
    backlogs_bits,
    bounds,
    bounds_by_method,
)
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
from icmodel.system.bounds.cyclic import Opened, opened, uncut
from icmodel.system.bounds.network import Flow, Network, Server, network, port
from icmodel.system.bounds.schedulers import (
    Arbitrary,
    DeficitRoundRobin,
    Fifo,
    Scheduler,
    StrictPriority,
    WeightedRoundRobin,
)
from icmodel.system.bounds.tsn_schedulers import CreditBased, TimeGates

__all__ = [
    "METHODS",
    "Arbitrary",
    "Arrival",
    "Bound",
    "CreditBased",
    "DeficitRoundRobin",
    "Fifo",
    "Flow",
    "Network",
    "Opened",
    "RateLatency",
    "Scheduler",
    "Server",
    "Service",
    "StrictPriority",
    "TimeGates",
    "TokenBucket",
    "WeightedRoundRobin",
    "arrival",
    "backlogs_bits",
    "bounds",
    "bounds_by_method",
    "network",
    "opened",
    "port",
    "rate_latency",
    "service",
    "token_bucket",
    "uncut",
]
