"""Predict a whole system: ask the datasets, share what streams share, and put both together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from icmodel.dataset import Dataset, catalogue
from icmodel.documents import group_by_key
from icmodel.estimate import Estimate, absent
from icmodel.message import AT_ONCE, Message, sent_at_once
from icmodel.model import Model
from icmodel.system.loads import Overload
from icmodel.system.namesake import notes_on_usecase
from icmodel.system.network import Stream, System
from icmodel.system.packing import AT_ONCE as BURSTS
from icmodel.system.packing import Packing, packing
from icmodel.system.prediction import path_times, throughput
from icmodel.system.prediction.arrival import (
    Arrival,
    arrival,
    of_what_arrives,
    overloaded_streams,
    without_times,
)
from icmodel.system.prediction.bounding import NETWORK, REFUSE, Bounded, bounded, hosts_s
from icmodel.system.prediction.buffers import Buffers, buffers
from icmodel.system.prediction.judging import judged
from icmodel.system.prediction.lanes import (
    HOSTS,
    Answers,
    Choice,
    Spoken,
    is_elastic,
    refusals,
    spoken,
)
from icmodel.system.prediction.latency import Added, added, held, latencies
from icmodel.system.prediction.queues import queues
from icmodel.system.prediction.result import (
    LatencyBound,
    StreamPrediction,
    SystemPrediction,
)
from icmodel.system.prediction.throughput import (
    MOST_ENDPOINTS,
    SAME,
    Carried,
    carried,
    devices,
    links,
    message,
    overloaded_hosts,
)

OVERLOAD = 1.001
"""A lane asked for this much of what it can carry stays full."""
MEAN = "latency_mean_s"
OF_MESSAGES = (MEAN, "latency_p99_s", "latency_max_s")
"""Times of whole messages that are told to be absent where none arrives whole."""
VIRTUAL = "the worst runs of a virtual machine"
BY_HOSTS = ("cpu", "packet-rate", "receiver", "window")
"""Bottlenecks in which frames wait at hosts, or are lost there."""
FULL = "more may come to a port of its path than that can send"
NO_FRAME = "no latency of a frame is known"
LOST = "all senders at once lose frames: no message arrives whole"


def predict(
    system: System,
    dataset: Model | Dataset | str | Path | Mapping[str, Model] | None = None,
    variant: str | None = None,
    *,
    cache: bool = True,
    worst: bool = True,
    cycles: str = REFUSE,
) -> SystemPrediction:
    """Goodput, latency and loss of every stream, load and queue of every link, CPU of every device.

    Each stream is asked of the dataset that speaks for its links: alone, as fast as it goes; alone, as
    it asks; and beside what meets it where it is held back, or where most is carried.

    Parameters
    ----------
    dataset : Model, Dataset, str, Path or mapping of Model, optional
        Speaks for all streams; by default that which the system names for hosts and links.  A Model keeps
        its tables for the next system; so do Models by the name the system gives their dataset.
    variant : str, optional
        Of the model; each dataset's own by default.
    cache : bool
        Whether fits of ``hybrid`` are kept in the user's cache folder.
    worst : bool
        With bounds of latency and backlog in the worst case.
    cycles : str
        Whether streams that wait for each other in a cycle have no bound (``refuse``) or one by a
        fixed point, if there is one (``fixed-point``).

    Raises
    ------
    DatasetError, ScenarioError
        If a dataset is missing or damaged, or there is no such variant. What a dataset cannot answer is
        no error: its numbers are absent, with the reason.
    """
    said = spoken(system, Choice(dataset, variant, cache))
    packed = packing(system)
    got = carried(system, packed, said)
    queued = queues(system, packed, got.shared, got.allocation)
    overloaded = got.allocation.arriving > got.allocation.could * OVERLOAD
    shifts = path_times.shifts(system, packed, said)
    bound = (
        bounded(system, packed, _hosts_s(system, packed, said, got.alone), cycles)
        if worst
        else Bounded({}, {}, {}, "bounds were not asked for")
    )
    held = buffers(system, packed, got.shared, got.allocation, queued, bound)
    worst_s = path_times.worst_waits_s(system, packed, held.bound.network)
    telling = _Telling(
        system=system,
        packed=packed,
        got=got,
        way=added(system, got.shared, held.queued, got.held_back, shifts, overloaded, worst_s),
        refused=refusals(system, said, got.alone),
        held=held,
        over=overloaded_streams(system),
        virtual=frozenset(virtual_hosts(said)),
        hosts=overloaded_hosts(system, got.alone, got.shared.flows.sent_with),
    )
    streams = telling.streams()
    result = SystemPrediction(
        system=system,
        datasets={one.model.data.id: one.model.data.sha256 for one in said.speakers},
        variants=tuple(dict.fromkeys(one.model.variant for one in said.speakers)),
        streams=streams,
        links=links(system, got.shared, got.allocation, held),
        devices=devices(system, streams, got.shared.flows.sent_with),
        notes=notes(system, said),
        asked=dict(_asked(dataset, variant, cycles)),
    )
    return replace(result, judged=judged(result))


def virtual_hosts(said: Spoken) -> Iterator[int]:
    """Streams whose dataset says that its hosts were virtual machines, by index."""
    for one in said.speakers:
        if any("virtual machine" in limit for limit in one.model.data.known_limits):
            yield from one.streams.tolist()


def _asked(
    dataset: Model | Dataset | str | Path | Mapping[str, Model] | None,
    variant: str | None,
    cycles: str,
) -> Iterator[tuple[str, str]]:
    """What is asked for besides the system, as the options of the command line have it."""
    data: object = dataset
    if isinstance(dataset, Model):
        data, variant = dataset.data, dataset.variant
    if isinstance(data, Dataset):
        data = data.id if data.id in catalogue() else data.folder
    if data is not None and not isinstance(data, Mapping):
        yield "dataset", str(data)
    if variant is not None:
        yield "variant", variant
    if cycles != REFUSE:
        yield "cycles", cycles


@dataclass(frozen=True, slots=True)
class _Telling:
    """All that is known of a system's streams, to be told stream by stream."""

    system: System
    packed: Packing
    got: Carried
    way: Sequence[Added]
    refused: Mapping[int, str]
    held: Buffers
    over: Mapping[str, Sequence[Overload]]
    hosts: Mapping[str, str]
    virtual: frozenset[int]

    def streams(self) -> dict[str, StreamPrediction]:
        """Every stream by name."""
        parts = throughput.parts(self.got.shared, self.got.allocation)
        return {
            name: self._stream(index, stream, parts[index])
            for index, (name, stream) in enumerate(self.system.streams.items())
        }

    def _stream(self, index: int, stream: Stream, part: throughput.Part) -> StreamPrediction:
        way = self.way[index]
        why = self.refused.get(index)
        if why is None:
            metrics = self._metrics(index, stream, part)
        else:
            metrics = self._by_theory(index, stream, part, way, why)
        times = self._message_times(index, stream, metrics)
        metrics[AT_ONCE] = times.get(MEAN, metrics.get(MEAN, absent(NO_FRAME)))
        limit, where = self._limit(index, part, metrics["goodput_bps"])
        over, host = self.over.get(stream.name, ()), self.hosts.get(stream.name, "")
        arrives = arrival(self.system, stream, metrics["goodput_bps"], limit, over, host)
        if arrives.grows:
            metrics, times = (without_times(some, arrives.why) for some in (metrics, times))
        elif metrics["goodput_bps"].low < stream.produced_bps * (1 - SAME):
            metrics, times = (of_what_arrives(some) for some in (metrics, times))
        terms = {name: time for name, time in way.shifts_s.items() if time}
        terms |= {f"queue at {port}": time for port, time in way.queues_s.items()}
        by = self._held_back(index, stream, part, limit, metrics["goodput_bps"])
        if by and not arrives.grows:
            bound, no_bound = None, f"{by}: {arrives.why}" if arrives.why else by
        else:
            bound, no_bound = self._bound(index, stream, arrives)
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

    def _limit(self, index: int, part: throughput.Part, goodput: Estimate) -> tuple[str, str]:
        """What limits a stream, and where."""
        own = self.got.beside.estimate("goodput_bps", index)
        limit, where = throughput.bottleneck(
            int(self.got.beside.bottleneck[index]), part, own, goodput
        )
        if limit == "request" and self.got.by_window[index]:
            limit = "window"
        return limit, where

    def _held_back(
        self, index: int, stream: Stream, part: throughput.Part, limit: str, goodput: Estimate
    ) -> str:
        """Why no bound holds of a stream of which less may pass than is asked; empty where one may.

        What the network drops of a stream without back-pressure leaves the bound of what arrives; what a host
        holds back does not, of an unlimited sender neither.
        """
        by_host = part.lane is not None and part.lane[0] in HOSTS
        hosts = by_host or limit in BY_HOSTS
        dropped = not part.elastic and not hosts
        least_bps = stream.must_arrive_bps if dropped else stream.produced_bps
        if by_host and not stream.produced_bps:
            return f"the host at {part.at} lets less pass than is sent"
        short = limit != "request" and goodput.value < least_bps * (1 - SAME)
        by_buffers = dropped and index in self.held.spills
        return "less may pass than is asked for" if short and not by_buffers else ""

    def _bound(
        self, index: int, stream: Stream, arrives: Arrival
    ) -> tuple[LatencyBound | None, str]:
        """The latency no frame exceeds, or why there is none."""
        if arrives.grows:
            return None, f"what waits grows without limit: {arrives.why}"
        own = path_times.application_s(self.system, stream)
        bound = self.held.bound.of(stream)
        if bound is None:
            return None, self.held.bound.why or self._again(stream) or FULL
        at_once = stream.frames_a_message == 1 or (
            stream.producer is not None and stream.producer.kind in BURSTS
        )
        network_s = self.held.bound.network[stream.name].value_s
        covers = bound.covers
        if index in self.virtual and NETWORK not in covers:
            covers = (*covers, VIRTUAL)
        found = replace(
            bound,
            value_s=bound.value_s + own,
            covers=covers,
            whole=at_once,
            network_s=network_s,
        )
        return found, ""

    def _metrics(self, index: int, stream: Stream, part: throughput.Part) -> dict[str, Estimate]:
        own = {name: self.got.beside.estimate(name, index) for name in self.got.beside.metrics}
        most = self.got.alone.estimate("goodput_bps", index).high
        got = throughput.goodput(own["goodput_bps"], part, most)
        if self.got.by_window[index]:
            got = throughput.windowed(got)
        if self.got.held_back[index] and part.elastic:
            own |= self._held(index, got)
        elif self.way[index].brim_s or self.way[index].full_s:
            own |= self._latencies(self.got.alone, index)
        asked_bps = stream.requested_goodput_bps
        spill = self.held.spills.get(index)
        if spill is not None:
            got = throughput.spilled(got, spill)
        found = throughput.following(own, got, part, asked_bps) | {"goodput_bps": got}
        if "loss_rate" in own:
            found["loss_rate"] = throughput.loss(own["loss_rate"], got, own["goodput_bps"], part)
        found |= latencies(own, self.way[index])
        again = self._again(stream)
        return throughput.sent_again(found, again) if again else found

    def _again(self, stream: Stream) -> str:
        """Why a TCP stream may wait for packets that are sent again; empty if it never does."""
        full = next((port for port in stream.path if port in self.held.overflowing), "")
        if not full or not is_elastic(stream):
            return ""
        return f"the buffer of {full} may overflow, and what it drops is sent again after a timer"

    def _held(self, index: int, got: Estimate) -> dict[str, Estimate]:
        """Latencies of a stream that is held back by others: those it has alone, as fast as it goes, longer."""
        fast = self.got.fast.estimate("goodput_bps", index)
        if fast.absent or not got.value > 0 or got.value >= fast.value * (1 - SAME):
            return {}
        slowest = max(got.low, got.value / MOST_ENDPOINTS)
        rates = (got.value, max(got.high, got.value), slowest)
        ratios = [fast.value / rate for rate in rates]
        limiting = self.got.allocation.limiting
        like_it = self.got.held_back & self.got.shared.flows.elastic
        together = int(np.count_nonzero(like_it & (limiting == limiting[index])))
        known = self._latencies(self.got.fast, index)
        return {name: held(one, ratios, together) for name, one in known.items()}

    def _latencies(self, answers: Answers, index: int) -> dict[str, Estimate]:
        """The latencies of a stream that are known."""
        named = [name for name in answers.metrics if name.startswith("latency_")]
        found = {name: answers.estimate(name, index) for name in named}
        return {name: one for name, one in found.items() if not one.absent}

    def _by_theory(
        self, index: int, stream: Stream, part: throughput.Part, way: Added, why: str
    ) -> dict[str, Estimate]:
        found = path_times.latencies_by_theory(self.system, self.packed, stream, way, why)
        goodput, spill = throughput.by_theory(part, why), self.held.spills.get(index)
        if spill is None:
            return {"goodput_bps": goodput, **found}
        lost = throughput.lost_by_theory(spill, why)
        return {"goodput_bps": throughput.spilled(goodput, spill), "loss_rate": lost, **found}

    def _message_times(
        self, index: int, stream: Stream, metrics: Mapping[str, Estimate]
    ) -> dict[str, Estimate]:
        """Latencies of whole messages of several frames, all that have such sending theirs at once."""
        sent = message(stream)
        if sent is None or self.got.at_once is None:
            return {}
        frames = {
            name: one
            for name, one in metrics.items()
            if name.startswith("latency_") and name != "latency_std_s"
        }
        part, spill = self.got.at_once[index], self.held.spills.get(index)
        if spill is not None:
            why = f"all senders at once may lose frames at the buffer of {spill.at}: no message need arrive whole"
            return dict.fromkeys((*frames, *OF_MESSAGES), absent(why))
        lossy = not part.elastic and part.rate_bps < part.sent_bps * (1 - SAME)
        if lossy and part.at not in self.held.sizes:
            return dict.fromkeys((*frames, *OF_MESSAGES), absent(LOST))
        part = replace(
            part, elastic=part.elastic or lossy
        )  # a stated buffer holds what does not fit
        if index in self.refused:
            goodput = throughput.by_theory(part, self.refused[index])
        else:
            fast = self.got.fast.estimate("goodput_bps", index)
            goodput = throughput.goodput(fast, part, fast.high)
        return {name: _whole(sent, stream, frame, goodput) for name, frame in frames.items()}


