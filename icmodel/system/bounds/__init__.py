"""Worst-case bounds of delay and backlog by network calculus.

This package uses no documents and no datasets. It knows only servers (ports) with service curves and
schedulers, and flows with arrival curves. Units are bits, bits per second and seconds.

`bounds` computes the delay bound of each flow by several analyses, and returns the least. `backlogs_bits`
returns the backlog bound of each server. Both need a network without cycles. For a network with cycles, use
`cyclic_fixed_point`: its result has methods with the same names.

A control flow of 1 Mb/s, with packets of 672 to 12304 b, crosses two ports of 1 Gb/s:

>>> ports = port("a", 1e9), port("b", 1e9, StrictPriority(), delay_s=2e-6)
>>> control = Flow(
...     "control",
...     path=("a", "b"),
...     arrival=token_bucket(burst_bits=12304.0, rate_bps=1e6),
...     traffic_class=7,
...     max_packet_bits=12304.0,
...     min_packet_bits=672.0,
... )
>>> round(bounds(network(ports, [control]))["control"].value_s * 1e6, 3)  # µs
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
