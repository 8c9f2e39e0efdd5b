"""Put together the prediction of each stream from the results of all stages of a system prediction."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel import units
from icmodel.estimate import BOTTLENECKS, Estimate, absent
from icmodel.message import AT_ONCE, Message, sent_at_once
from icmodel.system.loads import Overload, PortLoad
from icmodel.system.network import Stream, System
from icmodel.system.packing import AT_ONCE as BURSTS
from icmodel.system.prediction.answers import StreamQuestions
from icmodel.system.prediction.arrival import (
    Arrival,
    arrival,
    overloaded_hosts,
    overloaded_streams,
    times_of_arrivals,
    unknown_times,
    without_times,
)
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.buffers import ARRIVING, BufferLoss, Buffers
from icmodel.system.prediction.goodput import (
    after_buffer,
    bottleneck,
    goodput_by_theory,
    in_whole_frames,
    loss_by_theory,
    loss_rate,
    proportional_rates,
    shared_goodput,
    windowed,
    with_other_shares,
)
from icmodel.system.prediction.latency import (
    AddedLatency,
    congested_latency,
    latencies,
    latencies_by_theory,
)
from icmodel.system.prediction.path_times import PathTimes
from icmodel.system.prediction.queues import sent_at_once as frames_at_once
from icmodel.system.prediction.resources import is_elastic
from icmodel.system.prediction.result import LatencyBound, StreamPrediction, derived
from icmodel.system.prediction.stated import StatedTimes, passes_whole
from icmodel.system.prediction.throughput import (
    MOST_ENDPOINTS,
    StreamShare,
    Throughput,
)
from icmodel.system.sharing import SAME

MEAN = "latency_mean_s"
MAX = "latency_max_s"
ENDS = ("value", "low", "high")
MESSAGE_TIMES = (MEAN, "latency_p99_s", "latency_max_s")
"""Latencies of whole messages that are reported as absent if no message arrives whole."""
VIRTUAL = "the worst runs of a virtual machine"
BY_HOSTS = frozenset({"cpu", "packet-rate", "receiver", "window"})
"""Bottlenecks in hosts, where frames wait or are lost."""
BUFFER = "buffer"
"""Name of the bottleneck if a stream loses data only at a stated buffer."""
TAKEN = "frames that hosts take"
"""Part of a stream that its bound covers if hosts may drop or hold back frames below their limits."""
FULL_INTERFACE = "the sender's own port is full, and its frames wait there without limit"
SMALL_WINDOW = (
    "its TCP window holds less than it sends until an acknowledgement: give it a larger window"
)
WORK_TOGETHER = "the work of hosts on frames that come together is not bounded"
UNBOUNDED = "more may come to a port of its path than the port can send"
CROWDED = "other streams hold it back, so its frames may wait in its host longer than alone"
NO_LATENCY = "no latency of a frame is known"
LOST = "all senders at once lose frames: no message arrives whole"


def stream_predictions(
    system: System,
    questions: StreamQuestions,
    rates: Throughput,
    at_ports: Iterable[PortLoad],
    added: Sequence[AddedLatency],
    buffers: Buffers,
    paths: Sequence[PathTimes],
) -> dict[str, StreamPrediction]:
    """Make the prediction of every stream of a system from the results of all stages, by name."""
    overloads = overloaded_streams(system, at_ports)
    limiting = rates.allocation.limiting
    gives_way = rates.held_back & rates.resources.flows.elastic
    together = np.bincount(limiting[gives_way] + 1, minlength=len(rates.resources.keys) + 1)
    full_hosts = overloaded_hosts(system, rates.alone, rates.resources.flows.sent_with)
    virtual: set[int] = (
        set()
    )  # indices of streams whose dataset was measured between virtual machines
    for dataset in questions.datasets:
        if any("virtual machine" in limit for limit in dataset.model.data.known_limits):
            virtual.update(dataset.streams.tolist())
    together_at = _work_together(system)
    return {
        name: _StreamResults(
            index=index,
            stream=stream,
            rates=rates,
            share=rates.shares[index],
            other_shares=(rates.one_queue_shares[index], rates.most_shares[index]),
            path=paths[index],
            added=added[index],
            together=int(together[limiting[index] + 1]),
            buffers=buffers,
            overloads=overloads.get(name, ()),
            full_host=full_hosts.get(name, ""),
            virtual=index in virtual,
            stated=StatedTimes.of(system, stream),
            works_together=not together_at.isdisjoint(
                {(stream.source, "send"), (stream.sink, "recv")}
            ),
        ).prediction(system)
        for index, (name, stream) in enumerate(system.streams.items())
    }


def _work_together(system: System) -> set[tuple[str, str]]:
    """Devices and sides, ``send`` or ``recv``, where work on frames that come together adds to their latency.

    The application works on one frame after the other. A device that states its latency includes its own core time, up
    to that latency.
    """
    frames: Counter[tuple[str, str]] = Counter()
    for copies in system.multicast_sets().values():
        made = copies[0].producer
        at_once = made is not None and made.kind in BURSTS
        several = copies[0].frames_a_message if at_once else 1
        frames[copies[0].source, "send"] += several
        for copy in copies:
            frames[copy.sink, "recv"] += several
    found = set()
    for (name, side), count in frames.items():
        device = system.devices[name]
        work_s = device.app_send_s if side == "send" else device.app_recv_s
        core_s = 0.0 if device.core_time_s is None else device.core_time_s[1]
        latency_s = math.inf if device.latency_s is None else device.latency_s[1]
        if count > 1 and (work_s or count * core_s / (device.cores or 1) > latency_s * (1 + SAME)):
            found.add((name, side))
    return found


@dataclass(frozen=True, slots=True)
class _StreamResults:
    """Results of all stages of a system prediction for one stream; `prediction` puts them together.

    Parameters
    ----------
    other_shares : tuple of StreamShare
        Shares in other cases: with one queue in each host that limits a stream, and with all streams sending the most
        that their datasets allow.
    together : int
        Number of elastic streams that other streams hold back at the resource that limits this stream.
    overloads : sequence of Overload
        Overloaded ports on the stream's path.
    full_host : str
        Reason why a host of the stream surely has too few cores; empty otherwise.
    virtual : bool
        Whether the stream's dataset was measured between virtual machines.
    works_together : bool
        Whether work on frames that come together adds to their latency at an end of the stream.
    stated : StatedTimes
        Latency and core time that the stream's devices state in the system file.
    """

    index: int
    stream: Stream
    rates: Throughput
    share: StreamShare
    other_shares: tuple[StreamShare, StreamShare]
    path: PathTimes
    added: AddedLatency
    together: int
    buffers: Buffers
    overloads: Sequence[Overload]
    full_host: str
    virtual: bool
    stated: StatedTimes
    works_together: bool

    def prediction(self, system: System) -> StreamPrediction:
        """Predict the stream's goodput and latency, whether all its data arrive, and its latency bound."""
        stream = self.stream
        metrics = self.metrics() if self.refused is None else self.metrics_by_theory(self.refused)
        metrics |= self.stated.busy_cores(metrics["goodput_bps"], self.share)
        times = self.message_times(metrics)
        metrics[AT_ONCE] = times.get(MEAN, metrics.get(MEAN, absent(NO_LATENCY)))
        fills = self.fills_window(metrics.get(MEAN, absent(NO_LATENCY)))
        if fills:
            low = replace(metrics["goodput_bps"], low=0.0)
            metrics["goodput_bps"] = derived(low, low.ends, ("assumed",), fills)
        goodput = metrics["goodput_bps"]
        limit, where = self.bottleneck(goodput)

        arrives = arrival(system, stream, goodput, limit, self.overloads, self.full_host)
        if arrives.grows:
            metrics, times = without_times(metrics, arrives.why), without_times(times, arrives.why)
        elif self.waits_at_sender:
            metrics, times = (unknown_times(some, FULL_INTERFACE) for some in (metrics, times))
        elif fills or self.window_bytes < stream.payload_bytes:
            why = fills or SMALL_WINDOW
            metrics, times = (unknown_times(some, why) for some in (metrics, times))
        elif goodput.low < stream.produced_bps * (1 - SAME):
            metrics, times = times_of_arrivals(metrics), times_of_arrivals(times)

        terms = {cause: time for cause, time in self.added.shifts_s.items() if time}
        terms |= {f"queue at {port}": time for port, time in self.added.queues_s.items()}
        bound, no_bound = self.bound(arrives, limit, goodput)
        if self.as_stated:
            if (
                bound is not None
                and bound.whole
                and not {NETWORK, ARRIVING, TAKEN} & set(bound.covers)
            ):
                times = {name: limited_to(bound.value_s, one) for name, one in times.items()}
                metrics[AT_ONCE] = limited_to(bound.value_s, metrics[AT_ONCE])
            most_s = math.inf if bound is None else bound.value_s
            metrics |= self.stated.bounded(metrics, most_s, sent_at_once=frames_at_once(stream))
            greatest = times.get(MAX, absent(""))
            if math.isinf(metrics[MAX].high) and not greatest.absent:
                times = {**times, MAX: replace(greatest, high=math.inf, why=metrics[MAX].why)}
        loss = self.buffers.losses.get(self.index)
        if limit == "request" and loss is not None and loss.value > SAME:
            limit, where = BUFFER, loss.at
        return StreamPrediction(
            stream=stream,
            metrics=metrics,
            bottleneck=limit,
            bottleneck_at=where,
            terms={} if arrives.grows else terms,
            latency_bound=bound,
            no_bound=no_bound,
            arrival=arrives,
            message_times=times,
        )

    @property
    def refused(self) -> str | None:
        """Reason why no dataset has the goodput of the stream; ``None`` if a dataset has it."""
        return self.rates.refused.get(self.index)

    @property
    def as_stated(self) -> bool:
        """Whether both devices state their latency, and the sender sends its whole request."""
        asked_bps = self.stream.requested_goodput_bps
        return self.stated.both and passes_whole(self.share, asked_bps)

    @property
    def window_bytes(self) -> float:
        """TCP window [B]; infinite without a window."""
        return float(self.rates.windows.bits[self.index]) / 8

    def in_flight_bytes(self, latency_s: float) -> float:
        """Most bytes that the stream sends until the acknowledgement of a frame with this latency comes back."""
        stream, made = self.stream, self.stream.producer
        unacknowledged_s = latency_s + float(self.rates.windows.round_trip_s[self.index]) / 2
        if made is not None and made.kind in BURSTS:
            return (unacknowledged_s // made.period_s + 1) * made.message_bytes
        return stream.produced_bps / 8 * unacknowledged_s + stream.payload_bytes

    def fills_window(self, mean: Estimate) -> str:
        """Reason why waits in queues may fill the TCP window; empty if the window has room for all that is sent.

        The window has room if it holds what is sent in a mean latency and until the acknowledgement (Little's law).
        """
        stream, latency_s = self.stream, mean.high if math.isfinite(mean.high) else mean.value
        by_window = bool(self.rates.by_window[self.index])
        if math.isinf(self.window_bytes) or by_window or not stream.produced_bps:
            return ""
        unacknowledged_s = latency_s + float(self.rates.windows.round_trip_s[self.index]) / 2
        needed_bytes = stream.produced_bps / 8 * unacknowledged_s
        needed, window = (units.format_bytes(some) for some in (needed_bytes, self.window_bytes))
        if math.isnan(needed_bytes):
            return f"how long its frames wait is unknown, so its TCP window of {window} may be full"
        if needed_bytes <= self.window_bytes:
            return ""
        return f"{needed} may be in flight, and its TCP window is {window}: give it a larger window"

    @property
    def waits_at_sender(self) -> bool:
        """Whether the sender's own port is full, so that its frames wait there without limit.

        The latencies of a dataset include such a queue.
        """
        held_back = bool(self.rates.held_back[self.index]) and self.refused is not None
        return held_back and bool(self.stream.produced_bps) and self.share.at == self.stream.path[0]

    @property
    def sent_again(self) -> str:
        """Reason why a TCP stream may wait for retransmissions; empty if it never waits for them."""
        full = next((port for port in self.stream.path if port in self.buffers.overflowing), "")
        if not full or not is_elastic(self.stream):
            return ""
        return f"the buffer of {full} may overflow, and what it drops is sent again after a timer"

    # --- metrics ------------------------------------------------------------------------------

    def metrics(self) -> dict[str, Estimate]:
        """Metrics of a stream with a dataset.

        The dataset answers for the stream beside other streams. Shared resources and buffers limit the
        goodput. The times of path and queues are added to the latency.
        """
        rates, share, index = self.rates, self.share, self.index
        own = {name: rates.beside.estimate(name, index) for name in rates.beside.metrics}
        most_bps = rates.alone.estimate("goodput_bps", index).high
        goodput, *others = (
            in_whole_frames(shared_goodput(own["goodput_bps"], one, most_bps), one)
            for one in (share, *self.other_shares)
        )
        goodput = with_other_shares(goodput, others)
        goodput = self.stated.with_least_core_time(goodput, share, own["goodput_bps"].high)
        if rates.by_window[index]:
            goodput = windowed(goodput)
        if rates.held_back[index] and share.elastic:
            own |= self.congested_latencies(goodput)
        elif self.added.full_s:
            own |= rates.alone.latencies(index)  # the wait at the full port is added later
        loss = self.buffers.losses.get(index)
        if loss is not None:
            goodput = after_buffer(goodput, loss)
        goodput = self.slowed(goodput)
        if self.stated.ends:
            own = self.stated.beside_dataset(own, self.path.contained_s)
        requested_bps = self.stream.requested_goodput_bps
        metrics = proportional_rates(own, goodput, share, requested_bps)
        metrics["goodput_bps"] = goodput
        if "loss_rate" in own:
            metrics["loss_rate"] = loss_rate(
                own["loss_rate"], goodput, own["goodput_bps"], share, self.other_shares
            )
        metrics |= latencies(own, self.added)
        if self.stated.ends:
            metrics |= self.stated.at_least(metrics)
        greatest = metrics.get("latency_max_s", absent(""))
        if self.sent_again and not greatest.absent:
            ends = (greatest.value, greatest.low, math.inf)
            metrics["latency_max_s"] = derived(greatest, ends, ("assumed",), self.sent_again)
        return metrics

    def slowed(self, goodput: Estimate) -> Estimate:
        """Lower the low of a TCP stream's goodput to 0 if a full buffer may slow the stream down."""
        port = self.buffers.slowed.get(self.index)
        if port is None or goodput.absent:
            return goodput
        why = f"other classes fill the buffer of {port}: TCP may slow down to nothing"
        return derived(goodput, (goodput.value, 0.0, goodput.high), ("derived", "assumed"), why)

    def congested_latencies(self, goodput: Estimate) -> dict[str, Estimate]:
        """Latencies of a TCP stream that gets less than it requests because of other streams.

        The latencies of the stream alone, at an unlimited rate, are multiplied by a ratio. The ratio is the stream's
        goodput alone, divided by its goodput beside the others.
        """
        rates, index = self.rates, self.index
        fastest = rates.fastest.estimate("goodput_bps", index)
        if fastest.absent or not 0 < goodput.value < fastest.value * (1 - SAME):
            return {}
        slowest = max(goodput.low, goodput.value / MOST_ENDPOINTS)
        reached = (goodput.value, max(goodput.high, goodput.value), slowest)
        ratios = [fastest.value / rate for rate in reached]
        known = rates.fastest.latencies(index)
        return {name: congested_latency(own, ratios, self.together) for name, own in known.items()}

    def metrics_by_theory(self, why: str) -> dict[str, Estimate]:
        """Metrics of a stream without a dataset, by theory or by the stated latency of its devices.

        ``why`` is the reason why no dataset answers.
        """
        stated, loss = self.stated, self.buffers.losses.get(self.index)
        if self.as_stated:
            return self.metrics_as_stated(loss)
        times = latencies_by_theory(self.stream, self.path, self.added, why)
        if stated.ends:
            times = stated.beside_theory(times)
        goodput = self.slowed(self.goodput_without_dataset(self.share, why))
        if loss is None:
            return {"goodput_bps": goodput, **times}
        goodput = after_buffer(goodput, loss)
        return {"goodput_bps": goodput, "loss_rate": loss_by_theory(loss, why), **times}

    def metrics_as_stated(self, loss: BufferLoss | None) -> dict[str, Estimate]:
        """Metrics of a stream whose devices both state their latency, and which sends its whole request."""
        share = self.share
        goodput = self.slowed(self.goodput_without_dataset(share, ""))
        others = (self.goodput_without_dataset(one, "") for one in self.other_shares)
        goodput = with_other_shares(goodput, others)
        sent = replace(goodput, value=share.sent_bps, low=share.sent_bps, high=share.sent_bps)
        if loss is not None:
            goodput = after_buffer(goodput, loss)
        none = Estimate(0.0, 0.0, 0.0, "stated", self.stated.why, ("stated",))
        times = self.stated.latencies(self.path, sent_at_once=frames_at_once(self.stream))
        added = latencies(times, self.added)
        least_s = times["latency_min_s"].low + self.path.application_s
        return {
            "goodput_bps": goodput,
            "loss_rate": loss_rate(none, goodput, sent, share, self.other_shares),
            **{name: replace(one, low=min(one.low, least_s)) for name, one in added.items()},
        }

    def goodput_without_dataset(
        self, share: StreamShare, why: str, *, at_once: bool = False
    ) -> Estimate:
        """Goodput of a stream without a dataset.

        Devices that both state their latency pass all that the network passes. Otherwise the links give
        only an upper limit.
        """
        if self.stated.both:
            by_window = bool(self.rates.by_window[self.index])
            goodput = self.stated.goodput(share, by_window=by_window, at_once=at_once)
        else:
            goodput = goodput_by_theory(share, why)
        goodput = in_whole_frames(goodput, share)
        most_bps = self.stream.requested_goodput_bps
        return self.stated.with_least_core_time(goodput, share, most_bps)

    def message_times(self, metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
        """Latencies of whole messages of several frames, if all streams send such messages at once."""
        if self.rates.shares_at_once is None or self.stream.frames_a_message == 1:
            return {}
        frames = {
            name: latency
            for name, latency in metrics.items()
            if name.startswith("latency_") and name != "latency_std_s"
        }
        made = self.stream.producer
        if made is not None and self.window_bytes < made.message_bytes:
            # each window waits for the acknowledgement of a frame of the one before
            windows, back_s = math.ceil(made.message_bytes / self.window_bytes), self.path.passing_s
            return {
                name: replace(one, low=windows * one.low + (windows - 1) * back_s)
                for name, one in unknown_times(frames, SMALL_WINDOW).items()
            }
        share, loss = self.rates.shares_at_once[self.index], self.buffers.losses.get(self.index)
        lossy = not share.elastic and share.rate_bps < share.sent_bps * (1 - SAME)
        if loss is not None:
            why = f"all senders at once may lose frames at the buffer of {loss.at}: no message need arrive whole"
            return dict.fromkeys((*frames, *MESSAGE_TIMES), absent(why))
        if lossy and share.at not in self.buffers.sizes_bits:
            return dict.fromkeys((*frames, *MESSAGE_TIMES), absent(LOST))
        share = replace(
            share, elastic=share.elastic or lossy
        )  # the sender's buffer holds the excess
        if self.refused is None:
            fastest = self.rates.fastest.estimate("goodput_bps", self.index)
            goodput = shared_goodput(fastest, share, fastest.high)
        else:
            goodput = self.goodput_without_dataset(share, self.refused, at_once=True)
        return {name: self.message_time(frame, goodput) for name, frame in frames.items()}

    @property
    def last_frame_paced_s(self) -> float:
        """Time from the first frame of a message to its last at the rate that the sender is set to; 0 without one."""
        paced_fps = self.stream.paced_fps
        return 0.0 if paced_fps is None else (self.stream.frames_a_message - 1) / paced_fps

    def message_time(self, frame: Estimate, goodput: Estimate) -> Estimate:
        """Latency of a whole message, derived from the latency of its last frame.

        If the frame's latency has no upper limit, the result is at least the time to transfer the message's bytes.
        """
        made, payload_bytes = self.stream.producer, self.stream.payload_bytes
        size_bytes = 0.0 if made is None else made.message_bytes
        if paced_s := self.last_frame_paced_s:
            frame = replace(frame, **{end: getattr(frame, end) + paced_s for end in ENDS})
            return replace(frame, why="; ".join(filter(None, (frame.why, "frames at the rate"))))
        if math.isfinite(frame.high):
            message = Message(max(size_bytes, payload_bytes + self.path.behind_bytes))
            return sent_at_once(message, payload_bytes, frame, goodput)
        if not goodput.high > 0:
            return frame
        before_s = 8 * self.path.behind_bytes / goodput.high
        return replace(frame, value=frame.value + before_s, low=frame.low + before_s)

    # --- bottleneck and bound -----------------------------------------------------------------

    def bottleneck(self, goodput: Estimate) -> tuple[str, str]:
        """Name and location of the stream's bottleneck, such as ``share`` and a port."""
        beside, index = self.rates.beside, self.index
        own = beside.estimate("goodput_bps", index)
        limit, where = bottleneck(int(beside.bottleneck[index]), self.share, own, goodput)
        by_window = limit == "request" and self.rates.by_window[index]
        return ("window" if by_window else limit), where

    def bound(
        self, arrives: Arrival, limit: str, goodput: Estimate
    ) -> tuple[LatencyBound | None, str]:
        """Worst-case latency bound of the stream's frames; ``None`` and the reason if no bound holds."""
        if arrives.grows:
            return None, f"its queue grows without limit: {arrives.why}"
        if less := self.less_passes(limit, goodput):
            return None, f"{less}: {arrives.why}" if arrives.why else less
        worst, stream = self.buffers.bounds, self.stream
        bound, made = worst.of(stream), stream.producer
        at_once = made is not None and made.kind in BURSTS
        most_bytes = made.message_bytes if made is not None and at_once else stream.payload_bytes
        if self.window_bytes < most_bytes:
            return None, SMALL_WINDOW
        if bound is not None and self.window_bytes < self.in_flight_bytes(bound.value_s):
            return None, SMALL_WINDOW
        if self.works_together:
            return None, WORK_TOGETHER
        if bound is None:
            return None, worst.why or self.sent_again or UNBOUNDED
        fastest_bps = self.rates.fastest.estimate("goodput_bps", self.index).value
        slowed = self.share.elastic and goodput.value < fastest_bps * (1 - SAME)
        if slowed and self.rates.held_back[self.index] and NETWORK not in bound.covers:
            return None, CROWDED
        covers, application_s = bound.covers, self.path.application_s
        if self.virtual and NETWORK not in covers:
            covers = (*covers, VIRTUAL)
        falls_short = goodput.low < stream.produced_bps * (1 - SAME)
        if falls_short and not {ARRIVING, NETWORK} & set(covers):
            covers = (*covers, TAKEN)
        with_applications = replace(
            bound,
            value_s=bound.value_s + application_s,
            covers=covers,
            application_s=application_s,
            whole=stream.frames_a_message == 1 or (at_once and not self.last_frame_paced_s),
        )
        return with_applications, ""

    def less_passes(self, limit: str, goodput: Estimate) -> str:
        """Reason why a stream that may get less than it requests has no bound; empty if a bound may hold.

        If the network drops frames of a stream without back-pressure, the bound holds for the frames
        that arrive. If a host holds frames back, no bound holds, even for an unlimited sender.
        """
        share, others, stream = self.share, self.other_shares, self.stream
        if share.by_host and not stream.produced_bps:
            return f"the host at {share.at} lets less pass than is sent"
        by_host = any(one.by_host for one in (share, *others)) or {limit, self.own_limit} & BY_HOSTS
        dropped = not share.elastic and not by_host
        least_bps = (stream.must_arrive_bps if dropped else stream.produced_bps) * (1 - SAME)
        short = limit != "request" and goodput.value < least_bps
        short |= share.elastic and goodput.high < least_bps
        short |= any(one.limited_at is not None and one.rate_bps < least_bps for one in others)
        by_buffer = dropped and self.index in self.buffers.losses
        return "less may pass than is requested" if short and not by_buffer else ""

    @property
    def own_limit(self) -> str:
        """Bottleneck of the stream in its dataset's answer; empty without an answer."""
        code = int(self.rates.beside.bottleneck[self.index])
        return BOTTLENECKS[code] if code >= 0 else ""


def limited_to(most_s: float, time: Estimate) -> Estimate:
    """Limit a latency to its bound [s]; what is unknown of it stays unknown."""
    value, low, high = (min(end, most_s) for end in time.ends)
    return replace(time, value=value, low=low, high=high)
