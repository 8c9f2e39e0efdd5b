"""Physics: the wire's bounds for a use case; they can refute a requirement, and never prove one.

If a bound fails, no host meets the requirement on that wire: Ethernet's packets are assumed as large
as is common (MTU 9000), so that a refutation also holds for smaller ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from icmodel import units
from icmodel.dataset import Interconnect
from icmodel.estimate import Estimate, absent
from icmodel.interconnects.choices import ETHERNET, Link, theory_choices
from icmodel.message import AT_ONCE, MESSAGE_METRICS
from icmodel.requirement import Requirement, judge, while_all_passes
from icmodel.scenario import Scenario
from icmodel.tables.wire import Wire
from icmodel.usecase import Answer, CandidateResult, Derivation, Finding, UseCase, derive
from icmodel.usecase.bound import share_bps
from icmodel.usecase.derivation import Derivations, produced_bps
from icmodel.usecase.document import Candidate, ImageStream, Limit
from icmodel.usecase.evaluation import at_needed_rate
from icmodel.usecase.hosts import (
    SharedInterface,
    interface_derivations,
    interfaces,
    shared_interface,
)
from icmodel.usecase.limits import required
from icmodel.usecase.result import NO_EVIDENCE, Evidence

JUMBO_MTU_BYTES = 9000
OF_THEORY = Evidence("theory", ("theory",), (), "")


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What a wire allows one stream: goodput alone and beside the others [b/s], and latency [s]."""

    scenario: Scenario
    alone_bps: float
    goodput_bps: float
    latency_s: float
    crowd: SharedInterface | None


def judged_by_physics(case: UseCase, link: Link) -> tuple[CandidateResult, ...]:
    """Each choice of frames on a link, judged by theory's bounds; none where the rate is not known."""
    if link.line_rate_bps is None:
        return ()
    wire = _wire(link)
    framing = wire.framing
    assert framing is not None  # every kind that is compared has a theory
    made = derive(case)
    return tuple(
        _judged(case, one, wire, made) for one in theory_choices(case, wire.protocol, framing)
    )


def _wire(link: Link) -> Wire:
    mtu = JUMBO_MTU_BYTES if link.kind == ETHERNET else None
    return Wire(link.protocol or "message", Interconnect(link.kind, link.line_rate_bps, mtu))


def _judged(case: UseCase, candidate: Candidate, wire: Wire, made: Derivations) -> CandidateResult:
    bounds, derivations = _bounds(case, candidate, wire, made)
    findings = (
        _found(case, limit, wanted, bounds, wire, made) for limit, wanted in required(case, made)
    )
    return CandidateResult(
        name=candidate.name,
        description=candidate.description,
        answers=tuple(_silent(name, one) for name, one in bounds.items()),
        findings=tuple(findings),
        readings=(),
        derivations=derivations,
        objectives=(),
        notes=(),
    )


def _silent(stream: str, bounds: _Bounds) -> Answer:
    crowd = () if bounds.crowd is None else bounds.crowd.derivations
    asked = bounds.scenario
    return Answer(stream, asked, asked, None, "theory knows no host", (), crowd)


def _bounds(
    case: UseCase, candidate: Candidate, wire: Wire, made: Derivations
) -> tuple[Mapping[str, _Bounds], tuple[Derivation, ...]]:
    """The bounds of each stream, and the interfaces that follow from them."""
    scenarios = {
        name: at_needed_rate(one.scenario(), name, made)
        for name, one in candidate.scenarios.items()
    }
    alone = {name: _goodput_bps(wire, one) for name, one in scenarios.items()}
    carried = {name: Fraction(one) for name, one in alone.items() if one}
    found = interfaces(case, candidate, carried, made)
    bounds = {
        name: _Bounds(
            scenario,
            alone[name],
            _share_bps(alone[name], crowd := shared_interface(case, candidate, name, found, made)),
            _latency_s(case, wire, scenario),
            crowd,
        )
        for name, scenario in scenarios.items()
    }
    return bounds, interface_derivations(found)


