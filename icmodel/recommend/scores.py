"""Scores: all designs of a network, from the summed loads of their tables of streams; arithmetic over arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.estimate import absent
from icmodel.recommend.alone import Alone, Asked, with_variant
from icmodel.recommend.networks import Network
from icmodel.recommend.physics import too_late
from icmodel.recommend.variants import Variant
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED
from icmodel.system import Stream, System, Wanted
from icmodel.system.document import Streams, SystemDocument
from icmodel.system.prediction.answers import SIDES
from icmodel.system.prediction.judging import LATE, whole_message
from icmodel.system.prediction.resources import sent_with


def front(points: Floats) -> Ints:
    """Indices of the points that none dominates, in lexicographic order; of equal ones the first.

    A point dominates another if it is nowhere greater and somewhere less.

    Parameters
    ----------
    points : array (points, columns)
        No NaN: unknown numbers are infinite.
    """
    left = np.lexsort(points.T[::-1])  # stable: of equal points the first stays ahead
    found = []
    while len(left):
        best, rest = left[0], left[1:]
        found.append(best)
        left = rest[(points[rest] < points[best]).any(axis=1)]
    return np.array(found, dtype=np.int64)


def spread(points: Floats, most: int) -> Ints:
    """At most a number of points: the best of each column, then evenly over the order of the first.

    Returns their indices in the order in which they are taken.
    """
    if len(points) <= most:
        return np.argsort(points[:, 0], kind="stable")
    best = points.argmin(axis=0).tolist()
    order = np.argsort(points[:, 0], kind="stable")
    evenly = order[np.linspace(0, len(order) - 1, most).astype(np.int64)]
    return np.array(list(dict.fromkeys([*best, *evenly.tolist()]))[:most], dtype=np.int64)


GOODPUT = "goodput_bps"


@dataclass(frozen=True, slots=True)
class Weights:
    """Loads of the variants of a table alone.

    Parameters
    ----------
    cores : array (variants,)
        Busy cores of all hosts; infinite if unknown.
    latency_s : array (variants,)
        The greatest mean latency of its streams [s].
    outcomes : array (variants,)
        The worst outcome of any requirement about one of its streams: 0 met, 1 undecided, 2 not met.
    changes : array (variants,)
        Number of differences from the file.
    loads : array (variants, lanes)
        Share of each port, interface and processor that its streams request.
    needs : array (variants, lanes)
        The same for the least goodput that requirements demand.
    dues : array (variants, lanes)
        The same for the goodput at which whole messages, all sent at once, keep the limits on their time.
    devices : array (variants, requirements of devices, 2)
        What it adds to the low and the high end of each, NaN if unknown.
    """

    variants: tuple[Variant, ...]
    cores: Floats
    latency_s: Floats
    outcomes: Ints
    changes: Ints
    loads: Floats
    needs: Floats
    dues: Floats
    devices: Floats

    def picked(self, some: Ints) -> Weights:
        """Those of some of the variants."""
        columns = [one.name for one in fields(self) if one.name != "variants"]
        return Weights(
            tuple(self.variants[index] for index in some),
            *(getattr(self, name)[some] for name in columns),
        )


@dataclass(frozen=True, slots=True)
class Block:
    """A table of streams in a network, its variants, and the index of each of their streams in `Alone`."""

    network: Network
    table: Streams
    variants: tuple[Variant, ...]

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams of the table."""
        return tuple(
            one for one in self.network.system.streams.values() if one.group == self.table.name
        )

    def asked(self) -> Iterator[Asked]:
        """Each variant of each stream, by stream."""
        for stream in self.streams:
            for chosen in self.variants:
                told = chosen.told()
                name = f"{self.table.name}, {told['protocol']}, {told['payload']}"
                yield Asked(name, self.network.system, with_variant(stream, self.table, chosen))


def device_limits(system: System) -> tuple[tuple[int, str], ...]:
    """Requirements of devices, by index, with each device they apply to."""
    return tuple(
        (index, name)
        for index, one in enumerate(system.requirements)
        for name, device in system.devices.items()
        if one.device is not None and one.device in (name, device.group)
    )


