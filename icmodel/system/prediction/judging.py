"""Judge the requirements of a system, stream by stream and device by device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from icmodel import units
from icmodel.estimate import Estimate, absent, weakest
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Requirement, Verdict, judge
from icmodel.system.network import MESSAGE, Device, StreamRequirement
from icmodel.system.prediction.arrival import (
    MESSAGE_TIME,
    OF_TIME,
    always_required,
    demands_all,
    demands_its_time,
)
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.result import Judged, StreamPrediction, SystemPrediction
from icmodel.usecase.bound import Ends, estimate_for

STD = "latency_std_s"


def judged(found: SystemPrediction) -> tuple[Judged, ...]:
    """Every requirement of the system, of every stream or device it is about.

    Beside those of the file each stream that produces something is required to bring it to its sink, as
    `icmodel.system.prediction.judging` says.
    """
    wanted = (*found.system.requirements, *always_required(found.system))
    named: dict[str, dict[str, StreamPrediction]] = {}
    for one in found.streams.values():
        for name in (one.stream.name, one.stream.group):
            named.setdefault(name, {})[one.stream.name] = one
    return tuple(
        one
        for each in wanted
        for one in _judged(found, each, list(named.get(each.stream, {}).values()))
    )


def _judged(
    found: SystemPrediction, wanted: StreamRequirement, streams: Sequence[StreamPrediction]
) -> Iterator[Judged]:
    """A requirement for each of the streams, or for each device, that it is about."""
    if wanted.device is None:
        for one in streams:
            yield _of_stream(wanted, one)
        return
    for device in found.system.devices.values():
        if wanted.device in (device.name, device.group):
            yield _of_device(found, wanted, device, streams)


# --- streams ----------------------------------------------------------------------------------


def _of_stream(wanted: StreamRequirement, one: StreamPrediction) -> Judged:
    """A requirement of one stream: a goodput and a time are met only if what is produced arrives."""
    requirement, name = wanted.requirement, one.stream.name
    timed = requirement.metric.startswith(OF_TIME) and requirement.at_most is not None
    if timed and one.arrival.grows:
        estimate = absent(f"what waits grows without limit: {one.arrival.why}")
        verdict = Verdict(requirement, NOT_MET, estimate, math.nan, one.bottleneck, estimate.why)
        return Judged(verdict, name)
    found = _timed(wanted, one) if timed else _by_prediction(requirement, one)
    if timed and one.arrival.outcome == UNDECIDED:
        return replace(found, verdict=_at_best(found.verdict, UNDECIDED, one.arrival.why))
    if demands_all(one.stream, wanted):
        return replace(found, verdict=_by_arrival(found.verdict, one))
    if one.arrival.late and demands_its_time(one.stream, wanted):
        return replace(found, verdict=_at_best(found.verdict, NOT_MET, one.arrival.late))
    return found


def _by_arrival(verdict: Verdict, one: StreamPrediction) -> Verdict:
    """The verdict on a goodput: that of all that must arrive, whose comparison forgives rounding."""
    least, arrival = one.stream.must_arrive_bps, one.arrival
    if math.isclose(verdict.requirement.limit, least, rel_tol=1e-9):
        why = arrival.why or verdict.why
        return replace(verdict, outcome=arrival.outcome, why=why)
    return _at_best(verdict, arrival.outcome, arrival.why)


def _at_best(verdict: Verdict, outcome: str, why: str) -> Verdict:
    """A verdict that is no better than an outcome."""
    if verdict.outcome == NOT_MET or outcome == MET or verdict.outcome == outcome:
        return verdict
    return replace(verdict, outcome=outcome, why=why)


def _by_prediction(requirement: Requirement, one: StreamPrediction) -> Judged:
    estimate = estimate_for(requirement.metric, Ends(one.metrics, None, None))
    return Judged(judge(requirement, estimate, one.bottleneck), one.stream.name)


def _timed(wanted: StreamRequirement, one: StreamPrediction) -> Judged:
    """A time: of a whole message where a message takes several frames, unless the file asks for a frame's.

    A hard limit on the greatest is judged by the bound, if there is one that has the hosts in it and is of the same
    subject: within the limit it is met, beyond it the least that the greatest can be decides.
    """
    requirement, stream = wanted.requirement, one.stream
    several = stream.frames_a_message > 1 and requirement.metric not in (MESSAGE_TIME, STD)
    of = wanted.of if several else ""
    estimate = estimate_for(requirement.metric, Ends(_times(one, of), None, None))
    bound = one.latency_bound
    hard = requirement.kind == "hard" and requirement.metric == "latency_max_s"
    if (
        bound is not None
        and hard
        and NETWORK not in bound.covers
        and (of != MESSAGE or bound.whole)
    ):
        why = f"bounded by {bound.method}, which covers {', '.join(bound.covers)}"
        least = estimate.low
        low = min(max(least, 0.0), bound.value_s) if math.isfinite(least) else 0.0
        estimate = Estimate(bound.value_s, low, bound.value_s, "derived", why, ("derived",))
        return Judged(judge(requirement, estimate, "bound"), stream.name, by_bound=True, of=of)
    verdict = judge(requirement, estimate, one.bottleneck)
    if of != MESSAGE or one.stream.producer is None:
        return Judged(verdict, stream.name, of=of)
    size = units.format_bytes(one.stream.producer.message_bytes)
    said = f"of a whole message of {size} in {stream.frames_a_message} frames"
    why = "; ".join(filter(None, (said, verdict.why)))
    return Judged(replace(verdict, why=why), stream.name, of=of)


def _times(one: StreamPrediction, of: str) -> Mapping[str, Estimate]:
    """The latencies of a stream: of its frames, or of its whole messages under the same names."""
    return one.message_times if of == MESSAGE else one.metrics


# --- devices ----------------------------------------------------------------------------------


def _of_device(
    found: SystemPrediction,
    wanted: StreamRequirement,
    device: Device,
    streams: Sequence[StreamPrediction],
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
        estimate = _group_by_key(
            [one.metrics.get(requirement.metric, absent("not predicted")) for one in here]
        )
    verdict = judge(requirement, estimate, "cpu")
    if requirement.at_most is not None:  # how busy it is says no more than that it is full
        for one in found.streams.values():
            if one.bottleneck_at == device.name:
                verdict = _at_best(verdict, one.arrival.outcome, one.arrival.why)
    return Judged(verdict, wanted.stream, device.name)


def _group_by_key(some: Sequence[Estimate]) -> Estimate:
    missing = next((one for one in some if one.absent), None)
    if missing is not None or not some:
        return missing or absent("no stream of it meets the device")
    bases = tuple(dict.fromkeys((*(one.basis for one in some), "derived")))
    value, low, high = (math.fsum(one.ends[end] for one in some) for end in range(3))
    why = f"the sum of {len(some)} streams"
    return Estimate(value, low, high, weakest(bases), why, bases)