def _goodput_bps(wire: Wire, asked: Scenario) -> float:
    """Greatest goodput of such frames [b/s]; none of frames that the protocol cannot carry."""
    if asked.payload_bytes > _greatest_bytes(wire):
        return 0.0
    payload = np.array([float(asked.payload_bytes)])
    return float(wire.goodput_bound_bps(payload, wire.serialisation_s(payload))[0])


def _greatest_bytes(wire: Wire) -> float:
    return wire.greatest_payload_bytes() or math.inf


def _share_bps(alone_bps: float, crowd: SharedInterface | None) -> float:
    """What is left of an interface beside the others."""
    if crowd is None:
        return alone_bps
    return share_bps(alone_bps, crowd.endpoints, crowd.other_goodput_bps)


def _latency_s(case: UseCase, wire: Wire, asked: Scenario) -> float:
    """The bits of a frame and the cable of the use case [s]; switches add nothing here."""
    possible = min(float(asked.payload_bytes), _greatest_bytes(wire))
    bits = float(wire.lone_frame_s(np.array([possible]))[0])
    per_metre = 0.0 if case.medium is None else case.medium.propagation_s_per_m
    return bits + (asked.distance_m or 0.0) * per_metre


def _found(
    case: UseCase,
    limit: Limit,
    wanted: Requirement,
    bounds: Mapping[str, _Bounds],
    wire: Wire,
    made: Derivations,
) -> Finding:
    name = case.stream_of(limit)
    estimate = _estimate(case, limit, bounds[name], wire)
    if limit.metric.startswith("latency_") or limit.metric in MESSAGE_METRICS:
        passing = _bound(0.0, bounds[name].goodput_bps, "")
        estimate = while_all_passes(estimate, passing, produced_bps(case.stream(name), made))
    known = not math.isnan(estimate.low)
    verdict = judge(wanted, estimate, "wire" if known else "")
    return Finding(
        verdict, name, limit.device or "", 1, rests_on=OF_THEORY if known else NO_EVIDENCE
    )


def _estimate(case: UseCase, limit: Limit, bounds: _Bounds, wire: Wire) -> Estimate:
    """What theory says of a metric: an end that no host passes, or nothing."""
    metric = limit.metric
    if metric in ("goodput_bps", "sent_bps"):
        return _bound(0.0, bounds.goodput_bps, "; ".join(_goodput_why(bounds, wire)))
    if metric.startswith("latency_") and metric != "latency_std_s":
        return _bound(bounds.latency_s, math.inf, _latency_why(bounds, wire))
    stream = case.stream(case.stream_of(limit))
    if metric == AT_ONCE and isinstance(stream, ImageStream):
        size = stream.picture.size_bytes
        why = f"{units.format_bytes(size)} at {units.format_bps(bounds.alone_bps)}"
        return _bound(8 * size / bounds.alone_bps, math.inf, why)
    return absent(f"theory says nothing of {metric}: hosts decide it")


def _bound(low: float, high: float, why: str) -> Estimate:
    return Estimate(math.nan, low, high, "theory", why, ("theory",))


def _goodput_why(bounds: _Bounds, wire: Wire) -> Iterator[str]:
    rate, alone = wire.link.line_rate_bps or 0.0, units.format_bps(bounds.alone_bps)
    if not bounds.alone_bps:
        asked, most = bounds.scenario, units.format_bytes(_greatest_bytes(wire))
        yield (
            f"{asked.protocol} carries at most {most} a frame, and {asked.payload_bytes} B are asked: "
            "send more and smaller frames"
        )
        return
    yield (
        f"of {units.format_bps(rate)} frames of {bounds.scenario.payload_bytes} B carry "
        f"{alone} at most"
    )
    if bounds.crowd is not None:
        others = units.format_bps(bounds.crowd.other_goodput_bps)
        yield (
            f"of that {bounds.crowd.endpoints} endpoints share, the others of which need {others}"
        )


def _latency_why(bounds: _Bounds, wire: Wire) -> str:
    rate = units.format_bps(wire.link.line_rate_bps or 0.0)
    metres = units.format_metres(bounds.scenario.distance_m or 0.0)
    return (
        f"{bounds.scenario.payload_bytes} B with all around them at {rate}, and {metres} of cable"
    )