def weights(block: Block, told: Alone, first: int) -> Weights:
    """Loads of the variants of a table.

    Parameters
    ----------
    first : int
        Index of the table's first stream in `told`.
    """
    system, streams, count = block.network.system, block.streams, len(block.variants)
    place = (first + np.arange(len(streams) * count)).reshape(len(streams), count)
    lanes = _lanes(system)
    loads, needs, dues = (np.zeros((count, len(lanes))) for _ in range(3))
    sending = sent_with(streams) == np.arange(len(streams))
    sent: set[tuple[str, tuple[str, str]]] = set()
    for stream, at, sends in zip(streams, place, sending, strict=True):
        offered = np.minimum(told.offered_bps[at], _carried_bps(system, stream, told, at))
        chosen = [with_variant(stream, block.table, one) for one in block.variants]
        needed = np.minimum(offered, _needed_bps(system, chosen))
        due = np.array([_due_bps(system, one) for one in chosen])
        for name, usage in _usage(system, stream, told, at, sends):
            if (name, stream.sent_as) not in sent:
                loads[:, lanes[name]] += offered * usage
                needs[:, lanes[name]] += needed * usage
                dues[:, lanes[name]] += due * usage
            if name in stream.path:  # a copy is sent once, and received by each
                sent.add((name, stream.sent_as))
    cores = told.cpu["send"][0, place[sending]].sum(axis=0) + told.cpu["recv"][0, place].sum(axis=0)
    own = block.variants[0]
    return Weights(
        variants=block.variants,
        cores=np.where(np.isnan(cores), np.inf, cores),
        latency_s=told.latency_mean_s[place].max(axis=0),
        outcomes=told.outcomes[place].max(axis=0),
        changes=np.array([len(one.changed(own)) for one in block.variants]),
        loads=loads,
        needs=needs,
        dues=dues,
        devices=_of_devices(system, streams, told, place, sending),
    )


def _lanes(system: System) -> Mapping[str, int]:
    names = [
        *system.ports,
        *(f"interface {name}" for name in system.ports),
        *(f"processor {name}" for name, one in system.devices.items() if one.cores),
    ]
    return {name: index for index, name in enumerate(names)}


def _usage(
    system: System, stream: Stream, told: Alone, at: Ints, sends: bool
) -> Iterator[tuple[str, Floats]]:
    """Share of each lane that 1 b/s of a stream uses, by variant; of copies of a multicast one `sends` for all."""
    ratios = [told.ratios[row] for row in told.rows[at].tolist()]
    for hop, name in enumerate(stream.path):
        yield name, np.array([one[hop] for one in ratios]) / system.ports[name].rate_bps
    yield f"interface {stream.path[-1]}", 1 / told.able_bps[at]
    for end, side in SIDES:
        device = system.devices[getattr(stream, end)]
        if device.cores and (sends or side == "recv"):
            busy = np.nan_to_num(told.cpu[side][0, at]) / np.maximum(told.offered_bps[at], 1e-300)
            yield f"processor {device.name}", busy / device.cores


def _carried_bps(system: System, stream: Stream, told: Alone, at: Ints) -> Floats:
    """Throughput of a stream at the ports of its path [b/s]; the sent rate if its capacity is unknown."""
    rates = np.array([system.ports[name].rate_bps for name in stream.path])
    return np.array([(rates / told.ratios[row]).min() for row in told.rows[at].tolist()])


def _about(system: System, stream: Stream) -> list[Wanted]:
    """The system's requirements about a stream."""
    names = (stream.name, stream.group)
    return [one for one in system.requirements if one.stream in names and one.device is None]


def _needed_bps(system: System, chosen: Sequence[Stream]) -> Floats:
    """The goodput that a stream must have [b/s], by variant: what must arrive, or more if the file asks for it."""
    limits = [
        one.requirement.at_least or 0.0
        for one in _about(system, chosen[0])
        if one.requirement.metric == GOODPUT
    ]
    return np.array([max(one.must_arrive_bps, *limits, 0.0) for one in chosen])


