"""Weights: the load of each variant of a table of streams on the network, alone: one row a variant.

Loads on the same resource add up: on a port, an interface, and the cores of a host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.estimate import absent
from icmodel.recommend.alone import Alone, Asked, with_variant
from icmodel.recommend.networks import Network
from icmodel.recommend.variants import Variant
from icmodel.system import Stream, System, Wanted
from icmodel.system.document import Streams
from icmodel.system.prediction.arrival import LATE, whole_message
from icmodel.system.prediction.lanes import sent_with
from icmodel.system.prediction.processors import SIDES

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
