"""Goodput, loss and rates of a stream: numbers of its dataset, reduced by shared resources and buffers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from icmodel import units
from icmodel.estimate import BOTTLENECKS, Estimate, absent
from icmodel.system.prediction.buffers import BufferLoss
from icmodel.system.prediction.result import derived
from icmodel.system.prediction.throughput import StreamShare
from icmodel.system.sharing import SAME

SPREAD = (0.62 / 0.94, 2.47 / 0.94)
"""Ratios of the least and the greatest goodput to the mean goodput, for ten TCP streams. The streams shared one 10 Gb/s
link for 10 s: 0.62 and 2.47 Gb/s, Jain's fairness index 0.77 (a published run of iperf3).
"""
UNEVEN = "shares of a link differ by as much as in a published run of ten streams"
RECEIVED = re.compile("frames_per_s|packets_received_per_s|cpu_recv.*").fullmatch
SENT = re.compile("sent_bps|packets_sent_per_s|cpu_send.*").fullmatch
BY_WINDOW = "one window per round trip, taken as twice the latency of a single frame (assumed)"


def shared_goodput(own: Estimate, share: StreamShare, most_bps: float = math.inf) -> Estimate:
    """Limit the dataset's goodput to the stream's share; the interval covers uneven shares.

    Parameters
    ----------
    own : Estimate
        Goodput beside the other streams, from the dataset [b/s].
    most_bps : float
        Upper end of the goodput interval of the stream alone, at its requested rate [b/s].
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
        why = (
            "each stream loses the same part of the excess, or one stream loses all of it (assumed)"
        )
        less, more = share.uneven_loss
        below, above = math.hypot(below, less), math.hypot(above, more)
    high = min(high, most_bps)  # beside other streams, no stream gets more than alone
    ends = (value, max(value * (1 - below), 0.0), min(value * (1 + above), max(high, value)))
    bases = ("derived", "assumed") if why else ("derived",)
    return derived(own, ends, bases, f"its share of {share.at}", why)


def windowed(goodput: Estimate) -> Estimate:
    """Add a reason to the goodput of a stream that its TCP window limits."""
    return goodput if goodput.absent else derived(goodput, goodput.ends, ("assumed",), BY_WINDOW)


def goodput_by_theory(share: StreamShare, why: str) -> Estimate:
    """Goodput of a stream without a dataset: at most what its links allow.

    If lossy streams overload a resource, any one of them may lose the whole excess.
    """
    most_bps = share.sent_bps if share.shared and not share.elastic else share.rate_bps
    return Estimate(share.rate_bps, 0.0, most_bps, "theory", why, ("theory",))


def in_whole_frames(goodput: Estimate, share: StreamShare) -> Estimate:
    """Reduce a goodput to that of whole frames: if a port drops one packet of a frame, the frame is lost.

    The value assumes independent drops. If the port drops the fraction p of all packets, the fraction ``(1 - p) ** n``
    of frames with n packets arrives (assumed). The low assumes that no frame arrives: a host keeps the packets of
    incomplete frames for up to two minutes (RFC 1122 §3.3.2), and its memory for them may be full.
    """
    if goodput.absent or share.elastic or share.packets == 1 or share.passed_ratio > 1 - SAME:
        return goodput
    arriving = share.passed_ratio ** (share.packets - 1)
    value = goodput.value * arriving if arriving > SAME else 0.0
    why = f"one of its {share.packets} packets lost is the frame lost (assumed independent)"
    ends = (value, 0.0, goodput.high)
    return derived(goodput, ends, ("derived", "assumed"), why)


def with_other_shares(goodput: Estimate, others: Iterable[Estimate]) -> Estimate:
    """Lower the low of a goodput to the least low of the stream's other shares.

    Parameters
    ----------
    others : iterable of Estimate
        Goodputs in other cases [b/s]: with one queue in each host that limits a stream, and with all streams sending
        the most.
    """
    low = min((one.low for one in others if not one.absent), default=math.inf)
    if goodput.absent or not low < goodput.low * (1 - SAME):
        return goodput
    why = "others may send as much as their datasets allow, or share one queue of a host with this stream"
    return derived(goodput, (goodput.value, low, goodput.high), ("derived",), why)