def _due_bps(system: System, stream: Stream) -> float:
    """The goodput at which a message of several frames keeps the limits on its time [b/s].

    Streams that share a lane while all send at once have shares of it that add up to it, so that one of them is
    late if these goodputs do not.
    """
    if stream.producer is None or stream.frames_a_message <= 1:
        return 0.0
    limits = [
        one.requirement.at_most
        for one in _about(system, stream)
        if one.requirement.metric in LATE and one.requirement.at_most and whole_message(stream, one)
    ]
    limits += [] if stream.producer.within_s is None else [stream.producer.within_s]
    behind = 8 * (stream.producer.message_bytes - stream.payload_bytes)
    return max((behind / limit for limit in limits), default=0.0)


def _of_devices(
    system: System, streams: Sequence[Stream], told: Alone, place: Ints, sending: Bools
) -> Floats:
    """What the streams add to the requirements of devices: low and high, (variants, limits, 2)."""
    limits = device_limits(system)
    found = np.zeros((place.shape[1], len(limits), 2))
    for number, (index, name) in enumerate(limits):
        wanted, device = system.requirements[index], system.devices[name]
        metric = wanted.requirement.metric
        whole = metric in ("cpu_send", "cpu_recv") and device.cores is not None
        for stream, at, sends in zip(streams, place, sending, strict=True):
            for end, side in SIDES:
                if getattr(stream, end) != name or (side == "send" and not sends):
                    continue
                if whole:
                    found[:, number] += told.cpu[side][1:, at].T / (device.cores or 1)
                elif metric.startswith(f"cpu_{side}") and wanted.stream in (
                    stream.name,
                    stream.group,
                ):
                    found[:, number] += _ends(told, metric, at)
    return found


def _ends(told: Alone, metric: str, at: Ints) -> Floats:
    rows = [told.metrics[row].get(metric, absent("")) for row in told.rows[at].tolist()]
    return np.array([[one.low, one.high] for one in rows])


OBJECTIVES = ("cpu_cores", "latency_mean_s", "fullest_ratio", "interfaces", "cost")
"""Objectives, less is better: busy cores of all hosts; greatest mean latency of a frame; greatest utilisation of a
port, interface or processor; interfaces of all devices; cost."""
TOLERANCE = 1e-9
"""Relative rounding error of sums, within which a resource is not overloaded."""
MET_ALONE, UNDECIDED_ALONE, NOT_MET_ALONE = (
    OUTCOMES.index(one) for one in (MET, UNDECIDED, NOT_MET)
)


@dataclass(frozen=True, slots=True)
class Scores:
    """Designs of all networks, as arrays.

    Parameters
    ----------
    network : array of int (designs,)
        Index of the network.
    variants : array of int (designs, tables)
        Index of the variant of each table of streams.
    outcomes : array of int (designs,)
        The best possible outcome: 0 met, 1 undecided, 2 not met.
    objectives : array (designs, objectives)
    changes : array of int (designs,)
        Number of differences from the file.
    """

    network: Ints
    variants: Ints
    outcomes: Ints
    objectives: Floats
    changes: Ints

    def __len__(self) -> int:
        return len(self.network)


COLUMNS = tuple(column.name for column in fields(Scores))


def joined(some: Sequence[Scores]) -> Scores:
    """The designs of several networks."""
    return Scores(*(np.concatenate([getattr(one, name) for one in some]) for name in COLUMNS))


def ordered(found: Scores) -> Scores:
    """Sort by the number of differences from the file, so that of equal designs the closest is taken."""
    order = np.lexsort((*found.variants.T[::-1], found.network, found.changes))
    return Scores(*(getattr(found, name)[order] for name in COLUMNS))


