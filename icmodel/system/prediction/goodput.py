"""Goodput, loss and rates of a stream: numbers of its dataset, reduced by shared resources and buffers.

All data of a stream must arrive. The exceptions are unlimited streams, and streams for which the system file allows a
shortfall. If less data pass than must arrive, the stream's queue grows without limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from icmodel import units
from icmodel.arrays import Ints
from icmodel.estimate import BOTTLENECKS, Estimate, absent, limit_name
from icmodel.message import SOCKET_PACKETS
from icmodel.requirement import MET, NOT_MET, UNDECIDED
from icmodel.system.network import SIDES, Stream, System
from icmodel.system.prediction.answers import Answers
from icmodel.system.prediction.buffers import BufferLoss, Buffers
from icmodel.system.prediction.resources import PORT, StreamShare
from icmodel.system.prediction.result import Arrival, derived
from icmodel.system.prediction.stated import StatedTimes
from icmodel.system.prediction.throughput import AtOnce, Throughput, is_burst
from icmodel.system.sharing import SAME
from icmodel.system.traffic import Overload

SPREAD = (0.62 / 0.94, 2.47 / 0.94)
"""Ratios of the least and the greatest goodput to the mean goodput, for ten TCP streams. The streams shared one 10 Gb/s
link for 10 s: 0.62 and 2.47 Gb/s, Jain's fairness index 0.77 (a published run of iperf3).
"""
UNEVEN = "shares of a link differ by as much as in a published run of ten streams"
RECEIVED = re.compile("frames_per_s|packets_received_per_s|cpu_recv.*").fullmatch
SENT = re.compile("sent_bps|packets_sent_per_s|cpu_send.*").fullmatch
BY_WINDOW = "one window per round trip, taken as twice the latency of a single frame (assumed)"
LOST = "{at} may drop frames if all senders send at once"
PORT_BITS = 8 * 100e3
"""Buffer of a switch's port whose buffer the file does not state [b] (assumed): that of a small switch."""


@dataclass(frozen=True, slots=True)
class StreamGoodput:
    """Goodput, loss and rates of one stream, and the bottleneck of its goodput.

    Parameters
    ----------
    metrics : dict
        Metrics by name. Their latencies are those of the dataset, without the delays that path and queues add.
    before_buffers : Estimate
        Goodput before stated buffers drop frames [b/s].
    limit, at : str
        Name and location of the bottleneck, such as ``share`` and a port.
    at_once : Estimate, optional
        Goodput if all streams send a message at the same moment [b/s]; ``None`` if the stream's messages are single
        frames, or if no message arrives whole.
    lost : str
        Reason why no message arrives whole if all streams send one at the same moment; empty if messages arrive.
    """

    metrics: dict[str, Estimate]
    before_buffers: Estimate
    limit: str
    at: str
    at_once: Estimate | None = None
    lost: str = ""


def stream_goodput(
    index: int, rates: Throughput, stated: StatedTimes, buffers: Buffers
) -> StreamGoodput:
    """Goodput, loss and rates of one stream.

    Parameters
    ----------
    index : int
        Index of the stream in the system.
    stated : StatedTimes
        The stream, with the latency and core time that its devices state.
    """
    refused, loss = rates.alone.refused.get(index), buffers.losses.get(index)
    goodput_of = _by_dataset if refused is None else _without_dataset
    metrics, before = goodput_of(index, rates, stated, buffers)
    limit, at = bottleneck(index, rates, metrics["goodput_bps"])
    found = StreamGoodput(metrics, before, limit, at)
    if rates.messages_at_once is None or stated.stream.frames_a_message == 1:
        return found

    # the goodput while all streams send a message at once; the sender's buffer holds the excess
    share = rates.messages_at_once.shares[index]
    if loss is not None:
        return replace(found, lost=LOST.format(at=f"the buffer of {loss.at}"))
    lost = loss_at_once(index, rates, rates.messages_at_once, stated.stream, buffers)
    if lost.ratio > 0:
        return replace(found, lost=LOST.format(at=lost.at))
    share = replace(share, elastic=True)  # the excess waits in the buffer of a port or a socket
    if refused is None:
        fastest = rates.alone.fastest.estimate("goodput_bps", index)
        return replace(found, at_once=shared_goodput(fastest, share, fastest.high))
    by_window = bool(rates.by_window[index])
    at_once = _goodput_by_theory(share, stated, refused, by_window=by_window, at_once=True)
    return replace(found, at_once=at_once)


