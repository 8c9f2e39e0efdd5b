"""Where a row stands: the question it answers, and the curve along the payload it lies on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from icmodel.dataset import Dataset, Point

Key = tuple[float | str, ...]
NOT_SAID = -1.0


def place(data: Dataset, point: Point) -> Key:
    """The question a row answers: rows of one place are metrics, or twins, of one point.

    What is not said is what a question takes for it: no limit of the load, no switch, one endpoint,
    the default of an option.
    """
    payload = NOT_SAID if point.payload_bytes is None else point.payload_bytes
    return (*curve(data, point), payload)


def curve(data: Dataset, point: Point) -> Key:
    """The place of a row but for its payload: rows of the same curve lie along the payload."""
    options = (
        value or data.option_defaults[axis]
        for axis, value in zip(data.option_axes, point.options, strict=True)
    )
    return (
        point.protocol,
        *options,
        NOT_SAID if point.cores is None else point.cores,
        point.switches or 0,
        point.endpoints or 1,
        point.other_goodput_bps or 0.0,
        math.inf if point.load_bps is None else point.load_bps,
    )


def grouped(points: Iterable[Point], key: Callable[[Point], Key]) -> dict[Key, list[Point]]:
    """Rows by key, groups and rows in the order they are found."""
    groups: dict[Key, list[Point]] = {}
    for point in points:
        groups.setdefault(key(point), []).append(point)
    return groups


def in_order(keys: Iterable[Key]) -> list[Key]:
    """Keys sorted, numbers before texts where both stand at one position."""
    return sorted(
        keys,
        key=lambda key: [
            (True, 0.0, part) if isinstance(part, str) else (False, part, "") for part in key
        ],
    )


def text(key: Key) -> str:
    """A key in one line."""
    return " ".join(part if isinstance(part, str) else f"{part:g}" for part in key if part != "")
