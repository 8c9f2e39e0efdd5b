"""Judging one requirement of one candidate by the prediction of its stream."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.estimate import Estimate, Prediction, absent, plural, weakest
from icmodel.message import MESSAGE_METRICS, message_latency
from icmodel.model import Model
from icmodel.requirement import MET, UNDECIDED, Requirement, Verdict, judge, while_all_passes
from icmodel.scenario import Scenario
from icmodel.solve import REFUSALS
from icmodel.usecase.bound import Ends, estimate_for, share_bps, stated_limits, with_remedy
from icmodel.usecase.derivation import Derivation
from icmodel.usecase.document import Candidate, ImageStream, Limit, Medium, UseCase
from icmodel.usecase.limits import GOODPUT
from icmodel.usecase.result import Answer, Finding, others_beyond, rests_on

TIMES = ("latency_", "rtt_half_", "rtt_")
"""Beginnings of the metrics that the delays of a path are part of; a round trip passes it twice."""


def as_one_connection(asked: Scenario, model: Model) -> Scenario:
    """The scenario with the one core of a stream that says nothing of cores, where the dataset counts them."""
    try:
        counts = model.core_counts(asked.protocol, dict(asked.options))
    except REFUSALS:
        return asked
    return replace(asked, cores=1) if asked.cores is None and counts else asked


def ends_of(answer: Answer, metric: str, model: Model) -> Ends:
    """What is known of a stream: its prediction, theory's bounds, the limits that the source states.

    Of a stream that is refused theory alone remains, where its link is one of the dataset's kind.
    """
    prediction, asked = answer.prediction, answer.scenario
    metrics = {metric: answer.refused, "goodput_bps": answer.refused}
    least_s = greatest_bps = None
    if asked.protocol in model.data.protocols:
        try:
            least_s = model.least_latency_s(asked)
            alone_bps = model.greatest_goodput_bps(asked)
        except REFUSALS:
            alone_bps = None
        if alone_bps is not None:
            greatest_bps = share_bps(alone_bps, asked.endpoints, asked.other_goodput_bps)
    if prediction is None:
        return Ends(metrics, least_s, greatest_bps)
    stated = stated_limits(model.data, asked.protocol)
    return Ends(prediction.metrics, least_s, greatest_bps, stated)


def with_delays(
    prediction: Prediction, asked: Scenario, medium: Medium | None, least_s: float | None
) -> Prediction:
    """A prediction whose latencies leave room for the cable and the switches that its dataset does not know.

    A cable delays all frames alike, at the medium's speed: it raises the upper ends, but not the spread.
    Without a medium, and with more switches than the dataset knows, nothing bounds a latency from above.
    With fewer, theory's minimum ``least_s`` bounds it from below.
    """
    fitted = prediction.scenario
    unknown = fitted.distance_m is None and asked.distance_m is not None
    metres = asked.distance_m or 0.0 if unknown else 0.0
    cable_s = metres * medium.propagation_s_per_m if medium else math.inf if metres else 0.0
    more = max(asked.switches - fitted.switches, 0)
    said = [
        f"{'any delay' if math.isinf(cable_s) else units.format_seconds(cable_s)} for "
        f"{units.format_metres(metres)} of cable"
        if metres
        else "",
        f"any delay of {plural(more, 'switch')}" if more else "",
    ]
    above = " and ".join(part for part in said if part)
    below = asked.switches < fitted.switches
    reasons = [
        f"the upper end has {above}, which this dataset does not know" if above else "",
        f"measured over {plural(fitted.switches, 'switch')}, asked over {asked.switches}"
        if below
        else "",
    ]

    def opened(name: str, one: Estimate) -> Estimate:
        spread = name.endswith("_std_s")
        added_s = math.inf if more else 0.0 if spread else cable_s
        if one.absent or not name.startswith(TIMES) or not (added_s or below):
            return one
        trips = 2 if name.startswith("rtt_") and not name.startswith("rtt_half_") else 1
        low = min(one.low, 0.0 if spread else trips * (least_s or 0.0)) if below else one.low
        bases = (*(one.bases or (one.basis,)), "derived")
        why = "; ".join(part for part in (one.why, *reasons) if part)
        return Estimate(one.value, low, one.high + trips * added_s, weakest(bases), why, bases)

    metrics = {name: opened(name, one) for name, one in prediction.metrics.items()}
    return replace(prediction, metrics=metrics)


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
    """A requirement of a use case for one candidate, as in the document and in SI.

    ``produced_bps`` is the goodput [b/s] below which what its stream produces waits longer and longer.
    """

    case: UseCase
    candidate: Candidate
    limit: Limit
    requirement: Requirement
    produced_bps: float
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
    """The verdict on one requirement; of a stream that is refused by theory alone, with the reason."""
    answer = answers.get(ask.stream)
    if answer is None:
        silent = f"the candidate asks nothing of the stream {ask.stream}: give it a scenario"
        return _finding(ask, judge(ask.requirement, absent(silent)))
    prediction, requirement = answer.prediction, ask.requirement
    ends = ends_of(answer, ask.limit.metric, model)
    estimate = _estimate(ask, answer, ends, model)
    limiting = _limiting(ask.limit.metric, prediction)
    verdict = _decided(judge(requirement, estimate, limiting))
    grows = math.isinf(estimate.low)  # which follows from the goodput
    about = GOODPUT if grows else ask.limit.metric
    ground = rests_on(about, estimate, prediction, answer.why)
    if ask.way.strict and verdict.outcome == MET and ground.weak:
        why = f"judged strictly, since it rests on {ground.basis} rows: {ground.settle}"
        verdict = replace(verdict, outcome=UNDECIDED, why=_joined(why, verdict.why))
    met = verdict.outcome == MET
    finding = replace(
        _finding(ask, verdict),
        rests_on=ground,
        others_beyond=others_beyond(model.data, requirement, answer.scenario) if met else "",
    )
    if ask.limit.metric != GOODPUT or requirement.at_least is None or prediction is None:
        return finding
    if finding.outcome == MET:
        return _with_headroom(finding, prediction)
    if ask.way.brief or estimate.absent:
        return finding
    return with_remedy(finding, answer.scenario, model)


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


def _estimate(ask: Ask, answer: Answer, ends: Ends, model: Model) -> Estimate:
    """The number that is judged; a latency is none where less passes than is produced."""
    metric, prediction = ask.limit.metric, answer.prediction
    stream = ask.case.stream(ask.stream)
    if metric in MESSAGE_METRICS and isinstance(stream, ImageStream):
        found = {} if prediction is None else message_latency(model, prediction, stream.picture)
        one = found.get(metric, answer.refused)
    else:
        one = estimate_for(metric, ends)
    if _is_latency(metric) or metric in MESSAGE_METRICS:
        one = while_all_passes(one, estimate_for(GOODPUT, ends), ask.produced_bps)
    return _of_all(one, metric, ask.streams)


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
    if math.isinf(end):
        return verdict
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


def _limiting(metric: str, prediction: Prediction | None) -> str:
    """What limits a metric: the bottleneck, the longest latency term or the CPU; empty for messages."""
    if metric in MESSAGE_METRICS or prediction is None:
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
