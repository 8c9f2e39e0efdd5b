"""Score all designs of a network, in arrays. The loads of a design are the sums over its stream tables."""

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
    """Sort designs by their number of differences from the file, which then breaks ties between equal scores."""
    order = np.lexsort((*scores.variants.T[::-1], scores.network, scores.changes))
    return Scores(*(getattr(scores, name)[order] for name in COLUMNS))


def scores(number: int, network: Network, tables: Sequence[TableLoads]) -> Scores:
    """Score all designs of a network: every combination of the variants of its tables.

    Parameters
    ----------
    number : int
        Index of the network.
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
    """Combine the values of the tables' variants to one value for each design, by an operation such as a sum.

    A design is a combination of one variant of each table of streams. The result is an array (designs,).
    """
    found = np.zeros(1, dtype=parts[0].dtype if parts else np.float64)
    for part in parts:
        found = ufunc(found[:, None], part[None, :]).reshape(-1)
    assert len(found) == count
    return found


def _fullest(tables: Sequence[Floats], count: int) -> Floats:
    """Return the utilisation of the fullest resource (port, interface or processor) of each design.

    Parameters
    ----------
    tables : sequence of array (variants, resources)
        Loads by table; resources with equal loads are computed once.
    """
    full = np.zeros(count)
    ends = np.cumsum([len(loads) for loads in tables])[:-1]
    for resource in np.unique(np.concatenate(tables), axis=1).T:
        np.maximum(full, _combine(np.add, np.split(resource, ends), count), out=full)
    return full
