"""Links: what their ports carry of their rate, and what queues there."""

from __future__ import annotations

import math

from icmodel.estimate import Estimate, absent
from icmodel.system.loads import loads
from icmodel.system.network import System
from icmodel.system.prediction.buffers import Buffers
from icmodel.system.prediction.lanes import PORT, Shared
from icmodel.system.prediction.result import LinkPrediction, PortPrediction
from icmodel.system.sharing.allocation import Allocation


def links(
    system: System, found: Shared, allocation: Allocation, held: Buffers
) -> dict[str, LinkPrediction]:
    """Load and queue of every link, both directions."""
    carried, comes = found.by_place(allocation.carried), found.by_place(allocation.arriving)
    asked = {load.port.name: load.mean_bps for load in loads(system)}
    by_link: dict[str, dict[str, PortPrediction]] = {name: {} for name in system.links}
    for name, port in system.ports.items():
        by_link[port.link][name] = PortPrediction(
            load_ratio=carried.get((PORT, name), 0.0) / port.rate_bps,
            asked_ratio=max(comes.get((PORT, name), 0.0), asked.get(name, 0.0)) / port.rate_bps,
            backlog_mean_bytes=_backlog(held.queued.backlog_bytes.get(name, 0.0), name),
            backlog_bound_bytes=held.bound.backlog_bytes.get(name),
        )
    return {name: LinkPrediction(ports) for name, ports in by_link.items()}


def _backlog(mean_bytes: float, port: str) -> Estimate:
    if math.isinf(mean_bytes):
        return absent(f"{port} is full: its queue grows until its buffer is")
    bases = ("derived", "assumed")
    return Estimate(
        mean_bytes, 0.0, math.inf if mean_bytes else 0.0, "assumed", "by Little's law", bases
    )
