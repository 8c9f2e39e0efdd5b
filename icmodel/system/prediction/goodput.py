"""Goodput, loss and rates of a stream: its dataset's numbers, reduced to the stream's share and by stated buffers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from icmodel import units
from icmodel.estimate import BOTTLENECKS, Estimate, absent
from icmodel.system.prediction.buffers import BufferLoss
from icmodel.system.prediction.result import derived
from icmodel.system.prediction.throughput import StreamShare
from icmodel.system.sharing import SAME

SPREAD = (0.62 / 0.94, 2.47 / 0.94)
"""The least and the greatest of ten TCP streams over the mean of all, on one 10 Gb/s link for 10 s: 0.62 and
2.47 Gb/s, Jain's fairness index 0.77 (a published run of iperf3)."""
UNEVEN = "shares of a link differ by as much as in a published run of ten streams"
RECEIVED = re.compile("frames_per_s|packets_received_per_s|cpu_recv.*").fullmatch
SENT = re.compile("sent_bps|packets_sent_per_s|cpu_send.*").fullmatch
BY_WINDOW = "one window per round trip, taken as twice the latency of a single frame (assumed)"


def shared_goodput(own: Estimate, share: StreamShare, most_bps: float = math.inf) -> Estimate:
    """Limit the dataset's goodput to the stream's share; the interval is as wide as shares are uneven.

    Parameters
    ----------
    own : Estimate
        The goodput beside the others, as the dataset has it [b/s].
    most_bps : float
        Upper end of its goodput alone, at its request [b/s].
    """
    limited = share.limited_at is not None and share.rate_bps < own.value * (1 - SAME)
    least_bps = SPREAD[0] * share.fair_bps
    if not own.absent and share.limited_at is None and share.elastic and least_bps < own.low:
        ends = (own.value, least_bps, own.high)
        why = "near the fair share of a full link: " + UNEVEN
        return derived(own, ends, ("derived", "assumed"), why)
    if own.absent or not (limited or share.shared):
        return own
    value = min(own.value, share.rate_bps) if limited else own.value
    below, above = (1 - own.low / own.value, own.high / own.value - 1) if own.value > 0 else (0, 0)
    why, high = "", math.inf
    if share.shared and share.elastic:
        below, above = math.hypot(below, 1 - SPREAD[0]), math.hypot(above, SPREAD[1] - 1)
        high = value + (1 - SPREAD[0]) * share.others_bps
        why = UNEVEN
    elif share.shared:
        why = "of the excess each stream loses the same part, or one of them all of it (assumed)"
        less, more = share.uneven_loss
        below, above = math.hypot(below, less), math.hypot(above, more)
    high = min(high, most_bps)  # no stream gets more beside others than alone
    ends = (value, max(value * (1 - below), 0.0), min(value * (1 + above), max(high, value)))
    bases = ("derived", "assumed") if why else ("derived",)
    return derived(own, ends, bases, f"its share of {share.at}", why)


def windowed(goodput: Estimate) -> Estimate:
    """Add the reason to a goodput that the stream's window limits."""
    return goodput if goodput.absent else derived(goodput, goodput.ends, ("assumed",), BY_WINDOW)


def goodput_by_theory(share: StreamShare, why: str) -> Estimate:
    """Goodput of a stream without a dataset: at most what its links allow.

    If lossy streams share too little, another one may lose the whole excess.
    """
    most_bps = share.sent_bps if share.shared and not share.elastic else share.rate_bps
    return Estimate(share.rate_bps, 0.0, most_bps, "theory", why, ("theory",))


def after_buffer(goodput: Estimate, loss: BufferLoss) -> Estimate:
    """Goodput less the part that full buffers drop."""
    if goodput.absent:
        return goodput
    kept = (1 - loss.value, 1 - loss.high, 1 - loss.low)
    ends = (end * part for end, part in zip(goodput.ends, kept, strict=True))
    low, high = (units.format_ratio(ratio, 2) for ratio in (loss.low, loss.high))
    why = f"the buffer of {loss.at} drops {low} to {high}"
    return derived(goodput, ends, ("derived", "assumed"), why)


def loss_by_theory(loss: BufferLoss, why: str) -> Estimate:
    """Loss rate of a stream without a dataset: at least that of full buffers, since hosts may lose anything."""
    why = f"{why}; the buffer of {loss.at} drops this part, and hosts may lose more"
    return Estimate(loss.value, loss.low, 1.0, "assumed", why, ("theory", "assumed"))


def loss_rate(
    own: Estimate, goodput: Estimate, own_goodput: Estimate, share: StreamShare
) -> Estimate:
    """Loss rate of a stream: its dataset's, or the part of what it sends that does not arrive.

    Parameters
    ----------
    own, own_goodput : Estimate
        As the dataset has them.
    goodput : Estimate
        What arrives [b/s].
    """
    less = goodput.low < own_goodput.low * (1 - SAME)
    less |= goodput.value < own_goodput.value * (1 - SAME)
    limited = (share.crowded or less) and share.sent_bps > 0
    if share.elastic or own.absent or goodput.absent or not limited:
        return own
    ends = (goodput.value, goodput.high, goodput.low)
    lost = [min(max(1 - end / share.sent_bps, 0.0), 1.0) for end in ends]
    return derived(replace(own, why=goodput.why), lost, ("assumed",))


def proportional_rates(
    own: Mapping[str, Estimate], goodput: Estimate, share: StreamShare, requested_bps: float
) -> dict[str, Estimate]:
    """Metrics of a stream, with rates and processor time in proportion to what it sends and receives (assumed).

    The work of the receiver follows what arrives, and that of the sender what is sent. A lossy stream sends all it
    requests, whatever arrives.
    """
    metrics = dict(own)
    own_goodput, sent = own["goodput_bps"], own.get("sent_bps", absent(""))
    less = goodput.value < own_goodput.value * (1 - SAME)
    received_ratio = goodput.value / own_goodput.value if less else 1.0
    sent_ratio = received_ratio
    if not share.elastic and (share.crowded or received_ratio < 1):
        sent_ratio = min(share.sent_bps / sent.value, 1.0) if sent.value > 0 else 1.0
    for follows, ratio in ((RECEIVED, received_ratio), (SENT, sent_ratio)):
        if ratio < 1 - SAME:
            metrics |= {
                name: derived(estimate, (ratio * end for end in estimate.ends), ("assumed",))
                for name, estimate in own.items()
                if follows(name) and not estimate.absent
            }
    sent, short = metrics.get("sent_bps", sent), own.get("shortfall_bps", absent(""))
    if math.isfinite(requested_bps) and sent.value + short.value < requested_bps * (1 - SAME):
        ends = (sent.value, sent.high, sent.low)
        value, low, high = (max(requested_bps - end, 0.0) for end in ends)
        metrics["shortfall_bps"] = Estimate(value, low, high, sent.basis, sent.why, sent.bases)
    return metrics


def bottleneck(code: int, share: StreamShare, own: Estimate, goodput: Estimate) -> tuple[str, str]:
    """Name and place of the bottleneck of a stream; the dataset's bottleneck if its share is none.

    Parameters
    ----------
    code : int
        The dataset's bottleneck, as in `Answers.bottleneck`.
    own, goodput : Estimate
        Goodput as the dataset has it, and as it arrives [b/s].
    """
    less = not goodput.value >= own.value * (1 - SAME)
    limited = share.limited_at is not None and (share.by_host or share.crowded or less)
    if not limited and code >= 0:
        return BOTTLENECKS[code], ""
    return share.limit, share.at
