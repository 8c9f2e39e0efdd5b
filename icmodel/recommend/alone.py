"""Predict each variant of each stream alone (without other streams), by one prediction of an artificial system.

In that system, every variant of every stream has its own copies of devices, switches and links. So no resource is
shared. If several streams differ only in their names, the system contains only one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.estimate import Estimate
from icmodel.frozen import FrozenMapping
from icmodel.recommend.choices import Models, Variant
from icmodel.requirement import OUTCOMES
from icmodel.system import Device, Link, Port, Stream, StreamRequirement, Switch, System, predict
from icmodel.system.document import Streams
from icmodel.system.network import SIDES
from icmodel.system.prediction import SystemPrediction
from icmodel.system.prediction.resources import is_elastic
from icmodel.system.prediction.result import Judged
from icmodel.system.traffic import packing


@dataclass(frozen=True, slots=True)
class LoneStream:
    """Stream with one variant (choice of protocol, payload, rate, cores and priority), to be predicted alone.

    ``name`` gives the stream's table, protocol and payload.
    """

    name: str
    system: System
    stream: Stream

    @property
    def limits(self) -> tuple[StreamRequirement, ...]:
        """Requirements of the system that apply to this stream."""
        names = (self.stream.name, self.stream.group)
        return tuple(
            replace(wanted, stream="")
            for wanted in self.system.requirements
            if wanted.device is None and wanted.stream in names
        )

    @property
    def identity(self) -> str:
        """Text key of the stream; streams that differ only in their names have the same key."""
        system, stream = self.system, self.stream
        ends = [system.devices[end] for end in (stream.source, stream.sink)]
        parts = [*ends, *system.switches_of(stream), *system.links_of(stream)]
        schedulers = [system.ports[name].scheduler for name in stream.path]
        # repr of a stream omits most fields, so each field is converted.
        values = [getattr(stream, name) for name in _STREAM_FIELDS]
        return repr((values, [*map(_without_name, parts)], schedulers, self.limits))


_STREAM_FIELDS = [
    field.name
    for field in fields(Stream)
    if field.name not in ("name", "group", "source", "sink", "path", "multicast")
]
"""Fields of a stream that affect its prediction without other streams."""


@lru_cache
def _without_name(part: Device | Switch | Link) -> str:
    """Return all fields of a device, switch or link as text, except its names."""
    if isinstance(part, Link):
        return repr(replace(part, name="", ends=("", "")))
    return repr(replace(part, name="", group=""))


def with_variant(stream: Stream, table: Streams, variant: Variant) -> Stream:
    """Copy a stream; protocol, payload, rate, cores and priority of the copy are those of a variant.

    ``table`` is the ``[[streams]]`` table of the system file that describes the stream.
    """
    return replace(
        stream,
        producer=table.produces.producer(variant.payload_bytes),
        protocol=variant.protocol,
        payload_bytes=table.frame_bytes(variant.payload_bytes),
        paced_fps=variant.rate_fps,
        cores=variant.cores,
        priority=variant.priority,
    )


@dataclass(frozen=True, slots=True)
class AlonePredictions:
    """Predictions of streams, each without other streams.

    The arrays have one element per stream, in the order of the argument of `predict_alone`.

    Parameters
    ----------
    offered_bps, able_bps : array (streams,)
        Offered load of each stream, and goodput of the stream at unlimited rate [b/s].
    latency_mean_s : array (streams,)
        Mean latency of a frame [s]; infinite if unknown.
    cpu : mapping of array (3, streams)
        Busy cores by side, ``send`` or ``recv``: value, low and high; NaN if unknown.
    outcomes : array (streams,)
        Worst outcome of all requirements on the stream: 0 met or no requirement, 1 undecided, 2 not met.
    rows : array of int (streams,)
        Index of each stream into ``ratios``, ``metrics`` and ``judged``. Equal streams share an index.
    ratios : sequence of tuple
        For each distinct stream, the bits on the wire per useful bit at each port of its path.
    metrics : sequence of mapping
        For each distinct stream, the estimates of all metrics.
    judged : sequence of tuple of Judged
        For each distinct stream, its judged requirements.
    names : sequence of str
        Name of each distinct stream; if several streams are equal, the name of the last.
    """

    offered_bps: Floats
    able_bps: Floats
    latency_mean_s: Floats
    cpu: Mapping[str, Floats]
    outcomes: Ints
    rows: Ints
    ratios: Sequence[tuple[float, ...]]
    metrics: Sequence[Mapping[str, Estimate]]
    judged: Sequence[tuple[Judged, ...]]
    names: Sequence[str]

    def usage(
        self, system: System, stream: Stream, at: Ints, sends: bool
    ) -> Iterator[tuple[str, Floats]]:
        """Yield each resource that a stream uses: its name, and its utilisation per 1 b/s of the stream's goodput.

        Resources are ports, interfaces and processors. The utilisation is an array with one element for each variant of
        the stream.

        Parameters
        ----------
        at : array of int (variants,)
            For each variant of the stream, its index in the arrays of this object, such as ``offered_bps``.
        sends : bool
            Whether the stream loads the sender's processor. Of the copies of a multicast set, only one does.
        """
        ratios = [self.ratios[row] for row in self.rows[at].tolist()]
        for hop, name in enumerate(stream.path):
            yield name, np.array([ratio[hop] for ratio in ratios]) / system.ports[name].rate_bps
        yield f"interface {stream.path[-1]}", 1 / self.able_bps[at]
        for end, side in SIDES:
            device = system.devices[getattr(stream, end)]
            if device.cores and (sends or side == "recv"):
                busy = np.nan_to_num(self.cpu[side][0, at]) / np.maximum(
                    self.offered_bps[at], 1e-300
                )
                yield f"processor {device.name}", busy / device.cores

    def nearest(self) -> Iterator[tuple[Judged, str]]:
        """For each requirement, find the stream that comes closest to meeting it; yield its verdict and name.

        A verdict with a known margin is preferred, then a better outcome, then a larger margin.
        """

        def distance(one: Judged) -> tuple[bool, int, float]:
            margin = one.verdict.margin
            return math.isnan(margin), OUTCOMES.index(one.verdict.outcome), -margin

        best: dict[str, Judged] = {}
        for one in (one for judged in self.judged for one in judged):
            name = one.verdict.requirement.name
            if name not in best or distance(one) < distance(best[name]):
                best[name] = one
        for one in best.values():
            yield one, self.names[int(one.stream)]


def predict_alone(streams: Sequence[LoneStream], models: Models | None) -> AlonePredictions:
    """Predict each stream without other streams."""
    # Predict each distinct stream once. Only hard limits on the greatest latency need worst-case bounds.
    rows, unique = _distinct(streams)
    names = {row: lone.name for row, lone in zip(rows.tolist(), streams, strict=True)}
    bounded = any(
        wanted.requirement.kind == "hard" and wanted.requirement.metric == "latency_max_s"
        for lone in unique
        for wanted in lone.limits
    )
    prediction = predict(_disjoint_system(unique), models, worst=bounded)

    # Goodput of each stream at unlimited rate [b/s]; 0 if unknown.
    unlimited = [
        LoneStream(
            lone.name,
            replace(lone.system, requirements=()),
            replace(lone.stream, producer=None, paced_fps=None),
        )
        for lone in unique
    ]
    same, fastest = _distinct(unlimited)
    found = predict(_disjoint_system(fastest), models, worst=False).streams.values()
    able_bps = np.array([_value(one.metrics, "goodput_bps", 0.0) for one in found])[same]
    return _as_arrays(prediction, able_bps, rows, list(names.values()))


def _distinct(streams: Sequence[LoneStream]) -> tuple[Ints, list[LoneStream]]:
    """Remove duplicate streams. Return the index of each stream into the distinct streams, and the distinct streams."""
    indices: dict[str, int] = {}
    rows = np.array(
        [indices.setdefault(lone.identity, len(indices)) for lone in streams], dtype=np.int64
    )
    return rows, [streams[index] for index in np.unique(rows, return_index=True)[1].tolist()]


def _disjoint_system(streams: Sequence[LoneStream]) -> System:
    """Build a system of unrelated streams: each has its own copies of devices, switches and links.

    So one prediction of this system predicts each stream without the others.
    """
    devices: dict[str, Device] = {}
    switches: dict[str, Switch] = {}
    links: dict[str, Link] = {}
    ports: dict[str, Port] = {}
    copies: dict[str, Stream] = {}
    requirements: list[StreamRequirement] = []
    for index, lone in enumerate(streams):
        name, system, stream = str(index), lone.system, lone.stream
        for node in system.nodes_of(stream):
            copied = replace(system.node(node), name=f"{name}:{node}")
            (devices if isinstance(copied, Device) else switches)[copied.name] = copied  # type: ignore[assignment]
        for port in (system.ports[port] for port in stream.path):
            ends = (f"{name}:{port.node}", f"{name}:{port.peer}")
            link = replace(system.links[port.link], name=f"{name}:{port.link}", ends=ends)
            links[link.name] = link
            ports[f"{name}:{port.name}"] = Port(
                f"{name}:{port.name}", link.name, *ends, port.rate_bps, port.scheduler
            )
        copies[name] = replace(
            stream,
            name=name,
            group=name,
            source=f"{name}:{stream.source}",
            sink=f"{name}:{stream.sink}",
            path=tuple(f"{name}:{port}" for port in stream.path),
            multicast=None,
        )
        requirements += [replace(limit, stream=name) for limit in lone.limits]
    return System(
        name="alone",
        title="each stream by itself",
        devices=FrozenMapping(devices),
        switches=FrozenMapping(switches),
        links=FrozenMapping(links),
        ports=FrozenMapping(ports),
        streams=FrozenMapping(copies),
        requirements=tuple(requirements),
    )


def _as_arrays(
    prediction: SystemPrediction, unlimited_bps: Floats, rows: Ints, names: Sequence[str]
) -> AlonePredictions:
    packed = packing(prediction.system)
    judged: dict[str, list[Judged]] = {str(index): [] for index in range(len(names))}
    for requirement in prediction.judged:
        judged[requirement.stream].append(requirement)

    ratios, metrics, offered_bps, able_bps = [], [], [], []
    cores: dict[str, list[tuple[float, float, float]]] = {side: [] for _, side in SIDES}
    for name, fastest_bps in zip(judged, unlimited_bps.tolist(), strict=True):
        own = prediction.streams[name]
        stream = prediction.system.streams[name]
        links = prediction.system.links_of(stream)
        ratios.append(tuple(packed.of(stream, link).ratio for link in links))
        metrics.append(own.metrics)
        able = max(fastest_bps, _value(own.metrics, "goodput_bps", 0.0)) or np.inf
        able_bps.append(able)
        request = own.stream.requested_goodput_bps
        sent = able if is_elastic(own.stream) else _value(own.metrics, "sent_bps", request)
        offered_bps.append(min(request, sent))
        for end, side in SIDES:
            cores[side].append(prediction.devices[getattr(own.stream, end)].cpu_cores.ends)

    outcomes = [
        max((OUTCOMES.index(requirement.verdict.outcome) for requirement in some), default=0)
        for some in judged.values()
    ]
    latencies = [_value(one, "latency_mean_s", np.inf) for one in metrics]
    return AlonePredictions(
        offered_bps=np.array(offered_bps)[rows],
        able_bps=np.array(able_bps)[rows],
        latency_mean_s=np.array(latencies)[rows],
        cpu={side: np.array(ends).T.reshape(3, -1)[:, rows] for side, ends in cores.items()},
        outcomes=np.array(outcomes, dtype=np.int64)[rows],
        rows=rows,
        ratios=ratios,
        metrics=metrics,
        judged=[tuple(some) for some in judged.values()],
        names=names,
    )


def _value(metrics: Mapping[str, Estimate], name: str, default: float) -> float:
    value = metrics[name].value if name in metrics else np.nan
    return default if np.isnan(value) else value
