"""Estimates for requirements on metrics that the dataset does not have.

Only certain bounds are used. A missing quantile lies between the statistics that are always below and always above
the quantile. A one-way latency lies between theory's minimum and the whole round trip. A goodput lies below theory's
maximum. A requirement whose limit lies between the bounds is *undecided*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from icmodel.dataset import StatedLimit
from icmodel.estimate import Estimate, absent, weakest
from icmodel.model import Model
from icmodel.solve import REFUSALS
from icmodel.usecase.result import Answer

LEAST, GREATEST, MEAN = -1.0, 2.0, "mean"
THEORY = "theory's minimum"
STATED_MIN, STATED_MAX = "the minimum the source states", "the maximum the source states"


@dataclass(frozen=True, slots=True)
class StreamBounds:
    """Knowledge about one stream by which requirements are judged.

    It has the predicted metrics, the bounds by theory of latency [s] and goodput [b/s], and limits stated by the source
    of the dataset.
    """

    metrics: Mapping[str, Estimate]
    least_latency_s: float | None
    greatest_goodput_bps: float | None
    stated: tuple[StatedLimit, ...] = ()


def stream_bounds(answer: Answer, metric: str, model: Model) -> StreamBounds:
    """Collect the predicted metrics of a stream and the bounds by theory, to judge a requirement on ``metric``.

    If the stream has no prediction, the result has only theory's bounds, and only if the dataset has the stream's
    protocol. Then ``metric`` and the goodput are absent, with the reason.
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
    """Greatest goodput [b/s] of one stream at a shared interface (IC2012 §7.1.1).

    This is the capacity that the other streams leave, or an even share if that is more.
    """
    return max(alone_bps - others_bps, alone_bps / endpoints)


def estimate_for(metric: str, known: StreamBounds) -> Estimate:
    """Estimate of a metric, to judge a requirement.

    Without a predicted value, a latency is half a round trip. Without a round trip, the estimate is an interval between
    certain bounds.
    """
    own = known.metrics.get(metric)
    if own is not None and not own.absent:
        return own
    reason = own.why if own is not None and own.why else f"this dataset gives no {metric}"
    if metric == "goodput_bps" and known.greatest_goodput_bps is not None:
        why = f"{reason}; theory's bound stands above it"
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
        if (
            floor > whole
        ):  # the measured round trip was of smaller frames, and shorter than the wire allows
            continue
        why = (
            f"not one-way: {name} stands in for latency_{statistic}_s, which lies between theory's "
            "minimum and the whole round trip"
        )
        bases = (*(trip.bases or (trip.basis,)), "theory", "derived")
        return Estimate(max(trip.value / halves, floor), floor, whole, weakest(bases), why, bases)
    return None


def _between_bounds(statistic: str, known: StreamBounds, reason: str) -> Estimate:
    """Estimate a missing statistic of the latency by its nearest certain bounds below and above.

    The value is the upper bound, the worst case. Without an upper bound the estimate has no value.
    """
    low, least, *low_basis = max(
        _lower_bounds(statistic, known), key=lambda bound: bound[0], default=(0.0, "")
    )
    high, most, *high_basis = min(
        _upper_bounds(statistic, known), key=lambda bound: bound[0], default=(math.inf, "")
    )
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


def _lower_bounds(statistic: str, known: StreamBounds) -> Iterator[Bound]:
    if known.least_latency_s is not None:
        yield known.least_latency_s, THEORY, "theory"
    for limit in known.stated:
        if _at_most(_statistic(limit.metric), statistic):
            yield limit.minimum, STATED_MIN, "stated"
    for name, estimate in known.metrics.items():
        if not estimate.absent and _below(_statistic(name), statistic):
            yield estimate.low, name, estimate.basis


def _upper_bounds(statistic: str, known: StreamBounds) -> Iterator[Bound]:
    for limit in known.stated:
        if math.isfinite(limit.maximum) and _at_most(statistic, _statistic(limit.metric)):
            yield limit.maximum, STATED_MAX, "stated"
    for name, estimate in known.metrics.items():
        if not estimate.absent and _below(statistic, _statistic(name)):
            yield estimate.high, name, estimate.basis
    for other in ("max", "p999", "p99"):
        trip = _from_round_trip(other, replace(known, least_latency_s=None))
        if trip is not None and _below(statistic, other):
            yield trip.high, f"the round trip's {other}", trip.basis


def _at_most(lower: str | None, upper: str | None) -> bool:
    return lower is not None and (lower == upper or _below(lower, upper))


def _below(lower: str | None, upper: str | None) -> bool:
    """Whether a latency statistic such as p50 is below another such as p99 for every distribution."""
    if lower is None or upper is None:
        return False
    if MEAN in (lower, upper):
        return (lower, upper) in {("min", MEAN), (MEAN, "max")}
    return _rank(lower) < _rank(upper)


def _rank(statistic: str) -> float:
    """Rank a latency statistic: quantiles by their probability, the minimum below them, the maximum above them."""
    if statistic in ("min", "max"):
        return LEAST if statistic == "min" else GREATEST
    digits = statistic.removeprefix("p")
    return int(digits) / 10 ** len(digits) if digits.isdecimal() else math.nan


def _statistic(metric: str) -> str | None:
    """Statistic in a latency's name, such as ``p99``; ``None`` for a standard deviation, which nothing bounds."""
    if not metric.startswith("latency_") or metric == "latency_std_s":
        return None
    return metric.removeprefix("latency_").removesuffix("_s")