def after_buffer(goodput: Estimate, loss: BufferLoss) -> Estimate:
    """Subtract from a goodput the part that full buffers drop."""
    if goodput.absent:
        return goodput
    kept = (1 - loss.value, 1 - loss.high, 1 - loss.low)
    ends = (end * part for end, part in zip(goodput.ends, kept, strict=True))
    low, high = (units.format_ratio(ratio, 2) for ratio in (loss.low, loss.high))
    why = f"the buffer of {loss.at} drops {low} to {high}"
    return derived(goodput, ends, ("derived", "assumed"), why)


def loss_by_theory(loss: BufferLoss, why: str) -> Estimate:
    """Loss rate of a stream without a dataset: at least the loss of full buffers; hosts may lose more."""
    why = f"{why}; the buffer of {loss.at} drops this part, and hosts may lose more"
    return Estimate(loss.value, loss.low, 1.0, "assumed", why, ("theory", "assumed"))


def loss_rate(
    own: Estimate,
    goodput: Estimate,
    own_goodput: Estimate,
    share: StreamShare,
    other_shares: Iterable[StreamShare],
) -> Estimate:
    """Loss rate of a stream: from its dataset, or the part of the sent data that does not arrive.

    Parameters
    ----------
    own, own_goodput : Estimate
        Loss rate and goodput from the dataset.
    goodput : Estimate
        Goodput that arrives [b/s].
    other_shares : iterable of StreamShare
        Shares in other cases: with one queue in each host that limits a stream, and with all streams sending the most.
    """
    loss = _loss_at_values(own, goodput, own_goodput, share)
    most = max(one.greatest_loss for one in other_shares)
    if loss.absent or most <= loss.high + SAME:
        return loss
    why = "more is lost if all streams send as much as their datasets allow, or share one queue of a host"
    return derived(loss, (loss.value, loss.low, most), ("derived", "assumed"), why)


def _loss_at_values(
    own: Estimate, goodput: Estimate, own_goodput: Estimate, share: StreamShare
) -> Estimate:
    less = goodput.low < own_goodput.low * (1 - SAME)
    less |= goodput.value < own_goodput.value * (1 - SAME)
    limited = (share.crowded or less) and share.sent_bps > 0
    if share.elastic or own.absent or goodput.absent or not limited:
        return own
    # A rounding error of the goodput must not count as loss, or a requirement of no loss would surely fail.
    kept = [end / share.sent_bps for end in (goodput.value, goodput.high, goodput.low)]
    lost = [1 - max(ratio, 0.0) if ratio < 1 - SAME else 0.0 for ratio in kept]
    return derived(replace(own, why=goodput.why), lost, ("assumed",))


def proportional_rates(
    own: Mapping[str, Estimate], goodput: Estimate, share: StreamShare, requested_bps: float
) -> dict[str, Estimate]:
    """Metrics of a stream, with rates and CPU time in proportion to the data sent and received (assumed).

    The receiver's work is proportional to the data that arrive, the sender's work to the data that are
    sent. A lossy stream sends its whole request, even if part of it is lost.
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
    """Name and location of a stream's bottleneck.

    If no shared resource limits the stream, this is the bottleneck in the dataset's answer.

    Parameters
    ----------
    code : int
        The dataset's bottleneck, as in `Answers.bottleneck`.
    own, goodput : Estimate
        Goodput from the dataset, and goodput that arrives [b/s].
    """
    less = not goodput.value >= own.value * (1 - SAME)
    limited = share.limited_at is not None and (share.by_host or share.crowded or less)
    if not limited and code >= 0:
        return BOTTLENECKS[code], ""
    return share.limit, share.at
