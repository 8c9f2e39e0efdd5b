"""Judge the requirements of a system, stream by stream and device by device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from icmodel.estimate import Estimate, absent, weakest
from icmodel.requirement import Requirement, judge
from icmodel.system.network import Device, System, Wanted
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.result import Judged, StreamPrediction, SystemPrediction
from icmodel.usecase.bound import Ends, estimate_for

GOODPUT = "goodput_bps"


def judged(found: SystemPrediction) -> tuple[Judged, ...]:
    """Every requirement of the system, of every stream or device it is about.

    A system without requirements is asked one: that every stream gets what it asks for.
    """
    wanted = found.system.requirements or carried(found.system)
    named: dict[str, dict[str, StreamPrediction]] = {}
    for one in found.streams.values():
        for name in (one.stream.name, one.stream.group):
            named.setdefault(name, {})[one.stream.name] = one
    return tuple(
        one
        for each in wanted
        for one in _judged(found, each, list(named.get(each.stream, {}).values()))
    )


def carried(system: System) -> tuple[Wanted, ...]:
    """What is required of a system that says nothing: that each stream gets what it asks for."""
    name = "what is asked for arrives"
    return tuple(
        Wanted(Requirement(name, GOODPUT, at_least=asked, kind=one.kind), one.name)
        for one in system.streams.values()
        if math.isfinite(asked := one.requested_goodput_bps)
    )


def _judged(
    found: SystemPrediction, wanted: Wanted, streams: Sequence[StreamPrediction]
) -> Iterator[Judged]:
    """A requirement for each of the streams, or for each device, that it is about."""
    if wanted.device is None:
        for one in streams:
            yield _of_stream(wanted.requirement, one)
        return
    for device in found.system.devices.values():
        if wanted.device in (device.name, device.group):
            yield _of_device(found, wanted, device, streams)


def _of_stream(requirement: Requirement, one: StreamPrediction) -> Judged:
    """By the bound where it is hard and there is one that has the hosts in it, else by the prediction.

    A bound within the limit meets it; one beyond it leaves open whether it is ever reached, and the
    least the greatest latency can be decides.
    """
    metric = requirement.metric
    estimate = estimate_for(metric, Ends(one.metrics, None, None))
    bound = one.latency_bound
    whole = bound is not None and NETWORK not in bound.covers
    if bound is not None and whole and requirement.kind == "hard" and metric == "latency_max_s":
        why = f"bounded by {bound.method}, which covers {', '.join(bound.covers)}"
        least = estimate.low
        low = min(max(least, 0.0), bound.value_s) if math.isfinite(least) else 0.0
        estimate = Estimate(bound.value_s, low, bound.value_s, "derived", why, ("derived",))
        return Judged(judge(requirement, estimate, "bound"), one.stream.name, by_bound=True)
    return Judged(judge(requirement, estimate, one.bottleneck), one.stream.name)


def _of_device(
    found: SystemPrediction, wanted: Wanted, device: Device, streams: Sequence[StreamPrediction]
) -> Judged:
    """A device with the streams of the requirement that it sends or receives.

    How busy it is follows from all its streams together; of unknown cores, from those that each stream uses.
    """
    requirement = wanted.requirement
    end = "source" if requirement.metric.startswith("cpu_send") else "sink"
    here = [one for one in streams if getattr(one.stream, end) == device.name]
    if requirement.metric in ("cpu_send", "cpu_recv") and device.cores is not None:
        estimate = found.devices[device.name].cpu  # of all its streams
    else:
        estimate = _together(
            [one.metrics.get(requirement.metric, absent("not predicted")) for one in here]
        )
    return Judged(judge(requirement, estimate, "cpu"), wanted.stream, device.name)


def _together(some: Sequence[Estimate]) -> Estimate:
    missing = next((one for one in some if one.absent), None)
    if missing is not None or not some:
        return missing or absent("no stream of it meets the device")
    bases = tuple(dict.fromkeys((*(one.basis for one in some), "derived")))
    value, low, high = (math.fsum(one.ends[end] for one in some) for end in range(3))
    why = f"the sum of {len(some)} streams"
    return Estimate(value, low, high, weakest(bases), why, bases)
