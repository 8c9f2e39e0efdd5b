"""Predict each variant of each stream alone: one system for all of them, predicted once.

In that system every stream and variant has a path of its own over copies of devices, switches and links, so that no
two share anything. Streams that differ only in their names are included once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.estimate import Estimate
from icmodel.recommend.variants import Speakers, Variant
from icmodel.requirement import OUTCOMES
from icmodel.system import Device, Link, Port, Stream, Switch, System, Wanted, predict
from icmodel.system.document import Streams, frame_bytes, producer
from icmodel.system.packing import packing
from icmodel.system.prediction import SystemPrediction
from icmodel.system.prediction.answers import SIDES
from icmodel.system.prediction.resources import is_elastic
from icmodel.system.prediction.result import Judged

FASTEST = " as fast as it goes"
"""Ending of the name of a stream's unlimited twin."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A stream of a network with one variant; ``name`` tells its table and that."""

    name: str
    system: System
    stream: Stream

    @property
    def limits(self) -> tuple[Wanted, ...]:
        """The system's requirements about this stream."""
        names = (self.stream.name, self.stream.group)
        wanted = self.system.requirements
        return tuple(
            replace(one, stream="") for one in wanted if one.device is None and one.stream in names
        )

    @property
    def likeness(self) -> str:
        """Equal for streams that differ only in their names."""
        system, stream = self.system, self.stream
        ports = [system.ports[name] for name in stream.path]
        ends = [
            replace(system.devices[end], name="", group="") for end in (stream.source, stream.sink)
        ]
        switches = [replace(one, name="", group="") for one in system.switches_of(stream)]
        links = [replace(one, name="", ends=("", "")) for one in system.links_of(stream)]
        plain = replace(stream, name="", group="", source="", sink="", path=(), multicast=None)
        rules = [port.scheduler for port in ports]
        return repr((plain, ends, switches, links, rules, self.limits))


def with_variant(stream: Stream, table: Streams, chosen: Variant) -> Stream:
    """A stream of a table with a variant."""
    return replace(
        stream,
        producer=producer(table.produces, chosen.payload_bytes),
        protocol=chosen.protocol,
        payload_bytes=frame_bytes(table.produces, chosen.payload_bytes),
        paced_fps=chosen.rate_fps,
        cores=chosen.cores,
        priority=chosen.priority,
    )


@dataclass(frozen=True, slots=True)
class Alone:
    """Predictions of streams alone; arrays by stream, in the order asked.

    Parameters
    ----------
    offered_bps, able_bps : array (streams,)
        Offered load of each, and its goodput as an unlimited sender [b/s].
    latency_mean_s : array (streams,)
        Mean latency of a frame [s]; infinite if unknown.
    cpu : mapping of array (3, streams)
        Busy cores by side, ``send`` or ``recv``: value, low and high; NaN if unknown.
    outcomes : array (streams,)
        The worst outcome of all requirements about it: 0 met or none, 1 undecided, 2 not met.
    rows : array of int (streams,)
        Index of each stream into ``ratios``, ``metrics`` and ``judged``: equal streams share one.
    ratios : sequence of tuple
        Bits on the wire for each useful bit at each port of a path.
    metrics : sequence of mapping
        All its metrics.
    judged : sequence of Judged
        Its requirements.
    names : sequence of str
        What it is; of equal streams the last.
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


def alone(asked: Sequence[Asked], speakers: Speakers | None) -> Alone:
    """Predict some streams, each alone."""
    places: dict[str, int] = {}
    rows = np.array([places.setdefault(one.likeness, len(places)) for one in asked], dtype=np.int64)
    names = {row: one.name for row, one in zip(rows.tolist(), asked, strict=True)}
    first = [asked[index] for index in np.unique(rows, return_index=True)[1].tolist()]
    found = predict(_apart(first), speakers, worst=any(map(_by_bound, first)))
    return _told(first, found, rows, list(names.values()))


def _by_bound(asked: Asked) -> bool:
    """Whether a bound may decide: for a hard limit on the greatest latency."""
    limits = (one.requirement for one in asked.limits)
    return any(one.kind == "hard" and one.metric == "latency_max_s" for one in limits)


# --- the system in which nothing meets ----------------------------------------------------------


def _apart(asked: Sequence[Asked]) -> System:
    """A path of its own for each stream, and one for its unlimited twin."""
    devices: dict[str, Device] = {}
    switches: dict[str, Switch] = {}
    links: dict[str, Link] = {}
    ports: dict[str, Port] = {}
    streams: dict[str, Stream] = {}
    wanted: list[Wanted] = []
    for index, one in enumerate(asked):
        for name in (str(index), f"{index}{FASTEST}"):
            system, path = one.system, tuple(f"{name}:{port}" for port in one.stream.path)
            nodes = [*system.nodes_of(one.stream)]
            for node in nodes:
                copied = replace(system.node(node), name=f"{name}:{node}")
                (devices if isinstance(copied, Device) else switches)[copied.name] = copied  # type: ignore[assignment]
            for port, link in _own_ports(one, name):
                links[link.name], ports[port.name] = link, port
            streams[name] = replace(
                one.stream,
                name=name,
                group=name,
                source=f"{name}:{one.stream.source}",
                sink=f"{name}:{one.stream.sink}",
                path=path,
                multicast=None,
            )
        streams[name] = replace(streams[name], producer=None, paced_fps=None)
        wanted += [replace(limit, stream=str(index)) for limit in one.limits]
    return System(
        name="alone",
        title="each stream by itself",
        devices=MappingProxyType(devices),
        switches=MappingProxyType(switches),
        links=MappingProxyType(links),
        ports=MappingProxyType(ports),
        streams=MappingProxyType(streams),
        requirements=tuple(wanted),
    )


def _own_ports(one: Asked, name: str) -> Iterator[tuple[Port, Link]]:
    """Copies of the ports and links of a stream's path, under another name."""
    for was in one.stream.path:
        old = one.system.ports[was]
        ends = (f"{name}:{old.node}", f"{name}:{old.peer}")
        link = replace(one.system.links[old.link], name=f"{name}:{old.link}", ends=ends)
        yield Port(f"{name}:{was}", link.name, *ends, old.rate_bps, old.scheduler), link


