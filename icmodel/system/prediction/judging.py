"""Judge the requirements of a system for each stream and device, including the implied requirements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from icmodel import units
from icmodel.estimate import Estimate, absent, weakest
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Requirement, Verdict, judge
from icmodel.system.network import MESSAGE, Device, Stream, StreamRequirement, System
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.result import (
    GREATEST_LATENCY,
    MESSAGE_LATENCY,
    OF_TIME,
    Judged,
    StreamPrediction,
    SystemPrediction,
)
from icmodel.system.sharing import SAME
from icmodel.usecase.derivation import ARRIVES, IN_TIME
from icmodel.usecase.judging import StreamBounds, estimate_for

GOODPUT = "goodput_bps"
LATE = (
    MESSAGE_LATENCY,
    *(f"latency_{statistic}_s" for statistic in ("mean", "p90", "p99", "p999", "max")),
)
"""Latency metrics. If the file limits one of them, this limit may replace the implied requirement `IN_TIME`."""
STD = "latency_std_s"


def judge_requirements(prediction: SystemPrediction) -> tuple[Judged, ...]:
    """Judge every requirement for every stream or device to which it applies.

    In addition to the requirements of the file, all data that a stream produces must arrive; see
    `always_required`.
    """
    named: dict[str, dict[str, StreamPrediction]] = {}
    for result in prediction.streams.values():
        for name in (result.stream.name, result.stream.group):
            named.setdefault(name, {})[result.stream.name] = result
    results: list[Judged] = []
    for required in (*prediction.system.requirements, *always_required(prediction.system)):
        streams = list(named.get(required.stream, {}).values())
        if required.device is None:
            results += [judge_stream(required, stream) for stream in streams]
            continue
        for device in prediction.system.devices.values():
            if required.device in (device.name, device.group):
                results.append(judge_device(required, prediction, device, streams))
    return tuple(results)


# --- streams ----------------------------------------------------------------------------------


def judge_stream(required: StreamRequirement, prediction: StreamPrediction) -> Judged:
    """Judge a requirement of one stream.

    A required goodput or latency is met only if all data of the stream arrive.
    """
    requirement, stream, arrival = required.requirement, prediction.stream, prediction.arrival
    timed = requirement.metric.startswith(OF_TIME) and requirement.at_most is not None
    if timed and arrival.grows:
        estimate = absent(f"its queue grows without limit: {arrival.why}")
        verdict = Verdict(
            requirement, NOT_MET, estimate, math.nan, prediction.bottleneck, estimate.why
        )
        return Judged(verdict, stream.name)
    if timed:
        result = judge_time(required, prediction)
    else:
        estimate = estimate_for(requirement.metric, StreamBounds(prediction.metrics, None, None))
        result = Judged(judge(requirement, estimate, prediction.bottleneck), stream.name)

    bound, verdict = prediction.latency_bound, result.verdict
    if timed and bound is not None:
        hosts_s = math.nan if NETWORK in bound.covers else bound.hosts_s
        parts = {"network_s": bound.network_s, "hosts_s": hosts_s}
        result = replace(result, parts={**parts, "application_s": bound.application_s})
    if timed and arrival.outcome == UNDECIDED:
        verdict = _no_better_than(verdict, UNDECIDED, arrival.why)
    elif demands_all(stream, required):
        if math.isclose(requirement.limit, stream.must_arrive_bps, rel_tol=SAME):
            verdict = replace(verdict, outcome=arrival.outcome, why=arrival.why or verdict.why)
        verdict = _no_better_than(verdict, arrival.outcome, arrival.why)
    elif arrival.late and demands_its_time(stream, required):
        verdict = _no_better_than(verdict, NOT_MET, arrival.late)
    return replace(result, verdict=verdict)


def _no_better_than(verdict: Verdict, outcome: str, why: str) -> Verdict:
    """Lower a verdict to ``outcome``, with the reason ``why``; unchanged if it is already as bad or worse."""
    if verdict.outcome == NOT_MET or outcome == MET or verdict.outcome == outcome:
        return verdict
    return replace(verdict, outcome=outcome, why=why)


def judge_time(required: StreamRequirement, prediction: StreamPrediction) -> Judged:
    """Judge a required latency of a stream: that of whole messages, or of single frames if the file says so.

    If the requirement is a hard limit on the greatest latency, the worst-case bound decides it. For this, the bound
    must include the hosts, and hold for the subject of the requirement (message or frame). A bound within the limit
    meets the requirement. If the bound exceeds the limit, the requirement is undecided, or not met if even the low end
    of the predicted greatest latency exceeds the limit.
    """
    requirement, stream, bound = required.requirement, prediction.stream, prediction.latency_bound
    several = stream.frames_a_message > 1 and requirement.metric not in (MESSAGE_LATENCY, STD)
    of = required.of if several else ""
    metrics = prediction.message_times if of == MESSAGE else prediction.metrics
    estimate = estimate_for(requirement.metric, StreamBounds(metrics, None, None))
    hard = requirement.kind == "hard" and requirement.metric == GREATEST_LATENCY
    if hard and bound and NETWORK not in bound.covers and (of != MESSAGE or bound.whole):
        network, hosts, application = (
            units.format_seconds(part, 3)
            for part in (bound.network_s, bound.hosts_s, bound.application_s)
        )
        why = (
            f"bounded by {bound.method}, which covers {', '.join(bound.covers)}; at most {network} in the "
            f"network, {hosts} in hosts and {application} in applications"
        )
        least = estimate.low if math.isfinite(estimate.low) else 0.0
        low = min(max(least, 0.0), bound.value_s)
        estimate = Estimate(bound.value_s, low, bound.value_s, "derived", why, ("derived",))
        return Judged(judge(requirement, estimate, "bound"), stream.name, by_bound=True, of=of)
    verdict = judge(requirement, estimate, prediction.bottleneck)
    if of == MESSAGE and stream.producer is not None:
        size = units.format_bytes(stream.producer.message_bytes)
        subject = f"of a whole message of {size} in {stream.frames_a_message} frames"
        verdict = replace(verdict, why="; ".join(filter(None, (subject, verdict.why))))
    return Judged(verdict, stream.name, of=of)


# --- devices ----------------------------------------------------------------------------------


def judge_device(
    required: StreamRequirement,
    prediction: SystemPrediction,
    device: Device,
    streams: Sequence[StreamPrediction],
) -> Judged:
    """Judge a requirement of a device over the streams that it sends or receives.

    The value of a metric, such as the number of busy cores, is the sum over these streams. There is one exception: if a
    device states its number of cores, its utilisation counts all streams of the device, not only these.
    """
    requirement = required.requirement
    end = "source" if requirement.metric.startswith("cpu_send") else "sink"
    here = [stream for stream in streams if getattr(stream.stream, end) == device.name]
    if end == "source":  # the sender sends all copies of a multicast set once
        here = list({stream.stream.multicast_key: stream for stream in here}.values())
    if requirement.metric in ("cpu_send", "cpu_recv") and device.cores is not None:
        estimate = prediction.devices[device.name].cpu
    else:
        nothing = absent("not predicted")
        each = [stream.metrics.get(requirement.metric, nothing) for stream in here]
        missing = next((estimate for estimate in each if estimate.absent), None)
        estimate = missing or absent("no stream of the requirement uses the device")
        if each and missing is None:
            bases = tuple(dict.fromkeys((*(known.basis for known in each), "derived")))
            value, low, high = (math.fsum(known.ends[end] for known in each) for end in range(3))
            why = f"the sum of {len(each)} streams"
            estimate = Estimate(value, low, high, weakest(bases), why, bases)
    verdict = judge(requirement, estimate, "cpu")
    if requirement.at_most is not None:
        # utilisation never exceeds 1: if a host is full, the arrival of data decides
        for stream in prediction.streams.values():
            if stream.bottleneck_at == device.name:
                verdict = _no_better_than(verdict, stream.arrival.outcome, stream.arrival.why)
    return Judged(verdict, required.stream, device.name)


# --- implied requirements ---------------------------------------------------------------------


def always_required(system: System) -> tuple[StreamRequirement, ...]:
    """Implied requirements of every stream that produces data, in addition to those of the file.

    The produced data must arrive. If the file states a time shorter than the period, they must also arrive within this
    time: every message of a hard stream, and the mean over all messages of another stream. If the file allows a stream
    to lose a part of its data, only the rest has to arrive in time. A requirement of the file that demands at least as
    much replaces the implied requirement.
    """
    stated: dict[str, list[StreamRequirement]] = {}
    for required in system.requirements:
        if required.device is None:
            stated.setdefault(required.stream, []).append(required)
    implied = []
    for stream in system.streams.values():
        own = [*stated.get(stream.name, ()), *stated.get(stream.group, ())]
        least_bps, made = stream.must_arrive_bps, stream.producer
        if least_bps > 0 and not any(demands_all(stream, required) for required in own):
            limit = Requirement(ARRIVES, GOODPUT, at_least=least_bps, kind=stream.kind)
            implied.append(StreamRequirement(limit, stream.name))
        if made is None or made.within_s is None or stream.allowed_shortfall_ratio >= 1:
            continue
        if not any(demands_its_time(stream, required) for required in own):
            # the part that must arrive may take the whole time, so a whole message takes longer in proportion
            most_s = made.within_s / (1 - stream.allowed_shortfall_ratio)
            metric = GREATEST_LATENCY if stream.kind == "hard" else MESSAGE_LATENCY
            limit = Requirement(IN_TIME, metric, at_most=most_s, kind=stream.kind)
            implied.append(StreamRequirement(limit, stream.name))
    return tuple(implied)


def demands_all(stream: Stream, required: StreamRequirement) -> bool:
    """Whether a goodput requirement is met only if all data arrive: the produced data less the allowed shortfall."""
    limit, least_bps = required.requirement, stream.must_arrive_bps
    if limit.metric != GOODPUT or limit.at_least is None:
        return False
    return 0 < least_bps < math.inf and limit.at_least >= least_bps * (1 - SAME)


def demands_its_time(stream: Stream, required: StreamRequirement) -> bool:
    """Whether a requirement demands that whole messages arrive within the stream's stated time (``within``) or sooner.

    If so, it replaces the requirement that is otherwise implied by the stated time.
    """
    limit, made = required.requirement, stream.producer
    if made is None or limit.at_most is None or limit.metric not in LATE:
        return False
    if stream.kind == "hard" and (limit.metric, limit.kind) != (GREATEST_LATENCY, "hard"):
        return False
    return limit.at_most * (1 - SAME) <= made.due_s and whole_message(stream, required)


def whole_message(stream: Stream, required: StreamRequirement) -> bool:
    """Whether a required latency is that of the whole message; true if each message is a single frame."""
    if required.requirement.metric == MESSAGE_LATENCY or stream.frames_a_message <= 1:
        return True
    return required.of == MESSAGE
