"""What reports and the terminal say alike: the worst of several streams, what limits them, and the queues of a port."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from icmodel import units
from icmodel.estimate import Estimate
from icmodel.grouping import together
from icmodel.system import SystemPrediction
from icmodel.system.prediction.arrival import OF_TIME
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.buffers import ARRIVING
from icmodel.system.prediction.predicting import VIRTUAL
from icmodel.system.prediction.result import LatencyBound, PortPrediction, StreamPrediction
from icmodel.wording import limit_name


def by_group(found: SystemPrediction) -> dict[str, list[StreamPrediction]]:
    """The streams of each group, in the file's order."""
    return together((one.stream.group, one) for one in found.streams.values())


def worst_of(metric: str, some: Iterable[StreamPrediction]) -> Estimate | None:
    """The least goodput, or the greatest of other metrics; none if no stream has a value."""
    told = [one.metrics[metric] for one in some if metric in one.metrics]
    known = [one for one in told if not one.absent]
    if not known:
        return None
    choose: Callable[..., Estimate] = min if metric == "goodput_bps" else max
    return choose(known, key=lambda one: one.value)


def bound_text(some: Sequence[StreamPrediction], digits: int = 3) -> str:
    """The greatest bound of some streams, with what it leaves out; ``none`` where one has no bound."""
    one = worst_bound(some)
    bound = None if one is None else one.latency_bound
    if bound is None:
        return "none"
    text = units.format_seconds(bound.value_s, digits)
    return f"{text} {scope}" if (scope := bound_scope(bound)) else text


def bound_scope(bound: LatencyBound) -> str:
    """What a bound is about, if it is not every frame from application to application."""
    if NETWORK in bound.covers:
        return "(network)"
    said = ["arriving"] if ARRIVING in bound.covers else []
    if VIRTUAL in bound.covers:
        said.append(f"network {units.format_seconds(bound.network_s, 3)}")
    return f"({', '.join(said)})" if said else ""


def grows(metric: str, some: Iterable[StreamPrediction]) -> bool:
    """Whether a time of one of some streams grows without limit."""
    return metric.startswith(OF_TIME) and any(one.arrival.grows for one in some)


def limits(some: Iterable[StreamPrediction]) -> tuple[str, str]:
    """What limits the first of some streams, and where; ``and 2 more`` where others differ."""
    where = ((limit_name(one.bottleneck) or "unknown", one.bottleneck_at) for one in some)
    first, *more = dict.fromkeys(f"{by} at {at}" if at else by for by, at in where)
    return first, f"and {len(more)} more" if more else ""


def queue_texts(port: PortPrediction) -> tuple[str, str]:
    """The mean and the greatest queue of a port."""
    mean, most = port.backlog_mean_bytes, port.backlog_bound_bytes
    least = "up to " if mean.low == 0 and mean.value == most else ""
    return (
        "grows" if mean.absent else f"{least}{units.format_bytes(round(mean.value))}",
        "none" if most is None else units.format_bytes(math.ceil(most)),
    )


def worst_bound(some: Sequence[StreamPrediction]) -> StreamPrediction | None:
    """The stream with the greatest bound on its latency; none where one has no bound."""
    if any(one.latency_bound is None for one in some):
        return None
    return max(some, key=lambda one: one.latency_bound.value_s if one.latency_bound else 0.0)
