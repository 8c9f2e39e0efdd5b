"""Remedy: the rate, payload or core count that would achieve a goodput that is not met."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from icmodel import units
from icmodel.model import Model
from icmodel.requirement import MET, NOT_MET
from icmodel.scenario import Scenario
from icmodel.solve import (
    Trial,
    carried,
    least_cores,
    least_met_fps,
    least_payload,
    least_rate_fps,
)
from icmodel.usecase.result import Finding
from icmodel.wording import plural


def with_remedy(finding: Finding, scenario: Scenario, model: Model) -> Finding:
    """A finding about a goodput that is not met, with the least rate that achieves it.

    If no rate does, with the least payload and the least core count that do.
    """
    goodput_bps = finding.verdict.requirement.limit
    trial = carried(scenario, goodput_bps, model)
    rate = least_met_fps(trial)
    if rate is None:
        others = "; ".join((no_rate(trial), *_others(scenario, goodput_bps, model)))
        return replace(finding, remedy=others)
    remedy = f"{rate} frames/s is the least rate that does"
    return replace(finding, remedy=remedy, least_rate_fps=rate)


def _others(scenario: Scenario, goodput_bps: float, model: Model) -> Iterator[str]:
    """Sentences on the least payload and the least core count that achieve the goodput [b/s]."""
    payload = least_payload(model, scenario, goodput_bps)
    if payload is not None:
        rate = least_rate_fps(goodput_bps, payload)
        yield f"{payload} B at {rate} frames/s is the least payload that does"
    cores = least_cores(model, scenario, goodput_bps)
    if cores is not None:
        yield f"{plural(cores, 'core')} would be enough, and no fewer"


def no_rate(trial: Trial) -> str:
    """A sentence for the case that no rate is enough: whether that is certain, and the capacity."""
    frames = f"with frames of {trial.payload_bytes} B"
    greatest = trial.goodput(None)
    if greatest is None or greatest.absent:
        return f"no rate is known to do {frames}"
    carried = f"which carries {units.format_bps(greatest.value)} at most"
    outcomes = {trial.outcome(rate) for rate in (trial.least_fps, trial.greatest_fps, None)}
    if outcomes == {NOT_MET}:
        return f"no rate does {frames}, {carried}"
    low, high = units.format_bps(greatest.low, 4), units.format_bps(greatest.high, 4)
    unlimited = "; as fast as it goes does" if MET in outcomes else ""
    return f"no rate surely does {frames}, {carried} ({low} – {high}){unlimited}"
