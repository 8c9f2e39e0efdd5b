"""Judging one requirement of one candidate by the prediction of its stream."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.estimate import Estimate, Prediction, absent, weakest
from icmodel.message import MESSAGE_METRICS, message_latency
from icmodel.model import Model
from icmodel.requirement import MET, UNDECIDED, Requirement, Verdict, judge
from icmodel.usecase.bound import Ends, estimate_for, stated_limits
from icmodel.usecase.derivation import Derivation
from icmodel.usecase.document import Candidate, ImageStream, Limit, UseCase
from icmodel.usecase.grounds import others_beyond, rests_on
from icmodel.usecase.remedy import with_remedy
from icmodel.usecase.result import Answer, Finding

CARRIED = ("wire", "benchmark", "share", "application_send", "application_recv")
"""Bounds of goodput that do not depend on the request."""


@dataclass(frozen=True, slots=True)
class Way:
    """How it is judged: strictly or not, and briefly or with all that is known.

    Briefly no change is looked for that would mend a goodput that is not met, and no metric is
    predicted that no requirement needs.
    """

    strict: bool = False
    brief: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """A requirement of a use case for one candidate, as in the document and in SI."""

    case: UseCase
    candidate: Candidate
    limit: Limit
    requirement: Requirement
    way: Way = Way()

    @property
    def stream(self) -> str:
        """The stream it is about."""
        return self.case.stream_of(self.limit)

    @property
    def streams(self) -> int:
        """The number of streams summed on one host; 1 if no device is named."""
        hosts = self.candidate.hosts.get(self.limit.device or "", 1)
        return math.ceil(self.case.streams_at(self.limit) / hosts)


def find(ask: Ask, answers: Mapping[str, Answer], model: Model) -> Finding:
    """The verdict on one requirement; *undecided*, with the reason, if nothing was predicted."""
    answer = answers.get(ask.stream)
    if answer is None or answer.prediction is None:
        silent = f"the candidate asks nothing of the stream {ask.stream}: give it a scenario"
        return _finding(ask, judge(ask.requirement, absent(answer.why if answer else silent)))
    prediction, requirement = answer.prediction, ask.requirement
    estimate = _estimate(ask, answer, prediction, model)
    limiting = _limiting(ask.limit.metric, prediction)
    verdict = _decided(judge(requirement, estimate, limiting))
    ground = rests_on(ask.limit.metric, estimate, prediction)
    if ask.way.strict and verdict.outcome == MET and ground.weak:
        why = f"judged strictly, since it rests on {ground.basis} rows: {ground.settle}"
        verdict = replace(verdict, outcome=UNDECIDED, why=_joined(why, verdict.why))
    met = verdict.outcome == MET
    finding = replace(
        _finding(ask, verdict),
        rests_on=ground,
        others_beyond=others_beyond(model.data, requirement, answer.scenario) if met else "",
    )
    if ask.limit.metric != "goodput_bps" or requirement.at_least is None or estimate.absent:
        return finding
    if finding.outcome == MET:
        return _with_headroom(finding, prediction)
    return finding if ask.way.brief else with_remedy(finding, answer.scenario, model)


def _with_headroom(finding: Finding, prediction: Prediction) -> Finding:
    """The finding of a goodput that is met, with its margin to the capacity and not to the request."""
    bounds = {name: prediction.bounds[name] for name in CARRIED if name in prediction.bounds}
    limiting = min(bounds, key=lambda name: bounds[name], default="")
    verdict = finding.verdict
    if not limiting or not verdict.margin <= _headroom(bounds[limiting], verdict) < math.inf:
        return finding
    margin = _headroom(bounds[limiting], verdict)
    to_capacity = replace(verdict, margin=margin, limiting=limiting)
    return replace(finding, verdict=to_capacity, asked_margin=verdict.margin)


def _headroom(could_bps: float, verdict: Verdict) -> float:
    return could_bps / verdict.requirement.limit - 1 if verdict.requirement.limit else math.inf


def _finding(ask: Ask, verdict: Verdict) -> Finding:
    return Finding(verdict, ask.stream, ask.limit.device or "", ask.streams)


def _estimate(ask: Ask, answer: Answer, prediction: Prediction, model: Model) -> Estimate:
    metric, scenario = ask.limit.metric, prediction.scenario
    stream = ask.case.stream(ask.stream)
    if metric in MESSAGE_METRICS and isinstance(stream, ImageStream):
        return message_latency(model, scenario, stream.picture)[metric]
    ends = Ends(
        metrics=prediction.metrics,
        least_latency_s=model.least_latency_s(scenario),
        greatest_goodput_bps=model.greatest_goodput_bps(scenario),
        stated=stated_limits(model.data, scenario.protocol),
    )
    one = estimate_for(metric, ends)
    if _is_latency(metric):
        one = _with_cable(one, _unknown_cable(answer), ask.case)
    return _of_all(one, metric, ask.streams)


def _unknown_cable(answer: Answer) -> float:
    """Length [m] of the cable in the request that the dataset has no delay for."""
    left_out = answer.scenario.distance_m is None and answer.asked.distance_m is not None
    return (answer.asked.distance_m or 0.0) if left_out else 0.0


def _with_cable(one: Estimate, metres: float, case: UseCase) -> Estimate:
    """A latency with the delay of such a cable added to its upper end, at the medium's speed."""
    if case.medium is None or not metres or math.isnan(one.high):
        return one
    delay = metres * case.medium.propagation_s_per_m
    said = (
        f"the upper end has {units.format_seconds(delay)} for {units.format_metres(metres)} of "
        "cable, which this dataset does not know"
    )
    bases = (*(one.bases or (one.basis,)), "derived")
    why = _joined(one.why, said)
    return Estimate(one.value, one.low, one.high + delay, weakest(bases), why, bases)


