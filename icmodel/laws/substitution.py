"""Choose the dataset rows for a prediction: rows with the requested options and cores, or the nearest rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats, fast_where
from icmodel.dataset import Dataset, Point
from icmodel.tables import HIGH, LOW, VALUE, Row, TableQuery


class Rows(NamedTuple):
    """Dataset rows of one protocol, chosen for a prediction.

    If the rows have other options than requested, ``substituted`` is a text that says so; otherwise it is empty.
    """

    points: tuple[Point, ...]
    substituted: str = ""


def own_rows(data: Dataset, protocol: str, options: Mapping[str, str]) -> Rows:
    """Select the dataset rows of a protocol at exactly the given options.

    Raises
    ------
    DatasetError
        If the dataset has no such axis or value.
    """
    return Rows(data.select(protocol, options))


def nearest_rows(data: Dataset, protocol: str, options: Mapping[str, str]) -> Rows:
    """Select the dataset rows of a protocol at the given options, or else the rows that differ in the fewest options.

    If the protocol's rows have no value on the axis of a requested option, the result is empty.

    Raises
    ------
    DatasetError
        If the dataset has no such axis, or no row of any protocol has the requested value.
    """
    own = data.select(protocol, options)
    if own:
        return Rows(own)
    points = [point for point in data.points if point.protocol == protocol]
    candidates = points
    for axis, value in options.items():
        # Empty calls have no payload, so they match only rows without payload.  Other calls match only rows with
        # payload.
        column = data.option_axes.index(axis)
        empty = {p.payload_bytes is None for p in data.points if p.options[column] == value}
        candidates = [p for p in candidates if not empty or (p.payload_bytes is None) in empty]
    requested = {axis: options.get(axis, data.option_defaults[axis]) for axis in data.option_axes}
    found: dict[int, list[tuple[Point, list[str]]]] = {}
    for point in candidates:
        values = dict(zip(data.option_axes, point.options, strict=True))
        # If the request leaves out an axis, the row may have the default value or no value on it.
        differing = [
            axis
            for axis, value in values.items()
            if value != requested[axis] and (value or axis in options)
        ]
        if all(values[axis] for axis in differing):
            found.setdefault(len(differing), []).append((point, differing))
    if not found:
        return Rows(())
    nearest = found[min(found)]
    axes = sorted({axis for _, differing in nearest for axis in differing})
    known = [a for at, a in enumerate(data.option_axes) if any(p.options[at] for p in points)]
    return Rows(
        tuple(point for point, _ in nearest),
        f"extrapolated on {', '.join(axes)}: {data.id} has no rows of {protocol} at "
        f"{', '.join(f'{axis} = {requested[axis]}' for axis in known)}; the nearest rows are used instead",
    )


def with_places(data: Dataset, found: Mapping[str, Rows]) -> list[Row]:
    """List the rows chosen for all protocols, each with its index in the dataset.

    The order of the protocols is that of the dataset.
    """
    index = {id(point): k for k, point in enumerate(data.points)}
    return [
        Row(index[id(point)], point)
        for protocol in data.protocols
        for point in found[protocol].points
    ]


# --- other core counts ----------------------------------------------------------------------------

OF_CHANGE = 0.5
"""Log half-width for an unmeasured core count, divided by |log(requested count / nearest measured count)| (assumed)."""


def unmeasured(query: TableQuery) -> Bools:
    """Mark the requests whose core count has no measured goodput, as a boolean mask (n,).

    Such requests are only possible with tables made with ``extend``, which answer them from rows at another core count.
    With all other tables, the whole mask is False.
    """
    if not query.tables.extend:
        return np.zeros(len(query.q), dtype=bool)
    requested, axes = query.q.cores, query.tables.axes
    beyond = np.array(axes.cores or (0,), dtype=float).take(query.q.core_index) != requested
    for protocol, cores in query.tables.without_goodput:
        if protocol in axes.protocols:
            beyond |= (query.q.protocol == axes.protocols.index(protocol)) & (requested == cores)
    return np.asarray((requested > 0) & beyond)


def answering_cores(query: TableQuery, tables: Sequence[str]) -> Floats:
    """Core count of the rows that each look-up table uses for each of n requests, array (tables, n).

    It is the requested count, or the nearest measured count if the requested count has no measured goodput.
    """
    measured = query.cores(tables)
    return fast_where(unmeasured(query) & (measured > 0), measured, query.q.cores)


def other_cores(query: TableQuery, tables: Sequence[str]) -> Bools:
    """Mark the table look-ups that use rows at another core count than requested, as a boolean mask (tables, n).

    A look-up uses such rows only if the dataset has no goodput at the requested core count.
    """
    return np.asarray(answering_cores(query, tables) != query.q.cores)


def widened(query: TableQuery, tables: Sequence[str], found: Floats) -> Floats:
    """Widen the intervals of looked-up numbers that come from rows at another core count than requested.

    ``found`` has three axes.  Axis 0: look-up table, in the order of ``tables``.  Axis 1: value, low, high, or only the
    value.  Axis 2: request.  The intervals stay within the limits that the dataset's source states.
    """
    if query.ends == 1 or not (beyond := unmeasured(query)).any():
        return found
    requested, nearest = query.q.cores, answering_cores(query, tables)
    known = (requested > 0) & (nearest > 0)
    ratio = np.divide(requested, nearest, out=np.ones_like(nearest), where=known)
    wider = fast_where(beyond, np.exp(OF_CHANGE * np.abs(np.log(ratio))), 1.0)
    least, most = query.limits(tables)
    low, high = found[:, LOW], found[:, HIGH]
    low = np.minimum(low, np.maximum(low / wider, least))
    high = np.maximum(high, np.minimum(high * wider, most))
    return np.stack([found[:, VALUE], low, high], axis=1)
