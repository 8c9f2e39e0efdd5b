"""Links: what their ports carry of their rate, and what queues there."""

from __future__ import annotations

import math

from icmodel.estimate import Estimate, absent
from icmodel.system.loads import loads
from icmodel.system.network import Switch, System
from icmodel.system.overloads import TOLERANCE
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
    buffers = {
        name: node.buffer_bytes
        for name, port in system.ports.items()
        if isinstance(node := system.node(port.node), Switch)
    }
    by_link: dict[str, dict[str, PortPrediction]] = {name: {} for name in system.links}
    for name, port in system.ports.items():
        ratio = max(comes.get((PORT, name), 0.0), asked.get(name, 0.0)) / port.rate_bps
        mean, buffer = held.queued.backlog_bytes.get(name, 0.0), buffers.get(name)
        grows = ratio > 1 + TOLERANCE
        by_link[port.link][name] = PortPrediction(
            load_ratio=carried.get((PORT, name), 0.0) / port.rate_bps,
            asked_ratio=ratio,
            backlog_mean_bytes=_backlog(math.inf if grows else mean, name, buffer),
            backlog_bound_bytes=buffer if grows else held.bound.backlog_bytes.get(name),
        )
    return {name: LinkPrediction(ports) for name, ports in by_link.items()}


def _backlog(mean_bytes: float, port: str, buffer_bytes: float | None) -> Estimate:
    """The mean queue of a port; of a full one anything up to its buffer, if that is stated."""
    bases = ("derived", "assumed")
    if math.isinf(mean_bytes):
        why = f"{port} is full: its queue grows until its buffer is"
        if buffer_bytes is None:
            return absent(why)
        return Estimate(buffer_bytes, 0.0, buffer_bytes, "assumed", why, bases)
    return Estimate(
        mean_bytes, 0.0, math.inf if mean_bytes else 0.0, "assumed", "by Little's law", bases
    )
