"""Rows that answer a protocol at some options: its own, or those of the nearest options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from icmodel.dataset import Dataset, Point


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