def _by_dataset(
    index: int, rates: Throughput, stated: StatedTimes, buffers: Buffers
) -> tuple[dict[str, Estimate], Estimate]:
    """Compute a stream's metrics from its dataset; also return its goodput before stated buffers drop frames.

    The dataset predicts the stream while the other streams send. Its goodput is reduced first by shared resources, then
    by frames lost in buffers of a stated size.
    """
    share, other_shares = rates.shares[index], rates.other_shares(index)
    own = {name: rates.beside.estimate(name, index) for name in rates.beside.metrics}
    most_bps = rates.alone.requested.estimate("goodput_bps", index).high
    goodput, *others = (
        in_whole_frames(shared_goodput(own["goodput_bps"], one, most_bps), one)
        for one in (share, *other_shares)
    )
    goodput = with_other_shares(goodput, others)
    goodput = stated.with_least_core_time(goodput, share, own["goodput_bps"].high)
    if rates.by_window[index]:
        goodput = windowed(goodput)
    before = goodput
    goodput = slowed(after_buffer(goodput, buffers.losses.get(index)), buffers.slowed.get(index))
    goodput = after_burst(goodput, burst_loss(index, rates, stated.stream, buffers))

    own = stated.measured(own)
    metrics = proportional_rates(own, goodput, share, stated.stream.requested_goodput_bps)
    metrics["goodput_bps"] = goodput
    if "loss_rate" in own:
        metrics["loss_rate"] = loss_rate(
            own["loss_rate"], goodput, own["goodput_bps"], share, other_shares
        )
    return metrics, before


def _without_dataset(
    index: int, rates: Throughput, stated: StatedTimes, buffers: Buffers
) -> tuple[dict[str, Estimate], Estimate]:
    """Compute goodput and loss of a stream by theory, since no dataset predicts them.

    A device that states its latency is assumed to process all frames that the network passes. If source or sink states
    none, the goodput is only an upper limit, since this host may process less. The second result is the goodput before
    frames are lost in buffers of a stated size.
    """
    share, other_shares = rates.shares[index], rates.other_shares(index)
    by_window, why = bool(rates.by_window[index]), rates.alone.refused[index]
    goodput, *others = (
        _goodput_by_theory(one, stated, why, by_window=by_window) for one in (share, *other_shares)
    )
    before, loss = slowed(goodput, buffers.slowed.get(index)), buffers.losses.get(index)
    if stated.passes_whole(share):
        before = with_other_shares(before, others)
        goodput = after_buffer(before, loss)
        goodput = after_burst(goodput, burst_loss(index, rates, stated.stream, buffers))
        sent = replace(before, value=share.sent_bps, low=share.sent_bps, high=share.sent_bps)
        lost = loss_rate(stated.constant(0.0), goodput, sent, share, other_shares)
        return {"goodput_bps": goodput, "loss_rate": lost}, before
    metrics = {"goodput_bps": after_buffer(before, loss)}
    if loss is not None:
        metrics["loss_rate"] = loss_by_theory(loss, why)
    return metrics, before


def _goodput_by_theory(
    share: StreamShare, stated: StatedTimes, why: str, *, by_window: bool, at_once: bool = False
) -> Estimate:
    """Goodput of a stream that no dataset predicts, before losses in buffers of stated size are subtracted.

    A device that states its latency is assumed to process all frames. If source and sink both do so, the goodput is
    the stream's share of the network. Otherwise the share is only an upper limit, since a host may process less.

    Parameters
    ----------
    why : str
        Reason why no dataset predicts the stream.
    at_once : bool
        Whether ``share`` assumes that all streams send whole messages at the same moment. If so, the stream sends at
        the rate of its share, not at its requested rate.
    """
    requested_bps = stated.stream.requested_goodput_bps
    if not stated.both:
        goodput = goodput_by_theory(share, why)
    else:
        sent_bps = share.rate_bps if at_once else requested_bps
        if not math.isfinite(sent_bps):
            goodput = goodput_by_theory(share, "a sender without a rate may fill its own buffers")
        elif by_window:
            goodput = windowed(replace(stated.constant(sent_bps), value=share.rate_bps, low=0.0))
        else:
            most_bps = math.inf if at_once else sent_bps
            goodput = shared_goodput(stated.constant(sent_bps), share, most_bps)
    goodput = in_whole_frames(goodput, share)
    return stated.with_least_core_time(goodput, share, requested_bps)


