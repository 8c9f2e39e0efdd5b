"""Predict a whole system: ask the datasets, share what streams share, and put both together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.dataset import Dataset
from icmodel.estimate import Estimate, absent
from icmodel.message import AT_ONCE, Message, sent_at_once
from icmodel.model import Model
from icmodel.system.network import Stream, System
from icmodel.system.prediction import getting, ways
from icmodel.system.prediction.bounding import Bounded, bounded
from icmodel.system.prediction.judging import judged
from icmodel.system.prediction.packing import Packing, packing
from icmodel.system.prediction.ports import links
from icmodel.system.prediction.processors import devices
from icmodel.system.prediction.queues import queues
from icmodel.system.prediction.result import (
    LatencyBound,
    StreamPrediction,
    SystemPrediction,
)
from icmodel.system.prediction.sharing import INTERFACE, PROCESSOR, Shared, crowd, shared
from icmodel.system.prediction.speaking import Answers, Choice, Spoken, ask, refusals, spoken
from icmodel.system.prediction.waiting import Added, added, held, latency
from icmodel.system.sharing.allocation import Allocation
from icmodel.system.sharing.overload import NOWHERE

SAME = 1e-9
OVERLOAD = 1.001
"""A lane asked for this much of what it can carry stays full."""
MOST_ENDPOINTS = 1e6
BY_THEORY = ("latency_mean_s", "latency_std_s", "latency_p99_s", "latency_max_s")
"""Latencies of a stream that no dataset speaks for."""


def predict(
    system: System,
    dataset: Model | Dataset | str | Path | Mapping[str, Model] | None = None,
    variant: str | None = None,
    *,
    cache: bool = True,
    worst: bool = True,
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

    Raises
    ------
    DatasetError, ScenarioError
        If a dataset is missing or damaged, or there is no such variant. What a dataset cannot answer is
        no error: its numbers are absent, with the reason.
    """
    said = spoken(system, Choice(dataset, variant, cache))
    size = said.size
    fast = ask(said, {"rate_fps": np.full(size, np.inf)})
    alone = ask(said, {})
    able = _or_infinite(np.fmax(fast.value("goodput_bps"), alone.value("goodput_bps")))
    packed = packing(system)
    found = shared(system, packed, alone, able)
    offered = _offered(system, found, alone, able)
    allocation = found.allocation(offered)
    answers = ask(said, _beside(found, allocation, able))
    queued = queues(system, packed, found, allocation)
    held_back = allocation.rate_bps < _requested(system) * (1 - SAME)
    overloaded = allocation.arriving > allocation.could * OVERLOAD
    way = added(system, found, queued, held_back, ways.shifts(system, packed, said), overloaded)
    hurry = _all_at_once(system, found, offered, able)
    bound = bounded(system, packed) if worst else Bounded({}, {}, "bounds were not asked for")
    telling = _Telling(
        system,
        packed,
        found,
        allocation,
        answers,
        fast,
        way,
        refusals(system, said, alone),
        hurry,
        alone,
        bound,
        held_back,
    )
    streams = telling.streams()
    result = SystemPrediction(
        system=system,
        datasets={one.model.data.id: one.model.data.sha256 for one in said.speakers},
        variants=tuple(dict.fromkeys(one.model.variant for one in said.speakers)),
        streams=streams,
        links=links(system, found, allocation, queued, bound),
        devices=devices(system, answers),
        notes=_notes(said),
    )
    return replace(result, judged=judged(result))


# --- asking beside others ---------------------------------------------------------------------


def _or_infinite(values: Floats) -> Floats:
    return np.where(np.isnan(values), np.inf, values)


def _requested(system: System) -> Floats:
    return np.array([one.requested_goodput_bps for one in system.streams.values()])


def _offered(system: System, found: Shared, alone: Answers, able: Floats) -> Floats:
    """What each stream asks for or sends [b/s], by itself."""
    request, sent = _requested(system), alone.value("sent_bps")
    lossy = np.where(np.isnan(sent), request, np.minimum(sent, request))
    return np.where(found.elastic, np.minimum(request, able), lossy)


