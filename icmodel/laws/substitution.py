"""Rows that answer a protocol at some options: its own, or those of the nearest options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats, if_else
from icmodel.dataset import Dataset, Point
from icmodel.tables import HIGH, LOW, VALUE, Look


class Rows(NamedTuple):
    """Rows of one protocol; ``substituted`` is the reason, if they are of other options than requested."""

    points: tuple[Point, ...]
    substituted: str = ""


def own_rows(data: Dataset, protocol: str, options: Mapping[str, str]) -> Rows:
    """The rows of a protocol at some options.

    Raises
    ------
    DatasetError
        If the dataset has no such axis or value.
    """
    return Rows(data.select(protocol, options))


def nearest_rows(data: Dataset, protocol: str, options: Mapping[str, str]) -> Rows:
    """The rows of a protocol at some options, or if there are none those that differ in the fewest options.

    An option that a protocol does not have has no substitute.

    Raises
    ------
    DatasetError
        If the dataset has no such axis or value.
    """
    own = data.select(protocol, options)
    if own:
        return Rows(own)
    points = [point for point in data.points if point.protocol == protocol]
    found: dict[int, list[tuple[Point, tuple[str, ...]]]] = {}
    for point in _alike_in_payload(data, points, options):
        axes = _differing(data, point, options)
        if axes is not None:
            found.setdefault(len(axes), []).append((point, axes))
    if not found:
        return Rows(())
    nearest = found[min(found)]
    differing = sorted({axis for _, axes in nearest for axis in axes})
    had = [a for at, a in enumerate(data.option_axes) if any(p.options[at] for p in points)]
    asked = [f"{axis} = {_wanted(data, axis, options)}" for axis in had]
    return Rows(
        tuple(point for point, _ in nearest),
        f"extrapolated on {', '.join(differing)}: {data.id} has no rows of {protocol} at "
        f"{', '.join(asked)}; fitted to those that differ least",
    )


def _differing(data: Dataset, point: Point, options: Mapping[str, str]) -> tuple[str, ...] | None:
    """The option axes on which a row differs; ``None`` where it has no value on one of them.

    On an axis that is not requested a row may have the default, or no value.
    """
    own = dict(zip(data.option_axes, point.options, strict=True))
    axes = [axis for axis, value in own.items() if value != _wanted(data, axis, options)]
    axes = [axis for axis in axes if own[axis] or axis in options]
    return tuple(axes) if all(own[axis] for axis in axes) else None


def _alike_in_payload(
    data: Dataset, points: Sequence[Point], options: Mapping[str, str]
) -> list[Point]:
    """Only rows with a payload, or only rows without, if a requested value was measured in one of these ways.

    A call without data has no payload, whatever the other options.
    """
    kept = list(points)
    for axis, value in options.items():
        column = data.option_axes.index(axis)
        said = {p.payload_bytes is None for p in data.points if p.options[column] == value}
        kept = [p for p in kept if not said or (p.payload_bytes is None) in said]
    return kept


def _wanted(data: Dataset, axis: str, options: Mapping[str, str]) -> str:
    return options.get(axis, data.option_defaults[axis])


OF_CHANGE = 0.5
"""Half-width in log: this share of log(requested count / nearest measured one); assumed, as for other
hosts."""


def unmeasured(look: Look) -> Bools:
    """Where the goodput was not measured at the requested core count, (n,); others are refused unless tables extend."""
    if not look.tables.extend:
        return np.zeros(len(look.q), dtype=bool)
    asked, axes = look.q.cores_count, look.tables.axes
    beyond = np.array(axes.cores or (0,), dtype=float).take(look.q.cores) != asked
    for protocol, cores in look.tables.without_goodput:
        if protocol in axes.protocols:
            beyond |= (look.q.protocol == axes.protocols.index(protocol)) & (asked == cores)
    return np.asarray((asked > 0) & beyond)


def answering_cores(look: Look, tables: Sequence[str]) -> Floats:
    """The core count whose rows answer for the requested one, (tables, n)."""
    measured = look.cores(tables)
    return if_else(unmeasured(look) & (measured > 0), measured, look.q.cores_count)


def other_cores(look: Look, tables: Sequence[str]) -> Bools:
    """Where rows at another core count answer for the requested one, (tables, n)."""
    return np.asarray(answering_cores(look, tables) != look.q.cores_count)


def widened(look: Look, tables: Sequence[str], found: Floats, of: Sequence[str] = ()) -> Floats:
    """Numbers (tables, ends, n), with wider ends where another core count answers.

    They stay within the limits that the source states.  ``of`` are the tables whose rows give the core count, if
    not the tables themselves.
    """
    if look.ends == 1 or not (beyond := unmeasured(look)).any():
        return found
    asked, nearest = look.q.cores_count, answering_cores(look, of or tables)
    known = (asked > 0) & (nearest > 0)
    ratio = np.divide(asked, nearest, out=np.ones_like(nearest), where=known)
    wider = if_else(beyond, np.exp(OF_CHANGE * np.abs(np.log(ratio))), 1.0)
    least, most = look.limits(tables)
    low, high = found[:, LOW], found[:, HIGH]
    low = np.minimum(low, np.maximum(low / wider, least))
    high = np.maximum(high, np.minimum(high * wider, most))
    return np.stack([found[:, VALUE], low, high], axis=1)
