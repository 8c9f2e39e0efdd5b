"""Score all designs of a network, in arrays: loads of shared resources, and Pareto fronts of objectives.

The resources are ports, interfaces and processors. The loads are computed from predictions of each stream alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.estimate import absent
from icmodel.recommend.alone import AlonePredictions, LoneStream, with_variant
from icmodel.recommend.choices import Network, Variant
from icmodel.recommend.physics import too_late
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED
from icmodel.system import Stream, System
from icmodel.system.document import Streams
from icmodel.system.network import SIDES
from icmodel.system.prediction.judging import LATE, whole_message
from icmodel.system.prediction.resources import sent_with

OBJECTIVES = ("cpu_cores", "latency_mean_s", "fullest_ratio", "interfaces", "cost")
"""Names of the objectives of a design; all are minimised.

In order: busy cores of all hosts; greatest mean latency of a frame; greatest utilisation of a port, interface or
processor; number of interfaces of all devices; cost.
"""
TOLERANCE = 1e-9
"""Tolerance for rounding: a utilisation of at most 1 + `TOLERANCE` is not an overload."""
MET_ALONE, UNDECIDED_ALONE, NOT_MET_ALONE = (
    OUTCOMES.index(outcome) for outcome in (MET, UNDECIDED, NOT_MET)
)


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the designs of one or several networks, as arrays.

    Parameters
    ----------
    network : array of int (designs,)
        Index of the network.
    variants : array of int (designs, tables)
        For each ``[[streams]]`` table of the system file, the index of its variant (choice of protocol, payload, rate,
        cores and priority).
    outcomes : array of int (designs,)
        Best outcome that a full prediction of the design can have: 0 met, 1 undecided, 2 not met.
    objectives : array (designs, objectives)
        Values of `OBJECTIVES`.
    changes : array of int (designs,)
        Number of differences between the design and the file.
    """

    network: Ints
    variants: Ints
    outcomes: Ints
    objectives: Floats
    changes: Ints

    def __len__(self) -> int:
        return len(self.network)


COLUMNS = tuple(column.name for column in fields(Scores))


def joined(parts: Sequence[Scores]) -> Scores:
    """Concatenate several `Scores`, each with the designs of one network."""
    return Scores(*(np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS))


def ordered(scores: Scores) -> Scores:
    """Sort designs by their number of differences from the file, fewest first.

    So of designs with equal objectives, a Pareto front keeps the one closest to the file.
    """
    order = np.lexsort((*scores.variants.T[::-1], scores.network, scores.changes))
    return Scores(*(getattr(scores, name)[order] for name in COLUMNS))


def scores(number: int, network: Network, tables: Sequence[TableLoads]) -> Scores:
    """Score all designs of a network. A design has one variant of each ``[[streams]]`` table of the system file.

    Parameters
    ----------
    number : int
        Index of the network among all networks of the search; it is stored in the scores.
    tables : sequence of TableLoads
        For each ``[[streams]]`` table, the loads and outcomes of its variants.
    """
    system = network.system
    sizes = [len(table.variants) for table in tables]
    count, ports = math.prod(sizes), len(system.ports)

    # Best possible outcome, given the streams alone, overloaded resources, and requirements on devices.
    outcomes = _combine(np.maximum, [table.outcomes for table in tables], count)
    for loads, outcome in (
        ([table.needs for table in tables], UNDECIDED_ALONE),
        ([table.dues for table in tables], UNDECIDED_ALONE),
        ([table.needs[:, :ports] for table in tables], NOT_MET_ALONE),  # port rates are certain
    ):
        overloaded = _fullest(loads, count) > 1 + TOLERANCE
        outcomes = np.maximum(outcomes, np.where(overloaded, outcome, MET_ALONE))
    for column, (index, name) in enumerate(device_limits(system)):
        limit = system.requirements[index].requirement
        low, high = (
            _combine(np.add, [table.devices[:, column, end] for table in tables], count)
            for end in (0, 1)
        )
        if limit.metric in ("cpu_send", "cpu_recv") and system.devices[name].cores is not None:
            low, high = np.minimum(low, 1.0), np.minimum(high, 1.0)
        if limit.at_most is not None:
            above = np.where(high <= limit.at_most, MET_ALONE, UNDECIDED_ALONE)  # also for NaN
            above = np.where(low > limit.at_most, NOT_MET_ALONE, above)
            outcomes = np.maximum(outcomes, above)
    if too_late(system):
        outcomes = np.full(count, NOT_MET_ALONE)

    objectives = [
        _combine(np.add, [table.cores for table in tables], count),
        _combine(np.maximum, [table.latency_s for table in tables], count),
        _fullest([table.loads for table in tables], count),
        np.full(count, float(system.interface_count)),
        np.full(count, system.cost),
    ]
    changes = _combine(np.add, [table.changes for table in tables], count)
    return Scores(
        network=np.full(count, number),
        variants=np.stack(np.unravel_index(np.arange(count), sizes), axis=1),
        outcomes=outcomes,
        objectives=np.stack(objectives, axis=1),
        changes=changes + len(network.changed),
    )


