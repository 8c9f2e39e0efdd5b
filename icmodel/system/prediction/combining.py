"""Combine the results of all earlier steps into predictions of streams, of links and of devices.

The prediction of a stream has its goodput, its latency, its latency bound, and whether all its data arrive. The
prediction of a link has the load and queue of both directions. The prediction of a device has the processor load.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from icmodel.arrays import Ints
from icmodel.estimate import BOTTLENECKS, Estimate, absent, weakest
from icmodel.system.network import SIDES, Device, Stream, Switch, System
from icmodel.system.prediction.answers import StreamQuestions
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.buffers import ARRIVING, Buffers
from icmodel.system.prediction.delays import AddedLatency
from icmodel.system.prediction.goodput import (
    StreamGoodput,
    arrival,
    overloaded_hosts,
    overloaded_streams,
    stream_goodput,
)
from icmodel.system.prediction.latency import (
    frame_latencies,
    limited_to,
    message_times,
    of_every_frame,
    times_of_arrivals,
    unknown_times,
    without_times,
)
from icmodel.system.prediction.path_times import PathTimes
from icmodel.system.prediction.resources import PORT, StreamShare
from icmodel.system.prediction.result import (
    GREATEST_LATENCY,
    MEAN_LATENCY,
    MESSAGE_LATENCY,
    Arrival,
    DevicePrediction,
    LatencyBound,
    LinkPrediction,
    PortPrediction,
    StreamPrediction,
    derived,
)
from icmodel.system.prediction.stated import StatedTimes
from icmodel.system.prediction.throughput import Throughput
from icmodel.system.prediction.windows import SMALL_WINDOW, StreamWindow
from icmodel.system.sharing import SAME
from icmodel.system.traffic import Overload, PortLoad

VIRTUAL = "the worst runs of a virtual machine"
BY_HOSTS = frozenset({"cpu", "packet-rate", "receiver", "window"})
"""Bottlenecks in hosts, where frames wait or are lost."""
BUFFER = "buffer"
"""Name of the bottleneck if a stream loses data only at a stated buffer."""
TAKEN = "frames that hosts take"
"""Limit of a latency bound: it holds only for frames that hosts accept. Hosts may drop or hold back other frames."""
WORK_TOGETHER = "the time that hosts work on frames that come together has no bound"
FULL_INTERFACE = "the sender's own port is full, and its frames wait there without limit"
UNBOUNDED = "more may come to a port of its path than the port can send"
CROWDED = "other streams hold it back, so its frames may wait in its host longer than alone"
NO_LATENCY = "no latency of a frame is known"


@dataclass(frozen=True, slots=True)
class StageResults:
    """Results of the earlier steps of a system prediction, which are combined into predictions.

    ``stated``, ``paths`` and ``added`` have an entry for each stream, in the system's order.

    Parameters
    ----------
    questions : StreamQuestions
        Questions to the datasets.
    stated : sequence of StatedTimes
        Streams, with the latency and core time that their devices state.
    paths : sequence of PathTimes
        Times of frames on their paths without other traffic.
    rates : Throughput
        Goodputs of the streams, and their shares of all resources.
    overloaded : sequence of Overload
        Overloaded ports.
    buffers : Buffers
        Effects of stated buffers, with queues and bounds.
    added : sequence of AddedLatency
        Delays of path and queues.
    """

    questions: StreamQuestions
    stated: Sequence[StatedTimes]
    paths: Sequence[PathTimes]
    rates: Throughput
    overloaded: Sequence[Overload]
    buffers: Buffers
    added: Sequence[AddedLatency]


def stream_predictions(system: System, stages: StageResults) -> dict[str, StreamPrediction]:
    """Combine the results of all earlier steps to a prediction for each stream of a system, by stream name."""
    rates, buffers = stages.rates, stages.buffers
    overloads = overloaded_streams(system, stages.overloaded)
    full_hosts = overloaded_hosts(system, rates.alone.requested, rates.resources.flows.sent_with)
    working = working_together(system)
    virtual = stages.questions.between_virtual_machines()
    found = {}
    for index, (name, stream) in enumerate(system.streams.items()):
        times, path, added = stages.stated[index], stages.paths[index], stages.added[index]
        goodput = stream_goodput(index, rates, times, buffers)
        limits = bool(rates.by_window[index])
        window = StreamWindow.of(rates.windows, index, stream, limits=limits)
        frames = frame_latencies(index, rates, times, goodput, added, buffers, path)
        metrics = {**goodput.metrics, **frames}
        metrics |= times.busy_cores(metrics["goodput_bps"], rates.shares[index])
        messages = message_times(metrics, window, goodput, path)
        results = _StreamResults(
            index=index,
            rates=rates,
            stated=times,
            window=window,
            goodput=goodput,
            path=path,
            added=added,
            buffers=buffers,
            virtual=index in virtual,
            works_together=not working.isdisjoint({(stream.source, "send"), (stream.sink, "recv")}),
        )
        full_host = full_hosts.get(name, "")
        found[name] = results.prediction(
            system, metrics, messages, overloads.get(name, ()), full_host
        )
    return found


def working_together(system: System) -> set[tuple[str, str]]:
    """Find the devices at which frames that come together may take longer than a frame that comes alone.

    The result has pairs of a device's name and a side, ``send`` or ``recv``. A device is listed if several frames may
    come together, and one of two conditions holds:

    - Its application takes time for each frame; it processes one frame after the other.
    - The core time of these frames, divided by the number of cores, exceeds the latency that the device states for
      one frame.
    """
    frames: Counter[tuple[str, str]] = Counter()
    for copies in system.multicast_sets().values():
        several = copies[0].frames_a_message if copies[0].sent_at_once else 1
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
    """Results of all earlier steps of a system prediction for one stream; `prediction` combines them.

    Parameters
    ----------
    index : int
        Index of the stream in the system.
    stated : StatedTimes
        The stream, with the latency and core time that its devices state.
    virtual : bool
        Whether the stream's dataset was measured between virtual machines.
    works_together : bool
        Whether frames that come together may wait for each other's processing at the sender or the receiver. If so,
        the stream has no latency bound.
    """

    index: int
    rates: Throughput
    stated: StatedTimes
    window: StreamWindow
    goodput: StreamGoodput
    path: PathTimes
    added: AddedLatency
    buffers: Buffers
    virtual: bool
    works_together: bool

    @property
    def stream(self) -> Stream:
        """Stream to which all these results belong."""
        return self.stated.stream

    @property
    def share(self) -> StreamShare:
        """Stream's share of the resources: its rates while the other streams send, and the resource that limits it."""
        return self.rates.shares[self.index]

    def prediction(
        self,
        system: System,
        metrics: dict[str, Estimate],
        times: dict[str, Estimate],
        overloaded: Sequence[Overload],
        full_host: str,
    ) -> StreamPrediction:
        """Decide whether all data of the stream arrive, and find its latency bound.

        If frames may wait for any time, the stream's latencies become absent or unknown. If only data are lost, the
        latencies get the note that they count only frames that arrive.

        Parameters
        ----------
        metrics : dict
            Goodput, loss, rates and frame latencies of the stream.
        times : dict
            Latencies of its messages, if a message has several frames.
        overloaded : sequence of Overload
            Overloaded ports on the stream's path.
        full_host : str
            Reason why a host of the stream surely has too few cores; empty otherwise.
        """
        stream, limit, where = self.stream, self.goodput.limit, self.goodput.at
        mean = metrics.get(MEAN_LATENCY, absent(NO_LATENCY))
        metrics[MESSAGE_LATENCY] = times.get(MEAN_LATENCY, mean)
        if overfull := self.window.overfull(mean):
            low = replace(metrics["goodput_bps"], low=0.0)
            metrics["goodput_bps"] = derived(low, low.ends, ("assumed",), overfull)
        goodput = metrics["goodput_bps"]

        small = "" if self.window.holds_frame else SMALL_WINDOW
        arrives = arrival(system, stream, goodput, limit, overloaded, full_host)
        if arrives.grows:
            metrics, times = without_times(metrics, arrives.why), without_times(times, arrives.why)
        elif why := self.waits_at_sender or overfull or small:
            metrics, times = unknown_times(metrics, why), unknown_times(times, why)
        elif goodput.low < stream.produced_bps * (1 - SAME):
            metrics, times = times_of_arrivals(metrics), times_of_arrivals(times)

        bound, no_bound = self.bound(arrives, goodput)
        metrics, times = self.limited_message_times(bound, metrics, times)
        metrics, times = self.latencies_within_burst(bound, metrics, times)
        loss = self.buffers.losses.get(self.index)
        if limit == "request" and loss is not None and loss.value > SAME:
            limit, where = BUFFER, loss.at
        terms = {cause: time for cause, time in self.added.shifts_s.items() if time}
        terms |= {f"queue at {port}": time for port, time in self.added.queues_s.items()}
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
    def waits_at_sender(self) -> str:
        """Reason why the queue at the sender's own port grows without limit; empty if it does not grow.

        Only a stream without a dataset can have such a reason: the latencies of a dataset already include the wait in
        this queue.
        """
        held_back = self.rates.held_back[self.index] and self.index in self.rates.alone.refused
        full = self.stream.produced_bps and self.share.at == self.stream.path[0]
        return FULL_INTERFACE if held_back and full else ""

    def limited_message_times(
        self, bound: LatencyBound | None, metrics: dict[str, Estimate], times: dict[str, Estimate]
    ) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
        """Limit message times to the worst-case bound; no change if the bound holds only for single frames.

        There are three cases:

        - The bound includes the hosts: value, low and high are limited to it.
        - The bound does not include them, and the stream has a dataset: its times include the hosts, so they stay
          unchanged.
        - The bound does not include them, and the stream has no dataset: value and low are limited to the bound plus
          the times that its devices state. The high end stays, since the hosts may add any time.
        """
        if bound is None or not bound.whole:
            return metrics, times
        most_s = bound.value_s
        if self.covers_hosts(bound):
            latency = limited_to(most_s, metrics[MESSAGE_LATENCY])
            times = {name: limited_to(most_s, one) for name, one in times.items()}
            return {**metrics, MESSAGE_LATENCY: latency}, times
        if self.index not in self.rates.alone.refused:
            return metrics, times
        least_s = most_s + self.stated.least_s  # hosts without a dataset may add 0 s
        return metrics, {
            name: replace(
                one,
                value=min(one.value, most_s + self.stated.value_s(name)),
                low=min(one.low, least_s),
            )
            for name, one in times.items()
        }

    def latencies_within_burst(
        self, bound: LatencyBound | None, metrics: dict[str, Estimate], times: dict[str, Estimate]
    ) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
        """Raise the high ends of frame latencies so that they hold for every frame of a message, not only the first.

        Frames that are sent at once wait for each other. So a frame may take as long as its message. The high ends are
        limited to the worst-case bound.
        """
        stream, most_s = self.stream, math.inf if bound is None else bound.value_s
        if self.stated.passes_whole(self.share):
            metrics = {**metrics, **self.stated.bounded(metrics, most_s)}
            greatest, why = times.get(GREATEST_LATENCY, absent("")), metrics[GREATEST_LATENCY].why
            if math.isinf(metrics[GREATEST_LATENCY].high) and not greatest.absent:
                times = {**times, GREATEST_LATENCY: replace(greatest, high=math.inf, why=why)}
        elif stream.frames_a_message > 1 and stream.sent_at_once and not self.path.spaced_s(stream):
            most_s = most_s if self.covers_hosts(bound) else math.inf
            metrics = {**metrics, **of_every_frame(metrics, times, most_s)}
        return metrics, times

    def covers_hosts(self, bound: LatencyBound | None) -> bool:
        """Whether a bound includes the hosts, and holds for every frame that arrives.

        A bound marked `TAKEN` holds only for frames that the hosts accept. For a stream without back-pressure, these
        are all frames that arrive, since hosts drop the others. The hosts of a TCP stream hold frames back instead of
        dropping them, so such a bound does not hold for a TCP stream.
        """
        if bound is None or NETWORK in bound.covers:
            return False
        return not (TAKEN in bound.covers and self.share.elastic)

    # --- latency bound ------------------------------------------------------------------------

    def bound(self, arrives: Arrival, goodput: Estimate) -> tuple[LatencyBound | None, str]:
        """Worst-case latency bound of a stream's frames and an empty text; without bound, ``None`` and the reason."""
        if arrives.grows:
            return None, f"its queue grows without limit: {arrives.why}"
        if less := self.why_less_passes(goodput):
            return None, f"{less}: {arrives.why}" if arrives.why else less
        bound, stream = self.buffers.bounds.of(self.stream.name), self.stream
        if not self.window.holds(None if bound is None else bound.value_s):
            return None, SMALL_WINDOW
        if self.works_together:
            return None, WORK_TOGETHER
        if bound is None:
            return None, self.buffers.bounds.why or self.buffers.sent_again.get(
                self.index
            ) or UNBOUNDED
        fastest_bps = self.rates.alone.fastest.estimate("goodput_bps", self.index).value
        slowed = self.share.elastic and goodput.value < fastest_bps * (1 - SAME)
        if slowed and self.rates.held_back[self.index] and NETWORK not in bound.covers:
            return None, CROWDED
        covers, application_s = bound.covers, self.path.application_s
        if self.virtual and NETWORK not in covers:
            covers = (*covers, VIRTUAL)
        falls_short = goodput.low < stream.produced_bps * (1 - SAME)
        if falls_short and not {ARRIVING, NETWORK} & set(covers):
            covers = (*covers, TAKEN)
        whole = stream.sent_at_once and not stream.last_frame_paced_s
        with_applications = replace(
            bound,
            value_s=bound.value_s + application_s,
            covers=covers,
            application_s=application_s,
            whole=stream.frames_a_message == 1 or whole,
        )
        return with_applications, ""

    def why_less_passes(self, goodput: Estimate) -> str:
        """Reason text if possibly not all data of a stream passes, so that it has no latency bound; otherwise empty.

        If only the network drops frames, a stream without back-pressure still has a bound: it holds for the frames that
        arrive. If a host limits the stream, there is no bound, since frames may wait at the host for any time. This
        holds for every unlimited sender that a host limits, since the sender keeps the host's buffers full.
        """
        share, others, stream = self.share, self.rates.other_shares(self.index), self.stream
        if share.by_host and not stream.produced_bps:
            return f"the host at {share.at} passes less than is sent"
        code = int(self.rates.beside.bottleneck[self.index])
        own_limit = BOTTLENECKS[code] if code >= 0 else ""
        limits = {self.goodput.limit, own_limit}
        by_host = any(one.by_host for one in (share, *others)) or limits & BY_HOSTS
        dropped = not share.elastic and not by_host
        least_bps = (stream.must_arrive_bps if dropped else stream.produced_bps) * (1 - SAME)
        short = self.goodput.limit != "request" and goodput.value < least_bps
        short |= share.elastic and goodput.high < least_bps
        short |= any(one.limited_at is not None and one.rate_bps < least_bps for one in others)
        by_buffer = dropped and self.index in self.buffers.losses
        return "less than the requested goodput may pass" if short and not by_buffer else ""