def shared_goodput(goodput: Estimate, share: StreamShare, most_bps: float = math.inf) -> Estimate:
    """Limit a goodput from the dataset to the stream's share of the resources.

    Streams at a full resource may get uneven shares; the interval of the result covers this.

    Parameters
    ----------
    goodput : Estimate
        Goodput while the other streams send, from the dataset [b/s].
    most_bps : float
        High end of the stream's goodput alone (without other streams), at its requested rate [b/s]. It limits the
        high end of the result, since no stream gets more while others send than alone.
    """
    limited = share.limited_at is not None and share.rate_bps < goodput.value * (1 - SAME)
    least_bps = SPREAD[0] * share.fair_bps
    if (
        not goodput.absent
        and share.limited_at is None
        and share.elastic
        and least_bps < goodput.low
    ):
        ends = (goodput.value, least_bps, goodput.high)
        why = "near the fair share of a full link: " + UNEVEN
        return derived(goodput, ends, ("derived", "assumed"), why)
    if goodput.absent or not (limited or share.shared):
        return goodput
    value = min(goodput.value, share.rate_bps) if limited else goodput.value
    below, above = (
        (1 - goodput.low / goodput.value, goodput.high / goodput.value - 1)
        if goodput.value > 0
        else (0, 0)
    )
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
    return derived(goodput, ends, bases, f"its share of {share.at}", why)


def windowed(goodput: Estimate) -> Estimate:
    """Add a reason to the goodput of a stream that its TCP window limits."""
    return goodput if goodput.absent else derived(goodput, goodput.ends, ("assumed",), BY_WINDOW)


def goodput_by_theory(share: StreamShare, why: str) -> Estimate:
    """Goodput of a stream without a dataset: its share of the links; the low end is 0, since hosts may lose all data.

    If streams without back-pressure overload a resource, one of them may lose the whole excess, and another one
    nothing. So the high end of such a stream is the goodput that it sends.
    """
    most_bps = share.sent_bps if share.shared and not share.elastic else share.rate_bps
    return Estimate(share.rate_bps, 0.0, most_bps, "theory", why, ("theory",))


def in_whole_frames(goodput: Estimate, share: StreamShare) -> Estimate:
    """Reduce a goodput to that of whole frames: if a port drops one packet of a frame, the frame is lost.

    The value assumes independent drops. If the port drops the fraction p of all packets, the fraction ``(1 - p) ** n``
    of frames with n packets arrives (assumed). The low end assumes that no frame arrives: a host keeps the
    packets of incomplete frames for up to two minutes (RFC 1122 §3.3.2), and its memory for them may be full.
    """
    if goodput.absent or share.elastic or share.packets == 1 or share.passed_ratio > 1 - SAME:
        return goodput
    arriving = share.passed_ratio ** (share.packets - 1)
    value = goodput.value * arriving if arriving > SAME else 0.0
    why = f"a frame is lost with any of its {share.packets} packets (losses assumed independent)"
    ends = (value, 0.0, goodput.high)
    return derived(goodput, ends, ("derived", "assumed"), why)


def with_other_shares(goodput: Estimate, others: Iterable[Estimate]) -> Estimate:
    """Lower the low end of a stream's goodput to that of two less favourable cases, if one of these is lower.

    ``others`` has the goodput of the same stream in these cases: all streams send as much as their datasets allow, or
    all streams of a host wait in one queue.
    """
    low = min((one.low for one in others if not one.absent), default=math.inf)
    if goodput.absent or not low < goodput.low * (1 - SAME):
        return goodput
    why = "others may send as much as their datasets allow, or share one queue of a host with this stream"
    return derived(goodput, (goodput.value, low, goodput.high), ("derived",), why)


def after_buffer(goodput: Estimate, loss: BufferLoss | None) -> Estimate:
    """Subtract from a goodput the part that full buffers drop; ``loss`` is None if they drop nothing."""
    if goodput.absent or loss is None:
        return goodput
    kept = (1 - loss.value, 1 - loss.high, 1 - loss.low)
    ends = (end * part for end, part in zip(goodput.ends, kept, strict=True))
    low, high = (units.format_ratio(ratio, 2) for ratio in (loss.low, loss.high))
    why = f"the buffer of {loss.at} drops {low} to {high}"
    return derived(goodput, ends, ("derived", "assumed"), why)