def _combine(ufunc: np.ufunc, parts: Sequence[np.ndarray], count: int) -> np.ndarray:
    """Compute one value for each design, array (designs,), such as the sum of the values of its variants.

    A design picks one variant of each table of streams. ``parts`` has an array for each table, with a value for each
    variant. ``ufunc`` combines the values of the picked variants, such as `numpy.add`.
    """
    found = np.zeros(1, dtype=parts[0].dtype if parts else np.float64)
    for part in parts:
        found = ufunc(found[:, None], part[None, :]).reshape(-1)
    assert len(found) == count
    return found


def _fullest(tables: Sequence[Floats], count: int) -> Floats:
    """Return the utilisation of the fullest resource (port, interface or processor) of each design, (designs,).

    Parameters
    ----------
    tables : sequence of array (variants, resources)
        For each table of streams, the utilisation of each resource by each variant of the table.
    count : int
        Number of designs.
    """
    full = np.zeros(count)
    ends = np.cumsum([len(loads) for loads in tables])[:-1]
    for resource in np.unique(np.concatenate(tables), axis=1).T:
        np.maximum(full, _combine(np.add, np.split(resource, ends), count), out=full)
    return full


GOODPUT = "goodput_bps"


@dataclass(frozen=True, slots=True)
class TableLoads:
    """Scores of each variant of one ``[[streams]]`` table of the system file, as arrays.

    A variant is a choice of protocol, payload, rate, cores and priority for all streams of the table.

    Parameters
    ----------
    cores : array (variants,)
        Busy cores of all hosts; infinite if unknown.
    latency_s : array (variants,)
        Greatest mean latency of the table's streams [s].
    outcomes : array (variants,)
        Worst outcome of the requirements on the table's streams: 0 met, 1 undecided, 2 not met.
    changes : array (variants,)
        Number of differences between the variant and the file.
    loads : array (variants, resources)
        Utilisation of each resource (port, interface or processor) by the load that the table's streams offer.
    needs : array (variants, resources)
        Utilisation of each resource if the streams carry only the least goodput that their requirements demand.
    dues : array (variants, resources)
        Utilisation of each resource if the streams send whole messages at the same time, just fast enough to arrive in
        time. A sum above 1 over all tables makes a message late.
    devices : array (variants, requirements, 2)
        For each requirement on a device, the part of its metric that the table's streams cause: low and high end of the
        interval, NaN if unknown. The parts of all tables add up.
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

    def picked(self, some: Ints) -> TableLoads:
        """Select the variants with the given indices, and return their scores."""
        columns = [column.name for column in fields(self) if column.name != "variants"]
        return TableLoads(
            tuple(self.variants[index] for index in some),
            *(getattr(self, name)[some] for name in columns),
        )

    def undominated(self) -> Ints:
        """Return the indices of the variants on the Pareto front of all scores; of equal variants, only the first.

        The file's own variant, at index 0, is always included.
        """
        points = np.column_stack(
            [
                self.outcomes,
                self.cores,
                self.latency_s,
                self.changes,
                np.unique(self.loads, axis=1),
                np.unique(self.needs, axis=1),
                np.unique(self.dues, axis=1),
                np.nan_to_num(self.devices.reshape(len(self.variants), -1), nan=np.inf),
            ]
        )
        return np.unique(np.append(pareto_front(points), 0))


@dataclass(frozen=True, slots=True)
class TableVariants:
    """A ``[[streams]]`` table of the system file in one network, with the variants (choices) of the table."""

    network: Network
    table: Streams
    variants: tuple[Variant, ...]

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Streams of the network that one table of streams in the system file (``table``) describes."""
        streams = self.network.system.streams.values()
        return tuple(stream for stream in streams if stream.group == self.table.name)

    def lone_streams(self) -> Iterator[LoneStream]:
        """Yield each stream of the table with each of its variants, to be predicted without other streams.

        First come all variants of the first stream, then all variants of the second, and so on.
        """
        for stream in self.streams:
            for variant in self.variants:
                texts = variant.texts()
                name = f"{self.table.name}, {texts['protocol']}, {texts['payload']}"
                yield LoneStream(
                    name, self.network.system, with_variant(stream, self.table, variant)
                )

    def demands_bps(self, variants: Sequence[Stream]) -> tuple[Floats, Floats]:
        """Return two arrays: the least mean goodput of a stream, and its least goodput during a message [b/s].

        Both arrays have one element for each variant. The mean goodput follows from the requirements and from the data
        that must arrive.

        The goodput during a message follows from the time limit of the message: the frames after the first one must
        arrive within this time. It is 0 for a message of one frame, or without a time limit. If several streams send
        messages at the same time, their goodputs during a message add up.
        """
        names = (variants[0].name, variants[0].group)
        requirements = [
            wanted
            for wanted in self.network.system.requirements
            if wanted.stream in names and wanted.device is None
        ]
        goodputs = [
            wanted.requirement.at_least or 0.0
            for wanted in requirements
            if wanted.requirement.metric == GOODPUT
        ]
        needed = [max(stream.must_arrive_bps, *goodputs, 0.0) for stream in variants]
        due = []
        for stream in variants:
            if stream.producer is None or stream.frames_a_message <= 1:
                due.append(0.0)
                continue
            limits = [
                wanted.requirement.at_most
                for wanted in requirements
                if wanted.requirement.metric in LATE
                and wanted.requirement.at_most
                and whole_message(stream, wanted)
            ]
            limits += [] if stream.producer.within_s is None else [stream.producer.within_s]
            after_first = 8 * (stream.producer.message_bytes - stream.payload_bytes)
            due.append(max((after_first / limit for limit in limits), default=0.0))
        return np.array(needed), np.array(due)


