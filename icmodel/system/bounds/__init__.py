"""Worst-case bounds of delay and backlog by network calculus.

This package uses no documents and no datasets. It knows only servers (ports) with service curves and
schedulers, and flows with arrival curves. Units are bits, bits per second and seconds. `bounds` gives
the least delay bound of each flow, `backlogs_bits` the backlog bound of each server. If a network has
cycles, begin with `cyclic_fixed_point`, which cuts them.

>>> link = port("a", 1e9), port("b", 1e9, StrictPriority(), delay_s=2e-6)
>>> flow = Flow("control", ("a", "b"), token_bucket(12304.0, 1e6), 7, 12304.0, 672.0)
>>> round(bounds(network(link, [flow]))["control"].value_s * 1e6, 3)
26.608
"""

from icmodel.system.bounds.bound import (
    METHODS,
    Bound,
    FeedForward,
    backlogs_bits,
    bounds,
    cyclic_fixed_point,
    feed_forward,
)
from icmodel.system.bounds.curves import (
    ArrivalCurve,
    RateLatency,
    ServiceCurve,
    TokenBucket,
    arrival_curve,
    rate_latency,
    service_curve,
    token_bucket,
)
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
    "ArrivalCurve",
    "Bound",
    "CreditBased",
    "DeficitRoundRobin",
    "FeedForward",
    "Fifo",
    "Flow",
    "Gates",
    "Network",
    "RateLatency",
    "Scheduler",
    "Server",
    "ServiceCurve",
    "StrictPriority",
    "TokenBucket",
    "WeightedRoundRobin",
    "Window",
    "arrival_curve",
    "backlogs_bits",
    "bounds",
    "cyclic_fixed_point",
    "feed_forward",
    "network",
    "port",
    "rate_latency",
    "service_curve",
    "token_bucket",
]
