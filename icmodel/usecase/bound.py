"""Estimate metrics that the dataset does not have, from certain bounds, to judge requirements on them.

- A missing latency quantile lies between a statistic that is never greater and one that is never less.
- A one-way latency lies between theory's minimum and the whole round trip.
- A goodput lies below theory's maximum.

A requirement whose limit lies between the bounds is *undecided*.
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
    """Known metrics and bounds of one stream, by which requirements are judged.

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
    goodput are absent and state the reason.
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

    It is the capacity left by the other streams, or an even share of the capacity if that is more.
    """
    return max(alone_bps - others_bps, alone_bps / endpoints)


def estimate_for(metric: str, known: StreamBounds) -> Estimate:
    """Return the estimate of a metric by which a requirement is judged.

    Without a predicted value, a latency is estimated by half a round trip. Without a round trip, it is estimated by
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
        ):  # the round trip was measured with smaller frames, so it is shorter than theory's minimum
            continue
        why = (
            f"not one-way: {name} stands in for latency_{statistic}_s, which lies between theory's "
            "minimum and the whole round trip"
        )
        bases = (*(trip.bases or (trip.basis,)), "theory", "derived")
        return Estimate(max(trip.value / halves, floor), floor, whole, weakest(bases), why, bases)
    return None


def _between_bounds(statistic: str, known: StreamBounds, reason: str) -> Estimate:
    """Estimate a missing latency statistic by its tightest certain bounds.

    The value is the upper bound (worst case). Without an upper bound, the estimate has no value.
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
    """Whether a statistic, such as p50, is at most another, such as p99, for every distribution of latencies."""
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
    """Return the statistic in a latency metric, such as ``p99``; ``None`` for the standard deviation (no bounds)."""
    if not metric.startswith("latency_") or metric == "latency_std_s":
        return None
    return metric.removeprefix("latency_").removesuffix("_s")
