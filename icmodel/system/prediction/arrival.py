"""Whether the data of each stream arrive: surely, surely not, or undecided.

All that a stream produces must arrive, unless it is unlimited or its file allows a shortfall. If less passes, its queue
grows without limit, so that it has no latency.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.estimate import Estimate, absent, json_of, limit_name
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Requirement
from icmodel.system.checking import Overload, overloads
from icmodel.system.network import MESSAGE, Stream, System, Wanted
from icmodel.system.sharing import SAME

ARRIVES = "what is produced arrives"
IN_TIME = "what is produced arrives within its time"
GOODPUT, MESSAGE_TIME = "goodput_bps", "message_latency_s"
LATE = (
    MESSAGE_TIME,
    *(f"latency_{statistic}_s" for statistic in ("mean", "p90", "p99", "p999", "max")),
)
"""Metrics whose limit, if it is no longer than a message's time, requires that time."""
OF_TIME = ("latency_", "rtt_", "message_latency_")
"""Beginnings of the metrics that do not exist if a queue grows without limit."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Whether the data of a stream arrive.

    Parameters
    ----------
    outcome : str
        Outcome as of a requirement: met, undecided or not met; met for an unlimited sender.
    why : str
        Why less passes, or may; empty if everything arrives.
    late : str
        Why messages that are due before the next one surely miss their time; empty if they need not.
    """

    outcome: str = MET
    why: str = ""
    late: str = ""

    @property
    def grows(self) -> bool:
        """Whether the queue of the stream surely grows without limit."""
        return self.outcome == NOT_MET

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return json_of(self, "outcome", "why", "late")


def overloaded_streams(system: System) -> Mapping[str, Sequence[Overload]]:
    """Overloaded ports on the path of each stream that requests a rate of them, by name of the stream."""
    found: dict[str, list[Overload]] = {}
    for overload in overloads(system):
        for stream in overload.load.streams:
            found.setdefault(stream.name, []).append(overload)
    for copies in system.copies().values():  # the load of a port counts only the first of copies
        shared = [overload for copy in copies for overload in found.get(copy.name, ())]
        for copy in copies:
            met = [overload for overload in shared if overload.load.port.name in copy.path]
            if met:
                found[copy.name] = list({one.load.port.name: one for one in met}.values())
    return found


def arrival(
    system: System,
    stream: Stream,
    goodput: Estimate,
    limit: str,
    overloaded: Sequence[Overload] = (),
    full_host: str = "",
) -> Arrival:
    """Decide whether the data of a stream arrive.

    Parameters
    ----------
    goodput : Estimate
        Goodput that it gets [b/s].
    limit : str
        Its bottleneck.
    overloaded : sequence of Overload
        Overloaded ports on its path.
    full_host : str
        Why a host of it surely has too few cores; empty otherwise.
    """
    late = next((one.sentence(system) for one in overloaded if one.within_s), "")
    least_bps = stream.must_arrive_bps * (1 - SAME)
    if least_bps <= 0 or goodput.low >= least_bps:
        return Arrival(MET, "", late)
    if goodput.absent:
        return Arrival(UNDECIDED, goodput.why, late)
    full = next((one for one in overloaded if not one.within_s and one.beyond_allowed), None)
    if goodput.value < least_bps and (full is not None or full_host):
        return Arrival(NOT_MET, full.sentence(system) if full else full_host, late)
    limited = (
        "" if limit == "request" or not limit_name(limit) else f", limited by {limit_name(limit)}"
    )
    required = units.format_bps(stream.must_arrive_bps)
    if goodput.high < least_bps:
        most = units.format_bps(goodput.high, 4)
        why = f"at most {most} pass of {required} that must arrive{limited}"
        return Arrival(NOT_MET, why, late)
    low = units.format_bps(goodput.low, 4)
    if goodput.basis == "theory":
        why = f"hosts may let less than {required} pass: {goodput.why}"
    elif not limited and goodput.why:
        why = f"no more than {low} surely pass of {required}: {goodput.why}"
    else:
        why = f"no more than {low} surely pass of {required} that must arrive{limited}"
    return Arrival(UNDECIDED, why, late)


def without_times(metrics: Mapping[str, Estimate], why: str) -> dict[str, Estimate]:
    """Metrics of a stream whose queue grows without limit: no latency exists."""
    none = absent(f"what waits grows without limit: {why}")
    return {
        name: none if name.startswith(OF_TIME) else estimate for name, estimate in metrics.items()
    }


def times_of_arrivals(metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Metrics of a stream with a shortfall: its times are those of what arrives."""
    return {
        name: replace(estimate, why="; ".join(filter(None, (estimate.why, "of what arrives"))))
        if name.startswith(OF_TIME) and not estimate.absent
        else estimate
        for name, estimate in metrics.items()
    }


# --- implied requirements ---------------------------------------------------------------------


def always_required(system: System) -> tuple[Wanted, ...]:
    """Requirements of every stream that produces something, in addition to those of the file.

    What it produces must arrive, and in time if the file states a time that is less than the period. A requirement of the
    file that asks at least as much of the stream replaces either.
    """
    stated: dict[str, list[Wanted]] = {}
    for one in system.requirements:
        if one.device is None:
            stated.setdefault(one.stream, []).append(one)
    implied = []
    for stream in system.streams.values():
        own = [*stated.get(stream.name, ()), *stated.get(stream.group, ())]
        least_bps, made = stream.must_arrive_bps, stream.producer
        if least_bps > 0 and not any(demands_all(stream, one) for one in own):
            limit = Requirement(ARRIVES, GOODPUT, at_least=least_bps, kind=stream.kind)
            implied.append(Wanted(limit, stream.name))
        if made is None or made.within_s is None or stream.allowed_shortfall_ratio > 0:
            continue
        if not any(demands_its_time(stream, one) for one in own):
            limit = Requirement(IN_TIME, MESSAGE_TIME, at_most=made.within_s, kind=stream.kind)
            implied.append(Wanted(limit, stream.name))
    return tuple(implied)


def demands_all(stream: Stream, required: Wanted) -> bool:
    """Whether a requirement is met only if all that the stream produces arrives."""
    limit, least_bps = required.requirement, stream.must_arrive_bps
    if limit.metric != GOODPUT or limit.at_least is None:
        return False
    return 0 < least_bps < math.inf and limit.at_least >= least_bps * (1 - SAME)


def demands_its_time(stream: Stream, required: Wanted) -> bool:
    """Whether a requirement is met only if whole messages arrive within the time that the file states for them."""
    limit, made = required.requirement, stream.producer
    if made is None or limit.at_most is None or limit.metric not in LATE:
        return False
    return limit.at_most * (1 - SAME) <= made.due_s and whole_message(stream, required)


def whole_message(stream: Stream, required: Wanted) -> bool:
    """Whether a requirement on a time applies to whole messages; a message may be a single frame."""
    if required.requirement.metric == MESSAGE_TIME or stream.frames_a_message <= 1:
        return True
    return required.of == MESSAGE
