"""The estimate by which a requirement is judged if the dataset has no rows of its metric.

Only certain bounds are used: a missing quantile lies between statistics that are never above and
never below it, half a round trip between theory's minimum and the whole round trip, and a goodput
below theory's maximum.  A requirement whose limit lies between the bounds is *undecided*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.dataset import Dataset, StatedLimit
from icmodel.estimate import Estimate, absent, plural, weakest
from icmodel.model import Model
from icmodel.requirement import MET, NOT_MET
from icmodel.scenario import Scenario
from icmodel.solve import (
    Trial,
    goodput_trial,
    least_cores,
    least_met_fps,
    least_payload,
    least_rate_fps,
)
from icmodel.usecase.result import Finding

LEAST, GREATEST, MEAN = -1.0, 2.0, "mean"
THEORY = "theory's minimum"
STATED_MIN, STATED_MAX = "the minimum the source states", "the maximum the source states"


@dataclass(frozen=True, slots=True)
class Ends:
    """The known metrics of one stream, theory's bounds and the limits that the source states."""

    metrics: Mapping[str, Estimate]
    least_latency_s: float | None
    greatest_goodput_bps: float | None
    stated: tuple[StatedLimit, ...] = ()


def share_bps(alone_bps: float, endpoints: int, others_bps: float) -> float:
    """Most [b/s] that an interface leaves one stream beside the others: at least an even share (IC2012 §7.1.1)."""
    return max(alone_bps - others_bps, alone_bps / endpoints)


def stated_limits(data: Dataset, protocol: str) -> tuple[StatedLimit, ...]:
    """The limits of a protocol's latency that the dataset's source states."""
    return tuple(
        limit
        for limit in data.stated_limits
        if limit.protocol in (None, protocol) and _statistic(limit.metric) is not None
    )


def estimate_for(metric: str, ends: Ends) -> Estimate:
    """The estimate of a metric: predicted, or of a metric that replaces it, or from its bounds."""
    own = ends.metrics.get(metric)
    if own is not None and not own.absent:
        return own
    reason = own.why if own is not None and own.why else f"this dataset gives no {metric}"
    if metric == "goodput_bps" and ends.greatest_goodput_bps is not None:
        return _below_theory(ends.greatest_goodput_bps, reason)
    statistic = _statistic(metric)
    if statistic is None:
        return absent(reason)
    return _round_trip(statistic, ends) or _between(statistic, ends, reason)


def _below_theory(bound_bps: float, reason: str) -> Estimate:
    why = f"{reason}; theory's bound stands above it"
    return Estimate(math.nan, 0.0, bound_bps, "theory", why, ("theory",))


def _statistic(metric: str) -> str | None:
    """``p99`` of ``latency_p99_s``; ``None`` for a standard deviation, which has no bounds."""
    if not metric.startswith("latency_") or metric == "latency_std_s":
        return None
    return metric.removeprefix("latency_").removesuffix("_s")


def _round_trip(statistic: str, ends: Ends) -> Estimate | None:
    """Half a round trip for the one-way latency, between theory's minimum and the whole trip."""
    for name, halves in ((f"rtt_half_{statistic}_s", 1), (f"rtt_{statistic}_s", 2)):
        found = ends.metrics.get(name)
        if found is None or found.absent:
            continue
        floor, whole = ends.least_latency_s or 0.0, found.high * 2 / halves
        if floor > whole:  # a trip shorter than the wire allows was one of smaller frames
            continue
        why = (
            f"not one-way: {name} stands in for latency_{statistic}_s, which lies between theory's "
            "minimum and the whole round trip"
        )
        bases = (*(found.bases or (found.basis,)), "theory", "derived")
        return Estimate(max(found.value / halves, floor), floor, whole, weakest(bases), why, bases)
    return None


def _between(statistic: str, ends: Ends, reason: str) -> Estimate:
    """A missing statistic, between the nearest bounds below and above it.

    Its value is the upper bound, the worst case; without one the estimate has no value.
    """
    low, below = max(_lower(statistic, ends), key=lambda end: end[0], default=(0.0, ""))
    high, above = min(_upper(statistic, ends), key=lambda end: end[0], default=(math.inf, ""))
    if not below and not above:
        return absent(reason)
    bounds = [f"it is at least {below}"] if below else []
    bounds += [f"at most {above}"] if above else ["nothing bounds it from above"]
    bases = (*(_basis(name, ends) for name in (below, above) if name), "derived")
    why = f"{reason}; {', '.join(bounds)}"
    value = high if above else math.nan
    return Estimate(value, min(low, high), high, weakest(bases), why, bases)


def _basis(name: str, ends: Ends) -> str:
    if name in ends.metrics:
        return ends.metrics[name].basis
    return "theory" if name == THEORY else "stated" if name.startswith("the ") else "derived"


def _lower(statistic: str, ends: Ends) -> Iterator[tuple[float, str]]:
    if ends.least_latency_s is not None:
        yield ends.least_latency_s, THEORY
    for limit in ends.stated:
        if _at_most(_statistic(limit.metric), statistic):
            yield limit.minimum, STATED_MIN
    for other, estimate in _known(ends):
        if _below(other, statistic):
            yield estimate.low, f"latency_{other}_s"


def _upper(statistic: str, ends: Ends) -> Iterator[tuple[float, str]]:
    for limit in ends.stated:
        if math.isfinite(limit.maximum) and _at_most(statistic, _statistic(limit.metric)):
            yield limit.maximum, STATED_MAX
    for other, estimate in _known(ends):
        if _below(statistic, other):
            yield estimate.high, f"latency_{other}_s"
    for other in ("max", "p999", "p99"):
        trip = _round_trip(other, replace(ends, least_latency_s=None))
        if trip is not None and _below(statistic, other):
            yield trip.high, f"the round trip's {other}"


def _known(ends: Ends) -> Iterator[tuple[str, Estimate]]:
    for name, estimate in ends.metrics.items():
        statistic = _statistic(name)
        if statistic is not None and not estimate.absent:
            yield statistic, estimate


def _at_most(lower: str | None, upper: str | None) -> bool:
    return lower is not None and upper is not None and (lower == upper or _below(lower, upper))


def _below(lower: str, upper: str) -> bool:
    """Whether one statistic can never be above another, whatever the distribution."""
    if MEAN in (lower, upper):
        return (lower, upper) in {("min", MEAN), (MEAN, "max")}
    return _rank(lower) < _rank(upper)


def _rank(statistic: str) -> float:
    if statistic in ("min", "max"):
        return LEAST if statistic == "min" else GREATEST
    digits = statistic.removeprefix("p")
    return int(digits) / 10 ** len(digits) if digits.isdecimal() else math.nan


def with_remedy(finding: Finding, scenario: Scenario, model: Model) -> Finding:
    """A finding about a goodput that is not met, with the least rate that achieves it.

    If no rate does, with the least payload and the least core count that do.
    """
    goodput_bps = finding.verdict.requirement.limit
    trial = goodput_trial(scenario, goodput_bps, model)
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
