"""Judge a requirement of a use case for one candidate.

A metric without a prediction is judged by guaranteed bounds:

- A missing latency quantile lies between a lower and a higher known statistic, such as p50 and max.
- A one-way latency lies between theory's minimum and the whole round trip.
- A goodput lies below theory's maximum.

A requirement whose limit lies between the bounds is *undecided*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.dataset import StatedLimit
from icmodel.estimate import Estimate, Prediction, absent, plural, weakest
from icmodel.message import MESSAGE_METRICS, message_latency
from icmodel.model import Model
from icmodel.requirement import (
    MET,
    NOT_MET,
    UNDECIDED,
    Requirement,
    Verdict,
    judge,
    while_all_passes,
)
from icmodel.scenario import Scenario
from icmodel.solve import (
    REFUSALS,
    Trial,
    goodput_trial,
    least_cores,
    least_met_fps,
    least_payload,
    solved,
)
from icmodel.usecase.derivation import GOODPUT, Derivation
from icmodel.usecase.document import Candidate, ImageStream, Limit, Medium, UseCase
from icmodel.usecase.result import Answer, Finding, evidence_for, others_beyond

DELAYED = ("latency_", "rtt_half_", "rtt_")
"""Prefixes of metrics that include the delay of the path; a round trip includes the delay twice."""
FULL_INTERFACE = (
    "the streams at the interface need more goodput than it carries, so its queue may be full"
)
"""Reason why a latency has no upper end although the stream gets the goodput that it needs."""
CAPACITIES = ("wire", "benchmark", "share", "application_send", "application_recv")
"""Names of the goodput bounds that do not depend on the requested rate."""


@dataclass(frozen=True, slots=True)
class JudgingMode:
    """Options for judging the requirements of a use case.

    Parameters
    ----------
    strict : bool
        Whether a requirement met on assumed or extrapolated rows of the dataset counts as undecided.
    brief : bool
        Whether to skip the search for remedies of a missed goodput.
    """

    strict: bool = False
    brief: bool = False


@dataclass(frozen=True, slots=True)
class Criterion:
    """A requirement of a use case, to be judged for one candidate.

    Parameters
    ----------
    limit : Limit
        The requirement as written in the document.
    requirement : Requirement
        The requirement with its limit in SI units.
    produced_bps : float
        Goodput that the stream produces [b/s]. If the network carries less, the stream's queue grows without limit.
    samples_bytes : float
        If a connection sends all its samples of a cycle together: their total size [B]. 0 for other kinds of streams.
    """

    case: UseCase
    candidate: Candidate
    limit: Limit
    requirement: Requirement
    produced_bps: float
    samples_bytes: float = 0.0
    mode: JudgingMode = JudgingMode()

    @property
    def stream(self) -> str:
        """Name of the stream to which the requirement applies."""
        return self.case.stream_of(self.limit)

    @property
    def streams(self) -> int:
        """Number of streams whose values are added for a requirement on a device; 1 if the requirement names no device.

        It is the number of streams at the device, divided by the number of hosts over which the candidate spreads them,
        and rounded up.
        """
        hosts = self.candidate.hosts.get(self.limit.device or "", 1)
        return math.ceil(self.case.streams_at(self.limit) / hosts)


def judge_criterion(criterion: Criterion, answers: Mapping[str, Answer], model: Model) -> Finding:
    """Judge one requirement of a candidate by the prediction of its stream.

    If the dataset cannot predict the stream, the requirement is judged by the bounds of theory.
    """
    requirement, metric, stream = criterion.requirement, criterion.limit.metric, criterion.stream
    device, streams = criterion.limit.device or "", criterion.streams
    answer = answers.get(stream)
    if answer is None:
        missing = f"the candidate has no scenario for the stream {stream}: give it one"
        return Finding(judge(requirement, absent(missing)), stream, device, streams)

    prediction = answer.prediction
    estimate = _estimate(criterion, answer, stream_bounds(answer, metric, model), model)
    limiting = ""
    if prediction is not None and metric not in MESSAGE_METRICS:
        limiting = prediction.bottleneck
        if metric.startswith("latency_"):
            limiting = max(prediction.terms, key=lambda name: prediction.terms[name], default="")
        elif metric.startswith("cpu_") and limiting != "cpu":
            limiting = ""  # the load of the cores is judged, but the cores are not the bottleneck
    verdict = _with_end_margin(judge(requirement, estimate, limiting))

    grows = math.isinf(estimate.low)  # an infinite latency follows from the goodput
    evidence = evidence_for(GOODPUT if grows else metric, estimate, prediction, answer.why)
    if criterion.mode.strict and verdict.outcome == MET and evidence.weak:
        why = f"judged strictly, since it is based on {evidence.basis} rows: {evidence.settle}"
        verdict = replace(verdict, outcome=UNDECIDED, why=_joined(why, verdict.why))
    met = verdict.outcome == MET
    beyond = others_beyond(model.data, requirement, answer.scenario) if met else ""
    finding = Finding(verdict, stream, device, streams, rests_on=evidence, others_beyond=beyond)

    if metric != GOODPUT or requirement.at_least is None or prediction is None:
        return finding
    if met:
        return _with_headroom(finding, prediction)
    if criterion.mode.brief or estimate.absent:
        return finding
    return with_remedy(finding, answer.scenario, model)


def _estimate(criterion: Criterion, answer: Answer, known: StreamBounds, model: Model) -> Estimate:
    """Return the estimate of the required metric.

    If the requirement names a device, the estimate is that of one stream times the number of the device's streams. If
    the stream may produce more than the network carries, its queue may grow without limit, so the interval of a latency
    has no upper end.
    """
    metric, prediction, times = criterion.limit.metric, answer.prediction, criterion.streams
    stream = criterion.case.stream(criterion.stream)
    if metric in MESSAGE_METRICS and isinstance(stream, ImageStream):
        found = {} if prediction is None else message_latency(model, prediction, stream.picture)
        estimate = found.get(metric, answer.refused)
    else:
        estimate = estimate_for(metric, known)
    is_latency = metric.startswith("latency_") and metric != "latency_std_s"
    if is_latency:
        goodput = estimate_for(GOODPUT, known)
        estimate = of_last_frame(estimate, goodput, criterion.samples_bytes, answer.scenario)
    if is_latency or metric in MESSAGE_METRICS:
        estimate = while_all_passes(estimate, estimate_for(GOODPUT, known), criterion.produced_bps)
    if times == 1 or estimate.absent:
        return estimate
    bases = (*(estimate.bases or (estimate.basis,)), "derived")
    why = _joined(f"{times} × {metric} of one stream", estimate.why)
    low, high = times * estimate.low, times * estimate.high
    return Estimate(times * estimate.value, low, high, weakest(bases), why, bases)


def of_last_frame(
    latency: Estimate, goodput: Estimate, samples_bytes: float, scenario: Scenario
) -> Estimate:
    """Return the time until the last frame with samples of one cycle has arrived.

    A connection sends ``samples_bytes`` in each cycle, in frames of the scenario's payload. The first frame arrives
    after ``latency``. The time from the first frame to the last is added: 8 × payload × (frames − 1) / ``goodput``.
    If one frame holds all samples, the result is ``latency``.
    """
    frames = math.ceil(samples_bytes / scenario.payload_bytes)
    if frames <= 1 or math.isnan(latency.low):
        return latency
    bits = 8 * scenario.payload_bytes * (frames - 1)
    least = bits / goodput.high if goodput.high > 0 else 0.0
    expected = bits / goodput.value if goodput.value > 0 else math.nan
    most = bits / goodput.low if goodput.low > 0 else math.inf
    bases = (*(latency.bases or (latency.basis,)), *(goodput.bases or (goodput.basis,)), "derived")
    later = units.format_seconds(expected)
    why = _joined(latency.why, f"the last of {frames} frames is sent {later} later")
    ends = (latency.value + expected, latency.low + least, latency.high + most)
    return Estimate(*ends, weakest(bases), why, bases)


def _with_end_margin(verdict: Verdict) -> Verdict:
    """Set the margin of a verdict whose estimate has an interval, but no value.

    If the interval decides the verdict, the margin is that of its low or high, whichever is nearer to the limit.
    """
    estimate, requirement = verdict.estimate, verdict.requirement
    if not estimate.absent or verdict.outcome == UNDECIDED:
        return verdict
    met, at_least = verdict.outcome == MET, requirement.at_least is not None
    end = estimate.low if met == at_least else estimate.high
    if math.isinf(end):
        return verdict
    return replace(verdict, margin=judge(requirement, replace(estimate, value=end)).margin)


def _with_headroom(finding: Finding, prediction: Prediction) -> Finding:
    """Set the margin of a met goodput requirement to capacity / limit − 1.

    The verdict's own margin follows from the predicted goodput, which is at most the requested one. So it does not show
    how much more the network could carry. The field ``asked_margin`` keeps this former margin.
    """
    verdict, limit_bps = finding.verdict, finding.verdict.requirement.limit
    bounds = {name: prediction.bounds[name] for name in CAPACITIES if name in prediction.bounds}
    limiting = min(bounds, key=lambda name: bounds[name], default="")
    if not limiting:
        return finding
    margin = bounds[limiting] / limit_bps - 1 if limit_bps else math.inf
    if not verdict.margin <= margin < math.inf:
        return finding
    to_capacity = replace(verdict, margin=margin, limiting=limiting)
    return replace(finding, verdict=to_capacity, asked_margin=verdict.margin)


def sum_derivation(finding: Finding) -> Derivation | None:
    """Return the calculation of a sum for the report, such as ``4 × 12 %`` for the CPU load of four equal streams.

    It belongs to a requirement that limits a metric of a device, summed over the streams there. It is ``None`` if the
    metric has no estimate.
    """
    estimate, metric = finding.verdict.estimate, finding.verdict.requirement.metric
    if estimate.absent:
        return None
    single = units.format_quantity(metric, estimate.value / finding.streams)
    return Derivation(
        f"{finding.device}.{metric}",
        estimate.value,
        f"{finding.streams} × {single}",
        f"{metric} of one host of {finding.device} for all its streams {finding.stream}",
    )


# --- remedies of a missed goodput ---------------------------------------------------------------


def with_remedy(finding: Finding, scenario: Scenario, model: Model) -> Finding:
    """Add a remedy to the finding on a missed goodput: the least rate that achieves the goodput.

    If no rate achieves the goodput, the remedy names the least payload and the least core count that achieve it.
    """
    goodput_bps = finding.verdict.requirement.limit
    trial = goodput_trial(scenario, goodput_bps, model)
    rate = least_met_fps(trial)
    if rate is not None:
        remedy = f"{rate} frames/s is the least rate that achieves it"
        return replace(finding, remedy=remedy, least_rate_fps=rate)
    remedies = [no_rate(trial)]
    payload = least_payload(model, scenario, goodput_bps)
    if payload is not None:
        at = _rate_text(solved(model, scenario, "payload", payload, goodput_bps))
        remedies.append(f"{payload} B at {at} is the least payload that achieves it")
    cores = least_cores(model, scenario, goodput_bps)
    if cores is not None:
        at = _rate_text(solved(model, scenario, "cores", cores, goodput_bps))
        remedies.append(f"{plural(cores, 'core')} at {at} would achieve it, and no fewer")
    return replace(finding, remedy="; ".join(remedies))


def _rate_text(scenario: Scenario) -> str:
    return "an unlimited rate" if scenario.rate_fps is None else f"{scenario.rate_fps:.0f} frames/s"


def no_rate(trial: Trial) -> str:
    """Write a clause for a note: no frame rate is sure to achieve the required goodput with the payload of ``trial``.

    If no rate can achieve the goodput, the clause is "no rate meets it". If a rate may achieve it, because the intervals
    reach the goodput, the clause is "no rate surely meets it". The greatest goodput with this payload follows. If a
    sender without a rate limit is sure to achieve the goodput, the clause adds that.
    """
    frames = f"with frames of {trial.payload_bytes} B"
    greatest = trial.goodput(None)
    if greatest is None or greatest.absent:
        return f"no rate is known to meet it {frames}"
    capacity = f"which carry at most {units.format_bps(greatest.value)}"
    outcomes = {trial.outcome(rate) for rate in (trial.least_fps, trial.greatest_fps, None)}
    if outcomes == {NOT_MET}:
        return f"no rate meets it {frames}, {capacity}"
    low, high = units.format_bps(greatest.low, 4), units.format_bps(greatest.high, 4)
    unlimited = "; an unlimited rate does" if MET in outcomes else ""
    return f"no rate surely meets it {frames}, {capacity} ({low} – {high}){unlimited}"


# --- scenarios and predictions for a dataset ----------------------------------------------------


def as_one_connection(scenario: Scenario, model: Model) -> Scenario:
    """Set ``cores`` to 1 in a scenario that states none: its stream is one connection, which runs on one core.

    The scenario is unchanged if the dataset has no core counts for its protocol and options.
    """
    try:
        counts = model.core_counts(scenario.protocol, dict(scenario.options))
    except REFUSALS:
        return scenario
    return replace(scenario, cores=1) if scenario.cores is None and counts else scenario


def at_full_interface(answer: Answer) -> Answer:
    """Set the upper ends of the intervals of all latencies to infinity, and say why.

    The streams at the interface need more goodput than it carries, so frames may wait in its queue without limit.
    """
    if answer.prediction is None:
        return answer
    metrics = {
        name: replace(one, high=math.inf, why=_joined(one.why, FULL_INTERFACE))
        if name.startswith(("latency_", "rtt_")) and not one.absent
        else one
        for name, one in answer.prediction.metrics.items()
    }
    return replace(answer, prediction=replace(answer.prediction, metrics=metrics))


def with_delays(
    prediction: Prediction,
    scenario: Scenario,
    medium: Medium | None,
    least_s: float | None,
    known_s_per_m: float,
) -> Prediction:
    """Widen the intervals of latencies by the delays of cable and switches that the dataset does not include.

    - The delay of the cable is added to the upper end, twice for a round trip. The standard deviation stays unchanged.
      If the scenario has a distance, but the use case does not state its cable (``medium``), the upper end is infinite.
    - If the prediction already includes the cable, with a delay of ``known_s_per_m`` [s/m], only the difference is
      added: the delay per metre of the use case's cable minus ``known_s_per_m``, and at least 0.
    - With more switches than the dataset includes, the upper end is infinite.
    - With fewer switches, the lower end falls to theory's minimum ``least_s`` [s].
    """
    fitted = prediction.scenario
    unknown, metres = fitted.distance_m is None, scenario.distance_m or 0.0
    if medium is None:
        cable_s = math.inf if metres and unknown else 0.0
    else:
        more_s_per_m = medium.propagation_s_per_m - (0.0 if unknown else known_s_per_m)
        cable_s = metres * max(more_s_per_m, 0.0)
    more = max(scenario.switches - fitted.switches, 0)
    fewer = scenario.switches < fitted.switches
    more_m = metres if cable_s else 0.0

    # Sentences on the cable and the switches by which the scenario differs from the dataset.
    parts = []
    if more_m:
        delay = "any delay" if math.isinf(cable_s) else units.format_seconds(cable_s)
        parts.append(f"{delay} for {units.format_metres(more_m)} of cable")
    if more:
        parts.append(f"any delay of {plural(more, 'switch')}")
    added = (
        f"the upper end includes {' and '.join(parts)}, which the dataset lacks" if parts else ""
    )
    known = plural(fitted.switches, "switch")
    removed = f"measured over {known}, predicted over {scenario.switches}" if fewer else ""
    reasons = _joined(added, removed)

    def widened(name: str, one: Estimate) -> Estimate:
        spread = name.endswith("_std_s")
        added_s = math.inf if more else 0.0 if spread else cable_s
        if one.absent or not name.startswith(DELAYED) or not (added_s or fewer):
            return one
        trips = 2 if name.startswith("rtt_") and not name.startswith("rtt_half_") else 1
        low = min(one.low, 0.0 if spread else trips * (least_s or 0.0)) if fewer else one.low
        bases = (*(one.bases or (one.basis,)), "derived")
        why = _joined(one.why, reasons)
        return Estimate(one.value, low, one.high + trips * added_s, weakest(bases), why, bases)

    metrics = {name: widened(name, one) for name, one in prediction.metrics.items()}
    return replace(prediction, metrics=metrics)


def _joined(*sentences: str) -> str:
    return "; ".join(sentence for sentence in sentences if sentence)


LEAST, GREATEST, MEAN = -1.0, 2.0, "mean"
THEORY = "theory's minimum"
STATED_MIN, STATED_MAX = "the source's stated minimum", "the source's stated maximum"


@dataclass(frozen=True, slots=True)
class StreamBounds:
    """Predicted metrics of one stream, and bounds that stand in for a missing prediction of a required metric.

    Parameters
    ----------
    metrics : mapping
        Predicted metrics.
    least_latency_s, greatest_goodput_bps : float, optional
        Bounds by theory [s, b/s].
    stated : tuple of StatedLimit
        Latency limits stated by the source of the dataset.
    """

    metrics: Mapping[str, Estimate]
    least_latency_s: float | None
    greatest_goodput_bps: float | None
    stated: tuple[StatedLimit, ...] = ()


def stream_bounds(answer: Answer, metric: str, model: Model) -> StreamBounds:
    """Collect the predicted metrics and the bounds of a stream, to judge a requirement on ``metric``.

    Bounds by theory are known only for protocols of the dataset. If the stream has no prediction, ``metric`` and the
    goodput become estimates without a value; they state the reason why there is none.
    """
    prediction, scenario = answer.prediction, answer.scenario
    least_s = greatest_bps = None
    if scenario.protocol in model.data.protocols:
        try:
            least_s = model.least_latency_s(scenario)
            alone_bps = model.greatest_goodput_bps(scenario)
        except REFUSALS:
            alone_bps = None
        if alone_bps is not None:
            greatest_bps = share_bps(alone_bps, scenario.endpoints, scenario.other_goodput_bps)
    if prediction is None:
        metrics = {metric: answer.refused, "goodput_bps": answer.refused}
        return StreamBounds(metrics, least_s, greatest_bps)
    stated = tuple(
        limit
        for limit in model.data.stated_limits
        if limit.protocol in (None, scenario.protocol) and _statistic(limit.metric) is not None
    )
    return StreamBounds(prediction.metrics, least_s, greatest_bps, stated)


def share_bps(alone_bps: float, endpoints: int, others_bps: float) -> float:
    """Return the greatest goodput of one stream at a shared interface [b/s] (IC2012 §7.1.1).

    It is the capacity left by the other streams, or an even share of the capacity, whichever is greater.
    """
    return max(alone_bps - others_bps, alone_bps / endpoints)


def estimate_for(metric: str, known: StreamBounds) -> Estimate:
    """Return the estimate with which a requirement on a metric is judged.

    This is the predicted metric, if there is one. If there is none, it depends on the metric:

    - goodput: the interval from 0 to theory's maximum
    - latency: half of the predicted round trip; if that is unknown too, an interval between bounds, such as theory's
      minimum and a higher predicted quantile
    - others: no estimate
    """
    own = known.metrics.get(metric)
    if own is not None and not math.isnan(own.low):
        return own
    reason = own.why if own is not None and own.why else f"this dataset gives no {metric}"
    if metric == "goodput_bps" and known.greatest_goodput_bps is not None:
        why = f"{reason}; theory bounds it from above"
        greatest = known.greatest_goodput_bps
        return Estimate(math.nan, 0.0, greatest, "theory", why, ("theory",))
    statistic = _statistic(metric)
    if statistic is None:
        return absent(reason)
    return _from_round_trip(statistic, known) or _between_bounds(statistic, known, reason)


def _from_round_trip(statistic: str, known: StreamBounds) -> Estimate | None:
    """Estimate a one-way latency by half a round trip; ``None`` without a measured round trip.

    The interval reaches from theory's minimum to the whole round trip.
    """
    for name, halves in ((f"rtt_half_{statistic}_s", 1), (f"rtt_{statistic}_s", 2)):
        trip = known.metrics.get(name)
        if trip is None or trip.absent:
            continue
        floor, whole = known.least_latency_s or 0.0, trip.high * 2 / halves
        if floor > whole:  # below theory's minimum, since it was measured with smaller frames
            continue
        why = (
            f"{name} replaces the one-way latency_{statistic}_s, which lies between theory's minimum and the "
            "whole round trip"
        )
        bases = (*(trip.bases or (trip.basis,)), "theory", "derived")
        return Estimate(max(trip.value / halves, floor), floor, whole, weakest(bases), why, bases)
    return None


def _between_bounds(statistic: str, known: StreamBounds, reason: str) -> Estimate:
    """Estimate a latency statistic that was not predicted, by the tightest bounds that surely hold.

    For example, if p50 is missing and p99 was predicted, p50 is at most p99, and at least theory's minimum. The value
    is the upper bound (worst case). Without an upper bound, the estimate has no value.
    """
    lower: list[Bound] = []
    if known.least_latency_s is not None:
        lower.append((known.least_latency_s, THEORY, "theory"))
    upper: list[Bound] = []
    for limit in known.stated:
        if _at_most(_statistic(limit.metric), statistic):
            lower.append((limit.minimum, STATED_MIN, "stated"))
        if math.isfinite(limit.maximum) and _at_most(statistic, _statistic(limit.metric)):
            upper.append((limit.maximum, STATED_MAX, "stated"))
    given = {_statistic(name): (name, one) for name, one in known.metrics.items() if not one.absent}
    lower += [
        (one.low, name, one.basis) for of, (name, one) in given.items() if _below(of, statistic)
    ]
    upper += [
        (one.high, name, one.basis) for of, (name, one) in given.items() if _below(statistic, of)
    ]
    for other in ("max", "p999", "p99"):
        trip = _from_round_trip(other, replace(known, least_latency_s=None))
        if trip is not None and _below(statistic, other):
            upper.append((trip.high, f"the round trip's {other}", trip.basis))

    low, least, *low_basis = max(lower, key=lambda bound: bound[0], default=(0.0, ""))
    high, most, *high_basis = min(upper, key=lambda bound: bound[0], default=(math.inf, ""))
    if not least and not most:
        return absent(reason)
    sentences = [f"it is at least {least}"] if least else []
    sentences += [f"at most {most}"] if most else ["nothing bounds it from above"]
    bases = (*low_basis, *high_basis, "derived")
    why = f"{reason}; {', '.join(sentences)}"
    value = high if most else math.nan
    return Estimate(value, min(low, high), high, weakest(bases), why, bases)


Bound = tuple[float, str, str]
"""Bound of a latency: its value [s], its description, and its basis (kind of evidence)."""


def _at_most(lower: str | None, upper: str | None) -> bool:
    return lower is not None and (lower == upper or _below(lower, upper))


def _below(lower: str | None, upper: str | None) -> bool:
    """Whether one statistic (such as p50) is at most another (such as p99) for every latency distribution."""
    if lower is None or upper is None:
        return False
    if MEAN in (lower, upper):
        return (lower, upper) in {("min", MEAN), (MEAN, "max")}
    return _rank(lower) < _rank(upper)


def _rank(statistic: str) -> float:
    """Return the rank of a latency statistic: minimum, then quantiles by their probability, then maximum."""
    if statistic in ("min", "max"):
        return LEAST if statistic == "min" else GREATEST
    digits = statistic.removeprefix("p")
    return int(digits) / 10 ** len(digits) if digits.isdecimal() else math.nan


def _statistic(metric: str) -> str | None:
    """Return the statistic in the name of a latency metric, such as ``p99``.

    The result is ``None`` for other metrics, and for the standard deviation, since other statistics do not bound it.
    """
    if not metric.startswith("latency_") or metric == "latency_std_s":
        return None
    return metric.removeprefix("latency_").removesuffix("_s")