class LossAtOnce(NamedTuple):
    """Greatest loss of a stream at one port or host while streams send whole messages at the same moment.

    ``ratio`` is the dropped fraction of the stream's data, and ``at`` the name of the port or host.
    """

    ratio: float = 0.0
    at: str = ""


def burst_loss(index: int, rates: Throughput, stream: Stream, buffers: Buffers) -> LossAtOnce:
    """Greatest loss of a stream if the bursts of all senders meet; 0 if its frames do not come as bursts."""
    if rates.bursts_at_once is None or not is_burst(stream):
        return LossAtOnce()
    return loss_at_once(index, rates, rates.bursts_at_once, stream, buffers)


def loss_at_once(
    index: int, rates: Throughput, sent: AtOnce, stream: Stream, buffers: Buffers
) -> LossAtOnce:
    """Greatest loss of a stream if all streams send a message at the same moment.

    Frames then come faster than on average, and wait in buffers. The buffer of a port holds the frames beyond the rate
    of the port. The buffer of a socket holds the frames beyond the rate of the sink's interface or cores. The
    fraction of the stream's frames that waits in the socket is assumed to be at least the dataset's loss rate at
    unlimited load.

    Both buffers have assumed sizes (`PORT_BITS`, `SOCKET_PACKETS`). If the waiting frames of all streams exceed a
    buffer, other streams may fill all of it. So this stream may lose all its waiting frames there. Otherwise it loses
    nothing.

    Losses at buffers whose size the system file states are left out; `stated_buffers` computes them.
    """
    share = sent.shares[index]
    if share.elastic:
        return LossAtOnce()
    dropped = 0.0
    if index not in rates.alone.refused and "loss_rate" in rates.alone.fastest.metrics:
        dropped = float(np.nan_to_num(rates.alone.fastest.ends("loss_rate")[2, index]))
    if share.limited_at is not None and share.limited_at[0] != PORT:
        dropped = max(dropped, share.greatest_loss)
    losses = [LossAtOnce()]
    if dropped * sent.packets[stream.sink] > SOCKET_PACKETS:
        losses.append(LossAtOnce(dropped, stream.sink))
    # the port of a sending host holds its sender back, and drops nothing
    unstated = share.at in sent.bits and share.at not in buffers.sizes_bits
    if unstated and share.greatest_loss * sent.bits[share.at] > PORT_BITS:
        losses.append(LossAtOnce(share.greatest_loss, share.at))
    return max(losses)


def after_burst(goodput: Estimate, loss: LossAtOnce) -> Estimate:
    """Reduce the low end of a goodput by the fraction of frames that may be lost if all bursts come at once."""
    if goodput.absent or not loss.ratio > 0:
        return goodput
    why = f"{loss.at} may drop up to {units.format_ratio(loss.ratio, 2)} of the frames that come at once"
    ends = (goodput.value, goodput.low * (1 - loss.ratio), goodput.high)
    return derived(goodput, ends, ("assumed",), why)


def slowed(goodput: Estimate, port: str | None) -> Estimate:
    """Reduce the low end of a TCP stream's goodput to 0, since other streams may fill the buffer of ``port``.

    TCP may slow down to 0 b/s at a full buffer. If ``port`` is None, the goodput is returned unchanged.
    """
    if port is None or goodput.absent:
        return goodput
    why = f"other classes fill the buffer of {port}: TCP may slow down to 0 b/s"
    return derived(goodput, (goodput.value, 0.0, goodput.high), ("derived", "assumed"), why)


def loss_by_theory(loss: BufferLoss, why: str) -> Estimate:
    """Loss rate of a stream without a dataset: the loss in full buffers of switches, with 1 as the high.

    The high is 1 since no dataset says how much the hosts lose too.
    """
    why = f"{why}; the buffer of {loss.at} drops this part, and hosts may lose more"
    return Estimate(loss.value, loss.low, 1.0, "assumed", why, ("theory", "assumed"))


