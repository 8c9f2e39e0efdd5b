"""Answers: a stream of a candidate asked of a model as ``predict`` would ask, or the reason of the refusal.

Delays of the path that the dataset does not know open the interval of every latency instead.
"""

from __future__ import annotations

import math
from dataclasses import replace

from icmodel import units
from icmodel.estimate import Estimate, Prediction, weakest
from icmodel.model import Model
from icmodel.scenario import Scenario
from icmodel.solve import REFUSALS
from icmodel.usecase.bound import Ends, share_bps, stated_limits
from icmodel.usecase.document import Medium
from icmodel.usecase.result import Answer
from icmodel.wording import plural

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
