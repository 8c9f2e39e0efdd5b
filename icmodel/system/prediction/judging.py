"""Judge the requirements of a system, stream by stream and device by device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from icmodel import units
from icmodel.estimate import Estimate, absent, weakest
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Verdict, judge
from icmodel.system.network import MESSAGE, Device, Wanted
from icmodel.system.prediction.arrival import (
    MESSAGE_TIME,
    OF_TIME,
    always_required,
    demands_all,
    demands_its_time,
)
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.result import Judged, StreamPrediction, SystemPrediction
from icmodel.system.sharing import SAME
from icmodel.usecase.bound import Ends, estimate_for

STD = "latency_std_s"


def judged(found: SystemPrediction) -> tuple[Judged, ...]:
    """Judge every requirement of the system for every stream or device that it applies to.

    In addition to the requirements of the file, all that a stream produces must arrive
    (`icmodel.system.prediction.arrival.always_required`).
    """
    named: dict[str, dict[str, StreamPrediction]] = {}
    for one in found.streams.values():
        for name in (one.stream.name, one.stream.group):
            named.setdefault(name, {})[one.stream.name] = one
    results: list[Judged] = []
    for required in (*found.system.requirements, *always_required(found.system)):
        streams = list(named.get(required.stream, {}).values())
        if required.device is None:
            results += [judge_stream(required, stream) for stream in streams]
            continue
        for device in found.system.devices.values():
            if required.device in (device.name, device.group):
                results.append(judge_device(required, found, device, streams))
    return tuple(results)


# --- streams ----------------------------------------------------------------------------------


def judge_stream(required: Wanted, found: StreamPrediction) -> Judged:
    """Judge a requirement of one stream; a goodput and a time are met only if all that it produces arrives."""
    requirement, stream, arrival = required.requirement, found.stream, found.arrival
    timed = requirement.metric.startswith(OF_TIME) and requirement.at_most is not None
    if timed and arrival.grows:
        estimate = absent(f"what waits grows without limit: {arrival.why}")
        verdict = Verdict(requirement, NOT_MET, estimate, math.nan, found.bottleneck, estimate.why)
        return Judged(verdict, stream.name)
    if timed:
        result = judge_time(required, found)
    else:
        estimate = estimate_for(requirement.metric, Ends(found.metrics, None, None))
        result = Judged(judge(requirement, estimate, found.bottleneck), stream.name)

    verdict = result.verdict
    if timed and arrival.outcome == UNDECIDED:
        verdict = _at_best(verdict, UNDECIDED, arrival.why)
    elif demands_all(stream, required):
        if math.isclose(requirement.limit, stream.must_arrive_bps, rel_tol=SAME):
            verdict = replace(verdict, outcome=arrival.outcome, why=arrival.why or verdict.why)
        verdict = _at_best(verdict, arrival.outcome, arrival.why)
    elif arrival.late and demands_its_time(stream, required):
        verdict = _at_best(verdict, NOT_MET, arrival.late)
    return replace(result, verdict=verdict)


def _at_best(verdict: Verdict, outcome: str, why: str) -> Verdict:
    """A verdict that is no better than an outcome."""
    if verdict.outcome == NOT_MET or outcome == MET or verdict.outcome == outcome:
        return verdict
    return replace(verdict, outcome=outcome, why=why)


def judge_time(required: Wanted, found: StreamPrediction) -> Judged:
    """Judge a time: of a whole message of several frames, unless the file asks for that of a frame.

    A hard limit on the greatest latency is judged by the bound, if it has the hosts in it and is of the same subject.
    A bound within the limit meets it. Beyond the limit the least that the greatest latency can be decides.
    """
    requirement, stream, bound = required.requirement, found.stream, found.latency_bound
    several = stream.frames_a_message > 1 and requirement.metric not in (MESSAGE_TIME, STD)
    of = required.of if several else ""
    metrics = found.message_times if of == MESSAGE else found.metrics
    estimate = estimate_for(requirement.metric, Ends(metrics, None, None))
    hard = requirement.kind == "hard" and requirement.metric == "latency_max_s"
    if hard and bound and NETWORK not in bound.covers and (of != MESSAGE or bound.whole):
        why = f"bounded by {bound.method}, which covers {', '.join(bound.covers)}"
        least = estimate.low if math.isfinite(estimate.low) else 0.0
        low = min(max(least, 0.0), bound.value_s)
        estimate = Estimate(bound.value_s, low, bound.value_s, "derived", why, ("derived",))
        return Judged(judge(requirement, estimate, "bound"), stream.name, by_bound=True, of=of)
    verdict = judge(requirement, estimate, found.bottleneck)
    if of == MESSAGE and stream.producer is not None:
        size = units.format_bytes(stream.producer.message_bytes)
        subject = f"of a whole message of {size} in {stream.frames_a_message} frames"
        verdict = replace(verdict, why="; ".join(filter(None, (subject, verdict.why))))
    return Judged(verdict, stream.name, of=of)


# --- devices ----------------------------------------------------------------------------------


def judge_device(
    required: Wanted, found: SystemPrediction, device: Device, streams: Sequence[StreamPrediction]
) -> Judged:
    """Judge a requirement of a device with its streams that it sends or receives.

    Its utilisation is that of all its streams together. If its cores are unknown, the cores of each stream add up.
    """
    requirement = required.requirement
    end = "source" if requirement.metric.startswith("cpu_send") else "sink"
    here = [one for one in streams if getattr(one.stream, end) == device.name]
    if requirement.metric in ("cpu_send", "cpu_recv") and device.cores is not None:
        estimate = found.devices[device.name].cpu
    else:
        nothing = absent("not predicted")
        estimate = _sum([one.metrics.get(requirement.metric, nothing) for one in here])
    verdict = judge(requirement, estimate, "cpu")
    if requirement.at_most is not None:
        # the utilisation of a full host does not exceed 1: what does not arrive decides
        for one in found.streams.values():
            if one.bottleneck_at == device.name:
                verdict = _at_best(verdict, one.arrival.outcome, one.arrival.why)
    return Judged(verdict, required.stream, device.name)


def _sum(some: Sequence[Estimate]) -> Estimate:
    """Sum of estimates, end by end; absent if one of them is, or if there are none."""
    missing = next((one for one in some if one.absent), None)
    if missing is not None or not some:
        return missing or absent("no stream of it meets the device")
    bases = tuple(dict.fromkeys((*(one.basis for one in some), "derived")))
    value, low, high = (math.fsum(one.ends[end] for one in some) for end in range(3))
    why = f"the sum of {len(some)} streams"
    return Estimate(value, low, high, weakest(bases), why, bases)