def loss_rate(
    dataset_loss: Estimate,
    goodput: Estimate,
    dataset_goodput: Estimate,
    share: StreamShare,
    other_shares: Iterable[StreamShare],
) -> Estimate:
    """Loss rate of a stream, given its goodput.

    Other streams, ports or buffers may leave a stream without back-pressure less goodput than its dataset predicts. The
    result is then the fraction of the sent data that does not arrive. Otherwise it is the loss rate of the dataset.

    Parameters
    ----------
    dataset_loss, dataset_goodput : Estimate
        Loss rate and goodput from the dataset.
    goodput : Estimate
        Goodput that arrives [b/s].
    other_shares : iterable of StreamShare
        Goodput and loss of the stream in two other cases: all streams send as much as their datasets allow; or all
        streams of a host wait in one queue. The high end of the result covers the loss in both cases.
    """
    loss = dataset_loss
    less = goodput.low < dataset_goodput.low * (1 - SAME)
    less |= goodput.value < dataset_goodput.value * (1 - SAME)
    limited = (share.crowded or less) and share.sent_bps > 0
    if limited and not (share.elastic or dataset_loss.absent or goodput.absent):
        # A rounding error of the goodput does not count as loss: it would fail a requirement of no loss.
        kept = [end / share.sent_bps for end in (goodput.value, goodput.high, goodput.low)]
        lost = [1 - max(ratio, 0.0) if ratio < 1 - SAME else 0.0 for ratio in kept]
        loss = derived(replace(dataset_loss, why=goodput.why), lost, ("assumed",))
    most = max(one.greatest_loss for one in other_shares)
    if loss.absent or most <= loss.high + SAME:
        return loss
    why = "more is lost if all streams send as much as their datasets allow, or share one queue of a host"
    return derived(loss, (loss.value, loss.low, most), ("derived", "assumed"), why)


def proportional_rates(
    dataset_metrics: Mapping[str, Estimate],
    goodput: Estimate,
    share: StreamShare,
    requested_bps: float,
) -> dict[str, Estimate]:
    """Reduce the rates and CPU times of a stream from its dataset, if it sends or receives less in the system.

    Numbers of the receiver are scaled in proportion to the data that arrive, and numbers of the sender in proportion to
    the data that are sent (assumed). With back-pressure, the sender slows down to the data that arrive. Without it, the
    sender sends its whole request, even if part of it is lost.
    """
    metrics = dict(dataset_metrics)
    dataset_goodput, sent = (
        dataset_metrics["goodput_bps"],
        dataset_metrics.get("sent_bps", absent("")),
    )
    less = goodput.value < dataset_goodput.value * (1 - SAME)
    received_ratio = goodput.value / dataset_goodput.value if less else 1.0
    sent_ratio = received_ratio
    if not share.elastic and (share.crowded or received_ratio < 1):
        sent_ratio = min(share.sent_bps / sent.value, 1.0) if sent.value > 0 else 1.0
    for follows, ratio in ((RECEIVED, received_ratio), (SENT, sent_ratio)):
        if ratio < 1 - SAME:
            metrics |= {
                name: derived(estimate, (ratio * end for end in estimate.ends), ("assumed",))
                for name, estimate in dataset_metrics.items()
                if follows(name) and not estimate.absent
            }
    sent, short = metrics.get("sent_bps", sent), dataset_metrics.get("shortfall_bps", absent(""))
    if math.isfinite(requested_bps) and sent.value + short.value < requested_bps * (1 - SAME):
        ends = (sent.value, sent.high, sent.low)
        value, low, high = (max(requested_bps - end, 0.0) for end in ends)
        metrics["shortfall_bps"] = Estimate(value, low, high, sent.basis, sent.why, sent.bases)
    return metrics


def bottleneck(index: int, rates: Throughput, goodput: Estimate) -> tuple[str, str]:
    """Name and location of a stream's bottleneck; ``goodput`` is the predicted goodput that arrives [b/s].

    If no shared resource limits the stream, the result is the bottleneck in the dataset's answer for the stream.
    """
    share, code = rates.shares[index], int(rates.beside.bottleneck[index])
    own = rates.beside.estimate("goodput_bps", index)
    less = not goodput.value >= own.value * (1 - SAME)
    limited = share.limited_at is not None and (share.by_host or share.crowded or less)
    limit, at = (share.limit, share.at) if limited or code < 0 else (BOTTLENECKS[code], "")
    by_window = limit == "request" and rates.by_window[index]
    return ("window" if by_window else limit), at


# --- arrival of all data ----------------------------------------------------------------------