# --- the predictions -------------------------------------------------------------------------


def _told(
    asked: Sequence[Asked], found: SystemPrediction, rows: Ints, told: Sequence[str]
) -> Alone:
    names = [str(index) for index in range(len(asked))]
    metrics = [found.streams[name].metrics for name in names]
    packed = packing(found.system)
    ratios = [
        tuple(
            packed.of(found.system.streams[name], link).ratio
            for link in found.system.links_of(found.system.streams[name])
        )
        for name in names
    ]
    judged: dict[str, list[Judged]] = {name: [] for name in names}
    for one in found.judged:
        judged[one.stream].append(one)
    able = np.array([_able_bps(found, name) for name in names])
    return Alone(
        offered_bps=np.array([_offered_bps(found, name) for name in names])[rows],
        able_bps=able[rows],
        latency_mean_s=np.array([_known(one, "latency_mean_s", np.inf) for one in metrics])[rows],
        cpu={side: _cores(found, names, end)[:, rows] for end, side in SIDES},
        outcomes=np.array([_worst(judged[name]) for name in names], dtype=np.int64)[rows],
        rows=rows,
        ratios=ratios,
        metrics=metrics,
        judged=[tuple(judged[name]) for name in names],
        names=told,
    )


def _able_bps(found: SystemPrediction, name: str) -> float:
    """Greater of the goodputs as requested and as unlimited sender [b/s]; infinite if unknown."""
    fast, own = found.streams[f"{name}{FASTEST}"], found.streams[name]
    able = max(_known(one.metrics, "goodput_bps", 0.0) for one in (fast, own))
    return able or np.inf


def _offered_bps(found: SystemPrediction, name: str) -> float:
    one = found.streams[name]
    asked = one.stream.requested_goodput_bps
    if is_elastic(one.stream):
        return min(asked, _able_bps(found, name))
    return min(asked, _known(one.metrics, "sent_bps", asked))


def _known(metrics: Mapping[str, Estimate], name: str, otherwise: float) -> float:
    value = metrics[name].value if name in metrics else np.nan
    return otherwise if np.isnan(value) else value


def _cores(found: SystemPrediction, names: Sequence[str], end: str) -> Floats:
    """Busy cores of one end of each stream: value, low and high, (3, streams)."""
    told = [found.devices[getattr(found.streams[name].stream, end)].cpu_cores for name in names]
    return np.array([one.ends for one in told]).T.reshape(3, -1)


def _worst(some: Sequence[Judged]) -> int:
    return max((OUTCOMES.index(one.verdict.outcome) for one in some), default=0)
