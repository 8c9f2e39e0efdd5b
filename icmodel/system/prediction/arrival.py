"""Decide for each stream whether its data arrive: surely, surely not, or undecided.

All data of a stream must arrive. The exceptions are unlimited streams, and streams for which the system file allows a
shortfall. If less data pass than must arrive, the stream's queue grows without limit. Such a stream has no latency.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.arrays import Ints
from icmodel.documents import json_of
from icmodel.estimate import Estimate, absent, limit_name
from icmodel.requirement import MET, NOT_MET, UNDECIDED
from icmodel.system.loads import Overload, PortLoad, overloads
from icmodel.system.network import Stream, System
from icmodel.system.prediction.answers import SIDES, Answers
from icmodel.system.sharing import SAME

OF_TIME = ("latency_", "rtt_", "message_latency_")
"""Prefixes of time metrics. If the queue of a stream grows without limit, time metrics are absent."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Whether the data of a stream arrive.

    Parameters
    ----------
    outcome : str
        Outcome, as for a requirement: met, undecided or not met. Always met for an unlimited sender.
    why : str
        Reason why less data pass, or may pass; empty if everything arrives.
    late : str
        Reason why messages surely miss a deadline that is shorter than the period; empty if messages may be in time.
    """

    outcome: str = MET
    why: str = ""
    late: str = ""

    @property
    def grows(self) -> bool:
        """Whether the stream's queue surely grows without limit."""
        return self.outcome == NOT_MET

    def to_dict(self) -> dict[str, object]:
        """Convert the arrival to a dict for JSON."""
        return json_of(self, "outcome", "why", "late")


def overloaded_streams(
    system: System, at_ports: Iterable[PortLoad]
) -> Mapping[str, Sequence[Overload]]:
    """Find the overloaded ports on the path of each stream: name of the stream -> overloads.

    Unlimited streams, and streams without an overloaded port, are left out.
    """
    found: dict[str, list[Overload]] = {}
    for overload in overloads(at_ports):
        for stream in overload.load.streams:
            found.setdefault(stream.name, []).append(overload)
    # in the load of a port, only the first copy of a multicast set counts
    for copies in system.multicast_sets().values():
        shared = [overload for copy in copies for overload in found.get(copy.name, ())]
        for copy in copies:
            met = [overload for overload in shared if overload.load.port.name in copy.path]
            if met:
                found[copy.name] = list(
                    {overload.load.port.name: overload for overload in met}.values()
                )
    return found


def overloaded_hosts(system: System, alone: Answers, sent_with: Ints) -> dict[str, str]:
    """Find the streams whose host surely has too few cores: name of the stream -> reason as a sentence.

    The dataset gives the busy cores per b/s of the stream alone, or the host states its core time. A stream needs at
    least this core time per bit, multiplied by the goodput that must arrive. A host needs the sum over all its streams.
    """
    needed: dict[str, dict[str, float]] = {}
    for index, stream in enumerate(system.streams.values()):
        most_bps = float(alone.ends("goodput_bps")[2, index])
        for end, side in SIDES:
            if side == "send" and sent_with[index] != index:
                continue
            device = system.devices[getattr(stream, end)]
            least = float(alone.ends(f"cpu_{side}_cores")[1, index])
            per_bit = least / most_bps if least > 0 and most_bps > 0 else 0.0
            if device.latency_s is not None:
                per_bit = stream.core_time_per_bit_s(device, side)[0]
            if per_bit > 0:
                busy = needed.setdefault(device.name, {})
                busy[stream.name] = per_bit * stream.must_arrive_bps
    reasons: dict[str, str] = {}
    for name, busy in needed.items():
        cores, total = system.devices[name].cores, math.fsum(busy.values())
        if cores is not None and total > cores * (1 + SAME):
            first, *more = busy
            others = f" and {len(more)} more" if more else ""
            why = (
                f"{name} needs at least {total:.4g} busy cores of its {cores} for the stream {first}{others}: "
                "give the host more cores, or the streams less data"
            )
            reasons |= dict.fromkeys(busy, why)
    return reasons


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
        Goodput that the stream gets [b/s].
    limit : str
        Bottleneck of the stream.
    overloaded : sequence of Overload
        Overloaded ports on the stream's path.
    full_host : str
        Reason why a host of the stream surely has too few cores; empty otherwise.
    """
    late = next((overload.sentence(system) for overload in overloaded if overload.within_s), "")
    least_bps = stream.must_arrive_bps * (1 - SAME)
    if least_bps <= 0 or goodput.low >= least_bps:
        return Arrival(MET, "", late)
    if goodput.absent:
        return Arrival(UNDECIDED, goodput.why, late)
    full = next(
        (overload for overload in overloaded if not overload.within_s and overload.beyond_allowed),
        None,
    )
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
    """Metrics of a stream whose queue grows without limit, with all latencies absent."""
    none = absent(f"its queue grows without limit: {why}")
    return {
        name: none if name.startswith(OF_TIME) else estimate for name, estimate in metrics.items()
    }


def unknown_times(metrics: Mapping[str, Estimate], why: str) -> dict[str, Estimate]:
    """Metrics of a stream whose frames may wait any time, for the reason ``why``: of latencies only the low is known."""
    unknown = {}
    for name, estimate in metrics.items():
        if not name.startswith(OF_TIME):
            unknown[name] = estimate
        elif math.isnan(estimate.low) or name.endswith("_std_s"):
            unknown[name] = absent(why)
        else:
            unknown[name] = replace(estimate, value=math.nan, high=math.inf, why=why)
    return unknown


def times_of_arrivals(metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """If not all data of a stream arrive, note in the stream's latencies that only arriving data count."""
    return {
        name: replace(estimate, why="; ".join(filter(None, (estimate.why, "of what arrives"))))
        if name.startswith(OF_TIME) and not estimate.absent
        else estimate
        for name, estimate in metrics.items()
    }
