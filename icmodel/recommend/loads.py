"""Loads of shared resources: the utilisation that each variant of a table of streams adds to each resource.

The resources are ports, interfaces and processors. The loads are computed from predictions of each stream alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.estimate import absent
from icmodel.recommend.alone import AlonePredictions, LoneStream, with_variant
from icmodel.recommend.front import pareto_front
from icmodel.recommend.networks import Network
from icmodel.recommend.variants import Variant
from icmodel.system import Stream, System
from icmodel.system.document import Streams
from icmodel.system.prediction.answers import SIDES
from icmodel.system.prediction.judging import LATE, whole_message
from icmodel.system.prediction.resources import sent_with

GOODPUT = "goodput_bps"


@dataclass(frozen=True, slots=True)
class TableLoads:
    """Loads of resources by a table of streams, and other scores, for each variant of the table.

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
        Utilisation of each port, interface and processor by the offered load.
    needs : array (variants, resources)
        Utilisation by the least goodput that the requirements demand.
    dues : array (variants, resources)
        Utilisation by the goodput with which whole messages arrive in time, if all are sent at once.
    devices : array (variants, requirements on devices, 2)
        Contribution to the low and the high end of the metric limited by each requirement; NaN if unknown.
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
        """Select the loads of the variants with the given indices."""
        columns = [column.name for column in fields(self) if column.name != "variants"]
        return TableLoads(
            tuple(self.variants[index] for index in some),
            *(getattr(self, name)[some] for name in columns),
        )

    def undominated(self) -> Ints:
        """Return the indices of the undominated variants: no other variant is at least as good in every score.

        The file's own variant is always included.
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
    """Table of streams in a network, with the variants (choices) of the table."""

    network: Network
    table: Streams
    variants: tuple[Variant, ...]

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Streams of the network that come from this table."""
        streams = self.network.system.streams.values()
        return tuple(stream for stream in streams if stream.group == self.table.name)

    def lone_streams(self) -> Iterator[LoneStream]:
        """Yield each variant of each stream of the table, grouped by stream, to be predicted alone."""
        for stream in self.streams:
            for variant in self.variants:
                texts = variant.texts()
                name = f"{self.table.name}, {texts['protocol']}, {texts['payload']}"
                yield LoneStream(
                    name, self.network.system, with_variant(stream, self.table, variant)
                )

    def demands_bps(self, variants: Sequence[Stream]) -> tuple[Floats, Floats]:
        """Return two arrays of goodputs that a stream needs, by variant [b/s].

        The first goodput is demanded by requirements. The second is needed for a whole message to arrive in time. If
        streams send at once, and the sum of their second goodputs exceeds a resource's capacity, at least one is late.
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
    """Compute the loads of all variants of a table from the predictions of its streams alone.

    Parameters
    ----------
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
    """Sum the contributions of a table's streams to the limited metric of each requirement on a device.

    The result is an array (variants, limits, 2) with the low and the high end of each sum.
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
