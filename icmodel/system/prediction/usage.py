"""Predict the load of links and processors, and the queues of ports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from icmodel.arrays import Ints
from icmodel.estimate import Estimate, absent, weakest
from icmodel.system.network import SIDES, Device, Stream, Switch, System
from icmodel.system.prediction.buffers import Buffers
from icmodel.system.prediction.resources import PORT
from icmodel.system.prediction.result import (
    DevicePrediction,
    LinkPrediction,
    PortPrediction,
    StreamPrediction,
)
from icmodel.system.prediction.throughput import Throughput
from icmodel.system.sharing import SAME
from icmodel.system.traffic import PortLoad


def link_usage(
    system: System, rates: Throughput, at_ports: Iterable[PortLoad], buffers: Buffers
) -> dict[str, LinkPrediction]:
    """Predict the load and the queue of every link in both directions, by name of the link."""
    carried = rates.resources.by_place(rates.allocation.load)
    demand = rates.resources.by_place(rates.allocation.demand)
    requested = {load.port.name: load.mean_bps for load in at_ports}
    bases = ("derived", "assumed")
    links: dict[str, dict[str, PortPrediction]] = {name: {} for name in system.links}
    for name, port in system.ports.items():
        node = system.node(port.node)
        buffer = node.buffer_bytes if isinstance(node, Switch) else None
        ratio = max(demand.get((PORT, name), 0.0), requested.get(name, 0.0)) / port.rate_bps
        grows = ratio > 1 + SAME
        mean_bytes = math.inf if grows else buffers.queues.backlog_bytes.get(name, 0.0)
        most_bytes = math.inf if mean_bytes else 0.0
        queue = Estimate(mean_bytes, 0.0, most_bytes, "assumed", "by Little's law", bases)
        if math.isinf(
            mean_bytes
        ):  # the queue of a full port is between 0 and the size of its buffer
            queue = absent(f"{name} is full: its queue grows until its buffer is")
            if buffer is not None:
                queue = Estimate(buffer, 0.0, buffer, "assumed", queue.why, bases)
        bound_bytes = buffers.bounds.backlog_bytes.get(name)
        links[port.link][name] = PortPrediction(
            load_ratio=carried.get((PORT, name), 0.0) / port.rate_bps,
            asked_ratio=ratio,
            backlog_mean_bytes=queue,
            backlog_bound_bytes=buffer if grows else bound_bytes,
        )
    return {name: LinkPrediction(ports) for name, ports in links.items()}


def device_usage(
    system: System, streams: Mapping[str, StreamPrediction], sent_with: Ints
) -> dict[str, DevicePrediction]:
    """Predict the processor load of every device, by name of the device.

    Parameters
    ----------
    sent_with : array of int (streams,)
        Index of the stream that the sender sends in place of each stream. A sender works once for all copies of a
        multicast set.
    """
    work: dict[str, list[tuple[Stream, Estimate]]] = {name: [] for name in system.devices}
    for index, prediction in enumerate(streams.values()):
        for end, side in SIDES:
            if side == "send" and sent_with[index] != index:
                continue
            name = f"cpu_{side}_cores"
            no_dataset = prediction.metrics["goodput_bps"].why or "its dataset"
            busy = prediction.metrics.get(name) or absent(f"{no_dataset} gives no {name}")
            work[getattr(prediction.stream, end)].append((prediction.stream, busy))
    return {name: _processor(system.devices[name], some) for name, some in work.items()}


def _processor(device: Device, work: list[tuple[Stream, Estimate]]) -> DevicePrediction:
    """Processor load of a device: the sum of its streams' busy cores, including application work."""
    unknown = next((busy for _, busy in work if busy.absent), None)
    if unknown is not None:
        return DevicePrediction(absent(unknown.why), absent(unknown.why), ())

    # lows add up, and so do highs: errors of one dataset have the same direction
    known = sorted(
        (busy for _, busy in work), key=lambda one: (one.value, one.low, one.high, one.basis)
    )
    bases = dict.fromkeys(("derived" if known else "theory", *(one.basis for one in known)))
    value, low, high = (sum(one.ends[end] for one in known) for end in range(3))
    why = f"the sum over {len(known)} ends of streams"
    total = Estimate(value, low, high, weakest(tuple(bases)), why, tuple(bases))
    if device.cores is None:
        why = f"the number of cores of {device.name} is unknown: give cores"
        return DevicePrediction(absent(why), total, ())

    # a host limits its streams, so its busy cores never exceed its cores
    value, low, high = (min(end, float(device.cores)) for end in total.ends)
    busy = replace(total, value=value, low=low, high=high)
    value, low, high = (min(end / device.cores, 1.0) for end in busy.ends)
    why = f"of {device.cores} cores; {busy.why}"
    utilisation = replace(busy, value=value, low=low, high=high, why=why)
    return DevicePrediction(utilisation, busy, _by_core(device.cores, work))


def _by_core(cores: int, work: list[tuple[Stream, Estimate]]) -> tuple[float, ...]:
    """Utilisation of each core of a host (0 to 1), the busiest core first.

    The streams' processes are assumed to be placed on the least loaded cores, the busiest stream first. A stream
    without a stated number of cores uses as few cores as it needs.
    """
    load = [0.0] * cores
    for stream, busy in sorted(work, key=lambda one: (-one[1].value, one[0].name)):
        count = min(stream.cores or max(math.ceil(busy.value), 1), cores)
        for core in sorted(range(cores), key=lambda core: (load[core], core))[:count]:
            load[core] = min(load[core] + busy.value / count, 1.0)
    return tuple(sorted(load, reverse=True))