def table_loads(table: TableVariants, alone: AlonePredictions, first: int) -> TableLoads:
    """Compute the scores of all variants of a ``[[streams]]`` table, such as the loads that its streams put on ports.

    Parameters
    ----------
    table : TableVariants
        Table of streams in the system file, with its variants (choices of options).
    alone : AlonePredictions
        Predictions of each stream without other streams.
    first : int
        Index of the table's first stream in `alone`.
    """
    system, streams, count = table.network.system, table.streams, len(table.variants)
    place = (first + np.arange(len(streams) * count)).reshape(len(streams), count)
    resources = [
        *system.ports,
        *(f"interface {name}" for name in system.ports),
        *(f"processor {name}" for name, device in system.devices.items() if device.cores),
    ]
    column = {name: index for index, name in enumerate(resources)}
    loads, needs, dues = (np.zeros((count, len(column))) for _ in range(3))
    sending = sent_with(streams) == np.arange(len(streams))
    sent: set[tuple[str, tuple[str, str]]] = set()
    for stream, at, sends in zip(streams, place, sending, strict=True):
        variants = [with_variant(stream, table.table, variant) for variant in table.variants]
        rates = np.array([system.ports[name].rate_bps for name in stream.path])
        capacity = np.array([(rates / alone.ratios[row]).min() for row in alone.rows[at].tolist()])
        offered = np.minimum(alone.offered_bps[at], capacity)
        needed_bps, due_bps = table.demands_bps(variants)
        needed = np.minimum(offered, needed_bps)
        for name, usage in alone.usage(system, stream, at, sends):
            if (name, stream.multicast_key) not in sent:
                loads[:, column[name]] += offered * usage
                needs[:, column[name]] += needed * usage
                dues[:, column[name]] += due_bps * usage
            if name in stream.path:  # a port sends the copies of a multicast once
                sent.add((name, stream.multicast_key))
    cores = alone.cpu["send"][0, place[sending]].sum(axis=0)
    cores = cores + alone.cpu["recv"][0, place].sum(axis=0)
    own = table.variants[0]
    return TableLoads(
        variants=table.variants,
        cores=np.where(np.isnan(cores), np.inf, cores),
        latency_s=alone.latency_mean_s[place].max(axis=0),
        outcomes=alone.outcomes[place].max(axis=0),
        changes=np.array([len(variant.changed(own)) for variant in table.variants]),
        loads=loads,
        needs=needs,
        dues=dues,
        devices=_device_shares(system, streams, alone, place, sending),
    )