def _hosts_s(system: System, packed: Packing, said: Spoken, alone: Answers) -> dict[str, float]:
    """The most that the hosts of each stream add, by what its dataset has of it alone [s]."""
    found = {}
    contained = path_times.contained_s(system, packed, said)
    for index, stream in enumerate(system.streams.values()):
        most_s = hosts_s(alone.estimate("latency_max_s", index), contained[index])
        if most_s is not None:
            found[stream.name] = most_s
    return found


def _whole(message: Message, stream: Stream, frame: Estimate, goodput: Estimate) -> Estimate:
    """A latency of a whole message, by that of its last frame; at least what its bytes take if that has no upper end."""
    if math.isfinite(frame.high):
        return sent_at_once(message, stream.payload_bytes, frame, goodput)
    if frame.absent or goodput.absent or goodput.high <= 0:
        return frame
    behind = 8 * (message.size_bytes - stream.payload_bytes) / goodput.high
    return replace(frame, value=frame.value + behind, low=frame.low + behind)


def notes(system: System, said: Spoken) -> tuple[str, ...]:
    """Sentences, those that bear on verdicts first, each once."""
    streams = list(system.streams.values())
    silent = group_by_key((why, streams[index].group) for index, why in said.silent.items())
    refused = (f"{', '.join(dict.fromkeys(groups))}: {why}" for why, groups in silent.items())
    known = (note for one in said.speakers for note in one.notes)
    return tuple(dict.fromkeys((*refused, *notes_on_usecase(system), *known)))
