"""Whether what each stream produces arrives: surely, surely not, or undecided.

What is produced must arrive, unless the stream is unlimited or its file allows it a shortfall.  Where less
passes, what waits grows without limit, so that no latency of it exists.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.documents import json_of
from icmodel.estimate import Estimate, absent, limit_name
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Requirement
from icmodel.system.checking import Overload, overloads
from icmodel.system.network import MESSAGE, Stream, System, Wanted

ARRIVES = "what is produced arrives"
IN_TIME = "what is produced arrives within its time"
GOODPUT, MESSAGE_TIME = "goodput_bps", "message_latency_s"
SAME = 1 - 1e-9
"""Relative rounding error of rates."""
LATE = (MESSAGE_TIME, *(f"latency_{one}_s" for one in ("mean", "p90", "p99", "p999", "max")))
"""Metrics of which a limit within a message's time asks for that time."""
OF_TIME = ("latency_", "rtt_", "message_latency_")
"""Beginnings of the metrics that do not exist where what waits grows without limit."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Whether what a stream produces arrives.

    Parameters
    ----------
    outcome : str
        As of a requirement: met, undecided or not met; met of an unlimited sender.
    why : str
        What lets less pass, or may; empty if all arrives.
    late : str
        Why messages that are due before the next one surely miss their time; empty if nothing says so.
    """

    outcome: str = MET
    why: str = ""
    late: str = ""

    @property
    def grows(self) -> bool:
        """Whether what waits surely grows without limit."""
        return self.outcome == NOT_MET

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return json_of(self, "outcome", "why", "late")


def overloaded_streams(system: System) -> Mapping[str, Sequence[Overload]]:
    """Overloaded ports on the path of each stream that asks something of them, by name of the stream."""
    found: dict[str, list[Overload]] = {}
    for over in overloads(system):
        for one in over.load.streams:
            found.setdefault(one.name, []).append(over)
    for copies in system.copies().values():  # of copies a port counts the first
        shared = [over for one in copies for over in found.get(one.name, ())]
        for one in copies:
            met = [over for over in shared if over.load.port.name in one.path]
            if met:
                found[one.name] = list({over.load.port.name: over for over in met}.values())
    return found


def arrival(
    system: System,
    stream: Stream,
    goodput: Estimate,
    limit: str,
    over: Sequence[Overload] = (),
    host: str = "",
) -> Arrival:
    """Whether what a stream produces arrives.

    Parameters
    ----------
    limit : str
        What limits the stream, as bottlenecks are named.
    over : sequence of Overload
        Overloaded ports on its path.
    host : str
        Why a host of it surely has too few cores; empty if it has enough, or may have.
    """
    late = next((one.sentence(system) for one in over if one.within_s), "")
    least = stream.must_arrive_bps * SAME
    if least <= 0 or goodput.low >= least:
        return Arrival(MET, "", late)
    if goodput.absent:
        return Arrival(UNDECIDED, goodput.why, late)
    full = next((one for one in over if not one.within_s and one.beyond_allowed), None)
    if goodput.value < least and (full is not None or host):
        return Arrival(NOT_MET, full.sentence(system) if full else host, late)
    by = "" if limit == "request" else limit_name(limit)
    asked = units.format_bps(stream.must_arrive_bps)
    if goodput.high < least:
        most = units.format_bps(goodput.high, 4)
        return Arrival(NOT_MET, f"at most {most} pass of {asked} that must arrive{_by(by)}", late)
    if goodput.basis == "theory":
        return Arrival(UNDECIDED, f"hosts may let less than {asked} pass: {goodput.why}", late)
    low = units.format_bps(goodput.low, 4)
    if not by and goodput.why:
        return Arrival(UNDECIDED, f"no more than {low} surely pass of {asked}: {goodput.why}", late)
    return Arrival(
        UNDECIDED, f"no more than {low} surely pass of {asked} that must arrive{_by(by)}", late
    )


def _by(limit: str) -> str:
    return f", limited by {limit}" if limit else ""


def without_times(metrics: Mapping[str, Estimate], why: str) -> dict[str, Estimate]:
    """Metrics of a stream whose backlog grows without limit: no latency exists."""
    reason = f"what waits grows without limit: {why}"
    return {
        name: absent(reason) if name.startswith(OF_TIME) else one for name, one in metrics.items()
    }


def of_what_arrives(metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Metrics of a stream of which an allowed part does not arrive: times are those of the rest."""
    said = "of what arrives"
    return {
        name: replace(one, why="; ".join(filter(None, (one.why, said))))
        if name.startswith(OF_TIME) and not one.absent
        else one
        for name, one in metrics.items()
    }


# --- what is required always ------------------------------------------------------------------


def always_required(system: System) -> tuple[Wanted, ...]:
    """Requirements of every stream that produces something, beside those of the file.

    What is produced must arrive, and within its time where the file states one that is less than the period.  A
    requirement of the file that asks at least as much of a stream stands in for it.
    """
    stated: dict[str, list[Wanted]] = {}
    for one in system.requirements:
        if one.device is None:
            stated.setdefault(one.stream, []).append(one)
    return tuple(
        wanted
        for stream in system.streams.values()
        for wanted in _required(
            stream, (*stated.get(stream.name, ()), *stated.get(stream.group, ()))
        )
    )


def _required(stream: Stream, stated: Iterable[Wanted]) -> Iterator[Wanted]:
    asked = list(stated)
    least = stream.must_arrive_bps
    if least > 0 and not any(demands_all(stream, one) for one in asked):
        yield Wanted(Requirement(ARRIVES, GOODPUT, at_least=least, kind=stream.kind), stream.name)
    made = stream.producer
    if made is None or made.within_s is None or stream.allowed_shortfall_ratio > 0:
        return
    if not any(demands_its_time(stream, one) for one in asked):
        limit = Requirement(IN_TIME, MESSAGE_TIME, at_most=made.within_s, kind=stream.kind)
        yield Wanted(limit, stream.name)


def demands_all(stream: Stream, wanted: Wanted) -> bool:
    """Whether a requirement is met only if what the stream produces arrives."""
    limit, least = wanted.requirement, stream.must_arrive_bps
    if limit.metric != GOODPUT or limit.at_least is None:
        return False
    return 0 < least < math.inf and limit.at_least >= least * SAME


def demands_its_time(stream: Stream, wanted: Wanted) -> bool:
    """Whether a requirement is met only if whole messages arrive within the time that the file states for them."""
    limit, made = wanted.requirement, stream.producer
    if made is None or limit.at_most is None or limit.metric not in LATE:
        return False
    return limit.at_most * SAME <= made.due_s and whole_message(stream, wanted)


def whole_message(stream: Stream, wanted: Wanted) -> bool:
    """Whether a requirement on a time is about whole messages, of which a frame may be one."""
    if wanted.requirement.metric == MESSAGE_TIME or stream.frames_a_message <= 1:
        return True
    return wanted.of == MESSAGE
