"""Scores of all designs of a network, computed in arrays from the summed loads of the tables of streams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.recommend.loads import TableLoads, device_limits
from icmodel.recommend.networks import Network
from icmodel.recommend.physics import too_late
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED
from icmodel.system import System
from icmodel.system.document import SystemDocument

OBJECTIVES = ("cpu_cores", "latency_mean_s", "fullest_ratio", "interfaces", "cost")
"""Names of the objectives of a design, all of which are minimised.

They are the busy cores of all hosts, the greatest mean latency of a frame, the greatest utilisation of a port,
interface or processor, the number of interfaces of all devices, and the cost.
"""
TOLERANCE = 1e-9
"""Relative excess of a sum of loads over capacity up to which a resource does not count as overloaded (rounding)."""
MET_ALONE, UNDECIDED_ALONE, NOT_MET_ALONE = (
    OUTCOMES.index(outcome) for outcome in (MET, UNDECIDED, NOT_MET)
)


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of designs, of one or several networks, as arrays.

    Parameters
    ----------
    network : array of int (designs,)
        Index of the network.
    variants : array of int (designs, tables)
        Index of the variant of each table of streams.
    outcomes : array of int (designs,)
        Best possible outcome of the design: 0 met, 1 undecided, 2 not met.
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
    """Join the scores of the designs of several networks."""
    return Scores(*(np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS))


def ordered(scores: Scores) -> Scores:
    """Sort designs by their number of differences from the file.

    So, of designs with equal scores, the one closest to the file comes first.
    """
    order = np.lexsort((*scores.variants.T[::-1], scores.network, scores.changes))
    return Scores(*(getattr(scores, name)[order] for name in COLUMNS))


def scores(number: int, network: Network, tables: Sequence[TableLoads]) -> Scores:
    """Score all designs of a network: every combination of the variants of its tables.

    Parameters
    ----------
    number : int
        Index of the network.
    """
    system, document = network.system, network.open.document
    sizes = [len(table.variants) for table in tables]
    count, ports = math.prod(sizes), len(system.ports)

    # The best possible outcome, from the streams alone, full resources, and the devices.
    outcomes = _combine(np.maximum, [table.outcomes for table in tables], count)
    for loads, outcome in (
        ([table.needs for table in tables], UNDECIDED_ALONE),
        ([table.dues for table in tables], UNDECIDED_ALONE),
        ([table.needs[:, :ports] for table in tables], NOT_MET_ALONE),  # theory alone knows ports
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
        np.full(count, float(interfaces(system))),
        np.full(count, float(cost(system, document))),
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
    """Combine numbers of the variants of each table, such as by a sum, for every design: array (designs,).

    A design is a combination of one variant of each table of streams.
    """
    found = np.zeros(1, dtype=parts[0].dtype if parts else np.float64)
    for part in parts:
        found = ufunc(found[:, None], part[None, :]).reshape(-1)
    assert len(found) == count
    return found


def _fullest(tables: Sequence[Floats], count: int) -> Floats:
    """Utilisation of the fullest resource (port, interface or processor) of each design: array (designs,).

    Parameters
    ----------
    tables : sequence of array (variants, resources)
        Loads by table; equal resources are included once.
    """
    full = np.zeros(count)
    ends = np.cumsum([len(loads) for loads in tables])[:-1]
    for resource in np.unique(np.concatenate(tables), axis=1).T:
        np.maximum(full, _combine(np.add, np.split(resource, ends), count), out=full)
    return full


# --- interfaces and cost of the network ---------------------------------------------------------


def interfaces(system: System) -> int:
    """Number of interfaces of a system's devices that are connected to a link."""
    return sum(end in system.devices for link in system.links.values() for end in link.ends)


def cost(system: System, document: SystemDocument) -> float:
    """Cost of a system: interfaces, cores, links and switches; 0 if the file states no costs."""
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