def _beside(found: Shared, allocation: Allocation, able: Floats) -> dict[str, Floats]:
    """``endpoints`` and ``other_goodput_bps`` of each stream.

    The others get what leaves this stream its share of what it could have alone, where they leave it less;
    else what they get where it meets most, but no more than leaves it that.  Of streams without
    back-pressure that meet at a receiver, its rows and rules say what is lost of what all offer.
    """
    limited = allocation.limiting != NOWHERE
    place = np.where(limited, allocation.limiting, _busiest(found, allocation))
    endpoints, others = crowd(found, allocation, place)
    kinds = np.array([kind for kind, _, _ in found.keys] + [""])
    received = ~found.elastic & (kinds[place] == INTERFACE)
    rate = np.maximum(allocation.rate_bps, able / MOST_ENDPOINTS)
    with np.errstate(invalid="ignore"):  # of what nobody speaks for
        left = np.maximum(able - allocation.rate_bps, 0.0)
        least = np.ceil(able / rate - SAME)
    held = limited & ~received
    least = np.where(np.isfinite(least), least, 1.0)
    endpoints = np.where(held, np.maximum(endpoints, np.minimum(least, MOST_ENDPOINTS)), endpoints)
    others = np.where(held, left, np.where(received & limited, others, np.fmin(others, left)))
    others = np.where(np.isfinite(others), others, 0.0)
    return {"endpoints": endpoints, "other_goodput_bps": others}


def _busiest(found: Shared, allocation: Allocation) -> Ints:
    """The port or interface of each stream where most of what can be is carried, of those it shares."""
    path = found.flows.path
    crossed = (path != NOWHERE) & (found.flows.usage > 0)
    count = np.bincount(path[crossed], minlength=len(found.keys) + 1)
    kinds = np.array([kind != PROCESSOR for kind, _, _ in found.keys] + [False])
    full = np.append(allocation.carried / np.maximum(allocation.could, 1e-300), 0.0)
    full = np.where(kinds & (count > 1), full, -1.0)
    ratio = np.where(path == NOWHERE, -1.0, full[path])
    hop = path.shape[1] - 1 - ratio[:, ::-1].argmax(axis=1)  # of equal ones the last
    most = np.take_along_axis(ratio, hop[:, None], 1)[:, 0]
    return np.where(most > 0, np.take_along_axis(path, hop[:, None], 1)[:, 0], NOWHERE)


# --- messages sent at once --------------------------------------------------------------------


def _all_at_once(
    system: System, found: Shared, offered: Floats, able: Floats
) -> list[getting.Part] | None:
    """What each stream gets while all that have a message of several frames send it at once."""
    several = np.array([_message(one) is not None for one in system.streams.values()], dtype=bool)
    if not several.any():
        return None
    return getting.parts(found, found.allocation(np.where(several, able, offered)))


def _message(stream: Stream) -> Message | None:
    """The message of a stream, if it takes more than one frame."""
    made = stream.producer
    if made is None or made.message_bytes <= stream.payload_bytes:
        return None
    return Message(made.message_bytes)