def overloaded_streams(
    system: System, overloaded: Iterable[Overload]
) -> Mapping[str, Sequence[Overload]]:
    """Find the overloaded ports on the path of each stream: name of the stream -> overloads.

    Unlimited streams, and streams without an overloaded port, are left out.
    """
    found: dict[str, list[Overload]] = {}
    for overload in overloaded:
        for stream in overload.load.streams:
            found.setdefault(stream.name, []).append(overload)
    # in the load of a port, only the first copy of a multicast set counts
    for copies in system.multicast_sets().values():
        shared = [overload for copy in copies for overload in found.get(copy.name, ())]
        for copy in copies:
            met = [overload for overload in shared if overload.load.port.name in copy.path]
            if met:
                found[copy.name] = list(
                    {overload.load.port.name: overload for overload in met}.values()
                )
    return found


def overloaded_hosts(system: System, alone: Answers, sent_with: Ints) -> dict[str, str]:
    """Find the streams whose host surely has too few cores: name of the stream -> reason as a sentence.

    The least number of cores that a stream keeps busy is core time per bit [s] × goodput that must arrive [b/s]. The
    host states the core time, or the dataset gives it for the stream without other streams. If the sum over all streams
    of a host exceeds its number of cores, the host has too few.
    """
    needed: dict[str, dict[str, float]] = {}
    for index, stream in enumerate(system.streams.values()):
        most_bps = float(alone.ends("goodput_bps")[2, index])
        for end, side in SIDES:
            if side == "send" and sent_with[index] != index:
                continue
            device = system.devices[getattr(stream, end)]
            least = float(alone.ends(f"cpu_{side}_cores")[1, index])
            per_bit = least / most_bps if least > 0 and most_bps > 0 else 0.0
            if device.latency_s is not None:
                per_bit = stream.core_time_per_bit_s(device, side)[0]
            if per_bit > 0:
                busy = needed.setdefault(device.name, {})
                busy[stream.name] = per_bit * stream.must_arrive_bps
    reasons: dict[str, str] = {}
    for name, busy in needed.items():
        cores, total = system.devices[name].cores, math.fsum(busy.values())
        if cores is not None and total > cores * (1 + SAME):
            first, *more = busy
            others = f" and {len(more)} more" if more else ""
            why = (
                f"{name} needs at least {total:.4g} busy cores of its {cores} for the stream {first}{others}: "
                "give the host more cores, or the streams less data"
            )
            reasons |= dict.fromkeys(busy, why)
    return reasons


def arrival(
    system: System,
    stream: Stream,
    goodput: Estimate,
    limit: str,
    overloaded: Sequence[Overload] = (),
    full_host: str = "",
) -> Arrival:
    """Decide whether a stream's data arrive as required: met, not met or undecided, with the reason.

    Parameters
    ----------
    goodput : Estimate
        Goodput that the stream gets [b/s].
    limit : str
        Bottleneck of the stream.
    overloaded : sequence of Overload
        Overloaded ports on the stream's path.
    full_host : str
        Sentence on a host of the stream that surely has too few cores; empty if there is no such host.
    """
    late = next((overload.sentence(system) for overload in overloaded if overload.within_s), "")
    least_bps = stream.must_arrive_bps * (1 - SAME)
    if least_bps <= 0 or goodput.low >= least_bps:
        return Arrival(MET, "", late)
    if goodput.absent:
        return Arrival(UNDECIDED, goodput.why, late)
    full = next(
        (overload for overload in overloaded if not overload.within_s and overload.beyond_allowed),
        None,
    )
    if goodput.value < least_bps and (full is not None or full_host):
        return Arrival(NOT_MET, full.sentence(system) if full else full_host, late)
    limited = (
        "" if limit == "request" or not limit_name(limit) else f", limited by {limit_name(limit)}"
    )
    required = units.format_bps(stream.must_arrive_bps)
    if goodput.high < least_bps:
        most = units.format_bps(goodput.high, 4)
        why = f"{required} must arrive, but at most {most} pass{limited}"
        return Arrival(NOT_MET, why, late)
    low = units.format_bps(goodput.low, 4)
    if goodput.basis == "theory":
        why = f"{required} must arrive, but hosts may pass less: {goodput.why}"
    elif not limited and goodput.why:
        why = f"{required} must arrive, but only {low} surely pass: {goodput.why}"
    else:
        why = f"{required} must arrive, but only {low} surely pass{limited}"
    return Arrival(UNDECIDED, why, late)