def scores(number: int, network: Network, tables: Sequence[Weights]) -> Scores:
    """All designs of a network: every combination of the variants of its tables.

    Parameters
    ----------
    number : int
        Index of the network.
    """
    sizes = [len(one.variants) for one in tables]
    count = math.prod(sizes)
    ports = len(network.system.ports)
    outcomes = _over(np.maximum, [one.outcomes for one in tables], count)
    full = _fullest([one.loads for one in tables], count)
    for needs, outcome in (
        ([one.needs for one in tables], UNDECIDED_ALONE),
        ([one.dues for one in tables], UNDECIDED_ALONE),
        ([one.needs[:, :ports] for one in tables], NOT_MET_ALONE),  # theory alone knows the wire
    ):
        held = _fullest(needs, count) > 1 + TOLERANCE
        outcomes = np.maximum(outcomes, np.where(held, outcome, MET_ALONE))
    outcomes = np.maximum(outcomes, _devices(network.system, tables, count))
    if too_late(network.system):
        outcomes = np.full(count, NOT_MET_ALONE)
    cores = _over(np.add, [one.cores for one in tables], count)
    latency = _over(np.maximum, [one.latency_s for one in tables], count)
    system, document = network.system, network.open.document
    fixed = [np.full(count, float(value)) for value in (interfaces(system), cost(system, document))]
    changes = _over(np.add, [one.changes for one in tables], count) + len(network.changed)
    return Scores(
        network=np.full(count, number),
        variants=np.stack(np.unravel_index(np.arange(count), sizes), axis=1),
        outcomes=outcomes,
        objectives=np.stack([cores, latency, full, *fixed], axis=1),
        changes=changes,
    )


def _over(join: np.ufunc, parts: Sequence[np.ndarray], count: int) -> np.ndarray:
    """A number of every combination of variants, combined from one per table, (designs,)."""
    found = np.zeros(1, dtype=parts[0].dtype if parts else np.float64)
    for part in parts:
        found = join(found[:, None], part[None, :]).reshape(-1)
    assert len(found) == count
    return found


def _fullest(some: Sequence[Floats], count: int) -> Floats:
    """Utilisation of the fullest lane of each design, (designs,).

    Parameters
    ----------
    some : sequence of array (variants, lanes)
        Loads by table; equal lanes are included once.
    """
    full = np.zeros(count)
    ends = np.cumsum([len(one) for one in some])[:-1]
    for lane in np.unique(np.concatenate(some), axis=1).T:
        np.maximum(full, _over(np.add, np.split(lane, ends), count), out=full)
    return full


def _devices(system: System, tables: Sequence[Weights], count: int) -> Ints:
    """The best possible outcome of the requirements of devices, (designs,)."""
    found = np.zeros(count, dtype=np.int64)
    for number, (index, name) in enumerate(device_limits(system)):
        limit = system.requirements[index].requirement
        ends = [
            _over(np.add, [one.devices[:, number, end] for one in tables], count) for end in (0, 1)
        ]
        if limit.metric in ("cpu_send", "cpu_recv") and system.devices[name].cores is not None:
            ends = [np.minimum(end, 1.0) for end in ends]
        if limit.at_most is None:
            continue
        worse = np.where(ends[1] <= limit.at_most, MET_ALONE, UNDECIDED_ALONE)  # NaN is undecided
        found = np.maximum(found, np.where(ends[0] > limit.at_most, NOT_MET_ALONE, worse))
    return found


# --- what the network takes by itself -----------------------------------------------------------


def interfaces(system: System) -> int:
    """Interfaces of all devices that a link uses."""
    return sum(end in system.devices for link in system.links.values() for end in link.ends)


def cost(system: System, document: SystemDocument) -> float:
    """Cost of interfaces, cores, links and switches; 0 without stated costs."""
    per = document.costs
    if per is None:
        return 0.0
    total = per.switch * len(system.switches)
    total += per.core * sum(one.cores or 0 for one in system.devices.values())
    for link in system.links.values():
        ends = sum(end in system.devices for end in link.ends)
        total += ends * (per.interface + per.interface_per_gbps * link.rate_bps / 1e9)
        total += per.link + per.link_per_m * link.length_m
    return total


# --- fewer variants -----------------------------------------------------------------------------


def undominated(some: Weights) -> Ints:
    """Variants for which no other of the same table is at least as good in everything that is scored.

    The file's own is kept.
    """
    devices = some.devices.reshape(len(some.variants), -1)
    points = np.column_stack(
        [
            some.outcomes,
            some.cores,
            some.latency_s,
            some.changes,
            np.unique(some.loads, axis=1),
            np.unique(some.needs, axis=1),
            np.unique(some.dues, axis=1),
            np.nan_to_num(devices, nan=np.inf),
        ]
    )
    return np.unique(np.append(front(points), 0))
