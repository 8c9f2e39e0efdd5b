"""Scores: all designs of a network, from the summed loads of their tables of streams; arithmetic over arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.recommend.front import front
from icmodel.recommend.networks import Network
from icmodel.recommend.physics import too_late
from icmodel.recommend.weights import Weights, device_limits
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED
from icmodel.system import System
from icmodel.system.document import SystemDocument

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
