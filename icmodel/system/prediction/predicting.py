"""Predict a whole system: ask the datasets, share what streams share, and put both together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from icmodel.dataset import Dataset
from icmodel.estimate import Estimate, absent
from icmodel.message import AT_ONCE, Message, sent_at_once
from icmodel.model import Model
from icmodel.system.network import Stream, System
from icmodel.system.packing import Packing, packing
from icmodel.system.prediction import path_times, shares
from icmodel.system.prediction.asking import Answers, Choice, Spoken, refusals, spoken
from icmodel.system.prediction.bounding import REFUSE, Bounded, Hosts, bounded, hosts
from icmodel.system.prediction.judging import judged
from icmodel.system.prediction.lanes import PORT
from icmodel.system.prediction.latency import Added, added, held, latencies
from icmodel.system.prediction.ports import links
from icmodel.system.prediction.processors import devices
from icmodel.system.prediction.queues import queues
from icmodel.system.prediction.result import (
    LatencyBound,
    StreamPrediction,
    SystemPrediction,
)
from icmodel.system.prediction.throughput import MOST_ENDPOINTS, SAME, Carried, carried, message

OVERLOAD = 1.001
"""A lane asked for this much of what it can carry stays full."""


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
        bounded(system, packed, _hosts(system, packed, said, got.alone), cycles)
        if worst
        else Bounded({}, {}, {}, "bounds were not asked for")
    )
    worst_s = path_times.worst_waits_s(system, packed, bound.network)
    telling = _Telling(
        system=system,
        packed=packed,
        got=got,
        way=added(system, got.shared, queued, got.held_back, shifts, overloaded, worst_s),
        refused=refusals(system, said, got.alone),
        bound=bound,
    )
    streams = telling.streams()
    result = SystemPrediction(
        system=system,
        datasets={one.model.data.id: one.model.data.sha256 for one in said.speakers},
        variants=tuple(dict.fromkeys(one.model.variant for one in said.speakers)),
        streams=streams,
        links=links(system, got.shared, got.allocation, queued, bound),
        devices=devices(system, streams, got.shared.flows.sent_with),
        notes=tuple(dict.fromkeys(note for one in said.speakers for note in one.notes)),
    )
    return replace(result, judged=judged(result))


@dataclass(frozen=True, slots=True)
class _Telling:
    """All that is known of a system's streams, to be told stream by stream."""

    system: System
    packed: Packing
    got: Carried
    way: Sequence[Added]
    refused: Mapping[int, str]
    bound: Bounded

    def streams(self) -> dict[str, StreamPrediction]:
        """Every stream by name."""
        parts = shares.parts(self.got.shared, self.got.allocation)
        return {
            name: self._stream(index, stream, parts[index])
            for index, (name, stream) in enumerate(self.system.streams.items())
        }

    def _stream(self, index: int, stream: Stream, part: shares.Part) -> StreamPrediction:
        way = self.way[index]
        why = self.refused.get(index)
        if why is None:
            metrics = self._metrics(index, stream, part)
        else:
            metrics = self._by_theory(stream, part, way, why)
        metrics[AT_ONCE] = self._message_latency(index, stream, metrics)
        own = self.got.beside.estimate("goodput_bps", index)
        code = int(self.got.beside.bottleneck[index])
        limit, where = shares.bottleneck(code, part, own, metrics["goodput_bps"])
        if limit == "request" and self.got.by_window[index]:
            limit = "window"
        terms = {name: time for name, time in way.shifts_s.items() if time}
        terms |= {f"queue at {port}": time for port, time in way.queues_s.items()}
        bound, no_bound = self._bound(index, stream, part)
        return StreamPrediction(stream, metrics, limit, where, terms, bound, no_bound)

    def _bound(
        self, index: int, stream: Stream, part: shares.Part
    ) -> tuple[LatencyBound | None, str]:
        """The latency no frame exceeds, or why there is none."""
        by_host = part.lane is not None and part.lane[0] != PORT
        if self.got.by_window[index] or (by_host and math.isfinite(stream.requested_goodput_bps)):
            by = "its window" if self.got.by_window[index] else f"the host at {part.at}"
            return None, f"{by} lets less pass than is asked for, so that more and more waits"
        own = path_times.application_s(self.system, stream)
        bound = self.bound.of(stream)
        if bound is None:
            full = "more may come to a port of its path than that can send"
            return None, self.bound.why or full
        return replace(bound, value_s=bound.value_s + own), ""

    def _metrics(self, index: int, stream: Stream, part: shares.Part) -> dict[str, Estimate]:
        own = {name: self.got.beside.estimate(name, index) for name in self.got.beside.metrics}
        most = self.got.alone.estimate("goodput_bps", index).high
        got = shares.goodput(own["goodput_bps"], part, most)
        if self.got.by_window[index]:
            got = shares.windowed(got)
        if self.got.held_back[index] and part.elastic:
            own |= self._held(index, got)
        elif self.way[index].brim_s or self.way[index].full_s:
            own |= self._latencies(self.got.alone, index)
        asked_bps = stream.requested_goodput_bps
        found = shares.following(own, got, part, asked_bps) | {"goodput_bps": got}
        if "loss_rate" in own:
            found["loss_rate"] = shares.loss(own["loss_rate"], got, own["goodput_bps"], part)
        return found | latencies(own, self.way[index])

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
        self, stream: Stream, part: shares.Part, way: Added, why: str
    ) -> dict[str, Estimate]:
        found = path_times.latencies_by_theory(self.system, self.packed, stream, way, why)
        return {"goodput_bps": shares.by_theory(part, why), **found}

    def _message_latency(
        self, index: int, stream: Stream, metrics: Mapping[str, Estimate]
    ) -> Estimate:
        frame = metrics.get("latency_mean_s", absent("no latency of a frame is known"))
        sent = message(stream)
        if sent is None or self.got.at_once is None:
            return frame
        part = self.got.at_once[index]
        if not part.elastic and part.rate_bps < part.sent_bps * (1 - SAME):
            return absent("all senders at once lose frames: no message arrives whole")
        if index in self.refused:
            goodput = shares.by_theory(part, self.refused[index])
        else:
            fast = self.got.fast.estimate("goodput_bps", index)
            goodput = shares.goodput(fast, part, fast.high)
        if not math.isfinite(frame.high):
            return _at_least(sent, stream, frame, goodput)
        return sent_at_once(sent, stream.payload_bytes, frame, goodput)


def _hosts(system: System, packed: Packing, said: Spoken, alone: Answers) -> dict[str, Hosts]:
    """What the hosts of each stream add, by what its dataset has of it alone."""
    found = {}
    contained = path_times.contained_s(system, packed, said)
    for index, stream in enumerate(system.streams.values()):
        least, greatest = (alone.estimate(f"latency_{end}_s", index) for end in ("min", "max"))
        own = hosts(least, greatest, contained[index])
        if own is not None:
            found[stream.name] = own
    return found


def _at_least(message: Message, stream: Stream, frame: Estimate, goodput: Estimate) -> Estimate:
    """A message whose frames have no greatest latency: at least what its bytes take."""
    if frame.absent or goodput.absent or goodput.high <= 0:
        return frame
    behind = 8 * (message.size_bytes - stream.payload_bytes) / goodput.high
    return replace(frame, value=frame.value + behind, low=frame.low + behind)