# --- telling ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Telling:
    """All that is known of a system's streams, to be told stream by stream."""

    system: System
    packed: Packing
    found: Shared
    allocation: Allocation
    answers: Answers
    fast: Answers
    way: Sequence[Added]
    refused: Mapping[int, str]
    hurry: Sequence[getting.Part] | None
    alone: Answers
    bound: Bounded
    held_back: Bools

    def streams(self) -> dict[str, StreamPrediction]:
        """Every stream by name."""
        parts = getting.parts(self.found, self.allocation)
        return {
            name: self._stream(index, stream, parts[index])
            for index, (name, stream) in enumerate(self.system.streams.items())
        }

    def _stream(self, index: int, stream: Stream, part: getting.Part) -> StreamPrediction:
        way = self.way[index]
        why = self.refused.get(index)
        if why is None:
            metrics = self._metrics(index, part)
        else:
            metrics = self._by_theory(stream, part, way, why)
        metrics[AT_ONCE] = self._message_latency(index, stream, metrics)
        own = self.answers.estimate("goodput_bps", index)
        code = int(self.answers.bottleneck[index])
        limit, where = getting.bottleneck(code, part, own, metrics["goodput_bps"])
        terms = {name: time for name, time in way.shifts_s.items() if time}
        terms |= {f"queue at {port}": time for port, time in way.queues_s.items()}
        bound, no_bound = self._bound(index, stream)
        return StreamPrediction(stream, metrics, limit, where, terms, bound, no_bound)

    def _bound(self, index: int, stream: Stream) -> tuple[LatencyBound | None, str]:
        """The latency no frame exceeds, or why there is none."""
        least = ways.least_s(self.system, self.packed, stream)
        own = ways.application_s(self.system, stream)
        bound = self.bound.of(stream, self.alone.estimate("latency_max_s", index), least)
        if bound is None:
            full = "more may come to a port of its path than that can send"
            return None, self.bound.why or full
        return replace(bound, value_s=bound.value_s + own), ""

    def _metrics(self, index: int, part: getting.Part) -> dict[str, Estimate]:
        own = {name: self.answers.estimate(name, index) for name in self.answers.metrics}
        fast = self.fast.estimate("goodput_bps", index)
        most = self.alone.estimate("goodput_bps", index).high
        got = getting.goodput(own["goodput_bps"], part, most)
        if self.held_back[index] and part.elastic:
            own |= self._held(index, fast, got)
        elif self.way[index].brim_s:
            own |= self._latencies(self.alone, index)
        mean = own.get("latency_mean_s", absent(""))
        found = {
            name: latency(name, one, mean, self.way[index]) if name.startswith("latency_") else one
            for name, one in own.items()
        }
        if "loss_rate" in own:
            found["loss_rate"] = getting.loss(own["loss_rate"], got, own["goodput_bps"], part)
        return {**found, "goodput_bps": got}

    def _held(self, index: int, fast: Estimate, got: Estimate) -> dict[str, Estimate]:
        """Latencies of a stream that is held back by others: those it has alone, as fast as it goes, longer."""
        if fast.absent or not got.value > 0 or got.value >= fast.value * (1 - SAME):
            return {}
        least = max(got.low, got.value / MOST_ENDPOINTS)
        ratio = Estimate(
            fast.value / got.value,
            fast.value / max(got.high, got.value),
            fast.value / least,
            "derived",
        )
        return {name: held(one, ratio) for name, one in self._latencies(self.fast, index).items()}

    def _latencies(self, answers: Answers, index: int) -> dict[str, Estimate]:
        """The latencies of a stream that are known."""
        named = [name for name in answers.metrics if name.startswith("latency_")]
        found = {name: answers.estimate(name, index) for name in named}
        return {name: one for name, one in found.items() if not one.absent}

    def _by_theory(
        self, stream: Stream, part: getting.Part, way: Added, why: str
    ) -> dict[str, Estimate]:
        least = ways.least_s(self.system, self.packed, stream) + ways.application_s(
            self.system, stream
        )
        found = {name: ways.latency_by_theory(name, least, way, why) for name in BY_THEORY}
        return {"goodput_bps": getting.by_theory(part, "goodput_bps", why), **found}

    def _message_latency(
        self, index: int, stream: Stream, metrics: Mapping[str, Estimate]
    ) -> Estimate:
        frame = metrics.get("latency_mean_s", absent("no latency of a frame is known"))
        message = _message(stream)
        if message is None or self.hurry is None:
            return frame
        part = self.hurry[index]
        if not part.elastic and part.rate_bps < part.sent_bps * (1 - SAME):
            return absent("all senders at once lose frames: no message arrives whole")
        if index in self.refused:
            goodput = getting.by_theory(part, "goodput_bps", self.refused[index])
        else:
            fast = self.fast.estimate("goodput_bps", index)
            goodput = getting.goodput(fast, part, fast.high)
        if not math.isfinite(frame.high):
            return _at_least(message, stream, frame, goodput)
        return sent_at_once(message, stream.payload_bytes, frame, goodput)


def _at_least(message: Message, stream: Stream, frame: Estimate, goodput: Estimate) -> Estimate:
    """A message whose frames have no greatest latency: at least what its bytes take."""
    if frame.absent or goodput.absent or goodput.high <= 0:
        return frame
    behind = 8 * (message.size_bytes - stream.payload_bytes) / goodput.high
    return replace(frame, value=frame.value + behind, low=frame.low + behind)


def _notes(said: Spoken) -> tuple[str, ...]:
    """What the datasets have no axis or rule for."""
    return tuple(dict.fromkeys(note for one in said.speakers for note in one.notes))