# --- links and devices ------------------------------------------------------------------------


def link_usage(
    system: System, rates: Throughput, at_ports: Iterable[PortLoad], buffers: Buffers
) -> dict[str, LinkPrediction]:
    """Predict the load and the queue of every link in both directions, by name of the link."""
    carried = rates.resources.sum_over_classes(rates.allocation.load)
    demand = rates.resources.sum_over_classes(rates.allocation.demand)
    requested = {load.port.name: load.mean_bps for load in at_ports}
    bases = ("derived", "assumed")
    links: dict[str, dict[str, PortPrediction]] = {name: {} for name in system.links}
    for name, port in system.ports.items():
        node = system.node(port.node)
        buffer = node.buffer_bytes if isinstance(node, Switch) else None
        ratio = max(demand.get((PORT, name), 0.0), requested.get(name, 0.0)) / port.rate_bps
        grows = ratio > 1 + SAME
        mean_bytes = math.inf if grows else buffers.queues.backlog_bytes.get(name, 0.0)
        bound_bytes = buffers.bounds.backlog_bytes.get(name)
        if math.isinf(mean_bytes):
            bound_bytes = buffer
        elif bound_bytes is not None:
            mean_bytes = min(mean_bytes, bound_bytes)
        most_bytes = math.inf if mean_bytes else 0.0
        queue = Estimate(mean_bytes, 0.0, most_bytes, "assumed", "by Little's law", bases)
        if math.isinf(
            mean_bytes
        ):  # the queue of a full port is between 0 and the size of its buffer
            queue = absent(f"{name} is full: its queue grows until its buffer is full")
            if buffer is not None:
                queue = Estimate(buffer, 0.0, buffer, "assumed", queue.why, bases)
        links[port.link][name] = PortPrediction(
            load_ratio=carried.get((PORT, name), 0.0) / port.rate_bps,
            asked_ratio=ratio,
            backlog_mean_bytes=queue,
            backlog_bound_bytes=bound_bytes,
        )
    return {name: LinkPrediction(ports) for name, ports in links.items()}