def _is_latency(metric: str) -> bool:
    return metric.startswith("latency_") and metric != "latency_std_s"


def _joined(*sentences: str) -> str:
    return "; ".join(sentence for sentence in sentences if sentence)


def _decided(verdict: Verdict) -> Verdict:
    """The verdict, with the margin of the deciding end if the estimate has bounds but no value."""
    estimate, requirement = verdict.estimate, verdict.requirement
    if not estimate.absent or verdict.outcome == UNDECIDED:
        return verdict
    met, at_least = verdict.outcome == MET, requirement.at_least is not None
    end = estimate.low if met == at_least else estimate.high
    at_end = replace(estimate, value=end)
    return replace(verdict, margin=judge(requirement, at_end).margin)


def _of_all(one: Estimate, metric: str, times: int) -> Estimate:
    """The sum over the streams that one device handles: ``times`` the prediction of one."""
    if times == 1 or one.absent:
        return one
    bases = (*(one.bases or (one.basis,)), "derived")
    why = _joined(f"{times} × {metric} of one stream", one.why)
    return Estimate(
        times * one.value,
        times * one.low,
        times * one.high,
        weakest(bases),
        why,
        bases,
    )


def _limiting(metric: str, prediction: Prediction) -> str:
    """What limits a metric: the bottleneck, the longest latency term or the CPU; empty for messages."""
    if metric in MESSAGE_METRICS:
        return ""
    if metric.startswith("latency_"):
        return max(prediction.terms, key=lambda name: prediction.terms[name], default="")
    return "cpu" if metric.startswith("cpu_") else prediction.bottleneck


def sum_derivation(finding: Finding) -> Derivation | None:
    """The sum over streams behind a finding, as a derivation; none if nothing was predicted."""
    estimate, metric = finding.verdict.estimate, finding.verdict.requirement.metric
    if estimate.absent:
        return None
    one = units.format_quantity(metric, estimate.value / finding.streams)
    return Derivation(
        f"{finding.device}.{metric}",
        estimate.value,
        f"{finding.streams} × {one}",
        f"{metric} of one host of {finding.device} for all its streams {finding.stream}",
    )
