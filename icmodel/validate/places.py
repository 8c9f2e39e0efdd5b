"""Keys that group rows: by the question they answer, and by their curve along the payload."""

from __future__ import annotations

import math
from collections.abc import Iterable

from icmodel.dataset import Dataset, Point

Key = tuple[float | str, ...]
UNSPECIFIED = -1.0


def place(data: Dataset, point: Point) -> Key:
    """The question a row answers; rows of one place are metrics, or repeats, of one point.

    Empty cells count as a question's defaults: unlimited load, no switch, one endpoint, the default
    of an option.
    """
    payload = UNSPECIFIED if point.payload_bytes is None else point.payload_bytes
    return (*curve(data, point), payload)


def curve(data: Dataset, point: Point) -> Key:
    """The place of a row without its payload, which is what rows of one curve share."""
    options = (
        value or data.option_defaults[axis]
        for axis, value in zip(data.option_axes, point.options, strict=True)
    )
    return (
        point.protocol,
        *options,
        UNSPECIFIED if point.cores is None else point.cores,
        point.switches or 0,
        point.endpoints or 1,
        point.other_goodput_bps or 0.0,
        math.inf if point.load_bps is None else point.load_bps,
    )


def in_order(keys: Iterable[Key]) -> list[Key]:
    """Keys sorted; numbers come before texts where a position holds both."""
    return sorted(
        keys,
        key=lambda key: [
            (True, 0.0, part) if isinstance(part, str) else (False, part, "") for part in key
        ],
    )


def text(key: Key) -> str:
    """A key as one line of text."""
    return " ".join(part if isinstance(part, str) else f"{part:g}" for part in key if part != "")