def device_usage(
    system: System, streams: Mapping[str, StreamPrediction], sent_with: Ints
) -> dict[str, DevicePrediction]:
    """Predict the processor load of every device, by name of the device.

    Parameters
    ----------
    sent_with : array of int (streams,)
        For each stream, index of the stream that its sender sends in its place: the first copy for all copies of a
        multicast set, otherwise the stream itself. So a sender works only once for all copies.
    """
    work: dict[str, list[tuple[Stream, Estimate]]] = {name: [] for name in system.devices}
    for index, prediction in enumerate(streams.values()):
        for end, side in SIDES:
            if side == "send" and sent_with[index] != index:
                continue
            name = f"cpu_{side}_cores"
            no_dataset = prediction.metrics["goodput_bps"].why or "its dataset"
            busy = prediction.metrics.get(name) or absent(f"{no_dataset} gives no {name}")
            work[getattr(prediction.stream, end)].append((prediction.stream, busy))
    return {name: _processor(system.devices[name], some) for name, some in work.items()}


def _processor(device: Device, work: list[tuple[Stream, Estimate]]) -> DevicePrediction:
    """Processor load of a device: the sum of its streams' busy cores, including application work."""
    unknown = next((busy for _, busy in work if busy.absent), None)
    if unknown is not None:
        return DevicePrediction(absent(unknown.why), absent(unknown.why), ())

    # lows add up, and so do highs: errors of one dataset have the same direction
    known = sorted(
        (busy for _, busy in work), key=lambda one: (one.value, one.low, one.high, one.basis)
    )
    bases = dict.fromkeys(("derived" if known else "theory", *(one.basis for one in known)))
    value, low, high = (sum(one.ends[end] for one in known) for end in range(3))
    why = f"the sum over {len(known)} ends of streams"
    total = Estimate(value, low, high, weakest(tuple(bases)), why, tuple(bases))
    if device.cores is None:
        why = f"the number of cores of {device.name} is unknown: give cores"
        return DevicePrediction(absent(why), total, ())

    # a host limits its streams, so its busy cores never exceed its cores
    value, low, high = (min(end, float(device.cores)) for end in total.ends)
    busy = replace(total, value=value, low=low, high=high)
    value, low, high = (min(end / device.cores, 1.0) for end in busy.ends)
    why = f"of {device.cores} cores; {busy.why}"
    utilisation = replace(busy, value=value, low=low, high=high, why=why)

    # utilisation of each core: processes are assumed to be placed on the least loaded cores, the busiest stream first;
    # a stream without a stated number of cores uses as few cores as it needs
    load = [0.0] * device.cores
    for stream, cores in sorted(work, key=lambda one: (-one[1].value, one[0].name)):
        count = min(stream.cores or max(math.ceil(cores.value), 1), device.cores)
        for core in sorted(range(device.cores), key=lambda core: (load[core], core))[:count]:
            load[core] = min(load[core] + cores.value / count, 1.0)
    return DevicePrediction(utilisation, busy, tuple(sorted(load, reverse=True)))