def device_limits(system: System) -> tuple[tuple[int, str], ...]:
    """List the requirements on devices, as pairs: index of the requirement, name of a device."""
    return tuple(
        (index, name)
        for index, one in enumerate(system.requirements)
        for name, device in system.devices.items()
        if one.device is not None and one.device in (name, device.group)
    )


def _device_shares(
    system: System, streams: Sequence[Stream], alone: AlonePredictions, place: Ints, sending: Bools
) -> Floats:
    """CPU utilisation that the streams of one ``[[streams]]`` table add to each device with a CPU requirement.

    The result is an array (variants, requirements, 2); the last axis holds low and high end of the added utilisation. A
    variant is a combination of choices for the table, such as protocol and payload. A requirement on several devices
    counts once for each of them.
    """
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
                    found[:, number] += alone.cpu[side][1:, at].T / (device.cores or 1)
                elif metric.startswith(f"cpu_{side}") and wanted.stream in (
                    stream.name,
                    stream.group,
                ):
                    rows = alone.rows[at].tolist()
                    estimates = [alone.metrics[row].get(metric, absent("")) for row in rows]
                    found[:, number] += np.array([[one.low, one.high] for one in estimates])
    return found


SAME_RATIO = 1.02
"""Ratio up to which two values of an objective count as equal, so that the designs of a front differ clearly."""


def pareto_front(points: Floats) -> Ints:
    """Return the indices of the points on the Pareto front, in lexicographic order of the points.

    The front has the points that no other point dominates. A point dominates another if no objective is greater and at
    least one is less. Of equal points, only the first is included.

    Parameters
    ----------
    points : array (points, objectives)
        Values of the objectives without NaN; unknown values are infinite.

    Examples
    --------
    >>> import numpy as np
    >>> pareto_front(np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 4.0], [3.0, 1.0]]))
    array([0, 1, 3])
    """
    left = np.lexsort(points.T[::-1])  # stable: equal points keep their order
    found = []
    while len(left):
        best, rest = left[0], left[1:]
        found.append(best)
        left = rest[(points[rest] < points[best]).any(axis=1)]
    return np.array(found, dtype=np.int64)


def spread(points: Floats, most: int) -> Ints:
    """Pick at most ``most`` points of a Pareto front, and return their indices.

    The best point of each objective is picked first, then points evenly along the first objective.
    """
    order = np.argsort(points[:, 0], kind="stable")
    if len(points) <= most:
        return order
    best = points.argmin(axis=0).tolist()
    evenly = order[np.linspace(0, len(order) - 1, most).astype(np.int64)]
    return np.array(list(dict.fromkeys([*best, *evenly.tolist()]))[:most], dtype=np.int64)


def rounded(objectives: Floats) -> Floats:
    """Return the logarithms of objectives to the base `SAME_RATIO`, rounded to whole numbers.

    So two objectives usually count as equal if the greater is less than `SAME_RATIO` times the smaller.
    """
    with np.errstate(divide="ignore"):
        return np.where(
            objectives > 0, np.round(np.log(objectives) / math.log(SAME_RATIO)), -np.inf
        )
