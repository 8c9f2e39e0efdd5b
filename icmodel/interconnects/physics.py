"""Judge a use case by the bounds of the wire alone. A bound can refute a requirement, but never prove it.

If a requirement exceeds a bound, no host can meet it on that wire. Ethernet is assumed to have jumbo frames (MTU 9000),
so that a refutation also holds for smaller packets.
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
from icmodel.interconnects.choices import theory_choices
from icmodel.interconnects.links import ETHERNET, Link
from icmodel.message import AT_ONCE, MESSAGE_METRICS
from icmodel.requirement import judge, while_all_passes
from icmodel.scenario import Scenario
from icmodel.tables.wire import Wire
from icmodel.usecase import Answer, CandidateResult, Derivation, Finding, UseCase
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
    """Bounds of a wire for one stream: goodput alone, goodput beside the other streams [b/s], and latency [s]."""

    scenario: Scenario
    alone_bps: float
    goodput_bps: float
    latency_s: float
    shared: SharedInterface | None


def judged_by_physics(
    case: UseCase, derived: Derivations, link: Link
) -> tuple[CandidateResult, ...]:
    """Judge a use case on a link by the bounds of theory, once for each frame size to try.

    The result is empty if the line rate is unknown.
    """
    if link.line_rate_bps is None:
        return ()
    mtu = JUMBO_MTU_BYTES if link.kind == ETHERNET else None
    wire = Wire(link.protocol or "message", Interconnect(link.kind, link.line_rate_bps, mtu))
    assert wire.framing is not None  # theory covers every compared kind of link
    choices = theory_choices(case, derived, wire.protocol, wire.framing)
    return tuple(_judged(case, candidate, wire, derived) for candidate in choices)


def _judged(
    case: UseCase, candidate: Candidate, wire: Wire, derived: Derivations
) -> CandidateResult:
    bounds, derivations = _stream_bounds(case, candidate, wire, derived)
    findings = []
    for limit, requirement in required(case, derived):
        name = case.stream_of(limit)
        estimate = _estimate(case, limit, bounds[name], wire)
        if limit.metric.startswith("latency_") or limit.metric in MESSAGE_METRICS:
            passing = _interval(0.0, bounds[name].goodput_bps, "")
            produced = produced_bps(case.stream(name), derived)
            estimate = while_all_passes(estimate, passing, produced)
        known = not math.isnan(estimate.low)
        verdict = judge(requirement, estimate, "wire" if known else "")
        evidence = OF_THEORY if known else NO_EVIDENCE
        findings.append(Finding(verdict, name, limit.device or "", 1, rests_on=evidence))
    answers = []
    for name, bound in bounds.items():
        shared = () if bound.shared is None else bound.shared.derivations
        why = "theory knows no host"
        answers.append(Answer(name, bound.scenario, bound.scenario, None, why, (), shared))
    return CandidateResult(
        name=candidate.name,
        description=candidate.description,
        answers=tuple(answers),
        findings=tuple(findings),
        readings=(),
        derivations=derivations,
        objectives=(),
        notes=(),
    )


def _stream_bounds(
    case: UseCase, candidate: Candidate, wire: Wire, derived: Derivations
) -> tuple[Mapping[str, _Bounds], tuple[Derivation, ...]]:
    """Compute the bounds of the wire for each stream, and the numbers of interfaces that follow from these bounds.

    If the protocol cannot carry the frames, the goodput is 0. The latency is the transmission time of a frame plus the
    delay of the use case's cable; switches add no delay.
    """
    greatest_bytes = _greatest_bytes(wire)
    scenarios, alone_bps = {}, {}
    for name, question in candidate.scenarios.items():
        scenarios[name] = at_needed_rate(question.scenario(), name, derived)
        payload = np.array([float(scenarios[name].payload_bytes)])
        alone_bps[name] = 0.0
        if scenarios[name].payload_bytes <= greatest_bytes:
            bound = wire.goodput_bound_bps(payload, wire.serialisation_s(payload))
            alone_bps[name] = float(bound[0])
    capacities_bps = {
        name: Fraction(goodput_bps) for name, goodput_bps in alone_bps.items() if goodput_bps
    }
    found = interfaces(case, candidate, capacities_bps, derived)

    per_metre = 0.0 if case.medium is None else case.medium.propagation_s_per_m
    bounds = {}
    for name, scenario in scenarios.items():
        shared = shared_interface(case, candidate, name, found, derived)
        goodput_bps = alone_bps[name]
        if shared is not None:
            goodput_bps = share_bps(goodput_bps, shared.endpoints, shared.other_goodput_bps)
        possible = min(float(scenario.payload_bytes), greatest_bytes)
        frame_s = float(wire.lone_frame_s(np.array([possible]))[0])
        latency_s = frame_s + (scenario.distance_m or 0.0) * per_metre
        bounds[name] = _Bounds(scenario, alone_bps[name], goodput_bps, latency_s, shared)
    return bounds, interface_derivations(found)


def _estimate(case: UseCase, limit: Limit, bounds: _Bounds, wire: Wire) -> Estimate:
    """Return the interval of a metric that the wire allows for any hosts; absent if theory has no bound."""
    metric, payload_bytes = limit.metric, bounds.scenario.payload_bytes
    if metric in ("goodput_bps", "sent_bps"):
        return _interval(0.0, bounds.goodput_bps, "; ".join(_goodput_sentences(bounds, wire)))
    if metric.startswith("latency_") and metric != "latency_std_s":
        rate = units.format_bps(wire.link.line_rate_bps or 0.0)
        metres = units.format_metres(bounds.scenario.distance_m or 0.0)
        why = f"{payload_bytes} B with all around them at {rate}, and {metres} of cable"
        return _interval(bounds.latency_s, math.inf, why)
    stream = case.stream(case.stream_of(limit))
    if metric == AT_ONCE and isinstance(stream, ImageStream):
        size = stream.picture.size_bytes
        why = f"{units.format_bytes(size)} at {units.format_bps(bounds.alone_bps)}"
        return _interval(8 * size / bounds.alone_bps, math.inf, why)
    return absent(f"theory has no bound of {metric}: it depends on the hosts")


def _interval(low: float, high: float, why: str) -> Estimate:
    return Estimate(math.nan, low, high, "theory", why, ("theory",))


def _greatest_bytes(wire: Wire) -> float:
    return wire.greatest_payload_bytes() or math.inf


def _goodput_sentences(bounds: _Bounds, wire: Wire) -> Iterator[str]:
    scenario, shared = bounds.scenario, bounds.shared
    if not bounds.alone_bps:
        most = units.format_bytes(_greatest_bytes(wire))
        yield (
            f"{scenario.protocol} carries at most {most} a frame, and {scenario.payload_bytes} B are "
            "asked: send more and smaller frames"
        )
        return
    rate, alone = (
        units.format_bps(wire.link.line_rate_bps or 0.0),
        units.format_bps(bounds.alone_bps),
    )
    yield f"of {rate} frames of {scenario.payload_bytes} B carry {alone} at most"
    if shared is not None:
        others = units.format_bps(shared.other_goodput_bps)
        yield f"of that {shared.endpoints} endpoints share, the others of which need {others}"
